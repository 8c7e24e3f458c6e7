//! Signed messages over real HTTP, with real keys: the duty to sign, refusals without effect, keys that change
//! at runtime, and the hub's signatures.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod clock;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use http::Method;
use rialto_simulator::client::Answer;
use rialto_simulator::fsp::{RawRequest, TransferOrder};
use rialto_simulator::ilp::{Secret, from_base64url, text32};
use rialto_simulator::jws::{KeyKind, KeyPair, Signer};
use rialto_simulator::{PaymentRequest, time};
use rialto_tests::books::documents;
use rialto_tests::metrics::Metrics;
use rialto_tests::offers::digest;
use rialto_tests::office::{OFFICE, Office};
use rialto_tests::scenes::committed;
use rialto_tests::waiting::until;
use rialto_tests::world::{PAYEE, PAYER};
use rialto_tests::{TestScheme, World, WorldOptions, audited};
use serde_json::{Value, json};

/// Longer than any message takes.
const SOON: Duration = Duration::from_secs(20);
/// How long a changed file may take to count: the promise is two seconds, and the machine may be busy.
const KEYS_COUNT_WITHIN: Duration = Duration::from_secs(10);
/// A participant without a key.
const PLAIN: &str = "plainfsp";

/// A host whose payer and payee have a key, and a third participant that has none.
struct Scene {
    world: World,
    payer: KeyPair,
    payee: KeyPair,
}

impl Scene {
    async fn open() -> Self {
        Self::of(TestScheme::demo().unwrap()).await
    }

    async fn of(scheme: TestScheme) -> Self {
        Self::with(scheme, Vec::new()).await
    }

    /// With these environment variables of the host.
    async fn with(mut scheme: TestScheme, variables: Vec<(String, OsString)>) -> Self {
        scheme.add_participant(PLAIN, "1000").unwrap();
        let payer = KeyPair::generate(KeyKind::Rsa).unwrap();
        let payee = KeyPair::generate(KeyKind::P256).unwrap();
        let hub = KeyPair::generate(KeyKind::Rsa).unwrap();
        let keys = scheme.path().join("keys");
        fs::create_dir(&keys).unwrap();
        fs::write(keys.join("payerfsp.pem"), &payer.public).unwrap();
        // One key from the operator, one from the scheme.
        let id = format!("id = \"{PAYEE}\"\n");
        let with_key = format!("{id}jws-public-keys = [\"\"\"\n{}\"\"\"]\n", payee.public);
        scheme.edit(&id, &with_key).unwrap();
        let file = scheme.path().join("hub.pem");
        fs::write(&file, &hub.private).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        add_signatures(&scheme, "keys = \"keys\"\nhub-key = \"hub.pem\"");
        let map = |pairs: &[(&str, &String)]| -> BTreeMap<String, String> {
            let pairs = pairs.iter();
            pairs
                .map(|(id, key)| ((*id).to_owned(), (*key).clone()))
                .collect()
        };
        let options = WorldOptions {
            signing_keys: map(&[(PAYER, &payer.private), (PAYEE, &payee.private)]),
            verify_keys: map(&[
                (PAYER, &payer.public),
                (PAYEE, &payee.public),
                ("Hub", &hub.public),
            ]),
            variables,
            ..WorldOptions::default()
        };
        Self {
            world: World::of(scheme, &options).await.unwrap(),
            payer,
            payee,
        }
    }

    fn payer(&self) -> Signer {
        Signer::of_pem(&self.payer.private).unwrap()
    }

    fn payee(&self) -> Signer {
        Signer::of_pem(&self.payee.private).unwrap()
    }

    fn key_file(&self) -> PathBuf {
        self.world.scheme.path().join("keys/payerfsp.pem")
    }

