//! Which partial sums settle where they arise, and which travel on.
//!
//! A sum over a split dimension leaves each processor a summand. Adding two such tensors first and
//! settling their sum costs one Allreduce instead of two; but settling a small tensor beats
//! settling a large one made from it. The rule: a partial value travels on only if every user lets
//! it pass and what those users then pay is *less* than settling at once. So laziness never costs
//! more, and a value settles at most once.

use super::bodies::Bodies;
use super::flow::{self, Outcome, Splits};
use super::relayout;
use crate::graph::Graph;
use crate::index::{IdVec, MeshAxis, NodeId};
use crate::layout::mesh::Mesh;
use crate::layout::tensor::{Combine, TensorLayout};
use crate::resolve::Layouts;

/// The plan: for every node, how its operands come and how its result leaves.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The splits each operation works under.
    pub splits: IdVec<NodeId, Splits>,
    /// The layout in which each node's result arises; `None` for immediates.
    pub raw: IdVec<NodeId, Option<Outcome>>,
    /// Whether it is brought to its settled layout right there.
    pub settles: IdVec<NodeId, bool>,
}

/// Plans a graph whose layouts are all legal.
pub fn plan(graph: &Graph, layouts: &Layouts, mesh: &Mesh) -> Plan {
    let splits: IdVec<NodeId, Splits> =
        graph.nodes().ids().map(|id| Splits::of(graph, id, layouts, mesh)).collect();
    let users = graph.users();
    let none = graph.nodes().iter().map(|_| None).collect();
    // What nothing uses is a result. A parameter's gradient is handed to the optimizer settled: it
    // is what the user looks at.
    let mut settles: IdVec<NodeId, bool> = users.iter().map(Vec::is_empty).collect();
    for &(_, gradient) in &graph.gradients {
        settles[gradient] = true;
    }
    let mut plan = Plan { splits, raw: none, settles };
    let any_partial = loop {
        let changed = forward(graph, mesh, &mut plan);
        if !changed {
            break plan.raw.iter().flatten().any(|o| !o.layout.is_settled());
        }
    };
    if any_partial {
        while weigh(graph, layouts, mesh, &users, &mut plan) {
            while forward(graph, mesh, &mut plan) {}
        }
    }
    plan
}

/// Computes all raw layouts under the present choice; adds the operands that cannot stay partial.
fn forward(graph: &Graph, mesh: &Mesh, plan: &mut Plan) -> bool {
    let mut changed = false;
    for (id, node) in graph.nodes().entries() {
        if flow::is_immediate(graph, id) {
            continue;
        }
        // Operands whose raw splits are not the wanted ones are laid out anew, so they settle.
        for &input in &node.inputs {
            let stays_partial = !plan.settles[input] && !partial_of(plan, input).is_empty();
            if stays_partial && !fits(graph, plan, mesh, id, input) {
                plan.settles[input] = true;
                changed = true;
            }
        }
        let partial: Vec<&[_]> = node.inputs.iter().map(|&i| travelling(plan, i)).collect();
        match flow::outcome(graph, node, &plan.splits[id], &partial, mesh) {
            Ok(outcome) => plan.raw[id] = Some(outcome),
            Err(operands) => {
                for k in operands {
                    plan.settles[node.inputs[k]] = true;
                }
                let settled: Vec<&[_]> = node.inputs.iter().map(|&i| travelling(plan, i)).collect();
                plan.raw[id] = flow::outcome(graph, node, &plan.splits[id], &settled, mesh).ok();
                changed = true;
            }
        }
    }
    changed
}

fn partial_of(plan: &Plan, id: NodeId) -> &[(MeshAxis, Combine)] {
    plan.raw[id].as_ref().map_or(&[], |o| o.layout.partial())
}

fn travelling(plan: &Plan, id: NodeId) -> &[(MeshAxis, Combine)] {
    if plan.settles[id] { &[] } else { partial_of(plan, id) }
}

/// Whether the raw splits of `input` are those that `user` works under.
fn fits(graph: &Graph, plan: &Plan, mesh: &Mesh, user: NodeId, input: NodeId) -> bool {
    let wanted = plan.splits[user].operand(graph.shape(input), mesh);
    match (wanted, &plan.raw[input]) {
        (Some(wanted), Some(raw)) => wanted.splits() == raw.layout.splits(),
        _ => false,
    }
}

/// Settles every travelling value for which that is no dearer; true if any did.
fn weigh(
    graph: &Graph,
    layouts: &Layouts,
    mesh: &Mesh,
    users: &IdVec<NodeId, Vec<NodeId>>,
    plan: &mut Plan,
) -> bool {
    let bodies = Bodies::of(graph);
    let micro_batches = graph.micro.as_ref().map_or(1.0, |m| m.count() as f64);
    let mut later: IdVec<NodeId, f64> = graph.nodes().iter().map(|_| 0.0).collect();
    let mut changed = false;
    for id in graph.nodes().ids().rev() {
        if partial_of(plan, id).is_empty() {
            continue;
        }
        let Some(raw) = plan.raw[id].as_ref() else { continue };
        let times = if bodies.varies(id) { micro_batches } else { 1.0 };
        let now = times * settle_price(graph, layouts, mesh, id, &raw.layout);
        if plan.settles[id] {
            later[id] = now;
            continue;
        }
        let share = |user: NodeId| {
            let node = graph.node(user);
            let pending = node.inputs.iter().filter(|&&i| !travelling(plan, i).is_empty()).count();
            // What the user would pay anyway for what it sums up itself.
            let times = if bodies.varies(user) { micro_batches } else { 1.0 };
            let own = times * own_price(graph, layouts, mesh, plan, user);
            (later[user] - own).max(0.0) / pending.max(1) as f64
        };
        let on = users[id].iter().map(|&u| share(u)).sum::<f64>();
        if on < now {
            later[id] = on;
        } else {
            plan.settles[id] = true;
            later[id] = now;
            changed = true;
        }
    }
    changed
}

fn own_price(graph: &Graph, layouts: &Layouts, mesh: &Mesh, plan: &Plan, id: NodeId) -> f64 {
    let node = graph.node(id);
    let none: Vec<&[_]> = node.inputs.iter().map(|_| &[][..]).collect();
    match flow::outcome(graph, node, &plan.splits[id], &none, mesh) {
        Ok(own) if !own.layout.is_settled() => settle_price(graph, layouts, mesh, id, &own.layout),
        _ => 0.0,
    }
}

fn settle_price(
    graph: &Graph,
    layouts: &Layouts,
    mesh: &Mesh,
    id: NodeId,
    raw: &TensorLayout,
) -> f64 {
    let Some(to) = &layouts[id] else { return 0.0 };
    relayout::plan(raw, to, graph.shape(id), mesh).1.sent as f64
}
