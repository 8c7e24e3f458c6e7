//! Fills a store with committed transfers, as a host would have left them: to measure how a host does
//! on a store of millions, which to pay one by one would take days.
//!
//! A transfer that was really made is the template: its documents are copied with other ids, other
//! participants and their accounts. They go through the store's own way (a group, the journal, the
//! flush), in two rounds in the order of their ids, which lie over the whole room of ids by chance: that takes
//! minutes where an order by chance takes hours, and a host that goes on meets them anywhere, as in life. Sums, histories and what explains them are kept right: `rialto ledger check` on the
//! filled store is the filler's own test.
//!
//! Transfers are pairs, there and back, so that balances do not change. They are in a batch of their own, which
//! counts as settled. Quotes, receipts and histories of turns are not copied. The batch has no document, only
//! accounts.

#![forbid(unsafe_code)]

pub mod accounts;
pub mod scheme;
pub mod template;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use rialto_engine::store::{
    Collection, DocumentWrite, Group, ScanRange, Store as _, StoredDocument,
};
use rialto_engine::{CollectionId, Lsn};
use rialto_store_sqlite::SqliteStore;

use accounts::{Accounts, KEEPER};
use template::Template;

/// Documents of a group, roughly.
const GROUP: usize = 5_000;
/// Transfers after which it is said how far it is.
const TOLD: u64 = 100_000;
/// Bytes on the disk for each byte of a document: keys, index, room in pages, the journal beside.
const ON_DISK: f64 = 1.6;

/// What to do.
#[derive(Clone, Copy, Debug)]
pub struct Fill {
    /// How many transfers; an even number.
    pub transfers: u64,
    /// The same seed fills with the same ids.
    pub seed: u64,
}

/// The result.
#[derive(Clone, Copy, Debug)]
pub struct Filled {
    /// Transfers.
    pub transfers: u64,
    /// Documents.
    pub documents: u64,
    /// Bytes that the store's files have grown by; of few transfers it says nothing, for the log beside the
    /// database has room for some.
    pub bytes: u64,
    /// How long it took.
    pub seconds: f64,
}

/// Where documents are written.
pub(crate) struct Sink<'a> {
    store: &'a SqliteStore,
    lsn: u64,
    next_id: u64,
    collections: Vec<Collection>,
    fresh: Vec<Collection>,
    documents: Vec<DocumentWrite>,
    written: u64,
}

