//! The operations of each body and node of a Program, for the costs of layers and stages.

use crate::graph::Graph;
use crate::index::{BodyId, NodeId, Stage, ValueId};
use crate::pipeline::simulate::StageCosts;
use crate::spmd::collective::Collective;
use crate::spmd::program::{Body, BodyKind, Program, Step};
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

    /// What one micro-batch takes in a stage, by kind of work; an unlike last one does not count.
    pub(super) fn of_stage(&self, stage: Stage) -> StageCosts {
        by_kind(|kind| self.sum(|body, _| (body.stage, body.kind) == (stage, kind)))
    }

    /// The same of a layer, forward and backward together.
    pub(super) fn of_layer(&self, graph: &Graph, layer: usize) -> f64 {
        self.sum(|body, node| {
            let is_work = body.kind.varies() && body.kind != BodyKind::Recompute;
            is_work && graph.node(node).layer as usize == layer
        })
    }

    fn sum(&self, is: impl Fn(&Body, NodeId) -> bool) -> f64 {
        let bodies = &self.program.bodies;
        let counts = |body: BodyId, node| !bodies[body].is_last && is(&bodies[body], node);
        self.of.iter().filter(|((body, node), _)| counts(*body, *node)).map(|(_, f)| f).sum()
    }
}

fn by_kind(of: impl Fn(BodyKind) -> f64) -> StageCosts {
    let input_gradient = of(BodyKind::Backward);
    let weight_gradient = of(BodyKind::WeightGradient);
    StageCosts {
        forward: of(BodyKind::Forward),
        recompute: of(BodyKind::Recompute),
        backward: input_gradient + weight_gradient,
        input_gradient,
        weight_gradient,
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
