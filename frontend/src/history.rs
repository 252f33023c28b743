//! The study text with its history: undo and redo over changes of any origin.
//!
//! Typing coalesces: key strokes that follow each other closely are undone together. A click, a
//! mend or an example is one step of its own.

/// How many steps back are kept.
const LIMIT: usize = 400;
/// A pause in typing of this many milliseconds begins a new step.
const PAUSE_MS: f64 = 900.0;

/// The text, what it was, and what it was before undoing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Document {
    text: String,
    past: Vec<String>,
    future: Vec<String>,
    typing_since: Option<f64>,
}

impl Document {
    /// A document without history.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// The text as it stands.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// A change by a click: one step of its own.
    pub fn change(&mut self, text: String) {
        if text != self.text {
            self.push(text);
            self.typing_since = None;
        }
    }

    /// A change by typing at `now` (milliseconds); joins the step before when that was typing too
    /// and no pause or line break lies between.
    pub fn typed(&mut self, text: String, now: f64) {
        if text == self.text {
            return;
        }
        let joins = self.typing_since.is_some_and(|last| now - last < PAUSE_MS)
            && text.matches('\n').count() == self.text.matches('\n').count();
        if joins {
            self.text = text;
            self.future.clear();
        } else {
            self.push(text);
        }
        self.typing_since = Some(now);
    }

    /// One step back; `false` when there is none.
    pub fn undo(&mut self) -> bool {
        let Some(before) = self.past.pop() else { return false };
        self.future.push(std::mem::replace(&mut self.text, before));
        self.typing_since = None;
        true
    }

    /// One step forward again; `false` when there is none.
    pub fn redo(&mut self) -> bool {
        let Some(after) = self.future.pop() else { return false };
        self.past.push(std::mem::replace(&mut self.text, after));
        self.typing_since = None;
        true
    }

    /// Whether there is a step back.
    pub fn can_undo(&self) -> bool {
        !self.past.is_empty()
    }

    /// Whether there is a step forward.
    pub fn can_redo(&self) -> bool {
        !self.future.is_empty()
    }

    fn push(&mut self, text: String) {
        self.past.push(std::mem::replace(&mut self.text, text));
        self.future.clear();
        if self.past.len() > LIMIT {
            self.past.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Document;

    #[test]
    fn typing_coalesces_until_a_pause_or_a_line_break() {
        let mut d = Document::new("");
        d.typed("m".into(), 0.0);
        d.typed("me".into(), 100.0);
        d.typed("me\n".into(), 200.0);
        d.typed("me\nx".into(), 300.0);
        d.typed("me\nxy".into(), 5000.0);
        let mut seen = vec![d.text().to_owned()];
        while d.undo() {
            seen.push(d.text().to_owned());
        }
        assert_eq!(seen, ["me\nxy", "me\nx", "me", ""]);
    }

    #[test]
    fn clicks_are_steps_of_their_own_and_redo_ends_at_a_new_change() {
        let mut d = Document::new("a");
        d.typed("ab".into(), 0.0);
        d.change("abc".into());
        d.change("abc".into());
        assert!(d.undo());
        assert_eq!(d.text(), "ab");
        assert!(d.redo());
        assert!(!d.can_redo());
        assert!(d.undo() && d.undo());
        assert_eq!(d.text(), "a");
        d.typed("b".into(), 10.0);
        assert!(!d.can_redo() && d.can_undo());
    }
}
