//! The payer side: one payment from lookup to final state, and its outcome.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::orders::Found;
use super::{Fsp, FspId, Inner};
use crate::ids::{PartyId, Trace};
use crate::message::ErrorInformation;
use crate::time::{self, milliseconds};

/// The payment to make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PaymentRequest {
    /// Who pays; the FSP's first party if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<PartyId>,
    /// The payee.
    pub to: PartyId,
    /// How much, as an FSPIOP amount.
    pub amount: String,
    /// In which currency.
    pub currency: String,
    /// Whether the amount is what the payer sends or what the payee receives.
    #[serde(default)]
    pub amount_type: AmountType,
    /// A word to the payee.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The payee's FSP, where it is known: the lookup is left out then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payee_fsp: Option<FspId>,
}

/// Which side of a payment its amount describes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum AmountType {
    /// The amount that the payer sends.
    #[default]
    Send,
    /// The amount that the payee receives.
    Receive,
}

impl AmountType {
    /// As it stands in FSPIOP.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Send => "SEND",
            Self::Receive => "RECEIVE",
        }
    }
}

impl PaymentRequest {
    /// A payment to this party, sent by the FSP's first one.
    pub fn new(to: PartyId, amount: &str, currency: &str) -> Self {
        Self {
            from: None,
            to,
            amount: amount.to_owned(),
            currency: currency.to_owned(),
            amount_type: AmountType::Send,
            note: None,
            payee_fsp: None,
        }
    }
}

/// A step of a payment, or another exchange with the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    /// GET /parties.
    Lookup,
    /// POST /quotes.
    Quote,
    /// POST /transfers.
    Transfer,
    /// GET of a transfer, a quote or a participant.
    Query,
    /// POST or DELETE /participants.
    Association,
}

impl Step {
    /// The step's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lookup => "lookup",
            Self::Quote => "quote",
            Self::Transfer => "transfer",
            Self::Query => "query",
            Self::Association => "association",
        }
    }
}

/// How long a step took, in milliseconds since it began.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepTiming {
    /// Which step.
    pub step: Step,
    /// Until the HTTP answer.
    pub accepted_ms: f64,
    /// Until the callback.
    pub callback_ms: f64,
}

/// Why a step failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// The request itself cannot be made: no switch, or no payer.
    Request,
    /// The switch could not be reached, or gave no HTTP answer.
    Unreachable,
    /// The switch refused the request in its HTTP answer.
    Refused,
    /// An error callback came.
    ErrorCallback,
    /// No callback came in time.
    NoCallback,
    /// The callback cannot be read.
    Unreadable,
    /// The fulfilment does not belong to the condition.
    WrongFulfilment,
    /// The transfer ended in a state other than COMMITTED.
    NotCommitted,
}

impl FailureKind {
    /// The kind's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Unreachable => "unreachable",
            Self::Refused => "refused",
            Self::ErrorCallback => "error-callback",
            Self::NoCallback => "no-callback",
            Self::Unreadable => "unreadable",
            Self::WrongFulfilment => "wrong-fulfilment",
            Self::NotCommitted => "not-committed",
        }
    }
}

/// A step that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase")]
#[error("{} failed ({}): {description}", step.name(), kind.name())]
pub struct Failure {
    /// Which step.
    pub step: Step,
    /// In which way.
    pub kind: FailureKind,
    /// The HTTP status of a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
    /// The FSPIOP error code, where one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// What went wrong, for people.
    pub description: String,
}

impl Failure {
    pub(super) fn new(step: Step, kind: FailureKind, description: impl Into<String>) -> Self {
        Self {
            step,
            kind,
            http_status: None,
            error_code: None,
            description: description.into(),
        }
    }

    pub(super) fn coded(step: Step, kind: FailureKind, information: ErrorInformation) -> Self {
        Self {
            error_code: Some(information.code),
            ..Self::new(step, kind, information.description)
        }
    }

    /// A short name of the failure, the same for all failures alike: for counting.
    pub fn reason(&self) -> String {
        let mut reason = format!("{} {}", self.step.name(), self.kind.name());
        let status = self.http_status.map(|status| status.to_string());
        for detail in status.iter().chain(&self.error_code) {
            reason.push(' ');
            reason.push_str(detail);
        }
        reason
    }
}

/// The outcome of a payment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaymentOutcome {
    /// The transfer's final state, as the switch told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer_state: Option<String>,
    /// Why the payment failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// The W3C trace id that its messages share, in hexadecimal digits.
    #[serde(default)]
    pub trace_id: String,
    /// The lookup's path, without the leading `/`.
    pub lookup_path: String,
    /// The quote's id; empty if it came to none.
    pub quote_id: String,
    /// The transfer's id; empty if it came to none.
    pub transfer_id: String,
    /// The payee's FSP, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payee_fsp: Option<FspId>,
    /// The transfer's amount, once quoted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer_amount: Option<String>,
    /// When it began: microseconds since 1970, UTC.
    pub began_us: u64,
    /// The steps that succeeded.
    pub steps: Vec<StepTiming>,
    /// How long it all took, in milliseconds.
    pub total_ms: f64,
}

