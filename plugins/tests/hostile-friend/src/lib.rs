//! A context that does what its caller tells it, good or bad: the other end of hostile-context's
//! calls.
//!
//! An order is words: `nothing`, `trap`, `loop`, `write-then ORDER`, `trap-when-activated` and
//! `be-good-when-activated`.

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

    use crate::bindings::exports::rialto::host::activation_handler;
    use crate::bindings::exports::rialto::hostile_context::echo;
    use rialto_sdk::bindings::rialto::host::storage;

    struct HostileFriend;

    /// Where `write-then` writes.
    const COLLECTION: &str = "marks";
    /// The document that says that the next activation is to fail.
    const WHEN_ACTIVATED: &str = "when-activated";

    fn obey(order: &str) {
        match order.split_once(' ').unwrap_or((order, "")) {
            ("nothing", "") => {}
            ("trap", "") => panic!("the friend traps, as it was told"),
            ("loop", "") => endless(),
            ("trap-when-activated", "") => storage::put(COLLECTION, WHEN_ACTIVATED, "\"trap\""),
            ("be-good-when-activated", "") => {
                storage::delete(COLLECTION, WHEN_ACTIVATED);
            }
            ("write-then", next) => {
                storage::put(COLLECTION, "written", "{}");
                obey(next);
            }
            _ => panic!("{order:?} is no order"),
        }
    }

    fn endless() -> ! {
        let mut turns: u64 = 0;
        loop {
            turns = black_box(turns.wrapping_add(1));
        }
    }

    impl activation_handler::Guest for HostileFriend {
        fn release_activated(release: u64) {
            storage::put(COLLECTION, "activated", &release.to_string());
            assert!(
                storage::get(COLLECTION, WHEN_ACTIVATED).is_none(),
                "the friend does not want release {release}"
            );
        }
    }

    impl echo::Guest for HostileFriend {
        fn echo(order: String) -> String {
            obey(&order);
            "done".to_owned()
        }
    }

    crate::bindings::export!(HostileFriend with_types_in crate::bindings);
}
