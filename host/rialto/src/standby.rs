//! A host that waits for the lease of a shared store, because another host serves.
//!
//! It has checked everything that can be checked without the lease. Meanwhile its operators' listener answers
//! `/health/live` with 200 and everything else with 503, so load balancers leave it alone.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use rialto_edge::Listener;
use rialto_store_postgres::{LeaseError, PostgresStore};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::cluster::Clustered;
use crate::doors::Doors;
use crate::host::{OPERATORS, addresses_path};
use crate::limits::server_limits;
use crate::ops::health::{Check, Readiness};
use crate::releases::Releases;
use crate::starting::Start;
use crate::tls::HostTls;
use crate::{audit_key, authority, hub_key};

/// The time between two looks at the lease.
const LOOK: Duration = Duration::from_millis(20);
/// The time between two looks whether another release is current.
const LOOK_AT_RELEASE: Duration = Duration::from_secs(1);

/// Take the lease of the store, when it is free.
///
/// # Errors
/// When the host is told to stop, the database fails, or the operators' address is taken.
pub(crate) fn wait_for_lease(
    store: &PostgresStore,
    start: &Start<'_>,
    (tls, (releases, clustered), doors): (&HostTls, (&Releases, &Clustered), Option<&Doors>),
    handle: &Handle,
) -> anyhow::Result<()> {
    let mut answering = None;
    let (mut prepared, mut prepared_at) = (0, None::<Instant>);
    let mut is_told = false;
    let waited = loop {
        if let Err(told) = start.goes_on() {
            break Err(told);
        }
        let taken = match answering {
            // Most looks take no lock.
            Some(_) if is_taken(store) => None,
            _ => Some(store.take_lease()),
        };
        match taken {
            Some(Ok(epoch)) => {
                tracing::info!(epoch, "this host has the lease: it serves");
                break Ok(());
            }
            Some(Err(LeaseError::Store(error))) if answering.is_none() => break Err(error.into()),
            Some(Err(refused)) if answering.is_none() => {
                tell(&refused);
                store.follow();
                answering = Some(match doors {
                    Some(_) => None,
                    None => Answering::start(start, (tls, clustered), handle)?,
                });
            }
            Some(Err(refused)) if !is_told && !matches!(refused, LeaseError::Taken { .. }) => {
                is_told = true;
                tell(&refused);
            }
            Some(Err(_)) | None => {
                if prepared_at.is_none_or(|at| at.elapsed() >= LOOK_AT_RELEASE) {
                    prepared = prepare(releases, prepared);
                    clustered.has_prepared(prepared);
                    prepared_at = Some(Instant::now());
                }
                std::thread::sleep(LOOK);
            }
        }
    };
    if let Some(Some(answering)) = answering {
        answering.stop(handle);
    }
    waited
}

/// A key that hosts of a scheme share by their files: its name, what it is in words, and whether the operator's document wants
/// it, and it is here.
type SharedKey = (&'static str, &'static str, bool, bool);

fn shared_keys(start: &Start<'_>) -> anyhow::Result<[SharedKey; 4]> {
    let (operator, scheme) = (start.operator, start.scheme);
    let signs = operator.signatures.hub_key_provider.is_some();
    let certifies = operator.certificates.is_some();
    let has_master = operator.keys.master_key.is_some();
    Ok([
        (
            "hub",
            "the hub's key (`hub-key-provider` in [signatures])",
            signs,
            signs && hub_key::is_made(operator, scheme),
        ),
        (
            "audit",
            "the audit log's key ([audit])",
            operator.audit.is_some(),
            audit_key::is_made(operator, scheme),
        ),
        (
            "authority",
            "the authority's key and certificate ([certificates])",
            certifies,
            authority::is_made(operator, scheme)?,
        ),
        (
            "master",
            "the master key ([keys])",
            has_master,
            has_master && crate::keys::are_there(operator, scheme).is_ok(),
        ),
    ])
}

/// Refuse a host without the keys that another one has made. One that made its own would sign with keys that nobody knows.
///
/// # Errors
/// When the database knows of a key that the operator's document wants and that is not here.
pub(crate) fn has_the_keys(store: &PostgresStore, start: &Start<'_>) -> anyhow::Result<()> {
    for (name, words, is_wanted, is_here) in shared_keys(start)? {
        anyhow::ensure!(
            !is_wanted || is_here || !store.has_noted_key(name)?,
            "another host of this scheme has {words}, and it is not here: copy the files that rialto.toml names there from \
             that host. A key that this host made would be known to nobody"
        );
    }
    Ok(())
}

/// Note which keys this host has, now that it serves.
///
/// # Errors
/// When the database fails, or another host has taken over.
pub(crate) fn note_the_keys(store: &PostgresStore, start: &Start<'_>) -> anyhow::Result<()> {
    let keys = shared_keys(start)?.into_iter();
    let here = keys.filter(|(_, _, is_wanted, is_here)| *is_wanted && *is_here);
    let names: Vec<&str> = here.map(|(name, ..)| name).collect();
    Ok(store.note_keys(&names)?)
}

