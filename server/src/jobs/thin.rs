//! Which steps of a long run are written down.
//!
//! All of them up to 2000 steps; beyond that every n-th, at least one a second so that a slow
//! run is seen to move, and always the first and the last. What is kept is what the run said: the
//! curve through it is coarser, never different.

use meshwork_wire::run::Event;
use std::time::Duration;

/// Steps that are all kept; about twice as many points as a curve on a screen has pixels.
const FULL: u64 = 2000;

/// Thins the steps of one run.
#[derive(Debug)]
pub struct Thin {
    every: u64,
    kept_at: Duration,
    /// The latest step, if it was not kept.
    held: Option<Event>,
}

impl Thin {
    /// For a run of so many steps.
    pub fn new(steps: u64) -> Self {
        Self { every: steps.div_ceil(FULL).max(1), kept_at: Duration::ZERO, held: None }
    }

    /// The events to write down for this one, said at `now` (since the run began).
    pub fn take(&mut self, event: Event, now: Duration) -> Vec<Event> {
        if let Event::Step { step, .. } = event {
            let slow = now.saturating_sub(self.kept_at) >= Duration::from_secs(1);
            if !step.is_multiple_of(self.every) && !slow {
                self.held = Some(event);
                return Vec::new();
            }
            self.kept_at = now;
            self.held = None;
            return vec![event];
        }
        // Whatever else is said refers to the step before it.
        self.held.take().into_iter().chain([event]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(steps: u64, time_per_step: Duration) -> Vec<u64> {
        let mut thin = Thin::new(steps);
        let step = |step| Event::Step { step, loss: step as f64 };
        let mut events: Vec<Event> = Vec::new();
        for i in 0..steps {
            events.extend(thin.take(step(i), time_per_step * (i as u32 + 1)));
        }
        events.extend(thin.take(Event::Cancelled { step: steps }, time_per_step * steps as u32));
        assert_eq!(events.pop(), Some(Event::Cancelled { step: steps }));
        events
            .into_iter()
            .map(|e| match e {
                Event::Step { step, loss } => {
                    assert_eq!(loss.to_bits(), (step as f64).to_bits());
                    step
                }
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn short_runs_are_whole() {
        assert_eq!(kept(2000, Duration::from_micros(1)), (0..2000).collect::<Vec<_>>());
    }

    #[test]
    fn long_runs_keep_the_first_and_the_last() {
        let steps = kept(1_000_003, Duration::from_micros(1));
        assert!(steps.len() <= 2002, "{}", steps.len());
        assert_eq!(steps[..2], [0, 501]);
        assert_eq!(steps.last(), Some(&1_000_002));
        assert!(steps.is_sorted());
    }

    #[test]
    fn slow_runs_move_every_second() {
        let steps = kept(100_000, Duration::from_millis(600));
        assert!(steps.windows(2).all(|w| w[1] - w[0] <= 2));
    }
}
