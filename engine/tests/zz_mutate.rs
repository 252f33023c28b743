//! temporary


use meshwork_engine::spec::{edit, parse::parse, print, spans::strip_spans};

fn target(text: &str) {
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
}

/// An edit made twice is the edit made once.
fn settles(text: &str, change: impl Fn(&str) -> String) {
    let once = change(text);
    assert_eq!(change(&once), once);
}
#[test]
fn mutate() {
    let files: Vec<String> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/parse")).unwrap()
        .filter_map(|e| std::fs::read_to_string(e.unwrap().path()).ok()).collect();
    println!("{} files", files.len());
    let mut x: u64 = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(88172645463325252);
    let mut r = move |n: usize| { x ^= x << 13; x ^= x >> 7; x ^= x << 17; (x % (n.max(1) as u64)) as usize };
    let start = std::time::Instant::now();
    let mut n = 0u64;
    while start.elapsed().as_secs() < 200 {
        let mut t: Vec<char> = files[r(files.len())].chars().take(400).collect();
        for _ in 0..1 + r(5) {
            let at = r(t.len() + 1);
            match r(5) {
                0 => { let e = (at + r(8)).min(t.len()); t.drain(at..e); }
                1 => { let o: Vec<char> = files[r(files.len())].chars().collect(); let s = r(o.len()+1); let e = (s + r(40)).min(o.len()); for (k, c) in o[s..e].iter().enumerate() { t.insert(at + k, *c); } }
                2 => { let c = [':', '=', '+', '-', '>', '.', ',', ';', '`', '#', '(', ')', '[', ']', ' ', '\n', '\r', '1', 'x', '^', '*', '/', '\0', 'é'][r(24)]; t.insert(at, c); }
                3 => { let e = (at + r(30)).min(t.len()); let d: Vec<char> = t[at..e].to_vec(); for (k, c) in d.iter().enumerate() { t.insert(at + k, *c); } }
                _ => { let w = ["batch:", "mesh ", "layout ", "train ", "rate:", "hidden:(1 2) ", "rows", "depth:3 ", "model ", "dims ", "block a\n", "end\n", "batch", "hardware ", "init:zeros"][r(15)]; for (k, c) in w.chars().enumerate() { t.insert(at + k, c); } }
            }
        }
        let text: String = t.into_iter().collect();
        n += 1;
        if std::panic::catch_unwind(|| target(&text)).is_err() { std::fs::write(format!("/tmp/mut-crash-{n}"), &text).unwrap(); panic!("{n} {text:?}"); }
    }
    println!("{n} runs");
}
