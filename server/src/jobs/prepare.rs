//! From a study text to what a run needs: the study, its data, and the memory it will take; or all
//! that speaks against it.

use crate::data::bpe;
use crate::data::catalog::{self, Found, Missing};
use crate::store::{Store, StoreError};
use meshwork_engine::data::Data;
use meshwork_engine::data::wiring::Wiring;
use meshwork_engine::diag::{Code, Diagnostic, Hint, Span};
use meshwork_engine::graph::train::Tokens;
use meshwork_engine::session::bytes_needed;
use meshwork_engine::spec::ast::{Spec, Stmt};
use meshwork_engine::study::Study;

/// The most a run's tensors may take together, if nothing else is said.
pub const DEFAULT_MEMORY: u64 = 8 << 30;

/// A study that can run.
#[derive(Debug)]
pub struct Ready {
    /// The study.
    pub study: Study,
    /// Its data; a text with the vocabulary it is read by.
    pub data: Option<Found>,
    /// Predicted bytes of all processors, with what is kept to be looked at and the data.
    pub memory: u64,
}

/// What is wanted beside the run itself.
#[derive(Debug, Clone, Copy)]
pub struct Wishes<'a> {
    /// The most bytes it may hold.
    pub memory: u64,
    /// Whether the same runs on one processor too.
    pub check: bool,
    /// Tensors to keep until after the last step.
    pub print: &'a [String],
}

impl Wishes<'_> {
    /// A plain run within so many bytes.
    pub const fn within(memory: u64) -> Self {
        Self { memory, check: false, print: &[] }
    }
}

/// Why a study cannot run.
#[derive(Debug)]
pub enum NotReady {
    /// It has errors, or does not go with its data.
    Study(Vec<Diagnostic>),
    /// It would take more memory than allowed; the diagnostic stands at its model.
    Memory(Diagnostic),
    /// The database's fault.
    Store(StoreError),
}

/// Where the data of a study comes from.
#[derive(Debug)]
pub enum Source<'a> {
    /// What the study names, of what ships and what is in the store.
    Catalog(Option<&'a Store>),
    /// This name instead of the study's, from the same.
    Pinned(&'a str, &'a Store),
    /// This, whatever the study calls it.
    Given(Found),
}

/// Prepares a study for running.
pub fn prepare(text: &str, source: Source<'_>, wishes: Wishes<'_>) -> Result<Ready, NotReady> {
    let study = Study::new(text);
    if study.has_errors() {
        return Err(NotReady::Study(study.diagnostics().to_vec()));
    }
    let mut found = find(&study, source)?;
    if let Some(found) = &mut found {
        read_by_its_vocabulary(&study, found)?;
    }
    let data = found.as_ref().map(|found| &*found.data);
    let needs = |study: &Study| {
        bytes_needed(study, data, wishes.print).map_err(|misfit| NotReady::Study(vec![misfit]))
    };
    let mut memory = needs(&study)?;
    if wishes.check {
        memory = memory.saturating_add(needs(&study.alone())?);
    }
    if memory > wishes.memory {
        let message = too_much(&study, memory, wishes);
        let mend = "make the sizes smaller, or split more dimensions so that less is replicated";
        let span = model_span(study.spec());
        let diagnostic = Diagnostic::error(Code::TooLarge, span, message).hint(Hint::new(mend));
        return Err(NotReady::Memory(diagnostic));
    }
    Ok(Ready { study, data: found, memory })
}

/// Learns the vocabulary of a text, where the study asks for one of byte pairs.
fn read_by_its_vocabulary(study: &Study, found: &mut Found) -> Result<(), NotReady> {
    if study.train().tokens != Tokens::Bpe || !matches!(*found.data, Data::Text(_)) {
        return Ok(());
    }
    let wiring = Wiring::new(study.graph(), &study.data_places());
    // What is wrong with it is said when its data is looked at.
    let Some(size) = wiring.ok().and_then(|wiring| wiring.ids()) else { return Ok(()) };
    if let Data::Text(text) = found.data.to_mut() {
        text.vocabulary = bpe::learn(&text.text, size).map_err(|why| {
            let message = format!("The vocabulary of `{}` cannot be learnt: {why}", text.name);
            NotReady::Study(vec![Diagnostic::error(Code::Data, study.data_span(), message)])
        })?;
    }
    Ok(())
}

fn find(study: &Study, source: Source<'_>) -> Result<Option<Found>, NotReady> {
    let found = match source {
        Source::Given(found) => return Ok(Some(found)),
        Source::Pinned(name, store) => catalog::find(name, Some(store)),
        Source::Catalog(store) => match study.train().data.as_deref() {
            None => return Ok(None),
            Some(name) if catalog::is_teacher(name) => return Ok(None),
            Some(name) => catalog::find(name, store),
        },
    };
    found.map(Some).map_err(|missing| match missing {
        Missing::Store(e) => NotReady::Store(e),
        Missing::Unknown { message, hint, instead } => {
            let span = study.data_span();
            let hint = match instead {
                Some(name) => Hint::edit(hint, span, name),
                None => Hint::new(hint),
            };
            let teacher = "`data:teacher` makes synthetic data of any shape.";
            let diagnostic = Diagnostic::error(Code::Data, span, message)
                .hint(hint)
                .hint(Hint::edit(teacher, span, "teacher"));
            NotReady::Study(vec![diagnostic])
        }
    })
}

/// The line of the model, or the first that states sizes.
fn model_span(spec: &Spec) -> Span {
    let model = spec.items.iter().find(|item| {
        matches!(item.stmt, Stmt::Model { .. } | Stmt::Dims(_) | Stmt::Input(_) | Stmt::Param(_))
    });
    model.map_or(Span::default(), |item| item.span)
}

fn too_much(study: &Study, memory: u64, wishes: Wishes<'_>) -> String {
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    let with = match (wishes.check, wishes.print) {
        (false, []) => "",
        (true, []) => ", with the same on one processor",
        (false, _) => ", with what is kept to be printed",
        (true, _) => ", with the same on one processor and what is kept to be printed",
    };
    format!(
        "the run would hold {:.1} GiB at once on its {} processors together{with}; at most {:.1} \
         GiB are allowed here (--memory)",
        gib(memory),
        study.mesh().processors(),
        gib(wishes.memory)
    )
}
