//! The ends of a settlement. At completion its transfers are counted as settled. When it is undone, everything
//! is posted in reverse, and they are counted as not settled.

use super::{next_rows, post, posted_id};
use crate::batches::{self, State};
use crate::bindings::rialto::accounts_and_balances::insert_journal_entries::{
    Unsettled, UnsettledChange,
};
use crate::settlement::{Act, Line, LineType, POSTED, Part, Phase, ROWS, Row, Settlement};
use crate::units::Units;
use crate::world::World;
use rialto_sdk::money::money;

/// Handles the next rows: counts their transfers as settled, or as not settled.
pub(super) fn count(world: &mut impl World, settlement: &mut Settlement) -> usize {
    let settled = settlement.state == Phase::Closing;
    let rows = next_rows(world, settlement);
    let Some((last, _)) = rows.last() else {
        if settled {
            complete(world, settlement);
        } else {
            give_batches_back(world, settlement, Phase::Aborted);
        }
        return 0;
    };
    settlement.cursor.after.clone_from(last);
    let looked_at = rows.len();
    let mut changes = Vec::new();
    let own = own_accounts(settlement, &rows);
    for (id, mut row) in rows {
        let change = if settled {
            UnsettledChange::Settled
        } else {
            UnsettledChange::Reopened
        };
        changes.push(Unsettled {
            participant: row.participant.clone(),
            change,
            debits: money(&row.currency, row.scale, row.debits.0),
            credits: money(&row.currency, row.scale, row.credits.0),
        });
        assert!(
            row.settled != settled,
            "the transfers of row {id} are to be counted as settled: {settled}, and are"
        );
        row.settled = settled;
        row.held = Units(0);
        ROWS.within(world).put(&id, &row);
    }
    post(world, settlement, Vec::new(), changes, false);
    close(world, settlement, &own);
    looked_at
}

/// The accounts of these rows that the settlement opened for itself, because it has several batches.
pub(super) fn own_accounts(settlement: &Settlement, rows: &[(String, Row)]) -> Vec<String> {
    let is_own = |row: &&Row| {
        let part = (settlement.parts.iter()).find(|part| part.currency == row.currency);
        part.is_some_and(Part::is_of_several)
    };
    let rows = rows.iter().map(|(_, row)| row).filter(is_own);
    rows.map(|row| row.account.clone()).collect()
}

/// Closes the settlement's own accounts, which are empty at its end. An undoing posts to them although they are
/// closed.
pub(super) fn close(world: &mut impl World, settlement: &Settlement, accounts: &[String]) {
    if accounts.is_empty() {
        return;
    }
    if let Err(error) = world.close_accounts(accounts) {
        panic!(
            "accounts of settlement {} cannot be closed: {error:?}",
            settlement.id
        );
    }
}

fn complete(world: &mut impl World, settlement: &mut Settlement) {
    settlement.enter(Phase::Completed);
    let now = world.now();
    // Unless an operator has completed the settlement.
    settlement.completed.get_or_insert_with(|| Act {
        by: "automatic".to_owned(),
        at: now,
        reason: String::new(),
    });
    for batch in settlement.batches() {
        batches::update(world, batch, |batch| batch.state = State::Settled);
    }
}

/// Ends the settlement without settling. Another settlement may take its batches.
pub(super) fn give_batches_back(world: &mut impl World, settlement: &mut Settlement, end: Phase) {
    settlement.enter(end);
    for batch in settlement.batches() {
        batches::update(world, batch, |batch| batch.state = State::Closed);
    }
}

/// Reverses the last list that is not reversed yet.
pub(super) fn undo(world: &mut impl World, settlement: &mut Settlement) -> usize {
    let Some(number) = settlement.cursor.part.checked_sub(1) else {
        settlement.enter(Phase::Reopening);
        return 0;
    };
    assert!(
        (number as u64) < settlement.posted,
        "list {number} of settlement {} is to be turned round, and {} were posted",
        settlement.id,
        settlement.posted
    );
    settlement.cursor.part = number;
    let id = posted_id(&settlement.id, number as u64);
    let Some(posted) = POSTED.within(world).get(&id) else {
        panic!("the list {id:?} does not exist");
    };
    let looked_at = posted.lines.len();
    let lines = posted
        .lines
        .into_iter()
        .rev()
        .flat_map(turned_round)
        .collect();
    post(world, settlement, lines, Vec::new(), false);
    looked_at
}

fn turned_round(line: Line) -> Vec<Line> {
    let reversal = Line {
        of: LineType::Reversal,
        debit: line.credit.clone(),
        credit: line.debit.clone(),
        ..line.clone()
    };
    match (line.of, line.reserved) {
        // The payee has spent what was given back, so there is nothing to set aside again.
        (LineType::Hold | LineType::HoldRelease | LineType::Reversal, _) => Vec::new(),
        (LineType::Receive, Some(reserved)) => {
            let release = Line {
                of: LineType::HoldRelease,
                debit: reserved,
                credit: line.credit,
                reserved: None,
                ..reversal.clone()
            };
            vec![release, reversal]
        }
        _ => vec![reversal],
    }
}
