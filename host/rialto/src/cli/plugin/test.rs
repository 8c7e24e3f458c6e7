//! `rialto plugin test`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, bail};
use rialto_components::Digest;
use rialto_engine::Entropy as _;
use rialto_engine::time::SystemEntropy;
use serde_json::json;

use super::{RuleLimit, UNFIT, size};
use crate::kit::boundaries::boundaries;
use crate::kit::case::{Case, Expected, files};
use crate::kit::file::{Judged, RuleFile};
use crate::kit::fuzz::fuzz;
use crate::{out, words};

/// How often `--watch` looks.
const LOOK: Duration = Duration::from_millis(300);
/// The exit code if a case fails.
const FAILED: u8 = 1;

/// Have a rule judge its golden cases, and inputs at random.
///
/// A case is a JSON file with `step`, `settings`, `input` and `expect`: "allow" or { "refuse": ["5200"] }.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Test {
    /// The rule's component.
    file: PathBuf,
    /// Cases, or folders of cases. Without them, the nearest folder `cases` beside the component or above it.
    cases: Vec<PathBuf>,
    /// Write what the rule says into the cases, in the place of what was expected.
    #[arg(long)]
    bless: bool,
    /// Then change the cases' settings at the boundaries of their schema: the rule must refuse them with a reason, or judge with them without failing.
    #[arg(long)]
    boundaries: bool,
    /// Then try inputs at random for so many seconds. The first that makes the rule fail is written as a case.
    #[arg(long, value_name = "SECONDS")]
    fuzz: Option<u64>,
    /// The seed of the inputs at random, to repeat them.
    #[arg(long, requires = "fuzz")]
    seed: Option<u64>,
    /// Go on, and test again whenever a file has changed. Ctrl-C ends it.
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    limits: RuleLimit,
    /// Print one JSON object for each case.
    #[arg(long)]
    json: bool,
}

/// The result of a case.
struct Tested {
    passes: bool,
    judged: Option<Judged>,
    /// What is wrong; empty if nothing is.
    why: String,
}

impl Test {
    pub fn run(self) -> anyhow::Result<u8> {
        if !self.watch {
            return self.once();
        }
        loop {
            let seen = self.times();
            if let Err(error) = self.once() {
                out::note(format_args!("{error:#}"));
            }
            while self.times() == seen {
                std::thread::sleep(LOOK);
            }
            out::note("");
        }
    }

    /// When each file was changed last.
    fn times(&self) -> BTreeMap<PathBuf, Option<SystemTime>> {
        let cases = files(&self.file, &self.cases).unwrap_or_default();
        let all = cases.into_iter().chain([self.file.clone()]);
        all.map(|path| {
            let changed = std::fs::metadata(&path).and_then(|about| about.modified());
            (path, changed.ok())
        })
        .collect()
    }

    fn once(&self) -> anyhow::Result<u8> {
        let Some(rule) = self.limits.rule(&self.file)? else {
            return Ok(UNFIT);
        };
        let mut cases = Vec::new();
        let mut failed = 0_usize;
        let all = files(&self.file, &self.cases)?;
        if all.is_empty() {
            bail!("there is no case: a case is a file NAME.json");
        }
        for file in &all {
            let tested = match Case::read(file) {
                Ok(mut case) => {
                    let tested = self.test(&rule, file, &mut case)?;
                    cases.push(case);
                    tested
                }
                Err(error) => Tested {
                    passes: false,
                    judged: None,
                    why: format!("{error:#}"),
                },
            };
            failed += usize::from(!tested.passes);
            self.tell(file, &tested)?;
        }
        if !self.json {
            out::line(format_args!(
                "{} of {} cases as expected",
                all.len() - failed,
                all.len()
            ))?;
        }
        if failed > 0 {
            return Ok(FAILED);
        }
        if self.boundaries && !self.boundaries(&rule, &cases)? {
            return Ok(FAILED);
        }
        match self.fuzz {
            Some(seconds) => self.fuzz(&rule, &cases, seconds),
            None => Ok(0),
        }
    }

