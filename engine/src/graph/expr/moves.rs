//! Functions that move elements along dimensions: renames, reshapes, windows, gathers.

use super::args::Args;
use crate::diag::Code;
use crate::graph::op::{Edge, Element, Noise, Op, Reduction, Running, Window};
use crate::index::NodeId;
use crate::layout::dims::{Dimension, Name, Shape};
use crate::spec::ast::{Expr, ExprKind, Ident, OptValue};

/// What a window reads beyond a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Padding {
    /// As many places as strides fit into the tensor.
    Same,
    /// The same, all of it in front: windows end at their place.
    Causal,
    /// Places whose windows lie inside.
    Valid,
    /// This many positions in front.
    Before(u64),
}

/// The numbers of a window along one dimension.
#[derive(Debug, Clone, Copy)]
struct Steps {
    stride: u64,
    dilation: u64,
    padding: Padding,
    edge: Edge,
}

/// Builds a call.
type Build = for<'x, 's, 'a, 'c> fn(&'x mut Args<'s, 'a, 'c>) -> Option<NodeId>;

/// The functions whose arguments are not all tensors.
const MOVERS: &[(&str, Build)] = &[
    ("rename", |args| args.rename()),
    ("index", |args| args.index()),
    ("random", |args| args.random()),
    ("broadcast", |args| args.broadcast()),
    ("transpose", |args| args.transpose()),
    ("reshape", |args| args.reshape()),
    ("slice", |args| args.slice()),
    ("pad", |args| args.pad()),
    ("shift", |args| args.shift()),
    ("unstack", |args| args.unstack()),
    ("window", |args| args.window()),
    ("max_pool", |args| args.pool(Reduction::Max)),
    ("avg_pool", |args| args.pool(Reduction::Mean)),
    ("top_k", |args| args.top_k(true)),
    ("top_k_positions", |args| args.top_k(false)),
    ("argmax", |args| args.argmax()),
    ("cumsum", |args| args.cumsum()),
    ("dropout", |args| args.dropout()),
];

/// How a function is built, if its arguments are not all tensors.
pub fn mover(name: &str) -> Option<Build> {
    MOVERS.iter().find(|m| m.0 == name).map(|m| m.1)
}

