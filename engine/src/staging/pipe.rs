//! A pipeline: how layers become stages, and who does what when.
//!
//! ```text
//! flops of each layer ──partition──▶ the stage of each layer ──▶ the cells' order
//! flops of each stage ──simulate──▶ the predicted timeline
//! ```

use super::flops::Flops;
use super::numbers::Said;
use crate::diag::{Code, Diagnostic, Hint, Span};
use crate::graph::Graph;
use crate::graph::build::micro::{Cutting, TAKE_WHOLE, counted};
use crate::graph::micro::MicroBatches;
use crate::index::{IdVec, MeshAxis, MicroBatch, Stage};
use crate::picture;
use crate::picture::scene::Scene;
use crate::picture::timeline::{Lanes, View};
use crate::pipeline::needs::When;
use crate::pipeline::order::Extent;
use crate::pipeline::partition::Partition;
use crate::pipeline::recompute::{Remat, recompute_those};
use crate::pipeline::schedule::Schedule;
use crate::pipeline::simulate::{Costs, StageCosts, simulate};
use crate::spmd::cells::Cells;
use crate::spmd::program::Program;
use crate::timeline::Timeline;

/// What a `pipeline` statement says.
#[derive(Debug, Clone)]
pub struct Pipe {
    pub(super) axis: MeshAxis,
    pub(super) extent: Extent,
    /// Where the user says so.
    pub(super) said: Said,
    pub(super) schedule: Schedule,
    pub(super) remat: Remat,
    pub(super) batch: Option<String>,
    /// Over how many processors the layout splits the rows of the batch.
    pub(super) parts: u64,
    /// Layers of each stage, where the user counts them.
    pub(super) balance: Option<(Vec<u64>, Span)>,
    pub(super) times: Times,
    pub(super) span: Span,
}

/// What a `pipeline` statement says of the times of its tasks.
#[derive(Debug, Clone)]
pub(super) struct Times {
    /// What each layer costs, where the user says so.
    pub(super) costs: Option<(Vec<f64>, Span)>,
    /// How these fall into forward, input gradient and weight gradient, where the user says so.
    pub(super) shares: Option<[f64; 3]>,
    /// How long a hop takes, in forward tasks of a stage.
    pub(super) hop: f64,
    /// The share of the shorter task of a pair that hides behind the longer one.
    pub(super) overlap: f64,
}

impl Pipe {
    /// How it has the batch cut.
    pub fn cutting(&self) -> Cutting {
        let count = u64::from(self.extent.micro_batches);
        let place = self.said.micro_batches.unwrap_or(self.said.end);
        let (parts, is_pipeline) = (self.parts, true);
        let cutting = Cutting::new(self.batch.as_deref(), count, self.span);
        let cutting = Cutting { parts, place, is_pipeline, ..cutting };
        let whole = self.takes(1).then(|| cutting.take(1, TAKE_WHOLE));
        Cutting { whole, ..cutting }
    }

    /// The mesh dimension that carries its cells.
    pub const fn over(&self) -> MeshAxis {
        self.axis
    }

    /// Whether its schedule takes so many micro-batches.
    pub fn takes(&self, micro_batches: u64) -> bool {
        let count = u32::try_from(micro_batches).unwrap_or(u32::MAX);
        self.schedule.limits(Extent { micro_batches: count, ..self.extent }).is_empty()
    }

    /// Its schedule.
    pub const fn schedule(&self) -> Schedule {
        self.schedule
    }

    /// Whether the last micro-batch computes activations again, as the others may.
    pub fn remat_of_last(&self) -> bool {
        self.remat == Remat::Always
    }

    /// Whether micro-batches compute activations again, the last one left out.
    pub fn remat(&self) -> bool {
        self.remat != Remat::Never
    }

    /// The stage of each layer, and the order of the cells; `plain` is the model on one cell.
    pub fn cut(&self, graph: &Graph, plain: &Program) -> Result<(Vec<Stage>, Cells), Diagnostic> {
        let layers = graph.layers.len();
        let stages = self.extent.stages() as usize;
        let fault = |message: String, span| Diagnostic::error(Code::Pipeline, span, message);
        // Few rows may make fewer micro-batches than asked for.
        let count = plain.micro_batches() as u32;
        let extent = Extent { micro_batches: count, ..self.extent };
        let order = self.schedule.order(extent).map_err(|limits| {
            let why = limits.first().map(ToString::to_string).unwrap_or_default();
            fault(format!("`{}`: {why}", self.schedule.name()), self.span)
        })?;
        let costs = match &self.times.costs {
            Some((costs, span)) if costs.len() != layers => {
                let listed = counted(costs.len() as u64, "layer");
                let message = format!("`costs` lists {listed}, the model has {layers}");
                let without = Hint::edit("Take the operations of the layers.", *span, "");
                return Err(fault(message, *span).hint(without).hint(self::listed(graph)));
            }
            Some((costs, _)) => costs.clone(),
            None => Flops::of(plain).by_layer(graph).into_iter().map(StageCosts::whole).collect(),
        };
        let partition = match &self.balance {
            Some((counts, span)) => {
                let total: u64 = counts.iter().sum();
                if counts.len() != stages || total != layers as u64 {
                    let message = format!(
                        "`balance` gives {} {}; there are {} and {}",
                        counted(counts.len() as u64, "stage"),
                        counted(total, "layer"),
                        counted(stages as u64, "stage"),
                        counted(layers as u64, "layer"),
                    );
                    let even = Hint::edit("Take the most even cut.", *span, "");
                    return Err(fault(message, *span).hint(even).hint(listed(graph)));
                }
                let ends = counts.iter().scan(0, |sum, n| {
                    *sum += *n as usize;
                    Some(*sum)
                });
                let ends: Vec<usize> = ends.collect();
                Partition::by_hand(&ends[..ends.len() - 1], layers)
            }
            None => Partition::of_costs(&costs, stages),
        };
        let partition = partition.map_err(|e| {
            let message = format!("The model cannot be cut into {stages} stages: {e}");
            fault(message, self.span).hint(listed(graph))
        })?;
        let stage = |layer| Stage(partition.cell(layer) as u32);
        // Where the last micro-batch has fewer rows, it is the only one that is unlike the others.
        let is_ragged = plain.micro.as_ref().is_some_and(MicroBatches::is_ragged);
        let again = |m: MicroBatch| {
            let is_alike = is_ragged && self.remat() && u64::from(m.0) + 1 != u64::from(count);
            is_alike || self.remat.again(&order, m)
        };
        let order = recompute_those(&order, again);
        let cells = Cells::new(self.axis, order)
            .ok_or_else(|| fault(format!("`{}` never ends", self.schedule.name()), self.span))?;
        Ok(((0..layers).map(stage).collect(), cells))
    }

