//! What nobody finishes is bounded, and is removed after its time.

use super::super::challenges::GIVEN_MAX;
use super::*;

/// Documents of a collection.
fn count(world: &mut Fake, collection: &str) -> usize {
    let page = world.store.scan(collection, &Range::All, None, 1_000);
    page.documents.len()
}

/// Begins to register a user.
fn begin(world: &mut Fake, id: &str) {
    let (status, begun) = ask(world, "/fido-register", &user(id));
    assert_eq!(status, 201, "{begun}");
}

#[test]
fn begun_logins_and_registrations_push_out_no_payment() {
    let mut world = world();
    let mut device = authenticator(1);
    register(&mut world, "alice", &mut device);
    let payment = answered(&mut world, "/fido-authorize", &payment("1"), |options| {
        device.get(options)
    });
    for _ in 0..20 {
        begin(&mut world, "alice");
        let login = ask(&mut world, "/fido-authenticate", &named("alice"));
        assert_eq!(login.0, 201);
    }
    assert_eq!(count(&mut world, CHALLENGES.name()), 2 * GIVEN_MAX + 1);
    assert_eq!(count(&mut world, EXPIRIES.name()), 2 * GIVEN_MAX + 1);
    assert_eq!(ask(&mut world, "/fido-authorize", &payment).0, 200);
}

#[test]
fn one_more_challenge_removes_the_oldest_of_its_purpose() {
    let mut world = world();
    let mut bodies = Vec::new();
    for number in 0..=GIVEN_MAX {
        let number = u8::try_from(number).unwrap() + 1;
        bodies.push(answered(
            &mut world,
            "/fido-register",
            &user("alice"),
            |options| authenticator(number).create(options),
        ));
    }
    let said = ask(&mut world, "/fido-register", &bodies[0]);
    assert_eq!(refusal(said), refused(404, "challenge-unknown"));
    for body in &bodies[1..] {
        assert_eq!(ask(&mut world, "/fido-register", body).0, 200);
    }
}

#[test]
fn expired_challenges_go_when_their_user_is_next_touched() {
    let mut world = world();
    for _ in 0..20 {
        begin(&mut world, "alice");
    }
    assert_eq!(count(&mut world, CHALLENGES.name()), GIVEN_MAX);
    world.now = 301_000;
    begin(&mut world, "alice");
    assert_eq!(count(&mut world, CHALLENGES.name()), 1);
    assert_eq!(count(&mut world, EXPIRIES.name()), 1);
}

#[test]
fn users_who_never_finish_are_removed_by_what_others_begin() {
    let mut world = world();
    register(&mut world, "carol", &mut authenticator(1));
    for number in 0..10 {
        begin(&mut world, &format!("user-{number}"));
    }
    assert_eq!(count(&mut world, USERS.name()), 11);
    world.now = 301_000;
    for _ in 0..4 {
        begin(&mut world, "bob");
    }
    // Carol has a credential; her challenge has gone.
    let carol = USERS.within(&mut world).get("program/wallet/carol");
    let carol = carol.unwrap();
    assert_eq!((carol.credentials.len(), carol.challenges.len()), (1, 0));
    assert_eq!(count(&mut world, USERS.name()), 2);
    assert_eq!(count(&mut world, CHALLENGES.name()), 4);
    assert_eq!(count(&mut world, EXPIRIES.name()), 4);
}
