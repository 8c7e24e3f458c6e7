//! Approvals that are confirmed with passkeys, by the API and by commands. `sign_in/passkeys.rs` has the pages.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use rialto_tests::office::{OFFICE, Office, Said};
use rialto_tests::waiting::until;
use rialto_tests::world::PAYER;
use rialto_tests::{RunningHost, TestScheme, binaries};
use rialto_webauthn::authenticator::Authenticator;
use serde_json::{Value, json};

/// Longer than any answer takes.
const SOON: Duration = Duration::from_secs(30);
/// The operators: who asks, and who decides.
const PEOPLE: [&str; 3] = ["maya", "chris", "dora"];
const TABLES: &str = "[operators.maya]\nroles = [\"reader\", \"maker\"]\n\n\
                      [operators.chris]\nroles = [\"reader\", \"checker\"]\n\n\
                      [operators.dora]\nroles = [\"reader\", \"checker\"]\n";
/// The relying party, and the origin of its pages.
const PARTY: &str = "localhost";
const ORIGIN: &str = "http://localhost:4002";
/// The header that names a confirmation.
const CONFIRMATION: &str = "x-rialto-confirmation";

struct Scene {
    office: Office,
    host: RunningHost,
    scheme: TestScheme,
}

impl Scene {
    /// A host that is about to need passkeys.
    fn start() -> Self {
        let scheme = TestScheme::demo().unwrap();
        let tables = format!(
            "[sign-in]\nissuer = \"https://id.example\"\nclient-id = \"rialto\"\naddress = \"{ORIGIN}\"\n\n\
             [passkeys]\nrequired = false\n\n{TABLES}"
        );
        scheme.add_operators(&[]).unwrap();
        scheme.add_host_settings(&tables).unwrap();
        let host = RunningHost::start(&scheme).unwrap();
        let office = Office::of(&scheme, &host, &PEOPLE).unwrap();
        Self {
            office,
            host,
            scheme,
        }
    }

    /// From now on passkeys are needed.
    fn require(&mut self) {
        let (from, to) = ("required = false", "required = true");
        self.scheme.replace("rialto.toml", from, to).unwrap();
        self.host.restart().unwrap();
        self.office = Office::of(&self.scheme, &self.host, &PEOPLE).unwrap();
    }

    async fn post(&self, who: &str, path: &str, body: &Value) -> Said {
        self.office.post(who, path, body).await.unwrap()
    }

    async fn with(&self, who: &str, path: &str, body: &Value, confirmation: &str) -> Said {
        let headers = [(CONFIRMATION, confirmation)];
        let sent = self.office.send(who, "POST", path, &headers, body);
        sent.await.unwrap()
    }

    /// Register a passkey: its id.
    async fn register(&self, who: &str, device: &mut Authenticator) -> String {
        let begun = self
            .post(who, "/passkeys/registrations", &Value::Null)
            .await;
        assert_eq!(begun.status, 201, "{begun:?}");
        let credential = device.create(&begun.body["publicKey"]);
        let body = json!({ "id": begun.body["id"], "label": "a key", "credential": credential });
        let made = self.post(who, "/passkeys", &body).await;
        assert_eq!(
            (made.status, &made.body["state"]),
            (201, &"WAITING".into()),
            "{made:?}"
        );
        made.body["id"].as_str().unwrap().to_owned()
    }

    async fn approve_passkey(&self, who: &str, id: &str) -> Said {
        self.post(who, &format!("/passkeys/{id}/approve"), &Value::Null)
            .await
    }

    /// Have an authenticator confirm what was begun.
    async fn sign(&self, who: &str, begun: &Value, device: &mut Authenticator) -> Said {
        let path = format!("/confirmations/{}", begun["id"].as_str().unwrap());
        let credential = device.get(&begun["publicKey"]);
        self.post(who, &path, &json!({ "credential": credential }))
            .await
    }

    /// Confirm a POST with this body: the confirmation's id.
    async fn confirm(
        &self,
        who: &str,
        device: &mut Authenticator,
        path: &str,
        body: &Value,
    ) -> String {
        let text = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let wanted = json!({ "method": "POST", "target": path, "body": text });
        let begun = self.post(who, "/confirmations", &wanted).await;
        assert_eq!(begun.status, 201, "{begun:?}");
        let id = begun.body["id"].as_str().unwrap().to_owned();
        let page = format!("{ORIGIN}/confirmations/{id}");
        assert_eq!(begun.body["page"], page);
        let confirmed = self.sign(who, &begun.body, device).await;
        assert_eq!(
            (confirmed.status, &confirmed.body["state"]),
            (200, &"CONFIRMED".into()),
            "{confirmed:?}"
        );
        id
    }

