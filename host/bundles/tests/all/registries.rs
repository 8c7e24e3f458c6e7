//! Registries that are honest, that lie, and that are away.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use rialto_bundles::registry::{self, Access, Credentials, Place, RegistryError};
use rialto_bundles::{BundleError, Digest};
use tokio::net::TcpListener;

use crate::bundle;

/// What the registry gives in the place of the bytes that it has.
type Lie = fn(&str, &[u8]) -> Vec<u8>;

/// A registry in memory.
#[derive(Clone)]
struct Registry {
    kept: Arc<Mutex<HashMap<String, Vec<u8>>>>,
    lie: Option<Lie>,
    /// The header that clients must send, if any.
    password: Option<&'static str>,
}

impl Registry {
    fn honest() -> Self {
        Self {
            kept: Arc::default(),
            lie: None,
            password: None,
        }
    }

    async fn serve(self) -> Place {
        let name = "/v2/rules/ceiling";
        let app = Router::new()
            .route("/v2/", get(base))
            .route(&format!("{name}/blobs/uploads/"), post(begin))
            .route(&format!("{name}/blobs/uploads/1"), put(finish).patch(chunk))
            .route(&format!("{name}/blobs/{{digest}}"), get(blob))
            .route(&format!("{name}/manifests/{{tag}}"), get(blob).put(tag))
            .with_state(self);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async { axum::serve(listener, app).await });
        format!("{address}/rules/ceiling:1").parse().unwrap()
    }

    /// Keeps the good bundle, whatever it will give.
    fn with_bundle(self) -> Self {
        let packed = bundle();
        let mut kept = HashMap::new();
        for entry in blobs(&packed.packed()) {
            kept.insert(Digest::of(&entry).to_string(), entry);
        }
        let manifest = kept[&packed.manifest_digest().to_string()].clone();
        kept.insert("1".to_owned(), manifest);
        *self.kept.lock().unwrap() = kept;
        self
    }
}

/// The contents of all entries of a plain file.
fn blobs(packed: &[u8]) -> Vec<Vec<u8>> {
    let (mut at, mut all) = (0, Vec::new());
    while packed[at] != 0 {
        let size = std::str::from_utf8(&packed[at + 124..at + 135]).unwrap();
        let size = usize::from_str_radix(size, 8).unwrap();
        all.push(packed[at + 512..at + 512 + size].to_vec());
        at += 512 + size.next_multiple_of(512);
    }
    all
}

fn wants_password(registry: &Registry, headers: &HeaderMap) -> bool {
    let given = headers.get(header::AUTHORIZATION);
    let wanted = registry.password;
    wanted.is_some_and(|wanted| given.is_none_or(|given| given != wanted))
}

async fn base(State(registry): State<Registry>, headers: HeaderMap) -> Response {
    if wants_password(&registry, &headers) {
        let basic = [(header::WWW_AUTHENTICATE, "Basic realm=\"a\"")];
        return (StatusCode::UNAUTHORIZED, basic).into_response();
    }
    StatusCode::OK.into_response()
}

async fn begin() -> impl IntoResponse {
    let location = [(header::LOCATION, "/v2/rules/ceiling/blobs/uploads/1")];
    (StatusCode::ACCEPTED, location)
}

async fn chunk(State(registry): State<Registry>, bytes: Bytes) -> impl IntoResponse {
    let mut kept = registry.kept.lock().unwrap();
    let open = kept.entry("open".to_owned()).or_default();
    open.extend(bytes);
    let range = HeaderValue::from_str(&format!("0-{}", open.len() - 1)).unwrap();
    let location = HeaderValue::from_static("/v2/rules/ceiling/blobs/uploads/1");
    let headers = [(header::LOCATION, location), (header::RANGE, range)];
    (StatusCode::ACCEPTED, headers)
}

async fn finish(
    State(registry): State<Registry>,
    Query(query): Query<HashMap<String, String>>,
) -> impl IntoResponse {
    let mut kept = registry.kept.lock().unwrap();
    let bytes = kept.remove("open").unwrap_or_default();
    assert_eq!(Digest::of(&bytes).to_string(), query["digest"]);
    kept.insert(query["digest"].clone(), bytes);
    (StatusCode::CREATED, [(header::LOCATION, "/done")])
}

async fn tag(
    State(registry): State<Registry>,
    Path(tag): Path<String>,
    headers: HeaderMap,
    bytes: Bytes,
) -> impl IntoResponse {
    assert_eq!(
        headers[header::CONTENT_TYPE],
        "application/vnd.oci.image.manifest.v1+json"
    );
    let mut kept = registry.kept.lock().unwrap();
    kept.insert(Digest::of(&bytes).to_string(), bytes.to_vec());
    kept.insert(tag, bytes.to_vec());
    (StatusCode::CREATED, [(header::LOCATION, "/done")])
}

