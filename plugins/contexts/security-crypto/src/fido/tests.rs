//! The operations with an authenticator in software: what passes, what is refused, and what each leaves behind.

mod counters;
mod leftovers;
mod refusals;
mod revoking;
mod unreadable;

use rialto_sdk::documents::{Range, Store as _};
use rialto_sdk::operators::{Answer, Caller, Problem};
use rialto_sdk::testing::survives_a_rollback;
use serde_json::{Value, json};

use super::documents::{CHALLENGES, CREDENTIALS, EXPIRIES, Revoked, USERS};
use super::http;
use crate::settings::Fido;
use crate::tests::fake::{self, Fake};
use rialto_webauthn::authenticator::{Authenticator, PRESENT, VERIFIED};
use rialto_webauthn::options::base64url;

const PARTY: &str = "bank.example";
const ORIGIN: &str = "https://pay.bank.example";

/// Surroundings with a relying party.
fn world() -> Fake {
    let mut world = fake::world();
    world.fido = Some(Fido {
        relying_party: PARTY.to_owned(),
        name: "Bank".to_owned(),
        origins: vec![ORIGIN.to_owned()],
        challenge_seconds: 300,
    });
    world
}

fn authenticator(number: u8) -> Authenticator {
    Authenticator::new(number, PARTY, ORIGIN)
}

fn caller(name: &str) -> Caller {
    Caller {
        name: name.to_owned(),
        roles: vec!["context".to_owned()],
    }
}

/// Asks as a program: the status and the body.
fn ask_as(world: &mut Fake, who: &str, path: &str, body: &Value) -> (u16, Value) {
    let asked = serde_json::from_value(body.clone()).unwrap();
    let caller = caller(who);
    let answered = match path {
        "/fido-register" => http::register(world, &caller, asked),
        "/fido-authenticate" => http::authenticate(world, &caller, asked),
        "/fido-authorize" => http::authorize(world, &caller, asked),
        other => panic!("no path {other}"),
    };
    let Answer { status, body, .. } = answered.unwrap_or_else(|problem: Problem| problem.answer());
    (status, serde_json::from_str(&body.unwrap()).unwrap())
}

fn ask(world: &mut Fake, path: &str, body: &Value) -> (u16, Value) {
    ask_as(world, "wallet", path, body)
}

/// A refusal's status and kind.
fn refusal((status, body): (u16, Value)) -> (u16, String) {
    let kind = body["type"].as_str().unwrap_or_default();
    let kind = kind.trim_start_matches("urn:rialto:problem:");
    (status, kind.to_owned())
}

fn refused(status: u16, kind: &str) -> (u16, String) {
    (status, kind.to_owned())
}

/// Begins, and has the options answered: the body of the finish.
fn answered(
    world: &mut Fake,
    path: &str,
    body: &Value,
    answer: impl FnOnce(&Value) -> Value,
) -> Value {
    let (status, begun) = ask(world, path, body);
    assert_eq!(status, 201, "{begun}");
    let mut finish = json!({ "id": begun["id"], "credential": answer(&begun["publicKey"]) });
    if let Some(transaction) = body.get("transaction") {
        finish["transaction"] = transaction.clone();
    }
    finish
}

fn user(id: &str) -> Value {
    json!({ "user": { "id": id, "name": "alice@bank.example", "displayName": "Alice" } })
}

fn named(id: &str) -> Value {
    json!({ "user": { "id": id } })
}

fn payment(amount: &str) -> Value {
    json!({
        "user": { "id": "alice" },
        "transaction": {
            "transferId": "b51ec534-ee48-4575-b6a9-ead2955b8069",
            "amount": { "currency": "USD", "amount": amount },
            "payee": "Bob's Bikes",
        },
    })
}

/// Registers an authenticator for a user.
fn register(world: &mut Fake, id: &str, device: &mut Authenticator) -> Value {
    let body = answered(world, "/fido-register", &user(id), |options| {
        device.create(options)
    });
    let (status, registered) = ask(world, "/fido-register", &body);
    assert_eq!(status, 200, "{registered}");
    registered
}

