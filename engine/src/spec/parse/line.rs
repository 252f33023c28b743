//! One line: which statement it is, and its parts.

use super::options::Place;
use super::pairs::Separators;
use super::reader::Reader;
use crate::diag::{Code, Diagnostic, Hint, Span, nearest};
use crate::spec::ast::{Decl, Ident, Stmt};
use crate::spec::lex::{
    STATEMENTS, is_name_char, is_name_start, is_odd_name_char, is_pair_name_char, is_space,
    name_len, run_len, shown,
};
use crate::spec::synonyms::{self, words};

impl Reader<'_, '_> {
    /// Reads the code of one line. A line of which nothing could be used is `Unreadable`.
    pub(super) fn statement(&mut self) -> Stmt {
        let code = self.rest().to_owned();
        if code.is_empty() {
            return Stmt::Blank;
        }
        let errors = self.problems.errors;
        let stmt = self.readable(&code);
        let broken = self.problems.errors > errors;
        match stmt {
            Some(stmt) if !(broken && is_empty_list(&stmt)) => stmt,
            _ => Stmt::Unreadable(code),
        }
    }

    fn readable(&mut self, code: &str) -> Option<Stmt> {
        let word = &code[..run_len(code, is_name_char)];
        if is_assignment(code)
            || (code[word.len()..].starts_with('[') && !STATEMENTS.contains(&word))
        {
            return self.assignment();
        }
        let odd = &code[run_len(code, is_odd_name_char)..];
        let assigns = odd.trim_start_matches(is_space).starts_with(['=', '[']);
        if assigns && code.starts_with(is_name_start) {
            self.odd_name();
            return None;
        }
        let Some(&statement) = STATEMENTS.iter().find(|&&s| s == word) else {
            self.unknown_statement(code);
            return None;
        };
        let word_start = self.pos;
        self.pos += word.len();
        let word_span = self.span(word_start);
        if self.peek() == Some(':') {
            let start = self.pos;
            self.pos += 1;
            let span = self.span(start);
            let message = format!("`:` stands after the statement word `{word}`");
            let hint = Hint::edit("Write a space instead.", span, " ");
            self.error_hint(Code::Syntax, span, message, hint);
        }
        match statement {
            "mesh" => Some(Stmt::Mesh(self.pairs(Separators::MeshTensorFlow))),
            "layout" => Some(Stmt::Layout(self.rules())),
            "dims" => Some(Stmt::Dims(self.pairs(Separators::Plain))),
            "input" => self.decls(statement).map(Stmt::Input),
            "param" => self.decls(statement).map(Stmt::Param),
            "state" => self.decls(statement).map(Stmt::State),
            "train" => Some(Stmt::Train(self.options(Place::Statement))),
            "pipeline" => Some(Stmt::Pipeline(self.options(Place::Statement))),
            "hardware" => {
                self.skip_spaces();
                let name = if self.at_word() { Some(self.word("a name")?) } else { None };
                Some(Stmt::Hardware { name, options: self.options(Place::Statement) })
            }
            "model" => {
                self.skip_spaces();
                if self.at_end() || self.at_key() {
                    return self.nameless(word_span, "`model` names no preset", "model two_layer");
                }
                let preset = self.word("the name of a preset")?;
                Some(Stmt::Model { preset, options: self.options(Place::Statement) })
            }
            "block" => {
                self.skip_spaces();
                if self.at_end() || self.at_key() {
                    return self.nameless(word_span, "`block` has no name", "block layer times:12");
                }
                let name = self.name("the name of the block")?;
                Some(Stmt::Block { name, options: self.options(Place::Statement) })
            }
            _ => {
                self.skip_spaces();
                if !self.at_end() {
                    self.unexpected("the end of the line (`end` stands alone)");
                }
                Some(Stmt::End)
            }
        }
    }

    fn nameless(&mut self, span: Span, message: &str, example: &str) -> Option<Stmt> {
        let hint = Hint::new(format!("Write its name first, as in `{example}`."));
        self.error_hint(Code::Syntax, span, message.to_owned(), hint);
        None
    }

    fn unknown_statement(&mut self, code: &str) {
        if self.problems.only_counts() {
            return;
        }
        let start = self.pos;
        let len = match name_len(code) {
            0 => {
                run_len(code, is_pair_name_char).max(code.chars().next().map_or(0, char::len_utf8))
            }
            len => len,
        };
        self.pos += len;
        let span = self.span(start);
        let word = &code[..len];
        let after = code[len..].trim_start_matches(is_space);
        let mut problem = Diagnostic::error(
            Code::UnknownStatement,
            span,
            format!("{} starts no statement", shown(word)),
        );
        if let Some(value) = after.strip_prefix(':') {
            let at = Span::new(start as u32, start as u32);
            let size = value.trim_start_matches(is_space).starts_with(|c: char| c.is_ascii_digit());
            let words: &[&str] = if size { &["mesh", "dims"] } else { &["layout"] };
            for word in words {
                let text = format!("Write the statement word `{word}` in front.");
                problem = problem.hint(Hint::edit(text, at, format!("{word} ")));
            }
        } else {
            let meant = self.meant_statement(word, span, after);
            problem.hints.extend(meant);
            let known = STATEMENTS.join(", ");
            let text = format!("A line starts with {known}, or assigns a tensor: `h = relu(x)`.");
            problem = problem.hint(Hint::new(text));
        }
        self.problems.report(problem);
    }

