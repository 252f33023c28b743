//! Messages that need not be: what is sent where less would do is a mistake.

use crate::common::{losses, session, study};
use meshwork_engine::exec::pool::Alone;
use meshwork_engine::session::Session;
use meshwork_engine::spmd::check::check;
use meshwork_engine::study::Study;

/// The collectives that send, each with the bytes of a slice.
fn sent(study: &Study) -> Vec<(&'static str, u64)> {
    let collectives = study.collectives().into_iter();
    let sending = collectives.filter(|c| c.sent_bytes_per_processor > 0.0);
    sending.map(|c| (c.kind.name(), c.slice_bytes)).collect()
}

/// Positions, elements and gradients are those of one processor; messages are as predicted.
fn assert_equal(text: &str, names: &[&str]) {
    let names: Vec<String> = names.iter().map(|&n| n.to_owned()).collect();
    let on_mesh = study(text);
    check(on_mesh.program().unwrap()).unwrap();
    let run = |study: &Study| {
        let mut session = Session::keeping(study, None, Alone, &names).unwrap();
        session.step();
        session
    };
    let (split, alone) = (run(&on_mesh), run(&on_mesh.alone()));
    for name in &names {
        let values = |s: &Session<Alone>| s.value(name).unwrap().values;
        assert_eq!(values(&split), values(&alone), "{name} in\n{text}");
    }
    assert_eq!(split.counted(), split.predicted(), "{text}");
}

const RANKED: &str = "dims b:2 v:32 k:2\ninput x[b v]\n";

#[test]
fn the_greatest_of_a_split_dimension_are_those_of_few_candidates() {
    let text = |what: &str| format!("mesh m:4\nlayout v:m\n{RANKED}top = {what}");
    // 2 rows, 2 candidates, each an element and its position; not 2 rows of 8.
    let ranked = study(&text("top_k_positions(x -> k, dim:v)"));
    assert_eq!(sent(&ranked), [("allgather", 2 * 2 * 2 * 4)]);
    let first = study(&text("argmax(x, dim:v)"));
    assert_eq!(sent(&first), [("allgather", 2 * 2 * 4)]);
    // Elements are picked where they lie.
    let picked = study(&text("top_k(x -> k, dim:v)"));
    assert_eq!(sent(&picked), [("allgather", 2 * 2 * 2 * 4), ("allreduce", 2 * 2 * 4)]);
}

/// Where the candidates are as much as the slices, the slices are put together.
#[test]
fn many_candidates_are_no_gain() {
    let text =
        "mesh m:4\nlayout v:m\ndims v:16 k:2\ninput x[v]\ntop = top_k_positions(x -> k, dim:v)";
    assert_eq!(sent(&study(text)), [("allgather", 4 * 4)]);
    assert_equal(text, &["top"]);
}

/// Of equals the first comes first, wherever they lie.
#[test]
fn equals_on_other_processors_keep_their_order() {
    for layout in ["v:m", "v:n", "v:m+n", "v:n+m", "b:m v:n", "v:m k:n", "b:n v:m k:m"] {
        for (init, dims) in [
            ("integers(0 3)", "b v"),
            ("integers(0 3)", "v b"),
            ("zeros", "v b c"),
            ("uniform(-2 -1)", "c v b"),
        ] {
            let text = format!(
                "mesh m:2 n:4\nlayout {layout}\ndims b:4 c:3 v:128 k:4\nparam x[{dims}] init:{init}\n\
                 at = top_k_positions(x -> k, dim:v)\nfirst = argmax(x, dim:v)\n\
                 top = top_k(x -> k, dim:v)\nloss = sum(square(top) + top)\ntrain rate:1"
            );
            assert_equal(&text, &["at", "first", "top", "grad/x"]);
        }
    }
}

/// Positions along the batch are those of the whole batch, so that they pick what they found; the
/// loss is the mean of what the micro-batches find.
#[test]
fn the_greatest_of_each_micro_batch() {
    let text = |layout: &str| {
        format!(
            "{layout}dims b:16 k:1\nparam w[] init:ones\n\
             loss = sum(top_k((index(b) + 1) * w -> k, dim:b))\n\
             train rate:0.001 micro_batches:2 batch:b"
        )
    };
    for layout in ["", "mesh m:2\nlayout b:m\n"] {
        assert_eq!(losses(&mut session(&text(layout)), 1), [12.0], "{layout}");
    }
}