/// All documents of FIDO2.
fn kept(world: &mut Fake) -> Vec<(String, String)> {
    let names = [
        USERS.name(),
        CREDENTIALS.name(),
        CHALLENGES.name(),
        EXPIRIES.name(),
    ];
    let all = names.map(|name| world.store.scan(name, &Range::All, None, 1_000).documents);
    let all = all.into_iter().flatten();
    all.map(|document| (document.id, document.body)).collect()
}

#[test]
fn user_registers_authenticates_and_authorizes() {
    let mut world = world();
    let mut device = authenticator(1);
    let (status, begun) = ask(&mut world, "/fido-register", &user("alice"));
    assert_eq!((status, &begun["expiresAt"]), (201, &json!(301_000)));
    let options = &begun["publicKey"];
    assert_eq!(options["rp"], json!({ "id": PARTY, "name": "Bank" }));
    assert_eq!(options["challenge"].as_str().unwrap().len(), 43);
    assert_eq!(options["attestation"], "none");
    assert_eq!(options["excludeCredentials"], json!([]));
    assert_eq!(
        options["authenticatorSelection"]["userVerification"],
        "required"
    );
    assert_eq!(
        options["pubKeyCredParams"],
        json!([{ "type": "public-key", "alg": -7 }])
    );
    assert_ne!(options["user"]["id"], "alice");

    let finish = json!({ "id": begun["id"], "credential": device.create(options) });
    let (status, registered) = ask(&mut world, "/fido-register", &finish);
    let credential = base64url(&device.id);
    let expected = json!({ "user": "alice", "credential": credential, "registeredAt": 1_000 });
    assert_eq!((status, registered), (200, expected));

    world.now = 2_000;
    let body = answered(
        &mut world,
        "/fido-authenticate",
        &named("alice"),
        |options| {
            assert_eq!(options["rpId"], PARTY);
            assert_eq!(options["userVerification"], "preferred");
            let allowed =
                json!([{ "type": "public-key", "id": credential, "transports": ["usb"] }]);
            assert_eq!(options["allowCredentials"], allowed);
            device.flags = PRESENT;
            device.get(options)
        },
    );
    let (status, authenticated) = ask(&mut world, "/fido-authenticate", &body);
    let expected = json!({
        "user": "alice", "credential": credential, "userVerified": false, "authenticatedAt": 2_000,
    });
    assert_eq!((status, authenticated), (200, expected));

    device.flags = PRESENT | VERIFIED;
    let body = answered(
        &mut world,
        "/fido-authorize",
        &payment("100.5"),
        |options| {
            assert_eq!(options["userVerification"], "required");
            device.get(options)
        },
    );
    let (status, authorized) = ask(&mut world, "/fido-authorize", &body);
    assert_eq!(status, 200, "{authorized}");
    assert_eq!(authorized["transaction"], payment("100.5")["transaction"]);
}

#[test]
fn repeated_registration_has_the_same_answer_and_a_repeated_login_none() {
    let mut world = world();
    let mut device = authenticator(1);
    let body = answered(&mut world, "/fido-register", &user("alice"), |options| {
        device.create(options)
    });
    let first = ask(&mut world, "/fido-register", &body);
    world.now = 5_000;
    assert_eq!(ask(&mut world, "/fido-register", &body), first);
    let (_, begun) = ask(&mut world, "/fido-authenticate", &named("alice"));
    let mut finish = || json!({ "id": begun["id"], "credential": device.get(&begun["publicKey"]) });
    let (body, another) = (finish(), finish());
    let first = ask(&mut world, "/fido-authenticate", &body);
    assert_eq!(first.0, 200, "{}", first.1);
    let before = kept(&mut world);
    // Who has a copy of a login does not log in with it.
    for used in [&body, &another] {
        let again = ask(&mut world, "/fido-authenticate", used);
        assert_eq!(refusal(again), refused(409, "challenge-used"));
    }
    assert_eq!(kept(&mut world), before);
    // Repeats end with the challenge's time.
    world.now = 305_000;
    let late = ask(&mut world, "/fido-authenticate", &body);
    assert_eq!(refusal(late), refused(409, "challenge-expired"));
}

