//! Scales of a chart: from values to pixels, with ticks at round numbers.

/// Values of more than this ratio are drawn by their logarithm.
const LOG_RATIO: f64 = 100.0;

/// A scale from `low..high` to `0..length`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::picture) struct Scale {
    /// The least value, or its decimal logarithm.
    low: f64,
    /// The greatest value, or its decimal logarithm.
    high: f64,
    length: f64,
    log: bool,
}

impl Scale {
    /// A linear scale that holds all values; 0 to 1 if there are none.
    pub(in crate::picture) fn linear(values: impl Iterator<Item = f64>, length: f64) -> Self {
        let (low, high) = range(values).unwrap_or((0.0, 1.0));
        let (low, high) = apart(low, high);
        Self { low, high, length, log: false }
    }

    /// A scale with a little room, logarithmic where values are positive and far apart.
    pub(in crate::picture) fn fitting(values: impl Iterator<Item = f64>, length: f64) -> Self {
        let (low, high) = range(values).unwrap_or((0.0, 1.0));
        let log = low > 0.0 && high / low > LOG_RATIO;
        let (low, high) = if log { (low.log10(), high.log10()) } else { apart(low, high) };
        // Halves first: the difference of two large numbers may be infinite.
        let room = (high * 0.5 - low * 0.5) * 0.1;
        // A curve of positive values stays over 0.
        let floor = if !log && low >= 0.0 { 0.0 } else { f64::MIN };
        Self { low: (low - room).max(floor), high: (high + room).min(f64::MAX), length, log }
    }

    /// Whether it is logarithmic.
    pub(in crate::picture) const fn is_log(&self) -> bool {
        self.log
    }

    /// Its length in pixels.
    pub(in crate::picture) const fn length(&self) -> f64 {
        self.length
    }

    /// The pixel of a value, within `0..=length`.
    pub(in crate::picture) fn place(&self, value: f64) -> f64 {
        let value = if self.log { value.log10() } else { value };
        // Halves first: the difference of two large numbers may be infinite.
        let part = (value * 0.5 - self.low * 0.5) / (self.high * 0.5 - self.low * 0.5);
        if part.is_finite() { part.clamp(0.0, 1.0) * self.length } else { 0.0 }
    }

    /// Round values on the scale, about one per 45 pixels up, never more than ten.
    pub(in crate::picture) fn ticks(&self) -> Vec<f64> {
        let wanted = (self.length / 45.0).clamp(2.0, 8.0);
        if self.log && self.high - self.low >= 1.0 {
            let step = ((self.high - self.low) / wanted).ceil().max(1.0);
            return multiples(self.low, self.high, step)
                .into_iter()
                .map(|power| 10_f64.powf(power))
                .collect();
        }
        let (low, high) = (self.low, self.high);
        let rough = (high / wanted - low / wanted).max(f64::MIN_POSITIVE);
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= rough);
        multiples(low, high, step.unwrap_or(rough))
    }
}

/// The multiples of `step` from `low` to `high`, at most twelve.
fn multiples(low: f64, high: f64, step: f64) -> Vec<f64> {
    let first = (low / step - 1e-9).ceil();
    let all = (0..12).map(|i| (first + f64::from(i)) * step);
    all.take_while(|v| *v <= high + step * 1e-9)
        .filter(|v| v.is_finite())
        .map(|v| v + 0.0)
        .collect()
}

/// Least and greatest.
fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |range, v| match range {
        None => Some((v, v)),
        Some((low, high)) => Some((low.min(v), high.max(v))),
    })
}

/// Two values that are not one: equal ones get room on both sides.
fn apart(low: f64, high: f64) -> (f64, f64) {
    if high > low {
        return (low, high);
    }
    let room = if low == 0.0 { 1.0 } else { low.abs() * 0.5 };
    (low - room, high + room)
}

/// A value with four significant digits: `0.05`, `1200`, `1.2e-7`.
pub(in crate::picture) fn short(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    if !(1e-4..1e6).contains(&size) {
        let text = format!("{value:.3e}");
        // 1.200e-7 → 1.2e-7
        return text.split_once('e').map_or(text.clone(), |(digits, power)| {
            format!("{}e{power}", digits.trim_end_matches('0').trim_end_matches('.'))
        });
    }
    let decimals = (3.0 - size.log10().floor()).max(0.0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        let steps = Scale::linear([0.0, 200.0].into_iter(), 420.0);
        assert_eq!(steps.ticks(), [0.0, 50.0, 100.0, 150.0, 200.0]);
        let loss = Scale::fitting([1.0, 1e-4].into_iter(), 200.0);
        assert!(loss.is_log());
        assert_eq!(loss.ticks().len(), 5);
        let near = Scale::fitting([0.31, 0.52].into_iter(), 200.0);
        assert!(!near.is_log());
        let texts: Vec<String> = near.ticks().into_iter().map(short).collect();
        assert_eq!(texts, ["0.3", "0.4", "0.5"]);
    }

    #[test]
    fn short_numbers() {
        let cases =
            [(0.0, "0"), (0.05, "0.05"), (1200.0, "1200"), (1.2e-7, "1.2e-7"), (-3.0, "-3")];
        for (value, text) in cases {
            assert_eq!(short(value), text);
        }
        assert_eq!(short(123_456.0), "123456");
        assert_eq!(short(2.0e9), "2e9");
    }

    #[test]
    fn extreme_values_stay_on_the_scale() {
        let wild = [f64::MAX, f64::MIN, 0.0];
        let scale = Scale::fitting(wild.into_iter(), 100.0);
        for v in wild {
            assert!((0.0..=100.0).contains(&scale.place(v)), "{v}");
        }
        assert!(scale.ticks().iter().all(|t| t.is_finite()));
        let flat = Scale::fitting([2.0, 2.0].into_iter(), 100.0);
        assert!((flat.place(2.0) - 50.0).abs() < 1e-9);
    }
}
