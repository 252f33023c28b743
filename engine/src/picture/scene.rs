//! A picture as data: marks on a plane, and the table that says the same in words.
//!
//! Makers of scenes (`picture/mesh.rs`, `picture/tensor.rs`, …) know layouts and no drawing;
//! drawers (`picture/svg.rs`, the studio) know drawing and no layouts. Coordinates are in CSS
//! pixels, x to the right, y down, inside `0..width` × `0..height`.

use crate::index::Pnum;

/// A picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    /// Width in pixels.
    pub width: f64,
    /// Height in pixels.
    pub height: f64,
    /// What it shows, in a few words: `w[io:4 hidden:8], split by hidden over cols`.
    pub title: String,
    /// The same as a sentence or two, for those who do not see it.
    pub description: String,
    /// What is drawn, back to front.
    pub marks: Vec<Mark>,
    /// The twin: all that the picture says, as text.
    pub table: Table,
}

/// One thing drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// Its geometry.
    pub form: Form,
    /// What kind of thing it is; decides its colours and strokes.
    pub tone: Tone,
    /// The processors it stands for: it lights up when one of them is picked.
    pub pnums: Vec<Pnum>,
    /// What a pointer resting on it is told.
    pub tip: Option<String>,
}

/// Geometry of a mark.
#[derive(Debug, Clone, PartialEq)]
pub enum Form {
    /// A rectangle.
    Rect {
        /// Left.
        x: f64,
        /// Top.
        y: f64,
        /// Width.
        width: f64,
        /// Height.
        height: f64,
        /// Corner radius.
        radius: f64,
    },
    /// A closed polygon.
    Polygon(Vec<(f64, f64)>),
    /// An open line through points.
    Line(Vec<(f64, f64)>),
    /// Text on one line.
    Text {
        /// Anchor.
        x: f64,
        /// Middle of the line.
        y: f64,
        /// Font size in pixels.
        size: f64,
        /// Where the anchor is in the text.
        align: Align,
        /// The text.
        text: String,
    },
}

/// Horizontal alignment of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// The text begins at the anchor.
    Start,
    /// The anchor is its middle.
    Middle,
    /// The text ends at the anchor.
    End,
}

/// The role of a mark. Never the only carrier of meaning: text, shape or position says it too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// A slice; the number picks one of [`Tone::SLICE_HUES`] hues, equal for equal slices.
    Slice(u8),
    /// A side face of a box in the hue of its slice.
    SliceShade(u8),
    /// A slice whose values are partial (drawn hatched), hue as for `Slice`.
    Partial(u8),
    /// A processor of the mesh picture.
    Processor,
    /// A link between neighbouring processors, an axis, a rule.
    Link,
    /// The frame of a whole tensor.
    Frame,
    /// What a picture leaves out of too many equal things; its text is an ellipsis.
    Elided,
    /// Main text.
    Label,
    /// Secondary text: dimension names, sizes.
    Note,
    /// A series in a chart; the number picks the hue and the dash.
    Series(u8),
    /// A bar of time a processor computes.
    Busy,
    /// A bar of time a processor communicates.
    Traffic,
    /// Time in which nothing happens.
    Idle,
}

impl Tone {
    /// How many hues slices take in turn.
    pub const SLICE_HUES: u8 = 8;

    /// The CSS class of the tone; hues add a second class `hue-N`.
    pub const fn class(self) -> &'static str {
        match self {
            Self::Slice(_) => "slice",
            Self::SliceShade(_) => "slice-shade",
            Self::Partial(_) => "partial",
            Self::Processor => "processor",
            Self::Link => "link",
            Self::Frame => "frame",
            Self::Elided => "elided",
            Self::Label => "label",
            Self::Note => "note",
            Self::Series(_) => "series",
            Self::Busy => "busy",
            Self::Traffic => "traffic",
            Self::Idle => "idle",
        }
    }

    /// The hue of tones that have one, below [`Tone::SLICE_HUES`].
    pub const fn hue(self) -> Option<u8> {
        match self {
            Self::Slice(h) | Self::SliceShade(h) | Self::Partial(h) | Self::Series(h) => {
                Some(h % Self::SLICE_HUES)
            }
            Self::Processor
            | Self::Link
            | Self::Frame
            | Self::Elided
            | Self::Label
            | Self::Note
            | Self::Busy
            | Self::Traffic
            | Self::Idle => None,
        }
    }
}

/// A table: the twin of a picture.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Table {
    /// What the table holds.
    pub caption: String,
    /// Column heads.
    pub head: Vec<String>,
    /// Rows; each as long as the head.
    pub rows: Vec<Vec<String>>,
}
