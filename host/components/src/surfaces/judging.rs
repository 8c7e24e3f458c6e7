//! `judging`: by which release's rules a component's requests are judged.

use crate::bindings::rialto::host::judging::Host;
use crate::guest::Guest;
use crate::judges::Agreed;

impl Host for Guest {
    fn current_release(&mut self) -> wasmtime::Result<u64> {
        self.turn_ref()?;
        let active = self.active.as_ref();
        Ok(active.map_or(0, |active| active.release.number))
    }

    fn judge_as_agreed(&mut self, release: u64, at: u64) -> wasmtime::Result<()> {
        self.turn_ref()?;
        if let Some(active) = &mut self.active {
            active.agreed = (release > 0).then_some(Agreed { release, at });
        }
        Ok(())
    }
}
