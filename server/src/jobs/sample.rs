//! What trained models write: the one place that turns a request into a text, for the command line
//! and for the server's runs.

use crate::store::parameters::{Parameters, Tensor};
use meshwork_engine::data::Data;
use meshwork_engine::data::vocabulary::Vocabulary;
use meshwork_engine::decode::{Author, Wish, bytes_needed};
use meshwork_engine::diag::{Code, Diagnostic, Hint};
use meshwork_engine::exec::pool::{Alone, Pool};
use meshwork_engine::graph::op::Dtype;
use meshwork_engine::session::{Session, Whole};
use meshwork_engine::study::Study;
use meshwork_wire::api::SampleRequest;
use std::time::{Duration, Instant};

/// The most tokens that are written at once.
const MAX_TOKENS: u64 = 10_000;
/// The widest beam.
const MAX_BEAM: u64 = 64;
/// What takes longer is cut off.
const PATIENCE: Duration = Duration::from_mins(1);

/// How a text is to be written, or what is wrong with the request.
pub fn wish(request: &SampleRequest) -> Result<Wish, String> {
    let usual = Wish::default();
    let within = |name: &str, value: Option<u64>, most: u64| match value {
        Some(n) if n == 0 || n > most => {
            Err(format!("`{name}` is a whole number from 1 to {most}, not {n}."))
        }
        n => Ok(n.map(|n| usize::try_from(n).unwrap_or(usize::MAX))),
    };
    let temperature = request.temperature.unwrap_or(usual.temperature);
    if !(0.0..=100.0).contains(&temperature) {
        return Err(format!("`temperature` is a number from 0 to 100, not {temperature}."));
    }
    Ok(Wish {
        tokens: within("tokens", request.tokens, MAX_TOKENS)?.unwrap_or(usual.tokens),
        temperature,
        top_k: within("top_k", request.top_k, u64::MAX)?.unwrap_or(usual.top_k),
        seed: request.seed.unwrap_or(usual.seed),
        beam: within("beam", request.beam, MAX_BEAM)?.unwrap_or(usual.beam),
    })
}

/// The parameters of a session as they are now.
pub fn parameters<P: Pool>(session: &Session<P>, data: Option<&Data>) -> Parameters {
    let is_single = session.study().graph().dtype == Dtype::F32;
    let names = session.parameters();
    let tensor = |name: &str| Some(Tensor::new(name, session.value(name)?, is_single));
    Parameters {
        merges: vocabulary(data).merges().to_vec(),
        tensors: names.iter().filter_map(|name| tensor(name)).collect(),
    }
}

/// What data is read by.
pub fn vocabulary(data: Option<&Data>) -> Vocabulary {
    match data {
        Some(Data::Text(text)) => text.vocabulary.clone(),
        Some(Data::Table(_)) | None => Vocabulary::default(),
    }
}

/// What a study with these parameters writes.
pub fn write(
    study: &Study,
    parameters: Parameters,
    prompt: &str,
    wish: &Wish,
) -> Result<String, Diagnostic> {
    let Parameters { merges, tensors } = parameters;
    let vocabulary = Vocabulary::new(merges).ok_or_else(|| {
        let message = "The vocabulary that the run was trained with cannot be read";
        Diagnostic::error(Code::Data, study.data_span(), message)
    })?;
    let shape = |name: &str| {
        let graph = study.graph();
        graph.find(name).map(|id| graph.shape(id).clone())
    };
    let wholes: Vec<(String, Whole)> = tensors
        .into_iter()
        .filter_map(|t| Some((t.name.clone(), Whole { shape: shape(&t.name)?, values: t.values })))
        .collect();
    let begun = Instant::now();
    let mut author = Author::new(study, vocabulary, &wholes, wish.beam, &Alone)?;
    author.write(prompt, wish, || begun.elapsed() < PATIENCE)
}

/// Whether there is room for a study that writes: at most so many bytes.
pub fn has_room(study: &Study, wish: &Wish, most: u64) -> Result<(), Diagnostic> {
    let needs = bytes_needed(study, wish.beam)?;
    if needs <= most {
        return Ok(());
    }
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let message = format!(
        "to write, the model would hold {:.1} MiB on one processor; at most {:.1} MiB are allowed \
         here (--memory)",
        mib(needs),
        mib(most)
    );
    let mend = if wish.beam > 1 { "Take a narrower `beam`." } else { "Sample a smaller model." };
    Err(Diagnostic::error(Code::TooLarge, study.data_span(), message).hint(Hint::new(mend)))
}

/// Whether a study writes at all; why not, before it is trained.
pub fn can_write(study: &Study) -> Result<(), Diagnostic> {
    Author::new(study, Vocabulary::default(), &[], 1, &Alone).map(drop)
}
