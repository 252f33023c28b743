//! The operations of the graph: a small closed set.
//!
//! An operation does not know its inputs or its shape; the [`Node`](super::Node) holds them.
//! Adding one is a variant here with its meaning; the compiler then points at the gradient
//! (`autodiff.rs`), the lowering (`spmd/lower.rs`) and the kernel (`exec/`).

use crate::layout::dims::Name;
use crate::layout::tensor::Combine;

/// What a node computes from its inputs.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// A tensor that is there before the step: an input, a parameter, a slot of the optimizer.
    Source(Init),
    /// A single number, the same everywhere.
    Constant(f64),
    /// The number of the training step, from 1: a single number.
    StepNumber,
    /// The micro-batch's share of the mini-batch's rows: a single number.
    Share,
    /// 1, of every micro-batch its own: what the gradients of each begin with.
    One,
    /// The input summed over all micro-batches.
    Accumulate,
    /// 1 in a run that trains, 0 where it looks at what it has learnt: a single number.
    Training,
    /// The position along the node's only dimension: 0, 1, 2, …
    Index,
    /// Applied element by element; inputs are broadcast by name to the node's shape.
    Elementwise(Element),
    /// Product of two inputs, summed over the dimensions that the node lacks.
    Einsum,
    /// One input, combined over the dimensions that the node lacks.
    Reduce(Reduction),
    /// The input under other dimension names, position by position.
    Rename,
    /// The input's elements, in row-major order, under other dimensions.
    Reshape,
    /// Reads positions of one dimension: slices, pads, shifts, windows of convolutions.
    Window(Window),
    /// The adjoint of a window: every position sums what was read of it.
    Unwindow(Window),
    /// The first input at the positions, along this dimension, that the second names; zero where
    /// there is no such position.
    Gather(Name),
    /// The adjoint of a gather: the first input's elements summed at the positions, along this
    /// dimension of the result, that the second names.
    Scatter(Name),
    /// Positions of the greatest elements along `from`, the greatest first and the first of equals
    /// before the others: as many as the dimension `to` of the result, or one without `to`.
    TopK {
        /// The dimension searched.
        from: Name,
        /// The dimension of the ranks.
        to: Option<Name>,
    },
    /// Sums of the elements up to each position along a dimension.
    Cumsum(Name, Running),
    /// Random numbers, a function of seed, name (the node's own, unless it copies another), step
    /// and global index.
    Noise(Noise, Option<Name>),
    /// Passes its input on and stops the gradient.
    StopGradient,
    /// Puts its second input in the place of its first, a `Source`, for the next step.
    Assign,
}

/// Which positions of a dimension are read:
/// `to[i], taps[k] = from[stride·i + dilation·k + offset]`. The new dimensions stand where `from`
/// stood; the whole tensor's positions are meant, so what is outside it is an [`Edge`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// The dimension read.
    pub from: Name,
    /// The dimension of the places read at; may be `from` again, if the sizes agree.
    pub to: Name,
    /// The dimension within a window, if more than one position is read at each place.
    pub taps: Option<Name>,
    /// Positions from place to place, at least 1.
    pub stride: u64,
    /// Positions from element to element of a window, at least 1.
    pub dilation: u64,
    /// The first position read.
    pub offset: i64,
    /// What lies outside.
    pub edge: Edge,
}

impl Window {
    /// The window that undoes one without a window dimension and a stride.
    pub fn back(&self) -> Option<Self> {
        (self.taps.is_none() && self.stride == 1).then(|| Self {
            from: Name::clone(&self.to),
            to: Name::clone(&self.from),
            taps: None,
            stride: 1,
            dilation: 1,
            offset: -self.offset,
            edge: if self.edge == Edge::Wrap { Edge::Wrap } else { Edge::Zero },
        })
    }
}

/// What is read outside a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Edge {
    /// Zeros.
    Zero,
    /// −∞: what a maximum passes over.
    Lowest,
    /// The other end of the tensor.
    Wrap,
}

