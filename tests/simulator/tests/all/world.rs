//! The world of the tests: a payer, a payee and a switch between them.

use std::time::Duration;

use rialto_simulator::fsp::{FailureKind, Step};
use rialto_simulator::{Behaviour, Fsp, FspSettings, PartyId, PaymentOutcome, PaymentRequest};

use crate::switch::Switch;

/// Longer than anything here takes.
pub const SOON: Duration = Duration::from_secs(10);

pub fn party(text: &str) -> PartyId {
    text.parse().expect("a party")
}

fn settings(id: &str, of: &str) -> FspSettings {
    FspSettings::new(id.parse().expect("an id"), vec![party(of)])
}

pub fn payer() -> FspSettings {
    settings("payerfsp", "MSISDN/27710000001")
}

pub fn payee() -> FspSettings {
    settings("payeefsp", "MSISDN/27713803912")
}

pub fn behaviour(json: &str) -> Behaviour {
    serde_json::from_str(json).expect("a behaviour")
}

pub fn ten_dollars() -> PaymentRequest {
    PaymentRequest::new(party("MSISDN/27713803912"), "10", "USD")
}

/// Payer, payee and a switch between them.
pub async fn world(payer: FspSettings, payee: FspSettings) -> (Switch, Fsp, Fsp) {
    let switch = Switch::start().await;
    let payer = switch.fsp(payer).await;
    let payee = switch.fsp(payee).await;
    (switch, payer, payee)
}

/// Pays ten dollars to a payee that behaves like this.
pub async fn pay_to(json: &str) -> PaymentOutcome {
    let mut payee = payee();
    payee.behaviour = behaviour(json);
    let mut payer = payer();
    payer.callback_timeout_ms = 300;
    let (_switch, payer, _payee) = world(payer, payee).await;
    payer.pay(&ten_dollars()).await
}

/// The failure of a payment: step, kind and error code.
pub fn failure(outcome: &PaymentOutcome) -> (Step, FailureKind, &str) {
    let failure = outcome.failure.as_ref().expect("the payment fails");
    (
        failure.step,
        failure.kind,
        failure.error_code.as_deref().unwrap_or_default(),
    )
}
