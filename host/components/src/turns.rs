//! Runs a turn: its stimulus becomes a call of a component.

use std::sync::Arc;

use rialto_engine::history::Step;
use rialto_engine::network::Report;
use rialto_engine::stimulus::LivePayload as _;
use rialto_engine::store::StoredReminder;
use rialto_engine::{Delivery, Failure, Handled, Handler, Name, Payload, Reply, Stimulus, Turn};
use rialto_values::Values;
use wasmtime::component::Val;

use crate::activation::activate;
use crate::bindings::exports::rialto::host::{http_handler, http_report_handler as report_handler};
use crate::bindings::rialto::host::http as wit_http;
use crate::external_calls;
use crate::guest::Active;
use crate::http::Request;
use crate::instance::Instance;
use crate::link::{EventPayload, call_in_turn, explain};
use crate::messages;
use crate::release::{Member, Release};
use crate::runtime::{Argument, ReleaseChanged, Runtime};
use crate::surfaces::auditing;
use crate::values::decode;

/// The interface and function that components export for reminders.
pub const REMINDER: (&str, &str) = ("rialto:host/reminder-handler@0.1.0", "reminder-due");
/// The interface and function that components export for delivery reports.
pub const REPORT: (&str, &str) = ("rialto:host/http-report-handler@0.1.0", "report");

impl Handler for Runtime {
    fn handle(&self, stimulus: &Stimulus, turn: Turn) -> Handled {
        match stimulus {
            Stimulus::Request {
                component,
                argument,
                ..
            } => match argument.downcast_ref::<Argument>() {
                Some(argument) => self.request(component, argument, turn),
                None => failed(Some(turn), component, "an unknown kind of request".into()),
            },
            Stimulus::Delivery(delivery) => self.delivery(delivery, turn),
        }
    }

    fn reminder_function(&self) -> (Name, Name) {
        (REMINDER.0.into(), REMINDER.1.into())
    }

    fn report_function(&self) -> (Name, Name) {
        (REPORT.0.into(), REPORT.1.into())
    }
}

impl Runtime {
    fn request(&self, component: &Name, argument: &Argument, turn: Turn) -> Handled {
        match argument {
            Argument::Http {
                request,
                judged_by,
                is_audited,
                may_keep,
                credential,
            } => {
                let marks = (*is_audited, *may_keep);
                let request = (&**request, marks, credential.as_deref());
                self.serve(component, request, *judged_by, turn)
            }
            Argument::Activation(activation) => activate(activation, turn),
            Argument::Call(call) => self.external(component, turn, |release, turn| {
                external_calls::call(release, component, call, turn)
            }),
            Argument::Event(event) => self.external(component, turn, |release, turn| {
                external_calls::tell(release, component, event, turn)
            }),
        }
    }

    fn external(
        &self,
        component: &Name,
        turn: Turn,
        run: impl FnOnce(&Arc<Release>, Turn) -> Handled,
    ) -> Handled {
        match self.in_force(component, turn) {
            Ok((release, turn)) => run(&release, turn),
            Err(refused) => *refused,
        }
    }

    fn serve(
        &self,
        component: &Name,
        (request, (is_audited, may_keep), credential): (&Request, (bool, bool), Option<&str>),
        judged_by: Option<u64>,
        turn: Turn,
    ) -> Handled {
        let (release, mut turn) = match self.in_force(component, turn) {
            Ok(found) => found,
            Err(refused) => return *refused,
        };
        if judged_by.is_some_and(|number| number != release.number) {
            turn.set_release(release.number);
            return Handled {
                turn: Some(turn),
                outcome: Ok(Box::new(ReleaseChanged)),
            };
        }
        in_member(&release, component, turn, |member, instance| {
            let handler = member.http(instance)?;
            if let Some(active) = &mut instance.store.data_mut().active {
                let caller = request.caller.as_ref();
                let actor = caller.map(|caller| auditing::actor(caller, credential));
                active.actor = actor.map(Arc::new);
            }
            let is_kept = may_keep && messages::keep_request(instance, request);
            let response = handler.call_handle(&mut instance.store, request)?;
            let status = response.status;
            note(instance, Step::Answered { status })?;
            if is_kept {
                messages::keep_answer(instance, &response);
            }
            if is_audited {
                instance.store.data_mut().audit_request(request, status)?;
            }
            Ok(Box::new(response) as Reply)
        })
    }

