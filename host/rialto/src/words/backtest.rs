//! The report of a backtest as tables.

use std::fmt::Write as _;
use std::time::Duration;

use indicatif::HumanCount;

use super::{Paint, instant, plain};
use crate::backtest::facets::band_words;
use crate::backtest::figures::Decision;
use crate::backtest::report::{FuelOf, Report, Sum};
use crate::shadow::report::ShadowReport;

/// The rows of each table. The report has all of them.
const ROWS: usize = 20;
/// Cells that stand at the right of their columns begin with this.
const RIGHT: char = '>';

/// A report, and how long it took.
pub fn backtest(report: &Report, took: Duration, colours: bool) -> String {
    let paint = Paint(colours);
    let mut text = String::new();
    let rate = report.verdicts as f64 / took.as_secs_f64().max(1e-9);
    let _ = writeln!(
        text,
        "{} requests from {} to {}: {} verdicts in {:.1} s, {} a second",
        count(report.requests),
        instant(report.since),
        instant(report.until),
        count(report.verdicts),
        took.as_secs_f64(),
        count(rate as u64)
    );
    let _ = writeln!(
        text,
        "{}",
        paint.dim(&format!("candidate {}", report.candidate))
    );
    tables(&mut text, report, &paint);
    unread(&mut text, report, &paint);
    text
}

/// What a candidate in the shadow of a rule has judged so far.
pub fn shadow(shadow: &ShadowReport, colours: bool) -> String {
    let paint = Paint(colours);
    let ShadowReport {
        rule,
        candidate,
        skipped,
        kept,
        report,
        ..
    } = shadow;
    let mut text = String::new();
    let version = report.rules.first().map_or("", |rule| &rule.version);
    let title = format!("{candidate} {version} in the shadow of {rule}");
    let _ = writeln!(text, "{}", paint.bold(&title));
    if report.requests == 0 {
        let _ = writeln!(text, "it has judged nothing yet");
    } else {
        let _ = writeln!(
            text,
            "{} requests since {}; {} differing verdicts have receipts",
            count(report.requests),
            instant(report.since),
            count(*kept)
        );
        tables(&mut text, report, &paint);
    }
    let skipped = [
        (skipped.share, "are not in its share"),
        (skipped.budget, "came when its processor time was used up"),
        (skipped.without_verdict, "have no verdict of it"),
        (skipped.queue, "had no room in the queue of all candidates"),
        (skipped.encrypted, "name people, and are encrypted"),
    ];
    let skipped = skipped.iter().filter(|(number, _)| *number > 0);
    let lines = skipped.map(|(number, why)| format!("  {} requests {why}", count(*number)));
    let uncounted = uncounted(report).into_iter();
    let lines: Vec<String> = lines
        .chain(uncounted.map(|line| format!("  {line}")))
        .collect();
    if !lines.is_empty() {
        let _ = writeln!(text, "\n{}\n{}", paint.bold("not judged"), lines.join("\n"));
    }
    text
}

fn tables(text: &mut String, report: &Report, paint: &Paint) {
    let unjudged = report.unjudged();
    if report.different > 0 {
        let told = format!("{} would be decided otherwise", count(report.different));
        let _ = writeln!(text, "{}", paint.red(&told));
    } else if report.requests == 0 {
        let _ = writeln!(text, "{}", paint.red("no request was judged"));
    } else if unjudged == 0 && report.unread.archives.is_empty() {
        let _ = writeln!(text, "{}", paint.green("each would be decided as it was"));
    } else {
        let _ = writeln!(text, "each of these would be decided as it was");
    }
    if unjudged > 0 {
        let told = format!("{} could not be judged: see below", count(unjudged));
        let _ = writeln!(text, "{}", paint.red(&told));
    }
    changes(text, report, paint);
    failures(text, report, paint);
    fuel(text, report, paint);
}

fn changes(text: &mut String, report: &Report, paint: &Paint) {
    let rows = report.by_change.iter().map(|change| {
        let currency = change.currency.as_deref();
        let example = change.sum.examples.first();
        vec![
            change.step.clone(),
            decision(&change.before),
            decision(&change.after),
            right(change.sum.requests),
            amount(&change.sum, currency),
            example.map_or_else(String::new, |one| plain(&one.subject)),
        ]
    });
    let heads = ["step", "was", "would be", ">requests", ">amount", "such as"];
    table(text, paint, &heads, rows.collect());
    let rows = report.by_corridor.iter().map(|corridor| {
        let name = |name: &Option<String>| name.as_deref().map_or("?".to_owned(), plain);
        vec![
            format!("{} → {}", name(&corridor.payer), name(&corridor.payee)),
            right(corridor.sum.requests),
            amount(&corridor.sum, corridor.currency.as_deref()),
        ]
    });
    let heads = ["payer and payee", ">requests", ">amount"];
    table(text, paint, &heads, rows.collect());
    let rows = report.by_band.iter().map(|band| {
        let currency = band.currency.as_deref();
        let words = band.digits.map_or_else(|| "?".to_owned(), band_words);
        vec![
            format!("{words} {}", currency.unwrap_or_default())
                .trim_end()
                .to_owned(),
            right(band.sum.requests),
            amount(&band.sum, currency),
        ]
    });
    let heads = ["amount of a request", ">requests", ">amount"];
    table(text, paint, &heads, rows.collect());
    if let Some(ungrouped) = &report.ungrouped {
        let _ = writeln!(
            text,
            "\n{} further requests are in no group, because there are too many",
            count(ungrouped.requests)
        );
    }
}

