//! Client certificates that are revoked. A component knows them; the edge judges each request whose connection has shown a
//! certificate, before it reads the body, by an answer that is at most a second old.
//!
//! A certificate is known by its name and its serial number, which its issuer has signed. A thumbprint would not do: who has
//! the certificate can write its signature in another form, and the thumbprint is another one then.

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::sync::Arc;

use rialto_components::http::ViolationKind;
use rialto_tls::{Identity, Unproven};
use tokio::sync::watch;

use crate::authentication::{Refusal, not_proven};
use crate::following::{Keeper, Names};
use crate::violation::violation;

/// The beginning of a log line when the component cannot be asked.
const TROUBLE: &str =
    "revocations: the component that knows which client certificates are revoked cannot be asked";

/// Serial numbers of the revoked certificates of a name: hexadecimal digits in lower case.
pub type Serials = HashSet<Box<str>>;

/// The revoked certificates of all clients that have sent requests lately.
#[derive(Default)]
pub struct Revocations(Arc<Names<Serials>>);

impl Revocations {
    /// Ask the component until told to stop.
    pub async fn follow(&self, keeper: Arc<impl Keeper<Serials>>, stop: watch::Receiver<bool>) {
        self.0.clone().follow(keeper, TROUBLE, stop).await;
    }

    /// Let a request pass whose connection has shown this certificate, unless it is revoked.
    pub(crate) async fn admit(&self, certificate: &Identity) -> Result<(), Refusal> {
        let serial = &*certificate.serial;
        let is_revoked =
            |serials: Option<&Serials>| serials.is_some_and(|all| all.contains(serial));
        match self.0.of(&certificate.name, is_revoked).await {
            Some(false) => Ok(()),
            Some(true) => Err(not_proven(Unproven::Revoked)),
            None => Err(unknown()),
        }
    }
}

/// The refusal while it cannot be known whether a certificate is revoked.
fn unknown() -> Refusal {
    let detail =
        "the host cannot tell now whether the client certificate is revoked; try again".to_owned();
    violation(ViolationKind::Overloaded, "", detail).into()
}
