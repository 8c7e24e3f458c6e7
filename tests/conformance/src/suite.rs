//! Runs the cases, one after the other, on one stage. Arguments, results and exit code are those of the
//! standard test runner: libtest-mimic.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result, anyhow, ensure};
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::Runtime;

use crate::case::Case;
use crate::cases;
use crate::codes;
use crate::interfaces::{Row, Seen, rows};
use crate::stage::Stage;
use crate::tally::Problems;

/// The exit code of a test program with failures.
const FAILED: u8 = 101;

/// Runs the cases that the arguments ask for. A run of all cases also checks the host at the end and the
/// catalogue's rows, and writes down which rows the cases saw.
pub fn run(mut arguments: Arguments) -> ExitCode {
    // The cases share one host, and each accounts for all that the host does.
    arguments.test_threads = Some(1);
    let cases = cases::all();
    let count = cases.len() as u64;
    let suite = Arc::new(Mutex::new(Suite::default()));
    let trials = cases.into_iter().map(|case| {
        let suite = Arc::clone(&suite);
        Trial::test(case.name, move || lock(&suite).run(&case))
    });
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    let is_whole = conclusion.num_passed + conclusion.num_failed == count;
    if is_whole && let Err(problems) = lock(&suite).end() {
        println!("\nthe checks after all cases FAILED:\n{problems:#}");
        return ExitCode::from(FAILED);
    }
    conclusion.exit_code()
}

fn lock(suite: &Mutex<Suite>) -> MutexGuard<'_, Suite> {
    suite.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The shared state of the cases.
#[derive(Default)]
struct Suite {
    /// Whether a case has tried to open the stage.
    is_tried: bool,
    open: Option<Open>,
}

impl Suite {
    /// Runs a case. The first case that runs opens the stage.
    fn run(&mut self, case: &Case) -> Result<(), Failed> {
        let outcome = self.open().and_then(|open| open.run(case));
        outcome.map_err(|error| format!("the case shows: {}\n{error:#}", case.shows).into())
    }

    fn open(&mut self) -> Result<&mut Open> {
        if self.is_tried {
            let open = self.open.as_mut();
            return open.context("the stage did not open: the first case says why");
        }
        self.is_tried = true;
        Ok(self.open.insert(Open::new()?))
    }

    /// Makes the checks after all cases, unless the stage did not open.
    fn end(&self) -> Result<()> {
        self.open.as_ref().map_or(Ok(()), Open::end)
    }
}

/// The open stage, and what the cases have seen on it.
struct Open {
    stage: Stage,
    rows: Vec<Row>,
    seen: Seen,
    /// It ends after the stage.
    runtime: Runtime,
}

impl Open {
    fn new() -> Result<Self> {
        let rows = rows()?;
        let runtime = Runtime::new().context("starting the runtime")?;
        let stage = runtime.block_on(Stage::open(rows.clone()));
        Ok(Self {
            stage: stage.context("opening the stage")?,
            rows,
            seen: Seen::default(),
            runtime,
        })
    }

    /// Runs one case, and checks that it expected all effects.
    fn run(&mut self, case: &Case) -> Result<()> {
        let (runtime, stage) = (&self.runtime, &self.stage);
        runtime.block_on(stage.begin())?;
        let run = AssertUnwindSafe(|| runtime.block_on((case.run)(stage)));
        let outcome = catch_unwind(run);
        outcome.map_err(|_| anyhow!("the case panicked; its message is above"))??;
        let seen = runtime.block_on(stage.end())?;
        self.seen.note(case.name, &seen);
        Ok(())
    }

    /// Checks the host at the end, the announced error codes and the catalogue's rows. Prints how many rows
    /// the cases saw, and writes down which.
    fn end(&self) -> Result<()> {
        let mut problems = Problems::default();
        problems.take(self.runtime.block_on(close(&self.stage)));
        for line in self.seen.counts(&self.rows) {
            println!("{line}");
        }
        problems.take(self.seen.write(&self.rows));
        let untold = problems.take(codes::untold(&self.stage.codes()));
        for code in untold.into_iter().flatten() {
            problems.tell(format!(
                "no case was told {code}, which openapi.yaml announces"
            ));
        }
        for row in self.seen.unseen(&self.rows) {
            problems.tell(format!("no case has seen {} ({}) work", row.id, row.name));
        }
        problems.end()
    }
}

/// Nothing is open, the books add up, and no turn has failed.
async fn close(stage: &Stage) -> Result<()> {
    let books = stage.world.settled_books().await?;
    let problems = books.problems()?;
    ensure!(
        problems.is_empty(),
        "the books do not add up: {problems:#?}"
    );
    stage.world.host.nothing_failed().await?;
    let log = stage.world.host.log();
    ensure!(!log.contains("panicked"), "the host panicked:\n{log}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn cases_have_names_of_their_own() {
        let cases = cases::all();
        let names: BTreeSet<_> = cases.iter().map(|case| case.name).collect();
        assert_eq!(names.len(), cases.len());
        assert!(names.iter().all(|name| name.contains('/')), "{names:?}");
    }
}
