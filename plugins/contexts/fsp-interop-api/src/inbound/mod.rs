//! From a participant's message to the event that it causes.
//!
//! The host has validated the message by the OpenAPI document. This module checks what needs the scheme's facts
//! or two values. Checks that need state are left to the contexts, with one exception: whether the sender is a
//! participant, since others could not be told of an error later.

mod drafts;
mod lookups;
mod publish;
mod quotes;
#[cfg(test)]
mod tests;
mod transfers;
mod values;

pub use drafts::{Draft, draft};
pub use publish::publish;
pub use transfers::Taken;

use crate::bindings::exports::rialto::host::http_handler::Request;
use crate::bindings::rialto::fsp_interop_api as events;
use crate::headers::forwardable;
use crate::jws::memory::Memory;
use crate::jws::{Judge, Keys, protects};
use crate::media::{Resource, shaping};
use crate::settings::Settings;
use crate::usual;
use rialto_sdk::bindings::rialto::common::types::{ErrorInformation, Message};
use rialto_sdk::errors::error;
use rialto_sdk::headers::first;
use rialto_sdk::scheme::Scheme;
use serde::Deserialize;
use serde_json::Value;

/// A message as the event that it causes.
#[derive(Debug, PartialEq)]
pub enum Inbound {
    /// POST /participants/{Type}/{ID}
    AssociateParty(events::participant_association_request_received::Event),
    /// POST /participants
    AssociateParties(events::participants_association_request_received::Event),
    /// DELETE /participants/{Type}/{ID}
    DisassociateParty(events::participant_disassociate_request_received::Event),
    /// GET /participants/{Type}/{ID}
    QueryParticipant(events::participant_query_received::Event),
    /// GET /parties/{Type}/{ID}
    QueryParty(events::party_query_received::Event),
    /// PUT /parties/{Type}/{ID} and its error twin
    AnswerParty(events::party_info_available::Event),
    /// PUT /parties/{Type}/{ID} that names another FSP than its sender, or another party than its path
    RefuseAnswer(events::party_info_refused::Event),
    /// POST /quotes
    RequestQuote(events::quote_request_received::Event),
    /// PUT /quotes/{ID}
    AnswerQuote(events::quote_response_received::Event),
    /// PUT /quotes/{ID}/error
    RefuseQuote(events::quote_reject_requested::Event),
    /// GET /quotes/{ID}
    QueryQuote(events::quote_query_received::Event),
    /// POST /transfers
    RequestTransfer(events::transfer_prepare_requested::Event),
    /// PUT /transfers/{ID}
    FulfilTransfer(events::transfer_fulfil_committed_requested::Event),
    /// PUT /transfers/{ID}/error
    RejectTransfer(events::transfer_reject_requested::Event),
    /// GET /transfers/{ID}
    QueryTransfer(events::transfer_query_received::Event),
}

/// The subject of a turn: a kind and an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// `transfer`, `quote`, `party`, or `parties` of a request that is about many.
    pub kind: &'static str,
    /// The transfer's, quote's or request's id, or the party's path.
    pub id: String,
}

/// The facts for checking a message.
#[derive(Debug, Clone, Copy)]
pub struct Measure<'a> {
    /// The scheme's facts.
    pub scheme: &'a Scheme,
    /// The component's settings.
    pub settings: &'a Settings,
    /// The keys.
    pub keys: &'a dyn Keys,
    /// The memory of signers and signed messages.
    pub memory: &'a dyn Memory,
    /// The accepted commitments of transfers.
    pub taken: &'a dyn Taken,
    /// The turn's instant, in milliseconds since 1970.
    pub now: u64,
}

/// A message under examination.
struct Examined<'a> {
    request: Request,
    /// Its header section.
    headers: String,
    /// The header section to forward, if it differs: with protected headers as they were sent.
    onward: Option<String>,
    scheme: &'a Scheme,
    settings: &'a Settings,
    taken: &'a dyn Taken,
    now: u64,
    /// FSPIOP-Source.
    source: String,
    /// The body; null if there is none.
    body: Value,
}

