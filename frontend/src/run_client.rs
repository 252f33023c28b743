//! The page's side of runs: in the worker of this browser, and on the server. Both speak the same
//! events; a [`RunLog`] is what they add up to.

use crate::worker::{Order, Training};
use crate::{address, api, state::Studio};
use leptos::prelude::*;
use meshwork_engine::data::wiring::Wiring;
use meshwork_engine::graph::train::Tokens;
use meshwork_engine::study::Study;
use meshwork_wire::api::{DataSet, Run, SampleRequest};
use meshwork_wire::run::Event;
use wasm_bindgen::JsCast as _;
use wasm_bindgen::closure::Closure;
use web_sys::{EventSource, MessageEvent, Worker, WorkerOptions, WorkerType};

/// The names of the server's events.
const KINDS: [&str; 9] = [
    "step",
    "validation",
    "value",
    "sample",
    "restarted",
    "done",
    "diverged",
    "cancelled",
    "failed",
];

/// A look at the held-out part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// Steps done.
    pub step: u64,
    /// The loss.
    pub loss: f64,
    /// Share of rows classified rightly.
    pub accuracy: Option<f64>,
    /// Root mean square error.
    pub error: Option<f64>,
    /// Perplexity per token.
    pub perplexity: Option<f64>,
    /// Perplexity per word.
    pub word_perplexity: Option<f64>,
    /// BLEU of translations.
    pub bleu: Option<f64>,
}

/// What a trained model has written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Written {
    /// Nothing yet.
    #[default]
    Nothing,
    /// It has been asked.
    Asked,
    /// What it was given, and what follows.
    Text(String, String),
    /// Why it writes nothing.
    Failed(String),
}

/// What a run has said so far.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunLog {
    /// The study it runs.
    pub text: String,
    /// Steps it will take.
    pub steps: u64,
    /// Step and loss.
    pub curve: Vec<(f64, f64)>,
    /// What the held-out part said.
    pub looks: Vec<Look>,
    /// The event that ended it.
    pub end: Option<Event>,
    /// When it began here, in milliseconds.
    pub since: f64,
}

impl RunLog {
    /// A run that begins now.
    pub fn begin(text: &str, steps: u64) -> Self {
        Self { text: text.to_owned(), steps, since: js_sys::Date::now(), ..Self::default() }
    }

    /// Takes in an event. Events that come twice (a stream taken up again) count once.
    pub fn take(&mut self, event: Event) {
        match event {
            Event::Step { step, loss } => {
                let x = step as f64;
                if self.curve.last().is_none_or(|&(last, _)| last < x) {
                    self.curve.push((x, loss));
                }
            }
            Event::Validation {
                step,
                loss,
                accuracy,
                error,
                perplexity,
                word_perplexity,
                bleu,
            } => {
                let look = Look { step, loss, accuracy, error, perplexity, word_perplexity, bleu };
                if self.looks.last().is_none_or(|l| l.step < step) {
                    self.looks.push(look);
                }
            }
            Event::Value { .. } | Event::Sample { .. } => {}
            Event::Restarted { .. } => {
                self.curve.clear();
                self.looks.clear();
            }
            last => self.end = Some(last),
        }
    }

    /// Steps done.
    pub fn done(&self) -> u64 {
        self.curve.last().map_or(0, |&(step, _)| step as u64 + 1)
    }

    /// Steps per second of wall time so far, from its own clock until the run says better.
    pub fn pace(&self) -> Option<f64> {
        if let Some(Event::Done { steps_per_second, .. }) = self.end {
            return Some(steps_per_second);
        }
        let seconds = (js_sys::Date::now() - self.since) / 1000.0;
        (self.done() > 0 && seconds > 0.0 && self.end.is_none())
            .then(|| self.done() as f64 / seconds)
    }
}

/// The run in this browser and the one on the server.
#[derive(Debug, Clone, Copy)]
pub struct Runs {
    script: StoredValue<String>,
    /// The address named a run and no study: the run's study is to be shown.
    adopts: StoredValue<bool>,
    worker: StoredValue<Option<Worker>, LocalStorage>,
    stream: StoredValue<Option<EventSource>, LocalStorage>,
    /// What the run in this browser has said.
    pub here: RwSignal<Option<RunLog>>,
    /// What it has written last.
    pub sample_here: RwSignal<Written>,
    /// What the run on the server has written last.
    pub sample_there: RwSignal<Written>,
    /// The run on the server that the address names.
    pub id: RwSignal<Option<String>>,
    /// That run as the server describes it.
    pub there: RwSignal<Option<Run>>,
    /// What it has said.
    pub there_log: RwSignal<Option<RunLog>>,
    /// Why the server did not do what it was asked for.
    pub trouble: RwSignal<Option<api::Trouble>>,
    /// The latest runs on the server; `None` until it has answered.
    pub past: RwSignal<Option<Result<Vec<Run>, api::Trouble>>>,
}

