//! Converts a scheme's documents to the release specification of the components crate.

use std::sync::Arc;

use rialto_components::{
    CanarySpec, CanaryTerms, ComponentSpec, Digest, Effective, Failing, Failings, Grants,
    Isolation, Limits, QuarantineTerms, ReleaseSpec, Role, ShadowSpec, SignerSpec, StepSpec,
};
use rialto_manifest::operator::Surface;
use rialto_manifest::scheme::{self, Binding, FailureWord, OnFailure, Scheme, SchemeDocument};
use rialto_manifest::{ComponentKind, Diagnostics};

/// Why a stored scheme cannot become a release.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// The scheme's document has problems.
    #[error("scheme.toml cannot be used:\n{0}")]
    Document(Diagnostics),
    /// A component's bytes are missing.
    #[error("the component {kind} `{name}` ({digest}) is not in the store")]
    NoBytes {
        /// Its kind.
        kind: ComponentKind,
        /// Its name in the scheme.
        name: String,
        /// Its digest.
        digest: Digest,
    },
}

/// The digest in the components crate's type.
pub fn digest(digest: rialto_manifest::values::Digest) -> Digest {
    // Both are SHA-256; the text form is the same.
    digest
        .to_string()
        .parse()
        .unwrap_or_else(|_| Digest::of(digest.bytes()))
}

/// The specification of a release with this number.
///
/// # Errors
/// When the document has problems, or `bytes` does not have a component.
pub fn release(
    number: u64,
    document: &SchemeDocument,
    bytes: impl Fn(Digest) -> Option<Arc<[u8]>>,
) -> Result<ReleaseSpec, SpecError> {
    let scheme = document.scheme().map_err(SpecError::Document)?;
    let mut components = Vec::new();
    for (kind, name, pinned) in document.digests().iter() {
        let pinned = digest(pinned);
        let bytes = bytes(pinned).ok_or_else(|| SpecError::NoBytes {
            kind,
            name: name.to_string(),
            digest: pinned,
        })?;
        let component = match kind {
            ComponentKind::Context => context(&scheme, name.as_str(), pinned, bytes),
            ComponentKind::Rule => rule(&scheme, name.as_str(), pinned, bytes),
        };
        components.extend(component);
    }
    let steps = scheme.steps.iter().flat_map(|(step, bindings)| {
        let intervals = bindings.iter().flat_map(Binding::intervals);
        let intervals = intervals.map(|interval| interval.binding);
        intervals.map(|binding| StepSpec {
            step: step.shared(),
            rule: binding.rule.shared(),
            settings: binding.settings_json().into(),
            failing: failings(binding.on_failure),
            failure_code: binding.failure_code.as_str().into(),
            quarantine: binding.quarantine.map(|terms| QuarantineTerms {
                failures: terms.failures,
                pause_ms: terms.pause.millis(),
                longest_ms: terms.longest.millis(),
            }),
            always_newest: scheme
                .rules
                .iter()
                .any(|(name, rule)| *name == binding.rule && rule.always_newest),
            confidential: scheme
                .rules
                .iter()
                .any(|(name, rule)| *name == binding.rule && rule.confidential),
            effective: Effective {
                from: binding.effective_from.map(|at| at.millis()),
                until: binding.effective_until.map(|at| at.millis()),
            },
            canary: binding.canary.as_ref().map(|canary| CanarySpec {
                rule: canary.rule.shared(),
                settings: binding.canary_settings_json().unwrap_or_default().into(),
                terms: terms(canary),
            }),
            shadow: binding.shadow.as_ref().map(|shadow| ShadowSpec {
                rule: shadow.rule.shared(),
                settings: binding.shadow_settings_json().unwrap_or_default().into(),
                share: shadow.share.millionths(),
                cpu: shadow.cpu.millionths(),
            }),
        })
    });
    Ok(ReleaseSpec {
        number,
        digest: digest(document.digest()),
        components,
        steps: steps.collect(),
        scheme: scheme.scheme_json().into(),
        lists: Arc::new(
            scheme
                .scheme_lists()
                .into_iter()
                .map(|(name, elements)| (name.to_owned(), elements))
                .collect(),
        ),
        signers: scheme
            .signers()
            .map(|(name, keys)| SignerSpec {
                name: name.to_owned(),
                keys: texts(&keys),
            })
            .collect(),
        codes: scheme
            .errors
            .iter()
            .map(|error| error.code.as_str().to_owned())
            .collect(),
        has_rules_alone: false,
    })
}

