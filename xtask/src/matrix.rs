//! `bench --matrix`: how the cost of a payment grows with the scheme. One input of the benchmark changes at a time:
//! participants, stored transfers, sizes of bodies, rules, signatures. All rows are measured in turn, some rounds, and
//! each figure is the median.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::runs::{finished, number, start};
use crate::{process, repository};

/// How often each row is measured.
const ROUNDS: usize = 3;
/// Participants of the scheme that the store of many transfers is for: the two that pay, and two to whom the stored
/// transfers belong.
const FEW: u64 = 4;

/// The figures of a row: names in the benchmark's JSON.
const FIGURES: [&str; 4] = [
    "payments_per_second",
    "host_cpu_ms_per_payment",
    "p99_ms",
    "bytes_written_per_payment",
];

/// A row: the benchmark with one other input.
struct Input {
    name: String,
    /// The scheme and store of this row, if it has its own.
    place: Option<PathBuf>,
    arguments: Vec<OsString>,
    /// By how much of what the input is larger than in the first row.
    more: Option<(f64, &'static str)>,
}

impl Input {
    fn new(name: &str, arguments: &[&str], more: Option<(f64, &'static str)>) -> Self {
        Self {
            name: name.to_owned(),
            place: None,
            arguments: arguments.iter().map(OsString::from).collect(),
            more,
        }
    }

    /// One run.
    fn measure(&self, rialto: &Path) -> Result<Value> {
        let Some(place) = &self.place else {
            return finished(start(rialto, Path::new(repository::DEMO), &self.arguments)?);
        };
        let mut arguments = self.arguments.clone();
        arguments.extend(["--state".into(), place.join("state").into()]);
        finished(start(rialto, &place.join("scheme"), &arguments)?)
    }
}

/// Measures this host on these inputs, and prints the table. The filler makes the stores.
pub fn print(rialto: &Path, filler: &Path, transfers: u64) -> Result<()> {
    let place = repository::root().join("target").join("matrix");
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).with_context(|| format!("cannot create {place:?}"))?;
    let mut inputs = inputs();
    // Transfers of a filled store come in pairs.
    for (participants, transfers) in [(100, 2), (10_000, 2), (FEW, transfers)] {
        let name = if participants == FEW {
            format!("{transfers} stored transfers")
        } else {
            format!("{participants} participants")
        };
        let place = place.join(format!("{participants}-{transfers}"));
        process::say(&format!("making a store: {name}"));
        process::run(
            Command::new(filler)
                .current_dir(repository::root())
                .arg(repository::DEMO)
                .arg("--place")
                .arg(&place)
                .args(["--participants", &participants.to_string()])
                .args(["--transfers", &transfers.to_string()])
                // The table alone goes to the standard output.
                .stdout(std::io::stderr()),
        )?;
        let mut input = Input::new(&name, &[], None);
        input.place = Some(place);
        inputs.push(input);
    }
    let mut results: Vec<Vec<Value>> = inputs.iter().map(|_| Vec::new()).collect();
    for round in 1..=ROUNDS {
        for (input, results) in inputs.iter().zip(&mut results) {
            process::say(&format!("round {round} of {ROUNDS}: {}", input.name));
            results.push(input.measure(rialto)?);
        }
    }
    print!("{}", text(&inputs, &results)?);
    fs::remove_dir_all(&place).with_context(|| format!("cannot remove {place:?}"))
}

/// The inputs without a store of their own. The first row has the demonstration as it is.
fn inputs() -> Vec<Input> {
    vec![
        Input::new("the demonstration", &[], None),
        Input::new(
            "ILP packets of 10 kB",
            &["--padding", "10000"],
            Some((10.0, "kB")),
        ),
        Input::new(
            "ILP packets of 23 kB",
            &["--padding", "23000"],
            Some((23.0, "kB")),
        ),
        // The demonstration asks three.
        Input::new("no rules", &["--rules", "0"], Some((-3.0, "rule"))),
        Input::new("10 rules", &["--rules", "10"], Some((7.0, "rule"))),
        Input::new("all messages signed", &["--jws"], None),
    ]
}

/// The table: a row for each input with the medians, and what it costs more than the first one.
fn text(inputs: &[Input], results: &[Vec<Value>]) -> Result<String> {
    let mut lines = format!(
        "{:<28} {:>10} {:>9} {:>8} {:>9} {:>9}\n",
        "", "payments/s", "host ms", "p99 ms", "kB disk", "µs more"
    );
    let mut first = None;
    for (input, results) in inputs.iter().zip(results) {
        let [rate, cpu_ms, p99_ms, bytes] = medians(results)?;
        let more_us = (cpu_ms - *first.get_or_insert(cpu_ms)) * 1_000.0;
        let each = input.more.map_or_else(String::new, |(units, unit)| {
            format!("  {:.0} µs a {unit}", more_us / units)
        });
        lines += &format!(
            "{:<28} {rate:>10.0} {cpu_ms:>9.2} {p99_ms:>8.0} {:>9.0} {more_us:>9.0}{each}\n",
            input.name,
            bytes / 1_000.0
        );
    }
    Ok(lines)
}

/// The medians of the figures.
fn medians(results: &[Value]) -> Result<[f64; FIGURES.len()]> {
    let mut medians = [0.0; FIGURES.len()];
    for (median, name) in medians.iter_mut().zip(FIGURES) {
        let all = results.iter().map(|result| number(result, name));
        let mut all: Vec<f64> = all.collect::<Result<_>>()?;
        all.sort_by(f64::total_cmp);
        *median = *all.get(all.len() / 2).context("no run was measured")?;
    }
    Ok(medians)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(rate: f64, cpu_ms: f64) -> Value {
        serde_json::json!({
            "payments_per_second": rate, "host_cpu_ms_per_payment": cpu_ms, "p99_ms": 120.4,
            "bytes_written_per_payment": 60_000.0,
        })
    }

    #[test]
    fn rows_have_medians_and_what_a_unit_costs() {
        let inputs = [
            Input::new("plain", &[], None),
            Input::new("10 rules", &["--rules", "10"], Some((7.0, "rule"))),
        ];
        let runs = |cpu_ms: f64| {
            [900.0, 600.0, 610.0]
                .map(|rate| result(rate, cpu_ms))
                .to_vec()
        };
        let text = text(&inputs, &[runs(2.0), runs(2.35)]).unwrap();
        let rows: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(
            rows,
            [
                "plain                               610      2.00      120        60         0",
                "10 rules                            610      2.35      120        60       350  50 µs a rule",
            ]
        );
    }

    #[test]
    fn run_without_a_figure_is_an_error() {
        let error = medians(&[serde_json::json!({})]).unwrap_err();
        assert!(error.to_string().contains("payments_per_second"), "{error}");
        assert!(medians(&[]).is_err());
    }
}
