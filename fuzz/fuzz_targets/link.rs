//! Any bytes are a link, or say why not; a link that opens holds a text that can be sent again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use meshwork_engine::spec::url::{MAX_DECODED, decode, encode};

fuzz_target!(|bytes: &[u8]| {
    let link = String::from_utf8_lossy(bytes);
    for link in [link.clone().into_owned(), format!("#1={link}"), format!("?layout={link}")] {
        match decode(&link) {
            Ok(Some(text)) => {
                assert!(text.len() <= MAX_DECODED);
                assert_eq!(decode(&encode(&text)).unwrap().unwrap(), text);
            }
            Ok(None) => {}
            Err(diagnostic) => assert!(!diagnostic.message.is_empty()),
        }
    }
});
