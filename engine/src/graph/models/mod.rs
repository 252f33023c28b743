//! Presets: models by name. Each is study text, built like any model written out, so a preset and
//! its written-out form cannot differ.

mod text;
mod settings;
mod pieces;
mod positions;
mod attention;
mod feed_forward;
mod experts;
mod gating;

mod two_layer;
mod mlp;
mod transformer;
mod encoder;
mod encoder_decoder;
mod moe;
mod convnet;

use crate::diag::{Code, Diagnostic};
use crate::graph::options::Reader;
use crate::spec::ast::{Ident, Opt};
use crate::spec::synonyms::{self, words};

/// A preset: its name, what it is, and the text it stands for.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// The name after `model`.
    pub name: &'static str,
    /// One sentence for menus and the reference.
    pub about: &'static str,
    /// The options it takes, with their defaults.
    pub options: &'static str,
    /// All options that it reads.
    known: &'static [&'static [&'static str]],
    expand: fn(&mut Reader<'_, '_>) -> String,
}

/// All presets.
pub const PRESETS: &[Preset] = &[
    two_layer::PRESET,
    mlp::PRESET,
    transformer::PRESET,
    encoder::PRESET,
    encoder_decoder::PRESET,
    moe::PRESET,
    convnet::PRESET,
];

/// The text a `model` statement stands for: `dims`, `input`, `param` and assignments.
pub fn expand(
    preset: &Ident,
    options: &[Opt],
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<String> {
    if let Some(found) = PRESETS.iter().find(|p| p.name == preset.text) {
        let mut read = Reader::new(found.name, options, &found.known.concat(), diagnostics);
        return Some((found.expand)(&mut read));
    }
    let names: Vec<&str> = PRESETS.iter().map(|p| p.name).collect();
    let mut d = Diagnostic::error(
        Code::UnknownPreset,
        preset.span,
        format!("There is no preset `{}`; known are {}", preset.text, names.join(", ")),
    );
    let meant = synonyms::hint(words::PRESETS, &preset.text, &names, preset.span, preset.span);
    let near = || synonyms::near(&preset.text, names.iter().copied(), preset.span);
    d.hints.extend(meant.or_else(near));
    diagnostics.push(d);
    None
}

/// Whether a preset has an option of this name.
pub fn takes(preset: &str, option: &str) -> bool {
    let found = PRESETS.iter().find(|p| p.name == preset);
    found.is_some_and(|p| p.known.iter().any(|list| list.contains(&option)))
}

/// The largest size a dimension may have.
pub const MAX_SIZE: u64 = 1 << 40;
