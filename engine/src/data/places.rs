//! Where a study speaks of its data, for messages and mends.

use crate::diag::{Code, Diagnostic, Hint, Span};
use std::collections::BTreeMap;

/// Where a study speaks of its data.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// The name of the data; the `train` line where there is none.
    pub name: Span,
    /// The option `data:NAME`, where there is one.
    pub option: Option<Span>,
    /// Where each tensor dimension got its size.
    pub sizes: &'a BTreeMap<String, Span>,
}

impl Places<'_> {
    pub(super) fn fault(&self, message: String) -> Diagnostic {
        Diagnostic::error(Code::Data, self.name, message)
    }

    /// The mend that gives a dimension another size.
    pub(super) fn resize(&self, dim: &str, size: u64) -> Option<Hint> {
        self.sizes.get(dim).map(|&place| Hint::size(place, dim, size))
    }

    /// With the mend that gives a dimension another size, where that can be done.
    pub(super) fn resized(&self, d: Diagnostic, dim: &str, size: u64) -> Diagnostic {
        self.resize(dim, size).into_iter().fold(d, Diagnostic::hint)
    }

    /// With the mends that hold whatever the data.
    pub(super) fn or_other_data(&self, d: Diagnostic) -> Diagnostic {
        match self.option {
            Some(_) => {
                d.hint(Hint::edit("Train on the synthetic teacher instead.", self.name, "teacher"))
            }
            None => d,
        }
    }

    pub(super) fn or_no_data(&self, d: Diagnostic) -> Diagnostic {
        let advice = "Leave `data` out: inputs then keep their initial values.";
        match self.option {
            Some(option) => d.hint(Hint::edit(advice, option, "")),
            None => d,
        }
    }
}
