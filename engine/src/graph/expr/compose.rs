//! Functions that are compositions of operations: einsums of many inputs, softmax and its kin,
//! losses, norms.

use super::args::Args;
use crate::graph::op::{Element, Op, Reduction};
use crate::index::NodeId;
use crate::layout::dims::{Dimension, Name, Shape};

impl Args<'_, '_, '_> {
    /// The function `name` of these tensors.
    pub fn composed(&mut self, name: &str, nodes: &[NodeId]) -> Option<NodeId> {
        match (name, nodes) {
            ("einsum", [_, ..]) => self.einsum(nodes),
            ("sum", &[x]) => self.reduce(x, Reduction::Sum),
            ("mean", &[x]) => self.reduce(x, Reduction::Mean),
            ("max", &[x]) => self.reduce(x, Reduction::Max),
            ("min", &[x]) => self.reduce(x, Reduction::Min),
            ("logsumexp", &[x]) => {
                let kept = self.kept(x)?;
                Some(self.logsumexp(x, &kept))
            }
            ("softmax", &[x]) => {
                let kept = self.without_dim(x)?;
                let shifted = self.shifted(x, &kept).0;
                let e = self.apply(Element::Exp, &[shifted]);
                let total = self.reduce_to(e, Reduction::Sum, &kept);
                Some(self.apply(Element::Div, &[e, total]))
            }
            ("log_softmax", &[x]) => {
                let kept = self.without_dim(x)?;
                let total = self.logsumexp(x, &kept);
                Some(self.apply(Element::Sub, &[x, total]))
            }
            ("cross_entropy", &[logits, target]) => self.cross_entropy(logits, target),
            ("mean_square", &[y, target]) => {
                let difference = self.apply(Element::Sub, &[y, target]);
                let square = self.apply(Element::Square, &[difference]);
                Some(self.reduce_to(square, Reduction::Mean, &Shape::scalar()))
            }
            ("layer_norm", &[x]) => {
                let kept = self.without_dim(x)?;
                let mean = self.reduce_to(x, Reduction::Mean, &kept);
                let centred = self.apply(Element::Sub, &[x, mean]);
                self.over_root_mean_square(centred, &kept)
            }
            ("rms_norm", &[x]) => {
                let kept = self.without_dim(x)?;
                self.over_root_mean_square(x, &kept)
            }
            ("one_hot", &[labels]) => match self.dims("dim")?.as_slice() {
                [dim] => Some(self.at(dim, labels)),
                _ => self.wrong(),
            },
            ("silu", &[x]) => {
                let gate = self.apply(Element::Sigmoid, &[x]);
                Some(self.apply(Element::Mul, &[x, gate]))
            }
            ("greater", &[x, y]) => Some(self.turned(Element::Less, [x, y])),
            ("greater_equal", &[x, y]) => Some(self.turned(Element::LessEqual, [x, y])),
            ("not_equal", &[x, y]) => {
                let equal = self.apply(Element::Equal, &[x, y]);
                let one = self.constant(1.0);
                Some(self.apply(Element::Sub, &[one, equal]))
            }
            ("stop_gradient", &[x]) => {
                let shape = self.shape(x);
                Some(self.add(Op::StopGradient, vec![x], shape))
            }
            ("stack", [_, ..]) => self.stack(nodes),
            ("concat", [_, ..]) => self.concat(nodes),
            ("gather", &[table, positions]) => self.gather(table, positions),
            ("conv", &[x, filter]) => self.conv(x, filter),
            _ => self.wrong(),
        }
    }

    /// Adds a reduction.
    pub fn reduce_to(&mut self, x: NodeId, reduction: Reduction, kept: &Shape) -> NodeId {
        self.add(Op::Reduce(reduction), vec![x], kept.clone())
    }

    fn reduce(&mut self, x: NodeId, reduction: Reduction) -> Option<NodeId> {
        let kept = self.kept(x)?;
        Some(self.reduce_to(x, reduction, &kept))
    }

    /// 1 where the position along a dimension is the one named, else 0.
    pub fn at(&mut self, dim: &Dimension, named: NodeId) -> NodeId {
        let index = self.index_of(dim);
        self.apply(Element::Equal, &[named, index])
    }

    /// 0, 1, 2, … along a dimension.
    pub fn index_of(&mut self, dim: &Dimension) -> NodeId {
        let shape = Shape::scalar().union(&Shape::new(vec![dim.clone()]).unwrap_or_default());
        self.add(Op::Index, Vec::new(), shape)
    }

    /// x less its maximum along the dimensions that go, and that maximum; both without gradient
    /// through the maximum, which cancels.
    fn shifted(&mut self, x: NodeId, kept: &Shape) -> (NodeId, NodeId) {
        let top = self.reduce_to(x, Reduction::Max, kept);
        let top = self.add(Op::StopGradient, vec![top], kept.clone());
        (self.apply(Element::Sub, &[x, top]), top)
    }

    fn logsumexp(&mut self, x: NodeId, kept: &Shape) -> NodeId {
        let (shifted, top) = self.shifted(x, kept);
        let e = self.apply(Element::Exp, &[shifted]);
        let total = self.reduce_to(e, Reduction::Sum, kept);
        let log = self.apply(Element::Log, &[total]);
        self.apply(Element::Add, &[log, top])
    }

    /// The logits are read where they lie: what crosses a split class dimension are single numbers
    /// per position, never logits.
    fn cross_entropy(&mut self, logits: NodeId, target: NodeId) -> Option<NodeId> {
        let kept = self.without_dim(logits)?;
        let unit = |n: f64| (0.0..1.0).contains(&n);
        let smoothing = self.number("label_smoothing", 0.0, "a number from 0 to 1", unit)?;
        let z_loss = self.number("z_loss", 0.0, "a number from 0 on", |n| n >= 0.0)?;
        let total = self.logsumexp(logits, &kept);
        let class = self.class_dim(logits)?;
        let hit = if self.shape(target).has(&class.name) {
            let product = self.apply(Element::Mul, &[logits, target]);
            self.reduce_to(product, Reduction::Sum, &kept)
        } else {
            let is_class = self.at(&class, target);
            let zero = self.constant(0.0);
            let chosen = self.apply(Element::Select, &[is_class, logits, zero]);
            let shape = self.shape(chosen).filter(|d| d.name != class.name);
            self.reduce_to(chosen, Reduction::Sum, &shape)
        };
        let mut loss = self.apply(Element::Sub, &[total, hit]);
        if smoothing > 0.0 {
            // −Σ ((1 − s)·target + s/classes)·logits
            let mean = self.reduce_to(logits, Reduction::Mean, &kept);
            let even = self.apply(Element::Sub, &[hit, mean]);
            let share = self.constant(smoothing);
            let change = self.apply(Element::Mul, &[even, share]);
            loss = self.apply(Element::Add, &[loss, change]);
        }
        if z_loss > 0.0 {
            let square = self.apply(Element::Square, &[total]);
            let z = self.constant(z_loss);
            let change = self.apply(Element::Mul, &[square, z]);
            loss = self.apply(Element::Add, &[loss, change]);
        }
        Some(loss)
    }

    /// x / √(mean of x² + ε) along the dimensions that go.
    fn over_root_mean_square(&mut self, x: NodeId, kept: &Shape) -> Option<NodeId> {
        let epsilon = self.number("epsilon", 1e-6, "a positive number", |n| n > 0.0)?;
        let square = self.apply(Element::Square, &[x]);
        let mean = self.reduce_to(square, Reduction::Mean, kept);
        let epsilon = self.constant(epsilon);
        let sum = self.apply(Element::Add, &[mean, epsilon]);
        let scale = self.apply(Element::Rsqrt, &[sum]);
        Some(self.apply(Element::Mul, &[x, scale]))
    }

    /// The dimension that `dim:` names; it may be left out where there is only one.
    fn class_dim(&mut self, x: NodeId) -> Option<Dimension> {
        let shape = self.shape(x);
        match (self.option("dim"), shape.dims()) {
            (None, [only]) => Some(only.clone()),
            _ => self.dim_of(x),
        }
    }

    /// The shape of `x` without the dimension that `dim:` names.
    fn without_dim(&mut self, x: NodeId) -> Option<Shape> {
        let gone = self.class_dim(x)?;
        Some(self.shape(x).filter(|d| d.name != gone.name))
    }

    /// The dimensions of `x` that stay: those after the arrow, or all but those `over:` names, or
    /// none.
    fn kept(&mut self, x: NodeId) -> Option<Shape> {
        let shape = self.shape(x);
        if self.has_arrow() {
            let kept = self.arrow()?;
            self.all_in(kept.dims().iter().map(|d| &d.name), &shape)?;
            return Some(kept);
        }
        let gone = self.dims("over")?;
        if gone.is_empty() && self.option("over").is_some() {
            return self.wrong();
        }
        if gone.is_empty() {
            return Some(Shape::scalar());
        }
        self.all_in(gone.iter().map(|d| &d.name), &shape)?;
        Some(shape.filter(|d| gone.iter().all(|g| g.name != d.name)))
    }

    /// The einsum as products of two: from the left, each keeps what later inputs or the result
    /// need. Dimensions that no input has are broadcast.
    fn product(&mut self, nodes: &[NodeId], kept: &Shape) -> NodeId {
        let mut product = nodes[0];
        for (i, &next) in nodes.iter().enumerate().skip(1) {
            let both = self.shape(product).union(&self.shape(next));
            let later =
                |name: &Name| nodes[i + 1..].iter().any(|&n| self.scope.graph.shape(n).has(name));
            let shape = if i + 1 == nodes.len() {
                kept.filter(|d| both.has(&d.name))
            } else {
                both.filter(|d| kept.has(&d.name) || later(&d.name))
            };
            product = self.add(Op::Einsum, vec![product, next], shape);
        }
        let has = self.shape(product);
        if has.dims().iter().any(|d| !kept.has(&d.name)) {
            let present = kept.filter(|d| has.has(&d.name));
            product = self.reduce_to(product, Reduction::Sum, &present);
        }
        self.spread(product, kept)
    }

    /// `x` with these dimensions in this order, which hold all of its own.
    pub fn spread(&mut self, x: NodeId, shape: &Shape) -> NodeId {
        if self.scope.graph.shape(x) == shape {
            return x;
        }
        self.add(Op::Elementwise(Element::Identity), vec![x], shape.clone())
    }

    /// The product of these tensors: the dimensions after the arrow stay, else those that occur
    /// once.
    pub fn einsum(&mut self, nodes: &[NodeId]) -> Option<NodeId> {
        let kept = if self.has_arrow() {
            self.arrow()?
        } else {
            let graph = &self.scope.graph;
            let union = nodes.iter().fold(Shape::scalar(), |s, &n| s.union(graph.shape(n)));
            let count = |name: &Name| nodes.iter().filter(|&&n| graph.shape(n).has(name)).count();
            union.filter(|d| count(&d.name) == 1)
        };
        let product = self.product(nodes, &kept);
        // An einsum of one tensor that keeps all is that tensor, under a name of its own.
        if nodes == [product] {
            return Some(self.add(Op::Elementwise(Element::Identity), nodes.to_vec(), kept));
        }
        Some(product)
    }
}
