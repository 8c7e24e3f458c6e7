//! Operators see credentials, and revoke them.

use super::*;
use crate::api;
use crate::bindings::exports::rialto::host::http_handler::Request;
use rialto_webauthn::options::base64url;

/// Asks as an operator: the status and the body.
fn operate(
    world: &mut Fake,
    (who, role): (&str, &str),
    operation: &str,
    id: &str,
    query: &[(&str, &str)],
) -> (u16, Value) {
    let owned = |pairs: &[(&str, &str)]| {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    };
    let method = match operation {
        "revokeFidoCredential" => "POST",
        _ => "GET",
    };
    let request = Request {
        operation_id: operation.to_owned(),
        method: method.to_owned(),
        path: format!("/{operation}/{id}"),
        path_parameters: owned(&[("id", id)]),
        query_parameters: owned(query),
        headers: Vec::new(),
        body: (method == "POST").then(|| "{}".to_owned()),
        caller: None,
    };
    let operator = Caller {
        name: who.to_owned(),
        roles: vec![role.to_owned()],
    };
    let Answer { status, body, .. } = api::answer(world, &operator, &request);
    (status, serde_json::from_str(&body.unwrap()).unwrap())
}

fn revoke(world: &mut Fake, device: &Authenticator) -> (u16, Value) {
    let id = base64url(&device.id);
    operate(world, ("maya", "maker"), "revokeFidoCredential", &id, &[])
}

