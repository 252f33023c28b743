//! Graph × layout rules × mesh → a layout for every tensor, or every reason why not.
//!
//! As in Mesh-TensorFlow the layout of a tensor follows from its dimension names alone: two tensors
//! that share a dimension are cut alike along it. Windows within a convolution or pool, which nobody
//! names, are the exception: they have dimensions of the operands and of the result, and follow as
//! many rules as can be followed together.

use crate::diag::{Code, Diagnostic, Hint, Span};
use crate::graph::Graph;
use crate::graph::build::micro::counted;
use crate::graph::micro::MicroBatches;
use crate::graph::op::{Op, Phase};
use crate::index::{IdVec, MeshAxis, NodeId, ShapeId, TensorAxis};
use crate::layout::dims::{Dimension, Name, Shape};
use crate::layout::mesh::Mesh;
use crate::layout::rules::LayoutRules;
use crate::layout::tensor::{LayoutError, TensorLayout};
use std::collections::{BTreeMap, BTreeSet};

/// The settled layout of every node's tensor; `None` where it would be illegal.
pub type Layouts = IdVec<NodeId, Option<TensorLayout>>;

/// Places in the text that layout messages point to.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// The rule of each tensor dimension.
    pub rules: BTreeMap<Name, Span>,
    /// The size of each tensor dimension.
    pub dims: BTreeMap<String, Span>,
    /// The mesh dimension that carries the cells of a pipeline: nothing can be split over it.
    pub cells: Option<MeshAxis>,
    /// Whether a line of the mesh is wrong, so that what it misses is no further mistake.
    pub is_mesh_broken: bool,
}

/// Lays out every tensor and reports each broken rule once.
pub fn resolve(
    graph: &Graph,
    rules: &LayoutRules,
    mesh: &Mesh,
    places: &Places,
    diagnostics: &mut Vec<Diagnostic>,
) -> Layouts {
    let mut by_shape: IdVec<ShapeId, Result<TensorLayout, LayoutError>> =
        graph.shapes().iter().map(|shape| rules.tensor_layout(shape, mesh)).collect();
    for (shape, like) in windowed(graph) {
        if matches!(by_shape[shape], Err(LayoutError::AxisTwice(..))) {
            let rules = rules.first_come(like, mesh);
            by_shape[shape] = rules.tensor_layout(graph.shapes().shape(shape), mesh);
        }
    }
    let layout = |id| &by_shape[graph.shape_id(id)];
    let layouts = graph.nodes().ids().map(|id| layout(id).as_ref().ok().cloned()).collect();
    if by_shape.iter().any(Result::is_err) {
        let micro = graph.micro.as_ref();
        let mut problems = Problems { rules, mesh, places, micro, seen: Vec::new() };
        // Messages speak of the names the user wrote before those derived from them.
        for is_named in [true, false] {
            for (id, node) in graph.nodes().entries().filter(|(_, n)| n.is_named == is_named) {
                if let Err(error) = layout(id) {
                    problems.note(&node.name, node.shape.dims(), error.clone());
                }
            }
        }
        problems.report(diagnostics);
    }
    warn_unmatched(graph, rules, mesh, places, diagnostics);
    layouts
}

/// The shapes of windows within convolutions and pools, and of what is computed from them alone,
/// each with that of the windows. They have dimensions of both the operands and the result, each of
/// which may be laid out where all together cannot.
fn windowed(graph: &Graph) -> Vec<(ShapeId, &Shape)> {
    let nodes = || graph.nodes().entries();
    let windows = nodes().filter(|(_, n)| !n.is_named && matches!(n.op, Op::Window(_)));
    let windows: BTreeSet<ShapeId> = windows.map(|(id, _)| graph.shape_id(id)).collect();
    if windows.is_empty() {
        return Vec::new();
    }
    // A gradient has the shape of what it is the gradient of, and a name made from its name.
    let written = nodes().filter(|(_, n)| n.is_named && n.phase == Phase::Forward);
    let named: BTreeSet<ShapeId> = written.map(|(id, _)| graph.shape_id(id)).collect();
    let all = nodes().map(|(id, _)| graph.shape_id(id)).collect::<BTreeSet<_>>();
    let unnamed = all.difference(&named).copied();
    let shape = |id| graph.shapes().shape(id);
    let like = |id| windows.iter().map(|&w| shape(w)).find(|w| w.is_alike(shape(id)));
    unnamed.filter_map(|id| Some((id, like(id)?))).collect()
}

