//! Deviations that a scheme admits: verified as they were sent, read and forwarded in the definition's form.

use super::*;
use crate::settings::Deviation;

const MEDIA: &str = "application/vnd.interoperability.transfers+json;version=1.1";
const WITH_CHARSET: &str =
    "application/vnd.interoperability.transfers+json;version=1.1;charset=utf-8";

/// A fulfilment with a charset and a slash at its path's end, whose signature protects this as its
/// Content-Type, if anything.
fn read_fulfilment(content_type: Option<&str>) -> Result<Inbound, ErrorInformation> {
    let path = format!("/transfers/{ID}/");
    read_fulfilment_at(&path, &path, content_type)
}

/// The same, sent to this path and signed for that one.
fn read_fulfilment_at(
    path: &str,
    signed: &str,
    content_type: Option<&str>,
) -> Result<Inbound, ErrorInformation> {
    let body = json!({"transferState": "COMMITTED", "fulfilment": FULFILMENT});
    let call = Call::new("fulfilTransfer", "PUT", path, "payeefsp")
        .parameter("ID", ID)
        .header("content-type", WITH_CHARSET)
        .body(&body);
    let settings = Settings {
        charset_parameter: Deviation::Accept,
        trailing_slash: Deviation::Accept,
        ..Settings::default()
    };
    let also = content_type.map(|value| ("Content-Type", value));
    call.read_signed(signed, also, &settings, &Documents::default())
}

#[test]
fn protected_headers_are_verified_and_forwarded_unchanged() {
    for (protected, goes_on) in [(None, MEDIA), (Some(WITH_CHARSET), WITH_CHARSET)] {
        let read = read_fulfilment(protected);
        let Ok(Inbound::FulfilTransfer(event)) = read else {
            panic!("{protected:?} {read:?}")
        };
        assert_eq!(event.message.path, format!("/transfers/{ID}"));
        let headers = &event.message.headers;
        assert_eq!(first(headers, "content-type"), Some(goes_on));
        let uri = format!("/transfers/{ID}/");
        assert_eq!(first(headers, "fspiop-uri"), Some(uri.as_str()));
    }
}

#[test]
fn path_is_signed_with_or_without_trailing_slash() {
    let (bare, with_slash) = (format!("/transfers/{ID}"), format!("/transfers/{ID}/"));
    for path in [&bare, &with_slash] {
        for signed in [&bare, &with_slash] {
            let read = read_fulfilment_at(path, signed, None);
            let Ok(Inbound::FulfilTransfer(event)) = read else {
                panic!("{path} {signed} {read:?}")
            };
            assert_eq!(event.message.path, bare);
            let uri = first(&event.message.headers, "fspiop-uri");
            assert_eq!(
                uri,
                Some(signed.as_str()),
                "its receiver verifies it as it was sent"
            );
        }
        let other = read_fulfilment_at(path, "/transfers", None);
        assert_eq!(other.unwrap_err().code, "3105");
    }
}

#[test]
fn what_is_protected_otherwise_than_it_was_sent_is_refused() {
    assert_eq!(read_fulfilment(Some(MEDIA)).unwrap_err().code, "3105");
}

#[test]
fn message_of_version_2_is_read_and_forwarded_unchanged() {
    const MEDIA_2: &str = "application/vnd.interoperability.transfers+json;version=2.0";
    let path = format!("/transfers/{ID}");
    let body = json!({"transferState": "RESERVED", "fulfilment": FULFILMENT, "ofVersion2": "x"});
    let call = Call::new("fulfilTransfer", "PUT", &path, "payeefsp")
        .parameter("ID", ID)
        .header("content-type", MEDIA_2)
        .body(&body);
    let (_, read) = call.read();
    let Ok(Inbound::FulfilTransfer(event)) = read else {
        panic!("{read:?}")
    };
    assert_eq!(event.mode, FulfilMode::Reserved);
    assert_eq!(event.answer_version.as_deref(), Some("2.0"));
    assert_eq!(first(&event.message.headers, "content-type"), Some(MEDIA_2));
    assert_eq!(event.message.body, body.to_string());
}
