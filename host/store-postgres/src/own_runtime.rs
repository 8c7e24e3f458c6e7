//! The runtime of a store. Whoever drops the store last may be a task of another runtime, where nobody may block.

use std::ops::Deref;

use tokio::runtime::{Handle, Runtime};

/// A runtime that may be dropped anywhere. Its tasks end then, without being waited for.
pub(crate) struct OwnRuntime(Option<Runtime>);

impl OwnRuntime {
    pub fn new(runtime: Runtime) -> Self {
        Self(Some(runtime))
    }
}

impl Deref for OwnRuntime {
    type Target = Runtime;

    fn deref(&self) -> &Runtime {
        // It is there until this is dropped.
        self.0
            .as_ref()
            .expect("the runtime is taken at the drop alone")
    }
}

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Do something that blocks, on this thread, or beside it if it is one of a runtime.
pub(crate) fn blocking(work: impl FnOnce() + Send) {
    if Handle::try_current().is_err() {
        return work();
    }
    std::thread::scope(|scope| {
        // Its panic is this one's.
        scope.spawn(work);
    });
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    #[test]
    fn a_runtime_is_dropped_and_blocks_within_another_one() {
        let outer = Runtime::new().unwrap();
        let inner = OwnRuntime::new(Runtime::new().unwrap());
        let done = outer.block_on(async move {
            let mut done = false;
            blocking(|| done = inner.block_on(async { true }));
            drop(inner);
            done
        });
        assert!(done);
    }
}
