//! Setting aside settled funds before they move, so that no step of a settlement lacks funds; and giving them
//! back.

use super::{STEP, next_rows, post};
use crate::batches::MEMBERS;
use crate::participants::{ModelAccounts, of_model};
use crate::settings::Settings;
use crate::settlement::{Line, LineType, Part, Phase, ROWS, Row, Settlement, Short};
use crate::units::{Net, Units, units};
use crate::world::World;
use rialto_sdk::documents::Range;
use std::collections::BTreeMap;

/// The amount to set aside: from net payers before a settlement, from net payees before an undoing.
fn needed(row: &Row, phase: Phase) -> Option<Units> {
    match (row.net(), phase) {
        (Net::Pays(amount), Phase::Holding) | (Net::Receives(amount), Phase::UndoHolding) => {
            Some(amount)
        }
        _ => None,
    }
}

/// Handles the next rows. It checks all participants even if one has too little, so that an operator sees all
/// of them.
pub(super) fn hold(
    world: &mut impl World,
    settings: &Settings,
    settlement: &mut Settlement,
) -> usize {
    let phase = settlement.state;
    let rows = next_rows(world, settlement);
    let Some((last, _)) = rows.last() else {
        end_of_hold(settlement);
        return 0;
    };
    settlement.cursor.after.clone_from(last);
    let looked_at = rows.len();
    let mut wanted = Vec::new();
    for (id, row) in rows {
        if let Some(amount) = needed(&row, phase) {
            let own = accounts(world, settings, settlement, &row);
            wanted.push((id, row, amount, own));
        }
    }
    let ids: Vec<String> = wanted
        .iter()
        .map(|(.., own)| own.settlement.clone())
        .collect();
    let funds = world.accounts(&ids);
    assert_eq!(funds.len(), wanted.len(), "the ledger answers each account");
    let mut lines = Vec::new();
    for ((id, mut row, amount, own), funds) in wanted.into_iter().zip(funds) {
        let has = funds.map_or(Units(0), |account| units(&account.position.available));
        if has < amount {
            settlement.is_short(short(&row, amount, has));
        } else if settlement.short_count == 0 {
            lines.push(line(
                LineType::Hold,
                &own.settlement,
                &own.reserved,
                amount,
                &row,
            ));
            assert!(
                row.held == Units(0),
                "{id} is to set {amount:?} aside beside {:?}",
                row.held
            );
            row.held = amount;
            ROWS.within(world).put(&id, &row);
        }
    }
    post(world, settlement, lines, Vec::new(), false);
    looked_at
}

fn end_of_hold(settlement: &mut Settlement) {
    let next = match (settlement.state, settlement.short_count > 0) {
        (Phase::Holding, true) => Phase::Releasing,
        (Phase::Holding, false) if settlement.automatic => Phase::Consolidating,
        (Phase::Holding, false) => Phase::Pending,
        (_, true) => Phase::UndoReleasing,
        (_, false) => Phase::Undoing,
    };
    settlement.enter(next);
    if next == Phase::Undoing {
        // The last list first.
        settlement.cursor.part = usize::try_from(settlement.posted).unwrap_or(usize::MAX);
    }
}

/// Handles the next rows: gives back what was set aside.
pub(super) fn release(
    world: &mut impl World,
    settings: &Settings,
    settlement: &mut Settlement,
) -> usize {
    let rows = next_rows(world, settlement);
    let Some((last, _)) = rows.last() else {
        match settlement.state {
            Phase::UndoReleasing => {
                // The abort failed: `short` says why.
                settlement.aborted = None;
                settlement.enter(Phase::Completed);
            }
            Phase::Releasing => super::ends::give_batches_back(world, settlement, Phase::Refused),
            _ => super::ends::give_batches_back(world, settlement, Phase::Aborted),
        }
        return 0;
    };
    settlement.cursor.after.clone_from(last);
    let looked_at = rows.len();
    let mut lines = Vec::new();
    let own = super::ends::own_accounts(settlement, &rows);
    for (id, mut row) in rows {
        if row.held > Units(0) {
            let own = accounts(world, settings, settlement, &row);
            let amount = std::mem::take(&mut row.held);
            lines.push(line(
                LineType::HoldRelease,
                &own.reserved,
                &own.settlement,
                amount,
                &row,
            ));
            ROWS.within(world).put(&id, &row);
        }
    }
    post(world, settlement, lines, Vec::new(), false);
    super::ends::close(world, settlement, &own);
    looked_at
}

