//! Cells on threads of their own: the same numbers, bit for bit, as one thread that walks all cells
//! in turns; a timeline of what they did; an end with a reason when one of them cannot go on.

use crate::common::study;
use meshwork_engine::exec::clock::Clock;
use meshwork_engine::exec::fault::{Fault, Kind, Spot};
use meshwork_engine::exec::pool::{Alone, Pool};
use meshwork_engine::exec::threads::Threads;
use meshwork_engine::index::{Idx as _, Rank, Stage};
use meshwork_engine::pipeline::needs::{When, makes, needs};
use meshwork_engine::pipeline::order::Extent;
use meshwork_engine::pipeline::schedule::Schedule;
use meshwork_engine::session::{Session, difference};
use meshwork_engine::study::Study;
use meshwork_engine::timeline::{Interval, Kind as Work, Task, Timeline};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const MLP: &str = "mlp batch:24 in:4 hidden:8 depth:7 out:4";

fn piped(mesh: &str, model: &str, pipeline: &str) -> Study {
    study(&format!(
        "{mesh}\nmodel {model}\ntrain optimizer:adam rate:0.01 dtype:f64\npipeline over:p {pipeline}"
    ))
}

/// A clock that shows how often it was read.
fn counter() -> Clock {
    let reads = AtomicU64::new(0);
    Clock::new(move || reads.fetch_add(1, Ordering::Relaxed) as f64)
}

fn on<P: Pool>(study: &Study, pool: P) -> Session<P> {
    Session::new(study, None, pool).unwrap().timed(&counter())
}

/// Everything a run gives, down to the bits.
fn bits<P: Pool>(session: &mut Session<P>) -> Vec<Vec<u64>> {
    let number = |x: Option<f64>| vec![x.unwrap().to_bits()];
    let mut all: Vec<Vec<u64>> = (0..2).map(|_| number(session.step().loss)).collect();
    for name in session.parameters() {
        let whole = session.value(&name).unwrap();
        all.push(whole.values.iter().map(|x| x.to_bits()).collect());
    }
    assert_eq!(session.counted(), session.predicted());
    let totals = session.study().totals().unwrap();
    all.push(vec![session.peak_bytes()]);
    assert_eq!(session.peak_bytes(), totals.peak_bytes_per_processor);
    assert_eq!(session.predicted_peak_bytes(), totals.peak_bytes_per_processor);
    all
}

fn same_on_any_threads(study: &Study) {
    let mut alone = on(study, Alone);
    let expected = bits(&mut alone);
    lawful(study, alone.timeline().unwrap());
    of_layers(on(study, Alone));
    for threads in [2, 3, 5] {
        let mut cells = on(study, Threads::new(threads).unwrap());
        assert!(bits(&mut cells) == expected, "{threads} threads\n{}", study.text());
        lawful(study, cells.timeline().unwrap());
        of_layers(on(study, Threads::new(threads).unwrap()));
    }
}

/// The layers take time, and all together no more than the cells work.
fn of_layers<P: Pool>(mut session: Session<P>) {
    session.step();
    let timeline = session.timeline().unwrap();
    let micro_batches = session.study().program().unwrap().micro_batches() as f64;
    let costs = session.layer_costs().unwrap();
    let text = session.study().text();
    assert_eq!(costs.len(), session.study().graph().layers.len(), "{text}");
    assert!(costs.iter().all(|&cost| cost >= 0.0), "{text}\n{costs:?}");
    let worked: f64 = timeline.lanes().ids().map(|rank| timeline.busy(rank)).sum();
    let of_all = costs.iter().sum::<f64>() * micro_batches;
    assert!(of_all > 0.0 && of_all <= worked, "{text}\n{costs:?} {worked}");
}

