//! The exports for HTTP and for settings.

use crate::Component;
use crate::bindings::exports::rialto::host::http_handler::{
    Guest, Request, RequestHead, Response, Violation,
};
use crate::bindings::exports::rialto::host::{configuration_schema, settings_handler};
use crate::bindings::rialto::participant_lifecycle_management::get_participant_callback_info::get_participant_callback_info;
use crate::bindings::rialto::transfers::get_fulfilment_hash::get_fulfilment_hash;
use crate::jws::memory::Documents;
use crate::jws::{HostKeys, Judge};
use crate::remembered::Once;
use crate::settings::Settings;
use crate::{document, fido, inbound, refusal, remembered, signers, usual, what_if};
use rialto_sdk::auditing::Refused;
use rialto_sdk::bindings::rialto::common::types::ErrorInformation;
use rialto_sdk::bindings::rialto::host::{clock, configuration};
use rialto_sdk::documents::HostStore;
use rialto_sdk::headers::{first, of_list};
use rialto_sdk::logging;
use rialto_sdk::scheme::{scheme, settings};

rialto_sdk::judges_settings!(settings_handler, Component, by signers::judge);
rialto_sdk::describes_settings!(configuration_schema, Component, version 1, "../settings.schema.json");

/// The code of a signature that does not hold.
const SIGNATURE_REFUSED: &str = "3105";

/// Asks Transfers, in the same turn.
#[derive(Debug)]
struct AskTransfers;

impl inbound::Taken for AskTransfers {
    fn hash(&self, transfer_id: &str, payee_fsp: &str) -> Option<String> {
        get_fulfilment_hash(transfer_id, payee_fsp)
    }
}

/// Who sends a request, for the audit log.
struct Sender {
    /// The proven name, or else the one that the message claims.
    name: String,
    /// The operation. The path may have a person's number, and the audit log keeps it for ever.
    wants: String,
    /// Whether the message claims another name than the proven one.
    is_another: bool,
}

impl Sender {
    fn of(request: &Request, headers: &str) -> Self {
        let claimed = first(headers, "fspiop-source").unwrap_or_default();
        let proven = request.caller.as_ref().map(|caller| &*caller.name);
        Self {
            name: proven.unwrap_or(claimed).to_owned(),
            wants: request.operation_id.clone(),
            is_another: inbound::is_its_sender(request, claimed).is_err(),
        }
    }

    /// Refuses the request. The audit log has it if the sender is not who the message says.
    fn refuse(&self, error_type: (String, String), error: &ErrorInformation) -> Response {
        let action = match (self.is_another, &*error.code) {
            (true, _) => Some("sender.refused"),
            (false, SIGNATURE_REFUSED) => Some("signature.refused"),
            _ => None,
        };
        if let Some(action) = action {
            let refused = Refused {
                action,
                source: &self.name,
                about: &self.wants,
                why: &error.description,
            };
            refused.write();
        }
        refusal::refuse(error_type, error)
    }
}

impl Guest for Component {
    fn openapi() -> String {
        // `judge` reports bad settings, with all problems.
        let settings = serde_json::from_str(&configuration::settings());
        document::of(&settings.unwrap_or_default())
    }

    fn handle(request: Request) -> Response {
        // Requests are answered 202, all other messages 200.
        let status = if request.method == "PUT" { 200 } else { 202 };
        let settings: &Settings = settings();
        let headers = of_list(&request.headers);
        let memory = Once(Documents::<HostStore>::default());
        let is_participant = |fsp: &str| {
            remembered::is_participant(fsp, || get_participant_callback_info(fsp).is_some())
        };
        let sender = Sender::of(&request, &headers);
        if request.operation_id == fido::OPERATION {
            let judge = Judge {
                keys: &HostKeys,
                memory: &memory,
                settings,
                now: clock::now(),
            };
            let registrar = &fido::SecurityCrypto;
            let answer = fido::answer(&request, &headers, judge, is_participant, registrar);
            return answer.unwrap_or_else(|error| sender.refuse(fido::json_type(), &error));
        }
        if what_if::OPERATIONS.contains(&request.operation_id.as_str()) {
            let measure = inbound::Measure {
                scheme: scheme(),
                settings,
                keys: &HostKeys,
                memory: &memory,
                taken: &AskTransfers,
                now: clock::now(),
            };
            let rules = &what_if::HostRules;
            let answer = what_if::answer(request, &headers, measure, is_participant, rules);
            return answer.unwrap_or_else(|error| sender.refuse(fido::json_type(), &error));
        }
        let usual = usual::headers(&headers, settings, |_| false);
        let seen = usual.as_deref().unwrap_or(&headers);
        let content_type = refusal::content_type(seen, &request.path);
        let source = first(seen, "fspiop-source").unwrap_or_default().to_owned();
        let error_type = refusal::error_type(seen, &request.path);
        let measure = inbound::Measure {
            scheme: scheme(),
            settings,
            keys: &HostKeys,
            memory: &memory,
            taken: &AskTransfers,
            now: clock::now(),
        };
        let (subject, result) = inbound::read(request, headers, measure);
        if let Some(subject) = subject {
            logging::subject(subject.kind, &subject.id);
        }
        match result.and_then(|inbound| inbound::said_by(&source, is_participant, inbound)) {
            Ok(inbound) => {
                inbound::publish(&inbound);
                Response {
                    status,
                    headers: vec![content_type],
                    body: None,
                }
            }
            Err(error) => sender.refuse(error_type, &error),
        }
    }

    fn refuse(head: RequestHead, violation: Violation) -> Response {
        refusal::word(&head, &violation, settings())
    }
}
