//! The engine's handler: it has the current release and turns each stimulus into a call of a component.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use rialto_engine::history::Step;
use rialto_engine::network::Report;
use rialto_engine::stimulus::LivePayload as _;
use rialto_engine::store::StoredReminder;
use rialto_engine::{Delivery, Failure, Handled, Handler, Name, Payload, Reply, Stimulus, Turn};
use rialto_keys::Keys;
use rialto_signatures::Keyring;
use wasmtime::Engine;
use wasmtime::component::Val;

use crate::activation::{Activation, activate};
use crate::audit_log::{AuditLog, NoAuditLog};
use crate::authority::ClientAuthority;
use crate::bindings::exports::rialto::host::http_report_handler as report_handler;
use crate::bindings::rialto::host::http as wit_http;
use crate::cache::Cache;
use crate::canaries::{Canaries, NoCanaries};
use crate::config::{EPOCH_TICK_MS, Metering, PoolSize, engine};
use crate::denials::{self, Denials};
use crate::earlier::EarlierReleases;
use crate::external_calls::{self, Call};
use crate::guest::Active;
use crate::http::{Request, RequestHead, Response, Violation};
use crate::instance::{CallFailed, Instance};
use crate::link::{EventPayload, call_in_turn, explain};
use crate::messages;
use crate::next_release::{InForce, Next, NextRelease};
use crate::quarantine::Quarantines;
use crate::release::{Member, Release};
use crate::surfaces::auditing;
use crate::suspensions::Suspensions;
use crate::tls::{NoTls, TlsFiles};
use crate::values::decode;
use crate::verdict_counts::VerdictCounts;
use crate::what_if::Drafts;

/// The interface and function that components export for reminders.
pub const REMINDER: (&str, &str) = ("rialto:host/reminder-handler@0.1.0", "reminder-due");
/// The interface and function that components export for delivery reports.
pub const REPORT: (&str, &str) = ("rialto:host/http-report-handler@0.1.0", "report");

/// The argument of a request's turn.
pub enum Argument {
    /// Serve an HTTP request; the reply is a [`Response`], or [`ReleaseChanged`].
    Http {
        /// The request.
        request: Arc<Request>,
        /// The release against whose document it was validated; none if it was not validated.
        judged_by: Option<u64>,
        /// Whether the host writes an entry of the audit log if an operator has sent it.
        is_audited: bool,
        /// Whether the history may keep the message, if it keeps messages. What has or gives a credential may not be kept.
        may_keep: bool,
        /// The public name of the credential that the operator has shown, for that entry.
        credential: Option<Arc<str>>,
    },
    /// Do a step of a release's activation; the reply is for [`Activation::next`].
    Activation(Activation),
    /// Call a function that the component exports; the reply is a [`CallOutcome`].
    ///
    /// [`CallOutcome`]: crate::external_calls::CallOutcome
    Call(Call),
    /// Publish an event to all components that export its interface; the reply is a [`CallOutcome`]. No component
    /// runs in the turn itself.
    ///
    /// [`CallOutcome`]: crate::external_calls::CallOutcome
    Event(Call),
}

/// The reply to a request that was validated against another release than the one that is current when its
/// turn begins. The turn had no effect: validate the request again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReleaseChanged;

/// Runs turns in components.
pub struct Runtime {
    by_epochs: Engine,
    by_fuel: Engine,
    pub(crate) cache: Cache,
    pub(crate) keyring: Arc<Keyring>,
    pub(crate) keys: Arc<Keys>,
    pub(crate) tls: Arc<dyn TlsFiles>,
    pub(crate) authority: Option<Arc<ClientAuthority>>,
    pub(crate) audit_log: Arc<dyn AuditLog>,
    pub(crate) denials: Arc<dyn Denials>,
    pub(crate) suspensions: Arc<Suspensions>,
    /// How many drafts each asker has had judged.
    pub(crate) drafts: Arc<Drafts>,
    /// What rules said lately.
    pub(crate) verdicts: Arc<VerdictCounts>,
    pub(crate) canaries: Arc<dyn Canaries>,
    pub(crate) quarantines: Arc<Quarantines>,
    current: ArcSwapOption<Release>,
    next: NextRelease,
    pub(crate) earlier: Arc<EarlierReleases>,
    ticking: Arc<AtomicBool>,
    stopping: Arc<AtomicBool>,
}

