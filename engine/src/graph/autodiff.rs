//! Reverse-mode differentiation: appends the backward pass to a graph.
//!
//! For every node from the loss back, the gradient of the loss by its result is known (the sum of
//! what its users contribute, named `grad/NAME`); `contribution` turns it into the gradient by
//! one input. With y = einsum(h, v): grad/h = einsum(grad/y, v), grad/v = einsum(h, grad/y). How
//! contributions add up over micro-batches: `parts`.

use super::op::{Element, Op, Reduction, Role, Running};
use super::parts::{Part, Sums, context};
use super::remat::Remat;
use super::{Context, Graph};
use crate::index::{Idx as _, NodeId};
use crate::layout::dims::{Name, Shape};

/// Appends the gradients of `loss`, of all micro-batches, by all parameters; fills
/// `graph.gradients` in node order. Refuses a loss in which several tensors that are accumulated
/// over the micro-batches are tangled, and returns what they are sums of.
pub fn differentiate(graph: &mut Graph, loss: NodeId) -> Result<(), Vec<NodeId>> {
    let count = loss.index() + 1;
    let needs = depends_on_parameters(graph, count);
    if !needs[loss.index()] {
        return Ok(());
    }
    let mut remat = Remat::new(graph, count);
    let mut parts: Vec<Vec<Part>> = vec![Vec::new(); count];
    let cx = context(graph, loss);
    graph.layer = graph.node(loss).layer;
    let one = graph.constant(&cx, 1.0);
    parts[loss.index()].push(Part { gradient: one, is_of_micro_batch: false });
    let mut sums = Sums::default();
    for i in (0..count).rev() {
        let id = NodeId::new(i);
        if parts[i].is_empty() || !needs[i] {
            continue;
        }
        graph.layer = graph.node(id).layer;
        let gradient = sums.total(graph, id, &parts[i]);
        if id != loss {
            name_gradient(graph, id, gradient);
        }
        let is_of_micro_batch = sums.varying.of(graph, id);
        if graph.node(id).op == Op::Accumulate {
            let input = graph.node(id).inputs[0];
            let gradient = sums.begin(graph, input, gradient);
            parts[input.index()].push(Part { gradient, is_of_micro_batch: true });
            continue;
        }
        // What is read of the forward pass may be a copy, computed again.
        let inputs = graph.node(id).inputs.clone();
        let read: Vec<NodeId> = inputs.iter().map(|&input| remat.now(graph, id, input)).collect();
        let result = remat.now(graph, id, id);
        for (k, &input) in inputs.iter().enumerate() {
            if needs[input.index()] {
                let cx = context(graph, input);
                let place = Place { inputs: &read, id: result, k, dy: gradient };
                if let Some(gradient) = contribution(graph, &cx, &place) {
                    parts[input.index()].push(Part { gradient, is_of_micro_batch });
                }
            }
        }
    }
    let parameters = (0..count).map(NodeId::new).filter(|&p| graph.node(p).role == Role::Parameter);
    graph.gradients = parameters
        .filter_map(|p| Some((p, graph.find(&format!("grad/{}", graph.node(p).name))?)))
        .collect();
    remat.finish(graph);
    if sums.are_entangled() { Err(sums.begun) } else { Ok(()) }
}

fn depends_on_parameters(graph: &Graph, count: usize) -> Vec<bool> {
    let mut needs = vec![false; count];
    for i in 0..count {
        let node = graph.node(NodeId::new(i));
        let varies = |(k, input): (usize, &NodeId)| needs[input.index()] && has_slope(&node.op, k);
        needs[i] = node.role == Role::Parameter || node.inputs.iter().enumerate().any(varies);
    }
    needs
}

/// Whether a small change of input `k` changes the result; a choice among a few values does not
/// vary smoothly, so what only leads there needs no gradient.
#[expect(clippy::wildcard_enum_match_arm, reason = "operations have a slope unless listed")]
const fn has_slope(op: &Op, k: usize) -> bool {
    match op {
        Op::Elementwise(Element::Select) => k > 0,
        Op::StopGradient
        | Op::TopK { .. }
        | Op::Elementwise(
            Element::Equal
            | Element::Less
            | Element::LessEqual
            | Element::Sign
            | Element::Heaviside,
        ) => false,
        Op::Gather(_) | Op::Scatter(_) => k == 0,
        _ => true,
    }
}

/// Calls the gradient `grad/NAME`. Where it is another tensor's gradient passed on unchanged, that
/// one keeps its name; only a parameter's gradient becomes a node of its own.
fn name_gradient(graph: &mut Graph, id: NodeId, gradient: NodeId) {
    let cx = context(graph, id);
    let name = Name::from(format!("grad/{}", graph.node(id).name));
    let is_own = graph.node(gradient).name.starts_with(&*cx.base) && !graph.node(gradient).is_named;
    if is_own {
        graph.rename_node(gradient, &name, Role::Gradient);
    } else if graph.node(id).role == Role::Parameter {
        let shape = graph.shape(id).clone();
        let copy = graph.add(&cx, Op::Elementwise(Element::Identity), vec![gradient], shape);
        graph.rename_node(copy, &name, Role::Gradient);
    }
}

