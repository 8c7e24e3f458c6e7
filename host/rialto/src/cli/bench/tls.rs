//! TLS and access tokens for a benchmark in which everybody proves who they are.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use rialto_manifest::Manifest;
use rialto_simulator::client::HttpClient;
use rialto_simulator::fsp::Application;
use rialto_simulator::pki::SchemePki;
use rialto_simulator::secured;
use serde_json::{Value, json};

use crate::client::Client;

/// The operator who approves the participants' liquidity: with TLS the scheme is no sandbox.
const APPROVER: &str = "benchmark";

/// The operator who asks for the FSPs' applications.
const MAKER: &str = "benchmark-maker";
/// The scheme's setting, before and after.
const CERTIFICATES: &str = "fsps = \"mutual-tls\"";
const BOTH: &str = "fsps = \"mutual-tls+bearer\"";

/// Applications of FSPs, by their ids.
pub(super) type Applications = BTreeMap<String, Application>;

/// Makes the benchmark's copy of the scheme use TLS and access tokens.
pub(super) fn secure(given: &Manifest, folder: &Path) -> anyhow::Result<SchemePki> {
    let participants = given.scheme().participants.iter().take(super::PAYING);
    let pki = secured::secure(folder, participants.map(|one| one.id.as_str()))?;
    let document = folder.join("scheme.toml");
    let text = fs::read_to_string(&document)?;
    fs::write(&document, text.replacen(CERTIFICATES, BOTH, 1))?;
    let document = folder.join("rialto.toml");
    let text = fs::read_to_string(&document)?;
    let more = format!(
        "\n[operators.{APPROVER}]\nroles = [\"reader\", \"checker\"]\n\n\
         [operators.{MAKER}]\nroles = [\"maker\"]\n"
    );
    fs::write(&document, text + &more)?;
    Ok(pki)
}

/// Registers an application of each FSP, as two operators do.
pub(super) fn register(state: &Path, pki: &SchemePki) -> anyhow::Result<Applications> {
    let (maker, checker) = (Client::of(state, MAKER)?, Client::of(state, APPROVER)?);
    let mut applications = Applications::new();
    for id in pki.participants.keys() {
        let asked = json!({ "participant": id, "label": "benchmark" });
        let made: Value = maker.post("/app-register", &asked)?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let application = Application {
            id: text(&made["application"]["id"]),
            secret: text(&made["secret"]),
        };
        let path = format!("/app-register/{}/decision", application.id);
        let _: Value = checker.post(&path, &json!({ "decision": "APPROVE" }))?;
        applications.insert(id.clone(), application);
    }
    Ok(applications)
}

/// Approves the first release of the host on this store.
pub(super) fn approve(state: &Path) -> anyhow::Result<()> {
    let client = Client::of(state, APPROVER)?;
    let approved: anyhow::Result<Value> = client.post("/releases/1/approve", &json!({"note": ""}));
    approved
        .context("approving the benchmark's release")
        .map(drop)
}

/// The generator's client of the FSPs, which must know it.
pub(super) fn client(pki: &SchemePki, timeout: Duration) -> anyhow::Result<HttpClient> {
    let generator = pki.authority.issue("generator")?;
    let tls = pki.authority.fsp(&generator);
    Ok(HttpClient::with_tls(timeout, tls.client()?))
}
