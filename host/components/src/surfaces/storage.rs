//! `storage`: the component's own documents.
//!
//! Linked by hand: the generated trait takes and gives owned strings, so each body would be copied twice.

use rialto_engine::store::ScanRange;
use rialto_engine::{DocumentKey, Interrupt, Name, Turn};
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, WasmStr};

use super::interrupt;
use crate::bindings::rialto::host::storage::{Document, Page, Range};
use crate::guest::Guest;

/// The interface's name.
const INTERFACE: &str = "rialto:host/storage@0.1.0";

/// A document, as a component names it: its collection and its id.
type Named = (WasmStr, Name);

/// Link the interface.
///
/// # Errors
/// When it is linked already.
pub fn link(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    let mut storage = linker.instance(INTERFACE)?;
    storage.func_wrap("get", |mut store, named: Named| {
        let body = get(&mut store, named)?;
        Ok((body,))
    })?;
    storage.func_wrap("get-for-update", |mut store, named: Named| {
        let body = on(&mut store, named, Turn::read_for_update)?;
        Ok((body,))
    })?;
    storage.func_wrap("put", |mut store, (collection, id, body): (_, _, Name)| {
        on(&mut store, (collection, id), |turn, key| {
            turn.write(key, body)
        })
    })?;
    storage.func_wrap(
        "insert-if-absent",
        |mut store, (collection, id, body): (_, _, Name)| {
            let written = on(&mut store, (collection, id), |turn, key| {
                turn.insert_if_absent(key, body)
            })?;
            Ok((written,))
        },
    )?;
    storage.func_wrap("delete", |mut store, named: Named| {
        let existed = on(&mut store, named, Turn::delete)?;
        Ok((existed,))
    })?;
    storage.func_wrap(
        "scan",
        |mut store, (collection, range, cursor, limit): (String, _, _, u32)| {
            let page = scan(store.data_mut().acts(), &collection, range, cursor, limit)?;
            Ok((page,))
        },
    )
}

/// Read a document of the component.
fn get(store: &mut StoreContextMut<'_, Guest>, named: Named) -> wasmtime::Result<Option<Name>> {
    let key = key(store, named)?;
    let guest = store.data_mut();
    let known = guest.active.as_ref().filter(|a| a.reading.is_some());
    let known = known.map(|_| key.clone());
    let body = interrupt(guest.turn()?.read(key))?;
    if let (Some(active), Some(key)) = (&mut guest.active, known) {
        active.has_read(key, body.as_ref());
    }
    Ok(body)
}

/// Do something with a document of the component.
fn on<T>(
    store: &mut StoreContextMut<'_, Guest>,
    named: Named,
    act: impl FnOnce(&mut Turn, DocumentKey) -> Result<T, Interrupt>,
) -> wasmtime::Result<T> {
    let key = key(store, named)?;
    interrupt(act(store.data_mut().acts().turn()?, key))
}

fn key(
    store: &StoreContextMut<'_, Guest>,
    (collection, id): Named,
) -> wasmtime::Result<DocumentKey> {
    let guest = store.data();
    let collection = collection.to_str(store)?;
    interrupt(guest.turn_ref()?.key(&guest.identity.name, &collection, id))
}

fn scan(
    guest: &mut Guest,
    collection: &str,
    range: Range,
    cursor: Option<String>,
    limit: u32,
) -> wasmtime::Result<Page> {
    let owner = guest.identity.name.clone();
    let mut range = match range {
        Range::All => ScanRange::all(),
        Range::Prefix(prefix) => ScanRange::prefix(&prefix),
        Range::Between((from, to)) => ScanRange { from, to: Some(to) },
    };
    if let Some(cursor) = cursor
        && cursor > range.from
    {
        range.from = cursor;
    }
    let found = interrupt(guest.turn()?.scan(&owner, collection, &range, limit))?;
    // The next id in byte order after the last one found.
    let last = found.documents.last().filter(|_| found.more);
    let cursor = last.map(|document| format!("{}\0", document.id));
    let documents = found.documents.into_iter().map(|document| Document {
        id: document.id.to_string(),
        body: document.body.to_string(),
    });
    Ok(Page {
        documents: documents.collect(),
        cursor,
    })
}
