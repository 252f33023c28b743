//! Multi-head attention as study text: self-attention and attention to another sequence, queries
//! that share keys, windows, rotary and relative positions.
//!
//! Keys and values lie along a dimension of their own, `memory_length`, so that a rule may split
//! the queries' `length` while every processor holds all keys: the `rename` is where a split
//! sequence is gathered. With `attention:local` nothing is: each position reads a window of keys,
//! and a split `length` exchanges only what lies along the cuts.
//!
//! With `outside` a sequence has another name between the layers than in them. A rule may then
//! split what lies between the layers, too, where the layers split heads: Megatron's sequence
//! parallelism. The way in is an Allgather, the way out a Reducescatter.
//!
//! ```text
//! h = rms_norm(x, dim:d_model) * scale
//! memory = rename(h, length -> memory_length)
//! queries[b l heads d_kv] = h q    keys[b m heads d_kv] = memory k    values alike
//! weights[b heads l m] = softmax over m of queries·keys / √d_kv
//! x = x + (weights values) o
//! ```

use super::pieces::{biased, dropped, inside, norm, outside};
use super::positions::Sequence;
use super::settings::{Positions, Settings, View};
use super::text::{Text, number};

/// One attention layer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attention<'a> {
    /// The name of its block.
    pub(super) name: &'a str,
    /// The dimension along which the queries lie.
    pub(super) length: &'a str,
    /// Its name between the layers, where it is another one.
    pub(super) outside: Option<&'a str>,
    /// The dimension along which keys and values lie.
    pub(super) memory: &'a str,
    /// The other sequence and its dimension, where it is not the queries' own.
    pub(super) other: Option<(&'a str, &'a str)>,
    /// The tensor that is 1 where a position may look.
    pub(super) visible: Option<&'a str>,
    /// Starts the names of tables of positions: `source_`, or nothing.
    pub(super) prefix: &'a str,
    /// What positions look at.
    pub(super) view: View,
    /// Whether windows end at their position.
    pub(super) causal: bool,
}

impl<'a> Attention<'a> {
    /// Self-attention of a sequence, which looks where `visible` is 1.
    pub(super) const fn within(sequence: Sequence<'a>, visible: Option<&'a str>) -> Self {
        Self {
            name: "attention",
            length: sequence.length,
            outside: None,
            memory: sequence.memory,
            other: None,
            visible,
            prefix: sequence.prefix,
            view: sequence.view,
            causal: sequence.causal,
        }
    }

    /// The block: x with what attention adds to it.
    pub(super) fn write(self, text: &mut Text, s: &Settings) {
        text.block(self.name, |text| {
            norm(text, s);
            let h = inside(text, self.outside, self.length);
            Self::parameters(text, s);
            self.projections(text, s, h);
            self.mix(text, s);
        });
    }

    fn is_local(self) -> bool {
        self.view == View::Local && self.other.is_none()
    }

    fn turns(self, s: &Settings) -> bool {
        s.positions == Positions::Rotary && self.other.is_none()
    }

    /// The dimension of keys before windows are taken.
    fn keys_along(self) -> String {
        if self.is_local() { self.length.to_owned() } else { self.memory.to_owned() }
    }

    fn parameters(text: &mut Text, s: &Settings) {
        text.dim("heads", s.heads);
        text.dim("d_kv", s.d_kv);
        let shared = if s.kv_heads == s.heads { "heads" } else { "kv_heads" };
        // Without the division by √d_kv the queries start that much smaller.
        let init = if s.scale {
            String::new()
        } else {
            let deviation = (s.d_model as f64 * s.d_kv as f64).sqrt().recip();
            format!(" init:normal(0 {})", number(deviation))
        };
        text.line(format!("param q[d_model heads d_kv]{init}"));
        text.line(format!("param k[d_model {shared} d_kv], v[d_model {shared} d_kv]"));
        text.line("param o[heads d_kv d_model]");
        if s.bias {
            text.line(format!(
                "param q_bias[heads d_kv], k_bias[{shared} d_kv], v_bias[{shared} d_kv], o_bias[d_model]"
            ));
        }
    }

