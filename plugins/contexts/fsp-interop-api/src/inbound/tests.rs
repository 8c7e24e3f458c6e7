//! Messages and the events or refusals that they lead to.

mod as_sent;
mod signed;

use super::*;
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
fn a_request_for_a_transfer_becomes_an_event_with_its_bytes() {
    let call = transfer(|_| ()).header("host", "hub").header("accept", "x");
    let sent = call.0.body.clone().unwrap();
    let (subject, inbound) = call.read();
    assert_eq!(
        subject,
        Some(Subject {
            kind: "transfer",
            id: ID.to_owned()
        })
    );
    let Ok(Inbound::RequestTransfer(event)) = inbound else {
        panic!("{inbound:?}")
    };
    assert_eq!(event.transfer_id, ID);
    assert_eq!(event.amount, money("USD", 2, 1050));
    assert_eq!(event.expiration, 1_464_093_488_699);
    assert_eq!(event.requester_fsp, "payerfsp");
    assert_eq!(event.message.body, sent);
    assert_eq!(event.message.path, "/transfers");
    let names: Vec<_> = each(&event.message.headers).map(|(name, _)| name).collect();
    assert_eq!(names, ["fspiop-source", "accept"]);
}

#[test]
fn an_event_says_in_which_version_its_sender_wants_to_be_answered() {
    let media = |version: &str| {
        format!("application/vnd.interoperability.transfers+json;version={version}")
    };
    for version in ["1.0", "1.1", "1.2"] {
        let call = transfer(|_| ())
            .header("accept", &media(version))
            .header("content-type", &media("1.1"));
        let Ok(Inbound::RequestTransfer(event)) = call.read().1 else {
            panic!("{version}")
        };
        assert_eq!(event.answer_version.as_deref(), Some(version));
    }
    let body = json!({"transferState": "COMMITTED", "fulfilment": FULFILMENT});
    let mut call = fulfil(&body);
    call.0.headers[1].1 = media("1.0");
    let Ok(Inbound::FulfilTransfer(event)) = call.read().1 else {
        panic!("no commitment")
    };
    assert_eq!(event.answer_version.as_deref(), Some("1.0"));
}

#[test]
fn the_hash_of_a_request_does_not_depend_on_the_order_of_members() {
    let hash = |text: &str| {
        let mut call = transfer(|_| ());
        call.0.body = Some(text.to_owned());
        match call.read().1 {
            Ok(Inbound::RequestTransfer(event)) => event.request_hash,
            other => panic!("{other:?}"),
        }
    };
    let ordered = transfer(|_| ()).0.body.unwrap();
    let members: serde_json::Map<String, Value> = serde_json::from_str(&ordered).unwrap();
    let reversed: Vec<String> = members
        .iter()
        .rev()
        .map(|(name, value)| format!("{name:?} :\n{value}"))
        .collect();
    assert_eq!(
        hash(&ordered),
        hash(&format!("{{{}}}", reversed.join(" , ")))
    );
    assert_ne!(hash(&ordered), hash(&ordered.replace("10.5", "10.6")));
}

#[test]
fn what_two_values_show_to_be_wrong_is_refused_at_once() {
    for (what, call, code) in [
        (
            "sender",
            transfer(|body| body["payerFsp"] = json!("otherfsp")),
            "3100",
        ),
        (
            "destination",
            transfer(|_| ()).header("fspiop-destination", "otherfsp"),
            "3100",
        ),
        (
            "currency",
            transfer(|body| body["amount"]["currency"] = json!("EUR")),
            "3100",
        ),
        (
            "precision",
            transfer(|body| body["amount"]["amount"] = json!("1.001")),
            "3101",
        ),
        (
            "form",
            transfer(|body| body["amount"]["amount"] = json!("1.10")),
            "3101",
        ),
        (
            "zero",
            transfer(|body| body["amount"]["amount"] = json!("0")),
            "3100",
        ),
        (
            "instant",
            transfer(|body| body["expiration"] = json!("2016-02-30T08:38:08.699Z")),
            "3101",
        ),
        (
            "type",
            transfer(|body| body["condition"] = json!(1)),
            "3101",
        ),
        (
            "member",
            transfer(|body| body["condition"] = Value::Null),
            "3101",
        ),
    ] {
        assert_eq!(call.code(), code, "{what}");
    }
}

