//! The expected and the actual effects of a case. When the host is idle, the case must have expected each
//! message to an FSP, each event, each entry of the ledger and each turn.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, bail, ensure};
use http::Method;
use rialto_tests::Office;
use rialto_tests::books::documents;
use rialto_tests::metrics::{Metrics, idle};
use rialto_tests::office::OFFICE;
use rialto_tests::witness::{self, Told};
use serde_json::Value;

use crate::history::{Published, is_compared, of_turn};
use crate::interfaces::row_of_message;
use crate::stage::Stage;

/// How an account of a settlement batch goes on after its currency, up to the batch.
const BATCH_POSITION: &str = ":SETTLEMENT_POSITION:";
/// Turns that end well.
const EXECUTED: &str = "rialto_turns_executed_total";
/// Log lines that a context has taken, each in a turn of its own at most. No case is about these turns.
const LINES_DELIVERED: &str = "rialto_log_lines_delivered_total";
/// What no case expects: it would be seen by nothing else.
const NEVER: [&str; 3] = [
    "rialto_turns_failed_total",
    "rialto_dead_letters_total",
    "rialto_requests_shed_total",
];

/// A message to an FSP: receiver, method, path.
pub type Heard = (String, Method, String);
/// An entry of the ledger: type, debit, credit, amount in minor units. An account of a settlement batch is
/// named without its batch.
pub type Entry = [String; 4];

/// The used ids, expectations and observations of the running case.
#[derive(Debug, Default)]
pub struct Tally {
    /// Ids of transfers and quotes, and subjects of parties: the case's own.
    used: BTreeSet<String>,
    /// Requests that were refused at once. The component refuses some of them, in a turn about nothing.
    pub(crate) refused: usize,
    /// The messages that it expected.
    pub(crate) messages: Vec<Heard>,
    /// By subject, the names of the events that it expects.
    events: BTreeMap<String, Vec<String>>,
    /// By transfer, the entries that it expects.
    entries: BTreeMap<String, Vec<Entry>>,
    /// Rows of the catalogue that it has seen work.
    pub(crate) rows: BTreeSet<String>,
    /// By subject, rows of what the host took, and of which nothing has come to an FSP yet.
    taken: BTreeMap<String, BTreeSet<String>>,
}

impl Tally {
    /// The case uses this id or subject.
    pub fn uses(&mut self, subject: &str) {
        self.used.insert(id_of(subject).to_owned());
    }

    /// The case expects these events too.
    pub fn expects(&mut self, subject: &str, events: &[&str]) {
        self.uses(subject);
        let all = self.events.entry(subject.to_owned()).or_default();
        all.extend(events.iter().map(ToString::to_string));
    }

    /// The case expects these events, and no others.
    pub fn expects_just(&mut self, subject: &str, events: &[&str]) {
        self.events.remove(subject);
        self.expects(subject, events);
    }

    /// The case expects this entry too.
    pub fn expects_entry(&mut self, transfer_id: &str, entry: Entry) {
        let all = self.entries.entry(transfer_id.to_owned()).or_default();
        all.push(entry);
    }

    /// The case expects these entries of a transfer, and no others.
    pub fn expects_just_entries(&mut self, transfer_id: &str, entries: &[Entry]) {
        self.entries
            .insert(transfer_id.to_owned(), entries.to_vec());
    }

    /// The host has taken a message.
    pub fn took(&mut self, method: &Method, path: &str) {
        if let (Some(subject), Some(row)) = (subject_of_path(path), row_of_message(method, path)) {
            self.uses(&subject);
            self.taken.entry(subject).or_default().insert(row);
        }
    }

    /// A message has come to an FSP, and was compared, headers and body: its row is seen, and if it is no
    /// error, so are the rows of what the host took about the same.
    pub fn compared(&mut self, method: &Method, path: &str) {
        self.rows.extend(row_of_message(method, path));
        if !path.ends_with("/error") {
            let taken = subject_of_path(path).and_then(|subject| self.taken.remove(&subject));
            self.rows.extend(taken.into_iter().flatten());
        }
    }

    /// Account for the messages that came to FSPs.
    ///
    /// # Errors
    /// When one of them was not expected.
    pub fn account_for(&self, came: impl Iterator<Item = (Heard, Value)>) -> Result<()> {
        let mut expected = self.messages.clone();
        for (heard, body) in came {
            match expected.iter().position(|known| *known == heard) {
                Some(place) => drop(expected.remove(place)),
                None => {
                    let (fsp, method, path) = heard;
                    bail!("{fsp} was sent what nobody expected: {method} {path} {body}");
                }
            }
        }
        Ok(())
    }

