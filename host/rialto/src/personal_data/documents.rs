//! Documents in archives. Their component says whom they name, and such a document is encrypted as a whole.

use data_encoding::BASE64;
use rialto_store_sqlite::retention::{DocumentCipher, Sealing};

use super::{HostPeople, opened_text};

/// What is encrypted is a document.
pub(super) const KIND: &str = "document";

impl DocumentCipher for HostPeople {
    fn seal(&self, people: &[String], document: &str) -> Sealing {
        let leaves = people.iter().filter_map(|name| self.people.leaf(name));
        let leaves: Vec<_> = leaves.collect();
        if leaves.is_empty() {
            return Sealing::Plain;
        }
        let sealed = self.people.seal(&leaves, KIND, document.as_bytes());
        sealed.map_or(Sealing::NotNow, |sealed| {
            Sealing::Encrypted(BASE64.encode(&sealed))
        })
    }

    fn open(&self, sealed: &str) -> Option<String> {
        opened_text(&self.people, KIND, sealed)
    }
}
