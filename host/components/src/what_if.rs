//! What the rules of a step would say about a draft: without a stored receipt, without a trace in the history, and for
//! everybody who may know it. The rules that judge are those that would judge the request itself ([`crate::judges`]).
//!
//! | Rule | What happens |
//! | --- | --- |
//! | in force | it judges with its settings and limits, and what it says is told |
//! | confidential, in its release or in the current one | it is neither asked nor told, so that nobody can probe it |
//! | suspended | it is neither asked nor told: it decides about nothing now |
//! | in quarantine | an operator is told what it says; a component is not |
//! | it needs counters | it judges if the draft has their values. Without them an operator is told so, and a component is told nothing of the rule |
//! | a candidate, in a shadow or as a canary | it is not asked: the rule in force is |
//!
//! Each verdict has a receipt that is marked: `whatIf` is one of its fields, under its hash, and `decided` is false. It is
//! given to who asks, and kept nowhere, so that a draft neither fills the store nor counts in a backtest, in a shadow or in
//! the coverage of rules.
//!
//! Drafts of components are bounded by asker and minute, because each costs as much as a verdict.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use rialto_engine::{Name, Timestamp};
use rialto_receipts::{Malformed, ProofFile, WhatIfReceipt};
use serde_json::Value;
use serde_json::value::RawValue;
use wasmtime::component::Val;

use crate::guest::Active;
use crate::judges::{Agreed, AgreedUnder, Judge, Judges};
use crate::release::{BoundRule, Member, Release};
use crate::rules::{Outcome, Receipt, Used, Violation, refuse, salted};
use crate::steps::Unjudgeable;
use crate::values::Json;

/// What a component's asker is not told with a receipt: what others have done, and by what an input could be guessed.
const UNTOLD: [&str; 3] = ["input.counts", "fuelLimit", "memoryLimit"];

const MINUTE_MS: u64 = 60_000;
/// The askers of a minute that are counted. Further ones wait for the next minute.
const ASKERS_MAX: usize = 10_000;

/// How many drafts each asker has had judged in this minute.
#[derive(Debug, Default)]
pub(crate) struct Drafts {
    minute: Mutex<(u64, BTreeMap<String, u32>)>,
}

impl Drafts {
    /// Count a draft at an instant, in milliseconds since 1970.
    ///
    /// # Errors
    /// After how many seconds the asker may ask again, if the minute's share is used up.
    pub(crate) fn count(&self, asker: &str, per_minute: u32, now: u64) -> Result<(), u32> {
        let number = now / MINUTE_MS;
        let mut minute = self.minute.lock();
        if minute.0 != number {
            *minute = (number, BTreeMap::new());
        }
        let left_ms = MINUTE_MS - now % MINUTE_MS;
        let again = u32::try_from(left_ms.div_ceil(1_000)).unwrap_or(1);
        let askers = &mut minute.1;
        if askers.len() >= ASKERS_MAX && !askers.contains_key(asker) {
            return Err(again);
        }
        let asked = askers.entry(asker.to_owned()).or_default();
        if *asked >= per_minute {
            return Err(again);
        }
        *asked += 1;
        Ok(())
    }
}

/// What a rule says about a draft.
#[derive(Debug, Clone)]
pub struct ToldVerdict {
    /// The rule, by its name in the scheme.
    pub rule: Name,
    /// Its own version.
    pub version: String,
    /// What it says of itself.
    pub summary: String,
    /// Its settings at the step, a JSON object.
    pub settings: Arc<str>,
    /// The scheme's facts as it has read them, a JSON object.
    pub scheme: Arc<str>,
    /// Why it refuses; empty if it does not, or its last good release decides. None if there is no verdict now.
    pub violations: Option<Vec<Violation>>,
    /// Its receipt, which decides nothing. Otherwise why there is no verdict now.
    pub receipt: Result<Receipt, String>,
}

/// What the rules of a step say about a draft.
#[derive(Debug, Default)]
pub struct Drafted {
    /// The verdicts, in the order in which the rules are asked, up to the first refusal, or the first rule without a verdict.
    pub verdicts: Vec<ToldVerdict>,
    /// How many rules are confidential, and were not asked.
    pub left_out: usize,
    /// Rules that are suspended, and were not asked.
    pub suspended: Vec<Name>,
}

/// A draft at a step.
#[derive(Debug, Clone, Copy)]
pub struct Draft<'d> {
    /// The step.
    pub step: &'d str,
    /// What it is about.
    pub subject: &'d str,
    /// The step's input as JSON, as receipts have it.
    pub input: &'d Value,
    /// Under which rules it was agreed that it may come, if it was.
    pub agreed: Option<Agreed>,
    /// The instant, in milliseconds since 1970.
    pub now: u64,
}

