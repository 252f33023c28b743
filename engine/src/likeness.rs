//! How a difference between a run and the same on one processor is to be taken: sums over several
//! processors are added in another order, which rounds otherwise, and training magnifies that.

use crate::graph::op::Dtype;

/// How alike a run and the same on one processor are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Likeness {
    /// There is no difference.
    Same,
    /// It is what another order of summation gives.
    Rounded,
    /// It is more, of parameters alone: the losses are alike, in double precision.
    Magnified,
    /// It is more, and single precision; optimizers magnify rounding.
    Unclear,
    /// It is more than rounding.
    Other,
}

impl Likeness {
    /// That of the largest difference of any number and the largest of a loss, where the largest
    /// loss is so large.
    pub fn of(difference: f64, of_losses: f64, loss: f64, dtype: Dtype) -> Self {
        let is_rounding = |d: f64| d <= Self::most(dtype) * loss.abs().max(1.0);
        match dtype {
            _ if difference == 0.0 => Self::Same,
            _ if difference.is_nan() => Self::Other,
            Dtype::F32 | Dtype::F64 if is_rounding(difference) => Self::Rounded,
            Dtype::F32 => Self::Unclear,
            Dtype::F64 if is_rounding(of_losses) => Self::Magnified,
            Dtype::F64 => Self::Other,
        }
    }

    /// The largest difference that the order of summation explains, of losses up to 1; in proportion
    /// for larger ones.
    pub const fn most(dtype: Dtype) -> f64 {
        match dtype {
            Dtype::F32 => 1e-3,
            Dtype::F64 => 1e-6,
        }
    }

    /// Whether the order of summation explains it.
    pub const fn is_explained(self) -> bool {
        match self {
            Self::Same | Self::Rounded => true,
            Self::Magnified | Self::Unclear | Self::Other => false,
        }
    }

    /// What to think of it, after the difference.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Same => ", bit for bit the same.",
            Self::Rounded => ", the rounding of another order of summation.",
            Self::Magnified => {
                ", though no loss differs by more than rounding: where the gradient of a parameter \
                 is zero but for rounding, an optimizer that divides by its size magnifies that."
            }
            Self::Unclear => {
                ". Adam and its like magnify rounding, and single precision leaves it open whether \
                 that is all: with dtype:f64 on the train line it must vanish."
            }
            Self::Other => ", more than rounding explains.",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_told_from_more() {
        use Likeness::{Magnified, Other, Rounded, Same, Unclear};
        for (difference, of_losses, loss, dtype, expected) in [
            (0.0, 0.0, 1.0, Dtype::F32, Same),
            (1e-4, 0.0, 0.1, Dtype::F32, Rounded),
            (1e-2, 1e-2, 0.1, Dtype::F32, Unclear),
            (1e-2, 0.0, 1e4, Dtype::F32, Rounded),
            (1e-9, 1e-9, 0.1, Dtype::F64, Rounded),
            (1e-4, 1e-12, 0.1, Dtype::F64, Magnified),
            (1e-4, 1e-4, -1.0, Dtype::F64, Other),
            (f64::NAN, 0.0, 1.0, Dtype::F32, Other),
        ] {
            let found = Likeness::of(difference, of_losses, loss, dtype);
            assert_eq!(found, expected, "{difference} {of_losses} {loss} {dtype:?}");
            assert_eq!(found.is_explained(), matches!(found, Same | Rounded));
        }
    }
}
