//! `wasi:clocks`: the turn's instant, the same for the whole turn; for a rule the epoch.

use wasmtime::component::Resource;
use wasmtime_wasi::p2::DynPollable;
use wasmtime_wasi::p2::bindings::clocks::{monotonic_clock, wall_clock};

use super::Source;
use crate::guest::Guest;

/// Nanoseconds of a millisecond, the grain of the turn's clock.
const NS_PER_MS: u64 = 1_000_000;

impl Guest {
    fn wasi_now_ms(&mut self) -> wasmtime::Result<u64> {
        match self.wasi().source {
            Source::Input(_) => Ok(0),
            Source::Turn => Ok(self.turn()?.now().0),
        }
    }

    fn no_waiting<T>(&self, function: &str) -> wasmtime::Result<T> {
        Err(wasmtime::format_err!(
            "`{}` called wasi:clocks/monotonic-clock.{function}, and nothing in a turn waits; what must happen later is a reminder (rialto:host/scheduling)",
            self.identity.name
        ))
    }
}

impl wall_clock::Host for Guest {
    fn now(&mut self) -> wasmtime::Result<wall_clock::Datetime> {
        let now = self.wasi_now_ms()?;
        Ok(wall_clock::Datetime {
            seconds: now / 1_000,
            nanoseconds: u32::try_from(now % 1_000 * NS_PER_MS).unwrap_or(u32::MAX),
        })
    }

    fn resolution(&mut self) -> wasmtime::Result<wall_clock::Datetime> {
        Ok(wall_clock::Datetime {
            seconds: 0,
            nanoseconds: 1_000_000,
        })
    }
}

impl monotonic_clock::Host for Guest {
    fn now(&mut self) -> wasmtime::Result<monotonic_clock::Instant> {
        let now = self.wasi_now_ms()?.saturating_mul(NS_PER_MS);
        let told = &mut self.wasi().told_ns;
        *told = now.max(*told);
        Ok(*told)
    }

    fn resolution(&mut self) -> wasmtime::Result<monotonic_clock::Instant> {
        Ok(NS_PER_MS)
    }

    fn subscribe_instant(
        &mut self,
        _when: monotonic_clock::Instant,
    ) -> wasmtime::Result<Resource<DynPollable>> {
        self.no_waiting("subscribe-instant")
    }

    fn subscribe_duration(
        &mut self,
        _duration: monotonic_clock::Duration,
    ) -> wasmtime::Result<Resource<DynPollable>> {
        self.no_waiting("subscribe-duration")
    }
}
