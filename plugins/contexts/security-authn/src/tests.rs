//! Applications and tokens, over surroundings whose signatures are only marks.

use rialto_sdk::auditing::{Audited, Refused};
use rialto_sdk::documents::{Memory, Range, Store as _};
use rialto_sdk::testing::survives_a_rollback;
use serde_json::{Value, json};

use crate::api;
use crate::applications::{self, APPLICATIONS, State};
use crate::bindings::exports::rialto::host::http_handler::{Caller, Request, Response};
use crate::bindings::exports::rialto::security_authn::register_application;
use crate::bindings::rialto::host::keys::{Key, KeyError};
use crate::bindings::rialto::security_authn::types::ApplicationError;
use crate::settings::Settings;
use crate::signing::{self, KEYS, SigningKey};
use crate::world::World;
use crate::{tokens, told};

#[derive(Default)]
struct Fake {
    store: Memory,
    ids: u32,
    keys: u32,
    now: u64,
    has_no_provider: bool,
    alerts: Vec<String>,
    audited: Vec<Audited>,
    /// A key that the host no longer has.
    lost: Option<String>,
    /// Who was refused.
    refused: Vec<String>,
    /// Keys that their provider has destroyed.
    destroyed: Vec<String>,
    /// Whether the provider does not answer when a key is to be destroyed.
    is_away: bool,
    /// Which provider was to make the last key, if one was chosen.
    preferred: Option<String>,
}

rialto_sdk::stores_in!(Fake, this => this.store);

