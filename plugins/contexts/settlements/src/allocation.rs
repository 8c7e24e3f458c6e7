//! The accounts of a transfer, its settlement model, and when it is settled.

use crate::bindings::exports::rialto::fsp_interop_api::transfer_prepare_requested as requested;
use crate::bindings::rialto::accounts_and_balances::types::{SettlementHold, SettlementTiming};
use crate::bindings::rialto::settlements::transfer_prepare_accounts_allocated as allocated;
use crate::participants::{ACCOUNTS, ParticipantAccounts, document_id, of_model};
use crate::settings::{Kind, Settings};
use crate::world::World;

/// Adds the accounts to a transfer to prepare. The payer's liquidity is debited and its position credited; the
/// payee's vice versa. A participant without accounts in the currency gets none; Transfers then refuses.
pub fn allocate(
    world: &mut impl World,
    settings: &Settings,
    event: requested::Event,
) -> allocated::Event {
    let mut of = |participant: &str| -> Option<ParticipantAccounts> {
        ACCOUNTS
            .within(world)
            .get(&document_id(participant, &event.amount.currency))
    };
    let payer = of(&event.payer_fsp);
    let payee = of(&event.payee_fsp);
    let model = settings.choose(&event.payer_fsp, &event.payee_fsp, &event.amount);
    let both = payer.is_some() && payee.is_some();
    let settlement = match model.kind {
        Kind::ImmediateGross if both => {
            let currency = (event.amount.currency.as_str(), event.amount.scale);
            let mut own = |participant: &str| {
                of_model(world, participant, currency, &model).unwrap_or_else(|error| {
                    panic!("{participant} has no accounts of {}: {error:?}", model.name)
                })
            };
            let payer = own(&event.payer_fsp);
            own(&event.payee_fsp);
            // Settled funds may be short although the liquidity suffices: they may belong to another model,
            // perhaps of an earlier release, or a settlement has not moved them yet.
            SettlementTiming::Immediate(Some(SettlementHold {
                settlement: payer.settlement,
                reserved: payer.reserved,
            }))
        }
        _ => SettlementTiming::Deferred,
    };
    allocated::Event {
        transfer_id: event.transfer_id,
        payer_fsp: event.payer_fsp,
        payee_fsp: event.payee_fsp,
        requester_fsp: event.requester_fsp,
        amount: event.amount,
        ilp_packet: event.ilp_packet,
        condition: event.condition,
        expiration: event.expiration,
        request_hash: event.request_hash,
        settlement_model: model.name,
        settlement,
        payer_accounts: payer.map(|own| allocated::ParticipantAccounts {
            debit: own.liquidity,
            credit: own.position,
        }),
        payee_accounts: payee.map(|own| allocated::ParticipantAccounts {
            debit: own.position,
            credit: own.liquidity,
        }),
        message: event.message,
        answer_version: event.answer_version,
    }
}
