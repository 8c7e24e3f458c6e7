//! Trying an endpoint before it is used: one outbound request, and its report (choreography 6.4). An endpoint
//! is alive if it answers with a status below 500.

use crate::bindings::exports::rialto::host::http_report_handler::DeliveryReport;
use crate::decide::{as_it_was, end, make};
use crate::kinds::endpoints::{EndpointsUpdate, fspiop};
use crate::participants::PARTICIPANTS;
use crate::requests::{REQUESTS, Request, State};
use crate::world::World;
use rialto_sdk::bindings::rialto::host::http::{
    DeliveryPolicy, FailureKind, OutboundRequest, OutboundResponse, Outcome, WhileAway,
};

/// The most attempts.
const ATTEMPTS: u32 = 3;
/// The longest attempt, in milliseconds.
const ATTEMPT_TIMEOUT_MS: u32 = 2_000;
/// The longest time of all attempts, in milliseconds.
const DEADLINE_MS: u64 = 10_000;
/// The pause after the first attempt that failed, in milliseconds.
const BACKOFF_MS: u32 = 250;
/// The longest pause, in milliseconds.
const BACKOFF_MAX_MS: u32 = 1_000;

/// Has an endpoint tried. Returns false if the settings turn this off.
pub fn ask(world: &mut dyn World, request: &str, update: &EndpointsUpdate) -> bool {
    let path = &world.settings().endpoint_health_path;
    if path.is_empty() {
        return false;
    }
    let deadline = world.now() + DEADLINE_MS;
    world.send(&OutboundRequest {
        method: "GET".to_owned(),
        url: format!("{}{path}", fspiop(&update.endpoints)),
        headers: vec![("accept".to_owned(), "*/*".to_owned())],
        body: None,
        policy: DeliveryPolicy {
            attempts_max: ATTEMPTS,
            attempt_timeout_ms: ATTEMPT_TIMEOUT_MS,
            deadline,
            backoff_initial_ms: BACKOFF_MS,
            backoff_max_ms: BACKOFF_MAX_MS,
            while_away: WhileAway::GiveUp,
        },
        correlation: request.to_owned(),
    });
    true
}

/// Handles the report: uses the new endpoint, or keeps the old one.
///
/// # Panics
/// If there is no such request: nothing else sends requests.
pub fn tried(world: &mut dyn World, report: &DeliveryReport) {
    let id = &report.correlation;
    let request = REQUESTS.within(world).get_for_update(id);
    let mut request: Request = request.unwrap_or_else(|| panic!("there is no request {id}"));
    world.subject("participant", &request.participant);
    world.subject("request", id);
    if request.state != State::Checking {
        return;
    }
    let participant = PARTICIPANTS
        .within(world)
        .get_for_update(&request.participant);
    let mut participant =
        participant.unwrap_or_else(|| panic!("there is no participant {}", request.participant));
    request.failure = match as_it_was(&request, &participant) {
        Err(problem) => Some(format!("{}: {}", problem.kind.name(), problem.detail)),
        Ok(()) => dead(report),
    };
    if request.failure.is_none() {
        let made = make(world, &mut request, &mut participant);
        made.unwrap_or_else(|problem| panic!("no ledger is asked about an endpoint: {problem:?}"));
        return;
    }
    let as_is = request.asked.change().based_on(&participant);
    let unchanged = (as_is.clone(), as_is);
    end(
        world,
        &mut request,
        &mut participant,
        State::Failed,
        unchanged,
    );
}

/// Why the endpoint is not alive; none if it is.
fn dead(report: &DeliveryReport) -> Option<String> {
    let alive = |response: &OutboundResponse| response.status < 500;
    match &report.outcome {
        Outcome::Delivered(_) => None,
        Outcome::Failed(failure) if failure.response.as_ref().is_some_and(alive) => None,
        Outcome::Failed(failure) if failure.kind == FailureKind::NotAllowed => Some(format!(
            "the host may not call the endpoint: {}",
            failure.reason
        )),
        Outcome::Failed(failure) => Some(format!("the endpoint is not alive: {}", failure.reason)),
    }
}
