//! A host among others of its scheme: it says of itself that it is there, opens its doors, and waits for the lease. A host
//! with a store of its own does none of it.

use std::sync::Arc;

use rialto_manifest::operator::OPERATORS;
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::addresses;
use super::foundation::Foundation;
use super::preparing::Prepared;
use crate::cluster::{ClusterCollector, ClusterThread, Clustered};
use crate::doors::{Doors, Opening};
use crate::standby;
use crate::starting::Start;

/// What a host has of its scheme's cluster, when it may serve.
pub struct Entered {
    pub clustered: Option<Arc<Clustered>>,
    pub cluster: Option<ClusterThread>,
    pub doors: Option<Doors>,
    /// Told when the listeners' files need not be followed any more.
    pub listens: watch::Sender<bool>,
}

impl Entered {
    /// Wait until this host may serve.
    ///
    /// # Errors
    /// When an address is taken, the database fails, or the host is told to stop.
    pub fn wait(
        ground: &Foundation,
        prepared: &Prepared,
        start: &Start<'_>,
        handle: &Handle,
    ) -> anyhow::Result<Self> {
        let shared = ground.opened.shared();
        let clustered = shared.map(|store| Clustered::new(store.clone(), ground.clock.clone()));
        let cluster = clustered.as_ref().map(ClusterThread::start).transpose()?;
        // A host that waits for the lease has listeners, too, and so has one that has handed over.
        let (listens, _) = watch::channel(false);
        ground.tls.follow(start.store, handle, &listens)?;
        let mut doors = None;
        if let (Some(shared), Some(clustered)) = (shared, &clustered) {
            let collector = ClusterCollector(clustered.clone());
            ground.metrics.add_collector(Box::new(collector));
            // All that needs no lease is done.
            doors = opened(ground, prepared, clustered, start, handle)?;
            let followed = (&prepared.releases, &**clustered);
            let waiting = (&*ground.tls, followed, doors.as_ref());
            standby::wait_for_lease(shared, start, waiting, handle)?;
            standby::note_the_keys(shared, start)?;
            start.has_release(&*ground.store())?;
        }
        Ok(Self {
            clustered,
            cluster,
            doors,
            listens,
        })
    }
}

/// The doors, if any host of the scheme takes requests.
fn opened(
    ground: &Foundation,
    prepared: &Prepared,
    clustered: &Arc<Clustered>,
    start: &Start<'_>,
    handle: &Handle,
) -> anyhow::Result<Option<Doors>> {
    let Some(cluster) = &start.operator.cluster else {
        return Ok(None);
    };
    let opening = Opening {
        operator: start.operator,
        tls: &ground.tls,
        clustered,
        denials: prepared.denials.clone(),
    };
    let doors = Doors::of(&opening, cluster, handle)?;
    addresses::write(start.store, doors.addresses())?;
    if let Some(address) = doors.addresses().get(OPERATORS) {
        clustered.listens_at(*address);
    }
    Ok(Some(doors))
}
