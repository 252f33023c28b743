//! A text as a file that the browser saves.

use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use wasm_bindgen::JsValue;
use web_sys::{Blob, HtmlElement, Url};

/// Offers the text as a file of this name.
pub fn save(name: &str, text: &str) {
    // fails only where there is no memory for another copy; then nothing is saved
    drop(offer(name, text));
}

fn offer(name: &str, text: &str) -> Result<(), JsValue> {
    let parts = js_sys::Array::of1(&JsValue::from_str(text));
    let address = Url::create_object_url_with_blob(&Blob::new_with_str_sequence(&parts)?)?;
    let link = document().create_element("a")?;
    link.set_attribute("href", &address)?;
    link.set_attribute("download", name)?;
    link.unchecked_into::<HtmlElement>().click();
    Url::revoke_object_url(&address)
}
