//! The paper's example: Table 1 and the collectives of each of its layouts.

use crate::common::study;
use meshwork_engine::study::CollectiveInfo;

fn paper(layout: &str) -> String {
    format!(
        "{layout}\nmodel two_layer batch:8 io:4 hidden:8\ntrain optimizer:sgd rate:0.1 steps:5\n"
    )
}

/// Collectives as `phase kind tensor @axes by dims`.
fn lines(text: &str) -> Vec<String> {
    let study = study(text);
    let line = |c: &CollectiveInfo| {
        let tensors: Vec<&str> = c.tensors.iter().map(|t| &**t).collect();
        let dims: Vec<&str> = c.dims.iter().map(|t| &**t).collect();
        format!(
            "{} {} {} @{} by {}",
            c.phase.name(),
            c.kind.name(),
            tensors.join(","),
            study.mesh().names(&c.axes),
            dims.join(",")
        )
    };
    study.collectives().iter().map(line).collect()
}

#[test]
fn collectives_of_the_papers_layouts() {
    assert_eq!(lines(&paper("mesh all:2")), [""; 0]);
    assert_eq!(
        lines(&paper("mesh all:2\nlayout batch:all")),
        [
            "forward allreduce loss @all by batch",
            "backward allreduce grad/v,grad/bias,grad/w @all by batch",
        ]
    );
    assert_eq!(
        lines(&paper("mesh all:2\nlayout hidden:all")),
        ["forward allreduce y @all by hidden"]
    );
    assert_eq!(
        lines(&paper("mesh rows:2 cols:2\nlayout batch:rows hidden:cols")),
        [
            "forward allreduce y @cols by hidden",
            "forward allreduce loss @rows by batch",
            "backward allreduce grad/v,grad/bias,grad/w @rows by batch",
        ]
    );
    assert_eq!(
        lines(&paper("mesh rows:2 cols:2 planes:2\nlayout batch:rows hidden:cols io:planes")),
        [
            "forward allreduce h/1 @planes by io",
            "forward allreduce y @cols by hidden",
            "forward allreduce loss @rows+planes by batch,io",
            "backward allreduce grad/h @planes by io",
            "backward allreduce grad/v,grad/bias,grad/w @rows by batch",
        ]
    );
}

#[test]
fn table_1() {
    let row = |layout: &str| {
        let f = study(&paper(layout)).formulas().unwrap();
        [f.computation, f.communication, f.ratio, f.memory].map(|f| f.to_string())
    };
    assert_eq!(
        row("mesh all:2"),
        ["batch·hidden·io", "0", "0", "batch·hidden + batch·io + hidden·io"]
    );
    assert_eq!(
        row("mesh n:2\nlayout batch:n"),
        [
            "batch·hidden·io / n",
            "hidden·io",
            "n / batch",
            "batch·hidden / n + batch·io / n + hidden·io"
        ]
    );
    assert_eq!(
        row("mesh n:2\nlayout hidden:n"),
        [
            "batch·hidden·io / n",
            "batch·io",
            "n / hidden",
            "batch·hidden / n + batch·io + hidden·io / n"
        ]
    );
    assert_eq!(
        row("mesh r:2 c:2\nlayout batch:r hidden:c"),
        [
            "batch·hidden·io / (c·r)",
            "batch·io / r + hidden·io / c",
            "c / hidden + r / batch",
            "batch·hidden / (c·r) + batch·io / r + hidden·io / c"
        ]
    );
    assert_eq!(
        row("mesh r:2 c:2 p:2\nlayout batch:r hidden:c io:p"),
        [
            "batch·hidden·io / (c·p·r)",
            "batch·hidden / (c·r) + batch·io / (p·r) + hidden·io / (c·p)",
            "c / hidden + p / io + r / batch",
            "batch·hidden / (c·r) + batch·io / (p·r) + hidden·io / (c·p)"
        ]
    );
}

#[test]
fn the_listing_says_why() {
    let study = study(&paper("mesh rows:2 cols:2\nlayout batch:rows hidden:cols"));
    let listing = study.listing().unwrap();
    println!("{listing}");
    assert!(listing.contains("y{batch:rows}[4 4] = Allreduce over cols    # y sums over `hidden`, which the rule hidden:cols splits over `cols`"));
}

/// A halo is as long as the window reaches, not as the slice is long.
#[test]
fn borders_in_formulas() {
    let text = |function: &str| {
        format!(
            "mesh rows:4 cols:2\nlayout h:rows b:cols h2:rows\ndims b:8 h:16 h2:8 k:3\n\
             input x[b h]\ny = {function}\n"
        )
    };
    for (function, formula) in [
        ("shift(x, dim:h by:1)", "b / cols"),
        ("window(x, h -> h k)", "b / cols"),
        ("slice(x, h -> h2, begin:4)", "b·h / (cols·rows)"),
    ] {
        let formulas = study(&text(function)).formulas().unwrap();
        assert_eq!(formulas.communication.to_string(), formula, "{function}");
    }
}

/// Gradients that wait together are one message, up to 25 MiB of one processor's slices.
#[test]
fn gradients_settle_together() {
    let backward = |model: &str| -> Vec<usize> {
        let text = format!("mesh all:2\nlayout batch:all\nmodel {model}\ntrain\n");
        let all = study(&text).collectives();
        let gradients = all.iter().filter(|c| c.tensors[0].starts_with("grad/"));
        gradients.map(|c| c.tensors.len()).collect()
    };
    assert_eq!(backward("mlp batch:8 in:4 hidden:4 depth:3 out:2"), [8]);
    // Three matrices of 16 MiB: none has room for another, the vectors go where there is some.
    let large = backward("mlp batch:8 in:2048 hidden:2048 depth:3 out:2");
    assert_eq!((large.len(), large.iter().sum::<usize>()), (3, 8));
}
