//! A scene as SVG text: standalone, readable without a style sheet, the same on every run.
//!
//! Colours are written out (no custom properties), so that programs other than browsers show
//! them too; a dark theme follows the reader's preference unless the style fixes one.

use super::palette::{DARK, DASHES, LIGHT, Theme};
use super::scene::{Align, Form, Mark, Scene, Tone};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Which colours a picture takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Colours {
    /// Light, or dark where the reader prefers dark.
    #[default]
    Preferred,
    /// Always light.
    Light,
    /// Always dark.
    Dark,
}

/// How a scene is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Style {
    /// Its colours.
    pub colours: Colours,
    /// Begins all ids and the class of the picture; two pictures on one page need different ones.
    /// Characters other than ASCII letters, digits, `-` and `_` are left out.
    pub id: String,
    /// Whether the ground is painted.
    pub ground: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self { colours: Colours::default(), id: "picture".to_owned(), ground: true }
    }
}

const FONT: &str = "system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";

/// The scene as a standalone SVG document.
pub fn draw(scene: &Scene, style: &Style) -> String {
    let id = clean_id(&style.id);
    let used = Used::of(&scene.marks);
    let mut out = String::new();
    let (w, h) = (number(scene.width), number(scene.height));
    // Writing to a String cannot fail.
    _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"{id}\" role=\"img\" \
         aria-labelledby=\"{id}-title {id}-desc\" width=\"{w}\" height=\"{h}\" \
         viewBox=\"0 0 {w} {h}\">"
    );
    _ = writeln!(out, "<title id=\"{id}-title\">{}</title>", escape(&scene.title));
    _ = writeln!(out, "<desc id=\"{id}-desc\">{}</desc>", escape(&scene.description));
    out.push_str("<style>\n");
    shared_rules(&mut out, &id);
    match style.colours {
        Colours::Light => theme_rules(&mut out, &id, &LIGHT, &used),
        Colours::Dark => theme_rules(&mut out, &id, &DARK, &used),
        Colours::Preferred => {
            theme_rules(&mut out, &id, &LIGHT, &used);
            out.push_str("@media (prefers-color-scheme:dark){\n");
            theme_rules(&mut out, &id, &DARK, &used);
            out.push_str("}\n");
        }
    }
    out.push_str("</style>\n");
    hatches(&mut out, &id, &used);
    if style.ground {
        _ = writeln!(out, "<rect class=\"paper\" width=\"{w}\" height=\"{h}\"/>");
    }
    for mark in &scene.marks {
        write_mark(&mut out, mark);
    }
    out.push_str("</svg>\n");
    out
}

/// Which hues a scene needs rules for.
#[derive(Debug, Default)]
struct Used {
    slices: BTreeSet<u8>,
    shades: BTreeSet<u8>,
    partial: BTreeSet<u8>,
    series: BTreeSet<u8>,
}

impl Used {
    fn of(marks: &[Mark]) -> Self {
        let mut used = Self::default();
        for tone in marks.iter().map(|m| m.tone) {
            let set = match tone {
                Tone::Slice(_) => &mut used.slices,
                Tone::SliceShade(_) => &mut used.shades,
                Tone::Partial(_) => &mut used.partial,
                Tone::Series(_) => &mut used.series,
                Tone::Processor
                | Tone::Link
                | Tone::Frame
                | Tone::Elided
                | Tone::Label
                | Tone::Note
                | Tone::Busy
                | Tone::Traffic
                | Tone::Idle => continue,
            };
            set.extend(tone.hue());
        }
        used
    }
}

/// Rules without colours.
fn shared_rules(out: &mut String, id: &str) {
    _ = writeln!(
        out,
        ".{id}{{font-family:{FONT};max-width:100%;height:auto}}\n\
         .{id} text{{stroke:none;pointer-events:none;font-variant-numeric:tabular-nums}}\n\
         .{id} .label{{font-weight:500}}\n\
         .{id} line,.{id} polyline{{fill:none;stroke-linejoin:round;stroke-linecap:round}}\n\
         .{id} polygon{{stroke-linejoin:round}}"
    );
}

