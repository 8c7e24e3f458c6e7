//! `/what-if/quotes` and `/what-if/transfers`: what the rules would say about a message that a participant has not sent.
//!
//! The message is read and its sender judged as that of the message itself. Then the rules are asked that would judge the
//! message (`judging.ask-what-if`): those of its agreed quote, with what Transfers has counted. Nothing is published, and
//! nothing is kept: not even that a signed draft was taken, because it has no effect. What may not be told is not even
//! asked; the host leaves it out. The answer has receipts that are marked as those of a what-if, without settings; nobody
//! else has them.

use crate::bindings::exports::rialto::host::http_handler::{Request, Response};
use crate::bindings::rialto::counting::get_counts::get_counts;
use crate::bindings::rialto::host::judging::{self, WhatIfVerdict};
use crate::bindings::rialto::quoting::get_agreement::{Agreed, get_agreement_with_rules};
use crate::bindings::{quote_request_check, transfer_prepare_check, transfer_prepare_counters};
use crate::fido::json_type;
use crate::inbound::{Draft, Measure, draft, not_a_participant};
use crate::refusal;
use rialto_sdk::agreements::is_agreed;
use rialto_sdk::bindings::rialto::common::types::ErrorInformation;
use rialto_sdk::bindings::rialto::rules::types::{Agreement, Transfer};
use rialto_sdk::counters::Counted;
use rialto_sdk::errors::error;
use rialto_sdk::headers::first;
use serde_json::{Value, json};

/// The operations' ids in the OpenAPI document.
pub const OPERATIONS: [&str; 2] = ["whatIfQuote", "whatIfTransfer"];

/// The subject of a draft. It is no id, so nothing is found by it.
const SUBJECT: &str = "what-if";

/// The rules, and what they need to know.
pub trait Rules {
    /// Begins a draft of a participant, which may have so many in a minute.
    ///
    /// # Errors
    /// After how many seconds it may ask again.
    fn begin(&self, participant: &str, per_minute: u32) -> Result<(), u32>;
    /// Asks the rules for quotes.
    fn quote(&self, input: &quote_request_check::Input);
    /// Asks the rules for transfers.
    fn transfer(&self, input: &transfer_prepare_check::Input);
    /// What they have said.
    fn verdicts(&self) -> Vec<WhatIfVerdict>;
    /// The marked receipts of that, a JSON object.
    fn receipts(&self) -> String;
    /// The agreed quote with this condition, and its rules.
    fn agreement(&self, condition: &str) -> Option<Agreed>;
    /// Has the transfer that is asked next judged by the rules of a release at an instant.
    fn as_agreed(&self, release: u64, at: u64);
    /// The values of the counters that the rules need who judge the next transfer.
    fn counts(&self, transfer: &Transfer, agreement: Option<&Agreement>) -> Vec<Counted>;
}

/// The rules of the release, asked through the host.
#[derive(Debug, Clone, Copy)]
pub struct HostRules;

impl Rules for HostRules {
    fn begin(&self, participant: &str, per_minute: u32) -> Result<(), u32> {
        judging::ask_what_if(participant, per_minute)
    }

    fn quote(&self, input: &quote_request_check::Input) {
        // The verdict is the last one of `verdicts`.
        let _ = quote_request_check::check(SUBJECT, input);
    }

    fn transfer(&self, input: &transfer_prepare_check::Input) {
        let _ = transfer_prepare_check::check(SUBJECT, input);
    }

    fn verdicts(&self) -> Vec<WhatIfVerdict> {
        judging::what_if_verdicts()
    }

    fn receipts(&self) -> String {
        judging::what_if_receipts()
    }

    fn agreement(&self, condition: &str) -> Option<Agreed> {
        get_agreement_with_rules(condition)
    }

    fn as_agreed(&self, release: u64, at: u64) {
        judging::judge_as_agreed(release, at);
    }

    fn counts(&self, transfer: &Transfer, agreement: Option<&Agreement>) -> Vec<Counted> {
        let needed = transfer_prepare_counters::counters();
        if needed.is_empty() {
            return Vec::new();
        }
        get_counts(&needed, transfer, agreement)
    }
}

