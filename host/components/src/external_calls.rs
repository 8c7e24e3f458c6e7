//! Runs external calls and events (by gRPC, or of the host itself) as turns. A call goes to the one component
//! that exports the function, like a call of another component. An event goes to all components that export its
//! interface. The caller has already authorized the client and decoded the arguments to JSON.

use std::sync::Arc;

use rialto_engine::history::Step;
use rialto_engine::{Failure, Handled, Interrupt, Name, Payload, Reply, Turn};
use serde_json::Value;
use wasmtime::component::Val;

use crate::guest::Source;
use crate::link::EventPayload;
use crate::names::InterfaceName;
use crate::release::{Member, Release};
use crate::surfaces::auditing;
use crate::turns::{failed, given, in_member, note, params};
use crate::values::Json;

/// A call, or an event, with its arguments.
#[derive(Clone, Debug)]
pub struct Call {
    /// The interface, with its version: `rialto:quoting/get-agreement@0.1.0`.
    pub interface: Name,
    /// The function in it.
    pub function: Name,
    /// The arguments in the order of the parameters, in the JSON of [`values`](crate::values).
    pub arguments: Vec<Value>,
    /// The release whose types the arguments have.
    pub release: u64,
    /// The client that makes the call; none for the host itself.
    pub client: Option<Client>,
}

/// A client from outside, as it has proven itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// Its name.
    pub name: Name,
    /// The public name of the credential that it has shown; empty for one without a name.
    pub credential: Name,
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum CallOutcome {
    /// The function's result, in the JSON of [`values`](crate::values); null without a result, and for an event.
    Returned(Value),
    /// Another release is current than the call's. The turn had no effect: make the call again.
    ReleaseChanged,
}

/// Call a component.
pub(crate) fn call(
    release: &Arc<Release>,
    component: &Name,
    call: &Call,
    mut turn: Turn,
) -> Handled {
    if release.number != call.release {
        return gone(release, turn);
    }
    let found = release.member(component).and_then(|member| {
        let export = member.export(&call.interface, &call.function)?;
        Some((member, export))
    });
    let decoded = found.map(|(member, export)| (export, params(member, export, &call.arguments)));
    let (export, arguments) = match decoded {
        Some((export, Ok(arguments))) => (export, arguments),
        Some((_, Err(why))) => return failed(Some(turn), component, format!("a call {why}")),
        None => {
            let interface = &call.interface;
            let reason = format!("release {} has no {interface} of it", release.number);
            return failed(Some(turn), component, reason);
        }
    };
    turn.set_release(release.number);
    let handled = in_member(release, component, turn, |member, instance| {
        if let Some(active) = &mut instance.store.data_mut().active {
            let client = call.client.as_ref();
            active.caller = client.map(|client| Source::Client(client.name.clone()));
            active.actor = client.map(|client| Arc::new(auditing::actor_of_call(client)));
        }
        let mut results = vec![Val::Bool(false); member.exports[export].results];
        member.invoke(instance, export, &arguments, &mut results)?;
        // A function may have no result.
        let gave = results
            .first()
            .map(|result| serde_json::to_value(Json(result)));
        let gave = gave.transpose()?.unwrap_or_default();
        let refused = match results.first() {
            Some(Val::Result(Err(_))) => Some(case(&gave["err"])),
            _ => None,
        };
        let is_refused = refused.is_some();
        note(instance, Step::Replied { refused })?;
        if call.client.is_some() {
            instance.store.data_mut().audit_call(call, is_refused)?;
        }
        Ok(Box::new(CallOutcome::Returned(gave)) as Reply)
    });
    in_time(handled)
}

/// Publish an event to all components that export its interface.
pub(crate) fn tell(
    release: &Arc<Release>,
    component: &Name,
    event: &Call,
    mut turn: Turn,
) -> Handled {
    if release.number != event.release {
        return gone(release, turn);
    }
    turn.set_release(release.number);
    let to = subscribers(release, &event.interface, &event.function);
    for (member, export) in &to {
        let given = match given(member, *export, &event.arguments) {
            Ok(given) => given,
            Err(why) => return failed(Some(turn), component, format!("an event {why}")),
        };
        let payload = Payload::Live(Arc::new(EventPayload {
            release: release.number,
            params: given,
            types: member.exports[*export].params.clone(),
        }));
        let name = &member.identity.name;
        let staged = turn.deliver(name, &event.interface, &event.function, payload);
        if let Err(interrupt) = staged {
            return interrupted(turn, component, &interrupt);
        }
    }
    let names = to.iter().map(|(member, _)| member.identity.name.clone());
    let published = Step::Published {
        event: event.function.clone(),
        to: names.collect(),
    };
    for step in [published, Step::Replied { refused: None }] {
        if let Err(interrupt) = turn.note(step) {
            return interrupted(turn, component, &interrupt);
        }
    }
    let label = label(&event.interface, &event.function);
    let kept = turn.publish(&label, component, &|| members(&event.arguments));
    if let Err(interrupt) = kept {
        return interrupted(turn, component, &interrupt);
    }
    Handled {
        turn: Some(turn),
        outcome: Ok(Box::new(CallOutcome::Returned(Value::Null))),
    }
}

/// The arguments of an event for the outside: its only one if that is an object, else a list of all.
fn members(arguments: &[Value]) -> String {
    match arguments {
        [only @ Value::Object(_)] => only.to_string(),
        all => serde_json::json!({ "arguments": all }).to_string(),
    }
}

/// The subscribers of an event, with the index of its function.
fn subscribers<'r>(
    release: &'r Release,
    interface: &str,
    function: &str,
) -> Vec<(&'r Member, usize)> {
    let members = release.members.iter();
    members
        .filter_map(|member| Some((member, member.export(interface, function)?)))
        .collect()
}

/// The short name of a call: `quoting/get-agreement`, with the function if it has another name.
#[must_use]
pub fn label(interface: &str, function: &str) -> String {
    let name = InterfaceName::parse(interface);
    match name {
        Some(name) if name.interface == function => name.short(),
        Some(name) => format!("{}.{function}", name.short()),
        None => format!("{interface}.{function}"),
    }
}

/// The name of a refusal's case.
fn case(err: &Value) -> String {
    match err {
        Value::String(case) => case.clone(),
        Value::Object(object) if object.len() == 1 => object.keys().cloned().collect(),
        _ => "refused".to_owned(),
    }
}

/// The end of a turn without effect, for a call of another release.
fn gone(release: &Release, mut turn: Turn) -> Handled {
    turn.set_release(release.number);
    Handled {
        turn: Some(turn),
        outcome: Ok(Box::new(CallOutcome::ReleaseChanged)),
    }
}

fn interrupted(turn: Turn, component: &Name, interrupt: &Interrupt) -> Handled {
    failed(Some(turn), component, interrupt.to_string())
}

/// A failure after the client's time counts as `Expired`.
fn in_time(mut handled: Handled) -> Handled {
    let left_us = handled.turn.as_ref().and_then(Turn::left_us);
    if left_us == Some(0) && matches!(handled.outcome, Err(Failure::Handler { .. })) {
        handled.outcome = Err(Failure::Expired);
    }
    handled
}