fn failures(text: &mut String, report: &Report, paint: &Paint) {
    let failures = report.failures.iter().map(|failure| {
        let what = if failure.has_no_verdict {
            "has no verdict"
        } else {
            "failed"
        };
        let whose = (failure.rule.as_str(), &failure.step);
        (whose, format!("{what}: {}", failure.reason), &failure.sum)
    });
    let misfits = report.misfits.iter().map(|misfit| {
        let why = format!("cannot read the input: {}", misfit.reason);
        (("", &misfit.step), why, &misfit.sum)
    });
    let rows = failures.chain(misfits).map(|((rule, step), what, sum)| {
        let example = sum.examples.first();
        vec![
            step.clone(),
            rule.to_owned(),
            plain(&what),
            right(sum.requests),
            example.map_or_else(String::new, |one| plain(&one.subject)),
        ]
    });
    let heads = ["step", "rule", "failure", ">requests", "such as"];
    table(text, paint, &heads, rows.collect());
}

fn fuel(text: &mut String, report: &Report, paint: &Paint) {
    let rows = report.fuel.iter().map(
        |FuelOf {
             step,
             rule,
             before,
             after,
         }| {
            let cell = |verdicts: u64, fuel: u64| match verdicts {
                0 => format!("{RIGHT}–"),
                _ => right(fuel),
            };
            vec![
                step.clone(),
                rule.clone(),
                cell(before.verdicts, before.p50),
                cell(after.verdicts, after.p50),
                cell(before.verdicts, before.p99),
                cell(after.verdicts, after.p99),
                cell(after.verdicts, after.max),
            ]
        },
    );
    let heads = [
        "step",
        "rule",
        ">fuel p50",
        ">now",
        ">p99",
        ">now",
        ">most now",
    ];
    table(text, paint, &heads, rows.collect());
    let rows = report.dearest.iter().map(|dear| {
        vec![
            dear.step.clone(),
            dear.rule.clone(),
            right(dear.fuel),
            plain(&dear.input.subject),
        ]
    });
    let heads = ["step", "rule", ">most fuel", "about"];
    table(text, paint, &heads, rows.take(5).collect());
}

fn unread(text: &mut String, report: &Report, paint: &Paint) {
    let unread = &report.unread;
    let mut lines = uncounted(report);
    if unread.sealed > 0 {
        lines.push(format!(
            "{} receipts name people whose keys are destroyed or missing",
            count(unread.sealed)
        ));
    }
    if unread.quarantined > 0 {
        lines.push(format!(
            "{} requests were decided by the quarantine of a rule",
            count(unread.quarantined)
        ));
    }
    if unread.unreadable > 0 {
        lines.push(format!(
            "{} receipts are of a version that this one cannot read",
            count(unread.unreadable)
        ));
    }
    let archives = unread.archives.iter();
    lines.extend(archives.map(|archive| format!("the archive {}", plain(archive))));
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{}", paint.bold("not judged"));
    for line in lines {
        let _ = writeln!(text, "  {line}");
    }
}

/// The requests that the candidate cannot follow, with the counters that they lack.
fn uncounted(report: &Report) -> Vec<String> {
    let lines = report.uncounted.iter().map(|one| {
        let (requests, step, why) = (count(one.sum.requests), &one.step, plain(&one.reason));
        format!("{requests} requests of {step} cannot be followed: {why}")
    });
    lines.collect()
}

fn decision(decision: &Decision) -> String {
    match decision {
        Decision::Allow => "allowed".to_owned(),
        Decision::Refuse { rule, code } => format!("refused {code} by {rule}"),
        Decision::Failed { rule } => format!("refused, as {rule} failed"),
    }
}

fn amount(sum: &Sum, currency: Option<&str>) -> String {
    let amounts = sum.amounts.join(" and ");
    format!("{RIGHT}{amounts} {}", currency.unwrap_or_default())
        .trim_end()
        .to_owned()
}

fn count(number: u64) -> String {
    HumanCount(number).to_string()
}

fn right(number: u64) -> String {
    format!("{RIGHT}{}", count(number))
}

/// A table; nothing if it has no rows.
fn table(text: &mut String, paint: &Paint, heads: &[&str], mut rows: Vec<Vec<String>>) {
    if rows.is_empty() {
        return;
    }
    let more = rows.len().saturating_sub(ROWS);
    rows.truncate(ROWS);
    let heads: Vec<String> = heads.iter().map(|&head| head.to_owned()).collect();
    let length = |cell: &String| cell.trim_start_matches(RIGHT).chars().count();
    let widths: Vec<usize> = (0..heads.len())
        .map(|n| {
            rows.iter()
                .chain([&heads])
                .map(|row| length(&row[n]))
                .max()
                .unwrap_or(0)
        })
        .collect();
    let line = |row: &[String]| {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| {
            let padding = " ".repeat(width - length(cell));
            match cell.strip_prefix(RIGHT) {
                Some(cell) => format!("{padding}{cell}"),
                None => format!("{cell}{padding}"),
            }
        });
        let cells: Vec<String> = cells.collect();
        format!("  {}", cells.join("  ").trim_end())
    };
    let _ = writeln!(text, "\n{}", paint.bold(&line(&heads)));
    for row in &rows {
        let _ = writeln!(text, "{}", line(row));
    }
    if more > 0 {
        let _ = writeln!(text, "  … and {more} rows more: see --json");
    }
}
