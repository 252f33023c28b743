//! `GET /examples`: studies to begin with.

use axum::Json;
use meshwork_engine::{examples, spec::url};
use meshwork_wire::api::{Example, ExampleList};

/// Studies to begin with, simplest first.
#[utoipa::path(get, path = "/examples", tag = "studies", operation_id = "list_examples",
    responses((status = 200, body = ExampleList)))]
pub async fn list() -> Json<ExampleList> {
    let example = |e: &examples::Example| Example {
        id: e.id.to_owned(),
        title: e.title.to_owned(),
        about: e.about.to_owned(),
        text: e.text.to_owned(),
        link: format!("/{}", url::encode(e.text)),
    };
    Json(ExampleList { examples: examples::ALL.iter().map(example).collect() })
}
