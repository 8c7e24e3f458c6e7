//! What happened, over HTTP: histories, receipts, documents, dead letters.

use std::collections::{BTreeMap, BTreeSet};

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use rialto_components::rules::Receipt;
use rialto_edge::{DestinationStatus, Refused};
use rialto_engine::history::Record;
use rialto_engine::store::{DeadLetter, Receipt as StoredReceipt, ScanRange};
use rialto_engine::{Decision, DecisionOutcome, Engine, Failure, Interrupt, Reply};
use rialto_receipts::ProofFile;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::extractors::{Asked, At, By, Optional};
use super::problem::Kind;
use super::{Host, Problem, archives, blocking, done_or};
use crate::audit::{Actor, AuditedAction, Entry};
use crate::host::Shared;
use crate::personal_data::{HostPeople, Readable as _};
use crate::receipt_proofs;

/// The most turns of a subject that are read at a time, the last ones. Some subjects live for years.
const TURNS_MAX: usize = 10_000;

/// The default number of entries of the audit log.
const ENTRIES: usize = 100;

/// The turns about a subject.
#[derive(Serialize, Deserialize)]
pub struct Story {
    /// The subject, for example `transfer:<id>`.
    pub subject: String,
    /// The turns in log order.
    pub turns: Vec<Record>,
    /// How many earlier ones there are.
    #[serde(default)]
    pub earlier: usize,
}

/// A receipt with its id and time.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FiledReceipt {
    /// Its id.
    pub id: u64,
    /// When; milliseconds since 1970.
    pub at: u64,
    /// The receipt; none if it names a person whose key was destroyed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Receipt>,
    /// The verdict of asking the rule again, if that was wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again: Option<ReplayResult>,
}

/// The result of asking a rule again.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplayResult {
    /// Whether verdict and fuel are the same.
    pub same: bool,
    /// The verdict.
    pub verdict: String,
    /// Fuel used.
    pub fuel: u64,
}

/// A document as executed.
#[derive(Serialize, Deserialize)]
pub struct ShownDocument {
    /// Its id.
    pub id: String,
    /// How often it has been written.
    pub version: u64,
    /// Its body.
    pub body: Box<RawValue>,
}

/// A dead letter.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownLetter {
    /// Its id.
    pub id: u64,
    /// The component that failed to handle it.
    pub component: String,
    /// The interface that it calls.
    pub interface: String,
    /// What it was about.
    pub subjects: Vec<String>,
    /// How often it was tried.
    pub attempts: u32,
    /// The last failure.
    pub error: String,
    /// When it was parked; milliseconds since 1970.
    pub at: u64,
}

impl ShownLetter {
    /// The letter in words, for the audit log, because it no longer exists when the log is read. People have pseudonyms there.
    fn words(&self, people: Option<&HostPeople>) -> String {
        let Self {
            id,
            component,
            interface,
            ..
        } = self;
        let kept = |subject: &String| match people {
            Some(people) => people.kept_name(subject),
            None => subject.clone(),
        };
        let about: Vec<String> = self.subjects.iter().map(kept).collect();
        let about = about.join(", ");
        format!("dead letter {id}: {component} {interface} [{about}]")
    }
}

impl From<DeadLetter> for ShownLetter {
    fn from(letter: DeadLetter) -> Self {
        let delivery = &letter.delivery;
        let subjects = delivery.subjects.iter();
        Self {
            id: delivery.id,
            component: delivery.component.to_string(),
            interface: delivery.interface.to_string(),
            subjects: subjects.map(ToString::to_string).collect(),
            attempts: letter.attempts,
            error: letter.error,
            at: letter.at.0,
        }
    }
}

/// The body of an action that needs only a note.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

#[derive(Deserialize)]
pub(super) struct Scan {
    #[serde(default)]
    prefix: String,
    #[serde(default)]
    after: String,
    #[serde(default = "hundred")]
    limit: u32,
}

const fn hundred() -> u32 {
    100
}

#[derive(Deserialize)]
pub(super) struct Latest {
    /// The number of turns of each subject; the most that are read at a time by default.
    last: Option<usize>,
}

#[derive(Deserialize)]
pub(super) struct Entries {
    /// How many; a hundred by default.
    last: Option<usize>,
    /// Only entries whose `about` contains this text.
    #[serde(default)]
    about: String,
}

#[derive(Deserialize)]
pub(super) struct AskParameters {
    #[serde(default)]
    again: bool,
}

pub(super) async fn events(
    State(shared): Host,
    At(id): At<String>,
    Asked(wanted): Asked<Latest>,
) -> Result<Json<Vec<Story>>, Problem> {
    blocking(&shared.clone().reads, move || {
        let mut stories = Vec::new();
        let last = wanted.last.unwrap_or(TURNS_MAX).min(TURNS_MAX);
        for (name, kept) in subjects_of(&shared, &id)? {
            let mut story = archives::story(&shared, kept, last)?;
            story.subject = name;
            if !story.turns.is_empty() || story.earlier > 0 {
                stories.push(story);
            }
        }
        Ok(Json(stories))
    })
    .await
}

