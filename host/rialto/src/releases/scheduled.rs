//! Releases that come into force at an instant.
//!
//! A release with `effective-from` is checked, stored and prepared at once. Shortly before its instant the host runs the
//! steps of its activation, and from its instant on each turn runs on it. A turn that should run on it before it is ready
//! is refused, so that no turn is judged by the wrong rules: this is so after a start later than the instant, and while it
//! cannot be activated.
//!
//! `effective-until` makes a second release of the contents that are in force now, which comes into force at that instant.
//! So what was agreed meanwhile keeps its rules: nothing is rolled back.
//!
//! While a release is scheduled, no other one is applied: its changes were planned against the current one. A rollback
//! withdraws what is scheduled.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use parking_lot::Mutex;
use rialto_components::Release;
use rialto_components::next_release::Next;
use rialto_engine::{Engine, Timestamp};
use rialto_manifest::scheme::SchemeDocument;
use rialto_manifest::values::Instant;
use rialto_store_sqlite::{Act, ScheduledRelease};
use serde::{Deserialize, Serialize};

use super::changes::Kept;
use super::scheduled_metrics::ScheduledCollector;
use super::{Applied, ChangeRequest, Refused, Releases, Withdrawn};
use crate::audit::{Actor, beginning};
use crate::words;

/// How long before its instant the steps of a release's activation run, in milliseconds.
const LEAD: u64 = 2_000;
/// The time between two tries to bring a release into force, in milliseconds.
const AGAIN: u64 = 30_000;
/// How long turns from before an instant may still begin after it, in milliseconds.
const SETTLED: u64 = 1_000;
/// The furthest instant that is taken, in milliseconds from now: ten years.
const AHEAD_MAX: u64 = 10 * 366 * 24 * 60 * 60 * 1_000;
/// The time between two looks at the clock, just before an instant.
const LOOK: Duration = Duration::from_millis(1);

/// When a release is in force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Dates {
    /// The instant from which on it is; at once without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_from: Option<Instant>,
    /// The instant from which on the release before is again; never without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_until: Option<Instant>,
}

impl Dates {
    /// Whether it is in force at once, and for good.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// The dates of a release that comes into force later, in milliseconds since 1970.
#[derive(Clone, Copy)]
pub(super) struct Later {
    pub(super) from: u64,
    pub(super) until: Option<u64>,
}

/// What is known of the scheduled releases of this host.
#[derive(Default)]
pub(super) struct Ahead {
    /// The earliest one: its number and its instant.
    next: Mutex<Option<(u64, Timestamp)>>,
    /// Those that are prepared.
    ready: Mutex<BTreeMap<u64, Arc<Release>>>,
    /// The next try after a failure.
    not_before: Mutex<Timestamp>,
    /// Whether one has come into force, and turns from before its instant may still begin.
    is_settling: AtomicBool,
    /// How many there are.
    count: AtomicUsize,
}

/// What metrics say of the scheduled releases.
#[derive(Clone, Copy)]
pub(super) struct Shown {
    /// How many there are.
    pub(super) count: usize,
    /// When the next one comes into force.
    pub(super) from: Timestamp,
    /// Whether it is prepared.
    pub(super) is_ready: bool,
}

impl Ahead {
    /// Say which one is next, and how many there are.
    pub(super) fn set(&self, next: Option<(u64, Timestamp)>, count: usize) {
        *self.next.lock() = next;
        self.count.store(count, Ordering::Release);
        self.is_settling.store(false, Ordering::Release);
        *self.not_before.lock() = Timestamp::default();
    }

    /// What metrics say; none if nothing is scheduled, or all has come into force.
    pub(super) fn shown(&self) -> Option<Shown> {
        let (number, from) = (*self.next.lock())?;
        if self.is_settling.load(Ordering::Acquire) {
            return None;
        }
        Some(Shown {
            count: self.count.load(Ordering::Acquire),
            from,
            is_ready: self.ready.lock().contains_key(&number),
        })
    }
}

impl Releases {
    /// Reports what is scheduled when metrics are read.
    #[must_use]
    pub fn scheduled_collector(&self) -> ScheduledCollector {
        ScheduledCollector {
            ahead: self.ahead.clone(),
            clock: self.clock.clone(),
        }
    }

