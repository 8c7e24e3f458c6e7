//! `ETag` and `If-Match`: of participants and of requests.

use super::*;
use rialto_sdk::operators::header;

fn tag(answer: &Answer) -> String {
    header(&answer.headers, "etag").unwrap().to_owned()
}

#[test]
fn who_polls_a_participant_sees_a_new_request() {
    let mut office = Office::new();
    let path = [("id", FSP)];
    let first = office.look("GetParticipantInfo", &path, &[], &[]);
    let id = office.asked(&ways()[0]);
    let known = tag(&first);
    let again = office.look(
        "GetParticipantInfo",
        &path,
        &[],
        &[("if-none-match", &known)],
    );
    assert_eq!((again.status, tag(&again)), (200, known), "no new version");
    assert_eq!(body(&again)["openRequests"], json!([id]));
}

#[test]
fn request_tag_is_its_version_unless_it_has_estimates() {
    for (way, known) in [(0, 304), (1, 200)] {
        let mut office = Office::new();
        let id = office.asked(&ways()[way]);
        let path = [("requestId", id.as_str())];
        let first = office.look("GetRequest", &path, &[], &[]);
        let etag = tag(&first);
        assert_eq!(etag, "\"r1\"");
        let again = office.look("GetRequest", &path, &[], &[("if-none-match", &etag)]);
        assert_eq!(again.status, known, "{again:?}");
    }
}

#[test]
fn decision_takes_participant_or_request_tag_not_a_number() {
    for way in ways() {
        for of_request in [false, true] {
            let mut office = Office::new();
            let id = office.asked(&way);
            let participant = office.participant();
            let request = &office.world.documents("requests")[&id];
            let right = if of_request {
                format!("\"r{}\"", request["version"])
            } else {
                format!("\"p{}\"", participant.version)
            };
            let mut path = vec![("id", FSP), ("requestId", id.as_str())];
            path.extend(way.account.map(|account| ("accountId", account)));
            let decision = json!({ "decision": "REJECT" });
            let wrong = [
                // Each number with the other's kind, and without one.
                format!("\"r{}\"", participant.version),
                format!("\"p{}\"", request["version"]),
                format!("\"{}\"", participant.version),
                format!("\"{}\"", request["version"]),
            ];
            assert_ne!(request["version"], json!(participant.version));
            for tag in &wrong {
                office.refused(tag, "precondition-failed", |o| {
                    o.post("ben", way.approve, &path, &decision, &[("if-match", tag)])
                });
            }
            let done = office.post(
                "ben",
                way.approve,
                &path,
                &decision,
                &[("if-match", &right)],
            );
            assert_eq!((done.status, tag(&done)), (200, "\"r2\"".to_owned()));
        }
    }
}
