//! Generating keys in the service. The service has no way to make a key once under a name of ours. So a request that
//! may have made a key is not sent again, and what was made for a caller who has gone is destroyed.

use std::time::{Duration, Instant};

use rialto_keys::{Algorithm, Attributes, KeyError, PublicKey, Purpose, random};

use crate::destroy;
use crate::failure::{Failure, unreadable};
use crate::material::{Arn, Found};
use crate::service::{Service, written};
use crate::wire::{CreateKey, Described, OfKey, Operation, PublicKeyAnswer, Tag};
use crate::worker::Worker;

/// The tag of each key, with a random value: the log names it when it is not known whether a key was made.
const TAG: &str = "rialto";
/// Random bytes of a tag's value.
const TAG_BYTES: usize = 16;
/// The longest time for discarding a key.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(30);

/// A key as the service knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spec {
    key_spec: &'static str,
    key_usage: &'static str,
}

/// The algorithms that the service has.
pub(crate) const SUPPORTED: [Algorithm; 5] = [
    Algorithm::Es256,
    Algorithm::Es384,
    Algorithm::Rs256,
    Algorithm::Hs256,
    Algorithm::A256Gcm,
];

fn spec(algorithm: Algorithm) -> Result<Spec, KeyError> {
    let (key_spec, key_usage) = match algorithm {
        Algorithm::Es256 => ("ECC_NIST_P256", "SIGN_VERIFY"),
        Algorithm::Es384 => ("ECC_NIST_P384", "SIGN_VERIFY"),
        Algorithm::Rs256 => ("RSA_3072", "SIGN_VERIFY"),
        Algorithm::Hs256 => ("HMAC_256", "GENERATE_VERIFY_MAC"),
        Algorithm::A256Gcm => ("SYMMETRIC_DEFAULT", "ENCRYPT_DECRYPT"),
        other => {
            return Err(KeyError::Unsupported(format!(
                "AWS KMS has no keys of the algorithm {other:?} for this host; it has {SUPPORTED:?}"
            )));
        }
    };
    Ok(Spec {
        key_spec,
        key_usage,
    })
}

/// Generate a key.
pub(crate) fn generate(worker: &Worker, attributes: &Attributes) -> Result<Found, KeyError> {
    let (algorithm, label) = (attributes.algorithm, attributes.label.clone());
    let spec = spec(algorithm)?;
    let tag: String = random(TAG_BYTES)?
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let found = worker.run_or_undo(
        |service, deadline| async move {
            let _unclear = OnPanic(&tag);
            let arn = create(&service, spec, &label, &tag, deadline).await?;
            let public_key = match algorithm.purpose() {
                Purpose::Sign => public_key(&service, &arn, algorithm, deadline).await,
                _ => Ok(Vec::new()),
            };
            match public_key {
                Ok(public_key) => Ok(Found { arn, public_key }),
                Err(failure) => {
                    discard(&service, &arn).await;
                    Err(failure)
                }
            }
        },
        |service, found| async move { discard(&service, &found.arn).await },
    )?;
    Ok(found)
}

/// Says in the log which tag to look for when this is dropped by a panic.
struct OnPanic<'t>(&'t str);

impl Drop for OnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            warn_of(self.0, "the host panicked");
        }
    }
}

fn warn_of(tag: &str, why: &str) {
    tracing::warn!(
        tag = format!("{TAG}={tag}"),
        why,
        "AWS KMS may have made a key that nobody knows: look for the tag"
    );
}

async fn create(
    service: &Service,
    spec: Spec,
    label: &str,
    tag: &str,
    deadline: Instant,
) -> Result<Arn, Failure> {
    let body = written(&CreateKey {
        description: label,
        key_spec: spec.key_spec,
        key_usage: spec.key_usage,
        tags: [Tag {
            tag_key: TAG,
            tag_value: tag,
        }],
    })?;
    let operation = Operation::CreateKey;
    let made: Result<Described, _> = service.call(operation, body, deadline).await;
    if let Err(Failure::Unclear(why) | Failure::Unreadable(why)) = &made {
        warn_of(tag, why);
    }
    let made = made?.key_metadata;
    let arn = Arn::of(made.arn).filter(|arn| arn.region() == service.region);
    let arn = arn.ok_or_else(|| unreadable(operation, "its ARN is none of a key of the region"))?;
    if made.key_spec != spec.key_spec {
        discard(service, &arn).await;
        return Err(unreadable(operation, "the key is of another kind"));
    }
    Ok(arn)
}

/// The public key of a pair, which is one of the algorithm.
async fn public_key(
    service: &Service,
    arn: &Arn,
    algorithm: Algorithm,
    deadline: Instant,
) -> Result<Vec<u8>, Failure> {
    let operation = Operation::GetPublicKey;
    let body = written(&OfKey { key_id: arn.text() })?;
    let told: PublicKeyAnswer = service.call(operation, body, deadline).await?;
    let is_of_algorithm = PublicKey::from_der(algorithm, &told.public_key.0).is_ok();
    if told.key_id != arn.text() || !is_of_algorithm {
        return Err(unreadable(operation, "it is no public key of the new key"));
    }
    Ok(told.public_key.0.to_vec())
}

/// Destroy a key that nobody has a reference of.
async fn discard(service: &Service, arn: &Arn) {
    let deadline = Instant::now() + DISCARD_TIMEOUT;
    match destroy::schedule(service, arn, deadline).await {
        Ok(()) => tracing::info!(key = arn.text(), "a key that nobody refers to is destroyed"),
        Err(failure) => tracing::warn!(
            key = arn.text(),
            ?failure,
            "a key that nobody refers to stays in AWS KMS: schedule its deletion"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_supported_algorithm_has_its_kind_of_key() {
        for algorithm in Algorithm::ALL {
            let is_there = spec(algorithm).is_ok();
            assert_eq!(is_there, SUPPORTED.contains(&algorithm), "{algorithm:?}");
        }
    }
}
