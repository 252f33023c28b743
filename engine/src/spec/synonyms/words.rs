//! Statements, presets, values and initial values of others.

use super::Ours::{Advice, Beside, Nothing, Word};
use super::Table;

const NAMED: &str = "Leave it out: whatever is assigned has a name, can be printed and drawn; training minimises `loss`.";

/// Words at the beginning of a line.
pub const STATEMENTS: Table = &[
    (
        &["variable", "var", "weight", "weights", "parameter", "parameters", "params"],
        Word(&["param"]),
    ),
    (&["placeholder", "inputs", "feed"], Word(&["input"])),
    (&["buffer", "states"], Word(&["state"])),
    (&["dimension", "dimensions", "size", "sizes", "dim"], Word(&["dims"])),
    (&["mesh_shape", "device_mesh", "grid"], Word(&["mesh"])),
    (&["sharding", "shard", "layout_rules", "rules", "partition", "split"], Word(&["layout"])),
    (&["network", "net", "preset"], Word(&["model"])),
    (&["device", "accelerator", "chip"], Word(&["hardware"])),
    (&["output", "outputs", "return", "let", "tensor", "const"], Nothing(NAMED)),
    (
        &["optimizer", "optim"],
        Advice("The optimizer is an option of `train`: `train optimizer:adam rate:0.001`."),
    ),
    (&["loss"], Advice("The loss is assigned: `loss = mean(square(y - target))`.")),
    (
        &["for", "repeat", "loop", "scan"],
        Advice("Lines are repeated by `block layer times:12` … `end`."),
    ),
    (&["data", "dataset"], Advice("The data is an option of `train`: `train data:teacher`.")),
    (
        &["import", "print"],
        Advice(
            "A study only describes; what is printed is asked of the run: `meshwork run FILE --print NAME`.",
        ),
    ),
];

/// Names after `model`.
pub const PRESETS: Table = &[
    (
        &["gpt", "gpt2", "gpt3", "decoder", "decoder_only", "llama", "lm", "language_model"],
        Word(&["transformer"]),
    ),
    (&["bert", "roberta", "mlm", "encoder_only"], Word(&["encoder"])),
    (&["t5", "seq2seq", "translation", "enc_dec", "encoderdecoder"], Word(&["encoder_decoder"])),
    (&["cnn", "conv", "convolutional"], Word(&["convnet"])),
    (&["mixture_of_experts", "experts"], Word(&["moe"])),
    (
        &["switch", "switch_transformer", "mixtral"],
        Advice("Write `transformer` with `experts:4`; `gating:top1` is the Switch Transformer's."),
    ),
    (
        &["ffn", "dnn", "perceptron", "feedforward", "feed_forward", "fully_connected"],
        Word(&["mlp"]),
    ),
    (&["linear"], Advice("A linear model is `mlp depth:0`.")),
    (&["twolayer"], Word(&["two_layer"])),
    (
        &["resnet", "vit", "unet", "rnn", "lstm", "gru", "mamba"],
        Advice("There is no such preset; `input`, `param` and assignments write any model out."),
    ),
];

const NARROW: &str = "There is none: numbers are computed in f32 or f64.";
const NO_OPTIMIZER: &str = "There is none of this name; nearest in kind is `adam`.";
const PLACES: &str = "There are none of this kind: `learned` is a vector per position, `rotary` turns queries and keys.";

/// Values of options.
pub const VALUES: Table = &[
    (&["true", "yes", "1", "enabled", "enable", "always"], Word(&["on"])),
    (&["false", "no", "0", "disabled", "disable", "none", "never"], Word(&["off"])),
    // numbers
    (&["float32", "fp32", "float", "single"], Word(&["f32"])),
    (&["float64", "fp64", "double"], Word(&["f64"])),
    (
        &[
            "bf16", "bfloat16", "fp16", "float16", "f16", "half", "fp8", "float8", "int8", "tf32",
            "int32", "int64", "mixed",
        ],
        Beside("f32", NARROW),
    ),
    // optimizers and schedules
    (&["gd", "gradient_descent"], Word(&["sgd"])),
    (&["heavy_ball", "sgd_momentum", "sgdm"], Word(&["momentum"])),
    (&["adam_w"], Word(&["adamw"])),
    (
        &[
            "nadam", "adamax", "radam", "lamb", "lion", "adagrad", "rmsprop", "adadelta",
            "nesterov", "lars", "muon", "shampoo", "sophia",
        ],
        Beside("adam", NO_OPTIMIZER),
    ),
    (&["const", "none", "fixed", "flat"], Word(&["constant"])),
    (&["cos", "cosine_annealing", "cosine_decay", "cosineannealing"], Word(&["cosine"])),
    (&["rsqrt", "inv_sqrt", "invsqrt", "noam", "inverse_square_root"], Word(&["inverse_sqrt"])),
    (&["linear_decay"], Word(&["linear"])),
    (
        &["exponential", "exp", "step", "polynomial", "poly", "wsd", "onecycle", "piecewise"],
        Beside(
            "inverse_sqrt",
            "There is none; after the warm-up the rate stays, or falls by `linear`, `cosine` or `inverse_sqrt`.",
        ),
    ),
    (&["byte", "char", "chars", "character", "characters", "utf8"], Word(&["bytes"])),
    (&["byte_pair", "subword", "subwords"], Word(&["bpe"])),
    (
        &["sentencepiece", "wordpiece", "words", "word", "gpt2"],
        Beside("bpe", "There are `bytes` and `bpe`, byte pairs learnt from the text itself."),
    ),
    // models
    (&["swish"], Word(&["silu"])),
    (&["gated_gelu"], Word(&["geglu"])),
    (&["gated_silu", "silu_glu", "swish_glu"], Word(&["swiglu"])),
    (&["identity", "linear", "id"], Word(&["none"])),
    (&["logistic"], Word(&["sigmoid"])),
    (&["rope", "rotary_embedding", "rotary_embeddings", "roformer"], Word(&["rotary"])),
    (&["t5", "relative_bias", "rel", "bucketed"], Word(&["relative"])),
    (&["learnt", "trained", "embedding"], Word(&["learned"])),
    (&["nope", "no"], Word(&["none"])),
    (&["alibi", "sinusoidal", "sin", "sine", "absolute", "fixed"], Beside("rotary", PLACES)),
    (&["layernorm", "layer_norm", "ln"], Word(&["layer"])),
    (&["rmsnorm", "rms_norm", "t5norm"], Word(&["rms"])),
    (&["batchnorm", "batch_norm", "bn"], Word(&["batch"])),
    (&["average", "mean", "avg_pool", "avgpool", "average_pool"], Word(&["avg"])),
    (&["max_pool", "maxpool", "maximum"], Word(&["max"])),
    (&["bidirectional", "global", "dense", "mha"], Word(&["full"])),
    (
        &["autoregressive", "masked", "decoder", "unidirectional", "left_to_right"],
        Word(&["causal"]),
    ),
    (&["sliding", "sliding_window", "windowed", "banded"], Word(&["local"])),
    (&["causal"], Beside("full", "An encoder looks both ways; `model transformer` is causal.")),
    (&["switch", "top_1", "1", "switch_gating"], Word(&["top1"])),
    (&["top_2", "2", "gshard", "top_2_gating"], Word(&["top2"])),
    (&["mean_square", "mean_squared_error", "mse_loss"], Word(&["mse"])),
    (
        &[
            "xent",
            "ce",
            "crossentropy",
            "cross_entropy_loss",
            "softmax_cross_entropy",
            "categorical_crossentropy",
        ],
        Word(&["cross_entropy"]),
    ),
    (
        &["full_padding", "zeros", "zero", "both"],
        Beside("valid", "Zeros stand around in any case; a number says how many at either side."),
    ),
];

