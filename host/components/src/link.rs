//! Links a component's imports: surfaces to the host, calls to the provider's instances, events to deliveries,
//! steps to rules. Values cross by the components' own types, so a new context needs no change here: those of calls and
//! events as bytes ([`rialto_values`]), those of steps as trees, because receipts have them as JSON.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use rialto_engine::history::Step;
use rialto_engine::stimulus::LivePayload;
use rialto_engine::{Interrupt, Name, Payload};
use rialto_values::Values;
use wasmtime::StoreContextMut;
use wasmtime::component::types::Type;
use wasmtime::component::{Linker, LinkerInstance, Val};

use crate::asking;
use crate::external_calls::label;
use crate::guest::{Active, CALL_DEPTH_MAX, Guest, Source};
use crate::introspect::{Function, Shape};
use crate::names::InterfaceName;
use crate::release::Member;
use crate::remembered::{Call, Reading};
use crate::spec::ReleaseSpec;
use crate::surfaces;
use crate::values::Json;
use crate::wasi;
use crate::wiring::{READ_SECRET, Target, Wiring, secrets_handler};

/// The arguments of an event for a subscriber.
pub struct EventPayload {
    /// The release on which it was published. The arguments have its types.
    pub release: u64,
    /// The arguments.
    pub params: Values,
    /// Their types.
    pub types: Arc<[Type]>,
}

impl EventPayload {
    fn trees(&self) -> Vec<Val> {
        let trees = self.params.trees(&*self.types);
        trees.expect("the arguments were read by these types")
    }
}

