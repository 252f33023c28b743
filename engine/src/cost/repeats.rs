//! What processors compute alike: a mesh dimension that neither cuts the operands of a step nor its
//! result has every processor along it do the same work.

use crate::index::{IdVec, MeshAxis, ValueId};
use crate::spmd::program::{Program, Step};
use crate::spmd::run::{MeshImpl, walk};
use std::convert::Infallible;

/// The mesh dimensions along which each value is computed by all alike.
#[derive(Debug, Clone, Default)]
pub struct Repeats(IdVec<ValueId, Vec<MeshAxis>>);

impl Repeats {
    /// Those of a Program.
    pub fn of(program: &Program) -> Self {
        let none = Self(program.values.ids().map(|_| Vec::new()).collect());
        let mut looking = Looking { program, found: none };
        let Ok(()) = walk(program, &mut looking);
        looking.found
    }

    /// Those of a value.
    pub fn along(&self, value: ValueId) -> Vec<MeshAxis> {
        self.0.get(value).cloned().unwrap_or_default()
    }
}

struct Looking<'p> {
    program: &'p Program,
    found: Repeats,
}

impl MeshImpl for Looking<'_> {
    type Error = Infallible;

    fn compute(&mut self, _index: usize, step: &Step) -> Result<(), Infallible> {
        if let Some(value) = step.output() {
            self.found.0[value] = self.program.repeated(step);
        }
        Ok(())
    }
}
