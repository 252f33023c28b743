//! A convolutional network for images that may be cut into strips or tiles.
//!
//! With `layout h:rows w:cols` every processor holds a tile of every picture; before a convolution
//! it receives the rows and columns of its neighbours that its windows reach into (halo exchange).
//!
//! ```text
//! for each width of `channels`:
//!   z = conv(x, filter -> batch h w c1, over:(h w) window:(kh kw))
//!   x = relu((z − mean) / √(variance + 10⁻⁵) · scale + shift)    per channel
//!   x = max_pool(x)                                              between them, with pool:max
//! logits = mean of x over the picture · dense
//! ```
//!
//! Batch norm (Ioffe & Szegedy 2015): training normalises by the statistics of the mini-batch,
//! validating by their running means, which keep nine tenths at each step.

use super::settings::{idle, refuse};
use super::text::Text;
use super::{MAX_SIZE, Preset};
use crate::diag::{Code, Diagnostic};
use crate::graph::options::{DTYPES, Reader};
use crate::spec::ast::OptValue;

pub(super) const PRESET: Preset = Preset {
    name: "convnet",
    about: "A convolutional network with batch norm, for pictures that may be cut in both directions.",
    options: "batch:16 h:8 w:8 in:1 channels:(8 16) kernel:3 classes:4 norm:batch pool:none",
    known: &[&["batch", "h", "w", "in", "channels", "kernel", "classes", "norm", "pool", "dtype"]],
    expand,
};

const MAX_DEPTH: usize = 32;

fn expand(read: &mut Reader<'_, '_>) -> String {
    let size = |read: &mut Reader<'_, '_>, key: &str, default: u64| {
        read.whole(key, 1, MAX_SIZE).unwrap_or(default)
    };
    let mut sides = [size(read, "h", 8), size(read, "w", 8)];
    let kernel = size(read, "kernel", 3);
    let classes = size(read, "classes", 4);
    let channels = channels(read);
    let norm = read.choice("norm", &[("batch", true), ("none", false)]).unwrap_or(true);
    let pools = [("none", None), ("max", Some("max_pool")), ("avg", Some("avg_pool"))];
    let pool = read.choice("pool", &pools).flatten();
    read.choice("dtype", DTYPES);
    if channels.len() == 1 {
        idle(read, &["pool"], "on a single convolution");
    }
    let pool = pool.filter(|_| halves(read, sides, channels.len() - 1));

    let mut text = Text::default();
    text.dim("batch", size(read, "batch", 16));
    text.dim("h", sides[0]);
    text.dim("w", sides[1]);
    text.dim("in", size(read, "in", 1));
    text.dim("kh", kernel);
    text.dim("kw", kernel);
    text.line(format!("input x[batch h w in], labels[batch] init:integers(0 {classes})"));
    let (mut dims, mut from) = (["h".to_owned(), "w".to_owned()], "in".to_owned());
    for (i, width) in channels.iter().enumerate() {
        let to = format!("c{}", i + 1);
        text.dim(&to, *width);
        let last = i + 1 == channels.len();
        text.block(&format!("conv{}", i + 1), |text| {
            convolve(text, &dims, &from, &to, norm);
        });
        if let Some(pool) = pool.filter(|_| !last) {
            sides = sides.map(|side| side / 2);
            let smaller = [format!("h{}", i + 2), format!("w{}", i + 2)];
            for (name, size) in
                [("ph", 2), ("pw", 2), (&*smaller[0], sides[0]), (&*smaller[1], sides[1])]
            {
                text.dim(name, size);
            }
            text.block(&format!("pool{}", i + 1), |text| {
                text.line(format!(
                    "x = {pool}(x, over:({}) window:(ph pw) to:({}))",
                    dims.join(" "),
                    smaller.join(" ")
                ));
            });
            dims = smaller;
        }
        from = to;
    }
    text.dim("classes", classes);
    text.line(format!("param dense[{from} classes], bias[classes]"));
    text.line(format!("features = mean(x, over:({}))", dims.join(" ")));
    text.line("logits = einsum(features, dense -> batch classes) + bias");
    text.line("loss = mean(cross_entropy(logits, labels, dim:classes))");
    text.finish()
}

fn convolve(text: &mut Text, [h, w]: &[String; 2], from: &str, to: &str, norm: bool) {
    text.line(format!("param filter[kh kw {from} {to}]"));
    text.line(format!("z = conv(x, filter -> batch {h} {w} {to}, over:({h} {w}) window:(kh kw))"));
    if norm {
        text.line(format!("param scale[{to}] init:ones, shift[{to}]"));
        text.line(format!("state mean_seen[{to}] init:zeros, variance_seen[{to}] init:ones"));
        text.line(format!("mean_now = mean(z -> {to})"));
        text.line(format!("variance_now = mean(square(z - mean_now) -> {to})"));
        text.line("mean_seen := 0.9 * mean_seen + 0.1 * mean_now");
        // By squares, whose mean over a mini-batch is the mean of those over its micro-batches.
        text.line(format!("spread = mean(square(z) -> {to}) - square(mean_now)"));
        text.line("variance_seen := 0.9 * variance_seen + 0.1 * spread");
        text.line("centred = z - select(training(), mean_now, mean_seen)");
        text.line("variance = select(training(), variance_now, variance_seen)");
        text.line("x = relu(centred * rsqrt(variance + 1e-5) * scale + shift)");
    } else {
        text.line(format!("param bias[{to}]"));
        text.line("x = relu(z + bias)");
    }
}

/// Whether a picture can be halved so often.
fn halves(read: &mut Reader<'_, '_>, sides: [u64; 2], times: usize) -> bool {
    let parts = 1 << times;
    let wrong = ["h", "w"].into_iter().zip(sides).filter(|(_, side)| !side.is_multiple_of(parts));
    let wrong: Vec<(&str, u64)> = wrong.collect();
    for &(key, side) in &wrong {
        let message = format!(
            "Pooling halves a picture {times} times: `{key}` is a multiple of {parts}, not {side}"
        );
        if read.get(key).is_some() {
            refuse(read, key, &message, side.next_multiple_of(parts));
        } else if let Some(option) = read.get("pool") {
            read.report(Diagnostic::error(Code::BadOption, option.span, message));
        }
    }
    wrong.is_empty()
}

fn channels(read: &mut Reader<'_, '_>) -> Vec<u64> {
    let ok = |v: &OptValue| match v {
        OptValue::Number(n) if n.fract() == 0.0 && *n >= 1.0 && *n <= MAX_SIZE as f64 => {
            Some(*n as u64)
        }
        OptValue::Number(_) | OptValue::Word(_) | OptValue::List(_) | OptValue::Call { .. } => None,
    };
    let Some(option) = read.get("channels") else { return vec![8, 16] };
    let widths: Option<Vec<u64>> = match &option.value {
        OptValue::List(list) if (1..=MAX_DEPTH).contains(&list.len()) => {
            list.iter().map(ok).collect()
        }
        OptValue::List(_) => None,
        OptValue::Number(_) | OptValue::Word(_) | OptValue::Call { .. } => {
            ok(&option.value).map(|width| vec![width])
        }
    };
    widths.unwrap_or_else(|| {
        read.bad(option, "a number of channels, or one for each convolution: (8 16)");
        vec![8]
    })
}
