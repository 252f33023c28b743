//! A tensor where it is asked for: on the processors of the stage that asks, in the layout it wants.
//!
//! What is fed is fed where it is read, what follows from nothing that is fed or trained is computed
//! there once more, and all else hops: the stage that made it sends its slices, and each processor
//! of the other receives its counterpart's.

use super::{Asker, Lowering, written};
use crate::graph::op::Role;
use crate::index::{NodeId, Stage, ValueId};
use crate::layout::tensor::TensorLayout;
use crate::spmd::collective::{Collective, CollectiveKind};
use crate::spmd::program::{BodyKind, Value, Work};
use crate::spmd::relayout::relayout;

impl Lowering<'_> {
    /// The value in which `user` reads an operand: still partial where the plan lets it travel.
    pub(super) fn operand(&mut self, user: NodeId, operand: usize) -> Option<ValueId> {
        let input = self.graph.node(user).inputs[operand];
        let stage = self.stage(user);
        let mut wanted = self.plan.kinds.get(user).operands[operand].as_ref()?;
        let partial;
        if let Some(value) = self.of_node[input]
            && !self.program.values[value].layout.is_settled()
            && self.program.values[value].stage == stage
        {
            let layout = &self.program.values[value].layout;
            if layout.splits() == wanted.splits() {
                return Some(value);
            }
            partial = layout.under(wanted, self.graph.shape(input), self.mesh)?;
            wanted = &partial;
        }
        let asker = self.asker(user);
        let here = Asker { body: self.bodies.of_relayout(input, asker.body), ..asker };
        if let Some(same) = self.known_as(input, wanted, here) {
            return Some(same);
        }
        let wanted = wanted.clone();
        self.bring(input, &wanted, asker)
    }

    pub(super) fn stage(&self, node: NodeId) -> Stage {
        self.elsewhere.unwrap_or_else(|| self.graph.stage(node))
    }

    pub(super) fn asker(&self, node: NodeId) -> Asker {
        let phase = self.graph.node(node).phase;
        Asker { node, phase, body: self.bodies.of_node(node), stage: self.stage(node) }
    }

    /// The node's tensor in a settled layout where it is asked for; adds the collectives that lead
    /// there.
    pub(super) fn bring(
        &mut self,
        id: NodeId,
        wanted: &TensorLayout,
        asker: Asker,
    ) -> Option<ValueId> {
        let asker = Asker { body: self.bodies.of_relayout(id, asker.body), ..asker };
        if let Some(same) = self.known_as(id, wanted, asker) {
            return Some(same);
        }
        let mut at = self.at_stage(id, asker)?;
        let from = &self.program.values[at].layout;
        for collective in relayout(from, wanted, self.graph.shape(id), self.mesh) {
            at = self.collective(id, at, collective, asker)?;
        }
        Some(at)
    }

    pub(super) fn known_as(
        &self,
        id: NodeId,
        wanted: &TensorLayout,
        asker: Asker,
    ) -> Option<ValueId> {
        let serves = |v: &ValueId| {
            let value = &self.program.values[*v];
            value.layout == *wanted && value.stage == asker.stage && self.made[*v] <= asker.body
        };
        self.known[id].iter().copied().find(serves)
    }

    /// The node's tensor on the processors of the stage that asks.
    fn at_stage(&mut self, id: NodeId, asker: Asker) -> Option<ValueId> {
        if written(&self.graph.node(id).op).is_some() {
            let before = (self.elsewhere.replace(asker.stage), self.of_node[id]);
            let value = self.immediate(id);
            self.elsewhere = before.0;
            self.of_node[id] = before.1.or(value);
            return value;
        }
        let own = self.of_node[id]?;
        if self.program.values[own].stage == asker.stage {
            return Some(own);
        }
        let settled = self.layouts[id].clone()?;
        if let Some(here) = self.known_as(id, &settled, asker) {
            return Some(here);
        }
        let node = self.graph.node(id);
        if node.role == Role::Input {
            // Fed where it is read.
            let before = self.elsewhere.replace(asker.stage);
            let value = self.source(id);
            (self.elsewhere, self.of_node[id]) = (before, Some(own));
            return value;
        }
        if self.bodies.is_fixed(id) {
            let before = self.elsewhere.replace(asker.stage);
            self.node(id)?;
            let here = self.of_node[id];
            (self.elsewhere, self.of_node[id]) = (before, Some(own));
            return here;
        }
        self.hop(id, own, asker)
    }

    /// Sends a settled value to the processors of another stage.
    fn hop(&mut self, id: NodeId, own: ValueId, asker: Asker) -> Option<ValueId> {
        let Value { stage: from, layout, .. } = self.program.values[own].clone();
        let sent = if self.bodies.varies(id) { self.made[own] } else { asker.body };
        let cells = self.program.cells.as_ref()?;
        let sends = cells.rank(from) != cells.rank(asker.stage);
        let axes = vec![cells.axis()];
        let at = Asker { body: sent, ..asker };
        let message = self.value_at(id, layout.clone(), Vec::new(), at);
        // On its way it is of use to nobody.
        self.known[id].pop();
        self.push(Work::Send, own, message, self.table.id(sent, from, self.main.is_some()), asker);
        let value = self.value_at(id, layout, Vec::new(), asker);
        let work = Work::Collective(Collective { kind: CollectiveKind::Hop { from, sends }, axes });
        self.push(work, message, value, self.body(asker), asker);
        Some(value)
    }

    pub(super) fn source(&mut self, id: NodeId) -> Option<ValueId> {
        let asker = Asker { body: BodyKind::Begin, ..self.asker(id) };
        let value = self.value_at(id, self.layouts[id].clone()?, Vec::new(), asker);
        self.of_node[id] = Some(value);
        self.program.sources.push(value);
        Some(value)
    }

    fn collective(
        &mut self,
        id: NodeId,
        from: ValueId,
        collective: Collective,
        asker: Asker,
    ) -> Option<ValueId> {
        let before = &self.program.values[from];
        let layout = collective.retype(&before.layout, &before.shape, self.mesh).ok()?;
        let pending = if layout.is_settled() { Vec::new() } else { before.pending.clone() };
        let to = self.value_at(id, layout, pending, asker);
        self.push(Work::Collective(collective), from, to, self.body(asker), asker);
        Some(to)
    }
}
