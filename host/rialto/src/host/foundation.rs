//! The first things of a host: what it reads and opens before it has components.

use std::sync::Arc;

use anyhow::Context as _;
use rialto_engine::time::{SystemClock, SystemEntropy};
use rialto_engine::{Clock, Entropy};
use rialto_keys::Keys;
use rialto_store::HostStore;
use rialto_store_sqlite::SqliteStore;
use rialto_telemetry::{Lines, Metrics, Spans};

use super::addresses;
use crate::audit_key::AuditKey;
use crate::exporting::Exported;
use crate::opened::Opened;
use crate::signatures::OperatorKeys;
use crate::standby;
use crate::starting::Start;
use crate::tls::HostTls;

/// What all parts of a host stand on.
pub struct Foundation {
    pub metrics: Arc<Metrics>,
    /// Log lines for the component that keeps them.
    pub lines: Lines,
    /// What goes to the collector, if there is one.
    pub exported: Option<Exported>,
    /// The keys of FSPs.
    pub keys: OperatorKeys,
    /// The store, with the lock of the folder.
    pub opened: Opened,
    /// The providers of the host's keys.
    pub providers: Arc<Keys>,
    pub tls: Arc<HostTls>,
    /// The key that signs the audit log, if there is one.
    pub audit_key: Option<AuditKey>,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
}

impl Foundation {
    /// Read and open all of it.
    ///
    /// # Errors
    /// When another host has the store, a file cannot be read, or there is no release to start.
    pub fn lay(start: &Start<'_>) -> anyhow::Result<Self> {
        let (operator, folder) = (start.operator, start.store);
        let metrics = Arc::new(Metrics::default());
        let lines = Lines::new(&metrics);
        start.log.deliver(lines.clone());
        let exported = operator.telemetry.as_ref().map(|wanted| {
            let hides_people = operator.personal_data.is_some();
            Exported::new(wanted, &metrics, &start.log, hides_people)
        });
        start.look()?;
        let keys = OperatorKeys::read(operator, start.scheme)?;
        let opened = Opened::open(start)?;
        // Behind the lock of the folder, no other host makes a key here now. In a database another host may have made them.
        if let Some(shared) = opened.shared() {
            standby::has_the_keys(shared, start)?;
        }
        let providers = crate::keys::open(operator, start.scheme)?;
        let tls = HostTls::read(operator, start.scheme, &providers)?;
        if let Some(embedded) = opened.embedded() {
            start.has_release(&**embedded)?;
            warn_of_restored(embedded)?;
        }
        // A host that was killed has left its file of addresses.
        addresses::forget(folder)?;
        let audit_key = AuditKey::open(operator, start.scheme, &providers)?;
        Ok(Self {
            metrics,
            lines,
            exported,
            keys,
            opened,
            providers,
            tls,
            audit_key,
            clock: Arc::new(SystemClock::default()),
            entropy: Arc::new(SystemEntropy),
        })
    }

    /// The store.
    pub fn store(&self) -> Arc<dyn HostStore> {
        self.opened.store()
    }

    /// Spans, if they are exported.
    pub fn spans(&self) -> Option<Spans> {
        let exported = self.exported.as_ref();
        exported.map(|exported| exported.spans.clone())
    }
}

/// Warn at the first start of a restored store.
fn warn_of_restored(store: &SqliteStore) -> anyhow::Result<()> {
    let restored = store.just_restored().context("reading the store")?;
    if let Some(from) = restored {
        tracing::warn!(
            taken = %from.taken,
            turn = from.lsn,
            "this store was restored from a backup; it lacks what was acknowledged after the backup, and requests that were pending then are sent again"
        );
    }
    Ok(())
}
