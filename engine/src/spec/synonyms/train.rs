//! Options of others on `train`.

use super::Ours::{Advice, Word};
use super::Table;

/// Of `train`.
pub const TRAIN: Table = &[
    (&["lr", "learning_rate", "eta", "base_lr", "peak_lr", "max_lr"], Word(&["rate"])),
    (&["b1", "beta_1", "adam_beta1", "adam_b1"], Word(&["beta1"])),
    (&["b2", "beta_2", "adam_beta2", "adam_b2"], Word(&["beta2"])),
    (&["betas", "adam_betas"], Advice("Write both by themselves: `beta1:0.9 beta2:0.999`.")),
    (&["eps", "adam_eps", "adam_epsilon"], Word(&["epsilon"])),
    (&["wd", "weightdecay", "adamw_decay"], Word(&["weight_decay"])),
    (
        &["l2"],
        Advice(
            "Add it to the loss, as in `loss = … + 0.01 * sum(square(w))`; `optimizer:adamw weight_decay:0.01` lets weights decay apart from the gradient.",
        ),
    ),
    (
        &[
            "grad_clip",
            "clip_norm",
            "max_grad_norm",
            "gradient_clip",
            "gradient_clipping",
            "clip_grad",
            "clip_grad_norm",
            "clip_by_global_norm",
            "grad_norm_clip",
            "gradient_clip_val",
            "max_norm",
        ],
        Word(&["clip"]),
    ),
    (&["mom", "momentum_rate"], Word(&["momentum"])),
    (
        &["nesterov"],
        Advice("There is no Nesterov momentum; `optimizer:momentum` is the heavy ball."),
    ),
    (
        &[
            "num_steps",
            "n_steps",
            "max_steps",
            "train_steps",
            "num_train_steps",
            "total_steps",
            "iterations",
            "iters",
            "max_iters",
            "num_iterations",
            "training_steps",
        ],
        Word(&["steps"]),
    ),
    (
        &["epochs", "num_epochs", "n_epochs"],
        Advice("A run is counted in steps, each of which takes one batch: `steps:200`."),
    ),
    (
        &["warmup_steps", "num_warmup_steps", "warm_up", "warmup_iters", "lr_warmup"],
        Word(&["warmup"]),
    ),
    (
        &[
            "schedule",
            "lr_schedule",
            "scheduler",
            "lr_scheduler",
            "lr_decay",
            "lr_scheduler_type",
            "lr_decay_style",
        ],
        Word(&["decay"]),
    ),
    (&["lr_decay_steps", "lr_decay_iters"], Word(&["decay_steps"])),
    (
        &["min_lr", "end_lr", "final_lr", "min_rate", "end_rate", "end_value", "eta_min"],
        Word(&["final_rate"]),
    ),
    (&["opt", "optim", "optimiser"], Word(&["optimizer"])),
    (&["random_seed", "rng", "key", "manual_seed"], Word(&["seed"])),
    (&["dataset", "train_data", "data_path"], Word(&["data"])),
    (&["tokenizer", "tokenization", "tokeniser"], Word(&["tokens"])),
    (&["precision", "float_type", "param_dtype", "activation_dtype"], Word(&["dtype"])),
    (
        &[
            "microbatches",
            "num_microbatches",
            "num_micro_batches",
            "accumulation_steps",
            "gradient_accumulation_steps",
            "grad_accum",
            "grad_accumulation",
            "accumulate_grad_batches",
            "accum_steps",
        ],
        Word(&["micro_batches"]),
    ),
    (
        &[
            "batch_size",
            "bs",
            "train_batch_size",
            "global_batch_size",
            "micro_batch_size",
            "microbatch_size",
        ],
        Advice(
            "The batch's size is that of its dimension: in `dims batch:32`, or in the `model` line.",
        ),
    ),
    (
        &["layout", "mesh", "mesh_shape"],
        Advice("Write it as a line of its own: `mesh rows:2 cols:2`, `layout batch:rows`."),
    ),
];