/// Ask the rules about a draft, outside of any turn. Nothing is kept. `salt` gives random bytes.
///
/// # Errors
/// When the input is not of the step's type, or does not have a counter that a rule needs.
pub fn judge(
    current: &Arc<Release>,
    draft: &Draft<'_>,
    salt: &dyn Fn(&mut [u8]),
) -> Result<Drafted, Unjudgeable> {
    let Draft {
        step,
        subject,
        input,
        agreed,
        now,
    } = *draft;
    let raw = serde_json::value::to_raw_value(input);
    let raw = raw.map_err(|_| crate::stored::no_input())?;
    let judges = Judges::of(current, agreed, now);
    let asking = Asking {
        current,
        about: (step, subject, &raw),
        now,
        salt,
    };
    asking.all(&judges, |member, bound| {
        let params = member.stored_params(bound, subject, input)?;
        Ok(Some(params.to_vec()))
    })
}

/// Ask the rules of a step about a component's draft. Returns a `verdict`, and remembers what each rule says.
///
/// # Errors
/// When the arguments are none of a step's.
pub(crate) fn ask(active: &mut Active, step: &Name, params: &[Val]) -> wasmtime::Result<Val> {
    let now = active.turn.now().0;
    let [Val::String(subject), input] = params else {
        return Err(wasmtime::format_err!(
            "`{step}.check` takes a subject and an input"
        ));
    };
    let raw = serde_json::value::to_raw_value(&Json(input))?;
    let judges = Judges::of(&active.release, active.agreed, now);
    let asking = Asking {
        current: &active.release,
        about: (step, subject, &raw),
        now,
        salt: &|bytes| active.turn.salt(bytes),
    };
    let drafted = asking.all(&judges, |_, bound| {
        let is_held = bound.quarantine.as_ref().is_some_and(|one| one.holds(now));
        let is_asked = !is_held && bound.is_given_all(params);
        Ok(is_asked.then(|| bound.takes(params).into_owned()))
    })?;
    let mut told = drafted.verdicts;
    // What a last good release says stands in the place of the failure.
    told.retain(|one| {
        let verdict = one.receipt.as_ref().map(|receipt| &receipt.verdict);
        !verdict.is_ok_and(Outcome::leaves_it_to_last_good)
    });
    let last = told.last().and_then(|one| one.violations.as_ref());
    let verdict = match last {
        Some(violations) if !violations.is_empty() => refuse(violations),
        _ => Val::Variant("allow".into(), None),
    };
    if let Some(all) = &mut active.what_if {
        all.extend(told);
    }
    Ok(verdict)
}

/// The receipts of verdicts about drafts, in the form of a file of receipts, for who asked by a component. It has no settings
/// and no facts of the scheme, and no counters, which are of other requests too.
///
/// # Errors
/// When a receipt cannot be written down.
pub(crate) fn told_receipts(told: &[ToldVerdict], now: Timestamp) -> Result<String, Malformed> {
    let mut file = file(told, now)?;
    file.settings.clear();
    file.schemes.clear();
    file.redact(&UNTOLD.map(str::to_owned));
    Ok(serde_json::to_string(&file)?)
}

/// The receipts of verdicts about drafts with all that is needed to ask their rules again: a file that
/// `rialto receipts verify` reads.
///
/// # Errors
/// When a receipt cannot be written down.
pub fn file(told: &[ToldVerdict], now: Timestamp) -> Result<ProofFile, Malformed> {
    let mut file = ProofFile::default();
    for one in told {
        let Ok(receipt) = &one.receipt else {
            continue;
        };
        let body = serde_json::to_string(receipt)?;
        file.what_ifs.push(WhatIfReceipt::of(&body, now.0)?);
        let raw = |text: &str| RawValue::from_string(text.to_owned());
        file.settings
            .insert(receipt.settings_digest.to_string(), raw(&one.settings)?);
        if let Some(digest) = receipt.scheme_digest {
            file.schemes.insert(digest.to_string(), raw(&one.scheme)?);
        }
    }
    Ok(file)
}

/// How a rule is asked: its parameters, or none if it is not asked.
type Params = Result<Option<Vec<Val>>, Unjudgeable>;

/// Who is asked about what.
struct Asking<'a> {
    current: &'a Release,
    /// Step, subject and input.
    about: (&'a str, &'a str, &'a RawValue),
    now: u64,
    salt: &'a dyn Fn(&mut [u8]),
}

