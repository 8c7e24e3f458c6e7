//! The operator's keys. They are read at the start; the folder of keys is read again regularly while the host
//! runs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use rialto_manifest::Operator;
use rialto_signatures::folder::Change;
use rialto_signatures::{KeyFolder, Keyring, PrivateKey};
use rialto_store_sqlite::Outcome;
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::audit::{Audit, AuditedAction};
use crate::host::Shared;

/// The time between two looks at the folder. Only changed files are read.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Permissions of the group and of all others.
const OTHERS: u32 = 0o077;

/// The keys of `rialto.toml`.
pub struct OperatorKeys {
    /// The keyring that components use.
    pub ring: Arc<Keyring>,
    folder: Option<KeyFolder>,
}

impl OperatorKeys {
    /// Read the keys of an operator's document in a scheme's folder.
    ///
    /// # Errors
    /// When a file cannot be used, or other users can read the private key. A broken file is an error, because its owner
    /// would otherwise count as a participant without a key.
    pub fn read(operator: &Operator, scheme: &Path) -> anyhow::Result<Self> {
        let keys = &operator.signatures;
        let ring = Arc::new(Keyring::default());
        if let Some(path) = &keys.hub_key {
            let key = private(&path.from_folder(scheme));
            ring.set_own(key.context("`hub-key` in [signatures] of rialto.toml")?);
        }
        let folder = keys.keys.as_ref().map(|path| {
            let path = path.from_folder(scheme);
            KeyFolder::open(&path)
                .with_context(|| format!("reading the keys in {}", path.display()))
                .context("`keys` in [signatures] of rialto.toml")
        });
        let folder = folder.transpose()?;
        if let Some(folder) = &folder {
            ring.set_public(folder.keys());
        }
        Ok(Self { ring, folder })
    }

    /// Look at the folder regularly until told to stop. The audit log tells of each change.
    pub fn watch(self, shared: Arc<Shared>, handle: &Handle, mut stop: watch::Receiver<bool>) {
        let Self { ring, folder } = self;
        let Some(mut folder) = folder else {
            return;
        };
        handle.spawn(async move {
            let mut due = tokio::time::interval(LOOK_EVERY);
            due.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    _ = due.tick() => {}
                    _ = stop.changed() => return,
                }
                let (shared, ring) = (shared.clone(), ring.clone());
                let looking = tokio::task::spawn_blocking(move || {
                    let changes = folder.look();
                    if !changes.is_empty() {
                        take(&ring, &folder, &changes, &shared.audit);
                    }
                    folder
                });
                let Ok(looked) = looking.await else {
                    tracing::error!("keys: the host no longer watches the folder of keys, because reading it failed; restart the host");
                    return;
                };
                folder = looked;
            }
        });
    }
}

fn take(ring: &Keyring, folder: &KeyFolder, changes: &[Change], audit: &Audit) {
    write(audit, changes);
    for change in changes {
        match change {
            Change::Taken { .. } => tracing::info!("keys: {change}"),
            Change::Gone { .. } => tracing::warn!(
                "keys: {change}; unless the release has a key for it, messages that it must sign are refused from now on"
            ),
            Change::Broken { .. } => {
                tracing::error!("keys: {change}; the previous keys stay in use");
            }
        }
    }
    ring.set_public(folder.keys());
}

/// Write the entries of changes. They are on disk before the changes hold.
fn write(audit: &Audit, changes: &[Change]) {
    let told: Vec<(String, Outcome)> = changes.iter().map(told).collect();
    let entries = told.iter().map(|(about, outcome)| {
        let audited = AuditedAction::new("signer-keys", about);
        (audited, outcome.clone())
    });
    audit.of_host(entries.collect());
}

/// What an entry is about, and its outcome.
fn told(change: &Change) -> (String, Outcome) {
    match change {
        Change::Taken { signer, sha256, .. } => {
            let what = format!("{change}: a file with SHA-256 {sha256}");
            (format!("signer:{signer}"), Outcome::Done(what))
        }
        Change::Gone { signer } => (
            format!("signer:{signer}"),
            Outcome::Done(change.to_string()),
        ),
        Change::Broken { path, .. } => (
            path.display().to_string(),
            Outcome::Refused(format!("{change}; the previous keys stay in use")),
        ),
    }
}

/// The private key in a file, which only this user may read.
fn private(path: &Path) -> anyhow::Result<PrivateKey> {
    let shown = path.display();
    let found = match fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            bail!("there is no file {shown}: put the key there, or leave the setting out")
        }
        found => found.with_context(|| format!("reading the key {shown}"))?,
    };
    let mode = found.permissions().mode() & 0o777;
    if mode & OTHERS != 0 {
        bail!(
            "the private key {shown} is open to others (mode {mode:o}); `chmod 600 {shown}`, and think of a new key if others have been there"
        );
    }
    let text = fs::read_to_string(path).with_context(|| format!("reading the key {shown}"))?;
    PrivateKey::of_pem(&text).with_context(|| format!("the private key {shown} cannot be used"))
}
