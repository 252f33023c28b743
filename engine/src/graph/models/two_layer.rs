//! The example of the Mesh-TensorFlow paper (section 3): y = relu(x w + bias) v.

use super::{MAX_SIZE, Preset};
use crate::graph::options::{DTYPES, Reader};

pub(super) const PRESET: Preset = Preset {
    name: "two_layer",
    about: "The paper's example: two fully connected layers, mean-square loss.",
    options: "batch:8 io:4 hidden:8",
    known: &[&["batch", "io", "hidden", "dtype"]],
    expand,
};

fn expand(read: &mut Reader<'_, '_>) -> String {
    let batch = read.whole("batch", 1, MAX_SIZE).unwrap_or(8);
    let io = read.whole("io", 1, MAX_SIZE).unwrap_or(4);
    let hidden = read.whole("hidden", 1, MAX_SIZE).unwrap_or(8);
    read.choice("dtype", DTYPES);
    format!(
        "dims batch:{batch} io:{io} hidden:{hidden}
input x[batch io], target[batch io]
param w[io hidden], bias[hidden], v[hidden io]
h = relu(einsum(x, w -> batch hidden) + bias)
y = einsum(h, v -> batch io)
loss = mean(square(y - target))
"
    )
}