    /// Account for the events that a consumer of all of them got: by their names, they are those that were
    /// expected of all subjects.
    ///
    /// # Errors
    /// When they are others.
    fn account_for_events(&self, heard: &[Told]) -> Result<()> {
        let mut expected: Vec<&str> = self.events.values().flatten().map(String::as_str).collect();
        let heard = heard.iter().map(|told| told.event.as_str());
        let mut heard: Vec<&str> = heard.filter(|event| is_compared(event)).collect();
        expected.sort_unstable();
        heard.sort_unstable();
        ensure!(
            heard == expected,
            "a consumer of all events got {heard:?}; the case expects {expected:?}"
        );
        Ok(())
    }
}

/// Everything that is wrong at the end of a case.
#[derive(Debug, Default)]
pub struct Problems(Vec<String>);

impl Problems {
    /// This is wrong too.
    pub fn tell(&mut self, what: String) {
        self.0.push(what);
    }

    /// The result of a comparison without differences.
    pub fn take<T>(&mut self, compared: Result<T>) -> Option<T> {
        compared
            .map_err(|error| self.tell(format!("{error:#}")))
            .ok()
    }

    /// # Errors
    /// With all of it, if there is anything.
    pub fn end(self) -> Result<()> {
        ensure!(self.0.is_empty(), "{}", self.0.join("\n"));
        Ok(())
    }
}

/// The state before a case.
#[derive(Debug, Default)]
pub struct Before {
    metrics: Metrics,
    entries: BTreeSet<String>,
    /// Milliseconds since 1970.
    at: u64,
}

impl Before {
    /// As it is now, in a host that has nothing to do.
    ///
    /// # Errors
    /// When the host does not come to rest, or does not show it.
    pub async fn of(stage: &Stage) -> Result<Self> {
        Ok(Self {
            metrics: idle(&stage.world.host).await?,
            entries: entries(stage)?.into_keys().collect(),
            at: witness::now()?,
        })
    }

    /// Compare what has come since with what a case expected. Gives the events, as a consumer got them.
    ///
    /// # Errors
    /// If the host does not become idle. Differences go to `problems`.
    pub async fn compare(
        &self,
        stage: &Stage,
        tally: &Tally,
        problems: &mut Problems,
    ) -> Result<Vec<Told>> {
        let now = idle(&stage.world.host).await?;
        for name in NEVER {
            let (before, now) = (self.metrics.get(name)?, now.get(name)?);
            if before != now {
                problems.tell(format!("{name} has grown from {before} to {now}"));
            }
        }
        problems.take(self.compare_entries(stage, tally));
        let turns = compare_events(stage, tally, problems).await?;
        let executed = now.get(EXECUTED)? - self.metrics.get(EXECUTED)?;
        let of_lines = now.get(LINES_DELIVERED)? - self.metrics.get(LINES_DELIVERED)?;
        let most = (turns + tally.refused) as u64 + of_lines;
        if !(turns as u64..=most).contains(&executed) {
            problems.tell(format!(
                "{executed} turns were executed, {turns} of them about what the case used ({:?})",
                tally.used
            ));
        }
        let heard = witness::since(&stage.office, self.at).await?;
        problems.take(tally.account_for_events(&heard));
        Ok(heard)
    }

    fn compare_entries(&self, stage: &Stage, tally: &Tally) -> Result<()> {
        let mut found: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
        for (id, (about, entry)) in entries(stage)? {
            if !self.entries.contains(&id) {
                found.entry(about).or_default().push(entry);
            }
        }
        let mut expected = tally.entries.clone();
        expected.retain(|_, entries| !entries.is_empty());
        for entries in expected.values_mut().chain(found.values_mut()) {
            entries.sort();
        }
        ensure!(
            found == expected,
            "the ledger has {found:#?} of this case, which expects {expected:#?}"
        );
        Ok(())
    }
}

/// The entries of the ledger by their ids, each with its subject.
///
/// # Errors
/// When the host does not show them.
pub fn entries(stage: &Stage) -> Result<BTreeMap<String, (String, Entry)>> {
    let all: BTreeMap<String, Value> =
        documents(&stage.world.host, "accounts-and-balances", "entries")?;
    let text = |entry: &Value, member: &str| {
        let text = entry[member].as_str().unwrap_or_default();
        let position = text.find(BATCH_POSITION);
        let end = position.map_or(text.len(), |at| at + BATCH_POSITION.len() - 1);
        text[..end].to_owned()
    };
    let all = all.into_iter().map(|(id, entry)| {
        let of = ["entryType", "debitAccount", "creditAccount", "amount"].map(|m| text(&entry, m));
        (id, (text(&entry, "correlationId"), of))
    });
    Ok(all.collect())
}

