//! The table `[keys]` of the operator's document: providers of keys, and the master keys that seal what they make.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::{BaseUrl, Duration, FilePath, Name};

/// Keys that components use and never see.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct KeyProviders {
    /// The master key. What the store has of a key is sealed with it. Needed if there are providers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub master_key: Option<MasterKey>,
    /// Earlier master keys. They open what was sealed before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub old_master_keys: Vec<MasterKey>,
    /// Providers of keys, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub providers: BTreeMap<Name, KeyProvider>,
}

/// Where a master key is: 32 random bytes as base64, as `openssl rand -base64 32` prints them, or encrypted by a provider. Either `file` or `variable` is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct MasterKey {
    /// A file that only the host's user may read. The host makes it if it is missing, but never that of an earlier key. The path is absolute or relative to this document.
    #[schemars(with = "FilePath")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FilePath>,
    /// An environment variable of the host.
    #[schemars(regex(pattern = "^[A-Za-z_][A-Za-z0-9_]*$"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// The provider, of the kind `pkcs11` or `aws-kms`, whose key encrypts the master key in the file. The file alone is of no use then, and the host does not start without the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<Name>,
}

/// A provider of keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct KeyProvider {
    /// What it is. The other settings are for `pkcs11` or `aws-kms`.
    pub kind: ProviderKind,
    /// The token's PKCS #11 module, a library of its manufacturer, which the host loads into its own process. An absolute path. Needed for `pkcs11`.
    #[schemars(with = "FilePath")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<FilePath>,
    /// The token's label, or its serial number. Needed for `pkcs11`.
    #[schemars(length(min = 1, max = 32))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Where the PIN of the token's user is. Needed for `pkcs11`.
    #[schemars(with = "Pin")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<Pin>,
    /// Sessions of the token, which are also the most calls at once. 4 if it is left out.
    #[schemars(range(min = 1, max = 64))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<u32>,
    /// The region of AWS, for example `eu-central-1`. Needed for `aws-kms`.
    #[schemars(regex(pattern = "^[a-z0-9-]{1,32}$"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// The URL of AWS KMS: `https`, without a path. That of AWS in the region if it is left out. `http` is for addresses of this machine, for tests.
    #[schemars(with = "BaseUrl")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<BaseUrl>,
    /// The certificates of the authority that must have certified the endpoint, PEM. The system's authorities if it is left out.
    #[schemars(with = "FilePath")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<FilePath>,
    /// A file with the credentials of AWS, in the format of its tools and with one profile. Only the host's user may read it. The variables `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN` if it is left out. The path is absolute or relative to this document.
    #[schemars(with = "FilePath")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<FilePath>,
    /// The most calls of AWS KMS at once. Beyond them calls fail at once. 16 if it is left out.
    #[schemars(range(min = 1, max = 256))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<u32>,
    /// The longest wait of a call, `1 ms` to `1 min`. If it is left out, `2 s` for a token and `5 s` for AWS KMS. A token may take ten times as long to make an RSA key pair.
    #[schemars(with = "Duration")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
}

/// The kind of a provider of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProviderKind {
    /// The host's own process: keys are in its memory while they are used.
    Software,
    /// A PKCS #11 token, such as a hardware security module: keys never leave it. A turn that needs it holds no locks meanwhile.
    Pkcs11,
    /// AWS KMS, a service of the cloud: keys never leave it. A turn that needs it holds no locks meanwhile.
    AwsKms,
}

impl ProviderKind {
    /// Its name in the document.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Software => "software",
            Self::Pkcs11 => "pkcs11",
            Self::AwsKms => "aws-kms",
        }
    }
}

/// Where the PIN of a token's user is. Either `file` or `variable` is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Pin {
    /// A file with the PIN in a line. The path is absolute or relative to this document.
    #[schemars(with = "FilePath")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FilePath>,
    /// An environment variable of the host.
    #[schemars(regex(pattern = "^[A-Za-z_][A-Za-z0-9_]*$"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
}
