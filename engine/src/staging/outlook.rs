//! What a pipeline costs in time and memory, and what it would cost with more micro-batches.
//!
//! ```text
//! Program ──flops──▶ costs of each stage ──simulate──▶ timeline: makespan, bubble, span
//!    └─────held─────▶ bytes of each cell over that time
//! costs of each stage ──schedule, simulate──▶ the same with M = 4K
//! ```
//!
//! One unit of time is one floating point operation of one processor, or, where the user says what
//! each layer costs, the unit of that.

use super::flops::Flops;
use super::numbers::Numbers;
use super::pipe::Pipe;
use crate::cost::held::{Held, over_time};
use crate::graph::Graph;
use crate::index::{IdVec, Rank, Stage};
use crate::pipeline::moment::{Doing, moment};
use crate::pipeline::order::{Extent, Order};
use crate::pipeline::recompute::{Remat, recompute};
use crate::pipeline::schedule::Schedule;
use crate::pipeline::simulate::{Costs, StageCosts, simulate};
use crate::spmd::program::Program;
use crate::timeline::Timeline;
use std::ops::Range;

/// With this many micro-batches per cell the bubble is small (`GPipe`, arXiv 1811.06965, section 2.2).
pub const ENOUGH: u32 = 4;

/// A pipeline, looked at as a whole.
#[derive(Debug, Clone)]
pub struct Outlook {
    pipe: Pipe,
    order: Order,
    costs: Costs,
    /// Rows of the batch.
    rows: Option<u64>,
    /// Of each layer: its name, and what a micro-batch costs in it, forward and backward.
    layers: Vec<(String, f64)>,
    /// The stages, in the order of the model.
    pub stages: IdVec<Stage, Part>,
    /// Who does what when.
    pub timeline: Timeline,
    /// Bytes held by a processor of each cell over that time.
    pub held: IdVec<Rank, Vec<Held>>,
}

/// A stage: its place and its part of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The cells that have it: one, or one for each copy of the model.
    pub cells: Vec<Rank>,
    /// Its layers, by number.
    pub layers: Range<usize>,
    /// What a micro-batch costs, forward and backward.
    pub cost: f64,
}

/// The bubble and the time of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// The size of the pipeline.
    pub extent: Extent,
    /// Idle time over all time: `(K−1)/(M+K−1)` of `GPipe` with even stages.
    pub bubble_of_makespan: f64,
    /// Idle time over the time without idling: `(K−1)/M`.
    pub bubble_of_ideal: f64,
    /// From the first task to the last.
    pub makespan: f64,
}

impl Figures {
    fn of(timeline: &Timeline, extent: Extent) -> Self {
        Self {
            extent,
            bubble_of_makespan: timeline.bubble_of_makespan(),
            bubble_of_ideal: timeline.bubble_of_ideal(),
            makespan: timeline.makespan(),
        }
    }
}

impl Outlook {
    /// That of a study's pipeline.
    pub(crate) fn new(pipe: &Pipe, graph: &Graph, program: &Program) -> Option<Self> {
        let order = program.cells.as_ref()?.order().clone();
        let flops = Flops::of(program);
        let by_operations = || flops.by_layer(graph).into_iter().map(StageCosts::whole).collect();
        let of_layers = pipe.given_costs().map_or_else(by_operations, <[f64]>::to_vec);
        let layers = graph.layers.iter().cloned().zip(of_layers).collect();
        let costs = pipe.costs(&flops, graph, order.extent().stages());
        let timeline = simulate(&order, &costs).ok()?;
        let held = over_time(program, &timeline);
        let rows = program.micro.as_ref().map(|micro| micro.whole);
        let (pipe, stages) = (pipe.clone(), IdVec::new());
        let mut outlook = Self { pipe, order, costs, rows, layers, stages, timeline, held };
        outlook.stages = outlook.parts(&graph.stage_of_layer);
        Some(outlook)
    }