/// A participant's accounts of the settlement's model.
pub(super) fn accounts(
    world: &mut impl World,
    settings: &Settings,
    settlement: &Settlement,
    row: &Row,
) -> ModelAccounts {
    let model = settings.model(&settlement.model);
    let currency = (row.currency.as_str(), row.scale);
    of_model(world, &row.participant, currency, &model).unwrap_or_else(|error| {
        panic!(
            "{} has no accounts of {}: {error:?}",
            row.participant, model.name
        )
    })
}

/// A line in the currency of a row.
pub(super) fn line(of: LineType, debit: &str, credit: &str, amount: Units, row: &Row) -> Line {
    Line {
        of,
        debit: debit.to_owned(),
        credit: credit.to_owned(),
        amount,
        currency: row.currency.clone(),
        scale: row.scale,
        reserved: None,
    }
}

fn short(row: &Row, needs: Units, has: Units) -> Short {
    Short {
        participant: row.participant.clone(),
        currency: row.currency.clone(),
        scale: row.scale,
        needs,
        has,
    }
}

/// The most members of all batches that one turn checks. A turn may touch 4096 documents. Each member has a
/// document and an account, a net payer three more documents, and the settlement's first steps run in the same
/// turn.
const MEMBERS_MAX: usize = 500;

/// The participants with too little funds if these batches were settled now. Moves nothing. None if there are
/// too many members for one turn: then the settlement's own steps check them.
pub fn short_of(
    world: &mut impl World,
    settings: &Settings,
    model: &str,
    parts: &[Part],
) -> Option<Vec<Short>> {
    let model = settings.model(model);
    let mut all = Vec::new();
    let mut looked_at = 0;
    for part in parts {
        let mut owed: BTreeMap<String, (Units, Units)> = BTreeMap::new();
        for batch in &part.batches {
            let range = Range::Prefix(format!("{batch}/"));
            let page = MEMBERS.within(world).scan(&range, None, STEP as u32);
            looked_at += page.documents.len();
            if page.cursor.is_some() || looked_at > MEMBERS_MAX {
                return None;
            }
            let members: Vec<_> = page
                .documents
                .into_iter()
                .map(|(_, member)| member)
                .collect();
            let ids: Vec<String> = members
                .iter()
                .map(|member| member.account.clone())
                .collect();
            let accounts = world.accounts(&ids);
            assert_eq!(accounts.len(), ids.len(), "the ledger answers each account");
            for (member, account) in members.into_iter().zip(accounts) {
                let Some(account) = account else { continue };
                let sums = owed.entry(member.participant).or_default();
                sums.0.0 = sums
                    .0
                    .0
                    .saturating_add(units(&account.position.debit_balance).0);
                sums.1.0 = sums
                    .1
                    .0
                    .saturating_add(units(&account.position.credit_balance).0);
            }
        }
        if owed.len() > STEP {
            return None;
        }
        for (participant, (debits, credits)) in owed {
            let Net::Pays(needs) = Net::of(debits, credits) else {
                continue;
            };
            let currency = (part.currency.as_str(), part.scale);
            let own = of_model(world, &participant, currency, &model).ok()?;
            let funds = world.accounts(&[own.settlement]).pop().flatten();
            let has = funds.map_or(Units(0), |account| units(&account.position.available));
            if has < needs {
                all.push(Short {
                    participant,
                    currency: part.currency.clone(),
                    scale: part.scale,
                    needs,
                    has,
                });
            }
        }
    }
    Some(all)
}
