//! Quotes: each that was agreed is kept as agreed, and went to the other FSP as it was said, once.

use crate::evidence::Evidence;
use crate::problem::{Problem, STATE, TOLD};
use crate::saying::{Message, Saying};
use crate::script::Agreement;

/// Everything that is otherwise.
pub fn problems(evidence: &Evidence) -> Vec<Problem> {
    let mut problems = Vec::new();
    let documents = evidence.journal.collection("quoting", "quotes");
    for agreement in &evidence.agreements {
        let id = &agreement.quote_id;
        let state = documents.get(id).and_then(|quote| quote["state"].as_str());
        if state != Some("ACCEPTED") {
            let what = format!("quote {id} is {state:?}, and both FSPs have agreed");
            problems.push(Problem::new(STATE, what));
        }
        problems.extend(forwarded(evidence, agreement));
    }
    problems
}

/// The problems of a request for a quote and its answer.
fn forwarded(evidence: &Evidence, agreement: &Agreement) -> Vec<Problem> {
    let mut problems = Vec::new();
    let said = evidence.messages.iter();
    for message in said.filter(|message| message.draft.subject == agreement.quote_id) {
        let to = match message.draft.saying {
            Saying::AskQuote(_) => &agreement.payee,
            Saying::AnswerQuote(_) => &agreement.payer,
            _ => continue,
        };
        let came = evidence.arrivals.iter().filter(|arrival| {
            let target = evidence.target(&arrival.request);
            target == Some((to.as_str(), message.path.as_str())) && is_same(arrival, message)
        });
        let count = came.count();
        if count != 1 {
            let what = format!(
                "{} {} of quote {} comes to {to} {count} times",
                message.method, message.path, agreement.quote_id
            );
            problems.push(Problem::new(TOLD, what));
        }
    }
    problems
}

fn is_same(arrival: &crate::wire::Arrival, message: &Message) -> bool {
    let request = &arrival.request;
    request.method == message.method && request.body.as_deref() == Some(message.body.as_str())
}
