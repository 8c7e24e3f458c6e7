//! The audit log beside the books: each transfer's outcome has its entry, and each entry its outcome.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::books::Books;
use crate::office::{OFFICE, Office};
use crate::waiting::until;
use crate::world::World;

/// How long entries may take until they are found.
const FOUND_WITHIN: Duration = Duration::from_secs(30);
/// The most entries of a page.
const PAGE: u64 = 1_000;
/// What stands before a transfer's id in the subject of its entries.
const SUBJECT: &str = "transfer:";

/// All entries that a query finds, the oldest first.
///
/// # Errors
/// When the log cannot be read.
pub async fn entries(office: &Office, mut query: Value) -> anyhow::Result<Vec<Value>> {
    query["limit"] = PAGE.into();
    let mut found = Vec::new();
    loop {
        let said = office.post(OFFICE, "/read-audit-log", &query).await?;
        ensure!(said.status == 200, "{said:?}");
        let items = said.body["items"].as_array().context("no items")?;
        found.extend(items.iter().map(|item| item["entry"].clone()));
        match said.body["nextCursor"].as_str() {
            Some(next) => query["cursor"] = next.parse::<u64>()?.into(),
            None => return Ok(found),
        }
    }
}

/// How often each transfer has an entry of this action.
async fn of_transfers(office: &Office, action: &str) -> anyhow::Result<BTreeMap<String, u64>> {
    let mut found = BTreeMap::new();
    for entry in entries(office, json!({ "action": action })).await? {
        let about = entry["about"].as_str().unwrap_or_default();
        let id = about.strip_prefix(SUBJECT).context("no transfer")?;
        *found.entry(id.to_owned()).or_default() += 1;
    }
    Ok(found)
}

/// What the books and the audit log say differently of transfers, however the host has ended meanwhile: a commit without its
/// entry, an entry without its commit, one that is there twice, an outcome that nothing tells of. Returns the number of commits.
///
/// # Errors
/// When the log cannot be read, or differs from the books.
pub async fn agree(world: &World, books: &Books) -> anyhow::Result<usize> {
    let office = Office::of(&world.scheme, &world.host, &[])?;
    let transfers = books.transfers().keys();
    let (committed, others): (BTreeSet<&String>, BTreeSet<&String>) =
        transfers.partition(|id| books.state(id) == "COMMITTED");
    until(
        "the audit log agrees with the books",
        FOUND_WITHIN,
        async || {
            let commits = of_transfers(&office, "transfer.committed").await?;
            let twice: Vec<_> = commits.iter().filter(|(_, count)| **count != 1).collect();
            ensure!(twice.is_empty(), "committed more than once: {twice:?}");
            let audited: BTreeSet<&String> = commits.keys().collect();
            let without: Vec<_> = audited.difference(&committed).collect();
            ensure!(
                without.is_empty(),
                "entries without their commit: {without:?}"
            );
            let missing: Vec<_> = committed.difference(&audited).collect();
            let mut told = BTreeSet::new();
            for action in ["prepared", "rejected", "timed-out", "failed"] {
                told.extend(
                    of_transfers(&office, &format!("transfer.{action}"))
                        .await?
                        .into_keys(),
                );
            }
            let untold: Vec<_> = others
                .iter()
                .filter(|id| !told.contains(**id) && !["", "RECEIVED"].contains(&books.state(id)))
                .collect();
            let all = missing.is_empty() && untold.is_empty();
            Ok(all.then_some(()).ok_or(format!(
                "commits without an entry: {missing:?}; other outcomes without one: {untold:?}"
            )))
        },
    )
    .await?;
    Ok(committed.len())
}
