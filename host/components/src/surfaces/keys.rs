//! `keys`: keys of a component's own. The component keeps references, and never sees a key.

mod remote;

use rialto_keys as keys;
use zeroize::Zeroizing;

use self::remote::Call;

use crate::bindings::rialto::host::keys::{
    Algorithm, Attributes, HandedOut, Hash, Host, Key, KeyError, PinFormat, Provider, Purpose,
};
use crate::guest::Guest;

/// Keys that one call may make. The time of a long key's making does not count, so their number must have a bound.
const KEYS_PER_CALL_MAX: u32 = 8;

type Answer<T> = wasmtime::Result<Result<T, KeyError>>;

impl Guest {
    /// The turn's time: UTC, milliseconds since 1970.
    fn now(&self) -> wasmtime::Result<u64> {
        Ok(self.turn_ref()?.now().0)
    }

    /// Do a piece of work that makes a key.
    fn makes(
        &mut self,
        remote: Option<Call>,
        work: impl FnOnce(&keys::Keys, &str) -> Result<keys::NewKey, keys::KeyError> + Send + 'static,
    ) -> Answer<Key> {
        self.counts_a_key()?;
        let made = match remote {
            Some(call) => self.remotely(&self.identity.name.clone(), call, work)?,
            None => {
                let identity = self.identity.clone();
                self.deadline
                    .without(|| work(&identity.keys, &identity.name))
            }
        };
        Ok(made.map(Key::from).map_err(KeyError::from))
    }

    fn counts_a_key(&mut self) -> wasmtime::Result<()> {
        self.turn()?;
        self.keys_made += 1;
        if self.keys_made > KEYS_PER_CALL_MAX {
            return Err(wasmtime::format_err!(
                "`keys` makes at most {KEYS_PER_CALL_MAX} keys in a call"
            ));
        }
        Ok(())
    }

    /// Do a piece of work with one of the component's keys, which makes bytes.
    fn uses(
        &mut self,
        remote: Option<Call>,
        work: impl FnOnce(&keys::Keys, &str) -> Result<Vec<u8>, keys::KeyError> + Send + 'static,
    ) -> Answer<Vec<u8>> {
        let owner = self.identity.name.clone();
        Ok(self.used_by(&owner, remote, work)?.map_err(KeyError::from))
    }

    /// The same with a key of this owner.
    fn used_by(
        &mut self,
        owner: &str,
        remote: Option<Call>,
        work: impl FnOnce(&keys::Keys, &str) -> Result<Vec<u8>, keys::KeyError> + Send + 'static,
    ) -> wasmtime::Result<Result<Vec<u8>, keys::KeyError>> {
        let Some(call) = remote else {
            self.turn_ref()?;
            return Ok(work(&self.identity.keys, owner));
        };
        let made = self.remotely(owner, call, |keys, owner| {
            work(keys, owner).map(Zeroizing::new)
        })?;
        Ok(made.map(|bytes| bytes.to_vec()))
    }

    /// The signature of a message by a key of this owner.
    pub(super) fn signs(
        &mut self,
        owner: &str,
        reference: String,
        now: u64,
        message: Vec<u8>,
    ) -> wasmtime::Result<Result<Vec<u8>, keys::KeyError>> {
        let keys = &self.identity.keys;
        let arguments = [&now.to_le_bytes()[..], &message];
        let remote = Call::of_key((keys, owner), &reference, "sign", &arguments);
        self.used_by(owner, remote, move |keys, owner| {
            keys.sign(owner, &reference, now, &message)
        })
    }

    /// Do a piece of work with the component's keys that asks no remote provider.
    fn here<T>(&self, work: impl FnOnce(&keys::Keys, &str) -> T) -> wasmtime::Result<T> {
        self.turn_ref()?;
        Ok(work(&self.identity.keys, &self.identity.name))
    }

    /// The call of a remote provider that makes a key.
    fn making(&self, provider: &str, operation: &str, arguments: &[&[u8]]) -> Option<Call> {
        let identity = &self.identity;
        let is_remote = identity.keys.is_remote(provider);
        is_remote.then(|| Call::new(&identity.name, provider.to_owned(), operation, arguments))
    }

