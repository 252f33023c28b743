//! One mixture of experts by itself: what is sent where, without a Transformer around it.

use super::experts::{self, Experts};
use super::settings::ACTIVATIONS;
use super::text::Text;
use super::{MAX_SIZE, Preset};
use crate::graph::options::{DTYPES, Reader};

pub(super) const PRESET: Preset = Preset {
    name: "moe",
    about: "One layer of a mixture of experts: gating, capacity, and the way there and back.",
    options: "batch:8 length:8 d_model:16 experts:4 expert_hidden:64 gating:top2 capacity_factor:1.25 min_capacity:4",
    known: &[&["batch", "length", "d_model", "ffn", "dtype"], experts::OPTIONS],
    expand,
};

fn expand(read: &mut Reader<'_, '_>) -> String {
    let batch = read.whole("batch", 1, MAX_SIZE).unwrap_or(8);
    let length = read.whole("length", 1, MAX_SIZE).unwrap_or(8);
    let d_model = read.whole("d_model", 1, MAX_SIZE).unwrap_or(16);
    let ffn = read.choice("ffn", ACTIVATIONS).unwrap_or(ACTIVATIONS[0].1);
    read.choice("dtype", DTYPES);
    let Some(experts) = Experts::read(read, (batch, length), 4 * d_model, Some(4)) else {
        return String::new();
    };
    let mut text = Text::default();
    for (name, size) in [("batch", batch), ("length", length), ("d_model", d_model)] {
        text.dim(name, size);
    }
    text.line("input x[batch length d_model], target[batch length d_model]");
    text.line("balance = 0");
    text.block("ffn", |text| {
        experts.write(text, ffn, "x", (batch, length));
        text.line("x = mixed");
    });
    text.line("loss = mean(square(x - target)) + balance");
    text.finish()
}
