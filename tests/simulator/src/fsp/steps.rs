//! The steps of a payment one by one, and the other things that an FSP asks of a switch.

use std::borrow::Cow;
use std::time::Duration;

use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::orders::{Found, Quote, QuoteOrder, TransferOrder, TransferResult};
use super::payer::{Failure, FailureKind, PaymentRequest, Step, StepTiming};
use super::quoting::Money;
use super::waiting::Callback;
use super::{Fsp, Inner, Outgoing};
use crate::client::SendError;
use crate::headers::SOURCE;
use crate::ids::{FspId, PartyId, Trace};
use crate::message::{ErrorInformation, Resource};
use crate::text::{JsonText, decoded};
use crate::time::{self, milliseconds};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct QuoteBody<'a> {
    #[serde(borrow)]
    transfer_amount: Money<'a>,
    #[serde(borrow)]
    ilp_packet: Cow<'a, str>,
    #[serde(borrow)]
    condition: Cow<'a, str>,
}

/// Steps one by one, each with how long it took. A lookup, quote or transfer that is begun here
/// has a trace of its own.
impl Fsp {
    /// Looks a party up.
    pub async fn lookup(&self, party: &PartyId) -> Result<(Found, StepTiming), Failure> {
        self.inner.lookup(party, self.inner.mint.trace()).await
    }

    /// A request for a quote, with new ids.
    pub fn quote_order(
        &self,
        request: &PaymentRequest,
        found: &Found,
    ) -> Result<QuoteOrder, Failure> {
        self.inner.quote_order(request, found)
    }

    /// Asks for a quote.
    pub async fn quote(&self, order: &QuoteOrder) -> Result<(Quote, StepTiming), Failure> {
        self.inner.quote(order, self.inner.mint.trace()).await
    }

    /// A transfer on the terms of a quote, with a new id.
    pub fn transfer_order(&self, quote: &Quote) -> TransferOrder {
        self.inner.transfer_order(quote)
    }

    /// Sends a transfer and waits for the result, which the caller checks.
    pub async fn transfer(
        &self,
        order: &TransferOrder,
    ) -> Result<(TransferResult, StepTiming), Failure> {
        self.inner.transfer(order, self.inner.mint.trace()).await
    }

    /// Asks the switch for a transfer.
    pub async fn query_transfer(
        &self,
        transfer_id: &str,
    ) -> Result<(TransferResult, StepTiming), Failure> {
        let (trace, timeout) = (self.inner.mint.trace(), self.inner.callback_timeout());
        self.inner
            .query_transfer(transfer_id, None, trace, timeout)
            .await
    }

    /// Asks the switch for a quote, and gives the callback as it came.
    pub async fn query_quote(&self, quote_id: &str) -> Result<(Callback, StepTiming), Failure> {
        let path = format!("/quotes/{quote_id}");
        self.inner
            .ask(
                Step::Query,
                Method::GET,
                Resource::Quotes,
                path,
                String::new(),
            )
            .await
    }

    /// Asks the switch which FSP serves a party, and gives the callback as it came.
    pub async fn query_participant(
        &self,
        party: &PartyId,
    ) -> Result<(Callback, StepTiming), Failure> {
        let path = format!("/participants/{}", party.path());
        self.inner
            .ask(
                Step::Query,
                Method::GET,
                Resource::Participants,
                path,
                String::new(),
            )
            .await
    }

    /// Tells the switch that this FSP serves a party, and serves it from now on.
    pub async fn associate(
        &self,
        party: &PartyId,
        currency: Option<&str>,
    ) -> Result<StepTiming, Failure> {
        self.inner.associate(party, currency).await
    }

    /// Tells the switch that this FSP serves a party no longer.
    pub async fn disassociate(&self, party: &PartyId) -> Result<StepTiming, Failure> {
        let path = format!("/participants/{}", party.path());
        let step = Step::Association;
        let participants = Resource::Participants;
        let (_, timing) = self
            .inner
            .ask(step, Method::DELETE, participants, path, String::new())
            .await?;
        self.inner.parties.write().remove(&party.to_string());
        Ok(timing)
    }
}

