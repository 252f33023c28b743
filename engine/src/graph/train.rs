//! What `train` says: the optimizer, the learning rate over time, and how a run goes.
//!
//! Options that the chosen optimizer or decay does not read are warnings with a mend; those whose
//! values clash are errors.

use super::op::Dtype;
use super::optimizer::Optimizer;
use super::optimizer::adafactor::Adafactor;
use super::optimizer::adam::Adam;
use super::optimizer::schedule::{Decay, End, Schedule};
use super::options::{DTYPES, Reader, SWITCH};
use crate::diag::{Code, Diagnostic, Hint, Span};
use crate::spec::ast::{Opt, OptValue};

/// What `train` says.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainOptions {
    /// The optimizer.
    pub optimizer: Optimizer,
    /// The learning rate; with a schedule, the one it starts from.
    pub rate: f64,
    /// The learning rate over time.
    pub schedule: Schedule,
    /// The greatest norm that all gradients together may have.
    pub clip: Option<f64>,
    /// How many steps a run takes where nothing else is said; 0 without a `train` statement.
    pub steps: u64,
    /// Seed of initial values, batches and the teacher.
    pub seed: u64,
    /// `NAME` or `NAME@HASH` of the data, `teacher`, or nothing: inputs keep their initial values.
    pub data: Option<String>,
    /// What a text is cut into.
    pub tokens: Tokens,
    /// How numbers are stored.
    pub dtype: Dtype,
}

impl Default for TrainOptions {
    fn default() -> Self {
        Self {
            optimizer: Optimizer::Sgd,
            rate: 0.1,
            schedule: Schedule::CONSTANT,
            clip: None,
            steps: 0,
            seed: 0,
            data: None,
            tokens: Tokens::Bytes,
            dtype: Dtype::F32,
        }
    }
}

/// The most micro-batches of a step.
pub const MAX_MICRO_BATCHES: u64 = 1 << 16;

/// A number of micro-batches that is out of range, if an option says one.
pub fn beyond(option: &Opt) -> Option<f64> {
    let OptValue::Number(n) = option.value else { return None };
    let is_legal = n.fract() == 0.0 && (1.0..=MAX_MICRO_BATCHES as f64).contains(&n);
    (n.is_finite() && !is_legal).then_some(n)
}

/// Reports a number of micro-batches that is out of range, with the nearest legal ones; by default
/// there are as many as without the option.
pub fn report_beyond(place: Span, nearest: &[u64]) -> Diagnostic {
    let message = format!("`micro_batches` takes a whole number from 1 to {MAX_MICRO_BATCHES}");
    let take =
        |d: Diagnostic, n: &u64| d.hint(Hint::edit(format!("Take {n}."), place, n.to_string()));
    nearest.iter().fold(Diagnostic::error(Code::BadOption, place, message), take)
}

/// What a text is cut into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tokens {
    /// Bytes.
    #[default]
    Bytes,
    /// Bytes and what often stands together, a vocabulary learnt from the text itself.
    Bpe,
}

const TOKENS: &[(&str, Tokens)] = &[("bytes", Tokens::Bytes), ("bpe", Tokens::Bpe)];

/// The most steps a run may take.
pub const MAX_STEPS: u64 = 10_000_000;

/// The options of every optimizer.
const COMMON: &[&str] = &[
    "optimizer",
    "rate",
    "warmup",
    "decay",
    "decay_steps",
    "final_rate",
    "clip",
    "steps",
    "seed",
    "data",
    "tokens",
    "dtype",
    "micro_batches",
    "batch",
];

/// The options of some, in the order of messages.
const SPECIAL: &[&str] = &[
    "momentum",
    "beta1",
    "beta2",
    "epsilon",
    "bias_correction",
    "weight_decay",
    "min_dim_size_to_factor",
    "parameter_scale",
    "update_clip",
];

#[derive(Clone, Copy, PartialEq)]
enum Name {
    Sgd,
    Momentum,
    Adam,
    AdamW,
    Adafactor,
}

const NAMES: &[(&str, Name)] = &[
    ("sgd", Name::Sgd),
    ("momentum", Name::Momentum),
    ("adam", Name::Adam),
    ("adamw", Name::AdamW),
    ("adafactor", Name::Adafactor),
];

