//! Tokens with an issuer in memory: who passes, who waits, and who is refused when.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rcgen::KeyPair;
use rialto_components::http::ViolationKind;
use rialto_signatures::{PrivateKey, jws};
use rialto_tokens::{Client, Rules};
use serde_json::json;
use tokio::sync::watch;

use super::*;
use crate::authentication::{Authentication, CLIENT, Refusal, RefusalStatus};
use crate::credentials::Presented;
use crate::following::{AskError, FOLLOWED_FOR};

/// No certificate, and none needed.
const FREE: Bound<'_> = Bound {
    certificate: None,
    is_required: false,
};
/// Longer than anything here takes, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(20);

/// base64url without padding.
fn base64url(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let mut bits = [0; 4];
        bits[1..=three.len()].copy_from_slice(three);
        let bits = u32::from_be_bytes(bits);
        for place in 0..=three.len() {
            let letter = (bits >> (18 - 6 * place)) & 63;
            text.push(char::from(LETTERS[letter as usize]));
        }
    }
    text
}

/// An issuer that can be changed.
struct Memory {
    keys: Mutex<Vec<(String, KeyPair)>>,
    clients: Mutex<HashMap<Arc<str>, Client>>,
    is_away: AtomicBool,
    asked: AtomicUsize,
}

impl Memory {
    fn new() -> Arc<Self> {
        let memory = Self {
            keys: Mutex::default(),
            clients: Mutex::default(),
            is_away: AtomicBool::new(false),
            asked: AtomicUsize::new(0),
        };
        memory.add_key("k-1");
        memory.set("c-1", "alpha", 1);
        Arc::new(memory)
    }

    fn add_key(&self, id: &str) {
        let pair = KeyPair::generate().unwrap();
        self.keys.lock().push((id.to_owned(), pair));
    }

    fn set(&self, id: &str, name: &str, generation: u64) {
        let client = Client {
            name: name.into(),
            generation,
        };
        self.clients.lock().insert(id.into(), client);
    }

    fn token(&self, id: &str, name: &str, generation: u64) -> String {
        let keys = self.keys.lock();
        let (key, pair) = keys.last().unwrap();
        let now = Now::get().seconds;
        let header = json!({"typ": "at+jwt", "kid": key}).to_string();
        let claims = json!({
            "iss": "issuer", "aud": "here", "sub": name, "client_id": id, "jti": "1",
            "iat": now, "exp": now + 600, "generation": generation,
        });
        // A detached signature leaves out the payload; a token has it in the middle.
        let key = PrivateKey::of_pem(&pair.serialize_pem()).unwrap();
        let signed = jws::sign(&key, &header, claims.to_string().as_bytes()).unwrap();
        let payload = base64url(claims.to_string().as_bytes());
        format!("{}.{payload}.{}", signed.protected_header, signed.signature)
    }

    fn question(&self) -> Result<(), AskError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        if self.is_away.load(Ordering::Relaxed) {
            return Err(AskError("away".to_owned()));
        }
        Ok(())
    }
}

impl Issuer for Memory {
    async fn rules(&self) -> Result<Rules, AskError> {
        self.question()?;
        let keys = self.keys.lock();
        let keys = keys
            .iter()
            .map(|(id, pair)| (id.clone(), pair.public_key_pem()));
        Ok(Rules::new("issuer", "here", keys).unwrap())
    }

    async fn clients(&self, ids: &[Arc<str>]) -> Result<HashMap<Arc<str>, Client>, AskError> {
        assert!(!ids.is_empty() && ids.len() <= 100);
        self.question()?;
        let clients = self.clients.lock();
        let found = ids
            .iter()
            .filter_map(|id| Some((id.clone(), clients.get(id)?.clone())));
        Ok(found.collect())
    }
}

/// Tokens that follow this issuer. They stop when the sender is dropped.
fn following(memory: &Arc<Memory>) -> (Arc<Tokens>, watch::Sender<bool>) {
    let (stop, stopped) = watch::channel(false);
    let tokens = Arc::new(Tokens::default());
    tokio::spawn(tokens.clone().follow(memory.clone(), stopped));
    (tokens, stop)
}

async fn outcome(tokens: &Tokens, token: &str) -> Result<String, Denied> {
    let claims = tokens.claims(token, FREE).await?;
    Ok(claims.name.to_string())
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) -> Duration {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < PATIENCE, "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    began.elapsed()
}

