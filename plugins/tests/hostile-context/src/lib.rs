//! A context that obeys the orders in its requests, good or bad, for the host's tests and benchmarks.
//!
//! An order is words: `nothing`, `write ID BODY`, `count ID` (add one to each count of a document), `trap`,
//! `loop`, `eat-memory`, `recurse`, `prepare UNITS` and `quote UNITS` (ask the rules of a step about an
//! amount), `agreed RELEASE AT ORDER` (have it judged by the rules of that release at that instant), `release`, `call ORDER` (have hostile-friend do it), `calls COUNT ORDER` (that many times in one turn),
//! `copy` and `raise` (which read of each other), `publish ORDER` (have a turn of its own do it), `write-then ORDER`. A request's body is an order, the
//! response's body its result. GET returns the request as the context got it: a line with its caller, then one
//! per header.

pub mod counted;
pub mod orders;
#[cfg(target_arch = "wasm32")]
mod payments;

/// Bindings generated from `world.wit`.
#[allow(missing_docs)]
pub mod bindings {
    wit_bindgen::generate!({
        world: "rialto:hostile-context/hostile-context",
        path: ["../../../wit/common", "../../../wit/host", "../../../wit/rules", "."],
        with: {
            "rialto:common/types@0.1.0": rialto_sdk::bindings::rialto::common::types,
            "rialto:rules/types@0.1.0": rialto_sdk::bindings::rialto::rules::types,
            "rialto:host/storage@0.1.0": rialto_sdk::bindings::rialto::host::storage,
            "rialto:host/logging@0.1.0": rialto_sdk::bindings::rialto::host::logging,
        },
        generate_all,
    });
}

// Imports of steps and exports have names that no native linker takes.
#[cfg(target_arch = "wasm32")]
mod component {
    //! The exports.

    use crate::bindings::exports::rialto::host::{activation_handler, http_handler};
    use crate::bindings::exports::rialto::hostile_context::happened;
    use crate::bindings::rialto::host::judging;
    use crate::bindings::rialto::hostile_context as own;
    use crate::counted::COUNTED;
    use crate::orders::{Order, eat_memory, endless, recurse};
    use crate::payments;
    use rialto_sdk::bindings::rialto::host::storage;

    struct HostileContext;

    /// Where `write` writes.
    const COLLECTION: &str = "marks";
    /// What `copy` has noted.
    const COPIED: &str = "copied";
    /// What `copy` notes at least: the length of the shortest document.
    const SHORTEST: u32 = 2;

    fn obey(text: &str) -> String {
        let order = Order::read(text).unwrap_or_else(|| panic!("{text:?} is no order"));
        match order {
            Order::Nothing => "done".to_owned(),
            Order::Write { id, body } => {
                storage::put(COLLECTION, id, body);
                "done".to_owned()
            }
            Order::Count(id) => {
                let mut counted = COUNTED.get_for_update(id).unwrap_or_default();
                counted.add_one();
                COUNTED.put(id, &counted);
                storage::get(COLLECTION, id).unwrap_or_default()
            }
            Order::WriteThen(next) => {
                storage::put(COLLECTION, "written", "{}");
                obey(next)
            }
            Order::Trap => panic!("the context traps, as it was told"),
            Order::Loop => endless(),
            Order::EatMemory => eat_memory(),
            Order::Recurse => recurse(0).to_string(),
            Order::Agreed(release, at, next) => {
                judging::judge_as_agreed(release, at);
                obey(next)
            }
            Order::Release => judging::current_release().to_string(),
            Order::Prepare(units) => payments::ask_prepare(units),
            Order::Quote(units) => payments::ask_quote(units),
            Order::Call(next) => own::echo::echo(next),
            Order::Calls(count, next) => {
                for _ in 0..count {
                    own::echo::echo(next);
                }
                "done".to_owned()
            }
            Order::Copy => {
                let length = own::echo::echo("read 0001").len();
                let before = copied();
                storage::put(COLLECTION, COPIED, &length.to_string());
                format!("{length} {before}")
            }
            Order::Raise => own::echo::echo(&format!("fill 1 2 {}", copied() + 1)),
            Order::Publish(next) => {
                own::happened::happened(next);
                "done".to_owned()
            }
        }
    }

    fn copied() -> u32 {
        let noted = storage::get(COLLECTION, COPIED);
        noted.map_or(SHORTEST, |noted| noted.parse().unwrap_or(SHORTEST))
    }

    fn show(request: &http_handler::Request) -> String {
        let caller = request.caller.as_ref().map_or_else(
            || "nobody".to_owned(),
            |caller| format!("{} {}", caller.name, caller.roles.join(",")),
        );
        let headers = request.headers.iter();
        let headers = headers.map(|(name, value)| format!("{name}: {value}\n"));
        format!("caller {caller}\n{}", headers.collect::<String>())
    }

    impl http_handler::Guest for HostileContext {
        fn openapi() -> String {
            include_str!("../openapi.json").to_owned()
        }

        fn handle(request: http_handler::Request) -> http_handler::Response {
            let body = match request.operation_id.as_str() {
                "show" => show(&request),
                "obeyPath" => obey(&request.path_parameters[0].1),
                _ => obey(&request.body.unwrap_or_default()),
            };
            http_handler::Response {
                status: 200,
                headers: Vec::new(),
                body: Some(body),
            }
        }

        fn refuse(
            _head: http_handler::RequestHead,
            violation: http_handler::Violation,
        ) -> http_handler::Response {
            http_handler::Response {
                status: 400,
                headers: Vec::new(),
                body: Some(violation.detail),
            }
        }
    }

    impl activation_handler::Guest for HostileContext {
        fn release_activated(release: u64, step: u32) -> bool {
            assert_eq!(step, 0, "this one has nothing more to do");
            storage::put(COLLECTION, "activated", &release.to_string());
            false
        }
    }

    impl happened::Guest for HostileContext {
        fn happened(order: String) {
            obey(&order);
        }
    }

    crate::bindings::export!(HostileContext with_types_in crate::bindings);
}
