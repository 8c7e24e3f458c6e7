//! The pool of a component's instances.
//!
//! | State | What happens | Next state |
//! | --- | --- | --- |
//! | (none) | a call leases an instance and none is idle | in use |
//! | idle | a call leases it | in use |
//! | in use | the call goes well | idle; dropped if it is `fresh` or has served enough turns |
//! | in use | the call fails or panics | dropped |
//! | idle | it was not used between two calls of [`Member::give_up_unused`] | dropped |
//!
//! A leased instance has a slot among those that may be in use. The slot is free again when the lease ends,
//! also after a panic.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rialto_values::Values;
use wasmtime::component::{Func, Instance as WasmInstance, Val};
use wasmtime::{Engine, Store, Trap};
use wasmtime_wasi::I32Exit;

use crate::bindings::exports::rialto::host::{http_handler, http_report_handler};
use crate::deadline::{self, Deadline, FIRST_LOOK_EPOCHS};
use crate::failures::FailureKind;
use crate::guest::{Guest, Identity};
use crate::release::Member;
use crate::spec::{Isolation, Role};
use crate::wasi::{Seed, Source};

/// Bytes that one call may pass to the host, roughly. Values are larger in the host than in the guest.
pub const HOSTCALL_BYTES_MAX: usize = 8 << 20;
/// Wasmtime's message for more bytes than that. Its error type is private.
const HOSTCALL_BYTES_EXCEEDED: &str =
    "too much data is being copied between the host and the guest";

/// An instance with its store.
pub struct Instance {
    /// The store.
    pub store: Store<Guest>,
    /// The instance itself.
    pub instance: WasmInstance,
    functions: Vec<Option<Func>>,
    /// The handlers that were looked up before: each look compares their types.
    pub(crate) handlers: KnownHandlers,
    turns: u32,
}

/// Handlers of an instance that most turns of its component need.
#[derive(Default)]
pub(crate) struct KnownHandlers {
    pub http: Option<http_handler::Guest>,
    pub report: Option<http_report_handler::Guest>,
}

#[derive(Default)]
struct State {
    /// The idle instances. The last one is used first, so that unneeded ones stay at the beginning.
    idle: Vec<Instance>,
    /// How many at the beginning of `idle` were not used since the last call of `give_up_unused`.
    unused: usize,
    in_use: u32,
}

/// The instances of one component of a release.
#[derive(Default)]
pub struct Pool {
    state: Mutex<State>,
    freed: Condvar,
}

impl Pool {
    /// Free a slot, and keep its instance if it can be used again.
    fn free(&self, instance: Option<Instance>) {
        let mut state = self.state.lock();
        let in_use = state.in_use.checked_sub(1);
        state.in_use =
            in_use.expect("a lease is given back once: one at least is in use until then");
        state.idle.extend(instance);
        drop(state);
        self.freed.notify_one();
    }
}

/// A slot among the instances that may be in use. Its drop frees it, also after a panic.
struct LeasedSlot<'m> {
    pool: &'m Pool,
    back: Option<Instance>,
}

impl Drop for LeasedSlot<'_> {
    fn drop(&mut self) {
        self.pool.free(self.back.take());
    }
}

/// An instance in use. Its drop also drops the instance. After a call that went well, it is
/// [given back](Lease::give_back) instead.
pub struct Lease<'m> {
    // Dropped before the slot, because the next owner of the slot may make an instance of its own.
    instance: Instance,
    slot: LeasedSlot<'m>,
    member: &'m Member,
}

impl Lease<'_> {
    /// Give the instance back after a call that went well.
    pub fn give_back(self) {
        let Self {
            mut instance,
            mut slot,
            member,
        } = self;
        instance.turns += 1;
        let keep = match member.isolation {
            Isolation::Fresh => false,
            Isolation::Pooled { turns_per_instance } => instance.turns < turns_per_instance,
        };
        slot.back = keep.then_some(instance);
    }
}

impl Deref for Lease<'_> {
    type Target = Instance;

    fn deref(&self) -> &Instance {
        &self.instance
    }
}

impl DerefMut for Lease<'_> {
    fn deref_mut(&mut self) -> &mut Instance {
        &mut self.instance
    }
}

/// The context of a failed call: the last message that the component wrote before.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct PanicMessage(pub String);

