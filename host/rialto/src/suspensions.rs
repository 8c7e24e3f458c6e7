//! Suspensions: in an emergency one person takes a rule out of force at once, and another person confirms it.
//!
//! | State | What happens | Next state |
//! | --- | --- | --- |
//! | (in force) | an admin suspends the rule | suspended until the time of `[releases]` is over |
//! | suspended | another person confirms it | confirmed |
//! | suspended | the time is over | in force again; that person suspends nothing for a day |
//! | suspended | somebody ends it | in force again; that person suspends nothing for a day |
//! | confirmed | somebody ends it | in force again |
//!
//! Operators are told of each state ([`crate::rule_states`]), and each has an entry of the audit log: of what somebody does,
//! and of the lapse, which is the host's.
//!
//! A rule that is suspended is not asked, and so allows, at every step and whatever release is current. That holds for a
//! canary too: then the rule in whose place it decides is asked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use rialto_components::{Release, Runtime};
use rialto_engine::store::StoreError;
use rialto_engine::{Clock, Timestamp};
use rialto_store::{Act, HostStore, Outcome as AuditOutcome, StoredSuspension};
use serde::{Deserialize, Serialize};

use crate::audit::{Audit, AuditedAction, beginning};
use crate::operators::Caller;
use crate::rule_states::{RECALLED_MS, RuleState, RuleStates};
use crate::words;

/// The last suspensions that are read beside those in force.
const READ_MAX: u32 = 1_000;
/// The pause after the store could not be read; milliseconds.
const AGAIN: u64 = 5_000;
/// How long a person suspends nothing after nobody has confirmed a suspension of theirs; milliseconds.
const PAUSE: u64 = 24 * 3_600_000;

/// The state of a suspension that nobody has confirmed in time.
const LAPSED: &str = "LAPSED";

/// A suspension as the operators' API shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownSuspension {
    /// Its number.
    pub id: u64,
    /// The rule's name in the scheme.
    pub rule: String,
    /// `SUSPENDED`, `CONFIRMED`, `LAPSED` if nobody confirmed it in time, or `ENDED`.
    pub state: String,
    /// Who has suspended it.
    pub person: String,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// When; milliseconds since 1970.
    pub at: u64,
    /// When it ends unless it is confirmed.
    pub until: u64,
    /// Who has confirmed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed_by: Option<String>,
    /// Who has ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<String>,
}

/// Why a suspension was not made, confirmed or ended.
#[derive(Debug, thiserror::Error)]
pub enum NotSuspended {
    /// The current release asks no rule of this name.
    #[error("the current release has no rule `{0}` at a step, and no canary of this name")]
    NoRule(String),
    /// The rule is suspended already.
    #[error("the rule {0} is suspended already: `rialto rule suspensions`")]
    Already(String),
    /// Nobody has confirmed the person's last one.
    #[error(
        "nobody has confirmed the suspension of the rule {rule} by {person}, who suspends nothing until {}: somebody else can",
        words::instant(*.until)
    )]
    Unconfirmed {
        /// Who.
        person: String,
        /// The rule that was suspended.
        rule: String,
        /// Until when.
        until: u64,
    },
    /// There is no suspension of this number that is in force.
    #[error("no suspension {0} is in force: `rialto rule suspensions` shows those that there are")]
    Unknown(u64),
    /// The same person.
    #[error("{0} has suspended the rule: somebody else must confirm it")]
    Own(String),
    /// The person has no name in rialto.toml.
    #[error(
        "nobody is named who could confirm it: name people in rialto.toml (`[operators.NAME]`), and start the host again"
    )]
    Unnamed,
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The suspensions of a host.
pub struct Suspended {
    store: Arc<dyn HostStore>,
    runtime: Arc<Runtime>,
    clock: Arc<dyn Clock>,
    /// How long one without confirmation lasts; milliseconds.
    life: u64,
    /// One change at a time.
    changing: Mutex<()>,
    telling: Mutex<Telling>,
}

