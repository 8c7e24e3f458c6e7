//! The judgement on a run: everything that does not hold. The host's history says which message was
//! handled when; the model, which hears them in that order, says what must have come of it.

use std::collections::{BTreeMap, BTreeSet};

use rialto_engine::history::{Ended, Kind, Record};

use crate::audit::Books;
use crate::evidence::Evidence;
use crate::model::Model;
use crate::problem::{ACKNOWLEDGED, Problem, STATE, TURNS};
use crate::saying::{Answer, Message, Saying};
use crate::script::GHOST;
use crate::{audit, notices, outside, quotes, state};

/// Everything that does not hold.
pub fn problems(evidence: &Evidence) -> Vec<Problem> {
    let journal = &evidence.journal;
    let mut problems = journal.problems.clone();
    // Of the documents as they are now, not as they were read along.
    problems.extend(Books::of(journal.accounts(), journal.reservations()).problems());
    problems.extend(audit::postings(journal.accounts(), journal.entries()));
    let granted = journal.history.iter().flat_map(|r| evidence.grants.turn(r));
    problems.extend(granted);
    let sent = journal.outbound.values();
    problems.extend(sent.filter_map(|r| evidence.grants.request(r)));
    turns(evidence, &mut problems);
    let model = model(evidence, &mut problems);
    acknowledged(evidence, &mut problems);
    state::documents(evidence, &model, &mut problems);
    state::ledger(evidence, &model, &mut problems);
    notices::told(evidence, &model, &mut problems);
    notices::kept(evidence, &model, &mut problems);
    notices::reported(evidence, &mut problems);
    problems.extend(outside::problems(evidence));
    problems.extend(quotes::problems(evidence));
    problems
}

/// Nothing fails in this scheme, and nothing is parked.
fn turns(evidence: &Evidence, problems: &mut Vec<Problem>) {
    for record in &evidence.journal.history {
        if let Ended::Failed(why) | Ended::Parked(why) = &record.ended {
            let what = format!("{} {}: {why}", record.component, record.function);
            problems.push(Problem::new(TURNS, what));
        }
    }
    if evidence.dead_letters > 0 {
        let what = format!("{} deliveries are parked", evidence.dead_letters);
        problems.push(Problem::new(TURNS, what));
    }
}

/// Transfers' turns about what FSPs said, in the order of the log.
fn handled(evidence: &Evidence) -> impl Iterator<Item = (&Record, Option<&Message>)> {
    let turns = evidence.journal.history.iter().map(|record| &**record);
    let turns = turns.filter(|record| {
        &*record.component == "transfers"
            && record.ended == Ended::Executed
            && !record.function.ends_with("-callback-report")
    });
    turns.map(|record| (record, evidence.message(record.trace)))
}

/// When the hub took each message: the instants of the turns of requests, by the messages' numbers.
fn taken(evidence: &Evidence) -> BTreeMap<u128, u64> {
    let turns = evidence.journal.history.iter();
    let turns =
        turns.filter(|record| record.kind == Kind::Request && record.ended == Ended::Executed);
    turns.map(|record| (record.trace, record.at.0)).collect()
}

/// Feeds the model with the messages that the host handled, in the same order.
fn model(evidence: &Evidence, problems: &mut Vec<Problem>) -> Model {
    let mut model = Model::new(&evidence.agreements);
    let taken = taken(evidence);
    let mut heard = BTreeSet::new();
    for (record, message) in handled(evidence) {
        let Some(message) = message else {
            let what = format!("{} was handled, and nobody said it", record.function);
            problems.push(Problem::new(STATE, what));
            continue;
        };
        if &*record.function == "schedule-reminder-elapsed" {
            if message.draft.saying == Saying::Query {
                model.asked_again(message);
                continue;
            }
            model.reminded(&message.draft.subject, message.number, record.at.0);
            continue;
        }
        let function = match message.draft.saying {
            Saying::Prepare(_) => "transfer-prepare-accounts-allocated",
            Saying::Fulfil { .. } => "transfer-fulfil-committed-requested",
            Saying::Reject { .. } => "transfer-reject-requested",
            Saying::Query => "transfer-query-received",
            Saying::AskQuote(_) | Saying::AnswerQuote(_) => "",
        };
        let fits = &*record.function == function && record.at.0 >= message.said_at;
        if !fits || !heard.insert(message.number) {
            let what = format!(
                "message {} is handled by {} at {}: otherwise than it was said, before, or twice",
                message.number, record.function, record.at
            );
            problems.push(Problem::new(STATE, what));
        }
        let taken_at = taken.get(&record.trace).copied();
        model.hears(message, taken_at.unwrap_or(record.at.0), record.at.0);
    }
    model
}

/// An accepted message has an effect, a refused one has none.
fn acknowledged(evidence: &Evidence, problems: &mut Vec<Problem>) {
    let heard: BTreeSet<u64> = handled(evidence)
        .filter_map(|(_, message)| message.map(|message| message.number))
        .collect();
    let about_transfers = evidence.messages.iter().filter(|m| m.is_about_transfer());
    for message in about_transfers {
        let was_heard = heard.contains(&message.number);
        let in_own_name = match &message.draft.saying {
            Saying::Prepare(prepare) => prepare.payer == message.fsp(),
            _ => true,
        };
        // A sender that is not a participant is refused at once.
        let may_speak = in_own_name && message.fsp() != GHOST;
        let expected = match message.method {
            _ if !may_speak => 400,
            "PUT" => 200,
            _ => 202,
        };
        let wrong = match message.answer {
            Answer::Status(status) if status != expected => "is answered with another status",
            Answer::Status(_) if may_speak && !was_heard => "was taken and is lost",
            _ if !may_speak && was_heard => {
                "was said in another's name, or by nobody, and is handled"
            }
            _ => continue,
        };
        let what = format!("message {} {wrong}: {message:?}", message.number);
        problems.push(Problem::new(ACKNOWLEDGED, what));
    }
}
