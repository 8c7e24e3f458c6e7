//! Passkeys (Web Authentication), by which operators confirm what they approve.
//!
//! A session or a token says who asks. Whoever has stolen one could approve with it. With `[passkeys]` in `rialto.toml` an
//! approval also needs a confirmation: a signature of the operator's authenticator, made for this one request.
//!
//! 1. A person registers a passkey on a page of the host. Another person, with the role `checker`, approves it.
//! 2. Who wants to send a request that must be confirmed begins a confirmation of it: method, path and body.
//! 3. The person looks at it on a page of the host, and the authenticator signs the confirmation's challenge.
//! 4. The request is sent with the confirmation's id in `X-Rialto-Confirmation`. That uses the confirmation up.
//!
//! Passkeys are in the store. What is under way is in memory: after a restart it begins anew.
//!
//! | Module | Holds |
//! |---|---|
//! | [`confirmations`] | confirmations of requests |
//! | [`open`] | challenges that wait for a response |
//! | [`verifying`] | the relying party, and the host's cryptography for it |

pub mod confirmations;
pub mod open;
#[cfg(test)]
mod tests;
pub mod verifying;

use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use rialto_engine::store::StoreError;
use rialto_engine::{Clock, Entropy, Timestamp};
use rialto_manifest::Operator;
use rialto_manifest::operator::Role;
use rialto_store::{Act, HostStore, Passkey};
use rialto_webauthn::options::{self, base64url};
use rialto_webauthn::{Failure, RelyingParty, registration, response};
use serde_json::Value;

use crate::operators::{Caller, Operators};
use confirmations::Confirmation;
use open::{Challenge, LIFETIME_MS, Open};
use verifying::{OfTheHost, relying_party};

/// The most passkeys of a person that have not ended.
pub const PASSKEYS_MAX: usize = 10;
/// The random bytes of a passkey's public name.
const ID_BYTES: usize = 8;
/// The random bytes by which authenticators know a person.
const HANDLE_BYTES: usize = 32;

/// Why something about passkeys was refused.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The person has no such challenge: it never was, it was used, or its time is over.
    #[error("nothing of this id waits for a passkey: it was used, or its {} minutes are over; begin again", LIFETIME_MS / 60_000)]
    NothingWaits,
    /// The browser's response cannot be read.
    #[error("{0}")]
    Malformed(String),
    /// The browser's response does not hold.
    #[error("{0}: begin again")]
    Unproven(String),
    /// The credential was registered before.
    #[error("this passkey was registered before, and is registered once only")]
    Known,
    /// The person has too many.
    #[error("{0} has {PASSKEYS_MAX} passkeys; end one of them first")]
    TooMany(Arc<str>),
    /// The person has none that works.
    #[error(
        "{0} has no approved passkey; register one at /passkeys, and have another person approve it"
    )]
    None(Arc<str>),
    /// There is no passkey of this public name that the caller may see.
    #[error("there is no passkey `{0}`")]
    Unknown(String),
    /// The passkey does not wait for an approval.
    #[error("the passkey `{0}` does not wait for an approval")]
    NotWaiting(String),
    /// The approver is its owner.
    #[error("{0} cannot approve their own passkey; another person can")]
    Own(Arc<str>),
    /// The store could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Something that was begun: what a page gives to the browser.
#[derive(Clone, Debug)]
pub struct Begun {
    /// The id with which it is finished.
    pub id: String,
    /// Options for `navigator.credentials`, as JSON.
    pub public_key: Value,
    /// When its time is over.
    pub expires: Timestamp,
}

/// The passkeys of a host's operators.
pub struct Passkeys {
    relying_party: RelyingParty,
    /// Whether an approval needs one.
    required: bool,
    store: Arc<dyn HostStore>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    /// The oldest first.
    kept: RwLock<Vec<Arc<Passkey>>>,
    /// Held while one is changed.
    changing: Mutex<()>,
    registrations: Open<()>,
    confirmations: Open<Confirmation>,
}