impl LivePayload for EventPayload {
    fn encode(&self) -> Vec<u8> {
        let params = self.trees();
        let params: Vec<Json<'_>> = params.iter().map(Json).collect();
        // Only plain values cross between components (the wiring checks this), and all of these can be
        // encoded.
        serde_json::to_vec(&params).unwrap_or_default()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn bytes(&self) -> usize {
        self.params.size()
    }
}

/// A subscriber of an event.
#[derive(Clone)]
struct Subscription {
    component: Name,
    interface: Name,
    function: Name,
}

/// Link all imports of the component with this index.
///
/// # Errors
/// When an interface of WASI or a surface differs from this host's.
pub fn linker(
    engine: &wasmtime::Engine,
    spec: &ReleaseSpec,
    shapes: &[Shape],
    wiring: &Wiring,
    at: usize,
) -> wasmtime::Result<Linker<Guest>> {
    let mut linker = Linker::new(engine);
    if shapes[at].imports_wasi() {
        wasi::link(&mut linker)?;
    }
    for link in wiring.links.iter().filter(|link| link.importer == at) {
        let imports = &shapes[at].imports;
        let Some(import) = imports.iter().find(|i| i.name == link.interface) else {
            continue;
        };
        match &link.target {
            Target::Wasi => {}
            Target::Surface => surfaces::link(&mut linker, &link.interface.interface)?,
            Target::Provider(provider) => {
                let mut instance = linker.instance(&link.interface.to_string())?;
                for function in &import.functions {
                    let name = &shapes[*provider];
                    let export = export_index(name, &link.interface, &function.name);
                    let answers = (*provider, export, link.interface.short());
                    call(&mut instance, function, answers, Names::Nobody)?;
                }
            }
            Target::Secrets(provider) => {
                let mut instance = linker.instance(&link.interface.to_string())?;
                let handler = secrets_handler(&link.interface);
                let export = export_index(&shapes[*provider], &handler, READ_SECRET);
                for function in &import.functions {
                    let answers = (*provider, export, handler.short());
                    call(&mut instance, function, answers, Names::TheCaller)?;
                }
            }
            Target::Subscribers(subscribers) => {
                let mut instance = linker.instance(&link.interface.to_string())?;
                for function in &import.functions {
                    let to = subscribers.iter().map(|&at| Subscription {
                        component: spec.components[at].name.clone(),
                        interface: link.interface.to_string().into(),
                        function: function.name.as_str().into(),
                    });
                    let label = label(&link.interface.to_string(), &function.name);
                    publish(&mut instance, function, &label, to.collect())?;
                }
            }
            Target::Counters(step) => {
                let mut instance = linker.instance(&link.interface.to_string())?;
                for function in &import.functions {
                    let step = step.clone();
                    instance.func_new(&function.name, move |mut store, _, _, results| {
                        results[0] = asking::counters(store.data_mut().acts(), &step)?;
                        Ok(())
                    })?;
                }
            }
            Target::Step => {
                let mut instance = linker.instance(&link.interface.to_string())?;
                let step: Name = link.interface.interface.as_str().into();
                for function in &import.functions {
                    let step = step.clone();
                    instance.func_new(&function.name, move |mut store, _, params, results| {
                        results[0] = asking::ask(store.data_mut().acts(), &step, params)?;
                        Ok(())
                    })?;
                }
            }
        }
    }
    Ok(linker)
}

/// The index of a function among all functions that a component exports, in the order in which
/// `runtime` lists them.
pub fn export_index(shape: &Shape, interface: &InterfaceName, function: &str) -> usize {
    let functions = shape
        .exports
        .iter()
        .flat_map(|e| e.functions.iter().map(move |f| (&e.name, f)));
    functions
        .take_while(|(name, f)| !(*name == interface && f.name == function))
        .count()
}

/// Whom the host names to the component that answers a call.
#[derive(Clone, Copy)]
enum Names {
    /// A call is its arguments alone.
    Nobody,
    /// The component that calls, as the first argument.
    TheCaller,
}

/// Link a function to an exported one of another component: the component's index, the function's, and its name in the
/// history.
fn call(
    instance: &mut LinkerInstance<'_, Guest>,
    function: &Function,
    (provider, export, label): (usize, usize, String),
    names: Names,
) -> wasmtime::Result<()> {
    let label: Name = label.into();
    let answer = move |mut store: StoreContextMut<'_, Guest>, given: Values| {
        let caller = store.data().identity.name.clone();
        let given = match names {
            Names::Nobody => given,
            Names::TheCaller => given.behind(&caller)?,
        };
        let mut active = lend(&mut store)?;
        let own_caller = active.caller.replace(Source::Component(caller));
        let own_agreed = active.agreed.take();
        let own_what_if = active.what_if.take();
        let own_reading = active.reading.take();
        let release = active.release.clone();
        let started_us = active.turn.monotonic_us();
        let member = &release.members[provider];
        let (active, outcome) = match names {
            Names::Nobody => {
                let is_read = own_reading.is_some();
                answer_in_turn(member, active, (export, is_read), given)
            }
            Names::TheCaller => {
                let (active, outcome) = call_in_turn(member, active, export, &given);
                (active, outcome.map(|results| (results, None)))
            }
        };
        let Some(mut active) = active else {
            return Err(wasmtime::format_err!("the turn was lost"));
        };
        let took = active.turn.monotonic_us().saturating_sub(started_us);
        let noted = active.turn.note(Step::Called {
            component: member.identity.name.clone(),
            function: label.clone(),
            took_us: u32::try_from(took).unwrap_or(u32::MAX),
        });
        let depth = active.depth.checked_sub(1);
        active.depth = depth.expect("a call that ends was counted when the turn was lent to it");
        active.caller = own_caller;
        active.agreed = own_agreed;
        active.what_if = own_what_if;
        active.reading = own_reading;
        let outcome = outcome.map(|(results, read)| {
            active.has_been_answered(read);
            results
        });
        store.data_mut().active = Some(active);
        let results = outcome.map_err(|error| explain(member, error))?;
        noted.map_err(wasmtime::Error::from)?;
        Ok(results)
    };
    let types = (params(function), &function.results);
    rialto_values::link(instance, &function.name, types, Arc::new(answer))
}

/// The types of a function's parameters.
fn params(function: &Function) -> impl Iterator<Item = &Type> {
    function.params.iter().map(|(_, ty)| ty)
}

/// Explain an error in words, with the name of the component that caused it. An interrupt of the turn stays as
/// it is.
pub(crate) fn explain(member: &Member, error: wasmtime::Error) -> wasmtime::Error {
    match error.downcast_ref::<Interrupt>() {
        Some(Interrupt::Conflict | Interrupt::Outside | Interrupt::Store(_)) => error,
        Some(Interrupt::Misuse(_)) | None => member.explain(&error).into(),
    }
}

/// Take the turn out of a component's store, to pass it to another.
fn lend(store: &mut StoreContextMut<'_, Guest>) -> wasmtime::Result<Active> {
    let guest = store.data_mut();
    guest.turn()?;
    let Some(mut active) = guest.active.take() else {
        return Err(wasmtime::format_err!("there is no turn"));
    };
    active.depth += 1;
    if active.depth > CALL_DEPTH_MAX {
        active.depth -= 1;
        guest.active = Some(active);
        return Err(wasmtime::format_err!(
            "calls between components are nested more than {CALL_DEPTH_MAX} deep"
        ));
    }
    Ok(active)
}