    fn parts(&self, stage_of: &[Stage]) -> IdVec<Stage, Part> {
        let part = |stage: u32| {
            let start = stage_of.partition_point(|s| s.0 < stage);
            let layers = start..stage_of.partition_point(|s| s.0 <= stage);
            let cells = self.order.ranks_of(Stage(stage)).collect();
            Part { cells, layers, cost: self.costs.stages[Stage(stage)].whole() }
        };
        (0..self.extent().stages()).map(part).collect()
    }

    /// The unit of costs and times: `flop`, or `units` where the user says what each layer costs.
    pub const fn unit(&self) -> &'static str {
        self.pipe.unit()
    }

    /// Its schedule.
    pub const fn schedule(&self) -> Schedule {
        self.pipe.schedule
    }

    /// Of which micro-batches activations are computed again.
    pub const fn remat(&self) -> Remat {
        self.pipe.remat
    }

    /// How large it is: as many micro-batches as the batch has rows for.
    pub const fn extent(&self) -> Extent {
        self.order.extent()
    }

    /// What every cell does, in order.
    pub const fn order(&self) -> &Order {
        &self.order
    }

    /// How long a hop takes, in forward tasks of a stage, as the study says.
    pub const fn hop(&self) -> f64 {
        self.pipe.times.hop
    }

    /// The part of the shorter task of a pair that hides behind the longer one.
    pub const fn overlap(&self) -> f64 {
        self.pipe.times.overlap
    }

    /// Whether the user says how many stages a cell holds.
    pub const fn says_chunks(&self) -> bool {
        self.pipe.said.chunks.is_some()
    }

    /// How many micro-batches are asked for; the batch may have rows for fewer.
    pub const fn asked(&self) -> u32 {
        self.pipe.extent.micro_batches
    }

    /// Whether the cut is the user's.
    pub const fn is_cut_by_hand(&self) -> bool {
        self.pipe.balance.is_some()
    }

    /// Every layer with what a micro-batch costs in it, forward and backward.
    pub fn layers(&self) -> impl ExactSizeIterator<Item = (&str, f64)> {
        self.layers.iter().map(|(name, cost)| (name.as_str(), *cost))
    }

    /// Whether cells have more than one stage, so that a task must say which it is of.
    pub const fn names_stages(&self) -> bool {
        self.extent().chunks > 1 || self.order.route().copies() > 1
    }

    /// Its bubble and time.
    pub fn figures(&self) -> Figures {
        Figures::of(&self.timeline, self.extent())
    }

    /// What every cell does at a time.
    pub fn moment(&self, time: f64) -> IdVec<Rank, Doing> {
        moment(&self.order, &self.timeline, self.costs.when, time)
    }

    /// Figures with so many micro-batches, each as large as now; or why that cannot be.
    pub fn with(&self, micro_batches: u32) -> Result<Figures, String> {
        let extent = Extent { micro_batches, ..self.extent() };
        let name = self.pipe.schedule.name();
        let order = self.pipe.schedule.order(extent).map_err(|limits| {
            let why = limits.first().map(ToString::to_string).unwrap_or_default();
            format!("`{name}`: {why}")
        })?;
        let order = recompute(&order, self.pipe.remat);
        let timeline =
            simulate(&order, &self.costs).map_err(|_stuck| format!("`{name}` never ends"))?;
        Ok(Figures::of(&timeline, extent))
    }

    /// Figures with four micro-batches per cell.
    pub fn with_enough(&self) -> Result<Figures, String> {
        self.with(ENOUGH.saturating_mul(self.extent().ranks))
    }

    /// What other numbers of this pipeline must fit.
    pub(super) fn numbers(&self, schedule: Schedule, extent: Extent) -> Numbers {
        let (layers, rows) = (Some(self.layers.len() as u64), self.rows);
        Numbers { schedule, extent, follows_cells: false, layers, rows, parts: self.pipe.parts }
    }

    /// The cells by number.
    pub fn cells(&self) -> impl Iterator<Item = Rank> {
        (0..self.extent().ranks).map(Rank)
    }
}
