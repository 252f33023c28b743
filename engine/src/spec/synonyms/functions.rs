//! Functions of others.

use super::Ours::{Advice, Form, Word};
use super::Table;

const PRODUCT: &str = "A product of matrices names the dimensions that stay: `einsum(x, w -> batch hidden)`; the others are summed over.";
const COLLECTIVE: &str = "Collectives are never written: they follow from the layout rules, and the plan shows them. `rename(x, batch -> batch2)` is where a tensor is laid out anew.";
const ORDER: &str = "Dimensions go by name, so none has to be moved for a product: `transpose(x -> b a)` orders them anew, `rename(x, a -> b)` calls one otherwise.";
const ALONG: &str = "Tensors meet by the names of their dimensions, so no dimension of size 1 is made or dropped; `broadcast(x -> a b)` repeats along new ones.";
const NUMBER: &str =
    "A number stands for a tensor of any shape; `broadcast(0 -> a b)` gives it dimensions.";
const COUNT: &str = "`index(d)` counts 0, 1, 2, … along a dimension whose size `dims` gives.";
const INITIAL: &str = "This is a way to begin, not a function: `state x[a] init:normal(0 1)`. Random numbers of each step are `random(a b)`, even in [0, 1).";
const BATCH_NORM: &str = "There is no batch norm as a function: `m = mean(z -> channels)`, then `(z - m) * rsqrt(mean(square(z - m) -> channels) + 1e-5)`; `model convnet` writes it out, with running means in `state`.";
const SORTED: &str =
    "There is no sort; `top_k(x -> k, dim:d)` gives the greatest k, greatest first.";
const ROUNDED: &str =
    "There is no rounding to whole numbers; `less_equal(index(d), x)` compares with positions.";
const DEVIATION: &str =
    "Write the root of the mean square from the mean: `sqrt(mean(square(x - mean(x -> a)) -> a))`.";
const VARIANCE: &str =
    "Write the mean square from the mean: `mean(square(x - mean(x -> a)) -> a)`.";

