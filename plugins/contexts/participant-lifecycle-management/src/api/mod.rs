//! The operators' API: its operations. The host has validated each request by `openapi.yaml` before.

mod bodies;
mod lists;
mod money;
mod views;

use crate::bindings::exports::rialto::host::http_handler::Request;
use crate::certificates;
use crate::decide::{self, Decision, Place};
use crate::participants::{PARTICIPANTS, Participant};
use crate::requests::Kind;
use crate::submit::{self, Maker};
use crate::world::World;
use rialto_sdk::operators::idempotency::{self, Sent};
use rialto_sdk::operators::{Answer, Caller, Kind as ProblemKind, Problem, Role, parameter};

/// An operation on requests of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    Submit,
    List,
    Decide,
}

/// The operations on requests, by the names of the catalogue of interfaces where it has them.
const OPERATIONS: [(&str, Does, Kind); 32] = [
    ("CreateParticipant", Does::Submit, Kind::Participant),
    ("ApproveParticipant", Does::Decide, Kind::Participant),
    ("ManageFunds", Does::Submit, Kind::Funds),
    ("GetPendingManageFunds", Does::List, Kind::Funds),
    ("ApproveManageFunds", Does::Decide, Kind::Funds),
    ("ReserveLiquidityCover", Does::Submit, Kind::LiquidityCover),
    (
        "GetPendingLiquidityCoverReservations",
        Does::List,
        Kind::LiquidityCover,
    ),
    (
        "ApproveLiquidityCoverReservation",
        Does::Decide,
        Kind::LiquidityCover,
    ),
    ("UpdateParticipantState", Does::Submit, Kind::State),
    ("GetPendingStateUpdates", Does::List, Kind::State),
    ("ApproveParticipantStateUpdate", Does::Decide, Kind::State),
    ("AddParticipantAccount", Does::Submit, Kind::Account),
    ("GetPendingParticipantsAccounts", Does::List, Kind::Account),
    ("ApproveParticipantAccount", Does::Decide, Kind::Account),
    ("UpdateAccountStatus", Does::Submit, Kind::AccountStatus),
    (
        "GetPendingAccountsWithStatusUpdates",
        Does::List,
        Kind::AccountStatus,
    ),
    (
        "ApproveAccountStatusUpdate",
        Does::Decide,
        Kind::AccountStatus,
    ),
    ("UpdateAccountLimit", Does::Submit, Kind::AccountLimit),
    (
        "GetPendingAccountsWithLimitUpdates",
        Does::List,
        Kind::AccountLimit,
    ),
    (
        "ApproveAccountLimitUpdate",
        Does::Decide,
        Kind::AccountLimit,
    ),
    (
        "UpdateAccountThreshold",
        Does::Submit,
        Kind::AccountThreshold,
    ),
    (
        "GetPendingAccountsWithThresholdUpdates",
        Does::List,
        Kind::AccountThreshold,
    ),
    (
        "ApproveAccountThresholdUpdate",
        Does::Decide,
        Kind::AccountThreshold,
    ),
    ("UpdateEndpoints", Does::Submit, Kind::Endpoints),
    ("GetPendingEndpointUpdates", Does::List, Kind::Endpoints),
    ("ApproveEndpointsUpdate", Does::Decide, Kind::Endpoints),
    ("UpdateSourceAddresses", Does::Submit, Kind::SourceAddresses),
    (
        "GetPendingSourceAddressUpdates",
        Does::List,
        Kind::SourceAddresses,
    ),
    (
        "ApproveSourceAddressesUpdate",
        Does::Decide,
        Kind::SourceAddresses,
    ),
    ("OrderCertificate", Does::Submit, Kind::Certificate),
    ("GetPendingCertificates", Does::List, Kind::Certificate),
    ("ApproveCertificate", Does::Decide, Kind::Certificate),
];

/// The one change that is no request: it takes effect at once.
const REVOKE_CERTIFICATE: &str = "RevokeCertificate";

/// What a request changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Changes {
    /// A request of a kind.
    Request(Does, Kind),
    /// A certificate, which is revoked.
    Certificate,
}