    /// What was most likely meant by a word that starts no statement.
    fn meant_statement(&self, word: &str, span: Span, after: &str) -> Option<Hint> {
        if word.chars().count() > 24 {
            return None;
        }
        // `let h = …` without its first word says the same; `output h` says nothing without it.
        let whole = Span::new(span.start, (self.end - after.len()) as u32);
        match synonyms::hint(words::STATEMENTS, word, STATEMENTS, span, whole) {
            Some(Hint { text, edit: Some(edit) })
                if edit.replacement.is_empty() && !is_assignment(after) =>
            {
                Some(Hint::new(text))
            }
            Some(hint) => Some(hint),
            None => nearest(word, STATEMENTS.iter().copied())
                .map(|near| Hint::edit(format!("Did you mean `{near}`?"), span, near)),
        }
    }

    /// Reads `h = …` or `h[batch hidden] = …`.
    fn assignment(&mut self) -> Option<Stmt> {
        let start = self.pos;
        let name = self.name("the name of a tensor")?;
        self.skip_spaces();
        let open = self.pos;
        let dims = if self.eat("[") { Some(self.names(open, ']')?) } else { None };
        self.skip_spaces();
        let equals = self.pos;
        if self.eat(":=") {
            return self.next_value(name, dims.is_some(), Span::new(open as u32, equals as u32));
        }
        if !self.eat("=") {
            let span = self.span(start);
            let message = format!("{} is neither declared nor assigned here", shown(&name.text));
            let hint = Hint::new(
                "Write `input`, `param` or `state` in front, or `=` and an expression behind.",
            );
            self.error_hint(Code::Syntax, span, message, hint);
            return None;
        }
        if self.eat("=") {
            let span = self.span(equals);
            let hint = Hint::edit("Assign a tensor with a single `=`.", span, "=");
            self.error_hint(Code::Syntax, span, "`==` is no operator".to_owned(), hint);
        }
        self.skip_spaces();
        if dims.is_some() && ["values(", "hash("].iter().any(|f| self.rest().starts_with(f)) {
            self.initial_value(self.span(start));
            return None;
        }
        let reported = self.problems.list.len();
        let value = self.whole_expr();
        if value.is_none()
            && STATEMENTS.contains(&name.text.as_str())
            && let Some(problem) = self.problems.list.get_mut(reported)
        {
            let mend = Span::new(name.span.end, equals as u32 + 1);
            let text = format!("For the statement `{}` leave out the `=`.", name.text);
            problem.hints.push(Hint::edit(text, mend, ""));
        }
        Some(Stmt::Assign { name, dims, value: value? })
    }

    /// Reports `x[a] = values(1 2 3)`, of which `assigned` is what stands before the value.
    fn initial_value(&mut self, assigned: Span) {
        let start = self.pos;
        self.take(is_name_char);
        let span = self.span(start);
        let message =
            format!("{} is how a tensor begins, not a function", shown(span.of(self.text)));
        let equals = assigned.of(self.text).rfind('=').unwrap_or(0);
        let declared = &self.text[assigned.start as usize..][..equals];
        let declared = declared.trim_end_matches(is_space);
        let mend = format!("state {declared} init:");
        let hint = Hint::edit("Declare it: a `state` stays as it begins.", assigned, mend);
        self.error_hint(Code::UnknownFunction, span, message, hint);
        self.pos = self.end;
    }

    /// Reads what follows `seen :=`.
    fn next_value(&mut self, name: Ident, has_dims: bool, dims: Span) -> Option<Stmt> {
        if has_dims {
            let hint = Hint::edit("Leave them out.", dims, "");
            let message = "A state has the dimensions of its declaration".to_owned();
            self.error_hint(Code::Syntax, dims, message, hint);
        }
        self.skip_spaces();
        let value = self.whole_expr()?;
        Some(Stmt::Next { name, value })
    }

