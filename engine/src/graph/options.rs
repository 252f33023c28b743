//! Options of statements: read by name, checked, with every unknown one reported.

use super::op::{Dtype, Init};
use crate::diag::{Code, Diagnostic, Hint, nearest};
use crate::spec::ast::{Opt, OptValue};

/// What a share is, for messages.
pub const SHARE: &str = "a number from 0 up to, not including, 1";

/// Whether a number is a share.
pub fn is_share(n: f64) -> bool {
    (0.0..1.0).contains(&n)
}

/// Reads the options of one statement and collects what is wrong with them.
#[derive(Debug)]
pub struct Reader<'o, 'd> {
    options: &'o [Opt],
    diagnostics: &'d mut Vec<Diagnostic>,
}

impl<'o, 'd> Reader<'o, 'd> {
    /// A reader that reports every option not in `known`, and every one given twice.
    pub fn new(
        statement: &str,
        options: &'o [Opt],
        known: &[&str],
        diagnostics: &'d mut Vec<Diagnostic>,
    ) -> Self {
        for (i, option) in options.iter().enumerate() {
            let key = option.key.text.as_str();
            if !known.contains(&key) {
                let list = known.join(", ");
                let mut d = Diagnostic::error(
                    Code::UnknownOption,
                    option.key.span,
                    format!("`{statement}` has no option `{key}`; it takes {list}"),
                );
                if let Some(near) = nearest(key, known.iter().copied()) {
                    d = d.hint(Hint::edit(format!("Write `{near}`."), option.key.span, near));
                }
                diagnostics.push(d.hint(leave_out(option)));
            } else if options[..i].iter().any(|o| o.key.text == key) {
                diagnostics.push(
                    Diagnostic::error(
                        Code::Duplicate,
                        option.span,
                        format!("`{key}` is given twice in this `{statement}` line"),
                    )
                    .hint(Hint::edit("Remove this one.", option.span, "")),
                );
            }
        }
        Self { options, diagnostics }
    }

    /// The option of this name.
    pub fn get(&self, key: &str) -> Option<&'o Opt> {
        self.options.iter().find(|o| o.key.text == key)
    }

    /// Reports what else is wrong.
    pub fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Reports that an option has a value of the wrong kind.
    pub fn bad(&mut self, option: &Opt, takes: &str) {
        let message = format!("`{}` takes {takes}", option.key.text);
        let d = Diagnostic::error(Code::BadOption, option.value_span, message);
        self.diagnostics.push(d.hint(leave_out(option)));
    }

    /// A number in a range.
    pub fn number(&mut self, key: &str, takes: &str, ok: impl Fn(f64) -> bool) -> Option<f64> {
        let option = self.get(key)?;
        if let OptValue::Number(n) = option.value
            && n.is_finite()
            && ok(n)
        {
            return Some(n);
        }
        self.bad(option, takes);
        None
    }

    /// A share: at least 0, less than 1.
    pub fn share(&mut self, key: &str) -> Option<f64> {
        self.number(key, SHARE, is_share)
    }

    /// A number of at least 0.
    pub fn at_least_zero(&mut self, key: &str) -> Option<f64> {
        self.number(key, "a number of at least 0", |n| n >= 0.0)
    }

    /// A number above 0.
    pub fn positive(&mut self, key: &str) -> Option<f64> {
        self.number(key, "a positive number", |n| n > 0.0)
    }

    /// A whole number between `least` and `most`.
    pub fn whole(&mut self, key: &str, least: u64, most: u64) -> Option<u64> {
        let takes = format!("a whole number from {least} to {most}");
        self.number(key, &takes, |n| n.fract() == 0.0 && n >= least as f64 && n <= most as f64)
            .map(|n| n as u64)
    }

    /// A word.
    pub fn word(&mut self, key: &str) -> Option<&'o str> {
        let option = self.get(key)?;
        if let OptValue::Word(word) = &option.value {
            Some(word)
        } else {
            self.bad(option, "a name");
            None
        }
    }

    /// One of a few words.
    pub fn choice<T: Copy>(&mut self, key: &str, choices: &[(&str, T)]) -> Option<T> {
        let option = self.get(key)?;
        if let OptValue::Word(word) = &option.value
            && let Some(&(_, value)) = choices.iter().find(|(name, _)| name == word)
        {
            return Some(value);
        }
        let names: Vec<&str> = choices.iter().map(|c| c.0).collect();
        let mut d = Diagnostic::error(
            Code::BadOption,
            option.value_span,
            format!("`{key}` is one of {}", names.join(", ")),
        );
        if let OptValue::Word(word) = &option.value
            && let Some(near) = nearest(word, names.iter().copied())
        {
            d = d.hint(Hint::edit(format!("Write `{near}`."), option.value_span, near));
        }
        self.diagnostics.push(d.hint(leave_out(option)));
        None
    }
}

