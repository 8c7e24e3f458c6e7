//! The surroundings of one test: a token, the provider of it, and keys by software beside it.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cryptoki::object::{Attribute, ObjectClass, ObjectHandle};
use cryptoki::session::{Session, UserType};
use cryptoki::slot::Slot;
use cryptoki::types::AuthPin;
use rialto_keys::{Algorithm, Attributes, Keys, MasterKeys, NewKey, Provider, Software};
use rialto_pkcs11::{Configuration, PinSource, Pkcs11};

use crate::setup::{self, LABEL, PIN};

pub const OWNER: &str = "security-crypto";
pub const HSM: &str = "hsm";
pub const LOCAL: &str = "local";
pub const NOW: u64 = 1_800_000_000_000;
/// Longer than any call takes. Nothing waits for it.
const LONG: Duration = Duration::from_secs(600);

pub struct World {
    pub folder: PathBuf,
    module: PathBuf,
    shim: PathBuf,
}

/// What the token has, seen by sessions that are not the provider's.
pub struct Onlooker {
    pub module: cryptoki::context::Pkcs11,
    pub slot: Slot,
}

impl World {
    /// What the parent process prepared, with a new token.
    pub fn of_environment() -> Self {
        let of = |name: &str| PathBuf::from(std::env::var_os(name).unwrap());
        setup::init_token(LABEL);
        let world = Self {
            folder: of("RIALTO_TEST_FOLDER"),
            module: of("RIALTO_TEST_MODULE"),
            shim: of("RIALTO_TEST_SHIM"),
        };
        world.write_private("pin", &format!("{PIN}\n"));
        world
    }

    /// Write a file that only the host's user can access.
    pub fn write_private(&self, name: &str, text: &str) {
        let path = self.folder.join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    }

    /// SoftHSM as it is.
    pub fn softhsm(&self) -> Configuration {
        Configuration {
            module: self.module.clone(),
            token: LABEL.to_owned(),
            pin: PinSource::File(self.folder.join("pin")),
            sessions: 2,
            timeout: LONG,
            load_timeout: LONG,
        }
    }

    /// SoftHSM behind the module that fails on request.
    pub fn failing(&self) -> Configuration {
        Configuration {
            module: self.shim.clone(),
            ..self.softhsm()
        }
    }

    /// Ask the failing module for something.
    pub fn control(&self, name: &str, content: &str) {
        // Whole at once: the module may look at any time.
        let path = self.folder.join("control").join(name);
        let new = self.folder.join("new");
        std::fs::write(&new, content).unwrap();
        std::fs::rename(new, path).unwrap();
    }

    /// Ask for it no longer.
    pub fn release(&self, name: &str) {
        std::fs::remove_file(self.folder.join("control").join(name)).unwrap();
    }

    /// How many calls the failing module counted.
    pub fn counted(&self, name: &str) -> usize {
        let path = self.folder.join("control").join(name);
        std::fs::read(path).map_or(0, |bytes| bytes.len())
    }
}

impl Onlooker {
    pub fn new(configuration: &Configuration) -> Self {
        let module = cryptoki::context::Pkcs11::new(&configuration.module).unwrap();
        let slots = module.get_slots_with_initialized_token().unwrap();
        Self {
            slot: slots[0],
            module,
        }
    }

    /// A session of the user, who is logged in.
    pub fn session(&self) -> Session {
        let session = self.module.open_rw_session(self.slot).unwrap();
        // The provider may have logged the process in.
        let _already = session.login(UserType::User, Some(&AuthPin::from(PIN)));
        session
    }

    /// Objects that are no public keys.
    pub fn keys(&self) -> Vec<ObjectHandle> {
        let session = self.session();
        let of = |class| session.find_objects(&[Attribute::Class(class)]).unwrap();
        [of(ObjectClass::PRIVATE_KEY), of(ObjectClass::SECRET_KEY)].concat()
    }
}

pub fn open(configuration: Configuration) -> Arc<Pkcs11> {
    Arc::new(Pkcs11::open(configuration).unwrap())
}

/// Keys of a token and of software.
pub fn keys(token: &Arc<Pkcs11>) -> Keys {
    within_turns(token).outside_turns()
}

pub fn within_turns(token: &Arc<Pkcs11>) -> Keys {
    let masters = MasterKeys::of_bytes(&[9; 32]).unwrap();
    let (hsm, local): (Arc<dyn Provider>, Arc<dyn Provider>) = (token.clone(), Arc::new(Software));
    let providers = BTreeMap::from([(HSM.to_owned(), hsm), (LOCAL.to_owned(), local)]);
    Keys::new(masters, providers)
}

pub fn attributes(algorithm: Algorithm) -> Attributes {
    Attributes {
        label: format!("a key of {algorithm:?}"),
        purpose: algorithm.purpose(),
        algorithm,
        not_after: None,
    }
}

pub fn made(keys: &Keys, provider: &str, algorithm: Algorithm) -> NewKey {
    let made = keys.generate(OWNER, provider, &attributes(algorithm));
    made.unwrap_or_else(|error| panic!("{algorithm:?}: {error}"))
}