/// Every task is on the lane of its rank once, in the order of the schedule; lanes do not overlap;
/// nothing ends before what it needs has begun.
fn lawful(study: &Study, timeline: &Timeline) {
    let text = study.text();
    let order = study.program().unwrap().cells.as_ref().unwrap().order();
    assert_eq!(timeline.lanes().len(), order.ranks().len(), "{text}");
    let mut made = BTreeMap::new();
    for (rank, lane) in timeline.lanes().entries() {
        let tasks: Vec<Task> = lane.iter().flat_map(|i| i.slot.tasks()).collect();
        let planned: Vec<Task> = order.ranks()[rank].iter().flat_map(|s| s.tasks()).collect();
        assert_eq!(tasks, planned, "{text}");
        assert!(lane.iter().all(|i| 0.0 <= i.start && i.start <= i.end), "{text}\n{lane:?}");
        assert!(lane.windows(2).all(|w| w[0].end <= w[1].start + 1e-9), "{text}\n{lane:?}");
        for interval in lane {
            for need in interval.slot.tasks().filter_map(makes) {
                made.entry(need).or_insert(*interval);
            }
        }
    }
    let stages = order.extent().stages();
    for (_, interval) in timeline.intervals() {
        // The first stage has no input whose gradient anybody wants: what comes in serves its
        // weights.
        let task = |task: Task| match (task.stage.0, task.kind) {
            (0, Work::InputGradient) => None,
            (0, Work::WeightGradient) => Some(Task { kind: Work::InputGradient, ..task }),
            _ => Some(task),
        };
        let tasks = interval.slot.tasks().filter_map(task);
        let all = tasks.flat_map(|task| needs(task, stages, When::Early));
        for need in all {
            let Interval { start, .. } = made[&need];
            assert!(start <= interval.end, "{need:?} of {}\n{text}", interval.slot);
        }
    }
    let idle = timeline.bubble_of_makespan();
    assert!((0.0..1.0).contains(&idle), "{idle}\n{text}");
}

#[test]
fn every_schedule() {
    for schedule in Schedule::ALL {
        for cells in 2..=4 {
            let micro = 2 * cells;
            let extent = Extent::new(cells, micro).chunks(schedule.default_chunks());
            if !schedule.limits(extent).is_empty() || extent.stages() > 8 {
                continue;
            }
            for remat in ["off", "on", "except_last"] {
                let name = schedule.name();
                let pipeline = format!("micro_batches:{micro} schedule:{name} remat:{remat}");
                same_on_any_threads(&piped(&format!("mesh p:{cells}"), MLP, &pipeline));
            }
        }
    }
}

/// Tied embeddings and gradients that are clipped together cross cells outside of micro-batches.
#[test]
fn what_several_cells_use() {
    let model = "transformer batch:8 length:4 vocab:8 d_model:8 heads:2 d_kv:4 d_ff:16 layers:4 \
                 dropout:0.1 tied:on";
    for mesh in ["mesh p:3", "mesh a:2 p:2\nlayout heads:a d_ff:a vocab:a"] {
        let both = "micro_batches:4 schedule:dualpipe";
        for pipeline in ["micro_batches:4 schedule:1f1b", "micro_batches:3 remat:on", both] {
            if pipeline == both && mesh == "mesh p:3" {
                continue;
            }
            let text = piped(mesh, model, pipeline).text().replace("rate:", "clip:1 rate:");
            same_on_any_threads(&study(&text));
        }
    }
    // Running means of batch norms are kept from step to step where they are made.
    let model = "convnet batch:12 h:4 w:4 channels:(4 4 4) norm:batch";
    same_on_any_threads(&piped("mesh p:3", model, "micro_batches:3 schedule:1f1b"));
    same_on_any_threads(&piped("mesh p:2", model, "micro_batches:4 schedule:dualpipe"));
}

/// Forward passes between steps leave no letter behind and no trace in what is counted.
#[test]
fn looks_between_steps() {
    looks(&piped("mesh p:3", MLP, "micro_batches:4"));
    // The rows of the second half come out of the other copy.
    looks(&piped("mesh p:4", MLP, "micro_batches:8 schedule:dualpipe"));
}

fn looks(study: &Study) {
    let whole = study.alone();
    let input = study.graph().find("x").unwrap();
    let rows = vec![(input, vec![0.5; 96])];
    let run = |mut session: Session<Threads>| {
        let loss = session.step().loss;
        let timeline = session.timeline().unwrap().clone();
        let counted = session.counted();
        let seen: Vec<_> = (0..3).map(|_| session.outputs(&rows).unwrap()).collect();
        assert_eq!(session.counted(), counted);
        assert_eq!(session.timeline(), Some(&timeline), "that of the last training step");
        (loss, seen, session.step().loss)
    };
    let asking = |threads| Session::asking(study, Threads::new(threads).unwrap()).unwrap();
    let sessions = [1, 2, 4].map(|threads| run(asking(threads).timed(&counter())));
    let mut whole = Session::asking(&whole, Alone).unwrap();
    whole.step();
    let expected = whole.outputs(&rows).unwrap();
    assert!(sessions[0].1.iter().all(|seen| difference(seen, &expected) < 1e-12));
    assert_eq!(sessions[0], sessions[1]);
    assert_eq!(sessions[0], sessions[2]);
}

