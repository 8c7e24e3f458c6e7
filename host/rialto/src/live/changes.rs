//! What committed groups have brought: the last documents of the kinds that somebody watches, and how rules have judged.
//!
//! The committer tells each group. Without anybody who watches, that costs a look at the verdicts of its history, and
//! allocates nothing. Bounded: of each kind the newest documents stay until they are taken, and the others are counted.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use rialto_engine::history::Step;
use rialto_engine::store::Group;
use rialto_engine::{CollectionId, CommitObserver, Engine, Name};

/// The documents of a kind that are kept until they are taken. More are counted.
pub const DOCUMENTS_KEPT: usize = 20;
/// The longest body that is kept, in bytes: streams have at most so much of each document. Longer ones are counted.
const BODY_MAX: usize = 64 << 10;
/// Kinds that are watched at a time.
pub const KINDS_MAX: usize = 16;
/// Different verdicts that are counted each for itself. Their codes are of rules' authors.
const VERDICTS_MAX: usize = 256;
/// What stands for verdicts that have no count of their own.
const OTHER: &str = "other";

/// A kind of documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The component.
    pub component: String,
    /// Its collection.
    pub collection: String,
}

/// The newest state of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Its id.
    pub id: Name,
    /// Its version.
    pub version: u64,
    /// Its body; none if it was removed.
    pub body: Option<Name>,
}

/// Documents of a kind since they were taken last.
#[derive(Debug, PartialEq, Eq)]
pub struct Taken {
    /// The newest, in the order of their commits.
    pub documents: Vec<Changed>,
    /// How many others there were.
    pub more: u64,
}

struct Watched {
    kind: Kind,
    /// The collection's number, once the component has named it.
    number: Option<CollectionId>,
    streams: usize,
    last: VecDeque<Changed>,
    more: u64,
}

/// Verdicts of one kind.
#[derive(Clone, Debug)]
pub struct Counted {
    /// The step.
    pub step: Name,
    /// The rule.
    pub rule: Name,
    /// The verdict in one word.
    pub verdict: &'static str,
    /// The code of a refusal; empty without one.
    pub code: String,
    /// How many.
    pub count: u64,
}

/// What groups have brought.
#[derive(Default)]
pub struct Changes {
    is_watched: AtomicBool,
    watched: Mutex<Vec<Watched>>,
    verdicts: Mutex<Vec<Counted>>,
}

impl Changes {
    /// Watch a kind. False if too many kinds are watched.
    #[must_use]
    pub fn watch(&self, kind: &Kind, engine: &Engine) -> bool {
        let mut watched = self.watched.lock();
        if let Some(one) = watched.iter_mut().find(|one| one.kind == *kind) {
            one.streams += 1;
            return true;
        }
        if watched.len() >= KINDS_MAX {
            return false;
        }
        watched.push(Watched {
            kind: kind.clone(),
            // A collection that is named later is in the group of its first document.
            number: engine.collection(&kind.component, &kind.collection),
            streams: 1,
            last: VecDeque::with_capacity(DOCUMENTS_KEPT + 1),
            more: 0,
        });
        self.is_watched.store(true, Ordering::Release);
        true
    }

    /// Watch a kind no longer, for one of those who did.
    pub fn leave(&self, kind: &Kind) {
        let mut watched = self.watched.lock();
        if let Some(one) = watched.iter_mut().find(|one| one.kind == *kind) {
            one.streams = one.streams.saturating_sub(1);
        }
        watched.retain(|one| one.streams > 0);
        self.is_watched
            .store(!watched.is_empty(), Ordering::Release);
    }

    /// Take what has come of each watched kind since the last call.
    pub fn take(&self, engine: &Engine) -> Vec<(Kind, Taken)> {
        let mut watched = self.watched.lock();
        let mut all = Vec::new();
        for one in watched.iter_mut() {
            if one.number.is_none() {
                one.number = engine.collection(&one.kind.component, &one.kind.collection);
            }
            if one.last.is_empty() && one.more == 0 {
                continue;
            }
            let taken = Taken {
                documents: one.last.drain(..).collect(),
                more: std::mem::take(&mut one.more),
            };
            all.push((one.kind.clone(), taken));
        }
        all
    }

    /// How rules have judged, since the host's start.
    #[must_use]
    pub fn verdicts(&self) -> Vec<Counted> {
        self.verdicts.lock().clone()
    }

    fn count(&self, group: &Group) {
        let mut verdicts = self.verdicts.lock();
        for record in &group.history {
            for step in &record.steps {
                if let Step::Judged {
                    step,
                    rule,
                    verdict,
                    ..
                } = step
                {
                    count(&mut verdicts, step, rule, verdict);
                }
            }
        }
    }

