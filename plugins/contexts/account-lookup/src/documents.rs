//! Documents about parties: their FSPs. Waiting queries are in `waiting`.

use rialto_sdk::bindings::rialto::common::types::PartyId;
use rialto_sdk::canonical::sha256_hex;
use rialto_sdk::documents::Collection;
use rialto_sdk::messages::{PartyDocument, spelt_once};
use serde::{Deserialize, Serialize};

/// Longest key that is a party's path in plain text, in bytes. The host's ids have at most 256 bytes, and a
/// waiting query's id has an FSP's id beside the key: 32 characters, at most 128 bytes.
const PLAIN_KEY_MAX: usize = 120;

/// The id of all documents about a party: its path, with each `/` of an identifier escaped, or a hash if that
/// is long. Two parties never share an id. All spellings of a party have the same id, so `123` and `+123` are
/// one party.
#[must_use]
pub fn party_key(party: &PartyId) -> String {
    let identifier = spelt_once(&party.id_type, &party.identifier);
    let mut key = format!("{}/{}", party.id_type, escape(&identifier));
    if let Some(sub_id) = &party.sub_id_or_type {
        key.push('/');
        key.push_str(&escape(sub_id));
    }
    // The host's ids have no control characters; the API refuses them, other callers may not.
    if key.len() > PLAIN_KEY_MAX || key.chars().any(char::is_control) {
        // An identifier is never empty, so no other id has two slashes in a row.
        key = format!("{}//{}", party.id_type, sha256_hex(key.as_bytes()));
    }
    key
}

/// Escapes slashes. Different texts stay different.
pub(crate) fn escape(text: &str) -> String {
    text.replace('%', "%25").replace('/', "%2F")
}

/// Parties by their keys. Counts of parts are named by FSP and currency, since they change.
pub const ASSOCIATIONS: Collection<PartyAssociations> =
    Collection::new("associations").with_elements_named_by(&["fsp", "currency"]);

/// The FSPs that a party is with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PartyAssociations {
    /// The party.
    pub party: PartyDocument,
    /// At most one per currency, and one without currency; the oldest first.
    pub associations: Vec<Association>,
    /// For a business: the FSPs with parts of it. Kept with the whole, so that associations of the whole and of
    /// a part conflict here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Parts>,
}

/// The number of parts of a business with one FSP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Parts {
    /// The FSP.
    pub fsp: String,
    /// For this currency only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// How many.
    pub count: u64,
}

/// An FSP that a party is with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Association {
    /// The FSP.
    pub fsp: String,
    /// For this currency only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// UTC, milliseconds since 1970.
    pub associated_at: u64,
}