impl Passkeys {
    /// Read the passkeys of the store, and warn if approvals need one and nobody has one.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn of_host(
        operator: &Operator,
        operators: &Operators,
        store: &Arc<dyn HostStore>,
        clock: &Arc<dyn Clock>,
        entropy: &Arc<dyn Entropy>,
    ) -> anyhow::Result<Option<Arc<Self>>> {
        let opened = Self::open(operator, store.clone(), clock.clone(), entropy.clone())?;
        let opened = opened.map(Arc::new);
        if opened
            .as_ref()
            .is_some_and(|passkeys| passkeys.required && !passkeys.let_somebody_approve(operators))
        {
            tracing::warn!(
                "nobody with the role `checker` has an approved passkey, so nobody can approve anything; to begin, or after all were lost, start with `required = false` in [passkeys] of rialto.toml"
            );
        }
        Ok(opened)
    }

    /// Read the passkeys of the store; none if the operator's document wants none.
    ///
    /// # Errors
    /// When the relying party cannot be one, or the store cannot be read.
    pub fn open(
        operator: &Operator,
        store: Arc<dyn HostStore>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> anyhow::Result<Option<Self>> {
        let (Some(relying_party), Some(wanted)) = (relying_party(operator)?, &operator.passkeys)
        else {
            return Ok(None);
        };
        let mut kept: Vec<_> = store.passkeys()?.into_iter().map(Arc::new).collect();
        kept.sort_by_key(|one| one.registered);
        Ok(Some(Self {
            relying_party,
            required: wanted.required,
            store,
            clock,
            entropy,
            kept: RwLock::new(kept),
            changing: Mutex::default(),
            registrations: Open::default(),
            confirmations: Open::default(),
        }))
    }

    /// Whether an approval needs one.
    #[must_use]
    pub const fn are_required(&self) -> bool {
        self.required
    }

    /// The origin of the pages that use them.
    #[must_use]
    pub fn origin(&self) -> &str {
        self.relying_party
            .origins
            .first()
            .map_or("", String::as_str)
    }

    /// All passkeys, the oldest first.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Passkey>> {
        self.kept.read().clone()
    }

    /// Whether somebody can approve: a person with the role `checker` who has an approved passkey.
    #[must_use]
    pub fn let_somebody_approve(&self, operators: &Operators) -> bool {
        let mut checkers = operators
            .all()
            .filter(|operator| operator.has(Role::Checker));
        checkers.any(|operator| !self.working(&operator.person).is_empty())
    }

    /// The approved passkeys of a person that have not ended.
    fn working(&self, person: &str) -> Vec<Arc<Passkey>> {
        let kept = self.kept.read();
        let own = kept.iter().filter(|one| one.person == person && works(one));
        own.cloned().collect()
    }

    /// Begin to register a passkey for the caller's person.
    ///
    /// # Errors
    /// When the person has too many.
    pub fn begin_registration(&self, caller: &Caller) -> Result<Begun, Refused> {
        let person = &caller.person;
        let live = self.live_of(person);
        if live.len() >= PASSKEYS_MAX {
            return Err(Refused::TooMany(person.clone()));
        }
        let handle = match live.first() {
            Some(known) => known.handle.clone(),
            None => base64url(&self.random::<HANDLE_BYTES>()),
        };
        let challenge = self.challenge(person, handle);
        let user = options::User {
            handle: &challenge.handle,
            name: person,
            display_name: person,
        };
        let known = live.iter().map(|one| known(one));
        let public_key = options::creation(&self.relying_party, user, challenge.told(), known);
        let expires = challenge.expires;
        let id = self.registrations.add(self.clock.now(), challenge, ());
        Ok(Begun {
            id,
            public_key,
            expires,
        })
    }

    /// Finish a registration. The passkey then waits for the approval of another person.
    ///
    /// # Errors
    /// When nothing of this id waits, the response cannot be read or does not hold, or the credential is known. A response
    /// that can be read uses the challenge up.
    pub fn register(
        &self,
        caller: &Caller,
        id: &str,
        label: &str,
        response: &str,
    ) -> Result<Arc<Passkey>, Refused> {
        let sent = response::registration(response).map_err(failed)?;
        let _one = self.changing.lock();
        let now = self.clock.now();
        let taken = self.registrations.take(now, &caller.person, id);
        let (challenge, ()) = taken.ok_or(Refused::NothingWaits)?;
        let key =
            registration::verify(&mut OfTheHost, &self.relying_party, &challenge.bytes, &sent);
        let public_key = key.map_err(failed)?;
        let credential = base64url(&sent.credential.id);
        if self
            .kept
            .read()
            .iter()
            .any(|one| one.credential == credential)
        {
            return Err(Refused::Known);
        }
        if self.live_of(&caller.person).len() >= PASSKEYS_MAX {
            return Err(Refused::TooMany(caller.person.clone()));
        }
        let passkey = Arc::new(Passkey {
            id: hexadecimal(&self.random::<ID_BYTES>()),
            credential,
            public_key,
            person: caller.person.to_string(),
            handle: challenge.handle,
            label: label.to_owned(),
            transports: sent.transports,
            is_backup_eligible: sent.data.flags.is_backup_eligible(),
            registered: now,
            approved: None,
            ended: None,
            sign_count: sent.data.sign_count,
            used: None,
        });
        self.store.add_passkey(&passkey)?;
        self.kept.write().push(passkey.clone());
        Ok(passkey)
    }

    /// Approve a passkey of another person.
    ///
    /// # Errors
    /// When there is none that waits, it is the caller's own, or the store cannot be written.
    pub fn approve(&self, caller: &Caller, id: &str) -> Result<Arc<Passkey>, Refused> {
        let _one = self.changing.lock();
        let found = self.named(id)?;
        if *found.person == *caller.person {
            return Err(Refused::Own(caller.person.clone()));
        }
        if found.approved.is_some() || found.ended.is_some() {
            return Err(Refused::NotWaiting(id.to_owned()));
        }
        let approved = Some(self.act(&caller.person));
        let approved = Passkey {
            approved,
            ..(*found).clone()
        };
        self.keep(approved)
    }

    /// End a passkey at once, with what its person has confirmed and not used. One that was never approved is forgotten.
    ///
    /// # Errors
    /// When there is none that has not ended, or the store cannot be written: then it is back after a restart.
    pub fn end(&self, caller: &Caller, id: &str) -> Result<Arc<Passkey>, Refused> {
        let _one = self.changing.lock();
        let found = self.named(id)?;
        if found.ended.is_some() {
            return Err(Refused::Unknown(id.to_owned()));
        }
        let ended = Passkey {
            ended: Some(self.act(&caller.person)),
            ..(*found).clone()
        };
        self.confirmations.remove_all(&found.person);
        if found.approved.is_none() {
            self.kept.write().retain(|one| one.id != id);
            self.store.remove_passkey(id)?;
            return Ok(Arc::new(ended));
        }
        self.keep(ended)
    }

    fn named(&self, id: &str) -> Result<Arc<Passkey>, Refused> {
        let kept = self.kept.read();
        let found = kept.iter().find(|one| one.id == id).cloned();
        found.ok_or_else(|| Refused::Unknown(id.to_owned()))
    }

    /// Keep a passkey's new state: in memory first, so that what ends has ended.
    fn keep(&self, passkey: Passkey) -> Result<Arc<Passkey>, Refused> {
        let passkey = Arc::new(passkey);
        let mut kept = self.kept.write();
        let place = kept.iter_mut().find(|one| one.id == passkey.id);
        let before = place.map(|place| std::mem::replace(place, passkey.clone()));
        drop(kept);
        let changed = self.store.change_passkey(&passkey);
        if let (Err(_), Some(before), None) = (&changed, before, &passkey.ended) {
            let mut kept = self.kept.write();
            if let Some(place) = kept.iter_mut().find(|one| one.id == before.id) {
                *place = before;
            }
        }
        changed?;
        Ok(passkey)
    }

    /// The passkeys of a person that have not ended.
    fn live_of(&self, person: &str) -> Vec<Arc<Passkey>> {
        let kept = self.kept.read();
        let own = kept
            .iter()
            .filter(|one| one.person == person && one.ended.is_none());
        own.cloned().collect()
    }

    fn act(&self, person: &str) -> Act {
        Act {
            by: person.to_owned(),
            at: self.clock.now(),
        }
    }

    /// A new challenge for a person.
    fn challenge(&self, person: &Arc<str>, handle: String) -> Challenge {
        let now = self.clock.now();
        Challenge {
            id: hexadecimal(&self.random::<16>()),
            person: person.clone(),
            handle,
            bytes: base64url(&self.random::<32>()),
            given: now,
            expires: now + LIFETIME_MS,
        }
    }

    fn random<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.entropy.fill(&mut bytes);
        bytes
    }
}

fn works(passkey: &Passkey) -> bool {
    passkey.approved.is_some() && passkey.ended.is_none()
}

/// A passkey as browsers are told it.
fn known(passkey: &Passkey) -> options::Known<'_> {
    options::Known {
        id: &passkey.credential,
        transports: &passkey.transports,
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn failed(failure: Failure) -> Refused {
    match failure {
        Failure::Malformed(why) => Refused::Malformed(why),
        Failure::Refused(why) => Refused::Unproven(why),
        Failure::NotVerified(why) => {
            tracing::error!("a passkey's signature could not be verified: {why}");
            Refused::Unproven("the host could not verify the signature".to_owned())
        }
    }
}
