//! What the studio knows: two writable signals, the text and the view state; everything else
//! follows from them by memos (text → study → what is shown → pictures).

use crate::history::Document;
use crate::sight::{one_frame_later, when_other};
use leptos::prelude::*;
use meshwork_engine::cost::tally::Totals;
use meshwork_engine::diag::Code;
use meshwork_engine::layout::dims::Dimension;
use meshwork_engine::layout::mesh::Mesh;
use meshwork_engine::spec::ast::Stmt;
use meshwork_engine::study::{CollectiveInfo, Study, TensorInfo};
use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

/// A study behind a pointer; equal means the same one.
#[derive(Debug, Clone)]
pub struct Shared(Arc<Study>);

impl Shared {
    fn new(study: Study) -> Self {
        Self(Arc::new(study))
    }
}

impl PartialEq for Shared {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Deref for Shared {
    type Target = Study;
    fn deref(&self) -> &Study {
        &self.0
    }
}

/// What the pictures show: the study as it stands, or, while its text is being broken, the last
/// one that could be read.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// The study.
    pub study: Shared,
    /// It is not the text as it stands.
    pub stale: bool,
}

/// The part of the studio a narrow screen shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tab {
    /// Text, mesh and layout.
    Study,
    /// Mesh and tensors.
    Pictures,
    /// Costs and collectives.
    Costs,
    /// Runs.
    Run,
}

/// Light or dark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// As the system says.
    System,
    /// Light.
    Light,
    /// Dark.
    Dark,
}

/// How the layout is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayoutAs {
    /// A grid of tensor dimensions by mesh dimensions.
    Grid,
    /// A menu per tensor dimension.
    Menus,
}

/// What is picked and what is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// The processor picked by a click, lit everywhere.
    pub picked: Option<u32>,
    /// The processors under the pointer (`data-p` of a mark), lit while it rests there.
    pub hovered: Option<String>,
    /// The tensors a picked collective carries, framed.
    pub tensors: Vec<String>,
    /// The collective picked, by position.
    pub collective: Option<usize>,
    /// The phase that collectives are narrowed to.
    pub phase: Option<&'static str>,
    /// Gradients, slots and intermediates are shown too.
    pub derived: bool,
    /// Pictures that show their table twin instead.
    pub tables: BTreeSet<String>,
    /// How the layout is shown.
    pub layout: LayoutAs,
    /// The part a narrow screen shows.
    pub tab: Tab,
    /// Light or dark.
    pub theme: Theme,
    /// The introduction is open.
    pub intro: bool,
    /// The reference is open.
    pub help: bool,
    /// Something to say at the top: a link that did not open, and the like.
    pub notice: Option<String>,
}

/// The state, handed to every pane.
#[derive(Debug, Clone, Copy)]
pub struct Studio {
    document: RwSignal<Document>,
    /// The view state.
    pub view: RwSignal<View>,
    /// The text as it stands.
    pub text: Memo<String>,
    /// The text taken through all stages.
    pub study: Memo<Shared>,
    /// What the pictures show.
    pub shown: Memo<Shown>,
    /// The same, one frame later: what costs and collectives are read from.
    pub told: ReadSignal<Shown>,
    /// Its tensors.
    pub tensors: Memo<Arc<[Arc<TensorInfo>]>>,
    /// Its tensor dimensions.
    pub dims: ReadSignal<Vec<Dimension>>,
    /// Its mesh.
    pub mesh: ReadSignal<Mesh>,
    /// Its collectives.
    pub collectives: Memo<Arc<[CollectiveInfo]>>,
    /// What the shown study costs one processor that does everything alone, for comparison.
    pub alone: Memo<Option<Totals>>,
}

impl Studio {
    /// The state of a studio that opens with this text.
    pub fn new(text: String, view: View) -> Self {
        let document = RwSignal::new(Document::new(text));
        let text = Memo::new(move |_| document.with(|d| d.text().to_owned()));
        let study = Memo::new(move |_| text.with(|t| Shared::new(Study::tried(t))));
        let shown = Memo::new(move |before: Option<&Shown>| {
            let study = study.get();
            match before {
                Some(last) if is_broken(&study) => Shown { study: last.study.clone(), stale: true },
                _ => Shown { study, stale: false },
            }
        });
        let told = one_frame_later(shown);
        let tensors = Memo::new(move |_| {
            shown.with(|s| s.study.tensors().into_iter().map(Arc::new).collect())
        });
        let dims = when_other(Memo::new(move |_| shown.with(|s| s.study.dims())));
        let mesh = when_other(Memo::new(move |_| shown.with(|s| s.study.mesh().clone())));
        let collectives = Memo::new(move |_| told.with(|s| Arc::from(s.study.collectives())));
        // clicks on mesh and layout leave it as it is
        let model = Memo::new(move |_| told.with(|s| without_layout(&s.study)));
        let alone = Memo::new(move |_| {
            // read, not only tracked: a memo that nobody reads never learns what it depends on
            model.with(|_| ());
            told.with_untracked(|s| s.study.alone().totals())
        });
        let view = RwSignal::new(view);
        Self { document, view, text, study, shown, told, tensors, dims, mesh, collectives, alone }
    }

    /// Changes the text as one step of the history.
    pub fn change(self, edit: impl FnOnce(&str) -> String) {
        self.document.update(|d| {
            let text = edit(d.text());
            d.change(text);
        });
    }

    /// Takes over what was typed.
    pub fn typed(self, text: String) {
        self.document.update(|d| d.typed(text, js_sys::Date::now()));
    }

    /// One step back.
    pub fn undo(self) {
        self.document.maybe_update(Document::undo);
    }

    /// One step forward.
    pub fn redo(self) {
        self.document.maybe_update(Document::redo);
    }

    /// Whether there is a step back.
    pub fn can_undo(self) -> bool {
        self.document.with(Document::can_undo)
    }

    /// Whether there is a step forward.
    pub fn can_redo(self) -> bool {
        self.document.with(Document::can_redo)
    }

    /// A part of the view state that only changes when its value does.
    pub fn watch<T: PartialEq + Send + Sync + 'static>(
        self,
        part: impl Fn(&View) -> T + Send + Sync + 'static,
    ) -> Memo<T> {
        Memo::new(move |_| self.view.with(&part))
    }
}

/// Whether a study with errors has nothing of its own to show. An illegal layout has: the picture
/// of what is legal, and the reasons for the rest.
fn is_broken(study: &Study) -> bool {
    let layout_only = |code: Code| {
        matches!(code, Code::MeshDimensionTwice | Code::NotDivisible | Code::NoLoss | Code::Data)
    };
    study.diagnostics().iter().any(|d| d.is_error() && !layout_only(d.code))
        || (study.tensors().is_empty() && has_statements(study))
}

/// The lines of a study that say nothing of mesh and layout.
fn without_layout(study: &Study) -> String {
    let items = study.spec().items.iter();
    let kept = items.filter(|i| !matches!(i.stmt, Stmt::Mesh(_) | Stmt::Layout(_)));
    kept.map(|i| i.span.of(study.text())).collect::<Vec<_>>().join("\n")
}

fn has_statements(study: &Study) -> bool {
    study.spec().items.iter().any(|i| i.stmt != Stmt::Blank)
}
