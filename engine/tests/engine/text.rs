//! Texts as data: what they go to, how they are divided, what is reported.

use meshwork_engine::data::Data;
use meshwork_engine::data::feed::Feed;
use meshwork_engine::data::text::{Text, parts};
use meshwork_engine::data::vocabulary::{END, Vocabulary};
use meshwork_engine::diag::Diagnostic;
use meshwork_engine::exec::pool::Alone;
use meshwork_engine::session::{Session, bytes_needed};
use meshwork_engine::spec::edit;
use meshwork_engine::study::Study;

fn text(lines: usize, line: impl Fn(usize) -> String) -> Data {
    let text: String = (0..lines).map(|i| line(i) + "\n").collect();
    Data::Text(Text { name: "book".into(), text: text.into(), vocabulary: Vocabulary::default() })
}

fn book() -> Data {
    text(400, |i| {
        format!("the {} and the {} are {i}", ["cat", "dog"][i % 2], ["sun", "moon"][i % 3 % 2])
    })
}

fn pairs() -> Data {
    text(200, |i| format!("{i}\t{i} is a number"))
}

const LM: &str = "\
mesh rows:2 cols:2
layout batch:rows vocab:cols d_ff:cols heads:cols
model transformer batch:4 length:16 vocab:256 d_model:16 heads:2 layers:1 d_ff:32
train optimizer:adam rate:0.01 steps:60 seed:3 data:book
";

const TRANSLATION: &str = "\
mesh all:2
layout batch:all
model encoder_decoder batch:8 length:24 source_length:8 vocab:256 d_model:16 heads:2 layers:1 d_ff:32
train optimizer:adam rate:0.01 steps:20 data:book
";

fn feed(study: &Study, data: &Data) -> Feed {
    assert!(!study.has_errors(), "{:?}", study.diagnostics());
    Feed::new(study.graph(), study.train(), Some(data), &study.data_places()).unwrap().unwrap()
}

fn ids(numbers: &[f64]) -> String {
    let ids: Vec<u32> = numbers.iter().map(|&n| n as u32).collect();
    Vocabulary::default().decode(&ids)
}

#[test]
fn a_batch_is_pieces_of_the_part_trained_on() {
    let (study, data) = (Study::new(LM), book());
    let Data::Text(text) = &data else { unreachable!() };
    let parts = parts(&text.text);
    let feed = feed(&study, &data);
    let target = feed.wiring().target;
    for step in 0..5 {
        let batch = feed.batch(step);
        let rows: Vec<String> = batch.of(target).chunks(16).map(ids).collect();
        assert_eq!(rows.len(), 4);
        assert!(rows.iter().all(|row| parts.training.contains(row)), "{rows:?}");
        assert_eq!(batch, feed.batch(step), "the same again");
        assert_ne!(batch, feed.batch(step + 1));
    }
    for batch in feed.held_out() {
        assert!(batch.of(target).chunks(16).map(ids).all(|row| parts.held_out.contains(&row)));
    }
}

#[test]
fn given_inputs_are_the_targets_moved_by_one() {
    let given = Study::new(&LM.replace("layers:1", "layers:1 inputs:given"));
    let feed = feed(&given, &book());
    let batch = feed.batch(0);
    let source = batch.of(feed.wiring().source.unwrap());
    let target = batch.of(feed.wiring().target);
    for (inputs, targets) in source.chunks(16).zip(target.chunks(16)) {
        assert_eq!((inputs[0], &inputs[1..]), (0.0, &targets[..15]));
    }
    let losses = |study: &Study| {
        let mut session = Session::new(study, Some(&book()), Alone).unwrap();
        [session.step().loss, session.step().loss]
    };
    assert_eq!(losses(&given), losses(&Study::new(LM)), "it is what the model does itself");
}

