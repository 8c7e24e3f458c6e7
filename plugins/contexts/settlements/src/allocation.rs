//! Which accounts of which participant a transfer uses, and the settlement model.

use crate::bindings::exports::rialto::fsp_interop_api::transfer_prepare_requested as requested;
use crate::bindings::rialto::accounts_and_balances::types::ParticipantAccountIds;
use crate::bindings::rialto::settlements::transfer_prepare_accounts_allocated as allocated;
use serde::{Deserialize, Serialize};

/// The component's settings.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Settings {
    /// The name of the settlement model that every transfer gets.
    pub settlement_model: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            settlement_model: "DEFERRED_NET".to_owned(),
        }
    }
}

/// A document of the collection `participant-accounts`: the ledger's accounts of one participant
/// in one currency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ParticipantAccounts {
    /// The participant.
    pub participant: String,
    /// ISO 4217.
    pub currency: String,
    /// What it may still spend.
    pub liquidity: String,
    /// Reserved for its transfers in flight.
    pub position: String,
    /// Cover set aside.
    pub liquidity_cover: String,
    /// Settled funds.
    pub settlement: String,
}

impl From<ParticipantAccountIds> for ParticipantAccounts {
    fn from(ids: ParticipantAccountIds) -> Self {
        Self {
            participant: ids.participant,
            currency: ids.currency,
            liquidity: ids.liquidity,
            position: ids.position,
            liquidity_cover: ids.liquidity_cover,
            settlement: ids.settlement,
        }
    }
}

/// The id of a participant's accounts in one currency. A currency holds no colon, so two
/// participants never share an id.
#[must_use]
pub fn document_id(participant: &str, currency: &str) -> String {
    format!("{participant}:{currency}")
}

/// A transfer to prepare with its accounts. The payer's liquidity is debited and its position
/// credited; the payee's the other way round. A participant without accounts in the currency gets
/// none: Transfers words the refusal.
pub fn allocate(
    event: requested::Event,
    settlement_model: &str,
    accounts: impl Fn(&str) -> Option<ParticipantAccounts>,
) -> allocated::Event {
    let of = |participant| accounts(&document_id(participant, &event.amount.currency));
    let payer_accounts = of(&event.payer_fsp).map(|own| allocated::ParticipantAccounts {
        debit: own.liquidity,
        credit: own.position,
    });
    let payee_accounts = of(&event.payee_fsp).map(|own| allocated::ParticipantAccounts {
        debit: own.position,
        credit: own.liquidity,
    });
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
        settlement_model: settlement_model.to_owned(),
        payer_accounts,
        payee_accounts,
        message: event.message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rialto_sdk::bindings::rialto::common::types::Message;
    use rialto_sdk::money::money;

    fn accounts(id: &str) -> Option<ParticipantAccounts> {
        let (participant, currency) = id.split_once(':')?;
        (participant != "stranger" && currency == "USD").then(|| {
            ParticipantAccounts::from(ParticipantAccountIds {
                participant: participant.to_owned(),
                currency: currency.to_owned(),
                liquidity: format!("{participant}-L"),
                position: format!("{participant}-P"),
                liquidity_cover: format!("{participant}-C"),
                settlement: format!("{participant}-S"),
            })
        })
    }

    fn event(payer: &str, payee: &str, currency: &str) -> requested::Event {
        requested::Event {
            transfer_id: "t1".to_owned(),
            payer_fsp: payer.to_owned(),
            payee_fsp: payee.to_owned(),
            requester_fsp: payer.to_owned(),
            amount: money(currency, 2, 1000),
            ilp_packet: "AQ".to_owned(),
            condition: "c".to_owned(),
            expiration: 9,
            request_hash: "h".to_owned(),
            message: Message {
                method: "POST".to_owned(),
                path: "/transfers".to_owned(),
                headers: "date: d\n".to_owned(),
                body: "{}".to_owned(),
            },
        }
    }

    #[test]
    fn a_transfer_gets_the_four_accounts_and_the_model() {
        let before = event("payerfsp", "payeefsp", "USD");
        let after = allocate(before.clone(), "DEFERRED_NET", accounts);
        let pair = |debit: &str, credit: &str| {
            Some(allocated::ParticipantAccounts {
                debit: debit.to_owned(),
                credit: credit.to_owned(),
            })
        };
        assert_eq!(after.payer_accounts, pair("payerfsp-L", "payerfsp-P"));
        assert_eq!(after.payee_accounts, pair("payeefsp-P", "payeefsp-L"));
        assert_eq!(after.settlement_model, "DEFERRED_NET");
        assert_eq!(after.message, before.message);
        assert_eq!(after.amount, before.amount);
        assert_eq!(after.request_hash, before.request_hash);
    }

    #[test]
    fn who_has_no_accounts_in_the_currency_gets_none() {
        let after = allocate(event("stranger", "payeefsp", "USD"), "M", accounts);
        assert_eq!(after.payer_accounts, None);
        assert!(after.payee_accounts.is_some());
        let after = allocate(event("payerfsp", "payeefsp", "TZS"), "M", accounts);
        assert_eq!((after.payer_accounts, after.payee_accounts), (None, None));
    }

    #[test]
    fn settings_have_defaults_and_refuse_unknown_keys() {
        let read = serde_json::from_str::<Settings>;
        assert_eq!(read("{}").unwrap().settlement_model, "DEFERRED_NET");
        let gross = read(r#"{"settlementModel":"IMMEDIATE_GROSS"}"#).unwrap();
        assert_eq!(gross.settlement_model, "IMMEDIATE_GROSS");
        assert!(read(r#"{"model":"x"}"#).is_err());
    }
}
