//! The parsed study: one [`Item`] per line, in the user's order, comments included.
//!
//! Every part keeps its [`Span`], so that diagnostics point into the text and clicks edit it in
//! place. Printing a [`Spec`] in canonical form and parsing it again gives the same Spec, spans
//! apart (`parse ∘ print = id`).

use crate::diag::Span;

/// A word of the text with its place. Back quotes are not part of `text`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ident {
    /// The name itself.
    pub text: String,
    /// Where it stands.
    pub span: Span,
}

/// A parsed study.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Spec {
    /// Its lines in order. The lines of a block follow `Stmt::Block` and precede `Stmt::End`.
    pub items: Vec<Item>,
}

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// What it says.
    pub stmt: Stmt,
    /// The comment at its end, from `#` on, without the line break.
    pub comment: Option<String>,
    /// The whole line without its line break.
    pub span: Span,
}

/// What a line says.
#[derive(Debug, Clone, PartialEq)]
pub enum Stmt {
    /// An empty line, or one that holds only a comment.
    Blank,
    /// `mesh rows:2 cols:2`
    Mesh(Vec<Pair>),
    /// `layout batch:rows hidden:cols+planes`
    Layout(Vec<RulePair>),
    /// `model two_layer batch:8 io:4`
    Model {
        /// The preset.
        preset: Ident,
        /// Its options.
        options: Vec<Opt>,
    },
    /// `dims batch:8 io:4`
    Dims(Vec<Pair>),
    /// `input x[batch io], target[batch io] init:zeros`
    Input(Vec<Decl>),
    /// `param w[io hidden] init:normal(0 0.1), bias[hidden]`
    Param(Vec<Decl>),
    /// `h = relu(x)` or `h[batch hidden] = relu(x)`
    Assign {
        /// The tensor.
        name: Ident,
        /// The dimensions the user states, in the order wanted.
        dims: Option<Vec<Ident>>,
        /// What it is.
        value: Expr,
    },
    /// `state seen[channels] init:ones`
    State(Vec<Decl>),
    /// `seen := 0.9 * seen + 0.1 * mean(x -> channels)`
    Next {
        /// The state.
        name: Ident,
        /// What it is from the next step on.
        value: Expr,
    },
    /// `block layer times:12`
    Block {
        /// The name of the block.
        name: Ident,
        /// `times:N` and others.
        options: Vec<Opt>,
    },
    /// `end`
    End,
    /// `train optimizer:adam rate:0.001 steps:200`
    Train(Vec<Opt>),
    /// `pipeline over:stages cells:4`
    Pipeline(Vec<Opt>),
    /// `hardware tpu-v2`
    Hardware {
        /// The name of the preset, if one is given.
        name: Option<Ident>,
        /// Rates that differ from it.
        options: Vec<Opt>,
    },
    /// A line that could not be read (a diagnostic says why); printed as it stands.
    Unreadable(String),
}

/// `name:8`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// The name.
    pub name: Ident,
    /// Its size, at least 1.
    pub size: u64,
    /// Where the size stands.
    pub size_span: Span,
    /// The whole pair.
    pub span: Span,
}

/// `batch:rows+cols`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulePair {
    /// The tensor dimension.
    pub dim: Ident,
    /// The mesh dimensions, outermost first; at least one.
    pub mesh_dims: Vec<Ident>,
    /// The whole rule.
    pub span: Span,
}

/// `x[batch io] init:zeros`
#[derive(Debug, Clone, PartialEq)]
pub struct Decl {
    /// The tensor.
    pub name: Ident,
    /// Its dimensions in storage order; empty for a single number.
    pub dims: Vec<Ident>,
    /// `init:…` and others.
    pub options: Vec<Opt>,
    /// The whole declaration.
    pub span: Span,
}

/// `key:value`
#[derive(Debug, Clone, PartialEq)]
pub struct Opt {
    /// The key.
    pub key: Ident,
    /// Its value.
    pub value: OptValue,
    /// Where the value stands.
    pub value_span: Span,
    /// The whole option.
    pub span: Span,
}

/// The value of an option.
#[derive(Debug, Clone, PartialEq)]
pub enum OptValue {
    /// `0.001`, `8`, `-1e-3`
    Number(f64),
    /// `adam`, `NAME@HASH`, `2bp`: anything that is no number, list or call
    Word(String),
    /// `(64 32)`
    List(Vec<Self>),
    /// `hash(seed:3 scale:0.05)`, `values(1 2 3)`, `normal(0 0.1)`
    Call {
        /// What is called.
        name: String,
        /// The positional values.
        args: Vec<Self>,
        /// The `key:value` ones.
        options: Vec<Opt>,
    },
}

/// An expression with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands.
    pub span: Span,
}

/// The forms of an expression.
#[derive(Debug, Clone, PartialEq)]
pub enum ExprKind {
    /// `0.5`
    Number(f64),
    /// `x`, or `` `a-b/c` ``
    Name(String),
    /// `-x`
    Neg(Box<Expr>),
    /// `x * y`
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `einsum(x, w -> batch hidden)`, `sum(x over:(batch io))`, `rename(x, io -> io2)`
    Call(Call),
}

/// A call: `function(args… -> dims… key:value…)`. The separators between arguments are commas;
/// before options, commas may be left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The function.
    pub function: Ident,
    /// The arguments before `->`.
    pub args: Vec<Expr>,
    /// The names after `->`, if there is one; may be empty (`einsum(x, y -> )`).
    pub arrow: Option<Vec<Ident>>,
    /// The options.
    pub options: Vec<Opt>,
}

/// `+ - * /`, and `^` for powers, which binds tightest and to the right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `^`
    Pow,
}
