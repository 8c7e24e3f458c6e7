//! Participants that have a key: what the host says about it is remembered, so that one whose key is
//! lost is not taken for one that never had any.

use crate::Component;
use crate::bindings::exports::rialto::host::signers_handler;
use crate::bindings::rialto::participant_lifecycle_management::get_participant_info::get_participant_info;
use crate::jws::memory::{Documents, Memory};
use rialto_sdk::bindings::rialto::host::clock;
use rialto_sdk::documents::HostStore;

/// Most characters of a participant's id.
const ID_MAX: usize = 32;

impl signers_handler::Guest for Component {
    fn signers_found(signers: Vec<String>) -> Vec<String> {
        let is_participant = |signer: &str| get_participant_info(signer).is_some();
        let memory = Documents::<HostStore>::default();
        found(signers, is_participant, &memory, clock::now())
    }
}

/// These have a key. Those of them that are participants are remembered; the others are answered.
fn found(
    signers: Vec<String>,
    is_participant: impl Fn(&str) -> bool,
    memory: &impl Memory,
    now: u64,
) -> Vec<String> {
    let (known, unknown): (Vec<_>, Vec<_>) = signers
        .into_iter()
        .partition(|signer| may_be_an_id(signer) && is_participant(signer));
    for signer in known {
        memory.note_key(&signer, now);
    }
    unknown
}

/// Whether a text can be a participant's id: a name of a file may be anything.
fn may_be_an_id(signer: &str) -> bool {
    (1..=ID_MAX).contains(&signer.chars().count()) && !signer.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn participants_with_a_key_are_remembered_and_others_are_told() {
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
        let remembered = ["payerfsp", "payerfps", "payeefsp"].map(|id| memory.has_had_key(id));
        assert_eq!(remembered, [true, false, true]);
    }
}
