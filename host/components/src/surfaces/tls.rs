//! `tls`: which TLS files the host uses, and reading them again.

use crate::bindings::rialto::host::tls::{File, Host, Reading};
use crate::guest::Guest;

impl Host for Guest {
    fn files(&mut self) -> wasmtime::Result<Vec<File>> {
        self.turn()?;
        let files = self.identity.tls.files().into_iter();
        let files = files.map(|file| File {
            place: file.place,
            kind: file.kind.to_owned(),
            expires_at: file.expires_at,
        });
        Ok(files.collect())
    }

    fn read_again(&mut self) -> wasmtime::Result<Vec<Reading>> {
        self.turn()?;
        let identity = self.identity.clone();
        // Reading from a disk is not the component's time.
        let readings = self.deadline.without(|| identity.tls.read_again());
        let readings = readings.into_iter().map(|reading| Reading {
            place: reading.place,
            is_usable: reading.is_usable,
        });
        Ok(readings.collect())
    }
}
