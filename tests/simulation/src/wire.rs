//! The way out: requests that have left the host and have not ended, and how each of them fares. Time and
//! attempts go by the request's own policy, as the edge's network has it; the listeners of FSPs fail as
//! the seed says.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use rand::RngExt as _;
use rand::rngs::SmallRng;
use rialto_engine::network::{
    FailureKind, Network, OutboundRequest, OutboundResponse, Outcome, Report,
};

use crate::journal::Journal;
use crate::store::SharedStore;

type Done = Box<dyn FnOnce(Report) + Send>;

/// A request on its way.
pub struct OnItsWay {
    /// The request.
    pub request: Arc<OutboundRequest>,
    attempts: u32,
    /// When the next attempt is due.
    due: u64,
    done: Done,
}

/// What has left one host and has not ended. It goes with the host.
pub struct Wire {
    journal: Arc<Mutex<Journal>>,
    /// The store, and the host's epoch in it.
    of: (Arc<SharedStore>, u64),
    on_their_way: Mutex<Vec<OnItsWay>>,
}

impl Wire {
    /// A wire that reports sent messages to the journal, of the host with this epoch of the store.
    pub fn new(journal: Arc<Mutex<Journal>>, of: (Arc<SharedStore>, u64)) -> Self {
        Self {
            journal,
            of,
            on_their_way: Mutex::default(),
        }
    }

    /// The places of those whose next attempt is due.
    pub fn due(&self, now: u64) -> Vec<usize> {
        let all = self.on_their_way.lock();
        let places = all.iter().enumerate().filter(|(_, one)| one.due <= now);
        places.map(|(place, _)| place).collect()
    }

    /// When the next attempt is due.
    pub fn next_due(&self) -> Option<u64> {
        self.on_their_way.lock().iter().map(|one| one.due).min()
    }

    /// Take the one at this place.
    pub fn take(&self, place: usize) -> OnItsWay {
        self.on_their_way.lock().remove(place)
    }

    /// Put one back that is tried again.
    pub fn put_back(&self, one: OnItsWay) {
        self.on_their_way.lock().push(one);
    }

    /// All of them go with their host.
    pub fn cut(&self) {
        let all = std::mem::take(&mut *self.on_their_way.lock());
        drop(all);
    }
}

impl Network for Wire {
    fn send(&self, request: Arc<OutboundRequest>, done: Done) {
        let (store, epoch) = &self.of;
        if store.is_fenced(*epoch) {
            return self.journal.lock().leaves_a_former_host(&request);
        }
        self.journal.lock().leaves(&request);
        self.on_their_way.lock().push(OnItsWay {
            request,
            attempts: 0,
            due: 0,
            done,
        });
    }
}

/// As a number of attempts: all of them.
const FOR_EVER: u32 = u32::MAX;

/// The behaviour of an FSP's listener for one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fate {
    /// The number of attempts that fail first.
    misses: u32,
    /// The number of attempts that arrive without an answer.
    unheard: u32,
    /// The FSP wants none of it: an answer that says not to try again.
    refused: bool,
}

/// One attempt, as the FSP sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attempt {
    /// It came, and the hub hears so.
    Came,
    /// It came, and the connection broke before the hub heard so.
    CameUnheard,
    /// It did not come.
    Missed(FailureKind, Option<u16>),
    /// It came and was refused for good.
    Refused,
}

/// A message as it came to an FSP.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrival {
    /// The request.
    pub request: Arc<OutboundRequest>,
    /// Milliseconds since 1970.
    pub at: u64,
}

/// The fates of all messages. They outlive the hosts.
pub struct Fates {
    rng: SmallRng,
    /// Whether messages may be lost at all.
    pub harsh: bool,
    by_request: BTreeMap<u64, Fate>,
}

impl Fates {
    /// From a seed's randomness.
    pub fn new(rng: SmallRng) -> Self {
        Self {
            rng,
            harsh: false,
            by_request: BTreeMap::new(),
        }
    }

