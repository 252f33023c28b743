//! The reference of the study language, in a dialog.

use crate::icons::{Icon, icon};
use crate::state::Studio;
use crate::theme;
use leptos::html::Dialog;
use leptos::prelude::*;
use meshwork_engine::graph::expr::functions::FUNCTIONS;

/// An example of each statement, and what it means.
const STATEMENTS: [(&str, &str); 10] = [
    ("mesh rows:2 cols:2", "Processors in named dimensions, numbered row by row."),
    (
        "layout batch:rows hidden:cols",
        "Sends tensor dimensions to mesh dimensions. batch:rows+cols splits over both.",
    ),
    (
        "model two_layer batch:8 io:4 hidden:8",
        "A network ready made: two_layer, or mlp of any depth. dtype:f64 computes with numbers of 8 \
         bytes; the train line takes it, too.",
    ),
    ("dims batch:8 io:4 hidden:8", "Sizes of the dimensions of a network written out."),
    ("input x[batch io], target[batch io]", "Tensors that come from outside."),
    (
        "param w[io hidden] init:normal(0 0.1)",
        "Tensors that are trained. init: takes zeros, ones, normal, uniform, values, hash.",
    ),
    ("h = relu(einsum(x, w -> batch hidden) + bias)", "A tensor from others."),
    (
        "train optimizer:adam rate:0.001 steps:200 data:iris",
        "Minimises the tensor loss by sgd, momentum, adam, adamw or adafactor, on a table or on \
         data:teacher. warmup: and decay: change the rate over time, clip: bounds the gradients.",
    ),
    (
        "pipeline over:stages micro_batches:8 schedule:1f1b remat:on",
        "Puts the layers on cells, the places along a mesh dimension, and cuts the batch. schedule: \
         takes gpipe, 1f1b, interleaved, zb_h1 and more; balance:(3 5) counts the layers of each \
         stage, chunks: the stages of each cell; remat: computes activations again (on, off, \
         except_last); costs:, shares:, hop: and overlap: say how long tasks take.",
    ),
    ("# a comment", "The rest of the line is for people."),
];

/// Keys.
const KEYS: [(&str, &str); 5] = [
    ("Ctrl+Z, Ctrl+Shift+Z", "Undo and redo, wherever you are."),
    ("Arrow keys, Space", "Walk over the layout grid and toggle a rule."),
    ("Arrow keys, Esc", "On the mesh: pick a processor, or none."),
    ("Arrow keys, Home, End", "On the time of a pipeline: to the change before, or the next."),
    ("Tab", "Goes on to the next control, in the text too."),
];

/// The dialog with the reference.
#[component]
pub fn Help(studio: Studio) -> impl IntoView {
    let dialog = NodeRef::<Dialog>::new();
    let is_open = studio.watch(|v| v.help);
    Effect::new(move |_| {
        let Some(dialog) = dialog.get() else { return };
        if is_open.get() && !dialog.open() {
            // fails only for a dialog that is not in the page
            drop(dialog.show_modal());
        } else if !is_open.get() && dialog.open() {
            dialog.close();
        }
    });
    let close = move || studio.view.update(|v| v.help = false);
    let introduce = move |_: web_sys::MouseEvent| {
        studio.view.update(|v| {
            v.help = false;
            v.intro = true;
        });
        theme::remember_intro(true);
    };
    view! {
        <dialog
            class="help"
            node_ref=dialog
            aria-labelledby="help-head"
            on:close=move |_| close()
        >
            <header class="help-head">
                <h2 id="help-head">"Reference"</h2>
                <button class="quiet small" on:click=introduce>"Show the introduction"</button>
                <button class="tool" aria-label="Close the reference" on:click=move |_| close()>
                    {icon(Icon::Close)}
                </button>
            </header>
            <div class="help-body" tabindex="0" role="group" aria-label="Reference text">
                <h3>"Statements, one per line"</h3>
                <dl>
                    {STATEMENTS.map(|(example, about)| view! {
                        <div><dt><code>{example}</code></dt><dd>{about}</dd></div>
                    }).into_iter().collect_view()}
                </dl>
                <h3>"Functions"</h3>
                <dl>
                    <div>
                        <dt><code>"+ - * / ^"</code></dt>
                        <dd>"element by element, with broadcasting by name"</dd>
                    </div>
                    {FUNCTIONS.iter().map(|f| view! {
                        <div><dt><code>{f.form}</code></dt><dd>{f.about}</dd></div>
                    }).collect_view()}
                </dl>
                <h3>"Reading the pictures"</h3>
                <p>
                    "A tensor is cut into its slices. The numbers in a slice are the processors that \
                     hold it: " <code>"0, 2"</code> " means both hold the same. A hatched slice is \
                     a summand: its holders’ values are still to be added up. A collective is the \
                     price of changing a layout."
                </p>
                <p>
                    "In a timeline each lane is a cell: " <code>"F3"</code> " is the forward pass of \
                     micro-batch 3, B its backward pass, R activations computed again, I and W the \
                     gradients of inputs and of weights; what is empty is the bubble."
                </p>
                <h3>"Keys"</h3>
                <dl>
                    {KEYS.map(|(keys, about)| view! {
                        <div><dt><kbd>{keys}</kbd></dt><dd>{about}</dd></div>
                    }).into_iter().collect_view()}
                </dl>
            </div>
        </dialog>
    }
}
