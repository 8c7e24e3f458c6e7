//! The neighbour of a benchmark: a third FSP that gets payments beside the measured ones. It works at first, then fails
//! in several ways. The difference shows what the others lose.

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
/// The number of its parties: enough that few payments look up the same one.
const PARTIES: usize = 20;

/// How the neighbour behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Health {
    /// It answers at once.
    Well,
    /// It takes connections and never answers.
    Silent,
    /// It answers after thirty seconds.
    Slow,
    /// It resets each connection after a request.
    Resetting,
}

/// All of them. The first is what the others are compared with.
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

/// Sets the neighbour's behaviour, and pays to it until the returned task is aborted.
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
