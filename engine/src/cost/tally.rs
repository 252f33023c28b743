//! The Tally walks the Program and adds up: flops, bytes and messages of every collective, bytes
//! held at each step. It is a [`MeshImpl`] that holds no numbers, so a study of any size costs the
//! same to tally.

use crate::exec::host::Traffic;
use crate::graph::op::Phase;
use crate::index::ValueId;
use crate::spmd::collective::Collective;
use crate::spmd::program::{Program, Step};
use crate::spmd::run::{MeshImpl, run};
use std::convert::Infallible;

/// Sums over one step, per processor unless said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Totals {
    /// Floating point operations.
    pub flops_per_processor: f64,
    /// Bytes sent, averaged over a group's members (ring formulas).
    pub sent_bytes_per_processor: f64,
    /// The most bytes held at once.
    pub peak_bytes_per_processor: u64,
    /// Messages of all processors together.
    pub messages: u64,
    /// Bytes of all processors together.
    pub bytes: u64,
}

/// What one collective step moves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moved {
    /// Index of the step in the Program.
    pub step: usize,
    /// Bytes of one processor's slices before it.
    pub slice_bytes: u64,
    /// Bytes one processor sends.
    pub sent_bytes_per_processor: f64,
    /// All processors together.
    pub traffic: Traffic,
}

/// All costs of one step.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tally {
    /// The sums.
    pub totals: Totals,
    /// Every collective in order of execution.
    pub moved: Vec<Moved>,
    /// Bytes one processor holds after each step of the Program.
    pub held_bytes: Vec<u64>,
}

impl Tally {
    /// The costs of a Program.
    pub fn of(program: &Program) -> Self {
        let held =
            program.sources.iter().map(|&s| program.slice_bytes(s)).fold(0, u64::saturating_add);
        let mut counter = Counter { program, held, flops: 0.0, tally: Self::default() };
        counter.tally.totals.peak_bytes_per_processor = held;
        let Ok(()) = run(program, Phase::Update, &mut counter);
        let mut tally = counter.tally;
        tally.totals.flops_per_processor = counter.flops;
        tally
    }

    /// Messages and bytes of one step, all processors together.
    pub const fn traffic(&self) -> Traffic {
        Traffic { messages: self.totals.messages, bytes: self.totals.bytes }
    }
}

struct Counter<'p> {
    program: &'p Program,
    held: u64,
    flops: f64,
    tally: Tally,
}

impl Counter<'_> {
    fn hold(&mut self, outputs: &[ValueId]) {
        for &output in outputs {
            self.held = self.held.saturating_add(self.program.slice_bytes(output));
        }
        let peak = &mut self.tally.totals.peak_bytes_per_processor;
        *peak = (*peak).max(self.held);
        self.tally.held_bytes.push(self.held);
    }
}

impl MeshImpl for Counter<'_> {
    type Error = Infallible;

    fn compute(&mut self, _index: usize, step: &Step) -> Result<(), Infallible> {
        self.flops += self.program.flops(step) as f64;
        self.hold(&step.outputs);
        Ok(())
    }

    fn collective(
        &mut self,
        index: usize,
        step: &Step,
        collective: &Collective,
    ) -> Result<(), Infallible> {
        let mesh = &self.program.mesh;
        let n = mesh.group_size(&collective.axes);
        let groups = mesh.processors() / n;
        let elements = step.inputs.iter().map(|&v| self.program.slice_elements(v));
        let sent: u64 = elements.clone().map(|e| collective.sent_by_group(n, e)).sum();
        let sent = sent * self.program.dtype.bytes();
        let traffic =
            Traffic { messages: collective.messages_of_group(n) * groups, bytes: sent * groups };
        let per_processor = sent as f64 / n as f64;
        self.tally.moved.push(Moved {
            step: index,
            slice_bytes: elements.sum::<u64>() * self.program.dtype.bytes(),
            sent_bytes_per_processor: per_processor,
            traffic,
        });
        self.tally.totals.sent_bytes_per_processor += per_processor;
        self.tally.totals.messages += traffic.messages;
        self.tally.totals.bytes += traffic.bytes;
        self.hold(&step.outputs);
        Ok(())
    }

    fn assign(&mut self, _target: ValueId, _new: ValueId) -> Result<(), Infallible> {
        self.hold(&[]);
        Ok(())
    }

    fn free(&mut self, value: ValueId) -> Result<(), Infallible> {
        self.held = self.held.saturating_sub(self.program.slice_bytes(value));
        self.hold(&[]);
        Ok(())
    }
}