impl Asking<'_> {
    /// What the rules say, until one refuses or has no verdict.
    fn all(
        &self,
        judges: &Judges,
        params: impl Fn(&Member, &BoundRule) -> Params,
    ) -> Result<Drafted, Unjudgeable> {
        let mut drafted = Drafted::default();
        let mut is_over = false;
        let mut queue = judges.queue(self.about.0);
        while let Some(judge) = queue.next() {
            let name = &judge.bound.identity.name;
            if self.is_confidential(judge.bound) {
                drafted.left_out += 1;
            } else if judge.release.suspends(name, self.now) {
                drafted.suspended.push(name.clone());
            } else if !is_over {
                is_over = self.one(&judge, &params, &mut drafted.verdicts)?;
            }
        }
        Ok(drafted)
    }

    /// Ask one rule, and its last good release if its failure says so. Returns whether the step ends with it.
    fn one(
        &self,
        judge: &Judge<'_>,
        params: &impl Fn(&Member, &BoundRule) -> Params,
        verdicts: &mut Vec<ToldVerdict>,
    ) -> Result<bool, Unjudgeable> {
        let (release, bound) = (judge.release, judge.bound);
        let member = &release.members[bound.member];
        let Some(own) = params(member, bound)? else {
            return Ok(false);
        };
        let told = self.told((release, bound), &own, judge.agreed.as_ref(), None);
        let verdict = told.receipt.as_ref().ok().map(|one| one.verdict.clone());
        let mut is_over = is_end(&told);
        verdicts.push(told);
        let earlier = verdict.and_then(|verdict| bound.last_good_after(&verdict));
        if let Some(earlier) = earlier.filter(|one| !self.is_confidential(one.bound))
            && let Some(own) = params(earlier.member, earlier.bound)?
        {
            let by = (earlier.release, earlier.bound);
            let told = self.told(by, &own, judge.agreed.as_ref(), Some(release.number));
            is_over = is_end(&told);
            verdicts.push(told);
        }
        Ok(is_over)
    }

    fn told(
        &self,
        (release, bound): (&Release, &BoundRule),
        params: &[Val],
        agreed: Option<&AgreedUnder>,
        last_good_for: Option<u64>,
    ) -> ToldVerdict {
        let member = &release.members[bound.member];
        let judged = member.judge(&bound.identity, bound.export, params);
        let said = member.description.as_ref();
        let outcome = bound.outcome(judged.outcome);
        let violations = outcome.as_ref().ok();
        let violations = violations.map(|one| bound.refusal(one).unwrap_or_default());
        let used = Used {
            fuel: judged.fuel,
            branches: judged.branches,
            ..Used::default()
        };
        let receipt = outcome.map_err(|(_, reason)| reason);
        let receipt = receipt.map(|outcome| Receipt {
            decided: Some(false),
            what_if: true,
            last_good_for,
            agreed: agreed.cloned(),
            salt: salted(true, self.salt),
            ..Receipt::of((release, bound), self.about, outcome, used)
        });
        ToldVerdict {
            rule: bound.identity.name.clone(),
            version: said.map(|said| said.version.clone()).unwrap_or_default(),
            summary: said.map(|said| said.summary.clone()).unwrap_or_default(),
            settings: bound.identity.settings.clone(),
            scheme: bound.identity.scheme.clone(),
            violations,
            receipt,
        }
    }

    /// Whether clients are told nothing of a rule, by its own release or by the current one.
    fn is_confidential(&self, bound: &BoundRule) -> bool {
        let mut now = self.current.steps.values().flatten();
        let name = &bound.identity.name;
        bound.confidential || now.any(|one| one.confidential && one.identity.name == *name)
    }
}

/// Whether the step ends with a verdict: it refuses, or there is none.
fn is_end(told: &ToldVerdict) -> bool {
    told.violations.as_ref().is_none_or(|all| !all.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drafts_are_bounded_by_asker_and_minute() {
        let drafts = Drafts::default();
        let at = 5 * MINUTE_MS + 59_000;
        for _ in 0..3 {
            assert_eq!(drafts.count("a", 3, at), Ok(()));
        }
        assert_eq!(drafts.count("a", 3, at), Err(1));
        assert_eq!(drafts.count("a", 3, 5 * MINUTE_MS), Err(60));
        assert_eq!(drafts.count("b", 3, at), Ok(()));
        assert_eq!(drafts.count("a", 3, at + 1_000), Ok(()));
    }

    #[test]
    fn askers_beyond_the_bound_wait_for_the_next_minute() {
        let drafts = Drafts::default();
        for asker in 0..ASKERS_MAX {
            assert_eq!(drafts.count(&asker.to_string(), 1, 0), Ok(()));
        }
        assert_eq!(drafts.count("one more", 1, 0), Err(60));
        assert_eq!(drafts.count("one more", 1, MINUTE_MS), Ok(()));
    }
}
