//! Whole messages: a request is judged by the served document and then by the component, as a host does
//! it. What is refused gets a refusal that the document announces; what is taken is what the API
//! definition allows, and goes on byte for byte.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use fsp_interop_api::bindings::exports::rialto::host::http_handler::{
    Request, RequestHead, Response, Violation, ViolationKind,
};
use fsp_interop_api::bindings::rialto::host::crypto::{Algorithm, Verdict};
use fsp_interop_api::headers::forwardable;
use fsp_interop_api::inbound::{self, Inbound, Measure, Taken};
use fsp_interop_api::jws::Keys;
use fsp_interop_api::jws::memory::Documents;
use fsp_interop_api::refusal;
use fsp_interop_api::settings::Settings;
use regex::Regex;
use rialto_openapi::{Document, Kind, head, validate};
use rialto_sdk::bindings::rialto::common::types::{Message, Money, PartyId};
use rialto_sdk::errors::{DESCRIPTION_MAX, http_status};
use rialto_sdk::headers::of_list;
use rialto_sdk::messages::is_same_party;
use rialto_sdk::money::{format_amount, minor_units};
use rialto_sdk::scheme::Scheme;
use serde_json::{Value, json};

use crate::request::Sent;

/// The document that the component serves.
pub static DOCUMENT: LazyLock<Document> = LazyLock::new(|| {
    let text = include_str!("../../plugins/contexts/fsp-interop-api/openapi.yaml");
    Document::parse(text).expect("the component's own document")
});
/// The codes that it announces.
static CODES: LazyLock<BTreeMap<&str, &str>> = LazyLock::new(|| {
    let listed = DOCUMENT.root["x-rialto-errors"].as_array();
    let listed = listed.expect("the document lists errors").iter();
    let text = |error: &'static Value, member| error[member].as_str().unwrap_or_default();
    listed
        .map(|error| (text(error, "code"), text(error, "name")))
        .collect()
});
static SCHEME: LazyLock<Scheme> = LazyLock::new(|| {
    let currency = |code, scale| json!({ "code": code, "scale": scale });
    let currencies = [currency("USD", 2), currency("JPY", 0), currency("TND", 3)];
    let scheme = json!({ "name": "fuzz", "hub": "Hub", "currencies": currencies });
    serde_json::from_value(scheme).expect("a scheme")
});
/// The API definition's pattern of a CorrelationId.
static ID: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
        .expect("a pattern")
});
/// 32 bytes as base64url, and two bits more.
static BYTES_32: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[A-Za-z0-9_-]{43}$").expect("a pattern"));

/// 2026-11-22: the instant at which all messages come.
pub const NOW: u64 = 1_795_305_600_000;

/// Nobody has a key.
#[derive(Debug)]
struct NoKeys;

impl Keys for NoKeys {
    fn has_key(&self, _: &str) -> bool {
        false
    }

    fn verify(&self, _: &str, _: Algorithm, _: &str, _: &str, _: &str) -> Verdict {
        Verdict::NoKey
    }

    fn has_own_key(&self) -> bool {
        false
    }
}

/// No transfer has taken a commitment.
#[derive(Debug)]
struct NothingTaken;

impl Taken for NothingTaken {
    fn hash(&self, _: &str, _: &str) -> Option<String> {
        None
    }
}

/// The bytes are a request, perhaps.
pub fn judge(bytes: &[u8]) {
    let Some(sent) = Sent::read(bytes) else {
        return;
    };
    if sent.body.len() > DOCUMENT.body_bytes_max {
        return;
    }
    match request_of(&sent) {
        Ok(request) => taken_by_the_document(&sent, request),
        Err(violation) => {
            let head = RequestHead {
                method: sent.head.method.as_str().to_owned(),
                path: sent.head.uri.path().to_owned(),
                headers: head::texts(&sent.head.headers),
            };
            let response = refusal::word(&head, &violation, &Settings::default());
            is_refusal(&response);
            let is_version = violation.kind == ViolationKind::UnacceptableVersion;
            assert_eq!(response.status == 406, is_version);
        }
    }
}

/// What the component is given, or what the document finds wrong.
///
/// # Errors
/// The first violation.
pub fn request_of(sent: &Sent) -> Result<Request, Violation> {
    let found = DOCUMENT.find(sent.head.uri.path());
    let judged = head::judge(found, &sent.head, DOCUMENT.header_bytes_max).map_err(told)?;
    let body = validate::body(&judged.operation, &sent.body).map_err(told)?;
    Ok(Request {
        operation_id: judged.operation.id.clone(),
        method: sent.head.method.as_str().to_owned(),
        path: sent.head.uri.path().to_owned(),
        path_parameters: judged.path_parameters,
        query_parameters: judged.query_parameters,
        headers: head::texts(&sent.head.headers),
        body,
        caller: None,
    })
}

