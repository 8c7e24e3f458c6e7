//! A context that obeys the orders of its caller, good or bad: the target of hostile-context's calls.
//!
//! An order is words: `nothing`, `trap`, `loop`, `write-then ORDER`, `trap-when-activated`, `activate-in-steps
//! COUNT` and `be-good-when-activated`, `log COUNT BYTES` (that many lines of that length), `fill FROM TO
//! BYTES` (documents of that length, numbered so), and `scan LIMIT PREFIX CURSOR` (one page; `*` for no prefix
//! or no cursor), which is answered with the number of documents, the first and the last one's id, and the
//! cursor to go on with. `destroy REFERENCE` destroys a key, and is answered with `destroyed` or the error;
//! `destroy-then-trap REFERENCE` traps when the key is destroyed. `who-calls` is answered with the caller, `read ID` with
//! a document that `fill` wrote. `counted ORDER` adds to the answer how many calls this instance has answered.

/// Bindings generated from `world.wit`.
#[allow(missing_docs)]
pub mod bindings {
    wit_bindgen::generate!({
        world: "rialto:hostile-friend/hostile-friend",
        path: ["../../../wit/common", "../../../wit/host", "../../../wit/rules", "../hostile-context", "."],
        with: {
            "rialto:host/storage@0.1.0": rialto_sdk::bindings::rialto::host::storage,
            "rialto:host/logging@0.1.0": rialto_sdk::bindings::rialto::host::logging,
        },
        generate_all,
    });
}

// Imports and exports have names that no native linker takes.
#[cfg(target_arch = "wasm32")]
mod component {
    //! The exports.

    use std::hint::black_box;
    use std::sync::atomic::{AtomicU32, Ordering};

    use crate::bindings::exports::rialto::host::activation_handler;
    use crate::bindings::exports::rialto::hostile_context::echo;
    use crate::bindings::rialto::host::caller::{self, Source};
    use crate::bindings::rialto::host::keys;
    use rialto_sdk::bindings::rialto::host::logging;
    use rialto_sdk::bindings::rialto::host::storage::{self, Document, Page, Range};

    struct HostileFriend;

    /// Where `write-then` writes.
    const COLLECTION: &str = "marks";
    /// The document that makes the next activation fail.
    const WHEN_ACTIVATED: &str = "when-activated";
    /// Where `fill` writes, and what `scan` and `read` read.
    const PILE: &str = "pile";
    /// Calls that this instance has answered.
    static ANSWERED: AtomicU32 = AtomicU32::new(0);

    fn obey(order: &str) -> String {
        let words: Vec<&str> = order.split(' ').collect();
        match words.as_slice() {
            ["nothing"] => {}
            ["trap"] => panic!("the friend traps, as it was told"),
            ["loop"] => endless(),
            ["trap-when-activated"] => storage::put(COLLECTION, WHEN_ACTIVATED, "\"trap\""),
            ["activate-in-steps", steps] => storage::put(COLLECTION, WHEN_ACTIVATED, steps),
            ["be-good-when-activated"] => {
                storage::delete(COLLECTION, WHEN_ACTIVATED);
            }
            ["write-then", ..] => {
                storage::put(COLLECTION, "written", "{}");
                return obey(&order["write-then ".len()..]);
            }
            ["log", count, bytes] => {
                let line = "x".repeat(number(bytes) as usize);
                for _ in 0..number(count) {
                    logging::log(logging::Level::Info, &line);
                }
            }
            ["fill", from, to, bytes] => {
                let body = format!("\"{}\"", "x".repeat(number(bytes) as usize - 2));
                for at in number(from)..number(to) {
                    storage::put(PILE, &format!("{at:04}"), &body);
                }
            }
            ["scan", limit, prefix, cursor] => {
                let range = named(prefix).map_or(Range::All, |p| Range::Prefix(p.to_owned()));
                return page(&storage::scan(PILE, &range, named(cursor), number(limit)));
            }
            ["who-calls"] => return who_calls(),
            ["read", id] => return storage::get(PILE, id).unwrap_or_default(),
            ["counted", ..] => {
                let answer = obey(&order["counted ".len()..]);
                return format!("{answer} {}", ANSWERED.load(Ordering::Relaxed));
            }
            ["destroy", reference] => return destroy(reference),
            ["destroy-then-trap", reference] => {
                panic!("the friend traps when the key is {}", destroy(reference))
            }
            _ => panic!("{order:?} is no order"),
        }
        "done".to_owned()
    }

    fn who_calls() -> String {
        match caller::current() {
            Some(Source::Component(name)) => format!("component {name}"),
            Some(Source::Client(name)) => format!("client {name}"),
            None => "nobody".to_owned(),
        }
    }

    fn destroy(reference: &str) -> String {
        match keys::destroy(reference) {
            Ok(()) => "destroyed".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    fn number(word: &str) -> u32 {
        word.parse()
            .unwrap_or_else(|_| panic!("{word:?} is no number"))
    }

    fn named(word: &str) -> Option<&str> {
        Some(word).filter(|word| *word != "*")
    }

    fn page(page: &Page) -> String {
        let id = |document: Option<&Document>| document.map_or("-", |d| d.id.as_str()).to_owned();
        let (first, last) = (id(page.documents.first()), id(page.documents.last()));
        let cursor = page.cursor.as_deref().unwrap_or("*");
        format!("{} {first} {last} {cursor}", page.documents.len())
    }

    fn endless() -> ! {
        let mut turns: u64 = 0;
        loop {
            turns = black_box(turns.wrapping_add(1));
        }
    }

    impl activation_handler::Guest for HostileFriend {
        fn release_activated(release: u64, step: u32) -> bool {
            let id = match step {
                0 => "activated".to_owned(),
                step => format!("activated-{step}"),
            };
            storage::put(COLLECTION, &id, &release.to_string());
            let order = storage::get(COLLECTION, WHEN_ACTIVATED);
            match order.as_deref().map(str::parse::<u32>) {
                None => false,
                Some(Ok(steps)) => step + 1 < steps,
                Some(Err(_)) => panic!("the friend does not want release {release}"),
            }
        }
    }

    impl echo::Guest for HostileFriend {
        fn echo(order: String) -> String {
            ANSWERED.fetch_add(1, Ordering::Relaxed);
            obey(&order)
        }
    }

    crate::bindings::export!(HostileFriend with_types_in crate::bindings);
}
