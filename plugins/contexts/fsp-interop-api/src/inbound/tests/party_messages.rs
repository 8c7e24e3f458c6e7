//! Lookups, associations and answers about parties.

use super::*;

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
fn request_for_many_parties_has_an_error_per_party() {
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
    assert_eq!(event.message.path, "/participants");
    let mut strange = body;
    strange["currency"] = "EUR".into();
    assert_eq!(call(&strange).code(), "3100");
}

#[test]
fn request_for_many_parties_carries_no_long_headers() {
    let list: Vec<Value> = (0..1_000)
        .map(|n| {
            let id = format!("{n:0128}");
            json!({"partyIdType": "ALIAS", "partyIdentifier": id, "name": "z".repeat(1_000)})
        })
        .collect();
    let body = json!({"requestId": ID, "partyList": list});
    let item = "application/vnd.interoperability.participants+json;version=";
    let accept = format!("{item}9.9,").repeat(1_000) + item + "1.0";
    let (_, inbound) = Call::new("associateParties", "POST", "/participants", "payerfsp")
        .header("accept", &accept)
        .header("content-type", &format!("{item}1.1"))
        .header("traceparent", "00-1-2-01")
        .header("tracestate", &"a".repeat(60_000))
        .body(&body)
        .read();
    let Ok(Inbound::AssociateParties(event)) = inbound else {
        panic!("{inbound:?}")
    };
    assert_eq!(event.parties.len(), 1_000);
    let Message { headers, body, .. } = event.message;
    assert_eq!(body, "");
    // The answer is in the version that was asked for, and in the trace.
    let expected = format!("content-type: {item}1.0\ntraceparent: 00-1-2-01\n");
    assert_eq!(headers, expected);
}

#[test]
fn party_answer_names_its_sender_or_no_fsp() {
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
fn party_answer_matches_the_party_of_its_path() {
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
