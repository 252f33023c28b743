//! `/data`: tables to train on.

use super::extract::{Ask, At};
use crate::convert;
use crate::data::catalog::{self, Missing};
use crate::data::hash::table_hash;
use crate::data::name::{TEACHER, check_name};
use crate::data::{read, shipped};
use crate::problem::Problem;
use crate::state::State;
use crate::store::tables::Uploaded;
use axum::Json;
use axum::body::Bytes;
use axum::extract;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderName, StatusCode, header};
use meshwork_wire::api::{self, Table, TableInfo, TableList};
use serde::Deserialize;

/// The tables at hand: those that ship, then the uploaded ones by name.
#[utoipa::path(get, path = "/data", tag = "data", operation_id = "list_tables", responses((status = 200, body = TableList)))]
pub async fn list(
    extract::State(state): extract::State<State>,
) -> Result<Json<TableList>, Problem> {
    let app = state.clone();
    let find = move || {
        let ours = shipped::ALL.iter().map(convert::shipped);
        let theirs = app.store().tables()?;
        Ok(TableList { tables: ours.chain(theirs.into_iter().map(info)).collect() })
    };
    state.window().call(find).await.map(Json)
}

/// A table with its rows.
#[utoipa::path(get, path = "/data/{name}", tag = "data", operation_id = "get_table",
    params(("name" = String, Path, description = "NAME, or NAME@HASH to pin its content")),
    responses((status = 200, body = Table),
        (status = 404, body = api::Problem, content_type = "application/problem+json")))]
pub async fn get(
    extract::State(state): extract::State<State>,
    At(name): At<String>,
) -> Result<Json<Table>, Problem> {
    let app = state.clone();
    let find = move || match catalog::find(&name, Some(app.store())) {
        Ok(found) => Ok(convert::table(&found)),
        Err(Missing::Store(e)) => Err(e.into()),
        Err(Missing::Unknown { message, hint, .. }) => {
            Err(Problem::NotFound(format!("{message}. {hint}")))
        }
    };
    state.desk().call(find).await.map(Json)
}

/// How an uploaded table is to be read.
#[derive(Debug, Deserialize)]
pub struct Options {
    target: Option<String>,
    kind: Option<Kind>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Classification,
    Regression,
}

/// Uploads a table as CSV with a header line. It becomes the newest of its name; a table with an
/// error is not kept at all.
#[utoipa::path(post, path = "/data/{name}", tag = "data", operation_id = "upload_table",
    params(("name" = String, Path),
        ("target" = Option<String>, Query, description = "The column to predict; else the last"),
        ("kind" = Option<String>, Query, description = "`classification` or `regression`; else \
            regression if all targets are numbers")),
    request_body(content = String, content_type = "text/csv"),
    responses((status = 201, body = TableInfo),
        (status = 409, body = api::Problem, content_type = "application/problem+json"),
        (status = 413, body = api::Problem, content_type = "application/problem+json"),
        (status = 422, body = api::Problem, content_type = "application/problem+json")))]
pub async fn put(
    extract::State(state): extract::State<State>,
    At(name): At<String>,
    Ask(options): Ask<Options>,
    csv: Result<Bytes, BytesRejection>,
) -> Result<(StatusCode, [(HeaderName, String); 1], Json<TableInfo>), Problem> {
    let csv = csv?;
    check_name(&name).map_err(Problem::BadRequest)?;
    not_ours(&name)?;
    let app = state.clone();
    let store = move || {
        let kind = match options.kind {
            None => read::Kind::Auto,
            Some(Kind::Classification) => read::Kind::Classification,
            Some(Kind::Regression) => read::Kind::Regression,
        };
        let options = read::Options { target: options.target, kind };
        let table = read::table(&name, &csv, &options).map_err(Problem::BadTable)?;
        let hash = table_hash(&table);
        app.store().put_table(&table, &hash)?;
        let known = app.store().tables()?.into_iter().find(|t| t.name == name);
        known.map(info).ok_or(Problem::Internal)
    };
    let table = state.desk().call(store).await?;
    let place = format!("/api/v1/data/{}", table.name);
    Ok((StatusCode::CREATED, [(header::LOCATION, place)], Json(table)))
}

/// Removes an uploaded table, with all its versions.
#[utoipa::path(delete, path = "/data/{name}", tag = "data", operation_id = "remove_table", params(("name" = String, Path)),
    responses((status = 204),
        (status = 404, body = api::Problem, content_type = "application/problem+json"),
        (status = 409, body = api::Problem, content_type = "application/problem+json")))]
pub async fn remove(
    extract::State(state): extract::State<State>,
    At(name): At<String>,
) -> Result<StatusCode, Problem> {
    not_ours(&name)?;
    let app = state.clone();
    let remove = move || {
        if app.store().remove_table(&name)? {
            return Ok(StatusCode::NO_CONTENT);
        }
        Err(Problem::NotFound(format!("There is no uploaded table `{name}`.")))
    };
    state.window().call(remove).await
}

fn not_ours(name: &str) -> Result<(), Problem> {
    if name == TEACHER || shipped::find(name).is_some() {
        let detail = format!("`{name}` comes with Meshwork; choose another name.");
        return Err(Problem::Conflict(detail));
    }
    Ok(())
}

fn info(table: Uploaded) -> TableInfo {
    let Uploaded { name, hash, columns, target, rows, created } = table;
    let about = format!("Uploaded {}.", created.get(..10).unwrap_or(&created));
    let target = convert::target(&target);
    TableInfo { name, hash, rows, columns, target, about, shipped: false }
}