/// The subjects that an id may mean, and those under which their records are kept. A person's records are kept under a
/// pseudonym, and those from before they were encrypted under the name.
fn subjects_of(shared: &Shared, id: &str) -> Result<Vec<(String, String)>, Problem> {
    let subjects = shared.store.subjects_of(id)?.into_iter();
    let mut subjects: Vec<_> = subjects.map(|name| (name.clone(), name)).collect();
    subjects.extend(shared.people.people_of(id));
    Ok(subjects)
}

/// The last requests that were refused before a turn began, the oldest first.
pub(super) async fn refusals(
    State(shared): Host,
    Asked(wanted): Asked<Latest>,
) -> Result<Json<Vec<Refused>>, Problem> {
    Ok(Json(shared.refusals.last(wanted.last.unwrap_or(TURNS_MAX))))
}

/// The receipts about an id, oldest first: those under each subject that the id may mean, and those that contexts
/// file under the id alone.
pub(super) fn receipts_about(shared: &Shared, id: &str) -> Result<Vec<StoredReceipt>, Problem> {
    let subjects = subjects_of(shared, id)?.into_iter();
    let mut subjects: Vec<String> = subjects.map(|(_, kept)| kept).collect();
    if !subjects.iter().any(|subject| subject == id) {
        subjects.push(id.to_owned());
    }
    let mut found = Vec::new();
    for subject in subjects {
        found.extend(archives::receipts(shared, &subject)?);
    }
    found.sort_by_key(|receipt| receipt.id);
    Ok(found)
}

pub(super) async fn receipts(
    State(shared): Host,
    At(id): At<String>,
    Asked(ask): Asked<AskParameters>,
) -> Result<Json<Vec<FiledReceipt>>, Problem> {
    blocking(&shared.clone().reads, move || {
        let mut filed = Vec::new();
        for stored in receipts_about(&shared, &id)? {
            let opened = shared.people.readable_receipt(stored);
            let stored = opened.receipt;
            let read = opened
                .is_readable
                .then(|| serde_json::from_str(&stored.body));
            let receipt: Option<Receipt> = read.transpose().map_err(|e| {
                let detail = format!("the receipt {} cannot be read: {e}", stored.id);
                Problem::new(Kind::Receipt, detail)
            })?;
            let again = receipt.as_ref();
            let again = again.filter(|receipt| ask.again && !receipt.quarantined);
            let again = again.map(|receipt| crate::replay::again(&shared, receipt));
            filed.push(FiledReceipt {
                id: stored.id,
                at: stored.at.0,
                receipt,
                again: again.transpose()?,
            });
        }
        Ok(Json(filed))
    })
    .await
}

/// The receipts about an id with their proofs.
pub(super) async fn proofs(
    State(shared): Host,
    At(id): At<String>,
) -> Result<Json<ProofFile>, Problem> {
    blocking(&shared.clone().reads, move || {
        let receipts = receipts_about(&shared, &id)?;
        Ok(Json(receipt_proofs::file(&shared, receipts)?))
    })
    .await
}

/// The collections of a component that have or had documents.
#[derive(Serialize, Deserialize)]
pub struct Collections {
    /// The component.
    pub component: String,
    /// Their names, in their order.
    pub collections: BTreeSet<String>,
}

/// The collections of all components.
pub(super) async fn collections(State(shared): Host) -> Json<Vec<Collections>> {
    let mut by_component: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (component, collection) in shared.engine.collections() {
        let of = by_component.entry(component.to_string()).or_default();
        of.insert(collection.to_string());
    }
    let all = by_component.into_iter();
    let all = all.map(|(component, collections)| Collections {
        component,
        collections,
    });
    Json(all.collect())
}

pub(super) async fn documents(
    State(shared): Host,
    At((component, collection)): At<(String, String)>,
    Asked(scan): Asked<Scan>,
) -> Result<Json<Vec<ShownDocument>>, Problem> {
    blocking(&shared.clone().reads, move || {
        let mut range = ScanRange::prefix(&scan.prefix);
        // Ids have no control characters, so none is between this one and that with one more.
        let next = format!("{}\0", scan.after);
        if !scan.after.is_empty() && next > range.from {
            range.from = next;
        }
        if range.to.as_ref().is_some_and(|to| range.from >= *to) {
            return Ok(Json(Vec::new()));
        }
        let found = shared
            .engine
            .inspect(&component, &collection, &range, scan.limit)
            .map_err(|error| match error {
                Interrupt::Store(_) => Problem::new(Kind::Store, error.to_string()),
                Interrupt::Misuse(_) | Interrupt::Conflict | Interrupt::Outside => {
                    Problem::new(Kind::BadScan, error.to_string())
                }
            })?;
        // A crash must not take back what an operator has seen.
        shared
            .engine
            .wait_until_durable()
            .map_err(|error| Problem::new(Kind::Store, error.to_string()))?;
        let shown = found.into_iter().map(|document| {
            let body = RawValue::from_string(document.body.to_string())
                .map_err(|e| Problem::new(Kind::Document, e.to_string()))?;
            Ok(ShownDocument {
                id: document.id.to_string(),
                version: document.version,
                body,
            })
        });
        Ok(Json(shown.collect::<Result<_, Problem>>()?))
    })
    .await
}

