//! The keys of the host itself, which sign what leaves in its name. They are keys like those of components, of owners
//! that no component can be.

use crate::attributes::{Algorithm, Attributes, Purpose};
use crate::error::KeyError;
use crate::keys::{Keys, NewKey};

/// The owner of the host's own key. Names of components have no colon.
pub const HOST: &str = "rialto:host";

/// The owner of the host's private keys of TLS. No key that signs messages or certificates is one of TLS, and none the
/// other way round: who talks to the host chooses a part of what handshakes sign.
pub const TLS: &str = "rialto:tls";

/// The owner of the key that signs checkpoints of the audit log. It signs nothing else.
pub const AUDIT: &str = "rialto:audit";

/// The owner of an officer's key, which signs plans. It signs nothing else.
pub const OFFICER: &str = "rialto:officer";

/// The host's own key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnKey {
    /// Its reference.
    pub reference: String,
    /// ES256 or RS256.
    pub algorithm: Algorithm,
    /// The provider that has it.
    pub provider: String,
}

impl Keys {
    /// Make a key of the host, which signs by this algorithm and has no end. It waits for the provider.
    ///
    /// # Errors
    /// As [`Keys::generate`].
    pub fn make_own(&self, provider: &str, algorithm: Algorithm) -> Result<NewKey, KeyError> {
        let attributes = Attributes {
            label: "messages of the hub".to_owned(),
            purpose: Purpose::Sign,
            algorithm,
            not_after: None,
        };
        self.outside_turns().generate(HOST, provider, &attributes)
    }

    /// Make the key of the authority that certifies clients. It signs on P-256 and has no end. It waits for the provider.
    ///
    /// # Errors
    /// As [`Keys::generate`].
    pub fn make_authority(&self, provider: &str) -> Result<NewKey, KeyError> {
        let attributes = Attributes {
            label: "certificates of clients".to_owned(),
            purpose: Purpose::Sign,
            algorithm: Algorithm::Es256,
            not_after: None,
        };
        self.outside_turns().generate(HOST, provider, &attributes)
    }

    /// Make a private key of TLS with this label. It signs on P-256 and has no end. It waits for the provider.
    ///
    /// # Errors
    /// As [`Keys::generate`].
    pub fn make_tls(&self, provider: &str, label: &str) -> Result<NewKey, KeyError> {
        let attributes = Attributes {
            label: label.to_owned(),
            purpose: Purpose::Sign,
            algorithm: Algorithm::Es256,
            not_after: None,
        };
        self.outside_turns().generate(TLS, provider, &attributes)
    }

    /// Make the key that signs checkpoints of the audit log. It signs on P-256 and has no end. It waits for the provider.
    ///
    /// # Errors
    /// As [`Keys::generate`].
    pub fn make_audit(&self, provider: &str) -> Result<NewKey, KeyError> {
        let attributes = Attributes {
            label: "checkpoints of the audit log".to_owned(),
            purpose: Purpose::Sign,
            algorithm: Algorithm::Es256,
            not_after: None,
        };
        self.outside_turns().generate(AUDIT, provider, &attributes)
    }

    /// Make the key of an officer, who signs plans. It signs on P-256 and has no end. It waits for the provider.
    ///
    /// # Errors
    /// As [`Keys::generate`].
    pub fn make_officer(&self, provider: &str, officer: &str) -> Result<NewKey, KeyError> {
        let attributes = Attributes {
            label: format!("plans signed by {officer}"),
            purpose: Purpose::Sign,
            algorithm: Algorithm::Es256,
            not_after: None,
        };
        self.outside_turns()
            .generate(OFFICER, provider, &attributes)
    }

    /// These keys, with the host's own of this reference.
    ///
    /// # Errors
    /// When the reference is not one of a key of the host that signs by ES256 or RS256.
    pub fn with_own(self, reference: &str) -> Result<Self, KeyError> {
        let (attributes, provider) = self.attributes(HOST, reference)?;
        match attributes.algorithm {
            algorithm @ (Algorithm::Es256 | Algorithm::Rs256) => Ok(self.signing_as(OwnKey {
                reference: reference.to_owned(),
                algorithm,
                provider,
            })),
            other => Err(KeyError::Unsupported(format!(
                "a key of the algorithm {other:?} does not sign messages"
            ))),
        }
    }
}