#[test]
fn another_authenticator_of_the_user_is_excluded_once_and_used_by_itself() {
    let mut world = world();
    let (mut first, mut second) = (authenticator(1), authenticator(2));
    register(&mut world, "alice", &mut first);
    let body = answered(&mut world, "/fido-register", &user("alice"), |options| {
        let excluded = &options["excludeCredentials"];
        assert_eq!(excluded[0]["id"], base64url(&[1; 16]));
        second.create(options)
    });
    assert_eq!(ask(&mut world, "/fido-register", &body).0, 200);
    for device in [&mut first, &mut second] {
        let body = answered(
            &mut world,
            "/fido-authenticate",
            &named("alice"),
            |options| device.get(options),
        );
        assert_eq!(ask(&mut world, "/fido-authenticate", &body).0, 200);
    }
}

#[test]
fn user_has_ten_credentials_and_no_more() {
    let mut world = world();
    for number in 1..=9 {
        register(&mut world, "alice", &mut authenticator(number));
    }
    // Two are begun while there is room for one.
    let mut begin = |number| {
        answered(&mut world, "/fido-register", &user("alice"), |options| {
            authenticator(number).create(options)
        })
    };
    let (tenth, eleventh) = (begin(10), begin(11));
    assert_eq!(ask(&mut world, "/fido-register", &tenth).0, 200);
    let more = ask(&mut world, "/fido-register", &eleventh);
    assert_eq!(refusal(more), refused(409, "credentials-full"));
    let more = ask(&mut world, "/fido-register", &user("alice"));
    assert_eq!(refusal(more), refused(409, "credentials-full"));
    let page = world.store.scan(CREDENTIALS.name(), &Range::All, None, 100);
    assert_eq!(page.documents.len(), 10);
}

#[test]
fn without_settings_nothing_is_begun() {
    let mut world = world();
    world.fido = None;
    for (path, body) in [
        ("/fido-register", user("alice")),
        ("/fido-authenticate", named("alice")),
        ("/fido-authorize", payment("1")),
        ("/fido-authenticate", json!({ "id": "x", "credential": {} })),
    ] {
        let answer = ask(&mut world, path, &body);
        assert_eq!(refusal(answer), refused(409, "fido-not-set"), "{path}");
    }
    assert_eq!(kept(&mut world), []);
}

#[test]
fn documents_survive_a_rollback() {
    let mut world = world();
    let mut device = authenticator(1);
    register(&mut world, "alice", &mut device);
    let body = answered(&mut world, "/fido-authorize", &payment("1"), |options| {
        device.get(options)
    });
    assert_eq!(ask(&mut world, "/fido-authorize", &body).0, 200);
    let user = USERS
        .within(&mut world)
        .get("program/wallet/alice")
        .unwrap();
    survives_a_rollback(&USERS, &user, &[]);
    let id = body["id"].as_str().unwrap();
    let challenge = CHALLENGES.within(&mut world).get(id).unwrap();
    assert!(challenge.spent.is_some() && challenge.transaction.is_some());
    survives_a_rollback(&CHALLENGES, &challenge, &[]);
    let page = CREDENTIALS.within(&mut world).scan(&Range::All, None, 1);
    let mut known = page.documents[0].1.clone();
    known.revoked = Some(Revoked {
        by: "maya".to_owned(),
        at: 1,
    });
    survives_a_rollback(&CREDENTIALS, &known, &[]);
    let page = EXPIRIES.within(&mut world).scan(&Range::All, None, 1);
    survives_a_rollback(&EXPIRIES, &page.documents[0].1, &[]);
}

#[test]
fn labels_that_are_not_read_as_they_stand_are_refused() {
    let mut world = world();
    for right in ["Bob", "Bob’s Bikes", "می\u{200c}خواهم", "क\u{200d}ष"] {
        let mut body = user("alice");
        body["user"]["displayName"] = json!(right);
        assert_eq!(ask(&mut world, "/fido-register", &body).0, 201, "{right}");
    }
    for wrong in [
        " ",
        " Bob",
        "Bob ",
        "B\u{202e}ob",
        "B\u{200b}ob",
        "B\u{2066}ob",
        "Bob\u{feff}",
        "B\u{e0041}ob",
    ] {
        let mut body = user("alice");
        body["user"]["displayName"] = json!(wrong);
        let said = ask(&mut world, "/fido-register", &body);
        assert_eq!(refusal(said), refused(400, "malformed"), "{wrong:?}");
    }
}
