//! Queries of other contexts about a participant's money. This context has the participant and its accounts,
//! the ledger has the amounts.

use crate::bindings::exports::rialto::participant_lifecycle_management::{
    get_liquidity_cover_history as cover_history, get_reservations as reservations,
};
use crate::bindings::rialto::accounts_and_balances::request_account_position_history as position_history;
use crate::bindings::rialto::accounts_and_balances::request_accounts_positions as accounts_positions;
use crate::bindings::rialto::accounts_and_balances::types::{
    AccountStatus, LedgerAccountType, LedgerError,
};
use crate::participants::PARTICIPANTS;
use crate::world::World;

/// The entries of one of a participant's accounts; none if there is no such participant or account.
///
/// # Errors
/// If the ledger refuses.
pub fn history(
    world: &mut dyn World,
    request: cover_history::Request,
) -> Result<Option<cover_history::Response>, LedgerError> {
    let participant = PARTICIPANTS.within(world).get(&request.participant);
    let account = participant.and_then(|found| found.account(&request.currency).cloned());
    let Some(account) = account else {
        return Ok(None);
    };
    let account = match (request.ledger_account, &request.settlement_model) {
        (LedgerAccountType::Liquidity, _) => account.liquidity_account,
        (LedgerAccountType::Position, _) => account.position_account,
        (LedgerAccountType::LiquidityCover, _) => account.liquidity_cover_account,
        (LedgerAccountType::Settlement, None) => account.settlement_account,
        _ => match of_settlement(world, &request)? {
            Some(id) => id,
            None => return Ok(None),
        },
    };
    let page = world.history(&position_history::Request {
        account,
        from: request.from,
        to: request.to,
        cursor: request.cursor,
        limit: request.limit,
    })?;
    Ok(Some(cover_history::Response {
        postings: page.postings,
        cursor: page.cursor,
    }))
}

/// The requested account of settlement: of a model, or the first.
fn of_settlement(
    world: &mut dyn World,
    request: &cover_history::Request,
) -> Result<Option<String>, LedgerError> {
    let statuses = world.positions(&accounts_positions::Request {
        participant: request.participant.clone(),
        currency: Some(request.currency.clone()),
    })?;
    let is_it = |status: &AccountStatus| {
        let model = &request.settlement_model;
        status.account_type == request.ledger_account
            && (model.is_none() || status.settlement_model == *model)
    };
    let found = statuses.into_iter().find(is_it);
    Ok(found.map(|status| status.position.account_id))
}

/// The reservations of a participant; none if there is no such participant.
///
/// # Panics
/// If the ledger does not know the participant's accounts.
pub fn reservations(
    world: &mut dyn World,
    participant: &str,
) -> Option<Vec<reservations::Reservation>> {
    let found = PARTICIPANTS.within(world).get(participant)?;
    if found.accounts.is_empty() {
        return Some(Vec::new());
    }
    let accounts = world.reservations(participant);
    let accounts = accounts
        .unwrap_or_else(|error| panic!("the ledger does not know {participant}: {error:?}"));
    let reservations = accounts.into_iter().map(|account| {
        let cover = found.account(&account.currency);
        let cover = cover.and_then(|known| known.cover.as_ref());
        reservations::Reservation {
            since: cover.map(|cover| cover.since),
            request_id: cover.map(|cover| cover.request.clone()),
            currency: account.currency,
            liquidity_cover: account.liquidity_cover,
            position: account.position,
        }
    });
    Some(reservations.collect())
}
