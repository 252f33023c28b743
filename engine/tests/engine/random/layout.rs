//! Random meshes and rules for a model, made legal by the mends that the diagnostics offer.

use super::{DIMS, Random};
use meshwork_engine::diag::{Code, Diagnostic};
use meshwork_engine::spec::edit::apply;
use meshwork_engine::study::Study;
use std::fmt::Write as _;

/// The model on a random mesh under random rules that are legal, found by taking the mends that
/// the diagnostics offer.
pub(crate) fn laid_out(seed: u64, model: &str) -> Study {
    let mut random = Random::new(seed ^ 0x5EED);
    let mesh_names = ["m", "n", "o"];
    let count = 1 + random.below(3);
    let mut text = "mesh".to_owned();
    for name in &mesh_names[..count] {
        let size = *random.pick(&[2, 2, 2, 3, 4, 1]);
        let _ = write!(text, " {name}:{size}");
    }
    text += "\nlayout";
    for (dim, _) in DIMS {
        if random.chance(0.7) {
            let first = random.below(count);
            let _ = write!(text, " {dim}:{}", mesh_names[first]);
            let second = random.below(count);
            if second != first && random.chance(0.2) {
                let _ = write!(text, "+{}", mesh_names[second]);
            }
        }
    }
    let mut study = Study::new(&format!("{text}\n{model}"));
    for _ in 0..12 {
        let Some(error) = study.diagnostics().iter().find(|d| d.is_error()) else { break };
        assert!(is_layout_error(error), "{error:#?}\n{}", study.text());
        // The last mends leave a dimension whole: they lead to the empty layout in the end.
        let mends: Vec<_> = error.hints.iter().filter_map(|h| h.edit.clone()).collect();
        let leave = mends.iter().filter(|m| m.replacement.is_empty()).collect::<Vec<_>>();
        let mend = (*random.pick(&leave)).clone();
        study = Study::new(&apply(study.text(), &[mend]));
    }
    study
}

fn is_layout_error(d: &Diagnostic) -> bool {
    matches!(d.code, Code::MeshDimensionTwice | Code::NotDivisible)
}
