//! A component that uses WASI as ordered, like components of other languages' tools. As a rule, its order is in
//! its settings, `{"do": "ORDER"}`, and it refuses with the result. As a context, the order is a request's
//! body.
//!
//! An order is one word: `now`, `random`, `seed`, `sleep`, `write`, `chatter` (lines without end), `scraps`
//! (a stream for each of many words without an end of line), `read`, `environment`, `exit`, `mutter` (words
//! to standard error), `panic` (what a panic of plain Rust does: its words to standard error, then a trap),
//! `give-up` (an exit after words to standard error), `trap` (without a word).

/// Bindings generated from `world.wit`.
#[allow(missing_docs)]
pub mod bindings {
    wit_bindgen::generate!({
        world: "rialto:wasi-guest/wasi-guest",
        path: [
            "../../../wit/common",
            "../../../wit/host",
            "../../../wit/rules",
            "wit/io",
            "wit/clocks",
            "wit/random",
            "wit/cli",
            ".",
        ],
        with: {
            "rialto:common/types@0.1.0": rialto_sdk::bindings::rialto::common::types,
            "rialto:rules/types@0.1.0": rialto_sdk::bindings::rialto::rules::types,
            "rialto:host/configuration@0.1.0": rialto_sdk::bindings::rialto::host::configuration,
            "rialto:host/logging@0.1.0": rialto_sdk::bindings::rialto::host::logging,
        },
        generate_all,
    });
}

// Imports and exports have names that no native linker takes.
#[cfg(target_arch = "wasm32")]
mod component {
    //! The exports.

    use crate::bindings::exports::rialto::host::http_handler;
    use crate::bindings::exports::rialto::rules::{rule, transfer_prepare_check};
    use crate::bindings::wasi::cli::{environment, exit, stderr, stdin, stdout};
    use crate::bindings::wasi::clocks::{monotonic_clock, wall_clock};
    use crate::bindings::wasi::random::{insecure_seed, random};
    use rialto_sdk::bindings::rialto::host::configuration;
    use rialto_sdk::bindings::rialto::rules::types::{Verdict, Violation};

    struct WasiGuest;

    /// An hour, in nanoseconds.
    const HOUR: u64 = 3_600_000_000_000;
    /// Far more than a turn may log.
    const MANY: u32 = 1_000;
    /// FSPIOP's "Generic validation error".
    const CODE: &str = "3100";

    fn obey(order: &str) -> String {
        match order {
            "now" => {
                let now = wall_clock::now();
                let ms = now.seconds * 1_000 + u64::from(now.nanoseconds / 1_000_000);
                let once = monotonic_clock::now();
                let twice = monotonic_clock::now();
                format!("{ms} {}", twice - once)
            }
            "random" => {
                let bytes = random::get_random_bytes(8);
                format!("{bytes:02x?} {}", random::get_random_u64())
            }
            "seed" => format!("{:?}", insecure_seed::insecure_seed()),
            "sleep" => {
                monotonic_clock::subscribe_duration(HOUR).block();
                "slept".to_owned()
            }
            "write" => {
                let out = stdout::get_stdout();
                let written = out.blocking_write_and_flush(b"words of the guest\n");
                out.subscribe().block();
                format!("{} {}", written.is_ok(), out.subscribe().ready())
            }
            "chatter" => {
                let out = stdout::get_stdout();
                for _ in 0..MANY {
                    let _ = out.blocking_write_and_flush(b"words\nof\nthe\nguest\n");
                }
                "chattered".to_owned()
            }
            "scraps" => {
                for _ in 0..MANY {
                    let _ = stdout::get_stdout().blocking_write_and_flush(b"scrap");
                }
                "chattered".to_owned()
            }
            "read" => {
                let read = stdin::get_stdin().blocking_read(10);
                format!("{} bytes", read.map_or(0, |bytes| bytes.len()))
            }
            "environment" => {
                let (variables, arguments) =
                    (environment::get_environment(), environment::get_arguments());
                format!("{} {}", variables.len(), arguments.len())
            }
            "exit" => {
                exit::exit(Err(()));
                "still here".to_owned()
            }
            "mutter" => {
                say_to_stderr(&["muttered\n"]);
                "muttered".to_owned()
            }
            "panic" => {
                say_to_stderr(&[
                    "about to divide\n",
                    "\nthread 'main' (1) panicked at ",
                    "src/lib.rs:7:9:\n",
                    "division by\tzero, in ",
                    "the third share\n",
                    "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace",
                ]);
                core::arch::wasm32::unreachable()
            }
            "trap" => core::arch::wasm32::unreachable(),
            "give-up" => {
                say_to_stderr(&["no third share\n"]);
                exit::exit(Err(()));
                "still here".to_owned()
            }
            other => panic!("{other:?} is no order"),
        }
    }

    fn say_to_stderr(parts: &[&str]) {
        let err = stderr::get_stderr();
        for part in parts {
            let _ = err.blocking_write_and_flush(part.as_bytes());
        }
    }

    fn order(settings: &str) -> Option<String> {
        let settings: serde_json::Value = serde_json::from_str(settings).ok()?;
        settings.get("do")?.as_str().map(str::to_owned)
    }

    impl rule::Guest for WasiGuest {
        fn describe() -> rule::Description {
            // Runtimes of other languages begin by seeding their hash tables.
            let _ = insecure_seed::insecure_seed();
            rule::Description {
                name: env!("CARGO_PKG_NAME").to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                summary: "Uses WASI as its settings say.".to_owned(),
                codes: vec![CODE.to_owned()],
                settings_schema: "{}".to_owned(),
            }
        }

        fn validate_settings(_settings: String) -> Result<(), Vec<rule::SettingsError>> {
            Ok(())
        }
    }

    impl transfer_prepare_check::Guest for WasiGuest {
        fn check(_subject: String, _input: transfer_prepare_check::Input) -> Verdict {
            let order = order(&configuration::settings()).expect("settings with an order");
            Verdict::Refuse(vec![Violation {
                code: CODE.to_owned(),
                message: obey(&order),
            }])
        }
    }

    impl http_handler::Guest for WasiGuest {
        fn openapi() -> String {
            let _ = insecure_seed::insecure_seed();
            include_str!("../openapi.json").to_owned()
        }

        fn handle(request: http_handler::Request) -> http_handler::Response {
            http_handler::Response {
                status: 200,
                headers: Vec::new(),
                body: Some(obey(&request.body.unwrap_or_default())),
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

    crate::bindings::export!(WasiGuest with_types_in crate::bindings);
}
