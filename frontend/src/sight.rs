//! What is in sight follows a change at once; what is not follows a moment later, so that a click
//! pays only for what its user can see. What is read rather than looked at follows one frame
//! later, so that pictures need not wait for it.

use leptos::html::Article;
use leptos::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::Duration;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{IntersectionObserver, IntersectionObserverEntry, IntersectionObserverInit};

/// How long what is out of sight waits after a change.
const LATER: Duration = Duration::from_millis(200);
/// What is as near as this to the edge of the view counts as in sight.
const MARGIN: &str = "120px";

/// Watches which elements are in sight.
#[derive(Debug, Clone, Copy)]
pub struct Sight {
    /// The ids of those that are not.
    away: RwSignal<BTreeSet<String>>,
    /// Goes up when what is out of sight may follow.
    later: RwSignal<u32>,
    /// Whether it will.
    waiting: StoredValue<bool>,
    /// `None` in a browser without it: then all count as in sight.
    observer: StoredValue<Option<IntersectionObserver>, LocalStorage>,
}

impl Sight {
    /// Watches nothing yet.
    pub fn watching() -> Self {
        let away = RwSignal::new(BTreeSet::new());
        let note = move |entries: js_sys::Array| {
            let entries = entries.iter().map(JsCast::unchecked_into::<IntersectionObserverEntry>);
            away.update(|away| entries.for_each(|e| sort(away, &e)));
        };
        let note = Closure::<dyn FnMut(js_sys::Array)>::new(note).into_js_value();
        let options = IntersectionObserverInit::new();
        options.set_root_margin(MARGIN);
        // the columns scroll, not the page; browsers that do not know this margin have none
        drop(js_sys::Reflect::set(&options, &"scrollMargin".into(), &JsValue::from_str(MARGIN)));
        let observer = IntersectionObserver::new_with_options(note.unchecked_ref(), &options);
        Self {
            away,
            later: RwSignal::new(0),
            waiting: StoredValue::new(false),
            observer: StoredValue::new_local(observer.ok()),
        }
    }

    /// Lets all that is out of sight follow in a moment: one wait for all.
    fn call_later(self) {
        if self.waiting.get_value() {
            return;
        }
        self.waiting.set_value(true);
        let call = move || {
            // the pane may be gone by then
            if self.waiting.try_set_value(false).is_none() {
                self.later.update(|n| *n = n.wrapping_add(1));
            }
        };
        set_timeout(call, LATER);
    }

    /// Whether the element, which has this id, is in sight. It is until the browser says otherwise.
    pub fn watch(self, element: NodeRef<Article>, id: String) -> Memo<bool> {
        Effect::new(move |_| {
            if let Some(element) = element.get() {
                self.observer.with_value(|o| o.as_ref().map(|o| o.observe(&element)));
            }
        });
        let name = id.clone();
        on_cleanup(move || {
            // gone with the pane itself
            let _was_away = self.away.try_update(|away| away.remove(&name));
        });
        Memo::new(move |_| self.away.with(|away| !away.contains(&id)))
    }
}

fn sort(away: &mut BTreeSet<String>, entry: &IntersectionObserverEntry) {
    let element = entry.target();
    if entry.is_intersecting() || !element.is_connected() {
        away.remove(&element.id());
    } else {
        away.insert(element.id());
    }
}

/// The value: at once in sight, a moment later out of it.
pub fn follow<T>(value: Memo<T>, sight: Sight, in_sight: Memo<bool>) -> ReadSignal<T>
where
    T: Clone + PartialEq + Send + Sync + 'static,
{
    let (seen, see) = signal(value.get_untracked());
    let is_behind = move || value.with(|v| seen.with_untracked(|s| v != s));
    Effect::new(move |called: Option<u32>| {
        let now = sight.later.get();
        if !is_behind() {
            return now;
        }
        if in_sight.get() || called.is_some_and(|before| before != now) {
            see.set(value.get_untracked());
        } else {
            sight.call_later();
        }
        now
    });
    seen
}

/// The value, one frame later: the frame that a change leads to is painted without what follows.
pub fn one_frame_later<T, S>(value: S) -> ReadSignal<T>
where
    T: Clone + PartialEq + Send + Sync + 'static,
    S: With<Value = T> + GetUntracked<Value = T> + Copy + 'static,
{
    let (seen, see) = signal(value.get_untracked());
    let waiting = StoredValue::new(false);
    Effect::new(move |_| {
        let is_behind = value.with(|v| seen.with_untracked(|s| v != s));
        if !is_behind || waiting.get_value() {
            return;
        }
        waiting.set_value(true);
        let follow = move || {
            // its reader may be gone by then
            if waiting.try_set_value(false).is_none()
                && let Some(value) = value.try_get_untracked()
            {
                see.set(value);
            }
        };
        after_this_frame(follow);
    });
    seen
}

thread_local! {
    /// What is to be called when the frame that is being made is painted.
    static CALLS: RefCell<Vec<Box<dyn FnOnce()>>> = const { RefCell::new(Vec::new()) };
}

/// Calls as the frame after the one that is being made begins. All who ask within a frame share
/// what is asked of the browser.
pub fn after_this_frame(call: impl FnOnce() + 'static) {
    let is_first = CALLS.with_borrow_mut(|calls| {
        calls.push(Box::new(call));
        calls.len() == 1
    });
    if is_first {
        request_animation_frame(|| {
            let calls = CALLS.take();
            request_animation_frame(move || calls.into_iter().for_each(|call| call()));
        });
    }
}

/// The value, for those whose work is worth sparing: while it stays the same they are not even
/// asked whether it did. A reader of a memo is, whenever what the memo is made of changes.
pub fn when_other<T>(value: Memo<T>) -> ReadSignal<T>
where
    T: Clone + PartialEq + Send + Sync + 'static,
{
    let (seen, see) = signal(value.get_untracked());
    Effect::new(move |_| {
        if value.with(|v| seen.with_untracked(|s| v != s)) {
            see.set(value.get_untracked());
        }
    });
    seen
}
