//! Initial values as a function of (seed, tensor name, global index).
//!
//! `Hash` is the closed form of the golden files, on 32-bit wrapping integers:
//! `x = k + 0x9E3779B9·seed; x ^= x>>16; x *= 0x7FEB352D; x ^= x>>15; x *= 0x846CA68B; x ^= x>>16;`
//! the value is `(x / 2³¹ − 1) · scale`, rounded to a 32-bit float. The random ones run the 64-bit
//! finaliser of `SplitMix64` over (stream of seed and name) + index; normal ones by Box–Muller.

use super::op::Init;

/// Values of one tensor, element by element.
#[derive(Debug, Clone)]
pub struct Values<'a> {
    init: &'a Init,
    stream: u64,
}

impl<'a> Values<'a> {
    /// The values of the tensor `name` in a study with this seed.
    pub fn new(init: &'a Init, seed: u64, name: &str) -> Self {
        Self { init, stream: stream(seed, name) }
    }

    /// The value at a row-major index into the whole tensor.
    pub fn at(&self, index: u64) -> f64 {
        match self.init {
            Init::Constant(value) => *value,
            Init::Normal { mean, deviation } => mean + deviation * normal(self.stream, index),
            Init::Uniform { low, high } => low + (high - low) * uniform(self.stream, 2 * index),
            Init::Integers { low, high } => {
                let span = (high - low) as f64;
                *low as f64 + (span * uniform(self.stream, 2 * index)).floor()
            }
            Init::Values(values) => values.get(index as usize).copied().unwrap_or(0.0),
            Init::Hash { seed, scale } => hash_value(index as u32, *seed, *scale),
        }
    }
}

/// The golden files' value for a flat index.
pub fn hash_value(index: u32, seed: u32, scale: f64) -> f64 {
    let mut x = index.wrapping_add(0x9E37_79B9_u32.wrapping_mul(seed));
    x ^= x >> 16;
    x = x.wrapping_mul(0x7FEB_352D);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846C_A68B);
    x ^= x >> 16;
    f64::from(((f64::from(x) / 2_147_483_648.0 - 1.0) * scale) as f32)
}

/// The random stream of a name under a seed.
pub fn stream(seed: u64, name: &str) -> u64 {
    // FNV-1a over the name, then mixed with the seed.
    let hash = name
        .bytes()
        .fold(0xCBF2_9CE4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01B3));
    mix(hash ^ mix(seed.wrapping_add(0x9E37_79B9_7F4A_7C15)))
}

/// A number uniform in [0, 1) for a position of a stream.
pub fn uniform(stream: u64, index: u64) -> f64 {
    let bits = mix(stream.wrapping_add(index.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// A standard normal number for a position of a stream.
pub fn normal(stream: u64, index: u64) -> f64 {
    let u = 1.0 - uniform(stream, 2 * index);
    let v = uniform(stream, 2 * index + 1);
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