    /// The call of a remote provider that uses a key.
    fn using(&self, reference: &str, operation: &str, arguments: &[&[u8]]) -> Option<Call> {
        let identity = &self.identity;
        Call::of_key(
            (&identity.keys, &identity.name),
            reference,
            operation,
            arguments,
        )
    }
}

impl Host for Guest {
    fn providers(&mut self) -> wasmtime::Result<Vec<Provider>> {
        self.here(|keys, _| {
            let views = keys.providers().into_iter().map(|view| Provider {
                name: view.name,
                kind: view.kind.to_owned(),
                algorithms: view.algorithms.into_iter().map(Algorithm::from).collect(),
            });
            views.collect()
        })
    }

    fn generate(&mut self, provider: String, attributes: Attributes) -> Answer<Key> {
        let attributes = keys::Attributes::from(attributes);
        let said = format!("{attributes:?}");
        let remote = self.making(&provider, "generate", &[said.as_bytes()]);
        self.makes(remote, move |keys, owner| {
            keys.generate(owner, &provider, &attributes)
        })
    }

    fn load(
        &mut self,
        provider: String,
        attributes: Attributes,
        unwraps: String,
        wrapped: Vec<u8>,
    ) -> Answer<Key> {
        let attributes = keys::Attributes::from(attributes);
        let said = format!("{attributes:?}");
        let arguments = [said.as_bytes(), unwraps.as_bytes(), &wrapped];
        let remote = self.making(&provider, "load", &arguments);
        self.makes(remote, move |keys, owner| {
            keys.load(owner, &provider, &attributes, &unwraps, &wrapped)
        })
    }

    fn hand_out(&mut self, algorithm: Algorithm, receiver: String) -> Answer<HandedOut> {
        self.counts_a_key()?;
        let identity = self.identity.clone();
        let made = self
            .deadline
            .without(|| identity.keys.hand_out(algorithm.into(), &receiver));
        Ok(made
            .map(|made| HandedOut {
                public_key: made.public_key,
                private_key: made.private_key,
            })
            .map_err(KeyError::from))
    }

    fn destroy(&mut self, reference: String) -> Answer<()> {
        let remote = self.using(&reference, "destroy", &[]).map(Call::for_good);
        let work = move |keys: &keys::Keys, owner: &str| keys.destroy(owner, &reference);
        let destroyed = match remote {
            Some(call) => self.remotely(&self.identity.name.clone(), call, work)?,
            None => self.here(work)?,
        };
        Ok(destroyed.map_err(KeyError::from))
    }

    fn sign(&mut self, reference: String, message: Vec<u8>) -> Answer<Vec<u8>> {
        let now = self.now()?;
        let owner = self.identity.name.clone();
        let signed = self.signs(&owner, reference, now, message)?;
        Ok(signed.map_err(KeyError::from))
    }

    fn verify(&mut self, reference: String, message: Vec<u8>, signature: Vec<u8>) -> Answer<bool> {
        let remote = self.using(&reference, "verify", &[&message, &signature]);
        let work = move |keys: &keys::Keys, owner: &str| {
            keys.verify(owner, &reference, &message, &signature)
        };
        let verified = match remote {
            Some(call) => self.remotely(&self.identity.name.clone(), call, work)?,
            None => self.here(work)?,
        };
        Ok(verified.map_err(KeyError::from))
    }

    fn verify_with(
        &mut self,
        public_key: String,
        algorithm: Algorithm,
        message: Vec<u8>,
        signature: Vec<u8>,
    ) -> Answer<bool> {
        let algorithm = algorithm.into();
        let verified =
            self.here(|keys, _| keys.verify_with(&public_key, algorithm, &message, &signature))?;
        Ok(verified.map_err(KeyError::from))
    }

    fn encrypt(
        &mut self,
        reference: String,
        plaintext: Vec<u8>,
        associated: Vec<u8>,
    ) -> Answer<Vec<u8>> {
        let now = self.now()?;
        let arguments = [&now.to_le_bytes()[..], &plaintext, &associated];
        let remote = self.using(&reference, "encrypt", &arguments);
        self.uses(remote, move |keys, owner| {
            keys.encrypt(owner, &reference, now, &plaintext, &associated)
        })
    }

