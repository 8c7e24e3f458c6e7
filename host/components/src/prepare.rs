//! Prepares a release beside the one that serves:
//!
//! 1. Compile the components and read their types.
//! 2. Wire and link them.
//! 3. Instantiate each component once. Ask rules to describe themselves, and contexts to describe their configuration.
//! 4. Let each component judge its settings.

mod asking;
mod binding;
mod failures;
mod member;

use std::sync::Arc;

use foldhash::HashMap;
use rialto_engine::Name;
use rialto_signatures::{PublicKey, PublicKeys, Signers};
use wasmtime::component::Component;

use self::asking::{judge_own_settings, look_inside};
use self::binding::bind;
use self::failures::{error_line, not_a_component};
use self::member::{Own, member};
use crate::counting;
use crate::digest::Digest;
use crate::introspect::Shape;
use crate::link;
use crate::problem::{Location, Problem};
use crate::quarantine::QuarantineKey;
use crate::release::{BoundRule, Member, Release};
use crate::runtime::Runtime;
use crate::spec::{ComponentSpec, ReleaseSpec};
use crate::spread::spread;
use crate::wiring::{Wiring, wire};

impl Runtime {
    /// Prepare a release to become current.
    ///
    /// # Errors
    /// All problems of the release.
    pub fn prepare(&self, spec: &ReleaseSpec) -> Result<Release, Vec<Problem>> {
        let components = self.compile(spec)?;
        let shapes: Vec<Shape> = components
            .iter()
            .zip(&spec.components)
            .map(|(component, c)| Shape::of(component, self.engine(c.limits.fuel.is_some())))
            .collect();
        let wiring = wire(spec, &shapes)?;
        let signers = Signers::new(Arc::new(keys(spec)?), self.keyring.clone());
        let own = Own {
            signers: &signers,
            keys: &self.keys,
            tls: &self.tls,
            authority: &self.authority,
            audit_log: &self.audit_log,
            denials: &self.denials,
        };
        let mut members = self.link(spec, &components, &shapes, &wiring, own)?;
        let mut problems = Vec::new();
        for member in &mut members {
            problems.extend(look_inside(member));
            problems.extend(judge_own_settings(member));
        }
        let by_name: HashMap<Name, usize> = members
            .iter()
            .enumerate()
            .map(|(at, member)| (member.identity.name.clone(), at))
            .collect();
        let scheme_digest = Digest::of(&*spec.scheme);
        let mut steps: HashMap<Name, Vec<BoundRule>> = HashMap::default();
        for (at, step) in spec.steps.iter().enumerate() {
            match bind(spec, at, &members, &by_name) {
                Ok(mut bound) => {
                    bound.quarantine = step.quarantine.map(|terms| {
                        let member = &members[bound.member];
                        let key = QuarantineKey {
                            step: step.step.clone(),
                            rule: member.identity.name.clone(),
                            digest: member.digest,
                            settings: bound.settings_digest,
                            scheme: scheme_digest,
                            limits: member.limits,
                        };
                        self.quarantines.watch(key, terms)
                    });
                    steps.entry(step.step.clone()).or_default().push(bound);
                }
                Err(found) => problems.extend(found),
            }
        }
        problems.extend(counting::too_many(spec, &steps));
        if !problems.is_empty() {
            problems.sort();
            return Err(problems);
        }
        Ok(Release {
            number: spec.number,
            digest: spec.digest,
            scheme_digest,
            members,
            wiring,
            steps,
            asked: counting::asked(&shapes),
            suspensions: self.suspensions.clone(),
            drafts: self.drafts.clone(),
            verdicts: self.verdicts.clone(),
            canaries: self.canaries.clone(),
            earlier: Arc::downgrade(&self.earlier),
            by_name,
        })
    }

    /// Compile one component, and read what it imports and exports.
    ///
    /// # Errors
    /// Why it is no component that this host can run.
    pub fn shape(&self, component: &ComponentSpec) -> Result<Shape, Box<Problem>> {
        let engine = self.engine(component.limits.fuel.is_some());
        let compiled = self
            .cache
            .component(engine, component.digest, &component.bytes);
        let compiled = compiled.map_err(|error| Box::new(not_a_component(component, &error)))?;
        Ok(Shape::of(&compiled, engine))
    }

    /// Load the components. Those that this host has not compiled before are compiled, one after the other.
    fn compile(&self, spec: &ReleaseSpec) -> Result<Vec<Component>, Vec<Problem>> {
        let mut components = Vec::new();
        let mut problems = Vec::new();
        let stored = spread(&spec.components, self.loading_threads(), |c| {
            let actual = Digest::of(&c.bytes);
            let engine = self.engine(c.limits.fuel.is_some());
            let stored = (actual == c.digest).then(|| self.cache.stored(engine, c.digest));
            (actual, stored.flatten())
        });
        for (c, (actual, stored)) in spec.components.iter().zip(stored) {
            if self.is_stopping() {
                return Err(vec![Problem::new(
                    "stopping",
                    Location::File(c.name.to_string()),
                    "is not compiled: the host is told to stop",
                    "",
                )]);
            }
            if actual != c.digest {
                problems.push(Problem::new(
                    "digest-mismatch",
                    Location::File(c.name.to_string()),
                    format!("its bytes have the digest {actual}, not {}", c.digest),
                    "the file was changed after it was pinned; run `rialto lock` if it should have been",
                ));
                continue;
            }
            let engine = self.engine(c.limits.fuel.is_some());
            let compiled = match stored {
                Some(component) => Ok(component),
                None => self.cache.component(engine, c.digest, &c.bytes),
            };
            match compiled {
                Ok(component) => components.push(component),
                Err(error) => problems.push(not_a_component(c, &error)),
            }
        }
        if problems.is_empty() {
            Ok(components)
        } else {
            Err(problems)
        }
    }

    fn link(
        &self,
        spec: &ReleaseSpec,
        components: &[Component],
        shapes: &[Shape],
        wiring: &Wiring,
        own: Own<'_>,
    ) -> Result<Vec<Member>, Vec<Problem>> {
        let mut members = Vec::new();
        let mut problems = Vec::new();
        for (at, (component, c)) in components.iter().zip(&spec.components).enumerate() {
            let engine = self.engine(c.limits.fuel.is_some());
            let linked = link::linker(engine, spec, shapes, wiring, at)
                .and_then(|linker| linker.instantiate_pre(component))
                .and_then(|pre| member(engine, (spec, c), component, &shapes[at], own, pre));
            match linked {
                Ok(member) => members.push(member),
                Err(error) => problems.push(Problem::new(
                    "cannot-link",
                    Location::Component(c.name.to_string()),
                    format!("cannot be linked: {}", error_line(&error)),
                    "",
                )),
            }
        }
        if problems.is_empty() {
            Ok(members)
        } else {
            Err(problems)
        }
    }
}

/// The keys that a release brings.
fn keys(spec: &ReleaseSpec) -> Result<PublicKeys, Vec<Problem>> {
    let mut keys = PublicKeys::default();
    let mut problems = Vec::new();
    for (n, signer) in spec.signers.iter().enumerate() {
        for (m, pem) in signer.keys.iter().enumerate() {
            match PublicKey::all_of_pem(pem) {
                Ok(read) => keys.add(&signer.name, read),
                Err(error) => problems.push(Problem::new(
                    "bad-key",
                    Location::Key(signer.name.clone(), n, m),
                    format!("its public key cannot be used: {error}"),
                    "write the key as `openssl pkey -pubout` does, or leave it out",
                )),
            }
        }
    }
    if problems.is_empty() {
        Ok(keys)
    } else {
        Err(problems)
    }
}
