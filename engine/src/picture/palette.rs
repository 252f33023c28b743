//! The colours of pictures, as data: one theme for light paper, one for dark.
//!
//! Promises kept by a test: text on paper, slices and side faces has a contrast of at least 4.5;
//! outlines and lines have at least 3 against what they lie on (WCAG 2, AA).

use super::scene::Tone;

/// One of the hues that slices and series take in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hue {
    /// Its English name.
    pub name: &'static str,
    /// Front of a slice, ground of a hatch.
    pub fill: &'static str,
    /// Side face of a box, lines of a hatch.
    pub shade: &'static str,
    /// Line of a series; a strong form of the hue where paper or fill is the ground.
    pub line: &'static str,
}

/// The colours of one theme, each as `#rrggbb`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    /// The ground.
    pub paper: &'static str,
    /// Main text.
    pub ink: &'static str,
    /// Secondary text.
    pub note: &'static str,
    /// Rules, links, axes.
    pub link: &'static str,
    /// Frames of tensors and outlines of slices.
    pub frame: &'static str,
    /// Things left out, idle time.
    pub faint: &'static str,
    /// A processor.
    pub processor: &'static str,
    /// Outline of a processor.
    pub processor_line: &'static str,
    /// Time spent computing.
    pub busy: &'static str,
    /// Time spent communicating.
    pub traffic: &'static str,
    /// The hues by number.
    pub hues: [Hue; Tone::SLICE_HUES as usize],
}

/// The dash of a series by hue, in pixels; empty is a whole line.
pub const DASHES: [&str; Tone::SLICE_HUES as usize] =
    ["", "8 4", "2 3", "10 3 2 3", "5 2", "12 4 4 4", "1 4", "8 3 2 3 2 3"];

const fn hue(
    name: &'static str,
    fill: &'static str,
    shade: &'static str,
    line: &'static str,
) -> Hue {
    Hue { name, fill, shade, line }
}

/// Colours on light paper.
pub const LIGHT: Theme = Theme {
    paper: "#ffffff",
    ink: "#111827",
    note: "#4b5563",
    link: "#8792a2",
    frame: "#374151",
    faint: "#eef1f5",
    processor: "#eef2f7",
    processor_line: "#64748b",
    busy: "#bcd7f8",
    traffic: "#fcd0a1",
    hues: [
        hue("blue", "#bcd7f8", "#96bdec", "#2463b0"),
        hue("orange", "#fcd0a1", "#f0b47a", "#b45309"),
        hue("green", "#b9e4b5", "#93cd90", "#2f7d32"),
        hue("rose", "#f8c3cb", "#eca1ad", "#be2547"),
        hue("violet", "#d9c8f5", "#c0a9e8", "#6d3fc0"),
        hue("teal", "#b0e4e0", "#86cfca", "#0f766e"),
        hue("yellow", "#f3e49a", "#e2cd6a", "#8a6d00"),
        hue("sand", "#dccfc2", "#c5b3a2", "#78604a"),
    ],
};

/// Colours on dark paper.
pub const DARK: Theme = Theme {
    paper: "#11161f",
    ink: "#f3f6fb",
    note: "#a9b4c4",
    link: "#6b7789",
    frame: "#c3ccd9",
    faint: "#1e2633",
    processor: "#212b3a",
    processor_line: "#8a99ae",
    busy: "#234f86",
    traffic: "#854712",
    hues: [
        hue("blue", "#234f86", "#1a3c68", "#6aa9f5"),
        hue("orange", "#854712", "#67350b", "#f2a45c"),
        hue("green", "#24632c", "#1a4c21", "#6fcb78"),
        hue("rose", "#862c43", "#682033", "#f58aa1"),
        hue("violet", "#57379a", "#432a79", "#b596f5"),
        hue("teal", "#13615c", "#0d4a46", "#4fcfc4"),
        hue("yellow", "#6b5808", "#524304", "#e3c742"),
        hue("sand", "#5d4c3d", "#483a2e", "#c7ab90"),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    fn luminance(colour: &str) -> f64 {
        let part = |i: usize| {
            let c = f64::from(u8::from_str_radix(&colour[i..i + 2], 16).unwrap()) / 255.0;
            if c <= 0.03928 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn everything_is_readable_in_both_themes() {
        for theme in [LIGHT, DARK] {
            let grounds = [theme.paper, theme.faint, theme.processor, theme.busy, theme.traffic];
            for ground in grounds {
                assert!(contrast(theme.ink, ground) >= 4.5, "ink on {ground}");
            }
            for text in [theme.note, theme.ink] {
                assert!(contrast(text, theme.paper) >= 4.5, "{text} on paper");
                assert!(contrast(text, theme.faint) >= 4.5, "{text} on faint");
            }
            assert!(contrast(theme.link, theme.paper) >= 3.0);
            assert!(contrast(theme.processor_line, theme.paper) >= 3.0);
            for h in theme.hues {
                assert!(contrast(theme.ink, h.fill) >= 4.5, "ink on {}", h.name);
                assert!(contrast(theme.ink, h.shade) >= 4.5, "ink on shaded {}", h.name);
                assert!(contrast(h.line, theme.paper) >= 3.0, "line of {}", h.name);
                assert!(contrast(h.line, h.fill) >= 3.0, "line on {}", h.name);
                assert!(contrast(theme.frame, h.fill) >= 3.0, "frame on {}", h.name);
                assert!(contrast(theme.frame, h.shade) >= 3.0, "frame on shaded {}", h.name);
            }
        }
    }

    #[test]
    fn hues_and_dashes_differ() {
        for theme in [LIGHT, DARK] {
            for (i, a) in theme.hues.iter().enumerate() {
                assert!(theme.hues[..i].iter().all(|b| a.fill != b.fill && a.name != b.name));
                assert!(DASHES[..i].iter().all(|d| *d != DASHES[i]));
            }
        }
    }
}
