//! The operations, over providers that only pretend: what is allowed to whom, and what is kept.

mod destroying;
pub mod fake;

use std::collections::BTreeMap;

use rialto_sdk::documents::{Range, Store as _};
use rialto_sdk::operators::{Answer, Caller};
use rialto_sdk::testing::survives_a_rollback;
use serde_json::{Value, json};

use crate::api;
use crate::bindings::exports::rialto::host::http_handler::Request;
use crate::bindings::rialto::host::keys::KeyError;
use fake::{Fake, world};

fn caller(name: &str, roles: &[&str]) -> Caller {
    Caller {
        name: name.to_owned(),
        roles: roles.iter().map(|role| (*role).to_owned()).collect(),
    }
}

/// The operation of each path and method, by the document.
fn operation(method: &str, path: &str) -> &'static str {
    let of: BTreeMap<&str, &'static str> = BTreeMap::from([
        ("POST /random-number-gen", "generateRandomNumber"),
        ("POST /hash-gen", "generateHash"),
        ("POST /signature-gen", "generateSignature"),
        ("POST /signature-ver", "verifySignature"),
        ("POST /encrypt", "encrypt"),
        ("POST /decrypt", "decrypt"),
        ("POST /pin-translation", "translatePin"),
        ("POST /iam-token-verifty", "verifyToken"),
        ("GET /kms-key-definition", "listKeyDefinitions"),
        ("POST /kms-key-definition", "defineKey"),
        ("POST /kms-aes-key-gen", "generateAesKey"),
        ("POST /kms-ecc-key-gen", "generateEccKey"),
        ("POST /kms-pem-gen", "generatePem"),
        ("POST /kms-load-key", "loadKey"),
        ("GET /kms-keys", "listKeys"),
        ("POST /kms-keys/state", "changeKeyState"),
        ("GET /crypto-adapter-set", "getCryptoAdapter"),
        ("POST /crypto-adapter-set", "setCryptoAdapter"),
        ("POST /crypto-adapter-set/decision", "decideCryptoAdapter"),
        ("GET /ssl-terminate", "getTls"),
        ("POST /ssl-terminate", "readTlsAgain"),
    ]);
    of[format!("{method} {path}").as_str()]
}

fn ask(
    world: &mut Fake,
    who: &Caller,
    method: &str,
    path: &str,
    id: &str,
    body: Value,
) -> (u16, Value) {
    let request = Request {
        operation_id: operation(method, path).to_owned(),
        method: method.to_owned(),
        path: path.to_owned(),
        path_parameters: vec![("id".to_owned(), id.to_owned())],
        query_parameters: Vec::new(),
        headers: Vec::new(),
        body: Some(body.to_string()),
        caller: None,
    };
    let Answer { status, body, .. } = api::answer(world, who, &request);
    let body = body.map_or(Value::Null, |body| serde_json::from_str(&body).unwrap());
    (status, body)
}

/// A refusal's status and kind.
fn refusal((status, body): (u16, Value)) -> (u16, String) {
    let kind = body["type"].as_str().unwrap_or_default();
    (
        status,
        kind.trim_start_matches("urn:rialto:problem:").to_owned(),
    )
}

fn refused(status: u16, kind: &str) -> (u16, String) {
    (status, kind.to_owned())
}

fn definition(world: &mut Fake, usage: &str, algorithm: &str) -> String {
    let body = json!({ "label": "l", "usage": usage, "algorithm": algorithm, "owner": "audit" });
    let admin = caller("anna", &["admin"]);
    let (status, made) = ask(world, &admin, "POST", "/kms-key-definition", "", body);
    assert_eq!(status, 201, "{made}");
    made["id"].as_str().unwrap().to_owned()
}

fn key(world: &mut Fake, path: &str, usage: &str, algorithm: &str) -> String {
    let definition = definition(world, usage, algorithm);
    let admin = caller("anna", &["admin"]);
    let (status, made) = ask(
        world,
        &admin,
        "POST",
        path,
        "",
        json!({ "definition": definition }),
    );
    assert_eq!(status, 201, "{made}");
    assert_eq!(made.get("reference"), None);
    made["id"].as_str().unwrap().to_owned()
}

