//! The hosts of the scheme, and which of them serves.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use rialto_store_postgres::{HostSeen, HostState};
use rialto_store_sqlite::Outcome;
use serde::{Deserialize, Serialize};

use super::extractors::{By, Optional};
use super::{Host, Kind, Problem, blocking};
use crate::audit::{Actor, AuditedAction};
use crate::cluster::Clustered;
use crate::host::Shared;

/// The audit log's name for a handover.
const HANDOVER: &str = "cluster-handover";

/// Who serves which partition, and all hosts. Both are empty for a scheme in a folder, which has one host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownCluster {
    /// The partitions.
    pub partitions: Vec<ShownPartition>,
    /// The hosts, those that started first at the front.
    pub hosts: Vec<ShownHost>,
}

/// A partition, and its lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownPartition {
    /// Its number.
    pub partition: u32,
    /// The id of the host that serves it; none if nobody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// How often its lease was taken.
    pub epoch: u64,
    /// When it was taken last; milliseconds since 1970, by the database's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken: Option<u64>,
    /// Milliseconds until it expires if it is not renewed; none if nobody has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_ms: Option<u64>,
}

/// What a host does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ShownHostState {
    /// It serves.
    Serving,
    /// It waits for the lease.
    Standby,
    /// It has handed over, and passes requests until it is stopped.
    Passing,
    /// It has not been heard of lately.
    Gone,
}

/// A host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownHost {
    /// Its id, which is drawn at its start.
    pub id: String,
    /// Its machine's name.
    pub name: String,
    /// What it does.
    pub state: ShownHostState,
    /// Whether it has given this answer.
    pub is_this: bool,
    /// The version of its program.
    pub version: String,
    /// The address of its operators' listener; empty if it has none.
    pub operators: String,
    /// The address at which it takes requests from other hosts; empty if it takes none.
    pub relay: String,
    /// The newest release that it has prepared; 0 if none.
    pub release: u64,
    /// By how many milliseconds its clock is ahead of the database's; negative if it is behind.
    pub clock_ahead_ms: i64,
    /// How many groups of the journal a standby still has to follow; none if it follows nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups_behind: Option<u64>,
    /// When it started; milliseconds since 1970, by the database's clock.
    pub started: u64,
    /// How many milliseconds ago it last told the others of itself.
    pub seen_ago_ms: u64,
}

/// The hosts of the scheme.
pub(super) async fn show(State(shared): Host) -> Result<Json<ShownCluster>, Problem> {
    let Some(clustered) = shared.clustered.clone() else {
        return Ok(Json(ShownCluster::default()));
    };
    blocking(&shared.clone().reads, move || Ok(Json(told(&clustered)?))).await
}

/// Why a host hands over.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewHandover {
    /// Why, for the audit log.
    #[serde(default)]
    pub note: String,
}

/// Who may take over now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HandedOver {
    /// The standbys that are ready.
    pub standbys: Vec<ShownHost>,
}

/// Have this host hand over to a standby that is ready, and pass requests to it. It begins after the answer.
pub(super) async fn hand_over(
    State(shared): Host,
    By(caller): By,
    Optional(wanted): Optional<NewHandover>,
) -> Result<Json<HandedOver>, Problem> {
    blocking(&shared.clone().changes, move || {
        let audited = AuditedAction::new(HANDOVER, "this host").because(&wanted.note);
        let outcome = |ran: &Result<HandedOver, Problem>| match ran {
            Ok(HandedOver { standbys }) => {
                let names: Vec<&str> = standbys.iter().map(|one| one.name.as_str()).collect();
                Outcome::Done(format!("ready: {}", names.join(", ")))
            }
            Err(problem) => problem.outcome(),
        };
        let actor = Actor::from(&caller);
        let handed = shared
            .audit
            .keep(&actor, &audited, outcome, || ready(&shared));
        let handed = handed?;
        if let Some(clustered) = &shared.clustered {
            clustered.hand_over();
        }
        Ok(Json(handed))
    })
    .await
}

/// The standbys that are ready to take over.
fn ready(shared: &Shared) -> Result<HandedOver, Problem> {
    let refused = |detail: &str| Problem::new(Kind::NoStandby, detail);
    let Some(clustered) = shared.clustered.as_ref().filter(|one| one.is_relayed()) else {
        return Err(refused(
            "rialto.toml has no [cluster], so requests could not be passed to another host",
        ));
    };
    let ShownCluster { hosts, .. } = told(clustered)?;
    let release = hosts
        .iter()
        .find(|host| host.is_this)
        .map(|host| host.release);
    let standbys: Vec<ShownHost> = hosts
        .into_iter()
        .filter(|host| host.state == ShownHostState::Standby && !host.relay.is_empty())
        .filter(|host| Some(host.release) == release)
        .collect();
    if standbys.is_empty() {
        return Err(refused(
            "no standby with [cluster] has prepared the release that this host serves: start one, or wait until it has",
        ));
    }
    Ok(HandedOver { standbys })
}

fn told(clustered: &Clustered) -> Result<ShownCluster, Problem> {
    let cluster = clustered.now()?;
    let mut hosts = cluster.hosts.iter();
    let owner = hosts.find(|host| host.state == HostState::Serving);
    Ok(ShownCluster {
        partitions: vec![ShownPartition {
            partition: clustered.partition(),
            owner: owner.map(|host| host.id.clone()),
            epoch: cluster.epoch,
            taken: cluster.taken.map(|at| at.0),
            expires_in_ms: cluster.expires_in.map(milliseconds),
        }],
        hosts: cluster
            .hosts
            .iter()
            .map(|host| shown(host, clustered.id()))
            .collect(),
    })
}

fn shown(host: &HostSeen, this: &str) -> ShownHost {
    ShownHost {
        id: host.id.clone(),
        name: host.said.name.clone(),
        state: match host.state {
            HostState::Serving => ShownHostState::Serving,
            HostState::Standby => ShownHostState::Standby,
            HostState::Passing => ShownHostState::Passing,
            HostState::Gone => ShownHostState::Gone,
        },
        is_this: host.id == this,
        version: host.said.version.clone(),
        operators: host.said.operators.clone(),
        relay: host.said.relay.clone(),
        release: host.said.release,
        clock_ahead_ms: host.clock_ahead_ms,
        groups_behind: host
            .groups_behind
            .filter(|_| host.state == HostState::Standby),
        started: host.started.0,
        seen_ago_ms: milliseconds(host.seen_ago),
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
