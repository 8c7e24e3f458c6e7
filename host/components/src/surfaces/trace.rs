//! `trace`: marks of the branches that a rule takes.

use crate::bindings::rialto::host::trace::Host;
use crate::guest::Guest;

/// The different labels of one call.
const LABELS_MAX: usize = 32;
/// Bytes of a label.
const LABEL_BYTES_MAX: usize = 64;

impl Host for Guest {
    fn branch(&mut self, label: String) -> wasmtime::Result<()> {
        let label = &label[..label.floor_char_boundary(LABEL_BYTES_MAX)];
        let has_room = self.branches.len() < LABELS_MAX;
        if has_room && !self.branches.iter().any(|known| known == label) {
            self.branches.push(label.to_owned());
        }
        Ok(())
    }
}
