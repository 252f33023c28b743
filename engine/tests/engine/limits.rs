//! Mends of the numbers of pipelines lead to studies without what they mend.

use meshwork_engine::diag::Diagnostic;
use meshwork_engine::pipeline::schedule::Schedule;
use meshwork_engine::spec::edit;
use meshwork_engine::study::Study;

/// An error without its numbers.
fn kind(d: &Diagnostic) -> String {
    d.message.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// Every mend of an error; how many there are.
fn mended(text: &str) -> usize {
    let study = Study::tried(text);
    let mut mends = 0;
    for d in study.diagnostics().iter().filter(|d| d.is_error()) {
        assert!(!d.hints.is_empty(), "{text}\n{}", d.message);
        for edit in d.hints.iter().filter_map(|hint| hint.edit.as_ref()) {
            mends += 1;
            let after = edit::apply(text, std::slice::from_ref(edit));
            let left = Study::tried(&after);
            let errors = || left.diagnostics().iter().filter(|d| d.is_error());
            assert!(errors().all(|l| kind(l) != kind(d)), "{text}\n{after}\n{}", d.message);
            let is_only = study.diagnostics().iter().filter(|d| d.is_error()).count() == 1;
            // The right number of chunks may still be too many for the layers.
            if is_only && !d.message.contains("chunk") {
                let messages: Vec<&str> = errors().map(|l| &*l.message).collect();
                assert!(messages.is_empty(), "{text}\n{after}\n{}\n{messages:?}", d.message);
            }
        }
    }
    mends
}

#[test]
fn mends_of_numbers_mend() {
    let mut mends = 0;
    for (schedule, depth) in Schedule::ALL.into_iter().flat_map(|s| [(s, 1), (s, 5)]) {
        for (cells, rows) in [(1, 4), (2, 9), (3, 7), (4, 12), (5, 2), (9, 16)] {
            for micro_batches in ["", "micro_batches:0", "micro_batches:3", "micro_batches:1e7"] {
                for chunks in ["", "chunks:1", "chunks:3"] {
                    let name = schedule.name();
                    mends += mended(&format!(
                        "mesh p:{cells}\nmodel mlp batch:{rows} in:2 hidden:2 depth:{depth}\ntrain\n\
                         pipeline over:p schedule:{name} {micro_batches} {chunks}\n"
                    ));
                }
            }
        }
    }
    assert!(mends > 500, "{mends}");
}
