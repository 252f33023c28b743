//! What the Transformer presets have in common: sizes, and how a layer is made.

use super::MAX_SIZE;
use crate::diag::{Code, Diagnostic, Hint, Span};
use crate::graph::options::{DTYPES, Reader, SWITCH};
use crate::spec::ast::Opt;

/// How many numbers of heads are tried for a mend.
const MAX_TRIED: usize = 10_000;

/// Options of all Transformer presets.
pub(super) const COMMON: &[&str] = &[
    "batch",
    "length",
    "vocab",
    "d_model",
    "heads",
    "kv_heads",
    "d_kv",
    "d_ff",
    "layers",
    "attention",
    "window",
    "positions",
    "buckets",
    "max_distance",
    "norm",
    "epsilon",
    "ffn",
    "tied",
    "dropout",
    "bias",
    "scale",
    "z_loss",
    "label_smoothing",
    "dtype",
];

/// What a position may look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    /// Everything.
    Full,
    /// Itself and what is before it.
    Causal,
    /// A window.
    Local,
}

/// How the model knows where a token stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Positions {
    /// A trained vector for each position.
    Learned,
    /// Queries and keys turned by an angle that grows with the position (Su et al. 2021).
    Rotary,
    /// A trained number for each head and bucket of distances (Raffel et al. 2020).
    Relative,
    /// Not at all.
    None,
}

/// The function between the two matrices of a feed-forward layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Activation {
    /// The function, empty for none.
    pub(super) function: &'static str,
    /// Whether it is applied to a second product, by which the first is multiplied.
    pub(super) gated: bool,
}

const fn plain(function: &'static str) -> Activation {
    Activation { function, gated: false }
}

const fn gated(function: &'static str) -> Activation {
    Activation { function, gated: true }
}

/// Plain ones, then gated linear units (Shazeer 2020).
pub(super) const ACTIVATIONS: &[(&str, Activation)] = &[
    ("relu", plain("relu")),
    ("gelu", plain("gelu")),
    ("silu", plain("silu")),
    ("tanh", plain("tanh")),
    ("glu", gated("sigmoid")),
    ("bilinear", gated("")),
    ("reglu", gated("relu")),
    ("geglu", gated("gelu")),
    ("swiglu", gated("silu")),
];

/// The sizes and the choices.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the preset")]
pub(super) struct Settings {
    pub(super) batch: u64,
    pub(super) length: u64,
    pub(super) vocab: u64,
    pub(super) d_model: u64,
    pub(super) heads: u64,
    /// As many keys and values; `heads` of them unless queries share some.
    pub(super) kv_heads: u64,
    pub(super) d_kv: u64,
    pub(super) d_ff: u64,
    pub(super) layers: u64,
    pub(super) view: View,
    pub(super) window: u64,
    pub(super) positions: Positions,
    pub(super) buckets: u64,
    pub(super) max_distance: u64,
    pub(super) layer_norm: bool,
    pub(super) epsilon: f64,
    pub(super) ffn: Activation,
    pub(super) tied: bool,
    pub(super) dropout: f64,
    pub(super) bias: bool,
    pub(super) scale: bool,
    pub(super) z_loss: f64,
    pub(super) label_smoothing: f64,
}

impl Settings {
    /// Reads the options; `view` is what positions look at unless `attention:` says otherwise.
    pub(super) fn read(read: &mut Reader<'_, '_>, view: View) -> Self {
        let size = |read: &mut Reader<'_, '_>, key: &str, default: u64| {
            read.whole(key, 1, MAX_SIZE).unwrap_or(default)
        };
        let d_model = size(read, "d_model", 32);
        let heads = size(read, "heads", 4);
        let length = size(read, "length", 16);
        let views: Vec<(&str, View)> =
            [("full", View::Full), ("causal", View::Causal), ("local", View::Local)]
                .into_iter()
                .filter(|v| v.1 != View::Causal || view == View::Causal)
                .collect();
        let positions = [
            ("learned", Positions::Learned),
            ("rotary", Positions::Rotary),
            ("relative", Positions::Relative),
            ("none", Positions::None),
        ];
        let norms = [("rms", false), ("layer", true)];
        read.choice("dtype", DTYPES);
        let mut settings = Self {
            batch: size(read, "batch", 8),
            length,
            vocab: read.whole("vocab", 3, MAX_SIZE).unwrap_or(64),
            d_model,
            heads,
            kv_heads: size(read, "kv_heads", heads),
            d_kv: size(read, "d_kv", (d_model / heads).max(1)),
            d_ff: size(read, "d_ff", 4 * d_model),
            layers: read.whole("layers", 1, 1000).unwrap_or(2),
            view: read.choice("attention", &views).unwrap_or(view),
            window: read.whole("window", 1, length).unwrap_or_else(|| length.min(8)),
            positions: read.choice("positions", &positions).unwrap_or(Positions::Learned),
            buckets: read.whole("buckets", 4, 1 << 16).unwrap_or(32),
            max_distance: read.whole("max_distance", 2, MAX_SIZE).unwrap_or(128),
            layer_norm: read.choice("norm", &norms).unwrap_or(false),
            epsilon: read.positive("epsilon").unwrap_or(1e-6),
            ffn: read.choice("ffn", ACTIVATIONS).unwrap_or_else(|| plain("relu")),
            tied: read.choice("tied", SWITCH).unwrap_or(false),
            dropout: read.share("dropout").unwrap_or(0.0),
            bias: read.choice("bias", SWITCH).unwrap_or(false),
            scale: read.choice("scale", SWITCH).unwrap_or(true),
            z_loss: read.at_least_zero("z_loss").unwrap_or(0.0),
            label_smoothing: read.share("label_smoothing").unwrap_or(0.0),
        };
        settings.check(read);
        settings
    }

