//! Pipelines: every number of cells and micro-batches, schedule, layout and way to keep activations
//! gives the losses and parameters of the whole model on one processor, and what was predicted.

use crate::common::{session, study};
use meshwork_engine::exec::pool::Alone;
use meshwork_engine::exec::threads::Threads;
use meshwork_engine::pipeline::schedule::Schedule;
use meshwork_engine::session::{Session, difference, max_difference};
use meshwork_engine::spmd::check::check;
use meshwork_engine::staging::outlook::Outlook;
use meshwork_engine::study::Study;

const MLP: &str = "mlp batch:8 in:4 hidden:8 depth:5 out:4";
const TRANSFORMER: &str = "transformer batch:8 length:4 vocab:8 d_model:8 heads:2 d_kv:4 d_ff:16 \
                           layers:4 dropout:0.1 tied:on";
const TRAIN: &str = "train optimizer:adam rate:0.01 steps:2 dtype:f64";

fn piped(mesh: &str, model: &str, pipeline: &str) -> Study {
    study(&format!("{mesh}\nmodel {model}\n{TRAIN}\npipeline over:p {pipeline}"))
}

/// Runs a pipeline beside the whole model; the messages are those that were predicted.
fn equals(study: &Study, model: &str) {
    let text = study.text();
    let program = study.program().unwrap();
    let fault = check(program).err();
    assert!(fault.is_none(), "{text}\n{fault:?}\n{}", study.listing().unwrap());
    let mut whole = session(&format!("model {model}\n{TRAIN}"));
    let mut cut = Session::new(study, None, Alone).unwrap();
    for _ in 0..2 {
        let (a, b) = (cut.step().loss.unwrap(), whole.step().loss.unwrap());
        assert!((a - b).abs() < 1e-12, "{text}\n{a} {b}");
    }
    assert!(max_difference(&cut, &whole) < 1e-9, "{text}");
    assert_eq!(cut.counted(), cut.predicted(), "{text}");
    assert_eq!(cut.peak_bytes(), study.totals().unwrap().peak_bytes_per_processor, "{text}");
}

#[test]
fn every_schedule() {
    for schedule in Schedule::ALL {
        for remat in ["off", "on", "except_last"] {
            let pipeline = format!("micro_batches:4 schedule:{} remat:{remat}", schedule.name());
            equals(&piped("mesh p:2", MLP, &pipeline), MLP);
        }
    }
}

#[test]
fn every_number_of_cells_and_micro_batches() {
    for cells in 1..=4 {
        for micro in [1, 2, 3, 5, 8] {
            let pipeline = format!("micro_batches:{micro}");
            equals(&piped(&format!("mesh p:{cells}"), MLP, &pipeline), MLP);
        }
    }
}

/// Batch norms take the statistics of a micro-batch where the whole model does, and keep running
/// means of the whole mini-batch, once, however often their activations are computed.
#[test]
fn batch_norms_within_cells() {
    let meshes = ["mesh p:3", "mesh p:2 a:2\nlayout batch:a", "mesh a:2 p:2\nlayout h:a"];
    let pipelines = ["", "schedule:1f1b", "remat:on", "remat:except_last schedule:zb_h1"];
    batch_norms(3, &meshes, &pipelines);
    // Each copy of the model keeps them of its own micro-batches.
    let both = ["", "remat:on", "remat:except_last"].map(|r| format!("schedule:dualpipe {r}"));
    batch_norms(4, &["mesh p:2", "mesh a:2 p:2\nlayout h:a"], &both.each_ref().map(|s| &**s));
}

