//! What picks elements by their positions, and losses that name a class.

use super::In::{All, Smooth, Whole};
use super::{A, B, C, D, DIMS, Draft, E, Row, Tensor, subset};

pub(super) const ROWS: &[Row] = &[
    (4, All, |d, x, _| {
        let along = d.dim(x)?;
        let dims = [vec![E, A], x.without(along)].concat();
        let text = format!("gather({}, index(e) * 2 - index(a), dim:{})", x.text, DIMS[along].0);
        x.lacks(&[E, A]).then(|| Tensor::new(text, dims))
    }),
    // An embedding: positions that are fed, which may share dimensions with the table.
    (6, All, |d, x, _| {
        let along = d.dim(x)?;
        let free: Vec<usize> = [A, B, C, D, E].into_iter().filter(|&d| d != along).collect();
        let mut of = subset(&mut d.random, &free, 0.4);
        of.truncate(2);
        let positions = d.positions(&of, DIMS[along].1);
        let rest = x.without(along).into_iter().filter(|d| !of.contains(d));
        let dims: Vec<usize> = of.iter().copied().chain(rest).collect();
        let text = format!("gather({}, {}, dim:{})", x.text, positions.text, DIMS[along].0);
        Some(Tensor::new(text, dims))
    }),
    (6, All, |d, x, _| {
        let (along, x) = (d.dim(x)?, d.untied(x)?);
        let to = *d.random.pick(&[C, C, A, E]);
        let dims = x.without(along).into_iter().chain([to]).collect::<Vec<_>>();
        let text = format!("top_k({} -> {}, dim:{})", x.text, DIMS[to].0, DIMS[along].0);
        (DIMS[along].1 > DIMS[to].1 && !dims[..dims.len() - 1].contains(&to) && !x.has(to))
            .then(|| Tensor::new(text, dims))
    }),
    (6, All, |d, x, _| {
        let (along, x) = (d.dim(x)?, d.untied(x)?);
        let dims = x.without(along).into_iter().chain([C]).collect::<Vec<_>>();
        let text = format!("top_k_positions({} -> c, dim:{})", x.text, DIMS[along].0);
        (DIMS[along].1 > 2 && x.lacks(&[C])).then(|| Tensor::new(text, dims))
    }),
    (4, All, |d, x, _| {
        let (along, x) = (d.dim(x)?, d.untied(x)?);
        let text = format!("argmax({}, dim:{})", x.text, DIMS[along].0);
        Some(Tensor::new(text, x.without(along)))
    }),
    (4, Whole, |d, x, _| {
        let to = *d.random.pick(&[A, B, C, D]);
        let text = format!("one_hot({}, dim:{})", x.text, DIMS[to].0);
        x.lacks(&[to]).then(|| Tensor::new(text, x.joined(&[&Tensor::new("", [to])])))
    }),
    (4, Smooth, |d, x, _| {
        let to = *d.random.pick(&[A, B, C, D]);
        let of: Vec<usize> = x.without(to).into_iter().take(2).collect();
        let labels = d.positions(&of, DIMS[to].1);
        let text = format!("{} * one_hot({}, dim:{})", x.text, labels.text, DIMS[to].0);
        Some(Tensor::new(text, x.joined(&[&Tensor::new("", [of, vec![to]].concat())])))
    }),
    (8, Smooth, |d, x, _| {
        let class = d.dim(x)?;
        let rest = x.without(class);
        let labels = d.positions(&rest, DIMS[class].1 - 1);
        let options = *d.random.pick(&[
            "",
            " label_smoothing:0.1",
            " z_loss:0.01",
            " label_smoothing:0.2 z_loss:0.1",
        ]);
        let (x, labels, class) = (&x.text, &labels.text, DIMS[class].0);
        Some(Tensor::new(format!("cross_entropy({x}, {labels}, dim:{class}{options})"), rest))
    }),
    (4, Smooth, |d, x, y| {
        let class = d.dim(x)?;
        let fits = y.has(class) && y.dims.iter().all(|&d| x.has(d));
        let (rest, class) = (x.without(class), DIMS[class].0);
        let text =
            format!("cross_entropy({}, softmax({}, dim:{class}), dim:{class})", x.text, y.text);
        fits.then(|| Tensor::new(text, rest))
    }),
];

impl Draft {
    /// The tensor, without equals along a dimension whose order rounding would decide.
    fn untied(&self, x: &Tensor) -> Option<Tensor> {
        if self.is_whole() {
            return Some(x.clone());
        }
        let terms: Vec<String> =
            x.dims.iter().map(|&d| format!("sin(index({}) * 1.7)", DIMS[d].0)).collect();
        let text = [vec![x.text.clone()], terms].concat().join(" + ");
        (!x.dims.is_empty()).then(|| Tensor::new(text, x.dims.clone()))
    }
}
