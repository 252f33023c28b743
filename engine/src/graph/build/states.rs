//! States: tensors that are neither fed nor trained and take a value from step to step, such as the
//! running means of batch norm.

use super::Builder;
use crate::diag::{Code, Diagnostic, Hint};
use crate::graph::Context;
use crate::graph::op::{Op, Phase, Role};
use crate::layout::dims::Name;
use crate::spec::ast::{Expr, Ident};

impl Builder<'_> {
    /// `name := value`
    pub(super) fn next(&mut self, name: &Ident, value: &Expr) {
        let span = self.origin.unwrap_or(name.span);
        let fault = |message: String| Diagnostic::error(Code::State, span, message);
        let Some(&state) = self.names.visible().get(&name.text) else {
            if !self.broken.contains(&name.text) {
                let message = format!("`{}` is no state: `:=` says what one is next", name.text);
                let hint = format!("Declare it: `state {}[…]`.", name.text);
                self.diagnostics.push(fault(message).hint(Hint::new(hint)));
            }
            return;
        };
        let node = self.built.graph.node(state);
        let is_state = node.role == Role::Slot && matches!(node.op, Op::Source(_));
        if !is_state {
            let message = match node.role {
                Role::Parameter => {
                    format!("`{}` is trained; only a state has a next value", node.name)
                }
                Role::Input => format!("`{}` is fed; only a state has a next value", node.name),
                Role::Activation | Role::Gradient | Role::Slot | Role::Loss => {
                    format!("`{}` is computed; only a state has a next value", node.name)
                }
            };
            let hint = "Declare a tensor with `state` instead, or assign a new one with `=`.";
            self.diagnostics.push(fault(message).hint(Hint::new(hint)));
            return;
        }
        if self.built.graph.next.iter().any(|(s, _)| *s == state) {
            let message = format!("`{}` already has a next value", node.name);
            self.diagnostics.push(fault(message));
            return;
        }
        let shape = node.shape.clone();
        let base = Name::from(format!("{}/next", node.name));
        let cx = Context { base, role: Role::Activation, phase: Phase::Forward, span };
        let first = self.built.graph.nodes().len();
        let Some(next) = self.scope().expr(&cx, value) else { return };
        if !self.is_storable(first, span) {
            return;
        }
        if let Some(next) = self.stated(&cx, next, shape) {
            self.built.graph.next.push((state, next));
        }
    }

    /// Appends the assignments, which are the last a step does.
    pub(super) fn assign_states(&mut self) {
        for (state, next) in self.built.graph.next.clone() {
            self.built.graph.layer = self.built.graph.node(state).layer;
            let node = self.built.graph.node(state);
            let cx = Context {
                base: Name::from(format!("update/{}", node.name)),
                role: Role::Slot,
                phase: Phase::Update,
                span: node.span,
            };
            let shape = node.shape.clone();
            self.built.graph.add(&cx, Op::Assign, vec![state, next], shape);
        }
    }
}
