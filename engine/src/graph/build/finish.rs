//! The end of a build: initial values, what is never used, the backward pass and the update.

use super::{Builder, Built, MAX_PROBLEMS};
use crate::diag::{Code, Diagnostic, Hint, Span};
use crate::graph::op::{Dtype, Init, Op, Role};
use crate::graph::optimizer::{self, Recipe};
use crate::graph::train::TrainOptions;
use crate::graph::users::Users;
use crate::graph::{Graph, autodiff};
use crate::index::NodeId;
use std::collections::BTreeSet;

impl Builder<'_> {
    /// Parameters of two dimensions and more start normally distributed with deviation
    /// 1/√fan-in (the size of what is summed over in their first einsum, else all dimensions but
    /// the last), others and states at zero; inputs are standard normal.
    pub(super) fn default_inits(&mut self) {
        let users = self.built.graph.users();
        for &id in &self.uninitialised {
            let node = self.built.graph.node(id);
            let init = if node.role == Role::Input {
                Init::Normal { mean: 0.0, deviation: 1.0 }
            } else if node.role == Role::Slot || node.shape.rank() < 2 {
                Init::Constant(0.0)
            } else {
                let fan_in = fan_in(&self.built.graph, &users, id);
                Init::Normal { mean: 0.0, deviation: 1.0 / (fan_in as f64).sqrt() }
            };
            self.built.graph.set_init(id, init);
        }
    }

    /// Reports numbers of the text that are too large for the study's floats.
    pub(super) fn numbers_fit(&mut self) {
        if self.built.graph.dtype == Dtype::F64 {
            return;
        }
        let largest = f64::from(f32::MAX);
        let graph = &self.built.graph;
        let beyond = graph.nodes().iter().filter_map(|node| {
            let number = if let Op::Source(init) = &node.op {
                init.largest()
            } else if let Op::Constant(c) = node.op {
                c.abs()
            } else {
                return None;
            };
            (number > largest).then_some((node, number))
        });
        let mut found: Vec<Diagnostic> = beyond
            .map(|(node, number)| {
                let message = format!(
                    "`{}` has the number {number:e}; a 32-bit float holds up to {largest:.1e}",
                    node.name
                );
                Diagnostic::error(Code::BadOption, node.span, message)
                    .hint(Hint::new("Compute in 64-bit floats: `dtype:f64` on `model` or `train`."))
            })
            .collect();
        found.truncate(MAX_PROBLEMS);
        self.diagnostics.append(&mut found);
    }

    pub(super) fn unused(&mut self) {
        if self.failed() {
            return;
        }
        let graph = &self.built.graph;
        let users = graph.users();
        let idle = graph.nodes().entries().filter(|(id, node)| {
            let declared = matches!(node.role, Role::Input | Role::Parameter | Role::Slot);
            declared && users[*id].is_empty()
        });
        let mut found: Vec<Diagnostic> = idle
            .map(|(_, node)| {
                let message = format!("`{}` is declared and never used", node.name);
                Diagnostic::warning(Code::Unused, node.span, message)
            })
            .collect();
        let dims: BTreeSet<&str> =
            graph.nodes().iter().flat_map(|n| n.shape.dims()).map(|d| &*d.name).collect();
        let idle = self.built.dim_spans.iter().filter(|(name, _)| !dims.contains(name.as_str()));
        found.extend(idle.map(|(name, span)| {
            let message = format!("No tensor has the dimension `{name}`");
            Diagnostic::warning(Code::Unused, *span, message).hint(Hint::edit(
                "Remove it.",
                *span,
                "",
            ))
        }));
        found.truncate(MAX_PROBLEMS);
        self.diagnostics.append(&mut found);
    }

    /// Reports tensors whose names derived ones will have: gradients and slots.
    fn derived_names_are_free(&mut self) -> bool {
        let graph = &self.built.graph;
        let taken = graph.nodes().iter().find(|node| {
            let derived = node.name.split_once('/').filter(|(kind, _)| {
                matches!(*kind, "grad" | "update" | "adam.m" | "adam.v" | "momentum.m")
                    || kind.starts_with("adafactor.")
            });
            node.is_named && derived.is_some_and(|(_, of)| graph.find(of).is_some())
        });
        let Some(node) = taken else { return true };
        let message = format!(
            "`{}` is the name that training gives to a tensor of its own; give this one another",
            node.name
        );
        self.diagnostics.push(Diagnostic::error(Code::Duplicate, node.span, message));
        false
    }

    /// Warns of parameters by which the loss has no gradient; those that nothing reads were
    /// reported.
    fn without_slope(&mut self) {
        let graph = &self.built.graph;
        let users = graph.users();
        let trained: BTreeSet<NodeId> = graph.gradients.iter().map(|g| g.0).collect();
        let idle = graph.nodes().entries().filter(|(id, node)| {
            node.role == Role::Parameter && !trained.contains(id) && !users[*id].is_empty()
        });
        let mut found: Vec<Diagnostic> = idle
            .map(|(_, node)| {
                let message = format!(
                    "`{}` is never trained: the loss has no slope along it, so there is no `grad/{}`",
                    node.name, node.name
                );
                Diagnostic::warning(Code::NoLoss, node.span, message).hint(Hint::new(
                    "`stop_gradient`, `sign`, comparisons and positions have no slope; where that is meant, declare it as `state`.",
                ))
            })
            .collect();
        found.truncate(MAX_PROBLEMS);
        self.diagnostics.append(&mut found);
    }

    pub(super) fn finish(mut self, train: Option<Span>) -> Built {
        if self.failed() {
            return self.built;
        }
        self.over_micro_batches();
        let Some(span) = train else {
            self.assign_states();
            return self.built;
        };
        let Some(loss) = self.built.graph.loss else {
            self.diagnostics.push(
                Diagnostic::error(
                    Code::NoLoss,
                    span,
                    "There is nothing to train: no tensor is called `loss`",
                )
                .hint(Hint::new("Assign a single number to it: loss = mean(square(y - target)).")),
            );
            return self.built;
        };
        if !self.derived_names_are_free() {
            return self.built;
        }
        if let Err(parts) = autodiff::differentiate(&mut self.built.graph, loss) {
            self.report_entangled(&parts);
            return self.built;
        }
        if self.built.graph.gradients.is_empty() {
            self.diagnostics.push(Diagnostic::warning(
                Code::NoLoss,
                span,
                "The loss depends on no parameter: training changes nothing",
            ));
        }
        self.without_slope();
        let TrainOptions { optimizer, rate, schedule, clip, .. } = self.built.train;
        let recipe = Recipe { optimizer, rate, schedule, clip, span };
        optimizer::update(&mut self.built.graph, &recipe);
        self.assign_states();
        self.built
    }
}

fn fan_in(graph: &Graph, users: &Users, id: NodeId) -> u64 {
    let shape = graph.shape(id);
    let einsum = users[id].iter().map(|&u| graph.node(u)).find(|n| n.op == Op::Einsum);
    match einsum {
        Some(user) => shape.filter(|d| !user.shape.has(&d.name)).elements().max(1),
        None => shape.dims()[..shape.rank() - 1].iter().map(|d| d.size).product::<u64>().max(1),
    }
}