impl Runtime {
    /// A runtime without a release.
    ///
    /// # Errors
    /// When the operating system does not give address space for the pools, or no thread.
    pub fn new(cache: Cache, pool: PoolSize) -> wasmtime::Result<Self> {
        let by_epochs = engine(Metering::Epochs, pool)?;
        let by_fuel = engine(Metering::Fuel, pool)?;
        let ticking = Arc::new(AtomicBool::new(true));
        tick(vec![by_epochs.clone(), by_fuel.clone()], ticking.clone())?;
        Ok(Self {
            by_epochs,
            by_fuel,
            cache,
            keyring: Arc::default(),
            keys: Arc::default(),
            tls: Arc::new(NoTls),
            authority: None,
            audit_log: Arc::new(NoAuditLog),
            denials: denials::none(),
            suspensions: Arc::default(),
            drafts: Arc::default(),
            verdicts: Arc::default(),
            canaries: Arc::new(NoCanaries),
            quarantines: Arc::default(),
            current: ArcSwapOption::empty(),
            next: NextRelease::default(),
            earlier: Arc::default(),
            ticking,
            stopping: Arc::default(),
        })
    }

    /// With a flag that the host is stopping. A preparation of a release then ends between two components.
    #[must_use]
    pub fn with_stopping(mut self, stopping: Arc<AtomicBool>) -> Self {
        self.stopping = stopping;
        self
    }

    /// Whether the host is stopping.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// With the operator's keys. Releases that are prepared from now on use them.
    #[must_use]
    pub fn with_keyring(mut self, keyring: Arc<Keyring>) -> Self {
        self.keyring = keyring;
        self
    }

    /// With the operator's providers of keys, for releases that are prepared from now on.
    #[must_use]
    pub fn with_keys(mut self, keys: Arc<Keys>) -> Self {
        self.keys = keys;
        self
    }

    /// With the authority that certifies clients, for releases that are prepared from now on.
    #[must_use]
    pub fn with_authority(mut self, authority: Option<Arc<ClientAuthority>>) -> Self {
        self.authority = authority;
        self
    }

    /// With the audit log, for releases that are prepared from now on.
    #[must_use]
    pub fn with_audit_log(mut self, audit_log: Arc<dyn AuditLog>) -> Self {
        self.audit_log = audit_log;
        self
    }

    /// With what keeps who was refused, for releases that are prepared from now on.
    #[must_use]
    pub fn with_denials(mut self, denials: Arc<dyn Denials>) -> Self {
        self.denials = denials;
        self
    }

    /// With who says which requests canaries decide about, for releases that are prepared from now on.
    #[must_use]
    pub fn with_canaries(mut self, canaries: Arc<dyn Canaries>) -> Self {
        self.canaries = canaries;
        self
    }

    /// With the operator's TLS files, for releases that are prepared from now on.
    #[must_use]
    pub fn with_tls(mut self, tls: Arc<dyn TlsFiles>) -> Self {
        self.tls = tls;
        self
    }

    pub(crate) fn engine(&self, metered: bool) -> &Engine {
        if metered {
            &self.by_fuel
        } else {
            &self.by_epochs
        }
    }

    /// The rules that are suspended, for all releases of this runtime.
    #[must_use]
    pub fn suspensions(&self) -> &Suspensions {
        &self.suspensions
    }

    /// What rules said lately, in all releases of this runtime.
    #[must_use]
    pub fn verdicts(&self) -> &VerdictCounts {
        &self.verdicts
    }

    /// The rules in quarantine, of all releases of this runtime.
    #[must_use]
    pub fn quarantines(&self) -> &Arc<Quarantines> {
        &self.quarantines
    }

    /// The release on which new turns run.
    pub fn current(&self) -> Option<Arc<Release>> {
        self.current.load_full()
    }

    /// Make a release current: new turns run on it. Turns under way end on their own release. The one before stays ready, to
    /// judge what was agreed under its rules, unless this is an earlier one: then it was rolled back.
    pub fn make_current(&self, release: Arc<Release>) {
        self.next.is_overtaken_by(release.number);
        self.begin(release);
    }

    fn begin(&self, release: Arc<Release>) {
        // Before turns run on it, so that they find the one before.
        self.earlier.begins(release.clone());
        self.current.store(Some(release));
    }

    /// Say which release comes into force next, in the place of an earlier expectation. Turns from its instant on run on it
    /// alone: if it is not ready, they are refused.
    pub fn expect(&self, next: Option<Next>) {
        self.next.set(next);
    }

