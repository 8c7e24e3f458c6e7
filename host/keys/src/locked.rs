//! The bytes of a secret in memory that the system does not write to its swap space.

use std::fmt;
use std::ops::Deref;

use region::LockGuard;
use zeroize::Zeroize as _;

/// Bytes in a page of their own: what is in the same page as another lock would be unlocked with that.
#[repr(align(4096))]
struct Page<const N: usize>([u8; N]);

/// Bytes that stay in the machine's memory (`mlock`) where the system allows that, and are overwritten when they are
/// dropped.
pub(crate) struct Locked<const N: usize> {
    page: Box<Page<N>>,
    /// None if the system does not allow it.
    lock: Option<LockGuard>,
}

impl<const N: usize> Locked<N> {
    /// Copy bytes there.
    pub fn of(bytes: &[u8; N]) -> Self {
        let mut page = Box::new(Page([0; N]));
        let lock = region::lock(page.0.as_ptr(), N);
        let lock = lock.inspect_err(|error| {
            tracing::warn!(
                %error,
                "the memory of a secret could not be locked, so that the system may write it to its swap space: raise the limit of locked memory (`ulimit -l`, LimitMEMLOCK)"
            );
        });
        page.0.copy_from_slice(bytes);
        Self {
            page,
            lock: lock.ok(),
        }
    }

    /// Whether the system allowed it.
    pub const fn is_locked(&self) -> bool {
        self.lock.is_some()
    }
}

impl<const N: usize> Deref for Locked<N> {
    type Target = [u8; N];

    fn deref(&self) -> &[u8; N] {
        &self.page.0
    }
}

impl<const N: usize> Drop for Locked<N> {
    /// The page is unlocked afterwards.
    fn drop(&mut self) {
        self.page.0.zeroize();
    }
}

impl<const N: usize> fmt::Debug for Locked<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a secret")
    }
}
