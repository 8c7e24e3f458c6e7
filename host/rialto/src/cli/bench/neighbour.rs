//! The neighbour of a benchmark: a third FSP that some payments go to beside those that are
//! measured, first well, then ill in several ways. What the others lose by its illness is the
//! difference.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use rialto_manifest::Manifest;
use rialto_simulator::bench::{self, BenchSettings, Load, Payments, Progress};
use rialto_simulator::{PartyId, PaymentRequest, ports};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::place;

/// Its id in the scheme.
const ID: &str = "neighbour";
/// Payments to it in a second.
const PER_SECOND: u32 = 20;
/// Parties that it serves, so that none of them is asked about by many at once.
const PARTIES: usize = 20;

/// How the neighbour is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Health {
    /// It answers at once.
    Well,
    /// It takes connections and never answers.
    Silent,
    /// It answers after thirty seconds.
    Slow,
    /// It resets each connection that something was sent on.
    Resetting,
}

/// All of them, the one that the others are compared with first.
pub(super) const ALL: [Health; 4] = [
    Health::Well,
    Health::Silent,
    Health::Slow,
    Health::Resetting,
];

impl Health {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Well => "well",
            Self::Silent => "silent",
            Self::Slow => "slow",
            Self::Resetting => "resetting",
        }
    }

    /// A simulated FSP's behaviour.
    fn behaviour(self) -> Value {
        let answering = match self {
            Self::Well => return json!({}),
            // Longer than any benchmark.
            Self::Silent => json!({ "stall": "3600s" }),
            Self::Slow => json!({ "stall": "30s" }),
            Self::Resetting => json!({ "reset": "100%" }),
        };
        let step = json!({ "answer": answering });
        json!({ "lookup": step, "quote": step, "transfer": step, "callbacks": answering })
    }
}

/// Add the neighbour to the scheme in this folder. It is found by its id.
pub(super) fn move_in(manifest: &Manifest, folder: &Path) -> anyhow::Result<()> {
    let participants = &manifest.scheme().participants;
    let account = participants.first().and_then(|p| p.accounts.first());
    let account = account.context("the first participant has no account")?;
    let port = ports::free()?;
    let table = format!(
        "[[participants]]\nid = \"{ID}\"\nname = \"Neighbour\"\n\
         callback-base-url = \"http://127.0.0.1:{port}\"\n\n\
         [[participants.accounts]]\ncurrency = \"{}\"\nopening-liquidity = \"0\"\n\n",
        account.currency
    );
    place::add_participants(folder, &table)
}

/// Whether this is the neighbour.
pub(super) fn is(id: &str) -> bool {
    id == ID
}

/// The parties of the neighbour.
pub(super) fn parties() -> anyhow::Result<Vec<PartyId>> {
    let all = 0..PARTIES;
    all.map(|n| format!("MSISDN/2782{n:07}").parse().context("a party"))
        .collect()
}

/// Make the neighbour so, and keep paying to it until the answer is aborted.
pub(super) async fn keep_paying(
    manifest: &Manifest,
    health: Health,
    payer: &str,
    currency: &str,
) -> anyhow::Result<JoinHandle<()>> {
    let mut participants = manifest.scheme().participants.iter();
    let neighbour = participants.find(|p| is(p.id.as_str()));
    let url = neighbour
        .context("it is not there")?
        .callback_base_url
        .to_string();
    crate::client::post(&format!("{url}/_control/associate"), &json!({}))
        .await
        .context("associating the neighbour's parties")?;
    crate::client::put(&format!("{url}/_control/behaviour"), &health.behaviour())
        .await
        .context("telling the neighbour how it is")?;
    let payments: Vec<_> = parties()?
        .into_iter()
        .map(|party| PaymentRequest::new(party, "1", currency))
        .collect();
    let settings = BenchSettings {
        load: Load::Open {
            per_second: PER_SECOND,
        },
        warm_up: Duration::ZERO,
        extent: bench::Extent::For(Duration::from_secs(3600)),
        ..BenchSettings::default()
    };
    let payments = Payments::new(&[payer.to_owned()], &payments, settings.timeout)?;
    Ok(tokio::spawn(async move {
        let progress = Arc::new(Progress::default());
        let _ = bench::run(&settings, Arc::new(payments), progress).await;
    }))
}