fn batch_norms(micro_batches: u64, meshes: &[&str], pipelines: &[&str]) {
    const MODEL: &str = "convnet batch:12 h:4 w:4 channels:(4 4 4) norm:batch";
    let states = |session: &Session<Alone>| {
        let names =
            (1..=3).flat_map(|i| [format!("conv{i}.mean_seen"), format!("conv{i}.variance_seen")]);
        names.map(|name| session.value(&name).unwrap().values).collect::<Vec<_>>()
    };
    let images = |study: &Study| {
        let input = study.graph().find("x").unwrap();
        vec![(input, (0..12 * 16).map(|i| f64::from(i % 7) * 0.25 - 0.5).collect())]
    };
    let micro = study(&format!("model {MODEL}\n{TRAIN} micro_batches:{micro_batches}"));
    let mut whole = Session::asking(&micro, Alone).unwrap();
    let losses = [whole.step().loss.unwrap(), whole.step().loss.unwrap()];
    let kept = states(&whole);
    let evaluated = whole.outputs(&images(&micro)).unwrap();
    for mesh in meshes {
        for pipeline in pipelines {
            let cut = piped(mesh, MODEL, &format!("micro_batches:{micro_batches} {pipeline}"));
            let mut session = Session::asking(&cut, Alone).unwrap();
            for expected in losses {
                let loss = session.step().loss.unwrap();
                assert!((loss - expected).abs() < 1e-12, "{}\n{loss} {expected}", cut.text());
            }
            for (seen, expected) in states(&session).iter().zip(&kept) {
                assert!(difference(seen, expected) < 1e-12, "{}\n{seen:?}", cut.text());
            }
            assert!(max_difference(&session, &whole) < 1e-9, "{}", cut.text());
            // Evaluation normalises by the running means and leaves them.
            let outputs = session.outputs(&images(&cut)).unwrap();
            assert!(difference(&outputs, &evaluated) < 1e-9, "{}", cut.text());
            assert!(difference(&states(&session).concat(), &kept.concat()) < 1e-12);
        }
    }
}

/// Whatever layout a cell has; a tied embedding is read at both ends.
#[test]
fn layouts_within_cells() {
    for mesh in [
        "mesh p:2 a:2\nlayout batch:a",
        "mesh a:2 p:2\nlayout heads:a d_ff:a vocab:a",
        "mesh a:2 p:2 b:2\nlayout batch:a heads:b d_ff:b vocab:b",
    ] {
        for pipeline in ["micro_batches:4 schedule:1f1b", "micro_batches:2 remat:on schedule:zb_h1"]
        {
            equals(&piped(mesh, TRANSFORMER, pipeline), TRANSFORMER);
        }
    }
}

/// Two copies of the model learn as one: even where the last micro-batch has fewer rows, whatever
/// is computed again, wherever tensors are read, and however the loss follows from all rows.
/// Experts choose among the rows of a micro-batch, on one processor as on several.
#[test]
fn experts_in_micro_batches() {
    let moe = "moe batch:8 length:4 d_model:8 experts:2";
    let decoder =
        "transformer batch:8 length:4 vocab:8 d_model:8 heads:2 d_ff:16 layers:3 experts:2";
    for model in [moe, decoder] {
        for options in ["micro_batches:4", "micro_batches:4 schedule:dualpipe remat:on"] {
            let study = piped("mesh p:2 e:2\nlayout experts:e", model, options);
            let mut cut = Session::new(&study, None, Alone).unwrap();
            let mut alone = Session::new(&study.alone(), None, Alone).unwrap();
            for _ in 0..2 {
                let (a, b) = (cut.step().loss.unwrap(), alone.step().loss.unwrap());
                assert!((a - b).abs() < 1e-12, "{model} {options}: {a} {b}");
            }
            assert!(max_difference(&cut, &alone) < 1e-9, "{model} {options}");
            assert_eq!(cut.counted(), cut.predicted(), "{model} {options}");
        }
    }
}

#[test]
fn both_ways_at_once() {
    let deep = "mlp batch:15 in:4 hidden:8 depth:5 out:4";
    for remat in ["off", "on", "except_last"] {
        for (cells, micro_batches) in [(2, 4), (4, 8)] {
            let pipeline = format!("micro_batches:{micro_batches} schedule:dualpipe remat:{remat}");
            equals(&piped(&format!("mesh p:{cells}"), deep, &pipeline), deep);
        }
        let pipeline = format!("micro_batches:4 schedule:dualpipe remat:{remat}");
        for mesh in ["mesh p:2 a:2\nlayout batch:a", "mesh a:2 p:2\nlayout heads:a d_ff:a vocab:a"]
        {
            equals(&piped(mesh, TRANSFORMER, &pipeline), TRANSFORMER);
        }
    }
    let eight = "micro_batches:8 schedule:dualpipe";
    equals(&piped("mesh p:4", TRANSFORMER, eight), TRANSFORMER);
    let text = "dims batch:16 io:4\ninput x[batch io], t[batch io], m[batch] init:uniform(0 1)\n\
                param a[io k], b[k io], c[io k], d[k io]\ndims k:4\n\
                h1 = tanh(einsum(x, a -> batch k))\nh2 = tanh(einsum(h1, b -> batch io))\n\
                h3 = tanh(einsum(h2, c -> batch k))\nh4 = einsum(h3, d -> batch io) + rename(h1, k -> io)\n\
                loss = sum(square(h4 - t) * m) / sum(m)\ntrain rate:0.1 clip:0.5 dtype:f64\n";
    for mesh in ["mesh p:2", "mesh p:4", "mesh p:4 a:2\nlayout k:a"] {
        let cut = study(&format!("{mesh}\n{text}pipeline over:p {eight} remat:except_last"));
        let (mut cut, mut whole) = (Session::new(&cut, None, Alone).unwrap(), session(text));
        let apart = |_| (cut.step().loss.unwrap() - whole.step().loss.unwrap()).abs();
        assert!((0..3).map(apart).all(|apart| apart < 1e-12), "{mesh}");
        assert!(max_difference(&cut, &whole) < 1e-12, "{mesh}");
        assert_eq!(cut.counted(), cut.predicted(), "{mesh}");
    }
}