/// Answer a call of a component's exported function as part of a turn: as before, or by calling it. Returns the results, and
/// what was read for them if nothing else was done, and the caller's own answer may depend on it.
fn answer_in_turn(
    member: &Member,
    mut active: Active,
    (export, is_read): (usize, bool),
    given: Values,
) -> (Option<Active>, wasmtime::Result<(Values, Option<Reading>)>) {
    if !member.answers.are_worth_it(export) {
        let (active, outcome) = call_in_turn(member, active, export, &given);
        return (active, outcome.map(|results| (results, None)));
    }
    let call = Call { export, given };
    if let Some(answer) = member.answers.find(&call) {
        match answer.is_current(&mut active.turn) {
            Ok(true) => {
                member.answers.was_given(export);
                let read = is_read.then(|| answer.reading());
                return (Some(active), Ok((answer.results.clone(), read)));
            }
            Ok(false) => {}
            Err(interrupt) => return (Some(active), Err(interrupt.into())),
        }
    }
    active.reading = Some(Reading::default());
    let (mut active, outcome) = call_in_turn(member, active, export, &call.given);
    let reading = active.as_mut().and_then(|active| active.reading.take());
    let answered = outcome.map(|results| {
        let read = member.answers.keep(call, reading, &results);
        (results, read)
    });
    (active, answered)
}

/// Call a component's exported function as part of a turn.
pub(crate) fn call_in_turn(
    member: &Member,
    active: Active,
    export: usize,
    given: &Values,
) -> (Option<Active>, wasmtime::Result<Values>) {
    let mut lease = match member.lease() {
        Ok(lease) => lease,
        Err(error) => return (Some(active), Err(error)),
    };
    lease.store.data_mut().active = Some(active);
    let outcome = member
        .arm(&mut lease.store)
        .and_then(|()| lease.call(|i| member.call(i, export, given)));
    let active = lease.store.data_mut().active.take();
    if outcome.is_ok() {
        lease.give_back();
    }
    (active, outcome)
}

fn publish(
    instance: &mut LinkerInstance<'_, Guest>,
    function: &Function,
    label: &str,
    to: Vec<Subscription>,
) -> wasmtime::Result<()> {
    let event: Name = function.name.as_str().into();
    let names: Vec<Name> = to.iter().map(|s| s.component.clone()).collect();
    let label: Name = label.into();
    let members = function.params.iter().map(|(name, _)| name.clone());
    let members: Vec<String> = members.collect();
    let types: Arc<[Type]> = params(function).cloned().collect();
    let published = move |mut store: StoreContextMut<'_, Guest>, given: Values| {
        let guest = store.data_mut().acts();
        let publisher = guest.identity.name.clone();
        let release = guest.active.as_ref().map_or(0, |a| a.release.number);
        let turn = guest.turn()?;
        turn.note(Step::Published {
            event: event.clone(),
            to: names.clone(),
        })?;
        let payload = Arc::new(EventPayload {
            release,
            params: given,
            types: types.clone(),
        });
        for s in &to {
            let payload = Payload::Live(payload.clone());
            turn.deliver(&s.component, &s.interface, &s.function, payload)
                .map_err(wasmtime::Error::from)?;
        }
        turn.publish(&label, &publisher, &|| arguments(&members, &payload))
            .map_err(wasmtime::Error::from)?;
        Ok(Values::default())
    };
    let types = (params(function), &[]);
    rialto_values::link(instance, &function.name, types, Arc::new(published))
}

/// The arguments of an event for the outside: its only one if that is a record, else an object of all.
fn arguments(members: &[String], payload: &EventPayload) -> String {
    let params = payload.trees();
    let text = match params.as_slice() {
        [only @ Val::Record(_)] => serde_json::to_string(&Json(only)),
        params => {
            let named = members.iter().zip(params);
            let named: BTreeMap<&String, Json<'_>> =
                named.map(|(name, value)| (name, Json(value))).collect();
            serde_json::to_string(&named)
        }
    };
    // Only plain values cross between components, as in `EventPayload`.
    text.unwrap_or_default()
}
