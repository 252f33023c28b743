//! The loop that trains a study, for the command line and for the server's runs: the one place
//! that drives the engine's sessions and holds the clock.

use super::sample;
use crate::convert;
use crate::store::parameters::Parameters;
use meshwork_engine::data::Data;
use meshwork_engine::data::wiring::Wiring;
use meshwork_engine::decode::{Wish, bleu};
use meshwork_engine::diag::Diagnostic;
use meshwork_engine::exec::clock::Clock;
use meshwork_engine::exec::fault::{Fault, Kind};
use meshwork_engine::exec::pool::{Alone, Pool};
use meshwork_engine::exec::threads::Threads;
use meshwork_engine::session::{Session, difference, largest, max_difference};
use meshwork_engine::spec::ast::Stmt;
use meshwork_engine::spec::print;
use meshwork_engine::study::Study;
use meshwork_engine::timeline::Timeline;
use meshwork_wire::run::Event;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// How often a run looks at the part of the data held out.
const VALIDATIONS: u64 = 20;

/// What is to run.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// The study, without errors.
    pub study: &'a Study,
    /// Its data, if it is not made up.
    pub data: Option<&'a Data>,
    /// Steps to take.
    pub steps: u64,
    /// Threads that carry the processors.
    pub threads: usize,
    /// Whether the same is run on one processor too, to compare.
    pub check: bool,
    /// Tensors to say after the last step.
    pub print: &'a [String],
    /// What the trained model is to write: the prompt, and how.
    pub sample: Option<(&'a str, Wish)>,
    /// How long no cell of a pipeline may move until the run is given up.
    pub patience: Duration,
}

/// Who hears what a run says.
pub trait Listener {
    /// An event. `Break` when nobody listens any more: the run stops without a further word.
    fn say(&mut self, event: Event) -> ControlFlow<()>;

    /// A tensor that was to be said has no value, since no step was taken.
    fn has_no_value(&mut self, _name: &str) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// The model is trained, and these are its parameters; only for models of text.
    fn trained(&mut self, _parameters: impl FnOnce() -> Parameters) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// What the cells of a pipeline did in the last step, and what each layer took on average, in
    /// seconds; said just before the run is done.
    fn measured(
        &mut self,
        _study: &Study,
        _timeline: &Timeline,
        _layers: &[f64],
    ) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Whether the user wants the run to stop; asked between steps.
    fn is_cancelled(&self) -> bool {
        false
    }

    /// Whether the process is about to end; asked between steps.
    fn is_ending(&self) -> bool {
        false
    }
}

/// Steps of a run: those asked for, or those of the study; a study without `train` runs once.
pub fn steps(study: &Study, asked: Option<u64>) -> u64 {
    let trains = study.spec().items.iter().any(|item| matches!(item.stmt, Stmt::Train(_)));
    asked.unwrap_or(if trains { study.train().steps } else { 1 })
}

/// Why a job did not begin.
#[derive(Debug)]
pub enum NotRun {
    /// The study cannot be run.
    Study(Vec<Diagnostic>),
    /// The system gives no threads: not the study's fault.
    Threads(String),
}

impl From<Vec<Diagnostic>> for NotRun {
    fn from(list: Vec<Diagnostic>) -> Self {
        Self::Study(list)
    }
}

/// Runs a job to its end. Fails before the first step where it cannot be run.
pub fn train(job: &Job<'_>, listener: &mut impl Listener) -> Result<(), NotRun> {
    let pool = Threads::new(job.threads).map_err(|e| {
        NotRun::Threads(format!(
            "the system gives no {} threads ({e}); ask for fewer by --threads",
            job.threads
        ))
    })?;
    train_on(pool, job, listener)
}

/// The same on threads that are there already.
pub fn train_on(
    pool: impl Pool,
    job: &Job<'_>,
    listener: &mut impl Listener,
) -> Result<(), NotRun> {
    if job.sample.is_some() {
        sample::can_write(job.study).map_err(|d| NotRun::Study(vec![d]))?;
    }
    let begun = Instant::now();
    let clock = Clock::new(move || begun.elapsed().as_secs_f64());
    let session = Session::keeping(job.study, job.data, pool, job.print)?;
    let session = session.timed(&clock).patient(job.patience);
    let proof = if job.check {
        Some(Session::keeping(&job.study.alone(), job.data, Alone, job.print)?)
    } else {
        None
    };
    let mut run = Run {
        job,
        session,
        proof,
        loss_difference: 0.0,
        value_difference: 0.0,
        busy: Duration::ZERO,
    };
    // Break says that the run has ended early, after its last word.
    let (ControlFlow::Continue(()) | ControlFlow::Break(())) = run.go(listener);
    Ok(())
}

struct Run<'a, P: Pool> {
    job: &'a Job<'a>,
    session: Session<P>,
    proof: Option<Session<Alone>>,
    /// Largest difference of a loss from the proof so far, and of a value that is printed.
    loss_difference: f64,
    value_difference: f64,
    /// Time spent in steps of the session.
    busy: Duration,
}

