//! The doors of a host that shares its store with others: its listeners are open from its start to its end, whoever serves.
//!
//! While this host serves, it answers. Otherwise it passes requests to the host that does ([`rialto_relay`]). The health of
//! the operators' listener it always answers itself.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use http::{Method, Request};
use hyper::body::Incoming;
use rialto_components::denials::Denials;
use rialto_edge::Listener;
use rialto_grpc::{AnswerBody, Answers, Server as CallServer};
use rialto_manifest::Operator;
use rialto_manifest::cluster::Cluster;
use rialto_manifest::operator::{GRPC, OPERATORS};
use rialto_relay::{
    Answer, Door, DoorSettings, Handler, Holds, Link, LinkSettings, Passing, Refusal, Server,
    any_body,
};
use rialto_tls::{
    AuthorityFiles, ClientCertificates, ListenerFiles, ListenerTls, OriginFiles, OutboundTls,
    PrivateKey, Protocol,
};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::cluster::Clustered;
use crate::limits::server_limits;
use crate::standby;
use crate::tls::HostTls;

/// How long an operator's request may take: a release is prepared in it.
const OPERATORS_WAIT: Duration = Duration::from_mins(15);

/// How this host proves to others that it is one of them.
pub struct HostsTls {
    /// To those that pass requests to it.
    pub listener: Arc<ListenerTls>,
    /// To the one that it passes requests to.
    pub outbound: Arc<OutboundTls>,
}

impl HostsTls {
    /// Read the files that `[cluster]` names, for a document in this folder; none if it names none.
    ///
    /// # Errors
    /// When they cannot be used.
    pub fn read(cluster: &Cluster, folder: &Path) -> anyhow::Result<Option<Self>> {
        let Some(files) = cluster.files() else {
            return Ok(None);
        };
        let [certificate, key, ca] = files.map(|file| file.from_folder(folder));
        let key = PrivateKey::File(key);
        let listener = ListenerFiles {
            certificate: certificate.clone(),
            key: key.clone(),
            clients: Some(AuthorityFiles {
                certificates: ca.clone(),
                revocations: None,
            }),
            clients_of: BTreeMap::new(),
            own_authority: None,
        };
        let required = ClientCertificates::Required;
        let listener = ListenerTls::read(listener, Protocol::Http2, required);
        let outbound = OriginFiles {
            ca: Some(ca),
            identity: Some((certificate, key)),
        };
        let outbound = OutboundTls::read(outbound, Vec::new()).context("[cluster]")?;
        Ok(Some(Self {
            listener: Arc::new(listener.context("[cluster]")?),
            outbound: Arc::new(outbound),
        }))
    }
}

/// The open doors of a host.
pub(crate) struct Doors {
    doors: BTreeMap<String, Arc<Door>>,
    addresses: BTreeMap<String, SocketAddr>,
    stop: watch::Sender<bool>,
    servers: Vec<JoinHandle<()>>,
    relay: JoinHandle<()>,
}

/// What doors are opened with.
pub(crate) struct Opening<'a> {
    pub operator: &'a Operator,
    /// The TLS of listeners.
    pub tls: &'a HostTls,
    pub clustered: &'a Arc<Clustered>,
    /// Whose certificates are refused is told here.
    pub denials: Arc<dyn Denials>,
}