impl PaymentOutcome {
    /// True if the money has moved.
    pub fn is_committed(&self) -> bool {
        self.failure.is_none() && self.transfer_state.as_deref() == Some("COMMITTED")
    }
}

impl Fsp {
    /// Pays: lookup, quote, transfer, each with the wait for its callback.
    pub async fn pay(&self, request: &PaymentRequest) -> PaymentOutcome {
        self.inner.pay(request).await
    }
}

impl Inner {
    pub(super) async fn pay(&self, request: &PaymentRequest) -> PaymentOutcome {
        let started = time::now();
        let mut outcome = PaymentOutcome {
            began_us: time::wall_us(),
            lookup_path: format!("parties/{}", request.to.path()),
            ..PaymentOutcome::default()
        };
        if let Err(failure) = self.pay_into(request, &mut outcome).await {
            outcome.failure = Some(failure);
        }
        outcome.total_ms = milliseconds(started.elapsed());
        outcome
    }

    async fn pay_into(
        &self,
        request: &PaymentRequest,
        outcome: &mut PaymentOutcome,
    ) -> Result<(), Failure> {
        let trace = self.mint.trace();
        outcome.trace_id = trace.to_string();
        let found = match &request.payee_fsp {
            Some(fsp) => Found::known(&request.to, fsp.clone()),
            None => {
                let (found, timing) = self.lookup(&request.to, trace).await?;
                outcome.steps.push(timing);
                found
            }
        };
        outcome.payee_fsp = Some(found.fsp.clone());

        let order = self.quote_order(request, &found)?;
        outcome.quote_id.clone_from(&order.quote_id);
        let (quote, timing) = self.quote(&order, trace).await?;
        outcome.steps.push(timing);
        outcome.transfer_amount = Some(quote.amount.clone());

        let order = self.transfer_order(&quote);
        outcome.transfer_id.clone_from(&order.transfer_id);
        let result = match self.transfer(&order, trace).await {
            Ok((result, timing)) => {
                outcome.steps.push(timing);
                result
            }
            Err(failure) if self.may_still_be_decided(&failure) => {
                self.resolve(&order.transfer_id, &found.fsp, trace, failure)
                    .await?
            }
            Err(failure) => return Err(failure),
        };
        outcome.transfer_state = Some(result.state.clone());
        result.check(&order.condition)
    }

    /// A transfer without an answer may still have been committed.
    fn may_still_be_decided(&self, failure: &Failure) -> bool {
        self.settings.query_on_timeout
            && matches!(
                failure.kind,
                FailureKind::NoCallback | FailureKind::Unreachable
            )
    }

    /// Asks for a transfer that got no callback, until it has a final state or time is up. If
    /// that leads nowhere the first failure stands.
    async fn resolve(
        &self,
        transfer_id: &str,
        payee_fsp: &FspId,
        trace: Trace,
        first: Failure,
    ) -> Result<super::TransferResult, Failure> {
        let until = time::now() + self.callback_timeout();
        loop {
            let left = until.saturating_duration_since(time::now());
            if left.is_zero() {
                return Err(first);
            }
            match self
                .query_transfer(transfer_id, Some(payee_fsp), trace, left)
                .await
            {
                Ok((result, _)) if result.is_final() => return Ok(result),
                Err(failure) if failure.kind == FailureKind::ErrorCallback => return Err(failure),
                Ok(_) | Err(_) => {
                    tokio::time::sleep(left.min(Duration::from_millis(100))).await;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_is_read_from_handwritten_json() {
        let json = r#"{"to":"MSISDN/27713803912","amount":"100","currency":"USD"}"#;
        let read: PaymentRequest = serde_json::from_str(json).expect("a request");
        let to = "MSISDN/27713803912".parse().expect("a party");
        assert_eq!(read, PaymentRequest::new(to, "100", "USD"));
    }

    #[test]
    fn failures_alike_have_one_reason() {
        let failure = Failure {
            http_status: Some(503),
            ..Failure::new(Step::Quote, FailureKind::Refused, "busy since 12:00:01")
        };
        assert_eq!(failure.reason(), "quote refused 503");
        let code = crate::message::ErrorCode::TRANSFER_REJECTED;
        let information = ErrorInformation::new(code, "");
        let failure = Failure::coded(Step::Transfer, FailureKind::ErrorCallback, information);
        assert_eq!(failure.reason(), "transfer error-callback 5105");
        assert!(
            failure
                .to_string()
                .contains("Payee FSP rejected transaction")
        );
    }
}