    /// Maya asks for a deposit: the path of its approval, and the approval.
    async fn asked(&self, reference: &str) -> (String, Value) {
        let path = format!("/participants/{PAYER}/funds");
        let body = deposit(reference);
        let asked = self.post("maya", &path, &body).await;
        assert_eq!(asked.status, 201, "{asked:?}");
        let id = asked.body["id"].as_str().unwrap();
        let approval = json!({ "decision": "APPROVE", "request": id });
        (format!("{path}/{id}/approval"), approval)
    }

    /// How many requests for funds wait.
    async fn waiting(&self) -> usize {
        let pending = self.office.get("chris", "/funds/pending").await.unwrap();
        pending["items"].as_array().unwrap().len()
    }

    /// The actions about passkeys in the audit log, with person and outcome.
    async fn audited(&self) -> Vec<(String, String, String)> {
        let log = self.office.get(OFFICE, "/audit-log?last=1000").await;
        let log = log.unwrap();
        let text = |entry: &Value, name: &str| entry[name].as_str().unwrap().to_owned();
        let entries = log.as_array().unwrap().iter();
        let entries = entries.map(|e| (text(e, "action"), text(e, "person"), text(e, "outcome")));
        entries
            .filter(|(action, ..)| action.starts_with("passkey") || action == "confirm")
            .collect()
    }
}

fn device(number: u8) -> Authenticator {
    Authenticator::new(number, PARTY, ORIGIN)
}

/// A request for a deposit of 5 USD.
pub fn deposit(reference: &str) -> Value {
    json!({
        "type": "DEPOSIT", "accountId": "USD", "amount": { "currency": "USD", "amount": "5" },
        "externalReference": reference, "reason": "of a test",
    })
}

fn unconfirmed(said: &Said) -> bool {
    (said.status, said.problem()) == (403, "confirmation-required")
}

