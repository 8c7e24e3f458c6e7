//! What is known of the issuer's rules and clients, and what must be asked.

use std::sync::Arc;
use std::time::Instant;

use rialto_tokens::Client;

use crate::following::{KnownNames, is_recent};

/// What must be known to judge a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// The rules.
    Rules,
    /// The state of this client.
    Client(Arc<str>),
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
    /// Whether a request waits for the rules.
    wants_rules: bool,
    /// The clients by their ids.
    pub clients: KnownNames<Client>,
}

impl State {
    /// When the question was asked that the current rules answer.
    pub fn rules_asked(&self) -> Option<Instant> {
        self.rules
    }

    /// A request waits for this.
    pub fn want(&mut self, need: Need) {
        match need {
            Need::Rules => self.wants_rules = true,
            Need::Client(id) => self.clients.want(id),
        }
    }

    /// What requests wait for.
    pub fn wanted(&mut self, now: Instant) -> Questions {
        let rules = self.wants_rules && !is_recent(self.rules, now);
        self.wants_rules &= !rules;
        Questions {
            rules,
            clients: self.clients.wanted(now),
        }
    }

    /// What must be asked regularly: nothing while no clients come.
    pub fn followed(&mut self, now: Instant) -> Questions {
        let clients = self.clients.followed(now);
        Questions {
            rules: std::mem::take(&mut self.wants_rules) || !clients.is_empty(),
            clients,
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
}
