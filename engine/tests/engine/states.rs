//! States: what `:=` says is taken from step to step, by every layout alike, and by no look.

use crate::common::{session, study};
use crate::driver::Driver;

const LAYOUTS: [&str; 4] = [
    "",
    "mesh rows:2\nlayout n:rows",
    "mesh rows:2 cols:3\nlayout n:rows c:cols",
    "mesh rows:2 cols:2\nlayout n:rows+cols",
];

#[test]
fn a_state_counts_steps_without_training() {
    for layout in LAYOUTS {
        let text = format!(
            "{layout}\ndims n:4 c:3\ninput x[n c] init:ones\nstate seen[c], steps\n\
             seen := seen + sum(x -> c)\nsteps := steps + 1\ny = x * seen"
        );
        let mut session = session(&text);
        for _ in 0..5 {
            session.step();
        }
        assert_eq!(session.value("steps").unwrap().values, [5.0], "{layout}");
        assert_eq!(session.value("seen").unwrap().values, [20.0; 3], "{layout}");
        assert_eq!(session.counted(), session.predicted());
    }
}

/// Every step reads the state of the step before, whichever line stands first.
#[test]
fn the_next_value_is_not_seen_before() {
    let text = "dims c:2\nparam w[c] init:ones\nstate s[c] init:ones\ns := s * 2\nt = s * 1\n\
                loss = sum(w * t)\ntrain rate:1";
    let mut session = session(text);
    let losses: Vec<f64> = (0..3).map(|_| session.step().loss.unwrap()).collect();
    // w: 1, 0, −2; s: 1, 2, 4.
    assert_eq!(losses, [2.0, 0.0, -16.0]);
    assert_eq!(session.value("s").unwrap().values, [8.0; 2]);
}

/// Batch norm normalises by the mini-batch while it trains and by the running means when it looks.
#[test]
fn running_means_of_batch_norm() {
    for layout in ["", "mesh a:2 b:2\nlayout batch:a h:b", "mesh a:2 b:2\nlayout c1:a w:b"] {
        let text = format!(
            "{layout}\nmodel convnet batch:4 h:4 w:4 channels:4\ntrain rate:0.01 steps:3 dtype:f64"
        );
        let mut driver = Driver::<f64>::new(&text, &["conv1.z"]);
        let (mut mean, mut variance) = ([0.0; 4], [1.0; 4]);
        for _ in 0..3 {
            driver.step();
            let z = driver.value("conv1.z");
            let n = (z.len() / 4) as f64;
            for c in 0..4 {
                let of_channel = || z.iter().skip(c).step_by(4);
                let now = of_channel().sum::<f64>() / n;
                let spread = of_channel().map(|z| (z - now).powi(2)).sum::<f64>() / n;
                mean[c] = 0.9 * mean[c] + 0.1 * now;
                variance[c] = 0.9 * variance[c] + 0.1 * spread;
            }
        }
        let near = |driver: &Driver<f64>, name: &str, expected: &[f64]| {
            let found = driver.value(name);
            let far = found.iter().zip(expected).any(|(a, b)| (a - b).abs() > 1e-12);
            assert!(!far, "{layout} {name} {found:?} {expected:?}");
        };
        near(&driver, "conv1.mean_seen", &mean);
        near(&driver, "conv1.variance_seen", &variance);
        // Looking takes them, and leaves them.
        let trained = driver.look();
        near(&driver, "conv1.mean_seen", &mean);
        assert_ne!(trained, driver.step());
    }
}

#[test]
fn states_are_slots_that_stay() {
    let study = study("dims c:2\nparam w[c]\nstate s[c]\ns := s + w\nloss = sum(w * s)\ntrain");
    let state = study.tensors().into_iter().find(|t| &*t.name == "s").unwrap();
    assert_eq!((state.role.name(), state.is_named), ("slot", true));
    assert!(study.listing().unwrap().contains("s{} ← "));
}
