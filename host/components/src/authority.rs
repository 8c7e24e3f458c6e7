//! The authority that certifies clients: its certificate, and the reference of its private key, which is a key of the host.

use rialto_certificates::Authority;

/// The authority of a host.
#[derive(Clone, Debug)]
pub struct ClientAuthority {
    /// Its certificate.
    pub authority: Authority,
    /// The reference of its key.
    pub reference: String,
}
