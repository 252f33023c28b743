//! The loop that trains a study, for the command line and for the server's runs: the one place
//! that drives the engine's sessions and holds the clock.

use crate::convert;
use meshwork_engine::data::Table;
use meshwork_engine::diag::{Code, Diagnostic, Span};
use meshwork_engine::exec::pool::{Alone, Pool};
use meshwork_engine::exec::threads::Threads;
use meshwork_engine::session::{Session, max_difference};
use meshwork_engine::study::Study;
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
    /// Its table, if it trains on one.
    pub table: Option<&'a Table>,
    /// Steps to take.
    pub steps: u64,
    /// Threads that carry the processors.
    pub threads: usize,
    /// Whether the same is run on one processor too, to compare.
    pub check: bool,
    /// Tensors to say after the last step.
    pub print: &'a [String],
}

/// Who hears what a run says.
pub trait Listener {
    /// An event. `Break` when nobody listens any more: the run stops without a further word.
    fn say(&mut self, event: Event) -> ControlFlow<()>;

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
    asked.unwrap_or(match study.train().steps {
        0 => 1,
        steps => steps,
    })
}

/// Runs a job to its end. Fails before the first step where the study cannot be run.
pub fn train(job: &Job<'_>, listener: &mut impl Listener) -> Result<(), Vec<Diagnostic>> {
    let pool = Threads::new(job.threads).map_err(|e| {
        let message = format!("the system gives no {} threads: {e}", job.threads);
        vec![Diagnostic::error(Code::TooLarge, Span::default(), message)]
    })?;
    let session = Session::keeping(job.study, job.table, pool, job.print)?;
    let proof = if job.check {
        Some(Session::keeping(&job.study.alone(), job.table, Alone, job.print)?)
    } else {
        None
    };
    let mut run = Run { job, session, proof, difference: 0.0, busy: Duration::ZERO };
    // Break says that the run has ended early, after its last word.
    let (ControlFlow::Continue(()) | ControlFlow::Break(())) = run.go(listener);
    Ok(())
}

struct Run<'a, P: Pool> {
    job: &'a Job<'a>,
    session: Session<P>,
    proof: Option<Session<Alone>>,
    /// Largest difference from the proof so far.
    difference: f64,
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
            if let Some(loss) = self.step() {
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
                listener.say(convert::validation(done, &v))?;
            }
        }
        for name in self.job.print {
            self.print(name, listener)?;
        }
        listener.say(self.done(last_loss))
    }

    fn step(&mut self) -> Option<f64> {
        let began = Instant::now();
        let report = self.session.step();
        self.busy += began.elapsed();
        if let Some(proof) = &mut self.proof {
            let other = proof.step();
            if let (Some(a), Some(b)) = (report.loss, other.loss) {
                self.differ(a, b);
            }
        }
        report.loss
    }

    fn print(&mut self, name: &str, listener: &mut impl Listener) -> ControlFlow<()> {
        let Some(value) = self.session.value(name) else { return ControlFlow::Continue(()) };
        if let Some(other) = self.proof.as_ref().and_then(|p| p.value(name)) {
            for (&a, &b) in value.values.iter().zip(&other.values) {
                self.differ(a, b);
            }
        }
        listener.say(convert::value(name, value))
    }

    /// Takes note of a difference; once one is no number, the largest is none either.
    fn differ(&mut self, a: f64, b: f64) {
        let difference = (a - b).abs();
        if difference.is_nan() || difference > self.difference {
            self.difference = difference;
        }
    }

    fn done(&self, loss: Option<f64>) -> Event {
        let seconds = self.busy.as_secs_f64().max(1e-9);
        let in_parameters = self.proof.as_ref().map(|p| max_difference(&self.session, p));
        Event::Done {
            loss,
            steps_per_second: self.session.steps_done() as f64 / seconds,
            counted: convert::traffic(self.session.counted()),
            predicted: convert::traffic(self.session.predicted()),
            max_difference: in_parameters.map(|d| {
                let is_number = !d.is_nan() && !self.difference.is_nan();
                if is_number { d.max(self.difference) } else { f64::NAN }
            }),
        }
    }
}

fn diverged(loss: f64, step: u64, rate: f64) -> String {
    format!(
        "the loss is {loss} at step {step}, no finite number; a smaller learning rate usually \
         mends it: `rate:{}` instead of `rate:{rate}`",
        rate / 10.0
    )
}
