//! Copies a scheme whose host is stopped from its SQLite store to a PostgreSQL database, or back.
//!
//! The source is held meanwhile: its folder's lock or its lease keeps hosts out. The target is marked as unfinished until both
//! were read again and are the same.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use rialto_manifest::values::DatabaseUrl;
use rialto_store::{Archive, PeopleKeyStore as _, StoreLoad};
use rialto_store_copy::{Part, Source, Tell};
use rialto_store_postgres::{PostgresSnapshot, PostgresStore, Settings, is_new};
use rialto_store_sqlite::backup::{DATABASE, UNFINISHED};
use rialto_store_sqlite::{Snapshot, SqliteStore};

/// How long a database may take for a group of a copy: nobody waits for it.
const ANSWER_WITHIN: Duration = Duration::from_mins(1);

/// Where a store is.
#[derive(Clone, Debug)]
pub enum Place {
    /// An SQLite store, in a folder.
    Folder(PathBuf),
    /// A PostgreSQL database.
    Database(DatabaseUrl),
}

impl Place {
    /// A database if this is a URL, and a folder otherwise.
    ///
    /// # Errors
    /// When it is a URL of something else, or has a password. The text is not repeated.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        if !text.contains("://") {
            return Ok(Self::Folder(text.into()));
        }
        let url = text.parse::<DatabaseUrl>();
        let url = url.map_err(|why| anyhow::anyhow!("it is no URL of a database: {why}"))?;
        Ok(Self::Database(url))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => write!(f, "{}", folder.display()),
            // It has no password.
            Self::Database(url) => write!(f, "{url}"),
        }
    }
}

/// What was copied.
#[derive(Clone, Debug)]
pub struct Copied {
    /// What both stores have.
    pub parts: Vec<Part>,
    /// The archives of the source, which stay where they are.
    pub archives: Vec<Archive>,
}

/// What a copy does beyond copying.
#[derive(Clone, Copy, Debug, Default)]
pub struct CopyOptions {
    /// Copy although a part of the source is in archives, which stay where they are.
    pub without_archives: bool,
    /// Hosts may serve on the source afterwards. Otherwise it is marked as moved.
    pub keep_source: bool,
}

/// Copy a store into another one of the other kind, and compare both.
///
/// # Errors
/// When a host has the source, the target has anything, the source has what the target cannot keep, or the copy differs.
pub fn copy(
    from: &Place,
    to: &Place,
    options: CopyOptions,
    tell: &mut Tell<'_>,
) -> anyhow::Result<Copied> {
    match (from, to) {
        (Place::Folder(folder), Place::Database(url)) => to_database(folder, url, options, tell),
        (Place::Database(url), Place::Folder(folder)) => to_folder(url, folder, options, tell),
        (Place::Folder(folder), Place::Folder(_)) => bail!(
            "the source is an SQLite store too ({}): `rialto backup` and `rialto restore` copy one",
            folder.display()
        ),
        (Place::Database(url), Place::Database(_)) => bail!(
            "the source is a PostgreSQL database too ({url}, of `[store] url`): copy it with pg_dump and pg_restore, or \
             name an SQLite store as the source with --state DIR"
        ),
    }
}

fn to_database(
    folder: &Path,
    url: &DatabaseUrl,
    options: CopyOptions,
    tell: &mut Tell<'_>,
) -> anyhow::Result<Copied> {
    refuse_open(folder)?;
    let archives = Snapshot::open(folder)?.archives()?;
    ensure!(
        archives.is_empty() || options.without_archives,
        "a part of the store is in {} archives, and a database on PostgreSQL has none: with --without-archives everything \
         else is copied, and the archives stay where they are",
        archives.len()
    );
    let store = held_folder(folder).context("opening the source")?;
    ensure!(
        store.people_keys()?.is_none(),
        "records in the store are encrypted for the people whom they name, by a file of keys ([personal-data]), and a host \
         on PostgreSQL has no such file: this store stays on SQLite"
    );
    let about = || format!("--to {url}");
    ensure!(
        is_new(url.as_str()).with_context(about)?,
        "{url} has the tables of a host already, and nothing is ever overwritten: name an empty database, or drop what an \
         interrupted copy has left there (DROP SCHEMA rialto CASCADE)"
    );
    let target = PostgresStore::open(url.as_str(), settings()).with_context(about)?;
    let mut source = Source {
        store: &store,
        dump: Box::new(Snapshot::open(folder)?),
    };
    rialto_store_copy::copy(&mut source, &target, tell)?;
    let dump = PostgresSnapshot::open(url.as_str()).with_context(about)?;
    let moved = (!options.keep_source).then_some(&store as &dyn StoreLoad);
    let parts = rialto_store_copy::finish(&mut source, (&target, Box::new(dump)), moved, tell)?;
    Ok(Copied { parts, archives })
}

