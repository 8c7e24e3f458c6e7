//! The provider: what the service does for the host.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rialto_keys::{Algorithm, Attributes, Key, KeyError, Made, Provider, Unwrapping};

use crate::configuration::{Configuration, OpenError};
use crate::destroy;
use crate::failure::unreadable;
use crate::generate::{self, SUPPORTED};
use crate::key::ServiceKey;
use crate::material::{Arn, Found};
use crate::wire::{ListKeys, ListKeysAnswer, Operation};
use crate::worker::Worker;

/// Its kind in the operator's document.
pub const KIND: &str = "aws-kms";

/// AWS KMS as a provider of keys.
pub struct Kms {
    configuration: Configuration,
    worker: Arc<Worker>,
}

impl fmt::Debug for Kms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Kms").field(&self.configuration).finish()
    }
}

/// A service that answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceView {
    /// Its region.
    pub region: String,
    /// The account, unless it has no key yet.
    pub account: Option<String>,
}

impl Kms {
    /// Read the credentials and the authority. The service is not asked yet, and may be away.
    ///
    /// # Errors
    /// When the endpoint is none, the credentials or the authority cannot be read, or no thread can be started.
    pub fn open(configuration: Configuration) -> Result<Self, OpenError> {
        let worker = Arc::new(Worker::start(&configuration)?);
        Ok(Self {
            configuration,
            worker,
        })
    }

    /// How many calls are under way, those included whose callers have gone. While it is all of them, calls fail at
    /// once.
    #[must_use]
    pub fn busy(&self) -> usize {
        self.worker.busy()
    }

    /// Ask for one key of the account. It needs the right `kms:ListKeys`.
    ///
    /// # Errors
    /// When the service refuses the credentials, or does not answer.
    pub fn check(&self) -> Result<ServiceView, KeyError> {
        let operation = Operation::ListKeys;
        let answer: ListKeysAnswer = self.worker.call(operation, &ListKeys { limit: 1 })?;
        let arn = answer
            .keys
            .into_iter()
            .next()
            .map(|key| Arn::of(key.key_arn));
        let account = match arn {
            None => None,
            Some(Some(arn)) if arn.region() == self.worker.region() => {
                Some(arn.account().to_owned())
            }
            Some(_) => return Err(unreadable(operation, "it has no keys of the region").into()),
        };
        Ok(ServiceView {
            region: self.worker.region().to_owned(),
            account,
        })
    }
}

impl Provider for Kms {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn algorithms(&self) -> Vec<Algorithm> {
        SUPPORTED.to_vec()
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn calls_at_once(&self) -> usize {
        self.configuration.calls
    }

    fn timeout(&self) -> Duration {
        self.configuration.timeout
    }

    fn generate(&self, attributes: &Attributes) -> Result<Made, KeyError> {
        let found = generate::generate(&self.worker, attributes)?;
        let has_pair = !found.public_key.is_empty();
        Ok(Made {
            material: found.encode(),
            public_key: has_pair.then_some(found.public_key),
        })
    }

    fn load(
        &self,
        _attributes: &Attributes,
        _unwraps: Unwrapping<'_>,
        _wrapped: &[u8],
    ) -> Result<Made, KeyError> {
        let why = "AWS KMS does not unwrap keys into itself with a key of its own: generate the key there, or load it into another provider";
        Err(KeyError::Unsupported(why.to_owned()))
    }

    /// It asks the service nothing: a key that is gone is noticed when it is used.
    fn open(&self, attributes: &Attributes, material: &[u8]) -> Result<Box<dyn Key>, KeyError> {
        let found = Found::decode(material, self.worker.region())?;
        if !SUPPORTED.contains(&attributes.algorithm) {
            return Err(KeyError::NoKey(
                "it is of an algorithm that AWS KMS does not have",
            ));
        }
        let key = ServiceKey::new(self.worker.clone(), attributes.algorithm, found)?;
        Ok(Box::new(key))
    }

    /// The deletion is scheduled. From then on the key cannot be used.
    fn destroy(&self, material: &[u8]) -> Result<(), KeyError> {
        let found = Found::decode(material, self.worker.region())?;
        let outcome = self.worker.run(|service, deadline| async move {
            destroy::schedule(&service, &found.arn, deadline).await
        });
        Ok(outcome?)
    }

    /// The key's ARN.
    fn name_of(&self, material: &[u8]) -> Option<String> {
        let found = Found::decode(material, self.worker.region()).ok()?;
        Some(found.arn.text().to_owned())
    }

    fn public_key(&self, _attributes: &Attributes, material: &[u8]) -> Option<Vec<u8>> {
        let public_key = Found::decode(material, self.worker.region())
            .ok()?
            .public_key;
        (!public_key.is_empty()).then_some(public_key)
    }

    fn close(&self, deadline: Instant) -> Result<(), KeyError> {
        match self.worker.close(deadline) {
            0 => Ok(()),
            calls => Err(KeyError::ProviderAway(format!(
                "{calls} calls of AWS KMS have not ended"
            ))),
        }
    }
}
