//! Free lists of small blocks, in front of another allocator.
//!
//! JSON makes and drops thousands of short strings in a call. A general allocator looks for a gap of the right size
//! for each and joins neighbours again; here a block is put on the list of its size and taken from there. Lists are
//! bounded, and longer blocks go to the other allocator at once.
//!
//! For one thread alone.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::ptr;

/// Sizes are multiples of this, which is also the alignment of all blocks.
const STEP: usize = 16;
/// The number of sizes.
const SIZES: usize = 32;
/// The longest block that has a list, in bytes.
const LONGEST: usize = STEP * SIZES;
/// The bytes that one list may keep.
const LIST_BYTES_MAX: usize = 64 << 10;

/// A free block begins with the next one of its list.
struct Free {
    next: *mut Free,
}

/// The free blocks of one size.
struct List {
    first: Cell<*mut Free>,
    length: Cell<usize>,
}

/// An allocator with lists of small blocks.
pub struct SmallBlocks<A> {
    lists: [List; SIZES],
    others: A,
}

// SAFETY: a component has one thread. Tests give each thread an allocator of its own.
unsafe impl<A> Sync for SmallBlocks<A> {}

impl<A> SmallBlocks<A> {
    /// All blocks come from this allocator.
    pub const fn new(others: A) -> Self {
        Self {
            lists: [const {
                List {
                    first: Cell::new(ptr::null_mut()),
                    length: Cell::new(0),
                }
            }; SIZES],
            others,
        }
    }
}

/// The number of the list for a block, if it is a small one.
#[inline]
fn list_of(layout: Layout) -> Option<usize> {
    // A layout of no bytes is never allocated.
    let is_small = layout.size() <= LONGEST && layout.align() <= STEP;
    is_small.then(|| layout.size().saturating_sub(1) / STEP)
}

/// How a small block of a list is allocated.
#[inline]
fn whole(size: usize) -> Layout {
    // SAFETY: the alignment is a power of two, and the bytes are few.
    unsafe { Layout::from_size_align_unchecked((size + 1) * STEP, STEP) }
}

