//! `bench --table`: the figures of `docs/performance.md`. Three runs of the benchmark on one build: closed loop, open
//! loop at a fixed rate, and closed loop while `perf` samples the host and counts its system calls. A fourth run, on a
//! build with debug assertions, counts allocations.

use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::runs::{WARM_UP, finished, number, start};
use crate::{debian, host, process, profile, repository};

/// Payments begun a second in the open loop: what the reference implementation publishes for 48 virtual CPUs.
const OPEN_RATE: &str = "650";
/// Seconds for which `perf` samples, and then for which it counts system calls.
const WATCHED: u64 = 5;
/// Samples a second of each processor. Not a round number, so that it keeps no step with timers.
const SAMPLES_HZ: &str = "997";
/// How long the host may take to start.
const START_WITHIN: Duration = Duration::from_secs(120);

/// Measures this host and prints the table.
pub fn print(rialto: &Path) -> Result<()> {
    if !process::succeeds(Command::new("perf").arg("--version")) {
        debian::install(&["linux-perf"]).context("no `perf`")?;
    }
    process::say("closed loop");
    let closed = finished(begin(rialto, &[])?)?;
    process::say(&format!("open loop, {OPEN_RATE} payments a second"));
    let open = finished(begin(rialto, &["--rate", OPEN_RATE])?)?;
    process::say("closed loop, watched by perf");
    let watched = watch(rialto)?;
    process::say("building with debug assertions, which counts allocations");
    process::run(process::cargo().current_dir(repository::root()).args([
        // As `cargo xtask build` does: a package alone has other features, and most of it would be compiled again.
        "build",
        "--workspace",
    ]))?;
    let counting = host::program("debug", "rialto")?;
    let counted = finished(begin(&counting, &[])?)?;
    print!("{}", text(&closed, &open, &watched, &counted)?);
    Ok(())
}

fn begin(rialto: &Path, arguments: &[&str]) -> Result<Child> {
    start(rialto, Path::new(repository::DEMO), arguments)
}

/// What `perf` saw.
struct Watched {
    shares: Vec<(profile::Part, f64)>,
    system_calls_a_second: f64,
    result: Value,
}

/// Watches the host of a run, after its warm-up.
fn watch(rialto: &Path) -> Result<Watched> {
    let run = begin(rialto, &[])?;
    let host = host_of(run.id())?;
    // Its start compiles the components, which is no work for a payment.
    wait_until_ready(host)?;
    sleep(Duration::from_secs(WARM_UP));
    let samples = repository::trained().join("perf.data");
    fs::create_dir_all(repository::trained())?;
    process::run(
        Command::new("perf")
            .args(["record", "-q", "-F", SAMPLES_HZ, "-o"])
            .arg(&samples)
            .args(["-p", &host.to_string()])
            .args(["--", "sleep", &WATCHED.to_string()]),
    )?;
    let counted = Command::new("perf")
        .args(["stat", "-x,", "-e", "raw_syscalls:sys_enter"])
        .args(["-p", &host.to_string()])
        .args(["--", "sleep", &WATCHED.to_string()])
        .output()
        .context("cannot run `perf stat`")?;
    let result = finished(run)?;
    let script = process::output(
        Command::new("perf")
            .args(["script", "-F", "comm,ip,sym,dso", "-i"])
            .arg(&samples),
    );
    let script = script.context("`perf script` failed")?;
    #[allow(clippy::cast_precision_loss, reason = "a few million at most")]
    let a_second = system_calls(&String::from_utf8_lossy(&counted.stderr))? as f64 / WATCHED as f64;
    Ok(Watched {
        shares: profile::shares(&script),
        system_calls_a_second: a_second,
        result,
    })
}

/// The count in a line of `perf stat -x,`: `12345,,raw_syscalls:sys_enter,…`.
fn system_calls(text: &str) -> Result<u64> {
    let line = text.lines().find(|line| line.contains("sys_enter"));
    let count = line.and_then(|line| line.split(',').next());
    let count = count.and_then(|count| count.parse().ok());
    count.with_context(|| format!("`perf stat` counted no system calls: {}", text.trim()))
}

/// The process of the host that a benchmark has started: its child with the argument `serve`.
fn host_of(benchmark: u32) -> Result<u32> {
    let begun = Instant::now();
    while begun.elapsed() < START_WITHIN {
        for entry in fs::read_dir("/proc")? {
            let path = entry?.path();
            if let Some(id) = serves(&path, benchmark) {
                return Ok(id);
            }
        }
        sleep(Duration::from_millis(50));
    }
    bail!("the benchmark started no host within {START_WITHIN:?}")
}

