//! Destroying keys at their providers: after two operators' decision, until the provider has answered.

use rialto_sdk::documents::Store as _;
use rialto_sdk::testing::survives_a_rollback;
use serde_json::{Value, json};

use super::fake::{Fake, world};
use super::{ask, caller, definition, key, refusal, refused};
use crate::bindings::rialto::host::keys::KeyError;
use crate::destroying::{self, DESTRUCTIONS, Destruction};

const DESTROYED: &str = "destroy sealed-1";
const HOUR: u64 = 3_600_000;

fn change(world: &mut Fake, who: &str, id: &str, state: &str) -> (u16, Value) {
    let who = caller(who, &["admin"]);
    let body = json!({ "state": state });
    ask(world, &who, "POST", "/kms-keys/state", id, body)
}

/// A key, as a page of keys has it.
fn shown(world: &mut Fake, id: &str) -> Value {
    let reader = caller("cora", &["reader"]);
    let (status, page) = ask(world, &reader, "GET", "/kms-keys", "", json!({}));
    assert_eq!(status, 200, "{page}");
    let mut items = page["items"].as_array().unwrap().iter();
    let item = items.find(|item| item["id"] == id).unwrap().clone();
    assert_eq!(item.get("reference"), None);
    assert!(!item.to_string().contains("sealed"), "{item}");
    item
}

/// A key whose destruction two operators have decided, and whose provider was not asked yet.
fn decided(world: &mut Fake) -> String {
    let id = key(world, "/kms-ecc-key-gen", "SIGN", "ES256");
    for (who, state) in [
        ("anna", "SUSPENDED"),
        ("anna", "DESTRUCTION_ASKED"),
        ("bert", "DESTROYED"),
    ] {
        let (status, said) = change(world, who, &id, state);
        assert_eq!(status, 200, "{said}");
    }
    id
}

fn away() -> KeyError {
    KeyError::ProviderAway("it is in a drawer".to_owned())
}

/// How often the provider has destroyed a key.
fn destroyed(world: &Fake) -> usize {
    world.done.iter().filter(|done| *done == DESTROYED).count()
}

#[test]
fn provider_is_asked_in_a_turn_after_the_decision() {
    let mut world = world();
    let id = decided(&mut world);
    assert_eq!(destroyed(&world), 0, "the decision's turn asks nobody");
    let key = shown(&mut world, &id);
    assert_eq!(key["state"], "DESTROYING");
    let nothing_yet = json!({ "tries": 0, "nextTryAt": world.now });
    assert_eq!(key["destruction"], nothing_yet);
    world.pass(0);
    assert_eq!(destroyed(&world), 1);
    let key = shown(&mut world, &id);
    assert_eq!(
        (&key["state"], &key["destroyedAt"], &key["changedBy"]),
        (&json!("DESTROYED"), &json!(world.now), &json!("bert"))
    );
    assert_eq!(key.get("destruction"), None);
    for collection in ["keys", "destructions"] {
        let kept = world.store.get(collection, &id).unwrap_or_default();
        assert!(!kept.contains("sealed"), "{kept}");
    }
    world.pass(2 * HOUR);
    assert_eq!(destroyed(&world), 1);
    assert_eq!(world.alerts, [""; 0]);
}

#[test]
fn key_that_is_being_destroyed_does_nothing_and_is_not_resumed() {
    let mut world = world();
    let id = decided(&mut world);
    let owner = caller("audit", &["context"]);
    let body = json!({ "key": id, "data": "YWJj" });
    let said = ask(&mut world, &owner, "POST", "/signature-gen", "", body);
    assert_eq!(said.1["state"], "DESTROYING");
    assert_eq!(refusal(said), refused(409, "key-state"));
    for who in ["anna", "bert"] {
        for state in ["ACTIVE", "SUSPENDED", "DESTRUCTION_ASKED", "PENDING"] {
            let said = change(&mut world, who, &id, state);
            assert_eq!(said.1["state"], "DESTROYING");
            assert_eq!(refusal(said), refused(409, "key-state"), "{state}");
        }
        let said = change(&mut world, who, &id, "DESTROYING");
        assert_eq!(refusal(said), refused(400, "malformed"));
    }
    world.pass(0);
    for state in ["ACTIVE", "SUSPENDED", "DESTROYED"] {
        let said = change(&mut world, "anna", &id, state);
        assert_eq!(said.1["state"], "DESTROYED");
        assert_eq!(refusal(said), refused(409, "key-state"), "{state}");
    }
}

