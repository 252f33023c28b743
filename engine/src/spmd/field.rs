//! Fields: the positions along one dimension that each processor of a group reads.
//!
//! A window that crosses the border of a slice needs elements of its neighbours. With n processors
//! that hold `local` positions each, processor m's field is the `length` positions from
//! `start + m·step` on. What it does not hold itself it receives: the halo exchange.
//!
//! ```text
//! h = 8 on 2 processors, windows of 3 around each position:
//!   processor 0 holds 0 1 2 3      field −1 … 4   receives 4
//!   processor 1 holds 4 5 6 7      field  3 … 8   receives 3
//! ```

use crate::graph::op::{Edge, Window};

/// One field per processor of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Field {
    /// The first position of the first processor's field; negative before the tensor.
    pub start: i64,
    /// From field to field.
    pub step: i64,
    /// Positions in a field.
    pub length: u64,
    /// Positions that each processor holds.
    pub local: u64,
    /// What lies outside the tensor.
    pub edge: Edge,
}

impl Field {
    /// What the places of a window read: `places` per processor, `taps` positions at each.
    pub fn of_window(window: &Window, places: u64, taps: u64, local: u64) -> Self {
        Self {
            start: window.offset,
            step: (window.stride * places).cast_signed(),
            length: window.stride * (places - 1) + window.dilation * (taps - 1) + 1,
            local,
            edge: window.edge,
        }
    }

    /// The places whose windows read the positions of a processor, `positions` per processor;
    /// `None` where that differs from processor to processor by more than a shift.
    pub fn of_unwindow(window: &Window, positions: u64, taps: u64, local: u64) -> Option<Self> {
        let stride = window.stride.cast_signed();
        let positions = i64::try_from(positions).ok()?;
        if positions % stride != 0 {
            return None;
        }
        let reach = (window.dilation * (taps - 1)).cast_signed();
        let start = -(window.offset + reach).div_euclid(stride);
        let last = (positions - 1 - window.offset).div_euclid(stride);
        let length = u64::try_from(last - start + 1).ok().filter(|&l| l > 0)?;
        // Windows that wrap lie evenly, so their places wrap as the positions do.
        let edge = if window.edge == Edge::Wrap { Edge::Wrap } else { Edge::Zero };
        Some(Self { start, step: positions / stride, length, local, edge })
    }

    /// Whether every field is just what its processor holds.
    pub const fn is_own(&self) -> bool {
        self.start == 0 && self.length == self.local && self.step == self.local.cast_signed()
    }

    /// Who of `n` holds a position of the field of member `me`, and where; `None` outside.
    pub fn source(&self, n: u64, me: u64, at: u64) -> Option<(usize, u64)> {
        let whole = (n * self.local).cast_signed();
        let position = self.start + me.cast_signed() * self.step + at.cast_signed();
        let position = if self.edge == Edge::Wrap { position.rem_euclid(whole) } else { position };
        let inside = u64::try_from(position).ok().filter(|_| position < whole)?;
        Some(((inside / self.local) as usize, inside % self.local))
    }

    /// Positions that the `n` processors of a group receive from others, in all.
    pub fn received(&self, n: u64) -> u64 {
        let (whole, local) = ((n * self.local).cast_signed(), self.local.cast_signed());
        let common = |a: i64, b: i64, begin: i64, end: i64| (b.min(end) - a.max(begin)).max(0);
        let foreign = |me: i64| {
            let begin = self.start + me * self.step;
            let end = begin + self.length.cast_signed();
            let (first, last) = if self.edge == Edge::Wrap {
                (begin.div_euclid(whole), (end - 1).div_euclid(whole))
            } else {
                (0, 0)
            };
            let turn = |k: i64| {
                let own = k * whole + me * local;
                let inside = common(begin, end, k * whole, (k + 1) * whole);
                inside - common(begin, end, own, own + local)
            };
            (first..=last).map(turn).sum::<i64>() as u64
        };
        (0..n.cast_signed()).map(foreign).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_received_is_what_others_hold() {
        for edge in [Edge::Zero, Edge::Wrap] {
            for (start, step, length, local, n) in [
                (-1, 4, 6, 4, 2),
                (-3, 2, 2, 2, 4),
                (5, 2, 12, 4, 3),
                (-20, 4, 40, 4, 3),
                (0, 4, 4, 4, 3),
                (1, 1, 1, 3, 4),
            ] {
                let field = Field { start, step, length, local, edge };
                let foreign = |me: u64| {
                    let others = |at: &u64| {
                        field.source(n, me, *at).is_some_and(|(who, _)| who as u64 != me)
                    };
                    (0..length).filter(others).count() as u64
                };
                assert_eq!(field.received(n), (0..n).map(foreign).sum::<u64>(), "{field:?}");
            }
        }
    }
}