fn to_folder(
    url: &DatabaseUrl,
    folder: &Path,
    options: CopyOptions,
    tell: &mut Tell<'_>,
) -> anyhow::Result<Copied> {
    let about = || format!("[store] url = \"{url}\"");
    let store = held_database(url).with_context(about)?;
    for name in [DATABASE, UNFINISHED] {
        let path = folder.join(name);
        ensure!(
            !path.exists(),
            "{} is there already, and nothing is ever overwritten: name a folder without a store, or remove what an \
             interrupted copy has left there ({DATABASE}, {DATABASE}-wal and {DATABASE}-shm)",
            path.display()
        );
    }
    let target = SqliteStore::open(folder).context("opening the target")?;
    let mut source = Source {
        store: &store,
        dump: Box::new(PostgresSnapshot::open(url.as_str()).with_context(about)?),
    };
    rialto_store_copy::copy(&mut source, &target, tell)?;
    let dump = Snapshot::open(folder)?;
    let moved = (!options.keep_source).then_some(&store as &dyn StoreLoad);
    let parts = rialto_store_copy::finish(&mut source, (&target, Box::new(dump)), moved, tell)?;
    Ok(Copied {
        parts,
        archives: Vec::new(),
    })
}

/// Have hosts serve again on a store that was marked as moved. Returns whether it was.
///
/// # Errors
/// When a host has the store, or it cannot be read or written.
pub fn take_back(place: &Place) -> anyhow::Result<bool> {
    match place {
        Place::Folder(folder) => {
            refuse_open(folder)?;
            // A folder without a store stays as it is.
            drop(Snapshot::open(folder)?);
            Ok(held_folder(folder)?.take_back()?)
        }
        Place::Database(url) => {
            let store = held_database(url).with_context(|| format!("[store] url = \"{url}\""))?;
            Ok(store.take_back()?)
        }
    }
}

fn refuse_open(folder: &Path) -> anyhow::Result<()> {
    let shown = folder.display();
    let is_open = rialto_store_sqlite::is_open(folder);
    ensure!(
        !is_open.with_context(|| format!("looking at {shown}"))?,
        "{shown} is in use by a host: stop the host first"
    );
    Ok(())
}

/// The store in a folder, on which no host can serve while this value exists.
fn held_folder(folder: &Path) -> anyhow::Result<SqliteStore> {
    let store = SqliteStore::open(folder)?;
    store.hold()?;
    Ok(store)
}

/// The same for a database.
fn held_database(url: &DatabaseUrl) -> anyhow::Result<PostgresStore> {
    // A database without a scheme stays as it is.
    drop(PostgresSnapshot::open(url.as_str())?);
    let store = PostgresStore::open(url.as_str(), settings())?;
    store.hold()?;
    Ok(store)
}

fn settings() -> Settings {
    Settings {
        answer_within: ANSWER_WITHIN,
        ..Settings::default()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    #[test]
    fn a_place_is_a_folder_or_a_database_without_a_password() {
        let place = |text| Place::parse(text).unwrap();
        assert!(matches!(place("some/folder"), Place::Folder(_)));
        assert!(matches!(place("postgres:///a"), Place::Database(_)));
        for wrong in ["mysql://a/b", "postgres://user:secret@place/a"] {
            let refused = format!("{:#}", Place::parse(wrong).unwrap_err());
            assert!(!refused.contains("secret"), "{refused}");
        }
    }

    #[test]
    fn stores_of_one_kind_are_not_copied() {
        let folder = Place::parse("nowhere").unwrap();
        let database = Place::parse("postgres:///nowhere").unwrap();
        for (place, words) in [(folder, "rialto backup"), (database, "pg_dump")] {
            let refused = copy(&place, &place, CopyOptions::default(), &mut |_, _| ()).unwrap_err();
            assert!(refused.to_string().contains(words), "{refused}");
        }
    }
}
