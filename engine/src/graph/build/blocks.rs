//! Blocks: lines that are repeated, and which names live on after them.

use super::{Builder, MAX_NODES};
use crate::diag::{Code, Diagnostic, Hint};
use crate::graph::options::Reader;
use crate::index::NodeId;
use crate::spec::ast::{Ident, Item, Opt, Stmt};
use std::collections::BTreeMap;

/// Tensors by the names that are visible. What a block makes goes with it; what it assigns anew of
/// its surroundings is carried on.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    visible: BTreeMap<String, NodeId>,
    /// Per open block, the names it made.
    made: Vec<Vec<String>>,
}

impl Scopes {
    /// What a name stands for.
    pub(super) const fn visible(&self) -> &BTreeMap<String, NodeId> {
        &self.visible
    }

    /// Gives a name to a tensor.
    pub(super) fn insert(&mut self, name: String, id: NodeId) {
        let is_new = self.visible.insert(name.clone(), id).is_none();
        if let Some(made) = self.made.last_mut().filter(|_| is_new) {
            made.push(name);
        }
    }

    fn open(&mut self) {
        self.made.push(Vec::new());
    }

    fn close(&mut self) {
        for name in self.made.pop().unwrap_or_default() {
            self.visible.remove(&name);
        }
    }
}

impl Builder<'_> {
    pub(super) fn block(&mut self, name: &Ident, options: &[Opt], body: &[Item]) {
        let mut read = Reader::new("block", options, &["times", "remat"], self.diagnostics);
        // Without `times` a block is a room for names, not a list of one.
        let read_times = read.get("times");
        let times = read.whole("times", 1, 10_000).unwrap_or(1);
        let remat = read.choice("remat", &[("on", true), ("off", false)]).unwrap_or(false);
        let prefix = self.prefix.clone();
        if !self.blocks.insert(format!("{prefix}{}", name.text)) {
            let span = self.origin.unwrap_or(name.span);
            let message =
                format!("There is already a block `{}`; give this one another name", name.text);
            let other = format!("{}2", name.text);
            let mend = Hint::edit(format!("Call it `{other}`."), span, other);
            self.diagnostics.push(Diagnostic::error(Code::Duplicate, span, message).hint(mend));
            return;
        }
        for i in 0..times {
            self.prefix = match read_times {
                Some(_) => format!("{prefix}{}.{i}.", name.text),
                None => format!("{prefix}{}.", name.text),
            };
            let before = self.diagnostics.len();
            let first = self.built.graph.nodes().len();
            let layer = self.prefix.trim_end_matches('.').to_owned();
            self.begin_layer(&layer);
            self.depth += 1;
            self.names.open();
            self.items(body);
            self.names.close();
            self.depth -= 1;
            if remat {
                // A marked block within this one is part of it.
                let end = self.built.graph.nodes().len();
                let blocks = &mut self.built.graph.remat_blocks;
                blocks.retain(|inner| inner.start < first);
                blocks.push(first..end);
            }
            if self.built.graph.nodes().len() > MAX_NODES {
                self.diagnostics.push(Diagnostic::error(
                    Code::TooLarge,
                    name.span,
                    format!("The model has more than {MAX_NODES} operations"),
                ));
                break;
            }
            if self.diagnostics[before..].iter().any(Diagnostic::is_error) {
                break;
            }
        }
        self.prefix = prefix;
    }
}

/// Items up to and with the `end` that closes the block.
pub(super) fn length(items: &[Item]) -> usize {
    let mut depth = 1;
    for (i, item) in items.iter().enumerate() {
        if let Stmt::Block { .. } = item.stmt {
            depth += 1;
        } else if item.stmt == Stmt::End {
            depth -= 1;
        }
        if depth == 0 {
            return i + 1;
        }
    }
    items.len()
}
