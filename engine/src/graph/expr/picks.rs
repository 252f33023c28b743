//! Functions that pick elements: gathers, the greatest, running sums, stacking.

use super::args::Args;
use crate::graph::op::{Element, Op, Running};
use crate::index::NodeId;
use crate::layout::dims::{Dimension, Name, Shape};

impl Args<'_, '_, '_> {
    pub(super) fn unstack(&mut self) -> Option<NodeId> {
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

    /// Inputs along a new dimension: at each of its positions the input of this number.
    pub(super) fn stack(&mut self, nodes: &[NodeId]) -> Option<NodeId> {
        let [dim] = self.arrow_of::<1>()?;
        if dim.size != nodes.len() as u64 {
            return self.wrong_size(&dim, nodes.len() as u64, "the tensors to stack are");
        }
        let index = self.index_of(&dim);
        let mut rest = *nodes.last()?;
        let shapes: Vec<Shape> = nodes.iter().map(|&x| self.shape(x)).collect();
        if shapes.iter().any(|s| s.has(&dim.name)) {
            return self.misfit(format!("The tensors already have a dimension `{}`", dim.name));
        }
        if let Some(other) = shapes.iter().find(|s| !s.is_alike(&shapes[0])) {
            return self.misfit(format!(
                "{} and {other} have different dimensions: `broadcast` gives a tensor those it lacks",
                shapes[0]
            ));
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

    /// Elements of a table at named positions along one of its dimensions.
    pub(super) fn gather(&mut self, table: NodeId, positions: NodeId) -> Option<NodeId> {
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

    pub(super) fn top_k(&mut self, values: bool) -> Option<NodeId> {
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

    pub(super) fn argmax(&mut self) -> Option<NodeId> {
        let x = self.tensor()?;
        let dim = self.dim_of(x)?;
        let shape = self.shape(x).filter(|d| d.name != dim.name);
        let op = Op::TopK { from: Name::clone(&dim.name), to: None };
        Some(self.add(op, vec![x], shape))
    }

    pub(super) fn cumsum(&mut self) -> Option<NodeId> {
        let x = self.tensor()?;
        let dim = Name::clone(&self.dim_of(x)?.name);
        let running =
            Running { exclusive: self.switch("exclusive")?, reverse: self.switch("reverse")? };
        let shape = self.shape(x);
        Some(self.add(Op::Cumsum(dim, running), vec![x], shape))
    }
}
