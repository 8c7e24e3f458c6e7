//! Client certificates from an authority whose private key is somewhere else: requests for certificates (PKCS #10) are
//! judged, and certificates drafted. Whoever has the key signs a draft.
//!
//! Of a request only the public key is believed, because its owner has signed with it. The name comes from elsewhere, and
//! what the request says of a name and of extensions is ignored.

mod authority;
mod draft;
mod ecdsa;
mod request;
#[cfg(test)]
mod tests;

pub use authority::{Authority, BadAuthority, NAME_CHARACTERS_MAX, Subject};
pub use draft::{BadSignature, Draft, Issued};
pub use request::{BadRequest, REQUEST_BYTES_MAX, Request};
