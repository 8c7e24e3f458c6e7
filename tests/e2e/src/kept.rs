//! All that a store keeps, of a host at rest: what must be the same before and after something that must
//! change nothing.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use rialto_engine::history::Step;
use rialto_engine::store::{ScanRange, Store as _, StoredReminder};
use rialto_store_sqlite::HistoryStore as _;
use rialto_store_sqlite::SqliteStore;

use crate::metrics::idle;
use crate::world::World;

/// The context that keeps lines of the host's log: each start has some, which it gets a second later.
const LOG: &str = "logging";

/// The contents of a store, without the log of the scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Version and body of each document, by component, collection and id.
    pub documents: BTreeMap<[String; 3], (u64, String)>,
    /// The reminders that wait.
    pub reminders: Vec<StoredReminder>,
    /// Deliveries, requests to the outside and dead letters, each in a line.
    pub under_way: Vec<String>,
}

impl Kept {
    fn read(store: &SqliteStore) -> Result<Self> {
        let recovered = store.recover()?;
        let mut documents = BTreeMap::new();
        let collections = recovered.collections.iter();
        for collection in collections.filter(|one| &*one.component != LOG) {
            for document in store.scan(collection.id, &ScanRange::all(), u32::MAX)? {
                let key = [&collection.component, &collection.name, &document.id];
                let value = (document.version, document.body.to_string());
                documents.insert(key.map(ToString::to_string), value);
            }
        }
        let deliveries = recovered.deliveries.iter().map(|d| format!("{d:?}"));
        let outbound = recovered.outbound.iter().map(|o| format!("{o:?}"));
        let mut reminders = recovered.reminders;
        reminders.retain(|reminder| &*reminder.component != LOG);
        let letters = store.dead_letters()?;
        let letters = letters.iter().map(|letter| format!("{letter:?}"));
        Ok(Self {
            documents,
            under_way: deliveries.chain(outbound).chain(letters).collect(),
            reminders,
        })
    }
}

/// Wait until a world's host, which runs, has nothing to do. Then kill it, and give what its store keeps.
///
/// # Errors
/// If work does not end, or the store has pending work anyway, or it cannot be read.
pub async fn at_rest(world: &mut World) -> Result<Kept> {
    idle(&world.host).await?;
    world.host.kill()?;
    let kept = with_store(world, Kept::read).await?;
    ensure!(
        kept.under_way.is_empty(),
        "the host had nothing to do, and its store has:\n{}",
        kept.under_way.join("\n")
    );
    Ok(kept)
}

/// How many turns there were about these subjects, and what they did beside answering. The host must
/// not run.
///
/// # Errors
/// When the store cannot be read.
pub async fn effects(world: &World, subjects: Vec<String>) -> Result<(usize, Vec<String>)> {
    with_store(world, move |store| {
        // Reads what was not flushed before the host's end.
        store.recover()?;
        let (mut turns, mut effects) = (0, Vec::new());
        for subject in subjects {
            for record in store.history(&subject)? {
                turns += 1;
                let steps = record.steps.iter();
                let done = steps.filter(|step| !is_no_effect(step));
                effects.extend(done.map(|step| format!("{subject}: {step:?}")));
            }
        }
        Ok((turns, effects))
    })
    .await
}

/// An answer, or a question to another component: what that did would be a step of its own.
fn is_no_effect(step: &Step) -> bool {
    match step {
        Step::Answered { .. } => true,
        Step::Called { function, .. } => function.contains("/get-"),
        _ => false,
    }
}

/// Read the store of a world whose host does not run.
///
/// # Errors
/// When it cannot be opened or read.
pub async fn with_store<T: Send + 'static>(
    world: &World,
    read: impl FnOnce(&SqliteStore) -> Result<T> + Send + 'static,
) -> Result<T> {
    let state = world.scheme.path().join("state");
    // The store has a runtime of its own, and no runtime may be started inside another one.
    tokio::task::spawn_blocking(move || {
        let store = SqliteStore::open(&state).context("opening the store")?;
        read(&store)
    })
    .await?
}
