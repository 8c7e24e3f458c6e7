//! What is known of the issuer's rules and clients, how old it is, and what must be asked.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rialto_tokens::Client;

/// How long after its last request a client is asked about.
pub(super) const FOLLOWED_FOR: Duration = Duration::from_secs(10);
/// How long after a question the same is not asked again for a request that waits. It is shorter than the time between
/// two regular questions.
const RECENT: Duration = Duration::from_millis(300);
/// The most clients that are asked about. Requests of others wait for their answers.
const CLIENTS_MAX: usize = 2_000;

/// What must be known to judge a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// The rules.
    Rules,
    /// The state of this client.
    Client(Arc<str>),
}

/// What is known of a client.
pub(super) struct Known {
    /// The client, if the issuer has it.
    pub client: Option<Client>,
    /// When the question was asked.
    pub asked: Option<Instant>,
    /// When its last request came.
    used: Instant,
}

/// What is asked of the issuer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Questions {
    pub rules: bool,
    pub clients: Vec<Arc<str>>,
}

/// All that is known.
#[derive(Default)]
pub(super) struct State {
    /// When the question for the rules was asked.
    rules: Option<Instant>,
    clients: HashMap<Arc<str>, Known>,
    /// What requests wait for.
    wants_rules: bool,
    wants: HashSet<Arc<str>>,
}

impl State {
    /// When the question was asked that the current rules answer.
    pub fn rules_asked(&self) -> Option<Instant> {
        self.rules
    }

    /// A client of which a request has come.
    pub fn client(&mut self, id: &Arc<str>, now: Instant) -> &Known {
        if !self.clients.contains_key(id) {
            self.make_room();
        }
        let known = self.clients.entry(id.clone()).or_insert_with(|| Known {
            client: None,
            asked: None,
            used: now,
        });
        known.used = known.used.max(now);
        known
    }

    /// Forget the client that was away for the longest time, if there are too many.
    fn make_room(&mut self) {
        if self.clients.len() < CLIENTS_MAX {
            return;
        }
        let oldest = self.clients.iter().min_by_key(|(_, known)| known.used);
        if let Some(id) = oldest.map(|(id, _)| id.clone()) {
            self.clients.remove(&id);
        }
    }

    /// A request waits for this.
    pub fn want(&mut self, need: Need) {
        match need {
            Need::Rules => self.wants_rules = true,
            Need::Client(id) => {
                self.wants.insert(id);
            }
        }
    }

    /// What requests wait for. What was asked a short time ago stays for the next regular question: a client that sends
    /// many wrong tokens must not cause many questions.
    pub fn wanted(&mut self, now: Instant) -> Questions {
        let is_recent = |asked: Option<Instant>| {
            asked.is_some_and(|asked| now.saturating_duration_since(asked) < RECENT)
        };
        let rules = self.wants_rules && !is_recent(self.rules);
        self.wants_rules &= !rules;
        let (clients, known) = (&mut self.wants, &self.clients);
        let asked = |id: &Arc<str>| known.get(id).and_then(|known| known.asked);
        Questions {
            rules,
            clients: clients.extract_if(|id| !is_recent(asked(id))).collect(),
        }
    }

    /// What must be asked regularly: nothing while no clients come. Clients that are away are forgotten.
    pub fn followed(&mut self, now: Instant) -> Questions {
        let is_away = |used: Instant| now.saturating_duration_since(used) > FOLLOWED_FOR;
        self.clients.retain(|_, known| !is_away(known.used));
        // Clients for whom a request waits are among those that have sent one lately.
        self.wants.clear();
        Questions {
            rules: std::mem::take(&mut self.wants_rules) || !self.clients.is_empty(),
            clients: self.clients.keys().cloned().collect(),
        }
    }

    /// Whether an answer to a question for the rules is newer than the known one. Then it is the known one.
    pub fn rules_answered(&mut self, asked: Instant) -> bool {
        let is_newer = self.rules < Some(asked);
        if is_newer {
            self.rules = Some(asked);
        }
        is_newer
    }

    /// An answer of the issuer: of these clients it has those that are found.
    pub fn clients_answered(
        &mut self,
        asked: Instant,
        ids: &[Arc<str>],
        mut found: HashMap<Arc<str>, Client>,
    ) {
        for id in ids {
            if let Some(known) = self.clients.get_mut(id)
                && known.asked < Some(asked)
            {
                known.asked = Some(asked);
                known.client = found.remove(id);
            }
        }
    }
}
