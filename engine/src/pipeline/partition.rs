//! Where a sequence of layers is cut: into cells of neighbouring layers with nearly equal costs.
//!
//! ```text
//! costs  8 1 1 1 1 over 2 cells      8 | 1 1 1 1      sums 8 and 4
//!                  over 3 cells      8 | 1 1 | 1 1    sums 8, 2 and 2
//! ```
//!
//! A synchronous pipeline takes Σt + (M−1)·max t, so the largest sum decides. The cut is exact:
//! the least largest sum; among those the least variance of the sums (what `GPipe`, arXiv
//! 1811.06965, asks for); among those the earliest boundaries, the first boundary first. The
//! heuristics in use reach neither: torchgpipe cuts 8 1 1 1 1 into 8 1 | 1 1 1.
//!
//! Costs are compared as whole numbers: those given as floats are scaled by a power of two so that
//! their total is about 2⁵², as much as a float tells apart. Equal costs stay equal, and whole ones
//! (or halves, quarters, …) stay exact.

use std::fmt;
use std::ops::Range;

/// Bits of a total of costs; its square fits 128 bits.
const TOTAL_BITS: u32 = 52;

/// Blocks of neighbouring items, none empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// Where each block ends; the last one at the number of items.
    ends: Vec<usize>,
}

/// Why a sequence cannot be cut so.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NoPartition {
    /// No cells; the nearest legal number is 1.
    NoCells,
    /// There is nothing to cut.
    Nothing,
    /// More cells than items; the nearest legal number is that of the items.
    TooManyCells {
        /// How many cells.
        cells: usize,
        /// How many items.
        items: usize,
    },
    /// A cost is negative or no number.
    Cost {
        /// The item, from 0.
        item: usize,
        /// Its cost.
        cost: f64,
    },
    /// A boundary leaves a cell empty or is beyond the end.
    Boundary {
        /// Which one, from 0: the one after this cell.
        boundary: usize,
        /// Before which item it stands.
        given: usize,
        /// The nearest place where it may stand, its neighbours being where they are.
        nearest: usize,
    },
}

impl fmt::Display for NoPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCells => f.write_str("a pipeline has at least 1 cell"),
            Self::Nothing => f.write_str("there is nothing to cut into cells"),
            Self::TooManyCells { items, .. } => {
                write!(f, "there are {items} layers")
            }
            Self::Cost { item, cost } => write!(f, "item {item} costs {cost}"),
            Self::Boundary { boundary, given, nearest } => write!(
                f,
                "the boundary after cell {boundary} cannot stand before item {given}: the nearest \
                 place is before item {nearest}"
            ),
        }
    }
}

/// How even a partition is.
#[derive(Debug, Clone, PartialEq)]
pub struct Balance {
    /// The sum of the costs of each cell.
    pub sums: Vec<f64>,
    /// The largest.
    pub largest: f64,
    /// Their variance, in squares of the unit.
    pub variance: f64,
}

impl Partition {
    /// The best cut of whole costs into `cells` blocks.
    pub fn exact(costs: &[u64], cells: usize) -> Result<Self, NoPartition> {
        check(costs.len(), cells)?;
        let total: u128 = costs.iter().map(|cost| u128::from(*cost)).sum();
        let shift = (u128::BITS - total.leading_zeros()).saturating_sub(TOTAL_BITS + 10);
        let scaled: Vec<u64> = costs.iter().map(|cost| cost >> shift).collect();
        Ok(best(&scaled, cells, if shift == 0 { 0 } else { costs.len() as u64 }))
    }

    /// The best cut of costs in any unit, none negative.
    pub fn of_costs(costs: &[f64], cells: usize) -> Result<Self, NoPartition> {
        check(costs.len(), cells)?;
        let wrong = costs.iter().position(|cost| !(cost.is_finite() && *cost >= 0.0));
        if let Some(item) = wrong {
            return Err(NoPartition::Cost { item, cost: costs[item] });
        }
        // divided before they are added, so that the sum stays finite
        let mean: f64 = costs.iter().map(|cost| cost / costs.len() as f64).sum();
        let items = (costs.len() as f64).log2().ceil();
        let unit = mean.log2().floor().max(-1000.0);
        let up = (f64::from(TOTAL_BITS) - items).exp2();
        let scaled: Vec<f64> = costs.iter().map(|cost| cost * (-unit).exp2() * up).collect();
        let whole: Vec<u64> = scaled.iter().map(|cost| cost.round() as u64).collect();
        // where costs had to be rounded, sums that differ by no more than that count as equal
        let is_exact = scaled.iter().all(|cost| cost.fract() == 0.0);
        Ok(best(&whole, cells, if is_exact { 0 } else { costs.len() as u64 }))
    }

    /// A partition by hand: the boundaries between cells, each the number of items before it.
    pub fn by_hand(boundaries: &[usize], items: usize) -> Result<Self, NoPartition> {
        let cells = boundaries.len() + 1;
        check(items, cells)?;
        let mut before = 0;
        for (boundary, &given) in boundaries.iter().enumerate() {
            let most = items - (cells - 1 - boundary);
            if given <= before || given > most {
                let nearest = given.clamp(before + 1, most);
                return Err(NoPartition::Boundary { boundary, given, nearest });
            }
            before = given;
        }
        Ok(Self { ends: boundaries.iter().copied().chain([items]).collect() })
    }

