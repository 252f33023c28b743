//! Products, reductions, and functions element by element.

use super::In::{All, Run, Smooth, Whole};
use super::{A, D, DIMS, Draft, E, G, Row, Tensor, names, subset};

pub(super) const ROWS: &[Row] = &[
    (28, All, |d, x, y| Some(d.product(x, y))),
    (3, All, |d, x, _| {
        let kept = subset(&mut d.random, &x.dims, 0.5);
        Some(Tensor::new(format!("einsum({} -> {})", x.text, names(&kept)), kept))
    }),
    (6, All, |_, x, y| Some(both("+", x, y))),
    (6, All, |_, x, y| Some(both("-", x, y))),
    (6, All, |_, x, y| Some(both("*", x, y))),
    (3, Smooth, |_, x, y| {
        Some(Tensor::new(format!("{} / (square({}) + 2)", x.text, y.text), x.joined(&[y])))
    }),
    (2, All, |_, x, _| Some(one(x, "-{}"))),
    (3, All, |_, x, _| Some(one(x, "{} * 2"))),
    (2, Smooth, |_, x, _| Some(one(x, "(square({}) + 0.5) ^ 1.3"))),
    (8, All, |d, x, _| d.reduced("sum", x)),
    (5, All, |d, x, _| d.reduced("mean", x)),
    (5, All, |d, x, _| d.reduced("max", x)),
    (5, All, |d, x, _| d.reduced("min", x)),
    (5, Smooth, |d, x, _| d.reduced("logsumexp", x)),
    (5, All, |d, x, y| {
        (!d.is_whole() || x.joined(&[y]).iter().all(|d| ![D, G].contains(d)))
            .then(|| Tensor::new(format!("mean_square({}, {} * 2)", x.text, y.text), []))
    }),
    // a and e have one size: the rename lays the tensor out anew.
    (12, All, |_, x, _| {
        let (from, to) = if x.has(A) { (A, E) } else { (E, A) };
        let text = format!("rename({}, {} -> {})", x.text, DIMS[from].0, DIMS[to].0);
        (x.has(from) && !x.has(to)).then(|| Tensor::new(text, x.replaced(from, &[to])))
    }),
    // A sum that is still pending when it is laid out anew.
    (10, All, |d, x, y| {
        let sum = d.product(x, y);
        let (from, to) = if sum.has(A) { (A, E) } else { (E, A) };
        let text = format!("rename({}, {} -> {})", sum.text, DIMS[from].0, DIMS[to].0);
        (sum.has(from) && !sum.has(to)).then(|| Tensor::new(text, sum.replaced(from, &[to])))
    }),
    // Kinks lie where no number is by construction.
    (2, Whole, |_, x, _| Some(one(x, "relu({})"))),
    (2, Smooth, |_, x, _| Some(one(x, "relu({} - 0.417)"))),
    (3, Whole, |_, x, _| Some(one(x, "abs({})"))),
    (2, Smooth, |_, x, _| Some(one(x, "abs({} - 0.417)"))),
    (2, Whole, |_, x, _| Some(one(x, "sign({})"))),
    (2, Smooth, |_, x, _| Some(one(x, "sign({0} - 0.417) * {0}"))),
    (3, All, |_, x, _| Some(one(x, "square({})"))),
    (2, Smooth, |_, x, _| Some(one(x, "exp(0 - square({}))"))),
    (2, Smooth, |_, x, _| Some(one(x, "log(square({}) + 1)"))),
    (3, Smooth, |_, x, _| Some(one(x, "sqrt(square({}) + 0.5)"))),
    (3, Smooth, |_, x, _| Some(one(x, "rsqrt(square({}) + 0.5)"))),
    (3, Smooth, |_, x, _| Some(one(x, "tanh({})"))),
    (4, Smooth, |_, x, _| Some(one(x, "sigmoid({})"))),
    (4, Smooth, |_, x, _| Some(one(x, "gelu({})"))),
    (3, Smooth, |_, x, _| Some(one(x, "silu({})"))),
    (3, Smooth, |_, x, _| Some(one(x, "softplus({})"))),
    (3, Smooth, |_, x, _| Some(one(x, "elu({} - 0.417)"))),
    (3, Smooth, |_, x, _| Some(one(x, "sin({})"))),
    (3, Smooth, |_, x, _| Some(one(x, "cos({})"))),
    (2, Run, |_, x, _| Some(one(x, "stop_gradient({0}) * 3 - {0}"))),
    (1, Run, |_, x, _| Some(one(x, "stop_gradient({})"))),
    (3, All, |_, x, _| Some(one(x, "{} * (training() + 1)"))),
    (3, All, |d, x, y| Some(d.compared("maximum", x, y))),
    (3, All, |d, x, y| Some(d.compared("minimum", x, y))),
    (2, All, |d, x, y| Some(d.compared("less", x, y))),
    (2, All, |d, x, y| Some(d.compared("less_equal", x, y))),
    (2, All, |d, x, y| Some(d.compared("greater", x, y))),
    (2, All, |d, x, y| Some(d.compared("greater_equal", x, y))),
    (2, All, |d, x, y| Some(d.compared("equal", x, y))),
    (2, All, |d, x, y| Some(d.compared("not_equal", x, y))),
    (5, All, |d, x, y| {
        let z = d.random.pick(&d.tensors).clone();
        let condition = d.compared("less", x, y);
        let dims = condition.joined(&[x, &z]);
        Some(Tensor::new(format!("select({}, {}, {})", condition.text, x.text, z.text), dims))
    }),
    (3, Smooth, |d, x, _| d.along("softmax", "", x)),
    (3, Smooth, |d, x, _| d.along("log_softmax", "", x)),
    (4, Smooth, |d, x, _| d.along("layer_norm", " epsilon:0.1", x)),
    (4, Smooth, |d, x, _| d.along("rms_norm", " epsilon:0.1", x)),
];