impl Sink<'_> {
    pub(crate) fn collection(&mut self, component: &str, name: &str) -> CollectionId {
        let is_it = |c: &&Collection| &*c.component == component && &*c.name == name;
        if let Some(known) = self.collections.iter().find(is_it) {
            return known.id;
        }
        let last = self.collections.iter().map(|c| c.id.0).max().unwrap_or(0);
        let new = Collection {
            id: CollectionId(last + 1),
            component: component.into(),
            name: name.into(),
        };
        self.collections.push(new.clone());
        self.fresh.push(new.clone());
        new.id
    }

    pub(crate) fn put(
        &mut self,
        collection: CollectionId,
        id: &str,
        version: u64,
        body: &str,
    ) -> anyhow::Result<()> {
        self.documents.push(DocumentWrite {
            collection,
            id: id.into(),
            version,
            body: Some(body.into()),
        });
        if self.documents.len() >= GROUP {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> anyhow::Result<()> {
        self.lsn += 1;
        self.written += self.documents.len() as u64;
        let group = Group {
            lsn: Lsn(self.lsn),
            next_id: self.next_id,
            collections: std::mem::take(&mut self.fresh),
            documents: std::mem::take(&mut self.documents),
            turns: 1,
            ..Group::default()
        };
        self.store.write(&group).context("writing to the store")
    }
}

/// Fill the store in this folder, which no host has open and in which a transfer was made.
///
/// # Errors
/// When there is nothing to copy, too little room, or the store cannot be read or written.
pub fn fill(state: &Path, fill: Fill, tell: &mut dyn FnMut(&str)) -> anyhow::Result<Filled> {
    ensure!(
        fill.transfers.is_multiple_of(2),
        "transfers come in pairs: give an even number"
    );
    let database = state.join("rialto.db");
    // What its last host left in the journal and the log is no part of what the filling takes.
    SqliteStore::open(state)?
        .recover()
        .context("reading the store")?;
    let before = size(&database)?;
    let store = SqliteStore::open(state)?;
    let recovered = store.recover().context("reading the store")?;
    let mut sink = Sink {
        store: &store,
        lsn: recovered.lsn.0,
        next_id: recovered.next_id,
        collections: recovered.collections,
        fresh: Vec::new(),
        documents: Vec::with_capacity(GROUP),
        written: 0,
    };
    let template = Template::find(&store, &sink.collections)?;
    let mut accounts = Accounts::read(&mut sink, &template)?;
    room(state, fill.transfers, &template)?;
    let began = Instant::now();
    let mut chance = StdRng::seed_from_u64(fill.seed);
    let mut made = 0;
    while made < fill.transfers {
        let (a, b) = accounts.two(&mut chance);
        for (payer, payee) in [(a, b), (b, a)] {
            let id = id(made, fill.transfers, &mut chance);
            template.write(&mut sink, &id, accounts.name(payer), accounts.name(payee))?;
            accounts.transfer(&mut sink, &id, payer, payee)?;
            made += 1;
            if made.is_multiple_of(TOLD) {
                let seconds = began.elapsed().as_secs_f64();
                tell(&format!(
                    "{made} transfers in {seconds:.0} s: {TOLD} take {:.1} s, {:.0} bytes each",
                    seconds * TOLD as f64 / made as f64,
                    size(&database)?.saturating_sub(before) as f64 / made as f64
                ));
            }
        }
    }
    accounts.write(&mut sink)?;
    sink.flush()?;
    let documents = sink.written;
    drop(store);
    Ok(Filled {
        transfers: made,
        documents,
        bytes: size(&database)?.saturating_sub(before),
        seconds: began.elapsed().as_secs_f64(),
    })
}

/// The id of the transfer of this number: random, and greater than the one before, but that there are two
/// rounds through the ids. Of all the ids there are, each transfer of a round has its own part to draw
/// from. The first round leaves the pages of an index full, the second one halves many of them: so they
/// have room again, as in life.
fn id(number: u64, transfers: u64, chance: &mut StdRng) -> String {
    let first = transfers - transfers * 3 / 10;
    let (number, of) = match number.checked_sub(first) {
        None => (number, first),
        Some(number) => (number, transfers - first),
    };
    let part = u64::MAX / of;
    let upper = number * part + chance.random_range(0..part);
    let lower: u64 = chance.random();
    let bytes = ((u128::from(upper) << 64) | u128::from(lower)).to_be_bytes();
    let id = uuid::Builder::from_random_bytes(bytes).into_uuid();
    id.to_string()
}

fn size(database: &Path) -> anyhow::Result<u64> {
    let wal = database.with_extension("db-wal");
    let wal = std::fs::metadata(wal).map_or(0, |of| of.len());
    let of = std::fs::metadata(database);
    let of = of.with_context(|| format!("there is no store in {}", database.display()))?;
    Ok(of.len() + wal)
}

/// Refuse what would not fit on the disk.
fn room(state: &Path, transfers: u64, template: &Template) -> anyhow::Result<()> {
    let each = (template.bytes() as f64 * ON_DISK) as u64;
    let wanted = transfers.saturating_mul(each);
    let shown = Command::new("df").arg("-Pk").arg(state).output();
    let shown = shown.context("asking how much room there is")?;
    let text = String::from_utf8_lossy(&shown.stdout);
    let available = text
        .lines()
        .nth(1)
        .and_then(|line| line.split_whitespace().nth(3));
    let Some(kilobytes) = available.and_then(|text| text.parse::<u64>().ok()) else {
        bail!("`df -Pk` does not say how much room there is: {text}");
    };
    let available = kilobytes.saturating_mul(1024);
    ensure!(
        wanted < available,
        "{transfers} transfers of about {each} bytes take {} MiB; there are {} MiB",
        wanted >> 20,
        available >> 20
    );
    Ok(())
}

/// All documents of a collection, by their ids.
pub(crate) fn all(
    store: &SqliteStore,
    collections: &[Collection],
    component: &str,
    name: &str,
) -> anyhow::Result<BTreeMap<String, StoredDocument>> {
    let found = collections
        .iter()
        .find(|c| &*c.component == component && &*c.name == name);
    let Some(found) = found else {
        bail!("the store has no `{name}` of `{component}`: make a payment first");
    };
    let documents = store.scan(found.id, &ScanRange::all(), u32::MAX)?;
    Ok(documents
        .into_iter()
        .map(|document| (document.id.to_string(), document))
        .collect())
}

/// The component that keeps accounts, and a document of it.
pub(crate) fn kept(
    store: &SqliteStore,
    collections: &[Collection],
    name: &str,
) -> anyhow::Result<BTreeMap<String, StoredDocument>> {
    all(store, collections, KEEPER, name)
}
