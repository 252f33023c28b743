//! A study being trained, step by step.

use crate::cost::tally::Tally;
use crate::data::Data;
use crate::data::feed::Feed;
use crate::data::fits::{self, wiring};
use crate::data::score::{Score, Validation, Where};
use crate::data::wiring::Wiring;
use crate::diag::{Code, Diagnostic, Span};
use crate::exec::clock::Clock;
use crate::exec::fault::Fault;
use crate::exec::host::Traffic;
use crate::exec::machine::Machine;
use crate::exec::pool::Pool;
use crate::graph::init::Values;
use crate::graph::op::{Dtype, Op, Phase, Role};
use crate::index::{NodeId, ValueId};
use crate::layout::dims::{Name, Shape};
use crate::spmd::program::Program;
use crate::staging::flops::times_of_layers;
use crate::study::Study;
use crate::timeline::Timeline;
use std::sync::Arc;
use std::time::Duration;

/// One study on its mesh, with its parameters as they are now.
#[derive(Debug)]
pub struct Session<P> {
    study: Study,
    engine: Engine<P>,
    /// Where its inputs and outputs are, if data can go to them.
    wiring: Option<Wiring>,
    feed: Option<Feed>,
    per_step: Traffic,
    /// The most bytes one processor is to hold at once in a step.
    peak: u64,
    steps: u64,
}

#[derive(Debug)]
enum Engine<P> {
    F32(Machine<f32, P>),
    F64(Machine<f64, P>),
}

macro_rules! with_host {
    ($engine:expr, $host:ident => $body:expr) => {
        match $engine {
            Engine::F32($host) => $body,
            Engine::F64($host) => $body,
        }
    };
}

/// What one step gave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepReport {
    /// The number of the step, from 0.
    pub step: u64,
    /// The loss of its forward pass, before its update.
    pub loss: Option<f64>,
}

/// A whole tensor.
#[derive(Debug, Clone, PartialEq)]
pub struct Whole {
    /// Its dimensions.
    pub shape: Shape,
    /// Its elements, row-major.
    pub values: Vec<f64>,
}

impl<P: Pool> Session<P> {
    /// A session at step 0; `Err` with the study's errors, or why its data does not fit.
    pub fn new(study: &Study, data: Option<&Data>, pool: P) -> Result<Self, Vec<Diagnostic>> {
        Self::keeping(study, data, pool, &[])
    }

    /// The same, in which these tensors can be looked at after each step.
    pub fn keeping(
        study: &Study,
        data: Option<&Data>,
        pool: P,
        names: &[String],
    ) -> Result<Self, Vec<Diagnostic>> {
        let feed = Feed::new(study.graph(), study.train(), data, &study.data_places());
        let feed = feed.map_err(|d| vec![study.fitted(d)])?;
        let wiring = feed.as_ref().map(|f| f.wiring().clone());
        Self::wired(study, wiring, feed, pool, names)
    }

    /// A session without data whose outputs can be looked at for inputs of one's own.
    pub fn asking(study: &Study, pool: P) -> Result<Self, Vec<Diagnostic>> {
        let wiring = Wiring::new(study.graph(), &study.data_places());
        let wiring = wiring.map_err(|d| vec![study.fitted(d)])?;
        Self::wired(study, Some(wiring), None, pool, &[])
    }

    fn wired(
        study: &Study,
        wiring: Option<Wiring>,
        feed: Option<Feed>,
        pool: P,
        names: &[String],
    ) -> Result<Self, Vec<Diagnostic>> {
        let keep = kept(study, wiring.as_ref(), names);
        let Some(program) = study.program_keeping(&keep) else {
            return Err(study.diagnostics().to_vec());
        };
        if is_too_large(&program) {
            return Err(vec![Diagnostic::error(
                Code::TooLarge,
                Span::default(),
                "A slice has more than 2^32 elements: this study can be planned, not run",
            )]);
        }
        let whole = study.tally().filter(|_| keep.is_empty()).map(|tally| tally.totals);
        let totals = whole.unwrap_or_else(|| Tally::of(&program).totals);
        let peak = totals.peak_bytes_per_processor;
        let program = Arc::new(program);
        let engine = match program.dtype {
            Dtype::F32 => Engine::F32(Machine::new(program, pool)),
            Dtype::F64 => Engine::F64(Machine::new(program, pool)),
        };
        let per_step = study.tally().map(Tally::traffic).unwrap_or_default();
        let (study, steps) = (study.clone(), 0);
        let mut session = Self { study, engine, wiring, feed, per_step, peak, steps };
        session.initialise();
        Ok(session)
    }

    /// Gives every source its initial value.
    fn initialise(&mut self) {
        let graph = self.study.graph();
        let seed = self.study.train().seed;
        with_host!(&mut self.engine, host => {
            let program = Arc::clone(host.program());
            for &source in &program.sources {
                let node = graph.node(program.values[source].node);
                if let Op::Source(init) = &node.op {
                    let values = Values::new(init, seed, &node.name);
                    host.set(source, |index| values.at(index));
                }
            }
        });
    }

