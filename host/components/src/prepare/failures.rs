//! The words for components that cannot be compiled, linked or started, and what helps.

use crate::guest::SHORT_OF_MEMORY;
use crate::problem::{Location, Problem};
use crate::spec::ComponentSpec;

/// wasmtime's messages without their context lines.
fn first_line(error: &wasmtime::Error) -> String {
    let text = error.root_cause().to_string();
    text.lines().next().unwrap_or_default().to_owned()
}

pub(super) fn error_line(error: &wasmtime::Error) -> String {
    let causes: Vec<String> = error.chain().map(ToString::to_string).collect();
    causes.join(": ")
}

/// The help for a component that wants more memory than its limit; empty for other failures.
pub(super) fn of_memory(why: &str) -> &'static str {
    if why.contains(SHORT_OF_MEMORY) {
        "give it more by its `limits.memory` in scheme.toml; the most that it can get is `ceilings.memory` of rialto.toml"
    } else {
        ""
    }
}

/// The help for a component that does not fit into the pools; empty for other failures.
pub(super) fn of_the_pools(why: &str) -> &'static str {
    if why.contains("core module instances") {
        "it has more core modules than `ceilings.core-modules` of rialto.toml lets it have; raise that and start the host again"
    } else if why.contains("minimum byte size") {
        "its memory is longer from the beginning than `ceilings.memory` of rialto.toml; raise that and its `limits.memory` in scheme.toml, and start the host again"
    } else {
        ""
    }
}

/// The problem of bytes that cannot be compiled. For bytes that are not WebAssembly, the compiler's own message
/// is about the text format, which would mislead.
pub(super) fn not_a_component(c: &ComponentSpec, error: &wasmtime::Error) -> Problem {
    let (why, help) = match &*c.bytes {
        [0, b'a', b's', b'm', 1, 0, 0, 0, ..] => (
            first_line(error),
            "it is a core module: wrap it into a component, for example with cargo-component",
        ),
        [0, b'a', b's', b'm', ..] => (first_line(error), of_the_pools(&format!("{error:#}"))),
        _ => (
            "it is no WebAssembly at all".to_owned(),
            "a component begins with the bytes `\\0asm`; name the file that the build made",
        ),
    };
    let what = format!("is no component that this host can run: {why}");
    Problem::new(
        "no-component",
        Location::File(c.name.to_string()),
        what,
        help,
    )
}
