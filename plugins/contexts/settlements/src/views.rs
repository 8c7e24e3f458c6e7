//! Batches, settlements and matrices as operators read them.

use crate::batches::{Batch, MEMBERS, Member, Sums};
use crate::bindings::rialto::accounts_and_balances::types::AccountStatus;
use crate::operations::told_short;
use crate::settlement::{ROWS, Row, Settlement};
use crate::units::{Amount, Net, Units};
use crate::world::World;
use rialto_sdk::operators::paging::Items;
use rialto_sdk::operators::{Paging, Problem};
use serde_json::{Value, json};

/// A batch with a page of its members' obligations.
///
/// # Errors
/// When the cursor is not of this list.
pub fn batch(world: &mut impl World, batch: &Batch, paging: &Paging) -> Result<Value, Problem> {
    let prefix = format!("{}/", batch.id);
    let members: Items<Member> =
        paging.fill(world, &MEMBERS, &prefix, |_, _, member| Some(member))?;
    let ids: Vec<String> = members
        .items
        .iter()
        .map(|member| member.account.clone())
        .collect();
    let accounts = world.accounts(&ids);
    assert_eq!(accounts.len(), ids.len(), "the ledger answers each account");
    let position = |(member, account): (&Member, Option<&AccountStatus>)| {
        let sums = member.transfers.or_else(|| account.map(Sums::on));
        let Sums { debits, credits } = sums.unwrap_or_default();
        let sums = (debits, credits);
        balance(&member.participant, &batch.currency, batch.scale, sums)
    };
    let accounts = accounts.iter().map(Option::as_ref);
    let positions: Vec<Value> = members.items.iter().zip(accounts).map(position).collect();
    let mut told = json!(batch);
    told["positions"] = json!(positions);
    if let Some(cursor) = members.next_cursor {
        told["nextCursor"] = json!(cursor);
    }
    Ok(told)
}

/// A settlement, without its matrix.
#[must_use]
pub fn settlement(settlement: &Settlement) -> Value {
    let mut told = json!({
        "id": settlement.id,
        "model": settlement.model,
        "automatic": settlement.automatic,
        "batches": settlement.batches().collect::<Vec<_>>(),
        "state": settlement.state,
        "created": settlement.created,
    });
    if let Some(completed) = &settlement.completed {
        told["completed"] = json!(completed);
    }
    if let Some(aborted) = &settlement.aborted {
        told["aborted"] = json!(aborted);
    }
    if settlement.short_count > 0 {
        told["shortCount"] = json!(settlement.short_count);
        told["short"] = settlement.short.iter().map(told_short).collect();
    }
    told
}

/// A page of a settlement's matrix.
///
/// # Errors
/// When the cursor is not of this list.
pub fn matrix(
    world: &mut impl World,
    settlement: &Settlement,
    paging: &Paging,
) -> Result<Items<Value>, Problem> {
    let prefix = format!("{}/", settlement.id);
    paging.fill(world, &ROWS, &prefix, |_, _, row| Some(told_row(&row)))
}

fn told_row(row: &Row) -> Value {
    let sums = (row.debits, row.credits);
    let mut told = balance(&row.participant, &row.currency, row.scale, sums);
    told["held"] = json!(Amount::of(&row.currency, row.scale, row.held));
    told["settled"] = json!(row.settled);
    told
}

fn balance(
    participant: &str,
    currency: &str,
    scale: u8,
    (debits, credits): (Units, Units),
) -> Value {
    let amount = |units| Amount::of(currency, scale, units);
    let (direction, net) = match Net::of(debits, credits) {
        Net::Pays(net) => ("PAYS", net),
        Net::Receives(net) => ("RECEIVES", net),
        Net::Even => ("EVEN", Units(0)),
    };
    json!({
        "participant": participant,
        "paid": amount(debits),
        "received": amount(credits),
        "net": { "direction": direction, "currency": currency, "amount": amount(net).amount },
    })
}