#[test]
fn perplexity_is_that_of_the_tokens_held_out() {
    let study = Study::new(LM);
    let data = book();
    let mut session = Session::new(&study, Some(&data), Alone).unwrap();
    let before = session.validate().unwrap();
    // The loss of this model is the mean of the nats: every position counts.
    let token = before.perplexity.unwrap();
    assert!((token.ln() - before.loss).abs() < 1e-4, "{before:?}");
    let feed = feed(&study, &data);
    let scored: Vec<f64> =
        feed.held_out().iter().flat_map(|b| b.of(feed.wiring().target).to_vec()).collect();
    let held = parts(match &data {
        Data::Text(t) => &t.text,
        Data::Table(_) => "",
    })
    .held_out;
    let all = ids(&scored);
    assert!(all.len() <= held.len() && held.starts_with(&all[..16]), "{all}");
    let words = all.split_whitespace().count() as f64;
    let nats = before.loss * scored.len() as f64;
    let expected = (nats / words).exp();
    let word = before.word_perplexity.unwrap();
    // Rows are evenly apart: where two do not touch, a word may be cut.
    assert!((word.ln() / expected.ln() - 1.0).abs() < 0.03, "{word} {expected}");
    for _ in 0..60 {
        session.step();
    }
    let after = session.validate().unwrap();
    assert!(after.perplexity.unwrap() < 0.2 * token, "{after:?}");
    assert_eq!((after.accuracy, after.error), (None, None));
}

#[test]
fn what_is_no_cross_entropy_does_not_count() {
    let pure = |options: &str| {
        let study = Study::new(&LM.replace("layers:1", &format!("layers:1 {options}")));
        let mut session = Session::new(&study, Some(&book()), Alone).unwrap();
        let seen = session.validate().unwrap();
        (seen.loss, seen.perplexity.unwrap())
    };
    let (loss, perplexity) = pure("");
    for options in ["label_smoothing:0.1", "z_loss:0.1", "sequence_parallel:on"] {
        let (other, same) = pure(options);
        assert!((same / perplexity - 1.0).abs() < 1e-4, "{options}: {same} {perplexity}");
        assert_eq!((other - loss).abs() > 1e-4, !options.contains("parallel"), "{options}");
    }
}

#[test]
fn layouts_do_not_change_what_is_read() {
    let curve = |text: &str| {
        let mut session = Session::new(&Study::new(text), Some(&book()), Alone).unwrap();
        (0..3).map(|_| session.step().loss.unwrap()).collect::<Vec<_>>()
    };
    let one = curve(
        &LM.replace("mesh rows:2 cols:2\nlayout batch:rows vocab:cols d_ff:cols heads:cols\n", ""),
    );
    for layout in ["batch:rows", "vocab:cols d_ff:cols", "batch:rows length:cols"] {
        let text = LM.replace("batch:rows vocab:cols d_ff:cols heads:cols", layout);
        for (a, b) in one.iter().zip(curve(&text)) {
            assert!((a - b).abs() < 1e-4, "{layout}: {a} {b}");
        }
    }
}

#[test]
fn masked_tokens_have_a_perplexity_and_words_have_none() {
    let model = "model encoder batch:4 length:16 vocab:256 d_model:16 heads:2 layers:1";
    let study = Study::new(&format!("{model}\ntrain data:book"));
    let mut session = Session::new(&study, Some(&book()), Alone).unwrap();
    session.step();
    let seen = session.validate().unwrap();
    assert!(seen.perplexity.unwrap() > 1.0);
    assert_eq!(seen.word_perplexity, None, "most words are in sight");
}

#[test]
fn pairs_go_to_source_and_target() {
    let study = Study::new(TRANSLATION);
    let feed = feed(&study, &pairs());
    let batch = feed.batch(0);
    let sources = batch.of(feed.wiring().source.unwrap()).chunks(8);
    let targets = batch.of(feed.wiring().target).chunks(24);
    for (source, target) in sources.zip(targets) {
        assert_eq!(ids(target), format!("{} is a number", ids(source)));
        assert!(source.contains(&f64::from(END)) && target.contains(&f64::from(END)));
    }
    let mut session = Session::new(&study, Some(&pairs()), Alone).unwrap();
    let seen = session.validate().unwrap();
    assert!(seen.perplexity.unwrap() > 10.0 && seen.word_perplexity.is_some(), "{seen:?}");
}