/// Threads, one of which fails at its nth list of tasks.
#[derive(Debug)]
struct Faulty {
    threads: Threads,
    fails: Option<(Arc<AtomicU64>, fn())>,
}

impl Faulty {
    /// The share of one cell fails.
    fn new(threads: usize, nth: u64, fails: fn()) -> Self {
        let fails = Some((Arc::new(AtomicU64::new(nth)), fails));
        Self { threads: Threads::new(threads).unwrap(), fails }
    }
}

impl Pool for Faulty {
    fn each<T: Send>(&self, tasks: Vec<T>, work: impl Fn(T) + Sync + Send) {
        if let Some((left, fails)) = &self.fails
            && left.fetch_sub(1, Ordering::Relaxed) == 0
        {
            fails();
        }
        self.threads.each(tasks, work);
    }

    fn threads(&self) -> usize {
        self.threads.threads()
    }

    /// The second share has the fault, if there are several.
    fn divide(self, parts: usize) -> Vec<Self> {
        let Self { threads, mut fails } = self;
        let threads = threads.divide(parts);
        let faulty = usize::from(threads.len() > 1);
        let mut share = |i, threads| {
            let fails = if i == faulty { fails.take() } else { None };
            Self { threads, fails }
        };
        threads.into_iter().enumerate().map(|(i, threads)| share(i, threads)).collect()
    }

    fn begin(&self, name: String, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        self.threads.begin(name, work)
    }
}

/// Products large enough for the pool: one list of tasks to pack, one to multiply.
fn wide() -> Study {
    piped("mesh p:3", "mlp batch:64 in:64 hidden:64 depth:5 out:64", "micro_batches:2")
}

/// The same with micro-batches from both ends.
fn both_ways() -> Study {
    let both = "micro_batches:4 schedule:dualpipe";
    piped("mesh p:2", "mlp batch:128 in:64 hidden:64 depth:3 out:64", both)
}

fn dies() {
    let rows = [0; 3].len();
    assert!(rows > 4, "row 4 of {rows}");
}

fn until_fault(session: &mut Session<Faulty>) -> Fault {
    let steps = (0..100).find(|_| session.step().loss.is_none());
    assert!(steps.is_some(), "it does not end");
    session.fault().unwrap().clone()
}

#[test]
fn a_cell_that_dies_is_named() {
    let study = wide();
    let mut session = Session::new(&study, None, Faulty::new(3, 60, dies)).unwrap();
    let fault = until_fault(&mut session);
    assert_eq!(fault.cell, Rank(1));
    let Spot::Task(task) = fault.spot else { unreachable!("{fault}") };
    assert_eq!(task.stage, Stage(1));
    assert_eq!(fault.kind, Kind::Died("row 4 of 3".to_owned()));
    let steps = session.steps_done();
    assert!(steps > 0 && fault.step == Some(steps), "{fault}");
    let kind = task.kind.name();
    let m = task.micro_batch.index();
    assert_eq!(
        fault.to_string(),
        format!(
            "cell 1 died in step {steps} at {task} (stage 1, {kind} of micro-batch {m}): row 4 of 3"
        )
    );
    // What cannot go on stays where it is.
    assert_eq!(session.step().loss, None);
    assert_eq!((session.steps_done(), session.fault()), (steps, Some(&fault)));
}

#[test]
fn a_cell_that_dies_on_the_only_thread_is_named() {
    let mut session = Session::new(&wide(), None, Faulty::new(1, 60, dies)).unwrap();
    let fault = until_fault(&mut session).to_string();
    assert!(fault.contains(" died in step ") && fault.ends_with(": row 4 of 3"), "{fault}");
}

