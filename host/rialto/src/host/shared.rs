//! What the parts of a running host share.

use std::sync::Arc;

use rialto_components::Runtime;
use rialto_edge::{Outbound, Pace, Refusals, Revocations, Sources, Tokens};
use rialto_engine::Engine;
use rialto_store::HostStore;
use rialto_store_postgres::PostgresStore;
use rialto_store_sqlite::SqliteStore;
use rialto_telemetry::{Metrics, Spans};
use tokio::sync::Semaphore;

use crate::access::Access;
use crate::archiver::Archiver;
use crate::audit::Audit;
use crate::audit_reader::AuditReader;
use crate::audit_verification::Verifier;
use crate::backtest::jobs::Backtests;
use crate::bodies::Bodies;
use crate::books::Books;
use crate::browsers::Browsers;
use crate::canaries::HostCanaries;
use crate::cluster::Clustered;
use crate::denials::BoundedDenials;
use crate::disk::Disk;
use crate::live::Live;
use crate::passkeys::Passkeys;
use crate::personal_data::HostPeople;
use crate::releases::Releases;
use crate::shadow::Shadows;
use crate::sign_in::SignIn;
use crate::suspensions::Suspended;

/// The state that the parts of a running host share.
pub struct Shared {
    /// The engine.
    pub engine: Engine,
    /// The components.
    pub runtime: Arc<Runtime>,
    /// The store.
    pub store: Arc<dyn HostStore>,
    /// The same, if it is in the host's folder. It alone writes archives and has a size.
    pub embedded: Option<Arc<SqliteStore>>,
    /// The same, if several hosts have it and one of them serves.
    pub lease: Option<Arc<PostgresStore>>,
    /// This host among the others of the scheme, if several share the store.
    pub clustered: Option<Arc<Clustered>>,
    /// The network of outbound requests.
    pub outbound: Arc<Outbound>,
    /// Releases.
    pub releases: Releases,
    /// The rules that are suspended.
    pub suspended: Arc<Suspended>,
    /// The candidates that decide in the place of rules.
    pub canaries: Arc<HostCanaries>,
    /// The candidates in the shadow of rules.
    pub shadows: Arc<Shadows>,
    /// The backtests that operators have started.
    pub backtests: Arc<Backtests>,
    /// Metrics.
    pub metrics: Arc<Metrics>,
    /// Spans, if the operator exports them.
    pub spans: Option<Spans>,
    /// The operators, their tokens and their sessions.
    pub access: Arc<Access>,
    /// The provider that operators sign in with, if there is one.
    pub sign_in: Option<SignIn>,
    /// How browsers reach the operators' listener.
    pub browsers: Browsers,
    /// The operators' passkeys, if there are any.
    pub passkeys: Option<Arc<Passkeys>>,
    /// The keys of the people whom records name, if records are encrypted.
    pub people: Option<Arc<HostPeople>>,
    /// The audit log.
    pub audit: Arc<Audit>,
    /// The audit log with its proofs.
    pub audit_reader: Arc<AuditReader>,
    /// Checks the audit log for operators.
    pub audit_verifier: Arc<Verifier>,
    /// Whether the metrics show the names of destinations without a token.
    pub open_metrics: bool,
    /// The slowest pace of a client.
    pub pace: Pace,
    /// The books that a scheme's context keeps.
    pub books: Books,
    /// Archives items whose period is over.
    pub archiver: Arc<Archiver>,
    /// Free disk space.
    pub disk: Arc<Disk>,
    /// The memory for bodies.
    pub bodies: Bodies,
    /// Permits for reads of operators. Each takes a blocking thread.
    pub reads: Arc<Semaphore>,
    /// Permits for changes of operators. They are separate, so that a release that is being prepared blocks no
    /// reads.
    pub changes: Arc<Semaphore>,
    /// Refusals that are to be in the audit log.
    pub denials: Arc<BoundedDenials>,
    /// The last refusals of clients' requests.
    pub refusals: Arc<Refusals>,
    /// The access tokens of clients.
    pub tokens: Arc<Tokens>,
    /// The addresses from which clients may send.
    pub sources: Arc<Sources>,
    /// The client certificates that are revoked.
    pub revocations: Arc<Revocations>,
    /// What operators see as it happens.
    pub live: Arc<Live>,
}
