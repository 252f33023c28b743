//! Register tiles: the innermost loops of a matrix product.
//!
//! A tile of the result, `ROWS × COLUMNS` numbers, stays in registers while the summed dimension is
//! walked once: `c[i][j] += Σₖ a[k][i]·b[k][j]`, where `a` and `b` are packed panels in which the
//! numbers for one k lie together. With AVX2 and FMA 6×16 (f32) or 6×8 (f64) fill 12 of 16
//! registers; WebAssembly's 128-bit registers hold 4×8. The order of additions is that of k
//! everywhere.
//!
//! The only file of the engine with `unsafe` code: arrays seen as registers, and calls of code that
//! needs a CPU feature that was found.

#![allow(unsafe_code, reason = "registers and CPU features; each place says why it is sound")]

/// Computes a tile: panel of the left matrix, panel of the right one, rows of the result, the tile's
/// first column in them, and whether it is stored rather than added.
pub type Tile<T> = fn(&[T], &[T], &mut [&mut [T]], usize, bool);

/// A number type's tile.
pub trait Tiled: Sized {
    /// Rows of a tile.
    const ROWS: usize;
    /// Columns of a tile.
    const COLUMNS: usize;

    /// The fastest tile of this machine.
    fn tile() -> Tile<Self>;

    /// Rows as columns.
    fn transposed(rows: [[Self; 4]; 4]) -> [[Self; 4]; 4]
    where
        Self: Copy,
    {
        std::array::from_fn(|i| std::array::from_fn(|j| rows[j][i]))
    }
}