/// An input of a node: all inputs, the node's result, which input, and the gradient by the result.
struct Place<'a> {
    inputs: &'a [NodeId],
    id: NodeId,
    k: usize,
    dy: NodeId,
}

/// The gradient by one input of a node; `None` where the result does not vary with it. It has the
/// input's shape.
fn contribution(graph: &mut Graph, cx: &Context, place: &Place<'_>) -> Option<NodeId> {
    let &Place { inputs, id, k, dy } = place;
    let node = graph.node(id).clone();
    let input = inputs[k];
    let target = graph.shape(input).clone();
    match node.op {
        Op::Elementwise(element) => elementwise(graph, cx, element, place),
        Op::Einsum => Some(einsum_to(graph, cx, [dy, inputs[1 - k]], &target)),
        Op::Reduce(Reduction::Sum) => Some(spread(graph, cx, dy, &target)),
        Op::Reduce(Reduction::Mean) => {
            let share = node.shape.elements() as f64 / target.elements() as f64;
            let share = graph.constant(cx, share);
            let scaled = graph.elementwise(cx, Element::Mul, &[dy, share]);
            Some(spread(graph, cx, scaled, &target))
        }
        Op::Reduce(Reduction::Max | Reduction::Min) => {
            let hit = graph.elementwise(cx, Element::Equal, &[input, id]);
            Some(graph.elementwise(cx, Element::Mul, &[hit, dy]))
        }
        Op::Rename => Some(graph.add(cx, Op::Rename, vec![dy], target)),
        Op::Reshape => Some(graph.add(cx, Op::Reshape, vec![dy], target)),
        Op::Window(window) => {
            let back = window.back().map_or(Op::Unwindow(window), Op::Window);
            Some(graph.add(cx, back, vec![dy], target))
        }
        Op::Unwindow(window) => Some(graph.add(cx, Op::Window(window), vec![dy], target)),
        Op::Gather(dim) if k == 0 => {
            Some(graph.add(cx, Op::Scatter(dim), vec![dy, inputs[1]], target))
        }
        Op::Scatter(dim) if k == 0 => {
            Some(graph.add(cx, Op::Gather(dim), vec![dy, inputs[1]], target))
        }
        Op::Cumsum(dim, running) => {
            let back = Running { reverse: !running.reverse, ..running };
            Some(graph.add(cx, Op::Cumsum(dim, back), vec![dy], target))
        }
        Op::Gather(_)
        | Op::Scatter(_)
        | Op::TopK { .. }
        | Op::Noise(..)
        | Op::Source(_)
        | Op::Constant(_)
        | Op::StepNumber
        | Op::Training
        | Op::Share
        | Op::One
        | Op::Accumulate
        | Op::Index
        | Op::StopGradient
        | Op::Assign => None,
    }
}

fn elementwise(
    graph: &mut Graph,
    cx: &Context,
    element: Element,
    place: &Place<'_>,
) -> Option<NodeId> {
    use Element as E;
    let &Place { inputs, id, k, dy } = place;
    let target = graph.shape(inputs[k]).clone();
    let x = inputs[0];
    let full = match element {
        E::Identity | E::Add => dy,
        E::Sub if k == 0 => dy,
        E::Neg | E::Sub => graph.elementwise(cx, E::Neg, &[dy]),
        E::Mul => {
            let other = inputs[1 - k];
            let narrower = target.rank() < graph.shape(id).rank();
            if narrower && !matches!(graph.node(other).op, Op::Constant(_)) {
                return Some(einsum_to(graph, cx, [dy, other], &target));
            }
            let is_share_of_one = graph.node(dy).op == Op::One && graph.node(other).op == Op::Share;
            if is_share_of_one { other } else { graph.elementwise(cx, E::Mul, &[dy, other]) }
        }
        E::Div => {
            let y = inputs[1];
            let over = graph.elementwise(cx, E::Div, &[dy, y]);
            if k == 0 {
                over
            } else {
                let scaled = graph.elementwise(cx, E::Mul, &[over, id]);
                graph.elementwise(cx, E::Neg, &[scaled])
            }
        }
        E::Max | E::Min => {
            // Where the two are equal each takes the gradient whole.
            let (own, other) = (inputs[k], inputs[1 - k]);
            let order = if element == E::Max { [other, own] } else { [own, other] };
            let is_taken = graph.elementwise(cx, E::LessEqual, &order);
            let zero = graph.constant(cx, 0.0);
            graph.elementwise(cx, E::Select, &[is_taken, dy, zero])
        }
        E::Select if k > 0 => {
            let zero = graph.constant(cx, 0.0);
            let choice = if k == 1 { [x, dy, zero] } else { [x, zero, dy] };
            graph.elementwise(cx, E::Select, &choice)
        }
        E::Pow => power(graph, cx, place),
        E::Relu
        | E::Exp
        | E::Log
        | E::Sqrt
        | E::Rsqrt
        | E::Square
        | E::Abs
        | E::Tanh
        | E::Sigmoid
        | E::Gelu
        | E::Softplus
        | E::Elu
        | E::Sin
        | E::Cos
        | E::OneMinusPower(_) => {
            let slope = slope(graph, cx, element, x, id)?;
            graph.elementwise(cx, E::Mul, &[dy, slope])
        }
        E::Heaviside
        | E::Sign
        | E::GeluSlope
        | E::EluSlope
        | E::Equal
        | E::Less
        | E::LessEqual
        | E::Select => return None,
    };
    Some(sum_to(graph, cx, full, &target))
}