impl Edge {
    /// The number outside; for [`Edge::Wrap`] there is no outside.
    pub const fn fill(self) -> f64 {
        match self {
            Self::Zero | Self::Wrap => 0.0,
            Self::Lowest => f64::NEG_INFINITY,
        }
    }
}

/// How a running sum runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Running {
    /// Without the element itself.
    pub exclusive: bool,
    /// From the end.
    pub reverse: bool,
}

/// A kind of random numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Noise {
    /// Uniform in [0, 1).
    Uniform,
    /// The factor of dropout at this rate: 0, or 1 / (1 − rate); 1 while not training.
    Dropout(f64),
}

/// A function of single numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Element {
    /// x (a pure broadcast)
    Identity,
    /// −x
    Neg,
    /// max(x, 0); its slope at 0 is 0
    Relu,
    /// 1 if x > 0, else 0: the slope of relu
    Heaviside,
    /// eˣ
    Exp,
    /// natural logarithm
    Log,
    /// √x
    Sqrt,
    /// 1/√x
    Rsqrt,
    /// x²
    Square,
    /// |x|
    Abs,
    /// −1, 0 or 1
    Sign,
    /// tanh x
    Tanh,
    /// 1 / (1 + e⁻ˣ)
    Sigmoid,
    /// x Φ(x) with the tanh approximation: ½x(1 + tanh(√(2/π)(x + 0.044715x³)))
    Gelu,
    /// the slope of gelu
    GeluSlope,
    /// log(1 + eˣ)
    Softplus,
    /// x where x > 0, else eˣ − 1
    Elu,
    /// the slope of elu
    EluSlope,
    /// sine
    Sin,
    /// cosine
    Cos,
    /// 1 − βˣ, exact for small results: Adam's bias correction
    OneMinusPower(f64),
    /// x + y
    Add,
    /// x − y
    Sub,
    /// x · y
    Mul,
    /// x / y
    Div,
    /// xʸ
    Pow,
    /// the greater
    Max,
    /// the lesser
    Min,
    /// 1 if x = y, else 0
    Equal,
    /// 1 if x < y, else 0
    Less,
    /// 1 if x ≤ y, else 0
    LessEqual,
    /// y where x is not 0, else z
    Select,
}

impl Element {
    /// How many inputs it takes.
    pub const fn arity(self) -> usize {
        match self {
            Self::Identity
            | Self::Neg
            | Self::Relu
            | Self::Heaviside
            | Self::Exp
            | Self::Log
            | Self::Sqrt
            | Self::Rsqrt
            | Self::Square
            | Self::Abs
            | Self::Sign
            | Self::Tanh
            | Self::Sigmoid
            | Self::Gelu
            | Self::GeluSlope
            | Self::Softplus
            | Self::Elu
            | Self::EluSlope
            | Self::Sin
            | Self::Cos
            | Self::OneMinusPower(_) => 1,
            Self::Add
            | Self::Sub
            | Self::Mul
            | Self::Div
            | Self::Pow
            | Self::Max
            | Self::Min
            | Self::Equal
            | Self::Less
            | Self::LessEqual => 2,
            Self::Select => 3,
        }
    }

    /// Floating point operations per element: 1, but nothing for passing a number on.
    pub const fn flops(self) -> u64 {
        if matches!(self, Self::Identity) { 0 } else { 1 }
    }
}

/// How a reduction combines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    /// Sum.
    Sum,
    /// Sum divided by the number of elements that go into one result (of the whole tensor).
    Mean,
    /// Greatest.
    Max,
    /// Least.
    Min,
}

impl Reduction {
    /// How partial results combine.
    pub const fn combine(self) -> Combine {
        match self {
            Self::Sum | Self::Mean => Combine::Sum,
            Self::Max => Combine::Max,
            Self::Min => Combine::Min,
        }
    }
}

