//! Random studies: programs over a few dimensions, and layouts on random meshes.
//!
//! Everything follows from a seed, so a failing case is its seed.

use meshwork_engine::diag::{Code, Diagnostic};
use meshwork_engine::graph::init::{stream, uniform};
use meshwork_engine::spec::edit::apply;
use meshwork_engine::study::Study;
use std::fmt::Write as _;

/// A stream of random numbers.
pub(crate) struct Random {
    stream: u64,
    at: u64,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self { stream: stream(seed, "random studies"), at: 0 }
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.at += 1;
        (uniform(self.stream, self.at) * n as f64) as usize
    }

    pub(crate) fn chance(&mut self, share: f64) -> bool {
        self.at += 1;
        uniform(self.stream, self.at) < share
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// What the programs may contain.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// Operations that keep small whole numbers whole.
    Whole,
    /// All operations, smooth enough to differentiate numerically.
    Smooth,
}

/// The dimensions and their sizes.
const DIMS: [(&str, usize); 5] = [("a", 4), ("b", 8), ("c", 2), ("d", 6), ("e", 4)];

struct Tensor {
    name: String,
    dims: Vec<usize>,
}

fn names(dims: &[usize]) -> String {
    let names: Vec<&str> = dims.iter().map(|&d| DIMS[d].0).collect();
    names.join(" ")
}

fn subset(random: &mut Random, of: &[usize], share: f64) -> Vec<usize> {
    let mut out: Vec<usize> = of.iter().copied().filter(|_| random.chance(share)).collect();
    if random.chance(0.5) {
        out.reverse();
    }
    out
}

/// A model as text, with parameters and a loss, of `length` assignments.
pub(crate) fn model(seed: u64, kind: Kind, length: usize) -> String {
    let mut random = Random::new(seed);
    let random = &mut random;
    let mut text = "dims a:4 b:8 c:2 d:6 e:4\n".to_owned();
    let mut tensors: Vec<Tensor> = Vec::new();
    for (i, word) in ["input", "input", "param", "param", "param"].iter().enumerate() {
        let mut dims = subset(random, &[0, 1, 2, 3, 4], 0.5);
        dims.truncate(3);
        let name = format!("{}{i}", &word[..1]);
        let init = if kind == Kind::Whole {
            let count: usize = dims.iter().map(|&d| DIMS[d].1).product();
            let values: Vec<String> =
                (0..count).map(|_| format!("{}", random.below(5) as f64 - 2.0)).collect();
            format!("values({})", values.join(" "))
        } else {
            "uniform(0.3 1.2)".to_owned()
        };
        let _ = writeln!(text, "{word} {name}[{}] init:{init}", names(&dims));
        tensors.push(Tensor { name, dims });
    }
    for i in 0..length {
        let name = format!("t{i}");
        let (value, dims) = value(random, kind, &tensors);
        let _ = writeln!(text, "{name} = {value}");
        tensors.push(Tensor { name, dims });
    }
    // Everything counts: the loss sums over all that was made.
    let used: Vec<String> = tensors[5..].iter().map(|t| format!("sum({})", t.name)).collect();
    let _ = writeln!(text, "loss = {}", used.join(" + "));
    text
}

