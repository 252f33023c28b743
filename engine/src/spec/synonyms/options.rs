//! Which options of others are looked up where, and those of the smaller statements.

use super::Ours::{Advice, Word};
use super::Table;
use super::preset::PRESET;
use super::train::TRAIN;

/// The table for the options of a statement, or of a preset.
pub fn of(statement: &str) -> Table {
    match statement {
        "train" => TRAIN,
        "block" => BLOCK,
        "pipeline" => PIPELINE,
        "input" | "param" | "state" => DECLARATION,
        "hardware" | "hash" => &[],
        _ => PRESET,
    }
}

/// Of `block`.
pub const BLOCK: Table = &[
    (
        &["repeat", "repeats", "n", "count", "num", "layers", "num_layers", "n_layers", "depth"],
        Word(&["times"]),
    ),
    (
        &["checkpoint", "checkpointing", "recompute", "rematerialize", "activation_checkpointing"],
        Word(&["remat"]),
    ),
];

/// Of `pipeline`.
pub const PIPELINE: Table = &[
    (
        &[
            "microbatches",
            "num_microbatches",
            "num_micro_batches",
            "chunks_of_batch",
            "n_microbatches",
        ],
        Word(&["micro_batches"]),
    ),
    (&["axis", "dim", "along", "mesh_dim"], Word(&["over"])),
    (
        &[
            "stages",
            "num_stages",
            "n_stages",
            "num_cells",
            "partitions",
            "devices",
            "pp",
            "pp_size",
        ],
        Word(&["cells"]),
    ),
    (&["virtual_stages", "v", "vpp", "vpp_size", "interleave", "loops"], Word(&["chunks"])),
    (&["checkpoint", "recompute", "rematerialize", "checkpointing"], Word(&["remat"])),
];

/// Of `input`, `param` and `state`.
pub const DECLARATION: Table = &[
    (&["initializer", "initial", "initial_value", "value", "initialization"], Word(&["init"])),
    (&["dtype", "type"], Advice("All numbers of a study are of one type: `train dtype:f64`.")),
    (
        &["trainable", "requires_grad"],
        Advice("What is trained is a `param`, what is not a `state`."),
    ),
    (&["shape", "size"], Advice("Dimensions stand in brackets, their sizes in `dims`.")),
];
