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
const DIMS: [(&str, usize); 7] =
    [("a", 4), ("b", 8), ("c", 2), ("d", 6), ("e", 4), ("f", 16), ("g", 3)];
const A: usize = 0;
const B: usize = 1;
const C: usize = 2;
const D: usize = 3;
const E: usize = 4;
const F: usize = 5;
const G: usize = 6;

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
    let mut text = "dims a:4 b:8 c:2 d:6 e:4 f:16 g:3\n".to_owned();
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
    if random.chance(0.45)
        && let Some(moved) = moved(random, kind, x, y)
    {
        return moved;
    }
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

fn without(dims: &[usize], gone: usize) -> Vec<usize> {
    dims.iter().copied().filter(|&d| d != gone).collect()
}

fn replaced(dims: &[usize], from: usize, by: &[usize]) -> Vec<usize> {
    dims.iter().flat_map(|&d| if d == from { by.to_vec() } else { vec![d] }).collect()
}

/// All dimensions anew, in the same order of elements.
fn reshaped(random: &mut Random, x: &Tensor) -> Option<(String, Vec<usize>)> {
    let mut rest: usize = x.dims.iter().map(|&d| DIMS[d].1).product();
    let mut all: Vec<usize> = (0..DIMS.len()).collect();
    (0..all.len()).for_each(|i| all.swap(i, i + random.below(DIMS.len() - i)));
    let mut dims = Vec::new();
    for d in all {
        if rest.is_multiple_of(DIMS[d].1) {
            dims.push(d);
            rest /= DIMS[d].1;
        }
    }
    (rest == 1).then(|| (format!("reshape({} -> {})", x.name, names(&dims)), dims))
}

fn windowed(random: &mut Random, x: &Tensor) -> Option<(String, Vec<usize>)> {
    let has = |d: usize| x.dims.contains(&d);
    let free = |new: &[usize]| new.iter().all(|d| !x.dims.contains(d));
    let name = &x.name;
    Some(match random.below(3) {
        0 if has(B) && free(&[G]) => {
            let option = *random.pick(&["", " dilation:2", " wrap:on", " padding:1"]);
            (format!("window({name}, b -> b g, stride:1{option})"), replaced(&x.dims, B, &[B, G]))
        }
        1 if has(B) && free(&[A, G]) => {
            let option = *random.pick(&["", " padding:1", " wrap:on"]);
            (format!("window({name}, b -> a g, stride:2{option})"), replaced(&x.dims, B, &[A, G]))
        }
        2 if has(F) && free(&[E, D]) => {
            (format!("window({name}, f -> e d, stride:4)"), replaced(&x.dims, F, &[E, D]))
        }
        _ => return None,
    })
}

/// An operation that moves elements along dimensions; `None` where the one drawn does not apply.
fn moved(random: &mut Random, kind: Kind, x: &Tensor, y: &Tensor) -> Option<(String, Vec<usize>)> {
    let has = |d: usize| x.dims.contains(&d);
    let free = |new: &[usize]| new.iter().all(|d| !x.dims.contains(d));
    let name = &x.name;
    let dim = *x.dims.get(random.below(x.dims.len().max(1)))?;
    let along = DIMS[dim].0;
    let by = random.pick(&[-4, -3, -1, 0, 1, 2, 3, 5]);
    Some(match random.below(18) {
        0 | 1 => return reshaped(random, x),
        2 if x.dims.windows(2).any(|w| w == [B, C]) && free(&[F]) => {
            let dims = without(&replaced(&x.dims, B, &[F]), C);
            (format!("reshape({name}, b, c -> f)"), dims)
        }
        3 if has(F) && free(&[A, E]) => {
            (format!("reshape({name}, f -> a e)"), replaced(&x.dims, F, &[A, E]))
        }
        4 => {
            let wrap = if random.chance(0.5) { " wrap:on" } else { "" };
            (format!("shift({name}, dim:{along} by:{by}{wrap})"), x.dims.clone())
        }
        5 if has(B) && free(&[A]) => {
            let begin = random.below(3);
            let stride = if begin < 2 { 2 } else { 1 };
            let text = format!("slice({name}, b -> a, begin:{begin} stride:{stride})");
            (text, replaced(&x.dims, B, &[A]))
        }
        6 if has(E) && free(&[B]) => {
            let before = random.below(5);
            (format!("pad({name}, e -> b, before:{before})"), replaced(&x.dims, E, &[B]))
        }
        7..=9 if x.dims.len() < 4 => return windowed(random, x),
        10 if free(&[E, A]) => {
            let dims: Vec<usize> = [E, A].into_iter().chain(without(&x.dims, dim)).collect();
            (format!("gather({name}, index(e) * 2 - index(a), dim:{along})"), dims)
        }
        11 if DIMS[dim].1 > 2 && free(&[C]) => {
            let dims = without(&x.dims, dim).into_iter().chain([C]).collect();
            let ranks = format!("top_k_positions({name} -> c, dim:{along})");
            if kind == Kind::Whole && random.chance(0.5) {
                (ranks, dims)
            } else {
                // Positions come before the dimensions picked from, which here are all theirs.
                (format!("top_k({name} -> c, dim:{along})"), dims)
            }
        }
        12 if kind == Kind::Whole => {
            (format!("argmax({name}, dim:{along})"), without(&x.dims, dim))
        }
        13 => {
            let option =
                *random.pick(&["", " exclusive:on", " reverse:on", " exclusive:on reverse:on"]);
            (format!("cumsum({name}, dim:{along}{option})"), x.dims.clone())
        }
        14 if free(&[C]) && x.dims == y.dims => {
            let dims = [C].into_iter().chain(x.dims.clone()).collect();
            (format!("stack({name}, {} -> c)", y.name), dims)
        }
        15 if has(A) && free(&[B]) && x.dims == y.dims => {
            (format!("concat({name}, {} -> b, dim:a)", y.name), replaced(&x.dims, A, &[B]))
        }
        16 => (format!("unstack({name}, dim:{along} at:1)"), without(&x.dims, dim)),
        17 if kind == Kind::Whole => (format!("dropout({name}, rate:0.5)"), x.dims.clone()),
        17 => {
            let norm = *random.pick(&["layer_norm", "rms_norm"]);
            (format!("{norm}({name}, dim:{along} epsilon:0.1)"), x.dims.clone())
        }
        _ => return None,
    })
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
