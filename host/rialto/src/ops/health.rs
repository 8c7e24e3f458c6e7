//! Whether the host can do its work: what `/health/ready` answers, and what gRPC's health follows.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use tokio::sync::watch;

use crate::host::Shared;

/// How long an executed turn may wait for the disk. Groups take milliseconds; a disk that needs longer
/// than this lets every client run into its timeout.
const UNCOMMITTED_MAX: Duration = Duration::from_secs(10);
/// How long a group may wait in the journal before it is in the tables. They are one second behind.
const UNFOLDED_MAX: Duration = Duration::from_mins(1);
/// How often it is looked for those who follow.
const LOOK: Duration = Duration::from_secs(1);

/// One thing that is looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What is looked at.
    pub check: &'static str,
    /// Whether it is as it should be.
    pub ok: bool,
    /// How it is, in words.
    pub says: String,
}

/// How the host is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Readiness {
    /// Whether all checks are well.
    pub ready: bool,
    /// The checks, always all of them.
    pub checks: Vec<Check>,
}

impl Readiness {
    /// Look at everything.
    #[must_use]
    pub fn of(shared: &Shared) -> Self {
        let checks = vec![
            release(shared),
            engine(shared),
            commit(shared),
            fold(shared),
            disk(shared),
        ];
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

fn fold(shared: &Shared) -> Check {
    let behind = shared.store.behind();
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
        None => late("fold", waits, UNFOLDED_MAX, "the journal's oldest group"),
    }
}

fn disk(shared: &Shared) -> Check {
    let problem = shared.disk.problem();
    Check {
        check: "disk",
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

/// That the process answers.
pub(super) async fn live() -> &'static str {
    "live\n"
}

/// Whether the host can do its work: 200, or 503 with what is wrong.
pub(super) async fn ready(State(shared): State<Arc<Shared>>) -> (StatusCode, Json<Readiness>) {
    let readiness = Readiness::of(&shared);
    let status = if readiness.ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (status, Json(readiness))
}

/// Whether the host is ready, for as long as it runs.
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
