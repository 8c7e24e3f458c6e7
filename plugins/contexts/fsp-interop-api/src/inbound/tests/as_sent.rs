//! What a scheme lets in that the API definition has otherwise: verified as it was sent, read and forwarded
//! in the definition's form.

use super::*;
use crate::settings::Deviation;

const MEDIA: &str = "application/vnd.interoperability.transfers+json;version=1.1";
const WITH_CHARSET: &str =
    "application/vnd.interoperability.transfers+json;version=1.1;charset=utf-8";

/// A fulfilment with a charset and a slash at its path's end, whose signature protects this as its
/// Content-Type, if anything.
fn read_fulfilment(content_type: Option<&str>) -> Result<Inbound, ErrorInformation> {
    let path = format!("/transfers/{ID}/");
    let body = json!({"transferState": "COMMITTED", "fulfilment": FULFILMENT});
    let call = Call::new("fulfilTransfer", "PUT", &path, "payeefsp")
        .parameter("ID", ID)
        .header("content-type", WITH_CHARSET)
        .body(&body);
    let settings = Settings {
        charset_parameter: Deviation::Accept,
        trailing_slash: Deviation::Accept,
        ..Settings::default()
    };
    let also = content_type.map(|value| ("Content-Type", value));
    call.read_signed(also, &settings, &Documents::default())
}

#[test]
fn what_a_signature_protects_is_verified_and_goes_on_as_it_was_sent() {
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
fn what_is_protected_otherwise_than_it_was_sent_is_refused() {
    assert_eq!(read_fulfilment(Some(MEDIA)).unwrap_err().code, "3105");
}