/// Answers a request of an operator.
#[must_use]
pub fn answer(world: &mut dyn World, caller: &Caller, request: &Request) -> Answer {
    let answered = match request.method.as_str() {
        "POST" => may_change(caller, request).and_then(|operation| {
            let sent = Sent {
                caller,
                method: &request.method,
                path: &request.path,
                headers: &request.headers,
                body: request.body.as_deref(),
                now: world.now(),
            };
            idempotency::once(world, &sent, |world| {
                change(world, caller, request, operation)
            })
        }),
        _ => caller
            .needs(Role::Reader)
            .and_then(|()| look(world, request)),
    };
    answered.unwrap_or_else(|problem| problem.answer())
}

/// Handles a request for a change. The role is checked first, so an operator without it does not even get a
/// repeated answer.
fn may_change(caller: &Caller, request: &Request) -> Result<Changes, Problem> {
    if request.operation_id == REVOKE_CERTIFICATE {
        caller.needs_one_of(&[Role::Maker, Role::Checker])?;
        return Ok(Changes::Certificate);
    }
    let (does, kind) = operation(request).ok_or_else(no_such_operation)?;
    let role = match does {
        Does::Submit => Role::Maker,
        Does::Decide => Role::Checker,
        Does::List => Role::Reader,
    };
    caller.needs(role)?;
    Ok(Changes::Request(does, kind))
}

fn change(
    world: &mut dyn World,
    caller: &Caller,
    request: &Request,
    changes: Changes,
) -> Result<Answer, Problem> {
    let body = request.body.as_deref().unwrap_or_default();
    let Changes::Request(does, kind) = changes else {
        let serial = parameter(&request.path_parameters, "serial").unwrap_or_default();
        let of = (participant_of(request), serial);
        return certificates::revoke(world, caller, of, bodies::read(body)?);
    };
    let account = parameter(&request.path_parameters, "accountId");
    if does == Does::Submit {
        let (reason, asked) = bodies::asked(kind, account, body)?;
        let maker = Maker {
            caller,
            reason: &reason,
            headers: &request.headers,
        };
        let participant = match &asked {
            crate::kinds::Asked::Participant(new) => new.id.clone(),
            _ => participant_of(request).to_owned(),
        };
        return submit::submit(world, &maker, &participant, asked);
    }
    let decision: Decision = bodies::read(body)?;
    let place = Place {
        participant: participant_of(request),
        kind,
        account,
        request: parameter(&request.path_parameters, "requestId"),
    };
    decide::decide(world, caller, &request.headers, &place, decision)
}

fn look(world: &mut dyn World, request: &Request) -> Result<Answer, Problem> {
    if let Some((Does::List, kind)) = operation(request) {
        return lists::pending(world, kind, &request.query_parameters);
    }
    match request.operation_id.as_str() {
        "GetPendingParticipants" => lists::participants(world, &request.query_parameters),
        "GetParticipantInfo" => views::participant(world, request),
        "GetLiquidityCoverCurrentState" => money::current_state(world, participant_of(request)),
        "GetRequest" => views::request(world, request),
        "GetParticipantChanges" => lists::changes(world, request),
        "GetParticipantCertificates" => lists::certificates(world, request),
        _ => Err(no_such_operation()),
    }
}

fn operation(request: &Request) -> Option<(Does, Kind)> {
    let mut operations = OPERATIONS.iter();
    let found = operations.find(|(name, ..)| *name == request.operation_id);
    found.map(|(_, does, kind)| (*does, *kind))
}

fn no_such_operation() -> Problem {
    Problem::new(ProblemKind::NotFound, "there is no such operation")
}

fn participant_of(request: &Request) -> &str {
    parameter(&request.path_parameters, "id").unwrap_or_default()
}

/// The participant that a path names.
fn found(world: &mut dyn World, request: &Request) -> Result<Participant, Problem> {
    let id = participant_of(request);
    let found = PARTICIPANTS.within(world).get(id);
    found.ok_or_else(|| submit::unknown(id))
}
