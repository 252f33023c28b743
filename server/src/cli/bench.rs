//! `meshwork bench`: measures the engine on this machine, for `cargo xtask bench`.
//!
//! Everything that is compared is measured in one run, in turns, and medians count, since other
//! load comes and goes. The peak is that of the product that the engine itself uses, the best of
//! several at 2048³ on all threads: shares of it say what a step adds to its products.

use super::Failure;
use super::table::real;
use meshwork_engine::exec::einsum::{Einsum, Packing};
use meshwork_engine::exec::number::Number;
use meshwork_engine::exec::pool::{Alone, Pool};
use meshwork_engine::exec::strides::Local;
use meshwork_engine::exec::threads::Threads;
use meshwork_engine::session::Session;
use meshwork_engine::study::Study;
use serde::Serialize;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::{self, Write as _};
use std::time::Instant;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Turns in which everything is measured once
    #[arg(long, default_value_t = 5)]
    rounds: usize,
}

/// What was measured. The names without a dot are also measured in the browser.
#[derive(Debug, Serialize)]
struct Measures {
    threads: usize,
    /// The best product of 2048³ on all threads, in billions of operations per second.
    sgemm_gflop_per_second: f64,
    /// Text to study with a mesh of 64 processors, milliseconds.
    resolve_ms: f64,
    /// W1 at a quarter of its size on 2×2 processors, one thread.
    steps_per_second: f64,
    gflop_per_second: f64,
    /// W1 (batch 256, io 1024, hidden 4096) by layout.
    w1: BTreeMap<&'static str, Step>,
}

/// A training step of W1.
#[derive(Debug, Serialize)]
struct Step {
    /// Median milliseconds.
    ms: f64,
    /// Its products' share of the peak.
    share_of_sgemm: f64,
    /// Its time over that of one processor.
    over_unsharded: f64,
}

const W1: &str = "model two_layer batch:256 io:1024 hidden:4096\ntrain optimizer:sgd rate:0.01\n";
/// Operations of W1's five products.
const W1_FLOP: f64 = 10.0 * 256.0 * 1024.0 * 4096.0;
const LAYOUTS: [(&str, &str); 5] = [
    ("1", ""),
    ("dp2", "mesh all:2\nlayout batch:all\n"),
    ("mp2", "mesh all:2\nlayout hidden:all\n"),
    ("2x2", "mesh rows:2 cols:2\nlayout batch:rows hidden:cols\n"),
    ("2x2x2", "mesh rows:2 cols:2 planes:2\nlayout batch:rows hidden:cols io:planes\n"),
];
/// The browser measures the same two (frontend/src/bench.rs).
const CLICKED: &str = "mesh rows:8 cols:8\nlayout batch:rows hidden:cols\nmodel two_layer \
                       batch:64 io:64 hidden:64\ntrain optimizer:adam rate:0.001 steps:10\n";
const QUARTER: &str = "mesh rows:2 cols:2\nlayout batch:rows hidden:cols\nmodel two_layer \
                       batch:64 io:256 hidden:1024\ntrain optimizer:sgd rate:0.01 steps:1000\n";

pub(super) fn bench(args: &Args) -> Result<(), Failure> {
    let measures = measure(args.rounds.max(1))?;
    let mut out = io::stdout().lock();
    if args.json {
        serde_json::to_writer(&mut out, &measures)?;
        writeln!(out)?;
        return Ok(());
    }
    writeln!(out, "{} threads", measures.threads)?;
    writeln!(out, "product 2048³      {} GFLOP/s", real(measures.sgemm_gflop_per_second))?;
    writeln!(out, "text to study      {} ms (64 processors)", real(measures.resolve_ms))?;
    writeln!(
        out,
        "W1 at a quarter    {} steps/s on one thread, {} GFLOP/s",
        real(measures.steps_per_second),
        real(measures.gflop_per_second)
    )?;
    for (name, step) in &measures.w1 {
        writeln!(
            out,
            "W1 {name:8}        {} ms a step, {:.0} % of the product's rate, {:.2} × unsharded",
            real(step.ms),
            100.0 * step.share_of_sgemm,
            step.over_unsharded
        )?;
    }
    Ok(())
}

fn measure(rounds: usize) -> Result<Measures, Failure> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let pool = || Threads::new(threads).map_err(|e| Failure::Misuse(e.to_string()));
    let mut sessions = Vec::new();
    for (name, layout) in LAYOUTS {
        let study = Study::new(&format!("{layout}{W1}"));
        let mut session = session(&study, pool()?)?;
        session.step();
        sessions.push((name, session, Vec::new()));
    }
    let product_pool = pool()?;
    let (mut products, mut resolves) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        products.push(product(2048, &product_pool));
        for (_, session, times) in &mut sessions {
            times.push(time(|| session.step()));
            times.push(time(|| session.step()));
        }
        for _ in 0..20 {
            resolves.push(time(|| Study::new(CLICKED)));
        }
    }
    let best = products.into_iter().fold(f64::INFINITY, f64::min);
    let peak = 2.0 * 2048_f64.powi(3) / best;
    let mut w1 = BTreeMap::new();
    let mut unsharded = None;
    for (name, _, times) in sessions {
        let seconds = median(times);
        let whole = *unsharded.get_or_insert(seconds);
        let step = Step {
            ms: seconds * 1e3,
            share_of_sgemm: W1_FLOP / seconds / peak,
            over_unsharded: seconds / whole,
        };
        w1.insert(name, step);
    }
    let study = Study::new(QUARTER);
    let mut quarter = session(&study, Alone)?;
    quarter.step();
    let steps = 40;
    let seconds = time(|| {
        for _ in 0..steps {
            black_box(quarter.step());
        }
    });
    let flops =
        study.totals().map_or(0.0, |t| t.flops_per_processor) * study.mesh().processors() as f64;
    let steps_per_second = f64::from(steps) / seconds;
    Ok(Measures {
        threads,
        sgemm_gflop_per_second: peak / 1e9,
        resolve_ms: median(resolves) * 1e3,
        steps_per_second,
        gflop_per_second: steps_per_second * flops / 1e9,
        w1,
    })
}

fn session<P: Pool>(study: &Study, pool: P) -> Result<Session<P>, Failure> {
    Session::new(study, None, pool).map_err(|why| {
        let why: Vec<String> = why.into_iter().map(|d| d.message).collect();
        Failure::Misuse(why.join("; "))
    })
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

/// Seconds that an n×n×n product takes, as the engine computes it.
fn product(n: usize, pool: &impl Pool) -> f64 {
    let local = |a: &str, b: &str| Local { names: vec![a.into(), b.into()], sizes: vec![n, n] };
    let plan = Einsum::new(&local("i", "k"), &local("k", "j"), &local("i", "j"));
    let Einsum::Matrices(plan) = plan else { return f64::NAN };
    let a: Vec<f32> = (0..n * n).map(|i| (i % 7) as f32).collect();
    let b: Vec<f32> = (0..n * n).map(|i| (i % 5) as f32).collect();
    let mut c = vec![0.0_f32; n * n];
    let mut panels = vec![0.0; plan.panels::<f32>()];
    let (part, whole) = plan.sides(&a, &b);
    time(|| {
        pool.each(plan.packings(whole, &mut panels), Packing::pack);
        pool.each(plan.tasks(part, vec![(whole, &panels, &mut c)]), |mut task| {
            Number::multiply(&mut task);
        });
    })
}
