//! The changes of operators: apply a release, swap a rule, approve a release, roll back.

use std::sync::Arc;

use anyhow::Context as _;
use rialto_components::counting::FreshCounter;
use rialto_components::{Digest, Release};
use rialto_engine::Engine;
use rialto_manifest::ComponentKind;
use rialto_manifest::releases::SecondPerson;
use rialto_manifest::scheme::SchemeDocument;
use rialto_store_sqlite::StoredRelease;

use super::refused::unfit;
use super::scheduled::Later;
use super::{Applied, ChangeRequest, Dates, Refused, Releases, calendar};
use crate::audit::{Actor, beginning};
use crate::operators::Caller;
use crate::{plan, words};

/// What is kept of a release beside its contents.
#[derive(Clone, Copy)]
pub(super) struct Kept<'a> {
    /// Who made it.
    pub maker: &'a str,
    /// Why.
    pub note: &'a str,
    /// Who has approved it already.
    pub approver: Option<&'a str>,
}

impl<'a> Kept<'a> {
    fn of(request: &ChangeRequest<'a>) -> Self {
        Self {
            maker: &request.who.person,
            note: request.note,
            approver: None,
        }
    }
}

impl Releases {
    /// Make a document the current release. Fails if `expected` names another release than the current one.
    pub fn apply(
        &self,
        engine: &Engine,
        request: &ChangeRequest<'_>,
        document: SchemeDocument,
    ) -> Result<Applied, Refused> {
        self.change(engine, request, |_| Ok(document))
    }

    /// Replace the component of one rule of the current release.
    pub fn swap(
        &self,
        engine: &Engine,
        request: &ChangeRequest<'_>,
        rule: &str,
        digest: Digest,
    ) -> Result<Applied, Refused> {
        let note = with_words(format!("swap of the rule {rule}"), request.note);
        let request = ChangeRequest {
            note: &note,
            ..*request
        };
        self.change(engine, &request, |current| {
            let current = current.ok_or_else(|| Refused::NoRule(rule.to_owned()))?;
            with_rule(current, rule, digest)
        })
    }

    /// Change the current document. Changes run one at a time.
    fn change(
        &self,
        engine: &Engine,
        request: &ChangeRequest<'_>,
        make: impl FnOnce(Option<&SchemeDocument>) -> Result<SchemeDocument, Refused>,
    ) -> Result<Applied, Refused> {
        let mut current = self.current.lock();
        meant_for(request.expected, current.as_ref())?;
        let document = make(current.as_ref().map(|(_, document)| document))?;
        let changes = plan::changes(current.as_ref().map(|(_, d)| d), &document);
        if let Some((number, before)) = &*current
            && before.digest() == document.digest()
        {
            return Ok(Applied::unchanged(*number, &document));
        }
        self.nothing_is_scheduled()?;
        self.planned(current.as_ref())?;
        let before = current
            .as_ref()
            .map(|(number, document)| (*number, document));
        let later = self.later(request.dates)?;
        self.has_possible_dates(before.map(|(_, d)| d), &document, self.begins(later))?;
        if let Some(later) = later {
            let kept = Kept::of(request);
            let mut applied = self.schedule((&kept, request.who), before, &document, later)?;
            applied.changes = changes;
            return Ok(applied);
        }
        let (mut applied, release) = self.keep(&Kept::of(request), before, &document)?;
        applied.changes = changes;
        if !applied.needs_approval.is_empty() {
            return Ok(applied);
        }
        self.make_current(engine, &mut current, release, document, Some(request))?;
        let (number, digest) = (applied.number, &applied.digest);
        let ChangeRequest { who, note, .. } = request;
        tracing::info!(release = number, %digest, by = %who.person, note, "a release is current");
        Ok(applied)
    }