/// The events about all that a case used are those that it expects. Gives how many turns there were.
async fn compare_events(stage: &Stage, tally: &Tally, problems: &mut Problems) -> Result<usize> {
    let office = &stage.office;
    let mut turns = BTreeSet::new();
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for id in &tally.used {
        for story in stories(office, id).await? {
            let subject = story["subject"].as_str().unwrap_or_default();
            let of_subject = found.entry(subject.to_owned()).or_default();
            for turn in story["turns"].as_array().into_iter().flatten() {
                if turn["ended"] == "Executed" {
                    turns.insert(turn["turn"].to_string());
                    let events = of_turn(turn)
                        .into_iter()
                        .map(|Published { event, .. }| event);
                    of_subject.extend(events);
                }
            }
        }
    }
    let mut expected = tally.events.clone();
    expected.retain(|_, events| !events.is_empty());
    found.retain(|_, events| !events.is_empty());
    for events in expected.values_mut().chain(found.values_mut()) {
        events.sort();
    }
    let subjects: BTreeSet<&String> = found.keys().chain(expected.keys()).collect();
    for subject in subjects {
        let (found, expected) = (found.get(subject), expected.get(subject));
        if found != expected {
            problems.tell(format!(
                "about {subject} there are the events {found:?}; the case expects {expected:?}"
            ));
        }
    }
    Ok(turns.len())
}

/// The histories of the subjects that an id may stand for.
async fn stories(office: &Office, id: &str) -> Result<Vec<Value>> {
    let path = format!("/events/{}", id.replace('%', "%25").replace('/', "%2F"));
    let told = office.get(OFFICE, &path).await?;
    let stories = told.as_array().context("a list of histories")?.clone();
    for story in &stories {
        ensure!(story["earlier"] == 0, "{id} has more turns than are shown");
    }
    Ok(stories)
}

/// The id of a transfer, a quote or a request about many parties, which stands for all of them; a party
/// as it is.
fn id_of(subject: &str) -> &str {
    match subject.split_once(':') {
        Some(("transfer" | "quote" | "parties", id)) => id,
        _ => subject,
    }
}

/// The subject of a path: `transfer:<id>`, `quote:<id>`, `party:<type>/<id>`. None if the id is in the body, or
/// the path does not exist.
pub fn subject_of_path(path: &str) -> Option<String> {
    let path = path.split('?').next().unwrap_or_default();
    let path = path.strip_suffix("/error").unwrap_or(path);
    let (resource, rest) = path.trim_start_matches('/').split_once('/')?;
    match resource {
        "participants" if !rest.contains('/') => Some(format!("parties:{rest}")),
        "participants" | "parties" => Some(format!("party:{rest}")),
        "quotes" => Some(format!("quote:{rest}")),
        "transfers" => Some(format!("transfer:{rest}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    #[test]
    fn a_path_says_what_it_is_about() {
        for (path, subject) in [
            ("/transfers/t/error", Some("transfer:t")),
            ("/quotes/q?x=1", Some("quote:q")),
            ("/parties/BUSINESS/a/b/error", Some("party:BUSINESS/a/b")),
            ("/participants/MSISDN/1", Some("party:MSISDN/1")),
            ("/participants/b51ec534", Some("parties:b51ec534")),
            ("/transfers", None),
            ("/nothing/x", None),
        ] {
            assert_eq!(subject_of_path(path).as_deref(), subject, "{path}");
        }
        assert_eq!(id_of("quote:q"), "q");
        assert_eq!(id_of("party:MSISDN/1"), "party:MSISDN/1");
    }

    #[test]
    fn interface_counts_as_seen_when_its_result_was_compared() {
        let mut tally = Tally::default();
        tally.took(&Method::GET, "/transfers/t");
        assert!(tally.rows.is_empty(), "an answer of 202 shows nothing");
        tally.compared(&Method::PUT, "/transfers/other");
        tally.compared(&Method::PUT, "/transfers/t/error");
        assert!(
            !tally.rows.contains("A-GET-transfers-ID"),
            "nor does an error"
        );
        tally.compared(&Method::PUT, "/transfers/t");
        assert!(tally.rows.contains("A-GET-transfers-ID"));
        assert!(tally.rows.contains("A-PUT-transfers-ID"));
    }

    #[test]
    fn a_message_that_nobody_expected_is_told() {
        let heard = |path: &str| ("a".to_owned(), Method::PUT, path.to_owned());
        let mut tally = Tally::default();
        tally.messages.push(heard("/x"));
        let came = |paths: &[&str]| {
            let came = paths.iter().map(|path| (heard(path), Value::Null));
            tally.account_for(came)
        };
        assert!(came(&["/x"]).is_ok());
        let twice = came(&["/x", "/x"]).unwrap_err().to_string();
        assert_eq!(twice, "a was sent what nobody expected: PUT /x null");
    }
}
