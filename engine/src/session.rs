//! A study being trained, step by step.

use crate::cost::tally::Tally;
use crate::data::wiring::wiring;
use crate::data::{Batch, Feed, Table, Validation};
use crate::diag::{Code, Diagnostic, Span};
use crate::exec::host::{Host, Traffic};
use crate::exec::number::Number;
use crate::exec::pool::Pool;
use crate::graph::init::Values;
use crate::graph::op::{Dtype, Op, Phase, Role};
use crate::index::{NodeId, ValueId};
use crate::layout::dims::{Name, Shape};
use crate::study::Study;
use std::sync::Arc;

/// One study on its mesh, with its parameters as they are now.
#[derive(Debug)]
pub struct Session<P> {
    study: Study,
    engine: Engine<P>,
    feed: Option<Feed>,
    per_step: Traffic,
    steps: u64,
}

#[derive(Debug)]
enum Engine<P> {
    F32(Host<f32, P>),
    F64(Host<f64, P>),
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
    pub fn new(study: &Study, data: Option<&Table>, pool: P) -> Result<Self, Vec<Diagnostic>> {
        Self::keeping(study, data, pool, &[])
    }

    /// The same, in which these tensors can be looked at after each step.
    pub fn keeping(
        study: &Study,
        data: Option<&Table>,
        pool: P,
        names: &[String],
    ) -> Result<Self, Vec<Diagnostic>> {
        let graph = study.graph();
        let feed = Feed::new(graph, study.train(), data, &study.data_places());
        let feed = feed.map_err(|d| vec![study.fitted(d)])?;
        let prediction = feed.as_ref().and_then(|f| f.wiring.prediction);
        let keep: Vec<NodeId> =
            names.iter().filter_map(|n| graph.find(n)).chain(prediction).collect();
        let Some(program) = study.program_keeping(&keep) else {
            return Err(study.diagnostics().to_vec());
        };
        if program.sources.iter().any(|&s| program.slice_elements(s) > u64::from(u32::MAX)) {
            return Err(vec![Diagnostic::error(
                Code::TooLarge,
                Span::default(),
                "A slice has more than 2^32 elements: this study can be planned, not run",
            )]);
        }
        let program = Arc::new(program);
        let engine = match program.dtype {
            Dtype::F32 => Engine::F32(Host::new(program, pool)),
            Dtype::F64 => Engine::F64(Host::new(program, pool)),
        };
        let per_step = study.tally().map(Tally::traffic).unwrap_or_default();
        let mut session = Self { study: study.clone(), engine, feed, per_step, steps: 0 };
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

    /// Runs one training step, or one forward pass where the study does not train.
    pub fn step(&mut self) -> StepReport {
        let step = self.steps;
        if let Some(feed) = &self.feed {
            let batch = feed.batch(step);
            with_host!(&mut self.engine, host => set_batch(host, feed, &batch));
        }
        self.steps += 1;
        let loss = with_host!(&mut self.engine, host => host.step(Phase::Update));
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

    /// The most bytes one processor held at once.
    pub fn peak_bytes(&self) -> u64 {
        with_host!(&self.engine, host => host.peak_bytes())
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

    /// Looks at the rows held out; nothing for a study without a table.
    pub fn validate(&mut self) -> Option<Validation> {
        let feed = self.feed.as_ref()?;
        let batches = feed.held_out();
        if batches.is_empty() {
            return None;
        }
        let (mut loss, mut score) = (0.0, feed.wiring.prediction.map(|_| 0.0));
        for batch in &batches {
            let (l, s) = with_host!(&mut self.engine, host => {
                set_batch(host, feed, batch);
                let loss = host.look()?;
                let output = feed.wiring.prediction.and_then(|p| {
                    let value: ValueId = host.program().of_node[p]?;
                    Some(feed.score(&self.study.graph().whole_shape(p), &host.whole(value)?, batch))
                });
                (loss, output)
            });
            loss += l;
            score = score.zip(s).map(|(a, b)| a + b);
        }
        let rows = (batches.len() * feed.rows_per_batch()) as f64;
        let share = score.map(|s| s / rows);
        Some(Validation {
            loss: loss / batches.len() as f64,
            accuracy: share.filter(|_| feed.is_classes()),
            error: share.filter(|_| !feed.is_classes()).map(f64::sqrt),
        })
    }
}

/// Bytes that a session of a study which keeps these tensors holds at its worst moment, all
/// processors and its data together; or why the data does not fit.
pub fn bytes_needed(
    study: &Study,
    data: Option<&Table>,
    names: &[String],
) -> Result<u64, Diagnostic> {
    let graph = study.graph();
    let wiring = wiring(graph, study.train(), data, &study.data_places());
    let wiring = wiring.map_err(|d| study.fitted(d))?;
    let asked: Vec<NodeId> = names.iter().filter_map(|n| graph.find(n)).collect();
    let prediction = wiring.as_ref().and_then(|w| w.prediction);
    let keep: Vec<NodeId> = asked.iter().copied().chain(prediction).collect();
    let peak = study.program_keeping(&keep).map_or(0, |program| {
        let one = Tally::of(&program).totals.peak_bytes_per_processor;
        one.saturating_mul(study.mesh().processors())
    });
    // What is looked at is put together, in numbers of 8 bytes, one tensor at a time.
    let wholes = asked.into_iter().chain(prediction).map(|id| graph.whole_shape(id).elements());
    let whole = wholes.max().unwrap_or(0).saturating_mul(8);
    let fed = wiring.map_or(0, |w| w.bytes(data));
    Ok(peak.saturating_add(whole).saturating_add(fed))
}

fn set_batch<T: Number, P: Pool>(host: &mut Host<T, P>, feed: &Feed, batch: &Batch) {
    for (node, is_target) in [(feed.wiring.features, false), (feed.wiring.target, true)] {
        if let Some(source) = host.program().of_node[node] {
            host.set(source, |index| feed.at(batch, is_target, index));
        }
    }
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

fn largest(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}