// SAFETY: a block is given to one owner at a time: it leaves its list when it is allocated, and comes back when its
// owner gives it back. Blocks on a list are at least as long and as aligned as any layout of that list, and long
// enough for a pointer.
unsafe impl<A: GlobalAlloc> GlobalAlloc for SmallBlocks<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(size) = list_of(layout) else {
            // SAFETY: the caller's.
            return unsafe { self.others.alloc(layout) };
        };
        let list = &self.lists[size];
        let block = list.first.get();
        if block.is_null() {
            // SAFETY: the layout has bytes.
            return unsafe { self.others.alloc(whole(size)) };
        }
        // SAFETY: the block is free, and begins with the next one.
        list.first.set(unsafe { (*block).next });
        list.length.set(list.length.get() - 1);
        block.cast()
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let Some(size) = list_of(layout) else {
            // SAFETY: the caller's: it was allocated with this layout.
            return unsafe { self.others.dealloc(block, layout) };
        };
        let list = &self.lists[size];
        let length = list.length.get();
        if (length + 1) * whole(size).size() > LIST_BYTES_MAX {
            // SAFETY: all blocks of a list were allocated with its layout.
            return unsafe { self.others.dealloc(block, whole(size)) };
        }
        let free: *mut Free = block.cast();
        // SAFETY: nobody else has the block, which is aligned and long enough.
        unsafe { (*free).next = list.first.get() };
        list.first.set(free);
        list.length.set(length + 1);
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: the caller's: the bytes, rounded up to the alignment, do not overflow.
        let wanted = unsafe { Layout::from_size_align_unchecked(bytes, layout.align()) };
        match (list_of(layout), list_of(wanted)) {
            // The block is long enough as it is.
            (Some(before), Some(after)) if before == after => block,
            // SAFETY: the caller's.
            (None, None) => unsafe { self.others.realloc(block, layout, bytes) },
            // SAFETY: the new block is another one, and both have room for what is copied.
            _ => unsafe {
                let new = self.alloc(wanted);
                if !new.is_null() {
                    ptr::copy_nonoverlapping(block, new, layout.size().min(bytes));
                    self.dealloc(block, layout);
                }
                new
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Dice;
    use std::alloc::System;

    /// Counts what the allocator behind has given and not got back.
    struct Counted {
        bytes: Cell<usize>,
    }

    // SAFETY: all of it is the system's allocator.
    unsafe impl GlobalAlloc for Counted {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            self.bytes.set(self.bytes.get() + layout.size());
            // SAFETY: the caller's.
            unsafe { System.alloc(layout) }
        }
        unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
            self.bytes.set(self.bytes.get() - layout.size());
            // SAFETY: the caller's.
            unsafe { System.dealloc(block, layout) }
        }
    }

    fn counted() -> SmallBlocks<Counted> {
        SmallBlocks::new(Counted {
            bytes: Cell::new(0),
        })
    }

    /// A block that is in use, with the byte that it is filled with.
    struct Used(*mut u8, Layout, u8);

    impl Used {
        fn fill(&self) {
            // SAFETY: the block has so many bytes.
            unsafe { self.0.write_bytes(self.2, self.1.size()) };
        }

        fn check(&self, bytes: usize) {
            for at in 0..bytes {
                // SAFETY: the block has at least so many bytes, all of them written.
                assert_eq!(
                    unsafe { self.0.add(at).read() },
                    self.2,
                    "byte {at} of {:?}",
                    self.1
                );
            }
        }
    }

    #[test]
    fn blocks_keep_their_bytes_whatever_happens_to_others() {
        let heap = counted();
        let mut dice = Dice::new(7);
        let mut used: Vec<Used> = Vec::new();
        for step in 0..20_000_u32 {
            let longest = if dice.chance(12) { 5_000 } else { 600 };
            let size = 1 + dice.below(longest) as usize;
            match dice.below(3) {
                0 => {
                    let layout = Layout::from_size_align(size, 1 << dice.below(6)).unwrap();
                    // SAFETY: the layout has bytes.
                    let block = Used(unsafe { heap.alloc(layout) }, layout, step as u8);
                    assert!(
                        (block.0 as usize).is_multiple_of(layout.align()),
                        "{layout:?}"
                    );
                    block.fill();
                    used.push(block);
                }
                1 if !used.is_empty() => {
                    let at = dice.below(used.len() as u64) as usize;
                    let block = used.swap_remove(at);
                    block.check(block.1.size());
                    // SAFETY: it was allocated with this layout.
                    unsafe { heap.dealloc(block.0, block.1) };
                }
                _ if !used.is_empty() => {
                    let at = dice.below(used.len() as u64) as usize;
                    let Used(block, layout, byte) = used.swap_remove(at);
                    // SAFETY: it was allocated with this layout.
                    let moved = unsafe { heap.realloc(block, layout, size) };
                    let new = Layout::from_size_align(size, layout.align()).unwrap();
                    let moved = Used(moved, new, byte);
                    moved.check(size.min(layout.size()));
                    moved.fill();
                    used.push(moved);
                }
                _ => {}
            }
        }
        for block in used {
            block.check(block.1.size());
            // SAFETY: it was allocated with this layout.
            unsafe { heap.dealloc(block.0, block.1) };
        }
        let kept = heap.others.bytes.get();
        assert!(kept <= SIZES * LIST_BYTES_MAX, "{kept} bytes are kept");
    }

    #[test]
    fn freed_small_block_is_the_next_one_of_its_size() {
        let heap = counted();
        let layout = |size| Layout::from_size_align(size, 1).unwrap();
        // SAFETY: all layouts have bytes, and each block is given back once with its own.
        unsafe {
            let first = heap.alloc(layout(17));
            assert_eq!(
                heap.realloc(first, layout(17), 32),
                first,
                "it has 32 bytes"
            );
            heap.dealloc(first, layout(32));
            assert_eq!(heap.alloc(layout(20)), first);
            let long = heap.alloc(layout(LONGEST + 1));
            heap.dealloc(long, layout(LONGEST + 1));
            assert_eq!(heap.others.bytes.get(), 32, "the long one is not kept");
        }
    }

    #[test]
    fn list_keeps_a_bounded_number_of_blocks() {
        let heap = counted();
        let layout = Layout::from_size_align(LONGEST, 8).unwrap();
        // SAFETY: the layout has bytes, and each block is given back once.
        unsafe {
            let blocks: Vec<_> = (0..1_000).map(|_| heap.alloc(layout)).collect();
            blocks
                .into_iter()
                .for_each(|block| heap.dealloc(block, layout));
        }
        assert_eq!(heap.others.bytes.get(), LIST_BYTES_MAX);
    }
}
