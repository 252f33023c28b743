//! Links: every version ever released keeps opening, and what is no link says why.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use meshwork_engine::diag::Code;
use meshwork_engine::examples;
use meshwork_engine::spec::parse::parse;
use meshwork_engine::spec::url::{MAX_DECODED, MAX_ENCODED, decode, encode, is_long};

#[track_caller]
fn fails(link: &str, code: Code, message: &str) {
    let error = decode(link).unwrap_err();
    assert_eq!(error.code, code, "{error:?}");
    assert!(error.message.contains(message), "{}", error.message);
    assert!(!error.hints.is_empty());
}

#[track_caller]
fn opens(link: &str, text: &str) {
    assert_eq!(decode(link).unwrap().as_deref(), Some(text));
}

const FIGURE_4: &str = "mesh rows:2 cols:2\nlayout batch:rows hidden:cols\n\
    model two_layer batch:8 io:4 hidden:8\n";

/// A link of version 1 as it was released. It must open for ever; never change it.
const RELEASED_1: &str = "#1=y00tzlAoyi8vtjJSSM7PAVJcOYmV-aUlCkmJJckZViAphYzMlJTUPCuQPFdufkpqjkJJeX48UF1qEVSZhUJmvpUJTKEFFwA";

#[test]
fn released_links_open() {
    opens(RELEASED_1, FIGURE_4);
}

#[test]
fn links_hold_the_text() {
    for text in examples::ALL.iter().map(|e| e.text).chain(["", "a", "é\0\r\n"]) {
        let link = encode(text);
        assert!(link.starts_with("#1="));
        assert!(link[3..].bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'));
        opens(&link, text);
        opens(&link[1..], text);
        opens(&format!("/{link}"), text);
        opens(&format!("https://example.org/{link}"), text);
        opens(&format!("http://localhost:1/?mesh=x:2{link}"), text);
        opens(&format!("{link}=="), text);
        opens(&format!("{link}%3D%3D"), text);
    }
}

#[test]
fn no_study() {
    for link in
        ["", "/", "#", "?", "#section", "/#help", "?study=abc", "?mesh", "https://a.b/?x=1", "mesh"]
    {
        assert_eq!(decode(link), Ok(None), "{link}");
    }
}

#[test]
fn bad_links() {
    fails("#2=abc", Code::BadLink, "version 2; this Meshwork opens links of version 1");
    fails("#0=abc", Code::BadLink, "version 0");
    fails("#1=", Code::BadLink, "cannot be inflated");
    fails("#1=a b", Code::BadLink, "base64url");
    fails("#1=/+", Code::BadLink, "base64url");
    fails("#1=é", Code::BadLink, "base64url");
    let link = encode(examples::ALL[3].text);
    fails(&link[..link.len() - 8], Code::BadLink, "cannot be inflated");
    fails("#1=%ff", Code::BadLink, "codes");
    let deflated = miniz_oxide::deflate::compress_to_vec(&[0xff, 0xfe], 6);
    let link = base64::Engine::encode(&base64::prelude::BASE64_URL_SAFE_NO_PAD, deflated);
    fails(&format!("#1={link}"), Code::BadLink, "no text");
}

#[test]
fn large_links() {
    let digits: String =
        (0..9000_u64).map(|i| (i * i * 2_654_435_761 % 9_999_991).to_string()).collect();
    assert!(encode(&digits).len() > 8000);
    assert!(is_long(&digits));
    fails(&format!("#1={}", "A".repeat(MAX_ENCODED + 1)), Code::TooLarge, "characters");
    fails(&format!("?mesh={}", "a".repeat(MAX_ENCODED)), Code::TooLarge, "characters");
    let bomb = encode(&" ".repeat(MAX_DECODED + 1));
    assert!(bomb.len() < MAX_ENCODED);
    fails(&bomb, Code::TooLarge, "longer than");
    let most = " ".repeat(MAX_DECODED);
    opens(&encode(&most), &most);
}

#[test]
fn queries() {
    let text = "mesh rows:2,cols:2\nlayout batch:rows,hidden:cols\nmodel two_layer\n";
    opens("?mesh=rows:2,cols:2&layout=batch:rows,hidden:cols&model=two_layer", text);
    opens("/?model=two_layer&layout=batch:rows,hidden:cols&utm=x&mesh=rows:2,cols:2#top", text);
    opens("mesh=rows%3A2%2Ccols%3A2&layout=batch:rows,hidden:cols&model=two_layer", text);
    opens("?layout=batch:rows+cols", "layout batch:rows+cols\n");
    opens("?layout=batch:rows%2Bcols", "layout batch:rows+cols\n");
    opens("?layout=batch:rows+hidden:cols+planes", "layout batch:rows hidden:cols+planes\n");
    opens("?layout=batch:rows%20hidden:cols", "layout batch:rows hidden:cols\n");
    opens("?model=two_layer+batch:8", "model two_layer batch:8\n");
    opens("?layout=&mesh=a:2", "mesh a:2\nlayout\n");
    opens("?mesh=100%&dims=a:1", "mesh 100%\ndims a:1\n");
    fails("?mesh=a:2%0Aend", Code::BadLink, "several lines");
    fails("?mesh=%ff", Code::BadLink, "codes");
}

#[test]
fn queries_read_without_problems() {
    let link = "?mesh=rows:2,cols:2&layout=batch:rows,hidden:cols&model=two_layer,batch:8,io:4\
                &train=rate:0.1,steps:3&pipeline=over:rows&hardware=tpu-v2";
    let text = decode(link).unwrap().unwrap();
    assert_eq!(parse(&text).1, [], "{text}");
}
