//! What components may know of the host's TLS. The host implements it.

use std::fmt;

/// A file that is in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFile {
    /// Its use: `listener fsps`, `outbound`.
    pub place: String,
    /// `certificate`, `authority`, `authority-of-one` or `revocations`.
    pub kind: &'static str,
    /// When it expires: UTC, milliseconds since 1970. None if it does not.
    pub expires_at: Option<u64>,
}

/// What became of a place's files when they were read again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsReading {
    /// Their use.
    pub place: String,
    /// Whether they are in use now.
    pub is_usable: bool,
}

/// The TLS files of a host.
pub trait TlsFiles: fmt::Debug + Send + Sync {
    /// Those in use.
    fn files(&self) -> Vec<TlsFile>;

    /// Read all of them again. Those that cannot be used leave the ones before in use.
    fn read_again(&self) -> Vec<TlsReading>;
}

/// A host without TLS.
#[derive(Clone, Copy, Debug)]
pub struct NoTls;

impl TlsFiles for NoTls {
    fn files(&self) -> Vec<TlsFile> {
        Vec::new()
    }

    fn read_again(&self) -> Vec<TlsReading> {
        Vec::new()
    }
}
