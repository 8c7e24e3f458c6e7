//! The signature counter: responses in another order, and copies of an authenticator.

use super::*;
use rialto_webauthn::options::base64url;

/// Begins a login at an instant, and has it answered with this counter.
fn login(world: &mut Fake, device: &mut Authenticator, at: u64, count: u32) -> Value {
    world.now = at;
    device.count = count;
    answered(world, "/fido-authenticate", &named("alice"), |options| {
        device.get(options)
    })
}

fn finish(world: &mut Fake, at: u64, body: &Value) -> (u16, Value) {
    world.now = at;
    ask(world, "/fido-authenticate", body)
}

#[test]
fn counter_is_compared_with_the_latest() {
    let mut world = world();
    let mut device = authenticator(1);
    register(&mut world, "alice", &mut device);
    for (count, status) in [(7, 200), (8, 200), (5, 409)] {
        device.count = count;
        let body = answered(
            &mut world,
            "/fido-authenticate",
            &named("alice"),
            |options| device.get(options),
        );
        let answer = ask(&mut world, "/fido-authenticate", &body);
        assert_eq!(answer.0, status, "{count}: {}", answer.1);
    }
    // A suspect credential makes room for the next one.
    register(&mut world, "alice", &mut authenticator(2));
    let kept = USERS
        .within(&mut world)
        .get("program/wallet/alice")
        .unwrap();
    let ids: Vec<&str> = kept.credentials.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids, [base64url(&[2; 16])]);
}

#[test]
fn counter_that_does_not_grow_makes_the_credential_suspect() {
    for (registered, sent, is_refused) in [
        (5, 5, true),
        (5, 4, true),
        (5, 0, true),
        (0, 0, false),
        (5, 6, false),
    ] {
        let mut world = world();
        let mut device = authenticator(1);
        device.count = registered;
        register(&mut world, "alice", &mut device);
        let begin = |world: &mut Fake, device: &mut Authenticator| {
            answered(world, "/fido-authenticate", &named("alice"), |options| {
                device.get(options)
            })
        };
        let waiting = begin(&mut world, &mut device);
        device.count = sent;
        let body = begin(&mut world, &mut device);
        let answer = ask(&mut world, "/fido-authenticate", &body);
        if !is_refused {
            assert_eq!(answer.0, 200, "{registered} {sent}: {}", answer.1);
            assert_eq!(world.alerts, [""; 0]);
            continue;
        }
        assert_eq!(
            refusal(answer),
            refused(409, "credential-suspect"),
            "{registered} {sent}"
        );
        assert_eq!(world.alerts.len(), 1);
        assert!(
            world.alerts[0].contains("program/wallet/alice was"),
            "{:?}",
            world.alerts
        );
        // It no longer works, not even for a challenge of before.
        let answer = ask(&mut world, "/fido-authenticate", &waiting);
        assert_eq!(refusal(answer), refused(409, "credential-suspect"));
        let answer = ask(&mut world, "/fido-authenticate", &named("alice"));
        assert_eq!(refusal(answer), refused(404, "user-unknown"));
        assert_eq!(world.alerts.len(), 1);
        // The credential never comes back, and the user may register a new one.
        let body = answered(&mut world, "/fido-register", &user("alice"), |options| {
            assert_eq!(options["excludeCredentials"], json!([]));
            device.create(options)
        });
        let answer = ask(&mut world, "/fido-register", &body);
        assert_eq!(refusal(answer), refused(409, "credential-known"));
        let mut new = authenticator(2);
        register(&mut world, "alice", &mut new);
        let body = begin(&mut world, &mut new);
        assert_eq!(ask(&mut world, "/fido-authenticate", &body).0, 200);
    }
}

#[test]
fn responses_in_another_order_leave_the_credential_working() {
    let mut world = world();
    let mut device = authenticator(1);
    register(&mut world, "alice", &mut device);
    let first = login(&mut world, &mut device, 2_000, 5);
    let second = login(&mut world, &mut device, 2_100, 6);
    assert_eq!(finish(&mut world, 3_000, &second).0, 200);
    // It may be older than the one that was accepted. It may be of a copy too, so it is refused.
    let (status, said) = finish(&mut world, 3_100, &first);
    assert!(
        said["detail"].as_str().unwrap().contains("begin again"),
        "{said}"
    );
    assert_eq!(refusal((status, said)), refused(422, "fido-refused"));
    assert_eq!(world.alerts, [""; 0]);
    let third = login(&mut world, &mut device, 4_000, 7);
    assert_eq!(finish(&mut world, 4_100, &third).0, 200);
}

#[test]
fn smaller_counter_in_a_response_to_a_later_challenge_is_of_a_copy() {
    let mut world = world();
    let mut device = authenticator(1);
    register(&mut world, "alice", &mut device);
    let used = login(&mut world, &mut device, 2_000, 6);
    assert_eq!(finish(&mut world, 3_000, &used).0, 200);
    let copy = login(&mut world, &mut device, 3_000, 5);
    let said = finish(&mut world, 3_100, &copy);
    assert_eq!(refusal(said), refused(409, "credential-suspect"));
    assert_eq!(world.alerts.len(), 1);
}

#[test]
fn same_counter_twice_is_of_a_copy_in_any_order() {
    let mut world = world();
    let mut device = authenticator(1);
    register(&mut world, "alice", &mut device);
    let first = login(&mut world, &mut device, 2_000, 6);
    let second = login(&mut world, &mut device, 2_100, 6);
    assert_eq!(finish(&mut world, 3_000, &second).0, 200);
    let said = finish(&mut world, 3_100, &first);
    assert_eq!(refusal(said), refused(409, "credential-suspect"));
    assert_eq!(world.alerts.len(), 1);
}

#[test]
fn counter_below_that_of_the_registration_is_of_a_copy() {
    let mut world = world();
    register(&mut world, "alice", &mut authenticator(2));
    let mut device = authenticator(1);
    device.count = 9;
    register(&mut world, "alice", &mut device);
    let body = login(&mut world, &mut device, 1_000, 5);
    let said = finish(&mut world, 2_000, &body);
    assert_eq!(refusal(said), refused(409, "credential-suspect"));
}
