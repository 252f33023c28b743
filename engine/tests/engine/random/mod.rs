//! Random studies: programs over a few dimensions, and layouts on random meshes.
//!
//! Everything follows from a seed, so a failing case is its seed. `maps`, `moves` and `picks` hold
//! one row for each way to call a function of the language, `statements` what stands around them
//! (blocks, states, the `train` line), `layout` the mesh and the rules. A test in `equality` counts
//! how often each function of the language is drawn, so a new one needs a row here.

mod layout;
mod maps;
mod moves;
mod picks;
mod statements;

pub(crate) use layout::laid_out;
pub(crate) use statements::trained;

use meshwork_engine::graph::init::{stream, uniform};
use std::fmt::Write as _;

/// A stream of random numbers.
pub(crate) struct Random {
    stream: u64,
    at: u64,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self { stream: stream(seed, "random studies"), at: 0 }
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.at += 1;
        (uniform(self.stream, self.at) * n as f64) as usize
    }

    pub(crate) fn chance(&mut self, share: f64) -> bool {
        self.at += 1;
        uniform(self.stream, self.at) < share
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// What the programs may contain.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// Operations that keep small numbers exact: whole ones, halves and quarters.
    Whole,
    /// All operations, without ties that rounding decides.
    Smooth,
    /// The same, with no gradient that is not the slope.
    Differentiable,
}

/// The dimensions and their sizes.
const DIMS: [(&str, usize); 7] =
    [("a", 4), ("b", 8), ("c", 2), ("d", 6), ("e", 4), ("f", 16), ("g", 3)];
const A: usize = 0;
const B: usize = 1;
const C: usize = 2;
const D: usize = 3;
const E: usize = 4;
const F: usize = 5;
const G: usize = 6;

/// A tensor of the program, or an expression for one, and its dimensions.
#[derive(Clone)]
struct Tensor {
    text: String,
    dims: Vec<usize>,
}

impl Tensor {
    fn new(text: impl Into<String>, dims: impl Into<Vec<usize>>) -> Self {
        Self { text: text.into(), dims: dims.into() }
    }

    fn has(&self, dim: usize) -> bool {
        self.dims.contains(&dim)
    }

    /// Whether it has none of these dimensions.
    fn lacks(&self, dims: &[usize]) -> bool {
        dims.iter().all(|&d| !self.has(d))
    }

    fn without(&self, gone: usize) -> Vec<usize> {
        self.dims.iter().copied().filter(|&d| d != gone).collect()
    }

    fn replaced(&self, from: usize, by: &[usize]) -> Vec<usize> {
        self.dims.iter().flat_map(|&d| if d == from { by.to_vec() } else { vec![d] }).collect()
    }

    /// The dimensions that element-wise work gives it with others.
    fn joined(&self, others: &[&Self]) -> Vec<usize> {
        let mut union = self.dims.clone();
        for other in others {
            let new: Vec<usize> =
                other.dims.iter().copied().filter(|d| !union.contains(d)).collect();
            union.extend(new);
        }
        let widest = [self].into_iter().chain(others.iter().copied());
        let widest = widest.map(|t| &t.dims).find(|d| d.len() == union.len());
        widest.cloned().unwrap_or(union)
    }
}

fn names(dims: &[usize]) -> String {
    let names: Vec<&str> = dims.iter().map(|&d| DIMS[d].0).collect();
    names.join(" ")
}

fn elements(dims: &[usize]) -> usize {
    dims.iter().map(|&d| DIMS[d].1).product()
}

fn subset(random: &mut Random, of: &[usize], share: f64) -> Vec<usize> {
    let mut out: Vec<usize> = of.iter().copied().filter(|_| random.chance(share)).collect();
    if random.chance(0.5) {
        out.reverse();
    }
    out
}

/// A program in the making.
struct Draft {
    random: Random,
    kind: Kind,
    text: String,
    tensors: Vec<Tensor>,
    /// For names of its own.
    declared: usize,
}

/// One way to call a function, on the tensors given; `None` where it does not apply to them.
type Draw = fn(&mut Draft, &Tensor, &Tensor) -> Option<Tensor>;

/// The programs a row may stand in.
#[derive(Clone, Copy, PartialEq)]
enum In {
    All,
    Whole,
    /// Both that are not whole.
    Smooth,
    /// Not where a gradient has to be the slope.
    Run,
}

