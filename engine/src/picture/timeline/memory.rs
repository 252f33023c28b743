//! What each rank holds in memory, below the lanes of the timeline and on its axis.
//!
//! ```text
//! cell 0    ┌─┐ ┌──┐         an area of one height for all cells, so that they compare;
//!         ┌─┘ └─┘  └──┐      the darker ground is what is there from the start
//!         ▒▒▒▒▒▒▒▒▒▒▒▒▒
//! ```

use super::{BETWEEN, BOX, Board, NAME, PAD, Place};
use crate::cost::held::{self, Held};
use crate::index::{Idx as _, Rank};
use crate::picture::draft::rect;
use crate::picture::elide;
use crate::picture::geometry::text_width;
use crate::picture::scene::{Align, Form, Mark, Tone};
use crate::picture::words::bytes;

/// The hue of what is held.
const HUE: u8 = 5;

/// Height of a lane.
const HEIGHT: f64 = 44.0;

/// Room above the first lane, for the legend.
const ABOVE: f64 = 32.0;

impl Board<'_> {
    /// Draws the lanes from `top` on; returns where they end.
    pub(super) fn memory(&mut self, ranks: u64, shown: u64, top: f64) -> f64 {
        self.memory_legend(top + ABOVE / 2.0 + 2.0);
        let most = self.view.held.iter().map(|curve| held::peak(curve)).max().unwrap_or(0).max(1);
        let mut top = top + ABOVE;
        for place in elide::slots(ranks, shown) {
            if let Place::Block(rank) = place {
                self.holds(Rank::new(rank as usize), top, most);
            }
            top += HEIGHT + BETWEEN;
        }
        top
    }

    fn memory_legend(&mut self, at: f64) {
        const SIDE: f64 = 12.0;
        let entries = [
            (Tone::Slice(HUE), "bytes held"),
            (Tone::SliceShade(HUE), "there from the start: parameters, slots, inputs"),
        ];
        let mut left = 0.0;
        for (tone, text) in entries {
            self.draft.push(tone, rect(left, at - SIDE / 2.0, SIDE, SIDE, 2.0));
            let place = (left + SIDE + 5.0, at);
            self.draft.text(Tone::Note, place, NAME, Align::Start, text);
            left += SIDE + 5.0 + text_width(text, NAME) + 16.0;
        }
    }

    fn holds(&mut self, rank: Rank, top: f64, most: u64) {
        self.lane_name(rank, top + HEIGHT / 2.0);
        let Some(curve) = self.view.held.get(rank) else { return };
        let bottom = top + HEIGHT;
        let height = |bytes: u64| bottom - HEIGHT * bytes as f64 / most as f64;
        let first = curve.first().map_or(0, |held| held.bytes);
        let peak = held::peak(curve);
        let tip = Some(tip(&self.name(rank), first, peak));
        let pnums = self.view.pnums.get(rank).cloned().unwrap_or_default();
        let places = self.cut.places();
        let stretches = self.cut.stretches().to_vec();
        for ((from, to), (left, right)) in stretches.into_iter().zip(places) {
            self.draft.push(Tone::Idle, rect(left, top, right - left, HEIGHT, 0.0));
            let mut points = vec![(left, bottom)];
            let area = steps(curve, from, to, |time| self.cut.pixel(time));
            points.extend(area.into_iter().map(|(x, bytes)| (x, height(bytes))));
            points.push((right, bottom));
            let form = Form::Polygon(points);
            let mark =
                Mark { form, tone: Tone::Slice(HUE), pnums: pnums.clone(), tip: tip.clone() };
            self.draft.add(mark);
            let ground = rect(left, height(first), right - left, bottom - height(first), 0.0);
            self.draft.add(Mark {
                form: ground,
                tone: Tone::SliceShade(HUE),
                pnums: Vec::new(),
                tip: tip.clone(),
            });
            let text = format!("≤ {}", bytes(peak));
            if text_width(&text, BOX) + 2.0 * PAD <= right - left {
                // at first the least is held, and there is room above it
                let at = (left + PAD + 2.0, top + 8.0);
                self.draft.text(Tone::Label, at, BOX, Align::Start, &text);
            }
        }
    }
}

fn tip(name: &str, first: u64, peak: u64) -> String {
    format!("{name}: {} at first, {} at most", bytes(first), bytes(peak))
}

/// The corners of the curve between two times, at most two levels for each pixel.
fn steps(curve: &[Held], from: f64, to: f64, pixel: impl Fn(f64) -> f64) -> Vec<(f64, u64)> {
    let mut level = held::at(curve, from);
    let mut corners = vec![(pixel(from), level)];
    let within = curve.iter().filter(|held| held.time > from && held.time <= to);
    for held in within {
        let x = pixel(held.time);
        match corners.as_mut_slice() {
            // what happens within half a pixel is drawn as the most of it
            [.., last] if x - last.0 < 0.5 => last.1 = last.1.max(held.bytes),
            [..] => corners.extend([(x, level), (x, held.bytes)]),
        }
        level = held.bytes;
    }
    corners.push((pixel(to), level));
    corners
}
