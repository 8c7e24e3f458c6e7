//! The watermark of free disk space. Below it, requests that begin something are refused, so that payments under
//! way can end before the disk is full. The size of the store is measured at the same time.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rialto_manifest::values::Size;
use rialto_store_sqlite::SqliteStore;
use rialto_store_sqlite::retention::Sizes;
use tokio::runtime::Handle;
use tokio::sync::watch;

/// The time between two measurements.
const LOOK: Duration = Duration::from_secs(1);
/// Requests are accepted again when the free space exceeds the watermark by this fraction of it (hysteresis).
const MARGIN: u64 = 16;

/// The last measurements.
#[derive(Debug)]
pub struct Disk {
    free_min: u64,
    free: AtomicU64,
    /// Whether requests that begin something are refused. The listeners read it.
    is_low: Arc<AtomicBool>,
    /// The last measured size of the store.
    sizes: Mutex<Sizes>,
}

impl Disk {
    /// A watermark. Before the first measurement the space counts as sufficient.
    #[must_use]
    pub fn new(free_min: Size) -> Self {
        Self {
            free_min: free_min.bytes(),
            free: AtomicU64::new(u64::MAX),
            is_low: Arc::new(AtomicBool::new(false)),
            sizes: Mutex::default(),
        }
    }

    /// Note a measurement of the free bytes.
    pub fn saw(&self, free: u64) {
        self.free.store(free, Ordering::Relaxed);
        let was_low = self.is_low.load(Ordering::Relaxed);
        let enough = if was_low {
            self.free_min.saturating_add(self.free_min / MARGIN)
        } else {
            self.free_min
        };
        let is_low = free < enough;
        if is_low != was_low {
            self.is_low.store(is_low, Ordering::Relaxed);
            let (free, free_min) = (readable(free), readable(self.free_min));
            if is_low {
                tracing::error!(%free, %free_min, "disk space is low: the host refuses requests that begin something new, until some space is freed");
            } else {
                tracing::info!(%free, %free_min, "there is enough disk space again; the host accepts all requests");
            }
        }
    }

    /// How large the store was when it was last looked.
    #[must_use]
    pub fn sizes(&self) -> Sizes {
        self.sizes.lock().clone()
    }

    /// Measure the folder's disk and the store, if it is embedded. Free pages in the database count as free space, because they are used
    /// before the file grows.
    fn look(&self, folder: &Path, store: Option<&SqliteStore>) -> std::io::Result<()> {
        let of = rustix::fs::statvfs(folder)?;
        let on_disk = of.f_bavail.saturating_mul(of.f_frsize);
        let sizes = store.map(|store| store.sizes().map_err(std::io::Error::other));
        let sizes = sizes.transpose()?.unwrap_or_default();
        let free = on_disk.saturating_add(sizes.database.1);
        *self.sizes.lock() = sizes;
        self.saw(free);
        Ok(())
    }

    /// The last measured free bytes; none before the first measurement.
    #[must_use]
    pub fn free(&self) -> Option<u64> {
        Some(self.free.load(Ordering::Relaxed)).filter(|free| *free != u64::MAX)
    }

    /// The flag that requests which begin something are refused.
    #[must_use]
    pub fn low(&self) -> Arc<AtomicBool> {
        self.is_low.clone()
    }

    /// Why requests are refused, if they are.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        if !self.is_low.load(Ordering::Relaxed) {
            return None;
        }
        let free = readable(self.free().unwrap_or_default());
        let least = readable(self.free_min);
        Some(format!(
            "disk space is low: {free} are free, `[store] free-min` is {least}; requests that begin something are refused, what has begun goes on"
        ))
    }
}

/// Measure once, then regularly until the host stops.
///
/// # Errors
/// When the first measurement fails.
pub fn watch(
    disk: &Arc<Disk>,
    (folder, store): (&Path, Option<&Arc<SqliteStore>>),
    handle: &Handle,
    mut stop: watch::Receiver<bool>,
) -> std::io::Result<()> {
    disk.look(folder, store.map(|store| &**store))?;
    let (disk, folder, store) = (disk.clone(), folder.to_owned(), store.cloned());
    handle.spawn(async move {
        loop {
            tokio::select! {
                _ = stop.wait_for(|stopped| *stopped) => return,
                () = tokio::time::sleep(LOOK) => {}
            }
            let (disk, folder, store) = (disk.clone(), folder.clone(), store.clone());
            // A network file system may block.
            let looking = tokio::task::spawn_blocking(move || disk.look(&folder, store.as_deref()));
            match looking.await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::warn!(%error, "the free disk space could not be read"),
                Err(_) => return,
            }
        }
    });
    Ok(())
}

/// Bytes for people.
fn readable(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_refused_until_above_watermark_and_margin() {
        let disk = Disk::new(Size::from_mib(160));
        let mib = |mib: u64| mib << 20;
        assert_eq!((disk.free(), disk.problem()), (None, None));
        for (free, is_low) in [
            (160, false),
            (159, true),
            (160, true),
            (169, true),
            (170, false),
        ] {
            disk.saw(mib(free));
            assert_eq!(disk.problem().is_some(), is_low, "{free} MiB");
            assert_eq!(disk.low().load(Ordering::Relaxed), is_low);
        }
        disk.saw(mib(16));
        let problem = disk.problem().unwrap_or_default();
        assert!(
            problem.contains("16 MiB are free, `[store] free-min` is 160 MiB"),
            "{problem}"
        );
    }

    #[test]
    fn a_watermark_of_nothing_refuses_nobody() {
        let disk = Disk::new(Size::from_mib(0));
        disk.saw(0);
        assert_eq!(disk.problem(), None);
    }
}