/// The colours of one theme, for the tones that occur.
fn theme_rules(out: &mut String, id: &str, theme: &Theme, used: &Used) {
    let Theme {
        paper,
        ink,
        note,
        link,
        frame,
        faint,
        processor,
        processor_line,
        busy,
        traffic,
        hues,
    } = theme;
    _ = writeln!(
        out,
        ".{id} .paper{{fill:{paper}}}\n\
         .{id} .label{{fill:{ink}}}\n\
         .{id} .note,.{id} text.elided{{fill:{note};stroke:none}}\n\
         .{id} .link{{fill:none;stroke:{link};stroke-width:1.25}}\n\
         .{id} .frame{{fill:none;stroke:{frame};stroke-width:1.5}}\n\
         .{id} .elided{{fill:{faint};stroke:{link}}}\n\
         .{id} .idle{{fill:{faint}}}\n\
         .{id} .processor{{fill:{processor};stroke:{processor_line};stroke-width:1.25}}\n\
         .{id} .busy{{fill:{busy};stroke:{frame}}}\n\
         .{id} .traffic{{fill:{traffic};stroke:{frame}}}"
    );
    _ = writeln!(out, ".{id} .slice,.{id} .slice-shade,.{id} .partial{{stroke:{frame}}}");
    for (n, hue) in (0_u8..).zip(hues) {
        let (fill, shade, line) = (hue.fill, hue.shade, hue.line);
        if used.slices.contains(&n) {
            _ = writeln!(out, ".{id} .slice.hue-{n}{{fill:{fill}}}");
        }
        if used.shades.contains(&n) {
            _ = writeln!(out, ".{id} .slice-shade.hue-{n}{{fill:{shade}}}");
        }
        if used.partial.contains(&n) {
            _ = writeln!(
                out,
                ".{id} .partial.hue-{n}{{fill:url(#{id}-hatch-{n})}}\n\
                 .{id} .hatch-ground.hue-{n}{{fill:{fill}}}\n\
                 .{id} .hatch-line.hue-{n}{{stroke:{shade};stroke-width:3;fill:none}}"
            );
        }
        if used.series.contains(&n) {
            let dash = DASHES.get(usize::from(n)).copied().unwrap_or("");
            let dash = if dash.is_empty() { "none" } else { dash };
            _ = writeln!(
                out,
                ".{id} .series.hue-{n}{{stroke:{line};stroke-width:2;stroke-dasharray:{dash}}}\n\
                 .{id} rect.series.hue-{n}{{fill:{line};stroke:none}}"
            );
        }
    }
}

/// A hatch per hue of partial slices: even hues rise, odd hues fall.
fn hatches(out: &mut String, id: &str, used: &Used) {
    if used.partial.is_empty() {
        return;
    }
    out.push_str("<defs>\n");
    for n in &used.partial {
        let angle = if n % 2 == 0 { 45 } else { 135 };
        _ = writeln!(
            out,
            "<pattern id=\"{id}-hatch-{n}\" width=\"8\" height=\"8\" \
             patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate({angle})\">\
             <rect class=\"hatch-ground hue-{n}\" width=\"8\" height=\"8\"/>\
             <path class=\"hatch-line hue-{n}\" d=\"M2 0V8\"/></pattern>"
        );
    }
    out.push_str("</defs>\n");
}

