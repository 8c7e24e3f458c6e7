//! From a scheme or a rule to a bundle.

use std::sync::Arc;

use anyhow::Context as _;
use rialto_bundles::{About, Bundle, BundlePath, Component, ComponentKind, Content, Kind, Limits};
use rialto_manifest::scheme::{FILE_NAME, RuleLimits, Scheme, SchemeDocument};
use rialto_manifest::values::{ComponentPath, Digest, Name};
use rialto_manifest::{Digests, lock};

use super::{plan, worlds};
use crate::kit::{binding, case};

/// A golden case.
#[derive(Clone, Debug)]
pub struct CaseFile {
    /// The rule's name.
    pub rule: String,
    /// The file's name.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// A plan with its signatures.
#[derive(Clone, Debug)]
pub struct PlanFiles {
    /// The plan's text.
    pub plan: String,
    /// The officers' names, and the files of their signatures.
    pub signatures: Vec<(String, Vec<u8>)>,
}

/// A component as scheme.toml declares it.
#[derive(Clone, Copy, Debug)]
pub struct Declared<'s> {
    /// What it is for.
    pub kind: ComponentKind,
    /// Its name.
    pub name: &'s Name,
    /// Its file.
    pub path: &'s ComponentPath,
    /// The digest that scheme.toml pins itself.
    pub digest: Option<Digest>,
    /// Its limits.
    pub limits: Limits,
}

/// The components of a scheme, contexts first, by name.
pub fn declared(scheme: &Scheme) -> impl Iterator<Item = Declared<'_>> {
    let contexts = scheme.contexts.iter().map(|(name, context)| Declared {
        kind: ComponentKind::Context,
        name,
        path: &context.component,
        digest: context.digest,
        limits: Limits {
            memory_bytes: context.limits.memory.bytes(),
            deadline_ms: context.limits.deadline.millis(),
            fuel: context.limits.fuel,
            instances: Some(context.limits.instances),
        },
    });
    let rules = scheme.rules.iter().map(|(name, rule)| Declared {
        kind: ComponentKind::Rule,
        name,
        path: &rule.component,
        digest: rule.digest,
        limits: of_rule(&rule.limits),
    });
    contexts.chain(rules)
}

/// The limits of a rule, as bundles have them.
fn of_rule(limits: &RuleLimits) -> Limits {
    Limits {
        memory_bytes: limits.memory.bytes(),
        deadline_ms: limits.deadline.millis(),
        fuel: Some(limits.fuel),
        instances: None,
    }
}

/// A kind of component, as the manifest has it.
#[must_use]
pub const fn kind(kind: ComponentKind) -> rialto_manifest::ComponentKind {
    match kind {
        ComponentKind::Context => rialto_manifest::ComponentKind::Context,
        ComponentKind::Rule => rialto_manifest::ComponentKind::Rule,
    }
}

/// The bundle of a scheme, as a release has it.
///
/// # Errors
/// When a component has no bytes or is none, or a path or the size cannot be in a bundle.
pub fn scheme(
    document: &SchemeDocument,
    scheme: &Scheme,
    component: impl Fn(Digest) -> Option<Arc<[u8]>>,
    cases: &[CaseFile],
    plan: Option<&PlanFiles>,
) -> anyhow::Result<Bundle> {
    let mut components = Vec::new();
    for declared in declared(scheme) {
        components.push(Component {
            name: declared.name.to_string(),
            kind: declared.kind,
            path: declared.path.as_str().parse()?,
            limits: declared.limits,
        });
    }
    let mut bundle = Bundle::new(About {
        kind: Kind::Scheme,
        name: scheme.name.to_string(),
        release: Some(document.digest().to_string()),
        components,
    });
    let text = document.text().as_bytes().to_vec();
    bundle.add(FILE_NAME.parse()?, Content::Scheme, text)?;
    let mut unpinned = Digests::default();
    for declared in declared(scheme) {
        let (kind, name) = (kind(declared.kind), declared.name);
        let digest = document.digests().get(kind, name.as_str());
        let digest = digest.with_context(|| format!("{kind} `{name}` has no digest"))?;
        if declared.digest.is_none() {
            unpinned.insert(kind, name.clone(), digest);
        }
        let path: BundlePath = declared.path.as_str().parse()?;
        // Two names may have the same file.
        if bundle.file(&path).is_none() {
            let bytes = component(digest);
            let bytes = bytes.with_context(|| format!("the component {path} is missing"))?;
            add_component(&mut bundle, path, &bytes)?;
        }
    }
    if unpinned.iter().next().is_some() {
        let text = lock::text(&unpinned).into_bytes();
        bundle.add(lock::FILE_NAME.parse()?, Content::Lock, text)?;
    }
    for case in cases {
        let path = format!("{}/{}/{}", case::FOLDER, case.rule, case.name);
        add_case(&mut bundle, &path, case)?;
    }
    if let Some(plan) = plan {
        plan::add(&mut bundle, plan)?;
    }
    Ok(bundle)
}

/// The bundle of one rule.
///
/// # Errors
/// When it is no component, the binding's limits are none, or a path or the size cannot be in a bundle.
pub fn rule(
    name: &str,
    bytes: &[u8],
    lines: Option<&str>,
    cases: &[CaseFile],
) -> anyhow::Result<Bundle> {
    let path: BundlePath = format!("{name}.wasm").parse()?;
    let wanted = lines.map(asked).transpose()?.flatten().unwrap_or_default();
    let mut bundle = Bundle::new(About {
        kind: Kind::Rule,
        name: name.to_owned(),
        release: None,
        components: vec![Component {
            name: name.to_owned(),
            kind: ComponentKind::Rule,
            path: path.clone(),
            limits: of_rule(&wanted),
        }],
    });
    add_component(&mut bundle, path, bytes)?;
    if let Some(lines) = lines {
        let lines = lines.as_bytes().to_vec();
        bundle.add(binding::FILE.parse()?, Content::Binding, lines)?;
    }
    for case in cases {
        let path = format!("{}/{}", case::FOLDER, case.name);
        add_case(&mut bundle, &path, case)?;
    }
    Ok(bundle)
}

/// The limits that the lines of a binding ask for.
///
/// # Errors
/// When the lines are no TOML, or have limits that no rule has.
pub fn asked(lines: &str) -> anyhow::Result<Option<RuleLimits>> {
    let lines = lines.parse().context(binding::FILE)?;
    binding::limits(&lines).context(binding::FILE)
}

fn add_component(bundle: &mut Bundle, path: BundlePath, bytes: &[u8]) -> anyhow::Result<()> {
    let world = worlds::of(bytes).with_context(|| format!("the component {path}"))?;
    let at = format!("worlds/{}.wit", path.as_str().trim_end_matches(".wasm"));
    let of = path.clone();
    bundle.add(path, Content::Component, bytes.to_vec())?;
    bundle.add(at.parse()?, Content::World { of }, world.into_bytes())?;
    Ok(())
}

fn add_case(bundle: &mut Bundle, path: &str, case: &CaseFile) -> anyhow::Result<()> {
    let of = case.rule.clone();
    bundle.add(path.parse()?, Content::Case { of }, case.bytes.clone())?;
    Ok(())
}
