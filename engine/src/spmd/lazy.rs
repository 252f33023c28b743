//! Which partial sums settle where they arise, and which travel on.
//!
//! A sum over a split dimension leaves each processor a summand. Adding two such tensors first and
//! settling their sum costs one Allreduce instead of two; but settling a small tensor beats
//! settling a large one made from it. The rule: a partial value travels on only if every user lets
//! it pass and what those users then pay is *less* than settling at once. So laziness never costs
//! more, and a value settles at most once. A user that works under other splits lays the summands
//! out anew: they are as many numbers as their sum.

use super::bodies::Bodies;
use super::flow::{self, Outcome};
use super::kind::{self, Kind, Kinds};
use super::relayout;
use crate::graph::Graph;
use crate::graph::users::Users;
use crate::index::{IdVec, MeshAxis, NodeId};
use crate::layout::mesh::Mesh;
use crate::layout::tensor::Combine;
use crate::resolve::Layouts;
use std::rc::Rc;

/// The plan: for every node, how its operands come and how its result leaves.
#[derive(Debug, Clone)]
pub struct Plan {
    /// How operands come.
    pub kinds: Kinds,
    /// The layout in which each node's result arises; `None` for immediates.
    pub raw: IdVec<NodeId, Option<Rc<Outcome>>>,
    /// Whether it is brought to its settled layout right there.
    pub settles: IdVec<NodeId, bool>,
}

/// Plans a graph whose layouts are all legal, so that the nodes settle which are given, or those
/// for which it is no dearer.
pub fn plan(
    graph: &Graph,
    layouts: &Layouts,
    mesh: &Mesh,
    bodies: &Bodies,
    given: Option<IdVec<NodeId, bool>>,
) -> Plan {
    let kinds = Kinds::of(graph, layouts, mesh);
    let users = graph.users();
    let none = graph.nodes().iter().map(|_| None).collect();
    // What nothing uses is a result. A parameter's gradient is handed to the optimizer settled: it
    // is what the user looks at.
    let mut settles: IdVec<NodeId, bool> =
        graph.nodes().ids().map(|id| users[id].is_empty()).collect();
    for &(_, gradient) in &graph.gradients {
        settles[gradient] = true;
    }
    let is_given = given.is_some();
    let plan = Plan { kinds, raw: none, settles: given.unwrap_or(settles) };
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
    users: Users,
    bodies: &'a Bodies,
    plan: Plan,
    /// Nodes whose raw layout is to be computed, since what they read has changed.
    stale: IdVec<NodeId, bool>,
}

impl Draft<'_> {
    /// Computes the raw layouts under the present choice; adds the operands that cannot stay
    /// partial. True if there were any.
    fn forward(&mut self) -> bool {
        let graph = self.graph;
        let mut changed = false;
        for (id, node) in graph.nodes().entries() {
            if !std::mem::take(&mut self.stale[id]) || flow::is_immediate(graph, id) {
                continue;
            }
            // Operands settle that cannot have the splits wanted while they are partial.
            for (k, &input) in node.inputs.iter().enumerate() {
                if !self.travelling(input).is_empty() && !self.fits(id, k) {
                    self.settle(input);
                    changed = true;
                }
            }
            let raw = if node.inputs.iter().all(|&i| self.travelling(i).is_empty()) {
                self.kind(id).clear.clone()
            } else {
                match self.outcome(id) {
                    Ok(outcome) => Some(outcome),
                    Err(operands) => {
                        for k in operands {
                            self.settle(node.inputs[k]);
                        }
                        changed = true;
                        self.outcome(id).ok()
                    }
                }
            };
            if self.plan.raw[id] != raw {
                self.plan.raw[id] = raw;
                self.mark_users(id);
            }
        }
        changed
    }

    /// How a result leaves with the operands that are partial now.
    fn outcome(&self, id: NodeId) -> Result<Rc<Outcome>, Vec<usize>> {
        let node = self.graph.node(id);
        let partial: Vec<&[_]> = node.inputs.iter().map(|&i| self.travelling(i)).collect();
        flow::outcome(self.graph, node, &self.kind(id).splits, &partial, self.mesh).map(Rc::new)
    }

    fn kind(&self, id: NodeId) -> &Kind {
        self.plan.kinds.get(id)
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

    /// Whether an operand can be brought, still partial, into the splits that `user` works under:
    /// at the same stage, and none of them over the processors that hold summands.
    fn fits(&self, user: NodeId, operand: usize) -> bool {
        let input = self.graph.node(user).inputs[operand];
        if self.graph.stage(user) != self.graph.stage(input) {
            return false;
        }
        let raw = self.plan.raw[input].as_ref();
        let wanted = self.kind(user).operands[operand].as_ref();
        raw.zip(wanted).is_some_and(|(raw, wanted)| {
            let mut partial = raw.layout.partial().iter();
            partial.all(|p| wanted.split_by(p.0).is_none())
        })
    }

    /// What `user` pays for laying out a partial value anew beyond what it would pay for the
    /// settled one.
    fn moving(&self, id: NodeId, raw: &Outcome, user: NodeId) -> f64 {
        let (Some(settled), shape) = (&self.layouts[id], self.graph.shape(id)) else { return 0.0 };
        let operands = self.graph.node(user).inputs.iter().zip(&self.kind(user).operands);
        let wanted = operands.filter(|o| *o.0 == id).filter_map(|o| o.1.as_ref());
        let more = wanted.filter(|wanted| wanted.splits() != raw.layout.splits()).map(|wanted| {
            let Some(partial) = raw.layout.under(wanted, shape, self.mesh) else { return 0.0 };
            let sent = |from, to| relayout::plan(from, to, shape, self.mesh).1.sent as f64;
            (sent(&raw.layout, &partial) - sent(settled, wanted)).max(0.0)
        });
        more.sum()
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
            let now = times(id) * self.settle_price(id, raw);
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
                let own = times(user) * self.kind(user).price;
                (later[user] - own).max(0.0) / pending.max(1) as f64
            };
            let moving = |user: NodeId| times(user) * self.moving(id, raw, user);
            let on = self.users[id].iter().map(|&u| share(u) + moving(u)).sum::<f64>();
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

    fn settle_price(&self, id: NodeId, raw: &Rc<Outcome>) -> f64 {
        let kind = self.kind(id);
        match &kind.clear {
            Some(clear) if Rc::ptr_eq(clear, raw) => kind.price,
            _ => kind::price(self.graph, id, &raw.layout, self.layouts, self.mesh),
        }
    }
}
