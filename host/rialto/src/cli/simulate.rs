//! `rialto simulate`: FSPs that speak FSPIOP, in a process of their own.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context as _;
use rialto_manifest::Manifest;
use rialto_simulator::{Fsp, FspId, FspSettings, PartyId};

use super::load;
use crate::out;

/// Threads of the simulated FSPs.
const THREADS: usize = 2;

#[derive(Debug, clap::Args)]
pub(super) struct Simulate {
    /// The scheme's folder. Each participant is simulated at its callback address.
    scheme: PathBuf,
    /// The hub's address. Without it, the address of the listener `fsps`.
    #[arg(long, value_name = "URL")]
    hub: Option<String>,
    /// A file with the FSPs' settings as a JSON array. Without it, one model FSP per participant.
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// Do not record messages.
    #[arg(long)]
    no_record: bool,
}

impl Simulate {
    pub fn run(self) -> anyhow::Result<u8> {
        let Some(manifest) = load(&self.scheme)? else {
            return Ok(2);
        };
        let mut all = match &self.settings {
            Some(file) => {
                let text = std::fs::read_to_string(file)
                    .with_context(|| format!("reading {}", file.display()))?;
                serde_json::from_str(&text)
                    .with_context(|| format!("reading {}", file.display()))?
            }
            None => model(&manifest)?,
        };
        for settings in &mut all {
            settings.hub = self.hub.clone().or_else(|| hub(&manifest));
            settings.record &= !self.no_record;
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("fsp")
            .enable_all()
            .build()?;
        runtime.block_on(async {
            let mut fsps = Vec::new();
            for settings in all {
                let fsp = Fsp::start(settings).await.context("starting an FSP")?;
                out::line(format_args!("{} {}", fsp.id(), fsp.url()))?;
                fsps.push(fsp);
            }
            out::line("ready")?;
            tokio::signal::ctrl_c().await.context("waiting for Ctrl-C")
        })?;
        Ok(0)
    }
}

/// One model FSP for each participant, each with one party.
pub(super) fn model(manifest: &Manifest) -> anyhow::Result<Vec<FspSettings>> {
    let participants = manifest.scheme().participants.iter().enumerate();
    participants
        .map(|(n, participant)| {
            let id: FspId = participant
                .id
                .as_str()
                .parse()
                .context("the participant's id")?;
            let mut settings = FspSettings::new(id, vec![party(n)?]);
            settings.listen = address(&participant.callback_base_url.to_string())?;
            Ok(settings)
        })
        .collect()
}

/// The party of the participant at this place.
pub(super) fn party(place: usize) -> anyhow::Result<PartyId> {
    format!("MSISDN/2771{:07}", 3_803_912 + place)
        .parse()
        .context("a party")
}

/// The address of the listener for FSPs.
pub(super) fn hub(manifest: &Manifest) -> Option<String> {
    let mut listeners = manifest.operator().listeners.iter();
    let (_, listener) = listeners.find(|(name, _)| name.as_str() == "fsps")?;
    let scheme = match listener.tls {
        None => "http",
        Some(_) => "https",
    };
    Some(format!("{scheme}://{}", listener.address.socket()))
}

/// `http://127.0.0.1:4101`, or the same with https, as an address to listen on.
fn address(url: &str) -> anyhow::Result<SocketAddr> {
    let host = url.split_once("://").map_or(url, |(_, host)| host);
    let host = host.split('/').next().unwrap_or_default();
    host.parse().with_context(|| {
        format!("{url} is not an address of this machine: no FSP can be simulated there")
    })
}
