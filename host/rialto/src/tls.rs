//! TLS by the operator's document: the files of listeners and of outbound requests, and when they expire.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use rialto_components::tls::{TlsFile, TlsFiles, TlsReading};
use rialto_keys::Keys;
use rialto_manifest::Operator;
use rialto_manifest::operator::{GRPC, Listener, OPERATORS};
use rialto_manifest::tls::{ClientAuthority, DestinationTls, Tls, TlsKey};
use rialto_manifest::values::FilePath;
use rialto_tls::{
    AuthorityFiles, ClientCertificates, DestinationFiles, Expiry, ListenerFiles, ListenerTls,
    OriginFiles, OutboundTls, PrivateKey, Protocol,
};
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::doors::HostsTls;
use crate::host::Shared;
use crate::tls_changes::TlsChanges;
use crate::tls_keys::{self, Place};

/// How long before the expiry of a certificate the log warns.
const WARN_BEFORE: Duration = Duration::from_secs(30 * 24 * 3600);
/// The time between two warnings of the same file.
const WARN_EVERY: Duration = Duration::from_secs(24 * 3600);

/// What the connections between the hosts of a scheme are called.
const CLUSTER: &str = "cluster";

/// A certificate that the host shows, and its private key.
type Identity<'a> = (&'a FilePath, TlsKey<'a>);

/// Where the files of TLS are, and the keys that are in none.
#[derive(Clone, Copy)]
struct Source<'a> {
    operator: &'a Operator,
    /// The folder of the operator's document.
    folder: &'a Path,
    keys: &'a Keys,
}

impl Source<'_> {
    /// The TLS of a listener; none if it has none.
    fn listener(self, name: &str, listener: &Listener) -> anyhow::Result<Option<Arc<ListenerTls>>> {
        let Some(tls) = &listener.tls else {
            return Ok(None);
        };
        let protocol = if name == GRPC {
            Protocol::Http2
        } else {
            Protocol::Http1
        };
        // On others the scheme says what clients must show, and its API words the refusal.
        let clients = if [GRPC, OPERATORS].contains(&name) {
            ClientCertificates::Required
        } else {
            ClientCertificates::Optional
        };
        let place = Place::Listener(name.to_owned());
        let about = place.to_string();
        let key = tls.private_key();
        // The check of the document lets none through without.
        let key = key.with_context(|| format!("{about} has no private key"))?;
        let key = self.private_key(place, key);
        let read = ListenerTls::read(self.files(tls, key), protocol, clients);
        Ok(Some(Arc::new(read.context(about)?)))
    }

    fn private_key(self, place: Place, key: TlsKey<'_>) -> PrivateKey {
        tls_keys::private_key(place, key, self.folder, self.keys)
    }

    fn files(self, tls: &Tls, key: PrivateKey) -> ListenerFiles {
        let path = |path: &FilePath| path.from_folder(self.folder);
        let authority = |certificates: &FilePath, revocations: &Option<FilePath>| AuthorityFiles {
            certificates: path(certificates),
            revocations: revocations.as_ref().map(path),
        };
        let of = |one: &ClientAuthority| authority(&one.client_ca, &one.revocations);
        let own = self.operator.certificates.as_ref();
        ListenerFiles {
            certificate: path(&tls.certificate),
            key,
            clients: tls
                .client_ca
                .as_ref()
                .map(|ca| authority(ca, &tls.revocations)),
            clients_of: tls
                .authorities_of_one()
                .map(|(name, one)| (name.to_owned(), of(one)))
                .collect(),
            own_authority: own.map(|own| path(&own.authority)),
        }
    }

    /// The TLS of outbound requests.
    fn outbound(self) -> anyhow::Result<Arc<OutboundTls>> {
        let tls = &self.operator.outbound.tls;
        let origin = |place: Place, ca: &Option<FilePath>, identity: Option<Identity<'_>>| {
            let identity = identity.map(|(certificate, key)| {
                let certificate = certificate.from_folder(self.folder);
                (certificate, self.private_key(place, key))
            });
            let ca = ca.as_ref().map(|path| path.from_folder(self.folder));
            OriginFiles { ca, identity }
        };
        let usual = origin(Place::Outbound, &tls.ca, tls.identity());
        let destination = |one: &DestinationTls| DestinationFiles {
            host: one.origin.host.clone(),
            port: one.origin.port,
            files: origin(
                Place::Destination(one.origin.to_string()),
                &one.ca,
                one.identity(),
            ),
        };
        let destinations = tls.destinations.iter().map(destination).collect();
        let read = OutboundTls::read(usual, destinations).context("`outbound.tls`")?;
        Ok(Arc::new(read))
    }
}

/// Look at what can be seen before providers of keys are open: at all files, or, if a provider has a private key, whether
/// all references are there.
///
/// # Errors
/// When a file cannot be used, or a reference is missing.
pub fn look(operator: &Operator, folder: &Path) -> anyhow::Result<()> {
    if tls_keys::has_any(operator) {
        return tls_keys::are_made(operator, folder);
    }
    HostTls::read(operator, folder, &Keys::default()).map(drop)
}