#[tokio::test(flavor = "multi_thread")]
async fn approval_needs_a_passkey_of_who_approves() {
    let mut scene = Scene::start();
    let (mut of_chris, mut of_dora) = (device(1), device(2));
    let id = scene.register("chris", &mut of_chris).await;
    let own = scene.approve_passkey("chris", &id).await;
    assert_eq!((own.status, own.problem()), (403, "own-passkey"), "{own:?}");
    let maker = scene.approve_passkey("maya", &id).await;
    assert_eq!(maker.problem(), "role-missing", "{maker:?}");
    assert_eq!(scene.approve_passkey("dora", &id).await.status, 200);
    scene.require();

    let (path, approval) = scene.asked("BANK-1").await;
    let refused = scene.post("chris", &path, &approval).await;
    assert!(unconfirmed(&refused), "{refused:?}");
    // Who may not approve is told that, whatever was confirmed.
    let maker = scene.post("maya", &path, &approval).await;
    assert_eq!(maker.problem(), "role-missing", "{maker:?}");
    let confirmation = scene
        .confirm("chris", &mut of_chris, &path, &approval)
        .await;
    let rejection = json!({ "decision": "REJECT", "request": approval["request"] });
    for (who, body) in [("dora", &approval), ("chris", &rejection)] {
        let other = scene.with(who, &path, body, &confirmation).await;
        assert!(unconfirmed(&other), "{who}: {other:?}");
    }
    assert_eq!(scene.waiting().await, 1);
    let approved = scene.with("chris", &path, &approval, &confirmation).await;
    assert_eq!(approved.status, 200, "{approved:?}");
    assert_eq!(scene.waiting().await, 0);
    let (path, approval) = scene.asked("BANK-2").await;
    let again = scene.with("chris", &path, &approval, &confirmation).await;
    assert!(unconfirmed(&again), "{again:?}");

    // The host's own approvals, and without a passkey none.
    let release = "/releases/7/approve";
    let refused = scene.post("chris", release, &json!({})).await;
    assert!(unconfirmed(&refused), "{refused:?}");
    let confirmation = scene
        .confirm("chris", &mut of_chris, release, &json!({}))
        .await;
    let said = scene
        .with("chris", release, &json!({}), &confirmation)
        .await;
    assert_eq!(said.problem(), "release-unknown", "{said:?}");
    let wanted = json!({ "method": "POST", "target": path, "body": "{}" });
    let none = scene.post("dora", "/confirmations", &wanted).await;
    assert_eq!(none.problem(), "no-passkey", "{none:?}");
    let waits = scene.register("dora", &mut of_dora).await;
    let refused = scene.approve_passkey("chris", &waits).await;
    assert!(unconfirmed(&refused), "{refused:?}");
    let approve = format!("/passkeys/{waits}/approve");
    let confirmation = scene
        .confirm("chris", &mut of_chris, &approve, &Value::Null)
        .await;
    let said = scene.with("chris", &approve, &Value::Null, &confirmation);
    assert_eq!(said.await.status, 200);
    // What is urgent needs no passkey: the end of one.
    let path_of_own = format!("/passkeys/{id}");
    let office = &scene.office;
    let ended = office.send("dora", "DELETE", &path_of_own, &[], &Value::Null);
    assert_eq!(ended.await.unwrap().status, 204);
    let wanted = json!({ "method": "POST", "target": path, "body": "{}" });
    let none = scene.post("chris", "/confirmations", &wanted).await;
    assert_eq!(none.problem(), "no-passkey", "{none:?}");
    let entry = |action: &str, person: &str, outcome: &str| {
        (action.to_owned(), person.to_owned(), outcome.to_owned())
    };
    assert_eq!(
        scene.audited().await,
        [
            entry("passkey-register", "chris", "done"),
            entry("passkey-approve", "chris", "refused"),
            entry("passkey-approve", "dora", "done"),
            entry("confirm", "chris", "done"),
            entry("confirm", "chris", "done"),
            entry("passkey-register", "dora", "done"),
            entry("confirm", "chris", "done"),
            entry("passkey-approve", "chris", "done"),
            entry("passkey-end", "dora", "done"),
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn command_waits_until_its_approval_is_confirmed() {
    let mut scene = Scene::start();
    let mut of_chris = device(1);
    let id = scene.register("chris", &mut of_chris).await;
    let by_dora = scene
        .host
        .cli(&["passkey", "approve", &id, "--as", "dora"])
        .unwrap();
    let said = by_dora.success().unwrap();
    assert!(said.contains("of chris, approved by dora: a key"), "{said}");
    scene.require();
    let (_, approval) = scene.asked("BANK-1").await;
    let request = approval["request"].as_str().unwrap();
    let mut command = Command::new(binaries::rialto().unwrap())
        .args(["approve", request, "--as", "chris", "--at"])
        .arg(scene.scheme.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(command.stderr.take().unwrap()).lines();
    let line = stderr.next().unwrap().unwrap();
    let (_, confirmation) = line
        .split_once(" with your passkey, at http://localhost:4002/confirmations/")
        .unwrap_or_else(|| panic!("{line}"));
    let path = format!("/confirmations/{confirmation}");
    // Only the operator sees it.
    let foreign = scene
        .office
        .send("dora", "GET", &path, &[], &Value::Null)
        .await
        .unwrap();
    assert_eq!(foreign.problem(), "nothing-waits", "{foreign:?}");
    let shown = scene.office.get("chris", &path).await.unwrap();
    assert_eq!(shown["body"], approval.to_string());
    let options = scene.page_options("chris", &path).await;
    let credential = of_chris.get(&options);
    let confirmed = scene
        .post("chris", &path, &json!({ "credential": credential }))
        .await;
    assert_eq!(confirmed.status, 200, "{confirmed:?}");
    let output = command.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success() && said.contains("APPROVED"),
        "{said}"
    );
    until("no request", SOON, async || {
        let waiting = scene.waiting().await;
        Ok(if waiting == 0 {
            Ok(())
        } else {
            Err(format!("{waiting} wait"))
        })
    })
    .await
    .unwrap();
}

impl Scene {
    /// The options of a confirmation, as its page has them.
    async fn page_options(&self, who: &str, path: &str) -> Value {
        let page = self.office.page(who, path).await.unwrap();
        let (_, rest) = page.split_once("data-options=\"").unwrap();
        let (options, _) = rest.split_once('"').unwrap();
        serde_json::from_str(&options.replace("&quot;", "\"")).unwrap()
    }
}
