//! The lines of a study against each other: names given twice, statements that may stand once,
//! blocks and their ends.

use super::reader::Problems;
use crate::diag::{Code, Diagnostic, Hint, Span};
use crate::spec::ast::{Item, Pair, RulePair, Stmt};
use crate::spec::lex::{self, is_space, line_break, shown};
use std::collections::{BTreeMap, BTreeSet};

/// How deep blocks may nest.
const MAX_BLOCKS: usize = 16;

/// The longest stretch of text that a one-click mend of a layout rewrites.
const MAX_MEND: usize = 2000;

/// Where something was said first.
#[derive(Debug, Clone)]
struct First<T> {
    line: usize,
    span: Span,
    value: T,
}

/// What the lines so far have said.
#[derive(Debug)]
pub(super) struct Document<'t, 'p> {
    text: &'t str,
    problems: &'p mut Problems,
    mesh: BTreeMap<String, First<u64>>,
    dims: BTreeMap<String, First<u64>>,
    rules: BTreeMap<String, First<Vec<String>>>,
    /// The statements that stand once, by their word.
    once: BTreeMap<&'static str, usize>,
    /// The open blocks; those nested too deep have no name.
    blocks: Vec<Option<(String, Span)>>,
}

impl<'t, 'p> Document<'t, 'p> {
    /// An empty document.
    pub(super) fn new(text: &'t str, problems: &'p mut Problems) -> Self {
        Self {
            text,
            problems,
            mesh: BTreeMap::new(),
            dims: BTreeMap::new(),
            rules: BTreeMap::new(),
            once: BTreeMap::new(),
            blocks: Vec::new(),
        }
    }

    /// Checks the next line and leaves out of it what clashes; whether something does.
    pub(super) fn check(&mut self, line: usize, item: &mut Item) -> bool {
        let errors = self.problems.errors;
        let keeps = match &mut item.stmt {
            Stmt::Mesh(pairs) => {
                let had = pairs.len();
                pairs.retain(|pair| {
                    let what = "The mesh dimension";
                    size_once(self.text, self.problems, &mut self.mesh, line, pair, what)
                });
                had == 0 || !pairs.is_empty()
            }
            Stmt::Dims(pairs) => {
                let had = pairs.len();
                pairs.retain(|pair| {
                    let what = "The dimension";
                    size_once(self.text, self.problems, &mut self.dims, line, pair, what)
                });
                had == 0 || !pairs.is_empty()
            }
            Stmt::Layout(rules) => {
                let had = rules.len();
                let mut at = 0;
                rules.retain_mut(|rule| {
                    at += 1;
                    mesh_dims_once(self.problems, rule);
                    self.rule_once(line, rule, at == 1)
                });
                had == 0 || !rules.is_empty()
            }
            Stmt::Model { .. } => self.stands_once("model", line, item.span),
            Stmt::Train(_) => self.stands_once("train", line, item.span),
            Stmt::Pipeline(_) => self.stands_once("pipeline", line, item.span),
            Stmt::Hardware { .. } => self.stands_once("hardware", line, item.span),
            Stmt::Block { name, .. } => {
                let span = item.span;
                let name = name.text.clone();
                self.open(name, span)
            }
            Stmt::End => self.close(item.span),
            Stmt::Unreadable(code) => {
                // Its `end` belongs to it.
                if code.split(|c| !lex::is_name_char(c)).next() == Some("block") {
                    self.blocks.push(None);
                }
                true
            }
            Stmt::Blank
            | Stmt::Input(_)
            | Stmt::Param(_)
            | Stmt::State(_)
            | Stmt::Assign { .. }
            | Stmt::Next { .. } => true,
        };
        if !keeps {
            let (code, _) = lex::split_comment(item.span.of(self.text));
            item.stmt = Stmt::Unreadable(code.to_owned());
        }
        self.problems.errors > errors
    }

    /// Reports the blocks that are still open.
    pub(super) fn finish(self) {
        let end = self.text.len() as u32;
        let newline = line_break(self.text);
        let before = if self.text.ends_with('\n') { "" } else { newline };
        for (name, span) in self.blocks.into_iter().flatten() {
            let message = format!("The block {} is not closed", shown(&name));
            let hint = Hint::edit(
                "Add a line `end` at the end of the text.",
                Span::new(end, end),
                format!("{before}end{newline}"),
            );
            self.problems.report(Diagnostic::error(Code::UnclosedBlock, span, message).hint(hint));
        }
    }

