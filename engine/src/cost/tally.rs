//! The Tally walks the Program and adds up: flops, bytes and messages of every collective, bytes
//! held at each step. It is a [`MeshImpl`] that holds no numbers, so a study of any size costs the
//! same to tally.

use super::held::{Holding, Spent};
use crate::exec::host::Traffic;
use crate::graph::op::Phase;
use crate::index::ValueId;
use crate::spmd::collective::{Collective, CollectiveKind};
use crate::spmd::program::{Program, Step};
use crate::spmd::run::{MeshImpl, run};
use std::convert::Infallible;

/// Sums over one step, per processor unless said otherwise; in a pipeline, of the cell that has the
/// most.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Totals {
    /// Floating point operations.
    pub flops_per_processor: f64,
    /// Operations of all processors together, over those if none did what another does, too.
    pub duplication: f64,
    /// Bytes sent, averaged over a group's members (ring formulas).
    pub sent_bytes_per_processor: f64,
    /// The most bytes held at once.
    pub peak_bytes_per_processor: u64,
    /// Messages of all processors together.
    pub messages: u64,
    /// Bytes of all processors together.
    pub bytes: u64,
}

/// Sums of one processor of a cell over one step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CellTotals {
    /// Floating point operations.
    pub flops: f64,
    /// Bytes sent.
    pub sent: f64,
    /// The most bytes held at once.
    pub peak: u64,
}

/// What one collective step moves.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Moved {
    /// Index of the step in the Program.
    pub step: usize,
    /// How often it is executed: once for each micro-batch, or once.
    pub times: u64,
    /// Bytes of one processor's slices before it.
    pub slice_bytes: u64,
    /// Bytes one processor sends, all times together.
    pub sent_bytes_per_processor: f64,
    /// All processors and times together.
    pub traffic: Traffic,
}

/// All costs of one step.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tally {
    /// The sums.
    pub totals: Totals,
    /// Every collective in the order of its first execution.
    pub moved: Vec<Moved>,
    /// The sums of each cell's processors; one where there is no pipeline.
    pub cells: Vec<CellTotals>,
}

impl Totals {
    /// Whether what is repeated adds up to enough to speak of.
    pub fn repeats_work(&self) -> bool {
        is_much(self.duplication)
    }
}

/// Whether it is a hundredth or more that is done more than once.
pub fn is_much(duplication: f64) -> bool {
    duplication >= 1.01
}

impl Tally {
    /// The costs of a Program.
    pub fn of(program: &Program) -> Self {
        let holding = Holding::new(program);
        let at_first = |&peak: &u64| CellTotals { peak, ..CellTotals::default() };
        let cells = holding.bytes().iter().map(at_first).collect();
        let (spent, trips) = (Spent::of(program), vec![None; program.steps.len()]);
        let tally = Self::default();
        let mut counter = Counter { program, spent, trips, holding, cells, needed: 0.0, tally };
        let Ok(()) = run(program, Phase::Update, &mut counter);
        let Counter { mut tally, cells, needed, .. } = counter;
        let done = cells.iter().map(|c| c.flops).sum::<f64>();
        tally.totals.duplication = if needed > 0.0 { done / needed } else { 1.0 };
        let most = |of: fn(&CellTotals) -> f64| cells.iter().map(of).fold(0.0, f64::max);
        tally.totals.flops_per_processor = most(|c| c.flops);
        tally.totals.sent_bytes_per_processor = most(|c| c.sent);
        tally.totals.peak_bytes_per_processor = cells.iter().map(|c| c.peak).max().unwrap_or(0);
        tally.cells = cells;
        tally
    }

    /// Messages and bytes of one step, all processors together.
    pub const fn traffic(&self) -> Traffic {
        Traffic { messages: self.totals.messages, bytes: self.totals.bytes }
    }
}

struct Counter<'p> {
    program: &'p Program,
    spent: Spent,
    /// What each collective moves, once it has been met.
    trips: Vec<Option<Trip>>,
    holding: Holding,
    /// Per place along the pipeline.
    cells: Vec<CellTotals>,
    /// Operations of one processor of each place, less those that others do, too.
    needed: f64,
    tally: Tally,
}

/// What a collective moves each time.
#[derive(Debug, Clone, Copy)]
struct Trip {
    /// Where it stands in `moved`.
    place: usize,
    traffic: Traffic,
    sent_by_processor: f64,
    /// The place along the pipeline that sends it.
    sender: usize,
}

impl Counter<'_> {
    /// A collective that is met for the first time.
    fn trip(&mut self, index: usize, step: &Step, collective: &Collective) -> Trip {
        let mesh = &self.program.mesh;
        let n = mesh.group_size(&collective.axes);
        let here = mesh.processors() / self.program.ranks() as u64;
        let hop =
            if let CollectiveKind::Hop { from, .. } = collective.kind { Some(from) } else { None };
        // A hop is from one processor to one.
        let (n, groups) = if hop.is_some() { (1, here) } else { (n, here / n) };
        let elements = step.inputs.iter().map(|&v| self.program.slice_elements(v));
        let sent: u64 = elements.clone().map(|e| collective.sent_by_group(n, e)).sum();
        let sent = sent * self.program.dtype.bytes();
        let traffic =
            Traffic { messages: collective.messages_of_group(n) * groups, bytes: sent * groups };
        let place = self.tally.moved.len();
        let slice_bytes = elements.sum::<u64>() * self.program.dtype.bytes();
        self.tally.moved.push(Moved { step: index, slice_bytes, ..Moved::default() });
        let sender = self.program.rank(hop.unwrap_or_else(|| self.program.stage(step)));
        Trip { place, traffic, sent_by_processor: sent as f64 / n as f64, sender }
    }

    fn hold(&mut self, step: &Step) {
        if let Some(place) = self.holding.add(step) {
            let peak = &mut self.cells[place].peak;
            *peak = (*peak).max(self.holding.bytes()[place]);
        }
    }
}

impl MeshImpl for Counter<'_> {
    type Error = Infallible;

    fn compute(&mut self, index: usize, step: &Step) -> Result<(), Infallible> {
        let flops = self.spent.flops[index];
        self.cells[self.spent.place[index]].flops += flops;
        self.needed += flops / self.spent.copies[index] as f64;
        self.hold(step);
        Ok(())
    }

    fn collective(
        &mut self,
        index: usize,
        step: &Step,
        collective: &Collective,
    ) -> Result<(), Infallible> {
        let trip = match self.trips[index] {
            Some(trip) => trip,
            None => self.trip(index, step, collective),
        };
        self.trips[index] = Some(trip);
        let Trip { place, traffic, sent_by_processor, sender } = trip;
        let moved = &mut self.tally.moved[place];
        moved.times += 1;
        moved.sent_bytes_per_processor += sent_by_processor;
        moved.traffic.messages += traffic.messages;
        moved.traffic.bytes += traffic.bytes;
        self.cells[sender].sent += sent_by_processor;
        self.tally.totals.messages += traffic.messages;
        self.tally.totals.bytes += traffic.bytes;
        self.hold(step);
        Ok(())
    }

    fn free(&mut self, _index: usize, value: ValueId) -> Result<(), Infallible> {
        self.holding.free(value);
        Ok(())
    }
}
