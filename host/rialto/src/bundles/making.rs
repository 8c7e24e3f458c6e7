//! Bundles of what is in folders.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use rialto_bundles::Bundle;
use rialto_manifest::Manifest;

use super::contents::{self, CaseFile};
use super::plan;
use crate::kit::binding;
use crate::kit::case::{self, Case, FOLDER};
use crate::kit::file::RuleFile;

/// The golden cases of rules that are elsewhere than beside the scheme: files and folders, by the rule's name.
pub type CasesElsewhere = BTreeMap<String, Vec<PathBuf>>;

/// The bundle of a scheme's folder. The folder `cases/RULE` has the golden cases of a rule, unless they are elsewhere.
///
/// # Errors
/// When cases or the plan cannot be read or are not about this scheme, or something cannot be in a bundle.
pub fn of_scheme(
    manifest: &Manifest,
    elsewhere: &CasesElsewhere,
    plan: Option<(&Path, &[PathBuf])>,
) -> anyhow::Result<Bundle> {
    let scheme = manifest.scheme();
    let is_rule = |name: &str| scheme.rules.keys().any(|rule| rule.as_str() == name);
    if let Some(name) = elsewhere.keys().find(|name| !is_rule(name)) {
        bail!("the scheme has no rule {name}: --cases names RULE=FOLDER");
    }
    let folder = manifest.folder().join(FOLDER);
    if folder.is_dir() {
        let reading = || format!("reading {}", folder.display());
        for entry in folder.read_dir().with_context(reading)? {
            let name = entry.with_context(reading)?.file_name();
            let name = name.to_string_lossy();
            ensure!(
                is_rule(&name),
                "{}/{name} has cases, and the scheme has no rule of that name",
                folder.display()
            );
        }
    }
    let mut cases = Vec::new();
    for rule in scheme.rules.keys() {
        let beside = folder.join(rule.as_str());
        let named = match elsewhere.get(rule.as_str()) {
            Some(named) => named.clone(),
            None if beside.is_dir() => vec![beside],
            None => continue,
        };
        cases.extend(read_cases(rule.as_str(), &case::files(&folder, &named)?)?);
    }
    let plan = plan
        .map(|(file, signatures)| plan::read(file, signatures, manifest.digest()))
        .transpose()?;
    let component = |digest| {
        let mut components = manifest.components().iter();
        let found = components.find(|one| one.digest == digest);
        found.map(|one| one.bytes.clone())
    };
    contents::scheme(
        manifest.document(),
        scheme,
        component,
        &cases,
        plan.as_ref(),
    )
}

/// The bundle of a rule's file, with the binding beside it and its golden cases, as `rialto plugin test` finds them.
///
/// # Errors
/// When the binding or cases cannot be read, or something cannot be in a bundle.
pub fn of_rule(file: &Path, rule: &RuleFile, cases: &[PathBuf]) -> anyhow::Result<Bundle> {
    let name = rule.description.name.as_str();
    let lines = file.with_file_name(binding::FILE);
    let lines = match lines.exists() {
        true => {
            let text = std::fs::read_to_string(&lines);
            Some(text.with_context(|| format!("reading {}", lines.display()))?)
        }
        false => None,
    };
    if let Some(lines) = &lines {
        binding::binds_alone(lines, name)?;
    }
    let cases = read_cases(name, &case::files(file, cases)?)?;
    contents::rule(name, &rule.file.bytes, lines.as_deref(), &cases)
}

fn read_cases(rule: &str, files: &[PathBuf]) -> anyhow::Result<Vec<CaseFile>> {
    let cases = files.iter().map(|file| {
        Case::read(file)?;
        let bytes = std::fs::read(file).with_context(|| format!("reading {}", file.display()))?;
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        Ok(CaseFile {
            rule: rule.to_owned(),
            name: name.into_owned(),
            bytes,
        })
    });
    cases.collect()
}
