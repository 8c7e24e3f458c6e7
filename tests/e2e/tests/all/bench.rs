//! `rialto bench`: each figure that it promises is there, and measured.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use rialto_tests::TestScheme;
use serde_json::Value;

/// What cannot be zero when payments were made.
const MEASURED: [&str; 18] = [
    "payments",
    "payments_per_second",
    "p50_ms",
    "p95_ms",
    "p99_ms",
    "p999_ms",
    "max_ms",
    "transfer_p50_ms",
    "transfer_p99_ms",
    "host_cpu_ms_per_payment",
    "host_cpu_signatures",
    "fsp_cpu_ms_per_payment",
    "fsp_cpu_signatures",
    "commits_per_second",
    "turns_per_commit",
    "turns_per_payment",
    "documents_per_payment",
    "seconds",
];
/// What can.
const THERE: [&str; 17] = [
    "audit",
    "failed",
    "failures",
    "generator_cpu_ms_per_payment",
    "generator_cpu_signatures",
    "database_cpu_ms_per_payment",
    "passing_cpu_ms_per_payment",
    "bytes_written_per_payment",
    "allocations_per_payment",
    "allocated_bytes_per_payment",
    "conflicts_per_payment",
    "host_share",
    "load",
    "per_second",
    "conditions",
    "secure",
    "signed",
];

#[test]
fn two_seconds_of_payments_have_every_figure() {
    let scheme = TestScheme::demo().unwrap();
    let options = ["--seconds", "2", "--warm-up", "1", "--concurrency", "8"];
    let output = rialto_tests::CliOutput::of(rialto_tests::binaries::rialto().unwrap(), |c| {
        c.arg("bench")
            .arg(scheme.path())
            .arg("--json")
            .args(options);
    });
    let output = output.unwrap();
    assert_eq!(output.code, 0, "{output}");
    assert_eq!(output.stdout.lines().count(), 1, "{output}");
    let figures: Value = serde_json::from_str(&output.stdout).unwrap();
    for key in MEASURED {
        let figure = figures[key].as_f64();
        assert!(
            figure.is_some_and(|f| f > 0.0),
            "{key} is {figure:?}: {figures}"
        );
    }
    let figures = figures.as_object().unwrap();
    for key in THERE {
        assert!(
            figures.get(key).is_some_and(|f| !f.is_null()),
            "{key} is missing"
        );
    }
    assert_eq!(figures["failed"], 0, "{figures:?}");
    let known = MEASURED.len() + THERE.len();
    assert_eq!(
        figures.len(),
        known,
        "a figure that this test does not know: {figures:?}"
    );
}

#[test]
fn signed_payments_are_shown_beside_those_that_are_not() {
    let scheme = TestScheme::demo().unwrap();
    let options = ["--seconds", "4", "--warm-up", "1", "--concurrency", "4"];
    let output = rialto_tests::CliOutput::of(rialto_tests::binaries::rialto().unwrap(), |c| {
        c.arg("bench")
            .arg(scheme.path())
            .args(["--json", "--jws"])
            .args(options);
    });
    let output = output.unwrap();
    assert_eq!(output.code, 0, "{output}");
    let figures: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(figures["signed"], true);
    assert_eq!(figures["failed"], 0, "{figures}");
    for key in ["payments_per_second", "unsigned_payments_per_second"] {
        assert!(figures[key].as_f64().is_some_and(|f| f > 0.0), "{figures}");
    }
}

#[test]
fn payments_over_tls_are_shown_beside_plaintext_ones() {
    let scheme = TestScheme::demo().unwrap();
    let options = ["--seconds", "2", "--warm-up", "1", "--concurrency", "4"];
    let output = rialto_tests::CliOutput::of(rialto_tests::binaries::rialto().unwrap(), |c| {
        c.arg("bench")
            .arg(scheme.path())
            .args(["--json", "--secure"])
            .args(options);
    });
    let output = output.unwrap().success().unwrap();
    let figures: Value = serde_json::from_str(&output).unwrap();
    assert_eq!(figures["secure"], true);
    assert_eq!(figures["failed"], 0, "{figures}");
    for key in ["payments_per_second", "plaintext_payments_per_second"] {
        assert!(figures[key].as_f64().is_some_and(|f| f > 0.0), "{figures}");
    }
}