#[test]
fn provider_that_is_away_is_asked_again_with_growing_pauses() {
    let mut world = world();
    let id = decided(&mut world);
    let mut pauses = Vec::new();
    for tries in 1..=14_u32 {
        world.fails = Some(away());
        let key = shown(&mut world, &id);
        let due = key["destruction"]["nextTryAt"].as_u64().unwrap();
        let pause = due - world.now;
        pauses.push(pause / 1_000);
        if pause > 0 {
            world.pass(pause - 1);
            assert!(world.fails.is_some(), "it is not asked before");
            world.pass(1);
        } else {
            world.pass(0);
        }
        assert!(world.fails.is_none(), "it is asked");
        let key = shown(&mut world, &id);
        assert_eq!(key["state"], "DESTROYING");
        let progress = &key["destruction"];
        assert_eq!(
            (&progress["tries"], &progress["lastTriedAt"]),
            (&json!(tries), &json!(world.now))
        );
        let failure = progress["failure"].as_str().unwrap();
        assert!(failure.contains("it is in a drawer"), "{failure}");
    }
    let doubled = [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_048];
    assert_eq!(pauses, [&doubled[..], &[3_600]].concat());
    // Operators hear of it from the fifth time on.
    assert_eq!(world.alerts.len(), 10);
    let first = &world.alerts[0];
    for part in [&id, "`hsm`", "5 tries", "it is in a drawer", "in 16 s"] {
        assert!(first.contains(part), "{first}");
    }
    assert!(!first.contains("sealed"), "{first}");
    world.pass(HOUR);
    assert_eq!(destroyed(&world), 1);
    assert_eq!(shown(&mut world, &id)["state"], "DESTROYED");
}

#[test]
fn every_error_of_a_provider_keeps_the_reference() {
    for error in [
        KeyError::NoProvider,
        KeyError::NoKey("another master key".to_owned()),
        KeyError::Unsupported("x".repeat(100_000)),
        away(),
    ] {
        let mut world = world();
        let id = decided(&mut world);
        world.fails = Some(error.clone());
        world.pass(0);
        let key = shown(&mut world, &id);
        assert_eq!(key["state"], "DESTROYING", "{error:?}");
        let failure = key["destruction"]["failure"].as_str().unwrap();
        assert!((1..=500).contains(&failure.len()), "{failure}");
        world.pass(HOUR);
        assert_eq!(destroyed(&world), 1, "{error:?}");
    }
}

#[test]
fn operator_who_asks_again_has_the_provider_asked_at_once() {
    let mut world = world();
    let id = decided(&mut world);
    for _ in 0..20 {
        world.fails = Some(away());
        world.pass(HOUR);
    }
    let decision = shown(&mut world, &id)["changedAt"].clone();
    let (status, said) = change(&mut world, "anna", &id, "DESTROYED");
    assert_eq!((status, &said["state"]), (200, &json!("DESTROYING")));
    assert_eq!(said["destruction"]["tries"], 20, "{said}");
    world.pass(0);
    assert_eq!(destroyed(&world), 1);
    let key = shown(&mut world, &id);
    assert_eq!(
        (&key["state"], &key["changedBy"], &key["changedAt"]),
        (&json!("DESTROYED"), &json!("bert"), &decision),
        "those who decided it are remembered"
    );
}

/// The turn of a try was lost after the provider's answer, or a reminder comes twice.
#[test]
fn repeated_reminder_asks_again_until_the_answer_is_kept() {
    let mut world = world();
    let id = decided(&mut world);
    let before = world.store.clone();
    world.pass(0);
    world.store = before;
    let reminder = format!("destroy/{id}");
    destroying::reminded(&mut world, &reminder);
    assert_eq!(destroyed(&world), 2);
    assert_eq!(shown(&mut world, &id)["state"], "DESTROYED");
    destroying::reminded(&mut world, &reminder);
    assert_eq!(destroyed(&world), 2);
}