impl<P: Pool> Run<'_, P> {
    fn go(&mut self, listener: &mut impl Listener) -> ControlFlow<()> {
        let every = self.job.steps.div_ceil(VALIDATIONS).max(1);
        let mut last_loss = None;
        for step in 0..self.job.steps {
            if listener.is_ending() {
                return ControlFlow::Break(());
            }
            if listener.is_cancelled() {
                return listener.say(Event::Cancelled { step });
            }
            let loss = self.step();
            self.goes_on(listener)?;
            if let Some(loss) = loss {
                if !loss.is_finite() {
                    let message = diverged(loss, step, self.job.study.train().rate);
                    return listener.say(Event::Diverged { step, message });
                }
                last_loss = Some(loss);
                listener.say(Event::Step { step, loss })?;
            }
            let done = step + 1;
            // A held-out loss that is no finite number cannot be said in JSON; if the network is
            // lost, its own loss says so next.
            if (done.is_multiple_of(every) || done == self.job.steps)
                && let Some(v) = self.session.validate().filter(|v| v.loss.is_finite())
            {
                let is_last = done == self.job.steps;
                let bleu = if is_last { bleu(&mut self.session) } else { None };
                self.goes_on(listener)?;
                listener.say(convert::validation(done, &v, bleu))?;
            }
            self.goes_on(listener)?;
        }
        for name in self.job.print {
            self.print(name, listener)?;
        }
        if self.session.wiring().is_some_and(Wiring::takes_text) {
            listener.trained(|| sample::parameters(&self.session, self.job.data))?;
        }
        if let Some((prompt, wish)) = &self.job.sample {
            let parameters = sample::parameters(&self.session, self.job.data);
            let written = sample::write(self.job.study, parameters, prompt, wish);
            listener.say(match written {
                Ok(text) => Event::Sample { prompt: (*prompt).to_owned(), text },
                Err(d) => return listener.say(Event::Failed { message: d.message }),
            })?;
        }
        if let Some((timeline, layers)) = self.measured() {
            listener.measured(self.job.study, timeline, &layers)?;
        }
        listener.say(self.done(last_loss))
    }

    /// Says why the run cannot go on, if a cell of its pipeline cannot.
    fn goes_on(&self, listener: &mut impl Listener) -> ControlFlow<()> {
        let Some(fault) = self.session.fault() else { return ControlFlow::Continue(()) };
        listener.say(Event::Failed { message: failed(fault) })?;
        ControlFlow::Break(())
    }

    fn step(&mut self) -> Option<f64> {
        let began = Instant::now();
        let report = self.session.step();
        self.busy += began.elapsed();
        if let Some(proof) = &mut self.proof {
            let other = proof.step();
            if let (Some(a), Some(b)) = (report.loss, other.loss) {
                self.loss_difference = largest(self.loss_difference, (a - b).abs());
            }
        }
        report.loss
    }

    fn print(&mut self, name: &str, listener: &mut impl Listener) -> ControlFlow<()> {
        let Some(value) = self.session.value(name) else { return listener.has_no_value(name) };
        if let Some(other) = self.proof.as_ref().and_then(|p| p.value(name)) {
            let apart = difference(&value.values, &other.values);
            self.value_difference = largest(self.value_difference, apart);
        }
        listener.say(convert::value(name, value))
    }

    /// What was measured of the last step, if it is one of a pipeline.
    fn measured(&self) -> Option<(&Timeline, Vec<f64>)> {
        self.session.timeline().zip(self.session.layer_costs())
    }

    fn done(&self, loss: Option<f64>) -> Event {
        let seconds = self.busy.as_secs_f64().max(1e-9);
        let in_parameters = self.proof.as_ref().map(|p| max_difference(&self.session, p));
        Event::Done {
            loss,
            steps_per_second: self.session.steps_done() as f64 / seconds,
            counted: convert::traffic(self.session.counted()),
            predicted: convert::traffic(self.session.predicted()),
            held: convert::held(&self.session),
            max_difference: in_parameters
                .map(|d| largest(largest(d, self.value_difference), self.loss_difference)),
            loss_difference: in_parameters.map(|_| self.loss_difference),
            timeline: self.measured().map(|(t, layers)| convert::timeline(t, layers)),
        }
    }
}

/// What went wrong in a cell, and what to do about it.
fn failed(fault: &Fault) -> String {
    let mend = match &fault.kind {
        Kind::Died(_) => "this is a bug in Meshwork; please report it with the study",
        Kind::Waited { .. } | Kind::Stuck { .. } => {
            "where its steps do take so long, wait longer by --patience SECONDS"
        }
        Kind::NoThread(_) => "ask for fewer by --threads",
    };
    format!("{fault}; {mend}")
}

fn diverged(loss: f64, step: u64, rate: f64) -> String {
    // Six digits: a tenth of 1e30 is no round number.
    let tenth = format!("{:.5e}", rate / 10.0).parse().unwrap_or(rate / 10.0);
    format!(
        "the loss is {loss} at step {step}, no finite number; a smaller learning rate usually \
         mends it: `rate:{}` instead of `rate:{}`",
        print::number(tenth),
        print::number(rate)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_proposed_as_they_are_written() {
        for (rate, proposed) in [
            (0.3, "`rate:0.03` instead of `rate:0.3`"),
            (1e6, "`rate:100000` instead of `rate:1000000`"),
            (1e30, "`rate:1e29` instead of `rate:1e30`"),
            (1e-6, "`rate:1e-7` instead of `rate:1e-6`"),
        ] {
            let message = diverged(f64::NAN, 3, rate);
            assert!(message.ends_with(proposed), "{message}");
        }
    }

    #[test]
    fn no_steps_are_no_steps() {
        for (text, taken) in
            [("model mlp\ntrain steps:0", 0), ("model mlp\ntrain", 100), ("model mlp", 1)]
        {
            assert_eq!(steps(&Study::new(text), None), taken, "{text}");
        }
    }
}
