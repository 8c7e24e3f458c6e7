//! A participant that may not take part, as if operators had disabled it: the store of a host at rest is
//! changed, so that tests of other things need no operators.

use anyhow::{Context as _, Result, ensure};
use rialto_engine::Lsn;
use rialto_engine::store::{DocumentWrite, Group, Store};
use rialto_store_postgres::{PostgresStore, Settings};
use rialto_store_sqlite::SqliteStore;

use crate::scheme::TestScheme;

/// Disable a participant of a scheme whose host does not run.
///
/// # Errors
/// When the store cannot be opened or written, or the participant is not approved.
pub async fn bar(scheme: &TestScheme, participant: &'static str) -> Result<()> {
    let (state, url) = (scheme.path().join("state"), scheme.database_url()?);
    // The store has a runtime of its own, and no runtime may be started inside another one.
    let barring = tokio::task::spawn_blocking(move || match url {
        Some(url) => disable(
            &PostgresStore::open(&url, Settings::default())?,
            participant,
        ),
        None => disable(&SqliteStore::open(&state)?, participant),
    });
    barring.await?
}

fn disable(store: &dyn Store, participant: &str) -> Result<()> {
    let recovered = store.recover()?;
    let mut collections = recovered.collections.iter();
    let participants = collections
        .find(|c| &*c.component == "participant-lifecycle-management" && &*c.name == "participants")
        .context("the collection of participants")?;
    let document = store.read(participants.id, participant)?;
    let document = document.with_context(|| format!("the participant {participant}"))?;
    let body = document.body.replace("\"APPROVED\"", "\"DISABLED\"");
    ensure!(body != *document.body, "{participant} is not approved");
    let write = DocumentWrite {
        collection: participants.id,
        id: document.id,
        version: document.version + 1,
        body: Some(body.into()),
    };
    let group = Group {
        lsn: Lsn(recovered.lsn.0 + 1),
        next_id: recovered.next_id,
        documents: vec![write],
        ..Group::default()
    };
    store.write(&group)?;
    Ok(())
}
