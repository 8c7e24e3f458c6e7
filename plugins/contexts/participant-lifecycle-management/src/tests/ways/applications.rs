//! A checker must have read the application.

use super::*;
use crate::activation;

/// Carl rejects Mia's request after Ben has read it, and Mia asks again. Returns both requests.
fn asked_twice(office: &mut Office) -> (String, String) {
    let id = |answer: &Answer| body(answer)["id"].as_str().unwrap().to_owned();
    let read = id(&office.apply("mia"));
    let rejected = office.decide("carl", "ApproveParticipant", None, None, "REJECT");
    assert_eq!(rejected.status, 200, "{rejected:?}");
    office.world.now += 1;
    (read, id(&office.apply("mia")))
}

fn approve(office: &mut Office, request: Option<&str>, headers: &[(&str, &str)]) -> Answer {
    let mut decision = json!({ "decision": "APPROVE" });
    if let Some(request) = request {
        decision["request"] = json!(request);
    }
    let path = [("id", FSP)];
    office.post("ben", "ApproveParticipant", &path, &decision, headers)
}

#[test]
fn an_application_that_was_not_read_is_not_approved() {
    let mut office = Office { world: Fake::new() };
    let (read, open) = asked_twice(&mut office);
    office.refused("blindly", "precondition-required", |o| {
        let answer = approve(o, None, &[]);
        assert_eq!(
            (answer.status, &body(&answer)["pendingRequest"]),
            (428, &json!(open))
        );
        answer
    });
    office.refused("whatever there is", "precondition-required", |o| {
        approve(o, None, &[("if-match", "*")])
    });
    office.refused("any first version", "precondition-failed", |o| {
        approve(o, None, &[("if-match", "\"r1\"")])
    });
    office.refused("the first one", "target-changed", |o| {
        approve(o, Some(&read), &[])
    });
    assert_eq!(approve(&mut office, Some(&open), &[]).status, 200);
    assert_eq!(office.participant().state, State::Approved);
}

#[test]
fn the_version_that_was_read_says_which_application_is_approved() {
    let mut office = Office { world: Fake::new() };
    asked_twice(&mut office);
    let info = office.get("GetParticipantInfo", &[]);
    let tag = format!("\"p{}\"", info["version"]);
    let done = approve(&mut office, None, &[("if-match", &tag)]);
    assert_eq!(done.status, 200, "{done:?}");
}

#[test]
fn decision_with_another_request_than_its_path_is_refused() {
    for way in ways() {
        let mut office = Office::new();
        let id = office.asked(&way);
        let mut path = vec![("id", FSP), ("requestId", id.as_str())];
        path.extend(way.account.map(|account| ("accountId", account)));
        let other = "00000000-0000-4000-8000-999999999999";
        for (named, status) in [(other, 409), (id.as_str(), 200)] {
            let decision = json!({ "decision": "REJECT", "request": named });
            let said = office.post("ben", way.approve, &path, &decision, &[]);
            assert_eq!(said.status, status, "{said:?}");
        }
    }
}

#[test]
fn who_was_not_let_in_is_no_participant_to_others() {
    let mut office = Office { world: Fake::new() };
    let known = |office: &mut Office| {
        let trades = activation::trader(&mut office.world, FSP).is_some();
        let called = office.participant().into_callback_info();
        (trades, called.map(|info| info.base_url))
    };
    let first = body(&office.apply("mia"))["id"].clone();
    assert_eq!(known(&mut office), (false, None), "it waits");
    office.decide("carl", "ApproveParticipant", None, None, "REJECT");
    assert_eq!(known(&mut office), (false, None), "it was rejected");
    let second = body(&office.apply("mia"))["id"].clone();
    assert_ne!(first, second);
    approve(&mut office, second.as_str(), &[]);
    let url = || Some("http://green.example".to_owned());
    assert_eq!(known(&mut office), (true, url()));
    let mut participant = office.participant();
    participant.state = State::Disabled;
    PARTICIPANTS
        .within(&mut office.world)
        .put(FSP, &participant);
    assert_eq!(known(&mut office), (true, url()), "it is told why not");
}

#[test]
fn operators_accounts_use_the_schemes_current_terms() {
    let mut office = Office::new();
    let kept = |office: &Office| office.world.documents("kept-currencies");
    assert_eq!(kept(&office)["USD"], json!({ "hub": "Hub", "scale": 2 }));
    let way = ways().remove(3);
    assert_eq!(way.kind, Kind::Account);
    let id = office.asked(&way);
    assert_eq!(kept(&office).get("TZS"), None, "it is only asked for");
    office.approve(&way, "ben", &id, "APPROVE");
    assert_eq!(kept(&office)["TZS"], json!({ "hub": "Hub", "scale": 0 }));
}
