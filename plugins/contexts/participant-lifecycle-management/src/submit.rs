//! Requests of makers: checks and stores them, and tells the checkers. With automatic approval, a request takes
//! effect at once.

use crate::bindings::rialto::participant_lifecycle_management::approval_notification::Audience;
use crate::decide::{self, AUTOMATIC};
use crate::history::{self, By, Note};
use crate::kinds::Asked;
use crate::notices::tell;
use crate::participants::{PARTICIPANTS, Participant, State as ParticipantState};
use crate::requests::{OPEN, Request, State, open_id};
use crate::settings::Approval;
use crate::world::World;
use rialto_sdk::operators::{Answer, Caller, Kind, Problem, version};
use serde_json::{Value, json};

/// The maker of a request, with reason and headers.
#[derive(Debug, Clone, Copy)]
pub struct Maker<'a> {
    /// Who asks.
    pub caller: &'a Caller,
    /// In the maker's words.
    pub reason: &'a str,
    /// Of the HTTP request.
    pub headers: &'a [(String, String)],
}

/// Handles a request about a participant. The caller has checked the role.
///
/// # Errors
/// The reason of a refusal; then nothing was written.
pub fn submit(
    world: &mut dyn World,
    maker: &Maker<'_>,
    participant: &str,
    asked: Asked,
) -> Result<Answer, Problem> {
    let before = PARTICIPANTS.within(world).get_for_update(participant);
    let participant = if let Asked::Participant(new) = &asked {
        let before = may_apply(world, participant, before)?;
        new.applicant(before, world.now())
    } else {
        let found = before.ok_or_else(|| unknown(participant))?;
        version::insist_on_any(maker.headers, &[found.tag()])?;
        found
    };
    asked.change().judge(world, &participant)?;
    let request = request(world, maker, &participant, asked);
    refuse_duplicate(world, &request)?;
    keep(world, request, participant)
}

/// The error about an unknown participant.
#[must_use]
pub fn unknown(participant: &str) -> Problem {
    let detail = format!("there is no participant {participant}");
    Problem::new(Kind::ParticipantUnknown, detail)
}

/// Checks that the id is free: a rejected participant may apply again.
fn may_apply(
    world: &mut dyn World,
    id: &str,
    before: Option<Participant>,
) -> Result<Option<Participant>, Problem> {
    let taken = match &before {
        Some(before) => before.state != ParticipantState::Rejected,
        None => world.scheme().hub == id,
    };
    if taken {
        let detail = format!("there is a participant {id}");
        return Err(Problem::new(Kind::ParticipantExists, detail));
    }
    Ok(before)
}

fn request(
    world: &mut dyn World,
    maker: &Maker<'_>,
    participant: &Participant,
    asked: Asked,
) -> Request {
    Request {
        id: world.uuid(),
        participant: participant.participant.clone(),
        target: asked.change().target(world.scheme()),
        based_on: asked.change().based_on(participant),
        asked,
        state: State::Pending,
        reason: maker.reason.to_owned(),
        maker: maker.caller.name.clone(),
        made_at: world.now(),
        checker: None,
        decided_at: None,
        note: None,
        failure: None,
        version: 1,
    }
}

fn refuse_duplicate(world: &mut dyn World, request: &Request) -> Result<(), Problem> {
    let id = open_id(&request.participant, request.asked.kind(), &request.target);
    let Some(open) = OPEN.within(world).get_for_update(&id) else {
        return Ok(());
    };
    let detail = format!(
        "the request {} about the same target already waits for a decision",
        open.request
    );
    Err(Problem::new(Kind::DuplicateRequest, detail).with("pendingRequest", open.request))
}

fn keep(
    world: &mut dyn World,
    mut request: Request,
    mut participant: Participant,
) -> Result<Answer, Problem> {
    let kind = request.asked.kind();
    let is_application = matches!(request.asked, Asked::Participant(_));
    if world.settings().approval_of(kind) == Approval::Automatic {
        // Then the participant begins as APPROVED.
        AUTOMATIC.clone_into(request.checker.get_or_insert_default());
        request.decided_at = Some(world.now());
        decide::approve(world, &mut request, &mut participant)?;
    } else {
        if is_application {
            let by = By {
                maker: Some(request.maker.clone()),
                checker: None,
                release: None,
            };
            let note = Note {
                kind: kind.name().to_owned(),
                state: State::Pending.name().to_owned(),
                by,
                request: Some(request.id.clone()),
                asked: Some(request.told(world)),
                before: Value::Null,
                after: json!(participant.state),
            };
            let now = world.now();
            history::append(world, &mut participant, note, now);
            participant.version += 1;
            PARTICIPANTS
                .within(world)
                .put(&participant.participant, &participant);
        }
        request.submit(world);
        let message = format!("{} asks: {}", request.maker, request.reason);
        tell(world, Audience::Checkers, &request, &message);
    }
    world.subject("participant", &request.participant);
    world.subject("request", &request.id);
    let body = json!({
        "id": request.id,
        "state": request.state,
        "kind": kind.name(),
        "participant": request.participant,
    });
    let location = format!("/requests/{}", request.id);
    Ok(Answer::json(201, &body).with("location", location))
}
