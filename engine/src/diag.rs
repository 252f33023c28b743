//! Diagnostics: what is wrong in a study, where, why, and how to mend it.
//!
//! Wrong user input is data, never a panic: every stage returns what it could make of the text
//! together with a list of [`Diagnostic`]s. A diagnostic carries the values that clash in its
//! message, and [`Hint`]s of which some can be applied with one click ([`TextEdit`]).

use std::fmt;

/// A half-open range of byte offsets into the study text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// The range `start..end`.
    pub const fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// The smallest range that holds both.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The text the span covers, or nothing where it does not fit the text.
    pub fn of(self, text: &str) -> &str {
        text.get(self.start as usize..self.end as usize).unwrap_or("")
    }
}

/// How bad it is: an error stops planning and running, a warning does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The study has no Program.
    Error,
    /// The study can be planned and run; something in it has no effect or a surprising one.
    Warning,
}

impl Severity {
    /// `error` or `warning`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// A change of the study text: replace what `span` covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextEdit {
    /// What is replaced (empty to insert).
    pub span: Span,
    /// What stands there afterwards.
    pub replacement: String,
}

/// A way to mend it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// What to do, as a sentence.
    pub text: String,
    /// The same as a one-click change of the text, where that is possible.
    pub edit: Option<TextEdit>,
}

impl Hint {
    /// Advice without an edit.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), edit: None }
    }

    /// Advice with the edit that follows it.
    pub fn edit(text: impl Into<String>, span: Span, replacement: impl Into<String>) -> Self {
        Self { text: text.into(), edit: Some(TextEdit { span, replacement: replacement.into() }) }
    }

    /// The size of a dimension, written where its size stands, or added where it would.
    pub fn size(place: Span, dim: &str, size: u64) -> Self {
        let gap = if place.start == place.end { " " } else { "" };
        Self::edit(format!("Set `{dim}` to {size}."), place, format!("{gap}{dim}:{size}"))
    }
}

/// One thing wrong in a study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Which rule of the language is broken.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// Where in the text.
    pub span: Span,
    /// What is wrong, with the values that clash.
    pub message: String,
    /// How to mend it, best first.
    pub hints: Vec<Hint>,
}

impl Diagnostic {
    /// An error at `span`.
    pub fn error(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self { code, severity: Severity::Error, span, message: message.into(), hints: Vec::new() }
    }

    /// A warning at `span`.
    pub fn warning(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, span, message) }
    }

    /// The same with one more hint.
    #[must_use]
    pub fn hint(mut self, hint: Hint) -> Self {
        self.hints.push(hint);
        self
    }

    /// Whether it stops planning.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Whether it says that the study needs more than its hardware has.
    pub fn is_misfit(&self) -> bool {
        self.code == Code::Hardware && !self.is_error()
    }
}

/// Line and column, both from 1; the column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// The place of a byte offset in a text.
pub fn place(text: &str, offset: u32) -> Place {
    let mut end = (offset as usize).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let line_start = before.rfind('\n').map_or(0, |i| i + 1);
    Place {
        line: before.matches('\n').count() as u32 + 1,
        column: before[line_start..].chars().count() as u32 + 1,
    }
}

/// The most names that are compared with one.
const MAX_KNOWN: usize = 4000;

/// The name nearest to `name` by edit distance, for "did you mean": a third of its letters may be
/// wrong, so that of four only one is.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let small = name.to_lowercase();
    known
        .into_iter()
        .take(MAX_KNOWN)
        .map(|k| (edit_distance(&small, &k.to_lowercase()), k))
        .filter(|&(d, k)| d <= (k.chars().count().max(name.chars().count()) / 3).max(1))
        .min_by_key(|&(d, _)| d)
        .map(|(_, k)| k)
}

/// Letters put in, left out, replaced, or swapped with the next.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let first: Vec<usize> = (0..=b.len()).collect();
    let (mut before, mut row) = (first.clone(), first);
    for i in 0..a.len() {
        let mut next = vec![i + 1];
        for j in 0..b.len() {
            let mut least = (row[j] + usize::from(a[i] != b[j])).min(row[j + 1] + 1);
            least = least.min(next[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                least = least.min(before[j - 1] + 1);
            }
            next.push(least);
        }
        (before, row) = (row, next);
    }
    row[b.len()]
}

macro_rules! codes {
    ($($variant:ident $name:literal $help:literal;)*) => {
        /// The rules a study can break. The name is stable; the help text is the page the studio
        /// shows: what the rule is, why it is there, and an example.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $(#[doc = $help] $variant,)* }

        impl Code {
            /// Every code, in the order of the stages that report them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The stable kebab-case name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The help page: what the rule is, why, an example.
            pub const fn help(self) -> &'static str {
                match self { $(Self::$variant => $help,)* }
            }
        }
    };
}

