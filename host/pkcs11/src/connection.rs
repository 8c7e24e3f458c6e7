//! Sessions of a token: opened when they are needed, logged in, and opened again once when they are lost.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use cryptoki::error::{Error, RvError};
use cryptoki::object::ObjectHandle;
use cryptoki::session::{Session, UserType};
use cryptoki::slot::Slot;
use cryptoki::types::AuthPin;
use parking_lot::Mutex;
use rialto_keys::{Algorithm, KeyError};

use crate::failure::Failure;
use crate::material::Id;
use crate::mechanisms;
use crate::module::Module;

/// A token of a module, which all sessions share.
pub(crate) struct Token {
    pub(crate) module: Module,
    /// Its label or its serial number.
    name: String,
    pin: AuthPin,
    /// Why the PIN is not tried again.
    refused: Mutex<Option<String>>,
    /// What the token said of itself when a session was opened last.
    known: Mutex<Option<Known>>,
    /// How many keys were destroyed. Sessions then forget their handles, because a token may use a handle again.
    destroyed: AtomicU64,
}

/// What a token says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) serial: String,
    pub(crate) label: String,
    pub(crate) algorithms: Vec<Algorithm>,
}

impl Token {
    pub(crate) fn new(module: Module, name: String, pin: AuthPin) -> Self {
        Self {
            module,
            name,
            pin,
            refused: Mutex::default(),
            known: Mutex::default(),
            destroyed: AtomicU64::new(0),
        }
    }

    pub(crate) fn known(&self) -> Option<Known> {
        self.known.lock().clone()
    }

    /// Let all sessions forget their handles.
    pub(crate) fn forget_handles(&self) {
        self.destroyed.fetch_add(1, Ordering::AcqRel);
    }

    /// The slot of the token, with its serial number and label.
    fn slot(&self) -> Result<(Slot, String, String), Failure> {
        let mut found = None;
        for slot in self.module.context.get_slots_with_token()? {
            let info = self.module.context.get_token_info(slot)?;
            let (label, serial) = (info.label().trim(), info.serial_number().trim());
            if label != self.name && serial != self.name {
                continue;
            }
            if found.is_some() {
                let why = format!(
                    "the module has two tokens named `{}`: name its serial number",
                    self.name
                );
                return Err(KeyError::ProviderAway(why).into());
            }
            found = Some((slot, serial.to_owned(), label.to_owned()));
        }
        found.ok_or_else(|| {
            let why = format!(
                "the module has no token with the label or serial number `{}`",
                self.name
            );
            KeyError::ProviderAway(why).into()
        })
    }

    /// Log a session in. A PIN that the token refuses is never tried again, because tokens count wrong PINs and lock.
    fn log_in(&self, session: &Session) -> Result<(), Failure> {
        let mut refused = self.refused.lock();
        let away = |why: &str| {
            KeyError::ProviderAway(format!(
                "the token `{}` refused the PIN ({why}), which is not tried again: correct it and restart the host",
                self.name
            ))
        };
        if let Some(why) = &*refused {
            return Err(away(why).into());
        }
        match session.login(UserType::User, Some(&self.pin)) {
            // The login is that of the process: another session did it.
            Ok(()) | Err(Error::Pkcs11(RvError::UserAlreadyLoggedIn, _)) => Ok(()),
            Err(Error::Pkcs11(
                code @ (RvError::PinIncorrect
                | RvError::PinInvalid
                | RvError::PinLenRange
                | RvError::PinExpired
                | RvError::PinLocked
                | RvError::UserPinNotInitialized),
                _,
            )) => {
                let why = format!("{code:?}");
                tracing::error!(token = self.name, why, "the token refused the PIN");
                let error = away(&why);
                *refused = Some(why);
                Err(error.into())
            }
            Err(other) => Err(other.into()),
        }
    }

    fn connect(&self) -> Result<Live, Failure> {
        let (slot, serial, label) = self.slot()?;
        let session = self.module.context.open_rw_session(slot)?;
        self.log_in(&session)?;
        let algorithms = mechanisms::supported(&self.module.context, slot, &session)?;
        let known = Known {
            serial,
            label,
            algorithms,
        };
        *self.known.lock() = Some(known.clone());
        Ok(Live {
            session,
            known,
            handles: HashMap::new(),
            destroyed: self.destroyed.load(Ordering::Acquire),
        })
    }
}

/// An open session that is logged in.
pub(crate) struct Live {
    pub(crate) session: Session,
    pub(crate) known: Known,
    /// Handles of keys that were found.
    pub(crate) handles: HashMap<Id, ObjectHandle>,
    destroyed: u64,
}

/// Which attempt of a piece of work it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    First,
    /// After the session of the first one was lost: what it should change may have happened.
    Second,
}

/// The session of one thread.
pub(crate) struct Connection {
    pub(crate) token: std::sync::Arc<Token>,
    live: Option<Live>,
}

impl Connection {
    pub(crate) const fn new(token: std::sync::Arc<Token>) -> Self {
        Self { token, live: None }
    }

    /// Do a piece of work in a session. If the session is lost it is done once more in a new one.
    pub(crate) fn attempt<T>(
        &mut self,
        mut work: impl FnMut(&mut Live, Attempt) -> Result<T, Failure>,
    ) -> Result<T, KeyError> {
        let first = self.once(Attempt::First, &mut work);
        let outcome = match first {
            Err(Failure::Lost(why)) => {
                tracing::warn!(why, "a session of the token was lost, and is opened again");
                self.once(Attempt::Second, &mut work)
            }
            other => other,
        };
        outcome.map_err(|failure| match failure {
            Failure::Answer(error) => error,
            Failure::Lost(why) | Failure::Code(_, why) => KeyError::ProviderAway(why),
        })
    }

    /// Close the session, whose state is not known.
    pub(crate) fn close(&mut self) {
        self.live = None;
    }

    fn once<T>(
        &mut self,
        attempt: Attempt,
        work: &mut impl FnMut(&mut Live, Attempt) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let live = match &mut self.live {
            Some(live) => live,
            closed => closed.insert(self.token.connect()?),
        };
        let destroyed = self.token.destroyed.load(Ordering::Acquire);
        if live.destroyed != destroyed {
            live.handles.clear();
            live.destroyed = destroyed;
        }
        let outcome = work(live, attempt);
        // After a code that nobody explained an operation may be unfinished.
        if matches!(outcome, Err(Failure::Lost(_) | Failure::Code(..))) {
            self.close();
        }
        outcome
    }
}