    /// The study it runs.
    pub const fn study(&self) -> &Study {
        &self.study
    }

    /// Where its inputs and outputs are, if data can go to them.
    pub const fn wiring(&self) -> Option<&Wiring> {
        self.wiring.as_ref()
    }

    /// How it is fed.
    pub const fn feed(&self) -> Option<&Feed> {
        self.feed.as_ref()
    }

    /// Has its steps measured by a clock, for a timeline.
    #[must_use]
    pub fn timed(mut self, clock: &Clock) -> Self {
        with_host!(&mut self.engine, host => host.set_clock(clock.clone()));
        self
    }

    /// Gives a pipeline up when none of its cells has moved for so long.
    #[must_use]
    pub fn patient(mut self, patience: Duration) -> Self {
        with_host!(&mut self.engine, host => host.set_patience(patience));
        self
    }

    /// Who did what when in the last training step, in seconds; nothing without a clock or a
    /// pipeline.
    pub fn timeline(&self) -> Option<&Timeline> {
        with_host!(&self.engine, host => host.timeline())
    }

    /// Seconds that a micro-batch took in each layer, forward and backward, on average over all
    /// training steps, for the option `costs` of `pipeline`; nothing without a clock or a pipeline.
    pub fn layer_costs(&self) -> Option<Vec<f64>> {
        self.timeline()?;
        let graph = self.study.graph();
        Some(with_host!(&self.engine, host => {
            times_of_layers(graph, host.program(), &host.worked())
        }))
    }

    /// Why no further step can be taken, if a cell of the pipeline has died or hangs. From then on
    /// steps and looks do nothing and give nothing.
    pub fn fault(&self) -> Option<&Fault> {
        with_host!(&self.engine, host => host.fault())
    }

    /// Runs one training step, or one forward pass where the study does not train. Whoever steps a
    /// pipeline on several threads asks for its [`Self::fault`] afterwards.
    pub fn step(&mut self) -> StepReport {
        let step = self.steps;
        if let Some(feed) = &self.feed {
            let inputs = feed.inputs(&feed.batch(step));
            self.set_inputs(&inputs);
        }
        let loss = with_host!(&mut self.engine, host => host.step(Phase::Update));
        self.steps += u64::from(self.fault().is_none());
        StepReport { step, loss }
    }

    /// Steps done.
    pub const fn steps_done(&self) -> u64 {
        self.steps
    }

    /// Messages and bytes so far, counted while running.
    pub fn counted(&self) -> Traffic {
        with_host!(&self.engine, host => host.counted())
    }

    /// The same as predicted from the layouts.
    pub const fn predicted(&self) -> Traffic {
        self.per_step.times(self.steps)
    }

    /// The most bytes one processor held at once, counted while running.
    pub fn peak_bytes(&self) -> u64 {
        with_host!(&self.engine, host => host.peak_bytes())
    }

    /// The same as predicted from the layouts, of one step or more.
    pub const fn predicted_peak_bytes(&self) -> u64 {
        self.peak
    }

    /// A whole tensor as it is after the last step; nothing if its name is unknown or it was
    /// neither kept nor is a source.
    pub fn value(&self, name: &str) -> Option<Whole> {
        let graph = self.study.graph();
        let id = graph.find(name)?;
        if let Op::Constant(c) = graph.node(id).op {
            return Some(Whole { shape: Shape::scalar(), values: vec![c] });
        }
        with_host!(&self.engine, host => {
            let value = host.program().of_node[id]?;
            Some(Whole { shape: host.program().whole_shape(value), values: host.whole(value)? })
        })
    }

    /// Names of the parameters.
    pub fn parameters(&self) -> Vec<Name> {
        let nodes = self.study.graph().nodes().iter();
        nodes.filter(|n| n.role == Role::Parameter).map(|n| Name::clone(&n.name)).collect()
    }

    /// Gives a parameter the numbers of a whole tensor; false where it has none of this name and
    /// size.
    pub fn set_parameter(&mut self, name: &str, values: &[f64]) -> bool {
        let graph = self.study.graph();
        let found = graph.find(name).filter(|&id| graph.node(id).role == Role::Parameter);
        let Some(id) = found.filter(|&id| graph.shape(id).elements() == values.len() as u64) else {
            return false;
        };
        self.set_inputs(&[(id, values)]);
        true
    }

    /// Gives sources the numbers of whole tensors.
    fn set_inputs(&mut self, inputs: &[(NodeId, impl AsRef<[f64]>)]) {
        with_host!(&mut self.engine, host => {
            for (node, numbers) in inputs {
                let numbers = numbers.as_ref();
                let program = Arc::clone(host.program());
                for &source in program.sources.iter().filter(|&&s| program.values[s].node == *node) {
                    host.set(source, |index| numbers[index as usize]);
                }
            }
        });
    }

