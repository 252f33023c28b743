//! Options of statements: read by name, checked, with every unknown one reported.

use super::op::Dtype;
use crate::diag::{Code, Diagnostic, Hint};
use crate::spec::ast::{Opt, OptValue};
use crate::spec::print;
use crate::spec::synonyms::{self, words};

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
                let (at, table) = (option.key.span, synonyms::options::of(statement));
                match synonyms::hint(table, key, known, at, option.span) {
                    Some(hint) => d.hints.push(hint),
                    None => {
                        d.hints.extend(synonyms::near(key, known.iter().copied(), at));
                        d.hints.push(leave_out(option));
                    }
                }
                diagnostics.push(d);
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
        let mut d = not_among(option, &names);
        // What is known to mean something else is not left out.
        let meant = word(&option.value).and_then(|w| synonyms::find(words::VALUES, &w, &names));
        if meant.is_none() {
            d.hints.push(leave_out(option));
        }
        self.diagnostics.push(d);
        None
    }
}

/// The problem of an option whose value is none of a few words, with what was most likely meant.
pub fn not_among(option: &Opt, choices: &[&str]) -> Diagnostic {
    let span = option.value_span;
    let message = format!("`{}` is one of {}", option.key.text, choices.join(", "));
    let mut d = Diagnostic::error(Code::BadOption, span, message);
    if let Some(word) = word(&option.value) {
        let meant = synonyms::hint(words::VALUES, &word, choices, span, option.span);
        let near = || synonyms::near(&word, choices.iter().copied(), span);
        d.hints.extend(meant.or_else(near));
    }
    d
}

/// A value as a word: `1` may stand for `on`.
fn word(value: &OptValue) -> Option<String> {
    match value {
        OptValue::Word(word) => Some(word.clone()),
        OptValue::Number(n) => Some(print::number(*n)),
        OptValue::List(_) | OptValue::Call { .. } => None,
    }
}

/// The mend that takes an option's default.
pub fn leave_out(option: &Opt) -> Hint {
    Hint::edit(format!("Leave `{}` out.", option.key.text), option.span, "")
}

/// The words for yes and no; `off` first, which is what a misspelt `of` most likely meant.
pub const SWITCH: &[(&str, bool)] = &[("off", false), ("on", true)];

/// The names of number types.
pub const DTYPES: &[(&str, Dtype)] = &[("f32", Dtype::F32), ("f64", Dtype::F64)];
