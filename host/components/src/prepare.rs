//! Prepares a release beside the one that serves:
//!
//! 1. Compile the components and read their types.
//! 2. Wire and link them.
//! 3. Instantiate each component once. Ask rules to describe themselves, and contexts to describe their configuration.
//! 4. Let each component judge its settings.

use std::sync::Arc;

use foldhash::HashMap;
use rialto_engine::Name;
use rialto_keys::Keys;
use rialto_signatures::{PublicKey, PublicKeys, Signers};
use wasmtime::component::{Component, InstancePre};

use crate::audit_log::AuditLog;
use crate::authority::ClientAuthority;
use crate::bindings::exports::rialto::host as handlers;
use crate::counting;
use crate::denials::Denials;
use crate::described::ConfigurationDescription;
use crate::digest::Digest;
use crate::guest::{Guest, Identity, SHORT_OF_MEMORY};
use crate::instance::{Instance, Pool};
use crate::introspect::Shape;
use crate::last_good::LastGoodSlot;
use crate::link;
use crate::names::CHECK_FUNCTION;
use crate::quarantine::QuarantineKey;
use crate::release::{
    BoundCanary, BoundRule, BoundShadow, Export, Handlers, Member, Release, RuleDescription,
};
use crate::runtime::Runtime;
use crate::spec::{ComponentSpec, ReleaseSpec, Role};
use crate::steps;
use crate::tls::TlsFiles;
use crate::wiring::{Location, Part, Problem, Wiring, wire};

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

    fn compile(&self, spec: &ReleaseSpec) -> Result<Vec<Component>, Vec<Problem>> {
        let mut components = Vec::new();
        let mut problems = Vec::new();
        for c in &spec.components {
            if self.is_stopping() {
                return Err(vec![Problem::new(
                    "stopping",
                    Location::File(c.name.to_string()),
                    "is not compiled: the host is told to stop",
                    "",
                )]);
            }
            let actual = Digest::of(&c.bytes);
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
            match self.cache.component(engine, c.digest, &c.bytes) {
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

/// What the host has of keys, of TLS and of the audit log.
#[derive(Clone, Copy)]
struct Own<'a> {
    signers: &'a Signers,
    keys: &'a Arc<Keys>,
    tls: &'a Arc<dyn TlsFiles>,
    authority: &'a Option<Arc<ClientAuthority>>,
    audit_log: &'a Arc<dyn AuditLog>,
    denials: &'a Arc<dyn Denials>,
}

fn member(
    engine: &wasmtime::Engine,
    (spec, c): (&ReleaseSpec, &ComponentSpec),
    component: &Component,
    shape: &Shape,
    own: Own<'_>,
    pre: InstancePre<Guest>,
) -> wasmtime::Result<Member> {
    let identity = Arc::new(Identity {
        name: c.name.clone(),
        settings: c.settings.clone(),
        scheme: spec.scheme.clone(),
        lists: spec.lists.clone(),
        outbound: c.grants.outbound.clone().into(),
        memory_bytes_max: c.limits.memory_bytes,
        is_quiet: false,
        signers: own.signers.clone(),
        keys: own.keys.clone(),
        tls: own.tls.clone(),
        authority: own.authority.clone(),
        audit_log: own.audit_log.clone(),
        denials: own.denials.clone(),
    });
    let has = |interface: &str| shape.exports_host(interface);
    let handlers = Handlers {
        http: has("http-handler")
            .then(|| handlers::http_handler::GuestIndices::new(&pre))
            .transpose()?,
        report: has("http-report-handler")
            .then(|| handlers::http_report_handler::GuestIndices::new(&pre))
            .transpose()?,
        reminder: has("reminder-handler")
            .then(|| handlers::reminder_handler::GuestIndices::new(&pre))
            .transpose()?,
        activation: has("activation-handler")
            .then(|| handlers::activation_handler::GuestIndices::new(&pre))
            .transpose()?,
        authorization: has("authorization-handler")
            .then(|| handlers::authorization_handler::GuestIndices::new(&pre))
            .transpose()?,
        described: has("configuration-schema")
            .then(|| handlers::configuration_schema::GuestIndices::new(&pre))
            .transpose()?,
        configuration: has("configuration-handler")
            .then(|| handlers::configuration_handler::GuestIndices::new(&pre))
            .transpose()?,
        settings: has("settings-handler")
            .then(|| handlers::settings_handler::GuestIndices::new(&pre))
            .transpose()?,
        rule: (c.role == Role::Rule)
            .then(|| crate::bindings::exports::rialto::rules::rule::GuestIndices::new(&pre))
            .transpose()?,
    };
    let exports = exports(component, shape)?;
    Ok(Member {
        identity,
        role: c.role,
        digest: c.digest,
        listener: c.listener.clone(),
        limits: c.limits,
        isolation: c.isolation,
        by_export: by_export(&exports),
        exports,
        shape: shape.clone(),
        description: None,
        configuration: None,
        openapi: None,
        engine: engine.clone(),
        wasi: shape.imports_wasi(),
        pre,
        handlers,
        pool: Pool::default(),
    })
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

fn by_export(exports: &[Export]) -> HashMap<Name, HashMap<Name, usize>> {
    let mut by_export: HashMap<Name, HashMap<Name, usize>> = HashMap::default();
    for (at, export) in exports.iter().enumerate() {
        let functions = by_export.entry(export.interface.clone()).or_default();
        functions.insert(export.function.clone(), at);
    }
    by_export
}

/// All exported functions, in the order that `link::export_index` counts in.
fn exports(component: &Component, shape: &Shape) -> wasmtime::Result<Vec<Export>> {
    let mut exports = Vec::new();
    for interface in &shape.exports {
        let name = interface.name.to_string();
        let missing = || wasmtime::format_err!("{name} is exported and cannot be found");
        let outer = component
            .get_export_index(None, &name)
            .ok_or_else(missing)?;
        for function in &interface.functions {
            let index = component
                .get_export_index(Some(&outer), &function.name)
                .ok_or_else(missing)?;
            exports.push(Export {
                interface: name.as_str().into(),
                function: function.name.as_str().into(),
                index,
                params: function.params.iter().map(|(_, ty)| ty.clone()).collect(),
                results: function.results.len(),
            });
        }
    }
    Ok(exports)
}

/// Instantiate a component once and ask it to describe itself. Returns a problem if that fails.
fn look_inside(member: &mut Member) -> Option<Problem> {
    match ask_itself(member) {
        Ok(asked) => {
            (member.description, member.openapi, member.configuration) = asked;
            let wrong = member.configuration.as_ref()?.judge()?;
            Some(Problem::new(
                "bad-description",
                Location::Component(member.identity.name.to_string()),
                format!("describes its configuration, and the description cannot be used: {wrong}"),
                "",
            ))
        }
        Err(error) => {
            let why = member.explain(&error).reason;
            Some(Problem::new(
                "fails-to-start",
                Location::Component(member.identity.name.to_string()),
                format!("fails when it is started: {why}"),
                of_memory(&why),
            ))
        }
    }
}

type SelfDescription = (
    Option<RuleDescription>,
    Option<Arc<str>>,
    Option<ConfigurationDescription>,
);

fn ask_itself(member: &Member) -> wasmtime::Result<SelfDescription> {
    let mut made = member.instantiate(&member.identity)?;
    made.call(|instance| itself(member, instance))
}

fn itself(member: &Member, instance: &mut Instance) -> wasmtime::Result<SelfDescription> {
    let openapi = match member.handlers.http {
        None => None,
        Some(_) => {
            let handler = member.http(instance)?;
            Some(handler.call_openapi(&mut instance.store)?.into())
        }
    };
    let description = match &member.handlers.rule {
        None => None,
        Some(indices) => {
            let rule = indices.load(&mut instance.store, &instance.instance)?;
            let said = rule.call_describe(&mut instance.store)?;
            Some(RuleDescription {
                name: said.name,
                version: said.version,
                summary: said.summary,
                codes: said.codes,
                settings_schema: said.settings_schema,
            })
        }
    };
    let configuration = match &member.handlers.described {
        None => None,
        Some(indices) => {
            let handler = indices.load(&mut instance.store, &instance.instance)?;
            let said = handler.call_describe(&mut instance.store)?;
            let secrets = said.secrets.into_iter();
            Some(ConfigurationDescription {
                version: said.version,
                settings_schema: said.settings_schema,
                secrets: secrets.map(|one| (one.name, one.description)).collect(),
            })
        }
    };
    Ok((description, openapi, configuration))
}

/// The problems that a component finds in its own settings. A rule has settings only at its steps; [`bind`]
/// checks these.
fn judge_own_settings(member: &Member) -> Vec<Problem> {
    let problem = |code: &'static str, pointer: &str, what: String, help: &str| {
        let name = member.identity.name.to_string();
        Problem::new(
            code,
            Location::Settings(name, pointer.to_owned()),
            what,
            help,
        )
    };
    let Some(indices) = &member.handlers.settings else {
        let has_any = member.role == Role::Context && &*member.identity.settings != "{}";
        let unread = has_any.then(|| {
            let export = "it does not export rialto:host/settings-handler@0.1.0";
            problem(
                "needless-settings",
                "",
                format!("has settings, and takes none: {export}"),
                "remove its `settings` from scheme.toml",
            )
        });
        return unread.into_iter().collect();
    };
    let judged = member.instantiate(&member.identity).and_then(|mut made| {
        made.call(|instance| {
            let handler = indices.load(&mut instance.store, &instance.instance)?;
            handler.call_validate_settings(&mut instance.store, &member.identity.settings)
        })
    });
    match judged {
        Ok(judged) => {
            let errors = judged.err().unwrap_or_default().into_iter();
            let problems = errors.map(|e| {
                let what = format!("settings{}: {}", e.pointer, e.message);
                let help = "change it in the component's `settings` of scheme.toml";
                problem("bad-settings", &e.pointer, what, help)
            });
            problems.collect()
        }
        Err(error) => {
            let why = member.explain(&error).reason;
            let what = format!("fails when it judges its settings: {why}");
            vec![problem("fails-to-judge", "", what, of_memory(&why))]
        }
    }
}

/// Bind a rule to its step, with the candidate in its shadow.
fn bind(
    spec: &ReleaseSpec,
    nth: usize,
    members: &[Member],
    by_name: &HashMap<Name, usize>,
) -> Result<BoundRule, Vec<Problem>> {
    let step = &spec.steps[nth];
    let all = (members, by_name);
    let rule = Binding::at(spec, nth, Part::Rule, (&step.rule, &step.settings));
    let bound = rule.bind(all);
    if let Some(canary) = &step.canary {
        let candidate = Binding::at(spec, nth, Part::Canary, (&canary.rule, &canary.settings));
        let candidate = candidate.bind(all);
        if let (Ok(bound), Ok(candidate)) = (&bound, &candidate)
            && members[bound.member].digest == members[candidate.member].digest
            && bound.settings_digest == candidate.settings_digest
        {
            let what = "is the rule itself: the same component with the same settings";
            let location = Location::Bound(spec.bound(nth), Part::Canary);
            let help = "give it another component or other settings";
            return Err(vec![Problem::new(
                "canary-is-its-rule",
                location,
                what,
                help,
            )]);
        }
        return both(bound, candidate, |candidate, bound| BoundRule {
            canary: Some(Arc::new(BoundCanary {
                digest: members[candidate.member].digest,
                bound: candidate,
                terms: canary.terms.clone(),
            })),
            ..bound
        });
    }
    let Some(shadow) = &step.shadow else {
        return bound;
    };
    let candidate = Binding::at(spec, nth, Part::Shadow, (&shadow.rule, &shadow.settings));
    both(bound, candidate.bind(all), |candidate, bound| BoundRule {
        shadow: Some(Arc::new(BoundShadow {
            bound: candidate,
            share: shadow.share,
            cpu: shadow.cpu,
        })),
        ..bound
    })
}

/// A rule with its candidate, or the problems of both.
fn both(
    bound: Result<BoundRule, Vec<Problem>>,
    candidate: Result<BoundRule, Vec<Problem>>,
    with: impl FnOnce(BoundRule, BoundRule) -> BoundRule,
) -> Result<BoundRule, Vec<Problem>> {
    match (bound, candidate) {
        (Ok(bound), Ok(candidate)) => Ok(with(candidate, bound)),
        (bound, candidate) => {
            let problems = bound.err().into_iter().chain(candidate.err());
            Err(problems.flatten().collect())
        }
    }
}

/// A rule that is to be bound to a step: in force, or in the shadow of another one.
struct Binding<'a> {
    spec: &'a ReleaseSpec,
    nth: usize,
    /// [`Part::Rule`], [`Part::Shadow`] or [`Part::Canary`].
    part: Part,
    rule: &'a Name,
    settings: &'a Arc<str>,
}

impl<'a> Binding<'a> {
    fn at(
        spec: &'a ReleaseSpec,
        nth: usize,
        part: Part,
        (rule, settings): (&'a Name, &'a Arc<str>),
    ) -> Self {
        Self {
            spec,
            nth,
            part,
            rule,
            settings,
        }
    }

    /// Bind it. The scheme must declare its codes, and the rule must accept its settings.
    fn bind(
        &self,
        (members, by_name): (&[Member], &HashMap<Name, usize>),
    ) -> Result<BoundRule, Vec<Problem>> {
        let step = &self.spec.steps[self.nth];
        let location = |part: Part| Location::Bound(self.spec.bound(self.nth), part);
        let problem = |code: &'static str, part: Part, what: &str| {
            vec![Problem::new(code, location(part), what, "")]
        };
        let at = by_name.get(self.rule).copied();
        let Some((at, member)) = at.map(|at| (at, &members[at])) else {
            return Err(problem(
                "rule-unknown",
                self.part.clone(),
                "there is no such rule",
            ));
        };
        let shapes = members.iter().map(|member| &member.shape);
        let question = steps::newest_question(shapes, &step.step);
        let served = steps::served(&member.shape, &step.step, question);
        let served = served.and_then(|interface| {
            let export = member.export(&interface.name.to_string(), CHECK_FUNCTION)?;
            Some((export, interface.function(CHECK_FUNCTION)?))
        });
        let Some((export, check)) = served else {
            let what = "the rule does not serve this step";
            return Err(problem("rule-elsewhere", self.part.clone(), what));
        };
        let taken = steps::members(check).into_iter();
        let taken: Arc<[Name]> = taken.map(|(name, _)| name.as_str().into()).collect();
        let identity = Arc::new(Identity {
            settings: self.settings.clone(),
            is_quiet: self.part == Part::Shadow,
            ..(*member.identity).clone()
        });
        let mut problems = undeclared_codes(self.spec, self.nth, &self.part, member);
        let needed = member.description.as_ref().and_then(RuleDescription::fuel);
        let may_have = member.limits.fuel.unwrap_or(u64::MAX);
        if let Some(needed) = needed.filter(|needed| *needed > may_have) {
            let what = format!("needs up to {needed} fuel for a verdict and may have {may_have}");
            let help = "raise `limits.fuel` of the rule";
            problems.push(Problem::new(
                "fuel-below-need",
                location(self.part.clone()),
                what,
                help,
            ));
        }
        match judge_settings(member, &identity) {
            Ok(errors) => problems.extend(errors.into_iter().map(|(pointer, message)| {
                let what = format!("settings{pointer}: {message}");
                let part = self.settings_at(pointer);
                Problem::new("bad-settings", location(part), what, "")
            })),
            Err(error) => {
                let why = member.explain(&error).reason;
                let what = format!("fails when it judges its settings: {why}");
                let part = self.settings_at(String::new());
                problems.extend(problem("fails-to-judge", part, &what));
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let counters = match counting::counters(member, &identity, &taken) {
            Ok(counters) => counters,
            Err(what) => {
                let part = self.settings_at(String::new());
                return Err(problem("bad-counters", part, &what));
            }
        };
        Ok(BoundRule {
            member: at,
            export,
            identity,
            members: taken,
            counters,
            settings_digest: Digest::of(self.settings.as_bytes()),
            failing: step.failing,
            failure_code: step.failure_code.clone(),
            last_good: LastGoodSlot::default(),
            quarantine: None,
            always_newest: step.always_newest,
            confidential: step.confidential,
            effective: step.effective,
            shadow: None,
            canary: None,
        })
    }

    fn settings_at(&self, pointer: String) -> Part {
        match self.part {
            Part::Shadow => Part::ShadowSettings(pointer),
            Part::Canary => Part::CanarySettings(pointer),
            _ => Part::Settings(pointer),
        }
    }
}

fn undeclared_codes(spec: &ReleaseSpec, at: usize, part: &Part, member: &Member) -> Vec<Problem> {
    let step = &spec.steps[at];
    let said = member.description.iter().flat_map(|d| &d.codes);
    let codes = said.map(|code| (code.as_str(), part.clone(), "may return"));
    let failure = (
        &*step.failure_code,
        Part::FailureCode,
        "has the failure code",
    );
    // A candidate's failure refuses nothing.
    let failure = (*part == Part::Rule).then_some(failure);
    codes
        .chain(failure)
        .filter(|(code, _, _)| !spec.codes.iter().any(|known| known == code))
        .map(|(code, part, does)| {
            Problem::new(
                "undeclared-code",
                Location::Bound(spec.bound(at), part),
                format!("{does} {code}, which the scheme does not declare"),
                format!("add [[errors]] with code = \"{code}\" to scheme.toml"),
            )
        })
        .collect()
}

fn judge_settings(
    member: &Member,
    identity: &Arc<Identity>,
) -> wasmtime::Result<Vec<(String, String)>> {
    let indices = member
        .handlers
        .rule
        .as_ref()
        .ok_or_else(|| wasmtime::format_err!("is no rule"))?;
    let judged = member.instantiate(identity)?.call(|instance| {
        let rule = indices.load(&mut instance.store, &instance.instance)?;
        rule.call_validate_settings(&mut instance.store, &identity.settings)
    })?;
    let errors = judged.err().unwrap_or_default();
    Ok(errors.into_iter().map(|e| (e.pointer, e.message)).collect())
}

/// wasmtime's messages without their context lines.
fn first_line(error: &wasmtime::Error) -> String {
    let text = error.root_cause().to_string();
    text.lines().next().unwrap_or_default().to_owned()
}

fn error_line(error: &wasmtime::Error) -> String {
    let causes: Vec<String> = error.chain().map(ToString::to_string).collect();
    causes.join(": ")
}

/// The help for a component that wants more memory than its limit; empty for other failures.
fn of_memory(why: &str) -> &'static str {
    if why.contains(SHORT_OF_MEMORY) {
        "give it more by its `limits.memory` in scheme.toml; the most that it can get is `ceilings.memory` of rialto.toml"
    } else {
        ""
    }
}

/// The help for a component that does not fit into the pools; empty for other failures.
fn of_the_pools(why: &str) -> &'static str {
    if why.contains("core module instances") {
        "it has more core modules than `ceilings.core-modules` of rialto.toml lets it have; raise that and start the host again"
    } else if why.contains("minimum byte size") {
        "its memory is longer from the beginning than `ceilings.memory` of rialto.toml; raise that and its `limits.memory` in scheme.toml, and start the host again"
    } else {
        ""
    }
}

/// The problem of bytes that cannot be compiled. For bytes that are not WebAssembly, the compiler's own message
/// is about the text format, which would mislead.
fn not_a_component(c: &ComponentSpec, error: &wasmtime::Error) -> Problem {
    let (why, help) = match &*c.bytes {
        [0, b'a', b's', b'm', 1, 0, 0, 0, ..] => (
            first_line(error),
            "it is a core module: wrap it into a component, for example with cargo-component",
        ),
        [0, b'a', b's', b'm', ..] => (first_line(error), of_the_pools(&format!("{error:#}"))),
        _ => (
            "it is no WebAssembly at all".to_owned(),
            "a component begins with the bytes `\\0asm`; name the file that the build made",
        ),
    };
    let what = format!("is no component that this host can run: {why}");
    Problem::new(
        "no-component",
        Location::File(c.name.to_string()),
        what,
        help,
    )
}
