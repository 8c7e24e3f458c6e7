//! The APIs of one release on one listener: which component serves a path.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use rialto_components::{Release, spread};
use rialto_engine::Name;
use rialto_openapi::{BadDocument, Document, Found};

use crate::authentication::Authentication;
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
    /// How clients prove who they are.
    pub authentication: Authentication,
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

/// How many of the newest documents stay compiled, whether a release has them or not.
const NEWEST_MAX: usize = 16;

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
        // A release is checked before it is served: what the check has compiled stays until then.
        static NEWEST: Mutex<VecDeque<Arc<Served>>> = Mutex::new(VecDeque::new());
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
        let mut newest = NEWEST.lock();
        if newest.len() >= NEWEST_MAX {
            newest.pop_front();
        }
        newest.push_back(served.clone());
        let mut known = KNOWN.lock();
        known.retain(|served| served.strong_count() > 0);
        known.push(Arc::downgrade(&served));
        Ok(served)
    }
}

/// Compile the documents of a release on so many threads, before its APIs are made: they are found again while the result is
/// kept. What is wrong with one is said when the APIs are made.
pub fn compile(release: &Release, threads: usize) -> Vec<Arc<Served>> {
    let documents = release.members.iter();
    let documents = documents.filter_map(|m| Some((&m.identity.name, m.openapi.as_ref()?)));
    let documents: Vec<(&Name, &Arc<str>)> = documents.collect();
    let compiled = spread(&documents, threads, |(component, text)| {
        Served::of(component, text).ok()
    });
    compiled.into_iter().flatten().collect()
}

impl Api {
    /// The APIs that a release serves on a listener. Paths whose first segment is `reserved` are
    /// the host's own.
    ///
    /// # Errors
    /// When a component's document is unusable, has a path of the host's, or says nothing of the credentials that clients
    /// need.
    pub fn of(
        release: &Release,
        listener: &str,
        reserved: &[&str],
        authentication: Authentication,
    ) -> Result<Self, BadApi> {
        let mut api = Self {
            release: release.number,
            served: Vec::new(),
            authentication,
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
            check_identities(&served, authentication)?;
            check_paths(&served, &api.served)?;
            api.served.push(served);
        }
        Ok(api)
    }

    /// Whether this path is of a component or of a document.
    pub fn serves(&self, path: &str) -> bool {
        path.starts_with("/openapi/") || self.served.iter().any(|s| s.document.find(path).is_some())
    }

    /// The API that serves a path. For an unknown path it is the first API that does not only help clients to identify
    /// themselves; it words the refusal.
    pub fn find<'a>(&'a self, path: &'a str) -> Option<(&'a Served, Option<Found<'a>>)> {
        let mut served = self.served.iter();
        let found = served.find_map(|s| Some((&**s, Some(s.document.find(path)?))));
        found.or_else(|| {
            let mut served = self.served.iter();
            let main = served.find(|s| !s.document.is_open());
            let words = main.or_else(|| self.served.first());
            words.map(|s| (&**s, None))
        })
    }

    /// The path of an operation as its document has it, `/transfers/{ID}`.
    pub fn route<'a>(&'a self, path: &'a str, method: &str) -> Option<&'a str> {
        let (_, found) = self.find(path)?;
        let operation = found?.operations.get(method)?;
        Some(&operation.path)
    }
}

/// Check that no other component of the listener serves a path of this one. Otherwise a component could get requests
/// that are meant for another, with what they contain.
fn check_paths(served: &Served, others: &[Arc<Served>]) -> Result<(), BadApi> {
    for path in paths(served) {
        for other in others {
            if let Some(same) = paths(other).find(|its| overlap(path, its)) {
                return Err(BadApi {
                    component: served.component.clone(),
                    source: BadDocument {
                        at: format!("paths {path}"),
                        what: format!(
                            "`{}` serves `{same}` on the same listener, and a request can be for both: give one of them another path, or another listener",
                            other.component
                        ),
                    },
                });
            }
        }
    }
    Ok(())
}

fn paths(served: &Served) -> impl Iterator<Item = &str> {
    let paths = served.document.root["paths"].as_object();
    paths.into_iter().flatten().map(|(path, _)| path.as_str())
}

/// Whether a request's path can be of both templates.
fn overlap(one: &str, other: &str) -> bool {
    let is_any = |segment: &str| segment.contains('{');
    let (mut one, mut other) = (one.split('/'), other.split('/'));
    loop {
        match (one.next(), other.next()) {
            (None, None) => return true,
            (Some(a), Some(b)) if a == b || is_any(a) || is_any(b) => {}
            _ => return false,
        }
    }
}

