//! Platform Configuration from outside: what everything is configured with, changes of that by releases and by programs,
//! who is told, and secrets that only their owner is told.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rialto_simulator::client::{BaseUrl, HttpClient};
use rialto_tests::office::{Office, Said};
use rialto_tests::waiting::until;
use rialto_tests::{RunningHost, TestScheme, binaries, catalogue, witness};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::authorization::{assertion, openssl};

/// Longer than anything here takes.
const SOON: Duration = Duration::from_secs(30);
/// A part of secrets, which is written nowhere else.
const PART: &str = "-value that nobody else writes";
/// How often an owner reads its secret while it is replaced.
const READS: u32 = 12;
const PEOPLE: &[(&str, &str)] = &[
    ("anna", r#""reader""#),
    ("switch", r#""context""#),
    ("ledger", r#""context""#),
    ("transfers", r#""context""#),
    ("ada", r#""admin""#),
    ("maya", r#""maker""#),
    ("chris", r#""checker""#),
];

struct Scene {
    office: Office,
    host: RunningHost,
    scheme: TestScheme,
    began: u64,
}

impl Scene {
    /// The demonstration with a context that keeps every event.
    fn start() -> Self {
        Self::with("")
    }

    /// The same with more tables in rialto.toml.
    fn with(tables: &str) -> Self {
        let scheme = TestScheme::demo().unwrap();
        scheme.add_host_settings(tables).unwrap();
        scheme.add_operators(PEOPLE).unwrap();
        witness::add(&scheme).unwrap();
        let began = witness::now().unwrap();
        let host = RunningHost::start(&scheme).unwrap();
        let names: Vec<&str> = PEOPLE.iter().map(|(name, _)| *name).collect();
        let office = Office::of(&scheme, &host, &names).unwrap();
        Self {
            office,
            host,
            scheme,
            began,
        }
    }

    async fn shown(&self, context: &str) -> Value {
        let path = format!("/config/schemas/{context}");
        self.office.get("anna", &path).await.unwrap()
    }

    async fn publish(&self, who: &str, path: &str, body: Value) -> Said {
        self.office.post(who, path, &body).await.unwrap()
    }

    /// Make a change of scheme.toml a release.
    fn apply(&self, before: &str, after: &str) {
        self.scheme.edit(before, after).unwrap();
        self.scheme.lock().unwrap();
        let path = self.scheme.path().to_str().unwrap();
        let applied = self.host.cli(&["release", "apply", path, "--as", "office"]);
        applied.unwrap().success().unwrap();
    }

    /// Wait for this many events that values have changed.
    async fn changes(&self, count: usize) -> Vec<Value> {
        self.events("configuration-values-changed", count).await
    }

    /// Wait for this many events of a name.
    async fn events(&self, name: &str, count: usize) -> Vec<Value> {
        until("the events", SOON, async || {
            let told = witness::since(&self.office, self.began).await?;
            let told = told.into_iter();
            let told = told.filter(|told| told.event == name);
            let told: Vec<Value> = told.map(|told| told.content).collect();
            Ok(if told.len() == count {
                Ok(told)
            } else {
                Err(format!("{told:?}"))
            })
        })
        .await
        .unwrap()
    }
}

/// Secrets of the program `switch`, which has a key to sign with.
struct Secrets {
    scene: Scene,
    /// With the private key.
    folder: TempDir,
    /// The id of the public key.
    key: String,
}

impl Secrets {
    async fn start() -> Self {
        let scene = Scene::start();
        let folder = tempfile::tempdir().unwrap();
        let bits = "rsa_keygen_bits:2048";
        let key = [
            "genpkey",
            "-algorithm",
            "RSA",
            "-pkeyopt",
            bits,
            "-out",
            "private.pem",
        ];
        openssl(folder.path(), &key);
        let public = openssl(folder.path(), &["pkey", "-in", "private.pem", "-pubout"]);
        let key = json!({ "publicKey": {
            "subject": "context/switch", "algorithm": "RS256", "publicKey": String::from_utf8(public).unwrap(),
            "notAfter": witness::now().unwrap() + 3_600_000,
        } });
        let body = json!({ "change": key, "reason": "of a test" });
        let asked = scene.publish("maya", "/authorization-changes", body).await;
        let key = asked.body["id"].as_str().unwrap().to_owned();
        let path = format!("/authorization-changes/{key}/decision");
        let decided = scene
            .publish("chris", &path, json!({ "decision": "APPROVE" }))
            .await;
        assert_eq!(decided.status, 200, "{decided:?}");
        Self { scene, folder, key }
    }

    /// Ada sets the secret `api-key`.
    async fn set(&self, value: &str) -> Value {
        let body = json!({ "value": value, "reason": "of a test" });
        let path = "/config/secrets/switch/values/api-key";
        let set = self.scene.office.send("ada", "PUT", path, &[], &body);
        let set = set.await.unwrap();
        assert_eq!(set.status, 202, "{set:?}");
        assert!(!set.body.to_string().contains(value), "{set:?}");
        set.body
    }

    async fn decide(&self, who: &str, waiting: &Value) -> Said {
        let path = "/config/secrets/switch/values/api-key/decision";
        let body = json!({ "id": waiting["id"], "decision": "APPROVE" });
        self.scene.publish(who, path, body).await
    }

    /// An assertion of the switch, which is used once.
    fn assertion(&self, id: &str) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let claims = json!({
            "iss": "switch", "sub": "switch", "aud": "demo", "jti": id, "exp": now.as_secs() + 120,
        });
        assertion(self.folder.path(), &self.key, &claims)
    }

    /// What the owner reads, again and again. `id` is for its assertions.
    async fn values(&self, id: &str) -> Vec<Value> {
        let mut values = Vec::new();
        for n in 0..READS {
            let assertion = self.assertion(&format!("{id}-{n}"));
            let read = self.read("switch", Some(&assertion)).await;
            assert_eq!(read.status, 200, "{read:?}");
            values.push(read.body["secrets"][0]["value"].clone());
        }
        values
    }

    async fn read(&self, who: &str, assertion: Option<&str>) -> Said {
        let headers: Vec<(&str, &str)> = assertion
            .map(|one| ("x-client-assertion", one))
            .into_iter()
            .collect();
        let path = "/config/secrets/switch/values";
        let read = self
            .scene
            .office
            .send(who, "GET", path, &headers, &Value::Null);
        read.await.unwrap()
    }
}

fn seen(case: &str, rows: &[&str]) {
    let case = format!("platform_configuration::{case}");
    catalogue::seen(&case, rows.iter().copied()).unwrap();
}

#[tokio::test]
async fn every_context_is_shown_and_a_release_tells_what_it_changes() {
    let scene = Scene::start();
    let all = scene.office.get("anna", "/config/schemas/").await.unwrap();
    let items = all["items"].as_array().unwrap();
    let shown: BTreeSet<&str> = items
        .iter()
        .filter_map(|one| one["boundedContextId"].as_str())
        .collect();
    let text = fs::read_to_string(scene.scheme.path().join("scheme.toml")).unwrap();
    let document: toml::Table = text.parse().unwrap();
    for context in document["contexts"].as_table().unwrap().keys() {
        assert!(shown.contains(context.as_str()), "{context} in {shown:?}");
    }
    let of_one = scene.shown("transfers").await;
    assert_eq!(of_one["values"]["longestLifetimeMs"], 86_400_000);
    assert_eq!(
        of_one["schema"]["properties"]["agreementServes"]["default"],
        "one-transfer"
    );
    assert_eq!(
        (&of_one["version"], &of_one["release"]),
        (&json!(1), &json!(1))
    );
    assert!(items.contains(&of_one), "{all}");
    // What the scheme sets, and what nobody describes.
    assert_eq!(
        scene.shown("settlements").await["values"]["models"][0]["name"],
        "DEFERRED_NET"
    );
    assert_eq!(
        scene.shown("auditing").await["schema"],
        json!({ "type": "object" })
    );
    let rule = scene
        .shown("rule%2Famount-limits%2Fquote-request-check")
        .await;
    assert_eq!(rule["values"]["otherwise"], "refuse");
    assert_eq!(rule["schema"]["title"], "Settings of amount-limits");
    let missing = scene
        .office
        .send("anna", "GET", "/config/schemas/nobody/", &[], &Value::Null);
    let missing = missing.await.unwrap();
    assert_eq!(
        (missing.status, missing.problem()),
        (404, "context-unknown")
    );

    let component = "[contexts.transfers]\ncomponent";
    let settings = "[contexts.transfers.settings]\nlongestLifetimeMs = 3600000\n\n";
    scene.apply(component, &format!("{settings}{component}"));
    let after = scene.shown("transfers").await;
    assert_eq!(
        (&after["values"]["longestLifetimeMs"], &after["release"]),
        (&json!(3_600_000), &json!(2))
    );
    let told = &scene.changes(1).await[0];
    assert_eq!(
        (&told["context"], &told["release"]),
        (&json!("transfers"), &json!(2))
    );
    assert_eq!(told["changed"], json!(["/longestLifetimeMs"]));
    assert!(!told.to_string().contains("3600000"), "{told}");
    until("the notice", SOON, async || {
        let notices = scene
            .office
            .get("anna", "/notices?audience=operators")
            .await?;
        let message = "transfers has other values of /longestLifetimeMs: by release 2";
        Ok(if notices["items"][0]["message"] == message {
            Ok(())
        } else {
            Err(notices.to_string())
        })
    })
    .await
    .unwrap();
    let rolled_back = scene
        .host
        .cli(&["release", "rollback", "1", "--as", "office"]);
    rolled_back.unwrap().success().unwrap();
    assert_eq!(
        scene.shown("transfers").await["values"]["longestLifetimeMs"],
        86_400_000
    );
    assert_eq!(scene.changes(2).await.len(), 2);
    let rows = [
        "B-GET-config-schemas",
        "B-GET-config-schemas-boundedContextId",
        "EV-ConfigurationValuesChanged",
    ];
    seen(
        "every_context_is_shown_and_a_release_tells_what_it_changes",
        &rows,
    );
}

/// A rule's setting under the second person: what it would change, who asked, who approved, and who is told.
#[tokio::test]
async fn a_rules_setting_changes_when_a_second_person_approves_it() {
    let scene = Scene::with("[releases]\nsecond-person = \"every-change\"\n");
    let folder = scene.scheme.path().to_str().unwrap();
    let by = |who: &str, command: &[&str]| {
        let command: Vec<&str> = command.iter().copied().chain(["--as", who]).collect();
        scene.host.cli(&command).unwrap()
    };
    // The first release brings in money.
    by("chris", &["release", "approve", "1"]).success().unwrap();
    let rule = "rule%2Famount-limits%2Fquote-request-check";
    let before = scene.shown(rule).await;
    let maximum = |shown: &Value| shown["values"]["limits"][0]["maximum"].clone();
    assert_eq!(maximum(&before), "10000");
    scene
        .scheme
        .edit(r#"maximum = "10000" }"#, r#"maximum = "500" }"#)
        .unwrap();
    scene.scheme.lock().unwrap();
    let plan = by("ada", &["release", "plan", folder]);
    assert!(
        plan.stdout.contains("500") && plan.stdout.contains("10000"),
        "{plan}"
    );
    assert!(
        plan.stdout.contains("every change needs a second person"),
        "{plan}"
    );
    let waits = by("ada", &["release", "apply", folder]);
    assert_eq!(waits.code, 3, "{waits}");
    assert_eq!(scene.shown(rule).await, before);
    let own = by("ada", &["release", "approve", "2"]);
    assert_ne!(own.code, 0, "{own}");
    by("chris", &["release", "approve", "2"]).success().unwrap();
    let after = scene.shown(rule).await;
    assert_eq!(maximum(&after), "500");
    assert_eq!(
        (&after["schema"], &after["release"]),
        (&before["schema"], &json!(2))
    );
    // The rule judges two steps, with settings for each.
    let told = scene.changes(2).await;
    let contexts: BTreeSet<&str> = told
        .iter()
        .filter_map(|one| one["context"].as_str())
        .collect();
    let steps = ["quote-request-check", "transfer-prepare-check"];
    let wanted = steps.map(|step| format!("rule/amount-limits/{step}"));
    assert_eq!(contexts, wanted.iter().map(String::as_str).collect());
    assert!(
        told.iter().all(|one| one["changed"] == json!(["/limits"])),
        "{told:?}"
    );
    // Going back is a change too.
    let back = by("ada", &["release", "rollback", "1"]);
    assert_eq!(back.code, 3, "{back}");
    // Entries are in the tables a moment after they were written.
    let entries = until("the entries of the release", SOON, async || {
        let export = by("anna", &["audit", "export", "--format", "json"]);
        let lines = export.stdout.lines();
        let entries: Vec<Value> = lines
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["entry"].clone())
            .collect();
        let last =
            |entry: &Value| entry["action"] == "release-rollback" && entry["outcome"] == "done";
        let is_there = entries.iter().any(last);
        Ok(is_there.then_some(entries).ok_or(export.to_string()))
    })
    .await
    .unwrap();
    for (who, action, outcome) in [
        ("ada", "release-apply", "done"),
        ("chris", "release-approve", "done"),
    ] {
        let is_it = |entry: &&Value| {
            let of_second = entry.to_string().contains("release 2 (");
            of_second
                && entry["actor"]["name"] == who
                && entry["action"] == action
                && entry["outcome"] == outcome
        };
        assert_eq!(
            entries.iter().filter(is_it).count(),
            1,
            "{action}: {entries:#?}"
        );
    }
}

#[tokio::test]
async fn program_publishes_versions_of_its_schema_with_values() {
    let scene = Scene::start();
    let schema = json!({
        "type": "object", "additionalProperties": false,
        "properties": {
            "retries": { "type": "integer", "minimum": 0, "default": 3 },
            "partners": { "type": "array", "items": { "type": "string" } },
        },
    });
    let own = "/config/schemas/switch";
    let first = scene
        .publish(
            "switch",
            "/config/schemas/",
            json!({ "version": 2, "schema": schema }),
        )
        .await;
    assert_eq!(
        (first.status, &first.body["values"]["retries"]),
        (201, &json!(3)),
        "{first:?}"
    );
    assert_eq!(scene.shown("switch").await, first.body);
    let values = json!({ "version": 2, "schema": schema, "values": { "retries": 5 } });
    for _ in 0..2 {
        let again = scene.publish("switch", own, values.clone()).await;
        assert_eq!(
            (again.status, &again.body["values"]["retries"]),
            (200, &json!(5))
        );
    }
    for (who, path, body, status, kind) in [
        (
            "switch",
            own,
            json!({ "version": 1, "schema": schema }),
            409,
            "version-outdated",
        ),
        (
            "switch",
            own,
            json!({ "version": 2, "schema": {} }),
            409,
            "version-used",
        ),
        (
            "switch",
            own,
            json!({ "version": 3, "schema": { "type": "text" } }),
            422,
            "schema-invalid",
        ),
        (
            "switch",
            own,
            json!({ "version": 3, "schema": schema, "values": { "retries": -1 } }),
            422,
            "values-misfit",
        ),
        (
            "switch",
            own,
            json!({ "version": 0, "schema": schema }),
            400,
            "malformed",
        ),
        (
            "switch",
            "/config/schemas/ledger",
            json!({ "version": 1, "schema": {} }),
            403,
            "context-foreign",
        ),
        (
            "transfers",
            "/config/schemas/transfers",
            json!({ "version": 9, "schema": {} }),
            409,
            "context-of-release",
        ),
        (
            "anna",
            own,
            json!({ "version": 9, "schema": {} }),
            403,
            "role-missing",
        ),
    ] {
        let said = scene.publish(who, path, body.clone()).await;
        assert_eq!(
            (said.status, said.problem()),
            (status, kind),
            "{body}: {said:?}"
        );
    }
    let third = scene
        .publish(
            "switch",
            &format!("{own}/"),
            json!({ "version": 3, "schema": schema }),
        )
        .await;
    assert_eq!(
        (third.status, &third.body["values"]["retries"]),
        (200, &json!(5)),
        "{third:?}"
    );
    let told = &scene.changes(1).await[0];
    assert_eq!(
        (&told["context"], &told["changed"]),
        (&json!("switch"), &json!(["/retries"]))
    );
    assert_eq!(
        (&told["version"], &told["release"]),
        (&json!(2), &Value::Null)
    );
    let rows = [
        "B-POST-config-schemas",
        "B-POST-config-schemas-boundedContextId",
    ];
    seen(
        "program_publishes_versions_of_its_schema_with_values",
        &rows,
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn owner_alone_is_told_its_secrets_and_nobody_reads_them_elsewhere() {
    let mut secrets = Secrets::start().await;
    let (old, new) = (format!("old{PART}"), format!("new{PART}"));
    let needs =
        json!({ "version": 1, "secrets": [{ "name": "api-key", "description": "of a partner" }] });
    let scene = &secrets.scene;
    let published = scene.publish("switch", "/config/secrets/", needs).await;
    assert_eq!(
        (published.status, &published.body["secrets"][0]["isSet"]),
        (201, &json!(false))
    );
    // What is no secret is refused, and no answer says it again.
    for value in [
        String::new(),
        format!("{PART}\u{0}"),
        format!("{PART}{}", "x".repeat(16_384)),
        format!("{PART}{}", "x".repeat(1 << 20)),
    ] {
        let path = "/config/secrets/switch/values/api-key";
        let body = json!({ "value": value, "reason": "of a test" });
        let said = scene.office.send("ada", "PUT", path, &[], &body).await;
        let said = said.unwrap();
        assert!([400, 413, 422].contains(&said.status), "{said:?}");
        assert!(!said.body.to_string().contains(PART), "{said:?}");
    }
    for (value, id) in [(&old, "while-old"), (&new, "while-new")] {
        let waiting = secrets.set(value).await;
        let decided = secrets.decide("ada", &waiting).await;
        assert_eq!((decided.status, decided.problem()), (403, "role-missing"));
        // Its owner reads it all the while.
        let (decided, read) = tokio::join!(secrets.decide("chris", &waiting), secrets.values(id));
        assert_eq!(
            (decided.status, &decided.body["approvedBy"]),
            (200, &json!("chris")),
            "{decided:?}"
        );
        let known = |found: &Value| [&Value::Null, &json!(old), &json!(new)].contains(&found);
        assert!(read.iter().all(known), "{read:?}");
        let changes = read.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!(changes <= 1, "a replaced secret is back: {read:?}");
    }
    let shown = scene
        .office
        .get("anna", "/config/secrets/switch")
        .await
        .unwrap();
    assert_eq!(
        (&shown["secrets"][0]["isSet"], &shown["secrets"][0]["setBy"]),
        (&json!(true), &json!("ada"))
    );
    let all = scene.office.get("anna", "/config/secrets/").await.unwrap();
    assert_eq!(all["items"], json!([shown]));

    let first = secrets.assertion("1");
    let read = secrets.read("switch", Some(&first)).await;
    assert_eq!(
        (read.status, &read.body["secrets"][0]["value"]),
        (200, &json!(new)),
        "{read:?}"
    );
    assert_eq!(read.body["secrets"][0]["previous"]["value"], json!(old));
    assert_eq!(read.headers["cache-control"], "no-store");
    let (third, fourth) = (secrets.assertion("3"), secrets.assertion("4"));
    let mut forged = secrets.assertion("2");
    let flipped = if forged.pop() == Some('A') { 'Q' } else { 'A' };
    forged.push(flipped);
    for (who, assertion, kind) in [
        ("switch", Some(&first), "signature-refused"),
        ("switch", Some(&forged), "signature-refused"),
        ("switch", None, "signature-refused"),
        ("ledger", Some(&third), "context-foreign"),
        ("ada", Some(&fourth), "role-missing"),
        ("anna", Some(&fourth), "role-missing"),
    ] {
        let said = secrets.read(who, assertion.map(String::as_str)).await;
        assert_eq!(
            (said.status, said.problem()),
            (403, kind),
            "{who}: {said:?}"
        );
    }
    let told = scene.events("secrets-values-changed", 2).await;
    assert_eq!(
        (&told[0]["context"], &told[0]["names"]),
        (&json!("switch"), &json!(["api-key"]))
    );
    until("the notice", SOON, async || {
        let notices = scene
            .office
            .get("anna", "/notices?audience=operators")
            .await?
            .to_string();
        let message = "switch has another secret api-key: ada has set it, chris approved it";
        Ok(if notices.contains(message) {
            Ok(())
        } else {
            Err(notices)
        })
    })
    .await
    .unwrap();

    let turns = scene.host.cli(&["events", "--refused", "--as", "office"]);
    let turns = turns.unwrap().said();
    secrets.scene.host.kill().unwrap();
    for entry in fs::read_dir(secrets.scene.scheme.state()).unwrap() {
        let path = entry.unwrap().path();
        let Ok(content) = fs::read(&path) else {
            continue;
        };
        let found = content
            .windows(PART.len())
            .any(|part| part == PART.as_bytes());
        assert!(!found, "a secret is in {}", path.display());
    }
    let log = secrets.scene.host.log();
    assert!(
        !log.contains(PART) && !turns.contains(PART),
        "{turns} {log}"
    );
    let rows = [
        "B-POST-config-secrets",
        "B-GET-config-secrets",
        "B-GET-config-secrets-boundedContextId",
        "B-GET-config-secrets-boundedContextId-values",
        "EV-SecretsValuesChanged",
    ];
    seen(
        "owner_alone_is_told_its_secrets_and_nobody_reads_them_elsewhere",
        &rows,
    );
}

/// Two contexts of one component, each with a listener of its own.
const READERS: &str = "[contexts.reader-one]\ncomponent = \"components/secret-reader.wasm\"\nlistener = \"operators\"\n\n\
                       [contexts.reader-one.grants]\nhost = [\"logging\", \"secrets\"]\n\n\
                       [contexts.reader-two]\ncomponent = \"components/secret-reader.wasm\"\nlistener = \"fsps\"\n\n\
                       [contexts.reader-two.grants]\nhost = [\"logging\", \"secrets\"]\n\n";

#[tokio::test(flavor = "multi_thread")]
async fn component_reads_the_secrets_that_were_set_for_it_alone() {
    let scheme = TestScheme::demo().unwrap();
    scheme.add_operators(PEOPLE).unwrap();
    let reader = binaries::plugin("secret-reader").unwrap();
    fs::copy(reader, scheme.component("secret-reader")).unwrap();
    let rules = "# Rules, and the steps";
    scheme.edit(rules, &format!("{READERS}{rules}")).unwrap();
    scheme.lock().unwrap();
    let host = RunningHost::start(&scheme).unwrap();
    let names: Vec<&str> = PEOPLE.iter().map(|(name, _)| *name).collect();
    let office = Office::of(&scheme, &host, &names).unwrap();
    let one = async |name: &str| {
        let path = format!("/own-secret/{name}");
        office.get("anna", &path).await.unwrap()
    };
    assert_eq!(one("api-key").await, Value::Null, "nobody has set it");
    let needed = office
        .get("anna", "/config/secrets/reader-one")
        .await
        .unwrap();
    assert_eq!(needed["secrets"][0]["description"], "The key of a partner");
    let path = "/config/secrets/reader-one/values/api-key";
    for value in ["old", "new"] {
        let body = json!({ "value": value, "reason": "of a test" });
        let set = office.send("ada", "PUT", path, &[], &body).await.unwrap();
        assert_eq!(set.status, 202, "{set:?}");
        let body = json!({ "id": set.body["id"], "decision": "APPROVE" });
        let decision = format!("{path}/decision");
        let decided = office.post("chris", &decision, &body).await.unwrap();
        assert_eq!(decided.status, 200, "{decided:?}");
    }
    let values = json!({ "current": "new", "previous": "old" });
    assert_eq!(one("api-key").await, values);
    assert_eq!(one("other").await, Value::Null, "it does not need it");
    let client = HttpClient::new(SOON);
    let fsps: BaseUrl = host.url("fsps").unwrap().parse().unwrap();
    let two = client.send(
        http::Method::GET,
        fsps.join("/own-secret/api-key").unwrap(),
        http::HeaderMap::new(),
        bytes::Bytes::new(),
    );
    let two = two.await.unwrap();
    assert_eq!((two.status.as_u16(), &two.body[..]), (200, &b"null"[..]));
}