/// The mend that takes an option's default.
fn leave_out(option: &Opt) -> Hint {
    Hint::edit(format!("Leave `{}` out.", option.key.text), option.span, "")
}

/// The words for yes and no; `off` first, which is what a misspelt `of` most likely meant.
pub const SWITCH: &[(&str, bool)] = &[("off", false), ("on", true)];

/// The names of number types.
pub const DTYPES: &[(&str, Dtype)] = &[("f32", Dtype::F32), ("f64", Dtype::F64)];

/// Reads the `init:` of a declaration.
pub fn init(option: &Opt, elements: u64, diagnostics: &mut Vec<Diagnostic>) -> Option<Init> {
    const FORMS: &str = "zeros, ones, normal(mean deviation), uniform(low high), integers(low high), values(1 2 3 …) or hash(seed:3 scale:0.05)";
    let whole = |n: f64| n.fract() == 0.0 && n.abs() <= 1e15;
    let numbers = |args: &[OptValue]| -> Option<Vec<f64>> {
        let finite = |a: &OptValue| match a {
            OptValue::Number(n) if n.is_finite() => Some(*n),
            OptValue::Number(_) | OptValue::Word(_) | OptValue::List(_) | OptValue::Call { .. } => {
                None
            }
        };
        args.iter().map(finite).collect()
    };
    let result = match &option.value {
        OptValue::Word(word) if word == "zeros" => Some(Init::Constant(0.0)),
        OptValue::Word(word) if word == "ones" => Some(Init::Constant(1.0)),
        OptValue::Number(n) => Some(Init::Constant(*n)),
        OptValue::Call { name, args, options } => match (name.as_str(), numbers(args).as_deref()) {
            ("normal", Some([deviation])) if *deviation >= 0.0 => {
                Some(Init::Normal { mean: 0.0, deviation: *deviation })
            }
            ("normal", Some([mean, deviation])) if *deviation >= 0.0 => {
                Some(Init::Normal { mean: *mean, deviation: *deviation })
            }
            ("uniform", Some([bound])) => Some(Init::Uniform { low: -bound, high: *bound }),
            ("uniform", Some([low, high])) if low <= high => {
                Some(Init::Uniform { low: *low, high: *high })
            }
            ("integers", Some([low, high])) if whole(*low) && whole(*high) && low < high => {
                Some(Init::Integers { low: *low as i64, high: *high as i64 })
            }
            ("values", Some(values)) if values.len() as u64 == elements => {
                Some(Init::Values(values.to_vec()))
            }
            ("values", Some(values)) => {
                diagnostics.push(Diagnostic::error(
                    Code::BadOption,
                    option.value_span,
                    format!(
                        "`values` lists {} numbers, the tensor has {elements} elements",
                        values.len()
                    ),
                ));
                return None;
            }
            ("hash", Some([])) => {
                let mut read = Reader::new("hash", options, &["seed", "scale"], diagnostics);
                let seed = read.whole("seed", 0, u64::from(u32::MAX)).unwrap_or(0);
                let scale = read.number("scale", "a number", |_| true).unwrap_or(1.0);
                Some(Init::Hash { seed: seed as u32, scale })
            }
            _ => None,
        },
        OptValue::Word(_) | OptValue::List(_) => None,
    };
    if result.is_none() {
        let message = format!("`init` is {FORMS}");
        let d = Diagnostic::error(Code::BadOption, option.value_span, message);
        diagnostics.push(d.hint(leave_out(option)));
    }
    result
}
