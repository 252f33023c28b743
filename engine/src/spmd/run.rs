//! The one loop over the steps of a Program. What walking means is up to the [`MeshImpl`]: compute
//! the slices of all processors, add up costs, check layouts.
//!
//! A walk is of all processors at once, or of those at some places along the pipeline: then the
//! bodies of other stages are passed over, and of the bodies that are one for all stages the steps
//! of others. Every walk has the order of the whole, so what one waits for stands before it.

use super::collective::Collective;
use super::program::{Entry, Program, Step, Work};
use crate::graph::op::Phase;
use crate::index::ValueId;
use std::ops::Range;

/// Something that a Program can run on. What it does nothing at, it leaves out.
pub trait MeshImpl {
    /// Why a run stops.
    type Error;

    /// A run of a body begins: the entry at this place of the order.
    fn enter(&mut self, index: usize, entry: Entry) -> Result<(), Self::Error> {
        let _: (usize, Entry) = (index, entry);
        Ok(())
    }

    /// The run of a body is over.
    fn leave(&mut self) {}

    /// Local work: every processor computes its slice of the output from its slices of the inputs.
    fn compute(&mut self, index: usize, step: &Step) -> Result<(), Self::Error> {
        let _: (usize, &Step) = (index, step);
        Ok(())
    }

    /// A change of layout within each group.
    fn collective(
        &mut self,
        index: usize,
        step: &Step,
        collective: &Collective,
    ) -> Result<(), Self::Error> {
        let _: (usize, &Step, &Collective) = (index, step, collective);
        Ok(())
    }

    /// The new value takes the place of the source.
    fn assign(&mut self, index: usize, target: ValueId, new: ValueId) -> Result<(), Self::Error> {
        let _: (usize, ValueId, ValueId) = (index, target, new);
        Ok(())
    }

    /// The value is not read any more.
    fn free(&mut self, index: usize, value: ValueId) -> Result<(), Self::Error> {
        let _: (usize, ValueId) = (index, value);
        Ok(())
    }
}

/// Runs the steps up to and with the phase `last`, in order.
pub fn run<M: MeshImpl>(program: &Program, last: Phase, mesh: &mut M) -> Result<(), M::Error> {
    run_at(program, last, &(0..program.ranks()), mesh)
}

/// The same at some places along the pipeline.
pub fn run_at<M: MeshImpl>(
    program: &Program,
    last: Phase,
    places: &Range<usize>,
    mesh: &mut M,
) -> Result<(), M::Error> {
    let ranges = program.steps_of_bodies();
    for (index, &entry) in program.order.iter().enumerate() {
        let body = &program.bodies[entry.body];
        let is_of_stage = body.kind.varies();
        if is_of_stage && !places.contains(&program.rank(body.stage)) {
            continue;
        }
        mesh.enter(index, entry)?;
        let is_here =
            |step: &Step| is_of_stage || places.contains(&program.rank(program.stage(step)));
        let steps = ranges[entry.body].clone();
        walk_steps(program, steps, |step| step.phase <= last && is_here(step), mesh)?;
        mesh.leave();
    }
    Ok(())
}

/// Walks through every body once.
pub fn walk<M: MeshImpl>(program: &Program, mesh: &mut M) -> Result<(), M::Error> {
    walk_steps(program, 0..program.steps.len(), |_| true, mesh)
}

fn walk_steps<M: MeshImpl>(
    program: &Program,
    steps: Range<usize>,
    is_done: impl Fn(&Step) -> bool,
    mesh: &mut M,
) -> Result<(), M::Error> {
    let first = steps.start;
    for (at, step) in program.steps[steps].iter().enumerate().filter(|(_, step)| is_done(step)) {
        let index = first + at;
        match &step.work {
            Work::Einsum
            | Work::Reduce(_)
            | Work::Tape(_)
            | Work::Rename
            | Work::Reshape
            | Work::Window(_)
            | Work::Unwindow(_)
            | Work::Gather(_)
            | Work::Scatter(_)
            | Work::TopK(..)
            | Work::Cumsum(..)
            | Work::Accumulate
            | Work::Send => {
                mesh.compute(index, step)?;
            }
            Work::Collective(collective) => mesh.collective(index, step, collective)?,
            Work::Assign => mesh.assign(index, step.inputs[0], step.inputs[1])?,
            Work::Free => mesh.free(index, step.inputs[0])?,
        }
    }
    Ok(())
}
