//! The APIs of one release on one listener: which component serves a path.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;
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
    /// The release; 0 before the first.
    pub release: u64,
    /// In the order of the release's components.
    pub served: Vec<Arc<Served>>,
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

impl Served {
    /// An API that is not a component's. Other code handles it; its document is served under this name.
    ///
    /// # Errors
    /// When the document is unusable.
    pub fn own(name: &str, text: &str) -> Result<Arc<Self>, BadApi> {
        Self::of(&name.into(), &text.into())
    }

    /// A component's API. An unchanged document is taken from a cache, because compiling its schemas takes long.
    fn of(component: &Name, text: &Arc<str>) -> Result<Arc<Self>, BadApi> {
        static KNOWN: Mutex<Vec<Weak<Served>>> = Mutex::new(Vec::new());
        let is_it = |served: &Arc<Self>| served.component == *component && served.text == *text;
        if let Some(known) = KNOWN.lock().iter().filter_map(Weak::upgrade).find(is_it) {
            return Ok(known);
        }
        let document = Document::parse(text).map_err(|source| BadApi {
            component: component.clone(),
            source,
        })?;
        let page = page::render(&document.root, &format!("{component}.yaml"));
        let served = Arc::new(Self {
            component: component.clone(),
            document,
            text: text.clone(),
            page: page.into(),
        });
        let mut known = KNOWN.lock();
        known.retain(|served| served.strong_count() > 0);
        known.push(Arc::downgrade(&served));
        Ok(served)
    }
}

impl Api {
    /// The APIs that a release serves on a listener. Paths whose first segment is `reserved` are
    /// the host's own.
    ///
    /// # Errors
    /// When a component's document is unusable, or has a path of the host's.
    pub fn of(release: &Release, listener: &str, reserved: &[&str]) -> Result<Self, BadApi> {
        let mut api = Self {
            release: release.number,
            ..Self::default()
        };
        for member in &release.members {
            let (Some(text), Some(on)) = (&member.openapi, &member.listener) else {
                continue;
            };
            if &**on != listener {
                continue;
            }
            let served = Served::of(&member.identity.name, text)?;
            if let Some((path, own)) = served.document.path_within(reserved) {
                return Err(BadApi {
                    component: served.component.clone(),
                    source: BadDocument {
                        at: format!("paths {path}"),
                        what: format!(
                            "paths below `/{own}` of the listener `{listener}` are the host's own; choose another one"
                        ),
                    },
                });
            }
            api.served.push(served);
        }
        Ok(api)
    }

    /// Whether this path is of a component or of a document.
    pub fn serves(&self, path: &str) -> bool {
        path.starts_with("/openapi/") || self.served.iter().any(|s| s.document.find(path).is_some())
    }

    /// The API that serves a path. For an unknown path it is the first API, which words the refusal.
    pub fn find<'a>(&'a self, path: &'a str) -> Option<(&'a Served, Option<Found<'a>>)> {
        let mut served = self.served.iter();
        let found = served.find_map(|s| Some((&**s, Some(s.document.find(path)?))));
        found.or_else(|| self.served.first().map(|s| (&**s, None)))
    }

    /// The path of an operation as its document has it, `/transfers/{ID}`.
    pub fn route<'a>(&'a self, path: &'a str, method: &str) -> Option<&'a str> {
        let (_, found) = self.find(path)?;
        let operation = found?.operations.get(method)?;
        Some(&operation.path)
    }
}
