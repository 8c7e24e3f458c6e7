//! A benchmark on a PostgreSQL database: the scheme's copy names it, and the processor time of its processes is counted.

use std::path::Path;

use anyhow::Context as _;

/// The name of PostgreSQL's processes.
const PROCESS: &str = "postgres";
/// Clock ticks a second in `/proc`, which Linux has fixed for programs.
const TICKS_PER_SECOND: f64 = 100.0;
/// Where `/proc/PID/stat` has the time in user mode and in the kernel, counted after the process's name.
const USER_AND_SYSTEM: [usize; 2] = [11, 12];

/// Have the scheme in this folder keep its store in a database.
pub(super) fn put(folder: &Path, url: &str) -> anyhow::Result<()> {
    let document = folder.join("rialto.toml");
    let text = std::fs::read_to_string(&document).context("reading rialto.toml")?;
    let mut table: toml::Table = text.parse().context("rialto.toml")?;
    let store = table
        .entry("store")
        .or_insert_with(|| toml::Table::new().into());
    let store = store.as_table_mut().context("`[store]` of rialto.toml")?;
    store.insert("url".to_owned(), url.into());
    let text = toml::to_string(&table).context("writing rialto.toml")?;
    std::fs::write(&document, text).context("writing rialto.toml")
}

/// The processor time of all PostgreSQL processes of this machine, in milliseconds. Those that have ended are missing.
pub(super) fn cpu_ms() -> f64 {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let stats = processes.filter_map(|one| std::fs::read_to_string(one.path().join("stat")).ok());
    stats.filter_map(|stat| cpu_ms_of(&stat)).sum()
}

/// The processor time in a process's `stat`, if it is one of PostgreSQL.
fn cpu_ms_of(stat: &str) -> Option<f64> {
    let (before, after) = stat.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    if name != PROCESS {
        return None;
    }
    let fields: Vec<&str> = after.split_whitespace().collect();
    let ticks =
        USER_AND_SYSTEM.map(|at| fields.get(at).and_then(|ticks| ticks.parse::<f64>().ok()));
    let [Some(user), Some(system)] = ticks else {
        return None;
    };
    Some((user + system) / TICKS_PER_SECOND * 1_000.0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    #[test]
    fn only_processes_of_the_database_are_counted() {
        let stat = |name: &str| {
            format!("17 ({name}) S 1 17 17 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 1 0 100 1 1")
        };
        assert_eq!(cpu_ms_of(&stat("postgres")), Some(3_000.0));
        assert_eq!(cpu_ms_of(&stat("a) postgres")), None);
        assert_eq!(cpu_ms_of("nothing"), None);
    }

    #[test]
    fn a_scheme_is_put_on_a_database() {
        let folder = rialto_files::temporary_folder().unwrap();
        let document = folder.path().join("rialto.toml");
        std::fs::write(&document, "[store]\npath = \"state\"\n").unwrap();
        put(folder.path(), "postgres:///bench").unwrap();
        let table: toml::Table = std::fs::read_to_string(&document).unwrap().parse().unwrap();
        assert_eq!(table["store"]["url"].as_str(), Some("postgres:///bench"));
        assert_eq!(table["store"]["path"].as_str(), Some("state"));
    }
}