/// Which states operators were told since the host's start.
#[derive(Default)]
struct Telling {
    told: BTreeSet<(u64, &'static str)>,
    /// When there may be a new one; milliseconds since 1970.
    next: u64,
}

impl Suspended {
    /// The suspensions of a store, which are in force from now on.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn open(
        store: Arc<dyn HostStore>,
        runtime: Arc<Runtime>,
        clock: Arc<dyn Clock>,
        life: u64,
    ) -> Result<Self, StoreError> {
        let suspended = Self {
            store,
            runtime,
            clock,
            life,
            changing: Mutex::default(),
            telling: Mutex::default(),
        };
        suspended.tell_runtime()?;
        Ok(suspended)
    }

    /// All of them, those that nobody has ended first, the newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn list(&self) -> Result<Vec<ShownSuspension>, StoreError> {
        let now = self.clock.now().0;
        let all = self.read(now)?;
        Ok(all.into_iter().map(|one| shown(one, now)).collect())
    }

    /// How many rules are suspended now.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn count(&self) -> Result<usize, StoreError> {
        let now = self.clock.now().0;
        let all = self.read(now)?;
        Ok(all.iter().filter(|one| is_in_force(one, now)).count())
    }

    /// Suspend a rule of the current release.
    ///
    /// # Errors
    /// When it cannot be suspended, or not by this person now.
    pub fn suspend(
        &self,
        by: &Caller,
        rule: &str,
        note: &str,
    ) -> Result<ShownSuspension, NotSuspended> {
        let _one = self.changing.lock();
        let release = self.runtime.current();
        if !release.is_some_and(|release| is_asked(&release, rule)) {
            return Err(NotSuspended::NoRule(rule.to_owned()));
        }
        let now = self.clock.now().0;
        let all = self.read(now)?;
        if all
            .iter()
            .any(|one| one.rule == rule && is_in_force(one, now))
        {
            return Err(NotSuspended::Already(rule.to_owned()));
        }
        // Otherwise one person could suspend a rule for ever, again and again.
        let unconfirmed = all.iter().find(|one| {
            let is_over = one.confirmed.is_none() && !is_in_force(one, now);
            one.person == *by.person && is_over && now < one.until.0.saturating_add(PAUSE)
        });
        if let Some(one) = unconfirmed {
            return Err(NotSuspended::Unconfirmed {
                person: one.person.clone(),
                rule: one.rule.clone(),
                until: one.until.0.saturating_add(PAUSE),
            });
        }
        self.store.add_suspension(&StoredSuspension {
            id: 0,
            rule: rule.to_owned(),
            person: by.person.to_string(),
            note: beginning(note),
            at: Timestamp(now),
            until: Timestamp(now.saturating_add(self.life)),
            confirmed: None,
            ended: None,
        })?;
        self.tell_runtime()?;
        let until = words::instant(now.saturating_add(self.life));
        tracing::error!(rule, by = %by.person, note, until, "a rule is suspended: it is not asked until then, or until somebody ends it; another person must confirm it, `rialto rule confirm`");
        self.in_force(|one| one.rule == rule)?
            .ok_or(NotSuspended::Unknown(0))
    }

    /// Confirm a suspension of another person. It then lasts until somebody ends it.
    ///
    /// # Errors
    /// When it is not in force, or this person has made it.
    pub fn confirm(&self, by: &Caller, id: u64) -> Result<ShownSuspension, NotSuspended> {
        let _one = self.changing.lock();
        let found = self.in_force(|one| one.id == id)?;
        let found = found.ok_or(NotSuspended::Unknown(id))?;
        if !by.is_named() {
            return Err(NotSuspended::Unnamed);
        }
        if found.person == *by.person {
            return Err(NotSuspended::Own(found.person));
        }
        self.store.confirm_suspension(id, &self.act(by))?;
        self.tell_runtime()?;
        tracing::warn!(rule = %found.rule, by = %by.person, "the suspension of a rule is confirmed");
        self.in_force(|one| one.id == id)?
            .ok_or(NotSuspended::Unknown(id))
    }

    /// End a suspension. The rule is asked from now on.
    ///
    /// # Errors
    /// When it is not in force.
    pub fn end(&self, by: &Caller, id: u64) -> Result<ShownSuspension, NotSuspended> {
        let _one = self.changing.lock();
        let found = self.in_force(|one| one.id == id)?;
        let found = found.ok_or(NotSuspended::Unknown(id))?;
        self.store.end_suspension(id, &self.act(by))?;
        self.tell_runtime()?;
        tracing::warn!(rule = %found.rule, by = %by.person, "the suspension of a rule has ended");
        Ok(ShownSuspension {
            state: "ENDED".to_owned(),
            ended_by: Some(by.person.to_string()),
            ..found
        })
    }

    /// Those in force, then the last others.
    fn read(&self, now: u64) -> Result<Vec<StoredSuspension>, StoreError> {
        self.store.suspensions(Timestamp(now), READ_MAX)
    }

    fn act(&self, by: &Caller) -> Act {
        Act {
            by: by.person.to_string(),
            at: self.clock.now(),
        }
    }

    fn in_force(
        &self,
        wanted: impl Fn(&StoredSuspension) -> bool,
    ) -> Result<Option<ShownSuspension>, StoreError> {
        let now = self.clock.now().0;
        let all = self.read(now)?;
        let mut all = all.into_iter();
        let found = all.find(|one| wanted(one) && is_in_force(one, now));
        Ok(found.map(|one| shown(one, now)))
    }

    fn tell_runtime(&self) -> Result<(), StoreError> {
        let now = self.clock.now().0;
        let all = self.read(now)?;
        let in_force = all.into_iter().filter(|one| is_in_force(one, now));
        let rules: BTreeMap<String, Option<u64>> = in_force
            .map(|one| {
                let end = one.confirmed.is_none().then_some(one.until.0);
                (one.rule, end)
            })
            .collect();
        self.runtime.suspensions().set(rules);
        self.telling.lock().next = 0;
        Ok(())
    }

    /// Tell operators which states have begun since the last call, and after a start those of some time before. What has
    /// lapsed gets its entry of the audit log: nobody's action has one.
    pub fn tell(&self, states: &RuleStates, audit: &Audit) {
        for (id, state) in self.news() {
            if state.state == LAPSED {
                self.write_down(id, &state, audit);
            }
            states.tell(state);
        }
    }

    /// Writes into the audit log and the log that a suspension has lapsed, unless an earlier start has.
    fn write_down(&self, id: u64, state: &RuleState, audit: &Audit) {
        let about = format!("suspension {id}");
        let action = "suspension-lapse";
        let rule = &state.rule;
        match self
            .store
            .has_operation((action, &about), Timestamp(state.at))
        {
            Ok(true) => {}
            Ok(false) => {
                tracing::warn!(%rule, suspension = id, "a suspension has lapsed, because nobody has confirmed it: the rule is in force again");
                let why = format!("rule {rule}: {}", state.reason);
                audit.of_host(vec![(
                    AuditedAction::new(action, &about),
                    AuditOutcome::Done(why),
                )]);
            }
            Err(error) => {
                tracing::error!(%error, %rule, suspension = id, "that a suspension has lapsed is not in the audit log yet: the store could not be read; it is tried again");
                let mut telling = self.telling.lock();
                telling.told.remove(&(id, state.state));
                telling.next = self.clock.now().0.saturating_add(AGAIN);
            }
        }
    }

    /// The states that have begun since the last call, with the numbers of their suspensions, the oldest first.
    fn news(&self) -> Vec<(u64, RuleState)> {
        let now = self.clock.now().0;
        let mut telling = self.telling.lock();
        if now < telling.next {
            return Vec::new();
        }
        let all = match self.read(now) {
            Ok(all) => all,
            Err(error) => {
                tracing::error!(%error, "operators are not told which rules are suspended: the store could not be read; it is tried again");
                telling.next = now.saturating_add(AGAIN);
                return Vec::new();
            }
        };
        let waiting = all.iter().filter(|one| is_in_force(one, now));
        let lapses = waiting.filter(|one| one.confirmed.is_none());
        telling.next = lapses.map(|one| one.until.0).min().unwrap_or(u64::MAX);
        let recalled = now.saturating_sub(RECALLED_MS);
        let begun = all.iter().flat_map(|one| states_of(one, now));
        let mut news: Vec<(u64, RuleState)> = begun
            .filter(|(id, state)| state.at >= recalled && telling.told.insert((*id, state.state)))
            .collect();
        news.sort_by_key(|(_, state)| state.at);
        news
    }
}

