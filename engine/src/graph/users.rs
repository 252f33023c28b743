//! Who uses each node's result: one list for all nodes, cut where each node's users begin.

use super::Graph;
use crate::index::{Idx as _, NodeId};
use std::ops::Index;

/// The users of every node, in node order; who uses a result twice stands once.
#[derive(Debug, Clone)]
pub struct Users {
    all: Vec<NodeId>,
    begins: Vec<usize>,
}

impl Users {
    /// The users in a graph.
    pub fn of(graph: &Graph) -> Self {
        let uses = || {
            graph.nodes().entries().flat_map(|(id, node)| {
                let is_new = |&(at, input): &(usize, &NodeId)| !node.inputs[..at].contains(input);
                node.inputs.iter().enumerate().filter(is_new).map(move |(_, &input)| (input, id))
            })
        };
        // Two places on, so that after filling each node's stands where its users begin.
        let mut begins = vec![0; graph.nodes().len() + 2];
        for (input, _) in uses() {
            begins[input.index() + 2] += 1;
        }
        let mut sum = 0;
        for begin in &mut begins {
            sum += *begin;
            *begin = sum;
        }
        let mut all = vec![NodeId(0); sum];
        for (input, user) in uses() {
            let next = &mut begins[input.index() + 1];
            all[*next] = user;
            *next += 1;
        }
        Self { all, begins }
    }
}

impl Index<NodeId> for Users {
    type Output = [NodeId];
    fn index(&self, id: NodeId) -> &[NodeId] {
        &self.all[self.begins[id.index()]..self.begins[id.index() + 1]]
    }
}
