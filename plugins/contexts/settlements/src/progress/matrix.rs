//! CALCULATING: closes the accounts of the batches, and makes the matrix of their balances.

use super::{STEP, page};
use crate::batches::{MEMBERS, Member, Sums};
use crate::bindings::rialto::accounts_and_balances::create_accounts::NewAccount;
use crate::bindings::rialto::accounts_and_balances::types::LedgerAccountType;
use crate::settlement::{Part, Phase, ROWS, Row, Settlement, row_id};
use crate::units::Units;
use crate::world::World;

/// Handles the next members of the next batch.
pub(super) fn calculate(world: &mut impl World, settlement: &mut Settlement) -> usize {
    let batches: Vec<(usize, String)> = (settlement.parts.iter().enumerate())
        .flat_map(|(n, part)| part.batches.iter().map(move |batch| (n, batch.clone())))
        .collect();
    let Some((part, batch)) = batches.get(settlement.cursor.part) else {
        settlement.enter(Phase::Holding);
        return 0;
    };
    let part = settlement.parts[*part].clone();
    let mut members: Vec<(String, Member)> =
        page(&format!("{batch}/"), &settlement.cursor.after, |range| {
            MEMBERS
                .within(world)
                .scan(range, None, STEP as u32)
                .documents
        });
    if let Some((last, _)) = members.last() {
        settlement.cursor.after.clone_from(last);
    } else {
        let cursor = &mut settlement.cursor;
        assert_eq!(
            cursor.paid, cursor.received,
            "batch {batch}: what was paid in it is not what was received"
        );
        (cursor.paid, cursor.received) = (Units(0), Units(0));
        cursor.part += 1;
        cursor.after.clear();
    }
    let accounts: Vec<String> = members
        .iter()
        .map(|(_, member)| member.account.clone())
        .collect();
    let closed = world.close_accounts(&accounts);
    let closed = closed.unwrap_or_else(|error| panic!("batch {batch} cannot be closed: {error:?}"));
    assert_eq!(
        closed.len(),
        members.len(),
        "the ledger answers each account"
    );
    if part.is_of_several() {
        open_accounts(world, settlement, &part, &members);
    }
    for ((id, member), account) in members.iter_mut().zip(&closed) {
        assert!(
            account.position.account_id == member.account,
            "the ledger closes account {}, and was asked to close {}",
            account.position.account_id,
            member.account
        );
        if member.transfers.is_none() {
            // The first settlement of the batch: its accounts only have entries of transfers.
            member.transfers = Some(Sums::on(account));
            MEMBERS.within(world).put(id, member);
        }
        let transfers = member.transfers.unwrap_or_default();
        let cursor = &mut settlement.cursor;
        cursor.paid.0 = cursor.paid.0.saturating_add(transfers.debits.0);
        cursor.received.0 = cursor.received.0.saturating_add(transfers.credits.0);
        add(world, settlement, &part, member);
    }
    members.len()
}

/// Opens accounts for the obligations of participants in all batches together.
fn open_accounts(
    world: &mut impl World,
    settlement: &Settlement,
    part: &Part,
    members: &[(String, Member)],
) {
    let wanted: Vec<NewAccount> = members
        .iter()
        .map(|(_, member)| NewAccount {
            account_type: LedgerAccountType::SettlementPosition,
            owner: member.participant.clone(),
            currency: part.currency.clone(),
            scale: part.scale,
            settlement_model: settlement.model.clone(),
            batch: Some(settlement.id.clone()),
        })
        .collect();
    let opened = world.create_accounts(&wanted);
    let opened = opened.unwrap_or_else(|error| {
        panic!(
            "the ledger opens no accounts for settlement {}: {error:?}",
            settlement.id
        )
    });
    assert_eq!(
        opened.len(),
        members.len(),
        "the ledger answers each account"
    );
    for ((_, member), account) in members.iter().zip(opened) {
        let id = row_id(&settlement.id, &part.currency, &member.participant);
        let row = Row {
            account,
            ..empty(part, member)
        };
        ROWS.within(world).insert_if_absent(&id, &row);
    }
}

fn empty(part: &Part, member: &Member) -> Row {
    Row {
        participant: member.participant.clone(),
        currency: part.currency.clone(),
        scale: part.scale,
        account: member.account.clone(),
        debits: Units(0),
        credits: Units(0),
        held: Units(0),
        settled: false,
    }
}

fn add(world: &mut impl World, settlement: &Settlement, part: &Part, member: &Member) {
    let id = row_id(&settlement.id, &part.currency, &member.participant);
    let known = ROWS.within(world).get_for_update(&id);
    let mut row = known.unwrap_or_else(|| empty(part, member));
    let transfers = member.transfers.unwrap_or_default();
    let sum = |sum: Units, more: Units| Units(sum.0.saturating_add(more.0));
    row.debits = sum(row.debits, transfers.debits);
    row.credits = sum(row.credits, transfers.credits);
    ROWS.within(world).put(&id, &row);
}