    fn draw(&mut self) -> Fate {
        let kind: u32 = self.rng.random_range(0..100);
        let few = self.rng.random_range(1..4);
        let fate = |misses, unheard, refused| Fate {
            misses,
            unheard,
            refused,
        };
        match kind {
            _ if !self.harsh => fate(0, 0, false),
            0..70 => fate(0, 0, false),
            70..84 => fate(few, 0, false),
            84..92 => fate(few - 1, 1, false),
            92..97 => fate(FOR_EVER, 0, false),
            _ => fate(0, 0, true),
        }
    }

    fn attempt(&mut self, id: u64) -> Attempt {
        let known = self.by_request.get(&id).copied();
        let mut fate = known.unwrap_or_else(|| self.draw());
        let attempt = self.meet(&mut fate);
        self.by_request.insert(id, fate);
        attempt
    }

    fn meet(&mut self, fate: &mut Fate) -> Attempt {
        if fate.misses > 0 {
            if fate.misses != FOR_EVER {
                fate.misses -= 1;
            }
            return match self.rng.random_range(0..3) {
                0 => Attempt::Missed(FailureKind::Refused, Some(503)),
                1 => Attempt::Missed(FailureKind::Unreachable, None),
                _ => Attempt::Missed(FailureKind::TimedOut, None),
            };
        }
        if fate.unheard > 0 {
            fate.unheard -= 1;
            return Attempt::CameUnheard;
        }
        if fate.refused {
            return Attempt::Refused;
        }
        Attempt::Came
    }

    /// Makes one attempt. Returns the message that the FSP got, and the request if it has to be retried.
    pub fn play(&mut self, mut one: OnItsWay, now: u64) -> (Option<Arrival>, Option<OnItsWay>) {
        let policy = &one.request.policy;
        if now >= policy.deadline.0 {
            let reason = "its deadline passed before it could be sent";
            one.fail(FailureKind::TimedOut, reason, None);
            return (None, None);
        }
        one.attempts += 1;
        let arrival = Arrival {
            request: one.request.clone(),
            at: now,
        };
        match self.attempt(one.request.id) {
            Attempt::Came => {
                one.end(Outcome::Delivered(response(200)));
                (Some(arrival), None)
            }
            // What an FSP refuses it has not heard.
            Attempt::Refused => {
                one.fail(FailureKind::Refused, "answered 400", Some(response(400)));
                (None, None)
            }
            Attempt::CameUnheard => (Some(arrival), one.again(now, FailureKind::Broken, None)),
            Attempt::Missed(kind, status) => (None, one.again(now, kind, status)),
        }
    }
}

fn response(status: u16) -> OutboundResponse {
    OutboundResponse {
        status,
        headers: Vec::new(),
        body: String::new(),
    }
}

impl OnItsWay {
    /// Wait for the next attempt, or give up.
    fn again(mut self, now: u64, kind: FailureKind, status: Option<u16>) -> Option<Self> {
        let policy = &self.request.policy;
        let doublings = (self.attempts - 1).min(31);
        let pause = u64::from(policy.backoff_initial_ms) << doublings;
        let pause = pause.min(policy.backoff_max_ms.into());
        if self.attempts >= policy.attempts_max || now + pause >= policy.deadline.0 {
            self.fail(kind, "it failed again and again", status.map(response));
            return None;
        }
        self.due = now + pause;
        Some(self)
    }

    fn fail(self, kind: FailureKind, reason: &str, response: Option<OutboundResponse>) {
        let reason = reason.to_owned();
        self.end(Outcome::Failed {
            kind,
            reason,
            response,
        });
    }

    fn end(self, outcome: Outcome) {
        let report = Report {
            id: self.request.id,
            correlation: self.request.correlation.clone(),
            attempts: self.attempts,
            outcome,
            span: None,
        };
        (self.done)(report);
    }
}