    fn delivery(&self, delivery: &Delivery, turn: Turn) -> Handled {
        let component = &delivery.component;
        let (release, turn) = match self.in_force(component, turn) {
            Ok(found) => found,
            Err(refused) => return *refused,
        };
        let function = (&*delivery.interface, &*delivery.function);
        match (
            function,
            reminder(&delivery.payload),
            report(&delivery.payload),
        ) {
            (REMINDER, Some(reminder), _) => {
                in_member(&release, component, turn, |member, instance| {
                    let indices = member.handlers.reminder.as_ref();
                    let handler = indices.ok_or_else(missing)?;
                    let handler = handler.load(&mut instance.store, &instance.instance)?;
                    let StoredReminder {
                        id, due, payload, ..
                    } = &reminder;
                    handler.call_reminder_due(&mut instance.store, id, due.0, payload)?;
                    Ok(Box::new(()) as Reply)
                })
            }
            (REPORT, _, Some(report)) => {
                in_member(&release, component, turn, |member, instance| {
                    let handler = member.report(instance)?;
                    note(
                        instance,
                        Step::Reported {
                            id: report.id,
                            outcome: report.summary(),
                        },
                    )?;
                    messages::keep_report(instance, &report);
                    handler.call_report(&mut instance.store, &wit_report(&report))?;
                    Ok(Box::new(()) as Reply)
                })
            }
            (REMINDER | REPORT, ..) => {
                failed(Some(turn), component, "its payload cannot be read".into())
            }
            _ => event(&release, delivery, turn),
        }
    }
}

impl Member {
    pub(crate) fn http(&self, instance: &mut Instance) -> wasmtime::Result<http_handler::Guest> {
        if let Some(known) = &instance.handlers.http {
            return Ok(known.clone());
        }
        let indices = self.handlers.http.as_ref().ok_or_else(missing)?;
        let handler = indices.load(&mut instance.store, &instance.instance)?;
        Ok(instance.handlers.http.insert(handler).clone())
    }

    fn report(&self, instance: &mut Instance) -> wasmtime::Result<report_handler::Guest> {
        if let Some(known) = &instance.handlers.report {
            return Ok(known.clone());
        }
        let indices = self.handlers.report.as_ref().ok_or_else(missing)?;
        let handler = indices.load(&mut instance.store, &instance.instance)?;
        Ok(instance.handlers.report.insert(handler).clone())
    }
}

/// Run a turn in a member's instance.
pub(crate) fn in_member(
    release: &Arc<Release>,
    component: &Name,
    mut turn: Turn,
    run: impl FnOnce(&Member, &mut Instance) -> wasmtime::Result<Reply>,
) -> Handled {
    turn.set_release(release.number);
    let Some(member) = release.member(component) else {
        let reason = format!("release {} has no such component", release.number);
        return failed(Some(turn), component, reason);
    };
    let (turn, outcome) = run_in(member, release, turn, run);
    Handled {
        turn,
        outcome: outcome.map_err(|error| failure(member, error)),
    }
}

/// Lend a turn to an instance of a member. The turn is returned, also when the call fails.
pub(crate) fn run_in<T>(
    member: &Member,
    release: &Arc<Release>,
    turn: Turn,
    run: impl FnOnce(&Member, &mut Instance) -> wasmtime::Result<T>,
) -> (Option<Turn>, wasmtime::Result<T>) {
    let mut lease = match member.lease() {
        Ok(lease) => lease,
        Err(error) => return (Some(turn), Err(error)),
    };
    lease.store.data_mut().active = Some(Active::begins(turn, release.clone()));
    let outcome = member
        .arm(&mut lease.store)
        .and_then(|()| lease.call(|instance| run(member, instance)));
    let turn = lease.store.data_mut().active.take().map(|a| a.turn);
    if outcome.is_ok() {
        lease.give_back();
    }
    (turn, outcome)
}

fn event(release: &Arc<Release>, delivery: &Delivery, mut turn: Turn) -> Handled {
    let component = &delivery.component;
    turn.set_release(release.number);
    let found = release.member(component).and_then(|member| {
        let export = member.export(&delivery.interface, &delivery.function)?;
        Some((member, export))
    });
    let Some((member, export)) = found else {
        let reason = format!(
            "release {} has no component of this name that exports {}",
            release.number, delivery.interface
        );
        return failed(Some(turn), component, reason);
    };
    let decoded;
    let given = match &delivery.payload {
        Payload::Live(live) => match live.as_any().downcast_ref::<EventPayload>() {
            Some(payload) if payload.release == release.number => Ok(&payload.params),
            // Published on another release, whose types may differ: decoded as if it came from disk.
            Some(payload) => Err(payload.encode()),
            None => return failed(Some(turn), component, "its payload is no event".into()),
        },
        Payload::Stored(bytes) => Err(bytes.to_vec()),
    };
    let given = match given {
        Ok(given) => given,
        Err(bytes) => match stored_params(member, export, &bytes) {
            Ok(params) => {
                decoded = params;
                &decoded
            }
            Err(reason) => return failed(Some(turn), component, reason),
        },
    };
    let active = Active::begins(turn, release.clone());
    let (active, outcome) = call_in_turn(member, active, export, given);
    Handled {
        turn: active.map(|active| active.turn),
        outcome: match outcome {
            Ok(_) => Ok(Box::new(())),
            Err(error) => Err(failure(member, error)),
        },
    }
}