/// A mark that depends on each octet.
fn mark(message: &[u8]) -> Vec<u8> {
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    for byte in message {
        sum = (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    sum.to_be_bytes().to_vec()
}

impl World for Fake {
    fn now(&mut self) -> u64 {
        self.now
    }
    fn random(&mut self, bytes: u32) -> String {
        self.ids += 1;
        format!("{:0width$x}", self.ids, width = bytes as usize * 2)
    }
    fn uuid(&mut self) -> String {
        self.ids += 1;
        format!("00000000-0000-4000-8000-{:012}", self.ids)
    }
    fn generate(
        &mut self,
        _label: &str,
        _not_after: u64,
        preferred: Option<&str>,
    ) -> Result<Key, KeyError> {
        self.preferred = preferred.map(str::to_owned);
        if self.has_no_provider {
            return Err(KeyError::NoProvider);
        }
        self.keys += 1;
        let name = format!("key-{}", self.keys);
        Ok(Key {
            reference: name.clone(),
            public_key: Some(name),
        })
    }
    fn sign(&mut self, reference: &str, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        if self.lost.as_deref() == Some(reference) {
            return Err(KeyError::NoKey("gone".to_owned()));
        }
        Ok(mark(&[reference.as_bytes(), message].concat()))
    }
    fn verify(
        &mut self,
        public_key: &str,
        message: &[u8],
        signature: &[u8],
    ) -> Result<bool, KeyError> {
        Ok(mark(&[public_key.as_bytes(), message].concat()) == signature)
    }
    fn sha256(&mut self, message: &[u8]) -> Vec<u8> {
        mark(message)
    }
    fn alert(&mut self, line: &str) {
        self.alerts.push(line.to_owned());
    }
    fn audit(&mut self, audited: &Audited) {
        self.audited.push(audited.clone());
    }
    fn refused(&mut self, refused: &Refused<'_>) {
        let Refused {
            source, about, why, ..
        } = refused;
        self.refused.push(format!("{source:?} {about} {why}"));
    }
    fn destroy(&mut self, reference: &str) -> Result<(), KeyError> {
        if self.is_away {
            return Err(KeyError::ProviderAway("nobody answers".to_owned()));
        }
        self.destroyed.push(reference.to_owned());
        Ok(())
    }
    fn same(&mut self, a: &[u8], b: &[u8]) -> bool {
        a == b
    }
}

const HOUR: u64 = 3_600_000;

fn world() -> Fake {
    Fake {
        now: 1_000 * HOUR,
        ..Fake::default()
    }
}

fn settings() -> Settings {
    Settings::default()
}

fn registered(world: &mut Fake) -> (String, String) {
    let request = register_application::Request {
        name: "payerfsp".to_owned(),
        label: "a switch".to_owned(),
        maker: "maya".to_owned(),
    };
    let made = applications::register(world, request).unwrap();
    (made.application.id, made.secret)
}

/// An application that gets tokens.
fn active(world: &mut Fake) -> (String, String) {
    let (id, secret) = registered(world);
    applications::decide(world, &id, "chris", true).unwrap();
    (id, secret)
}

fn request(operation: &str, headers: &[(&str, &str)], body: String) -> Request {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Request {
        operation_id: operation.to_owned(),
        method: "POST".to_owned(),
        path: "/".to_owned(),
        path_parameters: Vec::new(),
        query_parameters: Vec::new(),
        headers: headers.iter().map(owned).collect(),
        body: Some(body),
        caller: None,
    }
}

fn body(response: &Response) -> Value {
    serde_json::from_str(response.body.as_deref().unwrap()).unwrap()
}

fn log_in(world: &mut Fake, id: &str, secret: &str) -> (u16, Value) {
    log_in_from(world, "192.0.2.100", id, secret)
}

/// From this address.
fn log_in_from(world: &mut Fake, from: &str, id: &str, secret: &str) -> (u16, Value) {
    let response = answer_from(world, from, id, secret);
    (response.status, body(&response))
}

fn answer_from(world: &mut Fake, from: &str, id: &str, secret: &str) -> Response {
    let asked = request(
        "basicAuth",
        &[("x-rialto-client-address", from)],
        json!({ "id": id, "secret": secret }).to_string(),
    );
    api::answer(world, &settings(), &asked)
}

/// The seconds that a sender is told to wait, if it is.
fn waits(world: &mut Fake, from: &str, id: &str, secret: &str) -> Option<u64> {
    let response = answer_from(world, from, id, secret);
    let header = response
        .headers
        .iter()
        .find(|(name, _)| name == "retry-after");
    assert_eq!(header.is_some(), response.status == 429);
    Some(header?.1.parse().unwrap())
}

fn token_of(world: &mut Fake, id: &str, secret: &str) -> String {
    let (status, said) = log_in(world, id, secret);
    assert_eq!(status, 200, "{said}");
    said["accessToken"].as_str().unwrap().to_owned()
}

#[test]
fn id_and_secret_get_a_token_that_verifies() {
    let mut world = world();
    let (id, secret) = active(&mut world);
    let (status, said) = log_in(&mut world, &id, &secret);
    assert_eq!((status, &said["expiresIn"]), (200, &json!(3_600)));
    let claims = tokens::verify(
        &mut world,
        &settings(),
        said["accessToken"].as_str().unwrap(),
    );
    let claims = claims.unwrap();
    assert_eq!(
        (claims.sub.as_str(), claims.client_id.as_str()),
        ("payerfsp", id.as_str())
    );
    assert_eq!(claims.exp, claims.iat + 3_600);
    assert_eq!(claims.cnf, None);
    assert_eq!(said["claims"]["aud"], "https://hub.invalid");
}

#[test]
fn two_operators_stand_behind_an_application() {
    let mut world = world();
    let (id, secret) = registered(&mut world);
    assert_eq!(log_in(&mut world, &id, &secret).0, 401);
    let own = applications::decide(&mut world, &id, "maya", true);
    assert_eq!(own.unwrap_err(), ApplicationError::MakerIsChecker);
    assert_eq!(log_in(&mut world, &id, &secret).0, 401);
    applications::decide(&mut world, &id, "chris", true).unwrap();
    assert_eq!(log_in(&mut world, &id, &secret).0, 200);
    let again = applications::decide(&mut world, &id, "chris", false);
    assert!(matches!(again, Err(ApplicationError::InState(_))));
    let (other, secret) = registered(&mut world);
    applications::decide(&mut world, &other, "chris", false).unwrap();
    assert_eq!(log_in(&mut world, &other, &secret).0, 401);
    for id in ["", "none", "00000000-0000-4000-8000-999999999999", "../x"] {
        let unknown = applications::decide(&mut world, id, "chris", true);
        assert_eq!(unknown.unwrap_err(), ApplicationError::Unknown);
    }
}

#[test]
fn revoked_application_has_no_valid_token() {
    let mut world = world();
    let (id, secret) = active(&mut world);
    let token = token_of(&mut world, &id, &secret);
    let ids = [id.clone()];
    assert_eq!(told::clients(&mut world, &ids)[0].generation, 1);
    // One operator is enough, also the one who asked for it.
    applications::revoke(&mut world, &id, "maya").unwrap();
    assert!(told::clients(&mut world, &ids).is_empty());
    assert_eq!(tokens::verify(&mut world, &settings(), &token), None);
    assert_eq!(log_in(&mut world, &id, &secret).0, 401);
    assert!(applications::revoke(&mut world, &id, "maya").is_err());
}

#[test]
fn wrong_and_unknown_have_the_same_answer() {
    let mut world = world();
    let (id, _) = active(&mut world);
    let wrong = log_in(&mut world, &id, "wrong");
    let unknown = log_in(&mut world, "00000000-0000-4000-8000-999999999999", "wrong");
    assert_eq!(wrong, unknown);
    assert_eq!(wrong.0, 401);
    // The log has both, and no text of a stranger.
    let told = [
        format!("{id:?} application:{id} a wrong secret"),
        "\"\" application: no application that gets tokens".to_owned(),
    ];
    assert_eq!(world.refused, told);
}

#[test]
fn wrong_secrets_are_alerted_and_keep_nobody_out() {
    let mut world = world();
    let (id, secret) = active(&mut world);
    for n in 0..12 {
        // Each from somewhere else: nobody waits.
        let from = format!("192.0.2.{n}");
        assert_eq!(log_in_from(&mut world, &from, &id, "wrong").0, 401);
    }
    let [first, second] = &world.alerts[..] else {
        panic!("{:?}", world.alerts);
    };
    assert!(first.starts_with("6 wrong secrets"), "{first}");
    assert!(second.starts_with("12 wrong secrets"), "{second}");
    let audited = world.audited.iter();
    let audited: Vec<_> = audited.map(|event| (&event.note, &*event.about)).collect();
    let about = format!("application:{id}");
    assert_eq!(audited, [(first, &*about), (second, &*about)]);
    assert_eq!(log_in(&mut world, &id, &secret).0, 200);
    // A success forgets them.
    for _ in 0..5 {
        assert_eq!(log_in(&mut world, &id, "wrong").0, 401);
    }
    assert_eq!(world.alerts.len(), 2);
}

#[test]
fn who_guesses_waits_longer_and_longer_and_nobody_else_does() {
    let mut world = world();
    let (id, secret) = active(&mut world);
    let (guesser, owner) = ("192.0.2.1", "192.0.2.2");
    for _ in 0..5 {
        assert_eq!(log_in_from(&mut world, guesser, &id, "wrong").0, 401);
    }
    let mut waited = Vec::new();
    for _ in 0..11 {
        assert_eq!(log_in_from(&mut world, guesser, &id, "wrong").0, 401);
        // The right one is not compared either, and asking does not make the wait longer.
        let rest = [(); 3].map(|()| waits(&mut world, guesser, &id, &secret));
        let rest = rest.map(Option::unwrap);
        assert_eq!(rest, [rest[0]; 3]);
        waited.push(rest[0]);
        // Others are let in meanwhile.
        assert_eq!(log_in_from(&mut world, owner, &id, &secret).0, 200);
        world.now += rest[0] * 1_000;
    }
    assert_eq!(waited, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 3_600]);
    let barred = world
        .alerts
        .iter()
        .filter(|line| line.contains("it is barred"));
    let [barred] = barred.collect::<Vec<_>>()[..] else {
        panic!("{:?}", world.alerts);
    };
    assert!(
        barred.contains("16 wrong secrets from one sender"),
        "{barred}"
    );
    assert!(
        barred.contains(&id) && !barred.contains(guesser),
        "{barred}"
    );
    assert!(
        world
            .audited
            .iter()
            .any(|entry| entry.action == "login.barred")
    );
    // After that hour it is as if nothing had been.
    assert_eq!(log_in_from(&mut world, guesser, &id, "wrong").0, 401);
    assert_eq!(log_in_from(&mut world, guesser, &id, &secret).0, 200);
}

#[test]
fn unknown_ids_wait_as_known_ones_do() {
    let mut world = world();
    let (known, _) = active(&mut world);
    let unknown = "00000000-0000-4000-8000-999999999999";
    for _ in 0..8 {
        let answers = [&known, unknown].map(|id| log_in_from(&mut world, "192.0.2.9", id, "wrong"));
        assert_eq!(answers[0], answers[1]);
    }
    assert_eq!(
        log_in_from(&mut world, "192.0.2.9", unknown, "wrong").0,
        429
    );
}

#[test]
fn key_that_the_host_lost_is_replaced_at_once() {
    let mut world = world();
    let (id, secret) = active(&mut world);
    let before = token_of(&mut world, &id, &secret);
    world.lost = Some("key-1".to_owned());
    let after = token_of(&mut world, &id, &secret);
    for token in [&before, &after] {
        assert!(tokens::verify(&mut world, &settings(), token).is_some());
    }
    assert_eq!((world.keys, world.alerts.len()), (2, 1));
    token_of(&mut world, &id, &secret);
    assert_eq!(world.keys, 2);
}

#[test]
fn certificate_of_another_name_gets_no_token_and_is_not_counted() {
    let mut world = world();
    let (id, secret) = active(&mut world);
    let mut asked = request(
        "basicAuth",
        &[],
        json!({ "id": id, "secret": secret }).to_string(),
    );
    let certified = |name: &str| {
        Some(Caller {
            name: name.to_owned(),
            roles: vec!["client".to_owned()],
        })
    };
    asked.caller = certified("payeefsp");
    for _ in 0..20 {
        assert_eq!(api::answer(&mut world, &settings(), &asked).status, 401);
        // Not so often that it would have to wait.
        world.now += 3_600_000;
    }
    assert!(world.alerts.is_empty());
    asked.caller = certified("payerfsp");
    asked
        .headers
        .push(("x-rialto-client-certificate".to_owned(), "abc".to_owned()));
    let response = api::answer(&mut world, &settings(), &asked);
    assert_eq!(response.status, 200);
    assert_eq!(
        body(&response)["claims"]["cnf"],
        json!({ "x5t#S256": "abc" })
    );
}

#[test]
fn oauth_clients_say_who_they_are_in_one_way() {
    use base64::Engine as _;
    let mut world = world();
    let (id, secret) = active(&mut world);
    let grant = "grant_type=client_credentials";
    let basic = base64::engine::general_purpose::STANDARD.encode(format!("{id}:{secret}"));
    let basic = format!("Basic {basic}");
    let by_form = format!("{grant}&client_id={id}&client_secret={secret}");
    let encoded = format!(
        "{grant}&client%5Fid={}&client_secret={secret}",
        id.replace('-', "%2D")
    );
    let header = [("authorization", basic.as_str())];
    for (headers, form, status, error) in [
        (&header[..], grant.to_owned(), 200, ""),
        (&[], by_form.clone(), 200, ""),
        (&[], encoded, 200, ""),
        (&header, by_form.clone(), 400, "invalid_request"),
        (
            &header,
            format!("{grant}&client_id=another"),
            401,
            "invalid_client",
        ),
        (&[], grant.to_owned(), 401, "invalid_client"),
        (
            &[("authorization", "Bearer x")],
            grant.to_owned(),
            401,
            "invalid_client",
        ),
        (
            &[("authorization", "Basic %%%")],
            grant.to_owned(),
            401,
            "invalid_client",
        ),
        (
            &[],
            by_form.replace(&secret, "wrong"),
            401,
            "invalid_client",
        ),
        (
            &header,
            "grant_type=password".to_owned(),
            400,
            "unsupported_grant_type",
        ),
        (&header, String::new(), 400, "unsupported_grant_type"),
    ] {
        let asked = request("token", headers, form.clone());
        let response = api::answer(&mut world, &settings(), &asked);
        let said = body(&response);
        assert_eq!(response.status, status, "{form}: {said}");
        assert_eq!(said["error"].as_str().unwrap_or_default(), error);
        let kept = response
            .headers
            .iter()
            .find(|(name, _)| name == "cache-control")
            .unwrap();
        assert_eq!(kept.1, "no-store");
    }
}

#[test]
fn changed_token_is_not_valid() {
    let mut world = world();
    let (id, secret) = active(&mut world);
    let token = token_of(&mut world, &id, &secret);
    assert!(tokens::verify(&mut world, &settings(), &token).is_some());
    for at in 0..token.len() {
        let mut changed = token.clone().into_bytes();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        assert_eq!(
            tokens::verify(&mut world, &settings(), &changed),
            None,
            "{at}"
        );
    }
    for broken in ["", ".", "..", "a.b.c", &token[1..], &"x".repeat(5_000)] {
        assert_eq!(tokens::verify(&mut world, &settings(), broken), None);
    }
    let other = Settings {
        audience: Some("elsewhere".to_owned()),
        ..settings()
    };
    assert_eq!(tokens::verify(&mut world, &other, &token), None);
    world.now += HOUR;
    assert_eq!(tokens::verify(&mut world, &settings(), &token), None);
}

#[test]
fn next_key_is_made_by_the_provider_that_operators_have_chosen() {
    let mut world = world();
    let settings = Settings::default();
    let first = signing::current(&mut world, &settings).unwrap();
    assert_eq!(world.preferred, None);
    // An older choice that arrives later is none.
    signing::choose(&mut world, "token".to_owned(), 2);
    signing::choose(&mut world, "software".to_owned(), 1);
    let same = signing::current(&mut world, &settings).unwrap();
    assert_eq!(same, first, "it signs until its end");
    world.now = first.signs_until;
    assert_ne!(signing::current(&mut world, &settings).unwrap(), first);
    assert_eq!(world.preferred.as_deref(), Some("token"));
}

#[test]
fn new_key_signs_while_the_old_one_verifies() {
    let mut world = world();
    let (id, secret) = active(&mut world);
    token_of(&mut world, &id, &secret);
    world.now += 30 * 24 * HOUR - 1;
    let last = token_of(&mut world, &id, &secret);
    assert_eq!(told::rules(&mut world, &settings()).keys.len(), 1);
    world.now += 1;
    token_of(&mut world, &id, &secret);
    assert_eq!(told::rules(&mut world, &settings()).keys.len(), 2);
    assert!(tokens::verify(&mut world, &settings(), &last).is_some());
    world.now += 24 * HOUR;
    assert_eq!(told::rules(&mut world, &settings()).keys.len(), 1);
    assert_eq!(world.destroyed, [""; 0]);
    let kept = |world: &mut Fake| {
        let all = KEYS.within(world).scan(&Range::All, None, 10);
        all.documents.len()
    };
    // With the next token its provider is asked to destroy it, and again an hour later if that is away.
    world.is_away = true;
    for _ in 0..2 {
        token_of(&mut world, &id, &secret);
    }
    assert_eq!((world.alerts.len(), kept(&mut world)), (1, 2));
    world.is_away = false;
    token_of(&mut world, &id, &secret);
    assert_eq!(kept(&mut world), 2);
    world.now += HOUR;
    token_of(&mut world, &id, &secret);
    assert_eq!(world.destroyed, ["key-1"]);
    assert_eq!(kept(&mut world), 1);
    world.now += 29 * 24 * HOUR;
    token_of(&mut world, &id, &secret);
    assert_eq!((world.keys, kept(&mut world)), (3, 2));
}

#[test]
fn without_a_provider_nobody_gets_a_token() {
    let mut world = world();
    let (id, secret) = active(&mut world);
    world.has_no_provider = true;
    assert_eq!(log_in(&mut world, &id, &secret).0, 503);
    assert_eq!(
        world.alerts,
        ["no token can be signed: KeyError::NoProvider"]
    );
}

#[test]
fn secret_is_kept_as_a_hash_and_told_once() {
    let mut world = world();
    let (id, secret) = active(&mut world);
    let kept = world.store.get("applications", &id).unwrap();
    assert!(!kept.contains(&secret), "{kept}");
    let page = told::page(&mut world, None, 10);
    assert_eq!((page.applications.len(), page.cursor), (1, None));
}

#[test]
fn pages_of_applications_follow_each_other() {
    let mut world = world();
    let ids: Vec<String> = (0..5).map(|_| registered(&mut world).0).collect();
    let (mut seen, mut cursor) = (Vec::new(), None);
    loop {
        let page = told::page(&mut world, cursor.as_deref(), 2);
        seen.extend(page.applications.into_iter().map(|one| one.id));
        cursor = page.cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, ids);
    assert_eq!(
        told::page(&mut world, Some("\0 no id"), 9)
            .applications
            .len(),
        5
    );
}

#[test]
fn malformed_applications_are_refused() {
    let mut world = world();
    for (name, label) in [("", "l"), ("n", ""), ("n", "a\nb"), ("n", &"x".repeat(65))] {
        let asked = register_application::Request {
            name: name.to_owned(),
            label: label.to_owned(),
            maker: "maya".to_owned(),
        };
        let refused = applications::register(&mut world, asked);
        assert!(matches!(refused, Err(ApplicationError::Malformed(_))));
    }
}

#[test]
fn documents_survive_a_rollback() {
    let mut world = world();
    let (id, secret) = active(&mut world);
    token_of(&mut world, &id, &secret);
    let application = APPLICATIONS.within(&mut world).get(&id).unwrap();
    assert_eq!(application.state, State::Active);
    survives_a_rollback(&APPLICATIONS, &application, &[]);
    let keys = KEYS
        .within(&mut world)
        .scan(&Range::All, None, 10)
        .documents;
    let key = SigningKey {
        destruction_asked_at: Some(1),
        ..keys[0].1.clone()
    };
    survives_a_rollback(&KEYS, &key, &[]);
}
