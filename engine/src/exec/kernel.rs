//! Kernels: what a step needs to know to compute, worked out once and the same on every processor.

use super::einsum::{Einsum, Matrices};
use super::elementwise::{Moment, TapePlan};
use super::gather::GatherPlan;
use super::number::Number;
use super::order::Lines;
use super::reduce::ReducePlan;
use super::strides::{Input, Local};
use super::sums::Sums;
use super::window::WindowPlan;
use crate::graph::op::Running;
use crate::index::{Idx as _, Pnum, ValueId};
use crate::spmd::program::{Program, Search, Step, Work};

/// Numbers that one task of element-wise, reducing or moving work reads or makes.
pub const TASK: usize = 1 << 15;
/// Results of one task at least: those of a cache line.
const FEWEST: usize = 16;

/// A planned step.
#[derive(Debug, Clone)]
pub enum Kernel {
    /// Matrix products; the host cuts them into tasks itself.
    Matrices(Matrices),
    /// Sums of products.
    Sums(Sums),
    /// A reduction.
    Reduce(ReducePlan),
    /// Element-wise code.
    Tape(TapePlan),
    /// A window.
    Window(WindowPlan),
    /// The adjoint of a window.
    Unwindow(WindowPlan),
    /// A gather along an axis of the first input.
    Gather(GatherPlan, usize),
    /// The adjoint of a gather along an axis of the output.
    Scatter(GatherPlan, usize),
    /// The greatest elements of every line along an axis of the first input.
    TopK(Lines, usize, Search),
    /// Running sums of every line.
    Cumsum(Lines, Running),
    /// The same numbers in the same order.
    Copy,
}

/// Where a processor stands in the whole tensors.
#[derive(Debug, Clone)]
pub struct Place {
    /// The first position of its slice of the output along each axis.
    output: Vec<u64>,
    /// The first position of its slice of the first input along the axis gathered from or searched.
    first: u64,
}

impl Kernel {
    /// The kernel of a step.
    pub fn new(program: &Program, step: &Step) -> Self {
        let Some(output) = step.output() else { return Self::Copy };
        let local = |v: ValueId| Local::new(&program.values[v].shape, &program.slice_sizes(v));
        let sizes = |v: ValueId| program.slice_sizes(v);
        let out = local(output);
        let name = |v: ValueId, axis: usize| &program.values[v].shape.dims()[axis].name;
        let input = step.inputs.first().copied();
        match (&step.work, input) {
            (Work::Einsum, Some(a)) => match Einsum::new(&local(a), &local(step.inputs[1]), &out) {
                Einsum::Matrices(plan) => Self::Matrices(plan),
                Einsum::Sums(plan) => Self::Sums(plan),
            },
            (Work::Reduce(reduction), Some(x)) => {
                let whole = program.values[x].shape.elements() as f64
                    / program.values[output].shape.elements() as f64;
                Self::Reduce(ReducePlan::new(*reduction, &local(x), &out, whole))
            }
            (Work::Tape(tape), _) => {
                let inputs: Vec<Local> = step.inputs.iter().map(|&v| local(v)).collect();
                Self::Tape(TapePlan::new(tape, &inputs, &out, &program.whole_shape(output)))
            }
            (Work::Window(frame), Some(x)) => {
                Self::Window(WindowPlan::new(*frame, &sizes(x), &sizes(output)))
            }
            (Work::Unwindow(frame), Some(x)) => {
                Self::Unwindow(WindowPlan::new(*frame, &sizes(output), &sizes(x)))
            }
            (Work::Gather(axis), Some(table)) => {
                let axis = axis.index();
                let positions = local(step.inputs[1]);
                let plan = GatherPlan::new(name(table, axis), &local(table), &positions, &out);
                Self::Gather(plan, axis)
            }
            (Work::Scatter(axis), Some(picked)) => {
                let axis = axis.index();
                let positions = local(step.inputs[1]);
                let plan = GatherPlan::new(name(output, axis), &out, &positions, &local(picked));
                Self::Scatter(plan, axis)
            }
            (Work::TopK(axis, search), Some(x)) => {
                Self::TopK(Lines::new(&sizes(x), axis.index()), axis.index(), *search)
            }
            (Work::Cumsum(axis, running), Some(x)) => {
                Self::Cumsum(Lines::new(&sizes(x), axis.index()), *running)
            }
            (
                Work::Rename
                | Work::Reshape
                | Work::Collective(_)
                | Work::Assign
                | Work::Free
                | Work::Accumulate
                | Work::Send
                | Work::Einsum
                | Work::Reduce(_)
                | Work::Window(_)
                | Work::Unwindow(_)
                | Work::Gather(_)
                | Work::Scatter(_)
                | Work::TopK(..)
                | Work::Cumsum(..),
                _,
            ) => Self::Copy,
        }
    }

