//! `rialto plugin bind`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use rialto_manifest::Scheme;
use rialto_manifest::scheme::FILE_NAME;
use serde_json::{Value, json};
use toml::Table;

use super::{BINDING, RuleLimit, UNFIT};
use crate::kit::file::RuleFile;
use crate::{cli, out};

/// What a rule with the SDK imports.
const GRANTS: [&str; 2] = ["configuration", "logging"];

/// Put a rule into a scheme's folder: copy its component, add its lines to scheme.toml, and pin it.
///
/// A rule that scheme.toml has already only gets the new component. No running host is changed: `rialto release apply` does that.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Bind {
    /// The rule's component.
    file: PathBuf,
    /// The scheme's folder.
    scheme: PathBuf,
    /// The lines for scheme.toml. Without it, `binding.toml` beside the component; if there is none, all steps of the rule.
    #[arg(long, value_name = "FILE", conflicts_with = "settings")]
    binding: Option<PathBuf>,
    /// The rule's settings at all its steps: a file with a JSON object.
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
}

impl Bind {
    pub fn run(self) -> anyhow::Result<u8> {
        let limits = RuleLimit::default();
        let Some(rule) = limits.rule(&self.file)? else {
            return Ok(UNFIT);
        };
        let document = self.scheme.join(FILE_NAME);
        let text = std::fs::read_to_string(&document)
            .with_context(|| format!("reading {}: name a scheme's folder", document.display()))?;
        let scheme: Table = text
            .parse()
            .with_context(|| format!("reading {}", document.display()))?;
        let name = &rule.description.name;
        let known = scheme.get("rules").and_then(|rules| rules.get(name));
        let (component, text) = match known {
            Some(known) => {
                let component = known.get("component").and_then(toml::Value::as_str);
                let component = component.with_context(|| {
                    format!(
                        "the rule {name} of {} names no component",
                        document.display()
                    )
                })?;
                (component.to_owned(), None)
            }
            None => {
                let lines = self.lines(&rule)?;
                let added: Table = lines.parse().context("reading the lines for scheme.toml")?;
                let component = added
                    .get("rules")
                    .and_then(|rules| rules.get(name)?.get("component"));
                let Some(component) = component.and_then(toml::Value::as_str) else {
                    bail!("the lines for scheme.toml have no [rules.{name}] with its component");
                };
                (
                    component.to_owned(),
                    Some(format!("{}\n{lines}", text.trim_end())),
                )
            }
        };
        if let Some(text) = &text
            && let Err(problems) = Scheme::parse(text)
        {
            cli::show(&problems);
            return Ok(UNFIT);
        }
        let target = self.scheme.join(&component);
        copy(&rule.file.bytes, &target)?;
        if let Some(text) = &text {
            std::fs::write(&document, text)
                .with_context(|| format!("writing {}", document.display()))?;
        }
        if let Err(problems) = rialto_manifest::lock(&self.scheme) {
            cli::show(&problems);
            return Ok(UNFIT);
        }
        let scheme = self.scheme.display();
        out::line(format_args!(
            "{} is {name} {}",
            target.display(),
            rule.description.version
        ))?;
        if text.is_some() {
            out::line(format_args!(
                "{} binds it; change its settings there",
                document.display()
            ))?;
        }
        out::line(format_args!(
            "next: rialto check {scheme}, rialto release apply {scheme}"
        ))?;
        Ok(0)
    }

    /// The lines for scheme.toml.
    fn lines(&self, rule: &RuleFile) -> anyhow::Result<String> {
        let beside = self.file.with_file_name(BINDING);
        let beside = (self.settings.is_none() && beside.exists()).then_some(beside);
        if let Some(file) = self.binding.as_ref().or(beside.as_ref()) {
            return std::fs::read_to_string(file)
                .with_context(|| format!("reading {}", file.display()));
        }
        let settings = match &self.settings {
            Some(file) => {
                let text = std::fs::read(file);
                let text = text.with_context(|| format!("reading {}", file.display()))?;
                serde_json::from_slice(&text)
                    .with_context(|| format!("{} is no JSON", file.display()))?
            }
            None => json!({}),
        };
        lines(rule, &settings)
    }
}

/// A rule at all its steps, as TOML.
fn lines(rule: &RuleFile, settings: &Value) -> anyhow::Result<String> {
    let name = &rule.description.name;
    let mut table = Table::new();
    let mut entry = Table::new();
    entry.insert("component".into(), format!("components/{name}.wasm").into());
    let mut grants = Table::new();
    let wanted = GRANTS
        .iter()
        .filter(|grant| rule.file.shape.imports_host(grant));
    grants.insert("host".into(), wanted.copied().collect::<Vec<_>>().into());
    entry.insert("grants".into(), grants.into());
    let mut rules = Table::new();
    rules.insert(name.clone(), entry.into());
    table.insert("rules".into(), rules.into());
    let mut steps = Table::new();
    for step in rule.file.steps() {
        let mut binding = Table::new();
        binding.insert("rule".into(), name.clone().into());
        let settings = toml::Value::try_from(settings).context("settings that TOML can have")?;
        binding.insert("settings".into(), settings);
        steps.insert(step.to_owned(), vec![binding].into());
    }
    table.insert("steps".into(), steps.into());
    Ok(format!("\n{}", toml::to_string(&table)?))
}

fn copy(bytes: &[u8], to: &Path) -> anyhow::Result<()> {
    if let Some(folder) = to.parent() {
        let made = std::fs::create_dir_all(folder);
        made.with_context(|| format!("making {}", folder.display()))?;
    }
    // A scheme's component may be a link to one of another folder, which must stay as it is.
    if to.is_symlink() {
        std::fs::remove_file(to).with_context(|| format!("removing {}", to.display()))?;
    }
    std::fs::write(to, bytes).with_context(|| format!("writing {}", to.display()))
}
