//! A token of `rialto.toml`: checked, measured, used by components, and no obstacle when it is away or slow. The token
//! is SoftHSM, in some tests behind a module that fails on request.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use rialto_simulator::client::HttpClient;
use rialto_simulator::jws;
use rialto_simulator::pki::write_private;
use rialto_simulator::softhsm::{LABEL, PIN, Token, VARIABLE};
use rialto_tests::metrics::Metrics;
use rialto_tests::office::Office;
use rialto_tests::waiting::until;
use rialto_tests::world::PAYER;
use rialto_tests::{CliOutput, RunningHost, TestScheme, World, WorldOptions, binaries};
use serde_json::json;
use tokio::task::JoinSet;

use crate::cryptography::{PEOPLE, Scene, bytes, openssl, text};

/// Longer than anything here takes.
const SOON: Duration = Duration::from_secs(30);
/// The module in front of SoftHSM, which the provider's own tests use too.
const SHIM: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../host/pkcs11/tests/token/shim.c"
);
/// The file of the PIN, in a scheme's folder.
const PIN_FILE: &str = "token.pin";

/// A token in a folder of its own.
struct Hsm {
    folder: tempfile::TempDir,
    token: Token,
}

impl Hsm {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let token = Token::make(folder.path()).unwrap();
        Self { folder, token }
    }

    /// The demonstration with the token as one more provider of keys.
    fn scheme(&self) -> TestScheme {
        let scheme = TestScheme::demo().unwrap();
        let settings = self.token.settings(PIN_FILE);
        let provider = format!("\n[keys.providers.hsm]\n{settings}timeout = \"1 min\"\n");
        add(&scheme, &provider);
        scheme
    }

    fn rialto(&self, command: &[&str], folder: &Path) -> CliOutput {
        CliOutput::of(binaries::rialto().unwrap(), |c| {
            c.env(VARIABLE, self.token.configuration());
            c.args(command).arg(folder);
        })
        .unwrap()
    }
}

/// A token whose module fails on request.
pub(crate) struct FailingHsm {
    hsm: Hsm,
    control: PathBuf,
    module: PathBuf,
}

impl FailingHsm {
    pub fn new() -> Self {
        let hsm = Hsm::new();
        let folder = hsm.folder.path();
        let (control, module) = (folder.join("control"), folder.join("shim.so"));
        fs::create_dir(&control).unwrap();
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let status = Command::new(compiler)
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([module.as_os_str(), OsStr::new(SHIM), OsStr::new("-ldl")])
            .status();
        assert!(status.expect("a C compiler, as `cc` or in CC").success());
        Self {
            hsm,
            control,
            module,
        }
    }

    /// The scheme of the token, with this module.
    pub fn scheme(&self) -> TestScheme {
        let scheme = self.hsm.scheme();
        let own = self.hsm.token.module().display().to_string();
        let shim = self.module.display().to_string();
        scheme.replace("rialto.toml", &own, &shim).unwrap();
        scheme
    }

    pub fn start(&self, scheme: &TestScheme) -> RunningHost {
        let variables = self.variables();
        let variables: Vec<(&str, &OsStr)> = variables
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_os_str()))
            .collect();
        RunningHost::start_with(scheme, &variables).unwrap()
    }

    /// Why a host does not start.
    fn try_start(&self, scheme: &TestScheme) -> String {
        let variables = self.variables();
        let variables: Vec<(&str, &OsStr)> = variables
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_os_str()))
            .collect();
        let started = RunningHost::start_with(scheme, &variables);
        format!("{:#}", started.err().unwrap())
    }

    pub fn check(&self, folder: &Path) -> CliOutput {
        self.rialto("check", folder, &[])
    }

    pub fn rialto(&self, command: &str, folder: &Path, more: &[&str]) -> CliOutput {
        CliOutput::of(binaries::rialto().unwrap(), |c| {
            c.envs(self.variables()).arg(command).arg(folder).args(more);
        })
        .unwrap()
    }

    /// What the module needs in a host's environment.
    pub fn variables(&self) -> Vec<(String, OsString)> {
        let token = &self.hsm.token;
        vec![
            (VARIABLE.to_owned(), token.configuration().into()),
            (
                "RIALTO_TEST_CONTROL".to_owned(),
                self.control.clone().into(),
            ),
            ("RIALTO_TEST_MODULE".to_owned(), token.module().into()),
        ]
    }

    /// Let the module do this until it is released.
    pub fn ask_for(&self, what: &str) {
        fs::write(self.control.join(what), "").unwrap();
    }

    pub fn release(&self, what: &str) {
        fs::remove_file(self.control.join(what)).unwrap();
    }

    /// How often the module has counted this.
    pub fn counted(&self, what: &str) -> usize {
        fs::read(self.control.join(what)).map_or(0, |bytes| bytes.len())
    }
}

