//! Recording of committed transfers: in a batch, or settled at once (choreography 18.7, 18.8).

use crate::batches;
use crate::bindings::exports::rialto::transfers::transfer_committed_fulfiled::Event;
use crate::bindings::rialto::accounts_and_balances::insert_journal_entries::{
    JournalEntry, Request, SettlementEntryType,
};
use crate::bindings::rialto::accounts_and_balances::types::{
    LedgerError, SettlementHold, SettlementTiming,
};
use crate::participants::of_model;
use crate::settings::{Kind, Settings};
use crate::world::World;

/// Records a transfer. The event is delivered again only if its turn had no effect. A repeat while the batch is
/// open would find the transfer in the ledger; a later repeat would name another batch and be refused.
///
/// # Errors
/// If the ledger refuses. The event is then tried again: an immediate transfer may need funds from another
/// transfer whose event is on its way.
pub fn record(
    world: &mut impl World,
    settings: &Settings,
    event: &Event,
) -> Result<(), LedgerError> {
    let entries = match &event.settlement {
        SettlementTiming::Deferred => in_batch(world, settings, event)?,
        SettlementTiming::Immediate(hold) => at_once(world, settings, event, hold.as_ref())?,
    };
    world.insert_entries(&Request {
        cause: event.transfer_id.clone(),
        step: "settlement".to_owned(),
        entries,
        unsettled: Vec::new(),
    })
}

fn in_batch(
    world: &mut impl World,
    settings: &Settings,
    event: &Event,
) -> Result<Vec<JournalEntry>, LedgerError> {
    let model = settings.model(&event.settlement_model);
    let currency = (event.amount.currency.as_str(), event.amount.scale);
    let batch = batches::current(world, &model, currency);
    let mut account = |participant: &str| {
        batches::account_of(world, (&batch, &model.name), participant, currency)
    };
    let payer = account(&event.payer_fsp)?;
    let payee = account(&event.payee_fsp)?;
    Ok(vec![entry(
        event,
        SettlementEntryType::Record,
        payer,
        payee,
    )])
}

fn at_once(
    world: &mut impl World,
    settings: &Settings,
    event: &Event,
    hold: Option<&SettlementHold>,
) -> Result<Vec<JournalEntry>, LedgerError> {
    let mut model = settings.model(&event.settlement_model);
    // It was an immediate model at the prepare, even if a release has changed it since.
    model.kind = Kind::ImmediateGross;
    let currency = (event.amount.currency.as_str(), event.amount.scale);
    let payer = of_model(world, &event.payer_fsp, currency, &model)?;
    let payee = of_model(world, &event.payee_fsp, currency, &model)?;
    let unknown = || LedgerError::Malformed(format!("{} has no standing accounts", model.name));
    let from = payer.standing.ok_or_else(unknown)?;
    let to = payee.standing.ok_or_else(unknown)?;
    let source = hold.map_or(payer.settlement, |hold| hold.reserved.clone());
    Ok(vec![
        entry(event, SettlementEntryType::Record, from.clone(), to.clone()),
        entry(event, SettlementEntryType::Pay, source, from),
        entry(event, SettlementEntryType::Receive, to, payee.settlement),
    ])
}

fn entry(
    event: &Event,
    entry_type: SettlementEntryType,
    debit_account: String,
    credit_account: String,
) -> JournalEntry {
    JournalEntry {
        entry_type,
        debit_account,
        credit_account,
        amount: event.amount.clone(),
    }
}
