//! Entries of the audit log. Most are about payments and names of participants, and stay readable for ever. Encrypted are a
//! note and details that name one of the turn's people, and digests of what may have named them; a person that the entry is
//! about becomes a pseudonym.
//!
//! An entry's bytes are what is hashed, and they stay. So what was encrypted is shown beside the entry.

use data_encoding::BASE64;
use percent_encoding::percent_decode_str;
use rialto_audit::Entry;
use rialto_engine::store::AuditEntry;
use rialto_personal_data::People;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{HostPeople, Named, TAKEN_AWAY, opened_text};

/// An id with fewer letters and digits is searched as a whole word.
const SHORT: usize = 6;
/// The end of the names of the host's digests: `bodySha256`.
const DIGEST: &str = "Sha256";
/// What is encrypted is of an entry.
const KIND: &str = "entry";

/// What is encrypted of an entry.
#[derive(Default, Serialize, Deserialize)]
struct Hidden {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    about: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    note: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    details: Option<Value>,
}

impl HostPeople {
    pub(super) fn seal_entry(&self, named: &Named, stored: &mut AuditEntry) {
        // The host has made it; one that it cannot read has no place in the log.
        let Ok(mut entry) = serde_json::from_str::<Entry>(&stored.body) else {
            return;
        };
        let mut hidden = Hidden::default();
        if let Some(pseudonym) = self.people.pseudonym(&entry.about) {
            hidden.about = std::mem::replace(&mut entry.about, pseudonym);
        } else if named.stands_in(&entry.about) {
            hidden.about = std::mem::take(&mut entry.about);
        }
        if named.stands_in(&entry.note) {
            hidden.note = std::mem::take(&mut entry.note);
        }
        let details = entry.details.take();
        if details
            .as_ref()
            .is_some_and(|value| named.stands_in_value(value))
        {
            hidden.details = details;
        } else {
            entry.details = details;
            hidden.details = entry.details.as_mut().and_then(without_digests);
        }
        let is_nothing =
            hidden.about.is_empty() && hidden.note.is_empty() && hidden.details.is_none();
        if is_nothing {
            return;
        }
        let plain = serde_json::to_vec(&hidden).ok();
        let sealed = plain.and_then(|plain| self.sealed(named, KIND, &plain));
        entry.sealed = sealed.map_or_else(|| TAKEN_AWAY.to_owned(), |bytes| BASE64.encode(&bytes));
        if let Ok(body) = serde_json::to_string(&entry) {
            stored.body = body.into();
        }
    }
}

/// Remove the digests from details, and return the whole details; none if they have no digest. Whoever guesses a name could
/// confirm it by the digest of what named it.
fn without_digests(details: &mut Value) -> Option<Value> {
    let whole = details.clone();
    let members = details.as_object_mut()?;
    let count = members.len();
    members.retain(|name, _| !name.ends_with(DIGEST));
    (members.len() < count).then_some(whole)
}

/// An entry as people read it; none if nothing in it is encrypted, or its keys are not there.
pub(super) fn open(people: &People, body: &str) -> Option<String> {
    if !body.contains("\"sealed\":") {
        return None;
    }
    let mut entry: Entry = serde_json::from_str(body).ok()?;
    let hidden = opened_text(people, KIND, &entry.sealed)?;
    let hidden: Hidden = serde_json::from_str(&hidden).ok()?;
    entry.sealed.clear();
    if !hidden.about.is_empty() {
        entry.about = hidden.about;
    }
    if !hidden.note.is_empty() {
        entry.note = hidden.note;
    }
    entry.details = hidden.details.or(entry.details);
    serde_json::to_string(&entry).ok()
}

impl Named {
    /// Whether the id of one of the people stands in a text, written in any case, with escapes of a URL or without, and
    /// whatever is between its letters and digits. It may say so of a text that means something else: more is encrypted
    /// then. A short id must be a whole word there: otherwise nearly every text would have it, and whoever names a person so
    /// could have the others' entries destroyed.
    fn stands_in(&self, text: &str) -> bool {
        let whole = core(text);
        self.names.iter().any(|name| {
            let id = identifier(name);
            match core(id) {
                core if core.is_empty() => !id.is_empty() && text.contains(id),
                core if core.chars().count() < SHORT => words(text).any(|word| word == core),
                core => whole.contains(&core),
            }
        })
    }

    /// Whether the name of a member has the id of one of the people. Names without a digit are words of components, such as
    /// `amount`.
    fn is_key(&self, name: &str) -> bool {
        name.contains(|c: char| c.is_ascii_digit() || c == '@') && self.stands_in(name)
    }

    fn stands_in_value(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.stands_in(text),
            Value::Number(number) => self.stands_in(&number.to_string()),
            Value::Array(items) => items.iter().any(|item| self.stands_in_value(item)),
            Value::Object(members) => members
                .iter()
                .any(|(name, value)| self.is_key(name) || self.stands_in_value(value)),
            Value::Null | Value::Bool(_) => false,
        }
    }
}

/// The part of a name that is the person's own: `123` of `party:MSISDN/123/home`.
fn identifier(name: &str) -> &str {
    let id = name.split_once(':').map_or(name, |(_, id)| id);
    let mut parts = id.split('/');
    let first = parts.next().unwrap_or_default();
    parts.next().unwrap_or(first)
}

/// The words of a text, as `core` has them.
fn words(text: &str) -> impl Iterator<Item = String> {
    let decoded = percent_decode_str(text).decode_utf8_lossy().into_owned();
    let words = decoded.split(|c: char| !c.is_alphanumeric());
    let words: Vec<String> = words.map(core).filter(|word| !word.is_empty()).collect();
    words.into_iter()
}

/// The letters and digits of a text in lower case, without the escapes of a URL.
fn core(text: &str) -> String {
    let decoded = percent_decode_str(text).decode_utf8_lossy();
    let letters = decoded.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}
