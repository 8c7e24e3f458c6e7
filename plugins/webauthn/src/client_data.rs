//! What the browser says about a response (Web Authentication Level 2, section 5.8.1): client data. The authenticator
//! signs its hash, so a page cannot change it.

use serde::Deserialize;

use crate::{Failure, RelyingParty, refused};

/// `type` of a registration.
pub const CREATE: &str = "webauthn.create";
/// `type` of an authentication.
pub const GET: &str = "webauthn.get";

/// CollectedClientData. Members that are not here are not looked at, as the specification says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientData {
    r#type: String,
    challenge: String,
    origin: String,
    #[serde(default)]
    cross_origin: Option<bool>,
    #[serde(default)]
    top_origin: Option<String>,
}

impl ClientData {
    /// The operation is the one that was begun.
    ///
    /// # Errors
    /// When it is another one.
    pub fn is_of_type(&self, wanted: &str) -> Result<(), Failure> {
        if self.r#type == wanted {
            return Ok(());
        }
        let why = format!(
            "`type` of the client data must be `{wanted}`: use the browser's response to this challenge's options"
        );
        Err(refused(why))
    }

    /// The challenge is the one that was given out.
    ///
    /// # Errors
    /// When it is another one.
    pub fn answers(&self, challenge: &str) -> Result<(), Failure> {
        if self.challenge == challenge {
            return Ok(());
        }
        Err(refused(
            "the response is to another challenge: finish with the `id` of the challenge that it answers",
        ))
    }

    /// The page's origin is one of the relying party's, and no other page has it in a frame.
    ///
    /// # Errors
    /// When it is another one, or a page of another origin has framed it.
    pub fn is_from(&self, party: &RelyingParty) -> Result<(), Failure> {
        if !party.origins.contains(&self.origin) {
            return Err(refused("the page's origin is none of the relying party's"));
        }
        // Level 3, 7.1 steps 10 and 11 and 7.2 steps 13 and 14: no page is expected in a frame of another origin.
        if self.cross_origin == Some(true) || self.top_origin.is_some() {
            return Err(refused(
                "the page was in a frame of another origin: open it by itself",
            ));
        }
        Ok(())
    }
}
