//! Options of others in calls of functions.

use super::Ours::{Beside, Nothing, Word};
use super::Table;

const KEPT: &str = "Leave it out: results go on by the names of their dimensions.";

/// Of functions.
pub const CALL: Table = &[
    (
        &[
            "dim",
            "axis",
            "over",
            "along",
            "dims",
            "axes",
            "reduced_dim",
            "reduced_dims",
            "reduction_dims",
            "d",
        ],
        Word(&["over", "dim"]),
    ),
    (
        &["output_shape", "keep", "kept"],
        Beside("over", "Dimensions that stay follow an arrow: `sum(x -> batch)`."),
    ),
    (&["keepdims", "keep_dims", "keepdim"], Nothing(KEPT)),
    (&["name"], Nothing("Leave it out: a tensor is called as it is assigned.")),
    (&["offset", "amount", "shift", "shifts", "steps", "n", "distance"], Word(&["by"])),
    (&["start", "from", "offset", "low", "first"], Word(&["begin"])),
    (
        &["end", "stop", "limit", "length", "size", "limit_index"],
        Beside("begin", "A slice has as many positions as the new dimension after its arrow."),
    ),
    (&["step", "strides", "every"], Word(&["stride"])),
    (&["left", "front", "low", "begin", "pad_left"], Word(&["before"])),
    (
        &["after", "right", "back", "high", "pad_right"],
        Beside(
            "before",
            "What the new dimension is longer than the old one and `before` together are zeros behind: leave it out.",
        ),
    ),
    (&["index", "position", "i", "idx", "pos"], Word(&["at"])),
    (&["eps", "variance_epsilon"], Word(&["epsilon"])),
    (
        &["p", "prob", "probability", "drop", "drop_rate", "dropout_rate", "drop_prob", "dropout"],
        Word(&["rate"]),
    ),
    (
        &["keep_prob", "keep_probability", "keep"],
        Beside("rate", "`rate` is the share of zeros: 1 less the share that is kept."),
    ),
    (
        &["k", "num", "n"],
        Beside(
            "dim",
            "The dimension after the arrow says how many: `top_k(x -> k, dim:vocab)` with `dims k:2`.",
        ),
    ),
    (&["dilation_rate", "dilations", "rhs_dilation"], Word(&["dilation"])),
    (&["kernel", "kernel_size", "ksize", "pool_size", "window_shape"], Word(&["window"])),
    (&["pad", "pad_mode"], Word(&["padding"])),
    (&["out", "output", "into"], Word(&["to"])),
    (&["smoothing", "label_smooth"], Word(&["label_smoothing"])),
    (&["z"], Word(&["z_loss"])),
    (&["circular", "periodic", "cyclic", "wraparound"], Word(&["wrap"])),
    (&["backward", "backwards", "reversed"], Word(&["reverse"])),
];