#[test]
fn destruction_goes_on_when_its_reminder_was_lost() {
    let mut world = world();
    let id = decided(&mut world);
    // A release without this module was current, and did not handle the reminder.
    world.reminders.clear();
    world.pass(HOUR);
    assert_eq!(shown(&mut world, &id)["state"], "DESTROYING");
    destroying::resume(&mut world);
    world.pass(0);
    assert_eq!(shown(&mut world, &id)["state"], "DESTROYED");
    destroying::resume(&mut world);
    assert!(world.reminders.is_empty());
}

#[test]
fn reminder_without_a_decision_destroys_nothing() {
    let mut world = world();
    let id = key(&mut world, "/kms-ecc-key-gen", "SIGN", "ES256");
    for reminder in [&format!("destroy/{id}"), "destroy/x", "another", ""] {
        destroying::reminded(&mut world, reminder);
    }
    // Not even with a destruction, if the key does not say that it was decided.
    let destruction = Destruction {
        reference: "sealed-1".to_owned(),
        tries: 0,
        last_tried_at: None,
        failure: None,
        next_try_at: 0,
    };
    DESTRUCTIONS.within(&mut world).put(&id, &destruction);
    destroying::reminded(&mut world, &format!("destroy/{id}"));
    assert_eq!(destroyed(&world), 0);
    assert_eq!(world.alerts.len(), 3, "{:?}", world.alerts);
    assert_eq!(shown(&mut world, &id)["state"], "ACTIVE");
}

#[test]
fn loaded_key_that_waits_is_destroyed_by_another_operator() {
    let mut world = world();
    let unwraps = key(&mut world, "/kms-aes-key-gen", "UNWRAP", "A256KWP");
    let pin = definition(&mut world, "PIN", "PIN-TDES");
    let body = json!({ "definition": pin, "unwrappingKey": unwraps, "wrapped": "YWJj" });
    let admin = caller("anna", &["admin"]);
    let (_, loaded) = ask(&mut world, &admin, "POST", "/kms-load-key", "", body);
    let id = loaded["id"].as_str().unwrap();
    let said = change(&mut world, "anna", id, "DESTROYED");
    assert_eq!(refusal(said), refused(403, "maker-is-checker"));
    let (status, said) = change(&mut world, "bert", id, "DESTROYED");
    assert_eq!((status, &said["state"]), (200, &json!("DESTROYING")));
    world.pass(0);
    assert_eq!(world.done.last().unwrap(), "destroy sealed-2");
}

/// Documents of the release before, and what that release reads of ours.
#[test]
fn earlier_release_and_this_one_read_each_other() {
    let mut world = world();
    let id = decided(&mut world);
    let kept: Value = serde_json::from_str(&world.store.get("keys", &id).unwrap()).unwrap();
    // The one state of the earlier release that nothing follows, and no reference that it could use.
    assert_eq!(kept["state"], "DESTROYED");
    assert_eq!(kept.get("reference"), None);
    let earlier = [
        "id",
        "definition",
        "label",
        "usage",
        "algorithm",
        "owner",
        "provider",
        "origin",
        "state",
        "publicKey",
        "createdBy",
        "createdAt",
        "changedBy",
        "changedAt",
    ];
    let members = kept.as_object().unwrap().keys();
    assert!(members.clone().all(|name| earlier.contains(&name.as_str())));
    // A key that the earlier release has destroyed.
    let mut forgotten = kept;
    forgotten["id"] = json!("00000000-0000-4000-8000-000000000099");
    let text = forgotten.to_string();
    let before = forgotten["id"].as_str().unwrap();
    world.store.put("keys", before, &text);
    let key = shown(&mut world, before);
    assert_eq!(key["state"], "DESTROYED");
    assert_eq!(
        (key.get("destroyedAt"), key.get("destruction")),
        (None, None)
    );
    let said = change(&mut world, "anna", before, "DESTROYED");
    assert_eq!(refusal(said), refused(409, "key-state"));

    world.fails = Some(away());
    world.pass(0);
    let destruction = DESTRUCTIONS.within(&mut world).get(&id).unwrap();
    survives_a_rollback(&DESTRUCTIONS, &destruction, &[]);
    world.pass(HOUR);
    let key = crate::keys::known(&mut world, &id).unwrap();
    assert!(key.destroyed_at.is_some());
    survives_a_rollback(&crate::keys::KEYS, &key, &[]);
}
