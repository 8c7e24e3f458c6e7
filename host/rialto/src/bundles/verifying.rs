//! Whether what is in a bundle holds: all that can be said without a host.
//!
//! A bundle comes from somebody else. Its components run as a host would run them, within what a host gives by default
//! or within the ceilings of an operator's document.

mod cases;
mod scheme;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use rialto_bundles::{Bundle, BundlePath, Content, File, Kind};
use rialto_components::Limits;
use rialto_components::cache::Cache;
use rialto_manifest::Operator;
use rialto_manifest::operator::Ceilings;
use rialto_manifest::scheme::SchemeDocument;
use rialto_manifest::values::Digest;
use serde::Serialize;

use super::{contents, worlds};
use crate::kit::binding;
use crate::kit::file::ComponentFile;
use crate::limits::bytes;
use crate::plans::Officers;

/// Components by their digests.
pub type Components = BTreeMap<Digest, Arc<[u8]>>;

/// What was found.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// What holds, a sentence each.
    pub holds: Vec<String>,
    /// What does not hold.
    pub findings: Vec<String>,
    /// What could not be said, and what to know.
    pub notes: Vec<String>,
}

/// The operator who is to take the bundle.
pub struct Taking<'o> {
    /// What it admits.
    pub operator: &'o Operator,
    /// Who signs plans.
    pub officers: Officers,
}

/// Verify a bundle, for an operator or for anybody. A scheme's components are compiled into the cache.
///
/// # Errors
/// When it cannot be run here, which says nothing of the bundle.
pub fn verify(
    bundle: &Bundle,
    taking: Option<&Taking<'_>>,
    cache: Cache,
) -> anyhow::Result<Report> {
    let mut report = Report::default();
    match bundle.about().kind {
        Kind::Scheme => scheme::verify(bundle, taking, cache, &mut report)?,
        Kind::Rule => rule(bundle, (&ceilings(taking), None), &mut report)?,
    }
    Ok(report)
}

/// Verify the bundle of one rule within ceilings. Its cases run until an instant.
///
/// # Errors
/// When it cannot be run here, which says nothing of the bundle.
pub fn rule_of(bundle: &Bundle, most: &Ceilings, until: Instant) -> anyhow::Result<Report> {
    let mut report = Report::default();
    rule(bundle, (most, Some(until)), &mut report)?;
    Ok(report)
}

/// The document of a scheme's bundle, and its components.
///
/// # Errors
/// With all that is missing or wrong.
pub fn scheme_of(bundle: &Bundle) -> Result<(SchemeDocument, Components), Vec<String>> {
    let mut report = Report::default();
    scheme::read(bundle, &mut report)
        .map(|packed| (packed.document, packed.components))
        .ok_or(report.findings)
}

/// Verify the documents of a scheme's bundle. No component is run.
#[must_use]
pub fn documents(bundle: &Bundle) -> Report {
    let mut report = Report::default();
    if let Some(packed) = scheme::read(bundle, &mut report) {
        scheme::is_packed_so(bundle, &packed, &mut report);
    }
    report
}

/// Verifies the bundle of one rule.
fn rule(
    bundle: &Bundle,
    (most, until): (&Ceilings, Option<Instant>),
    report: &mut Report,
) -> anyhow::Result<()> {
    let about = bundle.about();
    let name = about.name.as_str();
    let path = format!("{name}.wasm").parse();
    let component = path.ok().and_then(|path: BundlePath| bundle.file(&path));
    let Some(component) = component else {
        let wrong = format!("{name}.wasm is missing, which is the rule {name}");
        report.findings.push(wrong);
        return Ok(());
    };
    let mut lines = None;
    for (path, file) in bundle.those(|content| matches!(content, Content::Binding)) {
        match std::str::from_utf8(&file.bytes) {
            Ok(text) => lines = Some(text),
            Err(_) => report.findings.push(format!("{path} is no text")),
        }
    }
    if let Some(lines) = lines
        && let Err(error) = binding::binds_alone(lines, name)
    {
        report
            .findings
            .push(format!("{}: {error:#}", binding::FILE));
    }
    let all = case_files(bundle);
    match contents::rule(name, &component.bytes, lines, &all) {
        Ok(expected) => compare(&expected, bundle, report),
        Err(error) => report.findings.push(format!("{error:#}")),
    }
    let wanted = lines.map(|lines| contents::asked(lines).ok().flatten());
    let wanted = wanted.flatten().unwrap_or_default();
    let limits = Limits {
        memory_bytes: bytes(wanted.memory),
        deadline_ms: wanted.deadline.millis(),
        fuel: Some(wanted.fuel),
        instances: u32::MAX,
    };
    let limits = capped(limits, most, name, report);
    let before = report.findings.len();
    let opened = ComponentFile::of(name, Arc::from(component.bytes.as_slice()), limits)?;
    let file = match opened {
        Ok(file) if file.is_rule() => file,
        Ok(_) => {
            let wrong = format!("{name}.wasm is no rule: it does not export rialto:rules/rule");
            report.findings.push(wrong);
            return Ok(());
        }
        Err(problem) => {
            report.findings.push(problem.to_string());
            return Ok(());
        }
    };
    let rule = match file.into_rule() {
        Ok(rule) => rule,
        Err(problems) => {
            let problems = problems.iter().map(ToString::to_string);
            report.findings.extend(problems);
            return Ok(());
        }
    };
    let said = &rule.description;
    if said.name != name {
        let wrong = format!(
            "{name}.wasm says of itself that it is the rule {:?}",
            said.name
        );
        report.findings.push(wrong);
    }
    if report.findings.len() == before {
        let steps = rule.file.steps().join(", ");
        let version = &said.version;
        report.holds.push(format!(
            "a host takes the rule {name} {version} at {steps} ({})",
            rule.file.digest
        ));
    }
    cases::run((name, &rule), &all, until, report);
    Ok(())
}

