//! `audit-log`: reading the audit log.

use crate::bindings::rialto::host::audit_log::{Filter, Host, Page};
use crate::guest::Guest;

/// The most entries of a page.
const LIMIT_MAX: u32 = 1_000;
/// The most texts of a filter, and the longest one, in bytes.
const TEXTS_MAX: usize = 8;
const TEXT_BYTES_MAX: usize = 512;

impl Host for Guest {
    fn search(
        &mut self,
        filter: Filter,
        first: u64,
        limit: u32,
    ) -> wasmtime::Result<Result<Page, String>> {
        self.turn()?;
        let texts = &filter.texts;
        let is_long = |text: &String| text.len() > TEXT_BYTES_MAX;
        if !(1..=LIMIT_MAX).contains(&limit) || texts.len() > TEXTS_MAX || texts.iter().any(is_long)
        {
            return Err(wasmtime::format_err!(
                "`{}` searches the audit log with {} texts and a limit of {limit}; it may have {TEXTS_MAX} texts of {TEXT_BYTES_MAX} bytes, and a limit of 1 to {LIMIT_MAX}",
                self.identity.name,
                texts.len()
            ));
        }
        Ok(self.identity.audit_log.search(&filter, first, limit))
    }
}