    /// Store a release that fits. Returns it, with the reasons why it needs a second person's approval, if it does.
    pub(super) fn keep(
        &self,
        kept: &Kept<'_>,
        before: Option<(u64, &SchemeDocument)>,
        document: &SchemeDocument,
    ) -> Result<(Applied, Arc<Release>), Refused> {
        let stored = self.store.releases().context("reading the releases")?;
        let number = stored.last().map_or(1, |last| last.number + 1);
        let release = Arc::new(self.prepare(number, document)?);
        let digest = release.digest.to_string();
        let needs_approval = match kept.approver {
            Some(_) => Vec::new(),
            None => self.needs_approval(before.map(|(_, d)| d), document),
        };
        let waits_on = (!needs_approval.is_empty()).then(|| before.map_or(0, |(number, _)| number));
        let fresh_counters = self.fresh_counters(&release);
        let applied = |number| Applied {
            calendar: self.calendar(document, self.clock.now().0),
            fresh_counters: fresh_counters.clone(),
            effective_from: None,
            number,
            digest: digest.clone(),
            changes: Vec::new(),
            needs_approval: needs_approval.clone(),
            unchanged: false,
            officers: 0,
        };
        // The same person asks for the same again, against the same current release. Each start of a host
        // without a release does this too.
        if let Some(last) = stored.last()
            && waits_on.is_some()
            && (last.waits_on, &*last.maker, &last.digest) == (waits_on, kept.maker, &digest)
        {
            return Ok((applied(last.number), release));
        }
        let json = serde_json::to_string(document).context("writing the release")?;
        self.store
            .add_release(&StoredRelease {
                number,
                digest: digest.clone(),
                document: json,
                created_at: self.clock.now(),
                note: beginning(kept.note),
                maker: kept.maker.to_owned(),
                approver: kept.approver.map(str::to_owned),
                waits_on,
            })
            .context("storing the release")?;
        if waits_on.is_some() {
            tracing::warn!(release = number, why = ?needs_approval, "a release waits for the approval of a second person: `rialto release approve {number} --as NAME`");
        }
        Ok((applied(number), release))
    }

    /// When a change begins; milliseconds since 1970.
    pub(super) fn begins(&self, later: Option<Later>) -> u64 {
        later.map_or_else(|| self.clock.now().0, |later| later.from)
    }

    /// Check the effective dates of a document that becomes current at an instant, and that nothing in it was held back.
    pub(super) fn has_possible_dates(
        &self,
        before: Option<&SchemeDocument>,
        after: &SchemeDocument,
        at: u64,
    ) -> Result<(), Refused> {
        let before = before.and_then(|before| before.scheme().ok());
        let document = after;
        let after = after.scheme().map_err(|problems| unfit(&problems))?;
        let mut problems = calendar::problems(before.as_deref(), &after, at);
        problems.extend(self.canaries.problems(&after, document));
        if problems.is_empty() {
            Ok(())
        } else {
            Err(Refused::Unfit(problems))
        }
    }

    /// Check that nothing in a document was held back as a canary.
    pub(super) fn was_not_held_back(&self, document: &SchemeDocument) -> Result<(), Refused> {
        let scheme = document.scheme().map_err(|problems| unfit(&problems))?;
        let problems = self.canaries.problems(&scheme, document);
        if problems.is_empty() {
            Ok(())
        } else {
            Err(Refused::Unfit(problems))
        }
    }

    /// The counters that begin with a prepared release, in words; empty for the first release.
    pub(super) fn fresh_counters(&self, release: &Release) -> Vec<String> {
        let current = self.runtime.current();
        let fresh = current.map(|current| release.fresh_counters(&current));
        let fresh = fresh.into_iter().flatten();
        fresh
            .map(
                |FreshCounter {
                     step,
                     rule,
                     counter,
                 }| {
                    let counter = words::counter(&counter);
                    format!("rule {rule} at {step}: the counter by {counter} starts at zero")
                },
            )
            .collect()
    }

    /// The calendar of a document after an instant; empty if it cannot be read.
    #[allow(clippy::unused_self, reason = "its callers ask the releases")]
    pub(super) fn calendar(&self, document: &SchemeDocument, after: u64) -> Vec<String> {
        let scheme = document.scheme();
        scheme.map_or_else(|_| Vec::new(), |scheme| calendar::ahead(&scheme, after))
    }

