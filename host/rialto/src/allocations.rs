//! The allocator of the program `rialto`. Builds with debug assertions count what it is asked for, so that a test can
//! tell how much memory a payment takes. Other builds count nothing, because counting costs a payment some percent.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicU64, Ordering};

use mimalloc::MiMalloc;

static COUNT: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

/// Allocations since the start of the process: how often and how many bytes. A reallocation counts like a new one.
/// None in builds that do not count.
#[must_use]
pub fn allocations() -> Option<(u64, u64)> {
    cfg!(debug_assertions).then(|| (COUNT.load(Ordering::Relaxed), BYTES.load(Ordering::Relaxed)))
}

/// mimalloc, and the counts.
#[derive(Clone, Copy, Debug)]
pub struct Allocator;

fn count(bytes: usize) {
    if cfg!(debug_assertions) {
        COUNT.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

// SAFETY: mimalloc keeps the contract of `GlobalAlloc`, and gets each call as it came.
#[allow(unsafe_code, reason = "an allocator cannot be written without it")]
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promises.
        unsafe { MiMalloc.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promises.
        unsafe { MiMalloc.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: the caller's promises.
        unsafe { MiMalloc.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises.
        unsafe { MiMalloc.dealloc(block, layout) }
    }
}