    /// The same with one boundary moved: the one after cell `boundary` now stands before item
    /// `given`.
    pub fn moved(&self, boundary: usize, given: usize) -> Result<Self, NoPartition> {
        let last = self.ends.len() - 1;
        let mut ends = self.ends.clone();
        let start = boundary.checked_sub(1).map_or(0, |before| ends[before.min(last)]);
        let end = ends[(boundary + 1).min(last)];
        if boundary >= last || given <= start || given >= end {
            let nearest = given.clamp(start + 1, end.saturating_sub(1).max(start + 1));
            return Err(NoPartition::Boundary { boundary, given, nearest });
        }
        ends[boundary] = given;
        Ok(Self { ends })
    }

    /// The items of each cell.
    pub fn blocks(&self) -> impl Iterator<Item = Range<usize>> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| start..*end)
    }

    /// The boundaries between cells: how many items stand before each.
    pub fn boundaries(&self) -> &[usize] {
        self.ends.split_last().map_or(&[], |(_, boundaries)| boundaries)
    }

    /// The cell of an item.
    pub fn cell(&self, item: usize) -> usize {
        self.ends.partition_point(|end| *end <= item)
    }

    /// How even it is; items without a cost count as 0.
    pub fn balance(&self, costs: &[f64]) -> Balance {
        let sum = |block: Range<usize>| block.filter_map(|item| costs.get(item)).sum();
        let sums: Vec<f64> = self.blocks().map(sum).collect();
        let mean = sums.iter().sum::<f64>() / sums.len() as f64;
        let variance = sums.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / sums.len() as f64;
        Balance { largest: sums.iter().copied().fold(0.0, f64::max), variance, sums }
    }
}

const fn check(items: usize, cells: usize) -> Result<(), NoPartition> {
    match (items, cells) {
        (_, 0) => Err(NoPartition::NoCells),
        (0, _) => Err(NoPartition::Nothing),
        _ if cells > items => Err(NoPartition::TooManyCells { cells, items }),
        _ => Ok(()),
    }
}

/// The best cut, in two passes: the least largest sum by bisection, then the least sum of squares
/// among the cuts that reach it, or miss it by no more than `slack`. 1 ≤ cells ≤ items; the total
/// is below 2⁶³.
fn best(costs: &[u64], cells: usize, slack: u64) -> Partition {
    let most = least_largest(costs, cells) + slack;
    let items = costs.len();
    // squares[c][i]: the least sum of squares of items i.. in c+1 cells of at most `most` each
    let mut squares: Vec<Vec<Option<u128>>> = Vec::with_capacity(cells);
    for c in 0..cells {
        let row = (0..=items).map(|i| {
            let ends = ends(costs, i, most);
            let rest = |end: usize| match squares.last() {
                None => (end == items).then_some(0),
                Some(rest) => rest[end],
            };
            let square = |(end, sum): (usize, u64)| Some(rest(end)? + u128::from(sum).pow(2));
            if i + c >= items { None } else { ends.filter_map(square).min() }
        });
        let row = row.collect();
        squares.push(row);
    }
    let mut cut = Vec::with_capacity(cells);
    let mut start = 0;
    for c in (0..cells).rev() {
        let wanted = squares[c][start];
        let rest = |end: usize| match c.checked_sub(1) {
            None => (end == items).then_some(0),
            Some(c) => squares[c][end],
        };
        let reaches = |&(end, sum): &(usize, u64)| {
            rest(end).map(|rest| rest + u128::from(sum).pow(2)) == wanted
        };
        start = ends(costs, start, most).find(reaches).map_or(items, |(end, _)| end);
        cut.push(start);
    }
    Partition { ends: cut }
}

/// Where a block that begins at `start` may end so that its sum is at most `most`, with the sums.
fn ends(costs: &[u64], start: usize, most: u64) -> impl Iterator<Item = (usize, u64)> {
    let mut sum = 0;
    let costs = costs[start..].iter().enumerate();
    costs
        .map(move |(i, cost)| {
            sum += cost;
            (start + i + 1, sum)
        })
        .take_while(move |(_, sum)| *sum <= most)
}

/// The least largest sum of `cells` blocks.
fn least_largest(costs: &[u64], cells: usize) -> u64 {
    let fits = |most: u64| {
        let (mut needed, mut sum) = (1, 0);
        for cost in costs {
            if sum + cost > most {
                (needed, sum) = (needed + 1, 0);
            }
            sum += cost;
        }
        needed <= cells
    };
    let (mut low, mut high) = (costs.iter().copied().max().unwrap_or(0), costs.iter().sum());
    while low < high {
        let middle = low + (high - low) / 2;
        if fits(middle) { high = middle } else { low = middle + 1 }
    }
    low
}