/// Wait until the host's metric has this value.
async fn until_metric(host: &RunningHost, name: &str, wanted: u64) {
    until(name, SOON, async || {
        let value = Metrics::of(host).await?.get(name)?;
        Ok((value == wanted).then_some(()).ok_or(value.to_string()))
    })
    .await
    .unwrap();
}

/// Add tables to rialto.toml, and the PIN beside it.
fn add(scheme: &TestScheme, tables: &str) {
    let path = scheme.path().join("rialto.toml");
    let document = fs::read_to_string(&path).unwrap();
    fs::write(&path, document + tables).unwrap();
    write_private(&scheme.path().join(PIN_FILE), &format!("{PIN}\n")).unwrap();
}

#[test]
fn check_says_whether_the_token_answers() {
    let hsm = Hsm::new();
    let good = hsm.rialto(&["check"], hsm.scheme().path());
    assert_eq!(good.code, 0, "{good}");
    let scheme = hsm.scheme();
    let (own, other) = (format!("token = \"{LABEL}\""), "token = \"another\"");
    scheme.replace("rialto.toml", &own, other).unwrap();
    let absent = hsm.rialto(&["check"], scheme.path());
    assert_eq!(absent.code, 2, "{absent}");
    for part in ["[keys.providers.hsm]", "`another`"] {
        assert!(absent.stderr.contains(part), "{absent}");
    }
    let scheme = hsm.scheme();
    fs::write(scheme.path().join(PIN_FILE), "0815-wrong").unwrap();
    let refused = hsm.rialto(&["check"], scheme.path());
    assert_eq!(refused.code, 2, "{refused}");
    assert!(refused.stderr.contains("refused the PIN"), "{refused}");
    assert!(!refused.stderr.contains("0815"), "{refused}");
    let module = hsm.token.module().display().to_string();
    scheme
        .replace("rialto.toml", &module, "/nowhere/module.so")
        .unwrap();
    let unloaded = hsm.rialto(&["check"], scheme.path());
    assert_eq!(unloaded.code, 2, "{unloaded}");
    assert!(unloaded.stderr.contains("/nowhere/module.so"), "{unloaded}");
}

#[test]
fn bench_measures_a_token_and_leaves_no_key() {
    let hsm = Hsm::new();
    let command = ["bench", "keys", "--json", "--scheme"];
    let output = hsm.rialto(&command, hsm.scheme().path());
    assert_eq!(output.code, 0, "{output}");
    let rows: Vec<serde_json::Value> = output
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for algorithm in ["ES256", "ES384", "RS256", "HS256"] {
        let row = rows
            .iter()
            .find(|row| row["provider"] == "hsm" && row["algorithm"] == algorithm);
        let figure = row.map(|row| row["signatures_per_second"].as_f64().unwrap());
        assert!(figure.is_some_and(|figure| figure > 0.0), "{output}");
    }
    assert_eq!(hsm.token.objects().unwrap(), 0);
}

#[test]
fn host_starts_without_its_token() {
    let hsm = Hsm::new();
    // The host's SoftHSM has no such token.
    let scheme = hsm.scheme();
    let host = RunningHost::start(&scheme).unwrap();
    drop(host);
}

