//! Entries of an account page by page.

use std::collections::BTreeMap;

use rialto_engine::store::StoredDocument;

use super::{ACCOUNTS, ENTRIES, HUB, PAYEE, PAYER, Scene};
use crate::entries::{EntryFilter, ShownEntry};
use crate::pages::{Documents, ENTRIES_MAX, EntriesPage, newest_first};
use crate::{Ledger, LedgerError};

/// All entries of an account by pages of this length, the oldest first, with their numbers.
fn all(ledger: &mut Ledger, account: &str, limit: usize) -> Vec<(u64, ShownEntry)> {
    let mut all = Vec::new();
    let mut before = None;
    loop {
        let page = newest_first(ledger, account, before, limit).unwrap();
        assert!(page.entries.len() <= limit);
        all.extend(page.entries.into_iter().map(|one| (one.number, one.entry)));
        let Some(next) = page.next else {
            break;
        };
        assert!(before.is_none_or(|before| next < before), "{next}");
        before = Some(next);
    }
    all.reverse();
    all
}

#[test]
fn pages_have_each_entry_once_with_the_balance_after_it() {
    for scene in [Scene::busy(), Scene::archived()] {
        let (_folder, mut ledger) = scene.ledger();
        for account in [PAYER, PAYEE, HUB] {
            let wanted = EntryFilter {
                from: 0,
                to: u64::MAX,
                limit: 1_000,
            };
            let followed = ledger.entries_of(account, wanted).unwrap();
            for limit in [1, 7, 16, 17, 1_000] {
                let paged = all(&mut ledger, account, limit.min(ENTRIES_MAX));
                assert!(paged.is_sorted_by_key(|(number, _)| *number));
                let paged: Vec<_> = paged.into_iter().map(|(_, entry)| entry).collect();
                assert_eq!(paged, followed.entries, "{account} by {limit}");
            }
        }
    }
}

#[test]
fn page_has_the_account_as_it_is_now() {
    let (_folder, mut ledger) = Scene::archived().ledger();
    let EntriesPage {
        account,
        entries,
        opening,
        ..
    } = newest_first(&mut ledger, PAYER, None, 1).unwrap();
    let last = &entries[0];
    assert_eq!(last.number + 1, account.entries);
    assert_eq!(last.entry.balance_after.as_ref(), Some(&account.balance));
    assert_eq!(opening.map(|of| of.entries), Some(38));
    let beyond = newest_first(&mut ledger, PAYER, Some(u64::MAX), 1).unwrap();
    assert_eq!(beyond.entries, entries);
    let none = newest_first(&mut ledger, "nobody", None, 1).unwrap_err();
    assert!(matches!(none, LedgerError::NoAccount(_)), "{none}");
}

#[test]
fn missing_entry_is_told_unless_entries_are_archived() {
    let mut scene = Scene::busy();
    scene.remove(ENTRIES, "late7:funds-liquidity");
    let (_folder, mut ledger) = scene.ledger();
    let missing = newest_first(&mut ledger, HUB, None, 100).unwrap_err();
    assert!(
        matches!(missing, LedgerError::Missing(ENTRIES, _)),
        "{missing}"
    );
}

/// An account with very many archived entries, which counts how often it is asked.
struct Archived(BTreeMap<&'static str, u32>);

impl Documents for Archived {
    fn find(
        &mut self,
        collection: &'static str,
        id: &str,
    ) -> Result<Option<StoredDocument>, LedgerError> {
        *self.0.entry(collection).or_default() += 1;
        if collection != ACCOUNTS {
            return Ok(None);
        }
        let mut scene = Scene::archived();
        scene.account(PAYER)["tail"]["count"] = 16_000_000_u64.into();
        scene.account(PAYER)["tail"]["entries"] = "".into();
        let body = scene.document(collection, PAYER).to_string();
        Ok(Some(StoredDocument {
            id: id.into(),
            version: 1,
            body: body.into(),
        }))
    }
}

#[test]
fn page_of_entries_is_bounded() {
    let mut archived = Archived(BTreeMap::new());
    let page = newest_first(&mut archived, PAYER, None, usize::MAX).unwrap();
    assert!(page.entries.is_empty());
    let looked_at: u32 = archived.0.values().sum();
    assert!(looked_at <= 66, "{looked_at}");
    assert!(page.next.is_some_and(|next| next > 15_000_000));
}
