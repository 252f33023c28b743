//! CSV → table. The whole file is read before anything is kept, and all that is wrong with it is
//! said at once, with line and column.
//!
//! ```text
//!   width,height,kind          header: a name per column
//!   1.0,2.5,small              features are numbers; the target is the last column, or the one
//!   3.5,0.5,large              asked for, and may be words: then they are classes
//! ```

use super::{Table, Target};
use meshwork_wire::plan::Diagnostic;
use std::collections::BTreeSet;

/// The most that is reported of one file.
const MAX_REPORTED: usize = 20;
/// The most classes a target may have.
const MAX_CLASSES: usize = 1000;
/// The most columns.
const MAX_COLUMNS: usize = 4096;
/// Of so many cells, fewer than one that is no number is taken for a slip; so is a single one among
/// at least [`FEW`].
const SLIPS: usize = 20;
/// So few cells of a target may well be classes.
const FEW: usize = 10;

/// What the target column is to be taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// Numbers if all are numbers, else classes.
    #[default]
    Auto,
    /// Classes, also when they are written as numbers.
    Classification,
    /// Numbers.
    Regression,
}

/// How a CSV is to be read.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The column to predict; the last one when absent.
    pub target: Option<String>,
    /// What the target is.
    pub kind: Kind,
}

/// The table in a CSV, or all that is wrong with it. In a diagnostic, `column` is the number of
/// the field in its line, from 1.
pub fn table(name: &str, csv: &[u8], options: &Options) -> Result<Table, Vec<Diagnostic>> {
    let text = utf8(csv).map_err(|d| vec![d])?;
    let delimiter = delimiter(text);
    if let Some(line) = unclosed_quote(text, delimiter) {
        let message = format!("the quote opened on line {line} is not closed");
        let hint = "Close it, or leave out the quote; within quotes a quote is written twice.";
        return Err(vec![problem(line, 1, message, &[hint])]);
    }
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let head = reader.headers().map_err(|e| vec![unreadable(&e)])?.clone();
    let head: Vec<String> = head.iter().map(str::to_owned).collect();
    let target = columns(&head, options).map_err(|d| vec![d])?;

    let mut problems = Vec::new();
    let mut features = Vec::new();
    let mut targets = Vec::new();
    for record in reader.records() {
        if problems.len() >= MAX_REPORTED {
            return Err(problems);
        }
        let record = record.map_err(|e| vec![unreadable(&e)])?;
        let line = record.position().map_or(0, |p| p.line() as u32);
        if record.len() != head.len() {
            problems.push(ragged(line, record.len(), &head));
            continue;
        }
        for (i, field) in record.iter().enumerate() {
            if i == target {
                targets.push((line, field.to_owned()));
                if field.is_empty() {
                    problems.push(bad_field(line, i, &head, field));
                }
            } else {
                match number(field) {
                    Some(v) => features.push(v),
                    None => problems.push(bad_field(line, i, &head, field)),
                }
            }
        }
    }
    let (values, target_kind) =
        match targets_of(&targets, target, &head, options.kind, problems.is_empty()) {
            Ok(made) => made,
            Err(mut more) => {
                problems.append(&mut more);
                problems.sort_by_key(|d| (d.line, d.column));
                problems.truncate(MAX_REPORTED);
                return Err(problems);
            }
        };
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut rows = Vec::with_capacity(features.len() + values.len());
    for (x, y) in features.chunks(head.len() - 1).zip(values) {
        rows.extend_from_slice(x);
        rows.push(y);
    }
    let mut columns = head;
    let last = columns.remove(target);
    columns.push(last);
    Ok(Table { name: name.to_owned(), columns, rows, target: target_kind })
}

