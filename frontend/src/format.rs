//! Numbers for people: units that keep three digits, and the exact value for the tip beside them.

/// `1.5 KiB`, `64 B`.
pub fn bytes(n: f64) -> String {
    scaled(n, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"])
}

/// `12.3 M`: a count with its unit prefix.
pub fn count(n: f64) -> String {
    scaled(n, 1000.0, &["", "k", "M", "G", "T", "P", "E"]).trim_end().to_owned()
}

fn scaled(n: f64, base: f64, units: &[&str]) -> String {
    let mut value = n;
    let mut at = 0;
    while value.abs() >= base - 0.5 && at + 1 < units.len() {
        value /= base;
        at += 1;
    }
    let number = if value.fract() == 0.0 || value.abs() >= 100.0 {
        format!("{value:.0}")
    } else if value.abs() >= 10.0 {
        trim(&format!("{value:.1}"))
    } else {
        trim(&format!("{value:.2}"))
    };
    format!("{number} {}", units[at])
}

/// `1 234 567` with thin spaces; fractions keep up to three digits.
pub fn exact(n: f64) -> String {
    let whole = n.abs().trunc();
    let digits = format!("{whole:.0}");
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(c);
    }
    let fraction = trim(&format!("{:.3}", n.abs().fract()));
    let tail = fraction.strip_prefix('0').unwrap_or("");
    format!("{}{out}{tail}", if n < 0.0 { "−" } else { "" })
}

/// `cell 1`, `cells 0 and 3`.
pub fn cells(ranks: &[u64]) -> String {
    let numbers: Vec<String> = ranks.iter().map(u64::to_string).collect();
    let s = if ranks.len() == 1 { "" } else { "s" };
    format!("cell{s} {}", numbers.join(" and "))
}

/// A loss or a difference: four significant digits, powers of ten where they are shorter.
pub fn number(x: f64) -> String {
    if x == 0.0 {
        return "0".to_owned();
    }
    if !x.is_finite() {
        return x.to_string();
    }
    let a = x.abs();
    if (1e-3..1e6).contains(&a) {
        let decimals = (3 - a.log10().floor() as i32).max(0) as usize;
        trim(&format!("{x:.decimals$}"))
    } else {
        let text = format!("{x:.2e}");
        match text.split_once('e') {
            Some((m, e)) => format!("{}e{e}", trim(m)),
            None => text,
        }
    }
}

/// `1 step`, `2 steps`.
pub fn plural(n: u64, one: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{} {one}{s}", exact(n as f64))
}

fn trim(number: &str) -> String {
    if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        number.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_keep_three_digits() {
        let cases: [(f64, &str); 7] = [
            (0.0, "0 B"),
            (64.0, "64 B"),
            (1536.0, "1.5 KiB"),
            (1023.9, "1 KiB"),
            (10.26 * 1024.0, "10.3 KiB"),
            (5.0 * 1024.0 * 1024.0, "5 MiB"),
            (42.666_666, "42.7 B"),
        ];
        for (n, text) in cases {
            assert_eq!(bytes(n), text);
        }
        assert_eq!(count(12_345_678.0), "12.3 M");
        assert_eq!(count(12.0), "12");
    }

    #[test]
    fn exact_numbers_are_grouped() {
        assert_eq!(exact(1_234_567.0), "1\u{202f}234\u{202f}567");
        assert_eq!(exact(42.666_666), "42.667");
        assert_eq!(exact(-12.0), "−12");
        assert_eq!(plural(1, "step"), "1 step");
        assert_eq!(plural(1200, "step"), "1\u{202f}200 steps");
    }

    #[test]
    fn losses_are_short() {
        assert_eq!(number(0.0), "0");
        assert_eq!(number(0.123_456), "0.1235");
        assert_eq!(number(1.192e-7), "1.19e-7");
        assert_eq!(number(12.5), "12.5");
    }
}
