//! Calls of remote providers: the turn does not wait for them, and runs again with the answer.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rialto_engine::outside::{BeginCall, CallHash, OutsideAnswer};
use rialto_keys::{KeyError, Keys, NewKey};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::guest::Guest;

/// What a provider answers: what a component gets, in a form that can be kept until then.
pub(super) trait Value: Clone + Send + Sync + 'static {
    /// The reference of a key that was made, to be destroyed if nobody keeps it.
    fn made(&self) -> Option<&str> {
        None
    }

    /// The bytes that it has in memory.
    fn bytes(&self) -> usize;
}

impl Value for () {
    fn bytes(&self) -> usize {
        0
    }
}

impl Value for bool {
    fn bytes(&self) -> usize {
        size_of::<Self>()
    }
}

impl Value for Zeroizing<Vec<u8>> {
    fn bytes(&self) -> usize {
        self.capacity()
    }
}

impl Value for NewKey {
    fn bytes(&self) -> usize {
        let public_key = self.public_key.as_ref().map_or(0, String::capacity);
        self.reference.capacity() + public_key
    }

    fn made(&self) -> Option<&str> {
        Some(&self.reference)
    }
}

/// A call of a remote provider.
pub(super) struct Call {
    provider: String,
    hash: CallHash,
    /// Whether all that the turn has read must be on disk before the provider is called.
    after_commit: bool,
}

impl Call {
    /// The call of this provider by a component. The operation and its arguments tell it from others of the turn.
    pub fn new(owner: &str, provider: String, operation: &str, arguments: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        let about = [owner, &provider, operation].map(str::as_bytes);
        for part in about.iter().chain(arguments) {
            // So that two lists of arguments are not the same bytes.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let hash = hash.finalize().into();
        Self {
            provider,
            hash,
            after_commit: false,
        }
    }

    /// The same with an effect that nobody can take back.
    pub fn for_good(self) -> Self {
        Self {
            after_commit: true,
            ..self
        }
    }

    /// The same for the provider of a key. None if the key is not at a remote provider.
    pub fn of_key(
        (keys, owner): (&Keys, &str),
        reference: &str,
        operation: &str,
        arguments: &[&[u8]],
    ) -> Option<Self> {
        let provider = keys.remote_provider(reference)?;
        let arguments: Vec<&[u8]> = [reference.as_bytes()]
            .into_iter()
            .chain(arguments.iter().copied())
            .collect();
        Some(Self::new(owner, provider, operation, &arguments))
    }
}

/// The answer to a call.
struct Answer<T: Value> {
    outcome: Result<T, KeyError>,
    /// Whether a turn that got it was executed.
    is_kept: AtomicBool,
    keys: Keys,
    owner: String,
    provider: String,
}

impl<T: Value> OutsideAnswer for Answer<T> {
    fn bytes(&self) -> usize {
        let value = self.outcome.as_ref().map_or(0, Value::bytes);
        size_of::<Self>() + value + self.owner.capacity() + self.provider.capacity()
    }

    fn executed(&self) {
        self.is_kept.store(true, Ordering::Release);
    }
}

impl<T: Value> Drop for Answer<T> {
    /// Destroy a key that was made for a turn that had no effect.
    fn drop(&mut self) {
        if self.is_kept.load(Ordering::Acquire) {
            return;
        }
        let Some(reference) = self.outcome.as_ref().ok().and_then(Value::made) else {
            return;
        };
        let (owner, reference) = (self.owner.clone(), reference.to_owned());
        // The log has a key that stays at its provider.
        self.keys
            .destroy_outside((owner, &self.provider, reference), |_| ());
    }
}

impl Guest {
    /// The outcome of a piece of work of a remote provider with keys of this owner. The turn is interrupted until it is there.
    pub(super) fn remotely<T: Value>(
        &mut self,
        owner: &str,
        call: Call,
        work: impl FnOnce(&Keys, &str) -> Result<T, KeyError> + Send + 'static,
    ) -> wasmtime::Result<Result<T, KeyError>> {
        let Call {
            provider,
            hash,
            after_commit,
        } = call;
        let identity = self.identity.clone();
        let keys = (*identity.keys).clone();
        let owner = owner.to_owned();
        let begin: BeginCall = Box::new(move |answered| {
            let (of, at, with) = (owner.clone(), provider.clone(), keys.clone());
            keys.call_outside(
                &provider,
                move |keys| work(keys, &owner),
                move |outcome| {
                    answered.with(Arc::new(Answer {
                        outcome,
                        is_kept: AtomicBool::new(false),
                        keys: with,
                        owner: of,
                        provider: at,
                    }));
                },
            );
        });
        let turn = self.turn()?;
        let answer = match after_commit {
            true => turn.outside_after_commit(hash, begin)?,
            false => turn.outside(hash, begin)?,
        };
        let answer: &dyn Any = &*answer;
        match answer.downcast_ref::<Answer<T>>() {
            Some(answer) => Ok(answer.outcome.clone()),
            None => Err(wasmtime::format_err!(
                "an answer of a provider of keys has another type than its operation"
            )),
        }
    }
}
