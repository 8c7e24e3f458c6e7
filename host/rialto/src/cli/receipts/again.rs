//! Rules of proven receipts, asked again from the bytes of their components, without a host.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use rialto_components::rules::Outcome;
use rialto_components::{Digest, Limits};
use rialto_manifest::scheme::RuleLimits;
use rialto_receipts::{Disclosed, ProofFile, fields};
use serde::Serialize;

use crate::kit::file::{ComponentFile, RuleFile, Unjudged};

/// The outcome of asking a rule again.
#[derive(Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub(super) enum Again {
    /// The same verdict. Fuel may differ where another version of the host has run the rule.
    Same {
        /// Fuel used now.
        fuel: u64,
        /// Fuel used then.
        before: u64,
    },
    /// Another verdict.
    Different {
        /// The verdict now.
        verdict: Outcome,
    },
    /// It cannot be asked.
    NotAsked {
        /// Why.
        why: String,
    },
    /// It was not asked then either: it was in quarantine.
    Quarantined,
    /// It is a receipt of other bytes.
    OtherComponent {
        /// Their digest.
        digest: String,
    },
}

impl Again {
    /// Whether nothing speaks against the receipt.
    pub fn is_good(&self) -> bool {
        !matches!(self, Self::Different { .. } | Self::NotAsked { .. })
    }

    pub fn words(&self) -> String {
        match self {
            Self::Same { fuel, before } if fuel == before => {
                format!("asked again: the same verdict, the same {fuel} fuel")
            }
            Self::Same { fuel, before } => format!(
                "asked again: the same verdict, with {fuel} fuel and not {before}: the host was of another version"
            ),
            Self::Different { verdict } => {
                format!("asked again: DIFFERENT: {}", crate::words::verdict(verdict))
            }
            Self::NotAsked { why } => format!("cannot be asked again: {why}"),
            Self::Quarantined => {
                "not asked again: the rule was in quarantine, and was not asked".to_owned()
            }
            Self::OtherComponent { digest } => {
                format!("not asked again: its component is {digest}, which was not given")
            }
        }
    }
}

/// The components that were given.
pub(super) struct Components {
    files: Vec<File>,
    /// Rules that are prepared, by file, limits and the digest of the scheme's facts.
    rules: HashMap<(usize, u64, u64, String), RuleFile>,
}

struct File {
    path: PathBuf,
    digest: Digest,
    is_used: bool,
}

/// The fields that are needed to ask a rule again.
struct Asking<'v> {
    step: String,
    subject: String,
    settings: &'v str,
    scheme: &'v str,
    scheme_digest: String,
    fuel_limit: u64,
    memory_limit: u64,
    fuel: u64,
    verdict: Outcome,
}

impl Components {
    pub fn open(paths: &[PathBuf]) -> anyhow::Result<Self> {
        let files = paths.iter().map(|path| {
            let bytes =
                std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
            Ok(File {
                path: path.clone(),
                digest: Digest::of(&bytes),
                is_used: false,
            })
        });
        Ok(Self {
            files: files.collect::<anyhow::Result<_>>()?,
            rules: HashMap::new(),
        })
    }

    /// The files of which no receipt was.
    pub fn unused(&self) -> impl Iterator<Item = &Path> {
        let unused = self.files.iter().filter(|file| !file.is_used);
        unused.map(|file| &*file.path)
    }

    /// Ask the rule of a receipt again.
    pub fn ask(&mut self, receipt: &Disclosed, file: &ProofFile) -> anyhow::Result<Again> {
        let not_asked = |why: &str| {
            Ok(Again::NotAsked {
                why: why.to_owned(),
            })
        };
        let Some(digest) = receipt.field::<String>("digest") else {
            return not_asked("its component's digest was taken away");
        };
        let mut files = self.files.iter_mut().enumerate();
        let found = files.find(|(_, file)| file.digest.to_string() == digest);
        let Some((nth, component)) = found else {
            return Ok(Again::OtherComponent { digest });
        };
        component.is_used = true;
        if receipt.field("quarantined") == Some(true) {
            return Ok(Again::Quarantined);
        }
        let asking = match asking(receipt, file) {
            Ok(asking) => asking,
            Err(why) => return not_asked(&why),
        };
        let input = serde_json::from_str(&receipt.input).context("a receipt's input")?;
        let rule = self.rule(nth, &asking)?;
        let bound = rule.bind(&asking.step, asking.settings);
        let judged =
            bound.and_then(|bound| rule.judge_with(&bound, &asking.step, &asking.subject, &input));
        Ok(match judged {
            Ok(judged) if is_same(&judged.outcome, &asking.verdict) => Again::Same {
                fuel: judged.fuel,
                before: asking.fuel,
            },
            Ok(judged) => Again::Different {
                verdict: judged.outcome,
            },
            Err(error @ Unjudged::NoVerdict(_)) => bail!("{error}; try again"),
            Err(error) => Again::NotAsked {
                why: error.to_string(),
            },
        })
    }

