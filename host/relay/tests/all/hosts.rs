//! Hosts with one listener each, and what their clients need.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, SanType};
use rialto_edge::authentication::Certified;
use rialto_edge::{Listener, Pace, PeerAddress, ServerLimits};
use rialto_relay::{
    Door, DoorSettings, Handler, Link, LinkSettings, Passing, Refusal, Server, any_body,
};
use rialto_tls::{
    AuthorityFiles, ClientCertificates, ListenerFiles, ListenerTls, OriginFiles, OutboundTls,
    PrivateKey, Protocol,
};
use tokio::sync::watch;

/// The name of the listener.
pub const LISTENER: &str = "clients";
/// The path of requests whose bodies go on after the answer has begun.
pub const STREAMED: &str = "/streamed";
/// How long a request waits for a host that serves.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A host with one listener.
pub struct Host {
    /// Where clients reach it.
    pub clients: SocketAddr,
    /// Where other hosts reach it.
    pub relay: SocketAddr,
    /// Its door.
    pub door: Arc<Door>,
    /// Whether its lease holds.
    pub lease: Arc<AtomicBool>,
    /// Who serves, as this host is told.
    pub serves: watch::Sender<Option<SocketAddr>>,
    _stop: watch::Sender<bool>,
}

/// What a host is made of.
pub struct Made {
    /// How it proves to others that it is one of them.
    pub hosts: Option<(Arc<ListenerTls>, Arc<OutboundTls>)>,
    /// The TLS of its listener.
    pub tls: Option<Arc<ListenerTls>>,
    /// How long a request waits for a host that serves.
    pub patience: Duration,
}

impl Default for Made {
    fn default() -> Self {
        Self {
            hosts: None,
            tls: None,
            patience: PATIENCE,
        }
    }
}

impl Host {
    /// Start one that passes all requests.
    pub async fn start(made: Made) -> Self {
        let (serves, served) = watch::channel(None);
        let (listener, outbound) = made.hosts.unzip();
        let link = Link::new(LinkSettings {
            serves: served,
            look: Box::new(|| ()),
            tls: outbound,
            patience: made.patience,
        });
        let limits = ServerLimits {
            connections_max: 64,
            connections_per_peer_max: 64,
            header_bytes_max: 16 << 10,
            head_timeout: PATIENCE,
            pace: Pace {
                bytes_per_second: 1,
                grace: PATIENCE,
            },
        };
        let any = "127.0.0.1:0".parse().unwrap();
        let bound = Listener::bind(any, limits).await.unwrap();
        let clients = bound.address();
        let lease = Arc::new(AtomicBool::new(true));
        let held = lease.clone();
        let settings = DoorSettings {
            tls: made.tls.clone(),
            link,
            holds: Arc::new(move || held.load(Ordering::SeqCst)),
            passing: Passing {
                within: PATIENCE,
                streams: |head| head.uri.path() == STREAMED,
                asks: http::Method::is_safe,
                refused: Refusal::problem,
            },
        };
        let door = Door::new(LISTENER, settings);
        let (stop, stopped) = watch::channel(false);
        let answering = door.clone();
        let answer = move |request| answering.clone().answer(request);
        tokio::spawn(bound.serve(made.tls, answer, stopped));
        let doors = BTreeMap::from([(LISTENER.to_owned(), door.clone())]);
        let server = Server::bind(any, doors, listener).await.unwrap();
        let relay = server.address();
        tokio::spawn(server.serve());
        Self {
            clients,
            relay,
            door,
            lease,
            serves,
            _stop: stop,
        }
    }
}

/// Two hosts, of which the first serves.
pub async fn two() -> (Host, Host) {
    let (first, second) = (
        Host::start(Made::default()).await,
        Host::start(Made::default()).await,
    );
    first.door.open(telling("first"));
    second.serves.send_replace(Some(first.relay));
    (first, second)
}

/// Answers with all that it was told, and its own name.
pub fn telling(name: &'static str) -> Handler {
    Arc::new(move |request: Request<Incoming>| {
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let bytes = body.collect().await.unwrap().to_bytes();
            let certified = head.extensions.get::<Certified>();
            let proven = certified.map(|certified| match certified.0.identity() {
                Ok(identity) => identity.name.to_string(),
                Err(unproven) => unproven.to_string(),
            });
            let peer = PeerAddress::of(&head.extensions).0;
            let fields = head.headers.keys().map(http::HeaderName::as_str);
            let mut fields: Vec<_> = fields.collect();
            fields.sort_unstable();
            let text = format!(
                "{name} {} {} of {} bytes from {peer} {proven:?} {fields:?}",
                head.method,
                head.uri,
                bytes.len()
            );
            let mut answer = Response::new(any_body(Full::new(Bytes::from(text))));
            answer
                .headers_mut()
                .insert("x-own", http::HeaderValue::from_static("kept"));
            answer
        })
    })
}

/// An authority for tests.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    /// A new one.
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(DnType::CommonName, "authority");
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Write its certificate and one that it issues with a key, under these names.
    pub fn issue(&self, folder: &Path, name: &str) -> OriginFiles {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.subject_alt_names = vec![SanType::IpAddress([127, 0, 0, 1].into())];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        let (ca, own, private) = (
            folder.join(format!("{name}.ca")),
            folder.join(format!("{name}.pem")),
            folder.join(format!("{name}.key")),
        );
        std::fs::write(&ca, self.0.pem()).unwrap();
        std::fs::write(&own, certificate.pem()).unwrap();
        write_secret(&private, &key.serialize_pem());
        OriginFiles {
            ca: Some(ca),
            identity: Some((own, PrivateKey::File(private))),
        }
    }
}

fn write_secret(path: &Path, text: &str) {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o600).open(path);
    file.unwrap().write_all(text.as_bytes()).unwrap();
}

/// The TLS of a listener with these files.
pub fn listener(
    files: &OriginFiles,
    protocol: Protocol,
    clients: ClientCertificates,
) -> Arc<ListenerTls> {
    let (certificate, key) = files.identity.clone().unwrap();
    let files = ListenerFiles {
        certificate,
        key,
        clients: Some(AuthorityFiles {
            certificates: files.ca.clone().unwrap(),
            revocations: None,
        }),
        clients_of: BTreeMap::new(),
        own_authority: None,
    };
    Arc::new(ListenerTls::read(files, protocol, clients).unwrap())
}

/// How a host with these files proves to others that it is one of them.
pub fn hosts_tls(files: OriginFiles) -> (Arc<ListenerTls>, Arc<OutboundTls>) {
    let listener = listener(&files, Protocol::Http2, ClientCertificates::Required);
    let outbound = OutboundTls::read(files, Vec::new()).unwrap();
    (listener, Arc::new(outbound))
}
