//! The locks and atomics that order turns. They are parking_lot's and the standard library's. In this crate's
//! unit tests they are shuttle's, so that a test can try the interleavings of threads (`interleavings.rs`).

#[cfg(not(test))]
pub(crate) use self::real::*;
#[cfg(test)]
pub(crate) use self::tried::*;

#[cfg(not(test))]
mod real {
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

    pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};
}

/// shuttle's primitives with parking_lot's interface.
#[cfg(test)]
mod tried {
    use std::ops::{Deref, DerefMut};
    use std::sync::PoisonError;
    use std::time::Duration;

    use shuttle::sync;
    pub(crate) use shuttle::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

    #[derive(Default)]
    pub(crate) struct Mutex<T>(sync::Mutex<T>);

    /// None inside only while its thread waits for a signal.
    pub(crate) struct MutexGuard<'a, T>(Option<sync::MutexGuard<'a, T>>);

    impl<T> Mutex<T> {
        pub fn new(value: T) -> Self {
            Self(sync::Mutex::new(value))
        }

        pub fn lock(&self) -> MutexGuard<'_, T> {
            MutexGuard(Some(self.0.lock().unwrap_or_else(PoisonError::into_inner)))
        }
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;
        fn deref(&self) -> &T {
            self.0.as_ref().expect("its thread does not wait")
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            self.0.as_mut().expect("its thread does not wait")
        }
    }

    #[derive(Default)]
    pub(crate) struct Condvar(sync::Condvar);

    impl Condvar {
        pub fn notify_one(&self) {
            self.0.notify_one();
        }

        pub fn notify_all(&self) {
            self.0.notify_all();
        }

        pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
            guard.0 = guard.0.take().map(|inner| {
                let woken = self.0.wait(inner);
                woken.unwrap_or_else(PoisonError::into_inner)
            });
        }

        /// shuttle has no time, so this ends by a signal alone.
        pub fn wait_for<T>(
            &self,
            guard: &mut MutexGuard<'_, T>,
            time: Duration,
        ) -> sync::WaitTimeoutResult {
            let inner = guard.0.take().expect("its thread does not wait");
            let woken = self.0.wait_timeout(inner, time);
            let (inner, ended) = woken.unwrap_or_else(PoisonError::into_inner);
            guard.0 = Some(inner);
            ended
        }
    }

    #[derive(Default)]
    pub(crate) struct RwLock<T>(sync::RwLock<T>);

    impl<T> RwLock<T> {
        pub fn read(&self) -> sync::RwLockReadGuard<'_, T> {
            self.0.read().unwrap_or_else(PoisonError::into_inner)
        }

        pub fn write(&self) -> sync::RwLockWriteGuard<'_, T> {
            self.0.write().unwrap_or_else(PoisonError::into_inner)
        }
    }
}
