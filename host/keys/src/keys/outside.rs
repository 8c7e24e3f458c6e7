//! Keys outside turns, where a call may wait for a remote provider, and the end of all calls.

use std::time::Instant;

use super::{Keys, name_of, reference};
use crate::callers::Call;
use crate::contained::contained;
use crate::error::KeyError;

impl Keys {
    /// The same keys for use outside turns, where a call may wait for a remote provider.
    #[must_use]
    pub fn outside_turns(&self) -> Self {
        Self {
            calls_remote: true,
            ..self.clone()
        }
    }

    /// Whether a provider is remote. What it is asked within a turn must go through [`Self::call_outside`].
    #[must_use]
    pub fn is_remote(&self, provider: &str) -> bool {
        self.all.callers.contains_key(provider)
    }

    /// The remote provider that has the key of a reference. None for a key that is not at a remote provider, and for
    /// text that is no reference.
    #[must_use]
    pub fn remote_provider(&self, reference: &str) -> Option<String> {
        if self.all.callers.is_empty() {
            return None;
        }
        let known = self.all.open.lock().get(&name_of(reference)).cloned();
        let provider = match known {
            Some(opened) => opened.provider.clone(),
            None => {
                reference::unseal(&self.all.masters, reference)
                    .ok()?
                    .provider
            }
        };
        self.is_remote(&provider).then_some(provider)
    }

    /// How people find a key of this owner with its provider's own tools. It is nothing secret. None for keys that are
    /// in their references, and for text that is no reference of this owner.
    #[must_use]
    pub fn name_at_provider(&self, owner: &str, reference: &str) -> Option<String> {
        let key = self.owned(owner, reference).ok()?;
        self.all
            .providers
            .get(&key.provider)?
            .name_of(&key.material)
    }

    /// The public key of a key pair of this owner: SubjectPublicKeyInfo, DER. Its provider is not asked. None for secret
    /// keys.
    ///
    /// # Errors
    /// When the key is not the owner's, or its provider is not in the operator's document.
    pub fn public_key(&self, owner: &str, reference: &str) -> Result<Option<Vec<u8>>, KeyError> {
        let key = self.owned(owner, reference)?;
        let provider = self.all.providers.get(&key.provider);
        let provider = provider.ok_or(KeyError::NoProvider)?;
        Ok(provider.public_key(&key.attributes, &key.material))
    }

    /// Do a piece of work on a thread that may wait for a remote provider. `done` gets the outcome there, or at once
    /// when the provider has too much to do.
    pub fn call_outside<T: 'static>(
        &self,
        provider: &str,
        work: impl FnOnce(&Self) -> Result<T, KeyError> + Send + 'static,
        done: impl FnOnce(Result<T, KeyError>) + Send + 'static,
    ) {
        match self.all.callers.get(provider) {
            Some(callers) => callers.submit(self.call(provider, work, done)),
            None => done(Err(KeyError::NoProvider)),
        }
    }

    /// Destroy a key of this owner that nobody keeps on such a thread, however much the provider has to do. The number
    /// of these calls is bounded by that of the calls that made the keys. The log names a key that stays.
    pub fn destroy_outside(
        &self,
        (owner, provider, reference): (String, &str, String),
        done: impl FnOnce(Result<(), KeyError>) + Send + 'static,
    ) {
        let key = self.name_at_provider(&owner, &reference);
        let (whose, at) = (owner.clone(), provider.to_owned());
        let done = move |outcome: Result<(), KeyError>| {
            if let Err(error) = &outcome {
                let key = key.as_deref().unwrap_or("unknown");
                tracing::error!(owner = whose, provider = at, key, %error, "a key that nobody keeps could not be destroyed, and stays at its provider: destroy it with the provider's tools");
            }
            done(outcome);
        };
        let work = move |keys: &Self| keys.destroy(&owner, &reference);
        match self.all.callers.get(provider) {
            Some(callers) => callers.submit_always(self.call(provider, work, done)),
            None => done(Err(KeyError::NoProvider)),
        }
    }

    /// A piece of work as a call of a provider's thread.
    fn call<T: 'static>(
        &self,
        provider: &str,
        work: impl FnOnce(&Self) -> Result<T, KeyError> + Send + 'static,
        done: impl FnOnce(Result<T, KeyError>) + Send + 'static,
    ) -> Call {
        let keys = self.outside_turns();
        let whom = format!("the provider `{provider}`");
        Box::new(move |refused| {
            let outcome = match refused {
                None => contained(&whom, || work(&keys)),
                Some(why) => Err(why),
            };
            drop(keys);
            done(outcome);
        })
    }

    /// Let the calls of remote providers end that are under way, refuse others, and let the providers go, until this
    /// instant. What has not ended then is in the log.
    pub fn close(&self, deadline: Instant) {
        for (provider, callers) in &self.all.callers {
            let calls = callers.close(deadline);
            if calls > 0 {
                tracing::warn!(
                    provider,
                    calls,
                    "calls of a provider of keys have not ended: the host stops without their answers"
                );
            }
        }
        for (provider, closes) in &self.all.providers {
            if let Err(error) = closes.close(deadline) {
                tracing::warn!(provider, %error, "a provider of keys could not be closed");
            }
        }
    }
}