/// The slope of a function of one number, from its argument `x` or its result `y`.
#[expect(clippy::wildcard_enum_match_arm, reason = "`elementwise` asks for these alone")]
fn slope(
    graph: &mut Graph,
    cx: &Context,
    element: Element,
    x: NodeId,
    y: NodeId,
) -> Option<NodeId> {
    use Element as E;
    let number = |graph: &mut Graph, c: f64| graph.constant(cx, c);
    Some(match element {
        E::Relu => graph.elementwise(cx, E::Heaviside, &[x]),
        E::Exp => y,
        E::Log => {
            let one = number(graph, 1.0);
            graph.elementwise(cx, E::Div, &[one, x])
        }
        E::Sqrt => {
            let half = number(graph, 0.5);
            graph.elementwise(cx, E::Div, &[half, y])
        }
        E::Rsqrt => {
            let half = number(graph, -0.5);
            let ratio = graph.elementwise(cx, E::Div, &[y, x]);
            graph.elementwise(cx, E::Mul, &[ratio, half])
        }
        E::Square => {
            let two = number(graph, 2.0);
            graph.elementwise(cx, E::Mul, &[x, two])
        }
        E::Abs => graph.elementwise(cx, E::Sign, &[x]),
        E::Tanh => {
            let square = graph.elementwise(cx, E::Square, &[y]);
            let one = number(graph, 1.0);
            graph.elementwise(cx, E::Sub, &[one, square])
        }
        E::Sigmoid => {
            let one = number(graph, 1.0);
            let rest = graph.elementwise(cx, E::Sub, &[one, y]);
            graph.elementwise(cx, E::Mul, &[y, rest])
        }
        E::Gelu => graph.elementwise(cx, E::GeluSlope, &[x]),
        E::Softplus => graph.elementwise(cx, E::Sigmoid, &[x]),
        E::Elu => graph.elementwise(cx, E::EluSlope, &[x]),
        E::Sin => graph.elementwise(cx, E::Cos, &[x]),
        E::Cos => {
            let sine = graph.elementwise(cx, E::Sin, &[x]);
            graph.elementwise(cx, E::Neg, &[sine])
        }
        E::OneMinusPower(base) => {
            let one = number(graph, 1.0);
            let rest = graph.elementwise(cx, E::Sub, &[one, y]);
            let factor = number(graph, -base.ln());
            graph.elementwise(cx, E::Mul, &[rest, factor])
        }
        _ => return None,
    })
}

fn power(graph: &mut Graph, cx: &Context, place: &Place<'_>) -> NodeId {
    use Element as E;
    let &Place { inputs, id, k, dy } = place;
    let (x, y) = (inputs[0], inputs[1]);
    let slope = if k == 0 {
        let one = graph.constant(cx, 1.0);
        let less = graph.elementwise(cx, E::Sub, &[y, one]);
        let lower = graph.elementwise(cx, E::Pow, &[x, less]);
        graph.elementwise(cx, E::Mul, &[y, lower])
    } else {
        let log = graph.elementwise(cx, E::Log, &[x]);
        graph.elementwise(cx, E::Mul, &[id, log])
    };
    graph.elementwise(cx, E::Mul, &[dy, slope])
}

/// Sums away the dimensions that `target` lacks, adds those that `from` lacks.
fn sum_to(graph: &mut Graph, cx: &Context, from: NodeId, target: &Shape) -> NodeId {
    let shape = graph.shape(from);
    let extra = shape.dims().iter().any(|d| !target.has(&d.name));
    if !extra {
        return spread(graph, cx, from, target);
    }
    let kept = target.filter(|d| shape.has(&d.name));
    let sum = graph.add(cx, Op::Reduce(Reduction::Sum), vec![from], kept);
    spread(graph, cx, sum, target)
}

/// Broadcasts to `target`, whose dimensions hold all of `from`'s.
fn spread(graph: &mut Graph, cx: &Context, from: NodeId, target: &Shape) -> NodeId {
    if graph.shape(from) == target {
        return from;
    }
    graph.add(cx, Op::Elementwise(Element::Identity), vec![from], target.clone())
}

/// The product of `factors` summed to `target`; dimensions that no factor has are broadcast.
fn einsum_to(graph: &mut Graph, cx: &Context, factors: [NodeId; 2], target: &Shape) -> NodeId {
    let present = target.filter(|d| factors.iter().any(|&f| graph.shape(f).has(&d.name)));
    let product = graph.add(cx, Op::Einsum, factors.to_vec(), present);
    spread(graph, cx, product, target)
}
