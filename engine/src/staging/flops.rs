//! The operations of each body and node of a Program, and the times of its steps, for the costs of
//! layers and stages.

use crate::graph::Graph;
use crate::index::{BodyId, IdVec, NodeId, Stage};
use crate::pipeline::simulate::StageCosts;
use crate::spmd::collective::Collective;
use crate::spmd::program::{Body, BodyKind, Program, Step};
use crate::spmd::run::{MeshImpl, walk};
use std::collections::BTreeMap;
use std::convert::Infallible;

/// Flops of one processor, each body once.
pub(super) struct Flops<'p> {
    program: &'p Program,
    of_body: BTreeMap<BodyId, f64>,
    of_node: BTreeMap<(NodeId, BodyKind), f64>,
}

impl<'p> Flops<'p> {
    /// Those of a Program.
    pub(super) fn of(program: &'p Program) -> Self {
        let mut flops = Self { program, of_body: BTreeMap::new(), of_node: BTreeMap::new() };
        let Ok(()) = walk(program, &mut flops);
        flops
    }

    /// What one micro-batch takes in each layer, by kind of work; an unlike last one does not count;
    /// of two copies, one does.
    pub(super) fn by_layer(&self, graph: &Graph) -> Vec<StageCosts> {
        let mut costs: Vec<BTreeMap<BodyKind, f64>> = vec![BTreeMap::new(); graph.layers.len()];
        for (&(node, kind), flops) in &self.of_node {
            *costs[graph.node(node).layer as usize].entry(kind).or_default() += flops;
        }
        let of = |costs: &BTreeMap<_, _>| by_kind(|kind| costs.get(&kind).copied().unwrap_or(0.0));
        costs.iter().map(of).collect()
    }

    /// What one micro-batch takes in each stage of the model, by kind of work; an unlike last one
    /// does not count.
    pub(super) fn by_stage(&self, stages: u32) -> IdVec<Stage, StageCosts> {
        let of = |stage: Stage, kind: BodyKind| {
            let is_it = |body: &Body| !body.is_last && (body.stage, body.kind) == (stage, kind);
            let bodies = &self.program.bodies;
            self.of_body.iter().filter(|(body, _)| is_it(&bodies[**body])).map(|(_, f)| f).sum()
        };
        (0..stages).map(|stage| by_kind(|kind| of(Stage(stage), kind))).collect()
    }
}

fn by_kind(of: impl Fn(BodyKind) -> f64) -> StageCosts {
    let [forward, input, weight] =
        [BodyKind::Forward, BodyKind::Backward, BodyKind::WeightGradient].map(&of);
    StageCosts { recompute: of(BodyKind::Recompute), ..StageCosts::new(forward, input, weight) }
}

impl MeshImpl for Flops<'_> {
    type Error = Infallible;

    fn compute(&mut self, _index: usize, step: &Step) -> Result<(), Infallible> {
        let flops = self.program.flops(step) as f64;
        *self.of_body.entry(step.body).or_default() += flops;
        let body = self.program.bodies[step.body];
        if body.kind.varies() && !body.is_last && self.program.is_of_first_copy(body.stage) {
            *self.of_node.entry((step.node, body.kind)).or_default() += flops;
        }
        Ok(())
    }
}

/// What a micro-batch takes in each layer, forward and backward, where the steps of a Program took
/// so much in all; what is computed again does not count.
pub fn times_of_layers(graph: &Graph, program: &Program, worked: &[f64]) -> Vec<f64> {
    let mut times = Times { graph, program, worked, of: vec![0.0; graph.layers.len()] };
    let Ok(()) = walk(program, &mut times);
    times.of
}

struct Times<'p> {
    graph: &'p Graph,
    program: &'p Program,
    worked: &'p [f64],
    of: Vec<f64>,
}

impl Times<'_> {
    fn note(&mut self, index: usize, step: &Step) {
        let kind = self.program.bodies[step.body].kind;
        if kind.varies() && kind != BodyKind::Recompute {
            let seconds = self.worked.get(index).copied().unwrap_or(0.0);
            let layer = self.graph.node(step.node).layer as usize;
            self.of[layer] += seconds / self.program.micro_batches() as f64;
        }
    }
}

impl MeshImpl for Times<'_> {
    type Error = Infallible;

    fn compute(&mut self, index: usize, step: &Step) -> Result<(), Infallible> {
        self.note(index, step);
        Ok(())
    }

    fn collective(
        &mut self,
        index: usize,
        step: &Step,
        _collective: &Collective,
    ) -> Result<(), Infallible> {
        self.note(index, step);
        Ok(())
    }
}
