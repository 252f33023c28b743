//! `meshwork bench`: measures the engine on this machine, for `cargo xtask bench`.
//!
//! Everything that is compared is measured in one run, in turns, and medians count, since other
//! load comes and goes. The peak is that of the product that the engine itself uses, the best of
//! several at 2048³ on all threads: shares of it say what a step adds to its products.

mod contest;
mod serve;
mod workloads;

use super::Failure;
use super::table::real;
use contest::Score;
use meshwork_engine::exec::pool::{Alone, Pool};
use meshwork_engine::exec::threads::Threads;
use meshwork_engine::gauge::{CLICKED, PLANNED, Product, QUARTER};
use meshwork_engine::session::Session;
use meshwork_engine::study::Study;
use serde::Serialize;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Instant;
use workloads::Workload;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Turns in which everything is measured once
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// A folder of peers to be measured in the same turns
    #[arg(long, value_name = "DIR")]
    peers: Option<PathBuf>,
    /// Only this network
    #[arg(long, value_name = "W1|W2")]
    only: Option<Workload>,
    /// Step a network on demand, for others to measure
    #[arg(long, value_name = "W1|W2")]
    serve: Option<Workload>,
    /// The layout to serve it in
    #[arg(long, default_value = "1", requires = "serve")]
    layout: String,
    /// Threads to serve it with; as many as there are
    #[arg(long, requires = "serve")]
    threads: Option<usize>,
}

/// What was measured. The names without a dot are also measured in the browser.
#[derive(Debug, Serialize)]
struct Measures {
    threads: usize,
    /// The best product of 2048³ on all threads, in billions of operations per second.
    sgemm_gflop_per_second: f64,
    /// The best product of 512³ on one thread.
    product_512_gflop_per_second: f64,
    /// Text to study with a mesh of 64 processors, milliseconds.
    resolve_ms: f64,
    /// Resolving, lowering and tallying a Transformer of 48 layers on 512 processors.
    planning_ms: f64,
    /// W1 at a quarter of its size on 2×2 processors, one thread.
    steps_per_second: f64,
    gflop_per_second: f64,
    /// Training steps, by network, layout and engine.
    #[serde(flatten)]
    steps: BTreeMap<String, Step>,
}

/// A training step of a network by an engine.
#[derive(Debug, Serialize)]
struct Step {
    #[serde(skip)]
    network: &'static str,
    #[serde(flatten)]
    score: Score,
    /// Its products' share of the peak.
    share_of_sgemm: f64,
    /// Its time over that of our one processor.
    over_unsharded: f64,
}

pub(super) fn bench(args: &Args) -> Result<(), Failure> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    if let Some(workload) = args.serve {
        return serve::serve(workload, &args.layout, args.threads.unwrap_or(threads));
    }
    let measures = measure(args, threads)?;
    let mut out = io::stdout().lock();
    if args.json {
        serde_json::to_writer(&mut out, &measures)?;
        writeln!(out)?;
        return Ok(());
    }
    print(&measures, &mut out)
}

fn print(measures: &Measures, out: &mut impl Write) -> Result<(), Failure> {
    writeln!(out, "{} threads", measures.threads)?;
    writeln!(out, "product 2048³      {} GFLOP/s", real(measures.sgemm_gflop_per_second))?;
    let single = real(measures.product_512_gflop_per_second);
    writeln!(out, "product 512³       {single} GFLOP/s on one thread")?;
    writeln!(out, "text to study      {} ms (64 processors)", real(measures.resolve_ms))?;
    writeln!(out, "planning           {} ms (48 layers, 16×32)", real(measures.planning_ms))?;
    writeln!(
        out,
        "W1 at a quarter    {} steps/s on one thread, {} GFLOP/s",
        real(measures.steps_per_second),
        real(measures.gflop_per_second)
    )?;
    writeln!(out, "\nstep  layout  engine            median   least     cpu  share    ×1     MB")?;
    for Step { network, score, share_of_sgemm, over_unsharded } in measures.steps.values() {
        writeln!(
            out,
            "{network:5} {:7} {:16} {:7.1} {:7.1} {:7.0} {:4.0} % {over_unsharded:5.2} {:6.0}",
            score.layout,
            score.engine,
            score.ms,
            score.least_ms,
            score.cpu_ms,
            100.0 * share_of_sgemm,
            score.peak_mb.unwrap_or(f64::NAN),
        )?;
    }
    Ok(())
}

fn measure(args: &Args, threads: usize) -> Result<Measures, Failure> {
    let rounds = args.rounds.max(1);
    let pool = Threads::new(threads).map_err(|e| Failure::Misuse(e.to_string()))?;
    let peak = best_product(2048, rounds, &pool);
    let mut steps = BTreeMap::new();
    for workload in [Workload::W1, Workload::W2] {
        if args.only.is_some_and(|only| only != workload) {
            continue;
        }
        let scores = contest::run(workload, rounds, args.peers.as_deref())?;
        let ours = |s: &&Score| s.engine == "meshwork" && s.layout == "1";
        let whole = scores.iter().find(ours).map_or(f64::NAN, |s| s.ms);
        for score in scores {
            let network = workload.name();
            let name = format!("{network} {} {}", score.layout, score.engine);
            let share_of_sgemm = workload.flops() / score.ms / 1e6 / peak;
            let over_unsharded = score.ms / whole;
            steps.insert(name, Step { network, score, share_of_sgemm, over_unsharded });
        }
    }
    let planned = Study::new(PLANNED);
    let (steps_per_second, gflop_per_second) = quarter()?;
    Ok(Measures {
        threads,
        sgemm_gflop_per_second: peak,
        product_512_gflop_per_second: best_product(512, 20 * rounds, &Alone),
        resolve_ms: 1e3 * median((0..20 * rounds).map(|_| time(|| Study::new(CLICKED))).collect()),
        planning_ms: 1e3 * median((0..4 * rounds).map(|_| time(|| planned.replan())).collect()),
        steps_per_second,
        gflop_per_second,
        steps,
    })
}

/// W1 at a quarter of its size on one thread: steps, and billions of operations, per second.
fn quarter() -> Result<(f64, f64), Failure> {
    let study = Study::new(QUARTER);
    let session = Session::new(&study, None, Alone);
    let mut session = session.map_err(|why| {
        let why: Vec<String> = why.into_iter().map(|d| d.message).collect();
        Failure::Misuse(why.join("; "))
    })?;
    session.step();
    let steps = 40;
    let seconds = time(|| {
        for _ in 0..steps {
            black_box(session.step());
        }
    });
    let flops = study.totals().map_or(0.0, |t| t.flops_per_processor);
    let per_second = f64::from(steps) / seconds;
    Ok((per_second, per_second * flops * study.mesh().processors() as f64 / 1e9))
}

/// The best of some products of n×n matrices, in billions of operations per second.
fn best_product(n: usize, times: usize, pool: &impl Pool) -> f64 {
    let Some(mut product) = Product::new(n) else { return f64::NAN };
    let least = (0..times).map(|_| time(|| product.run(pool))).fold(f64::INFINITY, f64::min);
    product.flops() / least / 1e9
}

fn time<T>(work: impl FnOnce() -> T) -> f64 {
    let begun = Instant::now();
    black_box(work());
    begun.elapsed().as_secs_f64()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}