    fn projections(self, text: &mut Text, s: &Settings, h: &str) {
        let (length, along) = (self.length, self.keys_along());
        let memory = match self.other {
            Some((tensor, from)) => format!("rename({tensor}, {from} -> {along})"),
            None if self.is_local() => h.to_owned(),
            None => format!("rename({h}, {length} -> {along})"),
        };
        let memory = if memory == h {
            h
        } else {
            text.line(format!("memory = {memory}"));
            "memory"
        };
        let queries = format!("einsum({h}, q -> batch {length} heads d_kv){}", biased(s, "q_bias"));
        self.turned(text, s, "queries", queries, &format!("{}turn", self.prefix));
        let keys = shared(text, s, memory, "k", &along);
        let by = if self.is_local() { "turn" } else { "memory_turn" };
        let keys = self.turned_line(text, s, "keys", keys, &format!("{}{by}", self.prefix));
        let values = shared(text, s, memory, "v", &along);
        let windowed = |of: String| {
            if !self.is_local() {
                return of;
            }
            let padding = if self.causal { "causal" } else { "same" };
            format!("window({of}, {length} -> {length} window, padding:{padding})")
        };
        text.line(format!("keys = {}", windowed(keys)));
        text.line(format!("values = {}", windowed(values)));
    }

    fn turned(self, text: &mut Text, s: &Settings, name: &str, value: String, by: &str) {
        let turned = self.turned_line(text, s, name, value, by);
        text.line(format!("{name} = {turned}"));
    }

    /// The expression turned by its positions' angles, after a line that halves them.
    fn turned_line(
        self,
        text: &mut Text,
        s: &Settings,
        name: &str,
        value: String,
        by: &str,
    ) -> String {
        if !self.turns(s) {
            return value;
        }
        let halves = format!("{name}_halves");
        text.line(format!("{halves} = reshape({value}, d_kv -> half rotary)"));
        format!(
            "reshape({halves} * {by}_cos + shift({halves}, dim:half by:1 wrap:on) * {by}_sin, half, rotary -> d_kv)"
        )
    }

    fn mix(self, text: &mut Text, s: &Settings) {
        let length = self.length;
        let memory = if self.is_local() { "window" } else { self.memory };
        let mut logits = format!("einsum(queries, keys -> batch heads {length} {memory})");
        if s.scale {
            logits = format!("{logits} * {}", number((s.d_kv as f64).sqrt().recip()));
        }
        if s.positions == Positions::Relative && self.other.is_none() {
            logits = format!("{logits} + {}relative", self.prefix);
        }
        text.line(format!("logits = {logits}"));
        let seen = match self.visible {
            Some(visible) => format!("select({visible}, logits, -1e9)"),
            None => "logits".to_owned(),
        };
        let weights = dropped(s, format!("softmax({seen}, dim:{memory})"));
        text.line(format!("weights = {weights}"));
        text.line(format!("mixed = einsum(weights, values -> batch {length} heads d_kv)"));
        let out = format!("einsum(mixed, o -> batch {length} d_model)");
        let out = outside(out, length, self.outside) + &biased(s, "o_bias");
        text.line(format!("x = x + {}", dropped(s, out)));
    }
}

/// Keys or values along `along`, once for each head.
fn shared(text: &mut Text, s: &Settings, memory: &str, matrix: &str, along: &str) -> String {
    let bias = biased(s, &format!("{matrix}_bias"));
    if s.kv_heads == s.heads {
        return format!("einsum({memory}, {matrix} -> batch {along} heads d_kv){bias}");
    }
    text.dim("kv_heads", s.kv_heads);
    text.dim("heads_per_kv", s.heads / s.kv_heads);
    let own = format!("einsum({memory}, {matrix} -> batch {along} kv_heads d_kv){bias}");
    format!(
        "reshape(broadcast({own} -> batch {along} kv_heads heads_per_kv d_kv), kv_heads, heads_per_kv -> heads)"
    )
}
