//! Functions of 32-bit floats without branches or calls, so that the compiler makes vectors of loops
//! over them: polynomials after Cephes (S. Moshier, 1984–2000), within 2 units of the last place.

/// 1.5·2²³: adding and subtracting it rounds.
const ROUND: f32 = 12_582_912.0;

/// eˣ.
#[inline]
pub fn exp(x: f32) -> f32 {
    // beyond these the result is infinite or 0; not a number stays
    let x = if x > 89.0 { 89.0 } else { x };
    let x = if x < -104.0 { -104.0 } else { x };
    // x = n·ln 2 + r
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = x - n * 0.693_359_4 - n * -2.121_944_4e-4;
    let p = 1.987_569_1e-4 * r + 1.398_199_9e-3;
    let p = p * r + 8.333_452e-3;
    let p = p * r + 4.166_579_6e-2;
    let p = p * r + 0.166_666_66;
    let p = p * r + 0.5;
    let y = p * (r * r) + r + 1.0;
    // 2ⁿ in two steps: either half is a normal number where 2ⁿ is not
    let n = shifted.to_bits().wrapping_sub(ROUND.to_bits()).cast_signed();
    let half = n >> 1;
    y * power_of_two(half) * power_of_two(n.wrapping_sub(half))
}

/// 2ⁿ for a normal number.
#[inline]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) << 23).cast_unsigned())
}

/// The hyperbolic tangent.
#[inline]
pub fn tanh(x: f32) -> f32 {
    let size = x.abs();
    // near 0 an odd polynomial, elsewhere by eˣ
    let z = x * x;
    let p = -5.704_988_7e-3 * z + 2.063_909e-2;
    let p = p * z - 5.373_971_5e-2;
    let p = p * z + 0.133_314_42;
    let p = p * z - 0.333_332_8;
    let near = p * z * x + x;
    let far = (1.0 - 2.0 / (exp(2.0 * size) + 1.0)).copysign(x);
    if size < 0.625 { near } else { far }
}

#[cfg(test)]
mod tests {
    use super::{exp, tanh};

    /// The largest distance from the exact value, in units of the last place.
    fn off(f: impl Fn(f32) -> f32, exact: impl Fn(f64) -> f64, from: f32, to: f32) -> f64 {
        let count = 200_000;
        let at = |i: u32| from + (to - from) * (i as f32 / count as f32);
        let off = (0..=count).map(at).map(|x| {
            let exact = exact(f64::from(x));
            let unit = f64::from((exact as f32).abs().next_up() - (exact as f32).abs());
            (f64::from(f(x)) - exact).abs() / unit
        });
        off.fold(0.0, f64::max)
    }

    #[test]
    fn within_two_units_of_the_last_place() {
        for (from, to) in [(-1.0, 1.0), (-87.0, 88.7), (-103.9, -87.0)] {
            let off = off(exp, f64::exp, from, to);
            assert!(off <= 2.0, "exp is off by {off} between {from} and {to}");
        }
        for (from, to) in [(-0.7, 0.7), (-1e-3, 1e-3), (-12.0, 12.0)] {
            let off = off(tanh, f64::tanh, from, to);
            assert!(off <= 2.0, "tanh is off by {off} between {from} and {to}");
        }
    }

    #[test]
    fn at_the_ends() {
        assert_eq!(
            (exp(0.0), exp(f32::INFINITY), exp(f32::NEG_INFINITY)),
            (1.0, f32::INFINITY, 0.0)
        );
        assert_eq!((exp(1e9), exp(-1e9)), (f32::INFINITY, 0.0));
        assert_eq!((tanh(1e9), tanh(-1e9), tanh(0.0)), (1.0, -1.0, 0.0));
        assert!(exp(f32::NAN).is_nan() && tanh(f32::NAN).is_nan());
    }
}