/// The header's own faults; the index of the target column.
fn columns(head: &[String], options: &Options) -> Result<usize, Diagnostic> {
    if head.len() < 2 {
        let message = "a table needs at least one feature column and the target column";
        let hint = "Separate the columns by commas, semicolons or tabs; the first line names them.";
        return Err(problem(1, 1, message.to_owned(), &[hint]));
    }
    if head.len() > MAX_COLUMNS {
        let message = format!("{} columns; at most {MAX_COLUMNS} are read", head.len());
        return Err(problem(1, MAX_COLUMNS as u32 + 1, message, &[]));
    }
    if head.iter().all(|name| number(name).is_some()) {
        let message = "the first line holds numbers; it must name the columns".to_owned();
        return Err(problem(1, 1, message, &["Put a line such as `x1,x2,y` before it."]));
    }
    for (i, name) in head.iter().enumerate() {
        let column = i as u32 + 1;
        if name.is_empty() {
            return Err(problem(1, column, format!("column {column} has no name"), &[]));
        }
        if let Some(first) = head[..i].iter().position(|other| other == name) {
            let message = format!("columns {} and {column} are both called `{name}`", first + 1);
            return Err(problem(1, column, message, &["Give each column a name of its own."]));
        }
    }
    let Some(wanted) = &options.target else { return Ok(head.len() - 1) };
    head.iter().position(|name| name == wanted).ok_or_else(|| {
        let message = format!("there is no column `{wanted}` to be the target");
        let near = meshwork_engine::diag::nearest(wanted, head.iter().map(String::as_str));
        let hint = match near {
            Some(near) => format!("Did you mean `{near}`?"),
            None => format!("The columns are {}.", head.join(", ")),
        };
        problem(1, 1, message, &[&hint])
    })
}

/// The target column as numbers, with its kind. Unless all is well so far, the column as a whole
/// is not judged: its fields may be the wrong ones.
fn targets_of(
    targets: &[(u32, String)],
    column: usize,
    head: &[String],
    kind: Kind,
    is_well: bool,
) -> Result<(Vec<f64>, Target), Vec<Diagnostic>> {
    let place = column as u32 + 1;
    if is_well && targets.len() < 2 {
        let line = targets.last().map_or(1, |(line, _)| *line);
        let message = "a table needs at least two rows, to train on one and test on another";
        return Err(vec![problem(line, place, message.to_owned(), &[])]);
    }
    let numbers: Vec<Option<f64>> = targets.iter().map(|(_, field)| number(field)).collect();
    let all_numbers = numbers.iter().all(Option::is_some);
    if kind == Kind::Auto
        && is_well
        && let Some(slips) = slips(targets, &numbers, column, head)
    {
        return Err(slips);
    }
    if kind == Kind::Regression || (kind == Kind::Auto && all_numbers) {
        let bad = targets.iter().zip(&numbers).filter(|((_, f), n)| n.is_none() && !f.is_empty());
        let bad: Vec<Diagnostic> = bad
            .map(|((line, field), _)| bad_field(*line, column, head, field))
            .take(MAX_REPORTED)
            .collect();
        let values = numbers.into_iter().flatten().collect();
        return if bad.is_empty() { Ok((values, Target::Number)) } else { Err(bad) };
    }
    let mut names: Vec<&str> =
        targets.iter().map(|(_, f)| &**f).collect::<BTreeSet<_>>().into_iter().collect();
    if all_numbers {
        names.sort_by(|a, b| number(a).unwrap_or(0.0).total_cmp(&number(b).unwrap_or(0.0)));
    }
    let name = &head[column];
    if is_well && names.len() < 2 {
        let message = format!("the target `{name}` has one class only, `{}`", names.join(""));
        return Err(vec![problem(targets[0].0, place, message, &[])]);
    }
    let is_text = names.len() > MAX_CLASSES || (names.len() == targets.len() && names.len() > 2);
    if is_well && is_text {
        let message = format!(
            "the target `{name}` has {} classes in {} rows; that looks like text, not classes",
            names.len(),
            targets.len()
        );
        let hint = "Name the column to predict by `target`; the last column is taken otherwise.";
        return Err(vec![problem(targets[0].0, place, message, &[hint])]);
    }
    let index = |field: &str| names.iter().position(|n| *n == field).unwrap_or(0) as f64;
    let values = targets.iter().map(|(_, field)| index(field)).collect();
    Ok((values, Target::Classes(names.into_iter().map(str::to_owned).collect())))
}

/// The cells of a target that are no numbers, if they are so few that they must be slips.
fn slips(
    targets: &[(u32, String)],
    numbers: &[Option<f64>],
    column: usize,
    head: &[String],
) -> Option<Vec<Diagnostic>> {
    let odd: Vec<&(u32, String)> =
        targets.iter().zip(numbers).filter(|(_, n)| n.is_none()).map(|(t, _)| t).collect();
    let (few, all) = (odd.len(), targets.len());
    let are_slips = few > 0 && (few * SLIPS < all || (few == 1 && all >= FEW));
    if !are_slips {
        return None;
    }
    let name = &head[column];
    let slip = |(line, field): &(u32, String)| {
        let message = format!(
            "`{name}` is {}, not a number as {} of its {all} cells are",
            shown(field),
            all - few
        );
        let hints = [
            "Correct it.",
            "If the column holds classes, say so: kind=classification (--kind classification).",
        ];
        problem(*line, column as u32 + 1, message, &hints)
    };
    Some(odd.into_iter().map(slip).take(MAX_REPORTED).collect())
}

