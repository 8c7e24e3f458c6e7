//! Messages about transfers.

use super::values::{ErrorObject, MoneyBody, instant};
use super::{Examined, events};
use crate::bindings::rialto::transfers::types::FulfilMode;
use crate::media::{Resource, Version, content_version, version_for_sender};
use rialto_sdk::bindings::rialto::common::types::ErrorInformation;
use rialto_sdk::canonical::request_hash;
use rialto_sdk::errors::error;
use rialto_sdk::money::minor_units;
use serde::Deserialize;

/// The accepted commitments of transfers: from Transfers, or a test's.
pub trait Taken: std::fmt::Debug {
    /// SHA-256 of the canonical JSON of the commitment of this payee FSP that a transfer has accepted; none if
    /// there is none.
    fn hash(&self, transfer_id: &str, payee_fsp: &str) -> Option<String>;
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TransferRequestBody<'a> {
    transfer_id: &'a str,
    payee_fsp: &'a str,
    payer_fsp: &'a str,
    #[serde(borrow)]
    amount: MoneyBody<'a>,
    ilp_packet: &'a str,
    condition: &'a str,
    expiration: &'a str,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TransferFulfilBody<'a> {
    fulfilment: Option<&'a str>,
    completed_timestamp: Option<&'a str>,
    transfer_state: &'a str,
}

impl Examined<'_> {
    /// The version of transfers for the answer to the sender.
    fn answer_version(&self) -> Option<String> {
        let version = version_for_sender(&self.headers, Resource::Transfers);
        Some(version.text().to_owned())
    }

    pub(super) fn request_transfer(
        self,
    ) -> Result<events::transfer_prepare_requested::Event, ErrorInformation> {
        let body: TransferRequestBody = self.members()?;
        if body.payer_fsp != self.source {
            return Err(error(
                "3100",
                "body /payerFsp: must be the sender (FSPIOP-Source)",
            ));
        }
        if self
            .destination()
            .is_some_and(|destination| destination != body.payee_fsp)
        {
            return Err(error(
                "3100",
                "body /payeeFsp: must be the destination (FSPIOP-Destination)",
            ));
        }
        let amount = body.amount.read("/amount", self.scheme)?;
        if minor_units(&amount) == 0 {
            return Err(error("3100", "body /amount/amount: must be more than 0"));
        }
        Ok(events::transfer_prepare_requested::Event {
            transfer_id: body.transfer_id.to_owned(),
            payer_fsp: body.payer_fsp.to_owned(),
            payee_fsp: body.payee_fsp.to_owned(),
            amount,
            ilp_packet: body.ilp_packet.to_owned(),
            condition: body.condition.to_owned(),
            expiration: instant(body.expiration, "/expiration")?,
            request_hash: request_hash(&self.body),
            requester_fsp: self.source.clone(),
            answer_version: self.answer_version(),
            message: self.into_message(),
        })
    }

    pub(super) fn fulfil_transfer(
        self,
    ) -> Result<events::transfer_fulfil_committed_requested::Event, ErrorInformation> {
        let body: TransferFulfilBody = self.members()?;
        let mode = self.fulfil_mode(body.transfer_state)?;
        let completed = body.completed_timestamp;
        let completed = completed
            .map(|text| instant(text, "/completedTimestamp"))
            .transpose()?;
        let transfer_id = self.path_parameter("ID")?;
        let request_hash = request_hash(&self.body);
        if let Some(completed) = completed {
            let is_repeat =
                || self.taken.hash(&transfer_id, &self.source).as_ref() == Some(&request_hash);
            self.check_completed(completed, is_repeat)?;
        }
        Ok(events::transfer_fulfil_committed_requested::Event {
            transfer_id,
            mode,
            // A commitment without one is still passed on: Transfers ends the transfer.
            fulfilment: body.fulfilment.map(str::to_owned),
            completed_timestamp: completed,
            request_hash,
            destination_fsp: self.destination(),
            requester_fsp: self.source.clone(),
            arrived_at: Some(self.now),
            answer_version: self.answer_version(),
            message: self.into_message(),
        })
    }

    /// Checks the completion time, which the payer FSP gets: it may differ from the hub's clock by the
    /// tolerances of the settings. A commitment that was accepted before may be repeated with any age, since
    /// the payee FSP missed the answer.
    fn check_completed(
        &self,
        completed: u64,
        is_repeat: impl FnOnce() -> bool,
    ) -> Result<(), ErrorInformation> {
        let (ahead, age) = (
            self.settings.completed_timestamp_ahead_ms,
            self.settings.completed_timestamp_age_ms,
        );
        let detail = if completed > self.now.saturating_add(ahead) {
            format!("more than {ahead} ms ahead of the hub's clock")
        } else if completed < self.now.saturating_sub(age) && !is_repeat() {
            format!("more than {age} ms old")
        } else {
            return Ok(());
        };
        let detail = format!("body /completedTimestamp: {detail}");
        Err(error("3100", &detail))
    }

    fn fulfil_mode(&self, state: &str) -> Result<FulfilMode, ErrorInformation> {
        match state {
            "COMMITTED" => Ok(FulfilMode::Committed),
            "RESERVED" => {
                // Version 1.0 has no PATCH, so the payee FSP could not learn how the transfer ends.
                let version = content_version(&self.headers, Resource::Transfers);
                if version < Version::V1_1 {
                    let detail = "body /transferState: RESERVED needs version 1.1 of transfers";
                    return Err(error("3100", detail));
                }
                Ok(FulfilMode::Reserved)
            }
            _ => {
                let detail =
                    "body /transferState: must be COMMITTED or RESERVED; decline by PUT …/error";
                Err(error("3100", detail))
            }
        }
    }

    pub(super) fn reject_transfer(
        self,
    ) -> Result<events::transfer_reject_requested::Event, ErrorInformation> {
        Ok(events::transfer_reject_requested::Event {
            transfer_id: self.path_parameter("ID")?,
            error: self.members::<ErrorObject>()?.read()?,
            destination_fsp: self.destination(),
            requester_fsp: self.source.clone(),
            answer_version: self.answer_version(),
            message: self.into_message(),
        })
    }

    pub(super) fn query_transfer(
        self,
    ) -> Result<events::transfer_query_received::Event, ErrorInformation> {
        Ok(events::transfer_query_received::Event {
            transfer_id: self.path_parameter("ID")?,
            requester_fsp: self.source.clone(),
            answer_version: self.answer_version(),
            message: self.into_message(),
        })
    }
}
