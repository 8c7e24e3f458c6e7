//! Participants that a release has brought, and that wait for the rest of it.

use super::*;
use crate::activation;

/// Of a release that was refused on the way.
fn left_behind() -> Office {
    let mut office = Office::new();
    let mut participant = office.participant();
    participant.created_by = Some(7);
    PARTICIPANTS
        .within(&mut office.world)
        .put(FSP, &participant);
    office
}

fn update(state: &str) -> Way {
    let mut way = ways().remove(2);
    assert_eq!(way.kind, Kind::State);
    way.body["state"] = json!(state);
    way
}

fn may_transact(office: &mut Office) -> bool {
    let known = activation::known(&mut office.world, FSP);
    known.unwrap().may_transact()
}

#[test]
fn waiting_participant_is_shown_and_operators_may_approve_it() {
    let mut office = left_behind();
    assert!(!may_transact(&mut office));
    let info = office.get("GetParticipantInfo", &[]);
    assert_eq!(
        (&info["state"], &info["waitsFor"]),
        (&json!("APPROVED"), &json!(7))
    );
    let listed = office.get("GetPendingParticipants", &[]);
    assert_eq!(listed["items"][0]["waitsFor"], 7);
    let way = update("APPROVED");
    let id = office.asked(&way);
    assert_eq!(office.approve(&way, "ben", &id, "APPROVE").status, 200);
    let events = office.world.published.iter();
    let mut events = events.filter_map(|event| match event {
        Event::StateUpdated(event) => Some(event.may_transact),
        _ => None,
    });
    assert_eq!(events.next_back(), Some(true));
    assert!(may_transact(&mut office));
    let info = office.get("GetParticipantInfo", &[]);
    assert_eq!(info.get("waitsFor"), None, "{info}");
    office.refused("it waits no more", "nothing-changes", |o| {
        o.submit(&way, "anna", &[])
    });
}

#[test]
fn disabled_waiting_participant_transacts_after_approval() {
    let mut office = left_behind();
    for (state, may) in [("DISABLED", false), ("APPROVED", true)] {
        let way = update(state);
        let id = office.asked(&way);
        assert_eq!(office.approve(&way, "ben", &id, "APPROVE").status, 200);
        let Some(Event::StateUpdated(event)) = office
            .world
            .published
            .iter()
            .rfind(|event| matches!(event, Event::StateUpdated(_)))
        else {
            panic!("{:?}", office.world.published);
        };
        assert_eq!(event.may_transact, may, "{state}");
        assert_eq!(may_transact(&mut office), may, "{state}");
    }
}
