//! Running a Program on slices that hold numbers.

pub mod cpu;
pub mod gemm;
pub mod functions;
pub mod products;
pub mod number;
pub mod pool;
#[cfg(not(target_arch = "wasm32"))]
pub mod threads;
pub mod strides;
pub mod sums;
pub mod einsum;
pub mod reduce;
pub mod elementwise;
pub mod window;
pub mod gather;
pub mod order;
pub mod kernel;
pub mod memory;
pub mod buffers;
pub mod sweep;
pub mod clock;
pub mod post;
pub mod fault;
pub mod host;
pub mod crew;
pub mod machine;