fn told(violation: rialto_openapi::Violation) -> Violation {
    let kind = match violation.kind {
        Kind::HeadersTooLarge => ViolationKind::HeadersTooLarge,
        Kind::UnknownPath => ViolationKind::UnknownPath,
        Kind::MethodNotAllowed => ViolationKind::MethodNotAllowed,
        Kind::Missing => ViolationKind::Missing,
        Kind::Malformed => ViolationKind::Malformed,
        Kind::UnacceptableVersion => ViolationKind::UnacceptableVersion,
        Kind::NotJson => ViolationKind::NotJson,
        Kind::TooManyElements => ViolationKind::TooManyElements,
    };
    Violation {
        kind,
        location: violation.location,
        detail: violation.detail,
        allowed: violation.allowed,
    }
}

fn taken_by_the_document(sent: &Sent, request: Request) {
    let section = of_list(&request.headers);
    let content_type = refusal::content_type(&section, &request.path);
    let settings = Settings::default();
    let measure = Measure {
        scheme: &SCHEME,
        settings: &settings,
        keys: &NoKeys,
        memory: &Documents::<rialto_sdk::documents::Memory>::default(),
        taken: &NothingTaken,
        now: NOW,
    };
    let body: Value = match &request.body {
        None => Value::Null,
        Some(body) => serde_json::from_str(body).expect("what the document takes is JSON"),
    };
    let method = request.method.clone();
    let (subject, result) = inbound::read(request, section.clone(), measure);
    match result {
        Err(error) => {
            assert_eq!(error.code == "2002", method == "PATCH");
            is_refusal(&refusal::refuse(content_type, &error));
        }
        Ok(inbound) => {
            let subject = subject.expect("what is taken is about something");
            assert!(!subject.id.is_empty());
            let message = message_of(&inbound);
            assert_eq!(message.headers, forwardable(&section, &method));
            if !body.is_null() {
                assert_eq!(message.body.as_bytes(), sent.body, "byte for byte");
            }
            is_allowed(&inbound, &body, sent);
        }
    }
}

/// A refusal that the document announces: nothing that is the host's fault.
fn is_refusal(response: &Response) {
    let body = response.body.as_deref().expect("a refusal says why");
    let body: Value = serde_json::from_str(body).expect("in JSON");
    let text = |member| {
        let text = body["errorInformation"][member].as_str();
        text.expect("code and description")
    };
    let (code, description) = (text("errorCode"), text("errorDescription"));
    assert!(CODES.contains_key(code), "{code} is not announced");
    let length = description.chars().count();
    assert!((1..=DESCRIPTION_MAX).contains(&length), "{description}");
    let status = response.status;
    if status == 405 {
        assert_eq!(code, "3000");
        assert!(response.headers.iter().any(|(name, _)| name == "allow"));
    } else {
        assert_eq!(status, http_status(code), "{code}");
    }
    assert!((400..500).contains(&status) || (status == 501 && code == "2002"));
    for (name, value) in &response.headers {
        assert!(
            http::HeaderName::from_bytes(name.as_bytes()).is_ok(),
            "{name}"
        );
        assert!(http::HeaderValue::from_str(value).is_ok(), "{value}");
    }
}

/// The message that goes on with an event.
fn message_of(inbound: &Inbound) -> &Message {
    match inbound {
        Inbound::AssociateParty(event) => &event.message,
        Inbound::AssociateParties(event) => &event.message,
        Inbound::DisassociateParty(event) => &event.message,
        Inbound::QueryParticipant(event) => &event.message,
        Inbound::QueryParty(event) => &event.message,
        Inbound::AnswerParty(event) => &event.message,
        Inbound::RefuseAnswer(event) => &event.message,
        Inbound::RequestQuote(event) => &event.message,
        Inbound::AnswerQuote(event) => &event.message,
        Inbound::RefuseQuote(event) => &event.message,
        Inbound::QueryQuote(event) => &event.message,
        Inbound::RequestTransfer(event) => &event.message,
        Inbound::FulfilTransfer(event) => &event.message,
        Inbound::RejectTransfer(event) => &event.message,
        Inbound::QueryTransfer(event) => &event.message,
    }
}