    /// A request for a transfer without a quote, unsigned.
    fn transfer(&self) -> RawRequest<'_> {
        let body = transfer(&self.world.payer().new_id(), "12.5");
        let payer = self.world.payer();
        payer.raw(Method::POST, "/transfers").to(PAYEE).body(body)
    }

    /// A message about a party of its own, signed with this key: how the host judges the key.
    async fn status_with(&self, signer: Option<&Signer>) -> u16 {
        let body = json!({ "fspId": PAYER }).to_string();
        let payer = self.world.payer();
        let path = format!("/participants/ALIAS/{}", payer.new_id());
        let request = payer.raw(Method::POST, &path).body(body);
        let request = match signer {
            Some(signer) => request.signed_by(signer),
            None => request,
        };
        request.send().await.unwrap().status.as_u16()
    }

    /// A transfer that its payee FSP has been asked about, and says nothing to.
    async fn reserved(&self) -> TransferOrder {
        let world = &self.world;
        world
            .payee_behaves(r#"{"transfer":{"silent":"100%"}}"#)
            .unwrap();
        let payer = world.payer();
        let (found, _) = payer.lookup(world.party(PAYEE)).await.unwrap();
        let order = payer.quote_order(&world.request("5", "USD"), &found);
        let (quote, _) = payer.quote(&order.unwrap()).await.unwrap();
        let order = payer.transfer_order(&quote);
        let request = payer.raw(Method::POST, "/transfers").to(PAYEE);
        let request = request.body(order.body()).signed_by(&self.payer());
        assert_eq!(request.send().await.unwrap().status.as_u16(), 202);
        let id = order.transfer_id.clone();
        let received = world.payee().recorder().expect(move |message| {
            message.path == "/transfers" && message.json()["transferId"] == *id
        });
        received.within(SOON).await.unwrap();
        order
    }

    async fn until_status(&self, what: &str, signer: Option<&Signer>, status: u16) {
        let seen = until(what, KEYS_COUNT_WITHIN, async || {
            let seen = self.status_with(signer).await;
            Ok(if seen == status {
                Ok(())
            } else {
                Err(seen.to_string())
            })
        });
        seen.await.unwrap();
    }
}

