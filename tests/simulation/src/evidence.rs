//! All that can be seen of a run, and the judgement on it.

use std::collections::{BTreeMap, BTreeSet};

use rialto_engine::history::{Ended, Record, Step};
use rialto_engine::network::OutboundRequest;
use serde_json::{Value, json};

use crate::audit;
use crate::journal::Journal;
use crate::model::{Model, Rejection, State, Transfer};
use crate::outside;
use crate::problem::{ACKNOWLEDGED, OUTCOME, Problem, STATE, TOLD, TURNS};
use crate::saying::{Message, Saying};
use crate::script::{Agreement, Plan};
use crate::told::{self, Notice};
use crate::wire::Arrival;

/// See the module's documentation.
#[derive(Clone)]
pub struct Evidence {
    /// The FSPs by the addresses at which they are called back.
    pub callbacks: BTreeMap<String, String>,
    /// The quotes.
    pub agreements: Vec<Agreement>,
    /// What was to happen, by the transfers' ids.
    pub plans: BTreeMap<String, Plan>,
    /// What FSPs said.
    pub messages: Vec<Message>,
    /// What came to FSPs.
    pub arrivals: Vec<Arrival>,
    /// What the host made durable.
    pub journal: Journal,
    /// Deliveries that were given up.
    pub dead_letters: usize,
    /// How often the host was ended.
    pub crashes: usize,
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
}

impl Evidence {
    /// Everything that does not hold.
    pub fn problems(&self) -> Vec<Problem> {
        let journal = &self.journal;
        let mut problems = journal.problems.clone();
        problems.extend(audit::books(journal.accounts(), journal.reservations()));
        problems.extend(audit::postings(journal.accounts(), journal.entries()));
        self.turns(&mut problems);
        let model = self.model(&mut problems);
        self.acknowledged(&mut problems);
        self.documents(&model, &mut problems);
        self.ledger(&model, &mut problems);
        self.told(&model, &mut problems);
        self.deliveries(&model, &mut problems);
        problems.extend(outside::problems(self));
        problems
    }

    /// Nothing fails in this scheme, and nothing is left undone.
    fn turns(&self, problems: &mut Vec<Problem>) {
        for record in &self.journal.history {
            if let Ended::Failed(why) | Ended::Parked(why) = &record.ended {
                let what = format!("{} {}: {why}", record.component, record.function);
                problems.push(Problem::new(TURNS, what));
            }
        }
        if self.dead_letters > 0 {
            let what = format!("{} deliveries were given up", self.dead_letters);
            problems.push(Problem::new(TURNS, what));
        }
    }

    /// The message of this number.
    pub fn message(&self, number: u128) -> Option<&Message> {
        let place = usize::try_from(number).ok()?.checked_sub(1)?;
        self.messages.get(place)
    }

    /// Transfers' turns about what FSPs said, in the order of the log.
    fn handled(&self) -> impl Iterator<Item = (&Record, Option<&Message>)> {
        let turns = self.journal.history.iter().map(|record| &**record);
        let turns = turns.filter(|record| {
            &*record.component == "transfers"
                && record.ended == Ended::Executed
                && !record.function.ends_with("-callback-report")
        });
        turns.map(|record| (record, self.message(record.trace)))
    }

    /// Have the model hear what the host handled, in the same order.
    fn model(&self, problems: &mut Vec<Problem>) -> Model {
        let mut model = Model::new(&self.agreements);
        let mut heard = BTreeSet::new();
        for (record, message) in self.handled() {
            let Some(message) = message else {
                let what = format!("{} was handled, and nobody said it", record.function);
                problems.push(Problem::new(STATE, what));
                continue;
            };
            if &*record.function == "schedule-reminder-elapsed" {
                model.reminded(&message.draft.subject, message.number, record.at.0);
                continue;
            }
            let fits = &*record.function
                == match message.draft.saying {
                    Saying::Prepare(_) => "transfer-prepare-accounts-allocated",
                    Saying::Fulfil { .. } => "transfer-fulfil-committed-requested",
                    Saying::Reject { .. } => "transfer-reject-requested",
                    Saying::Query => "transfer-query-received",
                    Saying::AskQuote(_) | Saying::AnswerQuote(_) => "",
                };
            if !fits || record.at.0 < message.said_at || !heard.insert(message.number) {
                let what = format!(
                    "message {} is handled by {} at {}, twice, or before it was said",
                    message.number, record.function, record.at
                );
                problems.push(Problem::new(STATE, what));
            }
            model.hears(message, record.at.0);
        }
        model
    }