/// Answers a draft, whose header section is `headers`.
///
/// # Errors
/// Why the message itself, or its sender, would be refused at once.
pub fn answer(
    request: Request,
    headers: &str,
    measure: Measure<'_>,
    is_participant: impl FnOnce(&str) -> bool,
    rules: &impl Rules,
) -> Result<Response, ErrorInformation> {
    let (now, per_minute) = (measure.now, measure.settings.what_if.per_minute);
    let source = first(headers, "fspiop-source").unwrap_or_default();
    let read = draft(request, headers, measure)?;
    if !is_participant(source) {
        return Err(not_a_participant(source));
    }
    if let Err(seconds) = rules.begin(source, per_minute) {
        return Ok(too_many(per_minute, seconds));
    }
    let step = match read {
        Draft::Quote(request) => {
            rules.quote(&quote_request_check::Input {
                now,
                request: *request,
            });
            "quote-request-check"
        }
        Draft::Transfer(transfer) => {
            let agreement = rules.agreement(&transfer.condition);
            // What others have agreed on is not told, not even whether it is there.
            let own = agreement.filter(|agreed| agreed.agreement.request.payer_fsp == source);
            let by = own.as_ref().filter(|agreed| agreed.release > 0);
            if let Some(agreed) = by.filter(|one| is_agreed(&one.agreement, &transfer, now)) {
                rules.as_agreed(agreed.release, agreed.agreed_at);
            }
            let agreement = own.map(|agreed| agreed.agreement);
            let counts = rules.counts(&transfer, agreement.as_ref());
            rules.transfer(&transfer_prepare_check::Input {
                now,
                transfer,
                agreement,
                counts,
            });
            "transfer-prepare-check"
        }
    };
    Ok(told(step, rules.verdicts(), &rules.receipts()))
}

fn told(step: &str, verdicts: Vec<WhatIfVerdict>, receipts: &str) -> Response {
    let mut allows = true;
    let mut shown = Vec::new();
    for verdict in verdicts {
        let Some(violations) = &verdict.violations else {
            return not_now();
        };
        allows &= violations.is_empty();
        shown.push(of_verdict(&verdict));
    }
    // The host gives a JSON object.
    let receipts: Value = serde_json::from_str(receipts).unwrap_or_default();
    let body = json!({
        "whatIf": true, "step": step, "allows": allows, "verdicts": shown, "receipts": receipts,
    });
    Response {
        status: 200,
        headers: vec![json_type(), no_store()],
        body: Some(body.to_string()),
    }
}

fn of_verdict(verdict: &WhatIfVerdict) -> Value {
    let violations = verdict.violations.as_deref().unwrap_or_default();
    // The host gives a JSON object.
    let settings: Value = serde_json::from_str(&verdict.settings).unwrap_or_default();
    let mut shown = json!({
        "rule": verdict.rule,
        "version": verdict.version,
        "summary": verdict.summary,
        "verdict": if violations.is_empty() { "allow" } else { "refuse" },
        "settings": settings,
    });
    if !violations.is_empty() {
        let all = violations
            .iter()
            .map(|one| json!({ "errorCode": one.code, "errorDescription": one.message }));
        shown["violations"] = all.collect();
    }
    shown
}

fn no_store() -> (String, String) {
    ("cache-control".to_owned(), "no-store".to_owned())
}

fn too_many(per_minute: u32, seconds: u32) -> Response {
    let detail = format!("more than {per_minute} drafts in a minute; ask again in {seconds} s");
    later(429, &error("3000", &detail), seconds)
}

fn not_now() -> Response {
    let detail = "a rule could not be asked now; ask again";
    later(503, &error("2003", detail), 1)
}

fn later(status: u16, error: &ErrorInformation, seconds: u32) -> Response {
    let mut response = refusal::refuse(json_type(), error);
    response.status = status;
    let again = ("retry-after".to_owned(), seconds.to_string());
    response.headers.extend([again, no_store()]);
    response
}

#[cfg(test)]
mod tests;
