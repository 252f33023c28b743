//! The one list: only lowering and the passes make steps of a Program, only `spmd/run.rs` walks them
//! to find out what they mean. What wants to know something else about a Program implements
//! `MeshImpl` and is walked by it.

use super::source::Source;
use super::{Finding, Workspace};

/// Files that make steps: lowering, the passes, and the Program's own methods.
const MAKERS: [&str; 6] = [
    "engine/src/spmd/program.rs",
    "engine/src/spmd/lower",
    "engine/src/spmd/copy.rs",
    "engine/src/spmd/fuse.rs",
    "engine/src/spmd/free.rs",
    "engine/src/pipeline/",
];
/// Files that walk steps besides them: the walk itself, the listing, and the host, which makes one
/// kernel for each step before it is walked and finds those that are done together.
const WALKERS: [&str; 4] = [
    "engine/src/spmd/run.rs",
    "engine/src/spmd/print.rs",
    "engine/src/exec/host/",
    "engine/src/exec/sweep.rs",
];

/// Looks at every file of the engine.
pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    workspace.rust.iter().flat_map(file).collect()
}

fn file(source: &Source) -> Vec<Finding> {
    let listed = |list: &[&str]| list.iter().any(|start| source.path.starts_with(start));
    if !source.path.starts_with("engine/src/") || listed(&MAKERS) {
        return vec![];
    }
    let mut found = Vec::new();
    for (number, line) in source.untested.lines().enumerate() {
        if makes_step(line) {
            let problem = "makes a step; only lowering and the passes in spmd/ do";
            found.push(Finding::at(&source.path, number + 1, problem));
        }
        if walks_steps(line) && !listed(&WALKERS) {
            let problem = "walks the steps of a Program; only spmd/run.rs does, for a `MeshImpl`";
            found.push(Finding::at(&source.path, number + 1, problem));
        }
    }
    found
}

/// `Step { … }` or `Step::new(…)` as a value.
fn makes_step(line: &str) -> bool {
    let line = line.trim_start();
    let defines = ["struct ", "enum ", "impl ", "pub "].iter().any(|word| line.starts_with(word));
    let word = |name: &str| {
        line.match_indices(name).any(|(at, _)| {
            !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_')
                // `-> Step {` opens a function, `let Step { … } =` takes one apart
                && !line[..at].trim_end_matches(['&', ' ']).ends_with("->")
                && !line[..at].ends_with("let ")
        })
    };
    !defines && (word("Step {") || word("Step::new("))
}

/// `for … in ….steps` or `….steps.iter()`, `.steps()` and what follows.
fn walks_steps(line: &str) -> bool {
    let loops = line.trim_start().starts_with("for ");
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    line.match_indices(".steps").any(|(at, found)| {
        let rest = &line[at + found.len()..];
        let called = rest.strip_prefix("()").unwrap_or(rest);
        ends(rest)
            && (called.starts_with(".iter()")
                || called.starts_with(".into_iter()")
                || loops && called.trim_start().starts_with('{'))
    })
}

#[cfg(test)]
mod tests {
    use super::file;
    use crate::tidy::source::Source;

    fn found(path: &str, text: &str) -> usize {
        file(&Source::rust(path, text)).len()
    }

    #[test]
    fn others_make_no_steps() {
        assert_eq!(found("engine/src/cost/tally.rs", "body.push(Step { op });"), 1);
        assert_eq!(found("engine/src/spmd/lower.rs", "body.push(Step { op });"), 0);
        assert_eq!(found("engine/src/cost/tally.rs", "fn first(&self) -> &Step {"), 0);
        assert_eq!(found("engine/src/cost/tally.rs", "let Step { op, .. } = step;"), 0);
        assert_eq!(found("engine/src/cost/tally.rs", "struct PipelineStep { a: u8 }"), 0);
    }

    #[test]
    fn others_walk_no_steps() {
        assert_eq!(found("engine/src/cost/tally.rs", "for step in &body.steps {"), 1);
        assert_eq!(found("engine/src/cost/tally.rs", "program.steps().iter().map(f)"), 1);
        assert_eq!(found("engine/src/spmd/run.rs", "for step in &body.steps {"), 0);
        assert_eq!(found("engine/src/exec/session.rs", "if self.steps_done < train.steps {"), 0);
    }
}
