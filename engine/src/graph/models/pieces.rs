//! What every layer of a Transformer is made with: norms, biases, dropout, and the two names of a
//! sequence.

use super::settings::Settings;
use super::text::{Text, number};

/// x normed, as `h`.
pub(super) fn norm(text: &mut Text, s: &Settings) {
    let epsilon = match s.epsilon {
        1e-6 => String::new(),
        other => format!(" epsilon:{}", number(other)),
    };
    if s.layer_norm {
        text.line("param scale[d_model] init:ones, shift[d_model]");
        text.line(format!("h = layer_norm(x, dim:d_model{epsilon}) * scale + shift"));
    } else {
        text.line("param scale[d_model] init:ones");
        text.line(format!("h = rms_norm(x, dim:d_model{epsilon}) * scale"));
    }
}

/// An expression under dropout.
pub(super) fn dropped(s: &Settings, what: String) -> String {
    if s.dropout > 0.0 { format!("dropout({what}, rate:{})", number(s.dropout)) } else { what }
}

/// A term to add, or nothing.
pub(super) fn biased(s: &Settings, name: &str) -> String {
    if s.bias { format!(" + {name}") } else { String::new() }
}

/// `h` under the name that its sequence has inside a layer; what its tensor is called then.
pub(super) fn inside(text: &mut Text, outside: Option<&str>, length: &str) -> &'static str {
    let Some(outside) = outside else { return "h" };
    text.line(format!("inner = rename(h, {outside} -> {length})"));
    "inner"
}

/// An expression under the name that its sequence has between the layers.
pub(super) fn outside(value: String, length: &str, outside: Option<&str>) -> String {
    match outside {
        Some(outside) => format!("rename({value}, {length} -> {outside})"),
        None => value,
    }
}
