//! The provider: what a token does for the host.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rialto_keys::{
    Algorithm, Attributes, Key, KeyError, Made, OnlyUnwraps, Provider, Purpose, Unwrapping,
};

use crate::configuration::{Configuration, OpenError};
use crate::connection::Token;
use crate::key::TokenKey;
use crate::load::Unwrapper;
use crate::material::{Found, hex, new_id};
use crate::pool::Pool;
use crate::{generate, load, module, objects};

/// Its kind in the operator's document.
pub const KIND: &str = "pkcs11";
/// How many times as long as a usual call the generation of an RSA key pair may last. A token looks for primes, which
/// takes seconds, and sometimes many.
const RSA_PAIR_TIMES: u32 = 10;

/// A token as a provider of keys.
pub struct Pkcs11 {
    configuration: Configuration,
    token: Arc<Token>,
    pool: Arc<Pool>,
    is_closed: AtomicBool,
}

impl fmt::Debug for Pkcs11 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pkcs11").field(&self.configuration).finish()
    }
}

/// A token that answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenView {
    /// Its label.
    pub label: String,
    /// Its serial number.
    pub serial: String,
    /// The algorithms that it supports.
    pub algorithms: Vec<Algorithm>,
}

impl Pkcs11 {
    /// Load the module and read the PIN. The token is not asked yet, and may be away.
    ///
    /// # Errors
    /// When the module cannot be loaded, the PIN cannot be read, or no thread can be started.
    pub fn open(configuration: Configuration) -> Result<Self, OpenError> {
        let pin = configuration.pin.read()?;
        let module = module::load(&configuration.module, configuration.load_timeout)?;
        let token = Arc::new(Token::new(module, configuration.token.clone(), pin));
        let pool = Pool::start(&token, configuration.sessions, configuration.timeout);
        Ok(Self {
            pool: Arc::new(pool.map_err(OpenError::Thread)?),
            token,
            configuration,
            is_closed: AtomicBool::new(false),
        })
    }

    /// How many sessions wait for calls whose callers have gone. While it is all of them, calls fail at once.
    #[must_use]
    pub fn stuck(&self) -> usize {
        self.pool.stuck()
    }

    /// Log in to the token and ask what it supports.
    ///
    /// # Errors
    /// When the token is not there, refuses the PIN, or does not answer.
    pub fn check(&self) -> Result<TokenView, KeyError> {
        self.pool.call(|connection| {
            connection.attempt(|live, _| {
                // A session of before does not prove that the token is still there.
                live.session.get_session_info()?;
                Ok(TokenView {
                    label: live.known.label.clone(),
                    serial: live.known.serial.clone(),
                    algorithms: live.known.algorithms.clone(),
                })
            })
        })
    }
}

impl Provider for Pkcs11 {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn algorithms(&self) -> Vec<Algorithm> {
        let known = self.token.known();
        known.map(|known| known.algorithms).unwrap_or_default()
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn calls_at_once(&self) -> usize {
        self.configuration.sessions
    }

    fn timeout(&self) -> Duration {
        self.configuration.timeout
    }

    fn generate(&self, attributes: &Attributes) -> Result<Made, KeyError> {
        refuse_pins(attributes)?;
        let (attributes, id) = (attributes.clone(), new_id()?);
        let times = generation_times(attributes.algorithm);
        let found = self.pool.call_or_undo(
            times,
            move |connection| generate::generate(connection, &attributes, id),
            |connection, found| objects::discard(connection, &found.id),
        )?;
        made(found)
    }

    fn load(
        &self,
        attributes: &Attributes,
        unwraps: Unwrapping<'_>,
        wrapped: &[u8],
    ) -> Result<Made, KeyError> {
        refuse_pins(attributes)?;
        if unwraps.attributes.purpose != Purpose::Unwrap {
            return Err(KeyError::WrongPurpose);
        }
        let unwraps = Unwrapper {
            found: Found::decode(unwraps.material)?,
            algorithm: unwraps.attributes.algorithm,
        };
        let (attributes, wrapped, id) = (attributes.clone(), wrapped.to_vec(), new_id()?);
        let found = self.pool.call_or_undo(
            1,
            move |connection| load::load(connection, &attributes, &unwraps, &wrapped, id),
            |connection, found| objects::discard(connection, &found.id),
        )?;
        made(found)
    }

    /// It asks the token nothing: a key that is gone is noticed when it is used.
    fn open(&self, attributes: &Attributes, material: &[u8]) -> Result<Box<dyn Key>, KeyError> {
        refuse_pins(attributes)?;
        let found = Found::decode(material)?;
        if attributes.purpose == Purpose::Unwrap {
            return Ok(Box::new(OnlyUnwraps));
        }
        let key = TokenKey::new(self.pool.clone(), attributes.algorithm, found)?;
        Ok(Box::new(key))
    }

    fn destroy(&self, material: &[u8]) -> Result<(), KeyError> {
        let found = Found::decode(material)?;
        self.pool
            .call(move |connection| objects::destroy(connection, &found))
    }

    /// The key's id on its token.
    fn name_of(&self, material: &[u8]) -> Option<String> {
        let Found { id, serial, .. } = Found::decode(material).ok()?;
        Some(format!("CKA_ID {} in the token {serial}", hex(&id)))
    }

    fn public_key(&self, _attributes: &Attributes, material: &[u8]) -> Option<Vec<u8>> {
        let public_key = Found::decode(material).ok()?.public_key;
        (!public_key.is_empty()).then_some(public_key)
    }

    /// The sessions are closed. The module is finalized if no thread is inside it.
    fn close(&self, deadline: Instant) -> Result<(), KeyError> {
        let inside = self.pool.close(deadline);
        if inside > 0 {
            let why = format!(
                "{inside} calls of the module have not returned, so that it is not finalized"
            );
            return Err(KeyError::ProviderAway(why));
        }
        if self.is_closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let closed = self.token.module.close(deadline);
        closed.map_err(KeyError::ProviderAway)
    }
}

/// How many times as long as a usual call the generation of such a key may last.
const fn generation_times(algorithm: Algorithm) -> u32 {
    match algorithm {
        Algorithm::Rs256 | Algorithm::RsaOaep256Kwp => RSA_PAIR_TIMES,
        Algorithm::Es256
        | Algorithm::Es384
        | Algorithm::Hs256
        | Algorithm::A256Gcm
        | Algorithm::A256Kwp
        | Algorithm::PinTdes
        | Algorithm::PinAes => 1,
    }
}

fn made(found: Found) -> Result<Made, KeyError> {
    let has_pair = !found.public_key.is_empty();
    Ok(Made {
        material: found.encode()?,
        public_key: has_pair.then_some(found.public_key),
    })
}

/// PKCS #11 has no translation of PIN blocks, and a clear PIN must not leave the token.
fn refuse_pins(attributes: &Attributes) -> Result<(), KeyError> {
    if attributes.purpose == Purpose::Pin {
        let why = "a PKCS #11 token translates no PIN blocks: keep keys of PIN zones in a provider of the kind `software`";
        return Err(KeyError::Unsupported(why.to_owned()));
    }
    Ok(())
}
