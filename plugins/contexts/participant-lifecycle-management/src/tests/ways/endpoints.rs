//! Endpoints are tried before they are taken.

use super::*;

fn report(request: &str, outcome: Outcome) -> DeliveryReport {
    DeliveryReport {
        id: 1,
        correlation: request.to_owned(),
        attempts: 1,
        outcome,
    }
}

fn answered(status: u16) -> Outcome {
    let response = OutboundResponse {
        status,
        headers: Vec::new(),
        body: String::new(),
    };
    if status < 300 {
        return Outcome::Delivered(response);
    }
    Outcome::Failed(DeliveryFailure {
        kind: FailureKind::Refused,
        reason: format!("the answer is {status}"),
        response: Some(response),
    })
}

#[test]
fn endpoint_is_tried_and_refused_if_dead() {
    let way = ways().pop().unwrap();
    assert_eq!(way.kind, Kind::Endpoints);
    for (outcome, state, url) in [
        (answered(200), "APPROVED", "http://new.example"),
        (answered(404), "APPROVED", "http://new.example"),
        (answered(503), "FAILED", "http://green.example"),
    ] {
        let mut office = Office::with("{}");
        let id = office.asked(&way);
        let done = office.approve(&way, "ben", &id, "APPROVE");
        assert_eq!(body(&done)["state"], "CHECKING");
        assert_eq!(
            office.participant().callback_base_url,
            "http://green.example"
        );
        assert_eq!(office.world.sent[0].url, "http://new.example/health");
        assert_eq!(office.world.sent[0].correlation, id);
        office.refused("being tried", "already-decided", |o| {
            o.approve(&way, "carl", &id, "REJECT")
        });
        office.refused("being tried", "duplicate-request", |o| {
            o.submit(&way, "anna", &[])
        });
        health::tried(&mut office.world, &report(&id, outcome));
        let request = &office.world.documents("requests")[&id];
        assert_eq!(request["state"], state, "{request}");
        assert_eq!(request.get("failure").is_some(), state == "FAILED");
        let participant = office.participant();
        assert_eq!(participant.callback_base_url, url);
        assert_eq!(history::broken(&mut office.world, &participant), None);
        assert!(office.world.documents("open-requests").is_empty());
        // A second report of the same changes nothing.
        let before = office.world.store.clone();
        health::tried(&mut office.world, &report(&id, answered(503)));
        assert_eq!(office.world.store, before);
    }
}

#[test]
fn endpoint_that_changed_during_its_try_is_refused() {
    let way = ways().pop().unwrap();
    let mut office = Office::with("{}");
    let id = office.asked(&way);
    office.approve(&way, "ben", &id, "APPROVE");
    let mut participant = office.participant();
    participant.callback_base_url = "http://release".to_owned();
    PARTICIPANTS
        .within(&mut office.world)
        .put(FSP, &participant);
    health::tried(&mut office.world, &report(&id, answered(200)));
    let request = &office.world.documents("requests")[&id];
    assert_eq!(request["state"], "FAILED");
    assert!(
        request["failure"]
            .as_str()
            .unwrap()
            .starts_with("target-changed")
    );
    assert_eq!(office.participant().callback_base_url, "http://release");
}
