//! Draws a [`Scene`] as SVG markup. The only place in the studio that turns geometry into marks.
//!
//! Every mark that stands for processors carries them in `data-p` (`all` when it stands for all),
//! so that one style rule lights a picked processor in all pictures at once; see `pick.rs`.

use crate::highlight::escape;
use meshwork_engine::index::Pnum;
use meshwork_engine::picture::scene::{Align, Form, Mark, Scene, Tone};
use std::fmt::Write as _;

/// The picture as an `<svg>` element; `processors` is the size of the mesh.
pub fn svg(scene: &Scene, processors: u64) -> String {
    let mut out = String::with_capacity(scene.marks.len() * 160 + 200);
    let (w, h) = (round(scene.width), round(scene.height));
    let label = escape(&format!("{}. {}", scene.title, scene.description));
    _ = write!(
        out,
        "<svg class=\"scene\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" role=\"img\" \
         aria-label=\"{label}\">"
    );
    for mark in &scene.marks {
        push_mark(&mut out, mark, processors);
    }
    out.push_str("</svg>");
    out
}

fn push_mark(out: &mut String, mark: &Mark, processors: u64) {
    let (element, geometry) = geometry(&mark.form);
    _ = write!(out, "<{element} class=\"{}", mark.tone.class());
    if let Some(hue) = mark.tone.hue() {
        _ = write!(out, " hue-{hue}");
    }
    _ = write!(out, "\" {geometry}");
    if let Tone::Partial(hue) = mark.tone {
        _ = write!(out, " fill=\"url(#hatch-{})\"", hue % Tone::SLICE_HUES);
    }
    if let Form::Text { text, .. } = &mark.form {
        // the pointer goes through text to the mark under it, which carries the rest
        _ = write!(out, ">{}</text>", escape(text));
        return;
    }
    if !mark.pnums.is_empty() {
        _ = write!(out, " data-p=\"{}\"", holders(&mark.pnums, processors));
    }
    if let Some(tip) = &mark.tip {
        _ = write!(out, " data-tip=\"{}\"", escape(tip));
    }
    out.push_str("/>");
}

/// The element of a form and its attributes, without those that the style sheet gives.
fn geometry(form: &Form) -> (&'static str, String) {
    match form {
        Form::Rect { x, y, width, height, radius } => {
            let (x, y, width, height) = (round(*x), round(*y), round(*width), round(*height));
            let rounded =
                if *radius > 0.0 { format!(" rx=\"{}\"", round(*radius)) } else { String::new() };
            let place = format!("x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"");
            ("rect", place + &rounded)
        }
        Form::Polygon(points) => ("polygon", format!("points=\"{}\"", corners(points))),
        Form::Line(points) => ("polyline", format!("points=\"{}\" fill=\"none\"", corners(points))),
        Form::Text { x, y, size, align, .. } => {
            let anchor = match align {
                Align::Start => "",
                Align::Middle => " text-anchor=\"middle\"",
                Align::End => " text-anchor=\"end\"",
            };
            let (x, y, size) = (round(*x), round(*y), round(*size));
            ("text", format!("x=\"{x}\" y=\"{y}\" font-size=\"{size}\"{anchor}"))
        }
    }
}

/// The value of `data-p`: processors separated by spaces, or `all`.
pub fn holders(pnums: &[Pnum], processors: u64) -> String {
    if pnums.len() as u64 >= processors {
        return "all".to_owned();
    }
    let names: Vec<String> = pnums.iter().map(|p| p.0.to_string()).collect();
    names.join(" ")
}

fn corners(points: &[(f64, f64)]) -> String {
    let pairs: Vec<String> =
        points.iter().map(|&(x, y)| format!("{},{}", round(x), round(y))).collect();
    pairs.join(" ")
}

/// Two decimals are a fiftieth of a pixel; more would only be longer.
fn round(x: f64) -> f64 {
    (x * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_tensors_say_all() {
        assert_eq!(holders(&[Pnum(0), Pnum(1)], 2), "all");
        assert_eq!(holders(&[Pnum(0), Pnum(1)], 4), "0 1");
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