/// The line of a quote that nothing closes: that runs to the end of the text, or over line ends to
/// a quote within another field.
fn unclosed_quote(text: &str, delimiter: u8) -> Option<u32> {
    let bytes = text.as_bytes();
    let is_end =
        |at: usize| bytes.get(at).is_none_or(|&b| b == delimiter || b == b'\n' || b == b'\r');
    let (mut line, mut at, mut begins) = (1, 0, true);
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        if !(begins && byte == b'"') {
            line += u32::from(byte == b'\n');
            begins = byte == delimiter || byte == b'\n' || byte == b'\r';
            continue;
        }
        let opened = line;
        loop {
            match bytes.get(at) {
                None => return Some(opened),
                Some(b'"') if bytes.get(at + 1) == Some(&b'"') => at += 2,
                Some(b'"') => {
                    at += 1;
                    break;
                }
                Some(&byte) => {
                    line += u32::from(byte == b'\n');
                    at += 1;
                }
            }
        }
        let spaces = bytes[at..].iter().take_while(|&&b| b == b' ').count();
        if line > opened && !is_end(at + spaces) {
            return Some(opened);
        }
        begins = false;
    }
    None
}

/// A field for a message: short, on one line.
fn shown(field: &str) -> String {
    let short = field.chars().take(40).map(|c| if c.is_control() { ' ' } else { c });
    format!("`{}`", short.collect::<String>())
}

fn number(field: &str) -> Option<f64> {
    field.parse::<f64>().ok().filter(|v| v.is_finite())
}

/// Comma, semicolon or tab: whichever the first line has most of.
fn delimiter(text: &str) -> u8 {
    let line = text.lines().next().unwrap_or("");
    let count = |c: u8| line.bytes().filter(|&b| b == c).count();
    [b',', b';', b'\t'].into_iter().rev().max_by_key(|&c| count(c)).unwrap_or(b',')
}

fn utf8(bytes: &[u8]) -> Result<&str, Diagnostic> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|e| {
        let line = bytes[..e.valid_up_to()].split(|&b| b == b'\n').count() as u32;
        let message = format!("line {line} is not UTF-8 text");
        problem(line, 1, message, &["Save the file as CSV in the encoding UTF-8."])
    })
}

fn unreadable(error: &csv::Error) -> Diagnostic {
    let line = error.position().map_or(1, |p| p.line() as u32);
    problem(line, 1, format!("the table cannot be read: {error}"), &[])
}

fn ragged(line: u32, fields: usize, head: &[String]) -> Diagnostic {
    let (column, hint) = if fields < head.len() {
        (fields, format!("`{}` and what follows it is missing.", head[fields]))
    } else {
        (head.len(), "Put a field that has the separator inside in double quotes.".to_owned())
    };
    let message = format!("the line has {fields} fields, the header has {}", head.len());
    problem(line, column as u32 + 1, message, &[&hint])
}

fn bad_field(line: u32, column: usize, head: &[String], field: &str) -> Diagnostic {
    let name = &head[column];
    let place = column as u32 + 1;
    if field.is_empty() {
        let message = format!("`{name}` is empty");
        return problem(line, place, message, &["Fill it in, or leave the row out."]);
    }
    let shown = shown(field);
    if number(&field.replace(',', ".")).is_some() {
        let hint = "Write decimals with a point: `1.5`.";
        return problem(line, place, format!("`{name}` is {shown}, not a number"), &[hint]);
    }
    let message = if field.parse::<f64>().is_ok() {
        format!("`{name}` is {shown}, which is not a finite number")
    } else {
        format!("`{name}` is {shown}, not a number")
    };
    let hint = format!("Write numbers, leave the column `{name}` out, or make it the target.");
    problem(line, place, message, &[&hint])
}

fn problem(line: u32, column: u32, message: String, hints: &[&str]) -> Diagnostic {
    Diagnostic {
        code: "bad-table".to_owned(),
        severity: "error".to_owned(),
        line,
        column,
        message,
        hints: hints.iter().map(|&h| h.to_owned()).collect(),
    }
}