/// Wait until a host has written its addresses, which it does when it is ready.
fn wait_until_ready(host: u32) -> Result<()> {
    let arguments = fs::read_to_string(format!("/proc/{host}/cmdline"))?;
    let mut arguments = arguments.split('\0');
    let state = arguments.find(|word| *word == "--state");
    let state = state.and(arguments.next());
    let addresses =
        Path::new(state.context("the host was started without `--state`")?).join("addresses.json");
    let begun = Instant::now();
    while !addresses.exists() {
        if begun.elapsed() > START_WITHIN {
            bail!("the host was not ready within {START_WITHIN:?}");
        }
        sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// The id of a process of `/proc`, if it is a child of this one and runs `serve`.
fn serves(path: &Path, parent: u32) -> Option<u32> {
    let id = path.file_name()?.to_str()?.parse().ok()?;
    let status = fs::read_to_string(path.join("status")).ok()?;
    let of: u32 = status
        .lines()
        .find_map(|line| line.strip_prefix("PPid:"))?
        .trim()
        .parse()
        .ok()?;
    let arguments = fs::read_to_string(path.join("cmdline")).ok()?;
    let is_host = of == parent && arguments.split('\0').any(|word| word == "serve");
    is_host.then_some(id)
}

/// The table.
fn text(closed: &Value, open: &Value, watched: &Watched, counted: &Value) -> Result<String> {
    let latencies = |of: &Value| -> Result<String> {
        let mut words = Vec::new();
        for (name, member) in [
            ("p50", "p50_ms"),
            ("p95", "p95_ms"),
            ("p99", "p99_ms"),
            ("p99.9", "p999_ms"),
        ] {
            words.push(format!("{name} {:.0} ms", number(of, member)?));
        }
        Ok(words.join(", "))
    };
    let mut lines = Vec::new();
    let mut line = |name: &str, value: String| lines.push(format!("{name:<28} {value}\n"));
    line(
        "payments a second",
        format!("{:.0}", number(closed, "payments_per_second")?),
    );
    line("latency", latencies(closed)?);
    line(
        &format!("at {OPEN_RATE} a second"),
        format!(
            "{:.0} a second, {}",
            number(open, "payments_per_second")?,
            latencies(open)?
        ),
    );
    for (who, member) in [
        ("host", "host"),
        ("FSPs", "fsp"),
        ("generator", "generator"),
    ] {
        line(
            &format!("CPU a payment, {who}"),
            format!(
                "{:.2} ms, {:.1} RSA-2048 signatures",
                number(closed, &format!("{member}_cpu_ms_per_payment"))?,
                number(closed, &format!("{member}_cpu_signatures"))?
            ),
        );
    }
    let host_us = number(closed, "host_cpu_ms_per_payment")? * 1_000.0;
    for (part, share) in &watched.shares {
        line(
            &format!("  {part}"),
            format!("{:>5.1} % {:>6.0} µs", share * 100.0, share * host_us),
        );
    }
    let rate = number(&watched.result, "payments_per_second")?;
    line(
        "system calls a payment",
        format!("{:.1}", watched.system_calls_a_second / rate.max(1.0)),
    );
    for (name, member, digits) in [
        ("turns a payment", "turns_per_payment", 1),
        ("documents a payment", "documents_per_payment", 1),
        ("conflicts a payment", "conflicts_per_payment", 2),
        ("bytes written a payment", "bytes_written_per_payment", 0),
        ("commits a second", "commits_per_second", 0),
        ("turns a commit", "turns_per_commit", 0),
    ] {
        line(name, format!("{:.digits$}", number(closed, member)?));
    }
    for (name, member) in [
        ("allocations a payment", "allocations_per_payment"),
        ("bytes allocated a payment", "allocated_bytes_per_payment"),
    ] {
        line(name, format!("{:.0}", number(counted, member)?));
    }
    Ok(lines.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_calls_are_read_as_perf_writes_them() {
        let line = "# started\n123456,,raw_syscalls:sys_enter,10012345678,100.00,,\n";
        assert_eq!(system_calls(line).unwrap(), 123_456);
        assert!(system_calls("<not counted>,,raw_syscalls:sys_enter,0").is_err());
        assert!(system_calls("").is_err());
    }

    #[test]
    fn table_names_each_part_with_its_microseconds() {
        let figures = serde_json::json!({
            "payments_per_second": 640.2, "p50_ms": 90.4, "p95_ms": 130.0, "p99_ms": 170.0,
            "p999_ms": 200.0, "host_cpu_ms_per_payment": 2.5, "host_cpu_signatures": 10.2,
            "fsp_cpu_ms_per_payment": 0.4, "fsp_cpu_signatures": 1.6,
            "generator_cpu_ms_per_payment": 0.1, "generator_cpu_signatures": 0.3,
            "turns_per_payment": 43.0, "documents_per_payment": 15.0, "conflicts_per_payment": 0.1,
            "bytes_written_per_payment": 62_000.0, "commits_per_second": 180.0, "turns_per_commit": 120.0,
            "allocations_per_payment": 3_000.0, "allocated_bytes_per_payment": 900_000.0,
        });
        let watched = Watched {
            shares: vec![(profile::Part::Guests, 0.25)],
            system_calls_a_second: 64_020.0,
            result: figures.clone(),
        };
        let text = text(&figures, &figures, &watched, &figures).unwrap();
        let has = |line: &str| assert!(text.lines().any(|l| l == line), "{line}\n{text}");
        has("payments a second            640");
        has("  code of components          25.0 %    625 µs");
        has("system calls a payment       100.0");
        has("allocations a payment        3000");
        has("CPU a payment, host          2.50 ms, 10.2 RSA-2048 signatures");
        let missing = serde_json::json!({});
        assert!(super::text(&missing, &figures, &watched, &figures).is_err());
    }
}
