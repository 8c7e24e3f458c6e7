//! The payee side: what an FSP does with a lookup, a quote request and a transfer.
//!
//! All three read what they need in place and write their answers straight to text: under load
//! this is the simulator's hot path.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use serde::Deserialize;

use super::Inner;
use super::quoting::{self, Money, QuoteRequest};
use super::server::{Conduct, Inbound, Reaction, Then};
use crate::behaviour::{Behaviour, Dice, StepBehaviour};
use crate::headers::SOURCE;
use crate::ilp;
use crate::message::{ErrorCode, ErrorInformation, Resource};
use crate::text::{JsonText, decoded};
use crate::time;

/// GET /parties: says who the party is.
pub(super) fn lookup(fsp: &Arc<Inner>, inbound: &Inbound<'_>) -> Reaction {
    let behaviour = fsp.behaviour();
    let key = inbound.route.key;
    // Lookups of one party are told apart by their number, since they carry no id.
    let number = fsp.counts.lookups.fetch_add(1, Ordering::Relaxed);
    let request = Request {
        fsp,
        inbound,
        step: &behaviour.lookup,
        dice: Dice::of(behaviour.seed, &format!("{key}#{number}")),
        path: format!("/parties/{key}"),
        refusal: ErrorCode::PARTY_NOT_FOUND,
    };
    request.answer(None, || {
        let party = decoded(key);
        if !fsp.owns(&party) {
            return Err(ErrorInformation::new(ErrorCode::PARTY_NOT_FOUND, &party));
        }
        Ok(party_body(fsp, &party).into())
    })
}

/// POST /quotes: offers terms, with an ILP packet and its condition.
pub(super) fn quote(fsp: &Arc<Inner>, inbound: &Inbound<'_>) -> Reaction {
    fsp.counts.quotes.fetch_add(1, Ordering::Relaxed);
    let quote: QuoteRequest<'_> = match serde_json::from_slice(inbound.body) {
        Ok(quote) => quote,
        Err(error) => return unreadable(&error),
    };
    let behaviour = fsp.behaviour();
    let request = Request {
        fsp,
        inbound,
        step: &behaviour.quote,
        dice: Dice::of(behaviour.seed, &quote.quote_id),
        path: format!("/quotes/{}", quote.quote_id),
        refusal: ErrorCode::QUOTE_REJECTED,
    };
    request.answer(Some(&quote.amount.amount), || {
        let path = &request.path;
        if let Some(before) = fsp.memory.recall(path) {
            return Ok(before);
        }
        let body = Bytes::from(quoting::offer(fsp, &quote)?);
        fsp.memory.remember(path, body.clone());
        Ok(body)
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TransferRequest<'a> {
    #[serde(borrow)]
    transfer_id: Cow<'a, str>,
    #[serde(borrow)]
    amount: Money<'a>,
    #[serde(borrow)]
    ilp_packet: Cow<'a, str>,
    #[serde(borrow)]
    condition: Cow<'a, str>,
}

/// POST /transfers: fulfils the condition, if it is its own.
pub(super) fn transfer(fsp: &Arc<Inner>, inbound: &Inbound<'_>) -> Reaction {
    fsp.counts.transfers.fetch_add(1, Ordering::Relaxed);
    let transfer: TransferRequest<'_> = match serde_json::from_slice(inbound.body) {
        Ok(transfer) => transfer,
        Err(error) => return unreadable(&error),
    };
    let behaviour = fsp.behaviour();
    let request = Request {
        fsp,
        inbound,
        step: &behaviour.transfer,
        dice: Dice::of(behaviour.seed, &transfer.transfer_id),
        path: format!("/transfers/{}", transfer.transfer_id),
        refusal: ErrorCode::TRANSFER_REJECTED,
    };
    request.answer(Some(&transfer.amount.amount), || {
        let path = &request.path;
        if let Some(before) = fsp.memory.recall(path) {
            return Ok(before);
        }
        let body = Bytes::from(fulfil(fsp, &behaviour, request.dice, &transfer)?);
        fsp.memory.remember(path, body.clone());
        Ok(body)
    })
}

