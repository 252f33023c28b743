//! Every preset, with each of its choices, trained under several layouts: the same losses as on
//! one processor, and the messages that were predicted.

use crate::common::{study, written_out};
use meshwork_engine::exec::pool::Alone;
use meshwork_engine::graph::models::PRESETS;
use meshwork_engine::session::Session;
use meshwork_engine::spmd::check::check;
use meshwork_engine::study::Study;

const STEPS: usize = 10;

/// A small study of a preset that trains.
fn text(layout: &str, model: &str) -> String {
    let train = "train optimizer:adam rate:0.01 steps:10 seed:3";
    if layout.is_empty() {
        format!("model {model}\n{train}\n")
    } else {
        format!("{layout}\nmodel {model}\n{train}\n")
    }
}

fn curve(study: &Study) -> Vec<f64> {
    check(study.program().unwrap()).unwrap();
    let mut run = Session::new(study, None, Alone).unwrap();
    let losses = (0..STEPS).map(|_| run.step().loss.unwrap()).collect();
    assert_eq!(run.counted(), run.predicted(), "{}", study.text());
    losses
}

/// Trains the model alone and under each layout.
fn same_everywhere(model: &str, layouts: &[&str]) {
    let alone = curve(&study(&text("", model)));
    assert!(alone.iter().all(|l| l.is_finite()), "{model}: {alone:?}");
    // Of few masked tokens each step, single losses say little.
    let (first, last) = alone.split_at(STEPS / 2);
    let learns = last.iter().sum::<f64>() < first.iter().sum::<f64>();
    assert!(learns, "{model} does not learn: {alone:?}");
    for layout in layouts {
        let split = curve(&study(&text(layout, model)));
        for (step, (a, b)) in split.iter().zip(&alone).enumerate() {
            assert!((a - b).abs() / b < 1e-4, "{model}\n{layout}\nstep {step}: {a} for {b}");
        }
    }
}

/// Small enough for debug builds.
const SMALL: &str = "batch:4 length:8 vocab:16 d_model:8 heads:4 d_kv:4 d_ff:16 layers:2";

const TRANSFORMER: [&str; 6] = [
    // Data parallel.
    "mesh all:2\nlayout batch:all",
    // The paper's model parallelism.
    "mesh all:2\nlayout vocab:all d_ff:all heads:all",
    // Both.
    "mesh rows:2 cols:2\nlayout batch:rows vocab:cols d_ff:cols heads:cols",
    // Sequences are split.
    "mesh all:2\nlayout length:all",
    // Megatron's, with what lies between the layers split too.
    "mesh rows:2 cols:2\nlayout batch:rows d_model:cols",
    "mesh rows:2 cols:2\nlayout length:rows vocab:cols d_ff:cols heads:cols",
];

#[test]
fn transformer() {
    for choice in ["", "norm:layer bias:on ffn:gelu tied:on"] {
        same_everywhere(&format!("transformer {SMALL} {choice}"), &TRANSFORMER);
    }
}

#[test]
fn transformer_with_sequence_parallelism() {
    let layouts = [
        "mesh all:2\nlayout length:all heads:all d_ff:all vocab:all",
        "mesh rows:2 cols:2\nlayout batch:rows length:cols heads:cols d_ff:cols vocab:cols",
        "mesh all:4\nlayout length:all heads:all d_ff:all",
        TRANSFORMER[1],
    ];
    for choice in ["", "positions:rotary attention:local bias:on norm:layer dropout:0.1"] {
        same_everywhere(&format!("transformer {SMALL} sequence_parallel:on {choice}"), &layouts);
    }
}

#[test]
fn transformer_with_other_positions() {
    for choice in ["positions:rotary", "positions:relative buckets:8", "positions:none scale:off"] {
        same_everywhere(&format!("transformer {SMALL} {choice}"), &TRANSFORMER);
    }
}

#[test]
fn transformer_with_shared_keys() {
    let layouts = [
        TRANSFORMER[0],
        TRANSFORMER[1],
        "mesh all:2\nlayout vocab:all d_ff:all heads:all kv_heads:all",
        "mesh rows:2 cols:2\nlayout batch:rows vocab:cols d_ff:cols heads:cols kv_heads:cols",
        TRANSFORMER[3],
    ];
    same_everywhere(&format!("transformer {SMALL} kv_heads:2 ffn:swiglu"), &layouts);
    same_everywhere(&format!("transformer {SMALL} kv_heads:2 bias:on"), &layouts[..2]);
}