impl Instance {
    /// Call the component. An error has the last message that it wrote.
    ///
    /// # Errors
    /// Those of the call.
    pub(crate) fn call<T>(
        &mut self,
        call: impl FnOnce(&mut Self) -> wasmtime::Result<T>,
    ) -> wasmtime::Result<T> {
        call(self).map_err(|error| self.with_last_words(error))
    }

    /// Add to an error the last message that the component wrote: its last error in the log, or else on standard
    /// error.
    fn with_last_words(&mut self, error: wasmtime::Error) -> wasmtime::Error {
        let trapped = error.downcast_ref::<Trap>() == Some(&Trap::UnreachableCodeReached);
        let exited = error.downcast_ref::<I32Exit>().is_some();
        let guest = self.store.data_mut();
        let said = guest.last_error.take().or_else(|| guest.last_errors());
        match said {
            Some(said) if trapped => error.context(PanicMessage(format!("trapped: {said}"))),
            Some(said) if exited => error.context(PanicMessage(format!("ended itself: {said}"))),
            _ => error,
        }
    }
}

/// Why a call into a component failed, in words for an operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{component}: {reason}")]
pub struct CallFailed {
    /// The innermost component in which it happened.
    pub component: rialto_engine::Name,
    /// What happened.
    pub reason: String,
}

