//! Requests that an operator must confirm with a passkey: a browser asks for it, and the command waits.

use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use http::Method;

use super::Client;
use crate::ops::{Confirming, ShownBegun, ShownConfirmation};
use crate::out;
use crate::words::plain;

/// The time between two looks whether the operator has confirmed.
const LOOK_EVERY: Duration = Duration::from_millis(500);

impl Client {
    /// Have the operator confirm a request. Returns the confirmation's id.
    ///
    /// # Errors
    /// When the operator has no passkey, or does not confirm in time.
    pub(super) fn confirmed(
        &self,
        method: &Method,
        target: &str,
        body: &[u8],
    ) -> anyhow::Result<String> {
        let body = std::str::from_utf8(body).context("what must be confirmed is no text")?;
        let begun: ShownBegun = self.post(
            "/confirmations",
            &Confirming {
                method: method.to_string(),
                target: target.to_owned(),
                body: body.to_owned(),
            },
        )?;
        let page = begun.page.context("the host names no page to confirm at")?;
        out::note(format_args!(
            "confirm {method} {target} with your passkey, at {}",
            plain(&page)
        ));
        let path = format!("/confirmations/{}", begun.id);
        loop {
            let shown: ShownConfirmation = self.get(&path)?;
            if shown.state == "CONFIRMED" {
                return Ok(begun.id);
            }
            thread::sleep(LOOK_EVERY);
        }
    }
}