/// What was taken has the forms of the API definition, and the event says what the body says.
fn is_allowed(inbound: &Inbound, body: &Value, sent: &Sent) {
    let header = |name| sent.head.headers.get(name).and_then(|v| v.to_str().ok());
    let source = header("fspiop-source").expect("the sender is known");
    assert!((1..=32).contains(&source.chars().count()));
    let date = header("date").expect("a message has a date");
    assert!(httpdate::parse_http_date(date).is_ok());
    let text = |pointer: &str| {
        body.pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    match inbound {
        Inbound::RequestTransfer(event) => {
            assert!(ID.is_match(&event.transfer_id) && event.transfer_id == text("/transferId"));
            assert_eq!(event.payer_fsp, source);
            assert_eq!(event.payee_fsp, text("/payeeFsp"));
            says(&event.amount, body, "/amount");
            assert!(minor_units(&event.amount) > 0);
            assert!(BYTES_32.is_match(&event.condition));
        }
        Inbound::FulfilTransfer(event) => {
            assert!(ID.is_match(&event.transfer_id));
            assert!(matches!(text("/transferState"), "COMMITTED" | "RESERVED"));
            let fulfilment = event.fulfilment.as_deref();
            assert!(fulfilment.is_none_or(|text| BYTES_32.is_match(text)));
            let at = event.completed_timestamp.unwrap_or(NOW);
            assert!((NOW - 300_000..=NOW + 200).contains(&at));
        }
        Inbound::RequestQuote(event) => {
            let asked = &event.request;
            assert!(ID.is_match(&asked.quote_id) && asked.quote_id == text("/quoteId"));
            assert!(ID.is_match(&asked.transaction_id));
            says(&asked.amount, body, "/amount");
            if let Some(fees) = &asked.fees {
                says(fees, body, "/fees");
            }
        }
        Inbound::AnswerQuote(event) => {
            let given = &event.response;
            assert!(ID.is_match(&event.quote_id) && BYTES_32.is_match(&given.condition));
            says(&given.transfer_amount, body, "/transferAmount");
        }
        Inbound::RefuseQuote(event) => refuses(&event.error.code, body),
        Inbound::RejectTransfer(event) => refuses(&event.error.code, body),
        Inbound::QueryQuote(event) => assert!(ID.is_match(&event.quote_id)),
        Inbound::QueryTransfer(event) => assert!(ID.is_match(&event.transfer_id)),
        Inbound::AssociateParty(event) => is_party(&event.party.identifier),
        Inbound::DisassociateParty(event) => is_party(&event.party.identifier),
        Inbound::QueryParticipant(event) => is_party(&event.party.identifier),
        Inbound::QueryParty(event) => is_party(&event.party.identifier),
        Inbound::AssociateParties(event) => {
            assert!(ID.is_match(&event.request_id) && event.request_id == text("/requestId"));
            assert!((1..=1_000).contains(&event.parties.len()));
            let sound = event.parties.iter().filter(|asked| asked.error.is_none());
            sound.for_each(|asked| is_party(&asked.party.identifier));
        }
        Inbound::AnswerParty(event) => {
            is_party(&event.party.identifier);
            let named = text("/party/partyIdInfo/fspId");
            let is_its_own = is_same_party(&told_of(body), &event.party);
            assert!(event.error.is_some() || (["", source].contains(&named) && is_its_own));
        }
        Inbound::RefuseAnswer(event) => {
            is_party(&event.party.identifier);
            let is_its_own = is_same_party(&told_of(body), &event.party);
            assert!(!["", source].contains(&text("/party/partyIdInfo/fspId")) || !is_its_own);
        }
    }
}

/// The party that the body of an answer names.
fn told_of(body: &Value) -> PartyId {
    let info = &body["party"]["partyIdInfo"];
    let text = |name: &str| info[name].as_str().map(str::to_owned);
    PartyId {
        id_type: text("partyIdType").unwrap_or_default(),
        identifier: text("partyIdentifier").unwrap_or_default(),
        sub_id_or_type: text("partySubIdOrType"),
    }
}

/// Money of the scheme, as the body writes it.
fn says(money: &Money, body: &Value, pointer: &str) {
    let body = body.pointer(pointer).unwrap_or(&Value::Null);
    assert_eq!(body["currency"], money.currency.as_str());
    assert_eq!(body["amount"], format_amount(money).as_str());
    assert_eq!(SCHEME.scale_of(&money.currency), Some(money.scale));
}

/// A code that one FSP may send another through the hub.
fn refuses(code: &str, body: &Value) {
    assert_eq!(body["errorInformation"]["errorCode"], code);
    let first: u16 = code.get(..2).and_then(|two| two.parse().ok()).unwrap_or(0);
    let is_the_apis = matches!(first, 10 | 20 | 30..=34 | 40..=44 | 50..=54);
    // Those that deployments add.
    let is_added = code == "6000" || matches!(first, 70..=79);
    assert!(is_the_apis || is_added, "{code}");
}

/// One segment of a path, that no other looks like.
fn is_party(identifier: &str) {
    assert!((1..=128).contains(&identifier.chars().count()));
    assert!(!identifier.contains(['/', '?', '\\']) && identifier.trim() == identifier);
    assert!(!identifier.chars().any(char::is_control) && !matches!(identifier, "." | ".."));
}