    /// Why a second person must approve a document that replaces another one.
    pub(super) fn needs_approval(
        &self,
        before: Option<&SchemeDocument>,
        after: &SchemeDocument,
    ) -> Vec<String> {
        let is_sandbox = |document: &SchemeDocument| {
            let scheme = document.scheme();
            scheme.is_ok_and(|scheme| scheme.authentication.sandbox().is_some())
        };
        let all_sandboxes = before.is_none_or(is_sandbox) && is_sandbox(after);
        let mut why = match self.operator.releases.second_person {
            SecondPerson::UnlessSandbox if all_sandboxes => Vec::new(),
            SecondPerson::UnlessSandbox | SecondPerson::Always => plan::brought_in(before, after),
            SecondPerson::EveryChange => {
                let mut why = plan::brought_in(before, after);
                if before.is_some() {
                    why.push("a change: every change needs a second person here".to_owned());
                }
                why
            }
        };
        // Otherwise one person could make the scheme a sandbox, and then bring in money alone.
        if before.is_some_and(|before| !is_sandbox(before)) && is_sandbox(after) {
            why.push("authentication: clients need no longer prove who they are".to_owned());
        } else if let Some(before) = before
            && let (Ok(before), Ok(after)) = (before.scheme(), after.scheme())
            && let Some(lost) = before.authentication.proves_beyond(&after.authentication)
        {
            why.push(format!(
                "authentication: clients need no longer prove who they are {lost}"
            ));
        }
        why
    }

    /// Approve a waiting release and make it current.
    ///
    /// # Errors
    /// When it does not wait, this person made it or is not named, or another release is current than when it was
    /// stored.
    pub fn approve(
        &self,
        engine: &Engine,
        by: &Caller,
        number: u64,
        note: &str,
        (expected, dates): (Option<u64>, Dates),
    ) -> Result<Applied, Refused> {
        let mut current = self.current.lock();
        meant_for(expected, current.as_ref())?;
        let stored = self.stored(number)?;
        let waits_on = stored.waits_on.ok_or(Refused::NotWaiting(number))?;
        if !by.is_named() {
            return Err(Refused::Unnamed(number));
        }
        if *stored.maker == *by.person {
            let maker = stored.maker;
            return Err(Refused::OwnRelease { number, maker });
        }
        meant_for(Some(waits_on), current.as_ref())?;
        self.nothing_is_scheduled()?;
        self.planned(current.as_ref())?;
        let document = self.read(&stored)?;
        self.was_not_held_back(&document)?;
        let later = self.later(dates)?;
        let changes = plan::changes(current.as_ref().map(|(_, d)| d), &document);
        let release = Arc::new(self.prepare(number, &document)?);
        let digest = release.digest.to_string();
        let calendar = self.calendar(&document, self.clock.now().0);
        let fresh_counters = self.fresh_counters(&release);
        self.store
            .approve_release(number, &by.person)
            .context("storing who approved the release")?;
        let who = Actor::from(by);
        if let Some(later) = later {
            let mut applied =
                self.schedule_kept(&who, current.as_ref(), release, &document, later)?;
            applied.changes = changes;
            return Ok(applied);
        }
        let request = ChangeRequest {
            who: &who,
            note,
            expected,
            dates: Dates::default(),
        };
        self.make_current(engine, &mut current, release, document, Some(&request))?;
        tracing::info!(release = number, %digest, maker = %stored.maker, approver = %by.person, "a release is current");
        Ok(Applied {
            calendar,
            fresh_counters,
            effective_from: None,
            number,
            digest,
            changes,
            needs_approval: Vec::new(),
            unchanged: false,
            officers: 0,
        })
    }

    /// The result of `apply`, without doing it.
    pub fn plan(&self, document: &SchemeDocument, dates: Dates) -> Result<Applied, Refused> {
        let current = self.current();
        if let Some((number, before)) = &current
            && before.digest() == document.digest()
        {
            return Ok(Applied::unchanged(*number, document));
        }
        let changes = plan::changes(current.as_ref().map(|(_, d)| d), document);
        let stored = self.store.releases().context("reading the releases")?;
        let number = stored.last().map_or(1, |last| last.number + 1);
        let release = self.prepare(number, document)?;
        let later = self.later(dates)?;
        self.nothing_is_scheduled()?;
        let begins = self.begins(later);
        self.has_possible_dates(current.as_ref().map(|(_, d)| d), document, begins)?;
        let needs_approval = self.needs_approval(current.as_ref().map(|(_, d)| d), document);
        let calendar = match later {
            None => self.calendar(document, begins),
            Some(later) => self.calendar_planned(document, later, number),
        };
        let fresh_counters = self.fresh_counters(&release);
        Ok(Applied {
            calendar,
            fresh_counters,
            effective_from: later.map(|later| later.from),
            number,
            digest: release.digest.to_string(),
            changes,
            needs_approval,
            unchanged: false,
            officers: self.officers.needed(),
        })
    }

