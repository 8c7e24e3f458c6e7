//! `rialto cluster`.

use super::At;
use crate::ops::{HandedOver, NewHandover, ShownCluster};
use crate::{out, words};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Cluster {
    /// Print the hosts of the scheme, which of them serves, and how their clocks differ
    Status {
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: At,
    },
    /// Have the host that serves hand over to a standby and pass requests to it, so that it can be stopped
    Handover {
        /// Why, for the audit log.
        #[arg(long, value_name = "TEXT", default_value = "")]
        note: String,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: At,
    },
}

impl Cluster {
    pub fn run(self) -> anyhow::Result<u8> {
        match self {
            Self::Status { json, at } => status(json, &at),
            Self::Handover { note, json, at } => hand_over(note, json, &at),
        }
    }
}

fn hand_over(note: String, json: bool, at: &At) -> anyhow::Result<u8> {
    let handed: HandedOver = at
        .client()?
        .post("/cluster/handover", &NewHandover { note })?;
    if json {
        out::json(&handed)?;
        return Ok(0);
    }
    for host in &handed.standbys {
        out::line(format_args!(
            "ready: {} ({})",
            words::plain(&host.name),
            words::plain(&host.operators)
        ))?;
    }
    out::note("the host hands over now, and passes requests until it is stopped");
    Ok(0)
}

fn status(json: bool, at: &At) -> anyhow::Result<u8> {
    let cluster: ShownCluster = at.client()?.get("/cluster")?;
    if json {
        out::json(&cluster)?;
        return Ok(0);
    }
    if cluster.partitions.is_empty() {
        out::note(
            "the scheme's store is in a folder, so it has one host: `[store] url` of rialto.toml has several share a database",
        );
    } else {
        out::text(words::cluster(&cluster))?;
    }
    Ok(0)
}
