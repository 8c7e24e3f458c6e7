//! Confirmations: each is of one request of one person, made by the person's authenticator, and used once.

use std::sync::Arc;

use rialto_edge::confirmation::{Approval, Confirmations, NotConfirmed};
use rialto_engine::Timestamp;
use rialto_store_sqlite::{Act, Passkey};
use rialto_webauthn::assertion::{self, Counter, Credential, Wanted, is_of_user, not_of_the_user};
use rialto_webauthn::options::{self, UserVerification};
use rialto_webauthn::response::{self, Assertion};
use serde_json::Value;

use super::verifying::OfTheHost;
use super::{Begun, Passkeys, Refused, failed, known, works};
use crate::operators::Caller;

/// Who ends a passkey whose counter has gone back. It is no person's name, because those have no blanks.
const THE_HOST: &str = "the host";

/// A request that is to be confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its method, in capitals.
    pub method: String,
    /// Its path and query.
    pub target: String,
    /// Its body as it is sent; empty for none.
    pub body: String,
}

/// A confirmation that was begun.
#[derive(Clone, Debug)]
pub struct Confirmation {
    request: Request,
    /// Whether the authenticator has signed.
    is_confirmed: bool,
}

/// A confirmation as its person sees it.
#[derive(Clone, Debug)]
pub struct View {
    /// The request.
    pub request: Request,
    /// Whether the authenticator has signed.
    pub is_confirmed: bool,
    /// When its time is over.
    pub expires: Timestamp,
    /// Options for the browser, as long as the authenticator has not signed.
    pub public_key: Option<Value>,
}

impl Passkeys {
    /// Begin to confirm a request.
    ///
    /// # Errors
    /// When the caller's person has no passkey that works.
    pub fn begin_confirmation(&self, caller: &Caller, request: Request) -> Result<Begun, Refused> {
        let working = self.working(&caller.person);
        let Some(first) = working.first() else {
            return Err(Refused::None(caller.person.clone()));
        };
        let challenge = self.challenge(&caller.person, first.handle.clone());
        let public_key = self.options(challenge.told(), &working);
        let expires = challenge.expires;
        let confirmation = Confirmation {
            request,
            is_confirmed: false,
        };
        let now = self.clock.now();
        let id = self.confirmations.add(now, challenge, confirmation);
        Ok(Begun {
            id,
            public_key,
            expires,
        })
    }

    /// A confirmation of the caller's person.
    ///
    /// # Errors
    /// When nothing of this id waits.
    pub fn confirmation(&self, caller: &Caller, id: &str) -> Result<View, Refused> {
        let (now, person) = (self.clock.now(), &*caller.person);
        let found = self.confirmations.get(now, person, id);
        let (challenge, confirmation) = found.ok_or(Refused::NothingWaits)?;
        let public_key = (!confirmation.is_confirmed)
            .then(|| self.options(challenge.told(), &self.working(person)));
        Ok(View {
            request: confirmation.request,
            is_confirmed: confirmation.is_confirmed,
            expires: challenge.expires,
            public_key,
        })
    }

    fn options(&self, challenge: options::Challenge<'_>, working: &[Arc<Passkey>]) -> Value {
        let known = working.iter().map(|one| known(one));
        options::request(
            &self.relying_party,
            challenge,
            UserVerification::Required,
            known,
        )
    }

    /// Confirm a request by the browser's response.
    ///
    /// # Errors
    /// When nothing of this id waits for a response, or the response cannot be read or does not hold. One that can be read
    /// and does not hold ends the confirmation.
    pub fn confirm(&self, caller: &Caller, id: &str, response: &str) -> Result<Request, Refused> {
        let sent = response::assertion(response).map_err(failed)?;
        let _one = self.changing.lock();
        let (now, person) = (self.clock.now(), &*caller.person);
        let waits = |confirmation: &Confirmation| !confirmation.is_confirmed;
        let taken = self.confirmations.take_if(now, person, id, waits);
        let (challenge, confirmation) = taken.ok_or(Refused::NothingWaits)?;
        let wanted = Wanted {
            challenge: &challenge.bytes,
            given_at: challenge.given.0,
            user_verification: true,
        };
        self.signed(person, &challenge.handle, wanted, &sent)?;
        let request = confirmation.request.clone();
        let confirmed = Confirmation {
            is_confirmed: true,
            ..confirmation
        };
        self.confirmations.add(now, challenge, confirmed);
        Ok(request)
    }

    /// Verify that a passkey of the person has signed, and keep its counter.
    fn signed(
        &self,
        person: &str,
        handle: &str,
        wanted: Wanted<'_>,
        sent: &Assertion,
    ) -> Result<(), Refused> {
        is_of_user(sent, handle).map_err(failed)?;
        let kept = self.kept.read();
        let mut own = kept.iter().filter(|one| one.person == person && works(one));
        let found = own.find(|one| one.credential == sent.id).cloned();
        drop(kept);
        let passkey = found.ok_or_else(|| failed(not_of_the_user()))?;
        let credential = Credential {
            public_key: &passkey.public_key,
            sign_count: passkey.sign_count,
            used_at: passkey.used.map(|used| used.0),
            is_backup_eligible: passkey.is_backup_eligible,
        };
        let verified = assertion::verify(
            &mut OfTheHost,
            &self.relying_party,
            wanted,
            credential,
            sent,
        );
        let now = self.clock.now();
        match verified.map_err(failed)? {
            Counter::Grown => {
                self.keep(Passkey {
                    sign_count: sent.data.sign_count,
                    used: Some(now),
                    ..(*passkey).clone()
                })?;
                Ok(())
            }
            Counter::Late => Err(Refused::Unproven(
                "the authenticator has made a later response, which came before this one"
                    .to_owned(),
            )),
            Counter::NotGrown => {
                tracing::error!(
                    person, passkey = %passkey.id, before = passkey.sign_count, now = sent.data.sign_count,
                    "the counter of a passkey has not grown: there may be a copy of the authenticator; the passkey has ended, and the person must register another one"
                );
                let by = THE_HOST.to_owned();
                self.keep(Passkey {
                    ended: Some(Act { by, at: now }),
                    ..(*passkey).clone()
                })?;
                Err(Refused::Unproven(
                    "the passkey's counter has not grown, so there may be a copy of it; it has ended, and you must register another one".to_owned(),
                ))
            }
        }
    }
}

impl Confirmations for Passkeys {
    fn take(&self, approval: Approval<'_>) -> Result<(), NotConfirmed> {
        if !self.are_required() {
            return Ok(());
        }
        let fits = |confirmation: &Confirmation| {
            let request = &confirmation.request;
            confirmation.is_confirmed
                && request.method == approval.method
                && request.target == approval.target
                && request.body.as_bytes() == approval.body
        };
        let Some(id) = approval.confirmation else {
            return Err(NotConfirmed(
                "an approval must be confirmed with a passkey: begin with POST /confirmations, confirm it on its page, and send this again with `X-Rialto-Confirmation: ID`".to_owned(),
            ));
        };
        let (now, person) = (self.clock.now(), approval.person);
        match self.confirmations.take_if(now, person, id, fits) {
            Some(_) => Ok(()),
            None => Err(NotConfirmed(
                "the confirmation is not one of this request: it may be of another method, path or body, wait for the passkey, be used already, or be too old; begin again with POST /confirmations".to_owned(),
            )),
        }
    }
}