/// The operation of the definition that only the switch sends.
const NOT_TAKEN: &str = "patchTransfer";

/// Reads a message, whose header section is `headers`. Also returns the subject of a refused message.
pub fn read(
    request: Request,
    headers: String,
    measure: Measure<'_>,
) -> (Option<Subject>, Result<Inbound, ErrorInformation>) {
    let body = match request.body.as_deref().map(serde_json::from_str) {
        None => Value::Null,
        Some(Ok(body)) => body,
        Some(Err(problem)) => {
            return (None, Err(error("3101", &format!("body: {problem}"))));
        }
    };
    let subject = subject(&request, &body);
    // The document requires no header for it, not even the sender's.
    if request.operation_id == NOT_TAKEN {
        return (subject, Err(not_taken()));
    }
    let source = first(&headers, "fspiop-source")
        .unwrap_or_default()
        .to_owned();
    if let Err(refusal) = is_its_sender(&request, &source) {
        return (subject, Err(refusal));
    }
    let Measure {
        scheme,
        settings,
        keys,
        memory,
        taken,
        now,
    } = measure;
    // The hub's key signs what leaves in the hub's name.
    if source == scheme.hub {
        return (subject, Err(not_a_participant(&source)));
    }
    let judge = Judge {
        keys,
        memory,
        settings,
        now,
    };
    let signed = match judge.check(&request, &headers, &source) {
        Ok(signed) => signed.map(|message| (message, source.clone())),
        Err(refusal) => return (subject, Err(refusal)),
    };
    // Signatures are checked on the message as sent; forwarded messages have the path and media types of the
    // API definition.
    let path = usual::path(&request.path, settings).to_owned();
    let (headers, onward) = match usual::headers(&headers, settings, |_| false) {
        None => (headers, None),
        Some(usual) => {
            let is_protected = |name: &str| protects(&headers, name);
            let onward = usual::headers(&headers, settings, is_protected);
            (usual, onward)
        }
    };
    let examined = Examined {
        request: Request { path, ..request },
        headers,
        onward,
        scheme,
        settings,
        taken,
        now,
        source,
        body,
    };
    let result = examined.read();
    // A refused message may be sent again.
    if let (Some((message, signer)), Ok(_)) = (signed, &result) {
        judge.take(&message, &signer);
    }
    (subject, result)
}

fn not_taken() -> ErrorInformation {
    error(
        "2002",
        "the switch sends this message and does not accept it",
    )
}

/// Checks that a message names as its sender who has proven to be its sender. Without a proof (`authentication.fsps =
/// "none"`), everybody is believed.
pub(crate) fn is_its_sender(request: &Request, source: &str) -> Result<(), ErrorInformation> {
    match &request.caller {
        Some(caller) if caller.name != source => {
            let detail = format!(
                "header FSPIOP-Source: {source} is not {}, whom the sender has proven to be",
                caller.name
            );
            Err(error("3100", &detail))
        }
        _ => Ok(()),
    }
}

/// Passes messages of participants. Any other sender is refused at once, because it could get no callback
/// later. An approved participant always has a callback address, so the address shows that it is one. That
/// costs one read of one document, the first time that an instance sees the sender.
///
/// # Errors
/// 3200 when `source` is no participant.
pub fn said_by(
    source: &str,
    is_participant: impl FnOnce(&str) -> bool,
    inbound: Inbound,
) -> Result<Inbound, ErrorInformation> {
    if is_participant(source) {
        return Ok(inbound);
    }
    Err(not_a_participant(source))
}

pub(crate) fn not_a_participant(source: &str) -> ErrorInformation {
    let detail = format!("header FSPIOP-Source: {source} is not a participant");
    error("3200", &detail)
}