    /// What the hub took has an effect, once; what it refused has none.
    fn acknowledged(&self, problems: &mut Vec<Problem>) {
        let heard: BTreeSet<u64> = self
            .handled()
            .filter_map(|(_, message)| message.map(|message| message.number))
            .collect();
        for message in self.messages.iter().filter(|m| m.is_about_transfer()) {
            let was_heard = heard.contains(&message.number);
            let number = message.number;
            let in_own_name = match &message.draft.saying {
                Saying::Prepare(prepare) => prepare.payer == message.fsp(),
                _ => true,
            };
            let wrong = match (message.answer, was_heard) {
                (_, true) if !in_own_name => "was said in another's name and is handled",
                (crate::saying::Answer::Status(_), false) if message.was_taken() => {
                    "was taken and is lost"
                }
                (crate::saying::Answer::Status(_), true) if !message.was_taken() => {
                    "was refused and is handled"
                }
                (crate::saying::Answer::Status(status), _) => {
                    let expected = match message.method {
                        _ if !in_own_name => 400,
                        "PUT" => 200,
                        _ => 202,
                    };
                    if status == expected {
                        continue;
                    }
                    "is answered with another status"
                }
                _ => continue,
            };
            let what = format!("message {number} {wrong}: {message:?}");
            problems.push(Problem::new(ACKNOWLEDGED, what));
        }
    }

    /// Each transfer's document is what the messages made of it.
    fn documents(&self, model: &Model, problems: &mut Vec<Problem>) {
        let documents = self.journal.transfers();
        for id in documents.keys().chain(model.transfers.keys()) {
            let expected = model.transfers.get(id).map(document);
            let found = documents.get(id).map(|found| {
                let mut seen = json!({});
                for (name, _) in expected.iter().flat_map(|e| e.as_object()).flatten() {
                    seen[name] = found[name].clone();
                }
                seen
            });
            if found != expected {
                let what = format!("transfer {id} is {found:?}, should be {expected:?}");
                problems.push(Problem::new(STATE, what));
            }
            if model
                .transfers
                .get(id)
                .is_some_and(|t| t.state == State::Prepared)
            {
                let what = format!("transfer {id} has come to no end");
                problems.push(Problem::new(OUTCOME, what));
            }
        }
    }

    /// Accounts and entries are those of the transfers, to the cent.
    fn ledger(&self, model: &Model, problems: &mut Vec<Problem>) {
        for (fsp, book) in &model.books {
            for (kind, balance, unsettled) in [
                ("LIQUIDITY", book.liquidity, book.received),
                ("POSITION", book.reserved, book.paid),
            ] {
                let id = format!("{fsp}:USD:{kind}");
                let account = self
                    .journal
                    .accounts()
                    .get(&id)
                    .cloned()
                    .unwrap_or_default();
                let number = |name: &str| account[name].as_str().and_then(|t| t.parse().ok());
                let found = number("creditBalance")
                    .zip(number("debitBalance"))
                    .map(|(credit, debit): (i128, i128)| credit - debit)
                    .zip(number("unsettled"));
                let expected = (i128::from(balance), i128::from(unsettled));
                if found != Some(expected) {
                    let what = format!("{id} is {found:?}, should be {expected:?}");
                    problems.push(Problem::new(STATE, what));
                }
            }
        }
        let posted = self.journal.entries();
        let mut expected = BTreeMap::new();
        for (id, transfer) in &model.transfers {
            for (name, entry) in entries(id, transfer) {
                expected.insert(name, entry);
            }
        }
        let found: BTreeMap<String, [String; 3]> = posted
            .iter()
            .filter(|(_, entry)| {
                entry["entryType"]
                    .as_str()
                    .is_some_and(|t| t.starts_with("TRANSFER_"))
            })
            .map(|(id, entry)| {
                let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
                let of = ["debitAccount", "creditAccount", "amount"].map(text);
                (id.clone(), of)
            })
            .collect();
        for id in found.keys().chain(expected.keys()) {
            if found.get(id) != expected.get(id) {
                let (found, expected) = (found.get(id), expected.get(id));
                let what = format!("entry {id} is {found:?}, should be {expected:?}");
                problems.push(Problem::new(STATE, what));
            }
        }
    }

