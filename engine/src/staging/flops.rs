//! The operations of each body and node of a Program, for the costs of layers and stages.

use crate::graph::Graph;
use crate::index::{BodyId, NodeId, ValueId};
use crate::spmd::collective::Collective;
use crate::spmd::program::{Body, Program, Step};
use crate::spmd::run::{MeshImpl, walk};
use std::collections::BTreeMap;
use std::convert::Infallible;

/// Flops of one processor, each body once.
pub(super) struct Flops<'p> {
    program: &'p Program,
    of: BTreeMap<(BodyId, NodeId), f64>,
}

impl<'p> Flops<'p> {
    /// Those of a Program.
    pub(super) fn of(program: &'p Program) -> Self {
        let mut flops = Self { program, of: BTreeMap::new() };
        let Ok(()) = walk(program, &mut flops);
        flops
    }

    /// What one micro-batch takes in each layer, forward and backward.
    pub(super) fn by_layer(&self, graph: &Graph) -> Vec<f64> {
        let mut costs = vec![0.0; graph.layers.len()];
        for (&(body, node), flops) in &self.of {
            if self.program.bodies[body].kind.varies() {
                costs[graph.node(node).layer as usize] += flops;
            }
        }
        costs
    }

    /// Those of the bodies of all micro-batches but an unlike last one.
    pub(super) fn of_body(&self, is: impl Fn(&Body) -> bool) -> f64 {
        let bodies = &self.program.bodies;
        let counts = |body: BodyId| !bodies[body].is_last && is(&bodies[body]);
        self.of.iter().filter(|((body, _), _)| counts(*body)).map(|(_, flops)| flops).sum()
    }
}

impl MeshImpl for Flops<'_> {
    type Error = Infallible;

    fn compute(&mut self, _index: usize, step: &Step) -> Result<(), Infallible> {
        *self.of.entry((step.body, step.node)).or_default() += self.program.flops(step) as f64;
        Ok(())
    }

    fn collective(
        &mut self,
        _index: usize,
        _step: &Step,
        _collective: &Collective,
    ) -> Result<(), Infallible> {
        Ok(())
    }

    fn assign(&mut self, _index: usize, _target: ValueId, _new: ValueId) -> Result<(), Infallible> {
        Ok(())
    }

    fn free(&mut self, _index: usize, _value: ValueId) -> Result<(), Infallible> {
        Ok(())
    }
}
