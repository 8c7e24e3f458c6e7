//! The start of a host: the checks before anything is compiled or stored, and the release that serves first. That
//! is the store's current release, or the folder's scheme if the store has none.

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, bail};
use rialto_manifest::{Diagnostics, Manifest, Operator, SchemeDocument};
use rialto_store::{HostStore, Outcome};
use rialto_telemetry::LogTap;

use crate::audit::{Actor, AuditedAction};
use crate::host::Shared;
use crate::releases::{Applied, ChangeRequest, Dates, Refused};
use crate::scheduling;
use crate::tls;

/// The version, for the log lines of start and stop.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Bytes that must be free for any start: for the database's log and the first groups.
const FREE_MIN: u64 = 16 << 20;
/// Bytes that a first start writes for each byte of a component: the component, its native code, and the
/// database's log.
const FIRST_START_FACTOR: u64 = 8;

/// The inputs of a start.
pub struct Start<'a> {
    /// The scheme's folder.
    pub scheme: &'a Path,
    /// The operator's document in it.
    pub operator: &'a Operator,
    /// The folder's scheme, or its problems. With problems, the store must have a release.
    pub manifest: Result<&'a Manifest, &'a Diagnostics>,
    /// The store's folder.
    pub store: &'a Path,
    /// The flag that stops the host before it is ready.
    pub stopping: Arc<AtomicBool>,
    /// The tap on the log, by which lines reach a component and the collector.
    pub log: LogTap,
}

/// The error of a start that was told to stop.
#[derive(Debug, thiserror::Error)]
#[error("the host was told to stop before it was ready")]
pub struct StartStopped;

impl<'a> Start<'a> {
    /// The inputs for a scheme without problems, with a flag that is never set, and without a tap on the log.
    #[must_use]
    pub fn of(manifest: &'a Manifest, store: &'a Path) -> Self {
        Self {
            scheme: manifest.folder(),
            operator: manifest.operator(),
            manifest: Ok(manifest),
            store,
            stopping: Arc::default(),
            log: LogTap::default(),
        }
    }

    /// Fail if the host was told to stop.
    pub(crate) fn goes_on(&self) -> anyhow::Result<()> {
        if self.stopping.load(Ordering::Relaxed) {
            return Err(StartStopped.into());
        }
        Ok(())
    }

    /// Log the start, and check before anything is compiled or stored: another host, folders that cannot be written,
    /// a full disk, addresses that are taken, TLS.
    pub(crate) fn look(&self) -> anyhow::Result<()> {
        self.goes_on()?;
        let (scheme, store) = (self.scheme.display(), self.store.display());
        tracing::info!(version = VERSION, %scheme, %store, "the host starts");
        let is_open = rialto_store_sqlite::is_open(self.store);
        if is_open.with_context(|| format!("looking at {store}"))? {
            bail!("{store} is in use by another host; stop that one first");
        }
        addresses_are_free(self.operator)?;
        tls::look(self.operator, self.scheme)?;
        rialto_files::folder(self.store).context("the store's folder")?;
        let archives = self.operator.archives_path(self.scheme, self.store);
        if archives.exists() {
            rialto_files::folder(&archives).context("the folder of archives")?;
        }
        // An existing store may have no release yet. That is known when it is open.
        let is_there = self.store.join("rialto.db").exists();
        has_room(self.store, self.room(!is_there))
    }

    /// The bytes that this start writes at most, roughly. The first start stores and compiles all components.
    fn room(&self, is_first: bool) -> u64 {
        let components = self.manifest.map_or(&[][..], Manifest::components).iter();
        let bytes: u64 = components.map(|c| c.bytes.len() as u64).sum();
        FREE_MIN
            + if is_first {
                bytes * FIRST_START_FACTOR
            } else {
                0
            }
    }

    /// The result of resuming the store's release. If that release no longer fits, for example because of other
    /// origins in `rialto.toml`, adds the problems of the folder.
    pub(crate) fn resumed(
        &self,
        resumed: Result<Option<u64>, Refused>,
    ) -> anyhow::Result<Option<u64>> {
        match (resumed, self.manifest) {
            (Err(Refused::Unfit(_)), Err(problems)) => Err(problems.clone().into()),
            (resumed, _) => Ok(resumed?),
        }
    }