codes! {
    // text
    UnknownStatement "unknown-statement" "A line starts with one of the statements mesh, layout, model, dims, input, param, state, block, end, train, pipeline, hardware, or assigns a tensor: `h = relu(x)`.";
    Syntax "syntax" "The line cannot be read. Pairs are `name:value`, lists of tensors are separated by commas, and an expression uses + - * /, calls and parentheses.";
    BadNumber "bad-number" "A size is a whole number of at least 1; other options take a number such as `0.001`.";
    Duplicate "duplicate" "A name is defined once. Mesh dimensions, tensor dimensions, tensors and options must differ within their kind.";
    UnknownOption "unknown-option" "The statement does not know this option. The hint names the ones it knows.";
    BadOption "bad-option" "The option is known, its value is not of the kind it takes, or does not go with those of others.";
    MissingStatement "missing-statement" "A study needs a model: either a `model` preset, or tensors written out with `dims`, `input`, `param` and assignments.";
    UnclosedBlock "unclosed-block" "`block NAME times:N` is closed by a line `end`.";
    TooLarge "too-large" "The text, a size or a count is beyond the limit that keeps the studio responsive.";
    BadLink "bad-link" "A link holds the study after `#1=`: base64url of the deflated text. It was cut short or altered.";
    // model
    UnknownPreset "unknown-preset" "`model NAME` takes the name of a preset, such as `two_layer`, `mlp` or `transformer`. Models of other kinds are written out by `input`, `param` and assignments.";
    UnknownName "unknown-name" "A tensor is declared by `input`, `param` or `state`, or assigned, before it is used.";
    UnknownDimension "unknown-dimension" "A tensor dimension gets its size from `dims`, for example `dims batch:8 io:4`.";
    UnknownFunction "unknown-function" "Expressions call the functions that the reference lists, for example `einsum`, `relu`, `mean`.";
    BadArguments "bad-arguments" "The function takes other arguments. The message shows its form.";
    ShapeMismatch "shape-mismatch" "The shapes do not go together: an assignment states other dimensions than its expression has, or a dimension is named that the tensor lacks.";
    NoLoss "no-loss" "Training minimises the tensor named `loss`, a single number. Assign it, for example `loss = mean(square(y - target))`.";
    State "state" "`state seen[channels]` declares a tensor that goes from step to step, and `seen := 0.9 * seen + 0.1 * mean(x -> channels)` says, once, what it is from the next training step on. Parameters are trained and inputs are fed, so they take no `:=`.";
    MicroBatches "micro-batches" "`micro_batches:4` takes the batch in four parts and applies the sum of their gradients once. That is the gradient of the whole batch where the loss is a mean or a sum over its rows; what combines rows otherwise, such as batch norm, does so within each part.";
    Pipeline "pipeline" "`pipeline over:stages micro_batches:8` cuts the model's layers into stages, one for each place along a mesh dimension that no tensor dimension is split over, and its batch into micro-batches. A schedule has limits, such as at least as many micro-batches as cells.";
    Hardware "hardware" "`hardware tpu-v2` or `hardware memory:16GB` says how much a processor of the mesh holds. A study that needs more can be planned and says so, with the smallest changes that make it fit: more micro-batches, re-materialization, more cells, or a split of the heaviest layer's dimensions.";
    Unused "unused" "The name is declared and never used, so it has no effect.";
    // layout
    UnmatchedRule "unmatched-rule" "A layout rule `tensor_dimension:mesh_dimension` matches nothing: no tensor has that dimension, or the mesh has no such dimension. It has no effect.";
    TwoMeshDimensions "two-mesh-dimensions" "A tensor dimension is split over one mesh dimension. To split it over several, write them as one ordered list: `batch:rows+cols`.";
    MeshDimensionTwice "mesh-dimension-twice" "Two dimensions of one tensor cannot be split over the same mesh dimension: a processor would hold only the diagonal blocks. Send one of them to another mesh dimension, or leave it whole.";
    NotDivisible "not-divisible" "A dimension is cut into equal slices, so the size of the mesh dimension (or the product of several) must divide it.";
    // running
    Data "data" "The data set is not at hand or does not fit the inputs of the study. `data:teacher` makes synthetic data of any shape.";
    Diverged "diverged" "The loss is no longer a finite number. A smaller learning rate usually mends it.";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