impl In {
    const fn allows(self, kind: Kind) -> bool {
        match self {
            Self::All => true,
            Self::Whole => matches!(kind, Kind::Whole),
            Self::Smooth => !matches!(kind, Kind::Whole),
            Self::Run => !matches!(kind, Kind::Differentiable),
        }
    }
}

/// A row of the table: how often it is tried, where it may stand, and what it writes.
type Row = (usize, In, Draw);

impl Draft {
    fn is_whole(&self) -> bool {
        self.kind == Kind::Whole
    }

    /// An initial value for a tensor of these dimensions.
    fn init(&mut self, dims: &[usize]) -> String {
        if !self.is_whole() {
            return "uniform(0.3 1.2)".to_owned();
        }
        let values: Vec<String> =
            (0..elements(dims)).map(|_| format!("{}", self.random.below(5) as f64 - 2.0)).collect();
        format!("values({})", values.join(" "))
    }

    /// A new parameter.
    fn param(&mut self, dims: &[usize]) -> Tensor {
        let init = self.init(dims);
        self.declare("param", dims, &init)
    }

    /// A new input of whole numbers from 0 to `below`, which is beyond the last position: what
    /// names none is tried, too.
    fn positions(&mut self, dims: &[usize], below: usize) -> Tensor {
        self.declare("input", dims, &format!("integers(0 {})", below + 1))
    }

    fn declare(&mut self, word: &str, dims: &[usize], init: &str) -> Tensor {
        self.declared += 1;
        let name = format!("{}x{}", &word[..1], self.declared);
        let _ = writeln!(self.text, "{word} {name}[{}] init:{init}", names(dims));
        Tensor::new(name, dims)
    }

    /// Two tensors of the program; the first is one of the last made, more often than not.
    fn two(&mut self) -> (Tensor, Tensor) {
        let recent = self.tensors.len().saturating_sub(4);
        let x = if self.random.chance(0.6) {
            recent + self.random.below(self.tensors.len() - recent)
        } else {
            self.random.below(self.tensors.len())
        };
        (self.tensors[x].clone(), self.random.pick(&self.tensors).clone())
    }

    /// An expression for a tensor, made from these two.
    fn value(&mut self, x: &Tensor, y: &Tensor) -> Tensor {
        let rows: Vec<&Row> = [maps::ROWS, moves::ROWS, picks::ROWS]
            .into_iter()
            .flatten()
            .filter(|row| row.1.allows(self.kind))
            .collect();
        let total: usize = rows.iter().map(|row| row.0).sum();
        for _ in 0..40 {
            let mut at = self.random.below(total);
            let row = rows.iter().find(|row| {
                let here = at < row.0;
                at = at.saturating_sub(row.0);
                here
            });
            let drawn = row.and_then(|row| (row.2)(self, x, y));
            if let Some(drawn) = drawn.filter(|t| t.dims.len() <= 4 && elements(&t.dims) <= 4096) {
                return drawn;
            }
        }
        Tensor::new(format!("{} + 1", x.text), x.dims.clone())
    }
}

/// A model as text, with parameters and a loss, of `length` statements.
pub(crate) fn model(seed: u64, kind: Kind, length: usize) -> String {
    let text = "dims a:4 b:8 c:2 d:6 e:4 f:16 g:3\n".to_owned();
    let random = Random::new(seed);
    let mut draft = Draft { random, kind, text, tensors: Vec::new(), declared: 0 };
    for (i, word) in ["input", "input", "param", "param", "param"].iter().enumerate() {
        let mut dims = subset(&mut draft.random, &[A, B, C, D, E], 0.5);
        dims.truncate(3);
        let init = draft.init(&dims);
        let name = format!("{}{i}", &word[..1]);
        let _ = writeln!(draft.text, "{word} {name}[{}] init:{init}", names(&dims));
        draft.tensors.push(Tensor::new(name, dims));
    }
    for i in 0..length {
        let made = draft.statement(i);
        draft.tensors.push(made);
    }
    // Everything counts: the loss is made of all that was made.
    let made = draft.tensors.split_off(5);
    let parts: Vec<String> = made.iter().map(|t| draft.part_of_loss(t)).collect();
    let _ = writeln!(draft.text, "loss = {}", parts.join(" + "));
    draft.text
}