impl Args<'_, '_, '_> {
    fn rename(&mut self) -> Option<NodeId> {
        let (x, names) = self.tensor_and_dims(1)?;
        let to = self.arrow()?;
        if names.len() != to.rank() {
            return self.wrong();
        }
        let own = self.shape(x);
        let mut dims = own.dims().to_vec();
        for (from, to) in names.iter().zip(to.dims()) {
            let size = self.size_of(x, from).size;
            if size != to.size {
                return self.wrong_size(to, size, &format!("a rename from `{from}` needs"));
            }
            if let Some(place) = own.axis(from) {
                dims[usize::from(place.0)] = to.clone();
            }
        }
        match Shape::new(dims) {
            Ok(shape) => Some(self.add(Op::Rename, vec![x], shape)),
            Err(twice) => {
                self.misfit(format!("The tensor {own} already has a dimension `{twice}`"))
            }
        }
    }

    /// The arguments as names of dimensions.
    fn named_dims(&mut self) -> Option<Shape> {
        let ident = |e: &Expr| {
            let ExprKind::Name(text) = &e.kind else { return None };
            Some(Ident { text: text.clone(), span: e.span })
        };
        match self.call.args.iter().map(ident).collect::<Option<Vec<Ident>>>() {
            Some(names) if !names.is_empty() => self.scope.shape(&names),
            _ => self.wrong(),
        }
    }

    fn index(&mut self) -> Option<NodeId> {
        let shape = self.named_dims()?;
        if shape.rank() != 1 {
            return self.wrong();
        }
        Some(self.add(Op::Index, Vec::new(), shape))
    }

    fn random(&mut self) -> Option<NodeId> {
        let shape = self.named_dims()?;
        Some(self.add(Op::Noise(Noise::Uniform, None), Vec::new(), shape))
    }

    fn dropout(&mut self) -> Option<NodeId> {
        let x = self.tensor()?;
        let unit = |n: f64| (0.0..1.0).contains(&n);
        let takes = "a number from 0 up to, not including, 1";
        let rate = self.number("rate", f64::NAN, takes, unit)?;
        if rate.is_nan() {
            return self.wrong();
        }
        let shape = self.shape(x);
        let mask = self.add(Op::Noise(Noise::Dropout(rate), None), Vec::new(), shape);
        Some(self.apply(Element::Mul, &[x, mask]))
    }

    fn broadcast(&mut self) -> Option<NodeId> {
        let x = self.tensor()?;
        let shape = self.arrow()?;
        let own = self.shape(x);
        match own.dims().iter().find(|d| !shape.has(&d.name)) {
            Some(lost) => {
                let message = format!("`{}` of {own} is missing after the arrow", lost.name);
                self.misfit(message)
            }
            None => Some(self.add(Op::Elementwise(Element::Identity), vec![x], shape)),
        }
    }

    fn transpose(&mut self) -> Option<NodeId> {
        let x = self.tensor()?;
        let shape = self.arrow()?;
        let own = self.shape(x);
        if shape.rank() != own.rank() || own.dims().iter().any(|d| !shape.has(&d.name)) {
            return self
                .misfit(format!("A transpose of {own} has the same dimensions, not {shape}"));
        }
        Some(self.add(Op::Elementwise(Element::Identity), vec![x], shape))
    }

    fn reshape(&mut self) -> Option<NodeId> {
        let (x, names) = self.tensor_and_dims(0)?;
        let to = self.arrow()?;
        let own = self.shape(x);
        let shape = if names.is_empty() {
            to
        } else {
            let first = own.axis(&names[0]).map_or(0, |a| usize::from(a.0));
            let run = own.dims().iter().skip(first).map(|d| &d.name);
            if !run.take(names.len()).eq(names.iter()) {
                let list = crate::graph::op::join_names(&names);
                return self.misfit(format!(
                    "`{list}` do not stand next to each other in {own}; transpose it first"
                ));
            }
            let dims = own.dims();
            let (before, after) = (&dims[..first], &dims[first + names.len()..]);
            match Shape::new([before, to.dims(), after].concat()) {
                Ok(shape) => shape,
                Err(twice) => {
                    return self
                        .misfit(format!("The tensor {own} already has a dimension `{twice}`"));
                }
            }
        };
        if shape.elements() != own.elements() {
            return self.misfit(format!(
                "{own} has {} elements, {shape} has {}: a reshape keeps their number",
                own.elements(),
                shape.elements()
            ));
        }
        Some(self.add(Op::Reshape, vec![x], shape))
    }

    /// The tensor, its dimension and the new one of `f(x, from -> to)`.
    fn renamed_dim(&mut self) -> Option<(NodeId, Dimension, Dimension)> {
        let (x, names) = self.tensor_and_dims(1)?;
        let ([from], [to]) = (names.as_slice(), self.arrow_of::<1>()?) else {
            return self.wrong();
        };
        Some((x, self.size_of(x, from), to))
    }

    fn size_of(&self, x: NodeId, name: &Name) -> Dimension {
        let shape = self.scope.graph.shape(x);
        shape
            .axis(name)
            .map_or_else(|| Dimension::new(Name::clone(name), 1), |a| shape.dim(a).clone())
    }

    fn slice(&mut self) -> Option<NodeId> {
        let (x, from, to) = self.renamed_dim()?;
        let (begin, stride) = (self.whole("begin", 0, 0)?, self.whole("stride", 1, 1)?);
        let last = begin as u64 + stride as u64 * (to.size - 1);
        if last >= from.size {
            return self.misfit(format!(
                "The slice of {} positions from {begin} on, every {stride}, ends at {last}: `{}` has only {} elements",
                to.size, from.name, from.size
            ));
        }
        self.read(x, &from, &to, None, (stride as u64, 1, begin, Edge::Zero))
    }

    fn pad(&mut self) -> Option<NodeId> {
        let (x, from, to) = self.renamed_dim()?;
        let before = self.whole("before", 0, 0)?;
        if before as u64 + from.size > to.size {
            let why = format!("{before} zeros and the {} of `{}` are", from.size, from.name);
            return self.wrong_size(&to, before as u64 + from.size, &why);
        }
        self.read(x, &from, &to, None, (1, 1, -before, Edge::Zero))
    }

    fn shift(&mut self) -> Option<NodeId> {
        let x = self.tensor()?;
        let dim = self.dim_of(x)?;
        if self.option("by").is_none() {
            return self.wrong();
        }
        let by = self.whole("by", 0, -1 << 50)?;
        let edge = if self.switch("wrap")? { Edge::Wrap } else { Edge::Zero };
        self.read(x, &dim, &dim, None, (1, 1, -by, edge))
    }

    fn unstack(&mut self) -> Option<NodeId> {
        let x = self.tensor()?;
        let dim = self.dim_of(x)?;
        let at = self.whole("at", 0, 0)?;
        if at as u64 >= dim.size {
            return self.misfit(format!(
                "`{}` has {} elements, counted from 0: there is no {at}",
                dim.name, dim.size
            ));
        }
        let position = self.constant(at as f64);
        let mark = self.at(&dim, position);
        let kept = self.shape(x).filter(|d| d.name != dim.name);
        Some(self.add(Op::Einsum, vec![x, mark], kept))
    }

    /// Adds the window (stride, dilation, offset, edge).
    fn read(
        &mut self,
        x: NodeId,
        from: &Dimension,
        to: &Dimension,
        taps: Option<&Dimension>,
        (stride, dilation, offset, edge): (u64, u64, i64, Edge),
    ) -> Option<NodeId> {
        let new: Vec<Dimension> = [Some(to), taps].into_iter().flatten().cloned().collect();
        let shape = self.replaced(&self.shape(x), &from.name, &new)?;
        let window = Window {
            from: Name::clone(&from.name),
            to: Name::clone(&to.name),
            taps: taps.map(|t| Name::clone(&t.name)),
            stride,
            dilation,
            offset,
            edge,
        };
        Some(self.add(Op::Window(window), vec![x], shape))
    }

    /// Places at which windows of `taps` lie on `from`.
    fn windows(
        &mut self,
        x: NodeId,
        [from, to, taps]: [&Dimension; 3],
        Steps { stride, dilation, padding, edge }: Steps,
    ) -> Option<NodeId> {
        let span = dilation * (taps.size - 1) + 1;
        let fit = |padded: u64| padded.checked_sub(span).map(|rest| rest / stride + 1);
        if edge == Edge::Wrap && !from.size.is_multiple_of(stride) {
            return self.misfit(format!(
                "Windows that wrap need a stride that divides `{}`, which has {} elements",
                from.name, from.size
            ));
        }
        let places = match padding {
            _ if edge == Edge::Wrap => Some(from.size / stride),
            Padding::Same | Padding::Causal => Some(from.size.div_ceil(stride)),
            Padding::Valid => fit(from.size),
            Padding::Before(n) => fit(from.size + 2 * n),
        };
        let Some(places) = places else {
            return self.misfit(format!(
                "A window of {span} positions does not fit into `{}`, which has {}",
                from.name, from.size
            ));
        };
        if to.size != places {
            let why = format!("the windows along `{}` have places:", from.name);
            return self.wrong_size(to, places, &why);
        }
        let all = ((places - 1) * stride + span).saturating_sub(from.size);
        let before = match padding {
            Padding::Same => all / 2,
            Padding::Causal => all,
            Padding::Valid => 0,
            Padding::Before(n) => n,
        };
        self.read(x, from, to, Some(taps), (stride, dilation, -before.cast_signed(), edge))
    }

    fn padding(&mut self, default: Padding) -> Option<Padding> {
        let Some(option) = self.option("padding") else { return Some(default) };
        match &option.value {
            OptValue::Word(w) if w == "same" => Some(Padding::Same),
            OptValue::Word(w) if w == "causal" => Some(Padding::Causal),
            OptValue::Word(w) if w == "valid" => Some(Padding::Valid),
            OptValue::Number(n) if n.fract() == 0.0 && (0.0..1e9).contains(n) => {
                Some(Padding::Before(*n as u64))
            }
            OptValue::Number(_) | OptValue::Word(_) | OptValue::List(_) | OptValue::Call { .. } => {
                let (span, takes) =
                    (option.value_span, "same, causal, valid or a number of positions");
                self.scope.complain(Code::BadOption, span, format!("`padding` is {takes}"));
                None
            }
        }
    }

    fn window(&mut self) -> Option<NodeId> {
        let (x, names) = self.tensor_and_dims(1)?;
        let ([from], [to, taps]) = (names.as_slice(), self.arrow_of::<2>()?) else {
            return self.wrong();
        };
        let from = self.size_of(x, from);
        let edge = if self.switch("wrap")? { Edge::Wrap } else { Edge::Zero };
        let steps = Steps {
            stride: self.whole("stride", 1, 1)? as u64,
            dilation: self.whole("dilation", 1, 1)? as u64,
            padding: self.padding(Padding::Same)?,
            edge,
        };
        self.windows(x, [&from, &to, &taps], steps)
    }

    /// The dimensions `over:`, `to:` and `window:` list, one of each per window.
    fn window_dims(&mut self, x: NodeId) -> Option<Vec<[Dimension; 3]>> {
        let (over, window) = (self.dims("over")?, self.dims("window")?);
        let to = if self.option("to").is_some() { self.dims("to")? } else { over.clone() };
        if over.is_empty() || over.len() != window.len() || over.len() != to.len() {
            return self.wrong();
        }
        let shape = self.shape(x);
        self.all_in(over.iter().map(|d| &d.name), &shape)?;
        let triples = over.into_iter().zip(to).zip(window);
        Some(triples.map(|((o, t), w)| [o, t, w]).collect())
    }

    /// Convolution: windows of the input, multiplied with the filter.
    pub fn conv(&mut self, x: NodeId, filter: NodeId) -> Option<NodeId> {
        let dims = self.window_dims(x)?;
        let shape = self.shape(filter);
        self.all_in(dims.iter().map(|d| &d[2].name), &shape)?;
        let own = self.shape(x);
        if self.call.arrow.is_none() && own.dims().iter().all(|d| !shape.has(&d.name)) {
            return self.misfit(format!(
                "The input {own} and the filter {shape} share no dimension of channels; name the result's dimensions after an arrow if that is meant"
            ));
        }
        let steps = Steps {
            stride: self.whole("stride", 1, 1)? as u64,
            dilation: self.whole("dilation", 1, 1)? as u64,
            padding: self.padding(Padding::Same)?,
            edge: Edge::Zero,
        };
        let mut windowed = x;
        for [from, to, taps] in &dims {
            windowed = self.windows(windowed, [from, to, taps], steps)?;
        }
        self.einsum(&[windowed, filter])
    }

    fn pool(&mut self, reduction: Reduction) -> Option<NodeId> {
        let mut x = self.tensor()?;
        let dims = self.window_dims(x)?;
        let (given, padding) = (self.whole("stride", 0, 1)?, self.padding(Padding::Valid)?);
        let edge = if reduction == Reduction::Max { Edge::Lowest } else { Edge::Zero };
        for [from, to, taps] in &dims {
            let stride = if given > 0 { given as u64 } else { taps.size };
            let steps = Steps { stride, dilation: 1, padding, edge };
            x = self.windows(x, [from, to, taps], steps)?;
        }
        let kept = self.shape(x).filter(|d| dims.iter().all(|t| t[2].name != d.name));
        Some(self.reduce_to(x, reduction, &kept))
    }

    /// Inputs along a new dimension: at each of its positions the input of this number.
    pub fn stack(&mut self, nodes: &[NodeId]) -> Option<NodeId> {
        let [dim] = self.arrow_of::<1>()?;
        if dim.size != nodes.len() as u64 {
            return self.wrong_size(&dim, nodes.len() as u64, "the tensors to stack are");
        }
        let index = self.index_of(&dim);
        let mut rest = *nodes.last()?;
        if self.shape(rest).has(&dim.name) {
            return self.misfit(format!("The tensors already have a dimension `{}`", dim.name));
        }
        for (i, &x) in nodes.iter().enumerate().rev().skip(1) {
            let last = self.constant(i as f64);
            let mine = self.apply(Element::LessEqual, &[index, last]);
            rest = self.apply(Element::Select, &[mine, x, rest]);
        }
        if nodes.len() == 1 {
            let shape = self.shape(index).union(&self.shape(rest));
            rest = self.spread(rest, &shape);
        }
        Some(rest)
    }

    /// Inputs one after the other: each between zeros, all added.
    pub fn concat(&mut self, nodes: &[NodeId]) -> Option<NodeId> {
        let ([to], listed) = (self.arrow_of::<1>()?, self.dims("dim")?);
        let dims: Vec<Dimension> = match listed.as_slice() {
            [one] => nodes.iter().map(|_| one.clone()).collect(),
            many if many.len() == nodes.len() => listed,
            _ => return self.wrong(),
        };
        let total: u64 = dims.iter().map(|d| d.size).sum();
        if to.size != total {
            return self.wrong_size(&to, total, "the inputs one after the other have");
        }
        let mut before: u64 = 0;
        let mut sum: Option<NodeId> = None;
        for (&x, dim) in nodes.iter().zip(&dims) {
            let shape = self.shape(x);
            self.all_in([&dim.name].into_iter(), &shape)?;
            let part = self.read(x, dim, &to, None, (1, 1, -before.cast_signed(), Edge::Zero))?;
            before += dim.size;
            sum = Some(match sum {
                None => part,
                Some(so_far) => {
                    let (a, b) = (self.shape(so_far), self.shape(part));
                    if a.rank() != b.rank() || a.union(&b).rank() != a.rank() {
                        return self.misfit(format!(
                            "{a} and {b} have different dimensions beside the one they are joined along"
                        ));
                    }
                    self.apply(Element::Add, &[so_far, part])
                }
            });
        }
        sum
    }

    /// Elements of a table at named positions along one of its dimensions.
    pub fn gather(&mut self, table: NodeId, positions: NodeId) -> Option<NodeId> {
        let dim = self.dim_of(table)?;
        self.pick(table, positions, &dim)
    }

    fn pick(&mut self, table: NodeId, positions: NodeId, dim: &Dimension) -> Option<NodeId> {
        let named = self.shape(positions);
        if named.has(&dim.name) {
            return self.misfit(format!(
                "The positions {named} have the dimension `{}` that they pick along; rename theirs first",
                dim.name
            ));
        }
        let rest = self.shape(table).filter(|d| d.name != dim.name);
        let shape = named.union(&rest);
        Some(self.add(Op::Gather(Name::clone(&dim.name)), vec![table, positions], shape))
    }

    fn top_k(&mut self, values: bool) -> Option<NodeId> {
        let x = self.tensor()?;
        let (dim, [to]) = (self.dim_of(x)?, self.arrow_of::<1>()?);
        if to.size > dim.size {
            return self.misfit(format!(
                "`{}` asks for the greatest {} of `{}`, which has only {} elements",
                to.name, to.size, dim.name, dim.size
            ));
        }
        let rest = self.shape(x).filter(|d| d.name != dim.name);
        let mut dims = rest.dims().to_vec();
        dims.push(to.clone());
        let Ok(shape) = Shape::new(dims) else {
            return self.misfit(format!("The tensor already has a dimension `{}`", to.name));
        };
        let op = Op::TopK { from: Name::clone(&dim.name), to: Some(Name::clone(&to.name)) };
        let positions = self.add(op, vec![x], shape);
        if values { self.pick(x, positions, &dim) } else { Some(positions) }
    }

    fn argmax(&mut self) -> Option<NodeId> {
        let x = self.tensor()?;
        let dim = self.dim_of(x)?;
        let shape = self.shape(x).filter(|d| d.name != dim.name);
        let op = Op::TopK { from: Name::clone(&dim.name), to: None };
        Some(self.add(op, vec![x], shape))
    }

    fn cumsum(&mut self) -> Option<NodeId> {
        let x = self.tensor()?;
        let dim = Name::clone(&self.dim_of(x)?.name);
        let running =
            Running { exclusive: self.switch("exclusive")?, reverse: self.switch("reverse")? };
        let shape = self.shape(x);
        Some(self.add(Op::Cumsum(dim, running), vec![x], shape))
    }
}