    /// The dates of a change, if it comes into force later.
    pub(super) fn later(&self, dates: Dates) -> Result<Option<Later>, Refused> {
        let now = self.clock.now().0;
        let (Some(from), until) = (dates.effective_from, dates.effective_until) else {
            if dates.is_none() {
                return Ok(None);
            }
            return Err(Refused::BadDates(
                "a release with an end needs a beginning: name `effective-from` too".to_owned(),
            ));
        };
        let bad = |why: String| Err(Refused::BadDates(why));
        if from.millis() <= now {
            return bad(format!("{from} has passed: name a later instant, or none"));
        }
        if let Some(until) = until
            && until <= from
        {
            return bad(format!(
                "the release would end at {until}, before it begins at {from}"
            ));
        }
        let last = until.unwrap_or(from);
        if last.millis() > now.saturating_add(AHEAD_MAX) {
            return bad(format!("{last} is more than ten years ahead"));
        }
        Ok(Some(Later {
            from: from.millis(),
            until: until.map(Instant::millis),
        }))
    }

    /// The releases that come into force, the earliest first.
    pub(super) fn pending(&self) -> Result<Vec<ScheduledRelease>, Refused> {
        let scheduled = self.store.scheduled_releases();
        let scheduled = scheduled.context("reading the scheduled releases")?;
        if scheduled.is_empty() {
            return Ok(scheduled);
        }
        let current = self.store.releases_once_current();
        let current = current.context("reading the releases")?;
        let pending = scheduled
            .into_iter()
            .filter(|one| one.withdrawn.is_none() && !current.contains(&one.release));
        Ok(pending.collect())
    }

    /// Refuse a change while another one is scheduled.
    pub(super) fn nothing_is_scheduled(&self) -> Result<(), Refused> {
        match self.pending()?.first() {
            None => Ok(()),
            Some(next) => Err(Refused::Scheduled {
                release: next.release,
                from: next.from.0,
            }),
        }
    }

