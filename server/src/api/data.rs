//! `/data`: tables and texts to train on.

use super::extract::{Ask, At};
use crate::convert;
use crate::data::catalog::{self, Found, Missing};
use crate::data::hash::{data_hash, sha256};
use crate::data::name::{TEACHER, check_name};
use crate::data::{Data, bpe, read, shipped, text};
use crate::problem::Problem;
use crate::state::State;
use crate::store::tables::Uploaded;
use crate::store::texts::UploadedText;
use axum::Json;
use axum::body::Bytes;
use axum::extract;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use meshwork_wire::api::{self, DataInfo, DataSet, TableInfo, TableList, TextInfo, Vocabulary};
use serde::Deserialize;

/// The data at hand: what ships, then what was uploaded, by name.
#[utoipa::path(get, path = "/data", tag = "data", operation_id = "list_tables", responses((status = 200, body = TableList)))]
pub async fn list(
    extract::State(state): extract::State<State>,
) -> Result<Json<TableList>, Problem> {
    let app = state.clone();
    let find = move || {
        let mut list = convert::shipped(shipped::ALL.iter());
        list.tables.extend(app.store().tables()?.into_iter().map(info));
        list.texts.extend(app.store().texts()?.into_iter().map(text_info));
        Ok(list)
    };
    state.window().call(find).await.map(Json)
}

/// A table with its rows, or a text.
#[utoipa::path(get, path = "/data/{name}", tag = "data", operation_id = "get_table",
    params(("name" = String, Path, description = "NAME, or NAME@HASH to pin its content")),
    responses((status = 200, body = DataSet),
        (status = 404, body = api::Problem, content_type = "application/problem+json")))]
pub async fn get(
    extract::State(state): extract::State<State>,
    At(name): At<String>,
) -> Result<Json<DataSet>, Problem> {
    let app = state.clone();
    let find = move || found(&app, &name).map(|found| convert::data(&found));
    state.desk().call(find).await.map(Json)
}

fn found(state: &State, name: &str) -> Result<Found, Problem> {
    catalog::find(name, Some(state.store())).map_err(|missing| match missing {
        Missing::Store(e) => e.into(),
        Missing::Unknown { message, hint, .. } => Problem::NotFound(format!("{message}. {hint}")),
    })
}

/// The query of a vocabulary.
#[derive(Debug, Deserialize)]
pub struct Size {
    size: u64,
}

/// The most tokens of a vocabulary that is learnt for a client.
const MAX_VOCABULARY: u64 = 1 << 16;

/// The byte-pair vocabulary of a text, learnt from the part that is trained on; with fewer tokens
/// than asked for where the text gives no more.
#[utoipa::path(get, path = "/data/{name}/vocabulary", tag = "data", operation_id = "get_vocabulary",
    params(("name" = String, Path, description = "NAME, or NAME@HASH to pin its content"),
        ("size" = u64, Query, description = "Tokens, the 256 bytes among them; 65536 at most")),
    responses((status = 200, body = Vocabulary),
        (status = 404, body = api::Problem, content_type = "application/problem+json")))]