    fn test(&self, rule: &RuleFile, file: &Path, case: &mut Case) -> anyhow::Result<Tested> {
        let judged = match rule.judge(&case.step, &case.settings(), case.subject(), &case.input) {
            Ok(judged) => judged,
            Err(unjudged) => {
                return Ok(Tested {
                    passes: false,
                    judged: None,
                    why: unjudged.to_string(),
                });
            }
        };
        if self.bless
            && let Some(said) = Expected::of(&judged.outcome)
        {
            let stays = case
                .expect
                .as_ref()
                .is_some_and(|known| known.is(&judged.outcome));
            if !stays {
                case.expect = Some(said);
                case.write(file)?;
            }
        }
        let why = case.objection(rule, &judged).unwrap_or_default();
        Ok(Tested {
            passes: why.is_empty(),
            judged: Some(judged),
            why,
        })
    }

    fn tell(&self, file: &Path, tested: &Tested) -> anyhow::Result<()> {
        let Tested {
            passes,
            judged,
            why,
        } = tested;
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        if self.json {
            let judged = judged.as_ref();
            return Ok(out::json(&json!({
                "case": name,
                "passes": passes,
                "verdict": judged.map(|judged| &judged.outcome),
                "fuel": judged.map(|judged| judged.fuel),
                "memoryBytes": judged.map(|judged| judged.memory_bytes),
                "why": why,
            }))?);
        }
        let mark = if *passes { "ok  " } else { "FAIL" };
        match judged {
            Some(judged) => {
                out::line(format_args!(
                    "{mark} {name:<32} {:>10} fuel {:>10}  {}",
                    judged.fuel,
                    size(judged.memory_bytes),
                    words::verdict(&judged.outcome)
                ))?;
                if !why.is_empty() {
                    out::line(format_args!("     {why}"))?;
                }
            }
            None => out::line(format_args!("{mark} {name}: {why}"))?,
        }
        Ok(())
    }

    /// Whether no settings at a boundary make the rule fail.
    fn boundaries(&self, rule: &RuleFile, cases: &[Case]) -> anyhow::Result<bool> {
        let tried = boundaries(rule, cases)?;
        let (settings, how) = tried.failure.unzip();
        let how = how.or_else(|| beyond(rule, tried.fuel_max));
        if self.json {
            out::json(&json!({
                "boundaries": tried.settings, "refused": tried.refused, "fuelMax": tried.fuel_max,
                "passes": how.is_none(), "why": how, "settings": settings,
            }))?;
            return Ok(how.is_none());
        }
        let told = format!(
            "{} settings at boundaries, {} of them refused; {} fuel at most with the others",
            tried.settings, tried.refused, tried.fuel_max
        );
        let Some(how) = how else {
            out::line(format_args!("ok   {told}"))?;
            return Ok(true);
        };
        let settings = settings.unwrap_or_default();
        out::line(format_args!("FAIL {told}: {how}\n     {settings}"))?;
        Ok(false)
    }

    fn fuzz(&self, rule: &RuleFile, cases: &[Case], seconds: u64) -> anyhow::Result<u8> {
        let seed = self.seed.unwrap_or_else(|| {
            let mut bytes = [0; 8];
            SystemEntropy.fill(&mut bytes);
            u64::from_le_bytes(bytes)
        });
        let tried = fuzz(rule, cases, (seed, Duration::from_secs(seconds)))?;
        let told = format!(
            "{} inputs at random (--seed {seed}), {} fuel at most",
            tried.inputs, tried.fuel_max
        );
        if tried.failure.is_none()
            && let Some(how) = beyond(rule, tried.fuel_max)
        {
            bail!("with inputs at random (--seed {seed}), {how}");
        }
        let Some((case, how)) = tried.failure else {
            if self.json {
                out::json(&json!({
                    "inputs": tried.inputs, "seed": seed, "fuelMax": tried.fuel_max, "passes": true,
                }))?;
            } else {
                out::line(format_args!("ok   {told}"))?;
            }
            return Ok(0);
        };
        let digest = Digest::of(case.input.to_string()).hex();
        let file = PathBuf::from(format!("fuzz-{}.json", &digest[..12]));
        case.write(&file).context("keeping the input")?;
        if self.json {
            out::json(&json!({
                "inputs": tried.inputs, "seed": seed, "passes": false, "why": how, "case": file,
            }))?;
        } else {
            out::line(format_args!(
                "FAIL {told}: {how}\n     {} has the input",
                file.display()
            ))?;
        }
        Ok(FAILED)
    }
}

/// What is wrong about a verdict with this fuel; none if the rule says that it may need so much, or says nothing.
fn beyond(rule: &RuleFile, fuel: u64) -> Option<String> {
    let most = rule.description.fuel().filter(|most| fuel > *most)?;
    Some(format!(
        "a verdict needs {fuel} fuel, and the rule says that it needs {most} at most"
    ))
}
