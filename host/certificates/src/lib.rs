//! Client certificates from an authority whose private key is somewhere else: requests for certificates (PKCS #10) are
//! judged, and certificates drafted. Whoever has the key signs a draft.
//!
//! Of a request only the public key is believed, because its owner has signed with it. The name comes from elsewhere, and
//! what the request says of a name and of extensions is ignored.
//!
//! The host also orders certificates for itself, from whoever certifies it: `own_request.rs`.

mod authority;
mod draft;
mod ecdsa;
mod own_request;
mod request;
#[cfg(test)]
mod tests;

pub use authority::{Authority, BadAuthority, NAME_CHARACTERS_MAX, Subject};
pub use draft::{BadSignature, Draft, Issued};
pub use ecdsa::der as ecdsa_der;
pub use own_request::{BadName, NAMES_MAX, OwnRequest, Uses};
pub use request::{BadRequest, REQUEST_BYTES_MAX, Request};
