//! `judging`: by which release's rules a component's requests are judged, and what rules would say about drafts.

use crate::bindings::rialto::host::judging::{Host, WhatIfVerdict, WhatIfViolation};
use crate::guest::Guest;
use crate::judges::Agreed;
use crate::what_if::ToldVerdict;

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
        self.turn_ref()?;
        let active = self.active.as_mut();
        let told = active.and_then(|active| active.what_if.as_mut());
        let told = told.map(std::mem::take).unwrap_or_default();
        Ok(told.into_iter().map(verdict).collect())
    }
}

fn verdict(told: ToldVerdict) -> WhatIfVerdict {
    let violations = told.violations.map(|all| {
        let all = all.into_iter().map(|one| WhatIfViolation {
            code: one.code,
            message: one.message,
        });
        all.collect()
    });
    WhatIfVerdict {
        rule: told.rule.to_string(),
        version: told.version,
        summary: told.summary,
        settings: told.settings,
        violations,
    }
}