    /// The release of a turn: the one that is in force at its instant.
    ///
    /// # Errors
    /// When there is none, or it is not ready.
    fn in_force(&self, component: &Name, turn: Turn) -> Result<(Arc<Release>, Turn), Box<Handled>> {
        match self.next.at(turn.now()) {
            InForce::Current => {}
            InForce::Before(release) => return Ok((release, turn)),
            InForce::Next(number) => {
                if self
                    .current()
                    .is_none_or(|current| current.number != number)
                {
                    self.next.begins(|release| self.begin(release));
                }
            }
            InForce::NotReady(from) => {
                let reason = format!("the release that is in force since {} is not ready", from.0);
                return Err(Box::new(Handled {
                    turn: Some(turn),
                    outcome: Err(Failure::NotReady(reason)),
                }));
            }
        }
        match self.current() {
            Some(release) => Ok((release, turn)),
            None => Err(Box::new(failed(
                Some(turn),
                component,
                "no release is current".into(),
            ))),
        }
    }

    /// The releases that stay ready to judge what was agreed under their rules.
    #[must_use]
    pub fn earlier(&self) -> &EarlierReleases {
        &self.earlier
    }

    /// Drop the idle instances of the releases that are ready that were not used since the last call of this. Returns how
    /// many.
    pub fn give_up_unused(&self) -> usize {
        let mut releases = self.earlier.all();
        releases.extend(self.current());
        let members = releases.iter().flat_map(|release| &release.members);
        members.map(Member::give_up_unused).sum()
    }

    /// Let a component word a refusal, outside of any turn.
    ///
    /// # Errors
    /// When the component fails.
    pub fn refuse(
        &self,
        member: &Member,
        head: &RequestHead,
        violation: &Violation,
    ) -> Result<Response, CallFailed> {
        let refused = member.lease().and_then(|mut lease| {
            member.arm(&mut lease.store)?;
            let worded = lease.call(|instance| {
                let handler = member.http(instance)?;
                handler.call_refuse(&mut instance.store, head, violation)
            })?;
            lease.give_back();
            Ok(worded)
        });
        refused.map_err(|error| member.explain(&error))
    }

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
                    let indices = member.handlers.report.as_ref();
                    let handler = indices.ok_or_else(missing)?;
                    let handler = handler.load(&mut instance.store, &instance.instance)?;
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

impl Drop for Runtime {
    fn drop(&mut self) {
        self.ticking.store(false, Ordering::Release);
    }
}

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

impl Member {
    pub(crate) fn http(
        &self,
        instance: &mut Instance,
    ) -> wasmtime::Result<crate::bindings::exports::rialto::host::http_handler::Guest> {
        let indices = self.handlers.http.as_ref().ok_or_else(missing)?;
        indices.load(&mut instance.store, &instance.instance)
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
    lease.store.data_mut().active = Some(Active {
        turn,
        release: release.clone(),
        depth: 0,
        actor: None,
        caller: None,
        agreed: None,
        what_if: None,
    });
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
    let stored;
    let params = match &delivery.payload {
        Payload::Live(live) => match live.as_any().downcast_ref::<EventPayload>() {
            Some(payload) if payload.release == release.number => &payload.params,
            // Published on another release, whose types may differ: decoded as if it came from disk.
            Some(payload) => match stored_params(member, export, &payload.encode()) {
                Ok(params) => {
                    stored = params;
                    &stored
                }
                Err(reason) => return failed(Some(turn), component, reason),
            },
            None => return failed(Some(turn), component, "its payload is no event".into()),
        },
        Payload::Stored(bytes) => match stored_params(member, export, bytes) {
            Ok(params) => {
                stored = params;
                &stored
            }
            Err(reason) => return failed(Some(turn), component, reason),
        },
    };
    let active = Active {
        turn,
        release: release.clone(),
        depth: 0,
        actor: None,
        caller: None,
        agreed: None,
        what_if: None,
    };
    let (active, outcome) = call_in_turn(member, active, export, params, &mut []);
    Handled {
        turn: active.map(|active| active.turn),
        outcome: match outcome {
            Ok(()) => Ok(Box::new(())),
            Err(error) => Err(failure(member, error)),
        },
    }
}

fn stored_params(member: &Member, export: usize, bytes: &[u8]) -> Result<Vec<Val>, String> {
    let values: Vec<serde_json::Value> =
        serde_json::from_slice(bytes).map_err(|e| format!("a stored event is no JSON: {e}"))?;
    params(member, export, &values).map_err(|why| format!("a stored event {why}"))
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

/// Increment the epoch regularly until told to stop.
fn tick(engines: Vec<Engine>, ticking: Arc<AtomicBool>) -> wasmtime::Result<()> {
    std::thread::Builder::new()
        .name("epoch".into())
        .spawn(move || {
            while ticking.load(Ordering::Acquire) {
                std::thread::sleep(Duration::from_millis(EPOCH_TICK_MS));
                for engine in &engines {
                    engine.increment_epoch();
                }
            }
        })?;
    Ok(())
}