impl Name {
    /// Those of the special options that it reads.
    const fn reads(self) -> &'static [&'static str] {
        match self {
            Self::Sgd => &[],
            Self::Momentum => &["momentum"],
            Self::Adam => &["beta1", "beta2", "epsilon", "bias_correction"],
            Self::AdamW => &["beta1", "beta2", "epsilon", "bias_correction", "weight_decay"],
            Self::Adafactor => &[
                "beta1",
                "beta2",
                "epsilon",
                "min_dim_size_to_factor",
                "parameter_scale",
                "update_clip",
            ],
        }
    }
}

/// Reads a `train` statement.
pub fn train(options: &[Opt], diagnostics: &mut Vec<Diagnostic>) -> TrainOptions {
    let known = [COMMON, SPECIAL].concat();
    let mut idle = Vec::new();
    let mut read = Reader::new("train", options, &known, diagnostics);
    let (optimizer, default_rate) = optimizer(&mut read, &mut idle);
    let rate = read.at_least_zero("rate");
    let steps = read.whole("steps", 0, MAX_STEPS).unwrap_or(100);
    let base = Base { rate: rate.unwrap_or(default_rate), steps };
    let mut schedule = schedule(&mut read, base, &mut idle);
    let relative = matches!(optimizer, Optimizer::Adafactor(_));
    if relative && read.get("rate").is_none() && read.get("decay").is_none() {
        schedule.decay = Decay::RelativeStep;
    }
    let result = TrainOptions {
        optimizer,
        rate: base.rate,
        schedule,
        clip: read.positive("clip"),
        steps,
        seed: read.whole("seed", 0, u64::from(u32::MAX)).unwrap_or(0),
        tokens: tokens(&mut read, &mut idle),
        data: read.word("data").map(str::to_owned),
        dtype: read.choice("dtype", DTYPES).unwrap_or_default(),
    };
    // The builder reads them; here they are checked.
    // A number that is out of range is told when it is known how many rows there are.
    let is_beyond = read.get("micro_batches").is_some_and(|o| beyond(o).is_some());
    let cuts = is_beyond || read.whole("micro_batches", 1, MAX_MICRO_BATCHES).is_some();
    read.word("batch");
    if let Some(option) = read.get("batch").filter(|_| !cuts) {
        let hint = Hint::edit("Remove it.", option.span, "");
        idle.push(has_no_effect(option, "without `micro_batches`").hint(hint));
    }
    diagnostics.extend(idle);
    result
}

/// What a text is cut into; without data, and with rows made up, there is none.
fn tokens(read: &mut Reader<'_, '_>, idle: &mut Vec<Diagnostic>) -> Tokens {
    let made_up = |o: &Opt| matches!(&o.value, OptValue::Word(name) if name == "teacher");
    let on = match read.get("data") {
        None => Some("without a text to train on"),
        Some(data) => made_up(data).then_some("on the teacher, which is no text"),
    };
    if let (Some(option), Some(on)) = (read.get("tokens"), on) {
        idle.push(has_no_effect(option, on).hint(Hint::edit("Remove it.", option.span, "")));
    }
    read.choice("tokens", TOKENS).unwrap_or_default()
}

fn has_no_effect(option: &Opt, on: &str) -> Diagnostic {
    let message = format!("`{}` has no effect {on}", option.key.text);
    Diagnostic::warning(Code::Unused, option.span, message)
}

