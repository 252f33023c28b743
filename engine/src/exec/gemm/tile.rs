//! Register tiles: the innermost loops of a matrix product.
//!
//! A tile of the result, `rows × columns` numbers, stays in registers while the summed dimension is
//! walked once: `c[i][j] += Σₖ a[k][i]·b[k][j]`, where `a` and `b` are packed panels in which the
//! numbers for one k lie together. With AVX-512 12×32 (f32) or 12×16 (f64) fill 24 of 32 registers;
//! with AVX2 and FMA 6×16 or 6×8 fill 12 of 16; WebAssembly's 128-bit registers hold 4×8. The order
//! of additions is that of k everywhere, so that the first two give the same bits.
//!
//! With `cpu` the only file of the engine with `unsafe` code: arrays seen as registers, and calls of
//! code that needs a CPU feature that was found.

#![allow(unsafe_code, reason = "registers and CPU features; each place says why it is sound")]

/// Computes a tile: panel of the left matrix, panel of the right one, rows of the result, the tile's
/// first column in them, and whether it is stored rather than added.
pub type Compute<T> = fn(&[T], &[T], &mut [&mut [T]], usize, bool);

/// A register tile.
#[derive(Debug)]
pub struct Tile<T> {
    /// Its rows.
    pub rows: usize,
    /// Its columns.
    pub columns: usize,
    /// What computes it.
    pub compute: Compute<T>,
}

impl<T> Clone for Tile<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Tile<T> {}

/// A number type with tiles.
pub trait Tiled: Sized {
    /// The fastest tile of this machine, always the same.
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
        const $name: Tile<$t> = {
            fn compute(a: &[$t], b: &[$t], rows: &mut [&mut [$t]], column: usize, first: bool) {
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
            Tile { rows: $rows, columns: $columns, compute }
        };
    };
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Tile;
    use crate::exec::cpu::{Registers, registers};
    use std::arch::x86_64::{
        __m128, __m256, __m256d, __m512, __m512d, _mm_movehl_ps, _mm_movelh_ps, _mm_unpackhi_ps,
        _mm_unpacklo_ps, _mm256_add_pd, _mm256_add_ps, _mm256_fmadd_pd, _mm256_fmadd_ps,
        _mm256_set1_pd, _mm256_set1_ps, _mm256_setzero_pd, _mm256_setzero_ps, _mm512_add_pd,
        _mm512_add_ps, _mm512_fmadd_pd, _mm512_fmadd_ps, _mm512_set1_pd, _mm512_set1_ps,
        _mm512_setzero_pd, _mm512_setzero_ps,
    };
    use std::mem::transmute;