/// The states that a suspension has had until an instant, with its number.
fn states_of(one: &StoredSuspension, now: u64) -> Vec<(u64, RuleState)> {
    let person = &one.person;
    let note = if one.note.is_empty() {
        String::new()
    } else {
        format!(": {}", one.note)
    };
    let until = words::instant(one.until.0);
    let mut all = vec![(
        "SUSPENDED",
        one.at.0,
        format!(
            "{person} has suspended it{note}; it is in force again at {until} unless another person confirms that"
        ),
    )];
    if let Some(Act { by, at }) = &one.confirmed {
        let said = format!("{by} has confirmed that {person} has suspended it");
        all.push(("CONFIRMED", at.0, said));
    }
    if let Some(Act { by, at }) = &one.ended {
        let said = format!("{by} has ended its suspension: it is in force again");
        all.push(("ENDED", at.0, said));
    }
    if is_lapsed(one, now) {
        let said =
            format!("nobody has confirmed that {person} has suspended it: it is in force again");
        all.push((LAPSED, one.until.0, said));
    }
    let all = all.into_iter().map(|(state, at, reason)| {
        let told = RuleState {
            id: format!("suspension/{}/{state}", one.id),
            kind: "suspension",
            state,
            rule: one.rule.clone(),
            in_place_of: None,
            steps: Vec::new(),
            measure: None,
            reason,
            at,
        };
        (one.id, told)
    });
    all.collect()
}

