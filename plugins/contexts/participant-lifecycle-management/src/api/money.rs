//! The liquidity of a participant, per account: total, used and available.

use crate::bindings::rialto::accounts_and_balances::request_accounts_positions as accounts_positions;
use crate::bindings::rialto::accounts_and_balances::types::{AccountStatus, LedgerAccountType};
use crate::kinds::{limit::Limit, refused};
use crate::participants::{Account, PARTICIPANTS};
use crate::submit::unknown;
use crate::world::World;
use rialto_sdk::bindings::rialto::common::types::Money;
use rialto_sdk::money::{minor_units, money};
use rialto_sdk::operators::{Amount, Answer, Kind, Problem};
use serde::Serialize;
use serde_json::json;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Cover {
    account_id: String,
    status: &'static str,
    /// May still be spent.
    available: Amount,
    /// Reserved for transfers in flight.
    position: Amount,
    /// Set aside.
    liquidity_cover: Amount,
    settlement: Vec<Settled>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<Limit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    threshold: Option<Amount>,
    /// The amount that the limit bounds; zero for a credit.
    net_debit: Amount,
    /// Zero for a debit.
    net_credit: Amount,
}

/// Settled funds of one model. The default model comes first, and may have none yet.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Settled {
    #[serde(skip_serializing_if = "Option::is_none")]
    settlement_model: Option<String>,
    available: Amount,
    reserved: Amount,
}

/// The liquidity of a participant.
pub fn current_state(world: &mut dyn World, id: &str) -> Result<Answer, Problem> {
    let found = PARTICIPANTS.within(world).get(id);
    let participant = found.ok_or_else(|| unknown(id))?;
    let mut statuses = Vec::new();
    if !participant.accounts.is_empty() {
        let all = world.positions(&accounts_positions::Request {
            participant: id.to_owned(),
            currency: None,
        });
        statuses = all.map_err(|error| refused(error, Kind::InsufficientFunds))?;
    }
    let accounts = participant.accounts.iter();
    let accounts = accounts.map(|account| cover(account, &statuses));
    let accounts: Vec<Cover> = accounts.collect();
    Ok(Answer::json(
        200,
        &json!({ "participant": id, "accounts": accounts }),
    ))
}

fn cover(account: &Account, all: &[AccountStatus]) -> Cover {
    let of_currency =
        |status: &&AccountStatus| status.position.available.currency == account.currency;
    let find = |of: LedgerAccountType| {
        let mut found = all.iter().filter(of_currency);
        found.find(|status| status.account_type == of)
    };
    let none = money(&account.currency, account.scale, 0);
    let held = |of| find(of).map_or(&none, |status| &status.position.available);
    let unsettled = |of| find(of).map_or(0, |status| minor_units(&status.unsettled));
    let debit =
        minor_units(held(LedgerAccountType::Position)) + unsettled(LedgerAccountType::Position);
    let credit = unsettled(LedgerAccountType::Liquidity);
    let net = |units: u128| Amount::from(&money(&account.currency, account.scale, units));
    let amount = |money: &Money| Amount::from(money);
    let settlement = all.iter().filter(of_currency);
    let settlement =
        settlement.filter(|status| status.account_type == LedgerAccountType::Settlement);
    let reserved = |model: &Option<String>| {
        let mut reserved = all.iter().filter(of_currency);
        let found = reserved.find(|status| {
            status.account_type == LedgerAccountType::SettlementReserved
                && status.settlement_model == *model
        });
        found.map_or(&none, |status| &status.position.available)
    };
    Cover {
        account_id: account.currency.clone(),
        status: if account.enabled {
            "ENABLED"
        } else {
            "DISABLED"
        },
        available: amount(held(LedgerAccountType::Liquidity)),
        position: amount(held(LedgerAccountType::Position)),
        liquidity_cover: amount(held(LedgerAccountType::LiquidityCover)),
        settlement: settlement
            .map(|status| Settled {
                settlement_model: status.settlement_model.clone(),
                available: amount(&status.position.available),
                reserved: amount(reserved(&status.settlement_model)),
            })
            .collect(),
        limit: account.net_debit_cap.as_ref().map(Limit::of),
        threshold: account.liquidity_threshold.as_ref().map(Amount::from),
        net_debit: net(debit.saturating_sub(credit)),
        net_credit: net(credit.saturating_sub(debit)),
    }
}
