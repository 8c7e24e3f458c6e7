//! The relying party of operators' passkeys, and the host's cryptography for its steps.

use anyhow::{Context as _, anyhow, bail};
use rialto_manifest::Operator;
use rialto_signatures::{Algorithm, PublicKey};
use rialto_webauthn::relying_party::is_domain;
use rialto_webauthn::{Cryptography, NotVerified, RelyingParty};
use sha2::{Digest as _, Sha256};

/// What an error is about.
const PLACE: &str = "[passkeys] of rialto.toml";

/// The relying party of an operator's document; none if it wants no passkeys.
///
/// # Errors
/// When browsers would not take it.
pub fn relying_party(operator: &Operator) -> anyhow::Result<Option<RelyingParty>> {
    let (Some(wanted), Some(sign_in)) = (&operator.passkeys, &operator.sign_in) else {
        return Ok(None);
    };
    let origin = sign_in.address.origin();
    let id = wanted.relying_party.as_deref().unwrap_or(&origin.host);
    let relying_party = RelyingParty {
        id: id.to_owned(),
        name: id.to_owned(),
        origins: vec![origin.to_string()],
    };
    checked(relying_party).context(PLACE).map(Some)
}

fn checked(relying_party: RelyingParty) -> anyhow::Result<RelyingParty> {
    if !is_domain(&relying_party.id) {
        bail!(
            "passkeys are for domains, and `{}` is none: give the operators' listener a name, such as hub.example, and write it as `address` in [sign-in]",
            relying_party.id
        );
    }
    for origin in &relying_party.origins {
        let taken = relying_party.takes(origin);
        taken.map_err(|why| anyhow!("`{origin}`, the `address` in [sign-in]: {why}"))?;
    }
    Ok(relying_party)
}

/// The host's cryptography.
pub struct OfTheHost;

impl Cryptography for OfTheHost {
    fn sha256(&mut self, message: &[u8]) -> Vec<u8> {
        Sha256::digest(message).to_vec()
    }

    fn verifies(
        &mut self,
        public_key: &str,
        message: &[u8],
        signature: &[u8],
    ) -> Result<bool, NotVerified> {
        let keys = PublicKey::all_of_pem(public_key).map_err(|_| NotVerified::NoKey)?;
        let [key] = keys.as_slice() else {
            return Err(NotVerified::NoKey);
        };
        Ok(key.verifies(Algorithm::Es256, message, signature))
    }
}
