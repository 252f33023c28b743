//! The worker's side of *Run here*: trains a study in slices of time and tells the page how it
//! goes. The page ends a run by ending the worker.
//!
//! In: one [`Order`]. Out: arrays of [`Event`]s, the same as the server's. The study runs on its
//! mesh and, beside it, on one processor; the two are compared at the end.

use meshwork_engine::data::{Table, Target, Validation};
use meshwork_engine::exec::pool::Alone;
use meshwork_engine::session::{Session, max_difference};
use meshwork_engine::study::Study;
use meshwork_wire::api;
use meshwork_wire::run::{Event, Traffic};
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
pub struct Order {
    /// The study.
    pub text: String,
    /// Steps to take.
    pub steps: u64,
    /// The table its `train` line names, fetched by the page.
    pub table: Option<api::Table>,
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
            Ok(order) => begin(&order),
            Err(e) => post(&[Event::Failed { message: format!("The order is unreadable: {e}") }]),
        }
    });
    scope.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
    on_message.forget();
}

fn begin(order: &Order) {
    let study = Study::new(&order.text);
    let table = order.table.as_ref().map(table);
    let sessions = Session::new(&study, table.as_ref(), Alone).and_then(|mesh| {
        let one = Session::new(&study.alone(), table.as_ref(), Alone)?;
        Ok((mesh, one))
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
            go_on(Rc::new(RefCell::new(run)));
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
            self.loss_difference = self.loss_difference.max((a - b).abs());
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
            && let Some(Validation { loss, accuracy, error }) = self.mesh.validate()
        {
            events.push(Event::Validation { step: self.done, loss, accuracy, error });
        }
        None
    }

    fn done(&self) -> Event {
        let counted = self.mesh.counted();
        let predicted = self.mesh.predicted();
        Event::Done {
            loss: self.loss,
            steps_per_second: self.done as f64 / (self.busy / 1000.0).max(1e-6),
            counted: Traffic { messages: counted.messages, bytes: counted.bytes },
            predicted: Traffic { messages: predicted.messages, bytes: predicted.bytes },
            max_difference: Some(max_difference(&self.mesh, &self.one).max(self.loss_difference)),
        }
    }
}

/// Milliseconds on the browser's finest clock.
fn now() -> f64 {
    let scope: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    scope.performance().map_or_else(js_sys::Date::now, |p| p.now())
}

/// The engine's form of a table.
pub fn table(table: &api::Table) -> Table {
    Table {
        name: table.name.clone(),
        columns: table.columns.clone(),
        rows: table.rows.clone(),
        target: match &table.target {
            api::Target::Number => Target::Number,
            api::Target::Classes { names } => Target::Classes(names.clone()),
        },
    }
}

fn post(events: &[Event]) {
    let scope: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    let json = serde_json::to_string(events).unwrap_or_default();
    // fails only on values that cannot be copied; a string can
    drop(scope.post_message(&JsValue::from(json)));
}