    /// All requests to FSPs about transfers.
    pub fn sent(&self) -> Vec<Sent<'_>> {
        let mut ends = BTreeMap::new();
        for record in &self.journal.history {
            for step in &record.steps {
                if let Step::Reported { id, outcome } = step {
                    ends.insert(*id, !outcome.starts_with("not delivered"));
                }
            }
        }
        let of_one = |request: &'_ std::sync::Arc<OutboundRequest>| -> Option<(u64, String)> {
            Some((request.id, about(request)?))
        };
        let mut sent = Vec::new();
        for request in self.journal.outbound.values() {
            let (Some((id, about)), Some((to, path))) = (of_one(request), self.target(request))
            else {
                continue;
            };
            sent.push(Sent {
                request,
                to,
                path,
                about,
                delivered: ends.get(&id).copied(),
            });
        }
        sent
    }

    /// The FSP that a request is for, and its path.
    fn target<'a>(&'a self, request: &'a OutboundRequest) -> Option<(&'a str, &'a str)> {
        let mut all = self.callbacks.iter();
        all.find_map(|(base, fsp)| Some((fsp.as_str(), request.url.strip_prefix(base.as_str())?)))
    }

    /// Each FSP is told what the model says, nothing else, and nothing twice.
    fn told(&self, model: &Model, problems: &mut Vec<Problem>) {
        let mut found: BTreeMap<(String, u64, String), BTreeMap<String, Vec<Option<bool>>>> =
            BTreeMap::new();
        for sent in self.sent() {
            let text = told::of_request(sent.request, sent.path, sent.to, &self.messages);
            let key = (
                sent.about.clone(),
                told::cause(sent.request),
                sent.to.to_owned(),
            );
            let texts = found.entry(key).or_default();
            texts.entry(text).or_default().push(sent.delivered);
        }
        for notice in &model.notices {
            let key = (notice.about.clone(), notice.cause, notice.to.clone());
            let texts = found.entry(key).or_default();
            let ended = take(texts, &notice.told.to_string());
            match ended {
                None => problems.push(missing(notice, &notice.told.to_string())),
                Some(None) => {
                    let what = format!("nobody knows what became of {notice:?}");
                    problems.push(Problem::new(TOLD, what));
                }
                Some(Some(false)) => {
                    if let Some(instead) = &notice.instead
                        && take(texts, &instead.to_string()).is_none()
                    {
                        problems.push(missing(notice, &instead.to_string()));
                    }
                }
                Some(Some(true)) => {}
            }
        }
        for ((about, cause, to), texts) in found {
            for text in texts
                .iter()
                .filter(|(_, more)| !more.is_empty())
                .map(|(t, _)| t)
            {
                let what = format!(
                    "{to} is told of transfer {about}: {text} (because of message {cause}), and should not be"
                );
                problems.push(Problem::new(TOLD, what));
            }
        }
    }

    /// What became of each message is kept with its transfer.
    fn deliveries(&self, model: &Model, problems: &mut Vec<Problem>) {
        let unrecorded: BTreeSet<(&str, u64)> = model
            .notices
            .iter()
            .filter(|notice| notice.is_unrecorded)
            .map(|notice| (notice.about.as_str(), notice.cause))
            .collect();
        let mut expected: BTreeMap<String, Vec<(String, bool)>> = BTreeMap::new();
        for sent in self.sent() {
            let Some(transfer) = model.transfers.get(&sent.about) else {
                continue;
            };
            let prepare = &transfer.prepare;
            if sent.to == prepare.payer || sent.to == prepare.payee {
                let delivered = sent.delivered.unwrap_or_default();
                let line = format!(
                    "{} {} {} {delivered}",
                    sent.to, sent.request.method, sent.path
                );
                let may_miss =
                    unrecorded.contains(&(sent.about.as_str(), told::cause(sent.request)));
                expected
                    .entry(sent.about.clone())
                    .or_default()
                    .push((line, may_miss));
            }
        }
        for (id, document) in self.journal.transfers() {
            let kept = document["deliveries"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let mut expected = expected.remove(id).unwrap_or_default();
            // Of two that look the same the one that must be there is found first.
            expected.sort_by_key(|(_, may_miss)| *may_miss);
            for delivery in &kept {
                let text = |name: &str| delivery[name].as_str().unwrap_or_default();
                let line = format!(
                    "{} {} {} {}",
                    text("destination"),
                    text("method"),
                    text("path"),
                    delivery["delivered"]
                );
                match expected.iter().position(|(known, _)| *known == line) {
                    Some(place) => drop(expected.remove(place)),
                    None => {
                        let what = format!("transfer {id} keeps a delivery that was none: {line}");
                        problems.push(Problem::new(TOLD, what));
                    }
                }
            }
            // The oldest go when there are many.
            let missing = expected.iter().find(|(_, may_miss)| !may_miss);
            if let Some((line, _)) = missing.filter(|_| kept.len() < KEPT) {
                let what = format!("transfer {id} does not keep what became of {line}");
                problems.push(Problem::new(TOLD, what));
            }
        }
    }
}