/// The file with the certificate of a running host's operators' listener, for the command line. It is there as long
/// as the listener speaks TLS.
#[must_use]
pub fn operators_certificate(store: &Path) -> PathBuf {
    store.join("operators.pem")
}

fn tell_certificate(tls: &ListenerTls, store: &Path) -> anyhow::Result<()> {
    let from = &tls.files().certificate;
    let certificate = std::fs::read(from);
    let certificate = certificate.with_context(|| format!("reading {}", from.display()))?;
    Ok(rialto_files::write(
        &operators_certificate(store),
        &[&certificate],
    )?)
}

/// All TLS of a host.
pub struct HostTls {
    /// Of each listener that has TLS.
    pub listeners: BTreeMap<String, Arc<ListenerTls>>,
    /// Of outbound requests.
    pub outbound: Arc<OutboundTls>,
    /// Between the hosts of a scheme.
    pub hosts: Option<HostsTls>,
    /// When a warning of a file's expiry was last logged.
    warned: Mutex<BTreeMap<PathBuf, SystemTime>>,
    /// The store's folder, where the command line finds the operators' certificate.
    store: OnceLock<PathBuf>,
    /// Where the audit log hears of changed files.
    changes: TlsChanges,
}

impl HostTls {
    /// Read all files that the operator's document, which is in `folder`, names. `keys` are the keys of its providers.
    ///
    /// # Errors
    /// When they cannot be used.
    pub fn read(operator: &Operator, folder: &Path, keys: &Keys) -> anyhow::Result<Arc<Self>> {
        let source = Source {
            operator,
            folder,
            keys,
        };
        let mut listeners = BTreeMap::new();
        for (name, listener) in &operator.listeners {
            if let Some(tls) = source.listener(name.as_str(), listener)? {
                listeners.insert(name.to_string(), tls);
            }
        }
        let cluster = operator.cluster.as_ref();
        let hosts = cluster.map(|cluster| HostsTls::read(cluster, folder));
        Ok(Arc::new(Self {
            listeners,
            outbound: source.outbound()?,
            hosts: hosts.transpose()?.flatten(),
            warned: Mutex::default(),
            store: OnceLock::new(),
            changes: TlsChanges::default(),
        }))
    }

    /// Tell the audit log of changed files from now on, until told to stop.
    pub fn tell(&self, shared: &Arc<Shared>, handle: &Handle, stop: watch::Receiver<bool>) {
        self.changes.follow(shared.clone(), handle, stop);
    }

    /// Follow changes of the files until told to stop. Tell the command line the operators' certificate.
    ///
    /// # Errors
    /// When the operators' certificate cannot be written.
    pub fn follow(
        self: &Arc<Self>,
        store: &Path,
        handle: &Handle,
        stop: &watch::Sender<bool>,
    ) -> anyhow::Result<()> {
        let _ = self.store.set(store.to_owned());
        for (name, tls) in &self.listeners {
            let (tls, store) = (tls.clone(), store.to_owned());
            let is_operators = name == OPERATORS;
            if is_operators {
                tell_certificate(&tls, &store)?;
            }
            let stop = stop.subscribe();
            let (place, host) = (format!("listener {name}"), self.clone());
            handle.spawn(async move {
                let changed = |reading: Result<_, _>| {
                    host.changes.tell(&place, &reading);
                    if reading.is_ok()
                        && is_operators
                        && let Err(error) = tell_certificate(&tls, &store)
                    {
                        tracing::error!("{error:#}");
                    }
                };
                tls.clone().follow(stop, changed).await;
            });
        }
        let (host, stopping) = (self.clone(), stop.subscribe());
        handle.spawn(async move {
            let changed = |reading| host.changes.tell("outbound", &reading);
            host.outbound.clone().follow(stopping, changed).await;
        });
        if let Some(HostsTls { listener, outbound }) = &self.hosts {
            let (listener, outbound) = (listener.clone(), outbound.clone());
            let (host, stopping) = (self.clone(), stop.subscribe());
            handle.spawn(async move {
                let changed = |reading| host.changes.tell(CLUSTER, &reading);
                listener.follow(stopping, changed).await;
            });
            let (host, stopping) = (self.clone(), stop.subscribe());
            handle.spawn(async move {
                // The same files, which the entry above names.
                let changed = |reading: Result<_, _>| {
                    if reading.is_err() {
                        host.changes.tell(CLUSTER, &reading);
                    }
                };
                outbound.follow(stopping, changed).await;
            });
        }
        handle.spawn(self.clone().watch_expiries(stop.subscribe()));
        Ok(())
    }

