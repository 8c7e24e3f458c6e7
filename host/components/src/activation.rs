//! The steps of an activation, the part of components when their release becomes current. Each step is a turn.
//! This module decides which step is next and which components run in it, and runs it.

use std::any::Any;
use std::sync::Arc;

use rialto_engine::history::Step;
use rialto_engine::{Handled, Turn};

pub use crate::bindings::exports::rialto::host::authorization_handler::{
    ComponentPrivileges, Privilege,
};
use crate::described::configurations;
use crate::instance::Instance;
use crate::release::{Member, Release};
use crate::turns::{failed, failure, missing, run_in};

/// The name of a component's part of an activation in the history.
const ACTIVATED: &str = "activation-handler.release-activated";
/// The same of the component that says who may do what.
const PUBLISHED: &str = "authorization-handler.privileges-published";
/// The same of the component that knows the configuration of all.
const CONFIGURED: &str = "configuration-handler.configuration-published";

/// A step of an activation.
#[derive(Clone)]
pub struct Activation {
    /// The release.
    pub release: Arc<Release>,
    /// Counted from 0.
    pub step: u32,
    /// The components that run in the step, by their indexes in the release.
    pub members: Vec<usize>,
    /// The privileges of the release. The component that says who may do what is told in the last step.
    pub privileges: Arc<[ComponentPrivileges]>,
}

impl Activation {
    /// The first step; none if no component takes part. The privileges are those that the components' documents name.
    pub fn first(release: Arc<Release>, privileges: Vec<ComponentPrivileges>) -> Option<Self> {
        let members = release.members.iter().enumerate();
        let members = members.filter(|(_, member)| member.wants_activation());
        let members: Vec<usize> = members.map(|(at, _)| at).collect();
        let is_told = |member: &Member| member.authorizes() || member.keeps_configuration();
        let takes_part = !members.is_empty() || release.members.iter().any(is_told);
        takes_part.then_some(Self {
            release,
            step: 0,
            members,
            privileges: privileges.into(),
        })
    }

    /// The next step, by the answer of this one's turn; none if all components are done.
    pub fn next(&self, answer: &(dyn Any + Send)) -> Option<Self> {
        let UnfinishedMembers(members) = answer.downcast_ref()?;
        (!members.is_empty()).then(|| Self {
            release: self.release.clone(),
            step: self.step.saturating_add(1),
            members: members.clone(),
            privileges: self.privileges.clone(),
        })
    }
}

/// The answer of a step's turn: the components that are not done.
struct UnfinishedMembers(Vec<usize>);

/// Do a step of an activation. All components of the step run in one turn, so that all of it is done or
/// nothing.
pub(crate) fn activate(activation: &Activation, mut turn: Turn) -> Handled {
    let Activation { release, step, .. } = activation;
    turn.set_release(release.number);
    let mut still_at_it = Vec::new();
    for at in &activation.members {
        let member = &release.members[*at];
        let done = part(release, member, ACTIVATED, turn, |member, instance| {
            let handler = member.handlers.activation.as_ref().ok_or_else(missing)?;
            let handler = handler.load(&mut instance.store, &instance.instance)?;
            handler.call_release_activated(&mut instance.store, release.number, *step)
        });
        turn = match done {
            Ok((after, more)) => {
                still_at_it.extend(more.then_some(*at));
                after
            }
            Err(failed) => return *failed,
        };
    }
    // In the last step, so that a release that is refused before leaves what was published of the one that serves.
    if still_at_it.is_empty() {
        turn = match publish(activation, turn) {
            Ok(after) => after,
            Err(failed) => return *failed,
        };
    }
    Handled {
        turn: Some(turn),
        outcome: Ok(Box::new(UnfinishedMembers(still_at_it))),
    }
}

/// Tell the components that want to know it the privileges and the configuration of the release.
fn publish(activation: &Activation, mut turn: Turn) -> Result<Turn, Box<Handled>> {
    let release = &activation.release;
    for member in release.members.iter().filter(|member| member.authorizes()) {
        (turn, ()) = part(release, member, PUBLISHED, turn, |member, instance| {
            let handler = member.handlers.authorization.as_ref().ok_or_else(missing)?;
            let handler = handler.load(&mut instance.store, &instance.instance)?;
            let all = &activation.privileges;
            handler.call_privileges_published(&mut instance.store, release.number, all)
        })?;
    }
    let keepers = release.members.iter();
    for member in keepers.filter(|member| member.keeps_configuration()) {
        (turn, ()) = part(release, member, CONFIGURED, turn, |member, instance| {
            let handler = member.handlers.configuration.as_ref().ok_or_else(missing)?;
            let handler = handler.load(&mut instance.store, &instance.instance)?;
            let all = configurations(release);
            handler.call_configuration_published(&mut instance.store, release.number, &all)
        })?;
    }
    Ok(turn)
}

/// Run a component's part of an activation. An error is how the turn has failed.
fn part<T>(
    release: &Arc<Release>,
    member: &Member,
    function: &'static str,
    turn: Turn,
    call: impl FnOnce(&Member, &mut Instance) -> wasmtime::Result<T>,
) -> Result<(Turn, T), Box<Handled>> {
    let started_us = turn.monotonic_us();
    let (mut turn, result) = match run_in(member, release, turn, call) {
        (Some(after), Ok(result)) => (after, result),
        (after, Err(error)) => {
            return Err(Box::new(Handled {
                turn: after,
                outcome: Err(failure(member, error)),
            }));
        }
        (None, Ok(_)) => {
            let lost = failed(None, &member.identity.name, "the turn was lost".into());
            return Err(Box::new(lost));
        }
    };
    let took = turn.monotonic_us().saturating_sub(started_us);
    let called = turn.note(Step::Called {
        component: member.identity.name.clone(),
        function: function.into(),
        took_us: u32::try_from(took).unwrap_or(u32::MAX),
    });
    match called {
        Ok(_) => Ok((turn, result)),
        Err(error) => {
            let why = error.to_string();
            Err(Box::new(failed(Some(turn), &member.identity.name, why)))
        }
    }
}