/// The second copy hands over what it has accumulated and receives the new parameters; optimizer
/// state is there once.
#[test]
fn copies_meet_after_the_last_micro_batch() {
    let study = piped("mesh p:2", MLP, "micro_batches:4 schedule:dualpipe balance:(3 4)");
    let collectives = study.collectives();
    let why = |tensor: &str, has: &str| {
        let of = collectives.iter().filter(|c| *c.tensors[0] == *tensor);
        of.filter(|c| c.why.contains(has)).map(|c| c.times).collect::<Vec<u64>>()
    };
    assert_eq!(why("grad/w1", "both copies of stage 0 have a part of grad/w1"), [1]);
    assert_eq!(why("w1", "the new w1 goes to the second copy of stage 0"), [1]);
    assert_eq!(why("w6", "the new w6 goes to the second copy of stage 1"), [1]);
    let tensors = study.tensors();
    let on = |name: &str| tensors.iter().find(|t| &*t.name == name).unwrap().cells.clone();
    let cells = ["w1", "grad/w1", "w6", "adam.m/w1"].map(|name| on(name).unwrap().1);
    assert_eq!(cells, [vec![0, 1], vec![0, 1], vec![1, 0], vec![0]]);
    let listing = study.listing().unwrap();
    assert!(listing.contains("# forward at stage 1 of the second copy, each of 2 micro-batches"));
    let outlook = study.outlook().unwrap();
    let one = piped("mesh p:2", MLP, "micro_batches:4 balance:(3 4)").outlook().unwrap();
    let costs = |outlook: &Outlook| outlook.stages.iter().map(|s| s.cost).collect::<Vec<_>>();
    assert_eq!(costs(&outlook), costs(&one), "of one copy");
    assert!(outlook.layers().eq(one.layers()));
}

/// A connection over three cells goes straight from the first to the last.
#[test]
fn skips_go_straight() {
    let text = "mesh p:4\ndims batch:8 io:4\ninput x[batch io], t[batch io]\n\
                param a[io io2], b[io2 io], c[io io2], d[io2 io]\ndims io2:4\n\
                h1 = tanh(einsum(x, a -> batch io2))\nh2 = tanh(einsum(h1, b -> batch io))\n\
                h3 = tanh(einsum(h2, c -> batch io2))\nh4 = einsum(h3, d -> batch io) + h1 * 0 + rename(h1, io2 -> io)\n\
                loss = mean(square(h4 - t))\ntrain rate:0.1 dtype:f64\n";
    let text = text.replace(" + h1 * 0", "");
    let study = study(&format!("{text}pipeline over:p micro_batches:4 balance:(1 1 1 2)"));
    check(study.program().unwrap()).unwrap();
    let hops: Vec<String> = study
        .collectives()
        .iter()
        .filter(|c| c.kind.name() == "receive")
        .map(|c| format!("{} {} {}", c.phase.name(), c.tensors[0], c.times))
        .collect();
    let forward: Vec<&String> = hops.iter().filter(|h| h.starts_with("forward")).collect();
    assert_eq!(
        forward,
        ["forward h1 4", "forward h2 4", "forward h3 4", "forward h1 4"],
        "{hops:?}"
    );
    let mut whole = session(&text);
    let mut cut = Session::new(&study, None, Alone).unwrap();
    let run = |s: &mut Session<Alone>| (0..3).map(|_| s.step().loss.unwrap()).collect::<Vec<_>>();
    let losses = run(&mut cut);
    assert!(difference(&losses, &run(&mut whole)) < 1e-12);
    assert!(max_difference(&cut, &whole) < 1e-12);
    for threads in 2..=5 {
        let mut cells = Session::new(&study, None, Threads::new(threads).unwrap()).unwrap();
        let same: Vec<f64> = (0..3).map(|_| cells.step().loss.unwrap()).collect();
        assert_eq!(same, losses, "{threads} threads");
    }
}