impl PartyAssociations {
    /// A party without associations.
    #[must_use]
    pub fn new(party: &PartyId) -> Self {
        Self {
            party: PartyDocument::from(party),
            associations: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// Whether the document is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.associations.is_empty() && self.parts.is_empty()
    }

    /// The association with this currency, or without currency.
    #[must_use]
    pub fn exactly(&self, currency: Option<&str>) -> Option<&Association> {
        self.associations
            .iter()
            .find(|association| association.currency.as_deref() == currency)
    }

    /// Whether another FSP's association conflicts with one for this currency: they have the same currency, or
    /// one of them has none, which means all.
    #[must_use]
    pub fn is_taken(&self, fsp: &str, currency: Option<&str>) -> bool {
        self.associations
            .iter()
            .any(|existing| existing.fsp != fsp && overlap(existing.currency.as_deref(), currency))
    }

    /// Whether a part of this business with another FSP conflicts with an association of the whole for this
    /// currency.
    #[must_use]
    pub fn has_parts_elsewhere(&self, fsp: &str, currency: Option<&str>) -> bool {
        self.parts
            .iter()
            .any(|parts| parts.fsp != fsp && overlap(parts.currency.as_deref(), currency))
    }

    /// Updates the counts after a part's associations have changed.
    pub fn part_changed(&mut self, before: &[Association], after: &[Association]) {
        let same = |a: &Association, b: &Association| a.fsp == b.fsp && a.currency == b.currency;
        let missing_in =
            |there: &[Association], one: &Association| !there.iter().any(|other| same(one, other));
        for ended in before.iter().filter(|one| missing_in(after, one)) {
            if let Some(parts) = self.parts_with(ended) {
                parts.count = parts.count.saturating_sub(1);
            }
        }
        for begun in after.iter().filter(|one| missing_in(before, one)) {
            match self.parts_with(begun) {
                Some(parts) => parts.count += 1,
                None => self.parts.push(Parts {
                    fsp: begun.fsp.clone(),
                    currency: begun.currency.clone(),
                    count: 1,
                }),
            }
        }
        self.parts.retain(|parts| parts.count > 0);
    }

    fn parts_with(&mut self, association: &Association) -> Option<&mut Parts> {
        let mut all = self.parts.iter_mut();
        all.find(|parts| parts.fsp == association.fsp && parts.currency == association.currency)
    }

    /// The FSP to ask: the one for the currency, or else the one without currency, or else, for a query without
    /// currency, the oldest. So a query without currency always has the same answer, which later associations
    /// do not change. To reach another FSP, a query names its currency or the FSP.
    #[must_use]
    pub fn fsp_for(&self, currency: Option<&str>) -> Option<&str> {
        let exact = self.exactly(currency).or_else(|| self.exactly(None));
        let any = || self.associations.first().filter(|_| currency.is_none());
        exact
            .or_else(any)
            .map(|association| association.fsp.as_str())
    }

    /// Associates the party. The association replaces those of other FSPs for the same currency, or all of them
    /// if it has no currency. A repeat changes nothing, not even the association's age.
    pub fn associate(&mut self, association: Association) {
        self.associations.retain(|existing| {
            existing.fsp == association.fsp
                || (association.currency.is_some() && existing.currency != association.currency)
        });
        if self.exactly(association.currency.as_deref()).is_none() {
            self.associations.push(association);
        }
    }

    /// Ends the FSP's associations: the one for the currency, or all. Returns whether there was one.
    pub fn disassociate(&mut self, fsp: &str, currency: Option<&str>) -> bool {
        let before = self.associations.len();
        self.associations.retain(|association| {
            let ends = association.fsp == fsp
                && (currency.is_none() || association.currency.as_deref() == currency);
            !ends
        });
        self.associations.len() < before
    }
}

/// Whether associations for these two currencies conflict: one without currency is for all.
fn overlap(one: Option<&str>, other: Option<&str>) -> bool {
    one == other || one.is_none() || other.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn party(identifier: &str, sub_id: Option<&str>) -> PartyId {
        PartyId {
            id_type: "ALIAS".to_owned(),
            identifier: identifier.to_owned(),
            sub_id_or_type: sub_id.map(str::to_owned),
        }
    }

    #[test]
    fn no_two_parties_share_a_key() {
        let long = "ü".repeat(128);
        let parties = [
            party("a", None),
            party("a", Some("b")),
            party("a/b", None),
            party("a%2Fb", None),
            party("a", Some("b/c")),
            party("a/b", Some("c")),
            party(&long, None),
            party(&long, Some("b")),
            party(&long, Some(&long)),
        ];
        let keys: std::collections::BTreeSet<_> = parties.iter().map(party_key).collect();
        assert_eq!(keys.len(), parties.len());
        assert!(
            keys.iter().all(|key| key.len() <= PLAIN_KEY_MAX),
            "{keys:?}"
        );
        assert_eq!(party_key(&party("a", Some("b"))), "ALIAS/a/b");
    }

    fn association(fsp: &str, currency: Option<&str>) -> Association {
        Association {
            fsp: fsp.to_owned(),
            currency: currency.map(str::to_owned),
            associated_at: 1,
        }
    }

    #[test]
    fn a_party_has_one_key_however_it_is_spelt() {
        let of = |id_type: &str, identifier: &str| {
            party_key(&PartyId {
                id_type: id_type.to_owned(),
                identifier: identifier.to_owned(),
                sub_id_or_type: None,
            })
        };
        assert_eq!(of("MSISDN", "+123"), of("MSISDN", "123"));
        assert_eq!(
            of("EMAIL", "A.B@Example.ORG"),
            of("EMAIL", "a.b@example.org")
        );
        assert_ne!(of("ALIAS", "+123"), of("ALIAS", "123"));
        assert_ne!(of("ALIAS", "A"), of("ALIAS", "a"));
    }

    #[test]
    fn a_key_has_no_control_characters() {
        let key = party_key(&party("a\u{85}", Some("b\n")));
        assert!(!key.chars().any(char::is_control), "{key:?}");
        assert_ne!(key, party_key(&party("a\u{84}", Some("b\n"))));
    }

    #[test]
    fn fsp_of_a_currency_precedes_fsp_without_currency() {
        let mut document = PartyAssociations::new(&party("a", None));
        assert_eq!(document.fsp_for(None), None);
        document.associate(association("one", Some("USD")));
        assert_eq!(document.fsp_for(None), Some("one"));
        assert_eq!(document.fsp_for(Some("EUR")), None);
        document.associate(association("two", None));
        document.associate(association("one", Some("USD")));
        assert_eq!(document.fsp_for(None), Some("two"));
        assert_eq!(document.fsp_for(Some("EUR")), Some("two"));
        assert_eq!(document.fsp_for(Some("USD")), Some("one"));
        document.associate(association("three", Some("USD")));
        assert_eq!(document.associations.len(), 2);
        assert_eq!(document.fsp_for(Some("USD")), Some("three"));
    }

    #[test]
    fn oldest_fsp_answers_queries_without_currency() {
        let mut document = PartyAssociations::new(&party("a", None));
        document.associate(association("one", Some("USD")));
        document.associate(association("two", Some("EUR")));
        document.associate(association("one", Some("USD")));
        assert_eq!(document.fsp_for(None), Some("one"));
        assert_eq!(document.fsp_for(Some("EUR")), Some("two"));
    }

    #[test]
    fn association_without_currency_replaces_all_others() {
        let mut document = PartyAssociations::new(&party("a", None));
        document.associate(association("one", Some("USD")));
        document.associate(association("one", None));
        document.associate(association("two", Some("EUR")));
        document.associate(association("two", None));
        let of: Vec<_> = document.associations.iter().map(|a| &*a.fsp).collect();
        assert_eq!(of, ["two", "two"]);
    }

    #[test]
    fn no_currency_means_every_currency() {
        for (theirs, ours, taken) in [
            (None, None, true),
            (None, Some("USD"), true),
            (Some("USD"), None, true),
            (Some("USD"), Some("USD"), true),
            (Some("USD"), Some("EUR"), false),
        ] {
            let mut document = PartyAssociations::new(&party("a", None));
            document.associate(association("one", theirs));
            assert_eq!(document.is_taken("two", ours), taken, "{theirs:?} {ours:?}");
            assert!(!document.is_taken("one", ours), "{theirs:?} {ours:?}");
        }
    }

    #[test]
    fn an_fsp_ends_only_its_own_associations() {
        let mut document = PartyAssociations::new(&party("a", None));
        document.associate(association("one", Some("USD")));
        document.associate(association("one", None));
        document.associate(association("two", Some("EUR")));
        assert!(!document.disassociate("three", None));
        assert!(!document.disassociate("one", Some("EUR")));
        assert!(document.disassociate("one", Some("USD")));
        assert!(document.disassociate("one", None));
        assert_eq!(document.associations, [association("two", Some("EUR"))]);
    }
}
