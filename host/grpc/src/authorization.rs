//! The types for authorizing a client. The host decides by the operators' tokens.

use std::sync::Arc;

use http::Request;
use hyper::body::Incoming;
use rialto_components::denials::Denial;
use rialto_edge::{PeerAddress, denied};
use rialto_engine::Name;

/// The permission that a request needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// Call components, as only contexts call each other.
    Call,
    /// List the calls (reflection).
    Read,
}

/// Why a client was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denied {
    /// The client is not known. The text says which credential to send.
    Unknown(String),
    /// The client is known and lacks the role. The text says which one.
    Lacks(String),
}

/// A client that may do what it asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Client {
    /// Its name, as components are told it.
    pub name: Name,
    /// The public name of the credential that it has shown; empty for one without a name.
    pub credential: Name,
    /// Clients with the same share have one share of the host's work together.
    pub share: Name,
}

/// Decides by the value of the header `authorization`.
pub type Authorizer = Arc<dyn Fn(Option<&str>, Permission) -> Result<Client, Denied> + Send + Sync>;

/// What the audit log is to have of a refused request.
pub(crate) fn denial(request: &Request<Incoming>, refused: &Denied) -> Denial {
    let client = PeerAddress::of(request.extensions()).client();
    let about = format!("gRPC {}", request.uri().path());
    match refused {
        Denied::Unknown(why) => denied::unproven(&client, about, why.clone()),
        Denied::Lacks(why) => Denial {
            action: denied::AUTHORIZATION.to_owned(),
            ..denied::unproven(&client, about, why.clone())
        },
    }
}
