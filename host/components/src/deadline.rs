//! Deadlines: how long a call may run, in processor time of its thread.
//!
//! A call that waits for a processor, or for the disk, uses none of its time: on a busy machine no call fails
//! that would have succeeded on an idle one. A call ends in any case when its client waits no longer.
//!
//! The clock of a thread's processor time costs a system call. So it is first read some milliseconds after the
//! beginning of a call, which most calls do not reach. That time is not counted.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use wasmtime::{StoreContextMut, Trap, UpdateDeadline};

use crate::config::EPOCH_TICK_MS;
use crate::failures::FailureKind;
use crate::guest::Guest;

/// The first look at a call is after this many epochs, the one that has begun included.
pub(crate) const FIRST_LOOK_EPOCHS: u64 = 2;

/// The time of a call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Deadline {
    limit: Duration,
    /// The thread's processor time at the first look.
    since: Option<Duration>,
}

impl Deadline {
    /// The time of a call that begins now.
    pub fn of_ms(limit_ms: u64) -> Self {
        Self {
            limit: Duration::from_millis(limit_ms),
            since: None,
        }
    }

    /// Do not count what a piece of work of the host takes, such as making a long key.
    pub fn without<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let began = thread_time();
        let result = work();
        if let Some(since) = &mut self.since {
            *since += thread_time().saturating_sub(began);
        }
        result
    }

    /// What is left at this processor time; none if nothing is.
    fn left(&mut self, now: Duration) -> Option<Duration> {
        let since = *self.since.get_or_insert(now);
        let left = self.limit.saturating_sub(now.saturating_sub(since));
        (!left.is_zero()).then_some(left)
    }
}

/// Look at a running call: it goes on until its time may be over.
///
/// # Errors
/// [`Trap::Interrupt`] when it is over; another trap if a drill wants one.
pub(crate) fn look(mut store: StoreContextMut<'_, Guest>) -> wasmtime::Result<UpdateDeadline> {
    let guest = store.data_mut();
    if guest.drilled == Some(FailureKind::Trap) {
        return Err(Trap::UnreachableCodeReached.into());
    }
    let turn = guest.active.as_ref().map(|active| &active.turn);
    let clients = turn.and_then(|turn| turn.left_us());
    let left = guest.deadline.left(thread_time());
    match (left, clients) {
        (None, _) | (_, Some(0)) => Err(Trap::Interrupt.into()),
        (Some(left), clients) => {
            let clients = clients.map_or(Duration::MAX, Duration::from_micros);
            let epochs = left.min(clients).as_millis() / u128::from(EPOCH_TICK_MS);
            let epochs = u64::try_from(epochs).unwrap_or(u64::MAX / 2);
            Ok(UpdateDeadline::Continue(epochs + 1))
        }
    }
}

/// The processor time that this thread has used.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    // The kernel's value is not negative, and its nanoseconds are below one second.
    let seconds = Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or_default());
    seconds + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_processor_time_after_the_first_look_counts() {
        let ms = Duration::from_millis;
        let mut deadline = Deadline::of_ms(50);
        assert_eq!(deadline.left(ms(1_000)), Some(ms(50)));
        assert_eq!(deadline.left(ms(1_049)), Some(ms(1)));
        assert_eq!(deadline.left(ms(1_049)), Some(ms(1)), "it waited");
        assert_eq!(deadline.left(ms(1_050)), None);
        assert_eq!(deadline.left(ms(1_051)), None);
    }
}
