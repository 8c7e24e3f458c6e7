//! A plan and its signatures in a bundle.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use rialto_bundles::{Bundle, BundlePath, Content};
use rialto_manifest::values::{Digest, Name};

use super::contents::PlanFiles;
use crate::plans::{NotSigned, Officers, Plan, SIGNATURE_FORM, SignatureFile};

/// The plan's file in a bundle.
const PLAN: &str = "plan.json";
/// The folder of signatures.
const SIGNATURES: &str = "signatures";

/// Reads a plan and signatures from their files, which must be about this release.
///
/// # Errors
/// When a file cannot be read, the plan is of another release, or a signature of another plan.
pub fn read(plan: &Path, signatures: &[PathBuf], release: Digest) -> anyhow::Result<PlanFiles> {
    let reading = |file: &Path| format!("reading {}", file.display());
    let text = std::fs::read_to_string(plan).with_context(|| reading(plan))?;
    let (known, digest) = Plan::read(&text).with_context(|| reading(plan))?;
    ensure!(
        known.to == crate::spec::digest(release),
        "{} makes {} current, and the folder is {release}: have a plan made of the folder",
        plan.display(),
        known.to
    );
    let mut read = Vec::new();
    for file in signatures {
        let bytes = std::fs::read(file).with_context(|| reading(file))?;
        let signature: SignatureFile = serde_json::from_slice(&bytes)
            .with_context(|| format!("{} is no signature under a plan", file.display()))?;
        ensure!(
            signature.plan == digest,
            "{} is under the plan {}, and {} is {digest}",
            file.display(),
            signature.plan,
            plan.display()
        );
        read.push((signature.officer, bytes));
    }
    Ok(PlanFiles {
        plan: text,
        signatures: read,
    })
}

/// The plan and signatures that a bundle has.
///
/// # Errors
/// When there are signatures without a plan, several plans, or texts that are none.
pub fn of(bundle: &Bundle) -> anyhow::Result<Option<PlanFiles>> {
    let mut plans = bundle.those(|content| matches!(content, Content::Plan));
    let signatures = bundle.those(|content| matches!(content, Content::Signature));
    let mut read = Vec::new();
    for (path, file) in signatures {
        let signature: SignatureFile = serde_json::from_slice(&file.bytes)
            .with_context(|| format!("{path} is no signature under a plan"))?;
        read.push((signature.officer, file.bytes.clone()));
    }
    let Some((path, file)) = plans.next() else {
        ensure!(read.is_empty(), "there are signatures, and no plan");
        return Ok(None);
    };
    ensure!(plans.next().is_none(), "there are several plans");
    let plan =
        String::from_utf8(file.bytes.clone()).with_context(|| format!("{path} is no text"))?;
    Ok(Some(PlanFiles {
        plan,
        signatures: read,
    }))
}

/// Adds them to a bundle.
pub(super) fn add(bundle: &mut Bundle, files: &PlanFiles) -> anyhow::Result<()> {
    let plan = files.plan.clone().into_bytes();
    bundle.add(PLAN.parse()?, Content::Plan, plan)?;
    for (officer, bytes) in &files.signatures {
        let name: Result<Name, _> = officer.parse();
        let name = name.with_context(|| format!("{officer:?} is no officer's name"))?;
        let path: BundlePath = format!("{SIGNATURES}/{name}.sig").parse()?;
        bundle.add(path, Content::Signature, bytes.clone())?;
    }
    Ok(())
}

/// What a plan with its signatures is worth.
#[derive(Debug, Default)]
pub struct Judged {
    /// What does not hold.
    pub findings: Vec<String>,
    /// The officers whose signatures were verified.
    pub verified: Vec<String>,
    /// The officers whose signatures could not be, because their keys are not known.
    pub unverified: Vec<String>,
    /// When the plan can be applied no more; milliseconds since 1970.
    pub expires: Option<u64>,
}

/// Judge a plan of this release, and its signatures. Without officers, their keys are not known.
#[must_use]
pub fn judge(files: &PlanFiles, release: Digest, officers: Option<&Officers>) -> Judged {
    let mut judged = Judged::default();
    let (plan, digest) = match Plan::read(&files.plan) {
        Ok(read) => read,
        Err(error) => {
            judged.findings.push(error.to_string());
            return judged;
        }
    };
    judged.expires = Some(plan.expires);
    if plan.to != crate::spec::digest(release) {
        let wrong = format!(
            "the plan makes {} current, and the bundle has {release}",
            plan.to
        );
        judged.findings.push(wrong);
    }
    for (officer, bytes) in &files.signatures {
        let read: Result<SignatureFile, _> = serde_json::from_slice(bytes);
        let file = match read {
            Ok(file) => file,
            Err(error) => {
                let wrong = format!("the signature of {officer} cannot be read: {error}");
                judged.findings.push(wrong);
                continue;
            }
        };
        let Some(officers) = officers else {
            match without_keys(&file, digest, &plan.maker) {
                Ok(()) => judged.unverified.push(officer.clone()),
                Err(error) => judged.findings.push(error.to_string()),
            }
            continue;
        };
        match officers.verify(&file, digest, &plan.maker) {
            Ok(()) => judged.verified.push(officer.clone()),
            Err(error) => judged.findings.push(error.to_string()),
        }
    }
    judged
}

/// What can be said of a signature without its key.
fn without_keys(
    file: &SignatureFile,
    plan: rialto_components::Digest,
    maker: &str,
) -> Result<(), NotSigned> {
    if file.form != SIGNATURE_FORM {
        return Err(NotSigned::Form(file.form.clone()));
    }
    if file.plan != plan {
        return Err(NotSigned::OtherPlan {
            officer: file.officer.clone(),
            found: file.plan,
            wanted: plan,
        });
    }
    if file.officer == maker {
        return Err(NotSigned::Maker(file.officer.clone()));
    }
    Ok(())
}