fn subject(request: &Request, body: &Value) -> Option<Subject> {
    let in_path = |name| path_parameter(request, name);
    let in_body = |name| body.get(name).and_then(Value::as_str);
    let operation = request.operation_id.as_str();
    let (kind, id) = if let Some(id_type) = in_path("Type") {
        let sub_id = in_path("SubId")
            .map(|sub_id| format!("/{sub_id}"))
            .unwrap_or_default();
        ("party", format!("{id_type}/{}{sub_id}", in_path("ID")?))
    } else if operation == "associateParties" {
        ("parties", in_body("requestId")?.to_owned())
    } else if operation.ends_with("Quote") {
        (
            "quote",
            in_path("ID").or_else(|| in_body("quoteId"))?.to_owned(),
        )
    } else {
        (
            "transfer",
            in_path("ID").or_else(|| in_body("transferId"))?.to_owned(),
        )
    };
    Some(Subject { kind, id })
}

fn path_parameter<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
    let parameter = request
        .path_parameters
        .iter()
        .find(|(candidate, _)| candidate == name);
    parameter.map(|(_, value)| value.as_str())
}

impl<'a> Examined<'a> {
    fn read(self) -> Result<Inbound, ErrorInformation> {
        let operation = self.request.operation_id.strip_suffix("WithSubId");
        let operation = operation.unwrap_or(&self.request.operation_id);
        match operation {
            "associateParty" => self.associate_party().map(Inbound::AssociateParty),
            "associateParties" => self.associate_parties().map(Inbound::AssociateParties),
            "disassociateParty" => self.disassociate_party().map(Inbound::DisassociateParty),
            "queryParticipant" => self.query_participant().map(Inbound::QueryParticipant),
            "queryParty" => self.query_party().map(Inbound::QueryParty),
            "answerParty" => self.answer_party(),
            "refuseParty" => self.refuse_party().map(Inbound::AnswerParty),
            "requestQuote" => self.request_quote().map(Inbound::RequestQuote),
            "answerQuote" => self.answer_quote().map(Inbound::AnswerQuote),
            "refuseQuote" => self.refuse_quote().map(Inbound::RefuseQuote),
            "queryQuote" => self.query_quote().map(Inbound::QueryQuote),
            "requestTransfer" => self.request_transfer().map(Inbound::RequestTransfer),
            "fulfilTransfer" => self.fulfil_transfer().map(Inbound::FulfilTransfer),
            "rejectTransfer" => self.reject_transfer().map(Inbound::RejectTransfer),
            "queryTransfer" => self.query_transfer().map(Inbound::QueryTransfer),
            // A message refused before has no known sender.
            NOT_TAKEN => Err(not_taken()),
            other => panic!(
                "the OpenAPI document has the operation {other:?}, but the code does not handle it"
            ),
        }
    }

    /// A path parameter that the OpenAPI document requires.
    fn path_parameter(&self, name: &str) -> Result<String, ErrorInformation> {
        path_parameter(&self.request, name)
            .map(str::to_owned)
            .ok_or_else(|| error("3102", &format!("path {name}")))
    }

    /// The members of the body that the switch reads.
    fn members<'b, T: Deserialize<'b>>(&'b self) -> Result<T, ErrorInformation> {
        T::deserialize(&self.body).map_err(|problem| error("3101", &format!("body: {problem}")))
    }

    /// The part of a long request to carry along if the hub itself answers: the headers that shape the answer.
    /// The event has the contents of the body.
    fn into_answerable(self) -> Message {
        let Request { method, path, .. } = self.request;
        let resource = Resource::of_path(&path);
        let shaping = resource.map(|resource| shaping(&self.headers, resource));
        Message {
            method,
            path,
            headers: shaping.unwrap_or_default(),
            body: String::new(),
        }
    }

    /// The message to carry along, for forwarding it byte for byte.
    fn into_message(self) -> Message {
        let Request {
            method, path, body, ..
        } = self.request;
        let headers = self.onward.as_ref().unwrap_or(&self.headers);
        let headers = forwardable(headers, &method);
        Message {
            method,
            path,
            headers,
            body: body.unwrap_or_default(),
        }
    }
}