fn fulfil(
    fsp: &Inner,
    behaviour: &Behaviour,
    dice: Dice,
    transfer: &TransferRequest<'_>,
) -> Result<String, ErrorInformation> {
    let packet = ilp::from_base64url(&transfer.ilp_packet).ok_or_else(|| {
        ErrorInformation::new(ErrorCode::VALIDATION, "the ilpPacket is not base64url")
    })?;
    let mut fulfilment = fsp.secret.fulfilment_of_packet(&packet);
    if ilp::bytes32(&transfer.condition) != Some(ilp::condition(&fulfilment)) {
        return Err(ErrorInformation::new(
            ErrorCode::TRANSFER_REJECTED,
            "the condition does not belong to a packet of this FSP",
        ));
    }
    if dice.hits("wrong fulfilment", behaviour.wrong_fulfilment) {
        fulfilment = ilp::condition(&fulfilment); // looks like one, and fits nothing
    }
    let fulfilment = ilp::text32(&fulfilment);
    Ok(if behaviour.reserve {
        format!(r#"{{"fulfilment":"{fulfilment}","transferState":"RESERVED"}}"#)
    } else {
        let completed = time::datetime_in(std::time::Duration::ZERO);
        format!(
            r#"{{"fulfilment":"{fulfilment}","completedTimestamp":"{completed}","transferState":"COMMITTED"}}"#
        )
    })
}

/// A request to the payee, with all that decides its answer.
struct Request<'a> {
    fsp: &'a Arc<Inner>,
    inbound: &'a Inbound<'a>,
    step: &'a StepBehaviour,
    dice: Dice,
    /// The path of the callback, without `/error`.
    path: String,
    /// The code of a refusal that the behaviour demands, unless it names one itself.
    refusal: ErrorCode,
}

impl Request<'_> {
    /// Goes through the step's behaviour, and asks for the callback's body only where there is
    /// to be one.
    fn answer(
        &self,
        amount: Option<&str>,
        body: impl FnOnce() -> Result<Bytes, ErrorInformation>,
    ) -> Reaction {
        let conduct = Conduct::of(&self.step.answer, self.dice);
        if conduct.ignores() {
            return Reaction::ignore(conduct);
        }
        if !self.inbound.headers.contains_key(SOURCE) {
            return Reaction::refuse(400, ErrorCode::MISSING, "FSPIOP-Source");
        }
        if self.dice.hits("silent", self.step.silent) {
            return Reaction::accept(conduct, 202, Then::Nothing);
        }
        let result = match self.step.refuse.of(self.dice, amount, self.refusal) {
            Some(code) => Err(ErrorInformation::new(code, "simulated refusal")),
            None => body(),
        };
        let (path, body) = match result {
            Ok(body) => (self.path.clone(), body),
            Err(information) => (format!("{}/error", self.path), information.body().into()),
        };
        let resource: Resource = self.inbound.route.resource;
        let message = self
            .fsp
            .callback(resource, path, self.inbound.headers, body);
        let pause = self.dice.pause("delay", self.step.delay);
        Reaction::accept(conduct, 202, Then::Send(message, pause))
    }
}

fn unreadable(error: &serde_json::Error) -> Reaction {
    let code = if error.to_string().starts_with("missing field") {
        ErrorCode::MISSING
    } else {
        ErrorCode::MALFORMED
    };
    Reaction::refuse(400, code, &error.to_string())
}

/// The body of PUT /parties for one of the FSP's own parties, given as `TYPE/identifier`.
fn party_body(fsp: &Inner, party: &str) -> String {
    let mut parts = party.splitn(3, '/');
    let (kind, identifier) = (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    );
    let sub_id = match parts.next() {
        Some(sub_id) => format!(r#","partySubIdOrType":{}"#, JsonText(sub_id)),
        None => String::new(),
    };
    format!(
        r#"{{"party":{{"partyIdInfo":{{"partyIdType":{},"partyIdentifier":{}{sub_id},"fspId":"{id}"}},"name":"Customer of {id}"}}}}"#,
        JsonText(kind),
        JsonText(identifier),
        id = fsp.settings.id,
    )
}