/// One broken rule and the tensors that break it.
struct Problem {
    error: LayoutError,
    dims: Vec<Dimension>,
    tensors: Vec<Name>,
}

struct Problems<'a> {
    rules: &'a LayoutRules,
    mesh: &'a Mesh,
    places: &'a Places,
    micro: Option<&'a MicroBatches>,
    seen: Vec<Problem>,
}

impl Problems<'_> {
    fn note(&mut self, tensor: &Name, dims: &[Dimension], error: LayoutError) {
        let at = |axis: TensorAxis| dims[usize::from(axis.0)].clone();
        let involved = match error {
            LayoutError::AxisTwice(_, first, second) => vec![at(first), at(second)],
            LayoutError::NotDivisible(axis) => vec![at(axis)],
            LayoutError::SplitAndPartial(_) => Vec::new(),
        };
        let kind = std::mem::discriminant(&error);
        let same = |p: &&mut Problem| {
            std::mem::discriminant(&p.error) == kind
                && p.dims.len() == involved.len()
                && p.dims.iter().all(|d| involved.contains(d))
        };
        match self.seen.iter_mut().find(same) {
            Some(problem) => problem.tensors.push(Name::clone(tensor)),
            None => self.seen.push(Problem {
                error,
                dims: involved,
                tensors: vec![Name::clone(tensor)],
            }),
        }
    }

    fn report(&self, diagnostics: &mut Vec<Diagnostic>) {
        for problem in &self.seen {
            match (&problem.error, problem.dims.as_slice()) {
                (LayoutError::AxisTwice(axis, ..), [first, second]) => {
                    let mesh_dim = &*self.mesh.dim(*axis).name;
                    diagnostics.push(self.axis_twice(problem, first, second, mesh_dim));
                }
                (LayoutError::NotDivisible(_), [dim]) => {
                    diagnostics.push(self.not_divisible(problem, dim));
                }
                _ => {}
            }
        }
    }

    fn rule_span(&self, dim: &str) -> Span {
        self.places.rules.get(dim).copied().unwrap_or_default()
    }

    fn axis_twice(
        &self,
        problem: &Problem,
        first: &Dimension,
        second: &Dimension,
        mesh_dim: &str,
    ) -> Diagnostic {
        if first.name == second.name {
            return Diagnostic::error(
                Code::MeshDimensionTwice,
                self.rule_span(&first.name),
                format!("The rule of `{}` names the mesh dimension `{mesh_dim}` twice", first.name),
            );
        }
        let (a, b) = (&first.name, &second.name);
        let span = self.rule_span(b);
        let message = format!(
            "`{}` cannot be laid out: its dimensions `{a}` and `{b}` both go to the mesh dimension `{mesh_dim}`{}",
            problem.tensors[0],
            others(&problem.tensors[1..]),
        );
        let mut d = Diagnostic::error(Code::MeshDimensionTwice, span, message);
        let axes = self.mesh.axes().filter(|axis| Some(*axis) != self.places.cells);
        let free = axes.map(|axis| self.mesh.dim(axis)).find(|m| {
            self.rules.rules().iter().all(|r| !r.mesh_dims.contains(&m.name))
                && second.size.is_multiple_of(m.size)
        });
        if let Some(free) = free {
            let mend = format!("{b}:{}", free.name);
            d = d.hint(Hint::edit(
                format!("Split `{b}` over `{}` instead.", free.name),
                span,
                mend,
            ));
        }
        d.hint(Hint::edit(format!("Leave `{b}` whole."), span, "")).hint(Hint::edit(
            format!("Leave `{a}` whole."),
            self.rule_span(a),
            "",
        ))
    }

    fn not_divisible(&self, problem: &Problem, dim: &Dimension) -> Diagnostic {
        let axes = self.rules.mesh_axes(&dim.name, self.mesh);
        let parts = self.mesh.group_size(&axes);
        let below = dim.size / parts * parts;
        let above = below + parts;
        let sizes = if below > 0 {
            format!("the nearest sizes that do are {below} and {above}")
        } else {
            format!("the least size that does is {above}")
        };
        let span = self.rule_span(&dim.name);
        let micro = self.micro.filter(|micro| micro.dim == dim.name);
        let of = if micro.is_some() { " in a micro-batch" } else { "" };
        let message = format!(
            "`{}` cannot be laid out: `{}` has {}{of}, which {} of the mesh dimension `{}` do not divide (remainder {}); {sizes}{}",
            problem.tensors[0],
            dim.name,
            counted(dim.size, "element"),
            parts,
            self.mesh.names(&axes),
            dim.size % parts,
            others(&problem.tensors[1..]),
        );
        let mut d = Diagnostic::error(Code::NotDivisible, span, message);
        if let Some(&place) = self.places.dims.get(&*dim.name) {
            // Of micro-batches, as many as are asked for, each with rows for all parts.
            let (whole, unit) = micro.map_or((dim.size, parts), |micro| {
                (micro.whole, parts.saturating_mul(micro.asked))
            });
            let (below, above) = (whole / unit * unit, (whole / unit + 1).saturating_mul(unit));
            for size in [above, below].into_iter().filter(|&s| s > 0) {
                d = d.hint(Hint::size(place, &dim.name, size));
            }
        }
        d.hint(Hint::edit(format!("Leave `{}` whole.", dim.name), span, ""))
    }
}