/// A function of one tensor, element by element; `{}` and `{0}` stand for it.
fn one(x: &Tensor, form: &str) -> Tensor {
    Tensor::new(form.replace("{0}", "{}").replace("{}", &x.text), x.dims.clone())
}

fn both(op: &str, x: &Tensor, y: &Tensor) -> Tensor {
    Tensor::new(format!("{} {op} {}", x.text, y.text), x.joined(&[y]))
}

impl Draft {
    /// An einsum of two or three.
    fn product(&mut self, x: &Tensor, y: &Tensor) -> Tensor {
        let mut union = Tensor::new("", x.joined(&[y]));
        let mut list = format!("{}, {}", x.text, y.text);
        if self.random.chance(0.1) {
            let z = self.random.pick(&self.tensors).clone();
            union = Tensor::new("", union.joined(&[&z]));
            list = format!("{list}, {}", z.text);
        }
        let mut kept = subset(&mut self.random, &union.dims, 0.5);
        kept.truncate(3);
        Tensor::new(format!("einsum({list} -> {})", names(&kept)), kept)
    }

    fn reduced(&mut self, name: &str, x: &Tensor) -> Option<Tensor> {
        let kept = subset(&mut self.random, &x.dims, 0.5);
        let gone: Vec<usize> = x.dims.iter().copied().filter(|d| !kept.contains(d)).collect();
        let is_exact = name != "mean" || gone.iter().all(|d| ![D, G].contains(d));
        if gone.is_empty() || self.is_whole() && !is_exact {
            return None;
        }
        if self.random.chance(0.3) {
            let kept: Vec<usize> = x.dims.iter().copied().filter(|d| kept.contains(d)).collect();
            return Some(Tensor::new(format!("{name}({}, over:({}))", x.text, names(&gone)), kept));
        }
        Some(Tensor::new(format!("{name}({} -> {})", x.text, names(&kept)), kept))
    }

    /// A function of two that jumps or bends where they are equal.
    fn compared(&self, name: &str, x: &Tensor, y: &Tensor) -> Tensor {
        let dims = x.joined(&[y]);
        let (x, y) = (&x.text, &y.text);
        let text = if self.is_whole() {
            format!("{name}({x}, {y})")
        } else {
            format!("{name}({x}, {y} * 0.731 + 0.0137)")
        };
        Tensor::new(text, dims)
    }

    fn along(&mut self, name: &str, options: &str, x: &Tensor) -> Option<Tensor> {
        let dim = self.dim(x)?;
        let text = format!("{name}({}, dim:{}{options})", x.text, DIMS[dim].0);
        Some(Tensor::new(text, x.dims.clone()))
    }

    /// One of a tensor's dimensions.
    pub(super) fn dim(&mut self, x: &Tensor) -> Option<usize> {
        x.dims.get(self.random.below(x.dims.len().max(1))).copied()
    }
}