#[test]
fn transformer_with_windows() {
    for choice in ["", "positions:rotary", "positions:relative buckets:8"] {
        let model = format!("transformer {SMALL} attention:local window:4 {choice}");
        same_everywhere(&model, &TRANSFORMER);
    }
    // Windows that reach beyond the neighbours.
    let far = ["mesh all:4\nlayout length:all", "mesh a:2 b:4\nlayout length:b heads:a"];
    same_everywhere(&format!("transformer {SMALL} attention:local window:7"), &far);
    same_everywhere(&format!("transformer {SMALL} attention:full"), &TRANSFORMER[..4]);
}

#[test]
fn transformer_with_dropout_and_other_losses() {
    let choice = "dropout:0.1 z_loss:0.001 label_smoothing:0.1 inputs:given";
    same_everywhere(&format!("transformer {SMALL} {choice}"), &TRANSFORMER);
}

#[test]
fn feed_forward_layers() {
    for ffn in ["silu", "tanh", "glu", "bilinear", "reglu", "geglu", "swiglu"] {
        let model = format!("transformer {SMALL} ffn:{ffn} bias:on");
        same_everywhere(&model, &TRANSFORMER[2..3]);
    }
}

#[test]
fn encoder() {
    for choice in ["", "attention:local window:3 positions:relative buckets:8", "positions:rotary"]
    {
        let model = format!("encoder {SMALL} mask_rate:0.3 {choice}");
        same_everywhere(&model, &TRANSFORMER);
    }
}

#[test]
fn encoder_decoder() {
    let split_source = "mesh all:2\nlayout length:all source_length:all";
    let layouts = [TRANSFORMER[0], TRANSFORMER[1], TRANSFORMER[2], TRANSFORMER[4], split_source];
    for choice in ["", "positions:relative buckets:8 tied:on", "positions:rotary kv_heads:2"] {
        let model = format!("encoder_decoder {SMALL} source_length:6 {choice}");
        same_everywhere(&model, &layouts);
    }
}

const EXPERTS: [&str; 6] = [
    "mesh all:2\nlayout batch:all",
    "mesh all:4\nlayout batch:all experts:all",
    "mesh all:2\nlayout batch:all experts:all groups:all",
    "mesh rows:2 cols:2\nlayout batch:rows experts:rows expert_hidden:cols",
    "mesh rows:2 cols:2\nlayout batch:rows experts:cols",
    "mesh all:2\nlayout length:all experts:all",
];

#[test]
fn mixture_of_experts() {
    let small = "moe batch:4 length:8 d_model:8 experts:4 expert_hidden:16";
    for choice in [
        "",
        "gating:top1 router_z_loss:0.001 min_capacity:1",
        "group_size:4 second_policy:all min_capacity:1",
        "group_size:16 second_policy:threshold ffn:swiglu",
    ] {
        same_everywhere(&format!("{small} {choice}"), &EXPERTS);
    }
}

#[test]
fn transformer_with_experts() {
    for choice in ["", "expert_every:2", "expert_every:2 gating:top1 group_size:4"] {
        let model = format!("transformer {SMALL} experts:4 {choice}");
        same_everywhere(&model, &EXPERTS);
    }
}

#[test]
fn convnet() {
    let layouts = [
        "mesh all:2\nlayout batch:all",
        "mesh all:2\nlayout h:all",
        "mesh rows:2 cols:2\nlayout h:rows w:cols",
        "mesh rows:2 cols:2\nlayout batch:rows c1:cols",
        "mesh rows:2 cols:2\nlayout h:rows c2:cols",
    ];
    let pooled = [
        layouts[0],
        "mesh rows:2 cols:2\nlayout h:rows w:cols h2:rows w2:cols",
        "mesh rows:2 cols:2\nlayout h:rows w:cols",
        "mesh all:2\nlayout h:all h2:all",
    ];
    let small = "convnet batch:4 h:8 w:8 in:2 channels:(4 6) classes:3";
    same_everywhere(small, &layouts);
    same_everywhere(&format!("{small} norm:none kernel:5"), &layouts);
    same_everywhere(&format!("{small} pool:max"), &pooled);
    same_everywhere(&format!("{small} pool:avg kernel:2"), &pooled);
}

