//! Extents of marks: bounds, shifts, and an estimate of how wide a text is.
//!
//! No font is measured (the engine has none): a character counts as [`CHAR_WIDTH`] em, which is
//! a little more than digits and small letters take in common sans-serif faces; the few wide
//! letters count as one em.

use super::scene::{Align, Form};

/// Estimated width of a character, in em.
pub const CHAR_WIDTH: f64 = 0.6;

/// Estimated height of a line of text, in em.
pub const LINE_HEIGHT: f64 = 1.1;

/// Estimated width of a text in pixels at a font size in pixels.
pub fn text_width(text: &str, size: f64) -> f64 {
    let wide = text.chars().filter(|c| matches!(c, 'm' | 'w' | 'M' | 'W' | '→')).count() as f64;
    (text.chars().count() as f64 * CHAR_WIDTH + wide * (1.0 - CHAR_WIDTH)) * size
}

/// A rectangle that holds something, in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Least x.
    pub left: f64,
    /// Least y.
    pub top: f64,
    /// Greatest x.
    pub right: f64,
    /// Greatest y.
    pub bottom: f64,
}

impl Bounds {
    /// Bounds of nothing; joined with others they have no effect.
    pub const NONE: Self = Self {
        left: f64::INFINITY,
        top: f64::INFINITY,
        right: f64::NEG_INFINITY,
        bottom: f64::NEG_INFINITY,
    };

    /// The least bounds that hold both.
    #[must_use]
    pub const fn join(self, other: Self) -> Self {
        Self {
            left: self.left.min(other.left),
            top: self.top.min(other.top),
            right: self.right.max(other.right),
            bottom: self.bottom.max(other.bottom),
        }
    }

    /// Width; 0 of nothing.
    pub const fn width(&self) -> f64 {
        (self.right - self.left).max(0.0)
    }

    /// Height; 0 of nothing.
    pub const fn height(&self) -> f64 {
        (self.bottom - self.top).max(0.0)
    }

    /// Whether the two share more than an edge.
    pub const fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }
}

impl Form {
    /// The least upright rectangle around it, strokes not counted, text estimated.
    pub fn bounds(&self) -> Bounds {
        match self {
            Self::Rect { x, y, width, height, .. } => {
                Bounds { left: *x, top: *y, right: x + width, bottom: y + height }
            }
            Self::Polygon(points) | Self::Line(points) => {
                points.iter().fold(Bounds::NONE, |b, &(x, y)| {
                    b.join(Bounds { left: x, top: y, right: x, bottom: y })
                })
            }
            Self::Text { x, y, size, align, text } => {
                let width = text_width(text, *size);
                let left = match align {
                    Align::Start => *x,
                    Align::Middle => x - width / 2.0,
                    Align::End => x - width,
                };
                let half = size * LINE_HEIGHT / 2.0;
                Bounds { left, top: y - half, right: left + width, bottom: y + half }
            }
        }
    }

    /// Shifts it.
    pub fn shift(&mut self, dx: f64, dy: f64) {
        match self {
            Self::Rect { x, y, .. } | Self::Text { x, y, .. } => {
                *x += dx;
                *y += dy;
            }
            Self::Polygon(points) | Self::Line(points) => {
                for (x, y) in points {
                    *x += dx;
                    *y += dy;
                }
            }
        }
    }
}
