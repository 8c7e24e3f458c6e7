//! All observations of a run. [`crate::judgement`] checks them.

use std::collections::BTreeMap;

use rialto_engine::history::Step;
use rialto_engine::network::OutboundRequest;
use serde_json::Value;

use crate::grants::Grants;
use crate::journal::Journal;
use crate::saying::Message;
use crate::script::{Agreement, Plan};
use crate::wire::Arrival;

/// See the module's documentation.
#[derive(Clone)]
pub struct Evidence {
    /// The FSPs by the addresses at which they are called back.
    pub callbacks: BTreeMap<String, String>,
    /// The scheme's grants.
    pub grants: Grants,
    /// The quotes.
    pub agreements: Vec<Agreement>,
    /// The plans, by the transfers' ids.
    pub plans: BTreeMap<String, Plan>,
    /// What FSPs said.
    pub messages: Vec<Message>,
    /// What came to FSPs.
    pub arrivals: Vec<Arrival>,
    /// The durable state of the host.
    pub journal: Journal,
    /// Deliveries that were parked.
    pub dead_letters: usize,
    /// How often the host was ended.
    pub crashes: usize,
    /// How often another host took over from one that ran.
    pub takeovers: usize,
    /// Groups of hosts that had been replaced, which the store refused.
    pub refused: usize,
    /// The most turns that were ready at a time.
    pub ready_max: usize,
    /// How many things happened.
    pub steps: u64,
}

/// A request to an FSP about a transfer, as the host sent it.
#[derive(Clone, Debug)]
pub struct Sent<'a> {
    /// The request.
    pub request: &'a OutboundRequest,
    /// The FSP.
    pub to: &'a str,
    /// The path.
    pub path: &'a str,
    /// The transfer.
    pub about: String,
    /// Whether it was delivered; none if the host never learnt.
    pub delivered: Option<bool>,
    /// How often it was tried.
    pub attempts: u32,
    /// When it was made.
    pub made_at: u64,
}

impl Evidence {
    /// The message of this number.
    pub fn message(&self, number: u128) -> Option<&Message> {
        let place = usize::try_from(number).ok()?.checked_sub(1)?;
        self.messages.get(place)
    }

    /// All requests to FSPs about transfers.
    pub fn sent(&self) -> Vec<Sent<'_>> {
        let (mut made, mut ends) = (BTreeMap::new(), BTreeMap::new());
        for record in &self.journal.history {
            for step in &record.steps {
                match step {
                    Step::Sent { id, .. } => {
                        made.insert(*id, record.at.0);
                    }
                    Step::Reported { id, outcome } => {
                        let delivered = !outcome.starts_with("not delivered");
                        ends.insert(*id, (delivered, attempts(outcome)));
                    }
                    _ => {}
                }
            }
        }
        let sent = self.journal.outbound.values().filter_map(|request| {
            let (to, path) = self.target(request)?;
            Some(Sent {
                request,
                to,
                path,
                about: about(request)?,
                delivered: ends.get(&request.id).map(|(delivered, _)| *delivered),
                attempts: ends.get(&request.id).map_or(0, |(_, attempts)| *attempts),
                made_at: made.get(&request.id).copied().unwrap_or_default(),
            })
        });
        sent.collect()
    }

    /// The FSP that a request is for, and its path.
    pub fn target<'a>(&'a self, request: &'a OutboundRequest) -> Option<(&'a str, &'a str)> {
        let mut all = self.callbacks.iter();
        all.find_map(|(base, fsp)| Some((fsp.as_str(), request.url.strip_prefix(base.as_str())?)))
    }

    /// How often each kind of payment came to each end.
    pub fn outcomes(&self) -> BTreeMap<String, usize> {
        let mut outcomes = BTreeMap::new();
        for (id, plan) in &self.plans {
            let document = self.journal.transfers().get(id);
            let end = document.map_or("nothing".to_owned(), |document| {
                let reason = document["reason"]["code"].as_str().unwrap_or_default();
                let state = document["state"].as_str().unwrap_or_default();
                format!("{state} {reason}").trim_end().to_owned()
            });
            *outcomes.entry(format!("{}: {end}", plan.kind)).or_default() += 1;
        }
        outcomes
    }

    /// How many messages to FSPs were given up.
    pub fn given_up(&self) -> usize {
        let sent = self.sent();
        let given_up = sent.iter().filter(|sent| sent.delivered == Some(false));
        given_up.count()
    }

    /// What happened, for comparing one run with another: what FSPs said and what came to them, when.
    pub fn events(&self) -> Vec<String> {
        let said = self.messages.iter().map(|message| {
            let Message {
                number,
                said_at,
                path,
                body,
                answer,
                ..
            } = message;
            format!("{number} {said_at} {path} {body} {answer:?}")
        });
        let came = self
            .arrivals
            .iter()
            .map(|arrival| format!("{} {:?}", arrival.at, arrival.request));
        said.chain(came).collect()
    }

    /// The run in one line.
    pub fn summary(&self) -> String {
        let Journal {
            history, groups, ..
        } = &self.journal;
        format!(
            "{} steps, {} messages, {} turns (up to {} ready), {groups} groups, {} ends of the host, {} takeovers with {} groups refused, {} arrivals, {} deliveries given up",
            self.steps,
            self.messages.len(),
            history.len(),
            self.ready_max,
            self.crashes,
            self.takeovers,
            self.refused,
            self.arrivals.len(),
            self.given_up(),
        )
    }
}

/// The number in `200 after 2 attempts` and `not delivered after 1 attempt: …`.
fn attempts(outcome: &str) -> u32 {
    let after = outcome.split_once("after ").map_or("", |(_, after)| after);
    let number = after.split(' ').next().unwrap_or_default();
    number.parse().unwrap_or_default()
}

/// The transfer that a request is about; none if it is about none.
fn about(request: &OutboundRequest) -> Option<String> {
    let (_, rest) = request.url.split_once("/transfers")?;
    if let Some(rest) = rest.strip_prefix('/') {
        return rest.split('/').next().map(str::to_owned);
    }
    let body: Value = serde_json::from_str(request.body.as_deref()?).ok()?;
    body["transferId"].as_str().map(str::to_owned)
}
