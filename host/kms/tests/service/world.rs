//! The surroundings of one test: credentials, a proxy, the provider, and keys by software beside it.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rialto_keys::{Algorithm, Attributes, KeyError, Keys, MasterKeys, NewKey, Provider, Software};
use rialto_kms::{Configuration, CredentialsSource, Kms};

use crate::proxy::Proxy;
use crate::server::{Access, Server};

pub const OWNER: &str = "security-crypto";
pub const CLOUD: &str = "cloud";
pub const LOCAL: &str = "local";
pub const NOW: u64 = 1_800_000_000_000;
pub const REGION: &str = "eu-central-1";
/// Longer than any call takes. Nothing waits for it.
pub const LONG: Duration = Duration::from_secs(600);

pub struct World {
    pub folder: tempfile::TempDir,
    pub proxy: Proxy,
    pub server: &'static Server,
}

impl World {
    pub fn new() -> Self {
        let server = Server::shared();
        let world = Self {
            folder: tempfile::tempdir().unwrap(),
            proxy: Proxy::of(server.port),
            server,
        };
        world.write_credentials(&server.user);
        world
    }

    /// Put other credentials into the file.
    pub fn write_credentials(&self, access: &Access) {
        let mut text = format!(
            "[default]\naws_access_key_id = {}\naws_secret_access_key = {}\n",
            access.id, access.secret
        );
        if let Some(token) = &access.token {
            text.push_str(&format!("aws_session_token = {token}\n"));
        }
        // Whole at once: the provider may read it at any time.
        let new = self.folder.path().join("new");
        std::fs::write(&new, text).unwrap();
        std::fs::set_permissions(&new, Permissions::from_mode(0o600)).unwrap();
        std::fs::rename(new, self.credentials()).unwrap();
    }

    pub fn credentials(&self) -> PathBuf {
        self.folder.path().join("credentials")
    }

    /// The server behind the proxy.
    pub fn configuration(&self) -> Configuration {
        Configuration {
            region: REGION.to_owned(),
            endpoint: Some(format!("http://127.0.0.1:{}", self.proxy.port)),
            ca: None,
            credentials: CredentialsSource::File(self.credentials()),
            calls: 4,
            timeout: LONG,
        }
    }

    pub fn open(&self) -> Arc<Kms> {
        open(self.configuration())
    }

    /// Keys of the server and of software.
    pub fn keys(&self) -> Keys {
        keys(&self.open())
    }
}

pub fn open(configuration: Configuration) -> Arc<Kms> {
    Arc::new(Kms::open(configuration).unwrap())
}

pub fn keys(kms: &Arc<Kms>) -> Keys {
    within_turns(kms).outside_turns()
}

pub fn within_turns(kms: &Arc<Kms>) -> Keys {
    let masters = MasterKeys::of_bytes(&[9; 32]).unwrap();
    let (cloud, local): (Arc<dyn Provider>, Arc<dyn Provider>) = (kms.clone(), Arc::new(Software));
    let providers = BTreeMap::from([(CLOUD.to_owned(), cloud), (LOCAL.to_owned(), local)]);
    Keys::new(masters, providers)
}

pub fn attributes(algorithm: Algorithm) -> Attributes {
    Attributes {
        label: format!("a key of {algorithm:?}, für Prüfung"),
        purpose: algorithm.purpose(),
        algorithm,
        not_after: None,
    }
}

pub fn made(keys: &Keys, provider: &str, algorithm: Algorithm) -> NewKey {
    let made = keys.generate(OWNER, provider, &attributes(algorithm));
    made.unwrap_or_else(|error| panic!("{algorithm:?}: {error}"))
}

/// Why the provider is away.
pub fn away<T: std::fmt::Debug>(outcome: Result<T, KeyError>) -> String {
    match outcome {
        Err(KeyError::ProviderAway(why)) => why,
        other => panic!("not away: {other:?}"),
    }
}

/// Wait for a condition.
pub fn until(condition: impl Fn() -> bool) {
    while !condition() {
        std::thread::yield_now();
    }
}