#[tokio::test(flavor = "multi_thread")]
async fn components_use_keys_that_are_in_a_token() {
    let hsm = Hsm::new();
    let scheme = hsm.scheme();
    scheme.add_operators(PEOPLE).unwrap();
    let configuration = hsm.token.configuration();
    let variables = [(VARIABLE, configuration.as_os_str())];
    let host = RunningHost::start_with(&scheme, &variables).unwrap();
    let mut scene = Scene::at(scheme, host);
    // The first provider by name makes new keys.
    let pair = scene.key("/kms-pem-gen", "SIGN", "RS256").await;
    assert_eq!(pair["provider"], "hsm");
    let data = STANDARD.encode("the record");
    let asked = json!({ "key": pair["id"], "data": data });
    let signature = scene.done("audit", "/signature-gen", asked).await;
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    fs::write(file("public.pem"), text(&pair["publicKey"])).unwrap();
    fs::write(file("signature"), bytes(&signature["signature"])).unwrap();
    fs::write(file("record"), "the record").unwrap();
    let verify = "dgst -sha256 -verify public.pem -signature signature record";
    let verify: Vec<&str> = verify.split(' ').collect();
    assert_eq!(openssl(folder.path(), &verify), "Verified OK\n");

    let curve = scene.key("/kms-ecc-key-gen", "SIGN", "ES384").await;
    let asked = json!({ "key": curve["id"], "data": data });
    let signature = scene.done("audit", "/signature-gen", asked).await;
    for (data, valid) in [(&data, true), (&STANDARD.encode("another"), false)] {
        let asked = json!({
            "key": curve["id"], "data": data, "signature": signature["signature"],
        });
        let verdict = scene.done("audit", "/signature-ver", asked).await;
        assert_eq!(verdict, json!({ "valid": valid }));
    }
    let sealing = scene.key("/kms-aes-key-gen", "ENCRYPT", "A256GCM").await;
    let asked = json!({ "key": sealing["id"], "data": data, "associatedData": "YWJj" });
    let sealed = scene.done("audit", "/encrypt", asked).await;
    // Two pairs and a secret key.
    assert_eq!(hsm.token.objects().unwrap(), 5);
    scene.host.restart().unwrap();
    let mut scene = Scene::at(scene.scheme, scene.host);
    let asked = json!({
        "key": sealing["id"], "data": sealed["data"], "associatedData": "YWJj",
    });
    let opened = scene.done("audit", "/decrypt", asked.clone()).await;
    assert_eq!(opened["data"], data);
    let mut other = asked;
    other["associatedData"] = json!("ZGVm");
    let said = scene.asked("audit", "/decrypt", other).await;
    assert_eq!((said.status, said.problem()), (422, "not-opened"));
}

