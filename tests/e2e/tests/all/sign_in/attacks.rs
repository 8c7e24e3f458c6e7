//! What a provider must not say, and what must not be said in its name.

use std::time::{SystemTime, UNIX_EPOCH};

use http::Method;
use rialto_simulator::pki::SchemePki;
use rialto_tests::{CliOutput, binaries};
use serde_json::{Value, json};

use super::browser::{Browser, Page};
use super::fake::{Draft, Fake, public_text};
use super::provider::{CLIENT, SECRET};
use super::{Scene, scheme};

/// A sign-in that has begun.
struct Begun {
    browser: Browser,
    state: String,
    nonce: String,
}

struct Attack {
    scene: Scene,
    fake: Fake,
}

impl Attack {
    fn new() -> Self {
        let (scheme, address) = scheme();
        let fake = Fake::start();
        let scene = Scene::of(scheme, &address, &fake.issuer);
        Self { scene, fake }
    }

    async fn begin(&self) -> Begun {
        self.begin_in(Browser::new()).await
    }

    async fn begin_in(&self, mut browser: Browser) -> Begun {
        let page = browser.get(&self.scene.url("/sign-in")).await;
        assert_eq!(page.status, 302, "{}", page.text);
        let location = page.header("location").to_owned();
        let of = |name: &str| {
            let (_, rest) = location.split_once(&format!("{name}=")).unwrap();
            rest.split('&').next().unwrap().to_owned()
        };
        assert_eq!(of("code_challenge_method"), "S256");
        assert_eq!(of("response_type"), "code");
        Begun {
            browser,
            state: of("state"),
            nonce: of("nonce"),
        }
    }

    /// An honest ID token of anna, before it is signed.
    fn draft(&self, begun: &Begun) -> Draft {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs();
        Draft {
            header: json!({ "alg": "ES256", "kid": "1" }),
            claims: json!({
                "iss": self.fake.issuer, "sub": "anna", "aud": CLIENT, "nonce": begun.nonce,
                "iat": now, "exp": now + 300,
            }),
        }
    }

    /// Come back from the provider, which answers the code with this token. `more` follows in the query.
    async fn back(&self, begun: &mut Begun, token: &str, more: &str) -> Page {
        self.fake.answer(token);
        let url = format!("/sign-in/callback?code=x&state={}{more}", begun.state);
        begun.browser.get(&self.scene.url(&url)).await
    }

    fn iss(&self) -> String {
        format!("&iss={}", self.fake.issuer)
    }

    /// Whether a sign-in ends in a session.
    async fn signs_in(&self, make: impl FnOnce(Draft) -> String) -> bool {
        let mut begun = self.begin().await;
        let token = make(self.draft(&begun));
        let page = self.back(&mut begun, &token, &self.iss()).await;
        let session = begun.browser.get(&self.scene.url("/session")).await;
        assert_eq!(page.status == 303, session.status == 200, "{page:?}");
        assert!([303, 403].contains(&page.status), "{page:?}");
        page.status == 303
    }
}

/// The draft with another value of a claim, or without it (null).
fn with(mut draft: Draft, claim: &str, value: Value) -> Draft {
    let claims = draft.claims.as_object_mut().unwrap();
    if value.is_null() {
        claims.remove(claim);
    } else {
        claims.insert(claim.to_owned(), value);
    }
    draft
}

fn headed(draft: Draft, header: Value) -> Draft {
    Draft { header, ..draft }
}

#[tokio::test(flavor = "multi_thread")]
async fn forged_id_tokens_sign_nobody_in() {
    let attack = Attack::new();
    assert!(
        attack.signs_in(|draft| draft.signed(1)).await,
        "the honest one does"
    );
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs();
    for (claim, value) in [
        ("nonce", json!("another")),
        ("nonce", Value::Null),
        ("aud", json!("another")),
        ("aud", json!([CLIENT, "another"])),
        ("aud", json!([])),
        ("aud", Value::Null),
        ("azp", json!("another")),
        ("iss", json!("http://127.0.0.1:1")),
        ("iss", json!(format!("{}/", attack.fake.issuer))),
        ("iss", Value::Null),
        ("exp", json!(now - 3600)),
        ("exp", Value::Null),
        ("iat", json!(now + 3600)),
        ("nbf", json!(now + 3600)),
        ("sub", Value::Null),
        ("sub", json!("")),
        ("sub", json!(["anna"])),
        ("sub", json!("Anna")),
    ] {
        let seen = attack
            .signs_in(|draft| with(draft, claim, value.clone()).signed(1))
            .await;
        assert!(!seen, "{claim}: {value}");
    }
    let none = |draft| headed(draft, json!({ "alg": "none" }));
    assert!(
        !attack.signs_in(|draft| none(draft).unsigned()).await,
        "none"
    );
    assert!(!attack.signs_in(|draft| draft.unsigned()).await, "unsigned");
    for (secret, key_id) in [
        (SECRET.to_owned(), "1"),
        (public_text(1), "1"),
        ("secret".to_owned(), "shared"),
    ] {
        let header = json!({ "alg": "HS256", "kid": key_id });
        let coded = attack
            .signs_in(|d| headed(d, header).coded_with(secret.as_bytes()))
            .await;
        assert!(!coded, "HS256 with {key_id}");
    }
    for header in [
        json!({ "alg": "ES256", "kid": "1", "crit": ["b64"], "b64": true }),
        json!({ "alg": "RS256", "kid": "1" }),
        json!({ "alg": "es256", "kid": "1" }),
        json!({ "kid": "1" }),
    ] {
        let seen = attack
            .signs_in(|draft| headed(draft, header.clone()).signed(1))
            .await;
        assert!(!seen, "{header}");
    }
    assert!(
        !attack.signs_in(|draft| draft.signed(2)).await,
        "another key"
    );
    for garbage in ["", "a.b.c", "a.b", "..", "a.b.c.d"] {
        assert!(!attack.signs_in(|_| garbage.to_owned()).await, "{garbage}");
    }
    let log = attack.scene.host.log();
    assert!(log.contains("the ID token has another nonce"), "{log}");
    // One entry for each sign-in, and of refused ones a bounded number.
    let entries = attack.scene.audited("sign-in").await;
    let refused = entries.iter().filter(|entry| entry.1 == "refused").count();
    // Those of people whom the provider knows are counted by themselves: `Anna`.
    assert_eq!((entries.len() - refused, refused), (1, 21));
}

