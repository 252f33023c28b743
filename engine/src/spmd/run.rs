//! The one loop over the steps of a Program. What walking means is up to the [`MeshImpl`]: compute
//! the slices of all processors, add up costs, check layouts.

use super::collective::Collective;
use super::program::{Entry, Program, Step, Work};
use crate::graph::op::Phase;
use crate::index::ValueId;
use std::ops::Range;

/// Something that a Program can run on.
pub trait MeshImpl {
    /// Why a run stops.
    type Error;

    /// A body begins.
    fn enter(&mut self, entry: Entry) {
        let _: Entry = entry;
    }

    /// Local work: every processor computes its slice of the output from its slices of the inputs.
    fn compute(&mut self, index: usize, step: &Step) -> Result<(), Self::Error>;

    /// A change of layout within each group.
    fn collective(
        &mut self,
        index: usize,
        step: &Step,
        collective: &Collective,
    ) -> Result<(), Self::Error>;

    /// The new value takes the place of the source.
    fn assign(&mut self, target: ValueId, new: ValueId) -> Result<(), Self::Error>;

    /// The value is not read any more.
    fn free(&mut self, value: ValueId) -> Result<(), Self::Error>;
}

/// Runs the steps up to and with the phase `last`, in order.
pub fn run<M: MeshImpl>(program: &Program, last: Phase, mesh: &mut M) -> Result<(), M::Error> {
    for &entry in &program.order {
        mesh.enter(entry);
        body(program, program.steps_of(entry.body), last, mesh)?;
    }
    Ok(())
}

/// Walks through every body once.
pub fn walk<M: MeshImpl>(program: &Program, mesh: &mut M) -> Result<(), M::Error> {
    body(program, 0..program.steps.len(), Phase::Update, mesh)
}

fn body<M: MeshImpl>(
    program: &Program,
    steps: Range<usize>,
    last: Phase,
    mesh: &mut M,
) -> Result<(), M::Error> {
    let first = steps.start;
    for (at, step) in program.steps[steps].iter().enumerate().filter(|(_, s)| s.phase <= last) {
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
            | Work::TopK(_)
            | Work::Cumsum(..)
            | Work::Accumulate
            | Work::Send => {
                mesh.compute(index, step)?;
            }
            Work::Collective(collective) => mesh.collective(index, step, collective)?,
            Work::Assign => mesh.assign(step.inputs[0], step.inputs[1])?,
            Work::Free => mesh.free(step.inputs[0])?,
        }
    }
    Ok(())
}
