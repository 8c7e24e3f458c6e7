//! A rule's file, prepared as a host would, and asked about inputs.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use parking_lot::Mutex;
use rialto_components::cache::Cache;
use rialto_components::config::PoolSize;
use rialto_components::introspect::Shape;
use rialto_components::problem::Problem;
use rialto_components::release::RuleDescription;
use rialto_components::{
    ComponentSpec, Digest, Effective, Failing, Grants, Isolation, Limits, RULE_SURFACES, Release,
    ReleaseSpec, Role, Runtime, StepSpec, StoredVerdict,
};
use rialto_engine::Entropy as _;
use rialto_engine::time::SystemEntropy;
use rialto_manifest::values::Name;
use serde_json::Value;

/// The code of a failure that refuses. No rule of a file has another one, because no scheme says one.
const FAILURE_CODE: &str = "2001";
/// The instances that may live at a time: one that is asked, and one that is being made.
const INSTANCES: u32 = 4;

/// A component's file.
pub struct ComponentFile {
    name: Arc<str>,
    /// Its bytes.
    pub bytes: Arc<[u8]>,
    /// Their digest.
    pub digest: Digest,
    /// What it imports and exports.
    pub shape: Shape,
    limits: Limits,
    /// The scheme's facts, a JSON object.
    scheme: Arc<str>,
    runtime: Runtime,
    _compiled: tempfile::TempDir,
}

impl ComponentFile {
    /// Compile a file, and read what it imports and exports.
    ///
    /// # Errors
    /// When it cannot be read; within it, why it is no component that this host can run.
    pub fn open(path: &Path, limits: Limits) -> anyhow::Result<Result<Self, Box<Problem>>> {
        let bytes = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        Self::of(&stem, bytes.into(), limits)
    }

    /// Compile a component, and read what it imports and exports.
    ///
    /// # Errors
    /// When there is no folder for compiled components; within it, why it is no component that this host can run.
    pub fn of(
        name: &str,
        bytes: Arc<[u8]>,
        limits: Limits,
    ) -> anyhow::Result<Result<Self, Box<Problem>>> {
        let folder = rialto_files::temporary_folder().context("making a temporary folder")?;
        let cache = Cache::open(folder.path(), |bytes| SystemEntropy.fill(bytes));
        let cache = cache.context("making a folder for compiled components")?;
        let pool = PoolSize {
            instances: INSTANCES,
            memory_bytes_max: limits
                .memory_bytes
                .max(PoolSize::default().memory_bytes_max),
            ..PoolSize::default()
        };
        let runtime = Runtime::new(cache, pool).map_err(|e| anyhow::anyhow!("wasmtime: {e:?}"))?;
        let name: Result<Name, _> = name.replace('_', "-").parse();
        let name = name.map_or_else(|_| "component".into(), |name| name.shared());
        let mut file = Self {
            name,
            digest: Digest::of(&bytes),
            bytes,
            shape: Shape::default(),
            limits,
            scheme: "{}".into(),
            runtime,
            _compiled: folder,
        };
        Ok(match file.runtime.shape(&file.component(Role::Rule)) {
            Ok(shape) => {
                file.shape = shape;
                Ok(file)
            }
            Err(problem) => Err(problem),
        })
    }

    /// The same in a scheme with these facts (a JSON object).
    #[must_use]
    pub fn in_scheme(self, facts: &str) -> Self {
        Self {
            scheme: facts.into(),
            ..self
        }
    }

    /// Whether it is a rule. If not, it is a context.
    #[must_use]
    pub fn is_rule(&self) -> bool {
        let mut exports = self.shape.exports.iter();
        exports.any(|one| one.name.is_rules() && one.name.interface == "rule")
    }

    /// The steps that it can be bound to.
    #[must_use]
    pub fn steps(&self) -> Vec<&str> {
        let exports = self.shape.exports.iter();
        let steps = exports.filter(|one| one.name.is_rules() && one.function("check").is_some());
        let mut steps: Vec<&str> = steps.map(|one| one.name.interface.as_str()).collect();
        // A rule may serve several versions of a step.
        steps.dedup();
        steps
    }

    /// Prepare it as a rule.
    ///
    /// # Errors
    /// All that a host would object to.
    pub fn into_rule(self) -> Result<RuleFile, Vec<Problem>> {
        let release = self
            .runtime
            .prepare(&self.release(Vec::new(), Vec::new()))?;
        let description = release
            .members
            .first()
            .and_then(|one| one.description.clone());
        let description = description.unwrap_or_else(|| RuleDescription {
            name: self.name.to_string(),
            version: String::new(),
            summary: String::new(),
            codes: Vec::new(),
            settings_schema: "{}".to_owned(),
        });
        Ok(RuleFile {
            file: self,
            description,
            bound: Mutex::default(),
        })
    }

