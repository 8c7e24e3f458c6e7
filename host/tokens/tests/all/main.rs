//! Which tokens are refused, and that right ones are taken.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod changes;
mod issuer;
mod refused;

use rialto_tokens::{Claims, Invalid, Rules, Verifier};

/// A verifier with the rules of an issuer.
fn verifier(issuer: &issuer::Issuer) -> Verifier {
    let verifier = Verifier::default();
    verifier.set_rules(issuer.rules());
    verifier
}

/// The outcome for a token at the usual time.
fn judged(issuer: &issuer::Issuer, token: &str) -> Result<Claims, Invalid> {
    let claims = verifier(issuer).verify(token, issuer::NOW)?;
    Ok(Claims::clone(&claims))
}
