//! Messages about quotes.

use super::lookups::check_party;
use super::values::{ErrorObject, MoneyBody, instant, optional_money};
use super::{Examined, events};
use crate::bindings::rialto::quoting::types::QuoteTermsRequested;
use rialto_sdk::bindings::rialto::common::types::{ErrorInformation, PartyId};
use rialto_sdk::bindings::rialto::rules::types::{
    AmountType, Initiator, InitiatorType, QuoteResponse, Scenario, TransactionType,
};
use rialto_sdk::canonical::request_hash;
use rialto_sdk::errors::error;
use serde::Deserialize;

/// The longest body of a quote's terms, in bytes. It is stored for queries, in a document of at most 1 MiB,
/// where a quotation mark takes two bytes. The members of the API need at most a sixth of it.
const TERMS_BYTES_MAX: usize = 262_144;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct QuoteRequestBody<'a> {
    quote_id: &'a str,
    transaction_id: &'a str,
    #[serde(borrow)]
    payee: PartyBody<'a>,
    payer: PartyBody<'a>,
    amount_type: &'a str,
    amount: MoneyBody<'a>,
    fees: Option<MoneyBody<'a>>,
    transaction_type: TransactionTypeBody<'a>,
    expiration: Option<&'a str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PartyBody<'a> {
    #[serde(borrow)]
    party_id_info: PartyIdInfoBody<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PartyIdInfoBody<'a> {
    party_id_type: &'a str,
    party_identifier: &'a str,
    party_sub_id_or_type: Option<&'a str>,
    /// The party's FSP.
    pub(super) fsp_id: Option<&'a str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TransactionTypeBody<'a> {
    scenario: &'a str,
    sub_scenario: Option<&'a str>,
    initiator: &'a str,
    initiator_type: &'a str,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct QuoteResponseBody<'a> {
    #[serde(borrow)]
    transfer_amount: MoneyBody<'a>,
    payee_receive_amount: Option<MoneyBody<'a>>,
    payee_fsp_fee: Option<MoneyBody<'a>>,
    payee_fsp_commission: Option<MoneyBody<'a>>,
    expiration: &'a str,
    condition: &'a str,
}

impl PartyIdInfoBody<'_> {
    /// The party.
    pub(super) fn party_id(&self) -> PartyId {
        PartyId {
            id_type: self.party_id_type.to_owned(),
            identifier: self.party_identifier.to_owned(),
            sub_id_or_type: self.party_sub_id_or_type.map(str::to_owned),
        }
    }
}

impl TransactionTypeBody<'_> {
    fn read(&self) -> Result<TransactionType, ErrorInformation> {
        let location = "body /transactionType";
        let scenario = match self.scenario {
            "DEPOSIT" => Scenario::Deposit,
            "WITHDRAWAL" => Scenario::Withdrawal,
            "TRANSFER" => Scenario::Transfer,
            "PAYMENT" => Scenario::Payment,
            "REFUND" => Scenario::Refund,
            _ => return Err(error("3101", &format!("{location}/scenario"))),
        };
        let initiator = match self.initiator {
            "PAYER" => Initiator::Payer,
            "PAYEE" => Initiator::Payee,
            _ => return Err(error("3101", &format!("{location}/initiator"))),
        };
        let initiator_type = match self.initiator_type {
            "CONSUMER" => InitiatorType::Consumer,
            "AGENT" => InitiatorType::Agent,
            "BUSINESS" => InitiatorType::Business,
            "DEVICE" => InitiatorType::Device,
            _ => return Err(error("3101", &format!("{location}/initiatorType"))),
        };
        let sub_scenario = self.sub_scenario.map(str::to_owned);
        Ok(TransactionType {
            scenario,
            sub_scenario,
            initiator,
            initiator_type,
        })
    }
}

