//! What the history keeps of messages of clients and of destinations, where the operator wants it.

use rialto_engine::messages::{Given, Part};
use rialto_engine::network::{Outcome, Report};
use rialto_engine::turn::Turn;

use crate::http::{Request, Response};
use crate::instance::Instance;

/// The turn that an instance runs, if the history keeps messages.
fn keeping(instance: &mut Instance) -> Option<&mut Turn> {
    let active = instance.store.data_mut().active.as_mut()?;
    active.turn.keeps_messages().then_some(&mut active.turn)
}

/// Keep a client's request. Returns whether its answer is to be kept too.
pub(crate) fn keep_request(instance: &mut Instance, request: &Request) -> bool {
    let Some(turn) = keeping(instance) else {
        return false;
    };
    turn.keep_message(Given {
        part: Part::Came,
        request: None,
        line: format!("{} {}", request.method, request.path),
        headers: &request.headers,
        body: request.body.as_deref(),
    });
    true
}

/// Keep the answer to a client's request.
pub(crate) fn keep_answer(instance: &mut Instance, response: &Response) {
    if let Some(turn) = keeping(instance) {
        turn.keep_message(Given {
            part: Part::Answer,
            request: None,
            line: response.status.to_string(),
            headers: &response.headers,
            body: response.body.as_deref(),
        });
    }
}

/// Keep what a destination has answered.
pub(crate) fn keep_report(instance: &mut Instance, report: &Report) {
    let response = match &report.outcome {
        Outcome::Delivered(response) => Some(response),
        Outcome::Failed { response, .. } => response.as_ref(),
    };
    if let (Some(turn), Some(response)) = (keeping(instance), response) {
        turn.keep_message(Given {
            part: Part::Response,
            request: Some(report.id),
            line: response.status.to_string(),
            headers: &response.headers,
            body: Some(&response.body),
        });
    }
}