    /// Check that there is a release to start: the folder's, or the store's current or activating one. A store
    /// without a release is of an unfinished first start. Then this start stores and compiles the components, and
    /// needs the disk space for that. An activating release has stored its components already.
    pub(crate) fn has_release(&self, store: &dyn HostStore) -> anyhow::Result<()> {
        let found = Found::of(store).context("reading which release is current")?;
        match (found, self.manifest) {
            (Found::Nothing, Err(problems)) => Err(problems.clone().into()),
            (Found::Nothing, Ok(_)) => has_room(self.store, self.room(true)),
            (Found::Begun, _) => has_room(self.store, self.room(false)),
            (Found::Current, _) => Ok(()),
        }
    }

    /// Finish an interrupted activation. A store without a release takes the folder's scheme. A store with a release
    /// keeps it, whatever the folder has.
    pub(crate) fn release(&self, shared: &Shared, resumed: Option<u64>) -> anyhow::Result<()> {
        if let Ok(manifest) = self.manifest {
            keep_components(shared, manifest)?;
        }
        let finished = shared.releases.finish(&shared.engine)?;
        match (finished.or(resumed), self.manifest) {
            (None, Ok(manifest)) => apply(shared, manifest)?,
            // The interrupted activation had to be given up.
            (None, Err(problems)) => return Err(problems.clone().into()),
            (Some(number), manifest) => {
                tracing::info!(
                    version = VERSION,
                    release = number,
                    "the host continues with this release"
                );
                match manifest {
                    Ok(manifest) => warn_of_difference(shared, number, manifest),
                    Err(problems) => self.warn_of_broken(number, problems),
                }
            }
        }
        let brought = shared.releases.bring_due(&shared.engine);
        scheduling::audit(shared, &brought);
        self.warn_of_sandbox(shared);
        Ok(())
    }

    /// Warn about open listeners of the release that serves, or of the folder's scheme while none serves.
    fn warn_of_sandbox(&self, shared: &Shared) {
        let current = shared.releases.current().map(|(_, document)| document);
        let document = current.or_else(|| Some(self.manifest.ok()?.document().clone()));
        if let Some(Ok(scheme)) = document.as_ref().map(SchemeDocument::scheme)
            && let Some(sandbox) = scheme.authentication.sandbox()
        {
            tracing::warn!(scheme = %scheme.name, "{sandbox}");
        }
    }

    fn warn_of_broken(&self, number: u64, problems: &Diagnostics) {
        let count = problems.problems().len();
        let first = problems.problems().first();
        let first = first.map(|problem| format!("{}: {problem}", problem.position()));
        let first = first.unwrap_or_default();
        let folder = self.scheme.display();
        tracing::warn!(
            release = number,
            problems = count,
            first,
            "the folder cannot be used as it is; the stored release serves. `rialto check {folder}` shows what is wrong"
        );
    }
}

/// The releases that a store has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// None: the first start has created only the store.
    Nothing,
    /// None is current, and one was activating.
    Begun,
    /// One is current.
    Current,
}

impl Found {
    fn of(store: &dyn HostStore) -> Result<Self, rialto_engine::store::StoreError> {
        Ok(
            match (store.current_release()?, store.activating_release()?) {
                (0, 0) => Self::Nothing,
                (0, _) => Self::Begun,
                _ => Self::Current,
            },
        )
    }
}

fn keep_components(shared: &Shared, manifest: &Manifest) -> anyhow::Result<()> {
    for component in manifest.components() {
        let digest = component.digest.to_string();
        let kept = shared.store.add_component(&digest, &component.bytes);
        kept.with_context(|| format!("storing the component {}", component.name))?;
    }
    Ok(())
}

/// Make the folder's scheme the first release.
fn apply(shared: &Shared, manifest: &Manifest) -> anyhow::Result<()> {
    let note = "first release, from the scheme's folder";
    let (who, document) = (Actor::started(), manifest.document().clone());
    let digest = document.digest().to_string();
    let request = ChangeRequest {
        who: &who,
        note,
        expected: None,
        dates: Dates::default(),
    };
    let outcome = |applied: &Result<Applied, Refused>| match applied {
        Ok(applied) => Outcome::Done(applied.told()),
        Err(refused) => Outcome::Refused(refused.to_string()),
    };
    let audited = AuditedAction::new("release-apply", &digest).because(note);
    let apply = || shared.releases.apply(&shared.engine, &request, document);
    shared.audit.keep(&who, &audited, outcome, apply)?;
    Ok(())
}

