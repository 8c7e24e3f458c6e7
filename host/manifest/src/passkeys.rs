//! The table `[passkeys]` of `rialto.toml`: how operators confirm what they approve.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Passkeys (Web Authentication), by which operators who sign in confirm what they approve.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Passkeys {
    /// Whether an approval needs a passkey. With `false`, passkeys can be registered and approved, and nothing needs one: so it begins, and so it begins anew if they are lost.
    pub required: bool,
    /// The domain for which passkeys sign: the host of `address` in [sign-in], or a domain above it. The host of `address` if it is left out. Passkeys that were registered for another domain are of no use.
    #[schemars(length(min = 1, max = 253))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relying_party: Option<String>,
}