    /// Store a release that comes into force later, and the one that ends it.
    pub(super) fn schedule(
        &self,
        (kept, who): (&Kept<'_>, &Actor),
        before: Option<(u64, &SchemeDocument)>,
        document: &SchemeDocument,
        later: Later,
    ) -> Result<Applied, Refused> {
        let Some((number, now)) = before else {
            return Err(Refused::BadDates(
                "there is no release yet: the first one is in force at once".to_owned(),
            ));
        };
        if kept.approver.is_none() && !self.needs_approval(Some(now), document).is_empty() {
            return Err(Refused::BadDates(
                "a second person must approve it: apply it without a date; who approves it names the date (`rialto release approve NUMBER --effective-from TIME`)".to_owned(),
            ));
        }
        let (mut applied, release) = self.keep(kept, before, document)?;
        applied.calendar =
            self.put_ahead((kept, who), (number, now), (release, document), later)?;
        applied.effective_from = Some(later.from);
        Ok(applied)
    }

    /// Schedule a release that waited, and that a second person has approved.
    pub(super) fn schedule_kept(
        &self,
        who: &Actor,
        current: Option<&(u64, SchemeDocument)>,
        release: Arc<Release>,
        document: &SchemeDocument,
        later: Later,
    ) -> Result<Applied, Refused> {
        let Some((before, now)) = current else {
            return Err(Refused::BadDates(
                "there is no release yet: the first one is in force at once".to_owned(),
            ));
        };
        let stored = self.stored(release.number)?;
        let kept = Kept {
            maker: &stored.maker,
            note: &stored.note,
            approver: Some(&who.person),
        };
        let (number, digest) = (release.number, release.digest.to_string());
        let fresh_counters = self.fresh_counters(&release);
        let calendar = self.put_ahead((&kept, who), (*before, now), (release, document), later)?;
        Ok(Applied {
            number,
            digest,
            changes: Vec::new(),
            needs_approval: Vec::new(),
            calendar,
            fresh_counters,
            effective_from: Some(later.from),
            unchanged: false,
            officers: 0,
        })
    }

    fn scheduled(&self, release: u64, from: u64, who: &Actor, note: &str) -> ScheduledRelease {
        ScheduledRelease {
            release,
            from: Timestamp(from),
            at: self.clock.now(),
            person: who.person.to_string(),
            operator: who.operator.to_string(),
            note: beginning(note),
            withdrawn: None,
        }
    }

    /// Schedule a stored release, and the one that ends it. Returns the calendar.
    fn put_ahead(
        &self,
        (kept, who): (&Kept<'_>, &Actor),
        (number, now): (u64, &SchemeDocument),
        (release, document): (Arc<Release>, &SchemeDocument),
        later: Later,
    ) -> Result<Vec<String>, Refused> {
        let mut all = vec![self.scheduled(release.number, later.from, who, kept.note)];
        let mut ready = vec![release];
        if let Some(until) = later.until {
            let note = format!("release {number} again: release {} ends", all[0].release);
            let back = Kept {
                note: &note,
                ..*kept
            };
            let (again, release) = self.keep(&back, Some((number, now)), now)?;
            all.push(self.scheduled(again.number, until, who, &note));
            ready.push(release);
        }
        self.store
            .schedule_releases(&all)
            .context("storing the scheduled releases")?;
        let prepared = ready.into_iter().map(|release| (release.number, release));
        self.ahead.ready.lock().extend(prepared);
        for one in &all {
            tracing::info!(release = one.release, from = %words::instant(one.from.0), by = %one.person, "a release is scheduled");
        }
        self.expect_next()?;
        let instants: Vec<_> = all.iter().map(|one| (one.release, one.from.0)).collect();
        Ok(self.calendar_of(document, later, &instants))
    }

    /// The calendar of a release that would be scheduled with this number.
    pub(super) fn calendar_planned(
        &self,
        document: &SchemeDocument,
        later: Later,
        number: u64,
    ) -> Vec<String> {
        let ends = later.until.map(|until| (number + 1, until));
        let instants: Vec<_> = [(number, later.from)].into_iter().chain(ends).collect();
        self.calendar_of(document, later, &instants)
    }

    /// The calendar of a release from its beginning on, with its beginning and its end.
    fn calendar_of(
        &self,
        document: &SchemeDocument,
        later: Later,
        instants: &[(u64, u64)],
    ) -> Vec<String> {
        let own = instants.iter().map(|(release, at)| {
            format!(
                "{}: release {release} comes into force",
                words::instant(*at)
            )
        });
        let ahead = self.calendar(document, later.from);
        let mut calendar: Vec<String> = own.chain(ahead).collect();
        // Each line begins with its instant.
        calendar.sort();
        calendar
    }

    /// Tell the runtime which release comes into force next.
    pub(super) fn expect_next(&self) -> Result<(), Refused> {
        let pending = self.pending()?;
        let next = pending.first().map(|one| (one.release, one.from));
        self.ahead.set(next, pending.len());
        self.runtime.expect(next.map(|(_, from)| Next {
            from,
            release: None,
            before: None,
        }));
        Ok(())
    }

    /// Withdraw a scheduled release, and the one that would have ended it.
    ///
    /// # Errors
    /// When it is not scheduled, or is in force already.
    pub fn withdraw(&self, number: u64, by: &Actor) -> Result<Withdrawn, Refused> {
        // Locked while a release comes into force: afterwards it is not ahead any more.
        let _current = self.current.lock();
        let pending = self.pending()?;
        if !pending.iter().any(|one| one.release == number) {
            self.stored(number)?;
            return Err(Refused::NotScheduled(number));
        }
        self.withdraw_from(number, by)
    }

    /// Withdraw the scheduled releases from a number on.
    pub(super) fn withdraw_from(&self, number: u64, by: &Actor) -> Result<Withdrawn, Refused> {
        let pending = self.pending()?.into_iter().map(|one| one.release);
        let releases: Vec<u64> = pending.filter(|one| *one >= number).collect();
        if !releases.is_empty() {
            let act = Act {
                by: by.person.to_string(),
                at: self.clock.now(),
            };
            let withdrawn = self.store.withdraw_scheduled(number, &act);
            withdrawn.context("storing that a release is withdrawn")?;
            self.ahead.ready.lock().retain(|one, _| *one < number);
            tracing::warn!(?releases, by = %by.person, "scheduled releases were withdrawn");
        }
        self.expect_next()?;
        Ok(Withdrawn { releases })
    }

    /// Bring all releases into force whose instant has passed. One that cannot be keeps turns from running.
    pub fn bring_due(&self, engine: &Engine) -> Vec<u64> {
        let mut brought = Vec::new();
        // An activation that was finished at the start may have been of one.
        if let Err(reason) = self.expect_next() {
            self.failed(&reason);
        }
        loop {
            let next = *self.ahead.next.lock();
            if next.is_none_or(|(_, from)| from > self.clock.now()) {
                return brought;
            }
            match self.bring(engine) {
                Ok(Some(number)) => brought.push(number),
                Ok(None) => return brought,
                Err(reason) => {
                    self.failed(&reason);
                    return brought;
                }
            }
            if let Err(reason) = self.expect_next() {
                self.failed(&reason);
                return brought;
            }
        }
    }

    /// Look at the clock, and prepare the next release or bring it into force if it is time. Returns the number of one that
    /// is current now.
    pub fn look_ahead(&self, engine: &Engine) -> Option<u64> {
        match self.looked_ahead(engine) {
            Ok(brought) => brought,
            Err(reason) => {
                self.failed(&reason);
                None
            }
        }
    }

    fn looked_ahead(&self, engine: &Engine) -> Result<Option<u64>, Refused> {
        let Some((number, from)) = *self.ahead.next.lock() else {
            return Ok(None);
        };
        let now = self.clock.now();
        if self.ahead.is_settling.load(Ordering::Acquire) {
            if now.0 >= from.0.saturating_add(SETTLED) {
                let _current = self.current.lock();
                self.expect_next()?;
            }
            return Ok(None);
        }
        if now < *self.ahead.not_before.lock() {
            return Ok(None);
        }
        if from.0.saturating_sub(LEAD) > now.0 {
            self.ready(number)?;
            return Ok(None);
        }
        self.bring(engine)
    }

    /// A scheduled release, prepared.
    fn ready(&self, number: u64) -> Result<Arc<Release>, Refused> {
        if let Some(release) = self.ahead.ready.lock().get(&number) {
            return Ok(release.clone());
        }
        let document = self.document(number)?;
        let release = Arc::new(self.prepare(number, &document)?);
        self.ahead.ready.lock().insert(number, release.clone());
        Ok(release)
    }

    /// Activate the next release, and make it current at its instant. Returns its number, or none if there is none.
    fn bring(&self, engine: &Engine) -> Result<Option<u64>, Refused> {
        let mut current = self.current.lock();
        // It may have been withdrawn meanwhile.
        let now = self.clock.now();
        let next = self.pending()?.into_iter().next();
        let Some(next) = next.filter(|one| one.from.0.saturating_sub(LEAD) <= now.0) else {
            return Ok(None);
        };
        let number = next.release;
        let document = self.document(number)?;
        self.was_not_held_back(&document)?;
        let release = self.ready(number)?;
        let who = Actor {
            person: next.person.into(),
            operator: next.operator.into(),
            credential: "".into(),
        };
        let request = ChangeRequest {
            who: &who,
            note: &next.note,
            expected: None,
            dates: Dates::default(),
        };
        self.bring_last_good(&release, &document)?;
        self.begin(number, &request, next.from)?;
        self.activate_or_give_up(engine, &release, &document)?;
        self.runtime.expect(Some(Next {
            from: next.from,
            release: Some(release.clone()),
            before: self.runtime.current(),
        }));
        while self.clock.now() < next.from {
            if self.runtime.is_stopping() {
                // The next start finds the mark, and begins anew.
                return Ok(None);
            }
            std::thread::sleep(LOOK);
        }
        self.publish(release, &document)?;
        let stored = self.store.set_current_release(number);
        stored.context("storing which release is current")?;
        *current = Some((number, document));
        self.ahead.ready.lock().remove(&number);
        self.ahead.is_settling.store(true, Ordering::Release);
        tracing::info!(release = number, from = %words::instant(next.from.0), "a scheduled release is in force");
        Ok(Some(number))
    }

    /// Whether a release is ahead, so that its activation must not be finished before its instant.
    pub(super) fn is_ahead(&self, number: u64) -> Result<bool, Refused> {
        let now = self.clock.now();
        let mut pending = self.pending()?.into_iter();
        Ok(pending.any(|one| one.release == number && one.from > now))
    }

    fn failed(&self, reason: &Refused) {
        let next = *self.ahead.next.lock();
        let (release, from) = next.map_or((0, 0), |(number, from)| (number, from.0));
        let now = self.clock.now();
        *self.ahead.not_before.lock() = Timestamp(now.0.saturating_add(AGAIN));
        tracing::error!(release, from = %words::instant(from), %reason, "a scheduled release is not ready: from its instant on requests are refused; it is tried again, and `rialto release withdraw {release}` leaves the release before in force");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    #[test]
    fn the_lead_is_over_before_another_look_is_late() {
        const { assert!(SETTLED < LEAD && LEAD < AGAIN) };
    }

    #[test]
    fn dates_are_written_as_instants() {
        let dates: Dates =
            serde_json::from_str(r#"{"effectiveFrom":"2030-01-01T00:00:00Z"}"#).unwrap();
        assert!(!dates.is_none());
        assert_eq!(dates.effective_until, None);
        assert_eq!(
            serde_json::to_string(&dates).unwrap(),
            r#"{"effectiveFrom":"2030-01-01T00:00:00Z"}"#
        );
        assert!(serde_json::from_str::<Dates>(r#"{"effectiveFrom":"tomorrow"}"#).is_err());
    }
}
