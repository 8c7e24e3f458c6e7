//! `rialto events publish` and `status`: events for programs outside. They read the store, with or without a running
//! host.

use std::path::PathBuf;

use anyhow::Context as _;
use rialto_manifest::Operator;
use rialto_manifest::events::Publish as Wanted;
use serde_json::json;

use super::{operator_of, stored_in};
use crate::events_outside::{self, again};
use crate::out;

/// Where the store is.
#[derive(Debug, clap::Args)]
struct Place {
    /// The scheme's folder.
    #[arg(long, value_name = "DIR", env = "RIALTO_SCHEME", default_value = ".")]
    at: PathBuf,
    /// The folder of the store. Without it, the folder that rialto.toml names.
    #[arg(long, value_name = "DIR", env = "RIALTO_STATE")]
    state: Option<PathBuf>,
}

/// Send events to NATS JetStream again, from the store of a running or a stopped host.
#[derive(Debug, clap::Args)]
pub(super) struct Publish {
    /// The number of the first event: `ce-sequence`.
    #[arg(long, value_name = "NUMBER")]
    from: u64,
    /// The number of the last event. Without it, the last one that was sent.
    #[arg(long, value_name = "NUMBER")]
    to: Option<u64>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

/// Show how far events are sent to NATS JetStream.
#[derive(Debug, clap::Args)]
pub(super) struct Status {
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

impl Publish {
    pub fn run(self) -> anyhow::Result<u8> {
        let operator = operator_of(&self.place.at)?;
        let wanted = wanted(&operator)?;
        let stored = stored_in(&self.place.at, self.place.state.as_deref())?;
        // JetStream takes each run's messages again.
        let addition = jiff::Timestamp::now().as_millisecond().to_string();
        let range = (self.from, self.to);
        let sent = again::send(wanted, (&self.place.at, &stored), range, &addition)?;
        if self.json {
            let missing = sent.missing.iter();
            let missing = missing.map(|(from, to)| json!({ "from": from, "to": to }));
            let missing: Vec<_> = missing.collect();
            out::json(&json!({ "sent": sent.sent, "missing": missing }))?;
        } else {
            out::line(format_args!("{} events were sent again", sent.sent))?;
            for (from, to) in &sent.missing {
                out::note(format_args!(
                    "the store does not have {from} to {to} any more: `keep` of [events.publish] says how long"
                ));
            }
        }
        Ok(u8::from(!sent.missing.is_empty()))
    }
}

impl Status {
    pub fn run(self) -> anyhow::Result<u8> {
        let stored = stored_in(&self.place.at, self.place.state.as_deref())?;
        let state = stored.publications()?.publications_state()?;
        if self.json {
            out::json(&json!({
                "first": state.first,
                "last": state.last,
                "acknowledged": state.published,
                "waiting": state.waiting(),
            }))?;
            return Ok(0);
        }
        out::line(format_args!("last event    {}", state.last))?;
        let (published, waiting) = (state.published, state.waiting());
        out::line(format_args!("acknowledged  {published}, {waiting} wait"))?;
        match state.first {
            Some(first) => out::line(format_args!(
                "kept          from {first}: `rialto events publish --from {first}` sends them again"
            ))?,
            None => out::line("kept          none")?,
        }
        Ok(0)
    }
}

fn wanted(operator: &Operator) -> anyhow::Result<&Wanted> {
    let wanted = events_outside::wanted(operator);
    wanted.context("rialto.toml has no [events.publish], which says where events go")
}