/// A destination of outbound requests.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Destination {
    /// Its status.
    #[serde(flatten)]
    pub status: DestinationStatus,
    /// Requests that wait on disk for room in memory.
    pub on_disk: usize,
}

pub(super) async fn destinations(State(shared): Host) -> Json<Vec<Destination>> {
    let on_disk = shared.engine.outbound_on_disk();
    let all = shared.outbound.destinations().into_iter();
    let all = all.map(|status| Destination {
        on_disk: on_disk.get(&*status.destination).copied().unwrap_or(0),
        status,
    });
    Json(all.collect())
}

pub(super) async fn dead_letters(State(shared): Host) -> Result<Json<Vec<ShownLetter>>, Problem> {
    blocking(&shared.clone().reads, move || {
        let letters = shared.engine.dead_letters()?.into_iter();
        Ok(Json(letters.map(ShownLetter::from).collect()))
    })
    .await
}

pub(super) async fn dead_letter(
    State(shared): Host,
    At(id): At<u64>,
) -> Result<Json<ShownLetter>, Problem> {
    blocking(&shared.clone().reads, move || {
        let found = letter(&shared.engine, id)?;
        found.map(Json).ok_or_else(|| no_letter(id))
    })
    .await
}

fn letter(engine: &Engine, id: u64) -> Result<Option<ShownLetter>, Problem> {
    let mut letters = engine.dead_letters()?.into_iter();
    let found = letters.find(|letter| letter.delivery.id == id);
    Ok(found.map(ShownLetter::from))
}

fn no_letter(id: u64) -> Problem {
    let detail =
        format!("there is no dead letter {id}; `rialto dead-letters` lists those that there are");
    Problem::new(Kind::NotFound, detail)
}

pub(super) async fn decide_dead_letter(
    State(shared): Host,
    By(caller): By,
    At((id, verb)): At<(u64, String)>,
    Optional(Reason { note }): Optional<Reason>,
) -> Result<StatusCode, Problem> {
    let (decision, action) = match verb.as_str() {
        "retry" => (Decision::Retry, "dead-letter-retry"),
        "drop" => (Decision::Drop, "dead-letter-drop"),
        _ => {
            let detail = "a dead letter can be given `retry` or `drop`";
            return Err(Problem::new(Kind::NotFound, detail));
        }
    };
    blocking(&shared.clone().changes, move || {
        let found = letter(&shared.engine, id)?;
        let people = shared.people.as_deref();
        let about = found.map(|letter| letter.words(people));
        let about = about.unwrap_or_else(|| format!("dead letter {id}"));
        let audited = AuditedAction::new(action, &about).because(&note);
        let deciding = || decide(&shared.engine, id, decision);
        let who = Actor::from(&caller);
        shared.audit.keep(&who, &audited, done_or, deciding)?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

fn decide(engine: &Engine, id: u64, decision: Decision) -> Result<(), Problem> {
    let (sender, receiver) = std::sync::mpsc::sync_channel(1);
    let waiter = move |outcome: Result<Reply, Failure>| {
        let _ = sender.send(outcome);
    };
    engine.decide_dead_letter(id, decision, Box::new(waiter));
    // Called once in any case, also when the engine stops.
    let outcome = receiver.recv().unwrap_or(Err(Failure::Shutdown));
    let outcome = outcome.map(|reply| reply.downcast::<DecisionOutcome>().map(|s| *s));
    match outcome {
        Ok(Ok(DecisionOutcome::Done)) => Ok(()),
        Ok(Ok(DecisionOutcome::UnderWay)) => {
            let detail = format!("the dead letter {id} is being retried or dropped right now");
            Err(Problem::new(Kind::UnderWay, detail))
        }
        Ok(Ok(DecisionOutcome::Unknown) | Err(_)) => Err(no_letter(id)),
        Err(failure) => {
            let detail = format!("the dead letter {id} may not be settled: {failure}");
            Err(Problem::new(Kind::NotSettled, detail))
        }
    }
}

/// A searched text as the log has it for ever: a person by the pseudonym, and no other text that may name one.
fn named_for_ever(shared: &Shared, text: &str) -> String {
    match &shared.people {
        None => text.to_owned(),
        Some(people) if people.is_person(text) => people.kept_name(text),
        Some(_) => String::new(),
    }
}

pub(super) async fn audit(
    State(shared): Host,
    By(caller): By,
    Asked(wanted): Asked<Entries>,
) -> Result<Json<Vec<Entry>>, Problem> {
    blocking(&shared.clone().reads, move || {
        let about = named_for_ever(&shared, &wanted.about);
        shared.audit.was_read(&Actor::from(&caller), &about)?;
        let last = wanted.last.unwrap_or(ENTRIES).min(TURNS_MAX);
        let last = u32::try_from(last).unwrap_or(u32::MAX);
        Ok(Json(shared.audit.last(&wanted.about, last)?))
    })
    .await
}
