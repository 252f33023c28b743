//! The number types slices are made of, and element functions over runs of them.

use super::cpu::wide;
use super::gemm::{self, Hand, Part, Scratch, Side, Tiled};
use super::{functions, products};
use crate::graph::op::Element;
use bytemuck::Pod;
use num_traits::Num;
use std::cell::RefCell;
use std::ops::Range;

/// `f32` or `f64`.
pub trait Number:
    Num + Copy + Tiled + Default + Pod + PartialOrd + Send + Sync + std::fmt::Debug + 'static
{
    /// Bytes of one number.
    const BYTES: u64;

    /// From a 64-bit float, rounded.
    fn from_f64(x: f64) -> Self;

    /// To a 64-bit float.
    fn to_f64(self) -> f64;

    /// The greater; not a number if either is, so that a diverged run is seen.
    #[must_use]
    fn greater(self, other: Self) -> Self;

    /// The lesser; not a number if either is.
    #[must_use]
    fn lesser(self, other: Self) -> Self;

    /// Packs lanes and sums of a side: [`Side::pack`], compiled with the engine.
    fn pack(side: Side<'_, Self>, hand: Hand, part: (Range<usize>, Range<usize>), out: &mut [Self]);

    /// A task of a product: [`gemm::multiply`], compiled with the engine, in this thread's memory.
    fn multiply(task: &mut Part<'_, '_, Self>);

    /// Memory that this thread keeps for what passes through its caches.
    fn with_memory<R>(work: impl FnOnce(&mut Scraps<Self>) -> R) -> R;

    /// The sum of the products of two runs: [`products::dot`], compiled with the engine.
    fn dot(x: &[Self], y: &[Self]) -> Self;

    /// Adds products: [`products::add_products`], compiled with the engine.
    fn add_products(strides: [usize; 2], x: &[Self], y: &[Self], out: &mut [Self]);

    /// A function of one number, over runs of equal length.
    fn map(element: Element, x: &[Self], out: &mut [Self]);

    /// A function of two numbers, over runs of equal length.
    fn zip(element: Element, x: &[Self], y: &[Self], out: &mut [Self]);

    /// `y` where `x` is not 0, else `z`.
    fn select(x: &[Self], y: &[Self], z: &[Self], out: &mut [Self]) {
        wide(
            #[inline(always)]
            || {
                for (((o, &x), &y), &z) in out.iter_mut().zip(x).zip(y).zip(z) {
                    *o = if x == Self::zero() { z } else { y };
                }
            },
        );
    }
}

/// Memory for values that live no longer than a task.
#[derive(Debug, Default)]
pub struct Scraps<T> {
    /// Results of a tape's instructions.
    pub registers: Vec<T>,
    /// What a sweep makes and reads again.
    pub tiles: Vec<T>,
}

macro_rules! number {
    ($t:ident, $bytes:literal, $from:expr, $exp:expr, $tanh:expr) => {
        impl Number for $t {
            const BYTES: u64 = $bytes;

            #[inline]
            fn from_f64(x: f64) -> Self {
                ($from)(x)
            }

            #[inline]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }

            #[inline]
            fn greater(self, other: Self) -> Self {
                if self > other || self.is_nan() { self } else { other }
            }

            #[inline]
            fn lesser(self, other: Self) -> Self {
                if self < other || self.is_nan() { self } else { other }
            }

            fn pack(
                side: Side<'_, Self>,
                hand: Hand,
                (lanes, sums): (Range<usize>, Range<usize>),
                out: &mut [Self],
            ) {
                side.pack(hand.width::<Self>(), lanes, sums, out);
            }

            fn multiply(task: &mut Part<'_, '_, Self>) {
                thread_local! {
                    static SCRATCH: RefCell<Scratch<$t>> = const { RefCell::new(Scratch::new()) };
                }
                SCRATCH.with_borrow_mut(|scratch| gemm::multiply(task, scratch));
            }

            fn with_memory<R>(work: impl FnOnce(&mut Scraps<Self>) -> R) -> R {
                thread_local! {
                    static SCRAPS: RefCell<Scraps<$t>> =
                        const { RefCell::new(Scraps { registers: Vec::new(), tiles: Vec::new() }) };
                }
                SCRAPS.with_borrow_mut(work)
            }

            fn dot(x: &[Self], y: &[Self]) -> Self {
                products::dot(x, y)
            }

            fn add_products(strides: [usize; 2], x: &[Self], y: &[Self], out: &mut [Self]) {
                products::add_products(strides, x, y, out);
            }

            fn map(element: Element, x: &[Self], out: &mut [Self]) {
                // tanh approximation of x Φ(x): ½x(1 + tanh(c(x + 0.044715x³))), c = √(2/π)
                let c = ($from)((2.0 / std::f64::consts::PI).sqrt());
                let cubic = ($from)(0.044_715);
                macro_rules! each {
                    (|$a:ident| $e:expr) => {
                        wide(
                            #[inline(always)]
                            || {
                                for (o, &$a) in out.iter_mut().zip(x) {
                                    *o = $e;
                                }
                            },
                        )
                    };
                }
                match element {
                    Element::Neg => each!(|x| -x),
                    Element::Relu => each!(|x| if x > 0.0 || x.is_nan() { x } else { 0.0 }),
                    Element::Heaviside => each!(|x| if x > 0.0 { 1.0 } else { 0.0 }),
                    Element::Exp => each!(|x| $exp(x)),
                    Element::Log => each!(|x| x.ln()),
                    Element::Sqrt => each!(|x| x.sqrt()),
                    Element::Rsqrt => each!(|x| 1.0 / x.sqrt()),
                    Element::Square => each!(|x| x * x),
                    Element::Abs => each!(|x| x.abs()),
                    Element::Sign => each!(|x| if x == 0.0 { 0.0 } else { x.signum() }),
                    Element::Tanh => each!(|x| $tanh(x)),
                    Element::Sigmoid => each!(|x| 1.0 / (1.0 + $exp(-x))),
                    Element::Gelu => {
                        each!(|x| 0.5 * x * (1.0 + $tanh(c * (x + cubic * x * x * x))));
                    }
                    Element::GeluSlope => each!(|x| {
                        let t = $tanh(c * (x + cubic * x * x * x));
                        0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * c * (1.0 + 3.0 * cubic * x * x)
                    }),
                    Element::Softplus => {
                        each!(|x| if x > 0.0 { x + (-x).exp().ln_1p() } else { x.exp().ln_1p() });
                    }
                    Element::Elu => each!(|x| if x > 0.0 { x } else { x.exp_m1() }),
                    Element::EluSlope => each!(|x| if x > 0.0 { 1.0 } else { $exp(x) }),
                    Element::Sin => each!(|x| x.sin()),
                    Element::Cos => each!(|x| x.cos()),
                    Element::OneMinusPower(base) => {
                        let log = ($from)(base).ln();
                        each!(|x| -(x * log).exp_m1());
                    }
                    Element::Identity
                    | Element::Add
                    | Element::Sub
                    | Element::Mul
                    | Element::Div
                    | Element::Pow
                    | Element::Max
                    | Element::Min
                    | Element::Equal
                    | Element::Less
                    | Element::LessEqual
                    | Element::Select => out.copy_from_slice(x),
                }
            }

            fn zip(element: Element, x: &[Self], y: &[Self], out: &mut [Self]) {
                macro_rules! each {
                    (|$a:ident, $b:ident| $e:expr) => {
                        wide(
                            #[inline(always)]
                            || {
                                for ((o, &$a), &$b) in out.iter_mut().zip(x).zip(y) {
                                    *o = $e;
                                }
                            },
                        )
                    };
                }
                match element {
                    Element::Add => each!(|x, y| x + y),
                    Element::Sub => each!(|x, y| x - y),
                    Element::Mul => each!(|x, y| x * y),
                    Element::Div => each!(|x, y| x / y),
                    Element::Pow => each!(|x, y| x.powf(y)),
                    Element::Max => each!(|x, y| x.greater(y)),
                    Element::Min => each!(|x, y| x.lesser(y)),
                    #[expect(clippy::float_cmp, reason = "this is what the user asks for")]
                    Element::Equal => each!(|x, y| if x == y { 1.0 } else { 0.0 }),
                    Element::Less => each!(|x, y| if x < y { 1.0 } else { 0.0 }),
                    Element::LessEqual => each!(|x, y| if x <= y { 1.0 } else { 0.0 }),
                    Element::Identity
                    | Element::Neg
                    | Element::Relu
                    | Element::Heaviside
                    | Element::Exp
                    | Element::Log
                    | Element::Sqrt
                    | Element::Rsqrt
                    | Element::Square
                    | Element::Abs
                    | Element::Sign
                    | Element::Tanh
                    | Element::Sigmoid
                    | Element::Gelu
                    | Element::GeluSlope
                    | Element::Softplus
                    | Element::Elu
                    | Element::EluSlope
                    | Element::Sin
                    | Element::Cos
                    | Element::OneMinusPower(_)
                    | Element::Select => out.copy_from_slice(x),
                }
            }
        }
    };
}

number!(f32, 4, |x: f64| x as f32, functions::exp, functions::tanh);
number!(f64, 8, |x: f64| x, f64::exp, f64::tanh);
