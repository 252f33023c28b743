//! What the choices of attention mean, against formulas written here: T5's buckets, rotary angles,
//! shared keys, windows, padding.

use crate::driver::{Driver, det};

/// T5's bucket for a key at `memory` and a query at `query` (Raffel et al. 2020).
fn bucket(query: i64, memory: i64, buckets: i64, max_distance: f64, causal: bool) -> i64 {
    let behind = query - memory;
    let (side, start) = if causal { (buckets, 0) } else { (buckets / 2, buckets / 2) };
    let start = if behind < 0 { start } else { 0 };
    let distance = if causal { behind.max(0) } else { behind.abs() };
    let exact = side / 2;
    if distance < exact {
        return start + distance;
    }
    let (d, e) = (distance as f64, exact as f64);
    let far = e + (d / e).ln() / (max_distance / e).ln() * (side as f64 - e);
    start + (far as i64).min(side - 1)
}

#[test]
fn relative_positions_are_t5s_buckets() {
    for (preset, causal) in [("transformer", true), ("encoder", false)] {
        let text = format!(
            "model {preset} batch:1 length:40 positions:relative buckets:16 max_distance:30 layers:1\ntrain\n"
        );
        let mut driver = Driver::<f64>::new(&text, &["bucket"]);
        driver.step();
        let found = driver.value("bucket");
        for (k, &found) in (0..).zip(&found) {
            let (query, memory) = (k / 40, k % 40);
            let expected = bucket(query, memory, 16, 30.0, causal);
            assert_eq!(found as i64, expected, "{preset}: {query} looks at {memory}");
        }
    }
    // In a window of 5 that ends at its position, the first is 4 behind.
    let local = "model transformer batch:1 length:8 attention:local window:5 positions:relative buckets:8 layers:1\ntrain\n";
    let mut driver = Driver::<f64>::new(local, &["bucket"]);
    driver.step();
    let expected: Vec<f64> = (0..5).map(|t| bucket(4 - t, 0, 8, 128.0, true) as f64).collect();
    assert_eq!(driver.value("bucket"), expected);
}

#[test]
fn rotary_positions_turn_pairs() {
    let text = "model transformer batch:2 length:5 heads:2 d_kv:6 positions:rotary layers:1\ntrain dtype:f64\n";
    let [before, after] = ["layer.0.attention.queries_halves", "layer.0.attention.queries"];
    let mut driver = Driver::<f64>::new(text, &[before, after]);
    driver.step();
    let (x, y) = (driver.value(before), driver.value(after));
    for start in (0..x.len()).step_by(6) {
        let position = (start / 12 % 5) as f64;
        for r in 0..3 {
            let angle = position * 10_000_f64.powf(-(r as f64) / 3.0);
            let (a, b) = (x[start + r], x[start + 3 + r]);
            let turned = [a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()];
            for (found, expected) in [y[start + r], y[start + 3 + r]].iter().zip(turned) {
                assert!((found - expected).abs() < 1e-12, "{start} {r}: {found} for {expected}");
            }
        }
    }
}

const SIZES: &str = "batch:2 length:6 vocab:16 d_model:8 heads:4 d_kv:2 layers:1";

fn loss(rest: &str, set: impl Fn(&mut Driver<f64>)) -> f64 {
    let text = format!("model transformer {SIZES} {rest}\ntrain dtype:f64\n");
    let mut driver = Driver::new(&text, &[]);
    set(&mut driver);
    driver.step().unwrap()
}

#[test]
fn shared_keys_are_keys_repeated() {
    // Of k[d_model kv_heads d_kv], each position of kv_heads serves two neighbouring heads.
    let shared = loss("kv_heads:2", |driver| {
        driver.set("layer.0.attention.k", |i| det(i, 1, 1.0));
        driver.set("layer.0.attention.v", |i| det(i, 2, 1.0));
    });
    let repeated = |i: u64| i / 8 * 4 + i % 8 / 4 * 2 + i % 2;
    let whole = loss("", |driver| {
        driver.set("layer.0.attention.k", |i| det(repeated(i), 1, 1.0));
        driver.set("layer.0.attention.v", |i| det(repeated(i), 2, 1.0));
    });
    assert!((shared - whole).abs() < 1e-12, "{shared} {whole}");
}

#[test]
fn a_window_as_long_as_the_sequence_sees_all_before() {
    for positions in ["learned", "rotary", "relative", "none"] {
        let choice = format!("positions:{positions}");
        let causal = loss(&choice, |_| ());
        let local = loss(&format!("{choice} attention:local window:6"), |_| ());
        assert!((causal - local).abs() < 1e-12, "{positions}: {causal} {local}");
        let short = loss(&format!("{choice} attention:local window:2"), |_| ());
        assert!((causal - short).abs() > 1e-6, "{positions}");
    }
}

#[test]
fn other_names_inside_the_layers_change_nothing() {
    let apart = loss("sequence_parallel:on bias:on", |_| ());
    assert!((apart - loss("bias:on", |_| ())).abs() < 1e-12);
}

/// What comes later does not reach back, and what is padding neither is looked at nor counts.
#[test]
fn the_future_and_padding_are_not_seen() {
    let losses = |preset: &str, input: &str, tokens: [f64; 6]| {
        let text =
            format!("model {preset} {}\ntrain dtype:f64\n", SIZES.replace("batch:2", "batch:1"));
        let mut driver = Driver::<f64>::new(&text, &["losses", "logits"]);
        driver.set(input, |k| tokens[k as usize]);
        let loss = driver.step().unwrap();
        (driver.value("losses"), driver.value("logits"), loss)
    };
    let (a, _, loss) = losses("transformer", "targets", [3.0, 5.0, 7.0, 2.0, 9.0, 0.0]);
    let (b, ..) = losses("transformer", "targets", [3.0, 5.0, 7.0, 8.0, 4.0, 1.0]);
    assert_eq!(a[..3], b[..3]);
    assert_ne!(a[4], b[4]);
    // The last target is padding; all six positions are divided by.
    assert!((loss - a[..5].iter().sum::<f64>() / 6.0).abs() < 1e-12);
    // Logits of the encoder at its real positions do not depend on how padding is embedded.
    let encode = |scale: f64| {
        let text = "model encoder batch:1 length:6 vocab:16 d_model:8 layers:1 mask_rate:0\ntrain dtype:f64\n";
        let mut driver = Driver::<f64>::new(text, &["logits"]);
        driver.set("tokens", |k| [3.0, 5.0, 7.0, 2.0, 0.0, 0.0][k as usize]);
        driver.set("embedding", |k| det(k, 1, if k < 8 { scale } else { 1.0 }));
        driver.step();
        driver.value("logits")
    };
    let (one, two) = (encode(1.0), encode(2.0));
    assert_eq!(one[..4 * 16], two[..4 * 16]);
    assert_ne!(one[4 * 16..], two[4 * 16..]);
}