    /// Reads `x[batch io], target[batch io] init:zeros`.
    fn decls(&mut self, statement: &str) -> Option<Vec<Decl>> {
        let mut decls = Vec::new();
        self.skip_spaces();
        if self.at_end() {
            let span = Span::new((self.pos - statement.len()) as u32, self.pos as u32);
            let message = format!("`{statement}` declares no tensor");
            let hint = Hint::new(format!("Write tensors such as `{statement} x[batch io]`."));
            self.error_hint(Code::Syntax, span, message, hint);
            return None;
        }
        loop {
            match self.decl() {
                Some(decl) => decls.push(decl),
                None => self.skip_decl(),
            }
            self.skip_spaces();
            let comma = self.pos;
            if self.at_end() {
                return Some(decls);
            }
            if self.eat(",") {
                let span = self.span(comma);
                self.skip_spaces();
                if self.at_end() {
                    let message = "A tensor is missing after this comma".to_owned();
                    let hint = Hint::edit("Leave the comma out.", span, "");
                    self.error_hint(Code::Syntax, span, message, hint);
                    return Some(decls);
                }
            } else {
                let at = Span::new(comma as u32, comma as u32);
                let len = name_len(self.rest());
                let span = Span::new(comma as u32, (comma + len) as u32);
                let message = format!("A comma is missing before {}", shown(span.of(self.text)));
                let before = self.text[..comma].trim_end_matches(is_space).len() as u32;
                let mend = Span::new(before, at.end);
                let hint = Hint::edit("Separate tensors by commas.", mend, ", ");
                self.error_hint(Code::Syntax, span, message, hint);
            }
        }
    }

    /// Reads one declaration, up to a comma or another name.
    fn decl(&mut self) -> Option<Decl> {
        let start = self.pos;
        if self.at_key() {
            let key = name_len(self.rest());
            let span = Span::new(start as u32, (start + key) as u32);
            let message = format!("The option {} belongs to no tensor", shown(span.of(self.text)));
            let before = self.text[..start].trim_end_matches(|c| is_space(c) || c == ',').len();
            let hint = if self.text[before..start].contains(',') {
                let mend = Span::new(before as u32, start as u32);
                Hint::edit("Options follow their tensor without a comma.", mend, " ")
            } else {
                Hint::new("Write the tensor first, as in `w[io hidden] init:zeros`.")
            };
            self.error_hint(Code::Syntax, span, message, hint);
            return None;
        }
        let name = self.name("the name of a tensor")?;
        let mut end = self.pos;
        self.skip_spaces();
        let open = self.pos;
        let dims = if self.eat("[") {
            let dims = self.names(open, ']')?;
            end = self.pos;
            dims
        } else if self.eat("(") {
            let dims = self.names(open, ')')?;
            end = self.pos;
            let span = self.span(open);
            let inner = &self.text[open + 1..end - 1];
            let message = "The dimensions of a tensor stand in square brackets".to_owned();
            let hint = Hint::edit(format!("Write `[{inner}]`."), span, format!("[{inner}]"));
            self.error_hint(Code::Syntax, span, message, hint);
            dims
        } else {
            Vec::new()
        };
        let options = self.options(Place::Declaration);
        let end = options.last().map_or(end as u32, |o| o.span.end);
        Some(Decl { name, dims, options, span: Span::new(start as u32, end) })
    }

    /// Moves to the comma that ends a broken declaration.
    fn skip_decl(&mut self) {
        self.leave_all();
        let mut open = 0_usize;
        while let Some(c) = self.peek() {
            match c {
                '(' | '[' => open += 1,
                ')' | ']' => open = open.saturating_sub(1),
                ',' if open == 0 => return,
                _ => {}
            }
            self.pos += c.len_utf8();
        }
    }
}

/// Whether a line reads `NAME =`, `NAME[dims] =` or `NAME :=`.
fn is_assignment(code: &str) -> bool {
    let len = name_len(code);
    if len == 0 {
        return false;
    }
    let after = code[len..].trim_start_matches(is_space);
    let after = if after.starts_with('[') {
        let mut quoted = false;
        let close = after.find(|c| {
            quoted ^= c == '`';
            c == ']' && !quoted
        });
        close.map_or("", |close| after[close + 1..].trim_start_matches(is_space))
    } else {
        after
    };
    after.starts_with('=') || after.starts_with(":=")
}

/// Whether a list statement is left without anything in it.
fn is_empty_list(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Mesh(pairs) | Stmt::Dims(pairs) => pairs.is_empty(),
        Stmt::Layout(rules) => rules.is_empty(),
        Stmt::Input(decls) | Stmt::Param(decls) | Stmt::State(decls) => decls.is_empty(),
        Stmt::Train(options) | Stmt::Pipeline(options) => options.is_empty(),
        Stmt::Hardware { name, options } => name.is_none() && options.is_empty(),
        Stmt::Blank
        | Stmt::Model { .. }
        | Stmt::Assign { .. }
        | Stmt::Next { .. }
        | Stmt::Block { .. }
        | Stmt::End
        | Stmt::Unreadable(_) => false,
    }
}