    fn rule_once(&mut self, line: usize, rule: &RulePair, leads: bool) -> bool {
        let mesh_dims: Vec<String> = rule.mesh_dims.iter().map(|m| m.text.clone()).collect();
        let Some(first) = self.rules.get(&rule.dim.text) else {
            let first = First { line, span: rule.span, value: mesh_dims };
            self.rules.insert(rule.dim.text.clone(), first);
            return true;
        };
        if first.value == mesh_dims {
            return true;
        }
        if self.problems.only_counts() {
            return false;
        }
        let message = format!(
            "{} is sent to {} and, on line {}, to {}",
            shown(&rule.dim.text),
            shown(&mesh_dims.join("+")),
            first.line + 1,
            shown(&first.value.join("+")),
        );
        let mut merged = first.value.clone();
        merged.extend(mesh_dims.into_iter().filter(|m| !first.value.contains(m)));
        let mut written = String::new();
        lex::write_name(&mut written, &rule.dim.text);
        for (i, mesh_dim) in merged.iter().enumerate() {
            written.push(if i == 0 { ':' } else { '+' });
            lex::write_name(&mut written, mesh_dim);
        }
        let advice = format!("Split it over all of them, in this order: `{written}`.");
        let between = Span::new(first.span.end, rule.span.start).of(self.text);
        let hint = if between.len() > MAX_MEND {
            Hint::new(advice)
        } else {
            let separator = |c: char| c != '\n' && (is_space(c) || matches!(c, ',' | '.' | ';'));
            let kept = if leads { between } else { between.trim_end_matches(separator) };
            Hint::edit(advice, first.span.join(rule.span), format!("{written}{kept}"))
        };
        let problem = Diagnostic::error(Code::TwoMeshDimensions, rule.span, message).hint(hint);
        self.problems.report(problem.hint(Hint::new("Or leave one of the two rules out.")));
        false
    }

    fn stands_once(&mut self, word: &'static str, line: usize, span: Span) -> bool {
        let Some(first) = self.once.get(word) else {
            self.once.insert(word, line);
            return true;
        };
        let message = format!("A study has one `{word}`; the first is on line {}", first + 1);
        let (code, _) = lex::split_comment(span.of(self.text));
        let span = lex::span_within(self.text, code);
        let hint = Hint::edit("Leave this line out, or join the two.", span, "");
        self.problems.report(Diagnostic::error(Code::Duplicate, span, message).hint(hint));
        false
    }

    fn open(&mut self, name: String, span: Span) -> bool {
        let (code, _) = lex::split_comment(span.of(self.text));
        let span = lex::span_within(self.text, code);
        let fits = self.blocks.len() < MAX_BLOCKS;
        if !fits {
            let message = format!("Blocks nest more than {MAX_BLOCKS} deep");
            self.problems.report(Diagnostic::error(Code::TooLarge, span, message));
        }
        self.blocks.push(fits.then_some((name, span)));
        fits
    }

    fn close(&mut self, line: Span) -> bool {
        match self.blocks.pop() {
            Some(block) => block.is_some(),
            None => {
                let (code, _) = lex::split_comment(line.of(self.text));
                let span = lex::span_within(self.text, code);
                let hint = Hint::edit("Leave it out.", span, "");
                let message = "This `end` closes no block";
                self.problems
                    .report(Diagnostic::error(Code::UnclosedBlock, span, message).hint(hint));
                false
            }
        }
    }
}

/// Leaves out of a rule the mesh dimensions that it names again.
fn mesh_dims_once(problems: &mut Problems, rule: &mut RulePair) {
    let mut seen = BTreeSet::new();
    let mut end = rule.dim.span.end;
    rule.mesh_dims.retain(|mesh_dim| {
        let again = Span::new(end, mesh_dim.span.end);
        end = mesh_dim.span.end;
        if seen.insert(mesh_dim.text.clone()) {
            return true;
        }
        let message =
            format!("The mesh dimension {} stands twice in one rule", shown(&mesh_dim.text));
        let hint = Hint::edit("Leave the second out.", again, "");
        problems.report(Diagnostic::error(Code::Duplicate, mesh_dim.span, message).hint(hint));
        false
    });
}

/// Whether a pair names something new.
fn size_once(
    text: &str,
    problems: &mut Problems,
    seen: &mut BTreeMap<String, First<u64>>,
    line: usize,
    pair: &Pair,
    what: &str,
) -> bool {
    let Some(first) = seen.get(&pair.name.text) else {
        let first = First { line, span: pair.span, value: pair.size };
        seen.insert(pair.name.text.clone(), first);
        return true;
    };
    if problems.only_counts() {
        return false;
    }
    let message = format!(
        "{what} {} already has the size {}, on line {}",
        shown(&pair.name.text),
        first.value,
        first.line + 1
    );
    let before = text[..pair.span.start as usize].trim_end_matches([' ', '\t']).len() as u32;
    let hint = Hint::edit("Leave this one out.", Span::new(before, pair.span.end), "");
    let span = pair.span;
    problems.report(Diagnostic::error(Code::Duplicate, span, message).hint(hint));
    false
}