    /// A tile of so many rows and two registers of so many lanes, with code for these features.
    macro_rules! tile {
        ($name:ident, $t:ident, $rows:literal, $lanes:literal, $features:literal,
         $register:ident, $zero:ident, $set:ident, $fma:ident, $add:ident) => {
            pub(super) mod $name {
                use super::{transmute, $add, $fma, $register, $set, $zero};

                #[inline]
                #[target_feature(enable = $features)]
                fn load(from: &[$t; $lanes]) -> $register {
                    // SAFETY: the array and the register are the same plain bits.
                    unsafe { transmute(*from) }
                }

                fn halves(row: &[$t]) -> Option<(&[$t; $lanes], &[$t; $lanes])> {
                    let (low, rest) = row.split_first_chunk()?;
                    Some((low, rest.first_chunk()?))
                }

                #[target_feature(enable = $features)]
                fn tile(a: &[$t], b: &[$t], rows: &mut [&mut [$t]], column: usize, first: bool) {
                    for row in &*rows {
                        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(
                            row[column..].as_ptr().cast(),
                        );
                    }
                    let mut sums = [[$zero(); 2]; $rows];
                    for (a, b) in a.chunks_exact($rows).zip(b.chunks_exact(2 * $lanes)) {
                        let Some((low, high)) = halves(b) else { continue };
                        let (low, high) = (load(low), load(high));
                        for i in 0..$rows {
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

                fn found(a: &[$t], b: &[$t], rows: &mut [&mut [$t]], column: usize, first: bool) {
                    // SAFETY: `choose` hands this out only where the features were found.
                    unsafe { tile(a, b, rows, column, first) }
                }

                pub(crate) const TILE: crate::exec::gemm::Tile<$t> =
                    crate::exec::gemm::Tile { rows: $rows, columns: 2 * $lanes, compute: found };
            }
        };
    }

    #[rustfmt::skip]
    tile!(single, f32, 6, 8, "avx2,fma", __m256,
        _mm256_setzero_ps, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_add_ps);
    #[rustfmt::skip]
    tile!(double, f64, 6, 4, "avx2,fma", __m256d,
        _mm256_setzero_pd, _mm256_set1_pd, _mm256_fmadd_pd, _mm256_add_pd);
    #[rustfmt::skip]
    tile!(wide_single, f32, 12, 16, "avx512f", __m512,
        _mm512_setzero_ps, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_add_ps);
    #[rustfmt::skip]
    tile!(wide_double, f64, 12, 8, "avx512f", __m512d,
        _mm512_setzero_pd, _mm512_set1_pd, _mm512_fmadd_pd, _mm512_add_pd);

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

    /// The tile for the widest registers that the CPU has.
    pub(super) fn choose<T>(wide: Tile<T>, usual: Tile<T>, plain: Tile<T>) -> Tile<T> {
        match registers() {
            Registers::Bits512 => wide,
            Registers::Bits256 => usual,
            Registers::Usual => plain,
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        /// The same product by a tile, and by four of half its rows and columns, differs in no bit.
        fn same_bits<T: Copy>(
            wide: Tile<T>,
            usual: Tile<T>,
            number: impl Fn(usize) -> T,
            bits: impl Fn(&T) -> u64,
        ) {
            let (sums, Tile { rows: height, columns: width, .. }) = (300, wide);
            assert_eq!((height, width), (2 * usual.rows, 2 * usual.columns));
            let a: Vec<T> = (0..height * sums).map(&number).collect();
            let b: Vec<T> = (0..width * sums).map(|i| number(i + 5)).collect();
            let part = |from: &[T], whole: usize, first: usize, count: usize| -> Vec<T> {
                from.chunks(whole).flat_map(|row| row[first..first + count].to_vec()).collect()
            };
            for first in [false, true] {
                let mut by_one = vec![number(1); height * width];
                let mut by_four = by_one.clone();
                let mut rows: Vec<&mut [T]> = by_one.chunks_mut(width).collect();
                (wide.compute)(&a, &b, &mut rows, 0, first);
                for (row, column) in
                    [(0, 0), (0, usual.columns), (usual.rows, 0), (usual.rows, usual.columns)]
                {
                    let a = part(&a, height, row, usual.rows);
                    let b = part(&b, width, column, usual.columns);
                    let rows = by_four.chunks_mut(width).skip(row).take(usual.rows);
                    (usual.compute)(&a, &b, &mut rows.collect::<Vec<_>>(), column, first);
                }
                assert!(by_one.iter().zip(&by_four).all(|(x, y)| bits(x) == bits(y)));
            }
        }

        #[test]
        fn wide_registers_give_the_same_bits() {
            if registers() < Registers::Bits512 {
                return;
            }
            let number = |i: usize| (i as f64 * 0.37).sin();
            same_bits(wide_double::TILE, double::TILE, number, |x| x.to_bits());
            let bits = |x: &f32| u64::from(x.to_bits());
            same_bits(wide_single::TILE, single::TILE, |i| number(i) as f32, bits);
        }
    }
}

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod wasm {
    use super::Tile;
    use std::arch::wasm32::{f32x4_add, f32x4_mul, f32x4_splat, v128};
    use std::mem::transmute;

    fn load(from: &[f32; 4]) -> v128 {
        // SAFETY: the array and the register are the same plain bits.
        unsafe { transmute(*from) }
    }

    pub(super) const TILE: Tile<f32> = Tile { rows: 4, columns: 8, compute };

    fn compute(a: &[f32], b: &[f32], rows: &mut [&mut [f32]], column: usize, first: bool) {
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
plain!(PLAIN_F32, f32, 6, 16);
#[cfg(all(target_arch = "wasm32", not(target_feature = "simd128")))]
plain!(PLAIN_F32, f32, 4, 8);
#[cfg(not(target_arch = "wasm32"))]
plain!(PLAIN_F64, f64, 6, 8);
#[cfg(target_arch = "wasm32")]
plain!(PLAIN_F64, f64, 4, 4);

impl Tiled for f32 {
    #[cfg(target_arch = "x86_64")]
    fn tile() -> Tile<Self> {
        x86::choose(x86::wide_single::TILE, x86::single::TILE, PLAIN_F32)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline]
    fn transposed(rows: [[Self; 4]; 4]) -> [[Self; 4]; 4] {
        x86::transposed(rows)
    }

    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    fn tile() -> Tile<Self> {
        wasm::TILE
    }

    #[cfg(not(any(
        target_arch = "x86_64",
        all(target_arch = "wasm32", target_feature = "simd128")
    )))]
    fn tile() -> Tile<Self> {
        PLAIN_F32
    }
}

impl Tiled for f64 {
    #[cfg(target_arch = "x86_64")]
    fn tile() -> Tile<Self> {
        x86::choose(x86::wide_double::TILE, x86::double::TILE, PLAIN_F64)
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn tile() -> Tile<Self> {
        PLAIN_F64
    }
}