pub async fn vocabulary(
    extract::State(state): extract::State<State>,
    At(name): At<String>,
    Ask(Size { size }): Ask<Size>,
) -> Result<Json<Vocabulary>, Problem> {
    if size > MAX_VOCABULARY {
        let detail = format!("{size} tokens; at most {MAX_VOCABULARY} are learnt.");
        return Err(Problem::BadRequest(detail));
    }
    let app = state.clone();
    let learn = move || match &*found(&app, &name)?.data {
        Data::Table(_) => Err(Problem::NotFound(format!("`{name}` is a table, not a text."))),
        Data::Text(text) => {
            let learnt = bpe::learn(&text.text, size).map_err(Problem::BadRequest)?;
            Ok(Vocabulary { merges: learnt.merges().to_vec() })
        }
    };
    state.desk().call(learn).await.map(Json)
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

/// Uploads a table as CSV with a header line, or a text. It becomes the newest of its name; a file
/// with an error is not kept at all.
#[utoipa::path(post, path = "/data/{name}", tag = "data", operation_id = "upload_table",
    params(("name" = String, Path),
        ("target" = Option<String>, Query, description = "The column to predict; else the last"),
        ("kind" = Option<String>, Query, description = "`classification` or `regression`; else \
            regression if all targets are numbers")),
    request_body(content((String = "text/csv"), (String = "text/plain"),
        (String = "text/tab-separated-values"))),
    responses((status = 201, body = DataInfo),
        (status = 409, body = api::Problem, content_type = "application/problem+json"),
        (status = 413, body = api::Problem, content_type = "application/problem+json"),
        (status = 422, body = api::Problem, content_type = "application/problem+json")))]
pub async fn put(
    extract::State(state): extract::State<State>,
    At(name): At<String>,
    Ask(options): Ask<Options>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<(StatusCode, [(HeaderName, String); 1], Json<DataInfo>), Problem> {
    let body = body?;
    check_name(&name).map_err(Problem::BadRequest)?;
    not_ours(&name)?;
    let app = state.clone();
    let place = format!("/api/v1/data/{name}");
    let is_text = is_text(&headers);
    let store = move || match is_text {
        true => put_text(&app, &name, &body).map(DataInfo::Text),
        false => put_table(&app, &name, &body, options).map(DataInfo::Table),
    };
    let info = state.desk().call(store).await?;
    Ok((StatusCode::CREATED, [(header::LOCATION, place)], Json(info)))
}

/// Whether what is uploaded is a text; lines of pairs are one too.
fn is_text(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim();
    ["text/plain", "text/tab-separated-values"].iter().any(|text| kind.eq_ignore_ascii_case(text))
}

fn put_table(app: &State, name: &str, csv: &[u8], options: Options) -> Result<TableInfo, Problem> {
    if app.store().text(name, "")?.is_some() {
        return Err(taken(name, "a text"));
    }
    let kind = match options.kind {
        None => read::Kind::Auto,
        Some(Kind::Classification) => read::Kind::Classification,
        Some(Kind::Regression) => read::Kind::Regression,
    };
    let options = read::Options { target: options.target, kind };
    let table = read::table(name, csv, &options).map_err(Problem::BadTable)?;
    let data = Data::Table(table);
    let hash = data_hash(&data);
    if let Data::Table(table) = &data {
        app.store().put_table(table, &hash)?;
    }
    let known = app.store().tables()?.into_iter().find(|t| t.name == name);
    known.map(info).ok_or(Problem::Internal)
}

fn put_text(app: &State, name: &str, bytes: &[u8]) -> Result<TextInfo, Problem> {
    if app.store().table(name, "")?.is_some() {
        return Err(taken(name, "a table"));
    }
    let text = text::read(bytes).map_err(Problem::BadText)?;
    app.store().put_text(name, &sha256(text.as_bytes()), &text)?;
    let known = app.store().texts()?.into_iter().find(|t| t.name == name);
    known.map(text_info).ok_or(Problem::Internal)
}

fn taken(name: &str, what: &str) -> Problem {
    Problem::Conflict(format!("`{name}` is {what}; remove it first, or choose another name."))
}

/// Removes an uploaded table or text, with all its versions.
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
        if app.store().remove_data(&name)? {
            return Ok(StatusCode::NO_CONTENT);
        }
        Err(Problem::NotFound(format!("There is no uploaded data `{name}`.")))
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

fn text_info(text: UploadedText) -> TextInfo {
    let UploadedText { name, hash, bytes, lines, created } = text;
    let about = format!("Uploaded {}.", created.get(..10).unwrap_or(&created));
    TextInfo { name, hash, bytes, lines, about, shipped: false }
}
