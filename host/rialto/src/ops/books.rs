//! The books that a scheme's context keeps, over HTTP: the trial balance, entries with the running balance, checks.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use rialto_engine::store::{ScanRange, StoreError, StoredDocument};
use rialto_engine::{Engine, fatal};
use rialto_ledger::pages::{Documents, newest_first};
use rialto_ledger::{KEEPER, LedgerError};
use serde::Deserialize;

use super::extractors::{Asked, At, By};
use super::problem::Kind;
use super::{Host, Problem, blocking, done_or};
use crate::audit::{Actor, AuditedAction};
use crate::books::{NotBegun, ShownChecks};

/// How many entries a page has if nobody says it.
const ENTRIES: usize = 50;

/// Which entries are wanted.
#[derive(Deserialize)]
pub(super) struct Page {
    /// Only entries with a number below this one.
    before: Option<u64>,
    limit: Option<usize>,
}

/// How the trial balance is grouped.
#[derive(Deserialize)]
pub(super) struct Grouped {
    #[serde(default)]
    owners: bool,
}

impl From<LedgerError> for Problem {
    fn from(error: LedgerError) -> Self {
        let kind = match &error {
            LedgerError::NoLedger { .. } | LedgerError::NoAccount(_) => Kind::NotFound,
            LedgerError::Unreadable { .. } | LedgerError::Missing(..) => Kind::Document,
            _ => Kind::Store,
        };
        let words = format!("{:#}", anyhow::Error::from(error));
        Self::new(kind, words)
    }
}

impl From<NotBegun> for Problem {
    fn from(refused: NotBegun) -> Self {
        let kind = match refused {
            NotBegun::Runs { .. } => Kind::CheckRuns,
            NotBegun::NoThread(_) => Kind::Internal,
        };
        Self::new(kind, refused.to_string())
    }
}

/// Documents as turns see them now.
struct Live<'a>(&'a Engine);

impl Documents for Live<'_> {
    fn find(
        &mut self,
        collection: &'static str,
        id: &str,
    ) -> Result<Option<StoredDocument>, LedgerError> {
        let found = self
            .0
            .inspect(KEEPER, collection, &ScanRange::prefix(id), 1);
        let found = found.map_err(|error| StoreError::Failed(error.to_string()))?;
        Ok(found.into_iter().find(|document| *document.id == *id))
    }
}

/// A page of an account's entries, the newest first, with the balance after each.
pub(super) async fn entries(
    State(shared): Host,
    At(account): At<String>,
    Asked(page): Asked<Page>,
) -> Result<Response, Problem> {
    blocking(&shared.clone().reads, move || {
        let limit = page.limit.unwrap_or(ENTRIES);
        let found =
            added_up(|| newest_first(&mut Live(&shared.engine), &account, page.before, limit))?;
        // A crash must not take back what an operator has seen.
        shared
            .engine
            .wait_until_durable()
            .map_err(|error| Problem::new(Kind::Store, error.to_string()))?;
        Ok(no_store(Json(found)))
    })
    .await
}

/// The trial balance of all accounts.
pub(super) async fn balance(
    State(shared): Host,
    Asked(grouped): Asked<Grouped>,
) -> Result<Response, Problem> {
    blocking(&shared.clone().reads, move || {
        let balance = added_up(|| shared.books.read()?.balance(grouped.owners))?;
        Ok(no_store(Json(balance)))
    })
    .await
}

/// Read the books. A component may have kept amounts whose sum is no amount: then this request fails, and not the host.
fn added_up<T>(read: impl FnOnce() -> Result<T, LedgerError>) -> Result<T, Problem> {
    let read = fatal::contained(read).map_err(|panic| {
        Problem::new(
            Kind::Document,
            format!(
                "the books cannot be added up: {panic}; `rialto ledger check` looks at each entry"
            ),
        )
    });
    Ok(read??)
}

fn no_store(answer: impl IntoResponse) -> Response {
    ([(header::CACHE_CONTROL, "no-store")], answer).into_response()
}

/// The check that runs, and the last one.
pub(super) async fn checks(State(shared): Host) -> Json<ShownChecks> {
    Json(shared.books.shown())
}

/// Begin a check.
pub(super) async fn check(
    State(shared): Host,
    By(caller): By,
) -> Result<(StatusCode, Json<ShownChecks>), Problem> {
    let host = shared.clone();
    blocking(&shared.changes, move || {
        let who = Actor::from(&caller);
        let audited = AuditedAction::new("books-check", "the books");
        let begin = || Ok(host.books.check(&caller.person)?);
        host.audit.keep(&who, &audited, done_or, begin)
    })
    .await?;
    Ok((StatusCode::ACCEPTED, Json(shared.books.shown())))
}
