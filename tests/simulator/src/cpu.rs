//! The CPU time of a process, from Linux's `/proc`: total and by groups of threads.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Instant;

use serde::Serialize;

use crate::time;

/// The unit of CPU times in `/proc`, per second. Linux fixes it for programs (`USER_HZ`),
/// whatever the kernel's own tick is.
const TICKS_PER_SECOND: f64 = 100.0;

/// Reads the CPU time of one process.
#[derive(Clone, Debug)]
pub struct CpuClock {
    pid: u32,
    directory: PathBuf,
}

/// A reading of a process's CPU clock.
#[derive(Clone, Debug)]
pub struct CpuReading {
    at: Instant,
    ticks: u64,
    /// Name and ticks by thread id.
    threads: HashMap<u64, (String, u64)>,
}

/// The CPU time of a process between two readings.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CpuUse {
    /// CPU time of all threads, in seconds, user and system.
    pub seconds: f64,
    /// Cores kept busy on average.
    pub cores: f64,
    /// CPU time in seconds by group of threads. Threads of one group have the same name but for
    /// a number at its end. Threads that ended in between are missing here, and only here.
    pub groups: BTreeMap<String, f64>,
}

impl CpuClock {
    /// The clock of a process. Fails if there is none, or no `/proc`.
    pub fn of(pid: u32) -> io::Result<Self> {
        let clock = Self {
            pid,
            directory: PathBuf::from(format!("/proc/{pid}")),
        };
        clock.read()?;
        Ok(clock)
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Reads the clock.
    pub fn read(&self) -> io::Result<CpuReading> {
        let mut threads = HashMap::new();
        for entry in fs::read_dir(self.directory.join("task"))? {
            let name = entry?.file_name();
            let Some(id) = name.to_str().and_then(|id| id.parse().ok()) else {
                continue;
            };
            // A thread may end between being listed and being read.
            if let Ok(stat) = self.stat(&format!("task/{id}/stat")) {
                threads.insert(id, stat);
            }
        }
        // The total comes after its parts, so that it holds what they show.
        let (_, ticks) = self.stat("stat")?;
        Ok(CpuReading {
            at: time::now(),
            ticks,
            threads,
        })
    }

    fn stat(&self, file: &str) -> io::Result<(String, u64)> {
        let path = self.directory.join(file);
        let text = fs::read_to_string(&path)?;
        parse_stat(&text).ok_or_else(|| {
            let what = format!(
                "{} does not have the form of a Linux stat file",
                path.display()
            );
            io::Error::new(io::ErrorKind::InvalidData, what)
        })
    }
}

impl CpuReading {
    /// The CPU time between this reading and a later one of the same clock.
    pub fn until(&self, later: &Self) -> CpuUse {
        let seconds = |ticks: u64| ticks as f64 / TICKS_PER_SECOND;
        let used = seconds(later.ticks.saturating_sub(self.ticks));
        let elapsed = later.at.saturating_duration_since(self.at).as_secs_f64();
        let mut groups = BTreeMap::new();
        for (id, (name, ticks)) in &later.threads {
            let before = self.threads.get(id).map_or(0, |(_, ticks)| *ticks);
            let used = ticks.saturating_sub(before);
            if used > 0 {
                *groups.entry(group(name).to_owned()).or_insert(0.0) += seconds(used);
            }
        }
        let cores = if elapsed > 0.0 { used / elapsed } else { 0.0 };
        CpuUse {
            seconds: used,
            cores,
            groups,
        }
    }
}

/// The name and the user and system ticks of a stat line. The name stands in parentheses and
/// may itself contain spaces and parentheses.
fn parse_stat(line: &str) -> Option<(String, u64)> {
    let (head, rest) = line.rsplit_once(") ")?;
    let (_, name) = head.split_once('(')?;
    let mut fields = rest.split_ascii_whitespace().skip(11); // state is field 3, utime field 14
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some((name.to_owned(), user + system))
}

/// A thread's name without the number at its end.
fn group(name: &str) -> &str {
    let trimmed = name.trim_end_matches(|c: char| c.is_ascii_digit());
    match trimmed.trim_end_matches(['-', '_', ':', '#', ' ']) {
        "" => name,
        trimmed => trimmed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_line_is_read_whatever_the_name_holds() {
        let line = "4242 (tokio (rt) 1) S 1 2 3 4 5 6 7 8 9 10 150 25 0 0 20 0 3 0 100 0 0";
        assert_eq!(parse_stat(line), Some(("tokio (rt) 1".to_owned(), 175)));
        assert_eq!(parse_stat("nonsense"), None);
        assert_eq!(parse_stat("1 (a) S 1"), None);
    }

    #[test]
    fn threads_are_grouped_by_name() {
        assert_eq!(group("turn-12"), "turn");
        assert_eq!(group("tokio-rt-worker"), "tokio-rt-worker");
        assert_eq!(group("commit 3"), "commit");
        assert_eq!(group("42"), "42");
    }

    #[test]
    fn work_is_seen_on_the_clock() {
        let clock = CpuClock::of(std::process::id()).expect("this process exists");
        let before = clock.read().expect("readable");
        let began = time::now();
        let mut number = 1_u64;
        let used = loop {
            for _ in 0..1_000_000 {
                number = std::hint::black_box(number.wrapping_mul(6_364_136_223_846_793_005));
            }
            let used = before.until(&clock.read().expect("readable"));
            // The kernel counts the process and its threads at different moments, and other tests'
            // threads come and go: both must have seen the work.
            let in_groups: f64 = used.groups.values().sum();
            let seen = used.seconds >= 0.02 && in_groups >= 0.02;
            if seen || began.elapsed().as_secs() > 20 {
                break used;
            }
        };
        assert!(used.seconds >= 0.02, "{used:?}");
        assert!(used.groups.values().sum::<f64>() >= 0.02, "{used:?}");
    }

    #[test]
    fn no_process_is_an_error() {
        assert!(CpuClock::of(u32::MAX).is_err());
    }
}