#[test]
fn owner_alone_uses_a_key() {
    let mut world = world();
    let id = key(&mut world, "/kms-ecc-key-gen", "SIGN", "ES256");
    let body = json!({ "key": id, "data": "YWJj" });
    let owner = caller("audit", &["context"]);
    let signed = ask(
        &mut world,
        &owner,
        "POST",
        "/signature-gen",
        "",
        body.clone(),
    );
    let expected = json!({ "key": id, "algorithm": "ES256", "signature": "YWJj" });
    assert_eq!(signed, (200, expected));
    assert_eq!(
        world.done,
        ["generate Algorithm::Es256 at hsm", "sign with sealed-1"]
    );
    let other = caller("logging", &["context"]);
    let answer = ask(
        &mut world,
        &other,
        "POST",
        "/signature-gen",
        "",
        body.clone(),
    );
    assert_eq!(refusal(answer), refused(403, "key-foreign"));
    // The role is of programs; being the owner by name is not enough.
    let answer = ask(
        &mut world,
        &caller("audit", &["admin"]),
        "POST",
        "/signature-gen",
        "",
        body,
    );
    assert_eq!(refusal(answer), refused(403, "role-missing"));
    assert_eq!(world.done.len(), 2);
}

#[test]
fn state_of_tls_files_is_told_and_they_are_read_again_by_admins() {
    let mut world = world();
    let path = "/ssl-terminate";
    let (status, shown) = ask(
        &mut world,
        &caller("anna", &["reader"]),
        "GET",
        path,
        "",
        json!({}),
    );
    assert_eq!(status, 200);
    let states: Vec<&Value> = shown["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| &file["state"])
        .collect();
    assert_eq!(states, ["EXPIRED", "EXPIRES_SOON", "VALID", "VALID"]);
    assert_eq!(shown.get("readings"), None);
    let others = caller("anna", &["reader", "maker", "checker", "context"]);
    let without = ask(&mut world, &others, "POST", path, "", json!({}));
    assert_eq!(refusal(without), refused(403, "role-missing"));
    assert!(world.done.is_empty());
    let (status, said) = ask(
        &mut world,
        &caller("ada", &["admin"]),
        "POST",
        path,
        "",
        json!({}),
    );
    assert_eq!(
        (status, &said["readings"][0]["isUsable"]),
        (200, &json!(false))
    );
    assert_eq!(said["files"], shown["files"]);
    assert_eq!(world.done, ["read TLS again"]);
}

#[test]
fn each_operation_needs_its_role() {
    let all = ["reader", "maker", "checker", "context", "admin"];
    for (method, path, role) in [
        ("POST", "/random-number-gen", "context"),
        ("POST", "/hash-gen", "context"),
        ("POST", "/signature-gen", "context"),
        ("POST", "/signature-ver", "context"),
        ("POST", "/encrypt", "context"),
        ("POST", "/decrypt", "context"),
        ("POST", "/pin-translation", "context"),
        ("POST", "/iam-token-verifty", "context"),
        ("GET", "/kms-key-definition", "reader"),
        ("POST", "/kms-key-definition", "admin"),
        ("POST", "/kms-aes-key-gen", "admin"),
        ("POST", "/kms-ecc-key-gen", "admin"),
        ("POST", "/kms-pem-gen", "admin"),
        ("POST", "/kms-load-key", "admin"),
        ("GET", "/kms-keys", "reader"),
        ("POST", "/kms-keys/state", "admin"),
        ("GET", "/crypto-adapter-set", "reader"),
        ("POST", "/crypto-adapter-set", "maker"),
        ("POST", "/crypto-adapter-set/decision", "checker"),
        ("GET", "/ssl-terminate", "reader"),
    ] {
        let others: Vec<&str> = all.into_iter().filter(|other| *other != role).collect();
        let mut world = world();
        let body = json!({ "definition": "x", "unwrappingKey": "x", "wrapped": "" });
        let without = ask(
            &mut world,
            &caller("anna", &others),
            method,
            path,
            "x",
            body.clone(),
        );
        assert_eq!(
            refusal(without),
            refused(403, "role-missing"),
            "{method} {path}"
        );
        let with = ask(
            &mut world,
            &caller("anna", &[role]),
            method,
            path,
            "x",
            body,
        );
        assert_ne!(refusal(with).1, "role-missing", "{method} {path}");
        assert!(world.done.is_empty(), "{method} {path}");
    }
}

#[test]
fn path_makes_only_keys_of_its_kind() {
    let mut world = world();
    let admin = caller("anna", &["admin"]);
    for (usage, algorithm, path) in [
        ("SIGN", "ES256", "/kms-aes-key-gen"),
        ("MAC", "HS256", "/kms-ecc-key-gen"),
        ("ENCRYPT", "A256GCM", "/kms-pem-gen"),
        ("SIGN", "RS256", "/kms-ecc-key-gen"),
    ] {
        let body = json!({ "definition": definition(&mut world, usage, algorithm) });
        let answer = ask(&mut world, &admin, "POST", path, "", body);
        assert_eq!(
            refusal(answer),
            refused(422, "key-unsupported"),
            "{algorithm}"
        );
    }
    assert!(world.done.is_empty());
}

#[test]
fn unfit_definitions_are_refused() {
    let mut world = world();
    let admin = caller("anna", &["admin"]);
    let mut define = |body| {
        let answer = ask(&mut world, &admin, "POST", "/kms-key-definition", "", body);
        refusal(answer)
    };
    let unfit = json!({ "label": "l", "usage": "MAC", "algorithm": "ES256", "owner": "a" });
    assert_eq!(define(unfit), refused(422, "key-unsupported"));
    let past = json!({
        "label": "l", "usage": "SIGN", "algorithm": "ES256", "owner": "a", "notAfter": 1_000,
    });
    assert_eq!(define(past), refused(409, "key-expired"));
}

#[test]
fn two_operators_destroy_a_key() {
    let mut world = world();
    let id = key(&mut world, "/kms-aes-key-gen", "MAC", "HS256");
    let [anna, bert] = ["anna", "bert"].map(|name| caller(name, &["admin"]));
    let mut turn = |who: &Caller, state: &str| {
        let body = json!({ "state": state });
        let (status, body) = ask(&mut world, who, "POST", "/kms-keys/state", &id, body);
        // One operator alone has nothing destroyed, however long it takes.
        world.pass(1_000_000);
        let is_destroyed = world.done.contains(&"destroy sealed-1".to_owned());
        assert_eq!(is_destroyed, body["state"] == "DESTROYING", "{state}");
        (
            status,
            body["state"].as_str().unwrap_or_default().to_owned(),
        )
    };
    let done = |state: &str| (200, state.to_owned());
    assert_eq!(turn(&anna, "DESTROYED").0, 409);
    assert_eq!(turn(&anna, "SUSPENDED"), done("SUSPENDED"));
    // To suspend is not to ask for the end.
    assert_eq!(turn(&bert, "DESTROYED").0, 409);
    assert_eq!(turn(&bert, "DESTRUCTION_ASKED"), done("DESTRUCTION_ASKED"));
    assert_eq!(turn(&bert, "DESTROYED").0, 403);
    assert_eq!(turn(&bert, "ACTIVE").0, 409);
    assert_eq!(turn(&anna, "SUSPENDED"), done("SUSPENDED"));
    assert_eq!(turn(&anna, "ACTIVE"), done("ACTIVE"));
    assert_eq!(turn(&anna, "SUSPENDED"), done("SUSPENDED"));
    assert_eq!(turn(&anna, "DESTRUCTION_ASKED"), done("DESTRUCTION_ASKED"));
    assert_eq!(turn(&bert, "DESTROYED"), done("DESTROYING"));
    assert_eq!(world.done.last().unwrap(), "destroy sealed-1");
    let kept = world.store.get("keys", &id).unwrap();
    assert!(!kept.contains("sealed"), "{kept}");
}

#[test]
fn suspended_key_does_nothing() {
    let mut world = world();
    let id = key(&mut world, "/kms-aes-key-gen", "ENCRYPT", "A256GCM");
    let admin = caller("anna", &["admin"]);
    let suspend = json!({ "state": "SUSPENDED" });
    assert_eq!(
        ask(&mut world, &admin, "POST", "/kms-keys/state", &id, suspend).0,
        200
    );
    let owner = caller("audit", &["context"]);
    for path in ["/encrypt", "/decrypt", "/signature-gen", "/hash-gen"] {
        let body = json!({ "key": id, "data": "YWJj" });
        let answer = ask(&mut world, &owner, "POST", path, "", body);
        assert_eq!(refusal(answer), refused(409, "key-state"), "{path}");
    }
    assert_eq!(world.done.len(), 1);
}

#[test]
fn another_operator_decides_which_provider_makes_keys() {
    let mut world = world();
    let maker = caller("anna", &["maker", "checker"]);
    let checker = caller("bert", &["checker"]);
    let set = |world: &mut Fake, provider: &str| {
        let body = json!({ "provider": provider });
        ask(world, &maker, "POST", "/crypto-adapter-set", "", body)
    };
    let decide = |world: &mut Fake, who: &Caller, id: &str, decision: &str| {
        let body = json!({ "decision": decision });
        ask(world, who, "POST", "/crypto-adapter-set/decision", id, body)
    };
    assert_eq!(
        refusal(set(&mut world, "cloud")),
        refused(422, "provider-unknown")
    );
    assert_eq!(
        refusal(set(&mut world, "hsm")),
        refused(409, "nothing-changes")
    );
    let (status, asked) = set(&mut world, "local");
    assert_eq!((status, &asked["state"]), (202, &json!("PENDING")));
    let id = asked["id"].as_str().unwrap();
    assert_eq!(
        refusal(set(&mut world, "local")),
        refused(409, "duplicate-request")
    );
    let own = decide(&mut world, &maker, id, "APPROVE");
    assert_eq!(refusal(own), refused(403, "maker-is-checker"));
    key(&mut world, "/kms-ecc-key-gen", "SIGN", "ES256");
    assert_eq!(decide(&mut world, &checker, id, "APPROVE").0, 200);
    let again = decide(&mut world, &checker, id, "REJECT");
    assert_eq!(refusal(again), refused(409, "already-decided"));
    key(&mut world, "/kms-ecc-key-gen", "SIGN", "ES256");
    let made = [
        "generate Algorithm::Es256 at hsm",
        "generate Algorithm::Es256 at local",
    ];
    assert_eq!(world.done, made);
    let reader = caller("cora", &["reader"]);
    let (_, view) = ask(
        &mut world,
        &reader,
        "GET",
        "/crypto-adapter-set",
        "",
        json!({}),
    );
    assert_eq!(view["provider"], "local");
    // Other contexts are told, and again with each release.
    assert_eq!(world.chosen, ["local"]);
    crate::adapters::tell(&mut world);
    assert_eq!(world.chosen, ["local", "local"]);
    // A provider that the host no longer has makes no key, and nobody else does in its place.
    world.providers = vec!["hsm"];
    let definition = definition(&mut world, "SIGN", "ES256");
    let admin = caller("anna", &["admin"]);
    let body = json!({ "definition": definition });
    let answer = ask(&mut world, &admin, "POST", "/kms-ecc-key-gen", "", body);
    assert_eq!(refusal(answer), refused(422, "provider-unknown"));
}

/// Requests of a store: decided ones, and one that waits and is the last by its id.
fn many_requests(world: &mut Fake) -> String {
    let request = |id: &str, state: &str| {
        let request = json!({
            "id": id, "provider": "local", "state": state, "maker": "anna", "createdAt": 1,
        });
        request.to_string()
    };
    for number in 0..2_500 {
        let id = format!("00000000-0000-4000-8000-0000000{number:05}");
        world
            .store
            .put("adapter-requests", &id, &request(&id, "REJECTED"));
    }
    let last = "ffffffff-0000-4000-8000-000000000000";
    world
        .store
        .put("adapter-requests", last, &request(last, "PENDING"));
    last.to_owned()
}

#[test]
fn waiting_request_is_found_among_any_number() {
    let (maker, checker) = (caller("cora", &["maker"]), caller("bert", &["checker"]));
    let path = "/crypto-adapter-set";
    let set = |world: &mut Fake| {
        let body = json!({ "provider": "local" });
        ask(world, &maker, "POST", path, "", body)
    };
    let first_shown = |world: &mut Fake| {
        let reader = caller("cora", &["reader"]);
        let (_, view) = ask(world, &reader, "GET", path, "", json!({}));
        let requests = view["requests"].as_array().unwrap();
        assert_eq!(requests.len(), 1_000);
        requests[0].clone()
    };
    // A store of an earlier release.
    let mut world = world();
    let id = many_requests(&mut world);
    let (status, refused) = set(&mut world);
    assert_eq!((status, &refused["pendingRequest"]), (409, &json!(id)));
    assert_eq!(first_shown(&mut world)["id"], json!(id));
    let decide = |world: &mut Fake, id: &str| {
        let body = json!({ "decision": "REJECT" });
        ask(
            world,
            &checker,
            "POST",
            "/crypto-adapter-set/decision",
            id,
            body,
        )
        .0
    };
    assert_eq!(decide(&mut world, &id), 200);
    assert_eq!(first_shown(&mut world)["state"], "REJECTED");
    // From then on the waiting request is known, and no request is looked through.
    let (status, asked) = set(&mut world);
    assert_eq!(status, 202);
    assert_eq!(first_shown(&mut world)["id"], asked["id"]);
    let (status, refused) = set(&mut world);
    assert_eq!((status, &refused["pendingRequest"]), (409, &asked["id"]));
    assert_eq!(decide(&mut world, asked["id"].as_str().unwrap()), 200);
}

/// A key that is made stays, so what may refuse a request must come before.
#[test]
fn nothing_is_refused_after_a_key_was_made() {
    let mut world = world();
    let (admin, reader) = (caller("anna", &["admin"]), caller("cora", &["reader"]));
    let signs = definition(&mut world, "SIGN", "ES256");
    let unwraps = key(&mut world, "/kms-aes-key-gen", "UNWRAP", "A256KWP");
    let wrong = key(&mut world, "/kms-ecc-key-gen", "SIGN", "ES256");
    let before = world.done.len();
    let none = "00000000-0000-4000-8000-999999999999";
    let of = |definition: &str| json!({ "definition": definition });
    let load = |definition: &str, unwraps: &str, wrapped: &str| json!({ "definition": definition, "unwrappingKey": unwraps, "wrapped": wrapped });
    let refused = [
        (&reader, "/kms-ecc-key-gen", of(&signs)),
        (&admin, "/kms-ecc-key-gen", of(none)),
        (&admin, "/kms-ecc-key-gen", json!({})),
        (&admin, "/kms-aes-key-gen", of(&signs)),
        (&admin, "/kms-pem-gen", of(none)),
        (&reader, "/kms-load-key", load(&signs, &unwraps, "AAAA")),
        (&admin, "/kms-load-key", load(none, &unwraps, "AAAA")),
        (&admin, "/kms-load-key", load(&signs, none, "AAAA")),
        (&admin, "/kms-load-key", load(&signs, &wrong, "AAAA")),
        (
            &admin,
            "/kms-load-key",
            load(&signs, &unwraps, "no base64!"),
        ),
    ];
    for (who, path, body) in refused {
        let (status, said) = ask(&mut world, who, "POST", path, "", body);
        assert!((400..500).contains(&status), "{path}: {said}");
    }
    // The provider that is set is gone.
    world.providers = Vec::new();
    let (status, said) = ask(
        &mut world,
        &admin,
        "POST",
        "/kms-ecc-key-gen",
        "",
        of(&signs),
    );
    assert_eq!(status, 422, "{said}");
    assert_eq!(world.done.len(), before, "{:?}", world.done);
}

#[test]
fn keys_are_loaded_with_unwrapping_keys_alone() {
    let mut world = world();
    let admin = caller("anna", &["admin"]);
    let unwraps = key(&mut world, "/kms-pem-gen", "UNWRAP", "RSA-OAEP-256-KWP");
    let signs = key(&mut world, "/kms-ecc-key-gen", "SIGN", "ES256");
    let pin = definition(&mut world, "PIN", "PIN-TDES");
    let load = |world: &mut Fake, unwraps: &str| {
        let body = json!({ "definition": pin, "unwrappingKey": unwraps, "wrapped": "YWJj" });
        ask(world, &admin, "POST", "/kms-load-key", "", body)
    };
    assert_eq!(
        refusal(load(&mut world, &signs)),
        refused(422, "key-purpose")
    );
    assert_eq!(
        refusal(load(&mut world, "none")),
        refused(404, "key-unknown")
    );
    let (status, loaded) = load(&mut world, &unwraps);
    assert_eq!((status, &loaded["usage"]), (201, &json!("PIN")));
    assert_eq!(
        (&loaded["state"], &loaded["origin"]),
        (&json!("PENDING"), &json!("LOADED"))
    );
    let id = loaded["id"].as_str().unwrap();
    let activate = |world: &mut Fake, who: &str| {
        let body = json!({ "state": "ACTIVE" });
        ask(
            world,
            &caller(who, &["admin"]),
            "POST",
            "/kms-keys/state",
            id,
            body,
        )
    };
    assert_eq!(
        refusal(activate(&mut world, "anna")),
        refused(403, "maker-is-checker")
    );
    assert_eq!(activate(&mut world, "bert").0, 200);
    let done = world.done.last().unwrap();
    assert_eq!(
        done,
        "unwrap 3 bytes with sealed-1: Algorithm::PinTdes at hsm"
    );
}

#[test]
fn key_pair_for_a_receiver_is_not_kept() {
    let mut world = world();
    let admin = caller("anna", &["admin"]);
    let body = json!({ "algorithm": "ES256", "receiver": "THEIRS" });
    let (status, made) = ask(&mut world, &admin, "POST", "/kms-pem-gen", "", body);
    let expected = json!({
        "algorithm": "ES256", "publicKey": "PEM", "encryptedPrivateKey": "JWE",
    });
    assert_eq!((status, made), (201, expected));
    let kept = world.store.scan("keys", &Range::All, None, 10).documents;
    assert!(kept.is_empty());
}

#[test]
fn errors_of_providers_have_kinds_of_their_own() {
    let mut world = world();
    let id = key(&mut world, "/kms-ecc-key-gen", "SIGN", "ES256");
    let owner = caller("audit", &["context"]);
    for (error, status, kind) in [
        (KeyError::NoProvider, 422, "provider-unknown"),
        (KeyError::NoKey("why".to_owned()), 422, "key-unavailable"),
        (KeyError::WrongPurpose, 422, "key-purpose"),
        (KeyError::Expired, 409, "key-expired"),
        (
            KeyError::Unsupported("why".to_owned()),
            422,
            "key-unsupported",
        ),
        (KeyError::BadInput("why".to_owned()), 422, "key-input"),
        (KeyError::NotOpened, 422, "not-opened"),
        (
            KeyError::ProviderAway("why".to_owned()),
            503,
            "provider-away",
        ),
    ] {
        world.fails = Some(error);
        let body = json!({ "key": id, "data": "YWJj" });
        let answer = ask(&mut world, &owner, "POST", "/signature-gen", "", body);
        assert_eq!(refusal(answer), refused(status, kind));
    }
}

#[test]
fn what_says_two_things_is_refused() {
    let mut world = world();
    let id = key(&mut world, "/kms-aes-key-gen", "MAC", "HS256");
    let owner = caller("audit", &["context"]);
    for (path, body) in [
        (
            "/hash-gen",
            json!({ "data": "", "key": id, "algorithm": "SHA-256" }),
        ),
        ("/signature-ver", json!({ "data": "", "signature": "" })),
        (
            "/signature-ver",
            json!({ "data": "", "signature": "", "key": id, "publicKey": "P" }),
        ),
        (
            "/signature-ver",
            json!({ "data": "", "signature": "", "publicKey": "P" }),
        ),
        ("/signature-gen", json!({ "key": id, "data": "no base64" })),
    ] {
        let answer = ask(&mut world, &owner, "POST", path, "", body.clone());
        assert_eq!(refusal(answer), refused(400, "malformed"), "{path} {body}");
    }
}

#[test]
fn token_is_valid_or_it_is_not() {
    let mut world = world();
    let owner = caller("audit", &["context"]);
    let mut verify = |token: &str| {
        let body = json!({ "token": token });
        ask(&mut world, &owner, "POST", "/iam-token-verifty", "", body)
    };
    assert_eq!(verify("bad"), (200, json!({ "active": false })));
    let (status, said) = verify("good");
    assert_eq!(
        (status, &said["active"], &said["sub"]),
        (200, &json!(true), &json!("payerfsp"))
    );
}

#[test]
fn documents_survive_a_rollback() {
    let mut world = world();
    let id = key(&mut world, "/kms-ecc-key-gen", "SIGN", "ES256");
    let key = crate::keys::known(&mut world, &id).unwrap();
    survives_a_rollback(&crate::keys::KEYS, &key, &[]);
    let definition = crate::definitions::known(&mut world, &key.definition).unwrap();
    survives_a_rollback(&crate::definitions::DEFINITIONS, &definition, &[]);
    let maker = caller("anna", &["maker"]);
    let request = crate::adapters::ask(&mut world, &maker, "local".to_owned()).unwrap();
    survives_a_rollback(&crate::adapters::REQUESTS, &request, &[]);
}
