//! The worker's side of *Run here*: trains a study in slices of time and tells the page how it
//! goes. The page ends a run by ending the worker.
//!
//! In: [`Order`]s. Out: arrays of [`Event`]s, the same as the server's. The study runs on its mesh
//! and, beside it, on one processor; the two are compared at the end. The run stays in the worker,
//! so that a model of text can be asked to write.

use meshwork_engine::data::Data;
use meshwork_engine::data::feed::Feed;
use meshwork_engine::data::score::Validation;
use meshwork_engine::data::table::{Table, Target};
use meshwork_engine::data::text::Text;
use meshwork_engine::data::vocabulary::Vocabulary;
use meshwork_engine::decode::{Author, Wish, bleu};
use meshwork_engine::exec::clock::Clock;
use meshwork_engine::exec::pool::Alone;
use meshwork_engine::session::{Session, largest, max_difference};
use meshwork_engine::study::Study;
use meshwork_engine::timeline;
use meshwork_wire::api::{self, DataSet, SampleRequest};
use meshwork_wire::run::{Event, Held, Interval, Timeline, Traffic};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast as _, JsValue};
use web_sys::{DedicatedWorkerGlobalScope, MessageEvent};

/// Work goes on this long before the worker reports and listens again, in milliseconds.
const SLICE_MS: f64 = 40.0;
/// The held-out part is looked at about this often in a run.
const VALIDATIONS: u64 = 20;

/// What the page asks for.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// To train a study; the first order.
    Train(Training),
    /// To write with what has been trained.
    Sample(SampleRequest),
}

/// What is to be trained.
#[derive(Debug, Serialize, Deserialize)]
pub struct Training {
    /// The study.
    pub text: String,
    /// Steps to take.
    pub steps: u64,
    /// The data its `train` line names, fetched by the page.
    pub data: Option<DataSet>,
    /// The merges of a text's vocabulary; none for bytes.
    pub merges: Vec<(u32, u32)>,
}

thread_local! {
    /// The run of this worker.
    static RUN: RefCell<Option<Rc<RefCell<Run>>>> = const { RefCell::new(None) };
}

/// A run going on.
struct Run {
    mesh: Session<Alone>,
    one: Session<Alone>,
    steps: u64,
    done: u64,
    loss: Option<f64>,
    loss_difference: f64,
    /// Milliseconds spent on the mesh's steps alone.
    busy: f64,
}

/// Listens to the page for as long as the worker lives.
pub fn listen() {
    let scope: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    let on_message = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
        let order = event.data().as_string().unwrap_or_default();
        match serde_json::from_str(&order) {
            Ok(Order::Train(training)) => begin(training),
            Ok(Order::Sample(request)) => post(&[sample(request)]),
            Err(e) => post(&[Event::Failed { message: format!("The order is unreadable: {e}") }]),
        }
    });
    scope.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
    on_message.forget();
}

fn begin(order: Training) {
    let study = Study::new(&order.text);
    let vocabulary = Vocabulary::new(order.merges).unwrap_or_default();
    let data = order.data.map(|data| engine_data(data, vocabulary));
    let clock = Clock::new(|| now() / 1000.0);
    let sessions = Session::new(&study, data.as_ref(), Alone).and_then(|mesh| {
        let one = Session::new(&study.alone(), data.as_ref(), Alone)?;
        Ok((mesh.timed(&clock), one))
    });
    match sessions {
        Ok((mesh, one)) => {
            let run = Run {
                mesh,
                one,
                steps: order.steps,
                done: 0,
                loss: None,
                loss_difference: 0.0,
                busy: 0.0,
            };
            let run = Rc::new(RefCell::new(run));
            RUN.set(Some(Rc::clone(&run)));
            go_on(run);
        }
        Err(diagnostics) => {
            let said: Vec<String> = diagnostics.into_iter().map(|d| d.message).collect();
            post(&[Event::Failed { message: said.join(" ") }]);
        }
    }
}

/// One slice of time, then the next after a breath.
fn go_on(run: Rc<RefCell<Run>>) {
    let (events, over) = run.borrow_mut().slice();
    post(&events);
    if over {
        return;
    }
    let next = Closure::once_into_js(move || go_on(run));
    let scope: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    if scope.set_timeout_with_callback(next.unchecked_ref()).is_err() {
        post(&[Event::Failed { message: "The browser gives the worker no more time.".to_owned() }]);
    }
}

impl Run {
    fn slice(&mut self) -> (Vec<Event>, bool) {
        let begun = js_sys::Date::now();
        let mut events = Vec::new();
        while self.done < self.steps {
            if let Some(last) = self.step(&mut events) {
                events.push(last);
                return (events, true);
            }
            if js_sys::Date::now() - begun > SLICE_MS {
                break;
            }
        }
        let over = self.done >= self.steps;
        if over {
            events.push(self.done());
        }
        (events, over)
    }