    /// Runs the forward pass on inputs of one's own, in the order of their elements, and returns
    /// the outputs that the loss compares, row by row, the last dimension that of the classes.
    pub fn outputs(&mut self, inputs: &[(NodeId, Vec<f64>)]) -> Option<Vec<f64>> {
        self.set_inputs(inputs);
        with_host!(&mut self.engine, host => host.look());
        let wiring = self.wiring.as_ref()?;
        let (shape, numbers) = self.whole(wiring.prediction?)?;
        Some(Where::new(wiring, &shape).row_by_row(&numbers))
    }

    /// A kept tensor as it is now.
    fn whole(&self, node: NodeId) -> Option<(Shape, Vec<f64>)> {
        let numbers = with_host!(&self.engine, host => {
            let value: ValueId = host.program().of_node[node]?;
            host.whole(value)?
        });
        Some((self.study.graph().whole_shape(node), numbers))
    }

    /// Looks at what is held out; nothing for a study without a table or text.
    pub fn validate(&mut self) -> Option<Validation> {
        let batches = self.feed.as_ref()?.held_out();
        let mut loss = 0.0;
        let mut total = Some(Score::default());
        for batch in &batches {
            let inputs = self.feed.as_ref()?.inputs(batch);
            self.set_inputs(&inputs);
            loss += with_host!(&mut self.engine, host => host.look())?;
            let feed = self.feed.as_ref()?;
            let score = feed.wiring().prediction.and_then(|p| {
                let (shape, output) = self.whole(p)?;
                let weights = feed.wiring().weights.and_then(|w| self.whole(w));
                let weights = weights.as_ref().map(|(shape, numbers)| (shape, &**numbers));
                Some(feed.score(batch, (&shape, &output), weights))
            });
            total = total.zip(score).map(|(a, b)| a.and(b));
        }
        let mean = loss / batches.len() as f64;
        (!batches.is_empty()).then_some(())?;
        Some(self.feed.as_ref()?.validation(mean, total))
    }
}

/// The tensors that must be there after a step: those asked for, and what outputs are judged by.
fn kept(study: &Study, wiring: Option<&Wiring>, names: &[String]) -> Vec<NodeId> {
    let asked = names.iter().filter_map(|n| study.graph().find(n));
    let judged = wiring.into_iter().flat_map(|w| [w.prediction, w.weights]).flatten();
    asked.chain(judged).collect()
}

fn is_too_large(program: &Program) -> bool {
    program.sources.iter().any(|&s| program.slice_elements(s) > u64::from(u32::MAX))
}

/// Bytes that a session of a study which keeps these tensors holds at its worst moment, all
/// processors and its data together; or why the data does not fit.
pub fn bytes_needed(
    study: &Study,
    data: Option<&Data>,
    names: &[String],
) -> Result<u64, Diagnostic> {
    let graph = study.graph();
    let wiring = wiring(graph, study.train(), data, &study.data_places());
    let wiring = wiring.map_err(|d| study.fitted(d))?;
    // What text is judged by is put together once more in another order.
    let times = 1 + u64::from(matches!(data, Some(Data::Text(_))));
    let held = bytes_kept(study, &kept(study, wiring.as_ref(), names), times);
    let fed = wiring.map_or(0, |w| fits::bytes(&w, data));
    Ok(held.saturating_add(fed))
}

/// Bytes that a session holds at its worst moment which is asked for outputs.
pub fn bytes_to_ask(study: &Study) -> Result<u64, Diagnostic> {
    let wiring = Wiring::new(study.graph(), &study.data_places()).map_err(|d| study.fitted(d))?;
    Ok(bytes_kept(study, &kept(study, Some(&wiring), &[]), 2))
}

/// Bytes that all processors hold together, and those of what is looked at: put together so many
/// times, in numbers of 8 bytes, one tensor at a time.
fn bytes_kept(study: &Study, keep: &[NodeId], times: u64) -> u64 {
    let peak = study.program_keeping(keep).map_or(0, |program| {
        let one = Tally::of(&program).totals.peak_bytes_per_processor;
        one.saturating_mul(study.mesh().processors())
    });
    let wholes = keep.iter().map(|&id| study.graph().whole_shape(id).elements());
    peak.saturating_add(wholes.max().unwrap_or(0).saturating_mul(8 * times))
}

/// The largest absolute difference of a parameter between two sessions of the same study.
pub fn max_difference<P: Pool, Q: Pool>(a: &Session<P>, b: &Session<Q>) -> f64 {
    let difference = |name: Name| -> f64 {
        match (a.value(&name), b.value(&name)) {
            (Some(x), Some(y)) => difference(&x.values, &y.values),
            _ => f64::NAN,
        }
    };
    a.parameters().into_iter().map(difference).fold(0.0, largest)
}

/// The largest absolute difference of two lists; not a number if any element is not.
pub fn difference(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y).abs()).fold(0.0, largest)
}

/// The larger of two differences; not a number if either is none, since nothing is proved then.
pub fn largest(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}
