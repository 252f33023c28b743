//! The executor of one machine: the hosts that own the processors of the mesh between them.
//!
//! Where there is no pipeline a single host walks the Program for all, on the caller's thread. The
//! cells of a pipeline walk by themselves, each on a thread of its own (several on one where there
//! are fewer threads), and hand each other letters by the post:
//!
//! ```text
//! caller    errands ─────────────────────────▶ ◀───────────────── hosts come home
//! host 0    [0F0][0F1]               [0B1][0B0]   cell 0
//! host 1         [1F0][1F1][1B1][1B0]             cell 1
//! ```
//!
//! The caller looks after them meanwhile: when one dies, or nobody moves for long, the post closes
//! and the run is over, with the reason kept as its [`Fault`]. In the browser, which gives no
//! threads, the caller walks for all cells in turns and nobody looks after it.

use super::clock::{Clock, timeline};
use super::crew::{Crew, Home, Stop, Trouble, guarded};
use super::fault::{Fault, Kind, Spot};
use super::host::common::Common;
use super::host::{Errand, Host, Traffic};
use super::number::Number;
use super::pool::Pool;
use super::post::{At, Closed};
use crate::graph::op::Phase;
use crate::index::{Idx as _, Pnum, Rank, ValueId};
use crate::layout::dims::Name;
use crate::spmd::bodies::tasks;
use crate::spmd::program::{BodyKind, Program};
use crate::timeline::Timeline;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// How long nobody moves until a run is given up, if nothing else is said.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// All hosts of a Program.
#[derive(Debug)]
pub struct Machine<T, P> {
    common: Arc<Common<T>>,
    hosts: Vec<Home<T, P>>,
    /// Their threads, if they have some of their own.
    crew: Option<Crew<T, P>>,
    patience: Duration,
    clock: Option<Clock>,
    timeline: Option<Timeline>,
    /// Seconds of work for each step of the Program in all training steps, and how many these are.
    worked: (Vec<f64>, u32),
    fault: Option<Fault>,
}

impl<T: Number, P: Pool> Machine<T, P> {
    /// The hosts of a Program; its sources hold nothing yet.
    pub fn new(program: Arc<Program>, pool: P) -> Self {
        let ranks = program.ranks();
        let pools = pool.divide(ranks);
        let count = pools.len();
        let common = Arc::new(Common::new(program, count));
        let is_pipeline = common.program().cells.is_some();
        let mut crew = is_pipeline.then(|| Crew::new(Arc::clone(&common)));
        let (mut hosts, mut fault) = (Vec::new(), None);
        for (number, pool) in pools.into_iter().enumerate() {
            let places = share(ranks, count, number);
            let cell = Rank::new(places.start);
            let name = format!("cell {}", places.start);
            match crew.as_mut().map(|crew| crew.enlist(&pool, name)) {
                Some(Err(e)) if count > 1 => {
                    let kind = Kind::NoThread(e.to_string());
                    fault = Some(Fault { cell, step: Some(0), spot: Spot::Start, kind });
                }
                Some(Err(_)) => crew = None,
                Some(Ok(())) | None => {}
            }
            let host = Host::new(Arc::clone(&common), number, places, pool);
            hosts.push(Some(Box::new(host)));
        }
        let worked = (vec![0.0; common.program().steps.len()], 0);
        let (patience, clock, timeline) = (PATIENCE, None, None);
        Self { common, hosts, crew, patience, clock, timeline, worked, fault }
    }

    /// Measures training steps by a clock.
    pub fn set_clock(&mut self, clock: Clock) {
        self.clock = Some(clock);
    }

    /// How long nobody may move until the run is given up.
    pub const fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// The Program it runs.
    pub fn program(&self) -> &Arc<Program> {
        self.common.program()
    }

    /// Why nothing more can be run.
    pub const fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    /// Who did what when in the last training step, in seconds; nothing without a clock or a
    /// pipeline.
    pub const fn timeline(&self) -> Option<&Timeline> {
        self.timeline.as_ref()
    }

    /// Seconds of work for each step of the Program, all hosts together, in an average training
    /// step: the clock may be too coarse for a single one. Zeros without a clock.
    pub fn worked(&self) -> Vec<f64> {
        let (seconds, count) = &self.worked;
        seconds.iter().map(|seconds| seconds / f64::from(*count).max(1.0)).collect()
    }

    fn note_work(&mut self) {
        let (sums, count) = &mut self.worked;
        *count += 1;
        for host in self.hosts.iter().flatten() {
            sums.iter_mut().zip(host.worked()).for_each(|(sum, seconds)| *sum += seconds);
        }
    }

    fn home(&self) -> impl Iterator<Item = &Host<T, P>> {
        self.hosts.iter().flatten().map(|host| &**host)
    }

    /// The host of a value.
    fn owner(&self, value: ValueId) -> Option<&Host<T, P>> {
        let rank = self.program().rank(self.program().values[value].stage);
        self.home().find(|host| host.places().contains(&rank))
    }

    /// What was sent so far.
    pub fn counted(&self) -> Traffic {
        self.home().map(Host::counted).fold(Traffic::default(), Traffic::and)
    }

    /// The most bytes one processor held at once.
    pub fn peak_bytes(&self) -> u64 {
        self.home().map(Host::peak_bytes).max().unwrap_or(0)
    }

    /// Training steps begun so far.
    pub fn step_number(&self) -> u64 {
        self.home().map(Host::step_number).max().unwrap_or(0)
    }

