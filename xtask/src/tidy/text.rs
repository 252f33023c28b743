//! Rules of single files: the header, words that other systems use, unfinished work, tests that do
//! not test.

use super::source::Source;
use super::{Finding, Workspace};

/// Parts of identifiers that mean something else here, with the word that is meant. The engine
/// speaks the papers' language; at its borders (exports) it speaks that of the other side.
const FOREIGN: [(&str, &str); 4] = [
    ("shard", "slice"),
    ("all_reduce", "allreduce"),
    ("allReduce", "Allreduce"),
    ("device", "processor"),
];

/// Looks at every file.
pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut found = Vec::new();
    for source in &workspace.rust {
        found.extend(header(source));
        found.extend(words(source));
        found.extend(idle_tests(source));
    }
    let all = workspace.rust.iter().chain(&workspace.other);
    found.extend(all.flat_map(unfinished));
    found
}

fn header(source: &Source) -> Option<Finding> {
    let has_header = source.text.starts_with("//! ");
    (!has_header).then(|| {
        Finding::at(&source.path, 1, "begins without `//!`: the first line says what the file owns")
    })
}

fn words(source: &Source) -> Vec<Finding> {
    if !source.path.starts_with("engine/src/") || source.path.starts_with("engine/src/export/") {
        return vec![];
    }
    let mut found = Vec::new();
    for (number, line) in source.code.lines().enumerate() {
        for identifier in identifiers(line) {
            let foreign = FOREIGN.iter().find(|(part, _)| contains_part(identifier, part));
            if let Some((part, ours)) = foreign {
                let problem = format!("`{identifier}` says {part}; the engine's word is {ours}");
                found.push(Finding::at(&source.path, number + 1, problem));
            }
        }
    }
    found
}

/// Whether an identifier has the part, in any of the ways to write identifiers.
fn contains_part(identifier: &str, part: &str) -> bool {
    if part.contains(char::is_uppercase) {
        // the capital in the middle is what makes AllReduce another word than Allreduce
        let capitalised = format!("{}{}", part[..1].to_uppercase(), &part[1..]);
        return identifier.contains(part) || identifier.contains(&capitalised);
    }
    identifier.to_lowercase().contains(part)
}

fn identifiers(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

fn idle_tests(source: &Source) -> Vec<Finding> {
    let rules = [
        ("#[ignore", "a test that does not run tells nothing: mend it or remove it"),
        ("#[should_panic", "wrong input is data here: test the error that is returned"),
    ];
    let lines = source.code.lines().enumerate();
    lines
        .filter_map(|(number, line)| {
            let (_, problem) = rules.iter().find(|(attribute, _)| line.contains(attribute))?;
            Some(Finding::at(&source.path, number + 1, *problem))
        })
        .collect()
}

fn unfinished(source: &Source) -> Vec<Finding> {
    // in pieces, since this file is looked at, too
    let marks = [concat!("TO", "DO"), concat!("FIX", "ME")];
    let lines = source.text.lines().enumerate();
    lines
        .filter(|(_, line)| {
            let marked = identifiers(line).any(|word| marks.contains(&word));
            marked && !names_an_issue(line)
        })
        .map(|(number, _)| {
            Finding::at(
                &source.path,
                number + 1,
                format!("{} without the number of its issue (#123)", marks[0]),
            )
        })
        .collect()
}

fn names_an_issue(line: &str) -> bool {
    line.match_indices('#').any(|(at, _)| line[at + 1..].starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::{header, idle_tests, unfinished, words};
    use crate::tidy::source::Source;

    #[test]
    fn a_file_says_what_it_owns() {
        assert!(header(&Source::rust("a.rs", "//! The a.\n")).is_none());
        assert!(header(&Source::rust("a.rs", "use b;\n")).is_some());
    }

    #[test]
    fn foreign_words_are_found_in_identifiers_only() {
        let found = |text: &str| words(&Source::rust("engine/src/a.rs", text)).len();
        assert_eq!(found("fn sharded() {}"), 1);
        assert_eq!(found("enum C { AllReduce }"), 1);
        assert_eq!(found("fn all_reduce(on: DeviceId) {}"), 2);
        assert_eq!(found("enum C { Allreduce } // not AllReduce\nlet x = \"device\";"), 0);
        assert!(words(&Source::rust("engine/src/export/jax.rs", "fn shard() {}")).is_empty());
    }

    #[test]
    fn tests_that_do_not_test_are_found() {
        assert_eq!(idle_tests(&Source::rust("a.rs", "#[ignore]\nfn a() {}")).len(), 1);
        assert_eq!(idle_tests(&Source::rust("a.rs", "#[should_panic(expected = \"\")]")).len(), 1);
    }

    #[test]
    fn unfinished_work_has_an_issue() {
        let line = |rest: &str| format!("// {}{rest}", concat!("TO", "DO"));
        assert_eq!(unfinished(&Source::rust("a.rs", line(": later"))).len(), 1);
        assert_eq!(unfinished(&Source::rust("a.rs", line("(#12): later"))).len(), 0);
    }
}
