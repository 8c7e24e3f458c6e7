//! What happens now, as a stream of events, and the figures of the time before ([`crate::live`]).

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::extractors::{Asked, By};
use super::health::Readiness;
use super::problem::{Kind, Problem};
use super::{Host, blocking};
use crate::live::health;
use crate::live::past::Course;
use crate::live::streams::{NotOpened, kinds};

/// The hours that the host itself remembers.
const HOURS_IN_MEMORY: u32 = 2;
/// The most hours that may be asked for: a month.
const HOURS_MAX: u32 = 31 * 24;
/// The most points of an answer.
const POINTS_MAX: usize = 1_440;
const HOUR_MS: u64 = 3_600_000;

#[derive(Deserialize)]
pub(super) struct Wanted {
    /// Kinds of documents: `component/collection`, and others behind commas.
    #[serde(default)]
    documents: String,
}

#[derive(Deserialize)]
pub(super) struct Time {
    #[serde(default = "in_memory")]
    hours: u32,
    #[serde(default = "many")]
    points: usize,
}

const fn in_memory() -> u32 {
    HOURS_IN_MEMORY
}

const fn many() -> usize {
    360
}

impl From<NotOpened> for Problem {
    fn from(not_opened: NotOpened) -> Self {
        Self::new(Kind::TooManyStreams, not_opened.to_string())
    }
}

/// The stream. It goes on until its reader leaves, may no longer read, or the host stops.
pub(super) async fn stream(
    State(shared): Host,
    By(caller): By,
    Asked(wanted): Asked<Wanted>,
) -> Result<Response, Problem> {
    let kinds = kinds(&wanted.documents).map_err(|wrong| Problem::new(Kind::Malformed, wrong))?;
    let live = &shared.live;
    let first = health(&Readiness::of(&shared));
    let body = live
        .streams
        .open(&caller, kinds, (&live.changes, &shared.engine), &first)?;
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    Ok((headers, Body::new(body)).into_response())
}

/// Figures of the time before.
pub(super) async fn past(
    State(shared): Host,
    Asked(time): Asked<Time>,
) -> Result<Json<Course>, Problem> {
    if !(1..=HOURS_MAX).contains(&time.hours) || !(1..=POINTS_MAX).contains(&time.points) {
        let detail =
            format!("`hours` is from 1 to {HOURS_MAX}, and `points` from 1 to {POINTS_MAX}");
        return Err(Problem::new(Kind::Malformed, detail));
    }
    let longer = shared.live.longer.as_ref();
    if time.hours <= HOURS_IN_MEMORY {
        let (last_ms, has_longer) = (u64::from(time.hours) * HOUR_MS, longer.is_some());
        let shared = shared.clone();
        // Two hours of all figures take a while to add up.
        return blocking(&shared.reads.clone(), move || {
            let past = shared.live.past.lock();
            Ok(Json(past.course(last_ms, time.points, has_longer)))
        })
        .await;
    }
    let Some(longer) = longer else {
        let detail = format!(
            "the host remembers {HOURS_IN_MEMORY} hours, and rialto.toml names no Prometheus: [console]"
        );
        return Err(Problem::new(Kind::PastNotKept, detail));
    };
    let seconds = u64::from(time.hours) * HOUR_MS / 1_000;
    let now = shared.engine.now().0;
    let asked = longer.course(now, seconds, time.points).await;
    asked
        .map(Json)
        .map_err(|away| Problem::new(Kind::PastAway, away.to_string()))
}