/// The golden cases that a bundle has.
fn case_files(bundle: &Bundle) -> Vec<contents::CaseFile> {
    let files = bundle.files().filter_map(|(path, file)| {
        let Content::Case { of } = &file.content else {
            return None;
        };
        Some(contents::CaseFile {
            rule: of.clone(),
            name: path.name().to_owned(),
            bytes: file.bytes.clone(),
        })
    });
    files.collect()
}

/// Compares a bundle with what its own documents and components make. It is packed by somebody else.
fn compare(expected: &Bundle, found: &Bundle, report: &mut Report) {
    let before = report.findings.len();
    let (about, said) = (expected.about(), found.about());
    if about.release != said.release {
        let none = || "none".to_owned();
        report.findings.push(format!(
            "the bundle says that it has the release {}, and has {}",
            said.release.clone().unwrap_or_else(none),
            about.release.clone().unwrap_or_else(none)
        ));
    }
    if about.name != said.name || about.components != said.components {
        let wrong = "the bundle's configuration says something else about names, components or limits than its documents";
        report.findings.push(wrong.to_owned());
    }
    for (path, file) in found.files() {
        match expected.file(path) {
            None => report
                .findings
                .push(format!("{path} does not belong into this bundle")),
            Some(wanted) if wanted.content != file.content => report
                .findings
                .push(format!("{path} is something else than the bundle says")),
            Some(wanted) if wanted.bytes == file.bytes => {}
            Some(_) => report.findings.extend(differs(path, file, found)),
        }
    }
    for (path, _) in expected.files() {
        if found.file(path).is_none() {
            report.findings.push(format!("{path} is missing"));
        }
    }
    if report.findings.len() == before {
        let (files, release) = (found.files().count(), &about.release);
        report.holds.push(match release {
            Some(release) => format!("{files} files are those of the release {release}"),
            None => format!("{files} files belong to the rule {}", about.name),
        });
    }
}

/// What is wrong with a file that has other bytes than those that its documents and components make.
fn differs(path: &BundlePath, file: &File, bundle: &Bundle) -> Option<String> {
    let Content::World { of } = &file.content else {
        return Some(format!("{path} does not say what the bundle has"));
    };
    let text = std::str::from_utf8(&file.bytes).ok()?;
    let component = bundle.file(of)?;
    match worlds::is_of(text, &component.bytes) {
        Ok(true) => None,
        Ok(false) => Some(format!("{path} is not what {of} imports and exports")),
        Err(error) => Some(format!("{path}: {error:#}")),
    }
}

/// The most that components get here.
fn ceilings(taking: Option<&Taking<'_>>) -> Ceilings {
    taking.map_or_else(Ceilings::default, |taking| taking.operator.ceilings.clone())
}

/// Limits within ceilings. Notes what is less than what was asked for.
fn capped(wanted: Limits, most: &Ceilings, name: &str, report: &mut Report) -> Limits {
    let limits = Limits {
        memory_bytes: wanted.memory_bytes.min(bytes(most.memory)),
        deadline_ms: wanted.deadline_ms.min(most.deadline.millis()),
        // A context without a bound of its fuel has its deadline.
        fuel: wanted.fuel.map(|fuel| fuel.min(most.fuel)),
        instances: wanted.instances,
    };
    let is_less = limits.memory_bytes < wanted.memory_bytes
        || limits.deadline_ms < wanted.deadline_ms
        || wanted.fuel.is_some_and(|fuel| fuel > most.fuel);
    if is_less {
        report.notes.push(format!(
            "{name} asks for more than is given: {}, {} and {} fuel are used; --operator names another rialto.toml",
            most.memory, most.deadline, most.fuel
        ));
    }
    limits
}

/// The name of a case, for people.
fn told(rule: &str, name: &str) -> String {
    format!("case {name} of the rule {rule}")
}
