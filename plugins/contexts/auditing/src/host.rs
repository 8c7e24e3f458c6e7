//! The real surroundings: the host's surfaces, and the other contexts.

use rialto_sdk::bindings::rialto::host::{clock, logging};
use rialto_sdk::messages::path_spelt_once;

use crate::bindings::rialto::auditing::audit_entry_quarantined;
use crate::bindings::rialto::host::audit_log::{self, Filter, Page};
use crate::bindings::rialto::host::auditing::{self, Entry};
use crate::bindings::rialto::logging::log_write::{self, Level};
use crate::bindings::rialto::security_authz::verify_signature::{self, Signed};
use crate::world::World;

/// The host.
pub struct Host;

rialto_sdk::stores_in_host!(Host);

impl World for Host {
    fn now(&mut self) -> u64 {
        clock::now()
    }

    fn verify(&mut self, signed: &Signed) -> Result<String, String> {
        verify_signature::verify_signature(signed)
    }

    fn write(&mut self, entry: &Entry) {
        auditing::write(entry);
    }

    fn search(&mut self, filter: &Filter, first: u64, limit: u32) -> Result<Page, String> {
        audit_log::search(filter, first, limit)
    }

    fn names(&mut self, subject: &str) {
        logging::person(subject);
        // A party as turns about it write it, and also without the word before it.
        let party = match subject.split_once(':') {
            Some(("party", id)) => Some(id),
            Some(_) => None,
            None => Some(subject).filter(|id| id.contains('/')),
        };
        if let Some(id) = party {
            logging::person(&format!("party:{}", path_spelt_once(id)));
        }
    }

    fn publish(&mut self, event: &audit_entry_quarantined::Event) {
        audit_entry_quarantined::audit_entry_quarantined(event);
    }

    fn warn(&mut self, about: &str, line: &str) {
        logging::log(logging::Level::Warn, line);
        log_write::log_write(&log_write::Event {
            context: "auditing".to_owned(),
            level: Level::Warn,
            message: line.to_owned(),
            about: about.to_owned(),
            trace: String::new(),
            at: clock::now(),
        });
    }
}
