//! Icons as inline SVG, drawn on a 16 × 16 grid with the colour of the text around them.

use leptos::prelude::*;

/// An icon of the set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Icon {
    /// Back one step.
    Undo,
    /// Forward again.
    Redo,
    /// A link.
    Link,
    /// It went well.
    Check,
    /// An error: an octagon with a stroke.
    Error,
    /// A warning: a triangle.
    Warning,
    /// A light theme.
    Sun,
    /// A dark theme.
    Moon,
    /// The theme of the system.
    System,
    /// Help.
    Help,
    /// Open downwards.
    Down,
    /// Close.
    Close,
    /// One more.
    Plus,
    /// One less.
    Minus,
    /// A picture.
    Picture,
    /// A table.
    Table,
    /// Run.
    Play,
    /// Stop.
    Stop,
    /// A machine that serves.
    Server,
    /// A file goes up.
    Upload,
    /// Mend.
    Wrench,
    /// To the left.
    Left,
    /// To the right.
    Right,
    /// Wait.
    Pause,
    /// A file comes down.
    Download,
}

impl Icon {
    const fn path(self) -> &'static str {
        match self {
            Self::Undo => "M6 3 2.5 6.5 6 10M3 6.5h6.5a3.5 3.5 0 0 1 0 7H7",
            Self::Redo => "M10 3l3.5 3.5L10 10M13 6.5H6.5a3.5 3.5 0 0 0 0 7H9",
            Self::Link => {
                "M6.5 9.5a3 3 0 0 0 4.3 0l2.1-2.1a3 3 0 0 0-4.3-4.3l-.8.8M9.5 6.5a3 3 0 0 0-4.3 \
                 0L3.1 8.6a3 3 0 0 0 4.3 4.3l.8-.8"
            }
            Self::Check => "M3 8.5 6.5 12 13 4.5",
            Self::Error => "M5.4 1.8h5.2l3.6 3.6v5.2l-3.6 3.6H5.4L1.8 10.6V5.4zM8 4.8v3.8M8 11v.2",
            Self::Warning => "M8 2 14.5 13.5h-13zM8 6.5v3.2M8 11.6v.2",
            Self::Sun => {
                "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 \
                 12l1 1M3 13l1-1M12 4l1-1"
            }
            Self::Moon => "M13.5 9.7A6 6 0 1 1 6.3 2.5a5 5 0 0 0 7.2 7.2z",
            Self::System => "M2 3h12v8H2zM6 14h4M8 11v3",
            Self::Help => {
                "M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM6.2 6.2a1.9 1.9 0 1 1 2.6 1.9c-.5.2-\
                 .8.6-.8 1.1v.3M8 11.6v.2"
            }
            Self::Down => "M4 6l4 4 4-4",
            Self::Close => "M4 4l8 8M12 4l-8 8",
            Self::Plus => "M8 3.5v9M3.5 8h9",
            Self::Minus => "M3.5 8h9",
            Self::Picture => "M2.5 2.5h11v11h-11zM2.5 8h11M8 2.5v11",
            Self::Table => "M2.5 3h11v10h-11zM2.5 6.3h11M2.5 9.6h11M6.5 6.3V13",
            Self::Play => "M5 3.2v9.6L12.5 8z",
            Self::Stop => "M4 4h8v8H4z",
            Self::Server => "M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5v.1M5 11v.1",
            Self::Upload => "M8 10.5v-8M4.8 5.5 8 2.5l3.2 3M2.5 10.5v3h11v-3",
            Self::Left => "M10 4 6 8l4 4",
            Self::Right => "M6 4l4 4-4 4",
            Self::Pause => "M5.5 3.5v9M10.5 3.5v9",
            Self::Download => "M8 2.5v8M4.8 7.5 8 10.5l3.2-3M2.5 10.5v3h11v-3",
            Self::Wrench => {
                "M13.6 4.6a3.6 3.6 0 0 1-4.9 4.3l-4.3 4.4a1.2 1.2 0 0 1-1.7-1.7L7.1 7.3A3.6 3.6 0 \
                 0 1 11.4 2.4L9.5 4.3l.4 1.8 1.8.4z"
            }
        }
    }
}

/// The icon as an element that says nothing to a screen reader: the text beside it does.
pub fn icon(icon: Icon) -> impl IntoView {
    view! {
        <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
            <path d=icon.path() />
        </svg>
    }
}