/// Plain code for any machine; the compiler makes vectors of it where it can.
macro_rules! plain {
    ($name:ident, $t:ident, $rows:literal, $columns:literal) => {
        fn $name(a: &[$t], b: &[$t], rows: &mut [&mut [$t]], column: usize, first: bool) {
            let mut sums = [[0.0; $columns]; $rows];
            for (a, b) in a.chunks_exact($rows).zip(b.chunks_exact($columns)) {
                for (sums, &x) in sums.iter_mut().zip(a) {
                    for (sum, &y) in sums.iter_mut().zip(b) {
                        *sum += x * y;
                    }
                }
            }
            for (row, sums) in rows.iter_mut().zip(&sums) {
                for (c, sum) in row[column..][..$columns].iter_mut().zip(sums) {
                    *c = if first { *sum } else { *c + sum };
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Tile;
    use std::arch::x86_64::{
        __m128, __m256, __m256d, _mm_movehl_ps, _mm_movelh_ps, _mm_unpackhi_ps, _mm_unpacklo_ps,
        _mm256_add_pd, _mm256_add_ps, _mm256_fmadd_pd, _mm256_fmadd_ps, _mm256_set1_pd,
        _mm256_set1_ps, _mm256_setzero_pd, _mm256_setzero_ps,
    };
    use std::mem::transmute;

    macro_rules! avx2 {
        ($name:ident, $t:ident, $lanes:literal, $register:ident,
         $zero:ident, $set:ident, $fma:ident, $add:ident) => {
            pub(super) mod $name {
                use super::{transmute, $add, $fma, $register, $set, $zero};

                #[inline]
                #[target_feature(enable = "avx2,fma")]
                fn load(from: &[$t; $lanes]) -> $register {
                    // SAFETY: the array and the register are the same plain bits.
                    unsafe { transmute(*from) }
                }

                fn halves(row: &[$t]) -> Option<(&[$t; $lanes], &[$t; $lanes])> {
                    let (low, rest) = row.split_first_chunk()?;
                    Some((low, rest.first_chunk()?))
                }

                #[target_feature(enable = "avx2,fma")]
                fn tile(a: &[$t], b: &[$t], rows: &mut [&mut [$t]], column: usize, first: bool) {
                    for row in &*rows {
                        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(
                            row[column..].as_ptr().cast(),
                        );
                    }
                    let mut sums = [[$zero(); 2]; 6];
                    for (a, b) in a.chunks_exact(6).zip(b.chunks_exact(2 * $lanes)) {
                        let Some((low, high)) = halves(b) else { continue };
                        let (low, high) = (load(low), load(high));
                        for i in 0..6 {
                            let x = $set(a[i]);
                            sums[i][0] = $fma(x, low, sums[i][0]);
                            sums[i][1] = $fma(x, high, sums[i][1]);
                        }
                    }
                    for (row, sums) in rows.iter_mut().zip(&sums) {
                        let row = &mut row[column..][..2 * $lanes];
                        for (part, &sum) in row.as_chunks_mut::<$lanes>().0.iter_mut().zip(sums) {
                            let sum = if first { sum } else { $add(load(part), sum) };
                            // SAFETY: as for `load`.
                            *part = unsafe { transmute::<$register, [$t; $lanes]>(sum) };
                        }
                    }
                }

                /// The tile, to be chosen where AVX2 and FMA were found.
                pub(crate) fn found(
                    a: &[$t],
                    b: &[$t],
                    rows: &mut [&mut [$t]],
                    column: usize,
                    first: bool,
                ) {
                    // SAFETY: `choose` hands this out only where both features were found.
                    unsafe { tile(a, b, rows, column, first) }
                }
            }
        };
    }

    avx2!(
        single,
        f32,
        8,
        __m256,
        _mm256_setzero_ps,
        _mm256_set1_ps,
        _mm256_fmadd_ps,
        _mm256_add_ps
    );
    avx2!(
        double,
        f64,
        4,
        __m256d,
        _mm256_setzero_pd,
        _mm256_set1_pd,
        _mm256_fmadd_pd,
        _mm256_add_pd
    );

    /// Rows as columns.
    #[inline]
    pub(super) fn transposed(rows: [[f32; 4]; 4]) -> [[f32; 4]; 4] {
        #[inline]
        #[target_feature(enable = "sse")]
        fn transposed([a, b, c, d]: [__m128; 4]) -> [__m128; 4] {
            let (ab, cd) = (_mm_unpacklo_ps(a, b), _mm_unpacklo_ps(c, d));
            let (low, high) = (_mm_movelh_ps(ab, cd), _mm_movehl_ps(cd, ab));
            let (ab, cd) = (_mm_unpackhi_ps(a, b), _mm_unpackhi_ps(c, d));
            [low, high, _mm_movelh_ps(ab, cd), _mm_movehl_ps(cd, ab)]
        }
        // SAFETY: the arrays and the registers are the same plain bits, and every CPU with 64 bits
        // has these registers.
        unsafe { transmute(transposed(transmute::<[[f32; 4]; 4], [__m128; 4]>(rows))) }
    }

    /// `found` where the CPU has AVX2 and FMA, else `plain`.
    pub(super) fn choose<T>(found: Tile<T>, plain: Tile<T>) -> Tile<T> {
        let has = std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma");
        if has { found } else { plain }
    }
}

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod wasm {
    use std::arch::wasm32::{f32x4_add, f32x4_mul, f32x4_splat, v128};
    use std::mem::transmute;

    fn load(from: &[f32; 4]) -> v128 {
        // SAFETY: the array and the register are the same plain bits.
        unsafe { transmute(*from) }
    }

    pub(super) fn tile(a: &[f32], b: &[f32], rows: &mut [&mut [f32]], column: usize, first: bool) {
        let mut sums = [[f32x4_splat(0.0); 2]; 4];
        for (a, b) in a.as_chunks::<4>().0.iter().zip(b.as_chunks::<8>().0) {
            let [low, high] = b.as_chunks::<4>().0 else { continue };
            let (low, high) = (load(low), load(high));
            for i in 0..4 {
                let x = f32x4_splat(a[i]);
                sums[i][0] = f32x4_add(sums[i][0], f32x4_mul(x, low));
                sums[i][1] = f32x4_add(sums[i][1], f32x4_mul(x, high));
            }
        }
        for (row, sums) in rows.iter_mut().zip(&sums) {
            let row = &mut row[column..][..8];
            for (part, &sum) in row.as_chunks_mut::<4>().0.iter_mut().zip(sums) {
                let sum = if first { sum } else { f32x4_add(load(part), sum) };
                // SAFETY: as for `load`.
                *part = unsafe { transmute::<v128, [f32; 4]>(sum) };
            }
        }
    }
}

#[cfg(not(target_arch = "wasm32"))]
plain!(plain_f32, f32, 6, 16);
#[cfg(all(target_arch = "wasm32", not(target_feature = "simd128")))]
plain!(plain_f32, f32, 4, 8);
#[cfg(not(target_arch = "wasm32"))]
plain!(plain_f64, f64, 6, 8);
#[cfg(target_arch = "wasm32")]
plain!(plain_f64, f64, 4, 4);

impl Tiled for f32 {
    const ROWS: usize = if cfg!(target_arch = "wasm32") { 4 } else { 6 };
    const COLUMNS: usize = if cfg!(target_arch = "wasm32") { 8 } else { 16 };

    #[cfg(target_arch = "x86_64")]
    fn tile() -> Tile<Self> {
        x86::choose(x86::single::found, plain_f32)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline]
    fn transposed(rows: [[Self; 4]; 4]) -> [[Self; 4]; 4] {
        x86::transposed(rows)
    }

    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    fn tile() -> Tile<Self> {
        wasm::tile
    }

    #[cfg(not(any(
        target_arch = "x86_64",
        all(target_arch = "wasm32", target_feature = "simd128")
    )))]
    fn tile() -> Tile<Self> {
        plain_f32
    }
}

impl Tiled for f64 {
    const ROWS: usize = if cfg!(target_arch = "wasm32") { 4 } else { 6 };
    const COLUMNS: usize = if cfg!(target_arch = "wasm32") { 4 } else { 8 };

    #[cfg(target_arch = "x86_64")]
    fn tile() -> Tile<Self> {
        x86::choose(x86::double::found, plain_f64)
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn tile() -> Tile<Self> {
        plain_f64
    }
}