/// The optimizer and the rate it takes where none is given.
fn optimizer(read: &mut Reader<'_, '_>, idle: &mut Vec<Diagnostic>) -> (Optimizer, f64) {
    let momentum = read.share("momentum");
    let beta1 = read.share("beta1");
    let beta2 = read.share("beta2");
    let epsilon = read.positive("epsilon");
    let bias_correction = read.choice("bias_correction", SWITCH).unwrap_or(true);
    let weight_decay = read.at_least_zero("weight_decay");
    let min_dim_size_to_factor = read.whole("min_dim_size_to_factor", 1, 1 << 32);
    let parameter_scale = read.choice("parameter_scale", SWITCH).unwrap_or(true);
    let update_clip = read.positive("update_clip");
    let stated = read.get("optimizer");
    let name = read.choice("optimizer", NAMES);
    // Where its name is wrong, what it would read is not known.
    if name.is_some() || stated.is_none() {
        let reads = name.unwrap_or(Name::Sgd).reads();
        let unread = SPECIAL.iter().filter(|key| !reads.contains(key));
        for option in unread.filter_map(|key| read.get(key)) {
            let mut d = has_no_effect(option, "on this optimizer");
            if let (Some(Name::Adam), "weight_decay", Some(stated)) =
                (name, option.key.text.as_str(), stated)
            {
                d = d.hint(Hint::edit("Write `adamw`.", stated.value_span, "adamw"));
            }
            idle.push(d.hint(Hint::edit("Remove it.", option.span, "")));
        }
    }
    let adam = Adam {
        beta1: beta1.unwrap_or(0.9),
        beta2: beta2.unwrap_or(0.999),
        epsilon: epsilon.unwrap_or(1e-8),
        bias_correction,
        weight_decay: 0.0,
    };
    match name.unwrap_or(Name::Sgd) {
        Name::Sgd => (Optimizer::Sgd, 0.1),
        Name::Momentum => (Optimizer::Momentum { momentum: momentum.unwrap_or(0.9) }, 0.1),
        Name::Adam => (Optimizer::Adam(adam), 0.001),
        Name::AdamW => {
            let weight_decay = weight_decay.unwrap_or(0.01);
            (Optimizer::Adam(Adam { weight_decay, ..adam }), 0.001)
        }
        Name::Adafactor => {
            let adafactor = Adafactor {
                beta1: beta1.unwrap_or(0.0),
                beta2,
                epsilon: epsilon.unwrap_or(1e-30),
                min_dim_size_to_factor: min_dim_size_to_factor.unwrap_or(128),
                parameter_scale,
                update_clip: update_clip.unwrap_or(1.0),
            };
            (Optimizer::Adafactor(adafactor), adafactor.default_rate())
        }
    }
}

/// What a schedule is laid over.
#[derive(Clone, Copy)]
struct Base {
    rate: f64,
    steps: u64,
}

#[derive(Clone, Copy)]
enum Shape {
    Constant,
    Linear,
    Cosine,
    InverseSqrt,
}

const SHAPES: &[(&str, Shape)] = &[
    ("constant", Shape::Constant),
    ("linear", Shape::Linear),
    ("cosine", Shape::Cosine),
    ("inverse_sqrt", Shape::InverseSqrt),
];

fn schedule(read: &mut Reader<'_, '_>, base: Base, idle: &mut Vec<Diagnostic>) -> Schedule {
    let warmup = read.whole("warmup", 0, MAX_STEPS).unwrap_or(0);
    let stated = read.get("decay");
    let shape = read.choice("decay", SHAPES);
    let end = End {
        step: read.whole("decay_steps", 1, MAX_STEPS).unwrap_or(base.steps),
        rate: read.at_least_zero("final_rate").unwrap_or(0.0),
    };
    let decay = match shape.unwrap_or(Shape::Constant) {
        Shape::Linear => Decay::Linear(end),
        Shape::Cosine => Decay::Cosine(end),
        Shape::InverseSqrt => Decay::InverseSqrt,
        Shape::Constant => Decay::Constant,
    };
    let ends = matches!(decay, Decay::Linear(_) | Decay::Cosine(_));
    if ends {
        misfits(read, base, warmup, end);
    } else if shape.is_some() || stated.is_none() {
        let on = if stated.is_some() { "on this decay" } else { "without a decay" };
        for option in ["decay_steps", "final_rate"].iter().filter_map(|key| read.get(key)) {
            idle.push(has_no_effect(option, on).hint(Hint::edit("Remove it.", option.span, "")));
        }
    }
    Schedule { warmup, decay }
}

/// Reports a decay that ends before it begins, or above where it began.
fn misfits(read: &mut Reader<'_, '_>, base: Base, warmup: u64, end: End) {
    if let Some(option) = read.get("final_rate")
        && end.rate > base.rate
    {
        let message =
            format!("The decay ends at {}, above the rate it starts from, {}", end.rate, base.rate);
        let d = Diagnostic::error(Code::BadOption, option.value_span, message);
        read.report(d.hint(Hint::edit("Let it end at 0.", option.span, "")));
    }
    if let Some(option) = read.get("warmup")
        && warmup > 0
        && end.step <= warmup
    {
        let message = format!(
            "The warm-up takes {warmup} steps and the decay ends at step {}: none is left for it",
            end.step
        );
        let mut d = Diagnostic::error(Code::BadOption, option.span, message);
        if let Some(stated) = read.get("decay_steps")
            && base.steps > warmup
        {
            let advice = format!("Let it end with the run, at step {}.", base.steps);
            d = d.hint(Hint::edit(advice, stated.span, ""));
        }
        read.report(d.hint(Hint::edit("Leave out the warm-up.", option.span, "")));
    }
}