fn others(tensors: &[Name]) -> String {
    match tensors {
        [] => String::new(),
        [one] => format!("; so does `{one}`"),
        [one, two] => format!("; so do `{one}` and `{two}`"),
        [one, rest @ ..] => format!("; so do `{one}` and {} more tensors", rest.len()),
    }
}

fn warn_unmatched(
    graph: &Graph,
    rules: &LayoutRules,
    mesh: &Mesh,
    places: &Places,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let dims: Vec<&str> = {
        let all = graph.shapes().iter().flat_map(Shape::dims).map(|d| &*d.name);
        all.collect::<BTreeSet<_>>().into_iter().collect()
    };
    let mesh_dims: Vec<&str> = mesh.dims().iter().map(|d| &*d.name).collect();
    for rule in rules.rules() {
        let span = places.rules.get(&rule.dim).copied().unwrap_or_default();
        let rest: Vec<&str> = rule.mesh_dims.iter().map(|m| &**m).collect();
        let rest = rest.join("+");
        if !dims.is_empty() && !dims.contains(&&*rule.dim) {
            let message =
                format!("The rule matches nothing: no tensor has the dimension `{}`", rule.dim);
            let mut d = Diagnostic::warning(Code::UnmatchedRule, span, message);
            if let Some(near) = crate::diag::nearest(&rule.dim, dims.iter().copied()) {
                d = d.hint(Hint::edit(format!("Write `{near}`."), span, format!("{near}:{rest}")));
            }
            diagnostics.push(d.hint(Hint::edit("Remove it.", span, "")));
        }
        let is_missing = |m: &&Name| !places.is_mesh_broken && mesh.axis(m).is_none();
        for name in rule.mesh_dims.iter().filter(is_missing) {
            let message = format!("The rule matches nothing: the mesh has no dimension `{name}`");
            let mut d = Diagnostic::warning(Code::UnmatchedRule, span, message);
            if let Some(near) = crate::diag::nearest(name, mesh_dims.iter().copied()) {
                let mend = format!("{}:{near}", rule.dim);
                d = d.hint(Hint::edit(format!("Write `{near}`."), span, mend));
            }
            diagnostics.push(d.hint(Hint::edit("Remove it.", span, "")));
        }
    }
}
