//! `rialto plugin check`.

use std::path::PathBuf;

use anyhow::Context as _;
use rialto_components::introspect::Interface;
use serde_json::{Value, json};

use super::{BINDING, RuleLimit, UNFIT, show, size};
use crate::kit::file::{ComponentFile, RuleFile, Unjudged};
use crate::{out, words};

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Check {
    /// The component.
    file: PathBuf,
    /// Settings that a rule judges at each of its steps: a file with a JSON object.
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    #[command(flatten)]
    limits: RuleLimit,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl Check {
    pub fn run(self) -> anyhow::Result<u8> {
        let settings = self.settings.as_deref().map(std::fs::read_to_string);
        let settings = settings.transpose().context("reading the settings")?;
        let limits = self.limits.limits(&self.file.with_file_name(BINDING))?;
        let file = match ComponentFile::open(&self.file, limits)? {
            Ok(file) => file,
            Err(problem) => {
                show(&[*problem]);
                return Ok(UNFIT);
            }
        };
        if !file.is_rule() {
            self.context(&file)?;
            return Ok(0);
        }
        let rule = match file.into_rule() {
            Ok(rule) => rule,
            Err(problems) => {
                show(&problems);
                return Ok(UNFIT);
            }
        };
        self.rule(&rule)?;
        let Some(settings) = settings else {
            return Ok(0);
        };
        for step in rule.file.steps() {
            match rule.bind(step, &settings) {
                Ok(_) if self.json => {}
                Ok(release) => {
                    out::line(format_args!("the settings fit at {step}"))?;
                    let rules = release.steps.values().flatten();
                    for one in rules.flat_map(|rule| rule.counters_as_json()) {
                        out::line(format_args!(
                            "they need the counter {}",
                            words::counter(&one)
                        ))?;
                    }
                }
                Err(Unjudged::Unbound(problems)) => {
                    show(&problems);
                    return Ok(UNFIT);
                }
                Err(other) => return Err(other.into()),
            }
        }
        Ok(0)
    }

    fn rule(&self, rule: &RuleFile) -> anyhow::Result<()> {
        let said = &rule.description;
        let file = &rule.file;
        let schema: Value = serde_json::from_str(&said.settings_schema)
            .with_context(|| "the schema of its settings, which `describe` gives, is not JSON")?;
        if self.json {
            return Ok(out::json(&json!({
                "kind": "rule",
                "digest": file.digest,
                "bytes": file.bytes.len(),
                "name": said.name,
                "version": said.version,
                "summary": said.summary,
                "steps": file.steps(),
                "codes": said.codes,
                "fuel": said.fuel(),
                "imports": names(&file.shape.imports),
                "settingsSchema": schema,
            }))?);
        }
        out::line(format_args!("rule      {} {}", said.name, said.version))?;
        out::line(format_args!("          {}", said.summary))?;
        out::line(format_args!(
            "digest    {}, {}",
            file.digest,
            size(file.bytes.len())
        ))?;
        out::line(format_args!("steps     {}", file.steps().join(", ")))?;
        out::line(format_args!("codes     {}", said.codes.join(", ")))?;
        if let Some(fuel) = said.fuel() {
            out::line(format_args!("fuel      {fuel} at most for a verdict"))?;
        }
        out::line(format_args!("imports   {}", shown(&file.shape.imports)))?;
        let members = schema["properties"].as_object();
        let members = members.into_iter().flatten().map(|(name, member)| {
            let about = member["description"].as_str().unwrap_or_default();
            format!("{name}: {about}")
                .trim_end_matches([' ', ':'])
                .to_owned()
        });
        let mut members: Vec<String> = members.collect();
        if members.is_empty() {
            members.push("none are described".to_owned());
        }
        out::line(format_args!("settings  {}", members.join("\n          ")))?;
        Ok(())
    }

    fn context(&self, file: &ComponentFile) -> anyhow::Result<()> {
        if self.json {
            return Ok(out::json(&json!({
                "kind": "context",
                "digest": file.digest,
                "bytes": file.bytes.len(),
                "imports": names(&file.shape.imports),
                "exports": names(&file.shape.exports),
            }))?);
        }
        out::line("a context: `rialto check` says how it fits into a scheme")?;
        out::line(format_args!(
            "digest    {}, {}",
            file.digest,
            size(file.bytes.len())
        ))?;
        out::line(format_args!("imports   {}", shown(&file.shape.imports)))?;
        out::line(format_args!("exports   {}", shown(&file.shape.exports)))?;
        Ok(())
    }
}

fn names(interfaces: &[Interface]) -> Vec<String> {
    interfaces.iter().map(|one| one.name.to_string()).collect()
}

fn shown(interfaces: &[Interface]) -> String {
    match &names(interfaces)[..] {
        [] => "none".to_owned(),
        names => names.join("\n          "),
    }
}
