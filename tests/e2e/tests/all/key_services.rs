//! AWS KMS of `rialto.toml`: checked, measured, used by components, and no obstacle to a start. The service is moto's server.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rialto_tests::{CliOutput, RunningHost, TestScheme, binaries};
use serde_json::{Value, json};

use crate::cryptography::{PEOPLE, Scene};

/// A running service. It verifies each request's signature.
struct Service {
    child: Child,
    about: Value,
}

impl Service {
    fn start() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let python = root.join("target/tools/aws-kms/bin/python");
        assert!(
            python.exists(),
            "moto is not installed: `cargo xtask test` installs it"
        );
        let mut child = Command::new(python)
            .arg(root.join("host/kms/tests/service/server.py"))
            // It ends when this is closed.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let about = serde_json::from_str(&line).unwrap();
        Self { child, about }
    }

    fn secret(&self) -> &str {
        self.about["user"]["secret"].as_str().unwrap()
    }

    /// The demonstration with the service as a provider of keys, and this secret.
    fn scheme(&self, secret: &str) -> TestScheme {
        let scheme = TestScheme::demo().unwrap();
        let path = scheme.path().join("rialto.toml");
        let document = std::fs::read_to_string(&path).unwrap();
        let provider = format!(
            "\n[keys.providers.cloud]\nkind = \"aws-kms\"\nregion = \"eu-central-1\"\nendpoint = \"http://127.0.0.1:{}\"\ncredentials = \"kms.credentials\"\ntimeout = \"1 min\"\n",
            self.about["port"]
        );
        std::fs::write(&path, document + &provider).unwrap();
        let credentials = scheme.path().join("kms.credentials");
        let id = self.about["user"]["id"].as_str().unwrap();
        let text = format!("aws_access_key_id = {id}\naws_secret_access_key = {secret}\n");
        std::fs::write(&credentials, text).unwrap();
        std::fs::set_permissions(&credentials, std::fs::Permissions::from_mode(0o600)).unwrap();
        scheme
    }
}

impl Service {
    /// The states of all its keys, as the administrator of the account sees them.
    fn states(&self) -> Vec<String> {
        let script = "import boto3, json, sys\n\
            about = json.loads(sys.argv[1])\n\
            kms = boto3.client('kms', region_name='eu-central-1',\n\
                endpoint_url='http://127.0.0.1:%d' % about['port'],\n\
                aws_access_key_id=about['user']['id'], aws_secret_access_key=about['user']['secret'])\n\
            for key in kms.list_keys()['Keys']:\n    \
                print(kms.describe_key(KeyId=key['KeyId'])['KeyMetadata']['KeyState'])\n";
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let output = Command::new(root.join("target/tools/aws-kms/bin/python"))
            .args(["-c", script, &self.about.to_string()])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        let states = String::from_utf8(output.stdout).unwrap();
        states.lines().map(str::to_owned).collect()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn rialto(command: &[&str], folder: &Path) -> CliOutput {
    CliOutput::of(binaries::rialto().unwrap(), |c| {
        c.args(command).arg(folder);
    })
    .unwrap()
}

#[test]
fn check_says_whether_the_service_takes_the_credentials() {
    let service = Service::start();
    let good = rialto(&["check"], service.scheme(service.secret()).path());
    assert_eq!(good.code, 0, "{good}");
    let refused = rialto(&["check"], service.scheme("0815wrong").path());
    assert_eq!(refused.code, 2, "{refused}");
    for part in ["[keys.providers.cloud]", "look at the credentials"] {
        assert!(refused.stderr.contains(part), "{refused}");
    }
    assert!(!refused.stderr.contains("0815"), "{refused}");
    let scheme = service.scheme(service.secret());
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(scheme.path().join("kms.credentials"), open).unwrap();
    let open = rialto(&["check"], scheme.path());
    assert_eq!(open.code, 2, "{open}");
    assert!(open.stderr.contains("chmod 600"), "{open}");
}

#[test]
fn bench_measures_a_service() {
    let service = Service::start();
    let command = ["bench", "keys", "--json", "--scheme"];
    let output = rialto(&command, service.scheme(service.secret()).path());
    assert_eq!(output.code, 0, "{output}");
    let rows: Vec<Value> = output
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for algorithm in ["ES256", "ES384", "RS256", "HS256"] {
        let row = rows
            .iter()
            .find(|row| row["provider"] == "cloud" && row["algorithm"] == algorithm);
        let figure = row.map(|row| row["signatures_per_second"].as_f64().unwrap());
        assert!(figure.is_some_and(|figure| figure > 0.0), "{output}");
    }
}

#[test]
fn host_starts_without_its_service() {
    let service = Service::start();
    let scheme = service.scheme(service.secret());
    drop(service);
    let host = RunningHost::start(&scheme).unwrap();
    drop(host);
}

#[tokio::test(flavor = "multi_thread")]
async fn components_use_keys_that_are_in_a_service() {
    let service = Service::start();
    let scheme = service.scheme(service.secret());
    scheme.add_operators(PEOPLE).unwrap();
    let host = RunningHost::start(&scheme).unwrap();
    let mut scene = Scene::at(scheme, host);
    // The first provider by name makes new keys.
    let pair = scene.key("/kms-ecc-key-gen", "SIGN", "ES256").await;
    assert_eq!(pair["provider"], "cloud");
    let asked = json!({ "key": pair["id"], "data": "YWJj" });
    let signature = scene.done("audit", "/signature-gen", asked.clone()).await;
    let mut verify = asked.clone();
    verify["signature"] = signature["signature"].clone();
    let verdict = scene.done("audit", "/signature-ver", verify).await;
    assert_eq!(verdict, json!({ "valid": true }));
    let sealing = scene.key("/kms-aes-key-gen", "ENCRYPT", "A256GCM").await;
    let plain = json!({ "key": sealing["id"], "data": "YWJj", "associatedData": "ZGVm" });
    let sealed = scene.done("audit", "/encrypt", plain).await;
    let mut open = json!({
        "key": sealing["id"], "data": sealed["data"], "associatedData": "ZGVm",
    });
    let opened = scene.done("audit", "/decrypt", open.clone()).await;
    assert_eq!(opened["data"], "YWJj");
    open["associatedData"] = json!("Z2hp");
    let said = scene.asked("audit", "/decrypt", open).await;
    assert_eq!((said.status, said.problem()), (422, "not-opened"));
    // An outage refuses what needs the service, and nothing else.
    drop(service);
    let said = scene.asked("audit", "/signature-gen", asked).await;
    assert_eq!(
        (said.status, said.problem()),
        (503, "provider-away"),
        "{said:?}"
    );
    let drawn = json!({ "bytes": 32 });
    scene.done("audit", "/random-number-gen", drawn).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_operators_have_a_service_delete_a_key() {
    let service = Service::start();
    let scheme = service.scheme(service.secret());
    scheme.add_operators(PEOPLE).unwrap();
    let host = RunningHost::start(&scheme).unwrap();
    let mut scene = Scene::at(scheme, host);
    let pair = scene.key("/kms-ecc-key-gen", "SIGN", "ES256").await;
    scene.ask_for_its_end(&pair).await;
    assert_eq!(service.states(), ["Enabled"]);
    scene.decide_its_end("ben", &pair).await;
    scene.is_destroyed(&pair).await;
    assert_eq!(service.states(), ["PendingDeletion"]);
}
