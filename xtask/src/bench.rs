//! `cargo xtask bench`: measures the engine natively and in the browser, and prints both with their
//! ratio.
//!
//! Two sources, both JSON objects of numbers by name (objects inside are flattened with dots):
//! `meshwork bench --json`, and the studio's `window.meshworkBench()`, called in Chromium.

use crate::{browser, files, say, serve, sh};
use anyhow::{Context as _, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

type Measures = BTreeMap<String, Value>;

/// Builds, measures, prints; the options are those of `meshwork bench`.
pub(crate) fn run(options: &[&str]) -> Result<()> {
    serve::build()?;
    say::step("Measuring natively", "about 2 min");
    let native = sh::output(Command::new(sh::meshwork()).args(["bench", "--json"]).args(options))?;
    let native = measures(&native).context("what `meshwork bench --json` printed")?;
    let out = browser::e2e().join("test-results/bench.json");
    let mut playwright = browser::playwright()?;
    say::step("Measuring in the browser", "about 1 min");
    playwright.args(["test", "--config", "bench/playwright.config.ts"]).env("MESHWORK_BENCH", &out);
    sh::run(&mut playwright)?;
    let browser = files::text(&out)?;
    let browser = measures(&browser).context("what `window.meshworkBench()` returned")?;
    say::line(&table(&native, &browser));
    Ok(())
}

fn measures(json: &str) -> Result<Measures> {
    let mut all = Measures::new();
    flatten("", serde_json::from_str(json)?, &mut all);
    Ok(all)
}

fn flatten(name: &str, value: Value, all: &mut Measures) {
    let inside = |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") };
    match value {
        Value::Object(parts) => {
            parts.into_iter().for_each(|(key, part)| flatten(&inside(&key), part, all));
        }
        Value::Array(parts) => {
            let numbered = parts.into_iter().enumerate();
            numbered.for_each(|(i, part)| flatten(&inside(&i.to_string()), part, all));
        }
        single => {
            all.insert(name.to_owned(), single);
        }
    }
}

/// One line per measure: native, browser, and browser ÷ native where there are both.
fn table(native: &Measures, browser: &Measures) -> String {
    let mut names: Vec<&String> = native.keys().chain(browser.keys()).collect();
    names.sort();
    names.dedup();
    let width = names.iter().map(|name| name.len()).max().unwrap_or(0).max("measure".len());
    let line = |name: &str, native: &str, browser: &str, ratio: &str| {
        format!("{name:width$} {native:>12} {browser:>12} {ratio:>8}")
    };
    let mut lines = vec![String::new(), line("measure", "native", "browser", "ratio")];
    for name in names {
        let cells = [native.get(name), browser.get(name)];
        let ratio = match cells.map(|cell| cell.and_then(Value::as_f64)) {
            [Some(native), Some(browser)] if native != 0.0 => format!("{:.2}", browser / native),
            _ => String::new(),
        };
        let [native, browser] = cells.map(|cell| cell.map_or_else(String::new, shown));
        lines.push(line(name, &native, &browser, &ratio));
    }
    lines.join("\n")
}

/// A number with four digits that count; anything else as it is.
fn shown(value: &Value) -> String {
    match (value, value.as_f64()) {
        (Value::String(text), _) => text.clone(),
        (_, Some(number)) => {
            let whole = number.abs().max(1.0).log10().floor();
            format!("{number:.*}", (3.0 - whole).max(0.0) as usize)
        }
        (other, None) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{measures, table};

    #[test]
    fn what_both_measure_gets_a_ratio() {
        let native = measures(r#"{"w1": {"gflops": 40}, "peak": 102.25}"#).unwrap();
        let browser = measures(r#"{"w1": {"gflops": 10.0}, "resolve_ms": 0.51234}"#).unwrap();
        let lines: Vec<String> = table(&native, &browser)
            .lines()
            .skip(2)
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(lines, ["peak 102.2", "resolve_ms 0.512", "w1.gflops 40.00 10.00 0.25"]);
    }
}
