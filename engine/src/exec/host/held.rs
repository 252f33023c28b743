//! Bytes held, as the Program says.
//!
//! A message is held by the processors it is meant for from when it is sent. Cells on threads of
//! their own are ahead of each other now by more, now by less, and that must not be seen in what is
//! counted: it is known beforehand at which step of the order something arrives for a place, and the
//! place counts it when it comes by there.

use crate::exec::post::At;
use crate::graph::op::Phase;
use crate::spmd::program::{Entry, Program, Step, Work};
use crate::spmd::run::{MeshImpl, run};
use std::convert::Infallible;

/// Something that is sent to a place along the pipeline.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    at: At,
    bytes: u64,
    phase: Phase,
}

/// For each place all that is sent to it in a step, in order.
#[derive(Debug)]
pub(super) struct Arrivals(Vec<Vec<Arrival>>);

impl Arrivals {
    /// Those of a Program.
    pub(super) fn of(program: &Program) -> Self {
        let of = vec![Vec::new(); program.ranks()];
        let mut reader = Reader { program, entry: 0, of };
        let Ok(()) = run(program, Phase::Update, &mut reader);
        Self(reader.of)
    }
}

struct Reader<'p> {
    program: &'p Program,
    entry: usize,
    of: Vec<Vec<Arrival>>,
}

impl MeshImpl for Reader<'_> {
    type Error = Infallible;

    fn enter(&mut self, index: usize, _entry: Entry) -> Result<(), Infallible> {
        self.entry = index;
        Ok(())
    }

    fn compute(&mut self, index: usize, step: &Step) -> Result<(), Infallible> {
        if let (Work::Send, Some(output)) = (&step.work, step.output()) {
            let at = At { entry: self.entry as u32, step: index as u32 };
            let bytes = self.program.slice_bytes(output);
            let rank = self.program.rank(self.program.values[output].stage);
            self.of[rank].push(Arrival { at, bytes, phase: step.phase });
        }
        Ok(())
    }
}

/// Bytes of one processor at each place along the pipeline.
#[derive(Debug)]
pub(super) struct Held {
    places: Vec<Place>,
    /// The phase after which nothing arrives.
    last: Phase,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    now: u64,
    most: u64,
    /// How many arrivals have been counted.
    arrived: usize,
}

impl Held {
    /// Of a Program whose sources are held.
    pub(super) fn new(program: &Program) -> Self {
        let place = |now| Place { now, most: now, arrived: 0 };
        let places = program.source_bytes().into_iter().map(place).collect();
        Self { places, last: Phase::Update }
    }

    /// A step begins.
    pub(super) fn begin(&mut self, program: &Program, last: Phase) {
        self.last = last;
        for (place, bytes) in self.places.iter_mut().zip(program.source_bytes()) {
            (place.now, place.arrived) = (bytes, 0);
        }
    }

    /// A place holds so many bytes more.
    pub(super) fn more(&mut self, arrivals: &Arrivals, rank: usize, at: At, bytes: u64) {
        self.arrive(arrivals, rank, at);
        self.places[rank].hold(bytes);
    }

    /// A place holds so many bytes less.
    pub(super) fn less(&mut self, arrivals: &Arrivals, rank: usize, at: At, bytes: u64) {
        self.arrive(arrivals, rank, at);
        self.places[rank].now -= bytes;
    }

    fn arrive(&mut self, arrivals: &Arrivals, rank: usize, at: At) {
        let place = &mut self.places[rank];
        while let Some(next) = arrivals.0[rank].get(place.arrived).filter(|next| next.at < at) {
            place.arrived += 1;
            if next.phase <= self.last {
                place.hold(next.bytes);
            }
        }
    }

    /// The most bytes that a processor of any place held at once.
    pub(super) fn most(&self) -> u64 {
        self.places.iter().map(|place| place.most).max().unwrap_or(0)
    }
}

impl Place {
    fn hold(&mut self, bytes: u64) {
        self.now += bytes;
        self.most = self.most.max(self.now);
    }
}