impl Inner {
    pub(super) async fn lookup(
        &self,
        party: &PartyId,
        trace: Trace,
    ) -> Result<(Found, StepTiming), Failure> {
        let path = format!("/parties/{}", party.path());
        let request = self.request(Method::GET, Resource::Parties, path, None, trace, "");
        let timeout = self.callback_timeout();
        let (callback, timing) = self.exchange(Step::Lookup, request, None, timeout).await?;
        let found = found(&callback)
            .map_err(|text| Failure::new(Step::Lookup, FailureKind::Unreadable, text))?;
        Ok((found, timing))
    }

    pub(super) fn quote_order(
        &self,
        request: &PaymentRequest,
        found: &Found,
    ) -> Result<QuoteOrder, Failure> {
        let payer = request
            .from
            .as_ref()
            .or(self.settings.parties.first())
            .ok_or_else(|| {
                let text = format!("FSP {} has no party that could pay", self.settings.id);
                Failure::new(Step::Quote, FailureKind::Request, text)
            })?;
        Ok(QuoteOrder {
            quote_id: self.mint.correlation_id(),
            transaction_id: self.mint.correlation_id(),
            payee_fsp: found.fsp.clone(),
            payee: found.party.clone(),
            payer: format!(
                r#"{{"partyIdInfo":{}}}"#,
                payer.json(Some(self.settings.id.as_str()))
            ),
            amount_type: request.amount_type,
            amount: request.amount.clone(),
            currency: request.currency.clone(),
            note: request.note.clone(),
            expiration: time::datetime_in(self.expires_in()),
        })
    }

    pub(super) async fn quote(
        &self,
        order: &QuoteOrder,
        trace: Trace,
    ) -> Result<(Quote, StepTiming), Failure> {
        let destination = Some(order.payee_fsp.header());
        let (quotes, path) = (Resource::Quotes, "/quotes".to_owned());
        let request = self.request(Method::POST, quotes, path, destination, trace, order.body());
        let key = Some(format!("quotes/{}", order.quote_id));
        let timeout = self.callback_timeout();
        let (callback, timing) = self.exchange(Step::Quote, request, key, timeout).await?;
        let body: QuoteBody<'_> = serde_json::from_slice(&callback.body)
            .map_err(|error| unreadable(Step::Quote, &error))?;
        let quote = Quote {
            quote_id: order.quote_id.clone(),
            payee_fsp: order.payee_fsp.clone(),
            amount: body.transfer_amount.amount.into_owned(),
            currency: body.transfer_amount.currency.into_owned(),
            ilp_packet: body.ilp_packet.into_owned(),
            condition: body.condition.into_owned(),
        };
        Ok((quote, timing))
    }

    pub(super) fn transfer_order(&self, quote: &Quote) -> TransferOrder {
        TransferOrder {
            transfer_id: self.mint.correlation_id(),
            payer_fsp: self.settings.id.clone(),
            payee_fsp: quote.payee_fsp.clone(),
            amount: quote.amount.clone(),
            currency: quote.currency.clone(),
            ilp_packet: quote.ilp_packet.clone(),
            condition: quote.condition.clone(),
            expiration: time::datetime_in(self.expires_in()),
        }
    }

    pub(super) async fn transfer(
        &self,
        order: &TransferOrder,
        trace: Trace,
    ) -> Result<(TransferResult, StepTiming), Failure> {
        let destination = Some(order.payee_fsp.header());
        let (transfers, path) = (Resource::Transfers, "/transfers".to_owned());
        let request = self.request(
            Method::POST,
            transfers,
            path,
            destination,
            trace,
            order.body(),
        );
        let key = Some(format!("transfers/{}", order.transfer_id));
        let timeout = self.callback_timeout();
        let (callback, timing) = self.exchange(Step::Transfer, request, key, timeout).await?;
        Ok((transfer_result(Step::Transfer, &callback)?, timing))
    }

    pub(super) async fn query_transfer(
        &self,
        transfer_id: &str,
        payee_fsp: Option<&FspId>,
        trace: Trace,
        timeout: Duration,
    ) -> Result<(TransferResult, StepTiming), Failure> {
        let path = format!("/transfers/{transfer_id}");
        let destination = payee_fsp.map(FspId::header);
        let request = self.request(
            Method::GET,
            Resource::Transfers,
            path,
            destination,
            trace,
            "",
        );
        let (callback, timing) = self.exchange(Step::Query, request, None, timeout).await?;
        Ok((transfer_result(Step::Query, &callback)?, timing))
    }

