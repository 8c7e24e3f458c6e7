//! Bodies of messages that FSPs send, sound unless a test changes them.

use std::time::Duration;

use rialto_simulator::time::datetime_in;
use serde_json::{Value, json};

use crate::world::{PAYEE, PAYER};

/// An ILP packet: opaque to the scheme.
pub const ILP_PACKET: &str = "AQAAAAAAAADIEHByaXZhdGUucGF5ZWVmc3A";

/// POST /transfers: from the payer to the payee, on no quote.
pub fn transfer(id: &str, change: impl FnOnce(&mut Value)) -> Value {
    let mut body = json!({
        "transferId": id,
        "payerFsp": PAYER,
        "payeeFsp": PAYEE,
        "amount": { "currency": "USD", "amount": "12.5" },
        "ilpPacket": ILP_PACKET,
        "condition": "A".repeat(43),
        "expiration": in_an_hour(),
    });
    change(&mut body);
    body
}

/// POST /quotes: the payer asks the payee.
pub fn quote(id: &str, change: impl FnOnce(&mut Value)) -> Value {
    let party = |fsp: &str, identifier: &str| {
        json!({ "partyIdInfo": {
            "partyIdType": "MSISDN", "partyIdentifier": identifier, "fspId": fsp,
        } })
    };
    let mut body = json!({
        "quoteId": id,
        "transactionId": id,
        "payer": party(PAYER, "27713803901"),
        "payee": party(PAYEE, "27713803900"),
        "amountType": "SEND",
        "amount": { "currency": "USD", "amount": "12.5" },
        "transactionType": {
            "scenario": "TRANSFER", "initiator": "PAYER", "initiatorType": "CONSUMER",
        },
        "expiration": in_an_hour(),
    });
    change(&mut body);
    body
}

/// To come, and not so far ahead that the scheme refuses it.
fn in_an_hour() -> String {
    datetime_in(Duration::from_secs(3_600))
}
