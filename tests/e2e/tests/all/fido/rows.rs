//! Every row with an authenticator in software: what passes, and that what is refused changes nothing that lasts.

use serde_json::{Value, json};

use super::{ORIGIN, PARTY, Scene, named, payment, user};
use rialto_webauthn::authenticator::{Authenticator, PRESENT};

/// A change of an authenticator.
type Change = fn(&mut Authenticator);

const REGISTER: &str = "/fido-register";
const AUTHENTICATE: &str = "/fido-authenticate";
const AUTHORIZE: &str = "/fido-authorize";

fn authenticator(number: u8) -> Authenticator {
    Authenticator::new(number, PARTY, ORIGIN)
}

async fn register(scene: &mut Scene, device: &mut Authenticator) {
    let (id, options) = scene.begin(REGISTER, &user()).await;
    let registered = scene.finish(REGISTER, &id, &device.create(&options)).await;
    assert_eq!(registered["user"], "alice");
}

#[tokio::test(flavor = "multi_thread")]
async fn program_registers_authenticates_and_authorizes() {
    let mut scene = Scene::start(ORIGIN);
    let mut device = authenticator(1);
    register(&mut scene, &mut device).await;
    let (id, options) = scene.begin(AUTHENTICATE, &named()).await;
    let credential = device.get(&options);
    let first = scene.finish(AUTHENTICATE, &id, &credential).await;
    assert_eq!(first["userVerified"], true);
    // Who has a copy of a login does not log in with it.
    let copy = json!({ "id": id, "credential": credential });
    let said = scene.ask(AUTHENTICATE, &copy).await;
    assert_eq!((said.status, said.problem()), (409, "challenge-used"));
    let (id, options) = scene.begin(AUTHORIZE, &payment("100.5")).await;
    let transaction = &payment("100.5")["transaction"];
    let credential = device.get(&options);
    // The finish says what was authorized.
    let body = json!({ "id": id, "credential": credential });
    let said = scene.ask(AUTHORIZE, &body).await;
    assert_eq!((said.status, said.problem()), (400, "malformed"));
    let authorized = scene.authorize(&id, &credential, transaction).await;
    assert_eq!(&authorized["transaction"], transaction);
    assert_eq!(authorized["credential"], first["credential"]);
    // Nobody else finds the user, and an operator who is no program may not ask.
    let said = scene.ask_as("shop", AUTHENTICATE, &named()).await;
    assert_eq!((said.status, said.problem()), (404, "user-unknown"));
    let said = scene.ask_as("anna", AUTHENTICATE, &named()).await;
    assert_eq!((said.status, said.problem()), (403, "role-missing"));
    scene.end("fido/program");
}

