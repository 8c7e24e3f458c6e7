//! Lists: waiting requests, participants, a participant's history.

use super::{found, views};
use crate::bindings::exports::rialto::host::http_handler::Request as HttpRequest;
use crate::certificates::CERTIFICATES;
use crate::history::CHANGES;
use crate::participants::PARTICIPANTS;
use crate::requests::{Kind, PENDING, Pending, REQUESTS};
use crate::world::World;
use rialto_sdk::operators::{Answer, Kind as ProblemKind, Paging, Problem, parameter};

/// Waiting requests, oldest first.
pub fn pending(
    world: &mut dyn World,
    kind: Kind,
    query: &[(String, String)],
) -> Result<Answer, Problem> {
    let participant = parameter(query, "participant");
    let maker = parameter(query, "maker");
    let from = instant(query, "createdFrom")?;
    let to = instant(query, "createdTo")?;
    let wanted = |pending: &Pending| {
        participant.is_none_or(|participant| participant == pending.participant)
            && maker.is_none_or(|maker| maker == pending.maker)
            && from.is_none_or(|from| pending.made_at >= from)
            && to.is_none_or(|to| pending.made_at < to)
    };
    let prefix = format!("{}/", kind.name());
    let paging = Paging::of(query)?;
    let page = paging.fill(world, &PENDING, &prefix, |world, _, pending| {
        if !wanted(&pending) {
            return None;
        }
        let request = REQUESTS.within(world).get(&pending.request)?;
        Some(views::shown(&request))
    })?;
    Ok(Answer::json(200, &page))
}

/// Participants, in the order of their ids.
pub fn participants(world: &mut dyn World, query: &[(String, String)]) -> Result<Answer, Problem> {
    let state = parameter(query, "state");
    let of_type = parameter(query, "type");
    let currency = parameter(query, "currency");
    let name = parameter(query, "name");
    let paging = Paging::of(query)?;
    let page = paging.fill(world, &PARTICIPANTS, "", |world, _, participant| {
        let is_wanted = state.is_none_or(|state| state == participant.state.name())
            && of_type.is_none_or(|of_type| of_type == participant.participant_type.name())
            && name.is_none_or(|name| participant.name.starts_with(name))
            && currency.is_none_or(|currency| participant.account(currency).is_some());
        is_wanted.then(|| views::summary(world, &participant))
    })?;
    Ok(Answer::json(200, &page))
}

/// The changes of a participant, oldest first.
pub fn changes(world: &mut dyn World, request: &HttpRequest) -> Result<Answer, Problem> {
    let participant = found(world, request)?;
    let prefix = format!("{}/", participant.participant);
    let paging = Paging::of(&request.query_parameters)?;
    let page = paging.fill(world, &CHANGES, &prefix, |_, _, change| Some(change))?;
    Ok(Answer::json(200, &page))
}

/// The certificates of a participant, oldest first.
pub fn certificates(world: &mut dyn World, request: &HttpRequest) -> Result<Answer, Problem> {
    let participant = found(world, request)?;
    let prefix = format!("{}/", participant.participant);
    let paging = Paging::of(&request.query_parameters)?;
    let page = paging.fill(world, &CERTIFICATES, &prefix, |_, _, one| Some(one))?;
    Ok(Answer::json(200, &page))
}

fn instant(query: &[(String, String)], name: &str) -> Result<Option<u64>, Problem> {
    let read = parameter(query, name).map(str::parse).transpose();
    read.map_err(|_| {
        let detail = format!("`{name}` must be a time in milliseconds since 1970");
        Problem::new(ProblemKind::Malformed, detail)
    })
}
