//! Functions that leave elements where they are, under other dimensions, and those that make them:
//! renames, reshapes, positions, random numbers.

use super::args::Args;
use crate::diag::{Code, Diagnostic, Hint};
use crate::graph::op::{Element, Noise, Op};
use crate::graph::options::{SHARE, is_share};
use crate::index::NodeId;
use crate::layout::dims::{Dimension, Shape};
use crate::spec::ast::{Expr, ExprKind, Ident};

impl Args<'_, '_, '_> {
    pub(super) fn rename(&mut self) -> Option<NodeId> {
        let (x, names) = self.tensor_and_dims(1)?;
        let to = self.arrow()?;
        if names.len() != to.rank() {
            return self.wrong();
        }
        let own = self.shape(x);
        let mut dims = own.dims().to_vec();
        for (from, to) in names.iter().zip(to.dims()) {
            let size = self.size_of(x, from).size;
            if size != to.size && self.scope.graph.micro.as_ref().is_some_and(|m| m.dim == *from) {
                return self.rename_of_rows(to, size);
            }
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

    /// Reports that the rows of a micro-batch go to a dimension of another size. One of their size
    /// would not do: the last micro-batch may have fewer rows, and without micro-batches there are more.
    fn rename_of_rows(&mut self, to: &Dimension, rows: u64) -> Option<NodeId> {
        let micro = self.scope.graph.micro.as_ref()?;
        let message = format!(
            "`{}` has {} elements; a micro-batch has {rows} of the {} rows of `{}`, and only that \
             dimension is cut with them",
            to.name, to.size, micro.whole, micro.dim
        );
        let stay = format!("Compute along `{}`, without renaming it.", micro.dim);
        let whole = self.scope.take_whole.filter(|_| to.size == micro.whole).cloned();
        let d = Diagnostic::error(Code::ShapeMismatch, self.scope.span(self.span), message);
        let d = whole.into_iter().fold(d, Diagnostic::hint).hint(Hint::new(stay));
        self.scope.diagnostics.push(d);
        None
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

    pub(super) fn index(&mut self) -> Option<NodeId> {
        let shape = self.named_dims()?;
        if shape.rank() != 1 {
            return self.wrong();
        }
        Some(self.add(Op::Index, Vec::new(), shape))
    }

    pub(super) fn random(&mut self) -> Option<NodeId> {
        let shape = self.named_dims()?;
        Some(self.add(Op::Noise(Noise::Uniform, None), Vec::new(), shape))
    }

    pub(super) fn training(&mut self) -> Option<NodeId> {
        if !self.call.args.is_empty() {
            return self.wrong();
        }
        Some(self.add(Op::Training, Vec::new(), Shape::scalar()))
    }

    pub(super) fn dropout(&mut self) -> Option<NodeId> {
        let x = self.tensor()?;
        if self.option("rate").is_none() {
            return self.wrong();
        }
        let rate = self.number("rate", 0.0, SHARE, is_share)?;
        let shape = self.shape(x);
        let mask = self.add(Op::Noise(Noise::Dropout(rate), None), Vec::new(), shape);
        Some(self.apply(Element::Mul, &[x, mask]))
    }

    pub(super) fn broadcast(&mut self) -> Option<NodeId> {
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

    pub(super) fn transpose(&mut self) -> Option<NodeId> {
        let x = self.tensor()?;
        let shape = self.arrow()?;
        let own = self.shape(x);
        if shape.rank() != own.rank() || own.dims().iter().any(|d| !shape.has(&d.name)) {
            return self
                .misfit(format!("A transpose of {own} has the same dimensions, not {shape}"));
        }
        Some(self.add(Op::Elementwise(Element::Identity), vec![x], shape))
    }

    pub(super) fn reshape(&mut self) -> Option<NodeId> {
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
}
