//! Every example of the menu can be planned, and the illegal one says why it cannot.

use meshwork_engine::diag::Code;
use meshwork_engine::examples;
use meshwork_engine::study::Study;

#[test]
fn examples_can_be_planned() {
    for example in examples::ALL {
        let study = Study::new(example.text);
        let codes: Vec<Code> = study.diagnostics().iter().map(|d| d.code).collect();
        if example.id == "illegal" {
            assert!(codes.contains(&Code::MeshDimensionTwice), "{:?}", study.diagnostics());
            assert!(study.program().is_none());
        } else {
            assert_eq!(codes, [], "{}: {:?}", example.id, study.diagnostics());
            assert!(study.program().is_some(), "{}", example.id);
        }
    }
}

#[test]
fn only_the_empty_layout_needs_no_messages() {
    for example in examples::ALL.iter().filter(|e| e.id != "illegal") {
        let collectives = Study::new(example.text).collectives().len();
        assert_eq!(collectives == 0, example.id == "empty", "{}: {collectives}", example.id);
    }
}
