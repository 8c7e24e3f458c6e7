//! Asks the rules of a step, and keeps a receipt of each verdict.
//!
//! The rules of a step are asked in the release's order until one refuses. Each runs in a fresh instance with
//! the step's settings and the rule's limits. Each verdict, also of a failure, is staged as a receipt in the
//! turn that asked.
//!
//! | What happens | Outcome |
//! | --- | --- |
//! | the rule allows or refuses | that verdict |
//! | the rule fails: traps, uses up fuel or memory, or gives a code that it does not declare | what the release says of this kind of failure: refuse, allow, allow and flag, or ask the rule of its [last good release](crate::last_good) |
//! | the clock stops the rule, or the host has no instance for it | no verdict; the turn fails and is retried |
//! | the rule is in [quarantine](crate::quarantine) | it is not asked; what the release says of its last kind of failure |
//!
//! A rule that is not effective at the turn's instant, or is suspended then, is not asked. It allows, and leaves no
//! receipt; the history has that it was suspended.
//!
//! A canary is asked in the place of its rule about some requests. If it fails, the rule is asked: no request is refused
//! because of a canary's failure.
//!
//! The second last row is different because a verdict must be reproducible: the same bytes on the same input must
//! give the same verdict.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::Arc;

use rialto_engine::Name;
use rialto_engine::history::Step;
use serde_json::value::RawValue;
use wasmtime::component::Val;

use crate::guest::{Active, Guest};
use crate::instance::CallFailed;
use crate::judges::{AgreedUnder, Judge, Judges};
use crate::quarantine::{Admission, Asking, QUARANTINED};
use crate::release::{BoundCanary, BoundRule, Release};
use crate::rules::{CanaryOf, NoVerdict, Outcome, Receipt, Used, refuse, salted};
use crate::values::Json;
use crate::verdict_counts::CountedRule;
use crate::what_if;

/// What the history has in the place of a verdict of a rule that is suspended.
pub const SUSPENDED: &str = "suspended";

/// Ask all rules of a step. Returns a `verdict`.
///
/// # Errors
/// When there is no turn, or the input cannot be written down.
pub(crate) fn ask(guest: &mut Guest, step: &Name, params: &[Val]) -> wasmtime::Result<Val> {
    guest.turn()?;
    let Some(active) = &mut guest.active else {
        return Err(wasmtime::format_err!("there is no turn"));
    };
    if active.what_if.is_some() {
        return what_if::ask(active, step, params);
    }
    let now = active.turn.now().0;
    let judges = Judges::of(&active.release, active.agreed, now);
    let mut queue = judges.queue(step);
    if queue.is_empty() {
        return Ok(allow());
    }
    let [Val::String(subject), input] = params else {
        return Err(wasmtime::format_err!(
            "`{step}.check` takes a subject and an input"
        ));
    };
    let json = serde_json::value::to_raw_value(&Json(input))?;
    let about = About {
        step,
        subject,
        input: &json,
        params,
        taken: OnceCell::new(),
    };
    while let Some(judge) = queue.next() {
        let name = &judge.bound.identity.name;
        if judge.release.suspends(name, now) {
            active.turn.note(Step::Judged {
                step: step.clone(),
                rule: name.clone(),
                verdict: SUSPENDED.into(),
                took_us: 0,
            })?;
            continue;
        }
        let said = match canary(&judge, &json, now) {
            Some(canary) => by_canary(active, &judge, canary, &about)?,
            None => None,
        };
        let refusal = match said {
            Some(said) => said,
            None => by_rule(active, &judge, &about)?,
        };
        if let Some(refusal) = refusal {
            return Ok(refusal);
        }
    }
    Ok(allow())
}

/// The counters that the rules of a step need, as far as they may judge what is asked next, without repeats.
///
/// # Errors
/// When there is no turn.
pub(crate) fn counters(guest: &mut Guest, step: &Name) -> wasmtime::Result<Val> {
    guest.turn()?;
    let Some(active) = &mut guest.active else {
        return Err(wasmtime::format_err!("there is no turn"));
    };
    let now = active.turn.now().0;
    let judges = Judges::of(&active.release, active.agreed, now);
    Ok(Val::List(judges.counters(step)))
}

