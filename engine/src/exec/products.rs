//! Products of runs of numbers: the innermost loops of what is no matrix product.

/// Partial sums of a run, so that additions do not wait for each other.
pub const LANES: usize = 16;

/// The sum of the products of two runs: [`LANES`] partial sums, added up in pairs.
pub fn dot<T: Copy + Default + std::ops::Add<Output = T> + std::ops::Mul<Output = T>>(
    x: &[T],
    y: &[T],
) -> T {
    let mut lanes = [T::default(); LANES];
    let (x, rest_x) = x.as_chunks::<LANES>();
    let (y, rest_y) = y.as_chunks::<LANES>();
    for (x, y) in x.iter().zip(y) {
        for ((lane, &x), &y) in lanes.iter_mut().zip(x).zip(y) {
            *lane = *lane + x * y;
        }
    }
    for ((lane, &x), &y) in lanes.iter_mut().zip(rest_x).zip(rest_y) {
        *lane = *lane + x * y;
    }
    let mut width = LANES / 2;
    while width > 0 {
        for i in 0..width {
            lanes[i] = lanes[i] + lanes[i + width];
        }
        width /= 2;
    }
    lanes[0]
}

/// Adds `x[i·a]·y[i·b]` to every `out[i]`.
pub fn add_products<T: Copy + std::ops::Add<Output = T> + std::ops::Mul<Output = T>>(
    [a, b]: [usize; 2],
    x: &[T],
    y: &[T],
    out: &mut [T],
) {
    match (a, b) {
        (1, 1) => {
            for ((o, &x), &y) in out.iter_mut().zip(x).zip(y) {
                *o = *o + x * y;
            }
        }
        (0, 1) => out.iter_mut().zip(y).for_each(|(o, &y)| *o = *o + x[0] * y),
        (1, 0) => out.iter_mut().zip(x).for_each(|(o, &x)| *o = *o + x * y[0]),
        _ => {
            for (i, o) in out.iter_mut().enumerate() {
                *o = *o + x[i * a] * y[i * b];
            }
        }
    }
}
