//! Revocations with a component in memory: whose certificate lets requests pass, and until when.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::*;
use crate::authentication::RefusalStatus;
use crate::following::AskError;

/// Longer than anything here takes, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(20);

/// A component in which certificates can be revoked.
#[derive(Default)]
struct Memory {
    revoked: Mutex<HashMap<Arc<str>, Serials>>,
    is_away: AtomicBool,
}

impl Memory {
    fn revoke(&self, name: &str, serial: &str) {
        let mut revoked = self.revoked.lock();
        revoked
            .entry(name.into())
            .or_default()
            .insert(serial.into());
    }
}

impl Keeper<Serials> for Memory {
    async fn values(&self, names: &[Arc<str>]) -> Result<HashMap<Arc<str>, Serials>, AskError> {
        if self.is_away.load(Ordering::Relaxed) {
            return Err(AskError("away".to_owned()));
        }
        let revoked = self.revoked.lock();
        let found = names
            .iter()
            .filter_map(|name| Some((name.clone(), revoked.get(name)?.clone())));
        Ok(found.collect())
    }
}

fn following(memory: &Arc<Memory>) -> (Arc<Revocations>, watch::Sender<bool>) {
    let (stop, stopped) = watch::channel(false);
    let revocations = Arc::new(Revocations::default());
    let (follower, memory) = (revocations.clone(), memory.clone());
    tokio::spawn(async move { follower.follow(memory, stopped).await });
    (revocations, stop)
}

/// `passes`, `revoked` or `unknown`.
async fn outcome(revocations: &Revocations, name: &str, serial: &str) -> &'static str {
    let certificate = Identity {
        name: name.into(),
        serial: serial.into(),
        not_after: u64::MAX,
    };
    let admitted = revocations.admit(&certificate).await;
    match admitted.map_err(|refusal| refusal.status) {
        Ok(()) => "passes",
        Err(RefusalStatus::Unauthorized(_)) => "revoked",
        Err(_) => "unknown",
    }
}

async fn until(revocations: &Revocations, wanted: &str) {
    let began = Instant::now();
    while outcome(revocations, "a", "01").await != wanted {
        assert!(began.elapsed() < PATIENCE, "it is never: {wanted}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn revoked_certificate_alone_is_refused() {
    let memory = Arc::new(Memory::default());
    memory.revoke("a", "01");
    memory.revoke("a", "02");
    let (revocations, _stop) = following(&memory);
    for (name, serial, wanted) in [
        ("a", "01", "revoked"),
        ("a", "02", "revoked"),
        ("a", "0100", "passes"),
        ("a", "03", "passes"),
        ("b", "01", "passes"),
    ] {
        let is = outcome(&revocations, name, serial).await;
        assert_eq!(is, wanted, "{serial} of {name}");
    }
}

#[tokio::test]
async fn revocation_ends_a_certificate_that_is_in_use() {
    let memory = Arc::new(Memory::default());
    let (revocations, _stop) = following(&memory);
    assert_eq!(outcome(&revocations, "a", "01").await, "passes");
    memory.revoke("a", "01");
    until(&revocations, "revoked").await;
    assert_eq!(outcome(&revocations, "a", "02").await, "passes");
}

#[tokio::test]
async fn nobody_passes_while_revocations_cannot_be_known() {
    let memory = Arc::new(Memory::default());
    let (revocations, _stop) = following(&memory);
    assert_eq!(outcome(&revocations, "a", "01").await, "passes");
    memory.is_away.store(true, Ordering::Relaxed);
    until(&revocations, "unknown").await;
    memory.is_away.store(false, Ordering::Relaxed);
    until(&revocations, "passes").await;
}
