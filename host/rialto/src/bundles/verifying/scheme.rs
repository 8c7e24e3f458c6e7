//! Verifies the bundle of a scheme.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::Context as _;
use rialto_bundles::{Bundle, BundlePath, Content};
use rialto_components::cache::Cache;
use rialto_components::config::PoolSize;
use rialto_components::{ReleaseSpec, Runtime};
use rialto_manifest::operator::Ceilings;
use rialto_manifest::scheme::FILE_NAME;
use rialto_manifest::values::Digest;
use rialto_manifest::{Diagnostics, Digests, Scheme, SchemeDocument, admit};

use super::{Components, Report, Taking, capped, case_files, cases, ceilings, compare};
use crate::bundles::contents::{self, CaseFile, PlanFiles, declared};
use crate::bundles::plan;
use crate::fitting::misfits;
use crate::kit::file::ComponentFile;
use crate::limits::bytes;
use crate::located::located;
use crate::{spec, words};

/// Instances that may live at a time while a release is prepared.
const INSTANCES: u32 = 32;

/// A scheme that a bundle has.
pub(super) struct Packed {
    scheme: Scheme,
    pub document: SchemeDocument,
    pub components: Components,
}

/// Verifies all of it.
pub(super) fn verify(
    bundle: &Bundle,
    taking: Option<&Taking<'_>>,
    cache: Cache,
    report: &mut Report,
) -> anyhow::Result<()> {
    let Some(packed) = read(bundle, report) else {
        return Ok(());
    };
    let Packed {
        scheme, document, ..
    } = &packed;
    let all = case_files(bundle);
    let plan = is_packed_so(bundle, &packed, report);
    match taking.map(|taking| admit(taking.operator, scheme)) {
        Some(Ok(())) => report
            .holds
            .push("rialto.toml admits the scheme".to_owned()),
        Some(Err(problems)) => found(&problems, report),
        None => report.notes.push(
            "what a host admits was not asked: --operator names the folder with its rialto.toml"
                .to_owned(),
        ),
    }
    let released = spec::release(0, document, |wanted| {
        let mut components = packed.components.iter();
        let found = components.find(|(digest, _)| spec::digest(**digest) == wanted);
        found.map(|(_, bytes)| bytes.clone())
    });
    let mut released = released.context("reading the scheme again")?;
    let most = ceilings(taking);
    for component in &mut released.components {
        component.limits = capped(component.limits, &most, &component.name, report);
    }
    fits(&packed, &released, &most, cache, report)?;
    judge(&released, &all, report)?;
    match plan {
        Some(plan) => signed(&plan, document.digest(), taking, report),
        None => unsigned(taking, report),
    }
    Ok(())
}

/// Compares a bundle with the one that its documents and components make. Returns its plan.
pub(super) fn is_packed_so(
    bundle: &Bundle,
    packed: &Packed,
    report: &mut Report,
) -> Option<PlanFiles> {
    let plan = plan::of(bundle).unwrap_or_else(|error| {
        report.findings.push(format!("{error:#}"));
        None
    });
    let component = |digest: Digest| packed.components.get(&digest).cloned();
    let (all, document) = (case_files(bundle), &packed.document);
    match contents::scheme(document, &packed.scheme, component, &all, plan.as_ref()) {
        Ok(expected) => compare(&expected, bundle, report),
        Err(error) => report.findings.push(format!("{error:#}")),
    }
    plan
}

/// Reads documents and components. Without all of them there is nothing to verify.
pub(super) fn read(bundle: &Bundle, report: &mut Report) -> Option<Packed> {
    let path: BundlePath = FILE_NAME.parse().ok()?;
    let text = bundle.file(&path).map(|file| file.bytes.clone());
    let Some(text) = text.and_then(|bytes| String::from_utf8(bytes).ok()) else {
        report
            .findings
            .push(format!("{FILE_NAME} is missing, or no text"));
        return None;
    };
    let scheme = match Scheme::parse(&text) {
        Ok(scheme) => scheme,
        Err(problems) => {
            found(&problems, report);
            return None;
        }
    };
    let (mut digests, mut components) = (Digests::default(), BTreeMap::new());
    let before = report.findings.len();
    for one in declared(&scheme) {
        let path: Result<BundlePath, _> = one.path.as_str().parse();
        let file = path.ok().and_then(|path| bundle.file(&path));
        let Some(file) = file.filter(|file| file.content == Content::Component) else {
            let (kind, name) = (contents::kind(one.kind), one.name);
            let wrong = format!("{} is missing, the component of {kind} `{name}`", one.path);
            report.findings.push(wrong);
            continue;
        };
        let digest = Digest::of(&file.bytes);
        if let Some(pinned) = one.digest.filter(|pinned| *pinned != digest) {
            let wrong = format!(
                "{} has the digest {digest}, and {FILE_NAME} pins {pinned}",
                one.path
            );
            report.findings.push(wrong);
        }
        digests.insert(contents::kind(one.kind), one.name.clone(), digest);
        components.insert(digest, Arc::from(file.bytes.as_slice()));
    }
    (report.findings.len() == before).then_some(Packed {
        scheme,
        document: SchemeDocument::new(text, digests),
        components,
    })
}

