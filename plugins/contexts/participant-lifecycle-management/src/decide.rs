//! A checker's decision. Everything is checked again, and an approval takes effect in the same turn.
//!
//! A refusal changes nothing: the request still waits, and the checker may reject it.

use crate::bindings::rialto::participant_lifecycle_management::approval_notification::Audience;
use crate::health;
use crate::history::{self, By, Note};
use crate::kinds::Asked;
use crate::notices::tell;
use crate::participants::{PARTICIPANTS, Participant, State as ParticipantState};
use crate::requests::{Kind as RequestKind, OPEN, REQUESTS, Request, State, open_id};
use crate::submit::unknown;
use crate::world::World;
use rialto_sdk::operators::{Answer, Caller, Kind, Problem, header, version};
use serde::Deserialize;
use serde_json::Value;

/// The checker's name in automatic approvals.
pub const AUTOMATIC: &str = "automatic";

/// The checker's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// Approve.
    Approve,
    /// Do not.
    Reject,
}

/// The body of an approval.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// The checker's decision.
    pub decision: Verdict,
    /// In the checker's words.
    #[serde(default)]
    pub note: Option<String>,
    /// The request that the checker has read. If the path names none, another request may be open by now.
    #[serde(default)]
    pub request: Option<String>,
}

/// The subject that a path names.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The participant.
    pub participant: &'a str,
    /// Which kind of request.
    pub kind: RequestKind,
    /// The account, if the path names one.
    pub account: Option<&'a str>,
    /// The request; none if a participant can only have one.
    pub request: Option<&'a str>,
}

/// Decides a request. The caller has checked the role.
///
/// # Errors
/// The reason of a refusal; then nothing was written.
pub fn decide(
    world: &mut dyn World,
    caller: &Caller,
    headers: &[(String, String)],
    place: &Place<'_>,
    decision: Decision,
) -> Result<Answer, Problem> {
    let participant = PARTICIPANTS.within(world).get_for_update(place.participant);
    let mut participant = participant.ok_or_else(|| unknown(place.participant))?;
    let mut request = find(world, place, &participant)?;
    let mut tags = vec![participant.tag()];
    if place.request.is_some() {
        // Otherwise the tag is useless: every waiting request has its first version.
        tags.push(request.tag());
    }
    version::insist_on_any(headers, &tags)?;
    is_the_one_read(place, headers, &decision, &request, &participant)?;
    if request.maker == caller.name {
        let detail = format!(
            "{} made the request: another operator must decide it",
            caller.name
        );
        return Err(Problem::new(Kind::MakerIsChecker, detail));
    }
    if request.state != State::Pending {
        let state = request.state.name();
        let detail = format!("the request is {state} and can no longer be decided");
        return Err(Problem::new(Kind::AlreadyDecided, detail).with("state", state));
    }
    request.checker = Some(caller.name.clone());
    request.decided_at = Some(world.now());
    request.note = decision.note;
    match decision.decision {
        Verdict::Reject => reject(world, &mut request, &mut participant),
        Verdict::Approve => {
            as_it_was(&request, &participant)?;
            request.asked.change().judge(world, &participant)?;
            approve(world, &mut request, &mut participant)?;
        }
    }
    world.subject("participant", &request.participant);
    world.subject("request", &request.id);
    let answer = Answer::json(200, &request);
    Ok(answer.with("etag", request.tag()))
}

fn find(
    world: &mut dyn World,
    place: &Place<'_>,
    participant: &Participant,
) -> Result<Request, Problem> {
    let id = match place.request {
        Some(id) => id.to_owned(),
        None => {
            let id = open_id(place.participant, place.kind, "");
            let open = OPEN.within(world).get(&id);
            open.map(|open| open.request)
                .ok_or_else(|| none_open(participant))?
        }
    };
    let found = REQUESTS.within(world).get_for_update(&id);
    let is_meant = |request: &Request| {
        request.participant == place.participant
            && request.asked.kind() == place.kind
            && request.asked.change().account() == place.account
    };
    found.filter(is_meant).ok_or_else(|| {
        let detail = format!("{} has no such request {id}", place.participant);
        Problem::new(Kind::RequestUnknown, detail)
    })
}

