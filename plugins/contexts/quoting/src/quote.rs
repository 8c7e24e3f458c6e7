//! The quote document, and the states of a quote.
//!
//! | State | Event | Next state | Publishes | Who is told |
//! |---|---|---|---|---|
//! | none | a request passes all checks | PENDING | `quote-request-accepted` | payee FSP: POST |
//! | none | a request has expired on arrival | EXPIRED | `invalid-quote-request` | payer FSP: error |
//! | none | a request is refused | REJECTED | `invalid-quote-request`, `invalid-fsp-in-quote-request`, `rule-violated-in-quote-request` | payer FSP: error |
//! | PENDING | the payee FSP's terms are accepted | ACCEPTED | `quote-response-accepted` | payer FSP: PUT |
//! | PENDING | the terms come too late | EXPIRED | `rule-violated-in-quote-response` | both FSPs: error |
//! | PENDING | the terms are refused | REJECTED | `rule-violated-in-quote-response` | both FSPs: error |
//! | PENDING | the payee FSP declines | REJECTED | `quote-reject-request-processed` | payer FSP: error |
//! | PENDING | the request does not reach the payee FSP | REJECTED | `quote-query-response` | payer FSP: error |
//!
//! ACCEPTED, REJECTED and EXPIRED are final. A quote that nobody answers stays PENDING until it is archived.

use crate::settings::Settings;
use crate::terms::RequestTerms;
use rialto_sdk::bindings::rialto::common::types::ErrorInformation;
use rialto_sdk::deliveries::DeliveryDocument;
use rialto_sdk::messages::{ErrorDocument, PartyDocument};
use serde::{Deserialize, Serialize};

/// The state of a quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum State {
    /// The payee FSP is asked.
    Pending,
    /// Both FSPs agree; final.
    Accepted,
    /// The scheme or the payee FSP refused; final.
    Rejected,
    /// It was too late for the request or the response; final.
    Expired,
}

impl State {
    /// Whether a quote in this state stays in it for ever.
    #[must_use]
    pub const fn is_final(self) -> bool {
        !matches!(self, Self::Pending)
    }
}

/// A document of the collection `quotes`: all that is known of one quote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Quote {
    /// The payer FSP's id for it, unique in the scheme; the document's id.
    pub quote_id: String,
    /// Who asks.
    pub payer_fsp: String,
    /// Who is asked, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payee_fsp: Option<String>,
    /// Where it is.
    pub state: State,
    /// SHA-256 of the request's canonical JSON; empty once it is archived.
    pub request_hash: String,
    /// The request, if it went to the payee FSP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestTerms>,
    /// Payer and payee of a request that was refused: its hash and the reason may say who they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parties: Vec<PartyDocument>,
    /// SHA-256 of the canonical JSON of the response that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_hash: Option<String>,
    /// The body of the accepted response, byte for byte, for answers to queries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_body: Option<String>,
    /// The condition of the accepted response: the id of the agreement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Why it is rejected or expired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<ErrorDocument>,
    /// UTC, milliseconds since 1970.
    pub requested_at: u64,
    /// When it became final.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<u64>,
    /// Outcomes of messages about it, the latest last.
    #[serde(default)]
    pub deliveries: Vec<DeliveryDocument>,
    /// The file of the archive that has the whole document, if this is what stays of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<String>,
}

impl Quote {
    /// Ends it without an agreement.
    ///
    /// # Panics
    /// If it has ended already: a bug of this component; participants cannot cause it.
    pub fn end(&mut self, state: State, reason: &ErrorInformation, now: u64) {
        assert!(
            self.state == State::Pending && matches!(state, State::Rejected | State::Expired),
            "quote {} cannot go from {:?} to {state:?}",
            self.quote_id,
            self.state
        );
        self.state = state;
        self.reason = Some(ErrorDocument::from(reason));
        self.finished_at = Some(now);
    }

    /// When the request expires, in milliseconds since 1970: its `expiration`, or else the end of the answer
    /// time of the settings. No terms are accepted after it.
    #[must_use]
    pub fn expires_at(&self, expiration: Option<u64>, settings: &Settings) -> u64 {
        expiration.unwrap_or_else(|| self.requested_at.saturating_add(settings.answer_within_ms))
    }

    /// Whether the quote is pending although the request has expired. `now` is in milliseconds since 1970.
    #[must_use]
    pub fn is_overdue(&self, now: u64, settings: &Settings) -> bool {
        let expiration = self.request.as_ref().and_then(|request| request.expiration);
        self.state == State::Pending && now >= self.expires_at(expiration, settings)
    }

    /// Whether this FSP is one of its two.
    #[must_use]
    pub fn is_party(&self, fsp: &str) -> bool {
        fsp == self.payer_fsp || self.is_payee(fsp)
    }

    /// Whether a message of the payee FSP with this destination may be forwarded to the payer FSP.
    #[must_use]
    pub fn may_go_to_payer(&self, destination: Option<&str>) -> bool {
        destination.is_none_or(|destination| destination == self.payer_fsp)
    }

    /// Whether this FSP was asked.
    #[must_use]
    pub fn is_payee(&self, fsp: &str) -> bool {
        self.payee_fsp.as_deref() == Some(fsp)
    }
}
