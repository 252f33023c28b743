//! The pairs that ship: numbers in digits and in words, a language small enough to be learnt in
//! minutes.
//!
//! ```text
//!   347⇥three hundred and forty-seven
//! ```

use std::fmt::Write as _;

/// How many numbers, from 0.
const NUMBERS: u32 = 2000;

/// A step between numbers that meets all of them, so that neighbours are far apart.
const STEP: u32 = 761;

const ONES: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 10] =
    ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];

/// All pairs, one a line.
pub fn pairs() -> String {
    let mut text = String::new();
    for i in 0..NUMBERS {
        let n = i * STEP % NUMBERS;
        // Writing into a string cannot fail.
        writeln!(text, "{n}\t{}", words(n)).unwrap_or_default();
    }
    text
}

fn words(n: u32) -> String {
    let rest = |below: u32, joint: &str| match n % below {
        0 => String::new(),
        rest => format!("{joint}{}", words(rest)),
    };
    match n {
        0..20 => ONES[n as usize].to_owned(),
        20..100 => format!("{}{}", TENS[n as usize / 10], rest(10, "-")),
        100..1000 => format!("{} hundred{}", ONES[n as usize / 100], rest(100, " and ")),
        _ => {
            let joint = if n % 1000 < 100 { " and " } else { " " };
            format!("{} thousand{}", words(n / 1000), rest(1000, joint))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn numbers_are_spelt_as_in_english() {
        for (n, spelt) in [
            (0, "zero"),
            (17, "seventeen"),
            (40, "forty"),
            (347, "three hundred and forty-seven"),
            (900, "nine hundred"),
            (1005, "one thousand and five"),
            (1999, "one thousand nine hundred and ninety-nine"),
        ] {
            assert_eq!(words(n), spelt);
        }
        let lines = pairs();
        assert_eq!(lines.lines().collect::<BTreeSet<_>>().len(), NUMBERS as usize);
    }
}
