//! The health of the host, for `/health/ready`, for gRPC's health service, and in short form for `/health` on other
//! listeners.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use bytes::Bytes;
use http::{HeaderValue, Response, header};
use http_body_util::Full;
use rialto_store_postgres::PostgresStore;
use rialto_store_sqlite::SqliteStore;
use serde::Serialize;
use tokio::sync::watch;

use crate::host::Shared;

/// How long an executed turn may wait for the disk. Groups take milliseconds. With a slower disk every client runs
/// into its timeout.
const UNCOMMITTED_MAX: Duration = Duration::from_secs(10);
/// How long a group may wait in the journal before it is flushed. It normally takes one second.
const UNFLUSHED_MAX: Duration = Duration::from_mins(1);
/// The time between two checks for those who follow the health.
const LOOK: Duration = Duration::from_secs(1);

/// The check that does not make the host unavailable: with too little disk space, payments under way continue.
const KEEPS_NOBODY_OUT: &str = "disk";

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The name of the check.
    pub check: &'static str,
    /// Whether it is healthy.
    pub ok: bool,
    /// Its state in words.
    pub says: String,
}

/// The health of the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Readiness {
    /// Whether all checks are healthy.
    pub ready: bool,
    /// The checks, always all of them.
    pub checks: Vec<Check>,
}

impl Readiness {
    /// Run all checks.
    #[must_use]
    pub fn of(shared: &Shared) -> Self {
        let stored = match (&shared.embedded, &shared.lease) {
            (Some(store), _) => Some(flush(store)),
            (None, lease) => lease.as_deref().map(leased),
        };
        let checks = [
            Some(release(shared)),
            Some(engine(shared)),
            Some(commit(shared)),
            stored,
            Some(disk(shared)),
        ];
        let checks: Vec<Check> = checks.into_iter().flatten().collect();
        Self {
            ready: checks.iter().all(|check| check.ok),
            checks,
        }
    }
}

fn release(shared: &Shared) -> Check {
    let current = shared.runtime.current();
    Check {
        check: "release",
        ok: current.is_some(),
        says: match current {
            Some(release) => format!("release {} is current", release.number),
            None => "no release is current".into(),
        },
    }
}

fn engine(shared: &Shared) -> Check {
    let failure = shared.engine.failure();
    Check {
        check: "engine",
        ok: failure.is_none(),
        says: match failure {
            None => "turns run".into(),
            Some(failure) => format!("it has stopped: {failure}"),
        },
    }
}

fn commit(shared: &Shared) -> Check {
    let waits = shared.engine.oldest_uncommitted().unwrap_or_default();
    late("commit", waits, UNCOMMITTED_MAX, "the oldest executed turn")
}

/// Whether flushes keep up. The check's public name, `fold`, is older than the word flush.
fn flush(store: &SqliteStore) -> Check {
    let behind = store.behind();
    let waits = behind.oldest.unwrap_or_default();
    match behind.failure {
        Some(failure) => Check {
            check: "fold",
            ok: false,
            says: format!(
                "{} groups wait in the store's journal, the oldest for {:.1} s, for it cannot be brought into the tables: {failure}",
                behind.groups,
                waits.as_secs_f64()
            ),
        },
        None => late("fold", waits, UNFLUSHED_MAX, "the journal's oldest group"),
    }
}

/// Whether this host is the one that serves.
fn leased(store: &PostgresStore) -> Check {
    let ok = store.holds_lease();
    let says = if ok {
        "this host has the lease"
    } else {
        "the lease was not renewed in time: the database does not answer, or another host takes over"
    };
    Check {
        check: "lease",
        ok,
        says: says.into(),
    }
}

fn disk(shared: &Shared) -> Check {
    let problem = shared.disk.problem();
    Check {
        check: KEEPS_NOBODY_OUT,
        ok: problem.is_none(),
        says: problem.unwrap_or_else(|| "there is space".into()),
    }
}

fn late(check: &'static str, waits: Duration, most: Duration, what: &str) -> Check {
    let (waits_s, most_s) = (waits.as_secs_f64(), most.as_secs());
    Check {
        check,
        ok: waits <= most,
        says: format!("{what} has waited for {waits_s:.1} s; {most_s} s are too long"),
    }
}

/// Answers that the process is alive.
pub(super) async fn live() -> &'static str {
    "live\n"
}

/// Answers whether the host is ready: 200, or 503 with the failed checks.
pub(super) async fn ready(State(shared): State<Arc<Shared>>) -> (StatusCode, Json<Readiness>) {
    let readiness = Readiness::of(&shared);
    let status = if readiness.ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (status, Json(readiness))
}

/// The health for clients: each check with `OK` or `DOWN`, without reasons, which are only for operators. 200, or
/// 503 when requests are not handled.
pub fn told(readiness: &Readiness) -> Response<Full<Bytes>> {
    let word = |ok: bool| if ok { "OK" } else { "DOWN" };
    let checks = readiness.checks.iter();
    let services: Vec<_> = checks
        .clone()
        .map(|check| serde_json::json!({ "name": check.check, "status": word(check.ok) }))
        .collect();
    let mut needed = checks.filter(|check| check.check != KEEPS_NOBODY_OUT);
    let is_well = needed.all(|check| check.ok);
    let body = serde_json::json!({ "services": services, "status": word(is_well) });
    let mut response = Response::new(Full::new(Bytes::from(body.to_string())));
    if !is_well {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// Follow whether the host is ready, as long as it runs.
pub fn followed(
    shared: Arc<Shared>,
    mut stop: watch::Receiver<bool>,
) -> (watch::Receiver<bool>, impl Future<Output = ()>) {
    let (sender, receiver) = watch::channel(true);
    let following = async move {
        let mut look = tokio::time::interval(LOOK);
        loop {
            tokio::select! {
                _ = look.tick() => {}
                _ = stop.wait_for(|stop| *stop) => return,
            }
            let ready = Readiness::of(&shared).ready;
            sender.send_if_modified(|told| std::mem::replace(told, ready) != ready);
        }
    };
    (receiver, following)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use http_body_util::BodyExt as _;

    use super::*;

    async fn answer(release: bool, disk: bool) -> (u16, String) {
        let check = |check, ok| Check {
            check,
            ok,
            says: "a secret".into(),
        };
        let readiness = Readiness {
            ready: release && disk,
            checks: vec![check("release", release), check("disk", disk)],
        };
        let answer = told(&readiness);
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn clients_see_which_service_is_down_without_reasons() {
        let body = |release, disk, all| {
            format!(
                r#"{{"services":[{{"name":"release","status":"{release}"}},{{"name":"disk","status":"{disk}"}}],"status":"{all}"}}"#
            )
        };
        assert_eq!(answer(true, true).await, (200, body("OK", "OK", "OK")));
        assert_eq!(answer(true, false).await, (200, body("OK", "DOWN", "OK")));
        let down = (503, body("DOWN", "OK", "DOWN"));
        assert_eq!(answer(false, true).await, down);
    }
}