    /// Make a kept release current again. Fails if `expected` names another release than the current one. If it needs a
    /// second person, a copy of it becomes a new release, which waits.
    pub fn rollback(
        &self,
        engine: &Engine,
        request: &ChangeRequest<'_>,
        number: u64,
    ) -> Result<Applied, Refused> {
        let mut current = self.current.lock();
        let stored = self.stored(number)?;
        let document = self.read(&stored)?;
        meant_for(request.expected, current.as_ref())?;
        if let Some((now, _)) = &*current
            && *now == number
        {
            return Ok(Applied::unchanged(number, &document));
        }
        if stored.waits_on.is_some() {
            return Err(Refused::Waits(number));
        }
        self.planned_rollback(current.as_ref(), number)?;
        self.was_not_held_back(&document)?;
        let changes = plan::changes(current.as_ref().map(|(_, d)| d), &document);
        let before = current
            .as_ref()
            .map(|(number, document)| (*number, document));
        // With officers, who have approved that release, nobody else has to.
        if self.officers.needed() == 0
            && !self
                .needs_approval(before.map(|(_, d)| d), &document)
                .is_empty()
        {
            let note = with_words(format!("release {number} again"), request.note);
            let kept = Kept {
                note: &note,
                ..Kept::of(request)
            };
            let (mut waiting, _) = self.keep(&kept, before, &document)?;
            waiting.changes = changes;
            return Ok(waiting);
        }
        let release = Arc::new(self.prepare(number, &document)?);
        let digest = release.digest.to_string();
        let calendar = self.calendar(&document, self.clock.now().0);
        let fresh_counters = self.fresh_counters(&release);
        // What is scheduled was planned against the release that is taken back.
        self.runtime.expect(None);
        let made = self.make_current(engine, &mut current, release, document, Some(request));
        if made.is_err() {
            self.expect_next()?;
        }
        made?;
        let ChangeRequest { who, note, .. } = request;
        self.withdraw_from(0, who)?;
        tracing::warn!(release = number, by = %who.person, note, "an earlier release was made current again");
        Ok(Applied {
            calendar,
            fresh_counters,
            effective_from: None,
            number,
            digest,
            changes,
            needs_approval: Vec::new(),
            unchanged: false,
            officers: 0,
        })
    }
}

/// The note of an action, followed by the operator's words if there are any.
fn with_words(what: String, note: &str) -> String {
    if note.is_empty() {
        what
    } else {
        format!("{what}: {note}")
    }
}

/// Check that the expected release is current.
pub(super) fn meant_for(
    expected: Option<u64>,
    current: Option<&(u64, SchemeDocument)>,
) -> Result<(), Refused> {
    let current = current.map_or(0, |(number, _)| *number);
    match expected {
        Some(expected) if expected != current => Err(Refused::Moved { expected, current }),
        _ => Ok(()),
    }
}

/// A document with another component of one rule.
///
/// # Errors
/// When the document has no such rule.
pub fn with_rule(
    current: &SchemeDocument,
    rule: &str,
    digest: Digest,
) -> Result<SchemeDocument, Refused> {
    let no_rule = || Refused::NoRule(rule.to_owned());
    let mut digests = current.digests().clone();
    let old = digests.get(ComponentKind::Rule, rule).ok_or_else(no_rule)?;
    let new: rialto_manifest::values::Digest = digest
        .to_string()
        .parse()
        .map_err(|e| anyhow::anyhow!("the digest {digest}: {e}"))?;
    let name = rule.parse().map_err(|_| no_rule())?;
    digests.insert(ComponentKind::Rule, name, new);
    // If scheme.toml pins the rule's digest, the pin changes too.
    let text = current.text().replace(&old.to_string(), &new.to_string());
    Ok(SchemeDocument::new(text, digests))
}
