//! *Copy link*: the study in one link; beyond what a chat takes, a link to the study stored on the
//! server.

use crate::icons::{Icon, icon};
use crate::state::Studio;
use crate::{address, api};
use leptos::prelude::*;
use meshwork_engine::spec::url;
use std::time::Duration;
use wasm_bindgen_futures::JsFuture;

/// How long the confirmation stays.
const SHOWN: Duration = Duration::from_millis(2500);

/// The button that copies the link.
#[component]
pub fn CopyLink(studio: Studio) -> impl IntoView {
    let said = RwSignal::new(None::<&'static str>);
    let offer = RwSignal::new(false);
    let say = move |text| {
        said.set(Some(text));
        set_timeout(move || said.set(None), SHOWN);
    };
    let copy = move |link: String| async move {
        let written = JsFuture::from(window().navigator().clipboard().write_text(&link)).await;
        say(match written {
            Ok(_) => "Link copied",
            Err(_) => "Not allowed: copy the address bar",
        });
    };
    let share = move |_: web_sys::MouseEvent| {
        let text = studio.text.get_untracked();
        if url::is_long(&text) {
            offer.set(true);
        } else {
            leptos::task::spawn_local(copy(address::link(&text)));
        }
    };
    let share_long = move |_: web_sys::MouseEvent| {
        offer.set(false);
        leptos::task::spawn_local(copy(address::link(&studio.text.get_untracked())));
    };
    let store = move |_: web_sys::MouseEvent| {
        offer.set(false);
        leptos::task::spawn_local(async move {
            let text = studio.text.get_untracked();
            match api::store(&text).await {
                Ok(id) => copy(address::stored_link(&id)).await,
                Err(trouble) => studio.view.update(|v| v.notice = Some(trouble.message())),
            }
        });
    };
    view! {
        <div class="share">
            <button class="menu-button" on:click=share>
                {move || icon(if said.get().is_some() { Icon::Check } else { Icon::Link })}
                <span class="share-words">{move || said.get().unwrap_or("Copy link")}</span>
            </button>
            <span class="visually-hidden" role="status">{move || said.get()}</span>
            <Show when=move || offer.get()>
                <div class="share-offer" role="group" aria-label="A long link">
                    <p>
                        "This study makes a link of more than 8 000 characters, which many chats \
                         cut off. The server can keep it under a short one."
                    </p>
                    <button class="primary small" on:click=store>"Keep it on the server"</button>
                    <button class="quiet small" on:click=share_long>"Copy the long link"</button>
                    <button class="quiet small" on:click=move |_| offer.set(false)>"Cancel"</button>
                </div>
            </Show>
        </div>
    }
}
