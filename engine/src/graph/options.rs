//! Options of statements: read by name, checked, with every unknown one reported.

use super::op::{Dtype, Init};
use super::optimizer::Optimizer;
use crate::diag::{Code, Diagnostic, Hint, nearest};
use crate::spec::ast::{Opt, OptValue};

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

    /// Reports that an option has a value of the wrong kind.
    pub fn bad(&mut self, option: &Opt, takes: &str) {
        self.diagnostics.push(Diagnostic::error(
            Code::BadOption,
            option.value_span,
            format!("`{}` takes {takes}", option.key.text),
        ));
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
        self.diagnostics.push(d);
        None
    }
}

/// What `train` says.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainOptions {
    /// The optimizer.
    pub optimizer: Optimizer,
    /// The learning rate.
    pub rate: f64,
    /// How many steps a run takes where nothing else is said; 0 without a `train` statement.
    pub steps: u64,
    /// Seed of initial values, batches and the teacher.
    pub seed: u64,
    /// `NAME` or `NAME@HASH` of the data, `teacher`, or nothing: inputs keep their initial values.
    pub data: Option<String>,
    /// How numbers are stored.
    pub dtype: Dtype,
}

impl Default for TrainOptions {
    fn default() -> Self {
        Self {
            optimizer: Optimizer::Sgd,
            rate: Optimizer::Sgd.default_rate(),
            steps: 0,
            seed: 0,
            data: None,
            dtype: Dtype::F32,
        }
    }
}

/// The names of number types.
pub const DTYPES: &[(&str, Dtype)] = &[("f32", Dtype::F32), ("f64", Dtype::F64)];

/// The most steps a run may take.
pub const MAX_STEPS: u64 = 10_000_000;

/// Reads a `train` statement.
pub fn train(options: &[Opt], diagnostics: &mut Vec<Diagnostic>) -> TrainOptions {
    const KNOWN: &[&str] = &[
        "optimizer",
        "rate",
        "steps",
        "seed",
        "data",
        "dtype",
        "momentum",
        "beta1",
        "beta2",
        "epsilon",
    ];
    let mut read = Reader::new("train", options, KNOWN, diagnostics);
    let unit = |n: f64| (0.0..1.0).contains(&n);
    let momentum = read.number("momentum", "a number from 0 up to, not including, 1", unit);
    let beta1 = read.number("beta1", "a number from 0 up to, not including, 1", unit);
    let beta2 = read.number("beta2", "a number from 0 up to, not including, 1", unit);
    let epsilon = read.number("epsilon", "a positive number", |n| n > 0.0);
    let optimizers = [
        ("sgd", Optimizer::Sgd),
        ("momentum", Optimizer::Momentum { momentum: momentum.unwrap_or(0.9) }),
        (
            "adam",
            Optimizer::Adam {
                beta1: beta1.unwrap_or(0.9),
                beta2: beta2.unwrap_or(0.999),
                epsilon: epsilon.unwrap_or(1e-8),
            },
        ),
    ];
    let optimizer = read.choice("optimizer", &optimizers).unwrap_or(Optimizer::Sgd);
    let uses: &[&str] = match optimizer {
        Optimizer::Sgd => &[],
        Optimizer::Momentum { .. } => &["momentum"],
        Optimizer::Adam { .. } => &["beta1", "beta2", "epsilon"],
    };
    let all = ["momentum", "beta1", "beta2", "epsilon"];
    let idle: Vec<&Opt> =
        all.iter().filter(|k| !uses.contains(k)).filter_map(|k| read.get(k)).collect();
    let result = TrainOptions {
        optimizer,
        rate: read
            .number("rate", "a positive number", |n| n > 0.0)
            .unwrap_or_else(|| optimizer.default_rate()),
        steps: read.whole("steps", 0, MAX_STEPS).unwrap_or(100),
        seed: read.whole("seed", 0, u64::from(u32::MAX)).unwrap_or(0),
        data: read.word("data").map(str::to_owned),
        dtype: read.choice("dtype", DTYPES).unwrap_or_default(),
    };
    for option in idle {
        diagnostics.push(
            Diagnostic::warning(
                Code::Unused,
                option.span,
                format!("`{}` has no effect on this optimizer", option.key.text),
            )
            .hint(Hint::edit("Remove it.", option.span, "")),
        );
    }
    result
}

/// Reads the `init:` of a declaration.
pub fn init(option: &Opt, elements: u64, diagnostics: &mut Vec<Diagnostic>) -> Option<Init> {
    const FORMS: &str = "zeros, ones, normal(mean deviation), uniform(low high), values(1 2 3 …) or hash(seed:3 scale:0.05)";
    let numbers = |args: &[OptValue]| -> Option<Vec<f64>> {
        args.iter().map(|a| if let OptValue::Number(n) = a { Some(*n) } else { None }).collect()
    };
    let result = match &option.value {
        OptValue::Word(word) if word == "zeros" => Some(Init::Constant(0.0)),
        OptValue::Word(word) if word == "ones" => Some(Init::Constant(1.0)),
        OptValue::Number(n) => Some(Init::Constant(*n)),
        OptValue::Call { name, args, options } => {
            let args = numbers(args)?;
            match (name.as_str(), args.as_slice()) {
                ("normal", [deviation]) => Some(Init::Normal { mean: 0.0, deviation: *deviation }),
                ("normal", [mean, deviation]) => {
                    Some(Init::Normal { mean: *mean, deviation: *deviation })
                }
                ("uniform", [bound]) => Some(Init::Uniform { low: -bound, high: *bound }),
                ("uniform", [low, high]) => Some(Init::Uniform { low: *low, high: *high }),
                ("values", values) if values.len() as u64 == elements => {
                    Some(Init::Values(values.to_vec()))
                }
                ("values", values) => {
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
                ("hash", []) => {
                    let mut read = Reader::new("hash", options, &["seed", "scale"], diagnostics);
                    let seed = read.whole("seed", 0, u64::from(u32::MAX)).unwrap_or(0);
                    let scale = read.number("scale", "a number", |_| true).unwrap_or(1.0);
                    Some(Init::Hash { seed: seed as u32, scale })
                }
                _ => None,
            }
        }
        OptValue::Word(_) | OptValue::List(_) => None,
    };
    if result.is_none() {
        diagnostics.push(Diagnostic::error(
            Code::BadOption,
            option.value_span,
            format!("`init` is {FORMS}"),
        ));
    }
    result
}
