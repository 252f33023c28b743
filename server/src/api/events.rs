//! `/runs/{id}/events`: what a run says, as it says it.
//!
//! Events are numbered within their run. A client that lost its connection says the number it
//! heard last (`Last-Event-ID`, which browsers send by themselves) and hears the rest.

use super::extract::{Ask, At};
use super::runs::find;
use crate::problem::Problem;
use crate::state::State;
use axum::Json;
use axum::extract;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use meshwork_wire::api::{self, EventList, NumberedEvent};
use meshwork_wire::run;
use serde::Deserialize;
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;

/// Events that are read from the store at once.
const PAGE: u64 = 500;

/// The query.
#[derive(Debug, Deserialize)]
pub struct After {
    after: Option<u64>,
}

/// Events of a run after a number, as one list.
#[utoipa::path(get, path = "/runs/{id}/events.json", tag = "runs", operation_id = "list_events",
    params(("id" = String, Path),
        ("after" = Option<u64>, Query, description = "Only events with a greater number")),
    responses((status = 200, body = EventList),
        (status = 404, body = api::Problem, content_type = "application/problem+json")))]
pub async fn list(
    extract::State(state): extract::State<State>,
    At(id): At<String>,
    Ask(query): Ask<After>,
) -> Result<Json<EventList>, Problem> {
    let app = state.clone();
    let read = move || {
        find(&app, &id)?;
        let after = query.after.unwrap_or(0);
        let events = app.store().events(&id, after, u64::MAX)?;
        // Read after the events: a run that is over by now has none that are not among them.
        let over = find(&app, &id)?.state.is_over()
            && app.store().events(&id, events.last().map_or(after, |e| e.id), 1)?.is_empty();
        Ok(EventList { events, over })
    };
    state.window().call(read).await.map(Json)
}

/// Events of a run as server-sent events: `id` is the number, `event` the tag, `data` the event as
/// JSON. The stream ends after the run's last event.
#[utoipa::path(get, path = "/runs/{id}/events", tag = "runs", operation_id = "stream_events",
    params(("id" = String, Path),
        ("Last-Event-ID" = Option<u64>, Header, description = "Only events with a greater number"),
        ("after" = Option<u64>, Query, description = "The same, for clients that cannot set it")),
    responses((status = 200, body = run::Event, content_type = "text/event-stream"),
        (status = 404, body = api::Problem, content_type = "application/problem+json")))]
pub async fn stream(
    extract::State(state): extract::State<State>,
    At(id): At<String>,
    Ask(query): Ask<After>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let last = headers.get("last-event-id").and_then(|v| v.to_str().ok()?.parse().ok());
    let after = last.or(query.after).unwrap_or(0);
    let app = state.clone();
    let run = id.clone();
    state.window().call(move || find(&app, &run)).await?;
    let (events, listened) = mpsc::channel(64);
    tokio::spawn(follow(state, id, after, events));
    let alive = KeepAlive::new().interval(Duration::from_secs(15));
    Ok(Sse::new(ReceiverStream::new(listened)).keep_alive(alive))
}

/// Sends events as they are written down, until the last one, or until nobody listens.
async fn follow(
    state: State,
    id: String,
    mut after: u64,
    listener: mpsc::Sender<Result<Event, Infallible>>,
) {
    let mut bell = state.queue().bell().subscribe();
    let mut closing = state.closing();
    loop {
        bell.mark_unchanged();
        let (app, run) = (state.clone(), id.clone());
        let read = move || {
            let events = app.store().events(&run, after, PAGE)?;
            let over = events.is_empty() && find(&app, &run)?.state.is_over();
            // The last event may have come between the two looks.
            let over = over && app.store().events(&run, after, 1)?.is_empty();
            Ok((events, over))
        };
        // A run that was removed, or a broken database, ends the stream; the client asks again
        // and is answered with the problem.
        let Ok((events, over)) = state.window().call(read).await else { return };
        let mut ended = over;
        let nothing_new = events.is_empty();
        for numbered in events {
            after = numbered.id;
            ended |= numbered.event.is_last();
            if listener.send(Ok(sse(&numbered))).await.is_err() {
                return;
            }
        }
        if ended {
            return;
        }
        if nothing_new {
            tokio::select! {
                rung = bell.changed() => if rung.is_err() { return },
                _ = closing.wait_for(|closing| *closing) => return,
                () = listener.closed() => return,
            }
        }
    }
}

fn sse(numbered: &NumberedEvent) -> Event {
    let data = serde_json::to_string(&numbered.event).unwrap_or_default();
    Event::default().id(numbered.id.to_string()).event(numbered.event.name()).data(data)
}