    /// The value whose place in the whole tensor the result depends on, beside its inputs.
    pub fn placed_by(&self, step: &Step, output: ValueId) -> Option<ValueId> {
        match self {
            Self::Tape(plan) => plan.reads_position().then_some(output),
            Self::Scatter(..) => Some(output),
            // Positions are those of the whole tensor, not of this slice of it.
            Self::Gather(..) | Self::TopK(..) => step.inputs.first().copied(),
            Self::Matrices(_)
            | Self::Sums(_)
            | Self::Reduce(_)
            | Self::Window(_)
            | Self::Unwindow(_)
            | Self::Cumsum(..)
            | Self::Copy => None,
        }
    }

    /// Elements of one task of a result with so many: all, where they are not made one by one.
    pub fn task(&self, elements: usize) -> usize {
        match self {
            Self::Scatter(..) | Self::TopK(..) | Self::Cumsum(..) => elements.max(1),
            Self::Sums(plan) => (TASK / plan.summed().max(1)).max(1).next_multiple_of(FEWEST),
            Self::Reduce(plan) => (TASK / plan.reduced().max(1)).max(1).next_multiple_of(FEWEST),
            Self::Matrices(_)
            | Self::Tape(_)
            | Self::Window(_)
            | Self::Unwindow(_)
            | Self::Gather(..)
            | Self::Copy => TASK,
        }
    }

    /// Where a processor stands, as far as the kernel asks.
    pub fn place(
        &self,
        program: &Program,
        step: &Step,
        output: ValueId,
        (pnum, micro): (Pnum, u64),
    ) -> Place {
        let begin = |v: ValueId| program.slice_begin(v, pnum, micro);
        let first = match self {
            Self::Gather(_, axis) | Self::TopK(_, axis, Search::All | Search::Own) => {
                begin(step.inputs[0])[*axis]
            }
            Self::Scatter(_, axis) => begin(output)[*axis],
            Self::Matrices(_)
            | Self::Sums(_)
            | Self::Reduce(_)
            | Self::Tape(_)
            | Self::Window(_)
            | Self::Unwindow(_)
            | Self::TopK(_, _, Search::Candidates)
            | Self::Cumsum(..)
            | Self::Copy => 0,
        };
        Place { output: begin(output), first }
    }

    /// Computes the elements `start..` of a processor's result; `registers` is memory.
    pub fn compute<T: Number>(
        &self,
        inputs: &[Input<'_, T>],
        place: &Place,
        moment: Moment,
        (start, out): (usize, &mut [T]),
        registers: &mut Vec<T>,
    ) {
        let whole = |i: usize| inputs[i].tail(0);
        match self {
            Self::Tape(plan) => {
                plan.compute(inputs, &place.output, moment, (start, out), registers);
            }
            Self::Reduce(plan) => plan.compute(inputs[0], start, out),
            Self::Sums(plan) => plan.compute([inputs[0], inputs[1]], start, out),
            Self::Window(plan) => plan.read(whole(0), start, out),
            Self::Unwindow(plan) => plan.add_back(whole(0), start, out),
            Self::Gather(plan, _) => plan.pick(whole(0), whole(1), place.first, start, out),
            Self::Scatter(plan, _) => plan.add_back(whole(0), whole(1), place.first, out),
            Self::TopK(lines, _, Search::All) => lines.top_k(whole(0), place.first, out),
            Self::TopK(lines, _, Search::Own) => lines.candidates(whole(0), place.first, out),
            Self::TopK(lines, _, Search::Candidates) => lines.top_k_of_candidates(whole(0), out),
            Self::Cumsum(lines, running) => lines.cumsum(whole(0), *running, out),
            Self::Matrices(_) | Self::Copy => out.copy_from_slice(inputs[0].run(start, out.len())),
        }
    }
}
