//! Draws a [`Scene`] as SVG markup. The only place in the studio that turns geometry into marks.
//!
//! Every mark that stands for processors carries them in `data-p` (`all` when it stands for all),
//! so that one style rule lights a picked processor in all pictures at once; see `pick.rs`.

use crate::highlight::push_escaped;
use meshwork_engine::index::Pnum;
use meshwork_engine::picture::scene::{Align, Form, Mark, Scene, Tone};
use std::fmt::Write as _;

/// The picture as an `<svg>` element; `processors` is the size of the mesh.
pub fn svg(scene: &Scene, processors: u64) -> String {
    let mut out = String::with_capacity(scene.marks.len() * 160 + 200);
    let (width, height) = (scene.width, scene.height);
    _ = write!(out, "<svg class=\"scene\" viewBox=\"0 0 {width} {height}\"");
    push_numbers(&mut out, [("width", &width), ("height", &height)]);
    out.push_str(" role=\"img\" aria-label=\"");
    push_escaped(&mut out, &scene.title);
    out.push_str(". ");
    push_escaped(&mut out, &scene.description);
    out.push_str("\">");
    for mark in &scene.marks {
        push_mark(&mut out, mark, processors);
    }
    out.push_str("</svg>");
    out
}

fn push_mark(out: &mut String, mark: &Mark, processors: u64) {
    let element = match mark.form {
        Form::Rect { .. } => "rect",
        Form::Polygon(_) => "polygon",
        Form::Line(_) => "polyline",
        Form::Text { .. } => "text",
    };
    out.extend(["<", element, " class=\"", mark.tone.class()]);
    if let Some(hue) = mark.tone.hue() {
        _ = write!(out, " hue-{hue}");
    }
    out.push('"');
    push_geometry(out, &mark.form);
    if let Tone::Partial(hue) = mark.tone {
        _ = write!(out, " fill=\"url(#hatch-{})\"", hue % Tone::SLICE_HUES);
    }
    if let Form::Text { text, .. } = &mark.form {
        // the pointer goes through text to the mark under it, which carries the rest
        out.push('>');
        push_escaped(out, text);
        out.push_str("</text>");
        return;
    }
    if !mark.pnums.is_empty() {
        out.push_str(" data-p=\"");
        push_holders(out, &mark.pnums, processors);
        out.push('"');
    }
    if let Some(tip) = &mark.tip {
        out.push_str(" data-tip=\"");
        push_escaped(out, tip);
        out.push('"');
    }
    out.push_str("/>");
}

/// The attributes of a form, without those that the style sheet gives.
fn push_geometry(out: &mut String, form: &Form) {
    match form {
        Form::Rect { x, y, width, height, radius } => {
            push_numbers(out, [("x", x), ("y", y), ("width", width), ("height", height)]);
            if *radius > 0.0 {
                push_numbers(out, [("rx", radius)]);
            }
        }
        Form::Polygon(points) => push_points(out, points),
        Form::Line(points) => {
            push_points(out, points);
            out.push_str(" fill=\"none\"");
        }
        Form::Text { x, y, size, align, .. } => {
            push_numbers(out, [("x", x), ("y", y), ("font-size", size)]);
            out.push_str(match align {
                Align::Start => "",
                Align::Middle => " text-anchor=\"middle\"",
                Align::End => " text-anchor=\"end\"",
            });
        }
    }
}

fn push_numbers<const N: usize>(out: &mut String, attributes: [(&str, &f64); N]) {
    for (name, &number) in attributes {
        out.extend([" ", name, "=\""]);
        push_number(out, number);
        out.push('"');
    }
}

fn push_points(out: &mut String, points: &[(f64, f64)]) {
    out.push_str(" points=\"");
    for (i, &(x, y)) in points.iter().enumerate() {
        out.push_str(if i == 0 { "" } else { " " });
        push_number(out, x);
        out.push(',');
        push_number(out, y);
    }
    out.push('"');
}

/// With two decimals, a hundredth of a pixel; more would only be longer. Whole numbers are written
/// several times as fast as others, hence the hundredths.
fn push_number(out: &mut String, x: f64) {
    let hundredths = (x * 100.0).round() as i64;
    let (whole, part) = (hundredths / 100, hundredths.unsigned_abs() % 100);
    if hundredths < 0 && whole == 0 {
        out.push('-');
    }
    _ = match (part, part % 10) {
        (0, _) => write!(out, "{whole}"),
        (_, 0) => write!(out, "{whole}.{}", part / 10),
        _ => write!(out, "{whole}.{part:02}"),
    };
}

/// The value of `data-p`: processors separated by spaces, or `all`.
fn push_holders(out: &mut String, pnums: &[Pnum], processors: u64) {
    if pnums.len() as u64 >= processors {
        out.push_str("all");
        return;
    }
    for (i, pnum) in pnums.iter().enumerate() {
        out.push_str(if i == 0 { "" } else { " " });
        _ = write!(out, "{}", pnum.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pushed(push: impl Fn(&mut String)) -> String {
        let mut out = String::new();
        push(&mut out);
        out
    }

    #[test]
    fn whole_tensors_say_all() {
        let holders = |processors| pushed(|out| push_holders(out, &[Pnum(0), Pnum(1)], processors));
        assert_eq!([holders(2), holders(4)], ["all", "0 1"]);
    }

    #[test]
    fn numbers_have_two_decimals_at_most() {
        let written = [0.0, -0.001, 3.0, 2.5, -0.25, 1.0 / 3.0, 12.054, -7.999]
            .map(|x| pushed(|out| push_number(out, x)));
        assert_eq!(written, ["0", "0", "3", "2.5", "-0.25", "0.33", "12.05", "-8"]);
    }

    fn scene(marks: Vec<Mark>) -> Scene {
        Scene {
            width: 40.0,
            height: 20.0,
            title: "w <1>".into(),
            description: "one & all".into(),
            marks,
            table: meshwork_engine::picture::scene::Table::default(),
        }
    }

    #[test]
    fn marks_carry_class_hue_processors_and_tip() {
        let rect = Form::Rect { x: 1.0 / 3.0, y: 0.0, width: 4.0, height: 5.0, radius: 0.0 };
        let out = svg(
            &scene(vec![Mark {
                form: rect,
                tone: Tone::Slice(9),
                pnums: vec![Pnum(0), Pnum(2)],
                tip: Some("a \"b\"".into()),
            }]),
            4,
        );
        assert!(out.contains("class=\"slice hue-1\" x=\"0.33\""));
        assert!(out.contains("data-p=\"0 2\" data-tip=\"a &quot;b&quot;\"/>"));
        assert!(out.contains("aria-label=\"w &lt;1&gt;. one &amp; all\""));
    }

    #[test]
    fn text_is_escaped_and_leaves_its_processors_to_the_mark_under_it() {
        let text =
            Form::Text { x: 0.0, y: 0.0, size: 12.0, align: Align::End, text: "<script>".into() };
        let mark = Mark { form: text, tone: Tone::Label, pnums: vec![Pnum(0), Pnum(1)], tip: None };
        let out = svg(&scene(vec![mark]), 2);
        assert!(out.contains("text-anchor=\"end\""));
        assert!(out.contains(">&lt;script&gt;</text>") && !out.contains("data-p"));
    }
}