/// Whether a release asks a rule of this name at a step, as a rule or as a canary.
fn is_asked(release: &Release, rule: &str) -> bool {
    let mut bound = release.steps.values().flatten();
    bound.any(|bound| {
        let canary = bound.canary.as_deref();
        let canary = canary.map(|canary| &canary.bound.identity.name);
        std::iter::once(&bound.identity.name)
            .chain(canary)
            .any(|name| &**name == rule)
    })
}

fn is_in_force(one: &StoredSuspension, now: u64) -> bool {
    one.ended.is_none() && (one.confirmed.is_some() || now < one.until.0)
}

/// Whether its time went by without a confirmation.
fn is_lapsed(one: &StoredSuspension, now: u64) -> bool {
    one.ended.is_none() && one.confirmed.is_none() && one.until.0 <= now
}

fn shown(one: StoredSuspension, now: u64) -> ShownSuspension {
    let state = if one.ended.is_some() {
        "ENDED"
    } else if one.confirmed.is_some() {
        "CONFIRMED"
    } else if is_lapsed(&one, now) {
        LAPSED
    } else {
        "SUSPENDED"
    };
    ShownSuspension {
        id: one.id,
        rule: one.rule,
        state: state.to_owned(),
        person: one.person,
        note: one.note,
        at: one.at.0,
        until: one.until.0,
        confirmed_by: one.confirmed.map(|act| act.by),
        ended_by: one.ended.map(|act| act.by),
    }
}
