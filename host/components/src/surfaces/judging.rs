//! `judging`: by which release's rules a component's requests are judged, and what rules would say about drafts.

use crate::bindings::rialto::host::judging::{Host, WhatIfVerdict, WhatIfViolation};
use crate::guest::Guest;
use crate::judges::Agreed;
use crate::what_if::{self, ToldVerdict};

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

    fn ask_what_if(&mut self, asker: String, per_minute: u32) -> wasmtime::Result<Result<(), u32>> {
        self.turn_ref()?;
        let Some(active) = &mut self.active else {
            return Err(wasmtime::format_err!("there is no turn"));
        };
        let now = active.turn.now().0;
        let counted = active.release.drafts.count(&asker, per_minute, now);
        if counted.is_ok() {
            active.what_if = Some(Vec::new());
        }
        Ok(counted)
    }

    fn what_if_verdicts(&mut self) -> wasmtime::Result<Vec<WhatIfVerdict>> {
        Ok(told(self)?.iter().map(verdict).collect())
    }

    fn what_if_receipts(&mut self) -> wasmtime::Result<String> {
        let now = self.turn()?.now();
        Ok(what_if::told_receipts(told(self)?, now)?)
    }
}

/// What rules have said about the draft that this component has judged.
fn told(guest: &Guest) -> wasmtime::Result<&[ToldVerdict]> {
    guest.turn_ref()?;
    let active = guest.active.as_ref();
    let told = active.and_then(|active| active.what_if.as_deref());
    Ok(told.unwrap_or_default())
}

fn verdict(told: &ToldVerdict) -> WhatIfVerdict {
    let violations = told.violations.as_ref().map(|all| {
        let all = all.iter().map(|one| WhatIfViolation {
            code: one.code.clone(),
            message: one.message.clone(),
        });
        all.collect()
    });
    WhatIfVerdict {
        rule: told.rule.to_string(),
        version: told.version.clone(),
        summary: told.summary.clone(),
        settings: told.settings.to_string(),
        violations,
    }
}