#[test]
fn an_open_destination_is_no_contradiction() {
    for destination in ["", "Hub", "payeefsp"] {
        let call = transfer(|_| ()).header("fspiop-destination", destination);
        assert!(call.read().1.is_ok(), "{destination:?}");
    }
}

#[test]
fn a_body_that_is_no_json_is_refused() {
    let mut call = transfer(|_| ());
    call.0.body = Some("{".to_owned());
    assert_eq!(call.code(), "3101");
}

#[test]
fn a_fulfilment_says_how_the_payee_commits() {
    for (state, mode) in [
        ("COMMITTED", FulfilMode::Committed),
        ("RESERVED", FulfilMode::Reserved),
    ] {
        let body = json!({
            "transferState": state, "fulfilment": FULFILMENT,
            "completedTimestamp": "1970-01-01T00:16:40.000Z"
        });
        let Ok(Inbound::FulfilTransfer(event)) = fulfil(&body).read().1 else {
            panic!("{state}")
        };
        assert_eq!(event.mode, mode);
        assert_eq!(event.fulfilment.as_deref(), Some(FULFILMENT));
        assert_eq!(event.completed_timestamp, Some(NOW));
        assert_eq!(event.requester_fsp, "payeefsp");
        assert_eq!(event.arrived_at, Some(NOW), "the turn's instant");
    }
}

#[test]
fn a_commitment_without_a_fulfilment_is_the_payees_word_and_goes_on() {
    for state in ["COMMITTED", "RESERVED"] {
        let Ok(Inbound::FulfilTransfer(event)) =
            fulfil(&json!({ "transferState": state })).read().1
        else {
            panic!("{state}")
        };
        assert_eq!(event.fulfilment, None);
    }
}

#[test]
fn a_time_of_completion_is_believed_as_far_as_clocks_differ() {
    let at = |completed: u64| {
        fulfil(&json!({
            "transferState": "COMMITTED", "fulfilment": FULFILMENT,
            "completedTimestamp": rialto_sdk::time::format_date_time(completed)
        }))
    };
    for completed in [NOW - 300_000, NOW, NOW + 200] {
        assert!(at(completed).read().1.is_ok(), "{completed}");
    }
    for completed in [0, NOW - 300_001, NOW + 201, 4_000_000_000_000] {
        assert_eq!(at(completed).code(), "3100", "{completed}");
    }
}

#[test]
fn a_repeat_of_what_was_taken_is_taken_however_old_its_time_of_completion_is() {
    let body = json!({
        "transferState": "COMMITTED", "fulfilment": FULFILMENT,
        "completedTimestamp": rialto_sdk::time::format_date_time(NOW - 300_001)
    });
    let after = |hash: Option<String>| {
        let mut call = fulfil(&body);
        call.1 = Known(hash);
        call
    };
    assert!(after(Some(request_hash(&body))).read().1.is_ok());
    assert_eq!(after(Some("of another one".to_owned())).code(), "3100");
    assert_eq!(after(None).code(), "3100");
}

