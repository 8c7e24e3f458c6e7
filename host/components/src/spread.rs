//! Work on many items, spread over threads: a start has all components and documents of a release to load at once.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Do the work of each item, on so many threads at a time. The results are in the order of the items.
///
/// # Panics
/// When the work of an item does.
pub fn spread<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let some = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else {
                return done;
            };
            done.push((at, work(item)));
        }
    };
    let mut done = thread::scope(|scope| {
        let others = 1..threads.min(items.len());
        // Fewer do it as well, if the system has no more threads.
        let others = others.map_while(|_| thread::Builder::new().spawn_scoped(scope, some).ok());
        let others: Vec<_> = others.collect();
        let mut done = some();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let all: Vec<u32> = (0..1_000).collect();
        let twice: Vec<u32> = all.iter().map(|n| n * 2).collect();
        for threads in [0, 1, 2, 7] {
            assert_eq!(spread(&all, threads, |n| n * 2), twice);
            assert_eq!(spread(&all[..0], threads, |n| n * 2), [0; 0]);
        }
    }

    #[test]
    #[should_panic(expected = "the seventh")]
    fn a_panic_is_the_callers() {
        let all: Vec<u32> = (0..10).collect();
        spread(&all, 2, |n| assert!(*n != 7, "the seventh"));
    }
}