#[tokio::test(flavor = "multi_thread")]
async fn new_key_of_the_provider_is_read_at_a_bounded_rate() {
    let attack = Attack::new();
    assert!(attack.signs_in(|draft| draft.signed(1)).await);
    assert_eq!(attack.fake.keys_read(), 1);
    attack.fake.change_key(3);
    for _ in 0..3 {
        let unknown = json!({ "alg": "ES256", "kid": "2" });
        assert!(
            !attack
                .signs_in(|draft| headed(draft, unknown).signed(2))
                .await
        );
    }
    assert_eq!(attack.fake.keys_read(), 1, "they were read a moment ago");
}

#[tokio::test(flavor = "multi_thread")]
async fn browser_comes_back_from_the_issuer_alone() {
    let attack = Attack::new();
    for named in ["", "&iss=http%3A%2F%2F127.0.0.1%3A1", "&iss="] {
        let mut begun = attack.begin().await;
        let token = attack.draft(&begun).signed(1);
        let page = attack.back(&mut begun, &token, named).await;
        assert_eq!(page.status, 403, "{named}");
        let session = begun.browser.get(&attack.scene.url("/session")).await;
        assert_eq!(session.status, 401, "{named}");
    }
    // The provider signs nobody in; its words are not shown.
    let mut begun = attack.begin().await;
    let iss = attack.iss();
    let url = format!(
        "/sign-in/callback?error=access_denied%3Cb%3E&state={}{iss}",
        begun.state
    );
    let page = begun.browser.get(&attack.scene.url(&url)).await;
    assert_eq!(page.status, 403, "{}", page.text);
    assert!(!page.text.contains("access_denied"), "{}", page.text);
    let begun = attack.begin().await;
    let url = format!("/sign-in/callback?state={}{iss}", begun.state);
    assert_eq!(
        begun
            .browser
            .clone()
            .get(&attack.scene.url(&url))
            .await
            .status,
        400
    );
    for query in [
        "",
        "?state=",
        "?state=x&code=y",
        "?%ff=%ff",
        "?state=x&state=y",
    ] {
        let url = attack.scene.url(&format!("/sign-in/callback{query}"));
        assert_eq!(begun.browser.clone().get(&url).await.status, 400, "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn session_over_tls_is_of_this_host_alone() {
    let (scheme, address) = scheme();
    let address = address.replace("http://", "https://");
    let pki = SchemePki::new([]).unwrap();
    pki.write(&scheme.path().join("tls")).unwrap();
    let tls = "[listeners.operators.tls]\ncertificate = \"tls/hub.pem\"\nkey = \"tls/hub.key\"\n";
    scheme.add_host_settings(tls).unwrap();
    let fake = Fake::start();
    let scene = Scene::of(scheme, &address, &fake.issuer);
    let attack = Attack { scene, fake };
    let browser = Browser::with_tls(&pki.authority.fsp(&pki.hub));
    let mut begun = attack.begin_in(browser).await;
    let pending = &begun.browser.cookies[&address];
    assert!(pending.contains_key("__Host-rialto-sign-in"), "{pending:?}");
    let token = attack.draft(&begun).signed(1);
    let page = attack.back(&mut begun, &token, &attack.iss()).await;
    let mut set = page
        .headers
        .get_all("set-cookie")
        .iter()
        .map(|v| v.to_str().unwrap());
    let session = set
        .find(|set| set.starts_with("__Host-rialto-session="))
        .unwrap();
    let attributes = "; Path=/; Max-Age=28800; HttpOnly; SameSite=Lax; Secure";
    assert!(session.ends_with(attributes), "{session}");
    let mut browser = begun.browser;
    let url = attack.scene.url("/session");
    assert_eq!(browser.get(&url).await.json()["operator"], "anna");
    // Under the name that a page without TLS could set, it counts for nothing.
    let jar = browser.cookies.get_mut(&address).unwrap();
    let secret = jar.remove("__Host-rialto-session").unwrap();
    jar.insert("rialto-session".to_owned(), secret.clone());
    assert_eq!(browser.get(&url).await.status, 401);
    let jar = browser.cookies.get_mut(&address).unwrap();
    jar.clear();
    jar.insert("__Host-rialto-session".to_owned(), secret);

    // A command elsewhere believes the named authority.
    let made = attack
        .scene
        .act(&mut browser, Method::POST, "/tokens", r#"{"label":"a"}"#)
        .await;
    let token = made.json()["token"].as_str().unwrap().to_owned();
    let ca = attack.scene.scheme.tls_file("ca.pem");
    let folder = tempfile::tempdir().unwrap();
    let list = |with_ca: bool| {
        CliOutput::of(binaries::rialto().unwrap(), |c| {
            c.args(["release", "list"]).current_dir(folder.path());
            c.env("RIALTO_HOST", &address).env("RIALTO_TOKEN", &token);
            if with_ca {
                c.env("RIALTO_CA", &ca);
            }
        })
        .unwrap()
    };
    let listed = list(true).success().unwrap();
    assert!(listed.contains(" current, by "), "{listed}");
    assert_eq!(list(false).code, 1);
}