#[tokio::test]
async fn known_clients_pass_without_a_question() {
    let memory = Memory::new();
    let (tokens, _stop) = following(&memory);
    let token = memory.token("c-1", "alpha", 1);
    assert_eq!(memory.asked.load(Ordering::Relaxed), 0, "nobody has come");
    assert_eq!(outcome(&tokens, &token).await, Ok("alpha".to_owned()));
    // By now it is followed: a look says at once what it is.
    for _ in 0..100 {
        let looked = tokens.look(&token, FREE, Instant::now(), Now::get());
        assert!(matches!(looked, Ok(Ok(_))));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn revoked_tokens_end_within_a_second() {
    let memory = Memory::new();
    let (tokens, _stop) = following(&memory);
    let old = memory.token("c-1", "alpha", 1);
    assert!(outcome(&tokens, &old).await.is_ok());
    memory.set("c-1", "alpha", 2);
    let new = memory.token("c-1", "alpha", 2);
    // The new one passes at once.
    assert_eq!(outcome(&tokens, &new).await, Ok("alpha".to_owned()));
    assert_eq!(outcome(&tokens, &old).await, Err(Invalid::Revoked.into()));
    memory.clients.lock().clear();
    let took = until("the client is away", async || {
        outcome(&tokens, &new).await.is_err()
    })
    .await;
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert_eq!(
        outcome(&tokens, &new).await,
        Err(Invalid::UnknownClient.into())
    );
}

#[tokio::test]
async fn new_keys_are_asked_for() {
    let memory = Memory::new();
    let (tokens, _stop) = following(&memory);
    let old = memory.token("c-1", "alpha", 1);
    assert!(outcome(&tokens, &old).await.is_ok());
    memory.add_key("k-2");
    let new = memory.token("c-1", "alpha", 1);
    assert!(outcome(&tokens, &new).await.is_ok());
    memory.keys.lock().remove(0);
    let took = until("the key is gone", async || {
        outcome(&tokens, &old).await.is_err()
    })
    .await;
    assert!(took < Duration::from_secs(1), "{took:?}");
    let stranger = Memory::new();
    stranger.add_key("k-9");
    let forged = stranger.token("c-1", "alpha", 1);
    assert_eq!(
        outcome(&tokens, &forged).await,
        Err(Invalid::UnknownKey.into())
    );
}

#[tokio::test]
async fn nobody_passes_by_an_old_state() {
    let memory = Memory::new();
    let (tokens, _stop) = following(&memory);
    let token = memory.token("c-1", "alpha", 1);
    assert!(outcome(&tokens, &token).await.is_ok());
    memory.is_away.store(true, Ordering::Relaxed);
    let took = until("the state is old", async || {
        let now = Now::get();
        !matches!(tokens.look(&token, FREE, now.at, now), Ok(Ok(_)))
    })
    .await;
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert_eq!(outcome(&tokens, &token).await, Err(Denied::Unknown));
    // What needs no state is refused as before.
    memory.is_away.store(false, Ordering::Relaxed);
    assert!(outcome(&tokens, &token).await.is_ok());
}

#[tokio::test]
async fn requests_that_wait_share_their_questions() {
    let memory = Memory::new();
    for n in 0..250 {
        memory.set(&format!("c-{n}"), "alpha", 1);
    }
    let (tokens, _stop) = following(&memory);
    let waiting = (0..250).map(|n| {
        let (tokens, token) = (tokens.clone(), memory.token(&format!("c-{n}"), "alpha", 1));
        tokio::spawn(async move { outcome(&tokens, &token).await })
    });
    let waiting: Vec<_> = waiting.collect();
    for one in waiting {
        assert!(one.await.unwrap().is_ok());
    }
    let asked = memory.asked.load(Ordering::Relaxed);
    assert!(asked < 50, "{asked} questions");
}

#[tokio::test]
async fn nobody_is_asked_for_forged_tokens_of_known_keys() {
    let memory = Memory::new();
    let (tokens, _stop) = following(&memory);
    assert!(
        outcome(&tokens, &memory.token("c-1", "alpha", 1))
            .await
            .is_ok()
    );
    let stranger = Memory::new();
    for n in 0..1_000 {
        let forged = stranger.token(&format!("x-{n}"), "alpha", 1);
        assert_eq!(
            outcome(&tokens, &forged).await,
            Err(Invalid::Signature.into())
        );
    }
    assert_eq!(
        tokens.state.lock().followed(Instant::now()).clients.len(),
        1
    );
}

#[tokio::test]
async fn revoked_clients_cause_few_questions() {
    let memory = Memory::new();
    let (tokens, _stop) = following(&memory);
    let (right, unknown) = (memory.token("c-1", "alpha", 1), Memory::new());
    unknown.add_key("k-9");
    let unknown = unknown.token("c-1", "alpha", 1);
    assert!(outcome(&tokens, &right).await.is_ok());
    memory.clients.lock().clear();
    let before = memory.asked.load(Ordering::Relaxed);
    let began = Instant::now();
    let sending = (0..20).map(|n| {
        let tokens = tokens.clone();
        let token = if n % 2 == 0 {
            right.clone()
        } else {
            unknown.clone()
        };
        tokio::spawn(async move {
            while began.elapsed() < Duration::from_secs(2) {
                let _ = outcome(&tokens, &token).await;
            }
        })
    });
    let sending: Vec<_> = sending.collect();
    for one in sending {
        one.await.unwrap();
    }
    // Of each kind, one regular question each 400 ms and one more in between.
    let asked = memory.asked.load(Ordering::Relaxed) - before;
    assert!(asked < 30, "{asked} questions");
}

#[test]
fn clients_are_followed_while_they_send() {
    let mut state = State::default();
    let began = Instant::now();
    let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
    assert_eq!(state.followed(began), state::Questions::default());
    state.clients.of(&a, began);
    let later = began + FOLLOWED_FOR;
    state.clients.of(&b, later);
    assert_eq!(state.followed(later).clients.len(), 2);
    let left = state.followed(later + Duration::from_millis(1));
    assert!(left.rules);
    assert_eq!(left.clients, std::slice::from_ref(&b));
    // More clients than can be followed: the one that was away for the longest time is forgotten.
    for n in 0..5_000 {
        state
            .clients
            .of(&format!("c-{n}").into(), later + Duration::from_millis(n));
    }
    let followed = state.followed(later).clients;
    assert_eq!(followed.len(), 2_000);
    assert!(!followed.contains(&b));
    // An older answer does not replace a newer one.
    let client = Client {
        name: "alpha".into(),
        generation: 2,
    };
    let last: Arc<str> = "c-4999".into();
    let newer = later + Duration::from_secs(1);
    let ids = std::slice::from_ref(&last);
    state
        .clients
        .answered(newer, ids, [(last.clone(), client)].into());
    state.clients.answered(later, ids, HashMap::new());
    assert!(state.clients.of(&last, later).value.is_some());
    assert!(state.rules_answered(newer));
    assert!(!state.rules_answered(later));
}

/// The sender of a request with this `Authorization`: its name, or the kind and the location of the violation, and the
/// challenge.
async fn sender(
    authentication: Authentication,
    tokens: Option<&Tokens>,
    authorization: &[&str],
    is_open: bool,
) -> Result<Option<String>, (ViolationKind, String, Option<String>)> {
    let mut request = http::Request::get("/a");
    for value in authorization {
        request = request.header("authorization", *value);
    }
    let (mut head, ()) = request.body(()).unwrap().into_parts();
    Presented::take(&mut head);
    match authentication.sender(&head, tokens, is_open).await {
        Ok(sender) => Ok(sender.caller.map(|caller| {
            assert_eq!(caller.roles, [CLIENT]);
            caller.name
        })),
        Err(Refusal { violation, status }) => {
            let challenge = match status {
                RefusalStatus::Unauthorized(challenge) => {
                    Some(challenge.to_str().unwrap().to_owned())
                }
                RefusalStatus::OfTheComponent
                | RefusalStatus::Forbidden
                | RefusalStatus::Unconfirmed
                | RefusalStatus::ForbiddenAddress => None,
            };
            Err((violation.kind, violation.location, challenge))
        }
    }
}

#[tokio::test]
async fn refusals_say_what_is_missing() {
    let memory = Memory::new();
    let (tokens, _stop) = following(&memory);
    let own = format!("Bearer {}", memory.token("c-1", "alpha", 1));
    let other = format!("Bearer {}", Memory::new().token("c-1", "alpha", 1));
    let bearer = Authentication::Bearer;
    let of =
        async |authorization: &[&str]| sender(bearer, Some(&tokens), authorization, false).await;
    assert_eq!(of(&[&own]).await, Ok(Some("alpha".to_owned())));
    let header = "header Authorization".to_owned();
    let asked = Some("Bearer realm=\"rialto\"".to_owned());
    let missing = Err((ViolationKind::Missing, header.clone(), asked));
    assert_eq!(of(&[]).await, missing);
    assert_eq!(of(&["Basic YTpi"]).await, missing);
    for wrong in [
        &[other.as_str()][..],
        &[&own, &own],
        &["Bearer"],
        &["Bearer a.b.c"],
    ] {
        let (kind, at, challenge) = of(wrong).await.unwrap_err();
        assert_eq!((kind, at), (ViolationKind::Malformed, header.clone()));
        let challenge = challenge.unwrap();
        let begins = "Bearer error=\"invalid_token\", error_description=\"";
        assert!(challenge.starts_with(begins), "{challenge}");
    }
    // Without anybody to verify tokens, the client is not to blame.
    let unknown = Err((ViolationKind::Overloaded, String::new(), None));
    assert_eq!(sender(bearer, None, &[&own], false).await, unknown);
    // An open operation needs no token, and its caller has none.
    assert_eq!(sender(bearer, None, &[], true).await, Ok(None));
    assert_eq!(sender(bearer, None, &[&own], true).await, Ok(None));
    assert_eq!(
        sender(Authentication::None, None, &[&own], false).await,
        Ok(None)
    );
    // A token replaces no certificate.
    let certificate = Err((
        ViolationKind::Missing,
        "client certificate".to_owned(),
        Some("ClientCertificate".to_owned()),
    ));
    for both in [Authentication::MutualTls, Authentication::MutualTlsBearer] {
        for is_open in [true, false] {
            let refused = sender(both, Some(&tokens), &[&own], is_open).await;
            assert_eq!(refused, certificate);
        }
    }
}
