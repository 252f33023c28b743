//! The unit in which times are written: that of the timeline, or a thousand of it, a millionth …,
//! so that numbers stay short: `0.2` of `M flop`, `1.5 ms`.

use super::View;
use crate::cost::held::Held;
use crate::timeline::Timeline;

/// Counts beyond this are written in thousands, millions ….
const LONG: f64 = 1e4;

const THOUSANDS: [&str; 7] = ["", "k ", "M ", "G ", "T ", "P ", "E "];

/// How many units of a timeline that ends then the written one is, and its name.
fn fitting(end: f64, unit: &str) -> (f64, String) {
    match unit {
        "s" if end < 1e-3 => (1e-6, "µs".to_owned()),
        "s" if end < 1.0 => (1e-3, "ms".to_owned()),
        "" | "s" | "ms" => (1.0, unit.to_owned()),
        _ if end < LONG => (1.0, unit.to_owned()),
        _ => {
            let power = ((end.log10() / 3.0) as usize).min(THOUSANDS.len() - 1);
            (1000_f64.powf(power as f64), format!("{}{unit}", THOUSANDS[power]))
        }
    }
}

/// A timeline and what is said beside it in the written unit, and how much of the own that is.
pub(super) fn written(timeline: &Timeline, view: &View) -> (Timeline, View, f64) {
    let (size, unit) = fitting(timeline.end(), &view.unit);
    let held = |curve: &Vec<Held>| {
        curve.iter().map(|held| Held { time: held.time / size, ..*held }).collect()
    };
    let held = view.held.iter().map(held).collect();
    (timeline.scaled(1.0 / size), View { unit, held, ..view.clone() }, size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_short() {
        let name = |end, unit| fitting(end, unit).1;
        assert_eq!(name(9_000.0, "flop"), "flop");
        assert_eq!(name(1.06e6, "flop"), "M flop");
        assert_eq!(name(250_000.0, "units"), "k units");
        assert_eq!(name(3e30, "flop"), "E flop");
        assert_eq!(name(0.25, "s"), "ms");
        assert_eq!(name(2e-4, "s"), "µs");
        assert_eq!(name(2e9, ""), "");
    }
}