/// Deliveries that a transfer's document keeps.
const KEPT: usize = 16;

fn take(texts: &mut BTreeMap<String, Vec<Option<bool>>>, text: &str) -> Option<Option<bool>> {
    texts.get_mut(text)?.pop()
}

fn missing(notice: &Notice, text: &str) -> Problem {
    let Notice {
        cause, about, to, ..
    } = notice;
    let what = format!(
        "{to} should be told of transfer {about}: {text} (because of message {cause}), and is not"
    );
    Problem::new(TOLD, what)
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

/// What the document of a transfer must say.
fn document(transfer: &Transfer) -> Value {
    let prepare = &transfer.prepare;
    let mut document = json!({
        "transferId": prepare.transfer_id,
        "payerFsp": prepare.payer,
        "payeeFsp": prepare.payee,
        "condition": prepare.condition,
        "expiration": prepare.expiration,
        "fulfilment": null,
        "rejection": null,
        "postCommitTimeout": null,
    });
    let state = match &transfer.state {
        State::Prepared => "PREPARED",
        State::Committed {
            fulfilment,
            completed,
        } => {
            document["fulfilment"] = json!(fulfilment);
            document["completedTimestamp"] = json!(completed);
            "COMMITTED"
        }
        State::Rejected { why, .. } => {
            document["rejection"] = json!(match why {
                Rejection::TimedOut => "TIMED_OUT",
                Rejection::Declined => "DECLINED_BY_PAYEE",
                Rejection::FulfilmentRefused => "FULFILMENT_REFUSED",
            });
            "REJECTED"
        }
        State::Failed { .. } => "FAILED",
    };
    document["state"] = json!(state);
    document
}

/// The entries that a transfer must have.
fn entries(id: &str, transfer: &Transfer) -> Vec<(String, [String; 3])> {
    if !transfer.was_reserved {
        return Vec::new();
    }
    let prepare = &transfer.prepare;
    let amount = prepare.cents.to_string();
    let liquidity = format!("{}:USD:LIQUIDITY", prepare.payer);
    let position = format!("{}:USD:POSITION", prepare.payer);
    let received = format!("{}:USD:LIQUIDITY", prepare.payee);
    let entry = |name: &str, debit: &str, credit: &str| {
        let of = [debit, credit, &amount].map(str::to_owned);
        (format!("{id}:{name}"), of)
    };
    let mut entries = vec![entry("prepare", &liquidity, &position)];
    match transfer.state {
        State::Committed { .. } => entries.push(entry("fulfil", &position, &received)),
        State::Rejected { .. } => entries.push(entry("release", &position, &liquidity)),
        State::Prepared | State::Failed { .. } => {}
    }
    entries
}

/// A run in a few words: what kinds of payments there were and how they ended.
impl Evidence {
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
        let came = self.arrivals.iter().map(|arrival| {
            let request = &arrival.request;
            format!("{} {request:?}", arrival.at)
        });
        said.chain(came).collect()
    }

    /// The run in one line.
    pub fn summary(&self) -> String {
        let Journal {
            history, groups, ..
        } = &self.journal;
        format!(
            "{} steps, {} messages ({} deliveries given up), {} turns, {groups} groups, {} arrivals, {} ends of the host, up to {} turns ready",
            self.steps,
            self.messages.len(),
            self.given_up(),
            history.len(),
            self.arrivals.len(),
            self.crashes,
            self.ready_max,
        )
    }
}
