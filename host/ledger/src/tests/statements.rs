//! Statements and exports of a ledger with archived transfers.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{ENTRIES, HUB, PAGES, PAYEE, PAYER, Scene, text, units};
use crate::LedgerError;
use crate::entries::{EntryFilter, Followed, Opening, ShownEntry};
use crate::export::{ExportKind, Format};

const ALL: EntryFilter = EntryFilter {
    from: 0,
    to: u64::MAX,
    limit: 1_000,
};

fn followed(scene: &Scene, account: &str, wanted: EntryFilter) -> Result<Followed, LedgerError> {
    let (_folder, mut ledger) = scene.ledger();
    ledger.entries_of(account, wanted)
}

#[test]
fn balances_are_right_wherever_they_are_known() {
    let (busy, archived) = (Scene::busy(), Scene::archived());
    // How many entries are there, and how many of them behind a gap on their page.
    for (account, there, unknown) in [(PAYER, 51, 10), (PAYEE, 5, 4), (HUB, 47, 0)] {
        let all = followed(&busy, account, ALL).unwrap();
        assert!(all.opening.is_none());
        let left = followed(&archived, account, ALL).unwrap();
        assert!(!left.more && !left.earlier);
        assert_eq!(left.entries.len(), there, "{account}");
        let is_unknown = |entry: &&ShownEntry| entry.balance_after.is_none();
        let found = left.entries.iter().filter(is_unknown).count();
        assert_eq!(found, unknown, "{account}");
        for entry in &left.entries {
            let mut same = all.entries.iter().find(|e| e.id == entry.id).cloned();
            if let (Some(same), None) = (&mut same, &entry.balance_after) {
                (same.debits_after, same.credits_after) = (None, None);
                same.balance_after = None;
            }
            assert_eq!(same.as_ref(), Some(entry));
        }
    }
}

#[test]
fn a_statement_says_what_is_in_archives() {
    let mut scene = Scene::archived();
    let until = scene.opening(PAYER)["until"].as_u64().unwrap();
    let left = followed(&scene, PAYER, ALL).unwrap();
    let opening = Opening {
        entries: 38,
        until,
        debits: "9.97".to_owned(),
        credits: "0.07".to_owned(),
        balance: "-9.90".to_owned(),
        currency: "USD".to_owned(),
        file: "documents-1.jsonl.gz".to_owned(),
        sha256: "ab01".to_owned(),
    };
    assert_eq!(left.opening, Some(opening));
    assert_eq!(followed(&scene, HUB, ALL).unwrap().opening, None);
    let few = followed(&scene, PAYER, EntryFilter { limit: 20, ..ALL }).unwrap();
    assert_eq!((few.entries.len(), few.more), (20, true));
}

#[test]
fn what_is_missing_without_an_opening_balance_is_told() {
    let missing = |scene: &Scene, account: &str| match followed(scene, account, ALL) {
        Err(LedgerError::Missing(collection, id)) => Some((collection, id)),
        _ => None,
    };
    let mut scene = Scene::archived();
    scene.remove(ENTRIES, "late7:funds-liquidity");
    let entry = "late7:funds-liquidity".to_owned();
    assert_eq!(missing(&scene, HUB), Some((ENTRIES, entry)));
    assert_eq!(missing(&scene, PAYER), None, "the check finds it there");
    let mut scene = Scene::busy();
    let page = "b:USD:LIQUIDITY/0000000001".to_owned();
    scene.remove(PAGES, &page);
    assert_eq!(missing(&scene, PAYEE), Some((PAGES, page)));
}

#[test]
fn opening_balances_and_exported_entries_sum_to_balances() {
    let scene = Scene::archived();
    let (_folder, mut ledger) = scene.ledger();
    let mut export = |what| -> Vec<Value> {
        let mut out = Vec::new();
        ledger.export(what, Format::Json, &mut out).unwrap();
        let lines = String::from_utf8(out).unwrap();
        let objects = lines.lines().map(serde_json::from_str);
        objects.collect::<Result<_, _>>().unwrap()
    };
    let mut posted: BTreeMap<(String, &str), i128> = BTreeMap::new();
    for entry in export(ExportKind::Entries) {
        for side in ["debit", "credit"] {
            let account = text(&entry[format!("{side}Account")]).to_owned();
            *posted.entry((account, side)).or_default() += units(&entry["amountMinor"]);
        }
    }
    let accounts = export(ExportKind::Accounts);
    let with_opening = accounts
        .iter()
        .filter(|of| !of["archivedEntries"].is_null());
    assert_eq!(with_opening.count(), 5);
    for of in &accounts {
        for (side, sum, opening) in [
            ("debit", "debitsMinor", "openingDebitsMinor"),
            ("credit", "creditsMinor", "openingCreditsMinor"),
        ] {
            let before = of.get(opening).map_or(0, units);
            let key = (text(&of["id"]).to_owned(), side);
            let posted = posted.get(&key).copied().unwrap_or(0);
            assert_eq!(before + posted, units(&of[sum]), "{of}");
        }
    }
}
