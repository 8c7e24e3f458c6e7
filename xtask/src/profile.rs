//! Where a process spends its processor time: samples of `perf`, counted by part of the host.
//!
//! A sample is the thread's name, the innermost function, and the file that it is in. The table says which part
//! they belong to; the first row that fits decides.

use std::collections::BTreeMap;
use std::fmt;

/// A part of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The kernel, for threads that speak HTTP.
    KernelHttp,
    /// The kernel, for threads that commit, flush and read the store.
    KernelStore,
    /// The kernel, for threads that run turns.
    KernelTurns,
    /// Compiled code of components.
    Guests,
    /// The memory allocator, whoever called it.
    Allocation,
    /// Values that cross between components.
    Values,
    /// Rules: fresh instances and receipts.
    Rules,
    /// JSON, and the check of bodies against API definitions.
    Json,
    /// SQLite, and the compression and encoding of groups.
    Store,
    /// HTTP: connections, heads, routing.
    Http,
    /// The commit thread's own work.
    Commit,
    /// The turns' own work: queue, locks, documents, events.
    Turns,
    /// Copying and comparing memory, and what no row names.
    Rest,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::KernelHttp => "kernel: HTTP",
            Self::KernelStore => "kernel: store",
            Self::KernelTurns => "kernel: turns",
            Self::Guests => "code of components",
            Self::Allocation => "memory allocation",
            Self::Values => "values between components",
            Self::Rules => "rules: instances, receipts",
            Self::Json => "JSON, checks of bodies",
            Self::Store => "store",
            Self::Http => "HTTP",
            Self::Commit => "commit",
            Self::Turns => "turns: queue, locks, events",
            Self::Rest => "rest",
        })
    }
}

/// Beginnings or inner parts of functions' names, and the part that they belong to.
const FUNCTIONS: [(&str, Part); 30] = [
    ("mi_", Part::Allocation),
    ("_mi_", Part::Allocation),
    ("malloc", Part::Allocation),
    ("_int_malloc", Part::Allocation),
    ("_int_free", Part::Allocation),
    ("cfree", Part::Allocation),
    ("rialto_components::rules", Part::Rules),
    ("instantiate", Part::Rules),
    ("allocate_instance", Part::Rules),
    ("component::values::Val", Part::Values),
    ("component::func", Part::Values),
    ("rialto_components::values", Part::Values),
    ("rialto_components::link", Part::Values),
    ("cabi_entrypoint", Part::Values),
    ("jsonschema", Part::Json),
    ("serde_json", Part::Json),
    ("rialto_openapi", Part::Json),
    ("regex_automata", Part::Json),
    ("lz4_flex", Part::Store),
    ("postcard", Part::Store),
    ("sqlite3", Part::Store),
    ("sqlx", Part::Store),
    ("rialto_store_sqlite", Part::Store),
    ("hyper", Part::Http),
    ("httparse", Part::Http),
    ("tokio", Part::Http),
    ("rialto_edge", Part::Http),
    ("outputs::<impl rialto_engine", Part::Commit),
    ("rialto_engine", Part::Turns),
    ("rialto_components", Part::Turns),
];

/// The part of a sample.
fn part(thread: &str, function: &str, file: &str) -> Part {
    let is_store = thread.starts_with("store") || thread == "commit";
    if file.contains("[kernel") {
        return match thread {
            _ if is_store => Part::KernelStore,
            _ if thread.starts_with("turn") => Part::KernelTurns,
            _ => Part::KernelHttp,
        };
    }
    // Compiled components are in no file with names.
    if function == "[unknown]" && file.contains("perf-") {
        return Part::Guests;
    }
    let named = FUNCTIONS.iter().find(|(name, _)| match name.as_bytes() {
        [b'm' | b'_' | b'c', ..] if !name.contains("::") => function.starts_with(name),
        _ => function.contains(name),
    });
    match named {
        Some((_, part)) => *part,
        None if thread.starts_with("store") => Part::Store,
        None if thread == "commit" => Part::Commit,
        None if thread == "http" => Part::Http,
        None => Part::Rest,
    }
}

