//! The external ids of entries: UUIDs of version 5 of cause and step, so that an entry always has the same id
//! (choreography 18.4). They are not stored.

use uuid::Uuid;

/// The namespace of causes that are no UUIDs: version 5 of the URL `urn:rialto:ledger`.
const CAUSES: Uuid = Uuid::from_u128(0x2a13_7ed3_cae2_54ef_a62e_d925_15a9_acf3);

/// The id of the entry of a cause and a step; a cause that is a UUID is the namespace itself.
#[must_use]
pub fn journal_entry_id(cause: &str, step: &str) -> String {
    let namespace =
        Uuid::try_parse(cause).unwrap_or_else(|_| Uuid::new_v5(&CAUSES, cause.as_bytes()));
    Uuid::new_v5(&namespace, step.as_bytes())
        .hyphenated()
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_version_5_of_cause_and_step() {
        let url = Uuid::new_v5(&Uuid::NAMESPACE_URL, b"urn:rialto:ledger");
        assert_eq!(url, CAUSES, "{url}");
        let transfer = "11436b17-c690-4a30-8505-42a2c4eafb9d";
        let id = journal_entry_id(transfer, "prepare");
        assert_eq!(
            id, "b9125ad1-5b84-5a29-acdd-d178dee70153",
            "as others make it"
        );
        assert_eq!(id, journal_entry_id(transfer, "prepare"));
        assert_ne!(id, journal_entry_id(transfer, "fulfil"));
        assert_ne!(id, journal_entry_id("opening-liquidity:a:USD", "prepare"));
    }
}
