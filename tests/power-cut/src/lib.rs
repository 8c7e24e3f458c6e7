//! A file system in memory that loses, at a power cut, what was not synced.
//!
//! A killed process leaves the system's memory; a power cut leaves only the disk. Bytes are on the disk when
//! their file was synced, and names (of created, renamed or removed files) when their directory was. Of the
//! rest, a cut leaves nothing, everything, or a random part: torn at 512 bytes or 4 KiB, and in any order.
//!
//! It is mounted by FUSE, so any program runs on it. That takes `/dev/fuse` and the right to mount.

mod disk;
mod file;
mod folder;
mod luck;
mod served;

use std::error::Error as _;
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fuser::{BackgroundSession, Config, MountOption};
use parking_lot::Mutex;
use tempfile::TempDir;

use disk::Disk;
use luck::Luck;
use served::Served;

pub use luck::Survives;

/// A disk that is mounted. Dropping it unmounts it.
pub struct PowerCut {
    disk: Arc<Mutex<Disk>>,
    session: Option<BackgroundSession>,
    folder: TempDir,
}

/// Why the file system cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PowerCutError {
    /// There is no place to mount it.
    #[error("no folder can be made to mount a file system on")]
    Folder(#[source] io::Error),
    /// The system does not mount it.
    #[error(
        "a file system cannot be mounted on {path}: that takes /dev/fuse and the right to mount (root, or CAP_SYS_ADMIN)"
    )]
    Mount {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The system does not give it back.
    #[error("{path} cannot be unmounted: has a process still a file of it open?")]
    Unmount {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl PowerCut {
    /// Mount an empty disk.
    ///
    /// # Errors
    /// When the system does not allow it.
    pub fn mount() -> Result<Self, PowerCutError> {
        let folder = tempfile::Builder::new()
            .prefix("rialto-power-cut-")
            .tempdir();
        let folder = folder.map_err(PowerCutError::Folder)?;
        let found = folder.path().metadata().map_err(PowerCutError::Folder)?;
        let disk = Arc::new(Mutex::new(Disk::new(found.uid(), found.gid())));
        let session = Some(mounted(folder.path(), &disk)?);
        Ok(Self {
            disk,
            session,
            folder,
        })
    }

    /// The mount point: a permanent directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Cuts the power after a number of further changes and syncs. Then every call returns an error of the
    /// device, and nothing reaches the disk.
    pub fn die_after(&self, operations: u64) {
        self.disk.lock().die_after(operations);
    }

    /// Whether the power has gone.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.disk.lock().is_dead()
    }

    /// How many changes and syncs there have been.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.disk.lock().taken()
    }

    /// Whether a power cut now would lose nothing.
    #[must_use]
    pub fn is_synced(&self) -> bool {
        self.disk.lock().is_synced()
    }

    /// Cut the power, if it has not gone, and bring back what is left. No process may have a file open.
    /// The same seed draws the same.
    ///
    /// # Errors
    /// When it cannot be unmounted or mounted again.
    pub fn cut(&mut self, survives: Survives, seed: u64) -> Result<(), PowerCutError> {
        self.die_after(0);
        // The system's cache has to be dropped as well.
        self.unmount()?;
        self.disk.lock().cut(&mut Luck::new(survives, seed));
        self.session = Some(mounted(self.folder.path(), &self.disk)?);
        Ok(())
    }

    fn unmount(&mut self) -> Result<(), PowerCutError> {
        let session = self.session.take();
        let unmounted = session.map_or(Ok(()), BackgroundSession::umount_and_join);
        unmounted.or_else(ended_by_unmounting).map_err(|source| {
            // A folder that is still mounted must not be emptied.
            self.folder.disable_cleanup(true);
            let path = self.folder.path().to_owned();
            PowerCutError::Unmount { path, source }
        })
    }
}

impl Drop for PowerCut {
    fn drop(&mut self) {
        if let Err(error) = self.unmount() {
            let _ = writeln!(io::stderr(), "{error}: {:?}", error.source());
        }
    }
}

/// Takes the kernel's "connection aborted" for the end that it is. A thread that reads a request at the moment
/// of unmounting is answered so by Linux, and with `ENODEV` a moment later; `fuser` knows the second alone.
/// Unmounting itself never fails with it.
fn ended_by_unmounting(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::ConnectionAborted => Ok(()),
        _ => Err(error),
    }
}

fn mounted(path: &Path, disk: &Arc<Mutex<Disk>>) -> Result<BackgroundSession, PowerCutError> {
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName("rialto-power-cut".into()),
        MountOption::DefaultPermissions,
        MountOption::NoExec,
    ];
    let mounted = fuser::spawn_mount(Served(disk.clone()), path, &config);
    mounted.map_err(|source| PowerCutError::Mount {
        path: path.to_owned(),
        source,
    })
}
