//! The `init:` of a declaration: how a tensor begins.

use super::op::Init;
use super::options::{Reader, leave_out};
use crate::diag::{Code, Diagnostic, Hint, Span};
use crate::spec::ast::{Opt, OptValue};
use crate::spec::print;
use crate::spec::synonyms::{self, words};

const FORMS: &str = "a number, zeros, ones, normal(mean deviation), uniform(low high), integers(low high), values(1 2 3 …) or hash(seed:3 scale:0.05)";

/// The forms that are single words.
const WORDS: [&str; 2] = ["zeros", "ones"];

/// The forms with parentheses.
const CALLS: [&str; 5] = ["normal", "uniform", "integers", "values", "hash"];

/// What the two numbers of a form are called elsewhere.
const PLACES: [(&str, [&[&str]; 2]); 3] = [
    ("normal", [&["mean", "loc", "mu"], &["deviation", "std", "stddev", "sigma", "scale", "sd"]]),
    ("uniform", [&["low", "min", "minval", "a"], &["high", "max", "maxval", "b"]]),
    ("integers", [&["low", "min", "minval", "start"], &["high", "max", "maxval", "stop"]]),
];

/// Reads the `init:` of a tensor of so many elements.
pub fn init(option: &Opt, elements: u64, diagnostics: &mut Vec<Diagnostic>) -> Option<Init> {
    let whole = |n: f64| n.fract() == 0.0 && n.abs() <= 1e15;
    let result = match &option.value {
        OptValue::Word(word) if word == "zeros" => Some(Init::Constant(0.0)),
        OptValue::Word(word) if word == "ones" => Some(Init::Constant(1.0)),
        OptValue::Number(n) => Some(Init::Constant(*n)),
        OptValue::Call { name, args, options } => match (name.as_str(), numbers(args).as_deref()) {
            ("hash", Some([])) => {
                let mut read = Reader::new("hash", options, &["seed", "scale"], diagnostics);
                let seed = read.whole("seed", 0, u64::from(u32::MAX)).unwrap_or(0);
                let scale = read.number("scale", "a number", |_| true).unwrap_or(1.0);
                Some(Init::Hash { seed: seed as u32, scale })
            }
            _ if !options.is_empty() => None,
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
            _ => None,
        },
        OptValue::Word(_) | OptValue::List(_) => None,
    };
    if result.is_none() {
        let message = not_finite(&option.value).unwrap_or_else(|| format!("`init` is {FORMS}"));
        let mut d = Diagnostic::error(Code::BadOption, option.value_span, message);
        d.hints.push(meant(option).unwrap_or_else(|| leave_out(option)));
        diagnostics.push(d);
    }
    result
}

fn numbers(args: &[OptValue]) -> Option<Vec<f64>> {
    let finite = |a: &OptValue| match a {
        OptValue::Number(n) if n.is_finite() => Some(*n),
        OptValue::Number(_) | OptValue::Word(_) | OptValue::List(_) | OptValue::Call { .. } => None,
    };
    args.iter().map(finite).collect()
}

/// What is no number among those listed.
fn not_finite(value: &OptValue) -> Option<String> {
    let OptValue::Call { name, args, .. } = value else { return None };
    let word = args.iter().find_map(|a| if let OptValue::Word(w) = a { Some(w) } else { None })?;
    Some(format!("`{name}` takes finite numbers; `{word}` is none"))
}

/// What was most likely meant by a value that is no form.
fn meant(option: &Opt) -> Option<Hint> {
    let span = option.value_span;
    match &option.value {
        OptValue::Word(word) => synonyms::hint(words::INITIAL, word, &WORDS, span, span)
            .or_else(|| synonyms::near(word, WORDS, span)),
        OptValue::List(list) => {
            let listed: Vec<String> = numbers(list)?.into_iter().map(print::number).collect();
            let mend = format!("values({})", listed.join(" "));
            Some(Hint::edit("Numbers are listed by `values`, row by row.", span, mend))
        }
        OptValue::Call { name, args, options } => {
            if let Some(mend) = written_out(name, args, options) {
                return Some(Hint::edit(format!("Write `{mend}`."), span, mend));
            }
            let name_span = Span::new(span.start, span.start + name.len() as u32);
            if not_finite(&option.value).is_some() {
                return Some(Hint::new("Write each as a number, such as `1e30`."));
            }
            let others = CALLS.into_iter().filter(|call| call != name);
            synonyms::hint(words::INITIAL, name, &CALLS, name_span, span)
                .or_else(|| synonyms::near(name, others, name_span))
        }
        OptValue::Number(_) => None,
    }
}

/// A form whose numbers were given by place where they have names, or the other way round.
fn written_out(name: &str, args: &[OptValue], options: &[Opt]) -> Option<String> {
    let args = numbers(args)?;
    match (name, args.as_slice(), options) {
        ("hash", [seed, scale], []) => {
            let (seed, scale) = (print::number(*seed), print::number(*scale));
            Some(format!("hash(seed:{seed} scale:{scale})"))
        }
        ("hash", [seed], []) => Some(format!("hash(seed:{})", print::number(*seed))),
        (_, [], [_, ..]) => {
            let [first, second] = PLACES.iter().find(|p| p.0 == name)?.1;
            let known = |o: &Opt| [first, second].concat().contains(&o.key.text.as_str());
            let number = |keys: &[&str]| {
                let option = options.iter().find(|o| keys.contains(&o.key.text.as_str()))?;
                numbers(std::slice::from_ref(&option.value))?.pop()
            };
            let (low, high) = (number(first).unwrap_or(0.0), number(second)?);
            let (low, high) = (print::number(low), print::number(high));
            options.iter().all(known).then(|| format!("{name}({low} {high})"))
        }
        _ => None,
    }
}