const INTERLEAVED_ZERO_BUBBLE: &str = "Zero bubble with several stages on a cell is `schedule:zb_h1 chunks:2`, or `zb_v` with two on a V.";

/// What may stand after `schedule:`.
pub const SCHEDULES: Table = &[
    (
        &["f_then_b", "fthenb", "fill_drain", "afab", "all_forward_all_backward", "schedulegpipe"],
        Word(&["gpipe"]),
    ),
    (
        &[
            "pipedream_flush",
            "dapple",
            "one_f_one_b",
            "onefoneb",
            "schedule1f1b",
            "trainschedule",
            "forward_backward_pipelining_without_interleaving",
        ],
        Word(&["1f1b"]),
    ),
    (
        &[
            "interleave",
            "virtual",
            "virtual_pipeline",
            "vpp",
            "circular",
            "depth_first",
            "dfs",
            "scheduleinterleaved1f1b",
            "1f1b_i",
            "forward_backward_pipelining_with_interleaving",
        ],
        Word(&["interleaved"]),
    ),
    (&["bfs", "looped", "breadthfirst", "scheduleloopedbfs"], Word(&["breadth_first"])),
    (&["zbh1", "zb1", "zb_1p", "zerobubble", "zero_bubble"], Word(&["zb_h1"])),
    (&["zbh2", "zb2", "zb2p"], Word(&["zb_2p"])),
    (&["zbv", "zbvpp", "zbv_pp", "zbvzerobubble", "schedulezbvzerobubble"], Word(&["zb_v"])),
    (&["dualpipev", "scheduledualpipev"], Word(&["dualpipe_v"])),
    (&["dual", "dual_pipe", "bidirectional"], Word(&["dualpipe"])),
    (
        &[
            "interleaved_zb",
            "interleaved_zero_bubble",
            "interleavedzerobubble",
            "scheduleinterleavedzerobubble",
        ],
        Advice(INTERLEAVED_ZERO_BUBBLE),
    ),
    (
        &["pipedream", "pipedream_2bw", "async"],
        Advice("All schedules update once per batch; `1f1b` has PipeDream's order with that."),
    ),
    (&["chimera"], Advice("Micro-batches come from both ends with `dualpipe`.")),
];

const DEVIATION: &str = "Without `init` a parameter is normal with deviation 1/√fan-in; another deviation is written out: `normal(0 0.02)`.";

/// What may stand after `init:`.
pub const INITIAL: Table = &[
    (&["zero"], Word(&["zeros"])),
    (&["one"], Word(&["ones"])),
    (&["gaussian", "gauss", "randn", "random_normal"], Word(&["normal"])),
    (&["rand", "random_uniform"], Word(&["uniform"])),
    (&["randint"], Word(&["integers"])),
    (
        &["normal", "gaussian", "randn", "random_normal"],
        Advice("Say its mean and deviation: `normal(0 0.1)`."),
    ),
    (&["uniform", "rand", "random_uniform"], Advice("Say its range: `uniform(0 1)`.")),
    (&["constant", "const", "full"], Advice("A number is written as it is: `init:3`.")),
    (
        &[
            "xavier",
            "glorot",
            "he",
            "kaiming",
            "lecun",
            "xavier_uniform",
            "xavier_normal",
            "glorot_uniform",
            "glorot_normal",
            "he_normal",
            "he_uniform",
            "lecun_normal",
            "kaiming_normal",
            "kaiming_uniform",
            "truncated_normal",
            "trunc_normal",
            "orthogonal",
            "default",
        ],
        Advice(DEVIATION),
    ),
];
