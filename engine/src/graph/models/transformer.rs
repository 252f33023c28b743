//! The decoder language model (Table 2 of the Mesh-TensorFlow paper): layers of causal attention
//! and feed-forward, each added to what it reads.
//!
//! The loss is summed over the positions whose target is not 0 (padding), and divided by all
//! positions of the batch, as Mesh-TensorFlow does: a batch half empty weighs half.

use super::Preset;
use super::attention::Attention;
use super::experts::{self, Experts};
use super::feed_forward::{self, logits, losses};
use super::pieces::{dropped, norm};
use super::positions::Sequence;
use super::settings::{COMMON, Settings, View, refuse};
use super::text::Text;
use crate::graph::options::{Reader, SWITCH};

pub(super) const PRESET: Preset = Preset {
    name: "transformer",
    about: "A decoder language model: causal attention and feed-forward layers, or experts.",
    options: "batch:8 length:16 vocab:64 d_model:32 heads:4 d_kv:8 d_ff:128 layers:2 attention:causal positions:learned norm:rms ffn:relu",
    known: &[COMMON, &["inputs", "sequence_parallel", "expert_every"], experts::OPTIONS],
    expand,
};

fn expand(read: &mut Reader<'_, '_>) -> String {
    let s = Settings::read(read, View::Causal);
    let given = [("shifted", false), ("given", true)];
    let given = read.choice("inputs", &given).unwrap_or(false);
    let mut experts = Experts::read(read, (s.batch, s.length), s.d_ff, None);
    if let Some(experts) = &mut experts
        && !s.layers.is_multiple_of(experts.every)
    {
        let message = format!(
            "`expert_every` divides the number of layers; {} are no multiple of {}",
            s.layers, experts.every
        );
        let divisor = (1..=experts.every).rev().find(|k| s.layers.is_multiple_of(*k));
        refuse(read, "expert_every", &message, divisor.unwrap_or(1));
        experts.every = 1;
    }
    let causal = s.view != View::Full;
    let apart = read.choice("sequence_parallel", SWITCH).unwrap_or(false);
    let (length, outside) = if apart { ("inner_length", Some("length")) } else { ("length", None) };
    let sequence = Sequence {
        prefix: "",
        length,
        size: s.length,
        memory: "memory_length",
        view: s.view,
        causal,
        padded: None,
    };
    let mut text = Text::default();
    for (name, size) in
        [("batch", s.batch), ("length", s.length), ("vocab", s.vocab), ("d_model", s.d_model)]
    {
        text.dim(name, size);
    }
    let ids = format!("init:integers(1 {})", s.vocab);
    if given {
        text.line(format!("input inputs[batch length] {ids}, targets[batch length] {ids}"));
    } else {
        text.line(format!("input targets[batch length] {ids}"));
        text.line("inputs = shift(targets, dim:length by:1)");
    }
    let (mut inputs, mut targets) = ("inputs", "targets");
    if apart {
        text.line("inner_inputs = rename(inputs, length -> inner_length)");
        text.line("inner_targets = rename(targets, length -> inner_length)");
        (inputs, targets) = ("inner_inputs", "inner_targets");
    }
    sequence.tables(&mut text, &s);
    text.line("param embedding[vocab d_model] init:normal(0 1)");
    let x = sequence.embedded(&mut text, &s, inputs, outside);
    text.line(format!("x = {x}"));
    if experts.is_some() {
        text.line("balance = 0");
    }
    let mask = sequence.mask();
    let attention = Attention { outside, ..Attention::within(sequence, mask.as_deref()) };
    layers(&mut text, &s, experts, attention);
    logits(&mut text, &s, length, outside);
    let balance = if experts.is_some() { " + balance" } else { "" };
    text.line(format!("losses = {}", losses(&s, targets)));
    text.line(format!("loss = mean(losses * less(0, {targets})){balance}"));
    text.finish()
}

/// All layers; with experts in every n-th, n−1 dense ones and one with experts repeat.
fn layers(text: &mut Text, s: &Settings, experts: Option<Experts>, attention: Attention<'_>) {
    let dense = |text: &mut Text| {
        attention.write(text, s);
        feed_forward::write(text, s, attention.length, attention.outside);
    };
    let Some(experts) = experts else {
        text.block(&format!("layer times:{}", s.layers), dense);
        return;
    };
    let sparse = |text: &mut Text| {
        attention.write(text, s);
        text.block("ffn", |text| {
            norm(text, s);
            experts.write(text, s.ffn, "h", (s.batch, s.length));
            text.line(format!("x = x + {}", dropped(s, "mixed".to_owned())));
        });
    };
    text.block(&format!("layer times:{}", s.layers / experts.every), |text| match experts.every {
        1 => sparse(text),
        n => {
            text.block(&format!("dense times:{}", n - 1), dense);
            text.block("sparse", sparse);
        }
    });
}