fn write_mark(out: &mut String, mark: &Mark) {
    let mut class = mark.tone.class().to_owned();
    if let Some(hue) = mark.tone.hue() {
        _ = write!(class, " hue-{hue}");
    }
    let (element, attributes, inner) = match &mark.form {
        Form::Rect { x, y, width, height, radius } => {
            let corner =
                if *radius > 0.0 { format!(" rx=\"{}\"", number(*radius)) } else { String::new() };
            let [x, y, width, height] = [x, y, width, height].map(|v| number(*v));
            let at = format!("x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"{corner}");
            ("rect", at, String::new())
        }
        Form::Polygon(points) => ("polygon", format!("points=\"{}\"", list(points)), String::new()),
        Form::Line(points) => ("polyline", format!("points=\"{}\"", list(points)), String::new()),
        Form::Text { x, y, size, align, text } => {
            let anchor = match align {
                Align::Start => "",
                Align::Middle => " text-anchor=\"middle\"",
                Align::End => " text-anchor=\"end\"",
            };
            // The baseline lies this far under the middle of figures and capitals.
            let (x, y, size) = (number(*x), number(y + 0.36 * size), number(*size));
            let at = format!("x=\"{x}\" y=\"{y}\" font-size=\"{size}\"{anchor}");
            ("text", at, escape(text))
        }
    };
    let tip = mark.tip.as_ref().map_or(String::new(), |t| format!("<title>{}</title>", escape(t)));
    let inner = tip + &inner;
    if inner.is_empty() {
        _ = writeln!(out, "<{element} class=\"{class}\" {attributes}/>");
    } else {
        _ = writeln!(out, "<{element} class=\"{class}\" {attributes}>{inner}</{element}>");
    }
}

fn list(points: &[(f64, f64)]) -> String {
    let points: Vec<String> =
        points.iter().map(|(x, y)| format!("{},{}", number(*x), number(*y))).collect();
    points.join(" ")
}

/// A number with at most two decimals; what is no number is 0.
fn number(value: f64) -> String {
    if !value.is_finite() {
        return "0".to_owned();
    }
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Text for element content and attribute values; characters that XML forbids become U+FFFD.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

fn clean_id(id: &str) -> String {
    let kept = |c: &char| c.is_ascii_alphanumeric() || *c == '-' || *c == '_';
    let id: String = id.chars().filter(kept).collect();
    // An id begins with a letter.
    if id.starts_with(|c: char| c.is_ascii_alphabetic()) { id } else { format!("p{id}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::scene::Table;

    fn one(form: Form, tone: Tone) -> Scene {
        let tip = Some("a < b & \"c\"".to_owned());
        Scene {
            width: 10.0,
            height: 10.0,
            title: "<t>".into(),
            description: "d\u{1}".into(),
            marks: vec![Mark { form, tone, pnums: Vec::new(), tip }],
            table: Table::default(),
        }
    }

    #[test]
    fn numbers_have_two_decimals_at_most() {
        let cases = [
            (1.0, "1"),
            (1.005, "1"),
            (-0.001, "0"),
            (100.0, "100"),
            (0.126, "0.13"),
            (-2.5, "-2.5"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
        assert_eq!(number(f64::NAN), "0");
    }

    #[test]
    fn text_is_escaped() {
        let text = Form::Text {
            x: 0.0,
            y: 0.0,
            size: 10.0,
            align: Align::End,
            text: "</text><script>".into(),
        };
        let svg = draw(&one(text, Tone::Label), &Style::default());
        assert!(svg.contains("&lt;/text&gt;&lt;script&gt;"));
        assert!(svg.contains("<title>a &lt; b &amp; &quot;c&quot;</title>"));
        assert!(svg.contains("<title id=\"picture-title\">&lt;t&gt;</title>"));
        assert!(svg.contains(">d\u{fffd}</desc>"));
    }

    #[test]
    fn ids_are_safe() {
        let style = Style { id: "7 \"><x".into(), ..Style::default() };
        let svg = draw(&one(Form::Line(vec![(0.0, 1.0)]), Tone::Link), &style);
        assert!(svg.contains("class=\"p7x\" role=\"img\" aria-labelledby=\"p7x-title p7x-desc\""));
    }

    #[test]
    fn a_fixed_theme_has_no_media_rule() {
        let scene = one(Form::Polygon(vec![(0.0, 0.0), (1.0, 2.0)]), Tone::Partial(9));
        let preferred = draw(&scene, &Style::default());
        assert!(preferred.contains("prefers-color-scheme:dark"));
        assert!(preferred.contains("id=\"picture-hatch-1\""));
        let dark = draw(&scene, &Style { colours: Colours::Dark, ..Style::default() });
        assert!(
            !dark.contains("@media") && dark.contains(DARK.paper) && !dark.contains(LIGHT.paper)
        );
    }
}
