//! The documents of a transfer that was really made, and copies of them for other ones.

use anyhow::Context as _;
use rialto_engine::CollectionId;
use rialto_engine::store::Collection;
use rialto_store_sqlite::SqliteStore;
use serde_json::Value;

use crate::accounts::KEEPER;
use crate::{Sink, all, kept};

/// The batch that filled transfers lie in.
pub const BATCH: &str = "FILLED.1";

/// A document of the template.
struct Part {
    collection: CollectionId,
    id: String,
    version: u64,
    body: String,
}

/// See the module's documentation.
pub struct Template {
    id: String,
    payer: String,
    payee: String,
    /// The batch of the one that was really made.
    batch: String,
    parts: Vec<Part>,
    /// Minor units.
    pub amount: u128,
    /// ISO 4217.
    pub currency: String,
    /// When it was prepared, fulfilled and recorded.
    pub at: [u64; 3],
}

fn text(value: &Value, member: &str) -> anyhow::Result<String> {
    let found = value[member].as_str();
    Ok(found
        .with_context(|| format!("`{member}` of {value}"))?
        .to_owned())
}

impl Template {
    /// A transfer that was committed, and recorded in a batch.
    ///
    /// # Errors
    /// When there is none.
    pub fn find(store: &SqliteStore, collections: &[Collection]) -> anyhow::Result<Self> {
        let entries = kept(store, collections, "entries")?;
        let reservations = kept(store, collections, "reservations")?;
        let transfers = all(store, collections, "transfers", "transfers")?;
        let steps = ["prepare", "fulfil", "settlement"];
        let is_whole = |id: &&String| {
            let has = |step: &&str| entries.contains_key(&format!("{id}:{step}"));
            transfers.contains_key(*id) && steps.iter().all(has)
        };
        let id = reservations.keys().find(is_whole);
        let id =
            id.context("no transfer of the store is committed and recorded: make a payment first")?;
        let body = |text: &str| serde_json::from_str::<Value>(text);
        let reservation = body(&reservations[id].body)?;
        let record = body(&entries[&format!("{id}:settlement")].body)?;
        let owner = |account: &str| account.split(':').next().unwrap_or_default().to_owned();
        let debit = text(&record, "debitAccount")?;
        let batch = debit.rsplit(':').next().unwrap_or_default().to_owned();
        let mut template = Self {
            id: id.clone(),
            payer: text(&reservation, "payer")?,
            payee: owner(&text(&record, "creditAccount")?),
            batch,
            parts: Vec::new(),
            amount: text(&reservation, "amount")?.parse()?,
            currency: text(&reservation, "currency")?,
            at: [0; 3],
        };
        for (at, step) in template.at.iter_mut().zip(steps) {
            let posted = body(&entries[&format!("{id}:{step}")].body)?;
            *at = posted["postedAt"].as_u64().context("when it was posted")?;
        }
        let mut part = |component, name, of: &rialto_engine::store::StoredDocument| {
            let is_it = |c: &&Collection| &*c.component == component && &*c.name == name;
            let collection = collections.iter().find(is_it).map(|c| c.id);
            template.parts.push(Part {
                collection: collection.unwrap_or(CollectionId(0)),
                id: of.id.to_string(),
                version: of.version,
                body: of.body.to_string(),
            });
        };
        part("transfers", "transfers", &transfers[id]);
        part(KEEPER, "reservations", &reservations[id]);
        for step in steps {
            part(KEEPER, "entries", &entries[&format!("{id}:{step}")]);
        }
        Ok(template)
    }

    /// Bytes of its documents.
    pub fn bytes(&self) -> usize {
        self.parts
            .iter()
            .map(|part| part.id.len() + part.body.len())
            .sum()
    }

    /// The two real participants, which do not change.
    pub fn is_of(&self, participant: &str) -> bool {
        participant == self.payer || participant == self.payee
    }

    /// Write a copy.
    pub(crate) fn write(
        &self,
        sink: &mut Sink<'_>,
        id: &str,
        payer: &str,
        payee: &str,
    ) -> anyhow::Result<()> {
        // Both at once: one's name may be a part of the other's copy.
        for part in &self.parts {
            let copy = |text: &str| {
                text.replace(&self.id, id)
                    .replace(&self.batch, BATCH)
                    .replace(&self.payer, "\u{1}")
                    .replace(&self.payee, "\u{2}")
                    .replace('\u{1}', payer)
                    .replace('\u{2}', payee)
            };
            sink.put(
                part.collection,
                &copy(&part.id),
                part.version,
                &copy(&part.body),
            )?;
        }
        Ok(())
    }
}
