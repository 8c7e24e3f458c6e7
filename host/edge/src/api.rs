//! The APIs of one release on one listener: which component serves a path.

use std::sync::Arc;

use rialto_components::Release;
use rialto_engine::Name;
use rialto_openapi::{BadDocument, Document, Found};

use crate::page;

/// One component's API.
pub struct Served {
    /// The component.
    pub component: Name,
    /// Its document.
    pub document: Document,
    /// The document's text, to be served.
    pub text: Arc<str>,
    /// The document as a page for people.
    pub page: Arc<str>,
}

/// All APIs on a listener.
#[derive(Default)]
pub struct Api {
    /// In the order of the release's components.
    pub served: Vec<Served>,
}

/// Why a release's APIs cannot be served.
#[derive(Debug, thiserror::Error)]
#[error("the OpenAPI document of `{component}`, {source}")]
pub struct BadApi {
    /// The component.
    pub component: Name,
    /// What is wrong with its document.
    pub source: BadDocument,
}

impl Api {
    /// The APIs that a release serves on a listener. Paths whose first segment is `reserved` are
    /// the host's own.
    ///
    /// # Errors
    /// When a component's document is unusable, or has a path of the host's.
    pub fn of(release: &Release, listener: &str, reserved: &[&str]) -> Result<Self, BadApi> {
        let mut api = Self::default();
        for member in &release.members {
            let (Some(text), Some(on)) = (&member.openapi, &member.listener) else {
                continue;
            };
            if &**on != listener {
                continue;
            }
            let component = member.identity.name.clone();
            let document = Document::parse(text).map_err(|source| BadApi {
                component: component.clone(),
                source,
            })?;
            if let Some((path, own)) = document.path_within(reserved) {
                return Err(BadApi {
                    component,
                    source: BadDocument {
                        at: format!("paths {path}"),
                        what: format!(
                            "paths below `/{own}` of the listener `{listener}` are the host's own; choose another one"
                        ),
                    },
                });
            }
            let page = page::render(&document.root, &format!("{component}.yaml"));
            api.served.push(Served {
                component,
                document,
                text: text.clone(),
                page: page.into(),
            });
        }
        Ok(api)
    }

    /// Whether a component serves this path, or a document is to be had there.
    pub fn serves(&self, path: &str) -> bool {
        path.starts_with("/openapi/") || self.served.iter().any(|s| s.document.find(path).is_some())
    }

    /// Who serves a path. Without one, the first API answers for the listener.
    pub fn find<'a>(&'a self, path: &'a str) -> Option<(&'a Served, Option<Found<'a>>)> {
        let mut served = self.served.iter();
        let found = served.find_map(|s| Some((s, Some(s.document.find(path)?))));
        found.or_else(|| self.served.first().map(|s| (s, None)))
    }

    /// The path of an operation as its document has it, `/transfers/{ID}`.
    pub fn route<'a>(&'a self, path: &'a str, method: &str) -> Option<&'a str> {
        let (_, found) = self.find(path)?;
        let operation = found?.operations.get(method)?;
        Some(&operation.path)
    }
}