/// Checks that the open request is the one that the checker has read. A rejected participant may apply again
/// with other terms: then a decision names the request, or the version of the participant.
fn is_the_one_read(
    place: &Place<'_>,
    headers: &[(String, String)],
    decision: &Decision,
    open: &Request,
    participant: &Participant,
) -> Result<(), Problem> {
    if let Some(read) = &decision.request {
        if *read == open.id {
            return Ok(());
        }
        let detail = format!(
            "the decision is about request {read}, but the open request is {}",
            open.id
        );
        let problem = Problem::new(Kind::TargetChanged, detail);
        return Err(problem
            .with("was", read.as_str())
            .with("is", open.id.as_str()));
    }
    let names_version = header(headers, "if-match").is_some_and(|tags| tags.trim() != "*");
    // The first entry of a history is the application, the second one its end.
    let is_first = participant.changes <= 1;
    if place.request.is_some() || names_version || is_first {
        return Ok(());
    }
    let detail = format!(
        "{} has applied more than once: name the request by `request` or `If-Match`",
        participant.participant
    );
    let problem = Problem::new(Kind::PreconditionRequired, detail);
    Err(problem.with("pendingRequest", open.id.as_str()))
}

/// The error if no application is open: it was decided, or a release added the participant.
fn none_open(participant: &Participant) -> Problem {
    let state = match participant.state {
        ParticipantState::Rejected => State::Rejected.name(),
        _ => State::Approved.name(),
    };
    let detail = format!(
        "{} is {}: there is nothing to decide",
        participant.participant,
        participant.state.name()
    );
    Problem::new(Kind::AlreadyDecided, detail).with("state", state)
}

/// Checks that the target of a request has not changed since the request.
///
/// # Errors
/// If it has changed.
pub fn as_it_was(request: &Request, participant: &Participant) -> Result<(), Problem> {
    let is = request.asked.change().based_on(participant);
    if is == request.based_on {
        return Ok(());
    }
    let detail =
        "the target has changed since the request was made: reject the request, and make a new one";
    let problem = Problem::new(Kind::TargetChanged, detail);
    Err(problem.with("was", request.based_on.clone()).with("is", is))
}

/// Makes an approved request take effect, or has its endpoint tried first.
///
/// # Errors
/// If the ledger refuses; then nothing was written.
pub fn approve(
    world: &mut dyn World,
    request: &mut Request,
    participant: &mut Participant,
) -> Result<(), Problem> {
    if let Asked::Endpoints(update) = &request.asked
        && health::ask(world, &request.id, update)
    {
        request.stand(world, State::Checking);
        return Ok(());
    }
    make(world, request, participant)
}

/// Makes a request take effect.
///
/// # Errors
/// If the ledger refuses; then nothing was written.
pub fn make(
    world: &mut dyn World,
    request: &mut Request,
    participant: &mut Participant,
) -> Result<(), Problem> {
    let change = request.asked.change();
    let before = change.based_on(participant);
    let events = change.make(world, participant, &request.id)?;
    let after = change.based_on(participant);
    end(
        world,
        request,
        participant,
        State::Approved,
        (before, after),
    );
    for event in events {
        world.publish(event);
    }
    Ok(())
}

fn reject(world: &mut dyn World, request: &mut Request, participant: &mut Participant) {
    let change = request.asked.change();
    let before = change.based_on(participant);
    change.reject(participant);
    let after = change.based_on(participant);
    end(
        world,
        request,
        participant,
        State::Rejected,
        (before, after),
    );
}

/// Stores the end of a request, and tells its maker.
pub fn end(
    world: &mut dyn World,
    request: &mut Request,
    participant: &mut Participant,
    state: State,
    (before, after): (Value, Value),
) {
    let now = world.now();
    let note = Note {
        kind: request.asked.kind().name().to_owned(),
        state: state.name().to_owned(),
        by: By {
            maker: Some(request.maker.clone()),
            checker: request.checker.clone(),
            release: None,
        },
        request: Some(request.id.clone()),
        asked: Some(request.told(world)),
        before,
        after,
    };
    history::append(world, participant, note, now);
    participant.version += 1;
    participant.updated_at = now;
    PARTICIPANTS
        .within(world)
        .put(&participant.participant, participant);
    request.stand(world, state);
    let by = request.checker.as_deref().unwrap_or(AUTOMATIC);
    let message = match (&request.failure, &request.note) {
        (Some(failure), _) => format!("{by} approved it, and it failed: {failure}"),
        (None, Some(note)) => format!("{by} has decided: {note}"),
        (None, None) => format!("{by} has decided"),
    };
    let maker = Audience::Operator(request.maker.clone());
    tell(world, maker, request, &message);
    if state == State::Failed
        && let Some(checker) = request.checker.clone()
    {
        tell(world, Audience::Operator(checker), request, &message);
    }
}
