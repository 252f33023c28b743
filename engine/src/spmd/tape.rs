//! A chain of element-wise work as one straight piece of code over registers.
//!
//! `relu(z + bias)` is `0: load z · 1: load bias · 2: add 0 1 · 3: relu 2`. Register i is the
//! result of instruction i; the last is the tape's result. Inputs are broadcast by name.

use crate::graph::op::{Element, Noise};
use smallvec::SmallVec;

/// One instruction of a tape.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Instr {
    /// The element of an input of the step.
    Load(u16),
    /// A number.
    Constant(f64),
    /// The number of the training step, from 1.
    StepNumber,
    /// 1 while training, else 0.
    Training,
    /// The micro-batch's share of the mini-batch's rows.
    Share,
    /// The global position along an axis of the result.
    Index(u8),
    /// A random number of this stream, for the global index and the step.
    Noise(u64, Noise),
    /// A function of one register.
    One(Element, u16),
    /// A function of two registers.
    Two(Element, u16, u16),
    /// A function of three registers.
    Three(Element, u16, u16, u16),
}

/// Element-wise code.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tape {
    code: Vec<Instr>,
}

impl Tape {
    /// An empty tape.
    pub const fn new() -> Self {
        Self { code: Vec::new() }
    }

    /// Its instructions in order.
    pub fn code(&self) -> &[Instr] {
        &self.code
    }

    /// Appends an instruction and returns its register.
    pub fn push(&mut self, instr: Instr) -> u16 {
        self.code.push(instr);
        (self.code.len() - 1) as u16
    }

    /// Appends the application of an element function.
    pub fn apply(&mut self, element: Element, registers: &[u16]) -> u16 {
        let instr = match *registers {
            [a] => Instr::One(element, a),
            [a, b] => Instr::Two(element, a, b),
            [a, b, c] => Instr::Three(element, a, b, c),
            _ => Instr::Constant(0.0),
        };
        self.push(instr)
    }

    /// Floating point operations per element of the result.
    pub fn flops(&self) -> u64 {
        let flops = |i: &Instr| match *i {
            Instr::One(e, _) | Instr::Two(e, ..) | Instr::Three(e, ..) => e.flops(),
            Instr::Load(_)
            | Instr::Constant(_)
            | Instr::StepNumber
            | Instr::Training
            | Instr::Share
            | Instr::Index(_)
            | Instr::Noise(..) => 0,
        };
        self.code.iter().map(flops).sum()
    }

    /// Whether the result differs between processors whose inputs are the same.
    pub fn reads_position(&self) -> bool {
        self.code.iter().any(|i| matches!(i, Instr::Index(_) | Instr::Noise(..)))
    }

    /// This tape with the code of `inner` in the place of its loads of input `at`. The new inputs
    /// are this tape's without `at`, then `inner`'s.
    #[must_use]
    pub fn inline(&self, at: u16, inner: Self, own_inputs: u16) -> Self {
        let mut out = inner;
        for instr in &mut out.code {
            if let Instr::Load(k) = instr {
                *k += own_inputs - 1;
            }
        }
        let result = out.code.len() as u16 - 1;
        out.code.reserve(self.code.len());
        let mut map: SmallVec<[u16; 16]> = SmallVec::with_capacity(self.code.len());
        for instr in &self.code {
            let r = |i: u16| map[usize::from(i)];
            let register = match *instr {
                Instr::Load(k) if k == at => result,
                Instr::Load(k) => out.push(Instr::Load(if k > at { k - 1 } else { k })),
                Instr::One(e, a) => {
                    let i = Instr::One(e, r(a));
                    out.push(i)
                }
                Instr::Two(e, a, b) => {
                    let i = Instr::Two(e, r(a), r(b));
                    out.push(i)
                }
                Instr::Three(e, a, b, c) => {
                    let i = Instr::Three(e, r(a), r(b), r(c));
                    out.push(i)
                }
                Instr::Constant(_)
                | Instr::StepNumber
                | Instr::Training
                | Instr::Share
                | Instr::Index(_)
                | Instr::Noise(..) => out.push(*instr),
            };
            map.push(register);
        }
        // A tape's result is its last register.
        if let Some(&last) = map.last()
            && usize::from(last) + 1 != out.code.len()
        {
            out.push(Instr::One(Element::Identity, last));
        }
        out
    }
}
