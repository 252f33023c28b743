//! Costs as formulas: the paper's Table 1 for any study, read off the Program.
//!
//! Each cost is a sum of monomials in tensor and mesh dimensions, such as `batch·io / rows`.
//! Constant factors are dropped, as are terms that another term of the same sum outgrows in every
//! dimension. The terms are: for computation the einsums, for communication the slices that
//! collectives carry (of a halo exchange: their borders), for memory the slices of all tensors.

use crate::index::ValueId;
use crate::spmd::collective::{Collective, CollectiveKind};
use crate::spmd::program::{Program, Step, Work};
use crate::spmd::run::{MeshImpl, walk};
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fmt;

/// A product of powers of named sizes; negative powers divide.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Monomial {
    /// Tensor dimensions.
    dims: BTreeMap<String, i32>,
    /// Mesh dimensions.
    mesh: BTreeMap<String, i32>,
}

/// A sum of monomials without constant factors.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Formula {
    terms: BTreeSet<Monomial>,
}

/// The four columns of Table 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Formulas {
    /// Multiplications per processor.
    pub computation: Formula,
    /// Elements sent per processor.
    pub communication: Formula,
    /// Communication over computation.
    pub ratio: Formula,
    /// Elements held per processor.
    pub memory: Formula,
}

impl Formulas {
    /// The formulas of a Program.
    pub fn of(program: &Program) -> Self {
        let (computation, communication, mut memory) =
            (Formula::default(), Formula::default(), Formula::default());
        for value in program.values.ids() {
            memory.add(slice(program, value));
        }
        let mut reader = Reader { program, computation, communication };
        let Ok(()) = walk(program, &mut reader);
        let Reader { mut computation, mut communication, .. } = reader;
        computation.simplify();
        communication.simplify();
        memory.simplify();
        let ratio = communication.over(&computation);
        Self { computation, communication, ratio, memory }
    }
}

/// Collects the terms of each step.
struct Reader<'p> {
    program: &'p Program,
    computation: Formula,
    communication: Formula,
}

impl MeshImpl for Reader<'_> {
    type Error = Infallible;

    fn compute(&mut self, _index: usize, step: &Step) -> Result<(), Infallible> {
        if step.work == Work::Einsum {
            let values = step.inputs.iter().chain(&step.outputs);
            let union = |m: Monomial, &v: &ValueId| m.union(&slice(self.program, v));
            self.computation.add(values.fold(Monomial::default(), union));
        }
        Ok(())
    }

    fn collective(
        &mut self,
        _index: usize,
        step: &Step,
        collective: &Collective,
    ) -> Result<(), Infallible> {
        for &input in &step.inputs {
            let mut sent = slice(self.program, input);
            match collective.kind {
                // Fields that lie as the slices do reach over their borders by a fixed number of
                // positions, however long the dimension is.
                CollectiveKind::Receive(axis, field) if field.step == field.local.cast_signed() => {
                    sent.dims.remove(&*self.program.values[input].shape.dim(axis).name);
                    for &axis in &collective.axes {
                        sent.mesh.remove(&*self.program.mesh.dim(axis).name);
                    }
                }
                CollectiveKind::Allsplit(_) => continue,
                CollectiveKind::Allreduce(_)
                | CollectiveKind::Reducescatter(..)
                | CollectiveKind::Allgather(_)
                | CollectiveKind::Alltoall(..)
                | CollectiveKind::Receive(..)
                | CollectiveKind::Hop { .. } => {}
            }
            self.communication.add(sent);
        }
        Ok(())
    }
}

/// Elements of a value's slice.
fn slice(program: &Program, value: ValueId) -> Monomial {
    let v = &program.values[value];
    let mut out = Monomial::default();
    for (d, axes) in v.shape.dims().iter().zip(v.layout.splits()) {
        out.dims.insert(d.name.to_string(), 1);
        for &axis in axes {
            out.mesh.insert(program.mesh.dim(axis).name.to_string(), -1);
        }
    }
    out
}

impl Monomial {
    /// All dimensions of both, each once.
    fn union(mut self, other: &Self) -> Self {
        self.dims.extend(other.dims.clone());
        self.mesh.extend(other.mesh.clone());
        self
    }

    fn over(&self, other: &Self) -> Self {
        let divide = |a: &BTreeMap<String, i32>, b: &BTreeMap<String, i32>| {
            let mut out = a.clone();
            for (name, power) in b {
                *out.entry(name.clone()).or_insert(0) -= power;
            }
            out.retain(|_, p| *p != 0);
            out
        };
        Self { dims: divide(&self.dims, &other.dims), mesh: divide(&self.mesh, &other.mesh) }
    }

    /// Whether this term is at most a constant times `other` whatever the tensor dimensions, the
    /// mesh being no larger than they are.
    fn is_dominated_by(&self, other: &Self) -> bool {
        let ratio = other.over(self);
        ratio.dims.values().all(|&p| p >= 0)
            && !ratio.dims.is_empty()
            && ratio.mesh.values().all(|&p| p >= 0 || !ratio.dims.is_empty())
            && -ratio.mesh.values().filter(|&&p| p < 0).sum::<i32>()
                <= ratio.dims.values().sum::<i32>()
    }
}

impl Formula {
    fn add(&mut self, term: Monomial) {
        self.terms.insert(term);
    }

    fn simplify(&mut self) {
        let all = self.terms.clone();
        self.terms.retain(|t| !all.iter().any(|o| o != t && t.is_dominated_by(o)));
    }

    /// Each term over the largest of the other's: defined where that one is a single term.
    fn over(&self, other: &Self) -> Self {
        let Some(divisor) = other.terms.first() else { return Self::default() };
        Self { terms: self.terms.iter().map(|t| t.over(divisor)).collect() }
    }

    /// Whether nothing is spent.
    pub fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }
}

impl fmt::Display for Monomial {
    /// `batch·io / (rows·cols)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let factors = |sign: i32| -> Vec<String> {
            let all = self.dims.iter().chain(&self.mesh);
            all.filter(|(_, p)| **p * sign > 0)
                .map(|(n, p)| if p.abs() == 1 { n.clone() } else { format!("{n}^{}", p.abs()) })
                .collect()
        };
        let (above, below) = (factors(1), factors(-1));
        if above.is_empty() {
            f.write_str("1")?;
        }
        f.write_str(&above.join("·"))?;
        match below.as_slice() {
            [] => Ok(()),
            [one] => write!(f, " / {one}"),
            many => write!(f, " / ({})", many.join("·")),
        }
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.terms.is_empty() {
            return f.write_str("0");
        }
        let mut terms: Vec<String> = self.terms.iter().map(Monomial::to_string).collect();
        terms.sort_unstable();
        f.write_str(&terms.join(" + "))
    }
}
