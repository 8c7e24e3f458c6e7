//! TLS by the operator's files: of listeners and of outbound requests. Files are read again when they change, so that
//! certificates are renewed and revoked while the host runs.
//!
//! | To see | Read |
//! |---|---|
//! | which files there are, and why they are refused | [`files`] |
//! | how a listener does TLS | [`listener`] |
//! | whom a client certificate proves, and until when | [`client_certificate`], `authorities.rs` |
//! | how outbound requests do TLS, and how the command line does | [`outbound`] |
//! | where a private key is, and how a key at a provider signs | [`private_key`], [`remote`] |
//! | when certificates expire | [`expiry`] |
//!
//! TLS 1.2 and 1.3 only; the library is rustls with aws-lc. This crate knows neither HTTP nor participants: it proves
//! a name.

mod authorities;
pub mod client_certificate;
pub mod expiry;
pub mod files;
pub mod listener;
pub mod outbound;
pub mod private_key;
pub mod remote;

pub use client_certificate::{ClientCertificate, Identity, Unproven};
pub use expiry::Expiry;
pub use files::{AuthorityFiles, BadTls, ChangedFile, ListenerFiles};
pub use listener::{ClientCertificates, ListenerTls, Protocol};
pub use outbound::{DestinationFiles, OriginFiles, OutboundTls};
pub use private_key::{BadReference, KeyReference, PrivateKey};
pub use remote::{RemoteKey, Signed};
pub use tokio_rustls::server::TlsStream;