impl Runs {
    /// No runs yet; `script` is the address of the worker's script.
    pub fn new(script: String, asked: &address::Asked) -> Self {
        let id = asked.run.clone();
        Self {
            script: StoredValue::new(script),
            adopts: StoredValue::new(asked.text.is_none() && id.is_some()),
            worker: StoredValue::new_local(None),
            stream: StoredValue::new_local(None),
            here: RwSignal::new(None),
            sample_here: RwSignal::default(),
            sample_there: RwSignal::default(),
            id: RwSignal::new(id),
            there: RwSignal::new(None),
            there_log: RwSignal::new(None),
            trouble: RwSignal::new(None),
            past: RwSignal::new(None),
        }
    }

    /// Follows the run that the address names, for as long as the studio is open.
    pub fn follow(self, studio: Studio) {
        Effect::new(move |_| {
            let id = self.id.get();
            self.hang_up();
            self.there.set(None);
            self.there_log.set(None);
            self.sample_there.set(Written::Nothing);
            if let Some(id) = id {
                leptos::task::spawn_local(self.look_at(studio, id));
            }
        });
    }

    /// Runs the study in a worker.
    pub fn start_here(self, text: String, steps: u64, data: Option<String>) {
        self.stop_here();
        self.here.set(Some(RunLog::begin(&text, steps)));
        self.sample_here.set(Written::Nothing);
        let Some(name) = data else {
            let training = Training { text, steps, data: None, merges: Vec::new() };
            return self.order(&Order::Train(training));
        };
        leptos::task::spawn_local(async move {
            match with_data(text, steps, &name).await {
                Ok(training) => self.order(&Order::Train(training)),
                Err(trouble) => self.hear(Event::Failed {
                    message: format!(
                        "The data set `{name}` is not at hand. {} `data:teacher` makes synthetic \
                         data of any shape.",
                        trouble.message()
                    ),
                }),
            }
        });
    }

    /// Lets the run in this browser write.
    pub fn sample_here(self, request: &SampleRequest) {
        self.sample_here.set(Written::Asked);
        let json = serde_json::to_string(&Order::Sample(request.clone())).unwrap_or_default();
        let sent = self.worker.get_value().is_some_and(|w| w.post_message(&json.into()).is_ok());
        if !sent {
            let message = "The run is no longer here; run it again.";
            self.sample_here.set(Written::Failed(message.to_owned()));
        }
    }

    /// Lets the run on the server write.
    pub fn sample_there(self, request: SampleRequest) {
        let Some(id) = self.id.get_untracked() else { return };
        self.sample_there.set(Written::Asked);
        leptos::task::spawn_local(async move {
            let written = match api::sample(&id, &request).await {
                Ok(sample) => Written::Text(request.prompt, sample.text),
                Err(trouble) => Written::Failed(trouble.message()),
            };
            if self.id.get_untracked() == Some(id) {
                self.sample_there.set(written);
            }
        });
    }

