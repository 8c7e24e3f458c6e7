//! Runs the cases, one after the other, and prints what came of them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, Result, anyhow, ensure};
use tokio::runtime::Runtime;

use crate::case::Case;
use crate::cases;
use crate::codes;
use crate::interfaces::{Seen, rows};
use crate::stage::Stage;

/// Options of a test program that have a value of their own.
const WITH_VALUE: [&str; 5] = [
    "--test-threads",
    "--color",
    "--format",
    "--logfile",
    "--skip",
];

/// What the command line asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wanted {
    list: bool,
    exact: bool,
    ignored: bool,
    filters: Vec<String>,
}

impl Wanted {
    /// Read the arguments as test programs take them.
    fn of(mut arguments: impl Iterator<Item = String>) -> Self {
        let mut wanted = Self::default();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--list" => wanted.list = true,
                "--exact" => wanted.exact = true,
                "--ignored" => wanted.ignored = true,
                option if WITH_VALUE.contains(&option) => drop(arguments.next()),
                option if option.starts_with('-') => {}
                filter => wanted.filters.push(filter.to_owned()),
            }
        }
        wanted
    }

    fn takes(&self, name: &str) -> bool {
        let fits = |filter: &String| match self.exact {
            true => name == filter,
            false => name.contains(filter.as_str()),
        };
        !self.ignored && (self.filters.is_empty() || self.filters.iter().any(fits))
    }
}

/// Run the cases that the arguments ask for: all, or those whose names contain a word. Only a run of
/// all judges which rows of the catalogue were seen, and writes them down.
pub fn run(arguments: impl Iterator<Item = String>) -> ExitCode {
    let wanted = Wanted::of(arguments);
    let all = cases::all();
    let chosen: Vec<Case> = all
        .iter()
        .copied()
        .filter(|case| wanted.takes(case.name))
        .collect();
    if wanted.list {
        for case in &chosen {
            println!("{}: test", case.name);
        }
        return ExitCode::SUCCESS;
    }
    let started = Instant::now();
    let is_whole = chosen.len() == all.len();
    let outcome = if chosen.is_empty() {
        Ok(Vec::new())
    } else {
        perform(&chosen, is_whole)
    };
    // Without a stage no case was run.
    let was_run = outcome.is_ok();
    let failures = outcome.unwrap_or_else(|error| vec![("the stage", error)]);
    for (name, error) in &failures {
        println!("\n--- {name}\n{error:#}");
    }
    let failed = |case: &&Case| failures.iter().any(|(name, _)| *name == case.name);
    let passed = chosen.iter().filter(|case| was_run && !failed(case));
    let passed = passed.count();
    println!(
        "test result: {}. {passed} passed; {} failed; 0 ignored; 0 measured; {} filtered out; finished in {:.2}s",
        if failures.is_empty() { "ok" } else { "FAILED" },
        failures.len(),
        all.len() - chosen.len(),
        started.elapsed().as_secs_f64()
    );
    if failures.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

type Failures = Vec<(&'static str, anyhow::Error)>;

fn perform(cases: &[Case], is_whole: bool) -> Result<Failures> {
    let rows = rows()?;
    let runtime = Runtime::new().context("starting the runtime")?;
    let stage = runtime
        .block_on(Stage::open(rows.clone()))
        .context("opening the stage")?;
    let (mut seen, mut failures) = (Seen::default(), Vec::new());
    println!(
        "\nconformance: {} cases\n{:<7} {:>6}  {:<44} shows",
        cases.len(),
        "outcome",
        "ms",
        "case"
    );
    for case in cases {
        let started = Instant::now();
        let outcome = attempt(&runtime, &stage, case);
        let word = if outcome.is_ok() { "ok" } else { "FAILED" };
        let took = started.elapsed().as_millis();
        println!("{word:<7} {took:>6}  {:<44} {}", case.name, case.shows);
        match outcome {
            Ok(rows) => seen.note(case.name, &rows),
            Err(error) => failures.push((case.name, error)),
        }
    }
    if let Err(error) = runtime.block_on(close(&stage)) {
        failures.push(("the end of all cases", error));
    }
    if is_whole {
        println!();
        for line in seen.counts(&rows) {
            println!("{line}");
        }
        seen.write(&rows)?;
        for code in codes::untold(&stage.codes())? {
            let error = anyhow!("no case was told {code}, which openapi.yaml announces");
            failures.push(("the announced errors", error));
        }
        for row in seen.unseen(&rows) {
            let error = anyhow!("no case has seen {} ({}) work", row.id, row.name);
            failures.push(("the rows of the catalogue", error));
        }
    }
    runtime.shutdown_background();
    Ok(failures)
}

/// Run one case. What it leaves behind it must have expected.
fn attempt(
    runtime: &Runtime,
    stage: &Stage,
    case: &Case,
) -> Result<std::collections::BTreeSet<String>> {
    runtime.block_on(stage.begin())?;
    let run = AssertUnwindSafe(|| runtime.block_on((case.run)(stage)));
    match catch_unwind(run) {
        Ok(outcome) => outcome.and_then(|()| runtime.block_on(stage.end())),
        Err(_) => Err(anyhow!("the case panicked; its message is above")),
    }
}

/// Nothing is open, the books add up, and nothing was given up.
async fn close(stage: &Stage) -> Result<()> {
    let books = stage.world.settled_books().await?;
    let problems = books.problems()?;
    ensure!(
        problems.is_empty(),
        "the books do not add up: {problems:#?}"
    );
    let letters = stage.world.host.cli(&["dead-letters"])?.success()?;
    ensure!(letters.is_empty(), "deliveries were given up:\n{letters}");
    let log = stage.world.host.log();
    ensure!(!log.contains("panicked"), "the host panicked:\n{log}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn wanted(text: &str) -> Wanted {
        Wanted::of(text.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn arguments_are_those_of_a_test_program() {
        let all = wanted("--nocapture --test-threads 2 --color=always");
        assert_eq!(all, Wanted::default());
        assert!(all.takes("quotes/agreed"));
        assert!(wanted("agreed").takes("quotes/agreed"));
        assert!(!wanted("--exact agreed").takes("quotes/agreed"));
        assert!(!wanted("--ignored").takes("quotes/agreed"));
        assert!(!wanted("refused").takes("quotes/agreed"));
    }

    #[test]
    fn cases_have_names_of_their_own() {
        let cases = cases::all();
        let names: BTreeSet<_> = cases.iter().map(|case| case.name).collect();
        assert_eq!(names.len(), cases.len());
        assert!(names.iter().all(|name| name.contains('/')), "{names:?}");
    }
}
