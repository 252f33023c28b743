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

/// A sum that is split anew by a reshape is scattered, not settled everywhere and then split.
#[test]
fn a_pending_sum_is_scattered_through_a_reshape() {
    let text = "mesh m:2\nlayout k:m c:m\ndims a:4 b:8 c:4 d:2 k:6\n\
                input x[a k] init:integers(0 9), w[k b] init:integers(0 9)\n\
                y = einsum(x, w -> a b)\nz = reshape(y, b -> c d)";
    assert_eq!(sent(&study(text)), [("reducescatter", 4 * 8 * 4)]);
    assert_equal(text, &["z"]);
}

/// A pending sum whose splits clash with those of its user is laid out anew as it is, if what is
/// made of it is smaller.
#[test]
fn a_pending_sum_makes_way_before_it_settles() {
    let text = "mesh m:2 n:2\nlayout k:m a:n c:n\ndims a:8 b:8 c:2 k:6\n\
                input x[a k] init:integers(0 9), w[k b] init:integers(0 9)\n\
                input v[b c] init:integers(0 9)\n\
                y = einsum(x, w -> a b)\nr = einsum(y, v -> c)";
    assert_eq!(sent(&study(text)), [("allgather", 8 * 4 * 4), ("allreduce", 4)]);
    assert_equal(text, &["r"]);
}

/// What a convolution received of its neighbours serves its filter's gradient, too: besides, only
/// the gradients that go back to a split input cross the borders.
#[test]
fn the_halo_of_a_convolution_is_received_once() {
    let text = |layers: usize, remat: &str| {
        let layer = |i| {
            format!(
                "block l{i}{remat}\nparam f[k c c2]\n\
                 x = rename(relu(conv(x, f -> batch h c2, over:h window:k)), c2 -> c)\nend\n"
            )
        };
        format!(
            "mesh m:2\nlayout h:m\ndims batch:2 h:16 c:3 c2:3 k:3\ninput x[batch h c]\n{}\
             loss = mean(square(x))\ntrain rate:0.1",
            (0..layers).map(layer).collect::<Vec<_>>().concat()
        )
    };
    let received = |layers, remat| {
        let study = study(&text(layers, remat));
        check(study.program().unwrap()).unwrap();
        sent(&study).iter().filter(|c| c.0 == "receive").count()
    };
    assert_eq!((received(1, ""), received(3, "")), (1, 3 + 2));
    // What is let go is received again: that is its price.
    assert_eq!(received(3, " remat:on"), 3 + 3 + 2);
}
