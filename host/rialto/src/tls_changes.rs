//! Entries of the audit log about files of TLS that were read again: the changed ones with the SHA-256 of the bytes that are in
//! use now, or why new ones were refused. Private keys have no digest there.
//!
//! Whoever reads the files again must not wait for the disk, so the entries are written by a task, in the order of the readings.

use std::sync::{Arc, OnceLock};

use data_encoding::HEXLOWER;
use rialto_store_sqlite::Outcome;
use rialto_tls::{BadTls, ChangedFile};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::watch;

use crate::audit::AuditedAction;
use crate::host::Shared;

/// Files in one entry: their digests have room in its text.
const FILES_MAX: usize = 8;

/// Entries that wait: each is a few milliseconds' work, and the files are looked at twice a second.
const WAITING_MAX: usize = 1_024;
const NO_ENTRY: &str = "the audit log has no entry of changed files of TLS: too many wait, or one cannot be written, or the host ends";

/// An entry to be written.
struct Told {
    place: String,
    outcome: Outcome,
}

/// Where readings are told.
#[derive(Default)]
pub(crate) struct TlsChanges {
    sender: OnceLock<Sender<Told>>,
}

impl TlsChanges {
    /// Write entries until told to stop, and those that were told before.
    pub fn follow(&self, shared: Arc<Shared>, handle: &Handle, stop: watch::Receiver<bool>) {
        let (sender, told) = mpsc::channel(WAITING_MAX);
        let _ = self.sender.set(sender);
        handle.spawn(write_all(shared, told, stop));
    }

    /// Tell what came of reading the files of a place again. Files that are the same as before have no entry.
    pub fn tell(&self, place: &str, reading: &Result<Vec<ChangedFile>, BadTls>) {
        let outcomes = match reading {
            Ok(changed) => {
                let changed = changed.chunks(FILES_MAX);
                changed.map(|some| Outcome::Done(described(some))).collect()
            }
            Err(error) => {
                let why = format!("the previous files stay in use: {error}");
                vec![Outcome::Refused(why)]
            }
        };
        let Some(sender) = self.sender.get() else {
            return;
        };
        for outcome in outcomes {
            let place = place.to_owned();
            if sender.try_send(Told { place, outcome }).is_err() {
                tracing::error!("{NO_ENTRY}");
            }
        }
    }
}

fn described(changed: &[ChangedFile]) -> String {
    let file = |file: &ChangedFile| {
        let digest = HEXLOWER.encode(&file.sha256);
        format!("{} with SHA-256 {digest}", file.path.display())
    };
    let files: Vec<String> = changed.iter().map(file).collect();
    files.join(", ")
}

async fn write_all(shared: Arc<Shared>, mut told: Receiver<Told>, mut stop: watch::Receiver<bool>) {
    loop {
        let next = tokio::select! {
            biased;
            next = told.recv() => next,
            _ = stop.wait_for(|stop| *stop) => None,
        };
        let Some(Told { place, outcome }) = next else {
            return;
        };
        let shared = shared.clone();
        let writing = tokio::task::spawn_blocking(move || {
            let audited = AuditedAction::new("tls-files", &place);
            shared.audit.of_host(vec![(audited, outcome)]);
        });
        if writing.await.is_err() {
            tracing::error!("{NO_ENTRY}");
        }
    }
}
