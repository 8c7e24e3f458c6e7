//! The real surroundings: the host's surfaces.

use rialto_sdk::bindings::rialto::host::{clock, logging, random, scheduling};
use rialto_sdk::scheme::settings;

use crate::bindings::rialto::host::keys::{self, Algorithm, Attributes, KeyError, Purpose};
use crate::entries::{Entry, Level};
use crate::sealing::Use;
use crate::settings::Settings;
use crate::world::World;

/// The name of the one reminder.
const TRIM: &str = "trim";
/// Random bytes of an entry's id.
const RANDOM_BYTES: u32 = 6;

/// The kind of providers that are not called over a network or a bus.
const SOFTWARE: &str = "software";

/// The host.
pub struct Host;

rialto_sdk::stores_in_host!(Host);

impl World for Host {
    fn now(&mut self) -> u64 {
        clock::now()
    }

    fn random(&mut self) -> String {
        random::bytes(RANDOM_BYTES)
    }

    fn settings(&mut self) -> Settings {
        settings::<Settings>().clone()
    }

    fn remind(&mut self, due: u64) {
        scheduling::set_reminder(TRIM, due, "");
    }

    fn forward(&mut self, entry: &Entry) {
        logging::forward(&logging::ForeignLine {
            time: entry.at,
            level: match entry.level {
                Level::Debug => logging::Level::Debug,
                Level::Info => logging::Level::Info,
                Level::Warn => logging::Level::Warn,
                Level::Error => logging::Level::Error,
            },
            writer: entry.writer.clone(),
            message: entry.message.clone(),
            about: entry.about.clone(),
            trace: entry.trace.clone(),
        });
    }

    fn alert(&mut self, line: &str) {
        rialto_sdk::error!("ALERT: {line}");
    }

    fn generate(&mut self, r#use: Use) -> Result<String, KeyError> {
        let (label, purpose, algorithm) = match r#use {
            Use::Sign => ("signatures of the log", Purpose::Sign, Algorithm::Es256),
            Use::Encrypt => ("messages of the log", Purpose::Encrypt, Algorithm::A256Gcm),
        };
        let providers = keys::providers().into_iter();
        let able = providers.filter(|provider| provider.algorithms.contains(&algorithm));
        // A remote one would be called for each entry.
        let provider = able.min_by_key(|provider| provider.kind != SOFTWARE);
        let attributes = Attributes {
            label: label.to_owned(),
            purpose,
            algorithm,
            not_after: None,
        };
        let provider = provider.ok_or(KeyError::NoProvider)?;
        let key = keys::generate(&provider.name, &attributes)?;
        Ok(key.reference)
    }

    fn sign(&mut self, key: &str, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        keys::sign(key, message)
    }

    fn verify(&mut self, key: &str, message: &[u8], signature: &[u8]) -> Result<bool, KeyError> {
        keys::verify(key, message, signature)
    }

    fn encrypt(&mut self, key: &str, plain: &[u8], associated: &[u8]) -> Result<Vec<u8>, KeyError> {
        keys::encrypt(key, plain, associated)
    }

    fn decrypt(
        &mut self,
        key: &str,
        cipher: &[u8],
        associated: &[u8],
    ) -> Result<Vec<u8>, KeyError> {
        keys::decrypt(key, cipher, associated)
    }
}