#[test]
fn a_named_destination_goes_with_the_message() {
    let destination = |named: &str| {
        let body = json!({"transferState": "COMMITTED", "fulfilment": FULFILMENT});
        match fulfil(&body).header("fspiop-destination", named).read().1 {
            Ok(Inbound::FulfilTransfer(event)) => event.destination_fsp,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(destination("otherfsp").as_deref(), Some("otherfsp"));
    assert_eq!(destination("Hub"), None);
    assert_eq!(destination(""), None);
    let quote_to = |fsp: &str| {
        quote(|body| body["payee"]["partyIdInfo"]["fspId"] = json!(fsp))
            .header("fspiop-destination", "payeefsp")
    };
    assert!(quote_to("payeefsp").read().1.is_ok());
    assert_eq!(quote_to("otherfsp").code(), "3100");
}

#[test]
fn a_fulfilment_that_cannot_be_one_is_refused_at_once() {
    let body = |state: &str| json!({"transferState": state, "fulfilment": FULFILMENT});
    assert_eq!(fulfil(&body("ABORTED")).code(), "3100");
    assert_eq!(fulfil(&body("RECEIVED")).code(), "3100");
    assert_eq!(fulfil(&body("committed")).code(), "3100");
    let mut old = fulfil(&body("RESERVED"));
    old.0.headers[1].1 = old.0.headers[1].1.replace("1.1", "1.0");
    assert_eq!(old.code(), "3100");
}

#[test]
fn a_refusal_by_an_fsp_carries_a_code_of_the_api() {
    let refuse = |operation: &str, path: &str, code: &str| {
        let error = json!({"errorInformation": {"errorCode": code, "errorDescription": "no"}});
        Call::new(operation, "PUT", path, "payeefsp")
            .parameter("Type", "MSISDN")
            .parameter("ID", "123")
            .body(&error)
    };
    for operation in ["rejectTransfer", "refuseQuote", "refuseParty"] {
        assert!(
            refuse(operation, "/x/123/error", "5104").read().1.is_ok(),
            "{operation}"
        );
        assert_eq!(
            refuse(operation, "/x/123/error", "9104").code(),
            "3100",
            "{operation}"
        );
    }
}

#[test]
fn a_patch_of_a_transfer_is_not_implemented() {
    // The document asks for no header: whoever sends it may say nothing of itself, or nonsense.
    for source in ["payerfsp", "", &"x".repeat(300)] {
        let call = Call::new("patchTransfer", "PATCH", "/transfers/1", source);
        assert_eq!(call.parameter("ID", ID).code(), "2002", "{source:?}");
    }
}

fn party(operation: &str, method: &str) -> Call {
    Call::new(operation, method, "/parties/MSISDN/123", "payerfsp")
        .parameter("Type", "MSISDN")
        .parameter("ID", "123")
}

#[test]
fn a_party_is_named_by_its_path() {
    let (subject, inbound) = party("queryPartyWithSubId", "GET")
        .parameter("SubId", "a b")
        .read();
    assert_eq!(
        subject,
        Some(Subject {
            kind: "party",
            id: "MSISDN/123/a b".to_owned()
        })
    );
    let Ok(Inbound::QueryParty(event)) = inbound else {
        panic!("{inbound:?}")
    };
    assert_eq!(event.party.sub_id_or_type.as_deref(), Some("a b"));
    assert_eq!(event.destination_fsp, None);
    let named = party("queryParty", "GET")
        .header("fspiop-destination", "payeefsp")
        .read()
        .1;
    let Ok(Inbound::QueryParty(event)) = named else {
        panic!("{named:?}")
    };
    assert_eq!(event.destination_fsp.as_deref(), Some("payeefsp"));
}

#[test]
fn a_request_for_many_parties_names_each_with_its_fsp_and_its_own_error() {
    let body = json!({"requestId": ID, "currency": "USD", "partyList": [
        {"partyIdType": "MSISDN", "partyIdentifier": "123"},
        {"partyIdType": "MSISDN", "partyIdentifier": "abc", "fspId": "payerfsp"},
        {"partyIdType": "BUSINESS", "partyIdentifier": "acme", "partySubIdOrType": "a/b"},
        {"partyIdType": "BUSINESS", "partyIdentifier": "acme", "partySubIdOrType": "a", "fspId": "payeefsp"},
    ]});
    let call = |body: &Value| {
        Call::new("associateParties", "POST", "/participants", "payerfsp").body(body)
    };
    let (subject, inbound) = call(&body).read();
    let expected = Subject {
        kind: "parties",
        id: ID.to_owned(),
    };
    assert_eq!(subject, Some(expected));
    let Ok(Inbound::AssociateParties(event)) = inbound else {
        panic!("{inbound:?}")
    };
    let told: Vec<_> = event
        .parties
        .iter()
        .map(|asked| {
            let code = asked.error.as_ref().map(|error| error.code.as_str());
            (asked.fsp.as_str(), code)
        })
        .collect();
    let expected = [
        ("payerfsp", None),
        ("payerfsp", Some("3101")),
        ("payerfsp", Some("3101")),
        ("payeefsp", None),
    ];
    assert_eq!(told, expected);
    assert_eq!(event.request_id, ID);
    assert_eq!(event.currency.as_deref(), Some("USD"));
    let mut strange = body;
    strange["currency"] = "EUR".into();
    assert_eq!(call(&strange).code(), "3100");
}

#[test]
fn the_answer_for_a_party_names_its_sender_or_no_fsp() {
    let answer = |fsp: Option<&str>| {
        let mut id = json!({"partyIdType": "MSISDN", "partyIdentifier": "123"});
        if let Some(fsp) = fsp {
            id["fspId"] = fsp.into();
        }
        let body = json!({"party": {"partyIdInfo": id, "name": "Zoe"}});
        party("answerParty", "PUT")
            .header("fspiop-destination", "otherfsp")
            .body(&body)
            .read()
            .1
    };
    for fsp in [None, Some("payerfsp")] {
        let Ok(Inbound::AnswerParty(event)) = answer(fsp) else {
            panic!("{fsp:?}")
        };
        assert_eq!(event.error, None);
    }
    for fsp in ["payeefsp", "Payerfsp", "Hub", "otherfsp"] {
        let Ok(Inbound::RefuseAnswer(event)) = answer(Some(fsp)) else {
            panic!("{fsp}")
        };
        assert_eq!(event.error.code, "3101");
        assert_eq!(event.requester_fsp, "payerfsp");
        assert_eq!(event.destination_fsp.as_deref(), Some("otherfsp"));
        assert_eq!(event.party.identifier, "123");
    }
}

#[test]
fn the_answer_for_a_party_is_of_the_party_of_its_path() {
    let answer = |id_type: &str, identifier: &str, sub_id: Option<&str>, told: Value| {
        let call = Call::new("answerParty", "PUT", "/parties/x/y", "payerfsp")
            .header("fspiop-destination", "otherfsp")
            .parameter("Type", id_type)
            .parameter("ID", identifier)
            .body(&json!({"party": {"partyIdInfo": told}}));
        let call = match sub_id {
            Some(sub_id) => call.parameter("SubId", sub_id),
            None => call,
        };
        call.read().1
    };
    let info = |id_type: &str, id: &str| json!({"partyIdType": id_type, "partyIdentifier": id});
    let part = |id_type: &str, id: &str, sub_id: &str| {
        let mut info = info(id_type, id);
        info["partySubIdOrType"] = sub_id.into();
        info
    };
    for (id_type, identifier, sub_id, told) in [
        ("MSISDN", "123", None, info("MSISDN", "123")),
        ("MSISDN", "123", None, info("MSISDN", "+123")),
        ("MSISDN", "+123", None, info("MSISDN", "123")),
        ("EMAIL", "A@b.org", None, info("EMAIL", "a@B.org")),
        ("BUSINESS", "acme", Some("x"), part("BUSINESS", "acme", "x")),
    ] {
        let read = answer(id_type, identifier, sub_id, told.clone());
        assert!(
            matches!(read, Ok(Inbound::AnswerParty(_))),
            "{told} {read:?}"
        );
    }
    for (id_type, identifier, sub_id, told) in [
        ("MSISDN", "123", None, info("MSISDN", "124")),
        ("MSISDN", "123", None, info("ALIAS", "123")),
        ("MSISDN", "123", None, part("MSISDN", "123", "x")),
        ("BUSINESS", "acme", Some("x"), info("BUSINESS", "acme")),
        ("BUSINESS", "acme", Some("x"), part("BUSINESS", "acme", "X")),
        ("BUSINESS", "acme", Some("x"), part("BUSINESS", "Acme", "x")),
    ] {
        let read = answer(id_type, identifier, sub_id, told.clone());
        let Ok(Inbound::RefuseAnswer(event)) = read else {
            panic!("{told} {read:?}")
        };
        assert_eq!(event.error.code, "3101");
        assert_eq!(event.party.identifier, identifier);
        assert_eq!(event.requester_fsp, "payerfsp");
        assert_eq!(event.destination_fsp.as_deref(), Some("otherfsp"));
    }
}

#[test]
fn an_identifier_that_does_not_fit_its_type_is_refused() {
    let call = Call::new("queryParty", "GET", "/parties/MSISDN/abc", "payerfsp")
        .parameter("Type", "MSISDN")
        .parameter("ID", "abc");
    assert_eq!(call.code(), "3101");
}

#[test]
fn a_sub_id_is_one_segment_of_a_path() {
    for sub_id in ["a/b", "..", "x?y", "a ", "a\\b"] {
        let call = party("queryPartyWithSubId", "GET").parameter("SubId", sub_id);
        assert_eq!(call.code(), "3101", "{sub_id:?}");
    }
}

#[test]
fn an_association_is_for_a_currency_of_the_scheme() {
    let associate = |currency: &str| {
        party("associateParty", "POST").body(&json!({"fspId": "payerfsp", "currency": currency}))
    };
    let Ok(Inbound::AssociateParty(event)) = associate("USD").read().1 else {
        panic!()
    };
    assert_eq!(
        (event.fsp.as_str(), event.currency.as_deref()),
        ("payerfsp", Some("USD"))
    );
    assert_eq!(associate("EUR").code(), "3100");

    let query = || party("queryParticipant", "GET");
    let Ok(Inbound::QueryParticipant(event)) = query().query("currency", "USD").read().1 else {
        panic!()
    };
    assert_eq!(event.currency.as_deref(), Some("USD"));
    assert_eq!(query().query("currency", "EUR").code(), "3100");
    assert!(query().query("unknown", "x").read().1.is_ok());
    let ended = party("disassociateParty", "DELETE").read().1;
    assert!(
        matches!(ended, Ok(Inbound::DisassociateParty(_))),
        "{ended:?}"
    );
}

fn quote(change: impl FnOnce(&mut Value)) -> Call {
    let mut body = json!({
        "quoteId": ID, "transactionId": ID, "amountType": "SEND",
        "payer": {"partyIdInfo": {"partyIdType": "MSISDN", "partyIdentifier": "1", "fspId": "payerfsp"}},
        "payee": {"partyIdInfo": {"partyIdType": "BUSINESS", "partyIdentifier": "acme", "partySubIdOrType": "x"}},
        "amount": {"currency": "USD", "amount": "100"}, "fees": {"currency": "USD", "amount": "0.2"},
        "transactionType": {"scenario": "TRANSFER", "initiator": "PAYER", "initiatorType": "CONSUMER"}
    });
    change(&mut body);
    Call::new("requestQuote", "POST", "/quotes", "payerfsp").body(&body)
}

#[test]
fn a_request_for_a_quote_becomes_an_event() {
    let (subject, inbound) = quote(|_| ()).read();
    assert_eq!(
        subject,
        Some(Subject {
            kind: "quote",
            id: ID.to_owned()
        })
    );
    let Ok(Inbound::RequestQuote(event)) = inbound else {
        panic!("{inbound:?}")
    };
    let terms = event.request;
    assert_eq!(terms.payer_fsp.as_deref(), Some("payerfsp"));
    assert_eq!(terms.payee_fsp, None);
    assert_eq!(terms.payee.sub_id_or_type.as_deref(), Some("x"));
    assert_eq!(minor_units(&terms.amount), 10_000);
    assert_eq!(terms.fees.map(|fees| minor_units(&fees)), Some(20));
    assert_eq!(terms.expiration, None);
}

#[test]
fn a_payee_that_is_spelt_in_another_way_is_refused() {
    for (id_type, identifier) in [
        ("MSISDN", "123 456 789"),
        ("MSISDN", "123456789 "),
        ("IBAN", "DE89 3704 0044 0532 0130 00"),
        ("EMAIL", "nobody"),
        ("ALIAS", "a/b"),
    ] {
        let party = json!({"partyIdType": id_type, "partyIdentifier": identifier});
        let call = quote(|body| body["payee"]["partyIdInfo"] = party);
        assert_eq!(call.code(), "3101", "{id_type} {identifier}");
    }
}

#[test]
fn a_request_for_a_quote_in_another_name_is_refused() {
    let call = quote(|body| body["payer"]["partyIdInfo"]["fspId"] = json!("otherfsp"));
    assert_eq!(call.code(), "3100");
    let call = quote(|body| body["fees"]["currency"] = json!("EUR"));
    assert_eq!(call.code(), "3100");
    let call = quote(|body| body["transactionType"]["scenario"] = json!("GIFT"));
    assert_eq!(call.code(), "3101");
}

#[test]
fn the_terms_of_a_quote_become_an_event() {
    let body = json!({
        "transferAmount": {"currency": "USD", "amount": "99"},
        "payeeReceiveAmount": {"currency": "USD", "amount": "98"},
        "expiration": "1970-01-01T00:01:00.000Z", "ilpPacket": "AQ", "condition": CONDITION
    });
    let call = Call::new("answerQuote", "PUT", &format!("/quotes/{ID}"), "payeefsp")
        .parameter("ID", ID)
        .header("accept", "tolerated on a PUT")
        .body(&body);
    let (subject, inbound) = call.read();
    assert_eq!(
        subject,
        Some(Subject {
            kind: "quote",
            id: ID.to_owned()
        })
    );
    let Ok(Inbound::AnswerQuote(event)) = inbound else {
        panic!("{inbound:?}")
    };
    assert_eq!(event.quote_id, ID);
    assert_eq!(minor_units(&event.response.transfer_amount), 9900);
    assert_eq!(event.response.payee_fsp_fee, None);
    assert_eq!(event.response.expiration, 60_000);
    assert!(each(&event.message.headers).all(|(name, _)| name != "accept"));
}

#[test]
fn terms_that_are_too_large_to_be_kept_are_refused() {
    let of_size = |bytes: usize| {
        let mut body = json!({
            "transferAmount": {"currency": "USD", "amount": "99"},
            "expiration": "1970-01-01T00:01:00.000Z", "ilpPacket": "AQ", "condition": CONDITION,
            "private": ""
        });
        let rest = body.to_string().len();
        body["private"] = json!("x".repeat(bytes - rest));
        Call::new("answerQuote", "PUT", &format!("/quotes/{ID}"), "payeefsp")
            .parameter("ID", ID)
            .body(&body)
    };
    assert!(of_size(262_144).read().1.is_ok());
    assert_eq!(of_size(262_145).code(), "3104");
}

#[test]
fn every_operation_of_the_openapi_document_is_handled() {
    let document = include_str!("../../openapi.yaml");
    let operations: Vec<_> = document
        .lines()
        .filter_map(|line| line.trim().strip_prefix("operationId: "))
        .collect();
    assert_eq!(operations.len(), 22);
    for operation in operations {
        // An unknown operation panics; what is wrong with this empty message does not matter.
        let _ = Call::new(operation, "PUT", "/x", "fsp").read();
    }
}

#[test]
fn who_is_no_participant_is_refused_at_once_by_its_name() {
    let said_by = |source: &str| {
        let query = Call::new("queryTransfer", "GET", &format!("/transfers/{ID}"), source);
        let (_, inbound) = query.parameter("ID", ID).read();
        super::said_by(source, |fsp| fsp == "payerfsp", inbound.unwrap())
    };
    assert!(matches!(said_by("payerfsp"), Ok(Inbound::QueryTransfer(_))));
    for mistyped in ["payerfps", "PayerFSP", "Hub"] {
        let refused = said_by(mistyped).unwrap_err();
        assert_eq!(refused.code, "3200");
        let words = format!("header FSPIOP-Source: {mistyped} is no participant");
        assert!(refused.description.ends_with(&words), "{refused:?}");
    }
}
