//! A payee's offer: the terms, the transaction in its ILP packet, the condition.

use std::borrow::Cow;
use std::fmt::Write;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Inner;
use crate::amount;
use crate::ilp::{self, Layout};
use crate::message::{ErrorCode, ErrorInformation};
use crate::text::JsonText;
use crate::time;

/// An amount of money, as FSPIOP writes it.
#[derive(Debug, Deserialize)]
pub(super) struct Money<'a> {
    #[serde(borrow)]
    pub(super) currency: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) amount: Cow<'a, str>,
}

/// What a payee reads of POST /quotes. Parties and type go into the packet as they came.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct QuoteRequest<'a> {
    #[serde(borrow)]
    pub(super) quote_id: Cow<'a, str>,
    #[serde(borrow)]
    transaction_id: Cow<'a, str>,
    #[serde(borrow)]
    payee: &'a RawValue,
    #[serde(borrow)]
    payer: &'a RawValue,
    #[serde(borrow)]
    amount_type: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) amount: Money<'a>,
    #[serde(borrow)]
    transaction_type: &'a RawValue,
    #[serde(borrow)]
    note: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Party<'a> {
    #[serde(borrow)]
    party_id_info: PartyIdInfo<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PartyIdInfo<'a> {
    #[serde(borrow)]
    party_id_type: Cow<'a, str>,
    #[serde(borrow)]
    party_identifier: Cow<'a, str>,
    #[serde(borrow)]
    party_sub_id_or_type: Option<Cow<'a, str>>,
}

/// The fee and the commission of the payment, in minor units.
#[derive(Debug, PartialEq, Eq)]
struct Terms {
    transfer: u64,
    receive: u64,
    fee: u64,
}

