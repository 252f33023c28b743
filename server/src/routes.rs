//! Every address of the server, on one screen.

use crate::api::{data, events, examples, openapi, pictures, plan, runs, status, studies};
use crate::origin;
use crate::problem::Problem;
use crate::state::State;
use crate::studio;
use axum::extract::DefaultBodyLimit;
use axum::http::Uri;
use axum::middleware;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Router, http::Method};
use tower_http::trace::TraceLayer;
use utoipa::OpenApi as _;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouterExt as _};
use utoipa_axum::routes;

/// The longest study text.
pub const MAX_TEXT: usize = 1 << 20;
/// The longest body with a study: JSON writes some characters as several.
const MAX_BODY: usize = 4 * MAX_TEXT;
/// The longest table or text.
const MAX_TABLE: usize = 16 << 20;

/// The server as a function of its state.
pub fn app(state: State) -> Router {
    let (api, document) = OpenApiRouter::with_openapi(openapi::Document::openapi())
        .routes(routes!(plan::plan))
        .routes(routes!(studies::put))
        .routes(routes!(studies::get))
        .routes(routes!(runs::create, runs::list))
        .routes(routes!(runs::get, runs::remove))
        .routes(routes!(runs::timeline))
        .routes(routes!(runs::cancel))
        .routes(routes!(runs::sample))
        .routes(routes!(events::stream))
        .routes(routes!(events::list))
        .routes(routes!(data::list))
        .routes(routes!(data::get, data::remove))
        .routes(routes!(data::vocabulary))
        .routes(routes!(pictures::picture))
        .routes(routes!(examples::list))
        .routes(routes!(status::health))
        .routes(routes!(status::problems))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .routes(routes!(data::put).layer(DefaultBodyLimit::max(MAX_TABLE)))
        .split_for_parts();
    let document = openapi::finish(document);
    Router::new()
        .nest("/api/v1", api)
        .route("/api/v1/openapi.json", get(|| async { openapi::serve(document) }))
        .route("/", get(studio::index))
        .route("/runs/{id}", get(studio::index))
        .fallback(elsewhere)
        .method_not_allowed_fallback(|| async { Problem::MethodNotAllowed })
        .layer(middleware::from_fn_with_state(state.clone(), origin::check))
        .layer(TraceLayer::new_for_http())
        .with_state(state)
}

/// A file of the studio, or nothing.
async fn elsewhere(method: Method, uri: Uri, headers: axum::http::HeaderMap) -> Response {
    if uri.path().starts_with("/api/") || uri.path() == "/api" {
        let detail = format!("There is no {method} {}; see /api/v1/openapi.json.", uri.path());
        return Problem::NotFound(detail).into_response();
    }
    studio::file(&method, uri.path(), &headers)
}