#[tokio::test(flavor = "multi_thread")]
async fn verification_that_fails_is_refused_and_uses_the_challenge_up() {
    let mut scene = Scene::start(ORIGIN);
    let mut device = authenticator(1);
    register(&mut scene, &mut device).await;
    let changes: [(&str, Change); 4] = [
        ("origin", |device| {
            device.origin = "http://localhost:8081".to_owned()
        }),
        ("relying party", |device| {
            device.party = "example.com".to_owned()
        }),
        ("verified", |device| device.flags = PRESENT),
        ("signature", |device| {
            let id = device.id.clone();
            *device = authenticator(2);
            device.id = id;
        }),
    ];
    for (why, change) in changes {
        let mut device = authenticator(1);
        device.count = 50;
        change(&mut device);
        let (id, options) = scene.begin(AUTHORIZE, &payment("1")).await;
        let transaction = &payment("1")["transaction"];
        let credential = device.get(&options);
        let body = json!({ "id": id, "credential": credential, "transaction": transaction });
        let said = scene.ask(AUTHORIZE, &body).await;
        assert_eq!(
            (said.status, said.problem()),
            (422, "fido-refused"),
            "{why}: {said:?}"
        );
        let detail = said.body["detail"].as_str().unwrap();
        assert!(detail.contains(why), "{why}: {detail}");
        let again = scene.ask(AUTHORIZE, &body).await;
        assert_eq!(
            (again.status, again.problem()),
            (409, "challenge-used"),
            "{why}"
        );
    }
    // The counter goes back: from then on the credential does not work.
    device.count = 9;
    let (id, options) = scene.begin(AUTHENTICATE, &named()).await;
    scene.finish(AUTHENTICATE, &id, &device.get(&options)).await;
    let (id, options) = scene.begin(AUTHENTICATE, &named()).await;
    device.count = 9;
    let body = json!({ "id": id, "credential": device.get(&options) });
    let said = scene.ask(AUTHENTICATE, &body).await;
    assert_eq!((said.status, said.problem()), (409, "credential-suspect"));
    let said = scene.ask(AUTHENTICATE, &named()).await;
    assert_eq!((said.status, said.problem()), (404, "user-unknown"));
    let log = scene.host.log();
    assert!(
        log.contains("ALERT: the counter of a FIDO credential"),
        "{log}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn request_that_cannot_be_read_is_refused_and_changes_nothing() {
    let scene = Scene::start(ORIGIN);
    let (id, options) = scene.begin(REGISTER, &user()).await;
    let good = json!({ "id": id, "credential": authenticator(1).create(&options) });
    let before = scene.kept().await;
    let with = |place: &str, value: Value| {
        let mut body = good.clone();
        *body.pointer_mut(place).unwrap() = value;
        body
    };
    let object = "/credential/response/attestationObject";
    let long = "A".repeat(65_000);
    let bodies = [
        (json!({}), 400),
        (json!({ "user": { "id": "a/b", "name": "a" } }), 400),
        (json!({ "user": user()["user"], "id": id }), 400),
        (with("/credential", json!("text")), 400),
        (with("/credential/type", json!("password")), 400),
        (with("/credential/rawId", json!("AAAA")), 400),
        (
            with("/credential/response/clientDataJSON", json!("e30")),
            400,
        ),
        // No base64url, no CBOR, CBOR without an end, lists in lists, and no public key.
        (with(object, json!("+/==")), 400),
        (with(object, json!("_w")), 400),
        (with(object, json!("v_________8")), 400),
        (
            with(object, json!("gYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGB")),
            400,
        ),
        (
            with(object, json!("o2NmbXRkbm9uZWdhdHRTdG10oGhhdXRoRGF0YUEA")),
            400,
        ),
        (with(object, json!(long)), 400),
        (with(object, json!("A".repeat(200_000))), 413),
    ];
    for (body, status) in bodies {
        let said = scene.ask(REGISTER, &body).await;
        assert_eq!(said.status, status, "{body}: {said:?}");
        assert!(!said.body["detail"].as_str().unwrap().is_empty());
        if status == 400 {
            let (status, body) = scene.as_fsp("payerfsp", &body).await;
            let code = &body["errorInformation"]["errorCode"];
            assert_eq!(status, 400, "{body}");
            // The FSP has no such challenge, but what cannot be read is refused before.
            assert!(code == "3101" || code == "3102", "{body}");
        }
    }
    assert_eq!(scene.kept().await, before);
    assert_eq!(scene.ask(REGISTER, &good).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn participant_registers_users_of_its_own() {
    let mut scene = Scene::start(ORIGIN);
    let (status, begun) = scene.as_fsp("payerfsp", &user()).await;
    assert_eq!(status, 201, "{begun}");
    let mut device = authenticator(1);
    let body = json!({ "id": begun["id"], "credential": device.create(&begun["publicKey"]) });
    // Another participant, and a program, do not have the challenge.
    let code = |body: &Value| body["errorInformation"]["errorCode"].clone();
    let (status, said) = scene.as_fsp("payeefsp", &body).await;
    assert_eq!((status, code(&said)), (400, json!("3200")));
    let said = scene.ask(REGISTER, &body).await;
    assert_eq!((said.status, said.problem()), (404, "challenge-unknown"));
    let (status, registered) = scene.as_fsp("payerfsp", &body).await;
    assert_eq!(
        (status, &registered["user"]),
        (200, &json!("alice")),
        "{registered}"
    );
    scene.seen.insert("C-app-fido-register".to_owned());
    assert_eq!(scene.as_fsp("payerfsp", &body).await, (200, registered));
    // Who is no participant begins nothing.
    let before = scene.kept().await;
    let (status, said) = scene.as_fsp("nobody", &user()).await;
    assert_eq!((status, code(&said)), (400, json!("3200")));
    assert_eq!(scene.kept().await, before);
    let said = scene.ask(AUTHENTICATE, &named()).await;
    assert_eq!((said.status, said.problem()), (404, "user-unknown"));
    // A wrong origin is refused in the API's form.
    let (_, begun) = scene.as_fsp("payerfsp", &user()).await;
    let mut evil = authenticator(2);
    evil.origin = "https://evil.example".to_owned();
    let body = json!({ "id": begun["id"], "credential": evil.create(&begun["publicKey"]) });
    let (status, said) = scene.as_fsp("payerfsp", &body).await;
    assert_eq!((status, code(&said)), (400, json!("3100")));
    scene.end("fido/participant");
}

#[tokio::test(flavor = "multi_thread")]
async fn program_has_a_participants_user_authorize_a_transaction() {
    const PATH: &str = "/app-fido-authorize";
    let mut scene = Scene::start(ORIGIN);
    let (_, begun) = scene.as_fsp("payerfsp", &user()).await;
    let mut device = authenticator(1);
    let body = json!({ "id": begun["id"], "credential": device.create(&begun["publicKey"]) });
    let (status, registered) = scene.as_fsp("payerfsp", &body).await;
    assert_eq!(status, 200, "{registered}");
    let of = |participant: &str, amount: &str| {
        let mut body = payment(amount);
        body["participant"] = json!(participant);
        body
    };
    let finish = |id: &Value, credential: &Value, amount: &str| {
        let mut body = of("payerfsp", amount);
        body.as_object_mut().unwrap().remove("user");
        body["id"] = id.clone();
        body["credential"] = credential.clone();
        body
    };
    // Nobody else's user, and no user of a program.
    let said = scene.ask(PATH, &of("payeefsp", "10")).await;
    assert_eq!((said.status, said.problem()), (404, "user-unknown"));
    let said = scene.ask_as("anna", PATH, &of("payerfsp", "10")).await;
    assert_eq!((said.status, said.problem()), (403, "role-missing"));
    // An authorization of one amount is none of another, and its challenge is spent.
    let (id, options) = scene.begin(PATH, &of("payerfsp", "10")).await;
    let credential = device.get(&options);
    let said = scene.ask(PATH, &finish(&id, &credential, "1000")).await;
    assert_eq!((said.status, said.problem()), (422, "fido-refused"));
    let said = scene.ask(PATH, &finish(&id, &credential, "10")).await;
    assert_eq!((said.status, said.problem()), (409, "challenge-used"));
    let (id, options) = scene.begin(PATH, &of("payerfsp", "10")).await;
    let credential = device.get(&options);
    let said = scene.ask(PATH, &finish(&id, &credential, "10")).await;
    assert_eq!(said.status, 200, "{said:?}");
    assert_eq!(said.body["participant"], "payerfsp");
    assert_eq!(said.body["transaction"], payment("10")["transaction"]);
    scene.seen.insert("C-app-fido-authorize".to_owned());
    scene.end("fido/authorized");
}

#[tokio::test(flavor = "multi_thread")]
async fn operator_revokes_a_stolen_authenticator() {
    let mut scene = Scene::start(ORIGIN);
    let (mut stolen, mut other) = (authenticator(1), authenticator(2));
    register(&mut scene, &mut stolen).await;
    register(&mut scene, &mut other).await;
    let (id, options) = scene.begin(AUTHENTICATE, &named()).await;
    let login = json!({ "id": id, "credential": stolen.get(&options) });
    let list = "/fido-credentials?program=wallet&user=alice";
    let listed = scene.office.get("anna", list).await.unwrap();
    let items = listed["items"].as_array().unwrap();
    assert_eq!(items.len(), 2, "{listed}");
    let of_stolen = items
        .iter()
        .find(|item| item["credential"] == login["credential"]["id"]);
    let credential = of_stolen.unwrap()["credential"].as_str().unwrap();
    let path = format!("/fido-credentials/{credential}");
    let revocation = format!("{path}/revocation");
    let said = scene.ask_as("anna", &revocation, &json!({})).await;
    assert_eq!((said.status, said.problem()), (403, "role-missing"));
    let said = scene.ask_as("maya", &revocation, &json!({})).await;
    assert_eq!((said.status, &said.body["state"]), (200, &json!("REVOKED")));
    // A login that was begun before does not help, and the user's other authenticator works.
    let said = scene.ask(AUTHENTICATE, &login).await;
    assert_eq!((said.status, said.problem()), (422, "fido-refused"));
    let (id, options) = scene.begin(AUTHENTICATE, &named()).await;
    scene.finish(AUTHENTICATE, &id, &other.get(&options)).await;
    let said = scene.ask_as("maya", &revocation, &json!({})).await;
    assert_eq!((said.status, said.problem()), (409, "nothing-changes"));
    let shown = scene.office.get("anna", &path).await.unwrap();
    assert_eq!(shown["revokedBy"], "maya");
    let said = scene
        .ask_as("maya", "/fido-credentials/AAAA/revocation", &json!({}))
        .await;
    assert_eq!((said.status, said.problem()), (404, "credential-unknown"));
}
