//! `rialto plugin bind`.

use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use rialto_manifest::Scheme;
use rialto_manifest::scheme::FILE_NAME;
use serde_json::{Value, json};
use toml::Table;

use super::{BINDING, RuleLimit, UNFIT};
use crate::kit::binding::binds_alone;
use crate::kit::file::RuleFile;
use crate::{cli, out};

/// What a rule with the SDK imports.
const GRANTS: [&str; 3] = ["configuration", "logging", "trace"];

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
        let document = self.scheme.join(FILE_NAME);
        let text = std::fs::read_to_string(&document)
            .with_context(|| format!("reading {}: name a scheme's folder", document.display()))?;
        let scheme = match Scheme::parse(&text) {
            Ok(scheme) => scheme,
            Err(problems) => {
                cli::show(&problems);
                return Ok(UNFIT);
            }
        };
        let beside = self.file.with_file_name(BINDING);
        let binding = self.binding.as_deref().unwrap_or(&beside);
        let Some(rule) = given(&scheme, &self.file).bound(&self.file, binding)? else {
            return Ok(UNFIT);
        };
        let name = &rule.description.name;
        let known = scheme
            .rules
            .iter()
            .find(|(known, _)| known.as_str() == name);
        let (component, added) = match known {
            Some((_, known)) => {
                if self.binding.is_some() || self.settings.is_some() {
                    bail!(
                        "{} has the rule {name} already, with its settings: change them there, and leave out --binding and --settings",
                        document.display()
                    );
                }
                (known.component.within(&self.scheme), None)
            }
            None => {
                let lines = self.lines(&rule)?;
                binds_alone(&lines, name)?;
                let whole = format!("{}\n{lines}", text.trim_end());
                let with = match Scheme::parse(&whole) {
                    Ok(with) => with,
                    Err(problems) => {
                        cli::show(&problems);
                        return Ok(UNFIT);
                    }
                };
                let bound = with.rules.iter().find(|(known, _)| known.as_str() == name);
                let (_, bound) = bound
                    .with_context(|| format!("the lines for scheme.toml have no [rules.{name}]"))?;
                let component = bound.component.within(&self.scheme);
                (component, Some((lines, whole)))
            }
        };
        let others = scheme
            .rules
            .iter()
            .filter(|(known, _)| known.as_str() != name);
        let others = others.map(|(known, rule)| (known, &rule.component));
        let contexts = scheme
            .contexts
            .iter()
            .map(|(known, context)| (known, &context.component));
        let mut others = others.chain(contexts);
        if let Some((other, _)) = others.find(|(_, file)| file.within(&self.scheme) == component) {
            bail!(
                "{} is the component of `{other}` too: give the rule {name} a file of its own",
                component.display()
            );
        }
        copy(&rule.file.bytes, &component)?;
        if let Some((_, whole)) = &added {
            replace(&document, whole.as_bytes())?;
        }
        if let Err(problems) = rialto_manifest::lock(&self.scheme) {
            cli::show(&problems);
            return Ok(UNFIT);
        }
        let scheme = self.scheme.display();
        out::line(format_args!(
            "{} is {name} {}",
            component.display(),
            rule.description.version
        ))?;
        if let Some((lines, _)) = &added {
            let document = document.display();
            out::line(format_args!(
                "{document} binds it; change its settings there:\n\n{}\n",
                lines.trim()
            ))?;
        }
        out::line(format_args!(
            "next: rialto release plan {scheme}, rialto release apply {scheme}"
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

/// The limits that a scheme gives the rule of a component's name, if it has it already.
fn given(scheme: &Scheme, component: &Path) -> RuleLimit {
    let name = component.file_stem().and_then(OsStr::to_str);
    let mut rules = scheme.rules.iter();
    let known = rules.find(|(known, _)| Some(known.as_str()) == name);
    known.map_or_else(RuleLimit::default, |(_, rule)| RuleLimit {
        fuel: Some(rule.limits.fuel),
        memory: Some(rule.limits.memory),
        deadline: Some(rule.limits.deadline),
    })
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

/// Writes a component as a file of its own, which replaces a file or a link of that name.
fn copy(bytes: &[u8], to: &Path) -> anyhow::Result<()> {
    if let Some(folder) = to.parent() {
        let made = std::fs::create_dir_all(folder);
        made.with_context(|| format!("making {}", folder.display()))?;
    }
    replace(to, bytes)
}

/// Replaces a file by a whole one, with the permissions that it had. A reader sees the one or the other.
fn replace(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let failed = || format!("writing {}", path.display());
    let mut file = tempfile::NamedTempFile::new_in(folder).with_context(failed)?;
    file.write_all(bytes).with_context(failed)?;
    let before = std::fs::metadata(path).map(|about| about.permissions());
    let usual = || std::fs::Permissions::from_mode(0o644);
    let permissions = before.unwrap_or_else(|_| usual());
    file.as_file()
        .set_permissions(permissions)
        .with_context(failed)?;
    file.persist(path).with_context(failed)?;
    Ok(())
}