impl Examined<'_> {
    pub(super) fn request_quote(
        self,
    ) -> Result<events::quote_request_received::Event, ErrorInformation> {
        let request = self.terms_requested()?;
        Ok(events::quote_request_received::Event {
            request,
            request_hash: request_hash(&self.body),
            destination_fsp: self.destination(),
            requester_fsp: self.source.clone(),
            message: self.into_message(),
        })
    }

    pub(super) fn terms_requested(&self) -> Result<QuoteTermsRequested, ErrorInformation> {
        let body: QuoteRequestBody = self.members()?;
        let (payer, payee) = (&body.payer.party_id_info, &body.payee.party_id_info);
        if payer.fsp_id.is_some_and(|fsp| fsp != self.source) {
            let detail = "body /payer/partyIdInfo/fspId: must be the sender (FSPIOP-Source)";
            return Err(error("3100", detail));
        }
        let destination = self.destination();
        if let (Some(fsp), Some(destination)) = (payee.fsp_id, destination)
            && fsp != destination
        {
            let detail =
                "body /payee/partyIdInfo/fspId: must be the destination (FSPIOP-Destination)";
            return Err(error("3100", detail));
        }
        // Another spelling of the payee would be a party that no FSP has.
        check_party(&payee.party_id())?;
        let amount_type = match body.amount_type {
            "SEND" => AmountType::Send,
            "RECEIVE" => AmountType::Receive,
            _ => return Err(error("3101", "body /amountType")),
        };
        Ok(QuoteTermsRequested {
            quote_id: body.quote_id.to_owned(),
            transaction_id: body.transaction_id.to_owned(),
            payer: payer.party_id(),
            payer_fsp: payer.fsp_id.map(str::to_owned),
            payee: payee.party_id(),
            payee_fsp: payee.fsp_id.map(str::to_owned),
            amount_type,
            amount: body.amount.read("/amount", self.scheme)?,
            fees: optional_money(body.fees.as_ref(), "/fees", self.scheme)?,
            transaction_type: body.transaction_type.read()?,
            expiration: body
                .expiration
                .map(|text| instant(text, "/expiration"))
                .transpose()?,
        })
    }

    pub(super) fn answer_quote(
        self,
    ) -> Result<events::quote_response_received::Event, ErrorInformation> {
        let bytes = self.request.body.as_deref().map_or(0, str::len);
        if bytes > TERMS_BYTES_MAX {
            let detail = format!("body: {bytes} bytes; a quote may have at most {TERMS_BYTES_MAX}");
            return Err(error("3104", &detail));
        }
        let response = self.terms_given()?;
        Ok(events::quote_response_received::Event {
            quote_id: self.path_parameter("ID")?,
            response,
            request_hash: request_hash(&self.body),
            destination_fsp: self.destination(),
            requester_fsp: self.source.clone(),
            message: self.into_message(),
        })
    }

    fn terms_given(&self) -> Result<QuoteResponse, ErrorInformation> {
        let body: QuoteResponseBody = self.members()?;
        let optional = |body: Option<&MoneyBody>, at| optional_money(body, at, self.scheme);
        Ok(QuoteResponse {
            transfer_amount: body.transfer_amount.read("/transferAmount", self.scheme)?,
            payee_receive_amount: optional(
                body.payee_receive_amount.as_ref(),
                "/payeeReceiveAmount",
            )?,
            payee_fsp_fee: optional(body.payee_fsp_fee.as_ref(), "/payeeFspFee")?,
            payee_fsp_commission: optional(
                body.payee_fsp_commission.as_ref(),
                "/payeeFspCommission",
            )?,
            condition: body.condition.to_owned(),
            expiration: instant(body.expiration, "/expiration")?,
        })
    }

    pub(super) fn refuse_quote(
        self,
    ) -> Result<events::quote_reject_requested::Event, ErrorInformation> {
        Ok(events::quote_reject_requested::Event {
            quote_id: self.path_parameter("ID")?,
            error: self.members::<ErrorObject>()?.read()?,
            destination_fsp: self.destination(),
            requester_fsp: self.source.clone(),
            message: self.into_message(),
        })
    }

    pub(super) fn query_quote(
        self,
    ) -> Result<events::quote_query_received::Event, ErrorInformation> {
        Ok(events::quote_query_received::Event {
            quote_id: self.path_parameter("ID")?,
            requester_fsp: self.source.clone(),
            message: self.into_message(),
        })
    }
}
