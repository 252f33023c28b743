//! What moves elements along dimensions, or reads several of them at once.

use super::In::{All, Run, Smooth};
use super::{A, B, C, D, DIMS, Draft, E, F, G, Row, Tensor, names};

pub(super) const ROWS: &[Row] = &[
    (6, All, |d, x, _| d.reshaped(x)),
    (3, All, |_, x, _| {
        let dims: Vec<usize> = Tensor::new("", x.replaced(B, &[F])).without(C);
        (x.dims.windows(2).any(|w| w == [B, C]) && x.lacks(&[F]))
            .then(|| Tensor::new(format!("reshape({}, b, c -> f)", x.text), dims))
    }),
    (3, All, |_, x, _| {
        let text = format!("reshape({}, f -> a e)", x.text);
        (x.has(F) && x.lacks(&[A, E])).then(|| Tensor::new(text, x.replaced(F, &[A, E])))
    }),
    (4, All, |d, x, _| {
        let dims = d.shuffled(&x.dims);
        Some(Tensor::new(format!("transpose({} -> {})", x.text, names(&dims)), dims))
    }),
    (4, All, |d, x, _| {
        let new: Vec<usize> = (0..DIMS.len()).filter(|&d| !x.has(d)).collect();
        let all = [x.dims.clone(), vec![*d.random.pick(&new)]].concat();
        let dims = d.shuffled(&all);
        Some(Tensor::new(format!("broadcast({} -> {})", x.text, names(&dims)), dims))
    }),
    (4, All, |d, x, _| {
        let along = DIMS[d.dim(x)?].0;
        let by = *d.random.pick(&[-4, -3, -1, 0, 1, 2, 3, 5]);
        let wrap = *d.random.pick(&["", " wrap:on"]);
        let text = format!("shift({}, dim:{along} by:{by}{wrap})", x.text);
        Some(Tensor::new(text, x.dims.clone()))
    }),
    (4, All, |d, x, _| {
        let begin = d.random.below(3);
        let stride = if begin < 2 { 2 } else { 1 };
        let text = format!("slice({}, b -> a, begin:{begin} stride:{stride})", x.text);
        (x.has(B) && x.lacks(&[A])).then(|| Tensor::new(text, x.replaced(B, &[A])))
    }),
    (4, All, |d, x, _| {
        let text = format!("pad({}, e -> b, before:{})", x.text, d.random.below(5));
        (x.has(E) && x.lacks(&[B])).then(|| Tensor::new(text, x.replaced(E, &[B])))
    }),
    (4, All, |d, x, _| {
        let option = *d.random.pick(&["", " dilation:2", " wrap:on", " padding:1"]);
        let text = format!("window({}, b -> b g, stride:1{option})", x.text);
        (x.has(B) && x.lacks(&[G])).then(|| Tensor::new(text, x.replaced(B, &[B, G])))
    }),
    (4, All, |d, x, _| {
        let option = *d.random.pick(&["", " padding:1", " wrap:on"]);
        let text = format!("window({}, b -> a g, stride:2{option})", x.text);
        (x.has(B) && x.lacks(&[A, G])).then(|| Tensor::new(text, x.replaced(B, &[A, G])))
    }),
    (3, All, |_, x, _| {
        let text = format!("window({}, f -> e d, stride:4)", x.text);
        (x.has(F) && x.lacks(&[E, D])).then(|| Tensor::new(text, x.replaced(F, &[E, D])))
    }),
    (8, All, |d, x, _| d.conv(x)),
    (3, All, |d, x, _| d.conv_of_two(x)),
    (8, All, |d, x, _| d.pool("max_pool", x)),
    (8, All, |d, x, _| d.pool("avg_pool", x)),
    (4, All, |d, x, _| {
        let along = DIMS[d.dim(x)?].0;
        let option =
            *d.random.pick(&["", " exclusive:on", " reverse:on", " exclusive:on reverse:on"]);
        Some(Tensor::new(format!("cumsum({}, dim:{along}{option})", x.text), x.dims.clone()))
    }),
    (6, All, |_, x, y| {
        let joined = x.joined(&[y]);
        let all = |t: &Tensor| {
            if t.dims.len() == joined.len() {
                t.text.clone()
            } else {
                format!("broadcast({} -> {})", t.text, names(&joined))
            }
        };
        let dims = [vec![C], joined.clone()].concat();
        let text = format!("stack({}, {} * 2 -> c)", all(x), all(y));
        (x.lacks(&[C]) && y.lacks(&[C])).then(|| Tensor::new(text, dims))
    }),
    (8, All, |_, x, y| {
        let text = format!("concat({}, {} -> b, dim:a)", x.text, y.text);
        let fits = x.has(A) && y.has(A) && x.lacks(&[B]) && y.dims.iter().all(|&d| x.has(d));
        (fits && x.dims.len() == y.dims.len()).then(|| Tensor::new(text, x.replaced(A, &[B])))
    }),
    (3, All, |_, x, _| {
        let text = format!("concat({0}, {0} * 2 -> b, dim:e)", x.text);
        (x.has(E) && x.lacks(&[B])).then(|| Tensor::new(text, x.replaced(E, &[B])))
    }),
    (4, All, |d, x, _| {
        let dim = d.dim(x)?;
        let at = d.random.below(DIMS[dim].1);
        let text = format!("unstack({}, dim:{} at:{at})", x.text, DIMS[dim].0);
        Some(Tensor::new(text, x.without(dim)))
    }),
    (4, All, |_, x, _| Some(Tensor::new(format!("dropout({}, rate:0.5)", x.text), x.dims.clone()))),
    (3, Run, |_, x, _| {
        let noise = format!("less(random({}), 0.5)", names(&x.dims).replace(' ', ", "));
        let text = format!("{} * {noise}", x.text);
        (!x.dims.is_empty()).then(|| Tensor::new(text, x.dims.clone()))
    }),
    (3, Smooth, |_, x, _| {
        let noise = format!("random({})", names(&x.dims).replace(' ', ", "));
        let text = format!("{} * {noise}", x.text);
        (!x.dims.is_empty()).then(|| Tensor::new(text, x.dims.clone()))
    }),
];