async fn blob(
    State(registry): State<Registry>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Response {
    if wants_password(&registry, &headers) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let kept = registry.kept.lock().unwrap();
    match (kept.get(&name), registry.lie) {
        (None, _) => StatusCode::NOT_FOUND.into_response(),
        (Some(bytes), None) => bytes.clone().into_response(),
        (Some(bytes), Some(lie)) => lie(&name, bytes).into_response(),
    }
}

/// What is pulled from a registry that gives this.
async fn pulled(lie: Lie) -> RegistryError {
    let registry = Registry {
        lie: Some(lie),
        ..Registry::honest().with_bundle()
    };
    let place = registry.serve().await;
    let result = registry::pull(&place, &Access::default()).await;
    result.unwrap_err()
}

fn is_component(bytes: &[u8]) -> bool {
    bytes.len() == 700
}

#[tokio::test]
async fn what_was_pushed_is_pulled_by_tag_and_by_digest() {
    let place = Registry::honest().serve().await;
    let access = Access::default();
    let missing = registry::pull(&place, &access).await.unwrap_err();
    assert!(matches!(missing, RegistryError::NotThere(_)), "{missing}");
    let digest = registry::push(&bundle(), &place, &access).await.unwrap();
    assert_eq!(digest, bundle().manifest_digest());
    // Again: all blobs are there.
    registry::push(&bundle(), &place, &access).await.unwrap();
    for place in [place.pinned(digest), place] {
        let pulled = registry::pull(&place, &access).await.unwrap();
        assert_eq!(pulled.packed(), bundle().packed());
    }
}

#[tokio::test]
async fn changed_bytes_are_found() {
    let error = pulled(|_, bytes| {
        let mut bytes = bytes.to_vec();
        if is_component(&bytes) {
            bytes[0] ^= 1;
        }
        bytes
    });
    let error = error.await;
    let RegistryError::Lies(BundleError::Changed { what, .. }) = &error else {
        panic!("{error}");
    };
    assert_eq!(what, "ceiling.wasm");
    let error = pulled(|_, bytes| match is_component(bytes) {
        true => bytes[1..].to_vec(),
        false => bytes.to_vec(),
    });
    let error = error.await;
    let found = matches!(&error, RegistryError::Lies(BundleError::Length { .. }));
    assert!(found, "{error}");
}

#[tokio::test]
async fn more_bytes_than_listed_are_not_read() {
    let error = pulled(|_, bytes| match is_component(bytes) {
        true => vec![0x61; 5 << 20],
        false => bytes.to_vec(),
    });
    let error = error.await;
    assert!(matches!(error, RegistryError::Longer { .. }), "{error}");
}

#[tokio::test]
async fn a_manifest_of_something_else_is_named() {
    let error = pulled(|_, _| {
        let text = r#"{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}"#;
        text.as_bytes().to_vec()
    });
    let error = error.await.to_string();
    assert!(error.contains("image.index.v1+json"), "{error}");
    let error = pulled(|_, _| b"<html>".to_vec()).await.to_string();
    assert!(
        error.contains("no bundle: the manifest cannot be read"),
        "{error}"
    );
}

#[tokio::test]
async fn another_manifest_than_that_of_the_digest_is_found() {
    let lie: Lie = |_, bytes| [bytes, b" "].concat();
    let registry = Registry {
        lie: Some(lie),
        ..Registry::honest().with_bundle()
    };
    let place = registry.serve().await.pinned(bundle().manifest_digest());
    let error = registry::pull(&place, &Access::default()).await;
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("other bytes than it was asked for"),
        "{error}"
    );
}

#[tokio::test]
async fn a_registry_that_is_away_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let place: Place = format!("{address}/rules/ceiling:1").parse().unwrap();
    let pushed = registry::push(&bundle(), &place, &Access::default()).await;
    let pulled = registry::pull(&place, &Access::default()).await.map(|_| ());
    for error in [pushed.unwrap_err(), pulled.unwrap_err()] {
        let is_named = error.to_string().contains(&address.to_string());
        assert!(
            matches!(error, RegistryError::Away { .. }) && is_named,
            "{error}"
        );
    }
}

#[tokio::test]
async fn credentials_are_sent_to_who_asks_and_not_in_the_clear() {
    let registry = Registry {
        // anna:word
        password: Some("Basic YW5uYTp3b3Jk"),
        ..Registry::honest().with_bundle()
    };
    let place = registry.serve().await;
    let refused = registry::pull(&place, &Access::default())
        .await
        .unwrap_err();
    assert!(
        matches!(refused, RegistryError::NotAllowed { .. }),
        "{refused}"
    );
    let access = |word| Access {
        credentials: Credentials::password("anna", word),
        ..Access::default()
    };
    registry::pull(&place, &access("word")).await.unwrap();
    let refused = registry::pull(&place, &access("w0rd")).await.unwrap_err();
    assert!(
        matches!(refused, RegistryError::NotAllowed { .. }),
        "{refused}"
    );
    assert!(!refused.to_string().contains("w0rd"), "{refused}");
    let no_authority = Access {
        authorities: Some(b"no certificate".to_vec()),
        ..Access::default()
    };
    let error = registry::pull(&place, &no_authority).await.unwrap_err();
    assert!(matches!(error, RegistryError::NoAuthority), "{error}");
    let far: Place = "registry.example/rules/ceiling:1".parse().unwrap();
    let plain = Access {
        plain_http: true,
        ..access("word")
    };
    let error = registry::pull(&far, &plain).await.unwrap_err();
    assert!(
        matches!(error, RegistryError::BareCredentials(_)),
        "{error}"
    );
}
