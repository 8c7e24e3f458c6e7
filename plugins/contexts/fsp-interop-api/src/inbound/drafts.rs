//! Drafts: messages that a participant asks about, and has not sent.

use super::{Examined, Measure, is_its_sender, not_a_participant};
use crate::bindings::exports::rialto::host::http_handler::Request;
use crate::jws::Judge;
use crate::what_if;
use rialto_sdk::bindings::rialto::common::types::ErrorInformation;
use rialto_sdk::bindings::rialto::rules::types::{QuoteRequest, Transfer};
use rialto_sdk::errors::error;
use rialto_sdk::headers::first;

/// A draft as the rules judge it.
#[derive(Debug, PartialEq)]
pub enum Draft {
    /// Of POST /quotes
    Quote(Box<QuoteRequest>),
    /// Of POST /transfers
    Transfer(Transfer),
}

/// Reads a draft, whose header section is `headers`. Its sender is judged as that of any message.
///
/// # Errors
/// Why the message itself would be refused at once.
pub fn draft(
    request: Request,
    headers: &str,
    measure: Measure<'_>,
) -> Result<Draft, ErrorInformation> {
    let source = first(headers, "fspiop-source").unwrap_or_default();
    is_its_sender(&request, source)?;
    let Measure {
        scheme,
        settings,
        keys,
        memory,
        taken,
        now,
    } = measure;
    if source == scheme.hub {
        return Err(not_a_participant(source));
    }
    let judge = Judge {
        keys,
        memory,
        settings,
        now,
    };
    judge.check(&request, headers, source)?;
    let body = request.body.as_deref().unwrap_or("null");
    let body = serde_json::from_str(body);
    let body = body.map_err(|problem| error("3101", &format!("body: {problem}")))?;
    let is_quote = request.operation_id == what_if::OPERATIONS[0];
    let examined = Examined {
        source: source.to_owned(),
        headers: headers.to_owned(),
        onward: None,
        request,
        scheme,
        settings,
        taken,
        now,
        body,
    };
    if is_quote {
        examined
            .quote_draft()
            .map(|draft| Draft::Quote(Box::new(draft)))
    } else {
        examined.transfer_draft().map(Draft::Transfer)
    }
}

impl Examined<'_> {
    fn quote_draft(self) -> Result<QuoteRequest, ErrorInformation> {
        let payee_fsp = self.destination();
        let terms = self.terms_requested()?;
        let payee_fsp = terms.payee_fsp.or(payee_fsp).ok_or_else(|| {
            let detail = "body /payee/partyIdInfo/fspId: a draft names the payee FSP, here or as FSPIOP-Destination";
            error("3102", detail)
        })?;
        Ok(QuoteRequest {
            quote_id: terms.quote_id,
            transaction_id: terms.transaction_id,
            payer_fsp: self.source,
            payee_fsp,
            payer: terms.payer,
            payee: terms.payee,
            amount_type: terms.amount_type,
            amount: terms.amount,
            fees: terms.fees,
            transaction_type: terms.transaction_type,
            expiration: terms.expiration,
        })
    }

    fn transfer_draft(self) -> Result<Transfer, ErrorInformation> {
        let event = self.request_transfer()?;
        Ok(Transfer {
            transfer_id: event.transfer_id,
            payer_fsp: event.payer_fsp,
            payee_fsp: event.payee_fsp,
            amount: event.amount,
            condition: event.condition,
            expiration: event.expiration,
        })
    }
}