#[test]
fn payments_with_a_signed_audit_log_are_shown_beside_those_without() {
    let scheme = TestScheme::demo().unwrap();
    let options = ["--seconds", "2", "--warm-up", "1", "--concurrency", "4"];
    let output = rialto_tests::CliOutput::of(rialto_tests::binaries::rialto().unwrap(), |c| {
        c.arg("bench")
            .arg(scheme.path())
            .args(["--json", "--audit"])
            .args(options);
    });
    let output = output.unwrap().success().unwrap();
    let figures: Value = serde_json::from_str(&output).unwrap();
    assert_eq!(figures["audit"], true);
    assert_eq!(figures["failed"], 0, "{figures}");
    for key in ["payments_per_second", "without_audit_payments_per_second"] {
        assert!(figures[key].as_f64().is_some_and(|f| f > 0.0), "{figures}");
    }
}

#[test]
fn prepares_by_one_payer_and_by_several_are_measured() {
    let scheme = TestScheme::demo().unwrap();
    let options = ["--seconds", "1", "--warm-up", "1", "--concurrency", "8"];
    let output = rialto_tests::CliOutput::of(rialto_tests::binaries::rialto().unwrap(), |c| {
        c.arg("bench").arg(scheme.path());
        c.args(["--json", "--payers", "5"]).args(options);
    });
    let output = output.unwrap().success().unwrap();
    let figures: Vec<Value> = output
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let payers: Vec<&Value> = figures.iter().map(|figures| &figures["payers"]).collect();
    assert_eq!(payers, [1, 5]);
    for figures in &figures {
        assert_eq!(
            (&figures["of"], &figures["failed"]),
            (&"prepares".into(), &0.into())
        );
        assert!(
            figures["payments_per_second"].as_f64().unwrap() > 0.0,
            "{figures}"
        );
    }
}

#[test]
fn bench_accounts_for_payments_during_swaps_and_kills() {
    let scheme = TestScheme::demo().unwrap();
    let options = [
        "--account=300",
        "--concurrency=8",
        "--swap-every=1",
        "--kill-every=2",
    ];
    let output = rialto_tests::CliOutput::of(rialto_tests::binaries::rialto().unwrap(), |c| {
        c.arg("bench")
            .arg(scheme.path())
            .arg("--json")
            .args(options);
    });
    let output = output.unwrap();
    let account: Value = serde_json::from_str(&output.stdout).unwrap();
    let count = |key: &str| account[key].as_u64().unwrap();
    assert_eq!(count("unended"), 0, "{account}");
    assert_eq!(count("unexplained"), 0, "{account}");
    assert_eq!(output.code, 0, "{output}");
    let failed = account["failed"].as_object().unwrap();
    let failed: u64 = failed.values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(count("begun"), count("committed") + failed, "{account}");
    assert!(count("begun") >= 300 && count("committed") > 0, "{account}");
    let unpaid = account["unpaid"].as_array().unwrap();
    assert_eq!(unpaid.len() as u64, failed, "{account}");
}

#[test]
fn a_candidate_costs_what_pairs_on_one_host_have_in_common() {
    let scheme = TestScheme::demo().unwrap();
    let options = ["--seconds", "1", "--warm-up", "1", "--rate", "8"];
    let output = rialto_tests::CliOutput::of(rialto_tests::binaries::rialto().unwrap(), |c| {
        c.arg("bench").arg(scheme.path()).args(options);
        c.args(["--json", "--candidate", "shadow", "--pairs", "2"]);
    });
    let output = output.unwrap().success().unwrap();
    let lines: Vec<Value> = output
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let [first, second, common] = &lines[..] else {
        panic!("two pairs and what they have in common: {output}");
    };
    for pair in [first, second] {
        assert_eq!(pair["failed"], serde_json::json!([0, 0]), "{pair}");
        assert!(pair["with_p50_ms"].as_f64().unwrap() > 0.0, "{pair}");
    }
    let ratios = [first, second].map(|pair| pair["p50_with_of_without"].as_f64().unwrap());
    let median = common["p50_with_of_without"]["median"].as_f64().unwrap();
    assert!((median - f64::midpoint(ratios[0], ratios[1])).abs() < 1e-9);
    assert_eq!(common["pairs"], 2);
}