    fn component(&self, role: Role) -> ComponentSpec {
        ComponentSpec {
            name: self.name.clone(),
            role,
            digest: self.digest,
            bytes: self.bytes.clone(),
            grants: Grants {
                host: RULE_SURFACES.map(str::to_owned).to_vec(),
                ..Grants::default()
            },
            limits: self.limits,
            isolation: Isolation::Fresh,
            settings: "{}".into(),
            listener: None,
        }
    }

    fn release(&self, steps: Vec<StepSpec>, codes: Vec<String>) -> ReleaseSpec {
        let release = ReleaseSpec {
            number: 0,
            digest: self.digest,
            components: vec![self.component(Role::Rule)],
            steps,
            scheme: self.scheme.clone(),
            lists: Arc::default(),
            signers: Vec::new(),
            codes,
            has_rules_alone: false,
        };
        release.rules_alone()
    }
}

/// A rule's file.
pub struct RuleFile {
    /// The file.
    pub file: ComponentFile,
    /// What the rule says of itself.
    pub description: RuleDescription,
    /// The rule at each step with these settings, because preparing costs much more than asking.
    bound: Mutex<HashMap<(String, String), Arc<Release>>>,
}

/// Why an input could not be judged.
#[derive(Debug, thiserror::Error)]
pub enum Unjudged {
    /// The rule cannot be bound so.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Unbound(Vec<Problem>),
    /// The input is not of the step's type.
    #[error("the input does not fit {step}: {why}")]
    Misfit {
        /// The step.
        step: String,
        /// What does not fit, and where.
        why: String,
    },
    /// The clock stopped the rule, or it could not be run.
    #[error("there is no verdict: {0}")]
    NoVerdict(String),
}

/// A verdict, and what it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The verdict or the failure.
    pub outcome: rialto_components::rules::Outcome,
    /// Fuel used.
    pub fuel: u64,
    /// Bytes of linear memory at the end.
    pub memory_bytes: usize,
    /// The branches that the rule has marked.
    pub branches: Vec<String>,
}

impl RuleFile {
    /// The rule at a step with settings (a JSON object as text), which it judges first.
    ///
    /// # Errors
    /// All that a host would object to.
    pub fn bind(&self, step: &str, settings: &str) -> Result<Arc<Release>, Unjudged> {
        let key = (step.to_owned(), settings.to_owned());
        if let Some(bound) = self.bound.lock().get(&key) {
            return Ok(bound.clone());
        }
        let release = self.bind_once(step, settings)?;
        self.bound.lock().insert(key, release.clone());
        Ok(release)
    }

    /// The same for settings that are not wanted again.
    ///
    /// # Errors
    /// All that a host would object to.
    pub fn bind_once(&self, step: &str, settings: &str) -> Result<Arc<Release>, Unjudged> {
        let steps = vec![StepSpec {
            step: step.into(),
            rule: self.file.name.clone(),
            settings: settings.into(),
            failing: Failing::Refuse.into(),
            failure_code: FAILURE_CODE.into(),
            quarantine: None,
            always_newest: false,
            confidential: false,
            effective: Effective::default(),
            shadow: None,
            canary: None,
        }];
        let mut codes = self.description.codes.clone();
        codes.push(FAILURE_CODE.to_owned());
        let spec = self.file.release(steps, codes);
        let release = self.file.runtime.prepare(&spec);
        Ok(Arc::new(release.map_err(Unjudged::Unbound)?))
    }

    /// Judge an input, as receipts have it.
    ///
    /// # Errors
    /// When the rule cannot be bound so, the input does not fit, or there is no verdict.
    pub fn judge(
        &self,
        step: &str,
        settings: &Value,
        subject: &str,
        input: &Value,
    ) -> Result<Judged, Unjudged> {
        let release = self.bind(step, &settings.to_string())?;
        self.judge_with(&release, step, subject, input)
    }

    /// Judge an input by the rule as it was bound.
    ///
    /// # Errors
    /// When the input does not fit, or there is no verdict.
    pub fn judge_with(
        &self,
        release: &Release,
        step: &str,
        subject: &str,
        input: &Value,
    ) -> Result<Judged, Unjudged> {
        let verdicts = release.judge_step((step, 0), subject, input);
        let verdicts = verdicts.map_err(|misfit| Unjudged::Misfit {
            step: step.to_owned(),
            why: misfit.to_string(),
        })?;
        let judged = verdicts.into_iter().next().map(|verdict| {
            let StoredVerdict {
                outcome,
                fuel,
                memory_bytes,
                branches,
                ..
            } = verdict;
            outcome.map_err(Unjudged::NoVerdict).map(|outcome| Judged {
                outcome,
                fuel,
                memory_bytes,
                branches,
            })
        });
        judged.unwrap_or_else(|| Err(Unjudged::NoVerdict("no rule was asked".to_owned())))
    }
}