/// Check that a component knows of the identities that its clients prove. One that does not would believe whatever a
/// client says. If all its operations are open, it believes nobody.
fn check_identities(served: &Served, authentication: Authentication) -> Result<(), BadApi> {
    let document = &served.document;
    let (credential, declared, is_known) = match authentication {
        Authentication::None => return Ok(()),
        Authentication::MutualTls => (
            "client certificates",
            "of the type `mutualTLS`",
            document.knows_certificates(),
        ),
        Authentication::Bearer => (
            "access tokens",
            "of the type `http` with the scheme `bearer`",
            document.knows_tokens(),
        ),
        Authentication::MutualTlsBearer => (
            "client certificates and access tokens",
            "of the type `mutualTLS`, or of the type `http` with the scheme `bearer`",
            document.knows_certificates() || document.knows_tokens(),
        ),
    };
    if is_known || document.is_open() {
        return Ok(());
    }
    Err(BadApi {
        component: served.component.clone(),
        source: BadDocument {
            at: "components securitySchemes".to_owned(),
            what: format!(
                "the scheme needs {credential}, and the component does not say that it compares them with what clients say; it says so by a security scheme {declared}"
            ),
        },
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    const ALL: [Authentication; 4] = [
        Authentication::None,
        Authentication::MutualTls,
        Authentication::Bearer,
        Authentication::MutualTlsBearer,
    ];

    fn served(name: &str, text: &str) -> Arc<Served> {
        Served::own(name, &format!("openapi: 3.1.0\n{text}")).unwrap()
    }

    #[test]
    fn components_must_know_what_clients_prove() {
        let paths =
            "paths:\n  /a: {get: {operationId: a}}\n  /b: {get: {operationId: b, security: []}}\n";
        let with = |schemes: &str| {
            let schemes = format!("components: {{securitySchemes: {{{schemes}}}}}\n{paths}");
            let served = served("thing", &schemes);
            ALL.map(|authentication| check_identities(&served, authentication).is_ok())
        };
        assert_eq!(with(""), [true, false, false, false]);
        assert_eq!(with("a: {type: mutualTLS}"), [true, true, false, true]);
        let bearer = "a: {type: http, scheme: bearer}";
        assert_eq!(with(bearer), [true, false, true, true]);
        let both = format!("{bearer}, b: {{type: mutualTLS}}");
        assert_eq!(with(&both), [true; 4]);
        let open = served(
            "open",
            "paths: {/a: {get: {operationId: a, security: []}}}\n",
        );
        assert!(ALL.iter().all(|all| check_identities(&open, *all).is_ok()));
        let refused = check_identities(&served("thing", paths), Authentication::Bearer);
        let said = refused.unwrap_err().to_string();
        assert!(
            said.contains("`thing`") && said.contains("bearer"),
            "{said}"
        );
    }

    #[test]
    fn components_of_a_listener_share_no_path() {
        let with = |path: &str| {
            served(
                "thing",
                &format!("paths: {{{path}: {{get: {{operationId: a}}}}}}\n"),
            )
        };
        let token = [with("/oauth2/token")];
        for (path, is_free) in [
            ("/oauth2/token", false),
            ("'/{a}/{b}'", false),
            ("'/oauth2/{b}'", false),
            ("'/oauth2/x{b}'", false),
            ("/oauth2", true),
            ("/oauth2/tokens", true),
            ("'/{a}'", true),
            ("'/{a}/{b}/{c}'", true),
        ] {
            assert_eq!(check_paths(&with(path), &token).is_ok(), is_free, "{path}");
        }
        let said = check_paths(&with("'/{a}/token'"), &token).unwrap_err();
        assert!(said.to_string().contains("`/oauth2/token`"), "{said}");
    }

    #[test]
    fn each_path_has_its_component_and_an_unknown_one_the_main_component() {
        let open = "paths: {/oauth2/token: {post: {operationId: a, security: []}}}\n";
        let main = "paths: {/things: {get: {operationId: a}}}\n";
        let api = Api {
            release: 1,
            served: vec![served("access", open), served("things", main)],
            authentication: Authentication::Bearer,
        };
        let component = |path: &str| {
            let (served, found) = api.find(path).unwrap();
            (served.component.to_string(), found.is_some())
        };
        assert_eq!(component("/oauth2/token"), ("access".to_owned(), true));
        assert_eq!(component("/things"), ("things".to_owned(), true));
        assert_eq!(component("/nothing"), ("things".to_owned(), false));
        let alone = Api {
            served: vec![served("access", open)],
            ..Api::default()
        };
        assert_eq!(&*alone.find("/nothing").unwrap().0.component, "access");
    }
}
