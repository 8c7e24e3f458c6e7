//! `--secure`: the same scheme in a folder of its own where everybody uses TLS, FSPs prove who they are by
//! certificates and access tokens, all messages are signed, and components' keys are in a PKCS #11 token.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::Context as _;
use rialto::client::Client;
use rialto::host::Host;
use rialto::operators::{Caller, Shown};
use rialto::out;
use rialto::releases::Dates;
use rialto_manifest::Manifest;
use rialto_manifest::operator::Role;
use rialto_simulator::FspSettings;
use rialto_simulator::fsp::Application;
use rialto_simulator::jws::{KeyKind, KeyPair};
use rialto_simulator::pki::{SchemePki, write_private};
use rialto_simulator::secured;

use serde_json::{Value, json};

use crate::audited;
use crate::next::Asking;
use crate::token::{DemoToken, PROVIDER};

/// The scheme's documents; everything else in its folder is linked.
const DOCUMENTS: [&str; 2] = ["rialto.toml", "scheme.toml"];
/// The folder of the master key. The copy has its own.
const SECRETS: &str = "secrets";
/// The scheme's setting, before and after.
const CERTIFICATES: &str = "fsps = \"mutual-tls\"";
const BOTH: &str = "fsps = \"mutual-tls+bearer\"";
/// The second person, who approves the participants' liquidity: with TLS the scheme is no sandbox.
const APPROVER: &str = "ben";
/// The operator whose token commands use.
const OPERATOR: &str = "anna";

/// The secured copy, and what its FSPs prove themselves with.
pub struct Secured {
    /// The copy's folder.
    pub folder: PathBuf,
    pki: SchemePki,
    signing: BTreeMap<String, KeyPair>,
    applications: OnceLock<BTreeMap<String, Application>>,
    token: DemoToken,
}

impl Secured {
    /// Make the copy in a new folder. Its components' keys are in this token.
    pub fn copy(manifest: &Manifest, folder: &Path, token: DemoToken) -> anyhow::Result<Self> {
        let from = fs::canonicalize(manifest.folder())?;
        fs::create_dir(folder).with_context(|| format!("making {}", folder.display()))?;
        for entry in fs::read_dir(&from)? {
            let name = entry?.file_name();
            if DOCUMENTS.iter().any(|document| name == *document) {
                fs::copy(from.join(&name), folder.join(&name))?;
            } else if from.join(&name) != manifest.store_path() && name != SECRETS {
                symlink(from.join(&name), folder.join(&name))?;
            }
        }
        let ids = manifest.scheme().participants.iter();
        let ids: Vec<&str> = ids.map(|one| one.id.as_str()).collect();
        let pki = secured::secure(folder, ids.iter().copied())?;
        let document = folder.join(DOCUMENTS[1]);
        let text = fs::read_to_string(&document)?;
        fs::write(&document, text.replacen(CERTIFICATES, BOTH, 1))?;
        let keys = folder.join("keys");
        fs::create_dir(&keys)?;
        let mut signing = BTreeMap::new();
        for id in ids {
            let pair = KeyPair::generate(KeyKind::Rsa)?;
            fs::write(keys.join(format!("{id}.pem")), &pair.public)?;
            signing.insert(id.to_owned(), pair);
        }
        // So that a reader can send messages by curl, in the name of either FSP.
        for (id, issued) in &pki.participants {
            let file = |kind: &str| secured::file(folder, &format!("{id}.{kind}"));
            write_private(&file("pem"), &issued.certificate)?;
            write_private(&file("key"), &issued.key)?;
        }
        let document = folder.join(DOCUMENTS[0]);
        let text = fs::read_to_string(&document)?;
        let more = format!(
            "\n[signatures]\nkeys = \"keys\"\n\
             hub-key-provider = {{ provider = \"{PROVIDER}\", reference = \"secrets/hub.reference\" }}\n\n\
             [operators.{OPERATOR}]\nroles = [\"reader\", \"maker\", \"admin\"]\n\n\
             [operators.{APPROVER}]\nroles = [\"reader\", \"checker\"]\n"
        );
        let more = more + &audited::settings(PROVIDER);
        fs::write(&document, text + &more)?;
        token.serve(folder)?;
        Ok(Self {
            folder: folder.to_owned(),
            pki,
            signing,
            applications: OnceLock::new(),
            token,
        })
    }

