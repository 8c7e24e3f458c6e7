//! Orders, and the bad ones among them.

use std::hint::black_box;

/// Bytes per allocation, until allocation fails.
const BITE: usize = 1 << 20;

/// An order for the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order<'a> {
    /// Answer.
    Nothing,
    /// Write a document.
    Write {
        /// Its id.
        id: &'a str,
        /// Its body.
        body: &'a str,
    },
    /// Add one to each count in a document of [`Counted`](crate::counted::Counted), and answer its body.
    Count(&'a str),
    /// Write the document `written`, then obey.
    WriteThen(&'a str),
    /// Panic.
    Trap,
    /// Never answer.
    Loop,
    /// Allocate memory until allocation fails.
    EatMemory,
    /// Call itself without end.
    Recurse,
    /// Ask the rules for transfers about an amount in minor units.
    Prepare(u64),
    /// Ask the rules for quotes about an amount in minor units.
    Quote(u64),
    /// Have what an order asks judged by the rules of a release at an instant.
    Agreed(u64, u64, &'a str),
    /// Answer the number of the release.
    Release,
    /// Call the friend with an order.
    Call(&'a str),
    /// Call the friend with an order, a number of times.
    Calls(u32, &'a str),
    /// Note how long the friend's document is, and answer that with what was noted before.
    Copy,
    /// Have the friend make its document one longer than what was noted.
    Raise,
    /// Publish an event whose consumer obeys an order.
    Publish(&'a str),
}

impl<'a> Order<'a> {
    /// Read an order.
    #[must_use]
    pub fn read(text: &'a str) -> Option<Self> {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        let order = match word {
            "write" => {
                let (id, body) = rest.split_once(' ')?;
                return Some(Self::Write { id, body });
            }
            "count" => return Some(Self::Count(rest)),
            "write-then" => return Some(Self::WriteThen(rest)),
            "prepare" => return rest.parse().ok().map(Self::Prepare),
            "quote" => return rest.parse().ok().map(Self::Quote),
            "agreed" => {
                let mut words = rest.splitn(3, ' ');
                let (release, at) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
                return Some(Self::Agreed(release, at, words.next()?));
            }
            "call" => return Some(Self::Call(rest)),
            "calls" => {
                let (count, next) = rest.split_once(' ')?;
                return Some(Self::Calls(count.parse().ok()?, next));
            }
            "publish" => return Some(Self::Publish(rest)),
            "nothing" => Self::Nothing,
            "copy" => Self::Copy,
            "raise" => Self::Raise,
            "release" => Self::Release,
            "trap" => Self::Trap,
            "loop" => Self::Loop,
            "eat-memory" => Self::EatMemory,
            "recurse" => Self::Recurse,
            _ => return None,
        };
        rest.is_empty().then_some(order)
    }
}

/// Never answer.
pub fn endless() -> ! {
    let mut turns: u64 = 0;
    loop {
        turns = black_box(turns.wrapping_add(1));
    }
}

/// Allocate memory until allocation fails.
pub fn eat_memory() -> ! {
    loop {
        std::mem::forget(black_box(Vec::<u8>::with_capacity(BITE)));
    }
}

/// Each level adds to the sum after its inner one, so that the compiler cannot make it a loop. Levels use much
/// linear memory, so that the component's own stack overflows.
#[inline(never)]
#[allow(
    unconditional_recursion,
    reason = "it is what the host must end with a stack overflow"
)]
#[must_use]
pub fn recurse(depth: u64) -> u64 {
    let frame = black_box([depth; 128]);
    black_box(recurse(frame[7] + 1)) + frame[3]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_with_what_belongs_to_them() {
        assert_eq!(Order::read("nothing"), Some(Order::Nothing));
        assert_eq!(
            Order::read("write a {\"b\": 1}"),
            Some(Order::Write {
                id: "a",
                body: "{\"b\": 1}"
            })
        );
        assert_eq!(
            Order::read("call publish trap"),
            Some(Order::Call("publish trap"))
        );
        assert_eq!(Order::read("count a"), Some(Order::Count("a")));
        assert_eq!(Order::read("prepare 12"), Some(Order::Prepare(12)));
        let agreed = Order::read("agreed 3 7 prepare 12");
        assert_eq!(agreed, Some(Order::Agreed(3, 7, "prepare 12")));
        assert_eq!(
            Order::read("calls 3 nothing"),
            Some(Order::Calls(3, "nothing"))
        );
        for wrong in ["", "trap now", "prepare", "prepare x", "write a", "dance"] {
            assert_eq!(Order::read(wrong), None, "{wrong}");
        }
    }
}
