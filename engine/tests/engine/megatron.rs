//! Tensor parallelism as in Megatron-LM: columns, then rows, of each layer's matrices (Shoeybi et
//! al. 2019), and sequence parallelism between the layers (Korthikanti et al. 2022).

use crate::common::study;
use meshwork_engine::graph::op::Phase;
use meshwork_engine::study::{CollectiveInfo, Study};

/// Collectives of one layer, forward and backward: those of activations and their gradients, and
/// those of parameters' gradients. With sequence parallelism each processor has summands of the
/// latter for norms and biases, vectors as long as the model is wide; Megatron sums those up, too.
fn of_layer(study: &Study, layer: u32) -> (Vec<CollectiveInfo>, Vec<CollectiveInfo>) {
    let name = format!("layer.{layer}.");
    let mut all = study.collectives();
    all.retain(|c| c.phase != Phase::Update && c.tensors.iter().any(|t| t.contains(&name)));
    let graph = study.graph();
    let gradients: Vec<&str> = graph.gradients.iter().map(|g| &*graph.node(g.1).name).collect();
    all.into_iter().partition(|c| !gradients.contains(&&*c.tensors[0]))
}

fn kinds(collectives: &[CollectiveInfo]) -> Vec<String> {
    let line = |c: &CollectiveInfo| format!("{} {}", c.phase.name(), c.kind.name());
    collectives.iter().map(line).collect()
}

fn elements_sent(collectives: &[CollectiveInfo]) -> f64 {
    collectives.iter().map(|c| c.sent_bytes_per_processor / 4.0).sum()
}

fn small(layout: &str, rest: &str) -> Study {
    study(&format!(
        "mesh t:4\nlayout {layout}\nmodel transformer batch:4 length:8 vocab:16 d_model:8 heads:4 \
         d_kv:4 d_ff:32 layers:3 {rest}\ntrain\n"
    ))
}

#[test]
fn four_allreduces_per_layer() {
    for rest in [
        "",
        "norm:layer bias:on ffn:gelu",
        "positions:rotary ffn:swiglu",
        "positions:relative dropout:0.1",
        "tied:on attention:local",
    ] {
        let study = small("heads:t d_ff:t vocab:t", rest);
        for layer in 0..3 {
            let (found, gradients) = of_layer(&study, layer);
            assert_eq!(gradients.len(), 0);
            let (forward, backward) = ("forward allreduce", "backward allreduce");
            assert_eq!(
                kinds(&found),
                [forward, forward, backward, backward],
                "{rest}\n{}",
                study.listing().unwrap()
            );
            // 8·b·s·h·(t−1)/t
            assert_eq!(elements_sent(&found), f64::from(8 * 4 * 8 * 8 * 3 / 4), "{rest}");
        }
    }
}

/// The logits stay where they are: what crosses are three numbers for each position, its greatest
/// logit, its sum of exponentials and the logit of its target.
#[test]
fn three_small_allreduces_of_the_loss() {
    let study = small("heads:t d_ff:t vocab:t", "z_loss:0.001");
    let mut found = study.collectives();
    found.retain(|c| c.tensors[0].starts_with("losses"));
    assert_eq!(kinds(&found), ["forward allreduce"; 3]);
    assert!(found.iter().all(|c| c.slice_bytes == 4 * 4 * 8));
}

#[test]
fn sequence_parallelism_moves_the_same() {
    let study = small("heads:t d_ff:t vocab:t length:t", "sequence_parallel:on norm:layer");
    for layer in 0..3 {
        let (found, gradients) = of_layer(&study, layer);
        // All layers' two norms of scale and shift and the last norm, in one message.
        assert_eq!(gradients.len(), 1);
        assert_eq!(gradients[0].tensors.len(), 3 * 4 + 2);
        assert_eq!(gradients[0].slice_bytes / 4, (3 * 4 + 2) * 8);
        assert_eq!(
            kinds(&found),
            [
                "forward allgather",
                "forward reducescatter",
                "forward allgather",
                "forward reducescatter",
                "backward allgather",
                "backward reducescatter",
                "backward allgather",
                "backward reducescatter",
            ],
            "{}",
            study.listing().unwrap()
        );
        assert_eq!(elements_sent(&found), f64::from(8 * 4 * 8 * 8 * 3 / 4));
    }
}

/// The published models: elements that a processor sends per layer and micro-batch.
#[test]
fn published_models() {
    for (model, batch, d_model, heads, expected) in [
        ("22B", 4, 6144, 64, 352_321_536.0),
        ("175B", 1, 12288, 96, 176_160_768.0),
        ("530B", 1, 20480, 128, 293_601_280.0),
        ("1T", 1, 25600, 160, 367_001_600.0),
    ] {
        for (rule, rest) in [("", ""), (" length:t", " sequence_parallel:on")] {
            let study = study(&format!(
                "mesh t:8\nlayout heads:t d_ff:t vocab:t{rule}\nmodel transformer batch:{batch} length:2048 \
                 vocab:51200 d_model:{d_model} heads:{heads} layers:2 norm:layer ffn:gelu bias:on{rest}\ntrain\n"
            ));
            for layer in 0..2 {
                let found = of_layer(&study, layer).0;
                assert_eq!(elements_sent(&found), expected, "{model}{rest}");
            }
        }
    }
}
