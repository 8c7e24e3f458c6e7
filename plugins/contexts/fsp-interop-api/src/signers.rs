//! Key owners: remembers the host's reports, so that a participant whose key is lost still has to sign. Owners
//! that are not participants are remembered too: a key may be added before its participant, and be lost before
//! the first message. Also logs names in settings that are not participants'.

use crate::Component;
use crate::bindings::exports::rialto::host::signers_handler;
use crate::bindings::rialto::participant_lifecycle_management::get_participant_info::get_participant_info;
use crate::jws::memory::{Documents, Memory};
use crate::settings::Settings;
use rialto_sdk::bindings::rialto::host::clock;
use rialto_sdk::documents::HostStore;
use rialto_sdk::scheme;
use rialto_sdk::settings::Problems;
use rialto_sdk::warn;
use std::collections::BTreeSet;

/// Most characters of a participant's id.
const ID_MAX: usize = 32;
/// Participants of the scheme's document per page.
const ASKED_AT_ONCE: u32 = 1_000;
/// The most names in one line of the log.
const NAMES_TOLD: usize = 10;

impl signers_handler::Guest for Component {
    fn signers_found(signers: Vec<String>) -> Vec<String> {
        let is_participant = |signer: &str| get_participant_info(signer).is_some();
        let memory = Documents::<HostStore>::default();
        found(signers, is_participant, &memory, clock::now())
    }
}

/// Remembers all key owners whose names may be a participant's. Returns those that are not participants.
fn found(
    signers: Vec<String>,
    is_participant: impl Fn(&str) -> bool,
    memory: &impl Memory,
    now: u64,
) -> Vec<String> {
    let is_unknown = |signer: &String| {
        if !may_be_an_id(signer) {
            return true;
        }
        memory.note_key(signer, now);
        !is_participant(signer)
    };
    signers.into_iter().filter(is_unknown).collect()
}

/// Checks settings. Logs names that are not in the scheme's document, which may be misspelt. That is no
/// problem, since operators add participants too.
pub fn judge(settings: &Settings, problems: &mut Problems) {
    settings.judge(problems);
    let ids = |first| -> Vec<String> {
        let page = scheme::participants(first, ASKED_AT_ONCE);
        page.into_iter().map(|participant| participant.id).collect()
    };
    let strangers = strangers_named(settings, ids);
    if !strangers.is_empty() {
        warn!("{}", told(&strangers));
    }
}

/// Names in settings that are not in the scheme's document. `ids` returns the document's ids from an index on;
/// none after the end.
fn strangers_named(settings: &Settings, ids: impl Fn(u32) -> Vec<String>) -> BTreeSet<&str> {
    let named = settings.signatures.participants.keys();
    let mut strangers: BTreeSet<&str> = named.map(String::as_str).collect();
    let mut first = 0;
    while !strangers.is_empty() {
        let page = ids(first);
        let Some(next) = u32::try_from(page.len())
            .ok()
            .filter(|length| *length > 0)
            .and_then(|length| first.checked_add(length))
        else {
            break;
        };
        for id in &page {
            strangers.remove(id.as_str());
        }
        first = next;
    }
    strangers
}

/// The log line about such names.
fn told(strangers: &BTreeSet<&str>) -> String {
    let names: Vec<String> = strangers
        .iter()
        .take(NAMES_TOLD)
        .map(|name| format!("{name:?}"))
        .collect();
    let names = names.join(", ");
    let more = match strangers.len().saturating_sub(NAMES_TOLD) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "signatures.participants names {names}{more}, but scheme.toml has no such participant; an entry has no effect until operators add a participant of that name"
    )
}

/// Whether a text can be a participant's id: a file may have any name.
fn may_be_an_id(signer: &str) -> bool {
    (1..=ID_MAX).contains(&signer.chars().count()) && !signer.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Required;

    #[test]
    fn key_owners_are_remembered_and_unknown_ones_reported() {
        let memory = Documents::<rialto_sdk::documents::Memory>::default();
        let long = "a".repeat(33);
        let signers = ["payerfsp", "payerfps", "payeefsp", &long, "a\nb", ""];
        let unknown = found(
            signers.map(str::to_owned).into(),
            |signer| {
                assert!(may_be_an_id(signer), "{signer:?}");
                signer.ends_with("fsp")
            },
            &memory,
            5,
        );
        assert_eq!(unknown, ["payerfps", &long, "a\nb", ""]);
        let ids = ["payerfsp", "payerfps", "payeefsp", &long, "otherfsp"];
        let remembered = ids.map(|id| memory.has_had_key(id));
        assert_eq!(remembered, [true, true, true, false, false]);
    }

    #[test]
    fn lost_key_of_a_later_participant_is_missed() {
        let memory = Documents::<rialto_sdk::documents::Memory>::default();
        let newfsp = || vec!["newfsp".to_owned()];
        assert_eq!(found(newfsp(), |_| false, &memory, 5), newfsp());
        // It is added, and its key is removed before the host asks again.
        assert!(memory.has_had_key("newfsp"));
        assert_eq!(found(newfsp(), |_| true, &memory, 7), [""; 0]);
        let stored: Vec<String> = memory.0.borrow().0.values().cloned().collect();
        assert_eq!(stored, [r#"{"since":5}"#]);
    }

    #[test]
    fn unknown_participant_in_signature_settings_is_reported() {
        let named = |names: &[&str]| {
            let mut settings = Settings::default();
            let names = names
                .iter()
                .map(|name| ((*name).to_owned(), Required::None));
            settings.signatures.participants = names.collect();
            settings
        };
        let all: Vec<String> = (0..2_500).map(|n| format!("fsp{n}")).collect();
        let ids = |first: u32| {
            let from = usize::try_from(first).unwrap().min(all.len());
            all[from..all.len().min(from + 1_000)].to_vec()
        };
        let strangers = |names: &[&str]| -> Vec<String> {
            let settings = named(names);
            let strangers = strangers_named(&settings, ids);
            strangers.into_iter().map(str::to_owned).collect()
        };
        assert_eq!(strangers(&["fsp0", "fsp999", "fsp2499"]), [""; 0]);
        let unknown = ["fps1", "fsp2500"];
        assert_eq!(strangers(&["fsp1", unknown[0], unknown[1]]), unknown);
        // Nobody is asked for when nobody is named.
        let nobody = Settings::default();
        let none = strangers_named(&nobody, |_| panic!("nobody is named"));
        assert!(none.is_empty());
    }

    #[test]
    fn a_line_names_some_and_counts_the_others() {
        let two = told(&BTreeSet::from(["a\nb", "fps1"]));
        let begins = "signatures.participants names \"a\\nb\", \"fps1\", but scheme.toml has no such participant";
        assert!(two.starts_with(begins), "{two}");
        let many: Vec<String> = (0..12).map(|n| format!("fps{n:02}")).collect();
        let many = told(&many.iter().map(String::as_str).collect());
        assert!(many.contains("\"fps09\" and 2 more, but"), "{many}");
    }
}