/// Initial values: a function of seed, tensor name and *global* index, so that they do not depend
/// on the layout.
#[derive(Debug, Clone, PartialEq)]
pub enum Init {
    /// All elements this number.
    Constant(f64),
    /// Normally distributed.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation.
        deviation: f64,
    },
    /// Uniform in `low..high`.
    Uniform {
        /// Least value.
        low: f64,
        /// Bound above.
        high: f64,
    },
    /// Whole numbers, each of `low..high` as likely.
    Integers {
        /// Least value.
        low: i64,
        /// Bound above.
        high: i64,
    },
    /// Given one by one, row-major over the whole tensor.
    Values(Vec<f64>),
    /// The closed form of the golden files: a 32-bit hash of the row-major index, uniform in
    /// `-scale..scale`, rounded to 32-bit floats.
    Hash {
        /// Seed.
        seed: u32,
        /// Bound.
        scale: f64,
    },
}

impl Init {
    /// A bound of the values' size, as far as the text states one.
    pub fn largest(&self) -> f64 {
        match self {
            Self::Constant(c) => c.abs(),
            Self::Normal { mean, deviation } => mean.abs().max(*deviation),
            Self::Uniform { low, high } => low.abs().max(high.abs()),
            Self::Integers { low, high } => low.unsigned_abs().max(high.unsigned_abs()) as f64,
            Self::Values(values) => values.iter().fold(0.0, |most, v| most.max(v.abs())),
            Self::Hash { scale, .. } => scale.abs(),
        }
    }
}

/// What a tensor is in the study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Fed at every step.
    Input,
    /// Trained.
    Parameter,
    /// Computed in the forward pass.
    Activation,
    /// Computed in the backward pass.
    Gradient,
    /// State of the optimizer.
    Slot,
    /// What is minimised.
    Loss,
}

impl Role {
    /// `input`, `parameter`, `activation`, `gradient`, `slot` or `loss`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Parameter => "parameter",
            Self::Activation => "activation",
            Self::Gradient => "gradient",
            Self::Slot => "slot",
            Self::Loss => "loss",
        }
    }
}

/// The part of a training step that a node belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// From the inputs to the loss.
    Forward,
    /// From the loss to the gradients.
    Backward,
    /// From the gradients to the new parameters.
    Update,
}

impl Phase {
    /// `forward`, `backward` or `update`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
            Self::Update => "update",
        }
    }
}

/// How numbers are stored and computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dtype {
    /// 32-bit floats.
    #[default]
    F32,
    /// 64-bit floats.
    F64,
}

impl Dtype {
    /// Bytes of a number.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// `f32` or `f64`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
}

/// Names of the functions of single numbers that a study may call with one argument.
pub const UNARY_FUNCTIONS: &[(&str, Element)] = &[
    ("relu", Element::Relu),
    ("exp", Element::Exp),
    ("log", Element::Log),
    ("sqrt", Element::Sqrt),
    ("rsqrt", Element::Rsqrt),
    ("square", Element::Square),
    ("abs", Element::Abs),
    ("sign", Element::Sign),
    ("tanh", Element::Tanh),
    ("sigmoid", Element::Sigmoid),
    ("gelu", Element::Gelu),
    ("softplus", Element::Softplus),
    ("elu", Element::Elu),
    ("sin", Element::Sin),
    ("cos", Element::Cos),
];

/// Names of those with two or three arguments.
pub const NARY_FUNCTIONS: &[(&str, Element)] = &[
    ("maximum", Element::Max),
    ("minimum", Element::Min),
    ("equal", Element::Equal),
    ("less", Element::Less),
    ("less_equal", Element::LessEqual),
    ("select", Element::Select),
];

/// A name or, for a list of dimensions, several joined by a space.
pub fn join_names(names: &[Name]) -> String {
    let names: Vec<&str> = names.iter().map(|n| &**n).collect();
    names.join(" ")
}
