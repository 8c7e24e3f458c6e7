//! `rialto bundle pack`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use rialto_bundles::FILE_BYTES_MAX;

use super::write;
use crate::bundles::making::{self, CasesElsewhere};
use crate::cli::load;
use crate::cli::plugin::RuleLimit;

/// The exit code for what no host would take.
const UNFIT: u8 = 2;

/// Pack a scheme's folder or a rule's component into a bundle, the same bytes on every machine.
///
/// Of a scheme: scheme.toml, the components and their digests, as a release has them; the WIT of each component; the golden cases of its rules in `cases/RULE`; a plan with its signatures. Of a rule: its component, `binding.toml` beside it and its golden cases. Nothing of rialto.toml is packed.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Pack {
    /// The scheme's folder, or the rule's component.
    source: PathBuf,
    /// The bundle, which must not exist.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Golden cases that are elsewhere: of a rule files or folders, of a scheme RULE=PATH. Several for several.
    #[arg(long = "cases", value_name = "[RULE=]PATH")]
    cases: Vec<String>,
    /// A plan that makes the folder current, of `rialto release plan --out`
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// The file of an officer's signature under the plan. Several for several.
    #[arg(long = "signature", value_name = "FILE", requires = "plan")]
    signatures: Vec<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl Pack {
    pub fn run(self) -> anyhow::Result<u8> {
        ensure!(
            !self.out.exists(),
            "{} exists: name a new file",
            self.out.display()
        );
        let bundle = if self.source.is_dir() {
            let elsewhere = self.elsewhere()?;
            let Some(manifest) = load(&self.source)? else {
                return Ok(UNFIT);
            };
            let plan = self.plan.as_deref();
            let plan = plan.map(|plan| (plan, self.signatures.as_slice()));
            making::of_scheme(&manifest, &elsewhere, plan)?
        } else {
            if self.plan.is_some() {
                bail!("a plan is of a whole scheme: pack the scheme's folder");
            }
            let about = std::fs::metadata(&self.source);
            let about = about.with_context(|| format!("reading {}", self.source.display()))?;
            ensure!(
                about.len() <= FILE_BYTES_MAX,
                "{} has {} bytes, and no host takes a component with more than {FILE_BYTES_MAX}",
                self.source.display(),
                about.len()
            );
            let Some(rule) = RuleLimit::default().rule(&self.source)? else {
                return Ok(UNFIT);
            };
            let cases: Vec<PathBuf> = self.cases.iter().map(PathBuf::from).collect();
            making::of_rule(&self.source, &rule, &cases)?
        };
        write(&bundle, &self.out, self.json)?;
        Ok(0)
    }

    /// The cases of a scheme's rules that are named.
    fn elsewhere(&self) -> anyhow::Result<CasesElsewhere> {
        let mut elsewhere = CasesElsewhere::new();
        for named in &self.cases {
            let Some((rule, path)) = named.split_once('=') else {
                bail!("--cases {named} does not say of which rule: RULE=PATH");
            };
            let paths = elsewhere.entry(rule.to_owned()).or_default();
            paths.push(Path::new(path).to_owned());
        }
        Ok(elsewhere)
    }
}
