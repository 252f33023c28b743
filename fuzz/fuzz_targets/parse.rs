//! Any text parses; printing keeps its meaning; `fmt` settles; edits do what they say.

#![no_main]

use libfuzzer_sys::fuzz_target;
use meshwork_engine::spec::{edit, parse::parse, print, spans::strip_spans};

fuzz_target!(|text: &str| {
    let (spec, diagnostics) = parse(text);
    let printed = print::print(&spec);
    assert_eq!(strip_spans(parse(&printed).0), strip_spans(spec));
    let formatted = print::fmt(text);
    assert_eq!(print::fmt(&formatted), formatted);
    assert_eq!(parse(&formatted).1.len(), diagnostics.len());
    for d in &diagnostics {
        assert!(text.get(d.span.start as usize..d.span.end as usize).is_some());
        for change in d.hints.iter().filter_map(|h| h.edit.as_ref()) {
            assert!(text.get(change.span.start as usize..change.span.end as usize).is_some());
            parse(&edit::apply(text, std::slice::from_ref(change)));
        }
    }

    let mesh = [("rows".to_owned(), 2), ("a b".to_owned(), 3)];
    let dims = ["rows".to_owned(), "x".to_owned()];
    settles(text, |t| edit::set_mesh(t, &mesh));
    settles(text, |t| edit::set_mesh(t, &[]));
    settles(text, |t| edit::set_rule(t, "batch", &dims));
    settles(text, |t| edit::set_rule(t, "batch", &[]));
    settles(text, |t| edit::set_size(t, "batch", 6));
    settles(text, |t| edit::set_size(t, "hidden2", 6));
    settles(text, |t| edit::set_option(t, "train", "rate", "0.5"));
    settles(text, |t| edit::set_option(t, "hardware", "name", "a b"));
    settles(text, |t| edit::rename_mesh_dim(t, "rows", "y"));
});

/// An edit made twice is the edit made once.
fn settles(text: &str, change: impl Fn(&str) -> String) {
    let once = change(text);
    assert_eq!(change(&once), once);
}