/// Functions of others and what is written for them.
pub const FUNCTIONS: Table = &[
    // reductions
    (&["reduce_sum"], Word(&["sum"])),
    (&["reduce_mean", "average", "avg"], Word(&["mean"])),
    (&["reduce_max", "amax"], Word(&["max"])),
    (&["reduce_min", "amin"], Word(&["min"])),
    (&["reduce_logsumexp", "log_sum_exp", "lse"], Word(&["logsumexp"])),
    (&["arg_max"], Word(&["argmax"])),
    (&["argmin", "arg_min"], Form(1, "argmax(-x)")),
    (&["std", "stddev", "reduce_std"], Advice(DEVIATION)),
    (&["var", "variance", "reduce_variance"], Advice(VARIANCE)),
    (&["any", "reduce_any"], Advice("Of zeros and ones, `max(x)` is 1 where any is.")),
    (&["all", "reduce_all"], Advice("Of zeros and ones, `min(x)` is 1 where all are.")),
    (
        &["norm", "l2_norm", "global_norm"],
        Advice("The norm is the root of the sum of squares: `sqrt(sum(square(x)))`."),
    ),
    (
        &["prod", "reduce_prod", "cumprod"],
        Advice(
            "There is no product over a dimension; of positive numbers it is `exp(sum(log(x)))`.",
        ),
    ),
    (&["sort", "argsort"], Advice(SORTED)),
    (&["cum_sum", "cumulative_sum"], Word(&["cumsum"])),
    // products
    (
        &[
            "matmul",
            "dot",
            "bmm",
            "mm",
            "dense",
            "linear",
            "tensordot",
            "contract",
            "vdot",
            "inner",
            "outer",
        ],
        Advice(PRODUCT),
    ),
    // element by element
    (&["add", "plus"], Form(2, "x + y")),
    (&["subtract", "sub", "minus"], Form(2, "x - y")),
    (&["multiply", "mul", "times"], Form(2, "x * y")),
    (&["divide", "div", "true_divide", "truediv"], Form(2, "x / y")),
    (&["pow", "power"], Form(2, "x ^ y")),
    (&["negative", "neg"], Form(1, "-x")),
    (&["reciprocal"], Form(1, "1 / x")),
    (&["squared_difference"], Form(2, "square(x - y)")),
    (&["sqr"], Word(&["square"])),
    (&["absolute", "fabs"], Word(&["abs"])),
    (&["ln"], Word(&["log"])),
    (&["log1p"], Form(1, "log(1 + x)")),
    (&["expm1"], Form(1, "exp(x) - 1")),
    (&["log2"], Form(1, "log(x) / log(2)")),
    (&["log10"], Form(1, "log(x) / log(10)")),
    (&["exp2"], Form(1, "2 ^ x")),
    (&["tan"], Form(1, "sin(x) / cos(x)")),
    (&["sinh"], Form(1, "(exp(x) - exp(-x)) / 2")),
    (&["cosh"], Form(1, "(exp(x) + exp(-x)) / 2")),
    (
        &["erf", "erfc", "erfinv"],
        Advice("There is no error function; `gelu(x)` takes the approximation by tanh."),
    ),
    (&["floor", "ceil", "round", "rint", "trunc"], Advice(ROUNDED)),
    (
        &["mod", "fmod", "remainder", "floordiv", "floor_divide"],
        Advice(
            "There is no division with a remainder; `reshape(x, d -> blocks inner)` falls into equal parts.",
        ),
    ),
    (&["identity"], Form(1, "x")),
    (&["to_float", "float", "float32"], Form(1, "x")),
    (
        &["cast", "astype", "convert_element_type", "to"],
        Advice(
            "All numbers of a study are of one type, so nothing is cast: leave it out. `dtype` of `train` chooses f32 or f64.",
        ),
    ),
    (&["constant", "scalar"], Form(1, "x")),
    (&["zeros", "ones", "full", "fill", "zeros_like", "ones_like", "full_like"], Advice(NUMBER)),
    (
        &["values", "hash", "tensor", "array"],
        Advice("Numbers written out are how a tensor begins: `state x[a] init:values(1 2 3)`."),
    ),
    // activations
    (&["swish"], Word(&["silu"])),
    (&["logistic", "sigm", "expit"], Word(&["sigmoid"])),
    (&["relu6"], Form(1, "minimum(relu(x), 6)")),
    (&["leaky_relu", "prelu"], Advice("With slope 0.01 below 0, it is `maximum(x, 0.01 * x)`.")),
    (&["softsign"], Form(1, "x / (1 + abs(x))")),
    (&["mish"], Form(1, "x * tanh(softplus(x))")),
    (&["log_sigmoid", "logsigmoid"], Form(1, "-softplus(-x)")),
    (&["logsoftmax"], Word(&["log_softmax"])),
    (&["onehot"], Word(&["one_hot"])),
    // choices
    (&["where"], Word(&["select"])),
    (&["gt"], Word(&["greater"])),
    (&["ge", "gte"], Word(&["greater_equal"])),
    (&["lt"], Word(&["less"])),
    (&["le", "lte"], Word(&["less_equal"])),
    (&["eq"], Word(&["equal"])),
    (&["ne", "neq"], Word(&["not_equal"])),
    (&["logical_not"], Form(1, "equal(x, 0)")),
    (&["logical_and"], Advice("Of zeros and ones, `x * y` is 1 where both are.")),
    (&["logical_or"], Advice("Of zeros and ones, `maximum(x, y)` is 1 where one is.")),
    (&["clip", "clamp", "clip_by_value"], Form(3, "minimum(maximum(x, y), z)")),
    // losses and norms
    (&["mse", "mse_loss", "mean_squared_error"], Word(&["mean_square"])),
    (&["mae", "l1_loss", "mean_absolute_error"], Form(2, "mean(abs(x - y))")),
    (
        &[
            "xent",
            "cross_entropy_loss",
            "softmax_cross_entropy",
            "softmax_cross_entropy_with_logits",
            "crossentropy",
        ],
        Word(&["cross_entropy"]),
    ),
    (
        &[
            "bce",
            "bce_loss",
            "binary_cross_entropy",
            "bce_with_logits",
            "sigmoid_cross_entropy",
            "nll_loss",
            "kl_div",
        ],
        Advice(
            "Of logits x and targets t in 0 to 1, binary cross-entropy is `softplus(x) - t * x`; between classes there is `cross_entropy(logits, target, dim:classes)`.",
        ),
    ),
    (&["layernorm"], Word(&["layer_norm"])),
    (&["rmsnorm"], Word(&["rms_norm"])),
    (
        &["batch_norm", "batchnorm", "batch_normalization", "group_norm", "instance_norm"],
        Advice(BATCH_NORM),
    ),
    // windows
    (&["conv1d", "conv2d", "conv3d", "convolution", "convolve"], Word(&["conv"])),
    (&["maxpool", "max_pool1d", "max_pool2d", "max_pooling"], Word(&["max_pool"])),
    (&["avgpool", "avg_pool1d", "avg_pool2d", "average_pool", "mean_pool"], Word(&["avg_pool"])),
    (
        &["halo_exchange", "halo", "unfold", "im2col"],
        Advice(
            "`window(x, a -> places taps)` reads neighbours; where `a` is split, the halo is exchanged by itself.",
        ),
    ),
    (&["roll"], Form(1, "shift(x, wrap:on)")),
    // where elements are
    (
        &["split", "chunk", "dynamic_slice", "narrow", "index_select"],
        Advice(
            "A part of a dimension is `slice(x, a -> b, begin:0)`, as many positions as `b` has.",
        ),
    ),
    (&["take"], Word(&["gather"])),
    (
        &["embedding", "embed", "lookup", "embedding_lookup", "take_along_axis", "gather_nd"],
        Advice(
            "Write `gather(table, ids, dim:vocab)`: the rows of a table `table[vocab d_model]` at the positions `ids`.",
        ),
    ),
    (&["cat", "concatenate", "hstack", "vstack"], Word(&["concat"])),
    (&["unbind"], Word(&["unstack"])),
    (&["view"], Word(&["reshape"])),
    (&["flatten", "ravel"], Advice("Neighbouring dimensions merge by `reshape(x, h, w -> both)`.")),
    (&["expand", "broadcast_to", "expand_as"], Word(&["broadcast"])),
    (&["tile", "repeat"], Advice("`broadcast(x -> copies a)` repeats x along a new dimension.")),
    (&["squeeze", "unsqueeze", "expand_dims"], Advice(ALONG)),
    (&["permute", "swapaxes", "moveaxis", "einops", "rearrange"], Advice(ORDER)),
    (
        &["flip", "reverse"],
        Advice(
            "With dims `a` and `b` of the same size n, `gather(rename(x, a -> b), n - 1 - index(a), dim:b)` runs backwards, n written as a number.",
        ),
    ),
    (&["range", "iota", "arange", "mtf_range", "linspace"], Advice(COUNT)),
    (
        &["tril", "triu", "causal_mask"],
        Advice(
            "A mask compares positions: `less_equal(index(memory), index(length))` is 1 on and below the diagonal.",
        ),
    ),
    (
        &["eye"],
        Advice(
            "With dims a and b of the same size, `equal(index(a), index(b))` is 1 on the diagonal.",
        ),
    ),
    (
        &["scatter", "scatter_add", "segment_sum"],
        Advice(
            "Positions become zeros and ones, which a product sums: `einsum(one_hot(ids, dim:d), x -> d)`.",
        ),
    ),
    // the rest
    (&["detach", "stopgradient", "stop_grad", "lax_stop_gradient"], Word(&["stop_gradient"])),
    (
        &["rand", "uniform", "random_uniform", "rand_like"],
        Advice(
            "`random(a b)` gives even numbers in [0, 1) over these dimensions, anew at each step.",
        ),
    ),
    (&["normal", "randn", "random_normal", "integers", "bernoulli"], Advice(INITIAL)),
    (
        &[
            "allreduce",
            "all_reduce",
            "psum",
            "pmean",
            "all_gather",
            "allgather",
            "all_to_all",
            "alltoall",
            "reduce_scatter",
            "ppermute",
            "with_sharding_constraint",
            "shard",
        ],
        Advice(COLLECTIVE),
    ),
];