    fn order(self, order: &Order) {
        let options = WorkerOptions::new();
        options.set_type(WorkerType::Module);
        let started = self.script.with_value(|s| Worker::new_with_options(s, &options));
        let Ok(worker) = started else {
            return self.hear(Event::Failed {
                message: "This browser starts no module worker. A current version does.".to_owned(),
            });
        };
        let on_message = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
            let json = event.data().as_string().unwrap_or_default();
            for event in serde_json::from_str::<Vec<Event>>(&json).unwrap_or_default() {
                self.hear(event);
            }
        });
        worker.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
        on_message.forget();
        let on_error = Closure::<dyn FnMut()>::new(move || {
            self.hear(Event::Failed {
                message: "The worker stopped by itself; the study may need more memory than a \
                          browser gives. A smaller one, or the server, can run it."
                    .to_owned(),
            });
        });
        worker.set_onerror(Some(on_error.as_ref().unchecked_ref()));
        on_error.forget();
        let json = serde_json::to_string(order).unwrap_or_default();
        if worker.post_message(&json.into()).is_err() {
            return self
                .hear(Event::Failed { message: "The worker takes no messages.".to_owned() });
        }
        self.worker.set_value(Some(worker));
    }

    fn hear(self, event: Event) {
        if self.sample_here.with_untracked(|w| *w == Written::Asked) {
            match event {
                Event::Sample { prompt, text } => {
                    return self.sample_here.set(Written::Text(prompt, text));
                }
                Event::Failed { message } => {
                    return self.sample_here.set(Written::Failed(message));
                }
                _ => {}
            }
        }
        self.here.update(|log| {
            if let Some(log) = log
                && log.end.is_none()
            {
                log.take(event);
            }
        });
    }

    /// Ends the run in this browser.
    pub fn stop_here(self) {
        if let Some(worker) = self.worker.get_value() {
            worker.terminate();
        }
        self.worker.set_value(None);
        self.here.update(|log| {
            if let Some(log) = log
                && log.end.is_none()
            {
                log.end = Some(Event::Cancelled { step: log.done() });
            }
        });
    }

    /// Runs the study on the server and shows the run under its own address.
    pub fn start_there(self, text: String, steps: u64) {
        self.trouble.set(None);
        leptos::task::spawn_local(async move {
            match api::start_run(&text, Some(steps)).await {
                Ok(run) => {
                    address::push(Some(&run.id), &text);
                    self.id.set(Some(run.id));
                    self.refresh_past().await;
                }
                Err(trouble) => self.trouble.set(Some(trouble)),
            }
        });
    }

    /// Shows a run under its own address.
    pub fn show(self, run: Option<&Run>, text: &str) {
        address::push(run.map(|r| r.id.as_str()), text);
        self.id.set(run.map(|r| r.id.clone()));
    }

    /// Stops the run on the server.
    pub fn cancel_there(self) {
        let Some(id) = self.id.get_untracked() else { return };
        leptos::task::spawn_local(async move {
            match api::cancel(&id).await {
                Ok(run) => self.there.set(Some(run)),
                Err(trouble) => self.trouble.set(Some(trouble)),
            }
        });
    }

    /// Asks the server for its latest runs.
    pub async fn refresh_past(self) {
        self.past.set(Some(api::runs().await));
    }

    async fn look_at(self, studio: Studio, id: String) {
        match api::run(&id).await {
            Ok(run) => {
                if self.adopts.get_value() {
                    self.adopts.set_value(false);
                    let text = run.text.clone();
                    studio.change(|_| text);
                }
                let mut log = RunLog::begin(&run.text, run.steps);
                if run.state.is_over() {
                    log.since = f64::NAN;
                }
                self.there.set(Some(run));
                self.there_log.set(Some(log));
                self.listen(&id);
            }
            Err(trouble) if trouble.is_missing() => {
                self.id.set(None);
                studio.view.update(|v| {
                    v.notice =
                        Some(format!("This server knows no run `{id}`; it may be another's."));
                });
            }
            Err(trouble) => self.trouble.set(Some(trouble)),
        }
    }

    /// Hears the run's events; the browser takes the stream up again where it broke off.
    fn listen(self, id: &str) {
        let Ok(stream) = EventSource::new(&api::events_path(id)) else { return };
        let on_event = Closure::<dyn FnMut(MessageEvent)>::new(move |message: MessageEvent| {
            let json = message.data().as_string().unwrap_or_default();
            let Ok(event) = serde_json::from_str::<Event>(&json) else { return };
            let over = event.is_last();
            self.there_log.update(|log| {
                if let Some(log) = log {
                    log.take(event);
                }
            });
            if over {
                self.hang_up();
                leptos::task::spawn_local(self.settle());
            }
        });
        for kind in KINDS {
            let handler = on_event.as_ref().unchecked_ref();
            // fails only for handlers that are no functions
            drop(stream.add_event_listener_with_callback(kind, handler));
        }
        stream.set_onmessage(Some(on_event.as_ref().unchecked_ref()));
        on_event.forget();
        self.stream.set_value(Some(stream));
    }

    async fn settle(self) {
        if let Some(id) = self.id.get_untracked()
            && let Ok(run) = api::run(&id).await
        {
            self.there.set(Some(run));
        }
        self.refresh_past().await;
    }

    fn hang_up(self) {
        if let Some(stream) = self.stream.get_value() {
            stream.close();
        }
        self.stream.set_value(None);
    }
}

/// What is to be trained, with its data and, for byte pairs, the vocabulary.
async fn with_data(text: String, steps: u64, name: &str) -> Result<Training, api::Trouble> {
    let data = api::data(name).await?;
    let study = Study::new(&text);
    let is_bpe = study.train().tokens == Tokens::Bpe && matches!(data, DataSet::Text(_));
    let wiring = Wiring::new(study.graph(), &study.data_places()).ok();
    let merges = match wiring.and_then(|wiring| wiring.ids()).filter(|_| is_bpe) {
        Some(size) => api::vocabulary(name, size).await?.merges,
        None => Vec::new(),
    };
    Ok(Training { text, steps, data: Some(data), merges })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_that_come_twice_count_once_and_the_last_ends_the_run() {
        let mut log = RunLog { steps: 3, ..RunLog::default() };
        for step in [0, 1, 0, 1, 2] {
            log.take(Event::Step { step, loss: 1.0 });
        }
        let look = Event::Validation {
            step: 3,
            loss: 1.0,
            accuracy: Some(0.5),
            error: None,
            perplexity: None,
            word_perplexity: None,
            bleu: None,
        };
        log.take(look.clone());
        log.take(look);
        assert_eq!((log.curve.len(), log.looks.len(), log.done()), (3, 1, 3));
        log.take(Event::Cancelled { step: 3 });
        assert!(log.end.is_some_and(|e| e.is_last()));
    }
}