    /// A component as a rule with the limits and in the scheme of a receipt.
    fn rule(&mut self, nth: usize, asking: &Asking<'_>) -> anyhow::Result<&RuleFile> {
        let path = &self.files[nth].path;
        let Asking {
            fuel_limit,
            memory_limit,
            scheme_digest,
            ..
        } = asking;
        let key = (nth, *fuel_limit, *memory_limit, scheme_digest.clone());
        if !self.rules.contains_key(&key) {
            let usual = RuleLimits::default();
            let memory_bytes = match memory_limit {
                0 => crate::limits::bytes(usual.memory),
                limit => usize::try_from(*limit)?,
            };
            let limits = Limits {
                memory_bytes,
                deadline_ms: usual.deadline.millis(),
                fuel: Some(*fuel_limit),
                instances: u32::MAX,
            };
            let opened = ComponentFile::open(path, limits)?;
            let opened = opened.map_err(|problem| anyhow::anyhow!("{problem}"))?;
            let rule = opened.in_scheme(asking.scheme).into_rule();
            let rule = rule.map_err(|problems| {
                let all: Vec<String> = problems.iter().map(ToString::to_string).collect();
                anyhow::anyhow!("{}", all.join("\n"))
            })?;
            self.rules.insert(key.clone(), rule);
        }
        self.rules.get(&key).context("a rule that was prepared")
    }
}

/// What a receipt and its file have for asking again; otherwise what is missing.
fn asking<'v>(receipt: &'v Disclosed, file: &'v ProofFile) -> Result<Asking<'v>, String> {
    let taken = |name: &str| format!("its field `{name}` was taken away");
    let text = |name: &str| receipt.field::<String>(name).ok_or_else(|| taken(name));
    let number = |name: &str| receipt.field::<u64>(name).ok_or_else(|| taken(name));
    if text(fields::INPUT_DIGEST)? != Digest::of(receipt.input.as_bytes()).to_string() {
        return Err("parts of its input were taken away".to_owned());
    }
    let settings_digest = text("settingsDigest")?;
    let settings = found(&file.settings, &settings_digest, "settings")?;
    let scheme_digest: String = receipt.field("schemeDigest").unwrap_or_default();
    let scheme = match &*scheme_digest {
        "" => "{}",
        digest => found(&file.schemes, digest, "scheme's facts")?,
    };
    Ok(Asking {
        step: text("step")?,
        subject: text("subject")?,
        settings,
        scheme,
        fuel_limit: number("fuelLimit")?,
        memory_limit: number("memoryLimit")?,
        fuel: number("fuel")?,
        verdict: receipt.field("verdict").ok_or_else(|| taken("verdict"))?,
        scheme_digest,
    })
}

/// What the file has under a digest, if its bytes have that digest.
fn found<'f>(
    all: &'f std::collections::BTreeMap<String, Box<serde_json::value::RawValue>>,
    digest: &str,
    what: &str,
) -> Result<&'f str, String> {
    let found = all.get(digest);
    let found = found.ok_or_else(|| format!("the file does not have the {what} {digest}"))?;
    if Digest::of(found.get().as_bytes()).to_string() != digest {
        return Err(format!(
            "the {what} in the file do not have the digest {digest}"
        ));
    }
    Ok(found.get())
}

/// Whether two outcomes say the same. What a failure means is the scheme's, and not the rule's.
fn is_same(one: &Outcome, other: &Outcome) -> bool {
    match (one, other) {
        (Outcome::Failed { reason, .. }, Outcome::Failed { reason: before, .. }) => {
            reason == before
        }
        _ => one == other,
    }
}