    /// One step on both; the event that ends the run, if it ends here.
    fn step(&mut self, events: &mut Vec<Event>) -> Option<Event> {
        let begun = now();
        let report = self.mesh.step();
        self.busy += now() - begun;
        let reference = self.one.step();
        if let (Some(a), Some(b)) = (report.loss, reference.loss) {
            self.loss_difference = largest(self.loss_difference, (a - b).abs());
        }
        if let Some(loss) = report.loss {
            self.loss = Some(loss);
            if !loss.is_finite() {
                return Some(Event::Diverged {
                    step: self.done,
                    message: "The loss is no longer a finite number. A smaller learning rate \
                              usually mends it."
                        .to_owned(),
                });
            }
            events.push(Event::Step { step: self.done, loss });
        }
        self.done += 1;
        let every = (self.steps / VALIDATIONS).max(1);
        if (self.done.is_multiple_of(every) || self.done == self.steps)
            && let Some(seen) = self.mesh.validate()
        {
            let Validation { loss, accuracy, error, perplexity, word_perplexity } = seen;
            let is_last = self.done == self.steps;
            events.push(Event::Validation {
                step: self.done,
                loss,
                accuracy,
                error,
                perplexity: perplexity.filter(|p| p.is_finite()),
                word_perplexity: word_perplexity.filter(|p| p.is_finite()),
                bleu: if is_last { bleu(&mut self.mesh) } else { None },
            });
        }
        None
    }

    fn done(&self) -> Event {
        let counted = self.mesh.counted();
        let predicted = self.mesh.predicted();
        let (most, predicted_most) = (self.mesh.peak_bytes(), self.mesh.predicted_peak_bytes());
        let held = Held { counted: most, predicted: predicted_most };
        Event::Done {
            loss: self.loss,
            steps_per_second: self.done as f64 / (self.busy / 1000.0).max(1e-6),
            counted: Traffic { messages: counted.messages, bytes: counted.bytes },
            predicted: Traffic { messages: predicted.messages, bytes: predicted.bytes },
            held: (self.done > 0).then_some(held),
            max_difference: Some(largest(
                max_difference(&self.mesh, &self.one),
                self.loss_difference,
            )),
            loss_difference: Some(self.loss_difference),
            timeline: self
                .mesh
                .timeline()
                .map(|t| timeline(t, self.mesh.layer_costs().unwrap_or_default())),
        }
    }
}

/// Who did what when in the last step, and what each layer took. The cells share the worker's one
/// thread, so they take turns.
fn timeline(measured: &timeline::Timeline, layers: Vec<f64>) -> Timeline {
    let interval = |i: &timeline::Interval| {
        let timeline::Interval { start, end, .. } = *i;
        i.slot.tasks().map(move |task| Interval { task: task.to_string(), start, end })
    };
    Timeline {
        unit: "s".to_owned(),
        makespan: measured.makespan(),
        bubble_of_makespan: measured.bubble_of_makespan(),
        bubble_of_ideal: measured.bubble_of_ideal(),
        lanes: measured.lanes().iter().map(|l| l.iter().flat_map(interval).collect()).collect(),
        layers,
    }
}

/// Milliseconds on the browser's finest clock.
fn now() -> f64 {
    let scope: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    scope.performance().map_or_else(js_sys::Date::now, |p| p.now())
}

/// What the trained model writes.
fn sample(request: SampleRequest) -> Event {
    let Some(run) = RUN.with_borrow(Option::clone) else {
        return Event::Failed { message: "Nothing has been trained here.".to_owned() };
    };
    let mesh = &run.borrow().mesh;
    let named = |name: &str| Some((name.to_owned(), mesh.value(name)?));
    let parameters: Vec<_> = mesh.parameters().iter().filter_map(|name| named(name)).collect();
    let vocabulary = mesh.feed().and_then(Feed::vocabulary).cloned().unwrap_or_default();
    let usual = Wish::default();
    let whole = |n: Option<u64>, or: usize| {
        n.map_or(or, |n| usize::try_from(n).unwrap_or(usize::MAX)).max(1)
    };
    let wish = Wish {
        tokens: whole(request.tokens, usual.tokens),
        temperature: request.temperature.unwrap_or(usual.temperature),
        top_k: whole(request.top_k, usual.top_k),
        seed: request.seed.unwrap_or(usual.seed),
        beam: whole(request.beam, usual.beam),
    };
    let written = Author::new(mesh.study(), vocabulary, &parameters, wish.beam, &Alone)
        .and_then(|mut author| author.write(&request.prompt, &wish, || true));
    match written {
        Ok(text) => Event::Sample { prompt: request.prompt, text },
        Err(d) => Event::Failed { message: d.message },
    }
}

/// The engine's form of data.
fn engine_data(data: DataSet, vocabulary: Vocabulary) -> Data {
    match data {
        DataSet::Table(api::Table { name, columns, rows, target, .. }) => {
            let target = match target {
                api::Target::Number => Target::Number,
                api::Target::Classes { names } => Target::Classes(names),
            };
            Data::Table(Table { name, columns, rows, target })
        }
        DataSet::Text(api::Text { name, text, .. }) => {
            Data::Text(Text { name, text: text.into(), vocabulary })
        }
    }
}

fn post(events: &[Event]) {
    let scope: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    let json = serde_json::to_string(events).unwrap_or_default();
    // fails only on values that cannot be copied; a string can
    drop(scope.post_message(&JsValue::from(json)));
}