fn warn_of_difference(shared: &Shared, number: u64, manifest: &Manifest) {
    let current = shared.releases.current();
    let digest = manifest.digest();
    if current.is_some_and(|(_, now)| now.digest() != digest) {
        tracing::warn!(
            release = number,
            "the folder differs from the release that serves; `rialto release plan {0}` shows how, `rialto release apply {0}` makes it current",
            manifest.folder().display()
        );
    }
}

/// Check that each listener can bind its address. All are bound at once, so that none is listed twice.
fn addresses_are_free(operator: &Operator) -> anyhow::Result<()> {
    let mut held = Vec::new();
    for (name, listener) in &operator.listeners {
        let address = listener.address.socket();
        let bound = TcpListener::bind(address);
        held.push(bound.with_context(|| format!("listening on {address} for `{name}`"))?);
    }
    Ok(())
}

/// Check that this many bytes are free on the folder's disk.
fn has_room(folder: &Path, needed: u64) -> anyhow::Result<()> {
    let seen = rustix::fs::statvfs(folder);
    let seen =
        seen.with_context(|| format!("looking at the free space of {}", folder.display()))?;
    let free = seen.f_bavail.saturating_mul(seen.f_frsize);
    if free < needed {
        let mib = |bytes: u64| bytes.div_ceil(1 << 20);
        bail!(
            "the disk of {} is full: {} MiB are free, and this start needs {} MiB",
            folder.display(),
            free >> 20,
            mib(needed)
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use rialto_store_sqlite::SqliteStore;

    use super::*;

    fn operator(fsps: u16, operators: u16) -> Operator {
        let text = format!(
            "[listeners.operators]\naddress = \"127.0.0.1:{operators}\"\n[listeners.fsps]\naddress = \"127.0.0.1:{fsps}\"\n"
        );
        Operator::parse(&text).unwrap()
    }

    #[test]
    fn an_address_that_is_taken_is_named_with_its_listener() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        let refused = addresses_are_free(&operator(port, 0)).unwrap_err();
        let words = format!("listening on 127.0.0.1:{port} for `fsps`");
        assert!(format!("{refused:#}").contains(&words), "{refused:#}");
        drop(taken);
        addresses_are_free(&operator(port, 0)).unwrap();
        // They are released.
        addresses_are_free(&operator(port, 0)).unwrap();
    }

    #[test]
    fn a_disk_without_the_room_that_is_needed_is_full() {
        let folder = rialto_files::temporary_folder().unwrap();
        has_room(folder.path(), 0).unwrap();
        let refused = has_room(folder.path(), u64::MAX).unwrap_err().to_string();
        assert!(refused.contains("is full: "), "{refused}");
        assert!(refused.contains("this start needs "), "{refused}");
    }

    #[test]
    fn a_store_of_an_unfinished_first_start_has_no_release() {
        let folder = rialto_files::temporary_folder().unwrap();
        let store = SqliteStore::open(folder.path()).unwrap();
        assert_eq!(Found::of(&store).unwrap(), Found::Nothing);
        // As at a start without a store: what is wrong with the folder keeps it from starting.
        let (operator, problems) = (operator(0, 0), Diagnostics::default());
        let start = Start {
            scheme: folder.path(),
            operator: &operator,
            manifest: Err(&problems),
            store: folder.path(),
            stopping: Arc::default(),
            log: LogTap::default(),
        };
        let refused = start.has_release(&store).unwrap_err();
        assert!(refused.is::<Diagnostics>(), "{refused:#}");
    }

    #[test]
    fn whoever_is_told_to_stop_does_not_go_on() {
        let (operator, folder) = (operator(0, 0), Path::new("nowhere"));
        let problems = Diagnostics::default();
        let start = Start {
            scheme: folder,
            operator: &operator,
            manifest: Err(&problems),
            store: folder,
            stopping: Arc::default(),
            log: LogTap::default(),
        };
        start.goes_on().unwrap();
        start.stopping.store(true, Ordering::Relaxed);
        let told = start.goes_on().unwrap_err();
        assert!(told.is::<StartStopped>());
    }
}
