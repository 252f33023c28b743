//! The results of the `GPipe` paper (arXiv 1811.06965) where a uniform model can speak.

use meshwork_engine::graph::op::Role;
use meshwork_engine::study::Study;

/// Layers, cells, micro-batches of a Transformer of Table 1 (TPU v3, 16 GB a core), and what the
/// paper says of it: parameters, and gigabytes (2³⁰) of activations on all accelerators together.
const TABLE_1: [(u64, u64, u64, f64, f64); 2] =
    [(13, 1, 32, 785.8e6, 6.4), (103, 8, 32, 5.3e9, 50.9)];

/// Parameter, momentum and variance in 32 bits each.
const BYTES_PER_PARAMETER: u64 = 12;

#[test]
fn memory_of_an_accelerator_in_table_1() {
    for (layers, cells, micro_batches, parameters, activations) in TABLE_1 {
        let study = Study::new(&format!(
            "mesh stages:{cells}\n\
             model transformer layers:{layers} batch:32 length:1024 d_model:2048 d_ff:8192 \
             heads:32 vocab:32000\n\
             pipeline over:stages micro_batches:{micro_batches} remat:on\n\
             train optimizer:adam rate:0.001\n"
        ));
        let program = study.program().expect("it has a Program");
        let counted: u64 = study
            .tensors()
            .iter()
            .filter(|t| t.role == Role::Parameter)
            .map(|t| t.shape.elements())
            .sum();
        let off = counted as f64 / parameters - 1.0;
        assert!(off.abs() < 0.005, "{layers} layers have {counted} parameters");
        // parameters and their two slots are what the Program keeps from step to step
        let kept: u64 = program.source_bytes().iter().sum();
        let inputs = kept - counted * BYTES_PER_PARAMETER;
        assert!(inputs < kept / 1000, "{inputs} of {kept} bytes are no parameters");
        // what is left of the peak beside them and the gradients: activations
        let tally = study.tally().expect("it has a tally");
        let held: u64 = tally.cells.iter().map(|c| c.peak).sum();
        let left = (held - counted * (BYTES_PER_PARAMETER + 4)) as f64 / f64::from(1 << 30);
        let off = left / activations - 1.0;
        // the paper does not say how many micro-batches it took: 32 of one sequence are the most
        assert!(off.abs() < 0.15, "{layers} layers: {left:.1} GiB of activations");
    }
}

/// Cells, and the throughput of the Transformer with 32 micro-batches in Table 2, that of two cells
/// and one micro-batch being 1.
const TABLE_2: [(u64, f64); 3] = [(2, 1.8), (4, 3.4), (8, 6.3)];

#[test]
fn throughput_of_the_transformer_in_table_2() {
    let time = |cells: u64, micro_batches: u64, remat: &str| {
        let layers = vec!["64"; 47].join(" ");
        let study = Study::new(&format!(
            "mesh stages:{cells}\n\
             model mlp batch:1024 in:64 hidden:({layers}) out:64\n\
             pipeline over:stages micro_batches:{micro_batches} remat:{remat}\n\
             train rate:0.1\n"
        ));
        study.timeline().expect("it has a timeline").makespan()
    };
    for remat in ["on", "off"] {
        for (cells, of_the_paper) in TABLE_2 {
            let throughput = time(2, 1, remat) / time(cells, 32, remat);
            let off = throughput / of_the_paper - 1.0;
            assert!(off.abs() < 0.08, "{cells} cells, remat:{remat}: {throughput:.2}");
        }
    }
}
