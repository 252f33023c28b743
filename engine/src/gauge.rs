//! What is measured alike natively and in the browser. The caller holds the clock.

use crate::exec::einsum::{Einsum, Matrices, Packing};
use crate::exec::number::Number as _;
use crate::exec::pool::Pool;
use crate::exec::strides::Local;

/// A click on the layout grid makes such a study anew: 64 processors.
pub const CLICKED: &str = "mesh rows:8 cols:8\nlayout batch:rows hidden:cols\nmodel two_layer \
                           batch:64 io:64 hidden:64\ntrain optimizer:adam rate:0.001 steps:10\n";

/// W1 (`meshwork bench`) at a quarter of each size, on 2×2 processors.
pub const QUARTER: &str = "mesh rows:2 cols:2\nlayout batch:rows hidden:cols\nmodel two_layer \
                           batch:64 io:256 hidden:1024\ntrain optimizer:sgd rate:0.01 steps:1000\n";

/// A Transformer of 48 layers on 512 processors, to be planned.
pub const PLANNED: &str = "mesh rows:16 cols:32\nlayout batch:rows vocab:cols d_ff:cols heads:cols\n\
     model transformer batch:512 length:512 vocab:32768 d_model:1024 heads:32 d_kv:64 d_ff:4096 \
     layers:48 norm:layer inputs:given\ntrain optimizer:adam rate:0.0002 steps:10\n";

/// A product of two square matrices, as a step computes it.
#[derive(Debug)]
pub struct Product {
    plan: Matrices,
    size: usize,
    a: Vec<f32>,
    b: Vec<f32>,
    c: Vec<f32>,
    panels: Vec<f32>,
}

impl Product {
    /// The product of so many rows and columns; none for so few that it is not done by tiles.
    pub fn new(size: usize) -> Option<Self> {
        let local =
            |a: &str, b: &str| Local { names: vec![a.into(), b.into()], sizes: vec![size, size] };
        let plan = Einsum::new(&local("i", "k"), &local("k", "j"), &local("i", "j"));
        let Einsum::Matrices(plan) = plan else { return None };
        let numbers = |modulus: usize| (0..size * size).map(|i| (i % modulus) as f32).collect();
        let panels = vec![0.0; plan.panels::<f32>()];
        Some(Self { plan, size, a: numbers(7), b: numbers(5), c: numbers(1), panels })
    }

    /// Computes it.
    pub fn run(&mut self, pool: &impl Pool) {
        let (part, whole) = self.plan.sides(&self.a[..], &self.b[..]);
        pool.each(self.plan.packings(whole, &mut self.panels), Packing::pack);
        let results = vec![(whole, &self.panels[..], &mut self.c[..])];
        pool.each(self.plan.tasks(part, results), |mut task| f32::multiply(&mut task));
    }

    /// Its floating point operations.
    pub fn flops(&self) -> f64 {
        2.0 * (self.size as f64).powi(3)
    }
}
