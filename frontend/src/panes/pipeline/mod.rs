//! The pipeline of a study: what it costs, who does what when, what each cell holds, and controls
//! that change the text. Studies without a `pipeline` line do not have the pane.
//!
//! ```text
//! head      schedule, micro-batches, …           change.rs
//! figures   bubble, wall time, memory            figures.rs
//! picture   timeline, memory below, a time       chart.rs, moment.rs
//! cut       the layers of each stage             cut.rs
//! measured  what a run's cells did               measured.rs
//! ```

pub mod change;
pub mod chart;
pub mod cut;
pub mod figures;
pub mod measured;
pub mod moment;

use crate::run_client::Runs;
use crate::state::Studio;
use leptos::prelude::*;
use meshwork_engine::staging::outlook::Outlook;
use std::ops::Deref;
use std::sync::Arc;

/// An outlook behind a pointer; equal means the same one.
#[derive(Debug, Clone)]
pub struct Look(Arc<Outlook>);

impl PartialEq for Look {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Deref for Look {
    type Target = Outlook;
    fn deref(&self) -> &Outlook {
        &self.0
    }
}

/// The pipeline of the shown study.
#[component]
pub fn Pipeline(studio: Studio, runs: Runs) -> impl IntoView {
    let look = Memo::new(move |_| {
        studio.shown.with(|s| s.study.outlook()).map(|outlook| Look(Arc::new(outlook)))
    });
    let is_there = Memo::new(move |_| look.with(Option::is_some));
    view! {
        <Show when=move || is_there.get()>
            <section class="pane pane-pipeline" aria-labelledby="pipeline-head">
                <header class="pane-head">
                    <h2 id="pipeline-head">"Pipeline"</h2>
                    <span class="pane-fact">{move || look.with(|l| l.as_ref().map(|l| size(l)))}</span>
                    <chart::Tools studio=studio look=look />
                </header>
                <div class="pipeline-body">
                    <change::Controls studio=studio look=look />
                    <figures::Figures studio=studio look=look />
                    <chart::Chart studio=studio look=look />
                    <cut::Cut studio=studio look=look />
                    <measured::Measured studio=studio runs=runs look=look />
                </div>
            </section>
        </Show>
    }
}

/// `4 cells, 8 micro-batches`.
fn size(look: &Outlook) -> String {
    let extent = look.extent();
    let stages =
        if extent.chunks > 1 { format!(", {} stages each", extent.chunks) } else { String::new() };
    let copies = if look.schedule().copies() > 1 { ", two copies of the model" } else { "" };
    format!("{} cells{stages}{copies}, {} micro-batches", extent.ranks, extent.micro_batches)
}

/// A share as percent with one decimal.
fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
