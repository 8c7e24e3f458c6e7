//! The audit log of a running host: what is in it, who may read and write it, and that nobody changes it unseen, the owner
//! of the database included.

mod archived;
mod collected;
mod elsewhere;
mod export;
mod exported;
mod personal_data;
mod receipts;

use std::fs;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rialto_engine::store::Store as _;
use rialto_simulator::witness::Witness;
use rialto_store_sqlite::SqliteStore;
use rialto_tests::metrics::Metrics;
use rialto_tests::office::{Office, Said};
use rialto_tests::scenes::committed;
use rialto_tests::waiting::until;
use rialto_tests::{CliOutput, TestScheme, World, WorldOptions, binaries, catalogue};
use serde_json::{Value, json};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, SqliteConnection};

use crate::cryptography::openssl;
use crate::passkeys::deposit;

/// Longer than anything here takes.
const SOON: Duration = Duration::from_secs(30);
const PEOPLE: &[(&str, &str)] = &[
    ("anna", r#""reader""#),
    ("maya", r#""maker""#),
    ("chris", r#""checker""#),
    ("switch", r#""context""#),
    ("ada", r#""admin""#),
];
/// The log's key, and where checkpoints go.
const AUDIT: &str = r#"
[audit]
origin = "hub.example/audit"
provider = "software"
reference = "secrets/audit.reference"
checkpoints = "elsewhere"
"#;

struct Scene {
    world: World,
    office: Office,
}

impl Scene {
    async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// A scene whose scheme has more settings.
    async fn with(settings: impl FnOnce(&TestScheme)) -> Self {
        let all = |scheme: &TestScheme| {
            settings(scheme);
            scheme.add_host_settings(AUDIT).unwrap();
        };
        Self::without_signatures(all).await
    }

    /// The same without `[audit]`.
    async fn without_signatures(settings: impl FnOnce(&TestScheme)) -> Self {
        let scheme = TestScheme::demo().unwrap();
        settings(&scheme);
        scheme.add_operators(PEOPLE).unwrap();
        let world = World::of(scheme, &WorldOptions::default()).await.unwrap();
        let names: Vec<&str> = PEOPLE.iter().map(|(name, _)| *name).collect();
        let office = Office::of(&world.scheme, &world.host, &names).unwrap();
        Self { world, office }
    }

    fn folder(&self) -> &Path {
        self.world.scheme.path()
    }

    fn audit(&self, arguments: &[&str]) -> CliOutput {
        audit(arguments, &["--at", self.folder().to_str().unwrap()])
    }

    /// What a check says of the whole log, when all of it is signed.
    async fn signed(&self) -> Value {
        let mut said = Value::Null;
        until("a checkpoint of all entries", SOON, async || {
            let output = self.audit(&["verify", "--json"]);
            said = serde_json::from_str(&output.stdout).unwrap_or_default();
            let all = said["entries"].as_u64().filter(|entries| *entries > 0);
            let is_whole = all.is_some() && said["signed"].as_u64() == all;
            Ok(is_whole.then_some(()).ok_or(output.to_string()))
        })
        .await
        .unwrap();
        said
    }

    async fn search(&self, query: Value) -> Vec<Value> {
        let said = self.office.post("anna", "/read-audit-log", &query).await;
        let said = said.unwrap();
        assert_eq!(said.status, 200, "{said:?}");
        said.body["items"].as_array().unwrap().clone()
    }

    /// The entries about something, when they are there and signed.
    async fn about(&self, about: &str, count: usize) -> Vec<Value> {
        self.matching(json!({ "about": about }), count).await
    }

    /// The entries that a query finds, when so many are there and signed.
    async fn matching(&self, query: Value, count: usize) -> Vec<Value> {
        let mut found = Vec::new();
        until("signed entries", SOON, async || {
            found = self.search(query.clone()).await;
            let is_signed = |entry: &Value| entry["proof"] == "VERIFIED";
            let is_there = found.len() >= count && found.iter().all(is_signed);
            Ok(is_there.then_some(()).ok_or(format!("{found:?}")))
        })
        .await
        .unwrap();
        found
    }
}

fn audit(arguments: &[&str], more: &[&str]) -> CliOutput {
    CliOutput::of(binaries::rialto().unwrap(), |c| {
        c.arg("audit").args(arguments).args(more);
    })
    .unwrap()
}

fn actions(entries: &[Value]) -> Vec<&str> {
    let actions = entries.iter().map(|found| &found["entry"]["action"]);
    actions.map(|action| action.as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn payments_and_decisions_of_people_have_signed_entries() {
    let scene = Scene::start().await;
    let outcome = scene.world.pay("12.5", "USD").await;
    committed(&outcome).unwrap();
    let about = format!("transfer:{}", outcome.transfer_id);
    let entries = scene.about(&about, 2).await;
    assert_eq!(
        actions(&entries),
        ["transfer.prepared", "transfer.committed"]
    );
    let entry = &entries[1]["entry"];
    let terms = json!({
        "amount": "12.5", "currency": "USD", "payerFsp": "payerfsp", "payeeFsp": "payeefsp",
    });
    assert_eq!(entry["details"], terms);
    assert_eq!(entry["writer"], "transfers");
    assert!(
        entry["turn"].is_u64() && entry["trace"].is_string(),
        "{entry}"
    );

    // Funds need two persons. The log has what each of them did, and the movement in the second one's name.
    let body = deposit("BANK-1");
    let asked = scene
        .office
        .post("maya", "/participants/payerfsp/funds", &body);
    let asked = asked.await.unwrap();
    assert_eq!(asked.status, 201, "{asked:?}");
    let id = asked.body["id"].as_str().unwrap().to_owned();
    let path = format!("/participants/payerfsp/funds/{id}/approval");
    let body = json!({ "decision": "APPROVE" });
    let decided = scene.office.post("chris", &path, &body).await.unwrap();
    assert_eq!(decided.status, 200, "{decided:?}");
    let moved = scene
        .matching(json!({ "action": "funds.deposited", "actor": "chris" }), 1)
        .await;
    let moved = &moved[0]["entry"];
    assert_eq!(moved["about"], "participant:payerfsp");
    assert_eq!(
        moved["actor"],
        json!({ "kind": "operator", "name": "chris" })
    );
    let requests = scene.about(&format!("POST {path}"), 1).await;
    let request = &requests[0]["entry"];
    assert_eq!(
        (&request["actor"]["name"], &request["outcome"]),
        (&"chris".into(), &"done".into())
    );
    assert!(request["details"]["bodySha256"].is_string(), "{request}");

    // Reading is in the log too, also what is refused.
    let all = json!({ "since": 0 });
    let refused = scene.office.post("maya", "/read-audit-log", &all).await;
    assert_eq!(refused.unwrap().status, 403);
    let reads = scene
        .search(json!({ "action": "audit.read", "actor": "anna" }))
        .await;
    assert!(!reads.is_empty());
    let nothing = json!({});
    let unbounded = scene.office.post("anna", "/read-audit-log", &nothing).await;
    let unbounded = unbounded.unwrap();
    assert_eq!(
        (unbounded.status, unbounded.problem()),
        (422, "query-unbounded")
    );
    let said = scene.signed().await;
    assert_eq!(said["findings"], json!([]), "{said}");
    catalogue::seen(
        "audit_log::payments_and_decisions_of_people_have_signed_entries",
        ["C-read-audit-log"].into_iter(),
    )
    .unwrap();
}

/// A JSON Web Signature that OpenSSL makes with the key in a folder.
fn jws(folder: &Path, kid: &str, payload: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let message = [part(&json!({ "alg": "RS256", "kid": kid })), part(payload)].join(".");
    fs::write(folder.join("message"), &message).unwrap();
    let out = [
        "dgst",
        "-sha256",
        "-sign",
        "private.pem",
        "-out",
        "signature",
        "message",
    ];
    openssl(folder, &out);
    let signature = fs::read(folder.join("signature")).unwrap();
    format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_write_entries_that_they_have_signed() {
    let scene = Scene::start().await;
    let office = &scene.office;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let make = [
        "genpkey",
        "-algorithm",
        "RSA",
        "-pkeyopt",
        "rsa_keygen_bits:2048",
        "-out",
        "private.pem",
    ];
    openssl(folder, &make);
    openssl(
        folder,
        &[
            "pkey",
            "-in",
            "private.pem",
            "-pubout",
            "-out",
            "public.pem",
        ],
    );
    let key = json!({ "publicKey": {
        "subject": "context/switch", "algorithm": "RS256", "notAfter": 4_000_000_000_000_u64,
        "publicKey": fs::read_to_string(folder.join("public.pem")).unwrap(),
    } });
    let change = json!({ "change": key, "reason": "of a test" });
    let asked = office
        .post("maya", "/authorization-changes", &change)
        .await
        .unwrap();
    let kid = asked.body["id"].as_str().unwrap();
    let path = format!("/authorization-changes/{kid}/decision");
    let decided = office
        .post("chris", &path, &json!({ "decision": "APPROVE" }))
        .await
        .unwrap();
    assert_eq!(decided.status, 200, "{decided:?}");

    let entry = json!({ "at": 5, "action": "card.blocked", "about": "card:1", "outcome": "done", "details": { "by": "fraud" } });
    let good = jws(folder, kid, &entry);
    let send = async |path: &str, body: Value| -> Said {
        office.post("switch", path, &body).await.unwrap()
    };
    let said = send("/audit-log-write", json!({ "entry": good })).await;
    assert_eq!(
        (said.status, &said.body["result"]),
        (201, &"WRITTEN".into()),
        "{said:?}"
    );
    let mut bad = good.clone();
    bad.replace_range(bad.len() - 8..bad.len() - 4, "AAAA");
    let said = send("/audit-log-write", json!({ "entry": bad })).await;
    assert_eq!(
        (said.status, said.problem()),
        (422, "audit-entry"),
        "{said:?}"
    );
    let said = send(
        "/audit-read-build-audit-log",
        json!({ "entries": [good, bad, "none"] }),
    )
    .await;
    assert_eq!(said.status, 200, "{said:?}");
    let results = said.body["items"].as_array().unwrap();
    let results: Vec<_> = results
        .iter()
        .map(|one| one["result"].as_str().unwrap())
        .collect();
    assert_eq!(results, ["WRITTEN", "QUARANTINED", "QUARANTINED"]);
    for (who, path, body) in [
        ("anna", "/audit-log-write", json!({ "entry": good })),
        ("switch", "/audit-log-write", json!({ "entry": "" })),
        (
            "switch",
            "/audit-read-build-audit-log",
            json!({ "entries": [] }),
        ),
        (
            "switch",
            "/audit-log-write",
            json!({ "entry": "x".repeat(5_000) }),
        ),
    ] {
        let said = office.post(who, path, &body).await.unwrap();
        assert!([400, 403].contains(&said.status), "{path}: {said:?}");
    }
    let written = scene.about("card:1", 2).await;
    let entry = &written[0]["entry"];
    assert_eq!(
        (&entry["writer"], &entry["action"]),
        (&"auditing".into(), &"card.blocked".into())
    );
    // Whoever has the public key verifies who has written it.
    assert_eq!(entry["details"]["signed"], good);
    assert_eq!(entry["details"]["writtenBy"], "context/switch");

    let kept = office.get("anna", "/audit-quarantine").await.unwrap();
    let kept = kept["items"].as_array().unwrap();
    assert_eq!(kept.len(), 3);
    assert_eq!(kept[2]["entry"], "none");
    let quarantined = scene.search(json!({ "action": "audit.quarantined" })).await;
    assert!(quarantined.len() <= 3);
    assert!(scene.world.host.log().contains("is in quarantine"));
    let notices = until("the notices of the quarantine", SOON, async || {
        let notices = office.get("anna", "/notices?audience=operators").await?;
        let items = notices["items"].as_array().unwrap().clone();
        let of_quarantine = items.into_iter().filter(|n| n["kind"] == "audit-entry");
        let messages: Vec<String> = of_quarantine.map(|n| n["message"].to_string()).collect();
        Ok((messages.len() == 2)
            .then_some(messages)
            .ok_or(notices.to_string()))
    });
    // The first and the second one, and not the third.
    for (n, message) in notices.await.unwrap().iter().enumerate() {
        let waiting = format!("wait there: {}\"", n + 1);
        assert!(message.ends_with(&waiting), "{message}");
    }
    // An assertion that is used twice arrives by an event.
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let text = fs::read_to_string(scene.folder().join("scheme.toml")).unwrap();
    let document: toml::Table = text.parse().unwrap();
    let claims = json!({ "iss": "switch", "sub": "switch", "aud": document["name"].as_str(), "jti": "1", "exp": now + 60 });
    let assertion = jws(folder, kid, &claims);
    for is_first in [true, false] {
        let said = send("/app-pem-auth", json!({ "assertion": assertion })).await;
        assert_eq!(said.body["authenticated"], is_first, "{said:?}");
    }
    let refused = scene.about("context/switch", 1).await;
    assert_eq!(actions(&refused), ["assertion.refused"]);
    catalogue::seen(
        "audit_log::programs_write_entries_that_they_have_signed",
        ["C-audit-log-write", "C-audit-read-build-audit-log"].into_iter(),
    )
    .unwrap();
}

async fn database(state: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(state.join("rialto.db"));
    options.connect().await.unwrap()
}

/// Copy the store's database to another folder.
async fn copy(scene: &Scene, folder: &Path) {
    let mut original = database(&scene.world.scheme.state()).await;
    let to = folder.join("rialto.db").display().to_string();
    let copying = sqlx::query("VACUUM INTO ?").bind(to);
    copying.execute(&mut original).await.unwrap();
    original.close().await.unwrap();
}

/// What a check says of a copy of the store that somebody has changed by SQL.
async fn damaged(scene: &Scene, statements: &[&str]) -> CliOutput {
    let changed = tempfile::tempdir().unwrap();
    copy(scene, changed.path()).await;
    let mut connection = database(changed.path()).await;
    for statement in statements {
        let text = AssertSqlSafe((*statement).to_owned());
        connection.execute(text).await.unwrap();
    }
    connection.close().await.unwrap();
    let key = scene.folder().join("secrets/audit.reference.pem");
    let elsewhere = scene.folder().join("elsewhere");
    let arguments = [
        "verify",
        "--key",
        key.to_str().unwrap(),
        "--head",
        elsewhere.to_str().unwrap(),
    ];
    audit(&arguments, &["--state", changed.path().to_str().unwrap()])
}

#[tokio::test(flavor = "multi_thread")]
async fn entry_that_is_changed_removed_or_moved_by_sql_is_named() {
    let scene = Scene::start().await;
    let mut last = String::new();
    for _ in 0..3 {
        let outcome = scene.world.pay("1", "USD").await;
        committed(&outcome).unwrap();
        last = outcome.transfer_id.clone();
    }
    scene.about(&format!("transfer:{last}"), 2).await;
    let said = scene.signed().await;
    assert!(said["signed"].as_u64().unwrap() >= 8, "{said}");
    let whole = damaged(&scene, &[]).await;
    assert_eq!(whole.code, 0, "{whole}");
    for (statements, finding) in [
        (
            &[
                "UPDATE audit_entries SET entry = replace(entry, 'USD', 'RWF') WHERE place = (SELECT max(place) FROM audit_entries WHERE entry LIKE '%USD%')",
            ][..],
            "was changed after it was signed",
        ),
        (
            &["DELETE FROM audit_entries WHERE place = 4"],
            "entry 4 is missing",
        ),
        (
            &[
                "UPDATE audit_entries SET place = -1 WHERE place = 5",
                "UPDATE audit_entries SET place = 5 WHERE place = 6",
                "UPDATE audit_entries SET place = 6 WHERE place = -1",
            ],
            "entry 6 was moved: it stands at 5",
        ),
        (
            &[
                "DELETE FROM audit_entries WHERE place >= 3",
                "UPDATE meta SET value = 3 WHERE key = 'audit'",
            ],
            "entries 3 to",
        ),
        // Entry and hash: the root is another one.
        (
            &[
                "UPDATE audit_entries SET entry = '{}' WHERE place = 2",
                "UPDATE audit_tiles SET hashes = zeroblob(length(hashes))",
            ],
            "the log is not the one whose checkpoint is",
        ),
        (
            &[
                "UPDATE audit_checkpoints SET note = replace(note, 'hub.example/audit', 'hub.example/other')",
            ],
            "cannot be believed",
        ),
        // An older database, beside the checkpoints that have left the host.
        (
            &[
                "DELETE FROM audit_entries",
                "DELETE FROM audit_tiles",
                "DELETE FROM audit_checkpoints",
                "UPDATE meta SET value = 0 WHERE key = 'audit'",
            ],
            "are missing",
        ),
    ] {
        let output = damaged(&scene, statements).await;
        assert_eq!(output.code, 1, "{statements:?}: {output}");
        assert!(output.stdout.contains(finding), "{statements:?}: {output}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn host_goes_on_signing_after_a_start_and_stops_when_its_log_was_changed() {
    let mut scene = Scene::start().await;
    committed(&scene.world.pay("1", "USD").await).unwrap();
    let before = scene.signed().await["signed"].as_u64().unwrap();
    scene.world.host.kill().unwrap();
    scene.world.host.restart().unwrap();
    // The entry about the start is in the database some time after the start.
    let after = until("an entry after the start is signed", SOON, async || {
        let after = scene.signed().await;
        let is_more = after["signed"]
            .as_u64()
            .is_some_and(|signed| signed > before);
        Ok(is_more.then(|| after.clone()).ok_or(after.to_string()))
    });
    let after = after.await.unwrap();
    assert_eq!(after["findings"], json!([]), "{after}");
    // What left the host is there.
    let elsewhere = fs::read_dir(scene.folder().join("elsewhere")).unwrap();
    assert!(elsewhere.count() >= 1);
    scene.world.host.kill().unwrap();
    let state = scene.world.scheme.state();
    tokio::task::spawn_blocking(move || SqliteStore::open(&state).unwrap().recover().unwrap())
        .await
        .unwrap();
    let mut connection = database(&scene.world.scheme.state()).await;
    connection
        .execute("UPDATE audit_tiles SET hashes = zeroblob(length(hashes))")
        .await
        .unwrap();
    connection.close().await.unwrap();
    scene.world.host.restart().unwrap();
    until("the alarm", SOON, async || {
        let log = scene.world.host.log();
        let is_told = log.contains("no checkpoint of the audit log is signed");
        Ok(is_told.then_some(()).ok_or(log))
    })
    .await
    .unwrap();
    let metrics = Metrics::of(&scene.world.host).await.unwrap();
    assert!(
        metrics
            .get("rialto_audit_checkpoint_failures_total")
            .unwrap()
            >= 1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn host_signs_no_log_that_is_shorter_than_a_checkpoint_outside() {
    let mut scene = Scene::start().await;
    committed(&scene.world.pay("1", "USD").await).unwrap();
    scene.signed().await;
    let elsewhere = scene.folder().join("elsewhere");
    let kept = || fs::read_dir(&elsewhere).map_or(0, |files| files.count());
    until("a checkpoint outside", SOON, async || {
        Ok((kept() > 0).then_some(()).ok_or(scene.world.host.log()))
    })
    .await
    .unwrap();
    scene.world.host.kill().unwrap();
    let state = scene.world.scheme.state();
    tokio::task::spawn_blocking(move || SqliteStore::open(&state).unwrap().recover().unwrap())
        .await
        .unwrap();
    // A thief changes an entry and removes each signature in the store, so that the host signs the log anew.
    let mut connection = database(&scene.world.scheme.state()).await;
    for statement in [
        "UPDATE audit_entries SET entry = replace(entry, 'done', 'sent')",
        "DELETE FROM audit_tiles",
        "DELETE FROM audit_checkpoints",
    ] {
        connection.execute(statement).await.unwrap();
    }
    connection.close().await.unwrap();
    let before = kept();
    scene.world.host.restart().unwrap();
    until("the alarm", SOON, async || {
        let log = scene.world.host.log();
        let is_told = log.contains("entries that were signed are missing");
        Ok(is_told.then_some(()).ok_or(log))
    })
    .await
    .unwrap();
    assert_eq!(kept(), before);
    let said = scene.audit(&["verify", "--json"]);
    let said: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(said["checkpoints"], 0, "{said}");
    assert_eq!(said["findings"].as_array().unwrap().len(), 1, "{said}");
    // An operator who knows of a restore keeps them elsewhere, and the host goes on.
    fs::rename(&elsewhere, scene.folder().join("before-the-restore")).unwrap();
    let said = scene.signed().await;
    assert_eq!(said["findings"], json!([]), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn witness_signs_checkpoints_and_stops_a_log_that_it_knows_otherwise() {
    let witness = Witness::start("witness.example").await.unwrap();
    let scheme = TestScheme::demo().unwrap();
    scheme.add_operators(PEOPLE).unwrap();
    let (url, key) = (witness.url(), witness.public());
    let settings = format!("{AUDIT}\n[[audit.witnesses]]\nurl = \"{url}\"\nkey = \"{key}\"\n");
    scheme.add_host_settings(&settings).unwrap();
    let mut world = World::of(scheme, &WorldOptions::default()).await.unwrap();
    committed(&world.pay("1", "USD").await).unwrap();
    let folder = world.scheme.path().to_owned();
    let at = folder.to_str().unwrap();
    let cosigned = async |least: u64| {
        let mut said = Value::Null;
        until("a cosigned checkpoint", SOON, async || {
            let output = audit(&["verify", "--json"], &["--at", at]);
            said = serde_json::from_str(&output.stdout).unwrap_or_default();
            let is_there = witness.size() > least
                && said["cosigned"]
                    .as_array()
                    .is_some_and(|all| !all.is_empty());
            Ok(is_there.then_some(()).ok_or(output.to_string()))
        })
        .await
        .unwrap();
        said
    };
    let said = cosigned(0).await;
    assert_eq!(said["findings"], json!([]), "{said}");
    // A key that is another one verifies nothing.
    let other = Witness::start("witness.example").await.unwrap().public();
    let pem = folder.join("secrets/audit.reference.pem");
    let foreign = [
        "verify",
        "--witness",
        &other,
        "--key",
        pem.to_str().unwrap(),
    ];
    let foreign = audit(&foreign, &["--at", at]);
    assert_eq!(foreign.code, 1, "{foreign}");

    // After the next start, the witness says that it has signed a longer log.
    world.host.stop().unwrap();
    witness.has_signed(1_000_000);
    world.host.restart().unwrap();
    until("the host says so", SOON, async || {
        let log = world.host.log();
        let is_there = log.contains("has signed 1000000 entries");
        let stopped = log.contains("no checkpoint of the audit log is signed");
        Ok((is_there && stopped).then_some(()).ok_or(log))
    })
    .await
    .unwrap();
    // Payments go on, and nothing more is signed.
    let number = async |name: &str| Metrics::of(&world.host).await.unwrap().get(name).unwrap();
    let before = number("rialto_audit_signed_entries").await;
    committed(&world.pay("1", "USD").await).unwrap();
    assert!(number("rialto_audit_outside_failures_total").await >= 1);
    let failures = number("rialto_audit_checkpoint_failures_total").await;
    until("another look", SOON, async || {
        let now = number("rialto_audit_checkpoint_failures_total").await;
        Ok((now > failures).then_some(()).ok_or(now.to_string()))
    })
    .await
    .unwrap();
    assert_eq!(number("rialto_audit_signed_entries").await, before);
    world.host.nothing_failed().await.unwrap();
}
