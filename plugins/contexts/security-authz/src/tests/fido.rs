//! Transactions that a user authorizes.

use serde_json::{Value, json};

use super::fake::{Fake, NOW};

fn ask(fake: &mut Fake, more: &Value, amount: &str) -> (u16, Value) {
    let mut body = json!({
        "participant": "green",
        "transaction": { "transferId": "t", "amount": { "currency": "USD", "amount": amount }, "payee": "Bob" },
    });
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    fake.ask(
        "switch",
        &["context"],
        "authorizeTransaction",
        &body.to_string(),
    )
}

#[test]
fn transaction_is_authorized_by_the_participants_user() {
    let mut fake = Fake::new();
    let begin = json!({ "user": { "id": "alice" } });
    let finish = json!({ "id": "challenge", "credential": { "id": "x" } });
    let (status, said) = ask(&mut fake, &begin, "10");
    let expected =
        json!({ "id": "challenge", "publicKey": { "challenge": "c" }, "expiresAt": NOW });
    assert_eq!((status, said), (201, expected));
    let (status, said) = ask(&mut fake, &finish, "10");
    assert_eq!(
        (status, &said["user"], &said["participant"]),
        (200, &json!("alice"), &json!("green"))
    );
    assert_eq!(
        said["transaction"]["amount"],
        json!({ "currency": "USD", "amount": "10" })
    );
    let (status, said) = ask(&mut fake, &finish, "10");
    assert_eq!(
        (status, &said["type"]),
        (409, &json!("urn:rialto:problem:challenge-used"))
    );
}

#[test]
fn other_transactions_and_users_are_refused() {
    let mut fake = Fake::new();
    let begin = json!({ "user": { "id": "alice" } });
    let finish = json!({ "id": "challenge", "credential": { "id": "x" } });
    assert_eq!(ask(&mut fake, &begin, "10").0, 201);
    let (status, said) = ask(&mut fake, &finish, "11");
    assert_eq!(
        (status, &said["type"]),
        (422, &json!("urn:rialto:problem:fido-refused"))
    );
    assert_eq!(
        ask(&mut fake, &json!({ "user": { "id": "bob" } }), "10").0,
        404
    );
    let other = json!({ "user": { "id": "alice" }, "participant": "red" });
    assert_eq!(ask(&mut fake, &other, "10").0, 404);
    for neither in [
        json!({}),
        json!({ "id": "challenge" }),
        json!({ "user": { "id": "alice" }, "id": "c" }),
    ] {
        assert_eq!(ask(&mut fake, &neither, "10").0, 400, "{neither}");
    }
}
