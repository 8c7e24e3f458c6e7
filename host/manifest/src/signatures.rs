//! The table `[signatures]` of the operator's document: the keys of signed messages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::{FilePath, Name};

/// Public keys of participants that sign their messages, and the host's own key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Signatures {
    /// A folder with a file `<id>.pem` for each participant that signs. The file has one or several public keys (RSA of at least 2048 bits, or P-256). The path is absolute or relative to this document. The files may change while the host runs.
    #[schemars(with = "FilePath")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keys: Option<FilePath>,
    /// The private key that signs the scheme's own messages (PKCS #8 as PEM, not encrypted). Without it they are not signed. The path is absolute or relative to this document. Only the host's user may be able to read the file.
    #[schemars(with = "FilePath")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hub_key: Option<FilePath>,
    /// Instead of `hub-key`: a provider of `[keys]` that makes and keeps the key.
    #[schemars(with = "HubKeyProvider")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hub_key_provider: Option<HubKeyProvider>,
}

/// The key that signs the scheme's own messages, at a provider of `[keys]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct HubKeyProvider {
    /// The provider's name.
    pub provider: Name,
    /// The file of the key's reference, absolute or relative to this document. If it is missing, the host makes a key at its start, and writes the public key beside it, to a file with `.pem` added to the name.
    #[schemars(with = "FilePath")]
    pub reference: FilePath,
    /// The algorithm of a new key. RS256 if it is left out.
    #[serde(default)]
    pub algorithm: HubKeyAlgorithm,
}

/// The algorithm of the key that signs the scheme's own messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum HubKeyAlgorithm {
    /// RSA of 3072 bits, PKCS #1 v1.5, SHA-256.
    #[default]
    RS256,
    /// ECDSA on P-256 with SHA-256.
    ES256,
}
