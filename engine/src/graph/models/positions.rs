//! Where tokens stand, as study text: what is made once before the layers.
//!
//! - learned: a vector for each position, added to the embedding
//! - rotary: cosine and sine of position · 10000⁻ʳᐟʰ for each of the h pairs r of a key
//! - relative: T5's buckets. With `behind` = position of the query − position of the key, near
//!   distances have a bucket each, farther ones share buckets that widen with the logarithm up to
//!   `max_distance`; without a causal mask half of the buckets are for keys after the query.
//!
//! `floor` is a count of thresholds: how many of 0, 1, 2, … are no greater, less one.

use super::pieces::{dropped, outside};
use super::settings::{Positions, Settings, View};
use super::text::{Text, number};

/// One sequence.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sequence<'a> {
    /// Starts the names of its tables: `source_`, or nothing.
    pub(super) prefix: &'a str,
    /// Its dimension.
    pub(super) length: &'a str,
    /// How long it is.
    pub(super) size: u64,
    /// The dimension of its keys.
    pub(super) memory: &'a str,
    /// What positions look at.
    pub(super) view: View,
    /// Whether they never look ahead.
    pub(super) causal: bool,
    /// The token ids, where padding (id 0) is not looked at.
    pub(super) padded: Option<&'a str>,
}

impl Sequence<'_> {
    /// The dimensions, and the tables that the layers read.
    pub(super) fn tables(self, text: &mut Text, s: &Settings) {
        text.dim(self.length, self.size);
        let local = self.view == View::Local;
        if local {
            text.dim("window", s.window);
        } else {
            text.dim(self.memory, self.size);
        }
        self.visible(text, s);
        match s.positions {
            Positions::Learned | Positions::None => {}
            Positions::Rotary => {
                text.dim("half", 2);
                text.dim("rotary", s.d_kv / 2);
                self.turn(text, s, self.length, "turn");
                if !local {
                    self.turn(text, s, self.memory, "memory_turn");
                }
            }
            Positions::Relative => self.relative(text, s),
        }
    }

    /// Positions in front of a window's place.
    fn before(self, s: &Settings) -> u64 {
        if self.causal { s.window - 1 } else { (s.window - 1) / 2 }
    }

    fn visible(self, text: &mut Text, s: &Settings) {
        let Self { prefix, length, memory, .. } = self;
        let value = match (self.view, self.padded) {
            (View::Local, Some(ids)) => {
                let padding = if self.causal { "causal" } else { "same" };
                format!("window(less(0, {ids}), {length} -> {length} window, padding:{padding})")
            }
            (View::Local, None) => {
                format!("less_equal({} - index(window), index({length}))", self.before(s))
            }
            (_, Some(ids)) => format!("rename(less(0, {ids}), {length} -> {memory})"),
            (_, None) if self.causal => format!("less_equal(index({memory}), index({length}))"),
            (_, None) => return,
        };
        text.line(format!("{prefix}visible = {value}"));
    }

    /// The name of the mask, if there is one.
    pub(super) fn mask(self) -> Option<String> {
        let any = self.causal || self.padded.is_some() || self.view == View::Local;
        any.then(|| format!("{}visible", self.prefix))
    }

    fn turn(self, text: &mut Text, s: &Settings, along: &str, name: &str) {
        let step = -(10_000_f64.ln()) / (s.d_kv / 2) as f64;
        let name = format!("{}{name}", self.prefix);
        text.line(format!("{name} = index({along}) * exp(index(rotary) * {})", number(step)));
        text.line(format!("{name}_cos = cos({name})"));
        text.line(format!("{name}_sin = (2 * index(half) - 1) * sin({name})"));
    }

    fn relative(self, text: &mut Text, s: &Settings) {
        let Self { prefix, length, memory, .. } = self;
        text.dim("heads", s.heads);
        text.dim("buckets", s.buckets);
        let behind = if self.view == View::Local {
            format!("{} - index(window)", self.before(s))
        } else {
            format!("index({length}) - index({memory})")
        };
        text.line(format!("param {prefix}relative_bias[heads buckets] init:normal(0 1)"));
        text.line(format!("{prefix}behind = {behind}"));
        let side = if self.causal { s.buckets } else { s.buckets / 2 };
        let exact = side / 2;
        let sign = if self.causal {
            format!("maximum({prefix}behind, 0)")
        } else {
            format!("abs({prefix}behind)")
        };
        text.line(format!("{prefix}distance = {sign}"));
        let widening = (side - exact) as f64 / (s.max_distance as f64 / exact as f64).ln();
        text.line(format!(
            "{prefix}far = {exact} + log(maximum({prefix}distance, {exact}) / {exact}) * {}",
            number(widening)
        ));
        text.line(format!(
            "{prefix}near = minimum(select(less({prefix}distance, {exact}), {prefix}distance, {prefix}far), {})",
            side - 1
        ));
        let ahead = if self.causal {
            String::new()
        } else {
            format!(" + {side} * less({prefix}behind, 0)")
        };
        text.line(format!(
            "{prefix}bucket = sum(less_equal(index(buckets), {prefix}near), over:buckets) - 1{ahead}"
        ));
        text.line(format!(
            "{prefix}relative = gather({prefix}relative_bias, {prefix}bucket, dim:buckets)"
        ));
    }

    /// Embedded tokens, with their positions where those are learned; `between` names the sequence
    /// between the layers, where that is another name.
    pub(super) fn embedded(
        self,
        text: &mut Text,
        s: &Settings,
        ids: &str,
        between: Option<&str>,
    ) -> String {
        let mut value =
            outside(format!("gather(embedding, {ids}, dim:vocab)"), self.length, between);
        if s.positions == Positions::Learned {
            let table = format!("{}positions", self.prefix);
            let along = between.unwrap_or(self.length);
            text.line(format!("param {table}[{along} d_model] init:normal(0 1)"));
            value = format!("{value} + {table}");
        }
        dropped(s, value)
    }
}