impl Draft {
    fn shuffled(&mut self, dims: &[usize]) -> Vec<usize> {
        let mut all = dims.to_vec();
        (0..all.len()).for_each(|i| all.swap(i, i + self.random.below(dims.len() - i)));
        all
    }

    /// All dimensions anew, in the same order of elements.
    fn reshaped(&mut self, x: &Tensor) -> Option<Tensor> {
        let mut rest = super::elements(&x.dims);
        let mut dims = Vec::new();
        for d in self.shuffled(&(0..DIMS.len()).collect::<Vec<_>>()) {
            if rest.is_multiple_of(DIMS[d].1) {
                dims.push(d);
                rest /= DIMS[d].1;
            }
        }
        (rest == 1).then(|| Tensor::new(format!("reshape({} -> {})", x.text, names(&dims)), dims))
    }

    /// A convolution along `b`, of the channels of another dimension where there is one.
    fn conv(&mut self, x: &Tensor) -> Option<Tensor> {
        if !x.has(B) || !x.lacks(&[G]) {
            return None;
        }
        let others = x.without(B);
        let channel = others.get(self.random.below(others.len().max(1))).copied();
        let new: Vec<usize> = [A, C, D, E].into_iter().filter(|&d| !x.has(d)).collect();
        let out = *self.random.pick(&new);
        let (place, options) = if out != A && x.lacks(&[A]) && self.random.chance(0.3) {
            (A, *self.random.pick(&[" to:a stride:2", " to:a stride:2 padding:1"]))
        } else {
            (B, *self.random.pick(&["", " dilation:2", " padding:causal", " padding:1"]))
        };
        let filter =
            self.param(&[Some(G), channel, Some(out)].into_iter().flatten().collect::<Vec<_>>());
        let kept = x.dims.iter().filter(|&&d| Some(d) != channel);
        let mut dims: Vec<usize> = kept.map(|&d| if d == B { place } else { d }).collect();
        dims.push(out);
        let text = format!(
            "conv({}, {} -> {}, over:b window:g{options})",
            x.text,
            filter.text,
            names(&dims)
        );
        Some(Tensor::new(text, dims))
    }

    /// A convolution along two dimensions at once.
    fn conv_of_two(&mut self, x: &Tensor) -> Option<Tensor> {
        if !x.has(B) || !x.has(A) || !x.lacks(&[G, C]) {
            return None;
        }
        let filter = self.param(&[G, C]);
        let dims = x.dims.clone();
        let text = format!(
            "conv({}, {} -> {}, over:(b a) window:(g c))",
            x.text,
            filter.text,
            names(&dims)
        );
        Some(Tensor::new(text, dims))
    }

    /// The greatest or the mean of windows.
    fn pool(&mut self, name: &str, x: &Tensor) -> Option<Tensor> {
        let (from, window, to, options) = *self.random.pick(&[
            (B, C, A, ""),
            (F, A, E, ""),
            (F, E, A, ""),
            (D, C, G, ""),
            (D, G, C, ""),
            (B, A, B, " stride:1 padding:same"),
            (B, G, A, " stride:2 padding:same"),
            (B, C, A, " stride:2 padding:same"),
            (B, G, D, " stride:1"),
        ]);
        let is_exact = name == "max_pool" || window != G;
        if !x.has(from)
            || !x.lacks(&[window])
            || to != from && x.has(to)
            || self.is_whole() && !is_exact
        {
            return None;
        }
        let (along, by) = (DIMS[from].0, DIMS[window].0);
        let text =
            format!("{name}({}, over:{along} window:{by} to:{}{options})", x.text, DIMS[to].0);
        Some(Tensor::new(text, x.replaced(from, &[to])))
    }
}
