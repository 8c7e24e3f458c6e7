//! The plugin's heap: lists of small blocks, then an arena in the module's own memory, then more memory.
//!
//! A rule runs in a fresh instance for every call. Growing an instance's memory changes page
//! protections, twice for each call, and costs more than most rules do; a plugin that stays within
//! the arena never grows. Untouched pages of the arena cost nothing.

use core::alloc::Layout;
use core::arch::wasm32;
use core::mem::MaybeUninit;

use talc::base::Talc;
use talc::base::binning::Binning;
use talc::cell::TalcSyncCell;
use talc::source::Source;
use talc::wasm::WasmBinning;

use crate::small_blocks::SmallBlocks;

/// Bytes of the arena.
const ARENA_BYTES: usize = 512 << 10;
/// Bytes of a page of WebAssembly's memory.
const PAGE_BYTES: usize = 64 << 10;
/// More than the allocator's own overhead.
const SPARE_BYTES: usize = 1 << 10;

static mut ARENA: [MaybeUninit<u8>; ARENA_BYTES] = [MaybeUninit::uninit(); ARENA_BYTES];

#[global_allocator]
static HEAP: SmallBlocks<TalcSyncCell<ArenaThenMemory, WasmBinning>> =
    SmallBlocks::new(TalcSyncCell::new_wasm(ArenaThenMemory { arena: true }));

/// Returns the arena once, then grows the memory.
#[derive(Debug)]
struct ArenaThenMemory {
    /// Whether the arena is not used yet.
    arena: bool,
}

// SAFETY: every region that is claimed belongs to the allocator alone: the arena is named nowhere
// else, and grown pages are new.
unsafe impl Source for ArenaThenMemory {
    fn acquire<B: Binning>(talc: &mut Talc<Self, B>, layout: Layout) -> Result<(), ()> {
        let claimed = if core::mem::take(&mut talc.source.arena) {
            // SAFETY: the whole arena, claimed once.
            unsafe { talc.claim((&raw mut ARENA).cast(), ARENA_BYTES) }
        } else {
            let wanted = layout.size() + layout.align() + SPARE_BYTES;
            let pages = wanted.div_ceil(PAGE_BYTES);
            let before = wasm32::memory_grow::<0>(pages);
            if before == usize::MAX {
                return Err(());
            }
            // SAFETY: pages that the module has just been given, and nobody else knows of.
            unsafe { talc.claim((before * PAGE_BYTES) as *mut u8, pages * PAGE_BYTES) }
        };
        claimed.map(|_| ()).ok_or(())
    }
}