    fn keep(&self, group: &Group) {
        let mut watched = self.watched.lock();
        for one in watched.iter_mut() {
            if one.number.is_none() {
                let is_it = |named: &&rialto_engine::store::Collection| {
                    *named.component == *one.kind.component && *named.name == *one.kind.collection
                };
                let found = group.collections.iter().find(is_it);
                one.number = found.map(|named| named.id);
            }
        }
        for write in &group.documents {
            let is_of = |one: &&mut Watched| one.number == Some(write.collection);
            let Some(one) = watched.iter_mut().find(is_of) else {
                continue;
            };
            one.last.retain(|known| known.id != write.id);
            if write
                .body
                .as_ref()
                .is_some_and(|body| body.len() > BODY_MAX)
            {
                one.more += 1;
                continue;
            }
            one.last.push_back(Changed {
                id: write.id.clone(),
                version: write.version,
                body: write.body.clone(),
            });
            if one.last.len() > DOCUMENTS_KEPT {
                one.last.pop_front();
                one.more += 1;
            }
        }
    }
}

impl CommitObserver for Changes {
    fn committed(&self, group: &Group) {
        self.count(group);
        if self.is_watched.load(Ordering::Acquire) {
            self.keep(group);
        }
    }
}

/// Count a verdict. Allocates for the first of its kind alone.
fn count(verdicts: &mut Vec<Counted>, step: &Name, rule: &Name, verdict: &str) {
    let (mut word, mut code) = words(verdict);
    loop {
        let is_it = |one: &&mut Counted| {
            one.verdict == word && one.code == code && one.rule == *rule && one.step == *step
        };
        if let Some(one) = verdicts.iter_mut().find(is_it) {
            one.count += 1;
            return;
        }
        if verdicts.len() >= VERDICTS_MAX && word != OTHER {
            (word, code) = (OTHER, "");
            continue;
        }
        // Without room, the others of a new rule are of no rule.
        if verdicts.len() >= 2 * VERDICTS_MAX {
            return;
        }
        verdicts.push(Counted {
            step: step.clone(),
            rule: rule.clone(),
            verdict: word,
            code: code.to_owned(),
            count: 1,
        });
        return;
    }
}

/// A verdict of the history in one word, and the code of a refusal.
fn words(verdict: &str) -> (&'static str, &str) {
    if verdict == "allow" {
        return ("allow", "");
    }
    if let Some(code) = verdict.strip_prefix("refuse ") {
        return ("refuse", code);
    }
    if verdict.starts_with("failed") {
        return ("failed", "");
    }
    if verdict.starts_with(rialto_components::quarantine::QUARANTINED) {
        return ("quarantine", "");
    }
    if verdict.starts_with("last good release") {
        let code = verdict.split_once(": refuse ").map_or("", |(_, code)| code);
        return ("last-good", code);
    }
    if verdict == "suspended" {
        return ("suspended", "");
    }
    (OTHER, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(verdicts: &[Counted]) -> Vec<(&str, &str, u64)> {
        let all = verdicts.iter();
        all.map(|one| (one.verdict, one.code.as_str(), one.count))
            .collect()
    }

    #[test]
    fn verdicts_are_counted_by_rule_and_code() {
        let mut verdicts = Vec::new();
        let (step, rule, other) = ("a-step".into(), "a-rule".into(), "another".into());
        for verdict in ["allow", "refuse 4200", "allow", "failed: allow and flag"] {
            count(&mut verdicts, &step, &rule, verdict);
        }
        count(&mut verdicts, &step, &other, "allow");
        let last = "last good release 3: refuse 42";
        count(&mut verdicts, &step, &other, last);
        count(&mut verdicts, &step, &other, "quarantine, failed: refuse");
        let expected = [
            ("allow", "", 2),
            ("refuse", "4200", 1),
            ("failed", "", 1),
            ("allow", "", 1),
            ("last-good", "42", 1),
            ("quarantine", "", 1),
        ];
        assert_eq!(counted(&verdicts), expected);
    }

    #[test]
    fn codes_without_end_are_counted_together() {
        let mut verdicts = Vec::new();
        let (step, rule) = ("a-step".into(), "a-rule".into());
        for n in 0..VERDICTS_MAX + 10 {
            count(&mut verdicts, &step, &rule, &format!("refuse {n}"));
        }
        assert_eq!(verdicts.len(), VERDICTS_MAX + 1);
        assert_eq!(counted(&verdicts)[VERDICTS_MAX], (OTHER, "", 10));
    }
}