fn value(random: &mut Random, kind: Kind, tensors: &[Tensor]) -> (String, Vec<usize>) {
    let recent = tensors.len().saturating_sub(4);
    let x = if random.chance(0.6) {
        &tensors[recent + random.below(tensors.len() - recent)]
    } else {
        random.pick(tensors)
    };
    let y = random.pick(tensors);
    let mut union = x.dims.clone();
    union.extend(y.dims.iter().filter(|d| !x.dims.contains(d)));
    let both = |op: &str| {
        (format!("{} {op} {}", x.name, y.name), {
            let wider = [x, y].into_iter().find(|t| t.dims.len() == union.len());
            wider.map_or_else(|| union.clone(), |t| t.dims.clone())
        })
    };
    let choice = random.below(if kind == Kind::Whole { 12 } else { 18 });
    match choice {
        0..=3 => {
            let mut kept = subset(random, &union, 0.5);
            kept.truncate(3);
            (format!("einsum({}, {} -> {})", x.name, y.name, names(&kept)), kept)
        }
        4 => both("+"),
        5 => both("-"),
        6 if kind == Kind::Whole && union.len() <= 4 => both("*"),
        7 | 8 => {
            let kept = subset(random, &x.dims, 0.5);
            let reduction =
                if kind == Kind::Whole { *random.pick(&["sum", "max", "min"]) } else { "mean" };
            if kept.len() == x.dims.len() {
                (format!("{} + 1", x.name), x.dims.clone())
            } else {
                (format!("{reduction}({} -> {})", x.name, names(&kept)), kept)
            }
        }
        9 => {
            // a and e have one size: the rename lays the tensor out anew.
            let (from, to) = if x.dims.contains(&0) { (0, 4) } else { (4, 0) };
            if x.dims.contains(&from) && !x.dims.contains(&to) {
                let dims = x.dims.iter().map(|&d| if d == from { to } else { d }).collect();
                (format!("rename({}, {} -> {})", x.name, DIMS[from].0, DIMS[to].0), dims)
            } else {
                (format!("-{}", x.name), x.dims.clone())
            }
        }
        10 if kind == Kind::Whole => (format!("relu({})", x.name), x.dims.clone()),
        11 => (format!("{} * 2", x.name), x.dims.clone()),
        12 => (format!("tanh({})", x.name), x.dims.clone()),
        13 => (format!("sigmoid({})", x.name), x.dims.clone()),
        14 => (format!("log(square({}) + 1)", x.name), x.dims.clone()),
        15 => (format!("gelu({})", x.name), x.dims.clone()),
        16 => {
            if let [.., last] = x.dims[..] {
                let kept = x.dims[..x.dims.len() - 1].to_vec();
                (format!("logsumexp({}, over:{})", x.name, DIMS[last].0), kept)
            } else {
                (format!("exp(0 - square({}))", x.name), x.dims.clone())
            }
        }
        17 => (format!("{} / (square({}) + 2)", x.name, y.name), {
            let wider = [x, y].into_iter().find(|t| t.dims.len() == union.len());
            wider.map_or_else(|| union.clone(), |t| t.dims.clone())
        }),
        _ => (format!("{} - 1", x.name), x.dims.clone()),
    }
}

/// The model on a random mesh under random rules that are legal, found by taking the mends that
/// the diagnostics offer.
pub(crate) fn laid_out(seed: u64, model: &str) -> Study {
    let mut random = Random::new(seed ^ 0x5EED);
    let mesh_names = ["m", "n", "o"];
    let count = 1 + random.below(3);
    let mut text = "mesh".to_owned();
    for name in &mesh_names[..count] {
        let size = *random.pick(&[2, 2, 2, 3, 4, 1]);
        let _ = write!(text, " {name}:{size}");
    }
    text += "\nlayout";
    for (dim, _) in DIMS {
        if random.chance(0.7) {
            let first = random.below(count);
            let _ = write!(text, " {dim}:{}", mesh_names[first]);
            let second = random.below(count);
            if second != first && random.chance(0.2) {
                let _ = write!(text, "+{}", mesh_names[second]);
            }
        }
    }
    let mut study = Study::new(&format!("{text}\n{model}"));
    for _ in 0..12 {
        let Some(error) = study.diagnostics().iter().find(|d| d.is_error()) else { break };
        assert!(is_layout_error(error), "{error:#?}\n{}", study.text());
        // The last mends leave a dimension whole: they lead to the empty layout in the end.
        let mends: Vec<_> = error.hints.iter().filter_map(|h| h.edit.clone()).collect();
        let leave = mends.iter().filter(|m| m.replacement.is_empty()).collect::<Vec<_>>();
        let mend = (*random.pick(&leave)).clone();
        study = Study::new(&apply(study.text(), &[mend]));
    }
    study
}

fn is_layout_error(d: &Diagnostic) -> bool {
    matches!(d.code, Code::MeshDimensionTwice | Code::NotDivisible)
}