/// What rules are asked about.
struct About<'a> {
    step: &'a Name,
    subject: &'a str,
    input: &'a RawValue,
    params: &'a [Val],
    /// As the first rule that does not take all of it does. Rules of one older version share it.
    taken: OnceCell<(Arc<[Name]>, Vec<Val>)>,
}

impl About<'_> {
    /// The parameters as a rule takes them.
    fn params(&self, bound: &BoundRule) -> Cow<'_, [Val]> {
        if bound.takes_all(self.params) {
            return Cow::Borrowed(self.params);
        }
        let own = || bound.takes(self.params);
        let (members, taken) = self
            .taken
            .get_or_init(|| (bound.members.clone(), own().into_owned()));
        if *members == bound.members {
            Cow::Borrowed(taken)
        } else {
            own()
        }
    }
}

/// The canary that decides about a request in the place of a rule, if one does.
fn canary<'j>(judge: &Judge<'j>, input: &RawValue, now: u64) -> Option<&'j BoundCanary> {
    let release = judge.release;
    let canary = judge.bound.canary.as_deref()?;
    let is_asked = !release.suspends(&canary.bound.identity.name, now)
        && release.canaries.decides(canary, input.get());
    is_asked.then_some(canary)
}

/// Ask a canary. Returns the refusal, or that the request may continue; none if it failed, and the rule is to be asked.
fn by_canary(
    active: &mut Active,
    judge: &Judge<'_>,
    canary: &BoundCanary,
    about: &About<'_>,
) -> wasmtime::Result<Option<Option<Val>>> {
    let release = judge.release;
    let asked = Asked {
        bound: &canary.bound,
        canary: Some(&judge.bound.identity.name),
        last_good_for: None,
        agreed: judge.agreed.as_ref(),
    };
    Ok(match judged(active, release, &asked, about, None)? {
        Outcome::Failed { reason, .. } => {
            release.canaries.failed(canary, &reason);
            None
        }
        decided => {
            release.canaries.decided(canary);
            Some(verdict(&decided, &canary.bound))
        }
    })
}

/// Ask a rule, and its last good release if its failure says so. Returns the refusal; none if the request may continue.
fn by_rule(
    active: &mut Active,
    judge: &Judge<'_>,
    about: &About<'_>,
) -> wasmtime::Result<Option<Val>> {
    let Judge {
        release,
        bound,
        agreed,
    } = judge;
    let asked = Asked {
        bound,
        canary: None,
        last_good_for: None,
        agreed: agreed.as_ref(),
    };
    let outcome = admitted(active, release, &asked, about)?;
    let Some(earlier) = bound.last_good_after(&outcome) else {
        return Ok(verdict(&outcome, bound));
    };
    let asked = Asked {
        bound: earlier.bound,
        last_good_for: Some(release.number),
        ..asked
    };
    let outcome = judged(active, earlier.release, &asked, about, None)?;
    Ok(verdict(&outcome, earlier.bound))
}

/// Who is asked at a step.
struct Asked<'a> {
    /// The rule at the step, or its canary.
    bound: &'a BoundRule,
    /// Of a canary, the rule in whose place it decides.
    canary: Option<&'a Name>,
    /// The release whose rule has failed, if it is asked as the last good one.
    last_good_for: Option<u64>,
    /// Of what was agreed under another release.
    agreed: Option<&'a AgreedUnder>,
}

/// Ask one rule unless it is in quarantine, and keep a receipt of its outcome in both cases.
fn admitted(
    active: &mut Active,
    release: &Release,
    asked: &Asked<'_>,
    about: &About<'_>,
) -> wasmtime::Result<Outcome> {
    let now = active.turn.now().0;
    let asking = match asked.bound.quarantine.as_ref().map(|one| one.admit(now)) {
        None => None,
        Some(Admission::Asked(asking)) => Some(asking),
        Some(Admission::Held(quarantine)) => {
            let outcome = asked.bound.failed(quarantine.kind, quarantine.why());
            let used = Used {
                quarantined: true,
                ..Used::default()
            };
            keep_receipt(active, release, asked, about, &outcome, used)?;
            return Ok(outcome);
        }
    };
    judged(active, release, asked, about, asking)
}

