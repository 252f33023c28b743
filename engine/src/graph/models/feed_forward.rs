//! Feed-forward layers as study text, and what stands before and after the layers of a Transformer.

use super::pieces::{biased, dropped, inside, norm, outside};
use super::settings::{Activation, Settings};
use super::text::{Text, number};

/// A feed-forward layer: from the model to hidden units and back, plain or gated.
pub(super) fn write(text: &mut Text, s: &Settings, length: &str, between: Option<&str>) {
    text.dim("d_ff", s.d_ff);
    text.block("ffn", |text| {
        norm(text, s);
        let h = inside(text, between, length);
        matrices(text, s.ffn, "", "d_ff");
        if s.bias {
            let gate = if s.ffn.gated { "gate_bias[d_ff], " } else { "" };
            text.line(format!("param {gate}wi_bias[d_ff], wo_bias[d_model]"));
        }
        let product = |w: &str| {
            format!("einsum({h}, {w} -> batch {length} d_ff){}", biased(s, &format!("{w}_bias")))
        };
        let hidden = activated(s.ffn, &product("wi"), &product("gate"));
        text.line(format!("hidden = {}", dropped(s, hidden)));
        let out = format!("einsum(hidden, wo -> batch {length} d_model)");
        let out = outside(out, length, between) + &biased(s, "wo_bias");
        text.line(format!("x = x + {}", dropped(s, out)));
    });
}

/// The matrices of a feed-forward layer, one set for each position of `each`.
pub(super) fn matrices(text: &mut Text, ffn: Activation, each: &str, hidden: &str) {
    let gate = if ffn.gated { format!("gate[{each}d_model {hidden}], ") } else { String::new() };
    text.line(format!("param {gate}wi[{each}d_model {hidden}], wo[{each}{hidden} d_model]"));
}

/// The hidden units.
pub(super) fn activated(ffn: Activation, product: &str, gate: &str) -> String {
    let apply = |of: &str| match ffn.function {
        "" => format!("({of})"),
        function => format!("{function}({of})"),
    };
    if ffn.gated { format!("{} * ({product})", apply(gate)) } else { apply(product) }
}

/// The last norm and the logits of each word.
pub(super) fn logits(text: &mut Text, s: &Settings, length: &str, between: Option<&str>) {
    text.block("final", |text| {
        norm(text, s);
        text.line(format!("x = {}", dropped(s, "h".to_owned())));
    });
    let x = match between {
        Some(between) => format!("rename(x, {between} -> {length})"),
        None => "x".to_owned(),
    };
    if s.tied {
        let small = number((s.d_model as f64).sqrt().recip());
        text.line(format!("logits = einsum({x} * {small}, embedding -> batch {length} vocab)"));
    } else {
        text.line("param unembedding[d_model vocab]");
        text.line(format!("logits = einsum({x}, unembedding -> batch {length} vocab)"));
    }
}

/// The cross-entropy of each position.
pub(super) fn losses(s: &Settings, targets: &str) -> String {
    let mut options = String::new();
    for (key, value) in [("label_smoothing", s.label_smoothing), ("z_loss", s.z_loss)] {
        if value > 0.0 {
            options = format!("{options} {key}:{}", number(value));
        }
    }
    format!("cross_entropy(logits, {targets}, dim:vocab{options})")
}
