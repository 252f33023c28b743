//! Which of many equal things are drawn: the first ones, a gap, the last; and where on a line.

/// A place along a drawn dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    /// The block with this number.
    Block(u64),
    /// Blocks left out.
    Gap,
}

/// How many of `parts` blocks are drawn per dimension, so that each number stays within its cap
/// and their product within `budget`. Two (the first and the last) are always drawn.
pub(super) fn shown(parts: &[u64], caps: &[u64], budget: u64) -> Vec<u64> {
    let mut shown: Vec<u64> = parts.iter().zip(caps).map(|(&p, &c)| p.min(c.max(2))).collect();
    while shown.iter().fold(1, |n: u64, s| n.saturating_mul(*s)) > budget {
        match shown.iter_mut().max() {
            Some(most) if *most > 2 => *most -= 1,
            _ => break,
        }
    }
    shown
}

/// The slots of `parts` blocks of which `shown` are drawn.
pub(super) fn slots(parts: u64, shown: u64) -> Vec<Slot> {
    if shown >= parts {
        return (0..parts).map(Slot::Block).collect();
    }
    let first = (0..shown.saturating_sub(1)).map(Slot::Block);
    first.chain([Slot::Gap, Slot::Block(parts - 1)]).collect()
}

/// Coordinates of a serial number, row-major over `sizes`: the last runs fastest.
pub(super) fn coordinates(serial: u64, sizes: impl DoubleEndedIterator<Item = u64>) -> Vec<u64> {
    let mut rest = serial;
    let mut coordinates: Vec<u64> = sizes
        .rev()
        .map(|size| {
            let c = rest % size;
            rest /= size;
            c
        })
        .collect();
    coordinates.reverse();
    coordinates
}

/// What is drawn of `parts` things, in words: `0–29 and 63`; `None` when all are.
pub(super) fn words(parts: u64, shown: u64) -> Option<String> {
    match shown {
        _ if shown >= parts => None,
        0..=2 => Some(format!("0 and {}", parts - 1)),
        _ => Some(format!("0–{} and {}", shown - 2, parts - 1)),
    }
}

/// Slots laid along a line.
#[derive(Debug, Clone)]
pub(super) struct Ruler {
    slots: Vec<Slot>,
    cell: f64,
    gap: f64,
}

/// A slot with its place on the ruler.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    /// What stands there.
    pub(super) slot: Slot,
    /// Where it begins.
    pub(super) start: f64,
    /// How long it is.
    pub(super) length: f64,
}

impl Span {
    /// Its middle.
    pub(super) fn middle(&self) -> f64 {
        self.start + self.length / 2.0
    }

    /// Its end.
    pub(super) fn end(&self) -> f64 {
        self.start + self.length
    }
}

impl Ruler {
    /// A ruler whose blocks are `cell` long and whose gap is `gap` long.
    pub(super) fn new(slots: Vec<Slot>, cell: f64, gap: f64) -> Self {
        Self { slots, cell, gap }
    }

    /// The slots in order with their places.
    pub(super) fn spans(&self) -> Vec<Span> {
        let mut start = 0.0;
        let place = |&slot: &Slot| {
            let length = match slot {
                Slot::Block(_) => self.cell,
                Slot::Gap => self.gap,
            };
            let span = Span { slot, start, length };
            start += length;
            span
        };
        self.slots.iter().map(place).collect()
    }

    /// The whole length.
    pub(super) fn length(&self) -> f64 {
        self.spans().last().map_or(0.0, Span::end)
    }

    /// The ruler in pieces of at most `most` slots, for lines that wrap.
    pub(super) fn wrapped(&self, most: usize) -> Vec<Self> {
        let chunks = self.slots.chunks(most.max(1));
        chunks.map(|c| Self::new(c.to_vec(), self.cell, self.gap)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_are_all_drawn_and_many_keep_first_and_last() {
        assert_eq!(slots(3, 3), [Slot::Block(0), Slot::Block(1), Slot::Block(2)]);
        let gap = [Slot::Block(0), Slot::Block(1), Slot::Gap, Slot::Block(8)];
        assert_eq!(slots(9, 3), gap);
        assert_eq!(words(9, 3).as_deref(), Some("0–1 and 8"));
        assert_eq!(words(9, 2).as_deref(), Some("0 and 8"));
        assert_eq!(words(9, 9), None);
    }

    #[test]
    fn coordinates_are_row_major() {
        assert_eq!(coordinates(7, [2, 2, 3].into_iter()), [1, 0, 1]);
        assert_eq!(coordinates(0, [].into_iter()), [0; 0]);
    }

    #[test]
    fn the_budget_cuts_the_longest() {
        assert_eq!(shown(&[4, 100], &[64, 32], 64), [4, 16]);
        assert_eq!(shown(&[2; 8], &[9; 8], 256), [2; 8]);
        assert_eq!(shown(&[3; 8], &[9; 8], 256), [2; 8]);
        assert_eq!(shown(&[], &[], 4), [0; 0]);
    }

    #[test]
    fn a_ruler_tiles_its_length() {
        let ruler = Ruler::new(slots(9, 3), 10.0, 4.0);
        let ends: Vec<f64> = ruler.spans().iter().map(Span::end).collect();
        assert_eq!(ends, [10.0, 20.0, 24.0, 34.0]);
        assert!((ruler.length() - 34.0).abs() < 1e-9);
        assert_eq!(ruler.wrapped(3).len(), 2);
    }
}
