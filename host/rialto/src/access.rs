//! Who sends a request: an operator, by a token in a file, a personal token, or a session.
//!
//! A session or a personal token is for an operator, a person and a subject. It holds while `rialto.toml` says the same
//! of the operator. Its roles are at most those that the operator has there now.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use rialto_engine::store::StoreError;
use rialto_engine::{Clock, Entropy, Timestamp};
use rialto_manifest::operator::Role;
use rialto_store::{Credential, CredentialKind, HostStore};
use tokio::sync::watch;

use crate::credentials::{Credentials, GivenFor, Made, NotMade, TOKEN_PREFIX, Wanted};
use crate::operators::{Caller, Expiring, Operators, Shown};

/// The time between two removals of expired credentials.
const REMOVAL: Duration = Duration::from_secs(60);

/// The operators, their sessions and their personal tokens.
pub struct Access {
    operators: Operators,
    credentials: Credentials,
    clock: Arc<dyn Clock>,
    /// The ones that were removed at the start, because `rialto.toml` says something else of their operators.
    void: Vec<Arc<Credential>>,
}

impl Access {
    /// Read the sessions and personal tokens of the store. Those of operators who are gone from `rialto.toml`, or who are
    /// somebody else there, are removed for good.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub fn open(
        operators: Operators,
        store: Arc<dyn HostStore>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> anyhow::Result<Self> {
        let credentials = Credentials::open(store, clock.clone(), entropy);
        let credentials = credentials.context("reading sessions and personal tokens")?;
        let mut void = credentials.all();
        void.retain(|credential| {
            // A session that the store has was given for a sign-in.
            let is_nobodys =
                credential.kind == CredentialKind::Session && credential.subject.is_none();
            is_nobodys || caller(&operators, credential, GivenFor::SignIn).is_none()
        });
        let removed = void.iter().try_for_each(|one| credentials.end(one));
        removed.context("removing sessions and personal tokens")?;
        Ok(Self {
            operators,
            credentials,
            clock,
            void,
        })
    }

    /// The operators of `rialto.toml`.
    #[must_use]
    pub const fn operators(&self) -> &Operators {
        &self.operators
    }

    /// The sessions and personal tokens that were removed at the start.
    #[must_use]
    pub fn void(&self) -> &[Arc<Credential>] {
        &self.void
    }

    /// Now.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Fill with random bytes.
    pub fn fill(&self, bytes: &mut [u8]) {
        self.credentials.fill(bytes);
    }

    /// The operator of a value of `Authorization` (`Bearer …`): a token in a file, or a personal one.
    #[must_use]
    pub fn caller_of(&self, authorization: Option<&str>) -> Option<Caller> {
        let bearer = authorization.and_then(|value| value.strip_prefix("Bearer "));
        match bearer.filter(|given| given.starts_with(TOKEN_PREFIX)) {
            Some(given) => {
                let token = self.credentials.token(given)?;
                self.caller(&token)
            }
            None => self.operators.caller_of(authorization),
        }
    }

    /// The operator of a session.
    #[must_use]
    pub fn caller_of_session(&self, secret: &str) -> Option<Caller> {
        let session = self.credentials.session(secret)?;
        self.caller(&session)
    }

    /// The operator of a session or a personal token, with the roles that it has now.
    #[must_use]
    pub fn caller(&self, credential: &Credential) -> Option<Caller> {
        let given_for = self.credentials.given_for(credential)?;
        caller(&self.operators, credential, given_for)
    }

    /// All sessions and personal tokens, the oldest first.
    #[must_use]
    pub fn credentials(&self) -> Vec<Arc<Credential>> {
        self.credentials.all()
    }

    /// The session or personal token of this public name.
    #[must_use]
    pub fn credential(&self, id: &str) -> Option<Arc<Credential>> {
        self.credentials.named(id)
    }

    /// Make a session or a personal token for an operator. Returns it with its secret, which is nowhere else.
    ///
    /// # Errors
    /// When the operator has too many tokens, or the store cannot be written. Then there is none.
    pub fn make(
        &self,
        kind: CredentialKind,
        whose: &Caller,
        label: &str,
        roles: Option<&BTreeSet<Role>>,
        expires: Timestamp,
    ) -> Result<Made, NotMade> {
        let listed = self.operators.named(&whose.name);
        let subject = listed.and_then(|(_, subject)| subject);
        let names = |roles: &BTreeSet<Role>| roles.iter().map(|r| r.name().to_owned()).collect();
        self.credentials.make(&Wanted {
            kind,
            operator: &whose.name,
            person: &whose.person,
            subject: subject.map(|subject| &**subject),
            label,
            roles: roles.map(names),
            expires,
        })
    }

    /// Give a session for the token that the caller has shown. It has the token's roles, and ends with it. Only memory has it.
    ///
    /// # Errors
    /// When the token has ended, or an older session cannot be ended.
    pub fn exchange(&self, whose: &Caller, expires: Timestamp) -> Result<Made, NotMade> {
        let names = || whose.roles.iter().map(|role| role.name().to_owned());
        let (given_for, label, roles, expires) = match &whose.shown {
            Shown::Token(token) => (
                GivenFor::PersonalToken(token.id.clone()),
                format!("for the token {}", token.id),
                Some(names().collect()),
                expires.min(token.expires),
            ),
            Shown::File | Shown::Session(_) => (
                GivenFor::FileToken,
                "for the token in a file".to_owned(),
                None,
                expires,
            ),
        };
        let listed = self.operators.named(&whose.name);
        let subject = listed.and_then(|(_, subject)| subject);
        let wanted = Wanted {
            kind: CredentialKind::Session,
            operator: &whose.name,
            person: &whose.person,
            subject: subject.map(|subject| &**subject),
            label: &label,
            roles,
            expires,
        };
        self.credentials.make_for(&wanted, given_for)
    }

    /// End a session or a personal token, with the sessions that were given for it.
    ///
    /// # Errors
    /// When the store cannot be written: then it is back after a restart.
    pub fn end(&self, credential: &Credential) -> Result<(), StoreError> {
        self.credentials.end(credential)
    }

    /// Remove expired sessions and tokens from time to time, until told to stop.
    pub async fn follow(self: Arc<Self>, mut stop: watch::Receiver<bool>) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(REMOVAL) => {}
                _ = stop.wait_for(|stop| *stop) => return,
            }
            let access = self.clone();
            let remove = move || access.credentials.remove_expired();
            if let Ok(Err(error)) = tokio::task::spawn_blocking(remove).await {
                tracing::warn!(%error, "expired sessions and personal tokens stay in the store");
            }
        }
    }
}

/// The operator of a session or a personal token; none if `rialto.toml` says something else than when it was made.
fn caller(operators: &Operators, credential: &Credential, given_for: GivenFor) -> Option<Caller> {
    let (listed, subject) = operators.named(&credential.operator)?;
    let is_same = *listed.person == *credential.person
        && subject.map(|subject| &**subject) == credential.subject.as_deref();
    if !is_same {
        return None;
    }
    let expiring = Expiring {
        id: credential.id.as_str().into(),
        expires: credential.expires,
        is_of_token: credential.kind == CredentialKind::Token
            || matches!(given_for, GivenFor::PersonalToken(_)),
    };
    let has = |role: &Role| match &credential.roles {
        None => true,
        Some(roles) => roles.iter().any(|name| name == role.name()),
    };
    Some(Caller {
        roles: listed.roles.iter().copied().filter(has).collect(),
        shown: match credential.kind {
            CredentialKind::Session => Shown::Session(expiring),
            CredentialKind::Token => Shown::Token(expiring),
        },
        ..listed.clone()
    })
}
