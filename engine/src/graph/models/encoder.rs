//! An encoder with masked tokens (Devlin et al. 2019): every position sees every other, and the
//! model guesses tokens that were hidden from it.
//!
//! At each step a share `mask_rate` of the tokens is replaced by the last id of the vocabulary,
//! anew and at random, by global position. The loss is the mean over the hidden ones. Id 0 is
//! padding: never hidden, never looked at.

use super::Preset;
use super::attention::Attention;
use super::feed_forward::{self, logits, losses};
use super::positions::Sequence;
use super::settings::{COMMON, Settings, View};
use super::text::{Text, number};
use crate::graph::options::Reader;

pub(super) const PRESET: Preset = Preset {
    name: "encoder",
    about: "An encoder that guesses masked tokens: attention in both directions.",
    options: "batch:8 length:16 vocab:64 d_model:32 heads:4 d_kv:8 d_ff:128 layers:2 mask_rate:0.15",
    known: &[COMMON, &["mask_rate"]],
    expand,
};

fn expand(read: &mut Reader<'_, '_>) -> String {
    let s = Settings::read(read, View::Full);
    let mask_rate = read.share("mask_rate").unwrap_or(0.15);
    let sequence = Sequence {
        prefix: "",
        length: "length",
        size: s.length,
        memory: "memory_length",
        view: s.view,
        causal: false,
        padded: Some("tokens"),
    };
    let mut text = Text::default();
    for (name, size) in [("batch", s.batch), ("vocab", s.vocab), ("d_model", s.d_model)] {
        text.dim(name, size);
    }
    let mask = s.vocab - 1;
    text.line(format!("input tokens[batch length] init:integers(1 {mask})"));
    text.line(format!(
        "masked = less(random(batch, length), {}) * less(0, tokens)",
        number(mask_rate)
    ));
    text.line(format!("inputs = select(masked, {mask}, tokens)"));
    sequence.tables(&mut text, &s);
    text.line("param embedding[vocab d_model] init:normal(0 1)");
    let x = sequence.embedded(&mut text, &s, "inputs", None);
    text.line(format!("x = {x}"));
    let visible = sequence.mask();
    let attention = Attention::within(sequence, visible.as_deref());
    text.block(&format!("layer times:{}", s.layers), |text| {
        attention.write(text, &s);
        feed_forward::write(text, &s, "length", None);
    });
    logits(&mut text, &s, "length", None);
    text.line(format!("losses = {}", losses(&s, "tokens")));
    text.line("loss = sum(losses * masked) / maximum(sum(masked), 1)");
    text.finish()
}
