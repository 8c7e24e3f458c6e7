//! Where events go, and how the host signs in there.

use std::path::PathBuf;

/// A stream of NATS JetStream, and the way to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Servers of one cluster: `host:port`.
    pub servers: Vec<String>,
    /// Whether the connection must be TLS.
    pub requires_tls: bool,
    /// The stream's name.
    pub stream: String,
    /// How many copies the host asks for if it makes the stream.
    pub replicas: u32,
    /// What subjects begin with.
    pub prefix: String,
    /// How the host signs in.
    pub sign_in: SignIn,
    /// The file of the authority of the servers' certificates; the system's authorities without it.
    pub ca: Option<PathBuf>,
    /// The files of the host's certificate and its key.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

/// How the host signs in. Files are read at each connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SignIn {
    /// It does not, or by its certificate.
    #[default]
    Nobody,
    /// By a file of credentials: a JWT and the seed of its nkey.
    Credentials(PathBuf),
    /// By a file with the seed of an nkey.
    Nkey(PathBuf),
    /// By a file with a user and a password, each on its line.
    Password(PathBuf),
}

impl Settings {
    /// The subjects that the stream must have.
    #[must_use]
    pub fn subjects(&self) -> String {
        format!("{}.>", self.prefix)
    }
}
