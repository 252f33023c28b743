//! The widest registers of the CPU, found at run time.
//!
//! What is compiled for every x86-64 has registers of 128 bits. [`wide`] runs a piece of work in
//! code that was compiled for 512 or 256 bits as well, where the CPU has them. The numbers are the
//! same bit for bit: the compiler neither reorders additions nor fuses them with products.
//!
//! ```text
//! wide(#[inline(always)] || for o in out { … })    the loop, three times in the program
//! ```

#![allow(unsafe_code, reason = "calls of code that needs a CPU feature that was found")]

/// How wide the registers are that the CPU has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Registers {
    /// As every CPU of its kind has them.
    Usual,
    /// 256 bits, with products fused with additions: AVX2 and FMA.
    Bits256,
    /// 512 bits: AVX-512.
    Bits512,
}

/// Those of this machine, always the same.
#[cfg(target_arch = "x86_64")]
pub fn registers() -> Registers {
    if !is_x86_feature_detected!("avx2") || !is_x86_feature_detected!("fma") {
        Registers::Usual
    } else if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
        Registers::Bits512
    } else {
        Registers::Bits256
    }
}

/// Does the work in code for the widest registers; a closure is to be `#[inline(always)]`, as what
/// it calls.
#[inline]
#[cfg(target_arch = "x86_64")]
pub fn wide<R>(work: impl FnOnce() -> R) -> R {
    #[target_feature(enable = "avx512f,avx512vl")]
    fn bits_512<R>(work: impl FnOnce() -> R) -> R {
        work()
    }
    #[target_feature(enable = "avx2")]
    fn bits_256<R>(work: impl FnOnce() -> R) -> R {
        work()
    }
    match registers() {
        // SAFETY: the features were found.
        Registers::Bits512 => unsafe { bits_512(work) },
        // SAFETY: the features were found.
        Registers::Bits256 => unsafe { bits_256(work) },
        Registers::Usual => work(),
    }
}

/// Does the work: other machines are compiled for as they are.
#[inline]
#[cfg(not(target_arch = "x86_64"))]
pub fn wide<R>(work: impl FnOnce() -> R) -> R {
    work()
}