    /// Have the second person approve the first release.
    pub fn approve(&self, host: &Host) -> anyhow::Result<()> {
        let shared = &host.shared;
        let caller = Caller {
            name: APPROVER.into(),
            person: APPROVER.into(),
            roles: [Role::Reader, Role::Checker].into(),
            shown: Shown::File,
        };
        let note = "for the demonstration";
        let approved =
            shared
                .releases
                .approve(&shared.engine, &caller, 1, note, (None, Dates::default()));
        approved.context("approving the first release").map(drop)
    }

    /// Register an application of each FSP, as two operators do. For a reader's curl, its id and secret go to a file.
    pub fn register(&self, state: &Path) -> anyhow::Result<()> {
        let (maker, checker) = (Client::of(state, OPERATOR)?, Client::of(state, APPROVER)?);
        let mut applications = BTreeMap::new();
        for id in self.pki.participants.keys() {
            let asked = json!({ "participant": id, "label": "of the demonstration" });
            let made: Value = maker.post("/app-register", &asked)?;
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let application = Application {
                id: text(&made["application"]["id"]),
                secret: text(&made["secret"]),
            };
            let path = format!("/app-register/{}/decision", application.id);
            let _: Value = checker.post(&path, &json!({ "decision": "APPROVE" }))?;
            let user = format!("user = \"{}:{}\"\n", application.id, application.secret);
            let file = secured::file(&self.folder, &format!("{id}.application"));
            write_private(&file, &user)?;
            applications.insert(id.clone(), application);
        }
        let _ = self.applications.set(applications);
        Ok(())
    }

    /// What the token has: key pairs of two objects each.
    pub fn print_token(&self, as_json: bool) -> anyhow::Result<()> {
        let objects = self.token.objects()?;
        if as_json {
            out::json(&json!({ "token": { "kind": "pkcs11", "objects": objects } }))?;
        } else {
            let said = format_args!(
                "\nThe keys that sign access tokens, the hub's messages and the audit log are in a PKCS #11 token, which has {objects} objects."
            );
            out::line(said)?;
        }
        Ok(())
    }

    /// A message in the name of the payer's FSP, by curl: it asks who a party is.
    pub fn asking(&self, hub: SocketAddr, party: &str) -> Option<Asking> {
        let id = self.pki.participants.keys().next_back()?;
        let file = |name: &str| secured::file(&self.folder, name).display().to_string();
        let (certificate, key) = (file(&format!("{id}.pem")), file(&format!("{id}.key")));
        let media = "application/vnd.interoperability.parties+json;version=1";
        let tls = format!(
            "--cacert {} --cert {certificate} --key {key}",
            file("ca.pem")
        );
        let curl = format!(
            "curl -si {tls} -H \"authorization: Bearer $(curl -s {tls} -K {} \
             -d grant_type=client_credentials https://{hub}/oauth2/token | sed 's/.*\"access_token\":\"\\([^\"]*\\)\".*/\\1/')\" \
             -H 'accept: {media}' -H 'content-type: {media}.1' -H 'fspiop-source: {id}' \
             -H \"date: $(LC_ALL=C date -u '+%a, %d %b %Y %H:%M:%S GMT')\" https://{hub}/parties/{party}",
            file(&format!("{id}.application"))
        );
        Some(Asking {
            operator: OPERATOR,
            curl,
        })
    }

    /// What an FSP proves itself with, and whose signatures it verifies.
    pub fn equip(&self, settings: &mut FspSettings) {
        let id = settings.id.as_str();
        settings.tls = self.pki.fsp(id);
        let applications = self.applications.get();
        settings.application = applications.and_then(|all| all.get(id).cloned());
        settings.signing_key = self.signing.get(id).map(|pair| pair.private.clone());
        let others = self.signing.iter().filter(|(other, _)| *other != id);
        let others = others.map(|(other, pair)| (other.clone(), pair.public.clone()));
        settings.verify_keys = others.collect();
    }
}
