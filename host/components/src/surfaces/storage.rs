//! `storage`: the component's own documents.

use rialto_engine::store::ScanRange;

use super::interrupt;
use crate::bindings::rialto::host::storage::{Document, Host, Page, Range};
use crate::guest::Guest;

impl Host for Guest {
    fn get(&mut self, collection: String, id: String) -> wasmtime::Result<Option<String>> {
        let owner = self.identity.name.clone();
        let body = interrupt(self.turn()?.read(&owner, &collection, &id))?;
        Ok(body.map(|body| body.to_string()))
    }

    fn get_for_update(
        &mut self,
        collection: String,
        id: String,
    ) -> wasmtime::Result<Option<String>> {
        let owner = self.identity.name.clone();
        let body = interrupt(self.turn()?.read_for_update(&owner, &collection, &id))?;
        Ok(body.map(|body| body.to_string()))
    }

    fn put(&mut self, collection: String, id: String, body: String) -> wasmtime::Result<()> {
        let owner = self.identity.name.clone();
        interrupt(self.turn()?.write(&owner, &collection, &id, &body))
    }

    fn insert_if_absent(
        &mut self,
        collection: String,
        id: String,
        body: String,
    ) -> wasmtime::Result<bool> {
        let owner = self.identity.name.clone();
        interrupt(
            self.turn()?
                .insert_if_absent(&owner, &collection, &id, &body),
        )
    }

    fn delete(&mut self, collection: String, id: String) -> wasmtime::Result<bool> {
        let owner = self.identity.name.clone();
        interrupt(self.turn()?.delete(&owner, &collection, &id))
    }

    fn scan(
        &mut self,
        collection: String,
        range: Range,
        cursor: Option<String>,
        limit: u32,
    ) -> wasmtime::Result<Page> {
        let owner = self.identity.name.clone();
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
        let found = interrupt(self.turn()?.scan(&owner, &collection, &range, limit))?;
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
}
