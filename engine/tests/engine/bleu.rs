//! BLEU against the values that sacreBLEU gives; its version stands in the data.

use meshwork_engine::data::bleu::{Bleu, tokens};
use serde_json::Value;

fn published() -> Value {
    serde_json::from_str(include_str!("../data/bleu.json")).unwrap()
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|t| t.as_str().unwrap()).collect()
}

#[test]
fn scores_are_those_of_sacrebleu() {
    for case in published()["cases"].as_array().unwrap() {
        let mut bleu = Bleu::default();
        for (a, b) in texts(&case["translations"]).into_iter().zip(texts(&case["references"])) {
            bleu.add(a, b);
        }
        let expected = case["score"].as_f64().unwrap();
        assert!((bleu.score() - expected).abs() < 1e-9, "{case}: {}", bleu.score());
    }
    assert_eq!(Bleu::default().score().to_bits(), 0.0_f64.to_bits());
}

#[test]
fn words_are_those_of_the_script() {
    for case in published()["tokens"].as_array().unwrap() {
        assert_eq!(tokens(case[0].as_str().unwrap()), texts(&case[1]), "{case}");
    }
}
