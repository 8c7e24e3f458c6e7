//! Requests for quotes and their terms.

use super::*;

pub(super) fn quote(change: impl FnOnce(&mut Value)) -> Call {
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
