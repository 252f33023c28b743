//! The functions of the language: the reference that messages, the studio's help and the docs show.
//!
//! A function takes the options that stand in its form, and dimensions after `->` where its form
//! has an arrow: what is written here is what is read.

/// A function of the language: its form, and what it gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// How it is called.
    pub form: &'static str,
    /// What it gives.
    pub about: &'static str,
}

impl Function {
    /// The function of this name.
    pub fn find(name: &str) -> Option<Self> {
        FUNCTIONS.iter().find(|f| f.name == name).copied()
    }

    /// Whether it takes an option of this name.
    pub fn takes(&self, option: &str) -> bool {
        self.options().any(|o| o == option)
    }

    /// Names of its options.
    pub fn options(&self) -> impl Iterator<Item = &'static str> {
        let word = |before: &'static str| {
            before.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or("")
        };
        let parts: Vec<&'static str> = self.form.split(':').collect();
        let count = parts.len() - 1;
        parts.into_iter().take(count).map(word)
    }

    /// Whether it takes dimensions after an arrow.
    pub fn takes_arrow(&self) -> bool {
        self.form.contains("->")
    }
}

const fn f(name: &'static str, form: &'static str, about: &'static str) -> Function {
    Function { name, form, about }
}

/// All functions.
pub const FUNCTIONS: &[Function] = &[
    f(
        "einsum",
        "einsum(x, w -> batch hidden)",
        "product of the inputs, summed over the dimensions not named after the arrow; without an arrow the dimensions that occur once stay",
    ),
    f(
        "sum",
        "sum(x) · sum(x -> batch) · sum(x, over:hidden)",
        "sum over all dimensions, over those not kept, or over those named",
    ),
    f(
        "mean",
        "mean(x) · mean(x -> batch) · mean(x, over:hidden)",
        "mean over dimensions, named as for sum",
    ),
    f(
        "max",
        "max(x) · max(x -> batch) · max(x, over:hidden)",
        "greatest over dimensions, named as for sum",
    ),
    f(
        "min",
        "min(x) · min(x -> batch) · min(x, over:hidden)",
        "least over dimensions, named as for sum",
    ),
    f(
        "logsumexp",
        "logsumexp(x, over:classes) · logsumexp(x -> batch)",
        "log of the sum of exponentials, safe for large numbers, named as for sum",
    ),
    f(
        "softmax",
        "softmax(x, dim:classes)",
        "exponentials divided by their sum along one dimension",
    ),
    f("log_softmax", "log_softmax(x, dim:classes)", "logarithm of softmax, without its rounding"),
    f(
        "cross_entropy",
        "cross_entropy(logits, target, dim:classes label_smoothing:0.1 z_loss:0.0001)",
        "logsumexp(logits) − Σ target·logits along the class dimension; target holds probabilities that sum to 1 or, without that dimension, the number of the class; label_smoothing mixes in that share of the uniform distribution, z_loss adds z·logsumexp²",
    ),
    f("mean_square", "mean_square(y, target)", "mean of the squared differences"),
    f(
        "layer_norm",
        "layer_norm(x, dim:hidden epsilon:1e-6)",
        "x less its mean, over its standard deviation, along a dimension; scale and bias are yours to apply",
    ),
    f(
        "rms_norm",
        "rms_norm(x, dim:hidden epsilon:1e-6)",
        "x over the root of its mean square along a dimension",
    ),
    f(
        "one_hot",
        "one_hot(labels, dim:classes)",
        "1 at the position the label names, else 0; a label out of range gives zeros",
    ),
    f("index", "index(classes)", "0, 1, 2, … along a dimension"),
    f("broadcast", "broadcast(x -> batch hidden)", "x repeated along new dimensions"),
    f("transpose", "transpose(x -> hidden batch)", "x with its dimensions in this order"),
    f(
        "rename",
        "rename(x, io -> io2) · rename(x, batch, experts -> groups split)",
        "the same numbers under other dimension names; this is how a tensor is laid out anew",
    ),
    f(
        "reshape",
        "reshape(x -> batch heads key) · reshape(x, both -> heads key) · reshape(x, heads, key -> both)",
        "the same numbers in the same order under other dimensions: all of them, or neighbours split or merged",
    ),
    f(
        "slice",
        "slice(x, length -> part, begin:4 stride:1)",
        "as many positions of a dimension as the new one has, from `begin` on",
    ),
    f(
        "pad",
        "pad(x, length -> longer, before:1)",
        "x between zeros, as many as the new dimension is longer; `before` of them come first",
    ),
    f(
        "shift",
        "shift(x, dim:length by:1 wrap:off)",
        "x moved towards higher positions; zeros move in, or with wrap:on the other end",
    ),
    f(
        "concat",
        "concat(x, y -> all, dim:(first second))",
        "the inputs one after the other along their dimensions; one name where all have the same",
    ),
    f("stack", "stack(x, y -> copies)", "the inputs along a new dimension"),
    f("unstack", "unstack(x, dim:copies at:0)", "x at one position of a dimension"),
    f(
        "window",
        "window(x, length -> places taps, stride:1 dilation:1 padding:same wrap:off)",
        "at each place the elements a window covers; padding is same, causal (all of it in front), valid, or the number of positions read at either side; outside are zeros, or with wrap:on the other end",
    ),
    f(
        "conv",
        "conv(x, filter -> n h w out, over:(h w) window:(kh kw) to:(h2 w2) stride:1 dilation:1 padding:same)",
        "convolution over the dimensions `over`; the filter has the dimensions `window`; `to` names those of the result where they differ in size",
    ),
    f(
        "max_pool",
        "max_pool(x, over:(h w) window:(kh kw) to:(h2 w2) stride:2 padding:valid)",
        "greatest of each window; the stride is the window's size unless given",
    ),
    f(
        "avg_pool",
        "avg_pool(x, over:(h w) window:(kh kw) to:(h2 w2) stride:2 padding:valid)",
        "mean of each window, zeros of the padding counted",
    ),
    f(
        "gather",
        "gather(table, positions, dim:vocab)",
        "the table's elements at the positions named along a dimension (an embedding); zeros out of range",
    ),
    f(
        "top_k",
        "top_k(x -> k, dim:vocab)",
        "the greatest elements along a dimension, greatest first",
    ),
    f(
        "top_k_positions",
        "top_k_positions(x -> k, dim:vocab)",
        "where they stand; the first of equals comes first",
    ),
    f(
        "argmax",
        "argmax(x, dim:vocab)",
        "the position of the greatest element, the first of equals",
    ),
    f(
        "cumsum",
        "cumsum(x, dim:length exclusive:off reverse:off)",
        "sums up to each position along a dimension; exclusive without the element itself, reverse from the end",
    ),
    f(
        "dropout",
        "dropout(x, rate:0.1)",
        "x with this share of its elements zero and the others scaled by 1/(1−rate), anew at each training step; x itself when validating",
    ),
    f(
        "random",
        "random(batch, hidden)",
        "uniform random numbers in [0, 1) over these dimensions, anew at each step",
    ),
    f("training", "training()", "1 at a training step, 0 when validating"),
    f("stop_gradient", "stop_gradient(x)", "x, through which no gradient passes"),
    f("relu", "relu(x)", "max(x, 0)"),
    f("gelu", "gelu(x)", "x·Φ(x), tanh approximation"),
    f("silu", "silu(x)", "x·sigmoid(x), also called swish"),
    f("sigmoid", "sigmoid(x)", "1/(1+e⁻ˣ)"),
    f("softplus", "softplus(x)", "log(1+eˣ)"),
    f("elu", "elu(x)", "x where x > 0, else eˣ−1"),
    f("tanh", "tanh(x)", "hyperbolic tangent"),
    f("exp", "exp(x)", "eˣ"),
    f("log", "log(x)", "natural logarithm"),
    f("sin", "sin(x)", "sine"),
    f("cos", "cos(x)", "cosine"),
    f("sqrt", "sqrt(x)", "√x"),
    f("rsqrt", "rsqrt(x)", "1/√x"),
    f("square", "square(x)", "x²"),
    f("abs", "abs(x)", "|x|"),
    f("sign", "sign(x)", "−1, 0 or 1"),
    f("maximum", "maximum(x, y)", "the greater, element by element"),
    f("minimum", "minimum(x, y)", "the lesser, element by element"),
    f("equal", "equal(x, y)", "1 where equal, else 0"),
    f("not_equal", "not_equal(x, y)", "1 where they differ, else 0"),
    f("less", "less(x, y)", "1 where x < y, else 0"),
    f("less_equal", "less_equal(x, y)", "1 where x ≤ y, else 0"),
    f("greater", "greater(x, y)", "1 where x > y, else 0"),
    f("greater_equal", "greater_equal(x, y)", "1 where x ≥ y, else 0"),
    f("select", "select(condition, x, y)", "x where the condition is not 0, else y"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_those_of_the_form() {
        let of = |name: &str| Function::find(name).unwrap().options().collect::<Vec<_>>();
        assert_eq!(of("slice"), ["begin", "stride"]);
        assert_eq!(of("concat"), ["dim"]);
        assert_eq!(of("relu"), [""; 0]);
        assert!(Function::find("rename").unwrap().takes_arrow());
    }
}
