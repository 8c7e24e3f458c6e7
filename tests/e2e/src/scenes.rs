//! Payments, and what is expected of them.

use anyhow::{Context as _, ensure};
use rialto_simulator::fsp::Step;
use rialto_simulator::{Behaviour, PaymentOutcome, PaymentRequest};

use crate::world::{PAYEE, World};

impl World {
    /// A payment to the payee's party.
    pub fn request(&self, amount: &str, currency: &str) -> PaymentRequest {
        PaymentRequest::new(self.party(PAYEE).clone(), amount, currency)
    }

    /// The payer pays the payee.
    pub async fn pay(&self, amount: &str, currency: &str) -> PaymentOutcome {
        self.payer().pay(&self.request(amount, currency)).await
    }

    /// Change how the payee behaves. The text is the JSON of a [`Behaviour`].
    ///
    /// # Errors
    /// When it is none.
    pub fn payee_behaves(&self, json: &str) -> anyhow::Result<()> {
        let behaviour: Behaviour = serde_json::from_str(json).context("a behaviour")?;
        self.payee().set_behaviour(behaviour);
        Ok(())
    }
}

/// Accept a payment that failed at this step with this FSPIOP error code.
///
/// # Errors
/// With the actual outcome of the payment.
pub fn refused(outcome: &PaymentOutcome, step: Step, code: &str) -> anyhow::Result<()> {
    let failure = outcome.failure.as_ref();
    let as_expected = failure
        .is_some_and(|failure| failure.step == step && failure.error_code.as_deref() == Some(code));
    ensure!(
        as_expected,
        "the payment should fail with {code} at the {}, but: {outcome:#?}",
        step.name()
    );
    Ok(())
}

/// Accept a payment whose money has moved.
///
/// # Errors
/// With the actual outcome of the payment.
pub fn committed(outcome: &PaymentOutcome) -> anyhow::Result<()> {
    ensure!(
        outcome.is_committed(),
        "the payment should be committed, but: {outcome:#?}"
    );
    Ok(())
}