fn add_signatures(scheme: &TestScheme, keys: &str) {
    let path = scheme.path().join("rialto.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(path, format!("{text}\n[signatures]\n{keys}\n")).unwrap();
}

fn transfer(id: &str, amount: &str) -> String {
    let body = json!({
        "transferId": id,
        "payerFsp": PAYER,
        "payeeFsp": PAYEE,
        "amount": { "currency": "USD", "amount": amount },
        "ilpPacket": "AQAAAAAAAADIEHByaXZhdGUucGF5ZWVmc3A",
        "condition": "A".repeat(43),
        "expiration": time::datetime_in(Duration::from_secs(3_600)),
    });
    body.to_string()
}

fn code(answer: &Answer) -> (u16, String) {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let code = body["errorInformation"]["errorCode"].as_str();
    (answer.status.as_u16(), code.unwrap_or_default().to_owned())
}

#[tokio::test]
async fn signed_and_unsigned_fsps_pay_each_other() {
    let scene = Scene::open().await;
    let world = &scene.world;
    committed(&world.pay("10", "USD").await).unwrap();
    // The hub's own word: an error, and in the other direction what a participant without a key hears.
    let payer = world.payer();
    let missing = format!("/transfers/{}", payer.new_id());
    let asked = payer.raw(Method::GET, &missing).to("Hub").send().await;
    assert_eq!(asked.unwrap().status.as_u16(), 202, "GET is not signed");
    let told = payer
        .expect_callback(Method::PUT, &format!("{missing}/error"), SOON)
        .await
        .unwrap();
    assert_eq!(told.headers["fspiop-source"], "Hub");
    assert!(told.headers.contains_key("fspiop-signature"));
    assert_eq!(
        told.headers["fspiop-uri"],
        format!("{missing}/error").as_str()
    );
    let request = PaymentRequest::new(world.party(PAYEE).clone(), "3", "USD");
    committed(&world.fsp(PLAIN).pay(&request).await).unwrap();
    world.settled_books().await.unwrap();
    // Every FSP has verified every message of those whose key it knows, forwarded or the hub's.
    world.no_complaints().unwrap();
}

#[tokio::test]
async fn badly_signed_message_is_refused_without_effect() {
    let scene = Scene::open().await;
    let world = &scene.world;
    let books = || -> BTreeMap<String, Value> {
        let mut all: BTreeMap<String, Value> =
            documents(&world.host, "accounts-and-balances", "accounts").unwrap();
        let transfers: BTreeMap<String, Value> =
            documents(&world.host, "transfers", "transfers").unwrap();
        all.extend(transfers);
        all
    };
    let before = books();
    let (payer, payee) = (scene.payer(), scene.payee());
    let body = transfer(&world.payer().new_id(), "1");
    let protected = |alg: &str, uri: &str| {
        json!({
            "alg": alg, "FSPIOP-URI": uri, "FSPIOP-HTTP-Method": "POST",
            "FSPIOP-Source": PAYER, "FSPIOP-Destination": PAYEE,
        })
        .to_string()
    };
    let by_hand = |uri: &str, value: &str| {
        let request = scene.transfer().body(body.clone());
        request
            .header("FSPIOP-URI", uri)
            .header("FSPIOP-HTTP-Method", "POST")
            .header("FSPIOP-Signature", value)
    };
    let own = |protected: &str| payer.signature(protected, body.as_bytes());
    let stripped = |value: &str| {
        let mut value: Value = serde_json::from_str(value).unwrap();
        value["signature"] = "AA".into();
        value.to_string()
    };
    let long_ago = "Tue, 15 Nov 1994 08:12:31 GMT";
    let (transfers, quotes) = ("/transfers", "/quotes");
    let cases = [
        ("no signature", scene.transfer()),
        (
            "alg none",
            by_hand(transfers, &stripped(&own(&protected("none", transfers)))),
        ),
        (
            "alg none, and signed all the same",
            by_hand(transfers, &own(&protected("none", transfers))),
        ),
        (
            "an algorithm that is not the key's",
            by_hand(transfers, &own(&protected("ES256", transfers))),
        ),
        ("another's key", scene.transfer().signed_by(&payee)),
        (
            "signed for another path",
            by_hand(quotes, &own(&protected("RS256", quotes))),
        ),
        (
            "signed for another path, the header mended",
            by_hand(transfers, &own(&protected("RS256", quotes))),
        ),
        (
            "a changed body",
            scene
                .transfer()
                .signed_by(&payer)
                .body(transfer(&world.payer().new_id(), "9999")),
        ),
        (
            "one blank more in the body",
            scene
                .transfer()
                .body(body.clone())
                .signed_by(&payer)
                .body(format!("{body} ")),
        ),
        (
            "another destination",
            scene.transfer().signed_by(&payer).to(PLAIN),
        ),
        (
            "a replayed Date",
            scene.transfer().header("Date", long_ago).signed_by(&payer),
        ),
        (
            "a Date that was mended afterwards",
            scene
                .transfer()
                .header("Date", long_ago)
                .signed_by(&payer)
                .header("Date", &world.payer().date()),
        ),
        (
            "nonsense",
            by_hand(transfers, r#"{"signature":"A","protectedHeader":"A"}"#),
        ),
    ];
    let mut wrong = Vec::new();
    for (what, request) in cases {
        let found = code(&request.send().await.unwrap());
        if found != (400, "3105".to_owned()) {
            wrong.push(format!("{what}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(books(), before, "something has happened");
    // By hand it is possible: what was refused was refused for what was wrong with it.
    let good = by_hand(transfers, &own(&protected("RS256", transfers)));
    assert_eq!(code(&good.send().await.unwrap()).0, 202);
    let log = world.host.log();
    assert!(!log.contains("panicked"), "the host panicked:\n{log}");
    let office = Office::of(&world.scheme, &world.host, &[]).unwrap();
    let query = json!({ "action": "signature.refused", "limit": 10 });
    until(
        "the refusals are in the audit log",
        KEYS_COUNT_WITHIN,
        async || {
            let said = office.post(OFFICE, "/read-audit-log", &query).await?;
            let first = &said.body["items"][0]["entry"];
            let is_it = first["actor"]["name"] == PAYER && first["writer"] == "fsp-interop-api";
            Ok(is_it.then_some(()).ok_or(said.body.to_string()))
        },
    )
    .await
    .unwrap();
}

#[tokio::test]
async fn badly_signed_fulfilment_leaves_the_transfer_reserved() {
    let scene = Scene::open().await;
    let world = &scene.world;
    let payer = world.payer();
    let order = scene.reserved().await;
    let packet = from_base64url(&order.ilp_packet).unwrap();
    let fulfilment = text32(&Secret::from_name(PAYEE).fulfilment_of_packet(&packet));
    let path = format!("/transfers/{}", order.transfer_id);
    let body = json!({ "fulfilment": fulfilment, "transferState": "COMMITTED" }).to_string();
    let put = || {
        let request = world.payee().raw(Method::PUT, &path);
        request.to(PAYER).body(body.clone())
    };
    let state = || {
        let all: BTreeMap<String, Value> =
            documents(&world.host, "transfers", "transfers").unwrap();
        all[&order.transfer_id]["state"].clone()
    };
    let reserved = state();
    for request in [put(), put().signed_by(&scene.payer())] {
        let found = code(&request.send().await.unwrap());
        assert_eq!(found, (400, "3105".to_owned()));
        assert_eq!(state(), reserved);
    }
    let taken = put().signed_by(&scene.payee()).send().await.unwrap();
    assert_eq!(taken.status.as_u16(), 200);
    let told = payer.expect_callback(Method::PUT, &path, SOON).await;
    assert_eq!(told.unwrap().headers["fspiop-source"], PAYEE);
    assert_ne!(state(), reserved);
    world.no_complaints().unwrap();
}

// A thread of its own sees that the connections to the killed host are gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_change_at_runtime_and_broken_files_are_ignored() {
    let mut scene = Scene::open().await;
    let file = scene.key_file();
    let old = scene.payer();
    let pair = KeyPair::generate(KeyKind::P256).unwrap();
    let new = Signer::of_pem(&pair.private).unwrap();
    assert_eq!(scene.status_with(Some(&old)).await, 202);
    assert_eq!(scene.status_with(Some(&new)).await, 400);

    fs::write(&file, format!("{}{}", scene.payer.public, pair.public)).unwrap();
    scene.until_status("both count", Some(&new), 202).await;
    assert_eq!(scene.status_with(Some(&old)).await, 202);

    fs::write(&file, &pair.public).unwrap();
    scene
        .until_status("the old one is out", Some(&old), 400)
        .await;
    let new_file = digest(&file).unwrap().replace("sha256:", "SHA-256 ");
    assert_eq!(scene.status_with(Some(&new)).await, 202);

    fs::write(&file, "-----BEGIN PUBLIC KEY-----\nnonsense").unwrap();
    until("the log tells it", KEYS_COUNT_WITHIN, async || {
        let log = scene.world.host.log();
        let told = log.contains("payerfsp.pem") && log.contains("the previous keys stay in use");
        Ok(if told { Ok(()) } else { Err(log) })
    })
    .await
    .unwrap();
    assert_eq!(scene.status_with(Some(&new)).await, 202);
    assert_eq!(scene.status_with(Some(&old)).await, 400);
    assert_eq!(scene.status_with(None).await, 400);

    // A participant that loses its key is refused, signed or not.
    fs::remove_file(&file).unwrap();
    scene.until_status("no key", Some(&new), 400).await;
    assert_eq!(scene.status_with(None).await, 400);
    scene.world.host.kill().unwrap();
    scene.world.host.restart().unwrap();
    assert_eq!(scene.status_with(None).await, 400);
    assert_eq!(scene.status_with(Some(&new)).await, 400);
    fs::write(&file, &scene.payer.public).unwrap();
    scene.until_status("a key again", Some(&old), 202).await;
    assert_eq!(scene.status_with(None).await, 400);

    // The audit log tells of each change.
    let office = Office::of(&scene.world.scheme, &scene.world.host, &[]).unwrap();
    let query = json!({ "action": "signer-keys" });
    until(
        "the entries of the changes",
        KEYS_COUNT_WITHIN,
        async || {
            let entries = audited::entries(&office, query.clone()).await?;
            let has = |outcome: &str, text: &str| {
                entries.iter().any(|entry| {
                    entry["outcome"] == outcome
                        && entry["details"]["reason"].to_string().contains(text)
                })
            };
            let is_there = has("done", "payerfsp has 2 keys")
                && has(
                    "done",
                    &format!("payerfsp has one key: a file with {new_file}"),
                )
                && has("refused", "the previous keys stay in use")
                && has("done", "payerfsp has no key in the folder any more");
            Ok(is_there.then_some(()).ok_or(format!("{entries:#?}")))
        },
    )
    .await
    .unwrap();
}

/// A component's documents of a collection, by their ids.
fn ids(world: &World, collection: &str) -> Vec<String> {
    let all: BTreeMap<String, Value> =
        documents(&world.host, "fsp-interop-api", collection).unwrap();
    all.into_keys().collect()
}

// A thread of its own sees that the connections to the killed host are gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn owner_of_an_unused_lost_key_is_refused() {
    let mut scene = Scene::open().await;
    let keys = scene.world.scheme.path().join("keys");
    let pair = KeyPair::generate(KeyKind::P256).unwrap();
    fs::write(keys.join(format!("{PLAIN}.pem")), &pair.public).unwrap();
    until("it is remembered", KEYS_COUNT_WITHIN, async || {
        let signers = ids(&scene.world, "signers");
        let is_there = signers.iter().any(|signer| signer == PLAIN);
        Ok(if is_there {
            Ok(())
        } else {
            Err(format!("{signers:?}"))
        })
    })
    .await
    .unwrap();
    scene.world.host.kill().unwrap();
    fs::remove_file(keys.join(format!("{PLAIN}.pem"))).unwrap();
    scene.world.host.restart().unwrap();
    let plain = scene.world.fsp(PLAIN);
    let body = json!({ "fspId": PLAIN }).to_string();
    let path = "/participants/ALIAS/mine";
    let post = || plain.raw(Method::POST, path).body(body.clone());
    assert_eq!(
        code(&post().send().await.unwrap()),
        (400, "3105".to_owned())
    );
    let delete = plain.raw(Method::DELETE, path).send().await.unwrap();
    assert_eq!(code(&delete), (400, "3105".to_owned()));
    // The scheme may say that it need not sign.
    let twin = scene.world.scheme.twin().unwrap();
    let freed = format!("signatures = {{ participants = {{ {PLAIN} = \"none\" }} }}");
    twin.set("fsp-interop-api", &freed).unwrap();
    let folder = twin.path().to_str().unwrap();
    let applied = scene.world.host.cli(&["release", "apply", folder]).unwrap();
    applied.success().unwrap();
    assert_eq!(code(&post().send().await.unwrap()).0, 202);
}

#[tokio::test]
async fn unknown_key_file_is_logged_and_counted() {
    let scene = Scene::open().await;
    let unknown = async || {
        let metrics = Metrics::of(&scene.world.host).await.unwrap();
        metrics.get("rialto_keys_unknown").unwrap()
    };
    assert_eq!(unknown().await, 0);
    let file = scene.world.scheme.path().join("keys/plainfps.pem");
    fs::write(&file, &scene.payer.public).unwrap();
    let counted = async |what: &str, number: u64| {
        until(what, KEYS_COUNT_WITHIN, async || {
            let seen = unknown().await;
            Ok(if seen == number {
                Ok(())
            } else {
                Err(seen.to_string())
            })
        })
        .await
        .unwrap();
    };
    counted("it is counted", 1).await;
    let log = scene.world.host.log();
    assert!(
        log.contains("plainfps") && log.contains("no component knows that name"),
        "{log}"
    );
    // It is remembered: a later participant of that name has had a key.
    assert_eq!(ids(&scene.world, "signers"), [PAYEE, PAYER, "plainfps"]);
    fs::remove_file(&file).unwrap();
    counted("it is gone", 0).await;
}

#[tokio::test]
async fn a_party_is_not_taken_over_in_spite_of_signatures() {
    let scene = Scene::open().await;
    let world = &scene.world;
    let path = format!("/participants/{}", world.party(PAYER).path());
    let (victim, thief) = (world.payer(), world.fsp(PLAIN));
    // A stranger's message in the victim's name; the host cannot see its origin.
    let forged = victim.raw(Method::DELETE, &path).send().await.unwrap();
    assert_eq!(code(&forged), (400, "3105".to_owned()));
    let text = String::from_utf8_lossy(&forged.body).into_owned();
    assert!(text.contains("unsignedDelete"), "{text}");
    let body = json!({ "fspId": PLAIN }).to_string();
    let taking = || thief.raw(Method::POST, &path).body(body.clone()).send();
    assert_eq!(taking().await.unwrap().status.as_u16(), 202);
    let refused = format!("{path}/error");
    let told = thief.expect_callback(Method::PUT, &refused, SOON).await;
    assert_eq!(
        told.unwrap().json()["errorInformation"]["errorCode"],
        "3003"
    );
    // The victim's own word ends it; said again it does not.
    let date = victim.date();
    let own = || {
        let delete = victim.raw(Method::DELETE, &path).header("Date", &date);
        delete.signed_by(&scene.payer()).send()
    };
    assert_eq!(own().await.unwrap().status.as_u16(), 202);
    victim
        .expect_callback(Method::PUT, &path, SOON)
        .await
        .unwrap();
    assert_eq!(code(&own().await.unwrap()), (400, "3105".to_owned()));
}

#[tokio::test]
async fn path_with_trailing_slash_is_signed_either_way() {
    let scheme = TestScheme::demo().unwrap();
    scheme
        .set("fsp-interop-api", "trailingSlash = \"accept\"")
        .unwrap();
    let scene = Scene::of(scheme).await;
    let (payer, signer) = (scene.world.payer(), scene.payer());
    let body = json!({ "fspId": PAYER }).to_string();
    for (signed_slash, sent_slash) in [("/", "/"), ("", ""), ("", "/"), ("/", "")] {
        let path = format!("/participants/ALIAS/{}", payer.new_id());
        let sent = format!("{path}{sent_slash}");
        let signed_for = |path: &str| {
            let post = payer.raw(Method::POST, path).body(body.clone());
            let signed = post
                .onto(&format!("{path}{signed_slash}"))
                .signed_by(&signer);
            signed.onto(&sent).send()
        };
        let answer = signed_for(&path).await.unwrap();
        assert_eq!(answer.status.as_u16(), 202, "{sent}: {answer:?}");
        payer
            .expect_callback(Method::PUT, &path, SOON)
            .await
            .unwrap();
        let elsewhere = signed_for(&format!("{path}1")).await.unwrap();
        assert_eq!(code(&elsewhere), (400, "3105".to_owned()), "{sent}");
    }
    scene.world.no_complaints().unwrap();
}

/// A signed association of this `Date`: with RSA, the same message has the same signature.
fn captured<'a>(scene: &'a Scene, date: &str) -> RawRequest<'a> {
    let body = json!({ "fspId": PAYER }).to_string();
    let payer = scene.world.payer();
    let post = payer.raw(Method::POST, "/participants/ALIAS/captured");
    post.header("Date", date)
        .body(body)
        .signed_by(&scene.payer())
}

// A thread of its own sees that the connections to the killed host are gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn captured_message_is_refused_again_after_a_restart() {
    let mut scene = Scene::open().await;
    let date = scene.world.payer().date();
    let refused = (400, "3105".to_owned());
    let first = captured(&scene, &date).send().await.unwrap();
    assert_eq!(first.status.as_u16(), 202);
    assert_eq!(
        code(&captured(&scene, &date).send().await.unwrap()),
        refused
    );
    scene.world.host.kill().unwrap();
    scene.world.host.restart().unwrap();
    assert_eq!(
        code(&captured(&scene, &date).send().await.unwrap()),
        refused
    );
    let now = scene.world.payer().date();
    for other in ["Tue, 15 Nov 1994 08:12:31 GMT", now.as_str()] {
        let fresh = captured(&scene, &date).header("Date", other);
        assert_eq!(code(&fresh.send().await.unwrap()), refused, "{other}");
    }
    assert!(!ids(&scene.world, "signed-messages").is_empty());
}

#[tokio::test]
async fn lost_key_from_before_its_owner_is_missed() {
    const LATE: &str = "latefsp";
    let scene = Scene::open().await;
    let file = scene.world.scheme.path().join(format!("keys/{LATE}.pem"));
    fs::write(&file, &scene.payer.public).unwrap();
    until("it is remembered", KEYS_COUNT_WITHIN, async || {
        let signers = ids(&scene.world, "signers");
        let is_there = signers.iter().any(|signer| signer == LATE);
        Ok(is_there.then_some(()).ok_or_else(|| format!("{signers:?}")))
    })
    .await
    .unwrap();
    // Its owner is added after its removal: the host never sees both.
    fs::remove_file(&file).unwrap();
    let mut twin = scene.world.scheme.twin().unwrap();
    twin.add_participant(LATE, "1000").unwrap();
    let folder = twin.path().to_str().unwrap().to_owned();
    let applied = scene
        .world
        .host
        .cli(&["release", "apply", &folder])
        .unwrap();
    applied.success().unwrap();
    let forged = json!({ "fspId": LATE }).to_string();
    let stranger = scene.world.fsp(PLAIN);
    let post = stranger.raw(Method::POST, "/participants/ALIAS/late");
    let post = post.header("FSPIOP-Source", LATE).body(forged);
    assert_eq!(code(&post.send().await.unwrap()), (400, "3105".to_owned()));
}

#[test]
fn unknown_fsp_in_signature_settings_is_reported() {
    let scheme = TestScheme::demo().unwrap();
    let named =
        format!("signatures = {{ participants = {{ {PAYER} = \"all\", payerfps = \"none\" }} }}");
    scheme.set("fsp-interop-api", &named).unwrap();
    let output = scheme.rialto(&["check"]).unwrap();
    assert_eq!(output.code, 0, "{output}");
    let expected =
        "signatures.participants names \"payerfps\", but scheme.toml has no such participant";
    assert!(output.said().contains(expected), "{output}");
}

#[test]
fn keys_that_cannot_be_used_keep_a_host_from_starting() {
    let scheme = TestScheme::demo().unwrap();
    let hub = KeyPair::generate(KeyKind::P256).unwrap();
    let file = scheme.path().join("hub.pem");
    fs::write(&file, &hub.private).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    add_signatures(&scheme, "hub-key = \"hub.pem\"");
    let refused = |expected: &str| {
        let output = scheme.rialto(&["check"]).unwrap();
        assert_eq!(output.code, 2, "{output}");
        assert!(output.said().contains(expected), "{expected}: {output}");
    };
    refused("is open to others (mode 644)");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(scheme.rialto(&["check"]).unwrap().code, 0);
    fs::write(&file, &hub.public).unwrap();
    refused("cannot be used: a block `PUBLIC KEY` where `PRIVATE KEY` belongs");
    fs::write(&file, &hub.private).unwrap();
    // Base64, and no key.
    let id = format!("id = \"{PAYER}\"\n");
    let pem = "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----";
    let with_key = format!("{id}jws-public-keys = [\"\"\"\n{pem}\n\"\"\"]\n");
    scheme.edit(&id, &with_key).unwrap();
    refused("payerfsp: its public key cannot be used: its bytes are no RSA key");
}
