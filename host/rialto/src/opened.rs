//! Opens the store that `rialto.toml` names: the SQLite database of the host's folder, or a PostgreSQL database.
//!
//! Both kinds of host lock their folder, which has more than the store: compiled components, tokens and addresses.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use rialto_manifest::values::DatabaseUrl;
use rialto_store::HostStore;
use rialto_store_postgres::{PostgresStore, Settings};
use rialto_store_sqlite::SqliteStore;

use crate::starting::Start;

/// The store of a host.
pub(crate) enum Opened {
    /// In the host's folder. It alone has archives, backups and a size.
    Embedded(Arc<SqliteStore>),
    /// Of several hosts, of which one writes, and the lock of the folder.
    Shared {
        /// The store.
        store: Arc<PostgresStore>,
        _lock: File,
    },
}

impl Opened {
    /// Open the store. It is not recovered.
    ///
    /// # Errors
    /// When it cannot be used, or its folder is in use.
    pub fn open(start: &Start<'_>) -> anyhow::Result<Self> {
        let Some(url) = &start.operator.store.url else {
            let store = SqliteStore::open(start.store).context("opening the store")?;
            return Ok(Self::Embedded(Arc::new(store)));
        };
        refuse_two_stores(start.store)?;
        let lock = rialto_store_sqlite::lock(start.store).context("the host's folder")?;
        let manifest = start.manifest.ok();
        let settings = Settings {
            scheme: manifest.map(|manifest| manifest.scheme().name.to_string()),
            synchronous_standby: start.operator.store.synchronous_standby,
            ..Settings::default()
        };
        let store = open_shared(url, settings)?;
        Ok(Self::Shared {
            store: Arc::new(store),
            _lock: lock,
        })
    }

    /// The store.
    pub fn store(&self) -> Arc<dyn HostStore> {
        match self {
            Self::Embedded(store) => store.clone(),
            Self::Shared { store, .. } => store.clone(),
        }
    }

    /// The embedded store, if it is one.
    pub fn embedded(&self) -> Option<&Arc<SqliteStore>> {
        match self {
            Self::Embedded(store) => Some(store),
            Self::Shared { .. } => None,
        }
    }

    /// The shared store, if it is one.
    pub fn shared(&self) -> Option<&Arc<PostgresStore>> {
        match self {
            Self::Embedded(_) => None,
            Self::Shared { store, .. } => Some(store),
        }
    }
}

/// Open a database on PostgreSQL.
///
/// # Errors
/// When it cannot be used, with its URL, which has no password.
fn open_shared(url: &DatabaseUrl, settings: Settings) -> anyhow::Result<PostgresStore> {
    PostgresStore::open(url.as_str(), settings).with_context(|| format!("[store] url = \"{url}\""))
}

/// Refuse a folder with a store of its own: its scheme would stop here, and begin anew in the database.
fn refuse_two_stores(folder: &Path) -> anyhow::Result<()> {
    let database = folder.join(rialto_store_sqlite::backup::DATABASE);
    anyhow::ensure!(
        !database.exists(),
        "{} is the store of a scheme that ran without `[store] url`: take `url` out to go on with it; or copy it with `rialto \
         store copy`, if it was not, and move it away; or give the host on PostgreSQL another folder with `[store] path`",
        database.display()
    );
    Ok(())
}
