//! Drafts of releases over HTTP: a scheme's text with changes, and what a bundle brings. Nothing becomes current.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use rialto_bundles::{Bundle, Content, Kind as BundleKind};
use rialto_components::Digest;
use rialto_manifest::scheme::SchemeDocument;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::components::keep;
use super::extractors::{Body, By, Sent};
use super::problem::Kind;
use super::{Host, Problem, blocking};
use crate::bundles::verifying::{self, Report};
use crate::drafts::{Edit, edited};
use crate::host::Shared;
use crate::operators::Caller;
use crate::spec;

/// How long the cases of a bundle may run.
const CASES_MAX: Duration = Duration::from_secs(30);

/// A scheme to change.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewDraft {
    /// The scheme's document. Without it, `release`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<SchemeDocument>,
    /// A stored release that has the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<u64>,
    /// The changes, one after the other.
    #[serde(default)]
    pub edits: Vec<Edit>,
}

/// What a bundle brings.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BundleRead {
    /// `scheme` or `rule`.
    pub kind: String,
    /// The name of the scheme or of the rule.
    pub name: String,
    /// What holds.
    pub holds: Vec<String>,
    /// What does not hold. If there is anything, nothing of the bundle was stored.
    pub findings: Vec<String>,
    /// What to know.
    pub notes: Vec<String>,
    /// The document of a scheme.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<SchemeDocument>,
    /// The component of a rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// The lines that bind a rule, as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binding: Option<Value>,
}

/// A document with changes.
pub(super) async fn edit(
    State(shared): Host,
    Body(draft): Body<NewDraft>,
) -> Result<Json<SchemeDocument>, Problem> {
    blocking(&shared.clone().reads, move || {
        let document = match (draft.document, draft.release) {
            (Some(document), None) => document,
            (None, Some(number)) => shared.releases.show(number)?.document,
            _ => {
                let detail = "a draft is of a `document` or of a `release`, one of both";
                return Err(Problem::new(Kind::Malformed, detail));
            }
        };
        let edited = edited(&document, &draft.edits);
        edited
            .map(Json)
            .map_err(|refused| Problem::new(Kind::DraftRefused, refused.to_string()))
    })
    .await
}

/// Verify a bundle and store its components, so that a release can be made of it. Changes do not wait for its cases.
pub(super) async fn read_bundle(
    State(shared): Host,
    By(caller): By,
    Sent(bytes): Sent,
) -> Result<Json<BundleRead>, Problem> {
    blocking(&shared.clone().reads, move || {
        let bundle = Bundle::read(&bytes);
        let bundle = bundle.map_err(|error| {
            Problem::new(Kind::Malformed, format!("this is no bundle: {error}"))
        })?;
        let read = match bundle.about().kind {
            BundleKind::Scheme => scheme(&shared, &caller, &bundle)?,
            BundleKind::Rule => rule(&shared, &caller, &bundle)?,
        };
        Ok(Json(read))
    })
    .await
}

/// The plan of a release judges the components. Here only the bundle is.
fn scheme(shared: &Arc<Shared>, caller: &Caller, bundle: &Bundle) -> Result<BundleRead, Problem> {
    let mut read = of("scheme", bundle, verifying::documents(bundle));
    let Some((document, components)) = verifying::scheme_of(bundle).ok() else {
        return Ok(read);
    };
    if read.findings.is_empty() {
        for (digest, bytes) in &components {
            keep(shared, caller, spec::digest(*digest), bytes)?;
        }
        read.document = Some(document);
    }
    Ok(read)
}

fn rule(shared: &Arc<Shared>, caller: &Caller, bundle: &Bundle) -> Result<BundleRead, Problem> {
    let until = Instant::now() + CASES_MAX;
    let verified = verifying::rule_of(bundle, shared.releases.ceilings(), until);
    let verified = verified.map_err(|error| Problem::new(Kind::Internal, format!("{error:#}")))?;
    let mut read = of("rule", bundle, verified);
    let mut components = bundle.those(|content| matches!(content, Content::Component));
    if let Some((_, component)) = components.next()
        && read.findings.is_empty()
    {
        let digest = Digest::of(&component.bytes);
        keep(shared, caller, digest, &component.bytes)?;
        read.digest = Some(digest);
        let mut lines = bundle.those(|content| matches!(content, Content::Binding));
        let lines = lines.next().and_then(|(_, file)| {
            let text = std::str::from_utf8(&file.bytes).ok()?;
            let lines: toml::Table = text.parse().ok()?;
            serde_json::to_value(lines).ok()
        });
        read.binding = lines;
    }
    Ok(read)
}

fn of(kind: &str, bundle: &Bundle, verified: Report) -> BundleRead {
    BundleRead {
        kind: kind.to_owned(),
        name: bundle.about().name.clone(),
        holds: verified.holds,
        findings: verified.findings,
        notes: verified.notes,
        ..BundleRead::default()
    }
}