impl Doors {
    /// Open all listeners, and take requests from other hosts. Until [`Self::open`] says how this host
    /// answers, requests are passed.
    ///
    /// # Errors
    /// When an address is taken.
    pub fn of(opening: &Opening<'_>, cluster: &Cluster, handle: &Handle) -> anyhow::Result<Self> {
        let (operator, clustered) = (opening.operator, opening.clustered);
        let hosts_tls = opening.tls.hosts.as_ref();
        let looking = clustered.clone();
        let link = Link::new(LinkSettings {
            serves: clustered.serves(),
            look: Box::new(move || looking.look_soon()),
            tls: hosts_tls.map(|tls| tls.outbound.clone()),
            patience: cluster.wait.into(),
        });
        let (stop, _) = watch::channel(false);
        let mut doors = BTreeMap::new();
        let (mut addresses, mut servers) = (BTreeMap::new(), Vec::new());
        let lease = clustered.clone();
        let holds: Holds = Arc::new(move || lease.holds());
        for (name, listener) in &operator.listeners {
            let address = listener.address.socket();
            let bound = handle.block_on(Listener::bind(address, server_limits(operator)));
            let bound = bound.with_context(|| format!("listening on {address} for `{name}`"))?;
            let bound = bound.with_denials(opening.denials.clone());
            addresses.insert(name.to_string(), bound.address());
            let tls = opening.tls.listeners.get(name.as_str()).cloned();
            let settings = DoorSettings {
                tls: tls.clone(),
                link: link.clone(),
                holds: holds.clone(),
                passing: passing(name.as_str(), operator),
            };
            let within = settings.passing.within;
            let door = Door::new(name.as_str(), settings);
            doors.insert(name.to_string(), door.clone());
            if name.as_str() == GRPC {
                let headers_max = server_limits(operator).header_bytes_max;
                let server = CallServer::passing(bound, (calls(door), within), tls, headers_max);
                servers.push(handle.spawn(server.serve(stop.subscribe())));
                continue;
            }
            let is_operators = name.as_str() == OPERATORS;
            let clustered = clustered.clone();
            let answer = move |request| {
                let (door, clustered) = (door.clone(), clustered.clone());
                async move {
                    match health(is_operators, &door, &clustered, &request) {
                        Some(answer) => answer,
                        None => door.answer(request).await,
                    }
                }
            };
            servers.push(handle.spawn(bound.serve(tls, answer, stop.subscribe())));
        }
        let listen = cluster.listen.socket();
        let server = Server::bind(
            listen,
            doors.clone(),
            hosts_tls.map(|tls| tls.listener.clone()),
        );
        let server = handle.block_on(server);
        let server = server.with_context(|| format!("listening on {listen} for other hosts"))?;
        clustered.takes_requests_at(server.address());
        Ok(Self {
            doors,
            addresses,
            stop,
            servers,
            relay: handle.spawn(server.serve()),
        })
    }

    /// The address of each listener with a door.
    pub fn addresses(&self) -> &BTreeMap<String, SocketAddr> {
        &self.addresses
    }

    /// Have this host answer the requests of a listener from now on. Returns its address; none if it has no door.
    pub fn open(&self, listener: &str, handler: Handler) -> Option<SocketAddr> {
        self.doors.get(listener)?.open(handler);
        self.addresses.get(listener).copied()
    }

    /// Have the host that serves answer from now on. Returns when this one has answered what it had begun.
    pub async fn pass(&self) {
        for door in self.doors.values() {
            door.pass().await;
        }
    }

    /// Close all listeners, and answer the requests under way.
    pub fn close(&mut self, handle: &Handle) {
        let _ = self.stop.send(true);
        for server in self.servers.drain(..) {
            let _ = handle.block_on(server);
        }
        // Other hosts ask the one that serves from now on.
        self.relay.abort();
        let _ = handle.block_on(&mut self.relay);
    }
}

/// How the requests of a listener are passed.
fn passing(listener: &str, operator: &Operator) -> Passing {
    let usual = Passing {
        within: operator.http.request_timeout.into(),
        streams: |_| false,
        asks: Method::is_safe,
        refused: Refusal::problem,
    };
    match listener {
        OPERATORS => Passing {
            within: OPERATORS_WAIT,
            ..usual
        },
        GRPC => Passing {
            streams: |head| rialto_grpc::streams(head.uri.path()),
            // No method says that it only asks.
            asks: |_| true,
            refused: |refusal| {
                let may_repeat = refusal == Refusal::Nobody;
                rialto_grpc::unanswered(refusal.detail(), may_repeat).map(any_body)
            },
            ..usual
        },
        _ => usual,
    }
}

/// The door of the listener for calls, as that listener's server wants it.
fn calls(door: Arc<Door>) -> Answers {
    Arc::new(move |request| {
        let door = door.clone();
        Box::pin(async move { door.answer(request).await.map(AnswerBody::new) })
    })
}

/// The health of a host that does not serve, if a request at the operators' listener asks for it.
fn health(
    is_operators: bool,
    door: &Arc<Door>,
    clustered: &Clustered,
    request: &Request<Incoming>,
) -> Option<Answer> {
    // Whoever looks after the process asks a host whose lease has run out, too: it is alive, and not ready.
    let serves = door.is_open() && clustered.holds();
    let asks = is_operators && request.uri().path().starts_with("/health/") && !serves;
    asks.then(|| {
        let passes = !door.is_open() && clustered.somebody_serves();
        let answer = standby::health(request.uri().path(), passes);
        answer.map(any_body)
    })
}
