//! Why a registry could not be used.

use oci_client::errors::{OciDistributionError, OciErrorCode};

use super::Place;
use crate::BundleError;

/// The most characters of a registry's own words that are shown.
const WORDS_MAX: usize = 300;

/// Why a bundle could not be pushed or pulled.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// There is no answer.
    #[error("the registry {registry} cannot be reached: {why}")]
    Away {
        /// The registry.
        registry: String,
        /// Why.
        why: String,
    },
    /// It has no such thing.
    #[error("there is no {0}: look for the name and the tag in the registry")]
    NotThere(String),
    /// It does not let the caller.
    #[error(
        "the registry {registry} does not allow it: {why}. Credentials are in RIALTO_REGISTRY_USER and RIALTO_REGISTRY_PASSWORD, in RIALTO_REGISTRY_TOKEN, or in the file of --credentials"
    )]
    NotAllowed {
        /// The registry.
        registry: String,
        /// Its words.
        why: String,
    },
    /// It answered something else.
    #[error("the registry {registry} did not do it: {why}")]
    Failed {
        /// The registry.
        registry: String,
        /// Its words.
        why: String,
    },
    /// It gave other bytes than those of their digest.
    #[error("the registry gives other bytes than it was asked for: {0}. Nothing was written")]
    Lies(BundleError),
    /// It gave more bytes than the manifest says.
    #[error(
        "the registry gives more bytes of {what} than the {wanted} that the manifest says. Nothing was written"
    )]
    Longer {
        /// Which file.
        what: String,
        /// The length that was said.
        wanted: u64,
    },
    /// What it has is no bundle.
    #[error("what the registry gives is no bundle: {0}")]
    Bundle(#[from] BundleError),
    /// Credentials would be readable on the network.
    #[error("credentials are not sent to {0} by plain HTTP: use HTTPS, or leave them out")]
    BareCredentials(String),
    /// The file of authorities has none.
    #[error("the file of authorities has no certificate in PEM")]
    NoAuthority,
    /// A digest cannot be chosen.
    #[error("a bundle is pushed under a tag: name REGISTRY/NAME:TAG")]
    PushNeedsTag,
}

impl RegistryError {
    /// What a failure of the client means.
    pub(super) fn of(place: &Place, error: OciDistributionError) -> Self {
        let registry = place.registry().to_owned();
        match error {
            OciDistributionError::RequestError(error) => {
                let is_away = error.is_connect() || error.is_timeout();
                let why = causes(&error);
                if is_away {
                    let why =
                        format!("{why}. Is it running? Does it speak HTTPS? If not, --plain-http");
                    return Self::Away { registry, why };
                }
                Self::Failed { registry, why }
            }
            OciDistributionError::UnauthorizedError { .. } => Self::NotAllowed {
                registry,
                why: "it wants to know who asks".to_owned(),
            },
            OciDistributionError::AuthenticationFailure(why) => Self::NotAllowed {
                registry,
                why: shown(&why),
            },
            OciDistributionError::ImageManifestNotFoundError(_) => {
                Self::NotThere(place.to_string())
            }
            OciDistributionError::RegistryError { envelope, .. } => {
                let has = |codes: &[OciErrorCode]| {
                    let mut errors = envelope.errors.iter();
                    errors.any(|error| codes.contains(&error.code))
                };
                let words = envelope.errors.iter().map(|error| error.message.as_str());
                let why = shown(&words.collect::<Vec<_>>().join("; "));
                if has(&[
                    OciErrorCode::ManifestUnknown,
                    OciErrorCode::NameUnknown,
                    OciErrorCode::NotFound,
                ]) {
                    Self::NotThere(place.to_string())
                } else if has(&[OciErrorCode::Unauthorized, OciErrorCode::Denied]) {
                    Self::NotAllowed { registry, why }
                } else {
                    Self::Failed { registry, why }
                }
            }
            OciDistributionError::ServerError { code: 404, .. } => {
                Self::NotThere(place.to_string())
            }
            OciDistributionError::ServerError { code, message, .. } => {
                let why = format!("it answered {code} {}", shown(&message));
                let why = why.trim_end().to_owned();
                match code {
                    401 | 403 => Self::NotAllowed { registry, why },
                    _ => Self::Failed { registry, why },
                }
            }
            OciDistributionError::DigestError(error) => Self::Failed {
                registry,
                why: format!(
                    "it gives other bytes than it was asked for: {}",
                    shown(&error.to_string())
                ),
            },
            error => Self::Failed {
                registry,
                why: shown(&causes(&error)),
            },
        }
    }
}

/// An error with its causes.
fn causes(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words = format!("{words}: {error}");
        cause = error.source();
    }
    words
}

/// A registry's words, which may be anything, in one short line.
fn shown(words: &str) -> String {
    let words = words.chars().take(WORDS_MAX);
    words
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}