/// Ask one rule, and keep a receipt of its outcome.
fn judged(
    active: &mut Active,
    release: &Release,
    asked: &Asked<'_>,
    about: &About<'_>,
    asking: Option<Asking<'_>>,
) -> wasmtime::Result<Outcome> {
    let bound = asked.bound;
    let member = &release.members[bound.member];
    let started_us = active.turn.monotonic_us();
    let judgement = member.judge(&bound.identity, bound.export, &about.params(bound));
    let took_us = active.turn.monotonic_us().saturating_sub(started_us);
    if let Some(asking) = asking {
        let now = active.turn.now().0;
        match &judgement.outcome {
            Ok(_) => asking.succeeded(now),
            Err(NoVerdict::Failed(kind, reason) | NoVerdict::Prevented(kind, reason)) => {
                asking.failed((*kind, bound.failing), (reason, about.subject), now);
            }
        }
    }
    let outcome = match bound.outcome(judgement.outcome) {
        Ok(outcome) => outcome,
        // The clock is no reason that can be had again, so there is no receipt. The rule decides.
        Err((kind, reason)) if asked.canary.is_some() => return Ok(bound.failed(kind, reason)),
        Err((_, reason)) => {
            let component = member.identity.name.clone();
            return Err(CallFailed { component, reason }.into());
        }
    };
    if let Outcome::Failed { reason, .. } = &outcome {
        let step = about.step;
        tracing::warn!(%step, rule = %member.identity.name, %reason, "a rule failed");
    }
    let used = Used {
        fuel: judgement.fuel,
        took_us,
        branches: judgement.branches,
        quarantined: false,
    };
    keep_receipt(active, release, asked, about, &outcome, used)?;
    Ok(outcome)
}

/// The refusal that an outcome means; none if the request may continue.
fn verdict(outcome: &Outcome, bound: &BoundRule) -> Option<Val> {
    bound.refusal(outcome).map(|violations| refuse(&violations))
}

fn keep_receipt(
    active: &mut Active,
    release: &Release,
    asked: &Asked<'_>,
    about: &About<'_>,
    outcome: &Outcome,
    used: Used,
) -> wasmtime::Result<()> {
    let (took_us, quarantined) = (used.took_us, used.quarantined);
    let step = about.step;
    // The failure of a canary decides nothing: the rule in whose place it was asked does.
    let is_void = asked.canary.is_some() && matches!(outcome, Outcome::Failed { .. });
    if !quarantined {
        let member = &release.members[asked.bound.member];
        let rule = CountedRule {
            step: step.clone(),
            rule: member.identity.name.clone(),
            digest: member.digest,
        };
        let at = active.turn.now().0;
        release.verdicts.count(&rule, outcome, used.fuel, at);
    }
    let question = (&**step, about.subject, about.input);
    let receipt = Receipt {
        decided: Some(!is_void && !outcome.leaves_it_to_last_good()),
        canary: asked.canary.map(|rule| CanaryOf {
            rule: rule.clone(),
            is_void,
        }),
        last_good_for: asked.last_good_for,
        agreed: asked.agreed.cloned(),
        salt: salted(active.turn.logs_receipts(), |bytes| active.turn.salt(bytes)),
        ..Receipt::of((release, asked.bound), question, outcome.clone(), used)
    };
    let (body, hash) = receipt.written(active.turn.now())?;
    active.turn.receipt(about.subject, body, hash)?;
    let verdict = if quarantined {
        format!("{QUARANTINED}, {}", outcome.short())
    } else if receipt.last_good_for.is_some() {
        format!("last good release {}: {}", release.number, outcome.short())
    } else {
        outcome.short()
    };
    active.turn.note(Step::Judged {
        step: step.clone(),
        rule: receipt.rule.clone(),
        verdict,
        took_us: u32::try_from(took_us).unwrap_or(u32::MAX),
    })?;
    Ok(())
}

fn allow() -> Val {
    Val::Variant("allow".into(), None)
}
