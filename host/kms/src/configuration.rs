//! What the operator says of the service: the region, the endpoint, the credentials, and how much is asked of it at
//! once.

use std::path::PathBuf;
use std::time::Duration;

use rialto_tls::BadTls;

/// Calls at once, if the operator says nothing.
pub const CALLS: usize = 16;
/// The longest wait of a call, if the operator says nothing.
pub const TIMEOUT: Duration = Duration::from_secs(5);

/// The service and how it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// The region, for example `eu-central-1`.
    pub region: String,
    /// The URL of the service. Without it, that of AWS in the region.
    pub endpoint: Option<String>,
    /// The certificates of the authority that must have certified the endpoint, PEM. Without it, the system's
    /// authorities.
    pub ca: Option<PathBuf>,
    /// Where the credentials are.
    pub credentials: CredentialsSource,
    /// Calls at once. At least 1.
    pub calls: usize,
    /// The longest wait of a call, with all its attempts.
    pub timeout: Duration,
}

/// Where the credentials are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CredentialsSource {
    /// In a file in the format of AWS's tools. It is read again when the service refuses its credentials.
    File(PathBuf),
    /// In the environment variables of AWS's tools: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, and perhaps
    /// `AWS_SESSION_TOKEN`.
    Environment,
}

/// Why a service cannot be used. The service itself may be away.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The region is none.
    #[error("`{0}` is no region: a region is written like `eu-central-1`")]
    Region(String),
    /// The endpoint is no URL of a service.
    #[error("`{url}` is no endpoint: {why}")]
    Endpoint {
        /// The URL.
        url: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The file with the credentials cannot be read.
    #[error("{path}, which has the credentials of AWS KMS, cannot be read: {source}")]
    CredentialsFile {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Others can read or replace the credentials.
    #[error(
        "{0}, which has the credentials of AWS KMS, must be a plain file that only the host’s user can access: chmod 600"
    )]
    CredentialsFileOpen(PathBuf),
    /// A variable with credentials is not set.
    #[error("the environment variable `{0}`, which has credentials of AWS KMS, is not set")]
    NoVariable(&'static str),
    /// What is in the file or the variables is no credentials.
    #[error("{place} cannot be used for AWS KMS: {why}")]
    BadCredentials {
        /// The file or the variables.
        place: String,
        /// What is wrong, without any of it.
        why: &'static str,
    },
    /// The authority's certificates cannot be used.
    #[error("the authority of AWS KMS cannot be used: {0}")]
    Authority(BadTls),
    /// The system starts no thread.
    #[error("no thread could be started for AWS KMS: {0}")]
    Thread(std::io::Error),
}