#[test]
fn a_cell_that_hangs_is_named_by_who_waits_for_it() {
    let hangs = || std::thread::sleep(Duration::from_secs(30));
    let limit = Duration::from_millis(300);
    let session = Session::new(&wide(), None, Faulty::new(3, 60, hangs)).unwrap();
    let fault = until_fault(&mut session.patient(limit));
    let Kind::Waited { from, which: Spot::Task(task), .. } = &fault.kind else {
        unreachable!("{fault}")
    };
    assert_eq!((*from, task.stage), (Rank(1), Stage(1)), "{fault}");
    assert!(fault.to_string().contains("waited 0.3 s in step "), "{fault}");
    assert!(fault.to_string().contains("` from cell 1, which was at 1"), "{fault}");
}

/// Cells that work both ways at once: a cell has a stage of either copy.
#[test]
fn a_cell_that_dies_both_ways_is_named() {
    let spots = [40, 45, 50, 55, 60].map(|nth| {
        let mut session = Session::new(&both_ways(), None, Faulty::new(2, nth, dies)).unwrap();
        let fault = until_fault(&mut session);
        assert_eq!(fault.cell, Rank(1));
        assert_eq!(fault.kind, Kind::Died("row 4 of 3".to_owned()));
        let steps = session.steps_done();
        let said = fault.to_string();
        let starts = format!("cell 1 died in step {steps} a");
        assert!(said.starts_with(&starts) && said.ends_with(": row 4 of 3"), "{said}");
        assert_eq!(session.step().loss, None);
        fault.spot
    });
    both_copies(&spots);
    let mut alone = Session::new(&both_ways(), None, Faulty::new(1, 60, dies)).unwrap();
    let said = until_fault(&mut alone).to_string();
    assert!(said.contains(" died in step ") && said.ends_with(": row 4 of 3"), "{said}");
}

/// Something went wrong in stages of either copy.
fn both_copies(spots: &[Spot]) {
    let in_copy = |second: bool| {
        spots.iter().any(|spot| match spot {
            Spot::Task(task) => (task.micro_batch.0 >= 2) == second,
            Spot::Start | Spot::Begin | Spot::End => false,
        })
    };
    assert!(in_copy(false) && in_copy(true), "{spots:?}");
}

#[test]
fn a_cell_that_hangs_both_ways_is_named_by_who_waits_for_it() {
    let hangs = || std::thread::sleep(Duration::from_secs(30));
    let limit = Duration::from_millis(300);
    let spots = [40, 45, 50, 55, 60].map(|nth| {
        let session = Session::new(&both_ways(), None, Faulty::new(2, nth, hangs)).unwrap();
        let fault = until_fault(&mut session.patient(limit));
        let said = fault.to_string();
        let Kind::Waited { from, which, .. } = fault.kind else { unreachable!("{said}") };
        assert_eq!((fault.cell, from), (Rank(0), Rank(1)), "{said}");
        assert!(said.contains("` from cell 1, which was a"), "{said}");
        which
    });
    both_copies(&spots);
    let session = Session::new(&both_ways(), None, Faulty::new(1, 60, hangs)).unwrap();
    let fault = until_fault(&mut session.patient(limit));
    assert_eq!(fault.kind, Kind::Stuck { limit }, "{fault}");
}

/// Where all cells take turns on one thread nobody can wait for another; the caller still does not
/// wait for ever.
#[test]
fn a_cell_that_hangs_on_the_only_thread_is_named() {
    let hangs = || std::thread::sleep(Duration::from_secs(30));
    let limit = Duration::from_millis(300);
    let session = Session::new(&wide(), None, Faulty::new(1, 60, hangs)).unwrap();
    let fault = until_fault(&mut session.patient(limit));
    assert_eq!(fault.kind, Kind::Stuck { limit }, "{fault}");
    let Spot::Task(task) = fault.spot else { unreachable!("{fault}") };
    assert_eq!(task.stage, Stage(fault.cell.0), "{fault}");
    assert!(fault.to_string().contains("did not move for 0.3 s in step "), "{fault}");
}

/// Who takes long but moves is waited for.
#[test]
fn slow_is_not_hung() {
    let slow = || std::thread::sleep(Duration::from_millis(20));
    let limit = Duration::from_secs(1);
    for threads in [1, 3] {
        let session = Session::new(&wide(), None, Faulty::new(threads, 10, slow)).unwrap();
        let mut session = session.patient(limit);
        assert!((0..3).all(|_| session.step().loss.is_some()), "{:?}", session.fault());
    }
}