    /// Fills a source from a function of the row-major index into the whole tensor.
    pub fn set(&mut self, source: ValueId, at: impl Fn(u64) -> f64) {
        let rank = self.program().rank(self.program().values[source].stage);
        let mut hosts = self.hosts.iter_mut().flatten();
        if let Some(host) = hosts.find(|host| host.places().contains(&rank)) {
            host.set(source, at);
        }
    }

    /// The whole tensor that a value holds, row-major; partial values are combined.
    pub fn whole(&self, value: ValueId) -> Option<Vec<f64>> {
        let program = self.program();
        let mut out = vec![None; program.whole_shape(value).elements() as usize];
        let each: Vec<(ValueId, u64)> = program.each(value).collect();
        // Of what has no rows, the last micro-batch's stays.
        let first = if program.has_rows(value) { 0 } else { each.len().checked_sub(1)? };
        for &(value, micro) in &each[first..] {
            self.owner(value)?.put((value, micro), &mut out)?;
        }
        out.into_iter().collect()
    }

    /// A processor's slice of a value.
    pub fn slice(&self, value: ValueId, pnum: Pnum) -> Option<&[T]> {
        self.owner(value)?.slice(value, pnum)
    }

    /// Runs one training step (or its first phases) and returns the loss; nothing after a fault.
    pub fn step(&mut self, last: Phase) -> Option<f64> {
        self.run(last, true)?;
        if self.clock.is_some() {
            let marks = self.home().flat_map(Host::marks);
            self.timeline = timeline(self.program(), marks);
            self.note_work();
        }
        self.loss()
    }

    /// Runs the forward pass without counting it as a step or as traffic of training.
    pub fn look(&mut self) -> Option<f64> {
        self.run(Phase::Forward, false)?;
        self.loss()
    }

    fn loss(&self) -> Option<f64> {
        let loss = self.program().loss?;
        self.owner(loss)?.first(loss)
    }

    fn run(&mut self, last: Phase, trains: bool) -> Option<()> {
        if self.fault.is_some() {
            return None;
        }
        let step = trains.then(|| self.step_number());
        let is_pipeline = self.program().cells.is_some();
        let clock = self.clock.clone().filter(|_| is_pipeline);
        let clock = clock.map(|clock| {
            let zero = clock.now();
            (clock, zero)
        });
        let errand = Errand { last, trains, clock };
        let outcome = match (&self.crew, &mut self.hosts[..]) {
            (Some(crew), hosts) => crew.carry(hosts, &errand, self.patience),
            (None, [Some(host)]) if is_pipeline => match guarded(host, errand) {
                Err(Stop::Died(message)) => Err(Trouble::Died(0, message)),
                Ok(()) | Err(Stop::Closed) => Ok(()),
            },
            (None, hosts) => {
                // Nobody closes the post of one host.
                hosts.iter_mut().flatten().for_each(|host| {
                    let (Ok(()) | Err(Closed)) = host.walk(errand.clone());
                });
                Ok(())
            }
        };
        let (host, kind) = match outcome {
            Ok(()) => return Some(()),
            Err(Trouble::Died(host, message)) => (host, Kind::Died(message)),
            Err(Trouble::Stillness) => self.stillness(),
        };
        let (cell, spot) = self.place(host);
        self.fault = Some(Fault { cell, step, spot, kind });
        // Whoever waits, or comes to wait, goes home.
        self.common.post().close();
        None
    }

    /// Nobody moves: a host that waits for one that does not wait itself, or one that does not move
    /// where none waits.
    fn stillness(&self) -> (usize, Kind) {
        let (post, limit) = (self.common.post(), self.patience);
        let away = || (0..self.hosts.len()).filter(|&host| self.hosts[host].is_none());
        for host in away() {
            let Some(wait) = post.wait_of(host) else { continue };
            let rank = self.program().rank(wait.from);
            let other = away().find(|&other| self.places(other).contains(&rank));
            if let Some(other) = other.filter(|&other| post.wait_of(other).is_none()) {
                let value = Name::clone(&self.program().values[wait.value].name);
                let which = self.place(other).1;
                return (host, Kind::Waited { limit, value, from: Rank::new(rank), which });
            }
        }
        (away().next().unwrap_or(0), Kind::Stuck { limit })
    }

    /// The places along the pipeline of a host that may be away.
    fn places(&self, host: usize) -> Range<usize> {
        share(self.program().ranks(), self.hosts.len(), host)
    }

    /// The cell for which a host is at work, and where that is.
    fn place(&self, host: usize) -> (Rank, Spot) {
        let program = self.program();
        let Some(At { entry, step }) = self.common.post().place(host) else {
            return (Rank::new(self.places(host).start), Spot::Start);
        };
        let step = &program.steps[step as usize];
        let tasks = program.cells.as_ref().map(tasks).unwrap_or_default();
        let spot = match tasks.get(entry as usize).copied().flatten() {
            Some(task) => Spot::Task(task),
            None if program.bodies[step.body].kind == BodyKind::Begin => Spot::Begin,
            None => Spot::End,
        };
        (Rank::new(program.rank(program.stage(step))), spot)
    }
}

/// The places of a host: as many as the others, or one more.
fn share(ranks: usize, hosts: usize, host: usize) -> Range<usize> {
    let start = |host: usize| host * ranks / hosts.max(1);
    start(host)..start(host + 1)
}
