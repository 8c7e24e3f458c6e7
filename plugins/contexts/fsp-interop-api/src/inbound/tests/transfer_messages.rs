//! Requests for transfers, commitments and refusals.

use super::quote_messages::quote;
use super::*;

#[test]
fn transfer_request_becomes_an_event_with_its_bytes() {
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
fn event_has_the_answer_version_of_its_sender() {
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
fn request_hash_ignores_the_order_of_members() {
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
fn contradicting_values_are_refused_at_once() {
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
fn commitment_without_fulfilment_is_passed_on() {
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
fn completion_time_may_differ_by_the_clock_tolerance() {
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
fn repeated_commitment_is_taken_with_an_old_completion_time() {
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
fn fsp_refusal_has_a_code_of_the_api() {
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
    // The document requires no header: the sender may be missing or invalid.
    for source in ["payerfsp", "", &"x".repeat(300)] {
        let call = Call::new("patchTransfer", "PATCH", "/transfers/1", source);
        assert_eq!(call.parameter("ID", ID).code(), "2002", "{source:?}");
    }
}
