//! `rialto deliveries`: outbound messages and their outcomes.

use rialto_engine::history::Step;
use serde::{Deserialize, Serialize};

use super::At;
use super::inspect::path;
use crate::ops::{Destination, Story};
use crate::out;
use crate::words;

#[derive(Debug, clap::Args)]
pub(super) struct Deliveries {
    /// The id of a transfer or a quote, or a subject such as `party:MSISDN/123`: shows the messages about it. Without an
    /// id, shows the state of all destinations.
    #[arg(conflicts_with = "to")]
    id: Option<String>,
    /// Show the messages to this destination that were not delivered at the first attempt.
    #[arg(long, value_name = "ID")]
    to: Option<String>,
    /// The number of messages of --to to show: the earliest
    #[arg(long, value_name = "MESSAGES", default_value_t = 1000, requires = "to", value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: At,
}

/// Reports per page.
const PAGE: usize = 1000;

/// An outbound message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Delivery {
    /// Its subject.
    pub subject: String,
    /// The host's id for it.
    pub request: u64,
    /// When it was sent; milliseconds since 1970.
    pub sent_at: u64,
    /// Method and URL.
    pub message: String,
    /// Its outcome; none while it is under way.
    pub outcome: Option<String>,
    /// When it was reported; milliseconds since 1970.
    pub ended_at: Option<u64>,
}

/// A page of a component's reports.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    reports: Vec<serde_json::Value>,
    next_cursor: Option<String>,
}

impl Deliveries {
    pub fn run(self) -> anyhow::Result<u8> {
        match (&self.id, &self.to) {
            (Some(id), _) => self.about(id),
            (None, Some(destination)) => self.to(destination),
            (None, None) => self.destinations(),
        }
    }

    fn about(&self, id: &str) -> anyhow::Result<u8> {
        let stories: Vec<Story> = self.at.client()?.get(&format!("/events/{}", path(id)))?;
        let all: Vec<Delivery> = stories.iter().flat_map(deliveries).collect();
        if all.is_empty() {
            out::note(format_args!("no message was sent about {id}"));
            return Ok(1);
        }
        if self.json {
            for delivery in &all {
                out::json(delivery)?;
            }
        } else {
            out::text(words::deliveries(&all))?;
        }
        Ok(0)
    }

    fn to(&self, destination: &str) -> anyhow::Result<u8> {
        let client = self.at.client()?;
        let wanted = self.limit as usize;
        let mut cursor: Option<String> = None;
        let mut shown = 0;
        let more = loop {
            let limit = (wanted - shown).min(PAGE);
            let mut asked = format!(
                "/delivery-reports?destination={}&limit={limit}",
                path(destination)
            );
            if let Some(cursor) = &cursor {
                asked.push_str(&format!("&cursor={}", path(cursor)));
            }
            let page: Page = client.get(&asked)?;
            for report in &page.reports {
                if self.json {
                    out::json(report)?;
                } else {
                    out::line(words::report(report))?;
                }
            }
            shown += page.reports.len();
            cursor = page.next_cursor;
            if cursor.is_none() || shown >= wanted {
                break cursor.is_some();
            }
        };
        if shown == 0 {
            out::note(format_args!(
                "no message to {destination} needed a second attempt"
            ));
        } else if more {
            out::note(format_args!(
                "only the first {shown} are shown; a higher --limit shows more"
            ));
        }
        Ok(0)
    }

    fn destinations(&self) -> anyhow::Result<u8> {
        let all: Vec<Destination> = self.at.client()?.get("/destinations")?;
        if self.json {
            for destination in &all {
                out::json(destination)?;
            }
        } else if all.is_empty() {
            out::note(format_args!("no message was sent since the host started"));
        } else {
            out::text(words::destinations(&all))?;
        }
        Ok(0)
    }
}

/// The messages that the turns of a story have sent, in their order.
fn deliveries(story: &Story) -> Vec<Delivery> {
    let mut all: Vec<Delivery> = Vec::new();
    for turn in &story.turns {
        for step in &turn.steps {
            match step {
                Step::Sent { id, request } => all.push(Delivery {
                    subject: story.subject.clone(),
                    request: *id,
                    sent_at: turn.at.0,
                    message: request.clone(),
                    outcome: None,
                    ended_at: None,
                }),
                Step::Reported { id, outcome } => {
                    if let Some(delivery) = all.iter_mut().find(|d| d.request == *id) {
                        delivery.outcome = Some(outcome.clone());
                        delivery.ended_at = Some(turn.at.0);
                    }
                }
                _ => {}
            }
        }
    }
    all
}