fn misfit(text: &str, data: &Data) -> Diagnostic {
    let study = Study::new(text);
    assert!(!study.has_errors(), "{:?}", study.diagnostics());
    bytes_needed(&study, Some(data), &[]).unwrap_err()
}

#[test]
fn texts_that_do_not_fit_say_what_would() {
    let few = text(30, |i| format!("line {i}"));
    let tabs = text(60, |i| if i == 6 { "no tab".into() } else { format!("{i}\t{i}") });
    let bpe = LM.replace("data:book", "data:book tokens:bpe").replace("vocab:256", "vocab:300");
    for (study, data, message, mend) in [
        (LM.replace("vocab:256", "vocab:64"), book(), "Bytes are 256 tokens", "vocab:256"),
        (bpe.replace("vocab:300", "vocab:64"), book(), "begins with the 256 bytes", "vocab:512"),
        (bpe, book(), "of 256 tokens and no more", "vocab:256"),
        (LM.into(), few, "too few for a batch of 4 × 16", "batch:1"),
        (TRANSLATION.into(), tabs, "Line 7 of `book` has 0 tabs", ""),
        (TRANSLATION.into(), book(), "Line 1 of `book` has 0 tabs", ""),
        (
            TRANSLATION.replace("length:24", "length:8"),
            pairs(),
            "16 tokens with its end for `length`",
            "length:16",
        ),
        (
            TRANSLATION.replace("batch:8", "batch:64"),
            pairs(),
            "180 pairs to train on and 20 held out",
            "batch:16",
        ),
        ("model mlp\ntrain data:book".into(), book(), "which the loss does not name", ""),
        ("model convnet\ntrain data:book".into(), book(), "goes to rows of ids", ""),
    ] {
        let d = misfit(&study, &data);
        assert!(d.message.contains(message), "{}", d.message);
        if !mend.is_empty() {
            let mended = edit::apply(&study, &[d.hints[0].edit.clone().unwrap()]);
            assert!(mended.contains(mend), "{mended}");
            let fits = bytes_needed(&Study::new(&mended), Some(&data), &[]).is_ok();
            assert!(fits || mend == "vocab:512", "its vocabulary is not trained here: {mended}");
        }
        let last = d.hints.last().unwrap().edit.clone().unwrap();
        assert!(edit::apply(&study, &[last]).contains("data:teacher"), "{d:?}");
    }
}

#[test]
fn rows_do_not_go_to_a_model_of_text() {
    let teacher = Study::new(&LM.replace("data:book", "data:teacher"));
    assert!(teacher.has_errors());
    let d = &teacher.diagnostics()[0];
    assert!(d.message.contains("features and the target; this study has one"), "{d:?}");
    let mended = edit::apply(teacher.text(), &[d.hints[0].edit.clone().unwrap()]);
    assert!(mended.contains("data:sources"), "{mended}");
    let idle = Study::new("model mlp\ntrain data:teacher tokens:bpe");
    assert!(!idle.has_errors() && idle.diagnostics()[0].message.contains("no effect"));
}

#[test]
fn validations_mask_the_same_tokens() {
    let model = "model encoder batch:4 length:16 vocab:257 d_model:16 heads:2 layers:1 d_ff:32";
    let text = format!("{model} mask_rate:0.3\ntrain optimizer:sgd rate:1e-30 data:book\n");
    let (study, data) = (Study::new(&text), book());
    assert!(!study.has_errors(), "{:?}", study.diagnostics());
    let mut session = Session::new(&study, Some(&data), Alone).unwrap();
    let before = session.validate().unwrap();
    let trained: Vec<_> = (0..2).map(|_| session.step()).collect();
    assert_ne!(trained[0], trained[1]);
    assert_eq!(session.validate().unwrap().loss, before.loss);
}