impl Member {
    /// Lease an instance, idle or fresh. If all are in use, waits for one, at most for the component's deadline.
    ///
    /// # Errors
    /// When none is free in time, or a fresh one cannot be made.
    pub fn lease(&self) -> wasmtime::Result<Lease<'_>> {
        let (slot, idle) = self.slot()?;
        let instance = match idle {
            Some(instance) => instance,
            None => self.instantiate(&self.identity)?,
        };
        Ok(Lease {
            instance,
            slot,
            member: self,
        })
    }

    /// Wait for a slot. Returns it with an idle instance, if there is one.
    fn slot(&self) -> wasmtime::Result<(LeasedSlot<'_>, Option<Instance>)> {
        // One deadline for all tries, because another thread may be quicker each time.
        let wait = Duration::from_millis(self.limits.deadline_ms);
        let mut until = None;
        let pool = &self.pool;
        let mut state = pool.state.lock();
        loop {
            let idle = state.idle.pop();
            if idle.is_some() || state.in_use < self.limits.instances {
                state.unused = state.unused.min(state.idle.len());
                state.in_use += 1;
                return Ok((LeasedSlot { pool, back: None }, idle));
            }
            let until = *until.get_or_insert_with(|| Instant::now() + wait);
            if pool.freed.wait_until(&mut state, until).timed_out() {
                return Err(wasmtime::format_err!(
                    "all {} instances were in use for {} ms",
                    self.limits.instances,
                    self.limits.deadline_ms
                ));
            }
        }
    }

    /// Drop the idle instances that were not used since the last call of this. Returns how many.
    pub fn give_up_unused(&self) -> usize {
        let mut state = self.pool.state.lock();
        let (unused, idle) = (state.unused, state.idle.len());
        assert!(
            unused <= idle,
            "of {idle} idle instances of `{}` {unused} were unused",
            self.identity.name
        );
        let gone: Vec<Instance> = state.idle.drain(..unused).collect();
        state.unused = state.idle.len();
        // The memory of instances is freed outside of the lock.
        drop(state);
        gone.len()
    }

    /// How many instances are in use, and how many are idle.
    pub fn instances(&self) -> (u32, usize) {
        let state = self.pool.state.lock();
        (state.in_use, state.idle.len())
    }

    /// A fresh instance.
    ///
    /// # Errors
    /// When the pools are exhausted, or the component traps while it starts.
    pub fn instantiate(&self, identity: &Arc<Identity>) -> wasmtime::Result<Instance> {
        self.instantiate_for(identity, Seed::default(), None)
    }

    /// A fresh instance. If it is a rule that imports randomness, this seed decides it. In a drill, it runs into a
    /// failure of this kind.
    pub(crate) fn instantiate_for(
        &self,
        identity: &Arc<Identity>,
        seed: Seed,
        drilled: Option<FailureKind>,
    ) -> wasmtime::Result<Instance> {
        let source = match self.role {
            Role::Context => Source::Turn,
            Role::Rule => Source::Input(seed),
        };
        let source = self.wasi.then_some(source);
        let mut store = new_store(&self.engine, identity, source, drilled);
        self.arm(&mut store)?;
        if let Some(kind) = drilled {
            kind.drill(&mut store)?;
        }
        let instance = self.pre.instantiate(&mut store)?;
        Ok(Instance {
            store,
            instance,
            functions: vec![None; self.exports.len()],
            handlers: KnownHandlers::default(),
            turns: 0,
        })
    }

    /// Set the limits of the next call.
    ///
    /// # Errors
    /// Never for an engine that this crate made.
    pub fn arm(&self, store: &mut Store<Guest>) -> wasmtime::Result<()> {
        let guest = store.data_mut();
        guest.lines = 0;
        guest.keys_made = 0;
        guest.last_error = None;
        guest.branches.clear();
        guest.forget_errors();
        guest.deadline = Deadline::of_ms(self.limits.deadline_ms);
        store.set_epoch_deadline(FIRST_LOOK_EPOCHS);
        if let Some(fuel) = self.limits.fuel {
            store.set_fuel(fuel)?;
        }
        Ok(())
    }

    /// Call an exported function, by its index in `exports`, with trees of its types.
    ///
    /// # Errors
    /// When the component traps or exceeds a limit. The instance must then be dropped.
    pub fn invoke(
        &self,
        instance: &mut Instance,
        export: usize,
        params: &[Val],
        results: &mut [Val],
    ) -> wasmtime::Result<()> {
        let func = self.func(instance, export)?;
        func.call(&mut instance.store, params, results)
    }

    /// Call an exported function, by its index in `exports`, with values of its types as bytes.
    ///
    /// # Errors
    /// As for [`invoke`](Self::invoke), and when the values are of other types.
    pub fn call(
        &self,
        instance: &mut Instance,
        export: usize,
        given: &Values,
    ) -> wasmtime::Result<Values> {
        let func = self.func(instance, export)?;
        rialto_values::call(&func, &mut instance.store, given)
    }

    fn func(&self, instance: &mut Instance, export: usize) -> wasmtime::Result<Func> {
        if let Some(Some(func)) = instance.functions.get(export) {
            return Ok(*func);
        }
        let missing = || wasmtime::format_err!("the component does not export this function");
        let known = self.exports.get(export).ok_or_else(missing)?;
        let func = instance
            .instance
            .get_func(&mut instance.store, known.index)
            .ok_or_else(missing)?;
        instance.functions[export] = Some(func);
        Ok(func)
    }

    /// Explain a failed call in words.
    pub fn explain(&self, error: &wasmtime::Error) -> CallFailed {
        if let Some(inner) = error.downcast_ref::<CallFailed>() {
            return inner.clone();
        }
        if let Some(PanicMessage(said)) = error.downcast_ref::<PanicMessage>() {
            return CallFailed {
                component: self.identity.name.clone(),
                reason: said.clone(),
            };
        }
        let reason = match error.downcast_ref::<Trap>() {
            Some(Trap::Interrupt) => {
                format!("ran past its deadline of {} ms", self.limits.deadline_ms)
            }
            Some(Trap::OutOfFuel) => {
                let fuel = self.limits.fuel.unwrap_or_default();
                format!("used up its fuel of {fuel} instructions")
            }
            Some(Trap::StackOverflow) => "recursed beyond its stack".to_owned(),
            Some(Trap::UnreachableCodeReached) => {
                "trapped: it reached code that it calls unreachable (a panic, in most languages)"
                    .to_owned()
            }
            Some(Trap::MemoryOutOfBounds) => {
                "touched memory that it does not have (a stack that grew too large, in most languages)"
                    .to_owned()
            }
            Some(trap) => format!("trapped: {trap}"),
            None => match error.root_cause().to_string() {
                text if text.starts_with(HOSTCALL_BYTES_EXCEEDED) => {
                    format!("gave the host more than {HOSTCALL_BYTES_MAX} bytes in one call")
                }
                text => text,
            },
        };
        CallFailed {
            component: self.identity.name.clone(),
            reason,
        }
    }
}

fn new_store(
    engine: &Engine,
    identity: &Arc<Identity>,
    wasi: Option<Source>,
    drilled: Option<FailureKind>,
) -> Store<Guest> {
    let mut store = Store::new(engine, Guest::new(identity.clone(), wasi));
    store.data_mut().drilled = drilled;
    // It asks for the limits of instances now.
    store.limiter(|guest| guest);
    store.epoch_deadline_callback(deadline::look);
    store.set_hostcall_fuel(HOSTCALL_BYTES_MAX);
    store
}