    /// Each file with the place that it is for.
    fn all(&self) -> Vec<(String, Expiry)> {
        let listeners = self.listeners.iter().flat_map(|(name, tls)| {
            let expiries = tls.expiries().into_iter();
            expiries.map(move |expiry| (format!("listener {name}"), expiry))
        });
        let outbound = self.outbound.expiries().into_iter();
        let outbound = outbound.map(|expiry| ("outbound".to_owned(), expiry));
        let hosts = self
            .hosts
            .iter()
            .flat_map(|hosts| hosts.listener.expiries());
        let hosts = hosts.map(|expiry| (CLUSTER.to_owned(), expiry));
        listeners.chain(outbound).chain(hosts).collect()
    }

    /// Warn of files that expire soon, once a day each.
    fn warn(&self, now: SystemTime) {
        let mut warned = self.warned.lock();
        for (place, expiry) in self.all() {
            // A list without an end does not expire.
            let Ok(at) = u64::try_from(expiry.at) else {
                continue;
            };
            if expiry.at == i64::MAX {
                continue;
            }
            let at = UNIX_EPOCH + Duration::from_secs(at);
            if at > now + WARN_BEFORE {
                warned.remove(&expiry.file);
                continue;
            }
            let last = warned.get(&expiry.file);
            if last.is_some_and(|last| *last + WARN_EVERY > now) {
                continue;
            }
            warned.insert(expiry.file.clone(), now);
            let file = expiry.file.display();
            match at.duration_since(now) {
                Ok(left) => {
                    let days = left.as_secs() / (24 * 3600);
                    tracing::warn!(%file, place, days, "a certificate or revocation list expires soon; put a new file in its place, the host reads it while it runs");
                }
                Err(_) => {
                    tracing::error!(%file, place, "a certificate or revocation list has expired; put a new file in its place, the host reads it while it runs");
                }
            }
        }
    }

    /// Look each hour whether something expires soon, until told to stop.
    async fn watch_expiries(self: Arc<Self>, mut stop: watch::Receiver<bool>) {
        let mut due = tokio::time::interval(Duration::from_secs(3600));
        loop {
            tokio::select! {
                _ = due.tick() => self.warn(SystemTime::now()),
                _ = stop.wait_for(|stop| *stop) => return,
            }
        }
    }
}

impl std::fmt::Debug for HostTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HostTls({:?})", self.listeners.keys())
    }
}

impl TlsFiles for HostTls {
    fn files(&self) -> Vec<TlsFile> {
        let files = self.all().into_iter().map(|(place, expiry)| TlsFile {
            place,
            kind: expiry.kind,
            expires_at: (expiry.at != i64::MAX)
                .then(|| u64::try_from(expiry.at).unwrap_or(0).saturating_mul(1_000)),
        });
        files.collect()
    }

    fn read_again(&self) -> Vec<TlsReading> {
        let mut readings = Vec::new();
        for (name, tls) in &self.listeners {
            let place = format!("listener {name}");
            let reading = tls.read_again();
            self.changes.tell(&place, &reading);
            let is_usable = reading.is_ok();
            if is_usable
                && name == OPERATORS
                && let Some(store) = self.store.get()
                && let Err(error) = tell_certificate(tls, store)
            {
                tracing::error!("{error:#}");
            }
            readings.push(TlsReading { place, is_usable });
        }
        if self.outbound.has_files() {
            let reading = self.outbound.read_again();
            self.changes.tell("outbound", &reading);
            readings.push(TlsReading {
                place: "outbound".to_owned(),
                is_usable: reading.is_ok(),
            });
        }
        if let Some(hosts) = &self.hosts {
            let reading = hosts.listener.read_again();
            self.changes.tell(CLUSTER, &reading);
            let is_usable = reading.is_ok() && hosts.outbound.read_again().is_ok();
            readings.push(TlsReading {
                place: CLUSTER.to_owned(),
                is_usable,
            });
        }
        readings
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FileLabels {
    place: String,
    kind: &'static str,
}

/// Reads the expiries when metrics are asked for.
#[derive(Clone)]
pub struct ExpiryCollector(pub Arc<HostTls>);

impl std::fmt::Debug for ExpiryCollector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ExpiryCollector")
    }
}

impl Collector for ExpiryCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let all = self.0.all();
        if all.is_empty() {
            return Ok(());
        }
        let mut family = encoder.encode_descriptor(
            "certificate_expiry_timestamp_seconds",
            "When the first certificate or revocation list of a kind expires: seconds since 1970",
            None,
            MetricType::Gauge,
        )?;
        // Names of files may be names of clients, which are not for everybody.
        let mut earliest: BTreeMap<(String, &'static str), i64> = BTreeMap::new();
        for (place, expiry) in all {
            // A list without an end has nothing to tell.
            if expiry.at != i64::MAX {
                let at = earliest.entry((place, expiry.kind)).or_insert(expiry.at);
                *at = expiry.at.min(*at);
            }
        }
        for ((place, kind), at) in earliest {
            let gauge = ConstGauge::new(at);
            gauge.encode(family.encode_family(&FileLabels { place, kind })?)?;
        }
        Ok(())
    }
}