    /// What a micro-batch costs in each layer, forward and backward, where the user says so.
    pub fn given_costs(&self) -> Option<&[f64]> {
        self.times.costs.as_ref().map(|(costs, _)| &costs[..])
    }

    /// The unit of predicted costs and times: `flop`, or `units` where the user says what each layer
    /// costs.
    pub const fn unit(&self) -> &'static str {
        if self.times.costs.is_some() { "units" } else { "flop" }
    }

    /// How long the tasks of stages take: as their layers cost where the user says so, else as many
    /// units of time as they have floating point operations.
    pub(super) fn costs(&self, flops: &Flops<'_>, graph: &Graph, stages: u32) -> Costs {
        let stages = if self.times.costs.is_none() && self.times.shares.is_none() {
            flops.by_stage(stages)
        } else {
            let zero = StageCosts::new(0.0, 0.0, 0.0);
            let mut sums: IdVec<Stage, StageCosts> = (0..stages).map(|_| zero).collect();
            let given = self.given_costs();
            // Without training there is nothing but the forward pass.
            let only_forward = graph.gradients.is_empty().then_some([1.0, 0.0, 0.0]);
            let shares = only_forward.or(self.times.shares);
            for (layer, operations) in flops.by_layer(graph).into_iter().enumerate() {
                let cost = given.map_or_else(|| operations.whole(), |costs| costs[layer]);
                let sum = &mut sums[graph.stage_of_layer[layer]];
                *sum = sum.plus(costing(operations, shares, cost));
            }
            sums
        };
        let mean = stages.iter().map(|s| s.forward).sum::<f64>() / stages.len().max(1) as f64;
        let Times { hop, overlap, .. } = self.times;
        let returns = !graph.gradients.is_empty();
        Costs { stages, hop: hop * mean, returns, overlap, when: When::Early }
    }

    /// Who does what when, by the costs of the layers.
    pub fn timeline(&self, graph: &Graph, program: &Program) -> Option<Timeline> {
        let cells = program.cells.as_ref()?;
        let flops = Flops::of(program);
        let costs = self.costs(&flops, graph, cells.order().extent().stages());
        simulate(cells.order(), &costs).ok()
    }
}

impl Pipe {
    /// A timeline of its cells as a picture: a predicted one, or one that was measured in a unit.
    pub fn scene(
        &self,
        program: &Program,
        timeline: &Timeline,
        measured_in: Option<&str>,
    ) -> Option<Scene> {
        Some(picture::timeline::scene(timeline, &self.view(program, timeline, measured_in)?))
    }

    /// What such a picture says beside it.
    pub fn view(
        &self,
        program: &Program,
        timeline: &Timeline,
        measured_in: Option<&str>,
    ) -> Option<View> {
        let cells = program.cells.as_ref()?;
        let Extent { ranks, micro_batches, .. } = cells.order().extent();
        let title = format!(
            "{}, {ranks} cells, {micro_batches} micro-batches{}: {:.0} % of the time idle",
            self.schedule.name(),
            if measured_in.is_some() { ", measured" } else { "" },
            100.0 * timeline.bubble_of_makespan()
        );
        let of_cell = |rank| program.pnums(cells.first_stage(rank)).collect();
        let pnums = (0..program.ranks()).map(of_cell).collect();
        let unit = measured_in.unwrap_or(self.unit()).to_owned();
        Some(View { title, unit, pnums, lanes: Lanes::Cells, ..View::default() })
    }
}

/// Tasks of a layer that cost so much together: in these proportions if any, else in those of its
/// operations, else in the papers'.
fn costing(operations: StageCosts, shares: Option<[f64; 3]>, cost: f64) -> StageCosts {
    let tasks = match shares {
        Some([forward, input, weight]) => StageCosts::new(forward, input, weight),
        None if operations.whole() > 0.0 => operations,
        None => StageCosts::UNIT,
    };
    // Of a forward task, not all may be computed again.
    let again = operations.recompute / operations.forward;
    let recompute = if again.is_finite() { tasks.forward * again } else { tasks.recompute };
    StageCosts { recompute, ..tasks }.scaled(cost / tasks.whole())
}

/// The layers by name.
pub(super) fn listed(graph: &Graph) -> Hint {
    let layers = &graph.layers;
    if let [only] = &layers[..] {
        return Hint::new(format!("The only layer is {only}."));
    }
    let mut shown: Vec<&str> = layers.iter().take(8).map(String::as_str).collect();
    if layers.len() > shown.len() {
        shown.push("…");
    }
    Hint::new(format!("The {} layers are {}.", layers.len(), shown.join(", ")))
}