fn context(scheme: &Scheme, name: &str, digest: Digest, bytes: Arc<[u8]>) -> Option<ComponentSpec> {
    let (name, context) = scheme.contexts.iter().find(|(n, _)| n.as_str() == name)?;
    let grants = &context.grants;
    Some(ComponentSpec {
        name: name.shared(),
        role: Role::Context,
        digest,
        bytes,
        grants: Grants {
            host: grants.host.iter().map(|s| s.name().to_owned()).collect(),
            calls: texts(&grants.calls),
            publishes: texts(&grants.publishes),
            rules: texts(&grants.rules),
            outbound: texts(&grants.outbound),
        },
        limits: Limits {
            memory_bytes: bytes_of(context.limits.memory),
            deadline_ms: context.limits.deadline.millis(),
            fuel: context.limits.fuel,
            instances: context.limits.instances,
        },
        isolation: match context.isolation {
            scheme::Isolation::Pooled => Isolation::Pooled {
                turns_per_instance: context.limits.turns_per_instance,
            },
            scheme::Isolation::Fresh => Isolation::Fresh,
        },
        settings: scheme
            .settings_json(name.as_str())
            .unwrap_or_else(|| "{}".into())
            .into(),
        listener: context.listener.as_ref().map(|l| l.shared()),
    })
}

/// What each kind of failure of a rule means.
fn failings(on_failure: OnFailure) -> Failings {
    let failing = |word| match word {
        FailureWord::Refuse => Failing::Refuse,
        FailureWord::Allow => Failing::Allow,
        FailureWord::AllowAndFlag => Failing::AllowAndFlag,
        FailureWord::LastGood => Failing::LastGood,
    };
    let words = on_failure.words();
    Failings {
        trap: failing(words.trap),
        fuel: failing(words.fuel),
        memory: failing(words.memory),
        verdict: failing(words.verdict),
        otherwise: failing(words.otherwise),
    }
}

/// Which requests a canary decides about, and when it is held back.
fn terms(canary: &scheme::Canary) -> CanaryTerms {
    let hold_back = &canary.hold_back;
    CanaryTerms {
        names: canary.to.names(),
        units: canary.to.units(),
        share: canary.to.hash.millionths(),
        failures: hold_back.failures,
        drift: hold_back.verdict_drift.map(|share| share.millionths()),
        fuel: hold_back.fuel_p99.map(|share| share.millionths()),
        after: hold_back.after,
    }
}

fn rule(scheme: &Scheme, name: &str, digest: Digest, bytes: Arc<[u8]>) -> Option<ComponentSpec> {
    let (name, rule) = scheme.rules.iter().find(|(n, _)| n.as_str() == name)?;
    Some(ComponentSpec {
        name: name.shared(),
        role: Role::Rule,
        digest,
        bytes,
        grants: Grants {
            host: rule
                .grants
                .host
                .iter()
                .map(|s| Surface::from(*s).name().to_owned())
                .collect(),
            ..Grants::default()
        },
        limits: Limits {
            memory_bytes: bytes_of(rule.limits.memory),
            deadline_ms: rule.limits.deadline.millis(),
            fuel: Some(rule.limits.fuel),
            // Each verdict has its own instance. The number of workers bounds them.
            instances: u32::MAX,
        },
        isolation: Isolation::Fresh,
        settings: "{}".into(),
        listener: None,
    })
}

fn texts<T: ToString>(items: &[T]) -> Vec<String> {
    items.iter().map(ToString::to_string).collect()
}

fn bytes_of(size: rialto_manifest::values::Size) -> usize {
    usize::try_from(size.bytes()).unwrap_or(usize::MAX)
}
