//! What goes out in a payment's steps and what comes back, as plain data. A test may alter an
//! order before it is sent.

use serde::Deserialize;

use super::payer::{AmountType, Failure, FailureKind, Step};
use crate::ids::{FspId, PartyId};
use crate::ilp;
use crate::text::JsonText;

/// A party that was looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The FSP that serves it.
    pub fsp: FspId,
    /// The party, as its FSP described it: FSPIOP's `Party` in JSON.
    pub party: String,
}

impl Found {
    /// A party whose FSP is known without a lookup.
    pub fn known(party: &PartyId, fsp: FspId) -> Self {
        let party = format!(r#"{{"partyIdInfo":{}}}"#, party.json(Some(fsp.as_str())));
        Self { fsp, party }
    }
}

/// POST /quotes, before it is written down. A test may alter it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuoteOrder {
    /// The quote's id.
    pub quote_id: String,
    /// The transaction's id.
    pub transaction_id: String,
    /// The payee's FSP: the message's destination.
    pub payee_fsp: FspId,
    /// The payee: FSPIOP's `Party` in JSON.
    pub payee: String,
    /// The payer: FSPIOP's `Party` in JSON.
    pub payer: String,
    /// The type of the amount.
    pub amount_type: AmountType,
    /// The amount.
    pub amount: String,
    /// Its currency.
    pub currency: String,
    /// A word to the payee.
    pub note: Option<String>,
    /// When the request expires.
    pub expiration: String,
}

impl QuoteOrder {
    /// The message's body.
    pub fn body(&self) -> String {
        let note = match &self.note {
            Some(note) => format!(r#","note":{}"#, JsonText(note)),
            None => String::new(),
        };
        format!(
            r#"{{"quoteId":"{}","transactionId":"{}","payee":{},"payer":{},"amountType":"{}","amount":{{"currency":{},"amount":{}}},"transactionType":{{"scenario":"TRANSFER","initiator":"PAYER","initiatorType":"CONSUMER"}}{note},"expiration":"{}"}}"#,
            self.quote_id,
            self.transaction_id,
            self.payee,
            self.payer,
            self.amount_type.text(),
            JsonText(&self.currency),
            JsonText(&self.amount),
            self.expiration,
        )
    }
}

/// The terms that a payee offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quote {
    /// The quote's id.
    pub quote_id: String,
    /// The payee's FSP.
    pub payee_fsp: FspId,
    /// The transfer's amount.
    pub amount: String,
    /// Its currency.
    pub currency: String,
    /// The ILP packet.
    pub ilp_packet: String,
    /// The condition.
    pub condition: String,
}

/// POST /transfers, before it is written down. A test may alter it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferOrder {
    /// The transfer's id.
    pub transfer_id: String,
    /// The payer's FSP.
    pub payer_fsp: FspId,
    /// The payee's FSP: the message's destination.
    pub payee_fsp: FspId,
    /// The amount.
    pub amount: String,
    /// Its currency.
    pub currency: String,
    /// The quote's ILP packet.
    pub ilp_packet: String,
    /// The quote's condition.
    pub condition: String,
    /// When the transfer expires.
    pub expiration: String,
}

impl TransferOrder {
    /// The message's body.
    pub fn body(&self) -> String {
        format!(
            r#"{{"transferId":"{}","payerFsp":"{}","payeeFsp":"{}","amount":{{"currency":{},"amount":{}}},"ilpPacket":{},"condition":{},"expiration":"{}"}}"#,
            self.transfer_id,
            self.payer_fsp,
            self.payee_fsp,
            JsonText(&self.currency),
            JsonText(&self.amount),
            JsonText(&self.ilp_packet),
            JsonText(&self.condition),
            self.expiration,
        )
    }
}

/// A switch's message about a transfer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TransferResult {
    /// The `transferState`.
    #[serde(rename = "transferState")]
    pub state: String,
    /// The fulfilment, where there is one.
    #[serde(default)]
    pub fulfilment: Option<String>,
    /// When it was completed, as FSPIOP writes it.
    #[serde(default)]
    pub completed_timestamp: Option<String>,
}

impl TransferResult {
    /// True if the state will not change any more.
    pub fn is_final(&self) -> bool {
        matches!(self.state.as_str(), "COMMITTED" | "ABORTED")
    }

    /// Accepts a committed transfer whose fulfilment belongs to the condition, and nothing else.
    pub(super) fn check(&self, condition: &str) -> Result<(), Failure> {
        let failed = |kind, text: String| Err(Failure::new(Step::Transfer, kind, text));
        if self.state != "COMMITTED" {
            return failed(
                FailureKind::NotCommitted,
                format!("the transfer is {}", self.state),
            );
        }
        match &self.fulfilment {
            Some(fulfilment) if ilp::fulfils(fulfilment, condition) => Ok(()),
            Some(fulfilment) => failed(
                FailureKind::WrongFulfilment,
                format!("fulfilment {fulfilment} does not belong to condition {condition}"),
            ),
            None => failed(
                FailureKind::WrongFulfilment,
                "the transfer is COMMITTED without a fulfilment".to_owned(),
            ),
        }
    }
}