/// A processor gets from its neighbours what its windows reach: one row, then one column.
#[test]
fn tiles_exchange_their_edges() {
    let model = "model convnet batch:4 h:8 w:8 in:2 channels:(4 6)\n";
    let study = study(&format!("mesh rows:2 cols:2\nlayout h:rows w:cols\n{model}"));
    let mut found = study.collectives();
    found.retain(|c| c.kind.name() != "allreduce");
    let found: Vec<(&str, &str, f64)> = found
        .iter()
        .map(|c| (c.kind.name(), &*c.tensors[0], c.sent_bytes_per_processor / 4.0))
        .collect();
    let (row, taps) = (4.0 * 4.0, 3.0);
    assert_eq!(
        found,
        [
            ("receive", "x", row * 2.0),
            ("receive", "conv1.z/1", row * 2.0 * taps),
            ("receive", "conv1.x", row * 4.0),
            ("receive", "conv2.z/1", row * 4.0 * taps),
        ]
    );
}

#[test]
fn presets_can_be_written_out() {
    for preset in PRESETS {
        let line = format!("model {} {}\n", preset.name, preset.options);
        let train = "train optimizer:adam rate:0.01 steps:10\n";
        let short = curve(&study(&(line.clone() + train)));
        assert_eq!(short, curve(&study(&(written_out(&line) + train))), "{line}");
        // What menus show are the defaults.
        let plain = format!("model {}\n", preset.name);
        assert_eq!(written_out(&line), written_out(&plain));
    }
}

/// What a step of a convolution or pool leaves: its result and its input, moved by the gradient.
fn windowed(layout: &str, calls: &str) -> [Vec<f64>; 2] {
    let study = study(&format!(
        "{layout}dims n:2 h:4 w:4 ci:2 fh:2 fw:2 co:2 h2:4 w2:4\n\
         param x[n h w ci] init:integers(-3 4)\n{calls}\n\
         loss = sum(square(y))\ntrain rate:1 dtype:f64"
    ));
    check(study.program().unwrap()).unwrap();
    let mut run = Session::keeping(&study, None, Alone, &["y".to_owned()]).unwrap();
    run.step();
    assert_eq!(run.counted(), run.predicted(), "{}", study.text());
    ["y", "x"].map(|name| run.value(name).unwrap().values)
}

/// Every pair of rules that the named tensors allow, also where the windows within could not
/// follow both.
#[test]
fn windows_follow_the_tensors_around_them() {
    const CONV: &str = "param f[fh fw ci co] init:integers(-2 3)\n\
                        y = conv(x, f, over:(h w) window:(fh fw) to:(h2 w2) padding:same)";
    const MAX: &str = "y = max_pool(x, over:(h w) window:(fh fw) to:(h2 w2) stride:1 padding:same)";
    const MEAN: &str =
        "y = avg_pool(x, over:(h w) window:(fh fw) to:(h2 w2) stride:1 padding:same)";
    let dims = ["n", "h", "w", "ci", "fh", "fw", "co", "h2", "w2"];
    let mut pairs = 0;
    for calls in [CONV, MAX, MEAN] {
        let named: &[&[&str]] = if calls == CONV {
            &[&["n", "h", "w", "ci"], &["fh", "fw", "ci", "co"], &["n", "h2", "w2", "co"]]
        } else {
            &[&["n", "h", "w", "ci"], &["n", "h2", "w2", "ci"]]
        };
        let alone = windowed("", calls);
        for (i, a) in dims.iter().enumerate() {
            let rest = dims[i + 1..].iter();
            for b in rest.filter(|b| !named.iter().any(|t| t.contains(a) && t.contains(b))) {
                let layout = format!("mesh r:2\nlayout {a}:r {b}:r\n");
                assert_eq!(windowed(&layout, calls), alone, "{layout}{calls}");
                pairs += 1;
            }
        }
    }
    assert_eq!(pairs, 18 + 2 * 25);
}