    fn decrypt(
        &mut self,
        reference: String,
        ciphertext: Vec<u8>,
        associated: Vec<u8>,
    ) -> Answer<Vec<u8>> {
        let remote = self.using(&reference, "decrypt", &[&ciphertext, &associated]);
        self.uses(remote, move |keys, owner| {
            keys.decrypt(owner, &reference, &ciphertext, &associated)
        })
    }

    fn translate_pin(
        &mut self,
        zone: String,
        format: PinFormat,
        to_zone: String,
        to_format: PinFormat,
        account: String,
        block: Vec<u8>,
    ) -> Answer<Vec<u8>> {
        let from = keys::PinSide {
            zone: &zone,
            format: format.into(),
        };
        let to = keys::PinSide {
            zone: &to_zone,
            format: to_format.into(),
        };
        let now = self.now()?;
        let translated =
            self.here(|keys, owner| keys.translate_pin(owner, now, from, to, &account, &block))?;
        Ok(translated.map_err(KeyError::from))
    }

    fn digest(&mut self, hash: Hash, message: Vec<u8>) -> wasmtime::Result<Vec<u8>> {
        let hash = match hash {
            Hash::Sha256 => keys::Hash::Sha256,
            Hash::Sha384 => keys::Hash::Sha384,
            Hash::Sha512 => keys::Hash::Sha512,
        };
        self.turn_ref()?;
        keys::hash(hash, &message).map_err(|error| wasmtime::format_err!("`keys.digest`: {error}"))
    }

    fn same(&mut self, a: Vec<u8>, b: Vec<u8>) -> wasmtime::Result<bool> {
        Ok(rialto_signatures::secrets::same_secret(&a, &b))
    }
}

impl From<keys::NewKey> for Key {
    fn from(made: keys::NewKey) -> Self {
        Self {
            reference: made.reference,
            public_key: made.public_key,
        }
    }
}

impl From<Attributes> for keys::Attributes {
    fn from(attributes: Attributes) -> Self {
        Self {
            label: attributes.label,
            purpose: match attributes.purpose {
                Purpose::Sign => keys::Purpose::Sign,
                Purpose::Mac => keys::Purpose::Mac,
                Purpose::Encrypt => keys::Purpose::Encrypt,
                Purpose::Unwrap => keys::Purpose::Unwrap,
                Purpose::Pin => keys::Purpose::Pin,
            },
            algorithm: attributes.algorithm.into(),
            not_after: attributes.not_after,
        }
    }
}

impl From<PinFormat> for keys::pin::Format {
    fn from(format: PinFormat) -> Self {
        match format {
            PinFormat::Iso0 => Self::Iso0,
            PinFormat::Iso1 => Self::Iso1,
            PinFormat::Iso3 => Self::Iso3,
            PinFormat::Iso4 => Self::Iso4,
        }
    }
}

impl From<keys::KeyError> for KeyError {
    fn from(error: keys::KeyError) -> Self {
        match error {
            keys::KeyError::NoProvider => Self::NoProvider,
            keys::KeyError::NoKey(why) => Self::NoKey(why.to_owned()),
            keys::KeyError::WrongPurpose => Self::WrongPurpose,
            keys::KeyError::Expired => Self::Expired,
            keys::KeyError::Unsupported(why) => Self::Unsupported(why),
            keys::KeyError::BadInput(why) => Self::BadInput(why),
            keys::KeyError::NotOpened => Self::NotOpened,
            keys::KeyError::ProviderAway(why) => Self::ProviderAway(why),
        }
    }
}

/// The same algorithms on both sides.
macro_rules! same_algorithms {
    ($($name:ident),+) => {
        impl From<Algorithm> for keys::Algorithm {
            fn from(algorithm: Algorithm) -> Self {
                match algorithm {
                    $(Algorithm::$name => Self::$name,)+
                }
            }
        }

        impl From<keys::Algorithm> for Algorithm {
            fn from(algorithm: keys::Algorithm) -> Self {
                match algorithm {
                    $(keys::Algorithm::$name => Self::$name,)+
                }
            }
        }
    };
}

same_algorithms!(
    Es256,
    Es384,
    Rs256,
    Hs256,
    A256Gcm,
    A256Kwp,
    RsaOaep256Kwp,
    PinTdes,
    PinAes
);
