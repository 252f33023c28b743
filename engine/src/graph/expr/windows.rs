//! Functions that read along a dimension: slices, pads, shifts, concatenation, windows, convolution
//! and pooling. All are one operation, [`Window`].

use super::args::Args;
use crate::diag::Diagnostic;
use crate::graph::op::{Edge, Element, Op, Reduction, Window};
use crate::graph::options::not_among;
use crate::index::NodeId;
use crate::layout::dims::{Dimension, Name};
use crate::spec::ast::OptValue;

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

impl Args<'_, '_, '_> {
    /// The tensor, its dimension and the new one of `f(x, from -> to)`.
    fn renamed_dim(&mut self) -> Option<(NodeId, Dimension, Dimension)> {
        let (x, names) = self.tensor_and_dims(1)?;
        let ([from], [to]) = (names.as_slice(), self.arrow_of::<1>()?) else {
            return self.wrong();
        };
        Some((x, self.size_of(x, from), to))
    }

    pub(super) fn size_of(&self, x: NodeId, name: &Name) -> Dimension {
        let shape = self.scope.graph.shape(x);
        shape
            .axis(name)
            .map_or_else(|| Dimension::new(Name::clone(name), 1), |a| shape.dim(a).clone())
    }

    pub(super) fn slice(&mut self) -> Option<NodeId> {
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

    pub(super) fn pad(&mut self) -> Option<NodeId> {
        let (x, from, to) = self.renamed_dim()?;
        let before = self.whole("before", 0, 0)?;
        if before as u64 + from.size > to.size {
            let why = format!("{before} zeros and the {} of `{}` are", from.size, from.name);
            return self.wrong_size(&to, before as u64 + from.size, &why);
        }
        self.read(x, &from, &to, None, (1, 1, -before, Edge::Zero))
    }

    pub(super) fn shift(&mut self) -> Option<NodeId> {
        let x = self.tensor()?;
        let dim = self.dim_of(x)?;
        if self.option("by").is_none() {
            return self.wrong();
        }
        let by = self.whole("by", 0, -1 << 50)?;
        let edge = if self.switch("wrap")? { Edge::Wrap } else { Edge::Zero };
        self.read(x, &dim, &dim, None, (1, 1, -by, edge))
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
                let message = "`padding` is same, causal, valid or a number of positions";
                let d = not_among(option, &["same", "causal", "valid"]);
                self.scope.report(Diagnostic { message: message.to_owned(), ..d })
            }
        }
    }

    pub(super) fn window(&mut self) -> Option<NodeId> {
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
    pub(super) fn conv(&mut self, x: NodeId, filter: NodeId) -> Option<NodeId> {
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

    pub(super) fn pool(&mut self, reduction: Reduction) -> Option<NodeId> {
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

    /// Inputs one after the other: each between zeros, all added.
    pub(super) fn concat(&mut self, nodes: &[NodeId]) -> Option<NodeId> {
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
                    if !a.is_alike(&b) {
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
}
