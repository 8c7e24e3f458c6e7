//! Messages and the events or refusals that they lead to.

mod as_sent;
mod party_messages;
mod quote_messages;
mod signed;
mod transfer_messages;

use super::*;
use crate::bindings::exports::rialto::host::http_handler::Caller;
use crate::bindings::rialto::transfers::types::FulfilMode;
use crate::jws::fake::NoKeys;
use crate::jws::memory::Documents;
use rialto_sdk::canonical::request_hash;
use rialto_sdk::headers::{each, of_list};
use rialto_sdk::money::{minor_units, money};
use serde_json::json;

fn scheme() -> Scheme {
    serde_json::from_value(json!({
        "name": "test", "hub": "Hub", "currencies": [{"code": "USD", "scale": 2}]
    }))
    .unwrap()
}

const NOW: u64 = 1_000_000;
const ID: &str = "b51ec534-ee48-4575-b6a9-ead2955b8069";
const CONDITION: &str = "fH9pAYDQbmoZLPbvv3CSW2RfjU4jvM4ApG_fqGnR7Xs";
const FULFILMENT: &str = "mhPUT9ZAwd-BXLfeSd7-YPh46rBWRNBiTCSWjpku90s";

/// The commitment that each transfer of the payee FSP has taken, by its hash.
#[derive(Debug)]
struct Known(Option<String>);

impl Taken for Known {
    fn hash(&self, transfer_id: &str, payee_fsp: &str) -> Option<String> {
        assert_eq!((transfer_id, payee_fsp), (ID, "payeefsp"));
        self.0.clone()
    }
}

struct Call(Request, Known);

impl Call {
    fn new(operation: &str, method: &str, path: &str, source: &str) -> Self {
        let request = Request {
            operation_id: operation.to_owned(),
            method: method.to_owned(),
            path: path.to_owned(),
            path_parameters: Vec::new(),
            query_parameters: Vec::new(),
            headers: vec![("fspiop-source".to_owned(), source.to_owned())],
            body: None,
            caller: None,
        };
        Self(request, Known(None))
    }

    fn parameter(mut self, name: &str, value: &str) -> Self {
        self.0
            .path_parameters
            .push((name.to_owned(), value.to_owned()));
        self
    }

    fn query(mut self, name: &str, value: &str) -> Self {
        self.0
            .query_parameters
            .push((name.to_owned(), value.to_owned()));
        self
    }

    fn header(mut self, name: &str, value: &str) -> Self {
        self.0.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    fn body(mut self, body: &Value) -> Self {
        self.0.body = Some(body.to_string());
        self
    }

    fn read(self) -> (Option<Subject>, Result<Inbound, ErrorInformation>) {
        let measure = Measure {
            scheme: &scheme(),
            settings: &Settings::default(),
            keys: &NoKeys,
            memory: &Documents::<rialto_sdk::documents::Memory>::default(),
            taken: &self.1,
            now: NOW,
        };
        let headers = of_list(&self.0.headers);
        read(self.0, headers, measure)
    }

    fn code(self) -> String {
        self.read().1.unwrap_err().code
    }
}

fn transfer(change: impl FnOnce(&mut Value)) -> Call {
    let mut body = json!({
        "transferId": ID, "payerFsp": "payerfsp", "payeeFsp": "payeefsp",
        "amount": {"currency": "USD", "amount": "10.5"}, "ilpPacket": "AQ",
        "condition": CONDITION, "expiration": "2016-05-24T08:38:08.699-04:00"
    });
    change(&mut body);
    Call::new("requestTransfer", "POST", "/transfers", "payerfsp").body(&body)
}

fn fulfil(body: &Value) -> Call {
    Call::new(
        "fulfilTransfer",
        "PUT",
        &format!("/transfers/{ID}"),
        "payeefsp",
    )
    .parameter("ID", ID)
    .header(
        "content-type",
        "application/vnd.interoperability.transfers+json;version=1.1",
    )
    .body(body)
}

#[test]
fn every_operation_of_the_openapi_document_is_handled() {
    let document = include_str!("../../openapi.yaml");
    let operations: Vec<_> = document
        .lines()
        .filter_map(|line| line.trim().strip_prefix("operationId: "))
        // It is answered at once, and is no message: see `fido`.
        .filter(|operation| *operation != crate::fido::OPERATION)
        .collect();
    assert_eq!(operations.len(), 22);
    for operation in operations {
        // An unknown operation panics; what is wrong with this empty message does not matter.
        let _ = Call::new(operation, "PUT", "/x", "fsp").read();
    }
}

#[test]
fn a_proven_sender_sends_in_its_own_name_only() {
    let proven = |name: &str| {
        let mut call = transfer(|_| {});
        call.0.caller = Some(Caller {
            name: name.to_owned(),
            roles: vec!["client".to_owned()],
        });
        call
    };
    assert!(proven("payerfsp").read().1.is_ok());
    for other in ["payeefsp", "PayerFsp", "payerfsp2", ""] {
        let refusal = proven(other).read().1.unwrap_err();
        assert_eq!(refusal.code, "3100", "{refusal:?}");
        assert!(refusal.description.contains("FSPIOP-Source"), "{refusal:?}");
    }
}

/// The hub signs what leaves in its name, forwarded messages too. Here senders prove nothing.
#[test]
fn nobody_sends_in_the_hubs_name() {
    let body = json!({ "errorInformation": { "errorCode": "3204", "errorDescription": "no" } });
    let path = "/parties/MSISDN/1/error";
    let forged = Call::new("refuseParty", "PUT", path, "Hub")
        .parameter("Type", "MSISDN")
        .parameter("ID", "1")
        .body(&body);
    let refusal = forged.read().1.unwrap_err();
    assert_eq!(refusal.code, "3200");
    assert!(refusal.description.contains("Hub is not a participant"));
}

#[test]
fn unknown_sender_is_refused_at_once() {
    let said_by = |source: &str| {
        let query = Call::new("queryTransfer", "GET", &format!("/transfers/{ID}"), source);
        let (_, inbound) = query.parameter("ID", ID).read();
        super::said_by(source, |fsp| fsp == "payerfsp", inbound.unwrap())
    };
    assert!(matches!(said_by("payerfsp"), Ok(Inbound::QueryTransfer(_))));
    for mistyped in ["payerfps", "PayerFSP"] {
        let refused = said_by(mistyped).unwrap_err();
        assert_eq!(refused.code, "3200");
        let words = format!("header FSPIOP-Source: {mistyped} is not a participant");
        assert!(refused.description.ends_with(&words), "{refused:?}");
    }
}
