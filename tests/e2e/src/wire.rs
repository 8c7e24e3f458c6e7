//! A connection between a host and its database that a test can cut: nothing comes through any more, and nobody is told.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;

/// The name of PostgreSQL's socket in its folder.
const SOCKET: &str = ".s.PGSQL.5432";
/// The most bytes that pass at a time.
const PIECE: usize = 64 << 10;

/// See the module's documentation.
pub struct Wire {
    folder: tempfile::TempDir,
    is_cut: watch::Sender<bool>,
}

impl Wire {
    /// A wire to the server with this folder.
    ///
    /// # Errors
    /// When there is no place for its socket.
    pub async fn to(server: &Path) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755))?;
        let listener = UnixListener::bind(folder.path().join(SOCKET))?;
        let (is_cut, watched) = watch::channel(false);
        let server = server.join(SOCKET);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(join(client, server.clone(), watched.clone()));
            }
        });
        Ok(Self { folder, is_cut })
    }

    /// The folder that stands for the server's.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Let nothing through from now on, or let it through again: what waited comes then, as with a network that heals.
    pub fn cut(&self, is_cut: bool) {
        self.is_cut.send_replace(is_cut);
    }
}

async fn join(client: UnixStream, server: PathBuf, mut is_cut: watch::Receiver<bool>) {
    // A client of a cut wire is connected to nothing.
    if is_cut.wait_for(|is_cut| !is_cut).await.is_err() {
        return;
    }
    let Ok(server) = UnixStream::connect(server).await else {
        return;
    };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::join!(
        pass(from_client, to_server, is_cut.clone()),
        pass(from_server, to_client, is_cut),
    );
}

/// Passes what comes until the end of it. The other side sees the end, too.
async fn pass(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut is_cut: watch::Receiver<bool>,
) {
    let mut piece = vec![0; PIECE];
    loop {
        let read = from.read(&mut piece).await.unwrap_or_default();
        if is_cut.wait_for(|is_cut| !is_cut).await.is_err() || read == 0 {
            break;
        }
        if to.write_all(&piece[..read]).await.is_err() {
            break;
        }
    }
    let _ = to.shutdown().await;
}
