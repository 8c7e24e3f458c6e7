//! Limits with a component in memory: who passes from where, and when.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use std::time::Duration;

use super::*;
use crate::following::{AskError, NAMES_AT_ONCE};

/// Longer than anything here takes, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(20);

/// A component whose limits can be changed.
#[derive(Default)]
struct Memory {
    limits: Mutex<HashMap<Arc<str>, Ranges>>,
    is_away: AtomicBool,
    asked: AtomicUsize,
}

impl Memory {
    fn limit(&self, client: &str, ranges: &[&str]) {
        let ranges = Ranges::new(ranges.iter().copied()).unwrap();
        self.limits.lock().insert(client.into(), ranges);
    }
}

impl Keeper<Ranges> for Memory {
    async fn values(&self, clients: &[Arc<str>]) -> Result<HashMap<Arc<str>, Ranges>, AskError> {
        assert!(!clients.is_empty() && clients.len() <= NAMES_AT_ONCE);
        self.asked.fetch_add(1, Ordering::Relaxed);
        if self.is_away.load(Ordering::Relaxed) {
            return Err(AskError("away".to_owned()));
        }
        let limits = self.limits.lock();
        let found = clients
            .iter()
            .filter_map(|client| Some((client.clone(), limits.get(client)?.clone())));
        Ok(found.collect())
    }
}

/// Limits that follow this component. They stop when the sender is dropped.
fn following(memory: &Arc<Memory>) -> (Arc<Sources>, watch::Sender<bool>) {
    let (stop, stopped) = watch::channel(false);
    let sources = Arc::new(Sources::default());
    let (follower, memory) = (sources.clone(), memory.clone());
    tokio::spawn(async move { follower.follow(memory, stopped).await });
    (sources, stop)
}

/// `passes`, `elsewhere` or `unknown`.
async fn outcome(sources: &Sources, client: &str, address: &str) -> &'static str {
    let admitted = sources.admit(client, address.parse().unwrap()).await;
    match admitted.map_err(|refusal| refusal.status) {
        Ok(()) => "passes",
        Err(RefusalStatus::ForbiddenAddress) => "elsewhere",
        Err(_) => "unknown",
    }
}

async fn until(sources: &Sources, address: &str, wanted: &str) {
    let began = Instant::now();
    while outcome(sources, "a", address).await != wanted {
        assert!(began.elapsed() < PATIENCE, "{address} is never: {wanted}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_client_sends_from_its_ranges_alone() {
    let memory = Arc::new(Memory::default());
    memory.limit("a", &["192.0.2.0/24", "2001:db8::/64"]);
    memory.limit("none", &[]);
    let (sources, _stop) = following(&memory);
    assert_eq!(memory.asked.load(Ordering::Relaxed), 0, "nobody has come");
    for (client, address, wanted) in [
        ("a", "192.0.2.9", "passes"),
        ("a", "::ffff:192.0.2.9", "passes"),
        ("a", "2001:db8::9", "passes"),
        ("a", "192.0.3.9", "elsewhere"),
        ("a", "::1", "elsewhere"),
        ("b", "192.0.3.9", "passes"),
        ("A", "192.0.3.9", "passes"),
        ("none", "192.0.2.9", "elsewhere"),
    ] {
        let is = outcome(&sources, client, address).await;
        assert_eq!(is, wanted, "{client} from {address}");
    }
}

#[tokio::test]
async fn limits_begin_and_end_while_a_client_sends() {
    let memory = Arc::new(Memory::default());
    let (sources, _stop) = following(&memory);
    assert_eq!(outcome(&sources, "a", "192.0.2.9").await, "passes");
    memory.limit("a", &["198.51.100.0/24"]);
    until(&sources, "192.0.2.9", "elsewhere").await;
    assert_eq!(outcome(&sources, "a", "198.51.100.1").await, "passes");
    memory.limits.lock().clear();
    until(&sources, "192.0.2.9", "passes").await;
}

#[tokio::test]
async fn nobody_passes_by_old_limits() {
    let memory = Arc::new(Memory::default());
    let (sources, _stop) = following(&memory);
    let client = "a".into();
    assert_eq!(outcome(&sources, "a", "192.0.2.9").await, "passes");
    let asked = Instant::now();
    memory.is_away.store(true, Ordering::Relaxed);
    let look = |at| sources.limits.look(&client, at, |ranges| ranges.is_none());
    assert_eq!(look(asked), Ok(true));
    let later = asked + Duration::from_millis(901);
    assert_eq!(look(later), Err(client.clone()));
    until(&sources, "192.0.2.9", "unknown").await;
    memory.is_away.store(false, Ordering::Relaxed);
    until(&sources, "192.0.2.9", "passes").await;
}

#[tokio::test]
async fn a_client_that_sends_much_causes_few_questions() {
    let memory = Arc::new(Memory::default());
    memory.limit("a", &["198.51.100.0/24"]);
    let (sources, _stop) = following(&memory);
    let began = Instant::now();
    let mut requests = 0;
    while began.elapsed() < Duration::from_secs(2) {
        assert_eq!(outcome(&sources, "a", "192.0.2.9").await, "elsewhere");
        requests += 1;
        tokio::task::yield_now().await;
    }
    let asked = memory.asked.load(Ordering::Relaxed);
    assert!(asked < 20 && requests > 100, "{asked} for {requests}");
    assert_eq!(sources.logged.lock().len(), 1, "one line for all of them");
}