/// The master key under a key of the token: the host's files alone are of no use to a thief.
#[tokio::test(flavor = "multi_thread")]
async fn master_key_is_of_no_use_without_its_token() {
    let hsm = FailingHsm::new();
    let scheme = hsm.scheme();
    scheme.add_operators(PEOPLE).unwrap();
    scheme
        .replace(
            "rialto.toml",
            "{ file = \"secrets/master.key\" }",
            "{ file = \"secrets/master.sealed\", provider = \"hsm\" }",
        )
        .unwrap();
    let host = hsm.start(&scheme);
    let mut scene = Scene::at(scheme, host);
    let key = scene.key("/kms-aes-key-gen", "ENCRYPT", "A256GCM").await;
    let asked = json!({ "key": key["id"], "data": STANDARD.encode("plain") });
    let sealed = scene.done("audit", "/encrypt", asked).await;
    let file = scene.scheme.path().join("secrets/master.sealed");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("\"master\""), "{text}");
    assert!(!scene.scheme.path().join("secrets/master.key").exists());

    // The next start finds the same master key.
    scene.host.restart().unwrap();
    let scheme = scene.scheme;
    let mut scene = Scene::at(scheme, scene.host);
    let asked = json!({ "key": key["id"], "data": sealed["data"] });
    let opened = scene.done("audit", "/decrypt", asked).await;
    assert_eq!(bytes(&opened["data"]), b"plain");

    // Where the token is not, there is no start.
    scene.host.kill().unwrap();
    let other = FailingHsm::new();
    let scheme = scene.scheme;
    let own = hsm.module.display().to_string();
    let foreign = other.module.display().to_string();
    scheme.replace("rialto.toml", &own, &foreign).unwrap();
    let refused = other.try_start(&scheme);
    assert!(
        refused.contains("a master key that its provider encrypts"),
        "{refused}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn token_that_is_away_refuses_what_needs_it_and_nothing_else() {
    let hsm = FailingHsm::new();
    let scheme = hsm.scheme();
    scheme.add_operators(PEOPLE).unwrap();
    let host = hsm.start(&scheme);
    let mut scene = Scene::at(scheme, host);
    let pair = scene.key("/kms-ecc-key-gen", "SIGN", "ES256").await;
    let asked = json!({ "key": pair["id"], "data": "YWJj" });
    let signature = scene.done("audit", "/signature-gen", asked.clone()).await;
    hsm.ask_for("removed");
    let said = scene.asked("audit", "/signature-gen", asked.clone()).await;
    assert_eq!(
        (said.status, said.problem()),
        (503, "provider-away"),
        "{said:?}"
    );
    let definition = json!({
        "label": "l", "usage": "SIGN", "algorithm": "ES256", "owner": "audit",
    });
    let defined = scene.done("anna", "/kms-key-definition", definition).await;
    let make = json!({ "definition": defined["id"] });
    let said = scene.asked("anna", "/kms-ecc-key-gen", make.clone()).await;
    assert_eq!(
        (said.status, said.problem()),
        (503, "provider-away"),
        "{said:?}"
    );
    // The public key is with the reference, and randomness is the host's.
    let mut verify = asked.clone();
    verify["signature"] = signature["signature"].clone();
    let verdict = scene.done("audit", "/signature-ver", verify).await;
    assert_eq!(verdict, json!({ "valid": true }));
    scene
        .done("audit", "/random-number-gen", json!({ "bytes": 32 }))
        .await;
    hsm.release("removed");
    scene.done("audit", "/signature-gen", asked).await;
    scene.done("anna", "/kms-ecc-key-gen", make).await;
    assert_eq!(hsm.hsm.token.objects().unwrap(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_operators_destroy_a_key_on_its_token() {
    let hsm = Hsm::new();
    let scheme = hsm.scheme();
    scheme.add_operators(PEOPLE).unwrap();
    let configuration = hsm.token.configuration();
    let variables = [(VARIABLE, configuration.as_os_str())];
    let host = RunningHost::start_with(&scheme, &variables).unwrap();
    let mut scene = Scene::at(scheme, host);
    let pair = scene.key("/kms-ecc-key-gen", "SIGN", "ES256").await;
    let other = scene.key("/kms-ecc-key-gen", "SIGN", "ES256").await;
    assert_eq!(hsm.token.objects().unwrap(), 4);
    scene.ask_for_its_end(&pair).await;
    scene.host.restart().unwrap();
    let mut scene = Scene::at(scene.scheme, scene.host);
    assert_eq!(hsm.token.objects().unwrap(), 4, "one operator alone");
    scene.decide_its_end("ben", &pair).await;
    scene.is_destroyed(&pair).await;
    assert_eq!(hsm.token.objects().unwrap(), 2);
    let asked = json!({ "key": other["id"], "data": "YWJj" });
    scene.done("audit", "/signature-gen", asked).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn key_is_destroyed_when_its_token_is_back() {
    let hsm = FailingHsm::new();
    let scheme = hsm.scheme();
    scheme.add_operators(PEOPLE).unwrap();
    let host = hsm.start(&scheme);
    let mut scene = Scene::at(scheme, host);
    let pair = scene.key("/kms-ecc-key-gen", "SIGN", "ES256").await;
    scene.ask_for_its_end(&pair).await;
    hsm.ask_for("removed");
    scene.decide_its_end("ben", &pair).await;
    // Each time that somebody asks again, the token is asked, until the host alerts.
    until("the host alerts", SOON, async || {
        scene.decide_its_end("anna", &pair).await;
        let is_alerted = scene.host.log().contains("ALERT: the key");
        Ok(is_alerted.then_some(()).ok_or("no alert".to_owned()))
    })
    .await
    .unwrap();
    let shown = scene.shown(&pair).await;
    assert_eq!(shown["state"], "DESTROYING");
    let progress = &shown["destruction"];
    assert!(progress["tries"].as_u64().unwrap() >= 5, "{shown}");
    assert!(progress["lastTriedAt"].is_u64(), "{shown}");
    let failure = text(&progress["failure"]);
    assert!(failure.contains("does not answer now"), "{shown}");
    // Meanwhile it can be used for nothing, and cannot be resumed.
    let asked = json!({ "key": pair["id"], "data": "YWJj" });
    let said = scene.asked("audit", "/signature-gen", asked).await;
    assert_eq!((said.status, said.problem()), (409, "key-state"));
    let path = format!("/kms-keys/{}/state", text(&pair["id"]));
    for state in ["ACTIVE", "SUSPENDED", "DESTRUCTION_ASKED"] {
        let said = scene.asked("ben", &path, json!({ "state": state })).await;
        assert_eq!((said.status, said.problem()), (409, "key-state"), "{state}");
    }
    scene.host.kill().unwrap();
    scene.host.restart().unwrap();
    let scene = Scene::at(scene.scheme, scene.host);
    assert_eq!(scene.shown(&pair).await["state"], "DESTROYING");
    assert_eq!(hsm.hsm.token.objects().unwrap(), 2);
    hsm.release("removed");
    // Nobody waits for the next try. Perhaps it was made by now.
    let again = json!({ "state": "DESTROYED" });
    let said = scene.asked("anna", &path, again).await;
    assert!([200, 409].contains(&said.status), "{said:?}");
    scene.is_destroyed(&pair).await;
    assert_eq!(hsm.hsm.token.objects().unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn key_is_destroyed_when_a_release_without_its_context_has_gone() {
    let hsm = FailingHsm::new();
    let scheme = hsm.scheme();
    scheme.add_operators(PEOPLE).unwrap();
    let host = hsm.start(&scheme);
    let mut scene = Scene::at(scheme, host);
    let pair = scene.key("/kms-ecc-key-gen", "SIGN", "ES256").await;
    scene.ask_for_its_end(&pair).await;
    hsm.ask_for("removed");
    scene.decide_its_end("ben", &pair).await;
    let release = |command: &[&str]| {
        let done = scene.host.cli(&[&["release"], command].concat());
        done.unwrap().success().unwrap();
    };
    let old = scene.scheme.old_twin().unwrap();
    write_private(&old.path().join(PIN_FILE), &format!("{PIN}\n")).unwrap();
    release(&["apply", old.path().to_str().unwrap()]);
    hsm.release("removed");
    until("nobody handles the reminder", SOON, async || {
        let fails = scene.host.log().contains("has no such component");
        Ok(fails.then_some(()).ok_or("no failure".to_owned()))
    })
    .await
    .unwrap();
    assert_eq!(hsm.hsm.token.objects().unwrap(), 2);
    release(&["rollback", "1"]);
    scene.is_destroyed(&pair).await;
    assert_eq!(hsm.hsm.token.objects().unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_token_keeps_nobody_else_waiting() {
    let hsm = FailingHsm::new();
    let scheme = hsm.scheme();
    scheme.add_operators(PEOPLE).unwrap();
    let host = hsm.start(&scheme);
    let mut scene = Scene::at(scheme, host);
    let pair = scene.key("/kms-ecc-key-gen", "SIGN", "ES256").await;
    let asked = json!({ "key": pair["id"], "data": "YWJj" });
    hsm.ask_for("hold-sign");
    // More than the token has sessions.
    let scene = Arc::new(scene);
    let mut signing = JoinSet::new();
    for _ in 0..6 {
        let (scene, asked) = (scene.clone(), asked.clone());
        signing.spawn(async move { scene.asked("audit", "/signature-gen", asked).await });
    }
    until_metric(&scene.host, "rialto_turns_outside", 6).await;
    // The same component, the same key: only the token is slow.
    let path = format!("/kms-keys/{}", text(&pair["id"]));
    let shown = scene.office.get("anna", &path).await.unwrap();
    assert_eq!(shown["state"], "ACTIVE");
    let drawn = json!({ "bytes": 32 });
    let said = scene.asked("audit", "/random-number-gen", drawn).await;
    assert_eq!(said.status, 200, "{said:?}");
    hsm.release("hold-sign");
    for said in signing.join_all().await {
        assert_eq!(said.status, 200, "{said:?}");
    }
    until_metric(&scene.host, "rialto_turns_outside", 0).await;
    // The end of the host ends the module too.
    assert_eq!(hsm.counted("finalized"), 0);
    scene.host.terminate().unwrap();
    until("the module is finalized", SOON, async || {
        let finalized = hsm.counted("finalized");
        Ok((finalized == 1).then_some(()).ok_or(finalized.to_string()))
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_turns_without_an_effect_are_destroyed() {
    let hsm = FailingHsm::new();
    let scheme = hsm.scheme();
    scheme.add_operators(World::APPLICANTS).unwrap();
    let (none, bearer) = ("fsps = \"none\"", "fsps = \"bearer\"");
    scheme.replace("scheme.toml", none, bearer).unwrap();
    let fsps = "[listeners.fsps]\n";
    let tokens = "[listeners.fsps]\nplaintext-tokens = true\n";
    scheme.replace("rialto.toml", fsps, tokens).unwrap();
    let host = hsm.start(&scheme);
    host.approve_first_release().unwrap();
    let office = Office::of(&scheme, &host, &["maya", "chris"]).unwrap();
    let application = office.application("maya", "chris", PAYER).await.unwrap();
    // The first tokens need a key to sign with. Each of four requests makes one, at the same time.
    hsm.ask_for("hold-generate");
    let client = HttpClient::new(SOON);
    let uri: http::Uri = format!("{}/app-basic-auth", host.url("fsps").unwrap())
        .parse()
        .unwrap();
    let mut headers = http::HeaderMap::new();
    headers.insert("content-type", "application/json".parse().unwrap());
    let body = json!({ "id": application.id, "secret": application.secret }).to_string();
    let mut asking = JoinSet::new();
    for _ in 0..4 {
        let (client, uri, headers) = (client.clone(), uri.clone(), headers.clone());
        let body = body.clone().into();
        asking.spawn(async move { client.send(Method::POST, uri, headers, body).await });
    }
    until("four keys", SOON, async || {
        let made = hsm.counted("generated");
        Ok((made == 4).then_some(()).ok_or(made.to_string()))
    })
    .await
    .unwrap();
    hsm.release("hold-generate");
    for answer in asking.join_all().await {
        let answer = answer.unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    until("one pair of keys is left", SOON, async || {
        let objects = hsm.hsm.token.objects()?;
        Ok((objects == 2).then_some(()).ok_or(objects.to_string()))
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn hub_signs_with_a_key_that_is_in_a_token() {
    let hsm = FailingHsm::new();
    for algorithm in ["RS256", "ES256"] {
        let scheme = hsm.scheme();
        let reference = "secrets/hub.reference";
        let signatures = format!(
            "\n[signatures]\nhub-key-provider = {{ provider = \"hsm\", reference = \"{reference}\", algorithm = \"{algorithm}\" }}\n"
        );
        add(&scheme, &signatures);
        // The first start makes the key, and the next ones find it.
        drop(hsm.start(&scheme));
        let public = scheme.path().join(format!("{reference}.pem"));
        let public = fs::read_to_string(public).unwrap();
        let made = hsm.counted("generated");
        let options = WorldOptions {
            verify_keys: BTreeMap::from([("Hub".to_owned(), public)]),
            variables: hsm.variables(),
            ..WorldOptions::default()
        };
        let mut world = World::of(scheme, &options).await.unwrap();
        assert_eq!(hsm.counted("generated"), made);
        hears_of_nothing(&world).await;
        world.no_complaints().unwrap();
        // A reference of something else keeps the host from starting.
        world.host.kill().unwrap();
        let file = world.scheme.path().join(reference);
        let kept = fs::read_to_string(&file).unwrap();
        fs::write(&file, "nothing of the hub").unwrap();
        let output = hsm.check(world.scheme.path());
        assert_eq!(output.code, 2, "{output}");
        assert!(
            output.said().contains("opens no key of the hub"),
            "{output}"
        );
        fs::write(&file, kept).unwrap();
        // So does one of another algorithm than the document's.
        let wanted = |name: &str| format!("algorithm = \"{name}\"");
        let other = ["RS256", "ES256"]
            .into_iter()
            .find(|name| *name != algorithm);
        let (now, then) = (wanted(algorithm), wanted(other.unwrap()));
        world.scheme.replace("rialto.toml", &now, &then).unwrap();
        let output = hsm.check(world.scheme.path());
        assert_eq!(output.code, 2, "{output}");
        assert!(output.said().contains("and the document wants"), "{output}");
        // Another file replaces the key by one of the new algorithm.
        let next = "secrets/next.reference";
        world
            .scheme
            .replace(
                "rialto.toml",
                &format!("{reference:?}"),
                &format!("{next:?}"),
            )
            .unwrap();
        world.host.restart().unwrap();
        assert_eq!(hsm.counted("generated"), made + 1);
        let missing = asks_for_nothing(&world).await;
        let told = world.payer().expect_callback(Method::PUT, &missing, SOON);
        let told = told.await.unwrap();
        let public = |reference: &str| {
            let file = world.scheme.path().join(format!("{reference}.pem"));
            fs::read_to_string(file).unwrap()
        };
        let objects_to =
            |key: &str| jws::complaint(key, &told.method, &told.path, &told.headers, &told.body);
        assert_eq!(objects_to(&public(next)), None);
        assert!(objects_to(&public(reference)).is_some());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn message_of_the_hub_waits_for_its_token_and_nothing_else_does() {
    let hsm = FailingHsm::new();
    let scheme = hsm.scheme();
    let reference = "secrets/hub.reference";
    let own = format!("hub-key-provider = {{ provider = \"hsm\", reference = \"{reference}\" }}");
    add(&scheme, &format!("\n[signatures]\n{own}\n"));
    drop(hsm.start(&scheme));
    let public = scheme.path().join(format!("{reference}.pem"));
    let options = WorldOptions {
        verify_keys: BTreeMap::from([("Hub".to_owned(), fs::read_to_string(public).unwrap())]),
        variables: hsm.variables(),
        ..WorldOptions::default()
    };
    let mut world = World::of(scheme, &options).await.unwrap();
    for fault in ["removed", "hold-sign"] {
        hsm.ask_for(fault);
        let missing = asks_for_nothing(&world).await;
        // Its message is on disk and waits; turns do not.
        until_metric(&world.host, "rialto_turns_outside", 0).await;
        let paid = world.pay("1.25", "USD").await;
        assert!(paid.is_committed(), "{paid:?}");
        if fault == "hold-sign" {
            world.host.restart().unwrap();
        }
        assert!(!is_told_of(&world, &missing));
        hsm.release(fault);
        hears_of(&world, &missing).await;
    }
    world.no_complaints().unwrap();
}

/// The payer asks for a transfer that does not exist, and the hub says so, signed.
async fn hears_of_nothing(world: &World) {
    let missing = asks_for_nothing(world).await;
    hears_of(world, &missing).await;
}

/// The payer asks for a transfer that does not exist. The path of the hub's answer.
async fn asks_for_nothing(world: &World) -> String {
    let payer = world.payer();
    let missing = format!("/transfers/{}", payer.new_id());
    let asked = payer.raw(Method::GET, &missing).to("Hub").send().await;
    assert_eq!(asked.unwrap().status.as_u16(), 202);
    format!("{missing}/error")
}

fn is_told_of(world: &World, path: &str) -> bool {
    let messages = world.payer().recorder().messages();
    messages.iter().any(|message| message.path == path)
}

async fn hears_of(world: &World, path: &str) {
    let told = world.payer().expect_callback(Method::PUT, path, SOON);
    let told = told.await.unwrap();
    assert_eq!(told.headers["fspiop-source"], "Hub");
    assert!(told.headers.contains_key("fspiop-signature"));
}