    /// Warns of keys whose size does not follow from the heads without a remainder.
    fn uneven_heads(&self, read: &mut Reader<'_, '_>) {
        let Self { d_model, heads, d_kv, .. } = *self;
        if read.get("d_kv").is_some() || d_model.is_multiple_of(heads) {
            return;
        }
        let Some(at) = read.get("heads").or_else(|| read.get("d_model")) else { return };
        let message = format!(
            "{heads} heads do not divide `d_model`, which is {d_model}: each has {d_kv} numbers, together {}",
            heads.saturating_mul(d_kv)
        );
        let mut d = Diagnostic::warning(Code::BadOption, at.span, message);
        let divides = |h: &u64| d_model.is_multiple_of(*h);
        let below = (1..heads.min(d_model)).rev().take(MAX_TRIED).find(divides);
        let above = (heads + 1..=d_model).take(MAX_TRIED).find(divides);
        let end = Span::new(at.span.end, at.span.end);
        for number in below.into_iter().chain(above) {
            let text = format!("Set `heads` to {number}.");
            d = d.hint(match read.get("heads") {
                Some(heads) => Hint::edit(text, heads.value_span, number.to_string()),
                None => Hint::edit(text, end, format!(" heads:{number}")),
            });
        }
        let text = format!("Say that it is meant: `d_kv:{d_kv}`.");
        read.report(d.hint(Hint::edit(text, end, format!(" d_kv:{d_kv}"))));
    }

    fn check(&mut self, read: &mut Reader<'_, '_>) {
        self.uneven_heads(read);
        if !self.heads.is_multiple_of(self.kv_heads) {
            let divisor = (1..=self.kv_heads).rev().find(|k| self.heads.is_multiple_of(*k));
            let message = format!(
                "{} heads cannot share {} keys and values evenly: `kv_heads` divides `heads`",
                self.heads, self.kv_heads
            );
            refuse(read, "kv_heads", &message, divisor.unwrap_or(1));
            self.kv_heads = self.heads;
        }
        if self.positions == Positions::Rotary && !self.d_kv.is_multiple_of(2) {
            let message = format!("Rotary positions turn pairs; {} is odd", self.d_kv);
            let key = if read.get("d_kv").is_some() { "d_kv" } else { "positions" };
            if key == "d_kv" {
                refuse(read, key, &message, self.d_kv + 1);
            } else if let Some(option) = read.get(key) {
                let message = format!("{message}: give `d_kv` an even size");
                read.report(Diagnostic::error(Code::BadOption, option.span, message));
            }
            self.positions = Positions::None;
        }
        if self.positions == Positions::Relative {
            let exact = if self.view == View::Causal { self.buckets / 2 } else { self.buckets / 4 };
            if self.max_distance <= exact {
                let message = format!(
                    "`max_distance` is {}; the first {exact} distances have buckets of their own, so it is greater",
                    self.max_distance
                );
                let option =
                    if read.get("max_distance").is_some() { "max_distance" } else { "buckets" };
                refuse(read, option, &message, if option == "buckets" { 32 } else { 4 * exact });
                self.max_distance = exact + 1;
            }
        }
        if self.view != View::Local {
            idle(read, &["window"], "without attention:local");
        }
        if self.positions != Positions::Relative {
            idle(read, &["buckets", "max_distance"], "without positions:relative");
        }
    }
}

/// Reports a value that does not go with others, and offers one that does.
pub(super) fn refuse(read: &mut Reader<'_, '_>, key: &str, message: &str, mend: u64) {
    let Some(option) = read.get(key) else { return };
    let mend = Hint::edit(format!("Set `{key}` to {mend}."), option.value_span, mend.to_string());
    read.report(
        Diagnostic::error(Code::BadOption, option.value_span, message.to_owned()).hint(mend),
    );
}

/// Warns of options that nothing reads here.
pub(super) fn idle(read: &mut Reader<'_, '_>, keys: &[&str], why: &str) {
    let given: Vec<&Opt> = keys.iter().filter_map(|key| read.get(key)).collect();
    for option in given {
        let message = format!("`{}` has no effect {why}", option.key.text);
        let d = Diagnostic::warning(Code::Unused, option.span, message);
        read.report(d.hint(Hint::edit("Remove it.", option.span, "")));
    }
}
