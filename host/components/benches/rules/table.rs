//! The table of results, with times that people can compare.
//!
//! Each figure is the median of criterion's samples, its warm-up included. The spread is half of the interquartile
//! range. The squares of the spreads add up for a difference.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use criterion::BenchmarkGroup;
use criterion::measurement::WallTime;

pub const NATIVE_VERDICT: &str = "native, limits read before";
pub const NATIVE_VERDICT_WITH_SETTINGS: &str = "native, limits read each time";
pub const KEPT_VERDICT: &str = "component, instance kept";
pub const FRESH_VERDICT: &str = "component, fresh instance (as the host asks rules)";
pub const NATIVE_CALL: &str = "native call";
pub const TURN: &str = "a request's turn that does nothing";
pub const TURN_WITH_CALLS: &str = "a request's turn with many calls to another component";
pub const TURN_WITH_EVENTS: &str = "a request's turn and a chain of events behind it";

/// Nanoseconds of each sample, by the benchmark's name.
static SAMPLES: Mutex<Option<HashMap<&'static str, Vec<f64>>>> = Mutex::new(None);

/// Benchmarks whose samples are kept for the table.
pub trait Sampled {
    /// Measure this, under this name.
    fn sampled(&mut self, name: &'static str, run: impl FnMut());
}

impl Sampled for BenchmarkGroup<'_, WallTime> {
    fn sampled(&mut self, name: &'static str, mut run: impl FnMut()) {
        self.bench_function(name, |b| {
            b.iter_custom(|times| {
                let begun = Instant::now();
                for _ in 0..times {
                    run();
                }
                let took = begun.elapsed();
                keep(name, took, times);
                took
            });
        });
    }
}

fn keep(name: &'static str, took: Duration, times: u64) {
    #[allow(clippy::cast_precision_loss, reason = "far fewer than 2^52 in a run")]
    let each = took.as_nanos() as f64 / times as f64;
    let mut samples = SAMPLES.lock().unwrap();
    let samples = samples.get_or_insert_default();
    samples.entry(name).or_default().push(each);
}

/// A time in nanoseconds, and how far half of the samples are from it.
#[derive(Clone, Copy)]
struct Figure {
    median: f64,
    spread: f64,
}

impl Figure {
    /// What a benchmark measured; none if it did not run.
    fn of(name: &str) -> Option<Self> {
        let samples = SAMPLES.lock().unwrap();
        let mut sorted = samples.as_ref()?.get(name)?.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |part: usize| sorted[(sorted.len() - 1) * part / 4];
        Some(Self {
            median: at(2),
            spread: (at(3) - at(1)) / 2.0,
        })
    }

    /// What one of many costs that come on top.
    fn each_of(self, with: Self, many: usize) -> Self {
        #[allow(clippy::cast_precision_loss, reason = "a few thousand")]
        let many = many as f64;
        Self {
            median: (with.median - self.median) / many,
            spread: self.spread.hypot(with.spread) / many,
        }
    }
}

/// Print what has been measured. Nothing, when only a part of it has.
pub fn print(calls: usize, events: usize) {
    if let Some(rows) = rows(calls, events) {
        let width = rows.iter().map(|row| row.0.chars().count()).max();
        let width = width.unwrap_or_default();
        println!("\nWhat WebAssembly costs, on this machine now");
        for (what, figure, beside) in rows {
            let (time, spread) = (readable(figure.median), readable(figure.spread));
            let line = format!("  {what:<width$}  {time:>9} ± {spread:<9}  {beside}");
            println!("{}", line.trim_end());
        }
        println!();
    }
}

fn rows(calls: usize, events: usize) -> Option<Vec<(String, Figure, String)>> {
    let native = Figure::of(NATIVE_VERDICT)?;
    let parsed = Figure::of(NATIVE_VERDICT_WITH_SETTINGS)?;
    let (kept, fresh) = (Figure::of(KEPT_VERDICT)?, Figure::of(FRESH_VERDICT)?);
    let (echo, turn) = (Figure::of(NATIVE_CALL)?, Figure::of(TURN)?);
    let call = turn.each_of(Figure::of(TURN_WITH_CALLS)?, calls);
    let event = turn.each_of(Figure::of(TURN_WITH_EVENTS)?, events);
    let row = |what: &str, figure: Figure, beside: String| (what.to_owned(), figure, beside);
    let times = |figure: Figure, of: Figure, what: &str| {
        format!("{:.0} × {what}", figure.median / of.median)
    };
    let per_second = |figure: Figure| format!("{:.0} a second on one core", 1e9 / figure.median);
    Some(vec![
        row("a verdict, native", native, String::new()),
        row("  with the settings read each time", parsed, String::new()),
        row(
            "a verdict of a rule whose instance is kept",
            kept,
            times(kept, parsed, "native with settings"),
        ),
        row(
            "a verdict of a rule in a fresh instance",
            fresh,
            format!(
                "{}; this is how the host asks",
                times(fresh, kept, "a kept one")
            ),
        ),
        row("a call of a function, native", echo, String::new()),
        row(
            "a call of another component, in the same turn",
            call,
            times(call, echo, "native"),
        ),
        row(
            "an event to another component, a turn of its own",
            event,
            per_second(event),
        ),
        row(
            "a request's turn that does nothing, with its commit",
            turn,
            "waiting for threads included".to_owned(),
        ),
    ])
}

/// Three digits and a unit.
fn readable(nanoseconds: f64) -> String {
    let (value, unit) = match nanoseconds {
        n if n < 1e3 => (n, "ns"),
        n if n < 1e6 => (n / 1e3, "µs"),
        n => (n / 1e6, "ms"),
    };
    let digits = match value {
        v if v < 10.0 => 2,
        v if v < 100.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}
