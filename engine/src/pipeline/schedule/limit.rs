//! What a schedule cannot do: which number is wrong, which rule it breaks, the nearest that do not.

use crate::pipeline::order::Extent;
use std::fmt;

/// The most forward tasks (K·V·M) an order is made for; more would slow the studio down.
pub const MOST_TASKS: u64 = 1 << 18;

/// A number of a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Quantity {
    /// K, the ranks.
    Ranks,
    /// M, the micro-batches.
    MicroBatches,
    /// V, the stages per rank.
    Chunks,
}

impl Quantity {
    /// The name in words: those of studies, whose cells are a schedule's ranks.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ranks => "cells",
            Self::MicroBatches => "micro-batches",
            Self::Chunks => "chunks",
        }
    }

    /// The name of one.
    pub const fn of_one(self) -> &'static str {
        match self {
            Self::Ranks => "cell",
            Self::MicroBatches => "micro-batch",
            Self::Chunks => "chunk",
        }
    }

    const fn of(self, extent: Extent) -> u32 {
        match self {
            Self::Ranks => extent.ranks,
            Self::MicroBatches => extent.micro_batches,
            Self::Chunks => extent.chunks,
        }
    }
}

/// Which numbers are legal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// This many or more.
    AtLeast(u32),
    /// This many or fewer.
    AtMost(u32),
    /// Just this many.
    Exactly(u32),
    /// An even number, this many or more.
    EvenAtLeast(u32),
    /// Micro-batches in rounds of one size: max(1, M div ranks) must divide M.
    Rounds {
        /// K.
        ranks: u32,
    },
}

impl Rule {
    /// Whether a number is legal.
    pub const fn allows(self, n: u32) -> bool {
        match self {
            Self::AtLeast(least) => n >= least,
            Self::AtMost(most) => n <= most,
            Self::Exactly(one) => n == one,
            Self::EvenAtLeast(least) => n >= least && n.is_multiple_of(2),
            Self::Rounds { ranks } => n > 0 && n.is_multiple_of(rounds(n, ranks)),
        }
    }

    /// The nearest legal numbers: the one below if any, the one above if any.
    fn nearest(self, n: u32) -> Vec<u32> {
        let up = |from: u32| from.checked_add(from % 2);
        let around = match self {
            Self::AtLeast(one) | Self::AtMost(one) | Self::Exactly(one) => [None, Some(one)],
            Self::EvenAtLeast(least) if n <= least => [None, up(least)],
            Self::EvenAtLeast(_) => [Some(n - n % 2), up(n)],
            // multiples of K are legal, so neither search is long
            Self::Rounds { .. } => [
                (1..n).rev().find(|below| self.allows(*below)),
                (n.saturating_add(1)..u32::MAX).find(|above| self.allows(*above)),
            ],
        };
        around.into_iter().flatten().collect()
    }
}

/// How many rounds of micro-batches an interleaved schedule makes; at least one.
pub const fn rounds(micro_batches: u32, ranks: u32) -> u32 {
    match micro_batches.checked_div(ranks) {
        None | Some(0) => 1,
        Some(rounds) => rounds,
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(n) => write!(f, "at least {n}"),
            Self::AtMost(n) => write!(f, "at most {n}"),
            Self::Exactly(n) => write!(f, "exactly {n}"),
            Self::EvenAtLeast(n) => write!(f, "an even number, at least {n}"),
            Self::Rounds { ranks } => {
                write!(f, "a number that M div {ranks} divides, such as a multiple of {ranks}")
            }
        }
    }
}

/// A number that a schedule cannot take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// Which number it is.
    pub what: Quantity,
    /// What it is.
    pub given: u32,
    /// What it must be.
    pub rule: Rule,
    /// Why, as a clause.
    pub why: &'static str,
    /// The nearest legal numbers, at most one below and one above.
    pub nearest: Vec<u32>,
}

impl Limit {
    /// The limit, where this number of the extent breaks the rule.
    pub(super) fn check(
        extent: Extent,
        what: Quantity,
        rule: Rule,
        why: &'static str,
    ) -> Option<Self> {
        let given = what.of(extent);
        let nearest = || rule.nearest(given);
        (!rule.allows(given)).then(|| Self { what, given, rule, why, nearest: nearest() })
    }

    /// What holds for every schedule: a positive number of each, and not too many tasks.
    pub(super) fn common(extent: Extent) -> Vec<Self> {
        const WHY: &str = "a pipeline has at least one of each";
        const WHY_NOT: &str = "an order of more tasks would be too long to plan and to draw";
        let all = [Quantity::Ranks, Quantity::MicroBatches, Quantity::Chunks];
        let positive = all.map(|what| Self::check(extent, what, Rule::AtLeast(1), WHY));
        let mut limits: Vec<Self> = positive.into_iter().flatten().collect();
        if limits.is_empty() && extent.tasks() > MOST_TASKS {
            // cut the largest number
            let what = all.into_iter().max_by_key(|what| what.of(extent));
            let others = |what: Quantity| extent.tasks() / u64::from(what.of(extent));
            limits.extend(what.and_then(|what| {
                let most = (MOST_TASKS / others(what)).max(1);
                Self::check(extent, what, Rule::AtMost(u32::try_from(most).ok()?), WHY_NOT)
            }));
        }
        limits
    }
}

impl fmt::Display for Limit {
    /// `it takes at least 4 micro-batches, not 2: …`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, given, rule, why, nearest: _ } = self;
        let what = what.name();
        match rule {
            Rule::Rounds { .. } => write!(f, "the number of {what} is {given}, not {rule}: {why}"),
            Rule::AtLeast(_) | Rule::AtMost(_) | Rule::Exactly(_) => {
                let is_one = matches!(rule, Rule::AtLeast(1) | Rule::AtMost(1) | Rule::Exactly(1));
                let what = if is_one { self.what.of_one() } else { what };
                write!(f, "it takes {rule} {what}, not {given}: {why}")
            }
            Rule::EvenAtLeast(_) => {
                write!(f, "the number of {what} is {given}, not {rule}: {why}")
            }
        }
    }
}