/// Shares of the samples that `perf script -F comm,ip,sym,dso` prints, the largest first.
pub fn shares(script: &str) -> Vec<(Part, f64)> {
    let mut counts: BTreeMap<Part, u32> = BTreeMap::new();
    for line in script.lines() {
        let Some((thread, function, file)) = sample(line) else {
            continue;
        };
        *counts.entry(part(thread, function, file)).or_default() += 1;
    }
    let all: u32 = counts.values().sum();
    let mut shares: Vec<_> = counts
        .into_iter()
        .map(|(part, count)| (part, f64::from(count) / f64::from(all.max(1))))
        .collect();
    shares.sort_by(|one, two| two.1.total_cmp(&one.1));
    shares
}

/// Thread, function and file of a line `turn-0   7f6dcb some::function<T> (/a/file)`.
fn sample(line: &str) -> Option<(&str, &str, &str)> {
    let line = line.trim();
    let (rest, file) = line.strip_suffix(')')?.rsplit_once('(')?;
    let (thread, rest) = rest.split_once(char::is_whitespace)?;
    let (_address, function) = rest.trim_start().split_once(' ')?;
    Some((thread, function.trim(), file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_counted_by_the_part_of_the_host() {
        let cases = [
            (
                "http  ffffffff813a4413 tcp_ack ([kernel.kallsyms])",
                Part::KernelHttp,
            ),
            (
                "store-write  ffffffff8 ext4_sync ([kernel.kallsyms])",
                Part::KernelStore,
            ),
            (
                "turn-3  ffffffff8 schedule ([kernel.kallsyms])",
                Part::KernelTurns,
            ),
            (
                "turn-6  76ecc09f786c [unknown] (/tmp/perf-6814.map)",
                Part::Guests,
            ),
            (
                "turn-0  24c949c _mi_page_malloc_zero (/bin/rialto)",
                Part::Allocation,
            ),
            ("http  24c949c mi_free (/bin/rialto)", Part::Allocation),
            (
                "turn-0  7f6dcb wasmtime::runtime::component::func::host::HostFn::cabi_entrypoint (/bin/rialto)",
                Part::Values,
            ),
            (
                "turn-6  7f608a <wasmtime::runtime::component::values::Val as core::clone::Clone>::clone (/bin/rialto)",
                Part::Values,
            ),
            (
                "turn-6  1 rialto_components::rules::ask (/bin/rialto)",
                Part::Rules,
            ),
            (
                "http  1 jsonschema::validator::is_valid (/bin/rialto)",
                Part::Json,
            ),
            (
                "commit  1 lz4_flex::block::compress (/bin/rialto)",
                Part::Store,
            ),
            (
                "commit  1 rialto_engine::outputs::<impl rialto_engine::engine::Engine>::commit (/bin/rialto)",
                Part::Commit,
            ),
            (
                "turn-4  1 rialto_engine::run::<impl rialto_engine::engine::Engine>::run_job (/bin/rialto)",
                Part::Turns,
            ),
            (
                "store-flush  1 core::slice::sort (/bin/rialto)",
                Part::Store,
            ),
            (
                "turn-4  1 __memmove_avx512_unaligned_erms (/lib/libc.so.6)",
                Part::Rest,
            ),
        ];
        for (line, expected) in cases {
            let (thread, function, file) = sample(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!(part(thread, function, file), expected, "{line}");
        }
    }

    #[test]
    fn shares_add_up_and_the_largest_is_first() {
        let script = "http 1 mi_free (/bin/rialto)\n\
                      \n\
                      http 1 mi_free (/bin/rialto)\n\
                      turn-1 1 mi_free (/bin/rialto)\n\
                      turn-1 2 [unknown] (/tmp/perf-1.map)\n";
        let expected = [(Part::Allocation, 0.75), (Part::Guests, 0.25)];
        assert_eq!(shares(script), expected);
        assert_eq!(shares("no sample"), []);
    }
}