fn stored_params(member: &Member, export: usize, bytes: &[u8]) -> Result<Values, String> {
    let values: Vec<serde_json::Value> =
        serde_json::from_slice(bytes).map_err(|e| format!("a stored event is no JSON: {e}"))?;
    given(member, export, &values).map_err(|why| format!("a stored event {why}"))
}

/// The arguments of an exported function as bytes, from their JSON.
pub(crate) fn given(
    member: &Member,
    export: usize,
    values: &[serde_json::Value],
) -> Result<Values, String> {
    let trees = params(member, export, values)?;
    Values::of(member.exports[export].params.iter(), &trees).map_err(|e| e.to_string())
}

/// The arguments of an exported function, from their JSON.
pub(crate) fn params(
    member: &Member,
    export: usize,
    values: &[serde_json::Value],
) -> Result<Vec<Val>, String> {
    let types = &member.exports[export].params;
    if values.len() != types.len() {
        return Err("has another number of arguments".into());
    }
    types
        .iter()
        .zip(values)
        .map(|(ty, value)| decode(ty, value))
        .collect::<Result<_, _>>()
        .map_err(|e| format!("does not fit the release's types: {e}"))
}

pub(crate) fn failure(member: &Member, error: wasmtime::Error) -> Failure {
    let explained = member.explain(&explain(member, error));
    Failure::Handler {
        component: explained.component,
        reason: explained.reason,
    }
}

pub(crate) fn failed(turn: Option<Turn>, component: &Name, reason: String) -> Handled {
    Handled {
        turn,
        outcome: Err(Failure::Handler {
            component: component.clone(),
            reason,
        }),
    }
}

pub(crate) fn missing() -> wasmtime::Error {
    wasmtime::format_err!("does not export this handler")
}

pub(crate) fn note(instance: &mut Instance, step: Step) -> wasmtime::Result<()> {
    match &mut instance.store.data_mut().active {
        Some(active) => active.turn.note(step).map_err(wasmtime::Error::from),
        None => Ok(()),
    }
}

fn reminder(payload: &Payload) -> Option<StoredReminder> {
    match payload {
        Payload::Live(live) => live.as_any().downcast_ref::<StoredReminder>().cloned(),
        Payload::Stored(bytes) => serde_json::from_slice(bytes).ok(),
    }
}

fn report(payload: &Payload) -> Option<Report> {
    match payload {
        Payload::Live(live) => live.as_any().downcast_ref::<Report>().cloned(),
        Payload::Stored(bytes) => serde_json::from_slice(bytes).ok(),
    }
}

fn wit_report(report: &Report) -> report_handler::DeliveryReport {
    use rialto_engine::network::{FailureKind, OutboundResponse, Outcome};
    let response = |r: &OutboundResponse| wit_http::OutboundResponse {
        status: r.status,
        headers: r.headers.clone(),
        body: r.body.clone(),
    };
    let outcome = match &report.outcome {
        Outcome::Delivered(r) => wit_http::Outcome::Delivered(response(r)),
        Outcome::Failed {
            kind,
            reason,
            response: last,
        } => wit_http::Outcome::Failed(wit_http::DeliveryFailure {
            kind: match kind {
                FailureKind::NotAllowed => wit_http::FailureKind::NotAllowed,
                FailureKind::Unreachable => wit_http::FailureKind::Unreachable,
                FailureKind::TimedOut => wit_http::FailureKind::TimedOut,
                FailureKind::Refused => wit_http::FailureKind::Refused,
                FailureKind::Broken => wit_http::FailureKind::Broken,
            },
            reason: reason.clone(),
            response: last.as_ref().map(response),
        }),
    };
    wit_http::DeliveryReport {
        id: report.id,
        correlation: report.correlation.clone(),
        attempts: report.attempts,
        outcome,
    }
}
