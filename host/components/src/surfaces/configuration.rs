//! `configuration`: the component's settings and the scheme's facts.

use crate::bindings::rialto::host::configuration::Host;
use crate::guest::Guest;

/// How many elements of a list one call returns at most.
const LISTED_MAX: usize = 1_000;

impl Host for Guest {
    fn settings(&mut self) -> wasmtime::Result<String> {
        Ok(self.identity.settings.to_string())
    }

    fn scheme(&mut self) -> wasmtime::Result<String> {
        Ok(self.identity.scheme.to_string())
    }

    fn scheme_list(&mut self, name: String, first: u32, limit: u32) -> wasmtime::Result<String> {
        let list = self
            .identity
            .lists
            .get(&name)
            .map_or(&[][..], Vec::as_slice);
        let first = usize::try_from(first).unwrap_or(usize::MAX);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let page = list.iter().skip(first).take(limit.min(LISTED_MAX));
        let page: Vec<&str> = page.map(String::as_str).collect();
        Ok(format!("[{}]", page.join(",")))
    }
}
