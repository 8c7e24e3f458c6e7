//! Instances of a component: made, leased for a call, given back, thrown away.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use wasmtime::component::{Func, Instance as WasmInstance, Val};
use wasmtime::{Engine, Store, Trap};

use crate::config::EPOCH_TICK_MS;
use crate::guest::{Guest, Identity};
use crate::release::Member;
use crate::spec::{Isolation, Role};
use crate::wasi::{Seed, Source};

/// Bytes that one call may hand to the host, roughly; values on the host's side are larger than in
/// the guest.
pub const HOSTCALL_BYTES_MAX: usize = 8 << 20;
/// How wasmtime says that this was more. It has a type for it, but keeps that to itself.
const HOSTCALL_BYTES_EXCEEDED: &str =
    "too much data is being copied between the host and the guest";

/// An instance with its store.
pub struct Instance {
    /// The store.
    pub store: Store<Guest>,
    /// The instance itself.
    pub instance: WasmInstance,
    functions: Vec<Option<Func>>,
    turns: u32,
}

#[derive(Default)]
struct State {
    idle: Vec<Instance>,
    in_use: u32,
}

/// The instances of one component of a release.
#[derive(Default)]
pub struct Pool {
    state: Mutex<State>,
    freed: Condvar,
}

/// The last that a component said before it trapped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct LastWords(pub String);

impl Instance {
    /// Call it, and let a failure tell the last that it said.
    ///
    /// # Errors
    /// Those of the call.
    pub(crate) fn call<T>(
        &mut self,
        call: impl FnOnce(&mut Self) -> wasmtime::Result<T>,
    ) -> wasmtime::Result<T> {
        call(self).map_err(|error| self.with_last_words(error))
    }

    /// The error of a call, with what the component said as an error before it gave up.
    fn with_last_words(&mut self, error: wasmtime::Error) -> wasmtime::Error {
        let gave_up = error.downcast_ref::<Trap>() == Some(&Trap::UnreachableCodeReached);
        match self.store.data_mut().last_error.take() {
            Some(said) if gave_up => error.context(LastWords(said)),
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
    /// An instance to use, idle or fresh. Waits when all that may live are in use, for at most the
    /// component's deadline.
    ///
    /// # Errors
    /// When none comes free in time, or a fresh one cannot be made.
    pub fn lease(&self) -> wasmtime::Result<Instance> {
        // One deadline, however often another one is quicker than this.
        let wait = Duration::from_millis(self.limits.deadline_ms);
        let mut until = None;
        let mut state = self.pool.state.lock();
        loop {
            if let Some(instance) = state.idle.pop() {
                state.in_use += 1;
                return Ok(instance);
            }
            if state.in_use < self.limits.instances {
                state.in_use += 1;
                break;
            }
            let until = *until.get_or_insert_with(|| Instant::now() + wait);
            if self.pool.freed.wait_until(&mut state, until).timed_out() {
                return Err(wasmtime::format_err!(
                    "all {} instances were in use for {} ms",
                    self.limits.instances,
                    self.limits.deadline_ms
                ));
            }
        }
        drop(state);
        self.instantiate(&self.identity)
            .inspect_err(|_| self.let_go(None))
    }

    /// Give an instance back after a call that went well.
    pub fn give_back(&self, mut instance: Instance) {
        instance.turns += 1;
        let keep = match self.isolation {
            Isolation::Fresh => false,
            Isolation::Pooled { turns_per_instance } => instance.turns < turns_per_instance,
        };
        self.let_go(keep.then_some(instance));
    }

    /// An instance is no longer in use; after a trap it is not given back.
    pub fn let_go(&self, instance: Option<Instance>) {
        let mut state = self.pool.state.lock();
        state.in_use = state.in_use.saturating_sub(1);
        state.idle.extend(instance);
        drop(state);
        self.pool.freed.notify_one();
    }

    /// A fresh instance.
    ///
    /// # Errors
    /// When the pools are exhausted, or the component traps while it starts.
    pub fn instantiate(&self, identity: &Arc<Identity>) -> wasmtime::Result<Instance> {
        self.instantiate_for(identity, Seed::default())
    }

    /// A fresh instance; a rule's randomness, should it import any, comes from this seed.
    pub(crate) fn instantiate_for(
        &self,
        identity: &Arc<Identity>,
        seed: Seed,
    ) -> wasmtime::Result<Instance> {
        let source = match self.role {
            Role::Context => Source::Turn,
            Role::Rule => Source::Input(seed),
        };
        let mut store = new_store(&self.engine, identity, self.wasi.then_some(source));
        self.arm(&mut store)?;
        let instance = self.pre.instantiate(&mut store)?;
        Ok(Instance {
            store,
            instance,
            functions: vec![None; self.exports.len()],
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
        guest.last_error = None;
        // Nobody waits for longer than that; the turn then fails, so the clock decides no verdict.
        let left_us = guest.active.as_ref().and_then(|a| a.turn.left_us());
        let left_ms = left_us.map_or(u64::MAX, |left_us| left_us.div_ceil(1000));
        let deadline_ms = self.limits.deadline_ms.min(left_ms);
        store.set_epoch_deadline(deadline_ms.div_ceil(EPOCH_TICK_MS) + 1);
        if let Some(fuel) = self.limits.fuel {
            store.set_fuel(fuel)?;
        }
        Ok(())
    }

    /// Call an exported function, by its place in `exports`.
    ///
    /// # Errors
    /// When the component traps or runs past a limit. The instance must then be thrown away.
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

    /// What a failed call means, in words.
    pub fn explain(&self, error: &wasmtime::Error) -> CallFailed {
        if let Some(inner) = error.downcast_ref::<CallFailed>() {
            return inner.clone();
        }
        if let Some(LastWords(said)) = error.downcast_ref::<LastWords>() {
            return CallFailed {
                component: self.identity.name.clone(),
                reason: format!("trapped: {said}"),
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

fn new_store(engine: &Engine, identity: &Arc<Identity>, wasi: Option<Source>) -> Store<Guest> {
    let mut store = Store::new(engine, Guest::new(identity.clone(), wasi));
    store.limiter(|guest| guest);
    store.set_hostcall_fuel(HOSTCALL_BYTES_MAX);
    store
}