    pub(super) async fn associate(
        &self,
        party: &PartyId,
        currency: Option<&str>,
    ) -> Result<StepTiming, Failure> {
        let path = format!("/participants/{}", party.path());
        let currency = match currency {
            Some(currency) => format!(r#","currency":{}"#, JsonText(currency)),
            None => String::new(),
        };
        let body = format!(r#"{{"fspId":"{}"{currency}}}"#, self.settings.id);
        let (step, participants) = (Step::Association, Resource::Participants);
        // Served before it is announced: a lookup may follow at once.
        self.parties.write().insert(party.to_string());
        let (_, timing) = self
            .ask(step, Method::POST, participants, path, body)
            .await?;
        Ok(timing)
    }

    /// A request whose callback comes to the request's own path.
    async fn ask(
        &self,
        step: Step,
        method: Method,
        resource: Resource,
        path: String,
        body: String,
    ) -> Result<(Callback, StepTiming), Failure> {
        let request = self.request(method, resource, path, None, self.mint.trace(), body);
        self.exchange(step, request, None, self.callback_timeout())
            .await
    }

    /// Sends a request and waits for its callback. `key` is where the callback will come to,
    /// unless that is the request's own path.
    async fn exchange(
        &self,
        step: Step,
        request: Outgoing,
        key: Option<String>,
        timeout: Duration,
    ) -> Result<(Callback, StepTiming), Failure> {
        let key = key.unwrap_or_else(|| decoded(request.path.trim_start_matches('/')).into_owned());
        let mut waiting = self.waiting.enter(key);
        let started = time::now();
        let answer = self.send(request).await.map_err(|error| {
            let kind = match error {
                SendError::Invalid(_) => FailureKind::Request,
                SendError::Broken { .. } | SendError::TimedOut { .. } => FailureKind::Unreachable,
            };
            Failure::new(step, kind, error.to_string())
        })?;
        if answer.status != StatusCode::ACCEPTED {
            let status = answer.status;
            let refusal = match ErrorInformation::of_body(&answer.body) {
                Some(information) => Failure::coded(step, FailureKind::Refused, information),
                None => Failure::new(step, FailureKind::Refused, format!("HTTP {status}")),
            };
            return Err(Failure {
                http_status: Some(status.as_u16()),
                ..refusal
            });
        }
        let accepted = started.elapsed();
        let Ok(callback) = tokio::time::timeout(timeout, waiting.callback()).await else {
            let text = format!("no callback within {} ms", timeout.as_millis());
            return Err(Failure::new(step, FailureKind::NoCallback, text));
        };
        if callback.error {
            return Err(match ErrorInformation::of_body(&callback.body) {
                Some(information) => Failure::coded(step, FailureKind::ErrorCallback, information),
                None => {
                    let text = "an error callback without errorInformation";
                    Failure::new(step, FailureKind::Unreadable, text)
                }
            });
        }
        let timing = StepTiming {
            step,
            accepted_ms: milliseconds(accepted),
            callback_ms: milliseconds(callback.arrived.saturating_duration_since(started)),
        };
        Ok((callback, timing))
    }
}

/// The party and its FSP from PUT /parties. Where the body does not name the FSP, it is the one
/// that the callback came from.
fn found(callback: &Callback) -> Result<Found, String> {
    #[derive(Deserialize)]
    struct Body<'a> {
        #[serde(borrow)]
        party: &'a RawValue,
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
        fsp_id: Option<Cow<'a, str>>,
    }
    let body: Body<'_> =
        serde_json::from_slice(&callback.body).map_err(|error| error.to_string())?;
    let party: Party<'_> =
        serde_json::from_str(body.party.get()).map_err(|error| error.to_string())?;
    let source = || {
        callback
            .headers
            .get(SOURCE)
            .and_then(|value| value.to_str().ok())
    };
    let fsp = party
        .party_id_info
        .fsp_id
        .as_deref()
        .or_else(source)
        .unwrap_or_default();
    Ok(Found {
        fsp: fsp
            .parse()
            .map_err(|error: crate::ids::IdError| error.to_string())?,
        party: body.party.get().to_owned(),
    })
}

fn transfer_result(step: Step, callback: &Callback) -> Result<TransferResult, Failure> {
    serde_json::from_slice(&callback.body).map_err(|error| unreadable(step, &error))
}

fn unreadable(step: Step, error: &serde_json::Error) -> Failure {
    Failure::new(
        step,
        FailureKind::Unreadable,
        format!("the callback cannot be read: {error}"),
    )
}