/// Say why this host waits.
fn tell(refused: &LeaseError) {
    match refused {
        LeaseError::Taken { owner, .. } => {
            tracing::info!(%owner, "another host serves; this one is a standby and takes over when that one is gone");
        }
        LeaseError::Lost { .. } => {
            tracing::error!("ALERT: no host serves: {refused}");
        }
        LeaseError::Store(error) => {
            tracing::warn!(%error, "the standby could not take the lease; it tries again");
        }
    }
}

/// Prepare the current release, so that a takeover need not compile it. Returns the number of the one that is prepared.
fn prepare(releases: &Releases, known: u64) -> u64 {
    releases.prepare_current(known).unwrap_or_else(|error| {
        tracing::warn!(%error, "the standby could not prepare the current release; it tries again");
        known
    })
}

/// Whether another host has the lease. A database that does not answer has it too: the host waits until it does.
fn is_taken(store: &PostgresStore) -> bool {
    store.is_taken().unwrap_or_else(|error| {
        tracing::warn!(%error, "the standby could not look at the lease; it tries again");
        true
    })
}

/// The operators' listener of a standby.
struct Answering {
    stop: watch::Sender<bool>,
    server: JoinHandle<()>,
}

impl Answering {
    fn start(
        start: &Start<'_>,
        (tls, clustered): (&HostTls, &Clustered),
        handle: &Handle,
    ) -> anyhow::Result<Option<Self>> {
        let Some(listener) = start.operator.listeners.get(OPERATORS) else {
            return Ok(None);
        };
        let address = listener.address.socket();
        let bound = handle.block_on(Listener::bind(address, server_limits(start.operator)));
        let bound = bound.with_context(|| format!("listening on {address} for `{OPERATORS}`"))?;
        clustered.listens_at(bound.address());
        let addresses = BTreeMap::from([(OPERATORS, bound.address())]);
        let addresses = serde_json::to_string(&addresses).context("writing addresses")?;
        rialto_files::write(&addresses_path(start.store), &[addresses.as_bytes()])?;
        let (stop, stopped) = watch::channel(false);
        let tls = tls.listeners.get(OPERATORS).cloned();
        let ready = serde_json::to_string(&readiness(false)).context("writing the health")?;
        let ready: Arc<str> = ready.into();
        let answer = move |request: http::Request<hyper::body::Incoming>| {
            let answer = answer(request.uri().path(), (false, &ready));
            async move { answer }
        };
        let server = handle.spawn(bound.serve(tls, answer, stopped));
        Ok(Some(Self { stop, server }))
    }

    /// End, so that the host can bind the address. Nobody is waited for: a standby has nothing to finish.
    fn stop(self, handle: &Handle) {
        self.stop.send_replace(true);
        self.server.abort();
        // A panic in it would have ended the host.
        let _ = handle.block_on(self.server);
    }
}

/// The health of a standby. One that passes requests to a host that serves is ready for them.
fn readiness(passes: bool) -> Readiness {
    let says = if passes {
        "standby: this host passes requests to the one that serves"
    } else {
        "standby: this host has not the lease, and serves when it gets it"
    };
    Readiness {
        ready: passes,
        checks: vec![Check {
            check: "lease",
            ok: passes,
            says: says.into(),
        }],
    }
}

/// What a host that does not serve answers when its health is asked for. `passes` says whether it passes requests to one that
/// does.
pub(crate) fn health(path: &str, passes: bool) -> Response<Full<Bytes>> {
    // A struct of texts and flags is always JSON.
    let ready = serde_json::to_string(&readiness(passes)).unwrap_or_default();
    answer(path, (passes, &ready))
}

fn answer(path: &str, (is_ready, ready): (bool, &str)) -> Response<Full<Bytes>> {
    let json = HeaderValue::from_static("application/json");
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    let (status, form, body) = match path {
        "/health/live" => (StatusCode::OK, text, "live\n"),
        "/health/ready" if is_ready => (StatusCode::OK, json, ready),
        "/health/ready" => (StatusCode::SERVICE_UNAVAILABLE, json, ready),
        _ => (
            StatusCode::SERVICE_UNAVAILABLE,
            text,
            "this host is a standby: ask the one that serves\n",
        ),
    };
    let mut response = Response::new(Full::new(Bytes::from(body.to_owned())));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, form);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standby_is_alive_and_not_ready() {
        let ready = serde_json::to_string(&readiness(false)).unwrap();
        let status = |path| answer(path, (false, &ready)).status().as_u16();
        assert_eq!(status("/health/live"), 200);
        assert_eq!(status("/health/ready"), 503);
        assert_eq!(status("/releases"), 503);
        assert!(ready.contains("standby"), "{ready}");
        assert_eq!(health("/health/ready", false).status().as_u16(), 503);
        assert_eq!(health("/health/ready", true).status().as_u16(), 200);
        assert_eq!(health("/health/live", false).status().as_u16(), 200);
    }
}
