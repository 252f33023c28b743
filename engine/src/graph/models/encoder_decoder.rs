//! The encoder-decoder (Table 3 of the Mesh-TensorFlow paper), for translation: an encoder that
//! sees the whole source, a decoder that sees what it has written and, by attention to the
//! encoder's result, the source.
//!
//! One table embeds both sequences. Id 0 is padding: not looked at in the source, not counted in
//! the targets; the loss is the decoder's, as in `transformer`.

use super::attention::Attention;
use super::feed_forward::{self, logits, losses};
use super::pieces::{dropped, norm};
use super::positions::Sequence;
use super::settings::{COMMON, Settings, View};
use super::text::Text;
use super::{MAX_SIZE, Preset};
use crate::graph::options::Reader;

pub(super) const PRESET: Preset = Preset {
    name: "encoder_decoder",
    about: "A Transformer for translation: an encoder, and a decoder that attends to it.",
    options: "batch:8 source_length:16 length:16 vocab:64 d_model:32 heads:4 d_kv:8 d_ff:128 layers:2",
    known: &[COMMON, &["source_length"]],
    expand,
};

fn expand(read: &mut Reader<'_, '_>) -> String {
    let s = Settings::read(read, View::Causal);
    let source_length = read.whole("source_length", 1, MAX_SIZE).unwrap_or(s.length);
    let source = Sequence {
        prefix: "source_",
        length: "source_length",
        size: source_length,
        memory: "source_memory",
        view: View::Full,
        causal: false,
        padded: Some("source"),
    };
    let target = Sequence {
        prefix: "",
        length: "length",
        size: s.length,
        memory: "memory_length",
        view: s.view,
        causal: s.view != View::Full,
        padded: None,
    };
    let mut text = Text::default();
    for (name, size) in [("batch", s.batch), ("vocab", s.vocab), ("d_model", s.d_model)] {
        text.dim(name, size);
    }
    let ids = format!("init:integers(1 {})", s.vocab);
    text.line(format!("input source[batch source_length] {ids}, targets[batch length] {ids}"));
    text.line("inputs = shift(targets, dim:length by:1)");
    source.tables(&mut text, &s);
    target.tables(&mut text, &s);
    text.line("param embedding[vocab d_model] init:normal(0 1)");
    encoder(&mut text, &s, source);
    decoder(&mut text, &s, target);
    logits(&mut text, &s, "length", None);
    text.line(format!("losses = {}", losses(&s, "targets")));
    text.line("loss = mean(losses * less(0, targets))");
    text.finish()
}

/// The encoder, whose result is `encoded`.
fn encoder(text: &mut Text, s: &Settings, source: Sequence<'_>) {
    let x = source.embedded(text, s, "source", None);
    text.line(format!("encoded = {x}"));
    let visible = source.mask();
    text.block("encoder", |text| {
        text.line("x = encoded");
        text.block(&format!("layer times:{}", s.layers), |text| {
            Attention::within(source, visible.as_deref()).write(text, s);
            feed_forward::write(text, s, source.length, None);
        });
        text.block("final", |text| {
            norm(text, s);
            text.line(format!("x = {}", dropped(s, "h".to_owned())));
        });
        text.line("encoded = x");
    });
}

fn decoder(text: &mut Text, s: &Settings, target: Sequence<'_>) {
    let x = target.embedded(text, s, "inputs", None);
    text.line(format!("x = {x}"));
    let visible = target.mask();
    let cross = Attention {
        name: "cross",
        memory: "source_memory",
        other: Some(("encoded", "source_length")),
        visible: Some("source_visible"),
        view: View::Full,
        causal: false,
        ..Attention::within(target, None)
    };
    text.block(&format!("decoder times:{}", s.layers), |text| {
        Attention::within(target, visible.as_deref()).write(text, s);
        cross.write(text, s);
        feed_forward::write(text, s, target.length, None);
    });
}
