//! A component of a release that is being prepared: its exports and handlers.

use std::sync::Arc;

use foldhash::HashMap;
use rialto_engine::Name;
use rialto_keys::Keys;
use rialto_signatures::Signers;
use wasmtime::component::{Component, InstancePre};

use crate::audit_log::AuditLog;
use crate::authority::ClientAuthority;
use crate::bindings::exports::rialto::host as handlers;
use crate::denials::Denials;
use crate::guest::{Guest, Identity};
use crate::instance::Pool;
use crate::introspect::Shape;
use crate::release::{Export, Handlers, Member};
use crate::remembered::Answers;
use crate::spec::{ComponentSpec, ReleaseSpec, Role};
use crate::tls::TlsFiles;

/// What the host has of keys, of TLS and of the audit log.
#[derive(Clone, Copy)]
pub(super) struct Own<'a> {
    pub signers: &'a Signers,
    pub keys: &'a Arc<Keys>,
    pub tls: &'a Arc<dyn TlsFiles>,
    pub authority: &'a Option<Arc<ClientAuthority>>,
    pub audit_log: &'a Arc<dyn AuditLog>,
    pub denials: &'a Arc<dyn Denials>,
}

pub(super) fn member(
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
    let wasi = shape.imports_wasi();
    // WASI has clocks and randomness, which answers may depend on.
    let answers = Answers::of(if wasi { 0 } else { exports.len() });
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
        wasi,
        pre,
        handlers,
        pool: Pool::default(),
        answers,
    })
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