fn listed(world: &mut Fake, query: &[(&str, &str)]) -> Vec<String> {
    let (status, page) = operate(world, ("anna", "reader"), "listFidoCredentials", "", query);
    assert_eq!(status, 200, "{page}");
    let items = page["items"].as_array().unwrap().iter();
    items
        .map(|item| item["credential"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn revoked_credential_is_refused_as_an_unknown_one() {
    let mut world = world();
    let (mut stolen, mut other) = (authenticator(1), authenticator(2));
    register(&mut world, "alice", &mut stolen);
    register(&mut world, "alice", &mut other);
    // What was begun before, for a login and for a payment, does not help.
    let login = answered(
        &mut world,
        "/fido-authenticate",
        &named("alice"),
        |options| stolen.get(options),
    );
    let authorization = answered(&mut world, "/fido-authorize", &payment("1"), |options| {
        stolen.get(options)
    });
    world.now = 2_000;
    let (status, revoked) = revoke(&mut world, &stolen);
    let expected = json!({
        "program": "wallet", "user": "alice", "credential": base64url(&stolen.id), "state": "REVOKED",
        "transports": ["usb"], "isBackupEligible": false, "registeredAt": 1_000,
        "revokedBy": "maya", "revokedAt": 2_000,
    });
    assert_eq!((status, revoked), (200, expected));
    let unknown = answered(
        &mut world,
        "/fido-authenticate",
        &named("alice"),
        |options| {
            let mut stranger = authenticator(3);
            stranger.handle = stolen.handle.clone();
            stranger.get(options)
        },
    );
    let unknown = ask(&mut world, "/fido-authenticate", &unknown);
    assert_eq!(refusal(unknown.clone()), refused(422, "fido-refused"));
    assert_eq!(ask(&mut world, "/fido-authenticate", &login), unknown);
    assert_eq!(ask(&mut world, "/fido-authorize", &authorization), unknown);
    // No new challenge names it, and the user's other authenticator works.
    let body = answered(
        &mut world,
        "/fido-authenticate",
        &named("alice"),
        |options| {
            let allowed = options["allowCredentials"].as_array().unwrap();
            let ids: Vec<&Value> = allowed.iter().map(|one| &one["id"]).collect();
            assert_eq!(ids, [&json!(base64url(&other.id))]);
            other.get(options)
        },
    );
    assert_eq!(ask(&mut world, "/fido-authenticate", &body).0, 200);
    // It never comes back.
    let again = answered(&mut world, "/fido-register", &user("alice"), |options| {
        stolen.create(options)
    });
    let again = ask(&mut world, "/fido-register", &again);
    assert_eq!(refusal(again), refused(409, "credential-known"));
}

#[test]
fn user_whose_only_credential_is_revoked_is_unknown() {
    let mut world = world();
    let mut device = authenticator(1);
    register(&mut world, "alice", &mut device);
    assert_eq!(revoke(&mut world, &device).0, 200);
    for (path, body) in [
        ("/fido-authenticate", named("alice")),
        ("/fido-authorize", payment("1")),
    ] {
        let said = ask(&mut world, path, &body);
        assert_eq!(refusal(said), refused(404, "user-unknown"), "{path}");
    }
    // Nothing but the id's end is left once the challenges are over.
    world.now = 400_000;
    let begun = ask(&mut world, "/fido-register", &user("bob"));
    assert_eq!(begun.0, 201);
    let left = USERS.within(&mut world).get("program/wallet/alice");
    assert_eq!(left, None);
    // The user may register another authenticator.
    register(&mut world, "alice", &mut authenticator(2));
}

#[test]
fn repeated_finish_of_a_revoked_credential_is_refused() {
    let mut world = world();
    let mut device = authenticator(1);
    let registration = answered(&mut world, "/fido-register", &user("alice"), |options| {
        device.create(options)
    });
    let authorization = |world: &mut Fake, device: &mut Authenticator| {
        answered(world, "/fido-authorize", &payment("1"), |options| {
            device.get(options)
        })
    };
    assert_eq!(ask(&mut world, "/fido-register", &registration).0, 200);
    let authorization = authorization(&mut world, &mut device);
    assert_eq!(ask(&mut world, "/fido-authorize", &authorization).0, 200);
    assert_eq!(revoke(&mut world, &device).0, 200);
    for (path, body) in [
        ("/fido-register", &registration),
        ("/fido-authorize", &authorization),
    ] {
        let said = ask(&mut world, path, body);
        assert_eq!(refusal(said), refused(422, "fido-refused"), "{path}");
    }
}

#[test]
fn revocation_is_kept_with_its_operator_and_is_done_once() {
    let mut world = world();
    let mut device = authenticator(1);
    register(&mut world, "alice", &mut device);
    let id = base64url(&device.id);
    for role in ["reader", "admin", "context"] {
        let said = operate(&mut world, ("eve", role), "revokeFidoCredential", &id, &[]);
        assert_eq!(refusal(said), refused(403, "role-missing"), "{role}");
    }
    let checker = ("chris", "checker");
    let done = operate(&mut world, checker, "revokeFidoCredential", &id, &[]);
    assert_eq!(done.0, 200, "{}", done.1);
    let before = kept(&mut world);
    let (status, said) = revoke(&mut world, &device);
    assert_eq!(
        (&said["revokedBy"], &said["revokedAt"]),
        (&json!("chris"), &json!(1_000))
    );
    assert_eq!(refusal((status, said)), refused(409, "nothing-changes"));
    let said = operate(&mut world, checker, "revokeFidoCredential", "AAAA", &[]);
    assert_eq!(refusal(said), refused(404, "credential-unknown"));
    assert_eq!(kept(&mut world), before);
    // Also after the user has another authenticator, operators see who has revoked this one.
    register(&mut world, "alice", &mut authenticator(2));
    let reader = ("anna", "reader");
    let (status, shown) = operate(&mut world, reader, "getFidoCredential", &id, &[]);
    let expected = json!({
        "program": "wallet", "user": "alice", "credential": id, "state": "REVOKED",
        "revokedBy": "chris", "revokedAt": 1_000,
    });
    assert_eq!((status, shown), (200, expected));
}

#[test]
fn credentials_are_listed_by_owner_and_user_without_secrets() {
    let mut world = world();
    let ids: Vec<String> = (1..=3).map(|number| base64url(&[number; 16])).collect();
    for (number, name) in [(1, "alice"), (2, "alice"), (3, "bob")] {
        register(&mut world, name, &mut authenticator(number));
    }
    let (one, user) = (("program", "wallet"), ("user", "alice"));
    assert_eq!(listed(&mut world, &[]), ids);
    assert_eq!(listed(&mut world, &[one]), ids);
    assert_eq!(listed(&mut world, &[one, user]), ids[..2]);
    assert_eq!(listed(&mut world, &[("participant", "wallet")]), [""; 0]);
    assert_eq!(listed(&mut world, &[one, ("user", "ali")]), [""; 0]);
    let reader = ("anna", "reader");
    let long = "ü".repeat(100);
    for wrong in [
        &[user][..],
        &[one, ("participant", "payerfsp")],
        &[("program", &long), user],
        &[("program", "a\nb")],
        &[one, ("user", "a/b")],
    ] {
        let said = operate(&mut world, reader, "listFidoCredentials", "", wrong);
        assert_eq!(refusal(said), refused(400, "malformed"));
    }
    let (_, page) = operate(
        &mut world,
        reader,
        "listFidoCredentials",
        "",
        &[one, ("limit", "1")],
    );
    assert_eq!(page["nextCursor"], "program/wallet/alice");
    let expected = json!({
        "program": "wallet", "user": "alice", "credential": ids[0], "state": "ACTIVE",
        "transports": ["usb"], "isBackupEligible": false, "registeredAt": 1_000,
    });
    assert_eq!(page["items"][0], expected);
    let said = operate(&mut world, ("eve", "maker"), "listFidoCredentials", "", &[]);
    assert_eq!(refusal(said), refused(403, "role-missing"));
}
