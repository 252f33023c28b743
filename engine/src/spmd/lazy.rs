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
use crate::graph::op::Op;
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

/// Plans a graph whose layouts are all legal, so that the nodes settle which are given, or those
/// for which it is no dearer.
pub fn plan(
    graph: &Graph,
    layouts: &Layouts,
    mesh: &Mesh,
    given: Option<IdVec<NodeId, bool>>,
) -> Plan {
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
    let is_given = given.is_some();
    let plan = Plan { splits, raw: none, settles: given.unwrap_or(settles) };
    let bodies = Bodies::of(graph, None);
    let stale = graph.nodes().iter().map(|_| true).collect();
    let mut draft = Draft { graph, layouts, mesh, users, bodies, plan, stale };
    while draft.forward() {}
    if !is_given && draft.plan.raw.iter().flatten().any(|o| !o.layout.is_settled()) {
        while draft.weigh() {
            while draft.forward() {}
        }
    }
    draft.plan
}

/// A plan in the making.
struct Draft<'a> {
    graph: &'a Graph,
    layouts: &'a Layouts,
    mesh: &'a Mesh,
    users: IdVec<NodeId, Vec<NodeId>>,
    bodies: Bodies,
    plan: Plan,
    /// Nodes whose raw layout is to be computed, since what they read has changed.
    stale: IdVec<NodeId, bool>,
}

impl Draft<'_> {
    /// Computes the raw layouts under the present choice; adds the operands that cannot stay
    /// partial. True if there were any.
    fn forward(&mut self) -> bool {
        let (graph, mesh) = (self.graph, self.mesh);
        let mut changed = false;
        for (id, node) in graph.nodes().entries() {
            if !std::mem::take(&mut self.stale[id]) || flow::is_immediate(graph, id) {
                continue;
            }
            // Operands whose raw splits are not the wanted ones are laid out anew, so they settle.
            for &input in &node.inputs {
                if !self.travelling(input).is_empty() && !self.fits(id, input) {
                    self.settle(input);
                    changed = true;
                }
            }
            let partial: Vec<&[_]> = node.inputs.iter().map(|&i| self.travelling(i)).collect();
            let splits = &self.plan.splits[id];
            let settled = self.layouts[id].as_ref().filter(|layout| {
                let is_plain = matches!(node.op, Op::Elementwise(_));
                let clear = partial.iter().all(|p| p.is_empty());
                is_plain && clear && splits.wants(layout, &node.shape)
            });
            let outcome = match settled {
                Some(layout) => Ok(Outcome { layout: layout.clone(), contracted: Vec::new() }),
                None => flow::outcome(graph, node, splits, &partial, mesh),
            };
            let raw = match outcome {
                Ok(outcome) => Some(outcome),
                Err(operands) => {
                    for k in operands {
                        self.settle(node.inputs[k]);
                    }
                    changed = true;
                    let splits = &self.plan.splits[id];
                    let settled: Vec<&[_]> =
                        node.inputs.iter().map(|&i| self.travelling(i)).collect();
                    flow::outcome(graph, node, splits, &settled, mesh).ok()
                }
            };
            if self.plan.raw[id] != raw {
                self.plan.raw[id] = raw;
                self.mark_users(id);
            }
        }
        changed
    }

    fn settle(&mut self, id: NodeId) {
        self.plan.settles[id] = true;
        self.mark_users(id);
    }

    fn mark_users(&mut self, id: NodeId) {
        for &user in &self.users[id] {
            self.stale[user] = true;
        }
    }

    fn partial_of(&self, id: NodeId) -> &[(MeshAxis, Combine)] {
        self.plan.raw[id].as_ref().map_or(&[], |o| o.layout.partial())
    }

    fn travelling(&self, id: NodeId) -> &[(MeshAxis, Combine)] {
        if self.plan.settles[id] { &[] } else { self.partial_of(id) }
    }

    /// Whether the raw splits of `input` are those that `user` works under, at the same stage.
    fn fits(&self, user: NodeId, input: NodeId) -> bool {
        if self.graph.stage(user) != self.graph.stage(input) {
            return false;
        }
        let raw = self.plan.raw[input].as_ref();
        let (splits, shape) = (&self.plan.splits[user], self.graph.shape(input));
        raw.is_some_and(|raw| splits.wants(&raw.layout.settled(), shape))
    }

    /// Settles every travelling value for which that is no dearer; true if any did.
    fn weigh(&mut self) -> bool {
        let micro_batches = self.graph.micro.as_ref().map_or(1.0, |m| m.count() as f64);
        let mut later: IdVec<NodeId, f64> = self.graph.nodes().iter().map(|_| 0.0).collect();
        let mut changed = false;
        for id in self.graph.nodes().ids().rev() {
            if self.partial_of(id).is_empty() {
                continue;
            }
            let Some(raw) = self.plan.raw[id].as_ref() else { continue };
            let times = |id| if self.bodies.varies(id) { micro_batches } else { 1.0 };
            let now = times(id) * self.settle_price(id, &raw.layout);
            if self.plan.settles[id] {
                later[id] = now;
                continue;
            }
            let share = |user: NodeId| {
                if later[user] <= 0.0 {
                    return 0.0;
                }
                let inputs = self.graph.node(user).inputs.iter();
                let pending = inputs.filter(|&&i| !self.travelling(i).is_empty()).count();
                // What the user would pay anyway for what it sums up itself.
                let own = times(user) * self.own_price(user);
                (later[user] - own).max(0.0) / pending.max(1) as f64
            };
            let on = self.users[id].iter().map(|&u| share(u)).sum::<f64>();
            if on < now {
                later[id] = on;
            } else {
                self.settle(id);
                later[id] = now;
                changed = true;
            }
        }
        changed
    }

    fn own_price(&self, id: NodeId) -> f64 {
        let node = self.graph.node(id);
        let none: Vec<&[_]> = node.inputs.iter().map(|_| &[][..]).collect();
        match flow::outcome(self.graph, node, &self.plan.splits[id], &none, self.mesh) {
            Ok(own) if !own.layout.is_settled() => self.settle_price(id, &own.layout),
            _ => 0.0,
        }
    }

    fn settle_price(&self, id: NodeId, raw: &TensorLayout) -> f64 {
        let Some(to) = &self.layouts[id] else { return 0.0 };
        relayout::plan(raw, to, self.graph.shape(id), self.mesh).1.sent as f64
    }
}