/// Activations of a stage are held for as many micro-batches as the schedule keeps, or computed
/// again from its inputs.
#[test]
fn memory_follows_the_schedule() {
    let model = "mlp batch:64 in:16 hidden:64 depth:8 out:16";
    let peak = |pipeline: &str| {
        let study = piped("mesh p:4", model, &format!("micro_batches:16 {pipeline}"));
        study.totals().unwrap().peak_bytes_per_processor
    };
    let [gpipe, steady, again] =
        ["schedule:gpipe", "schedule:1f1b", "schedule:gpipe remat:on"].map(peak);
    assert!(steady < gpipe && again < gpipe, "{gpipe} {steady} {again}");
}

/// The bubble is (K−1)/(M+K−1) if stages are even, and shrinks with more micro-batches.
#[test]
fn the_bubble_shrinks() {
    let bubble = |micro: u32| {
        let study = piped(
            "mesh p:2",
            "mlp batch:32 in:64 hidden:64 depth:3 out:64",
            &format!("micro_batches:{micro}"),
        );
        study.timeline().unwrap().bubble_of_makespan()
    };
    let all = [1, 2, 4, 8].map(bubble);
    assert!(all.windows(2).all(|w| w[1] < w[0]), "{all:?}");
    // The first layer needs no gradient of its input, so stages are not quite even.
    assert!((all[0] - 0.5).abs() < 1e-12 && (1.0 / 9.0..0.2).contains(&all[3]), "{all:?}");
}

/// A tensor is on the processors of the cell that makes it, and on no others.
#[test]
fn tensors_are_where_they_are_made() {
    let study = piped("mesh p:2 a:2\nlayout batch:a", MLP, "micro_batches:2 balance:(3 4)");
    let tensors = study.tensors();
    let on = |name: &str| -> Vec<u32> {
        let tensor = tensors.iter().find(|t| &*t.name == name).unwrap();
        let mesh = study.mesh();
        mesh.pnums().filter(|&p| tensor.is_on(mesh, p)).map(|p| p.0).collect()
    };
    assert_eq!(["x", "w1", "grad/w1", "h3"].map(on), [(); 4].map(|()| vec![0, 1]));
    assert_eq!(["target", "w6", "adam.m/w6", "loss"].map(on), [(); 4].map(|()| vec![2, 3]));
}

/// What is computed again may stay a partial sum where the last micro-batch, which keeps it, has it
/// settled: their parts of a gradient are alike all the same.
#[test]
fn sums_that_are_kept_and_sums_that_are_computed_again() {
    let text = |head: &str| {
        study(&format!(
            "{head}dims batch:4 h:4 f:2 c:2\n\
             input x[batch h f], t[batch c]\n\
             param v[f c]\n\
             m = mean(x -> batch f)\n\
             y = einsum(m, v -> batch c)\n\
             loss = mean(square(y - t))\n\
             train steps:3 dtype:f64\n"
        ))
    };
    let losses = |study: &Study| {
        check(study.program().unwrap()).unwrap();
        let mut run = Session::new(study, None, Alone).unwrap();
        let losses: Vec<f64> = (0..3).map(|_| run.step().loss.unwrap()).collect();
        assert_eq!(run.counted(), run.predicted());
        losses
    };
    let alone = losses(&text(""));
    for schedule in ["gpipe", "1f1b", "zb_h1"] {
        for remat in ["off", "on", "except_last"] {
            let piped = losses(&text(&format!(
                "mesh stages:2 cols:2\nlayout h:cols\n\
                 pipeline over:stages micro_batches:2 balance:(2 1) schedule:{schedule} remat:{remat}\n"
            )));
            let off = piped.iter().zip(&alone).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-12, "{schedule} {remat}: {piped:?} for {alone:?}");
        }
    }
}
