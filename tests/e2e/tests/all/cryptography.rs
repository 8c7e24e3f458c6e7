//! Security (crypto) from outside: keys that nobody sees, judged by OpenSSL and by what the host has written.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rialto_tests::catalogue;
use rialto_tests::office::{Office, Said};
use rialto_tests::waiting::until;
use rialto_tests::{RunningHost, TestScheme};
use serde_json::{Value, json};

use crate::audited_refusals::{entries, told};

pub const PEOPLE: &[(&str, &str)] = &[
    ("anna", r#""admin", "reader""#),
    ("ben", r#""admin", "checker""#),
    ("maya", r#""maker""#),
    ("audit", r#""context""#),
    ("logging", r#""context""#),
];

/// Longer than anything here takes.
const SOON: Duration = Duration::from_secs(30);

/// A host and its operators.
pub struct Scene {
    pub office: Office,
    pub host: RunningHost,
    pub scheme: TestScheme,
    seen: BTreeSet<String>,
}

impl Scene {
    fn of(scheme: TestScheme) -> Self {
        let host = RunningHost::start(&scheme).unwrap();
        Self::at(scheme, host)
    }

    /// The scene of a host that runs.
    pub fn at(scheme: TestScheme, host: RunningHost) -> Self {
        let names: Vec<&str> = PEOPLE.iter().map(|(name, _)| *name).collect();
        let office = Office::of(&scheme, &host, &names).unwrap();
        Self {
            office,
            host,
            scheme,
            seen: BTreeSet::new(),
        }
    }

    fn start() -> Self {
        let scheme = TestScheme::demo().unwrap();
        scheme.add_operators(PEOPLE).unwrap();
        Self::of(scheme)
    }

    /// What is answered with success.
    pub async fn done(&mut self, who: &str, path: &str, body: Value) -> Value {
        let said = self.office.post(who, path, &body).await.unwrap();
        assert!((200..300).contains(&said.status), "{path}: {said:?}");
        let row = path.split('/').nth(1).unwrap_or_default();
        self.seen.insert(format!("C-{row}"));
        said.body
    }

    pub async fn asked(&self, who: &str, path: &str, body: Value) -> Said {
        self.office.post(who, path, &body).await.unwrap()
    }

    /// A key of `audit`, by the path that makes such keys.
    pub async fn key(&mut self, path: &str, usage: &str, algorithm: &str) -> Value {
        let definition = self.definition(usage, algorithm).await;
        self.done("anna", path, json!({ "definition": definition }))
            .await
    }

    /// What one operator alone can do about the end of a key.
    pub async fn ask_for_its_end(&mut self, key: &Value) {
        let path = format!("/kms-keys/{}/state", text(&key["id"]));
        for state in ["SUSPENDED", "DESTRUCTION_ASKED"] {
            self.done("anna", &path, json!({ "state": state })).await;
        }
        let own = self
            .asked("anna", &path, json!({ "state": "DESTROYED" }))
            .await;
        assert_eq!((own.status, own.problem()), (403, "maker-is-checker"));
    }

    /// The decision of this operator that a key is to be destroyed.
    pub async fn decide_its_end(&mut self, who: &str, key: &Value) {
        let path = format!("/kms-keys/{}/state", text(&key["id"]));
        let decided = self.done(who, &path, json!({ "state": "DESTROYED" })).await;
        assert_eq!(decided["state"], "DESTROYING");
    }

    /// What operators see of a key.
    pub async fn shown(&self, key: &Value) -> Value {
        let path = format!("/kms-keys/{}", text(&key["id"]));
        self.office.get("anna", &path).await.unwrap()
    }

    /// Wait until a key is destroyed.
    pub async fn is_destroyed(&self, key: &Value) {
        until("the key is destroyed", SOON, async || {
            let shown = self.shown(key).await;
            Ok((shown["state"] == "DESTROYED")
                .then_some(())
                .ok_or(shown.to_string()))
        })
        .await
        .unwrap();
        assert!(self.shown(key).await["destroyedAt"].is_u64());
    }

    async fn definition(&mut self, usage: &str, algorithm: &str) -> Value {
        let asked = json!({
            "label": "of a test", "usage": usage, "algorithm": algorithm, "owner": "audit",
        });
        self.done("anna", "/kms-key-definition", asked).await["id"].clone()
    }

    /// Activate a loaded key, by another operator than the one who loaded it.
    async fn activate(&self, key: &Value) {
        let path = format!("/kms-keys/{}/state", text(&key["id"]));
        let own = self
            .asked("anna", &path, json!({ "state": "ACTIVE" }))
            .await;
        assert_eq!((own.status, own.problem()), (403, "maker-is-checker"));
        let said = self.asked("ben", &path, json!({ "state": "ACTIVE" })).await;
        assert_eq!(said.status, 200, "{said:?}");
    }

    fn end(self, case: &str) {
        catalogue::seen(case, self.seen.iter().map(String::as_str)).unwrap();
    }
}

/// What OpenSSL says, or does.
pub fn openssl(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("openssl")
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "openssl {arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A secret, wrapped by OpenSSL for a key of the host: a new AES key encrypted by RSA, and what that one wraps.
fn wrapped(folder: &Path, unwraps: &Value, secret: &[u8]) -> Vec<u8> {
    let file = |name: &str| folder.join(name);
    fs::write(file("public.pem"), text(&unwraps["publicKey"])).unwrap();
    fs::write(file("kek"), [7; 32]).unwrap();
    fs::write(file("secret"), secret).unwrap();
    let oaep = "pkeyutl -encrypt -pubin -inkey public.pem -in kek -out first \
                -pkeyopt rsa_padding_mode:oaep -pkeyopt rsa_oaep_md:sha256";
    let kek = "07".repeat(32);
    let padded = format!("enc -id-aes256-wrap-pad -K {kek} -iv A65959A6 -in secret -out then");
    for command in [oaep, &padded] {
        openssl(
            folder,
            &command.split_ascii_whitespace().collect::<Vec<_>>(),
        );
    }
    let parts = ["first", "then"].map(|name| fs::read(file(name)).unwrap());
    parts.concat()
}

pub fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

pub fn bytes(value: &Value) -> Vec<u8> {
    STANDARD.decode(text(value)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn signatures_are_verified_by_openssl_and_by_the_host() {
    let mut scene = Scene::start();
    let key = scene.key("/kms-pem-gen", "SIGN", "RS256").await;
    let signed = json!({ "key": key["id"], "data": STANDARD.encode("the record") });
    let signature = scene.done("audit", "/signature-gen", signed.clone()).await;
    assert_eq!(signature["algorithm"], "RS256");
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    fs::write(file("public.pem"), text(&key["publicKey"])).unwrap();
    fs::write(file("signature"), bytes(&signature["signature"])).unwrap();
    fs::write(file("record"), "the record").unwrap();
    let arguments = [
        "dgst",
        "-sha256",
        "-verify",
        "public.pem",
        "-signature",
        "signature",
        "record",
    ];
    assert_eq!(openssl(folder.path(), &arguments), "Verified OK\n");

    let mut verify = json!({
        "key": key["id"], "data": signed["data"], "signature": signature["signature"],
    });
    let verdict = scene.done("audit", "/signature-ver", verify.clone()).await;
    assert_eq!(verdict, json!({ "valid": true }));
    verify["data"] = json!(STANDARD.encode("another record"));
    let verdict = scene.done("audit", "/signature-ver", verify).await;
    assert_eq!(verdict, json!({ "valid": false }));
    // A curve's key, by its public key alone, which anybody may have.
    let key = scene.key("/kms-ecc-key-gen", "SIGN", "ES256").await;
    let signed = json!({ "key": key["id"], "data": "YWJj" });
    let signature = scene.done("audit", "/signature-gen", signed).await;
    let verify = json!({
        "publicKey": key["publicKey"], "algorithm": "ES256",
        "data": "YWJj", "signature": signature["signature"],
    });
    let verdict = scene.done("logging", "/signature-ver", verify).await;
    assert_eq!(verdict, json!({ "valid": true }));
    scene.end("cryptography/signatures");
}

#[tokio::test(flavor = "multi_thread")]
async fn key_that_openssl_wrapped_is_loaded_and_used() {
    let mut scene = Scene::start();
    let unwraps = scene
        .key("/kms-pem-gen", "UNWRAP", "RSA-OAEP-256-KWP")
        .await;
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let wrapped = wrapped(folder.path(), &unwraps, &[5; 32]);
    let definition = scene.definition("MAC", "HS256").await;
    let asked = json!({
        "definition": definition, "unwrappingKey": unwraps["id"], "wrapped": STANDARD.encode(&wrapped),
    });
    let loaded = scene.done("anna", "/kms-load-key", asked.clone()).await;
    let pending = json!({ "key": loaded["id"], "data": "YWJj" });
    let said = scene.asked("audit", "/hash-gen", pending).await;
    assert_eq!((said.status, said.problem()), (409, "key-state"));
    scene.activate(&loaded).await;
    let hashed = json!({ "key": loaded["id"], "data": STANDARD.encode("a message") });
    let code = scene.done("audit", "/hash-gen", hashed).await;
    fs::write(file("message"), "a message").unwrap();
    let hexkey = format!("hexkey:{}", "05".repeat(32));
    let mac = [
        "dgst", "-sha256", "-mac", "HMAC", "-macopt", &hexkey, "-r", "message",
    ];
    let expected = openssl(folder.path(), &mac);
    assert_eq!(expected.split(' ').next(), Some(text(&code["hash"])));
    // One octet less, and one that was changed: nothing is kept, and nothing is told.
    let mut broken = wrapped.clone();
    broken[400] ^= 1;
    for wrapped in [&wrapped[..wrapped.len() - 1], &broken] {
        let mut asked = asked.clone();
        asked["wrapped"] = json!(STANDARD.encode(wrapped));
        let said = scene.asked("anna", "/kms-load-key", asked).await;
        assert_eq!(
            (said.status, said.problem()),
            (422, "not-opened"),
            "{said:?}"
        );
    }
    let keys = scene.office.get("anna", "/kms-keys").await.unwrap();
    assert_eq!(keys["items"].as_array().unwrap().len(), 2);
    scene.end("cryptography/loading");
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_encrypted_and_no_key_is_written() {
    let mut scene = Scene::start();
    let key = scene.key("/kms-aes-key-gen", "ENCRYPT", "A256GCM").await;
    let plain = json!({
        "key": key["id"], "data": STANDARD.encode("Zq7 nobody else says this"), "associatedData": "YWJj",
    });
    let sealed = scene.done("audit", "/encrypt", plain.clone()).await;
    assert_eq!(bytes(&sealed["data"]).len(), 12 + 25 + 16);
    let asked = json!({ "key": key["id"], "data": sealed["data"], "associatedData": "YWJj" });
    let opened = scene.done("audit", "/decrypt", asked).await;
    assert_eq!(opened["data"], plain["data"]);
    let other = json!({ "key": key["id"], "data": sealed["data"] });
    let said = scene.asked("audit", "/decrypt", other).await;
    assert_eq!((said.status, said.problem()), (422, "not-opened"));
    let said = scene.asked("logging", "/encrypt", plain).await;
    assert_eq!((said.status, said.problem()), (403, "key-foreign"));
    // Uses of keys have no entries, but who may not use one has.
    let office = Office::of(&scene.scheme, &scene.host, &[]).unwrap();
    let refused = entries(&office, "authorization.refused", 1).await;
    let writer = "security-crypto";
    assert_eq!(
        told(&refused[0]),
        ["operator", "logging", writer, "POST /encrypt"]
    );
    let hashed = scene
        .done("audit", "/hash-gen", json!({ "data": "YWJj" }))
        .await;
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(hashed["hash"], abc);
    let random = scene
        .done("audit", "/random-number-gen", json!({ "bytes": 32 }))
        .await;
    let drawn = text(&random["random"]).to_owned();
    assert_eq!(drawn.len(), 64);
    let receiver = scene.key("/kms-pem-gen", "SIGN", "RS256").await;
    let asked = json!({ "algorithm": "ES256", "receiver": receiver["publicKey"] });
    let pair = scene.done("anna", "/kms-pem-gen", asked).await;
    assert_eq!(text(&pair["encryptedPrivateKey"]).split('.').count(), 5);
    // What operators see of a key, and what lies in the store, has nothing of its bytes.
    let shown = scene
        .office
        .get("anna", &format!("/kms-keys/{}", text(&key["id"])))
        .await;
    assert_eq!(shown.unwrap().get("reference"), None);
    scene.host.kill().unwrap();
    let master = scene.scheme.path().join("secrets/master.key");
    let master = fs::read_to_string(master).unwrap();
    for entry in fs::read_dir(scene.scheme.state()).unwrap() {
        let path = entry.unwrap().path();
        let Ok(content) = fs::read(&path) else {
            continue;
        };
        for secret in ["Zq7 nobody else says this", &drawn, master.trim()] {
            let found = content
                .windows(secret.len())
                .any(|part| part == secret.as_bytes());
            assert!(!found, "{secret} is in {}", path.display());
        }
    }
    let log = scene.host.log();
    assert!(
        !log.contains("Zq7 nobody else says this")
            && !log.contains(&drawn)
            && !log.contains(master.trim())
    );
    // After a restart the same keys are there.
    scene.host.restart().unwrap();
    let names: Vec<&str> = PEOPLE.iter().map(|(name, _)| *name).collect();
    scene.office = Office::of(&scene.scheme, &scene.host, &names).unwrap();
    let asked = json!({ "key": key["id"], "data": sealed["data"], "associatedData": "YWJj" });
    let opened = scene.done("audit", "/decrypt", asked.clone()).await;
    assert_eq!(bytes(&opened["data"]), b"Zq7 nobody else says this");
    // With another master key none of them is.
    scene.host.kill().unwrap();
    let other = STANDARD.encode([1; 32]);
    fs::write(scene.scheme.path().join("secrets/master.key"), other).unwrap();
    scene.host.restart().unwrap();
    scene.office = Office::of(&scene.scheme, &scene.host, &names).unwrap();
    let said = scene.asked("audit", "/decrypt", asked).await;
    assert_eq!(
        (said.status, said.problem()),
        (422, "key-unavailable"),
        "{said:?}"
    );
    scene.end("cryptography/secrets");
}

/// What is of no use has a plain answer and changes nothing. The table of answers is in the snapshot.
#[tokio::test(flavor = "multi_thread")]
async fn bad_input_has_plain_answers_and_changes_nothing() {
    let mut scene = Scene::start();
    let seals = text(&scene.key("/kms-aes-key-gen", "ENCRYPT", "A256GCM").await["id"]).to_owned();
    let signs = text(&scene.key("/kms-ecc-key-gen", "SIGN", "ES256").await["id"]).to_owned();
    let unwraps = scene
        .key("/kms-pem-gen", "UNWRAP", "RSA-OAEP-256-KWP")
        .await;
    let definition = scene.definition("ENCRYPT", "A256GCM").await;
    let none = "3fa85f64-5717-4562-b3fc-2c963f66afa6";
    let pem =
        |inside: &str| format!("-----BEGIN PUBLIC KEY-----\n{inside}\n-----END PUBLIC KEY-----\n");
    let defined = |usage: &str, algorithm: &str| json!({ "label": "x", "usage": usage, "algorithm": algorithm, "owner": "audit" });
    let before = scene.office.get("anna", "/kms-keys").await.unwrap();
    let mut table = String::new();
    for (what, who, path, body) in [
        (
            "a key for something else",
            "audit",
            "/signature-gen",
            json!({ "key": seals, "data": "YWJj" }),
        ),
        (
            "a key for something else",
            "audit",
            "/encrypt",
            json!({ "key": signs, "data": "YWJj" }),
        ),
        (
            "an unknown key",
            "audit",
            "/encrypt",
            json!({ "key": none, "data": "YWJj" }),
        ),
        (
            "no id",
            "audit",
            "/encrypt",
            json!({ "key": "../x", "data": "YWJj" }),
        ),
        (
            "too much data",
            "audit",
            "/encrypt",
            json!({ "key": seals, "data": "A".repeat(100_001) }),
        ),
        (
            "no base64",
            "audit",
            "/encrypt",
            json!({ "key": seals, "data": "a-b" }),
        ),
        (
            "half of a base64 group",
            "audit",
            "/encrypt",
            json!({ "key": seals, "data": "YWJjA" }),
        ),
        (
            "no ciphertext",
            "audit",
            "/decrypt",
            json!({ "key": seals, "data": "YWJj" }),
        ),
        (
            "an unknown algorithm",
            "audit",
            "/hash-gen",
            json!({ "data": "YWJj", "algorithm": "MD5" }),
        ),
        (
            "no bytes",
            "audit",
            "/random-number-gen",
            json!({ "bytes": 0 }),
        ),
        (
            "too many bytes",
            "audit",
            "/random-number-gen",
            json!({ "bytes": 1_000_000_000 }),
        ),
        (
            "a number in a text",
            "audit",
            "/random-number-gen",
            json!({ "bytes": "32" }),
        ),
        (
            "no PEM",
            "audit",
            "/signature-ver",
            json!({ "publicKey": "x", "algorithm": "ES256", "data": "YWJj", "signature": "YWJj" }),
        ),
        (
            "PEM without DER",
            "audit",
            "/signature-ver",
            json!({ "publicKey": pem("AAAA"), "algorithm": "ES256", "data": "YWJj", "signature": "YWJj" }),
        ),
        (
            "an unknown algorithm",
            "anna",
            "/kms-key-definition",
            defined("SIGN", "none"),
        ),
        (
            "an algorithm of another usage",
            "anna",
            "/kms-key-definition",
            defined("SIGN", "A256GCM"),
        ),
        (
            "an unknown definition",
            "anna",
            "/kms-aes-key-gen",
            json!({ "definition": none }),
        ),
        (
            "a definition of another kind",
            "anna",
            "/kms-ecc-key-gen",
            json!({ "definition": definition }),
        ),
        (
            "a receiver without DER",
            "anna",
            "/kms-pem-gen",
            json!({ "algorithm": "ES256", "receiver": pem("AAAA") }),
        ),
        (
            "nothing wrapped",
            "anna",
            "/kms-load-key",
            json!({ "definition": definition, "unwrappingKey": unwraps["id"], "wrapped": "YWJj" }),
        ),
        (
            "a member too much",
            "audit",
            "/hash-gen",
            json!({ "data": "YWJj", "salt": "x" }),
        ),
        ("no object", "audit", "/hash-gen", json!(["YWJj"])),
    ] {
        let said = scene.asked(who, path, body).await;
        assert!((400..500).contains(&said.status), "{what} {path}: {said:?}");
        let detail = said.body["detail"].as_str().unwrap_or_default();
        assert!(!detail.is_empty(), "{what} {path}: {said:?}");
        let detail = detail.replace(&seals, "<key>").replace(&signs, "<key>");
        let (status, problem) = (said.status, said.problem());
        table += &format!("{path}, {what}: {status} {problem}: {detail}\n");
    }
    let after = scene.office.get("anna", "/kms-keys").await.unwrap();
    assert_eq!(after, before);
    insta::assert_snapshot!(table);
}

#[tokio::test(flavor = "multi_thread")]
async fn key_in_software_is_destroyed_after_a_crash_too() {
    let mut scene = Scene::start();
    let key = scene.key("/kms-ecc-key-gen", "SIGN", "ES256").await;
    scene.ask_for_its_end(&key).await;
    assert_eq!(scene.shown(&key).await["state"], "DESTRUCTION_ASKED");
    scene.decide_its_end("ben", &key).await;
    scene.host.kill().unwrap();
    scene.host.restart().unwrap();
    let scene = Scene::at(scene.scheme, scene.host);
    scene.is_destroyed(&key).await;
    let left = ["documents", "security-crypto", "destructions"];
    let left = scene.host.cli(&left).unwrap();
    assert!(left.said().contains("has no document in"), "{left}");
    let asked = json!({ "key": key["id"], "data": "YWJj" });
    let said = scene.asked("audit", "/signature-gen", asked).await;
    assert_eq!((said.status, said.problem()), (409, "key-state"));
}

#[tokio::test(flavor = "multi_thread")]
async fn pin_blocks_go_from_zone_to_zone() {
    let mut scene = Scene::start();
    // Zone keys are known to both sides, so they are loaded. This one is that of ANSI X9.24, as are PIN and account.
    let kek = scene
        .key("/kms-pem-gen", "UNWRAP", "RSA-OAEP-256-KWP")
        .await;
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let tdes = scene.definition("PIN", "PIN-TDES").await;
    let mut load = Vec::new();
    for zone in [
        "0123456789ABCDEFFEDCBA9876543210",
        "1C1C1C1C1C1C1C1CA2A2A2A2A2A2A2A2",
    ] {
        let digits = zone.as_bytes().chunks(2);
        let key: Vec<u8> = digits
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect();
        let wrapped = wrapped(folder.path(), &kek, &key);
        let asked = json!({
            "definition": tdes, "unwrappingKey": kek["id"], "wrapped": STANDARD.encode(wrapped),
        });
        let loaded = scene.done("anna", "/kms-load-key", asked).await;
        scene.activate(&loaded).await;
        load.push(loaded["id"].clone());
    }
    // Clear blocks of PIN 1234, encrypted by OpenSSL.
    let encrypted = |clear: [u8; 8], key: &str| {
        fs::write(file("clear"), clear).unwrap();
        openssl(
            folder.path(),
            &[
                "enc", "-des-ede", "-K", key, "-nopad", "-in", "clear", "-out", "block",
            ],
        );
        let block = fs::read(file("block")).unwrap();
        block
            .iter()
            .map(|byte| format!("{byte:02X}"))
            .collect::<String>()
    };
    // The one of account 4012345678909 (ISO 9564-1, format 0).
    let of_account = [0x04, 0x12, 0x74, 0xed, 0xcb, 0xa9, 0x87, 0x6f];
    let block = |key: &str| encrypted(of_account, key);
    let asked = json!({
        "from": { "key": load[0], "format": "ISO-0" }, "to": { "key": load[1], "format": "ISO-0" },
        "accountNumber": "4012345678909", "pinBlock": block("0123456789ABCDEFFEDCBA9876543210"),
    });
    let translated = scene.done("audit", "/pin-translation", asked.clone()).await;
    assert_eq!(
        translated["pinBlock"],
        block("1C1C1C1C1C1C1C1CA2A2A2A2A2A2A2A2")
    );
    // From format 1, which knows no account, over formats 3 and 4 to the same block of format 0.
    let aes = scene.key("/kms-aes-key-gen", "PIN", "PIN-AES").await;
    let without_account = [0x14, 0x12, 0x34, 0x9a, 0xbc, 0xde, 0xf0, 0x12];
    let mut at = encrypted(without_account, "0123456789ABCDEFFEDCBA9876543210");
    let mut zone = (load[0].clone(), "ISO-1");
    for next in [
        (load[1].clone(), "ISO-3"),
        (aes["id"].clone(), "ISO-4"),
        (load[1].clone(), "ISO-0"),
    ] {
        let asked = json!({
            "from": { "key": zone.0, "format": zone.1 }, "to": { "key": next.0, "format": next.1 },
            "accountNumber": "4012345678909", "pinBlock": at,
        });
        let translated = scene.done("audit", "/pin-translation", asked).await;
        at = translated["pinBlock"].as_str().unwrap().to_owned();
        zone = next;
    }
    assert_eq!(at, block("1C1C1C1C1C1C1C1CA2A2A2A2A2A2A2A2"));
    // The way back to format 1 would lose the account.
    let mut back = asked.clone();
    back["to"]["format"] = json!("ISO-1");
    let said = scene.asked("audit", "/pin-translation", back).await;
    assert_eq!(said.status, 422, "{said:?}");
    // Every failure of a block is one and the same answer.
    let mut answers = BTreeSet::new();
    for (member, value) in [
        ("accountNumber", "4012345678917"),
        ("accountNumber", "5999999999999999"),
        ("pinBlock", "0000000000000000"),
        ("pinBlock", "00000000000000000000000000000000"),
    ] {
        let mut asked = asked.clone();
        asked[member] = json!(value);
        let said = scene.asked("audit", "/pin-translation", asked).await;
        assert_eq!(said.status, 422, "{member} {value}: {said:?}");
        answers.insert(said.body.to_string());
    }
    assert_eq!(answers.len(), 1, "{answers:?}");
    scene.end("cryptography/pin-blocks");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_operator_sets_the_provider_of_new_keys() {
    let scheme = TestScheme::demo().unwrap();
    scheme.add_operators(PEOPLE).unwrap();
    let second = "[keys.providers.software]\nkind = \"software\"\n\n\
                  [keys.providers.second]\nkind = \"software\"\n";
    let first = "[keys.providers.software]\nkind = \"software\"\n";
    scheme.replace("rialto.toml", first, second).unwrap();
    let mut scene = Scene::of(scheme);
    let made = scene.key("/kms-ecc-key-gen", "SIGN", "ES384").await;
    assert_eq!(made["provider"], "second");
    let asked = scene
        .done(
            "maya",
            "/crypto-adapter-set",
            json!({ "provider": "software" }),
        )
        .await;
    let path = format!("/crypto-adapter-set/{}/decision", text(&asked["id"]));
    let said = scene
        .asked("maya", &path, json!({ "decision": "APPROVE" }))
        .await;
    assert_eq!((said.status, said.problem()), (403, "role-missing"));
    scene
        .done("ben", &path, json!({ "decision": "APPROVE" }))
        .await;
    let made = scene.key("/kms-ecc-key-gen", "SIGN", "ES384").await;
    assert_eq!(made["provider"], "software");
    // The context of access tokens hears of it: its next key is made there too.
    until("the choice is heard", SOON, async || {
        let known = ["documents", "security-authn", "key-provider", "--json"];
        let known = scene.host.cli(&known)?.stdout;
        let is_heard = known.contains("\"provider\":\"software\"");
        Ok(is_heard.then_some(()).ok_or(known))
    })
    .await
    .unwrap();
    scene.end("cryptography/providers");
}