/// The body of PUT /quotes, or why there is no offer.
pub(super) fn offer(fsp: &Inner, quote: &QuoteRequest<'_>) -> Result<String, ErrorInformation> {
    let refused = |code, detail: String| ErrorInformation::new(code, &detail);
    let payee: Party<'_> = serde_json::from_str(quote.payee.get())
        .map_err(|error| refused(ErrorCode::VALIDATION, format!("payee: {error}")))?;
    let payee = payee.party_id_info;
    let mut party = format!("{}/{}", payee.party_id_type, payee.party_identifier);
    if let Some(sub_id) = &payee.party_sub_id_or_type {
        party.push('/');
        party.push_str(sub_id);
    }
    if !fsp.owns(&party) {
        return Err(refused(ErrorCode::PARTY_NOT_FOUND, party));
    }
    let terms = terms(fsp.settings.payee_fee.as_deref(), quote)?;
    let currency = &*quote.amount.currency;
    let transfer_amount = amount::format(terms.transfer, currency);
    let expiration = time::datetime_in(fsp.expires_in());
    let transaction = transaction(quote, &transfer_amount, fsp.settings.packet_padding);
    let account = ilp_address(fsp.settings.id.as_str(), &party);
    let (packet, condition) = sealed(fsp, terms.transfer, &account, &transaction, &expiration);

    let mut body = String::with_capacity(packet.len() * 4 / 3 + 320);
    let currency = JsonText(currency);
    let receive = amount::format(terms.receive, &quote.amount.currency);
    let written = write!(
        body,
        r#"{{"transferAmount":{{"currency":{currency},"amount":"{transfer_amount}"}},"payeeReceiveAmount":{{"currency":{currency},"amount":"{receive}"}},"#
    )
    .and_then(|()| {
        if terms.fee == 0 {
            return Ok(());
        }
        let fee = amount::format(terms.fee, &quote.amount.currency);
        write!(body, r#""payeeFspFee":{{"currency":{currency},"amount":"{fee}"}},"#)
    })
    .and_then(|()| {
        let packet = ilp::base64url(&packet);
        let condition = ilp::text32(&condition);
        write!(
            body,
            r#""expiration":"{expiration}","ilpPacket":"{packet}","condition":"{condition}"}}"#
        )
    });
    debug_assert!(written.is_ok(), "writing to a String cannot fail");
    Ok(body)
}

/// The terms by the API definition's rules for a payee fee without commission.
fn terms(fee: Option<&str>, quote: &QuoteRequest<'_>) -> Result<Terms, ErrorInformation> {
    let Money { currency, amount } = &quote.amount;
    let in_units = |text: &str| {
        amount::minor_units(text, currency)
            .map_err(|error| ErrorInformation::new(ErrorCode::VALIDATION, &error.to_string()))
    };
    let amount = in_units(amount)?;
    let fee = fee.map_or(Ok(0), in_units)?;
    let no_offer = || {
        ErrorInformation::new(
            ErrorCode::QUOTE_REJECTED,
            "the fee does not go with the amount",
        )
    };
    match &*quote.amount_type {
        "SEND" => {
            let receive = amount.checked_sub(fee).ok_or_else(no_offer)?;
            Ok(Terms {
                transfer: amount,
                receive,
                fee,
            })
        }
        "RECEIVE" => {
            let transfer = amount.checked_add(fee).ok_or_else(no_offer)?;
            Ok(Terms {
                transfer,
                receive: amount,
                fee,
            })
        }
        other => {
            let detail = format!("amountType `{other}` is neither SEND nor RECEIVE");
            Err(ErrorInformation::new(ErrorCode::VALIDATION, &detail))
        }
    }
}

/// The Transaction object that goes into the packet.
fn transaction(quote: &QuoteRequest<'_>, transfer_amount: &str, padding: usize) -> String {
    let mut more = match quote.note {
        Some(note) => format!(r#","note":{}"#, note.get()),
        None => String::new(),
    };
    if padding > 0 {
        let value = "x".repeat(padding);
        more +=
            &format!(r#","extensionList":{{"extension":[{{"key":"padding","value":"{value}"}}]}}"#);
    }
    format!(
        r#"{{"transactionId":{},"quoteId":{},"payee":{},"payer":{},"amount":{{"currency":{},"amount":"{transfer_amount}"}},"transactionType":{}{more}}}"#,
        JsonText(&quote.transaction_id),
        JsonText(&quote.quote_id),
        quote.payee.get(),
        quote.payer.get(),
        JsonText(&quote.amount.currency),
        quote.transaction_type.get(),
    )
}

/// The packet in the FSP's layout, and the condition that goes with it.
fn sealed(
    fsp: &Inner,
    units: u64,
    account: &str,
    transaction: &str,
    expiration: &str,
) -> (Vec<u8>, [u8; 32]) {
    match fsp.settings.ilp_layout {
        Layout::Specification => {
            let packet = ilp::specification_packet(units, account, transaction.as_bytes());
            let condition = ilp::condition(&fsp.secret.fulfilment(&packet));
            (packet, condition)
        }
        Layout::Deployed => {
            let data = ilp::base64url(transaction.as_bytes());
            let packet = ilp::deployed_packet(units, account, data.as_bytes());
            let condition = ilp::condition(&fsp.secret.fulfilment(&packet));
            (packet, condition)
        }
        Layout::Version4 => {
            let data = ilp::base64url(transaction.as_bytes());
            let condition = ilp::condition(&fsp.secret.fulfilment(data.as_bytes()));
            let packet =
                ilp::version4_packet(units, expiration, &condition, account, data.as_bytes());
            (packet, condition)
        }
    }
}

/// The ILP address of a party: `g.<fsp>.<type>.<identifier>`, with what an address cannot hold
/// replaced.
fn ilp_address(fsp: &str, party: &str) -> String {
    let mut address = format!("g.{}.", fsp.to_ascii_lowercase());
    address.extend(party.chars().map(|character| match character {
        '/' => '.',
        c if c.is_ascii_alphanumeric() || "-_".contains(c) => c.to_ascii_lowercase(),
        _ => '~',
    }));
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms_of(amount_type: &str, amount: &str, fee: Option<&str>) -> Result<Terms, String> {
        let json = format!(
            r#"{{"quoteId":"q","transactionId":"t","payee":{{}},"payer":{{}},"amountType":"{amount_type}",
                "amount":{{"currency":"USD","amount":"{amount}"}},"transactionType":{{}}}}"#
        );
        let quote: QuoteRequest<'_> = serde_json::from_str(&json).expect("a quote request");
        terms(fee, &quote).map_err(|information| information.to_string())
    }

    #[test]
    fn fees_go_by_the_amount_type() {
        let send = terms_of("SEND", "10", Some("0.5")).expect("terms");
        assert_eq!(
            send,
            Terms {
                transfer: 1000,
                receive: 950,
                fee: 50
            }
        );
        let receive = terms_of("RECEIVE", "10", Some("0.5")).expect("terms");
        assert_eq!(
            receive,
            Terms {
                transfer: 1050,
                receive: 1000,
                fee: 50
            }
        );
        let free = terms_of("SEND", "10", None).expect("terms");
        assert_eq!(
            free,
            Terms {
                transfer: 1000,
                receive: 1000,
                fee: 0
            }
        );
        assert!(
            terms_of("SEND", "0.1", Some("0.5"))
                .expect_err("no offer")
                .starts_with("5103")
        );
        assert!(
            terms_of("SEND", "1.005", None)
                .expect_err("no offer")
                .starts_with("3100")
        );
        assert!(
            terms_of("GIVE", "1", None)
                .expect_err("no offer")
                .contains("GIVE")
        );
    }

    #[test]
    fn an_ilp_address_holds_only_what_it_can() {
        assert_eq!(
            ilp_address("PayeeFSP", "MSISDN/123"),
            "g.payeefsp.msisdn.123"
        );
        assert_eq!(
            ilp_address("a", "EMAIL/me@b.example"),
            "g.a.email.me~b~example"
        );
    }
}
