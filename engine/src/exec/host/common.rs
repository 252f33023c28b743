//! What all hosts of a Program share: the Program, how its steps are done, memory, and the post.

use super::held::Arrivals;
use crate::exec::buffers::Buffers;
use crate::exec::kernel::Kernel;
use crate::exec::number::Number;
use crate::exec::post::Post;
use crate::exec::sweep::{Role, Sweep, sweeps};
use crate::index::{IdVec, ValueId};
use crate::spmd::program::Program;
use std::sync::Arc;

/// What all hosts of a Program have in common.
#[derive(Debug)]
pub struct Common<T> {
    pub(super) program: Arc<Program>,
    pub(super) plan: Plan,
    pub(super) buffers: Buffers<T>,
    pub(super) post: Post<T>,
}

/// How the steps of the Program are done.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) kernels: Vec<Kernel>,
    pub(super) sweeps: Vec<Sweep>,
    pub(super) roles: Vec<Role>,
    /// Values that stay from step to step.
    pub(super) is_source: IdVec<ValueId, bool>,
    pub(super) arrivals: Arrivals,
}

impl<T: Number> Common<T> {
    /// For so many hosts.
    pub fn new(program: Arc<Program>, hosts: usize) -> Self {
        let kernels: Vec<Kernel> = program.steps.iter().map(|s| Kernel::new(&program, s)).collect();
        let (sweeps, roles) = sweeps(&program, &kernels);
        let mut is_source: IdVec<ValueId, bool> = program.values.iter().map(|_| false).collect();
        for &source in &program.sources {
            is_source[source] = true;
        }
        let arrivals = Arrivals::of(&program);
        let plan = Plan { kernels, sweeps, roles, is_source, arrivals };
        Self { program, plan, buffers: Buffers::default(), post: Post::new(hosts) }
    }

    /// The Program.
    pub const fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// The post between them.
    pub const fn post(&self) -> &Post<T> {
        &self.post
    }
}