/// Prepares the release, as a host does before it makes one current.
fn fits(
    packed: &Packed,
    released: &ReleaseSpec,
    ceilings: &Ceilings,
    cache: Cache,
    report: &mut Report,
) -> anyhow::Result<()> {
    let pool = PoolSize {
        instances: INSTANCES,
        memory_bytes_max: bytes(ceilings.memory),
        core_modules: ceilings.core_modules,
    };
    let runtime = Runtime::new(cache, pool).map_err(|e| anyhow::anyhow!("wasmtime: {e:?}"))?;
    let release = match runtime.prepare(released) {
        Ok(release) => release,
        Err(problems) => {
            found(&located(&packed.scheme, &problems), report);
            return Ok(());
        }
    };
    let contexts = packed.scheme.contexts.values();
    let listeners = contexts.filter_map(|context| context.listener.as_ref());
    let listeners: BTreeSet<&str> = listeners.map(|name| name.as_str()).collect();
    match misfits(&release, &packed.scheme, listeners) {
        Some(problems) => found(&problems, report),
        None => report.holds.push(format!(
            "{} components fit together, {} links",
            release.members.len(),
            release.wiring.links.len()
        )),
    }
    Ok(())
}

/// Has each rule judge its golden cases.
fn judge(released: &ReleaseSpec, all: &[CaseFile], report: &mut Report) -> anyhow::Result<()> {
    for component in &released.components {
        let name = &*component.name;
        if component.role != rialto_components::Role::Rule {
            continue;
        }
        if !all.iter().any(|case| case.rule == name) {
            report
                .notes
                .push(format!("the rule {name} has no golden case"));
            continue;
        }
        let opened = ComponentFile::of(name, component.bytes.clone(), component.limits)?;
        let problems = match opened.map(ComponentFile::into_rule) {
            Ok(Ok(rule)) => {
                cases::run((name, &rule), all, None, report);
                continue;
            }
            Ok(Err(problems)) => problems,
            Err(problem) => vec![*problem],
        };
        report.findings.extend(cases::told_problems(&problems));
    }
    let is_rule = |name: &str| {
        let mut rules = released.components.iter();
        rules.any(|one| one.role == rialto_components::Role::Rule && &*one.name == name)
    };
    for case in all.iter().filter(|case| !is_rule(&case.rule)) {
        let wrong = super::told(&case.rule, &case.name);
        report
            .findings
            .push(format!("{wrong}: the scheme has no such rule"));
    }
    Ok(())
}

/// Verifies the plan and who has signed it.
/// Says that a bundle has no plan. Somebody may have taken it out.
fn unsigned(taking: Option<&Taking<'_>>, report: &mut Report) {
    let needed = taking.map_or(0, |taking| taking.officers.needed());
    if needed > 0 {
        report.findings.push(format!(
            "there is no plan in it, and {needed} officers must sign one: pack it with --plan"
        ));
    } else {
        let note = "there is no plan in it: nobody has signed what it has";
        report.notes.push(note.to_owned());
    }
}

fn signed(
    files: &contents::PlanFiles,
    release: Digest,
    taking: Option<&Taking<'_>>,
    report: &mut Report,
) {
    let officers = taking.map(|taking| &taking.officers);
    let judged = plan::judge(files, release, officers);
    let is_good = judged.findings.is_empty();
    report.findings.extend(judged.findings);
    if is_good {
        report.holds.push("the plan is of this release".to_owned());
    }
    if let Some(expires) = judged.expires {
        let until = words::instant(expires);
        report
            .notes
            .push(format!("the plan can be applied until {until}"));
    }
    if let Some(officers) = officers {
        let (have, need) = (judged.verified.len(), officers.needed());
        if have < need {
            let wrong = format!("{have} of {need} officers have signed the plan");
            report.findings.push(wrong);
        } else if have > 0 {
            let who = judged.verified.join(", ");
            report.holds.push(format!("the plan is signed by {who}"));
        }
    } else if !judged.unverified.is_empty() {
        let who = words::plain(&judged.unverified.join(", "));
        report.notes.push(format!(
            "the signatures of {who} were not verified: --operator names the folder with the rialto.toml that has their keys"
        ));
    }
}

/// The problems of documents as findings.
fn found(problems: &Diagnostics, report: &mut Report) {
    let problems = problems.problems().iter().map(|problem| {
        let help = match problem.help.as_str() {
            "" => String::new(),
            help => format!("\n  help: {help}"),
        };
        format!("{}: {}{help}", problem.position(), problem.message)
    });
    report.findings.extend(problems);
}
