//! Weighted fair queueing of requests that have not begun: one queue for each client.
//!
//! Clients are served round robin. In each round a client gets as many requests begun as its weight says. Among the
//! requests of one client those of a higher [`Priority`] go first.
//!
//! Each client has a share: the number of its requests that may be waiting or begun. A request beyond it displaces
//! the newest request of the same client with the lowest priority, if that is lower than its own. When the host has
//! no room left, a request of a client with a short queue displaces such a request of the longest queue.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::ids::Name;
use crate::queue::Job;

/// How many clients are remembered before those without a request are forgotten.
const IDLE_CLIENTS_MAX: usize = 1_024;

/// Counts one request of a client, waiting or begun, until it is dropped.
pub(crate) struct ClientSlot(Arc<AtomicUsize>);

impl Drop for ClientSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Which requests of one client begin first while the host is overloaded. A payment has several requests: with
/// equal priorities the host would begin payments that it cannot end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Begins something.
    Low,
    /// Goes on with something for which little was done so far.
    Middle,
    /// Ends something, or is not part of anything longer.
    #[default]
    High,
}

/// How many priorities there are.
const PRIORITIES: usize = Priority::High as usize + 1;

/// The waiting requests of one client: a queue for each priority, the lowest first.
#[derive(Default)]
struct Waiting([VecDeque<Box<Job>>; PRIORITIES]);

impl Waiting {
    fn len(&self) -> usize {
        self.0.iter().map(VecDeque::len).sum()
    }

    fn push(&mut self, priority: Priority, job: Box<Job>) {
        self.0[priority as usize].push_back(job);
    }

    /// The oldest of the highest priority.
    fn pop(&mut self) -> Option<Box<Job>> {
        self.0.iter_mut().rev().find_map(VecDeque::pop_front)
    }

    /// The newest of the lowest priority among the first `below` priorities.
    fn displace(&mut self, below: usize) -> Option<Box<Job>> {
        self.0[..below].iter_mut().find_map(VecDeque::pop_back)
    }

    fn iter(&self) -> impl Iterator<Item = &Box<Job>> {
        self.0.iter().flatten()
    }

    /// Take the request with this number in the order of arrival.
    fn take(&mut self, arrival: i64) -> Option<Box<Job>> {
        self.0.iter_mut().find_map(|queue| {
            let at = queue.iter().position(|job| job.arrival == arrival)?;
            queue.remove(at)
        })
    }
}

#[derive(Default)]
struct Client {
    waiting: Waiting,
    /// The client's requests that are waiting or begun.
    there: Arc<AtomicUsize>,
    weight: usize,
    /// Requests that may still begin in the client's current round.
    left: usize,
}

/// The queues of all clients.
#[derive(Default)]
pub(crate) struct Clients {
    all: HashMap<Name, Client>,
    /// Clients with waiting requests, in the order in which they are served.
    turns: VecDeque<Name>,
    waiting: usize,
    /// The weights of clients; 1 for those not listed.
    weights: HashMap<Name, usize>,
}

impl Clients {
    pub fn new(weights: &[(Name, u32)]) -> Self {
        let weight = |(name, weight): &(Name, u32)| (name.clone(), (*weight).max(1) as usize);
        Self {
            weights: weights.iter().map(weight).collect(),
            ..Self::default()
        }
    }

    /// A slot for one more request of this client; none if the client has its share.
    pub fn slot(&mut self, name: &Name, each_max: usize) -> Option<ClientSlot> {
        let there = &self.client(name).there;
        if there.load(Ordering::Acquire) >= each_max {
            return None;
        }
        there.fetch_add(1, Ordering::AcqRel);
        Some(ClientSlot(there.clone()))
    }

    /// Take the newest request of this client with the lowest priority, if that is lower than this one. It makes room
    /// for another request of the client.
    pub fn displace_own(&mut self, name: &Name, priority: Priority) -> Option<Box<Job>> {
        let client = self.client(name);
        let job = client.waiting.displace(priority as usize)?;
        self.left_one(name);
        Some(job)
    }

    /// Note that a request of this client was taken from its queue, but not begun.
    fn left_one(&mut self, name: &Name) {
        if self.client(name).waiting.len() == 0 {
            self.turns.retain(|other| other != name);
        }
        self.waiting -= 1;
        self.assert_turns();
    }

    /// Add a request to its client's queue.
    pub fn push(&mut self, name: &Name, priority: Priority, job: Box<Job>) {
        let client = self.client(name);
        client.waiting.push(priority, job);
        if client.waiting.len() == 1 {
            client.left = client.weight;
            self.turns.push_back(name.clone());
        }
        self.waiting += 1;
        self.assert_turns();
    }

    /// Assert that the clients in the round are those with waiting requests.
    fn assert_turns(&self) {
        assert!(
            self.turns.len() <= self.waiting && self.turns.is_empty() == (self.waiting == 0),
            "{} clients have a turn and {} requests wait",
            self.turns.len(),
            self.waiting
        );
    }

    /// The next request, of the client that is served now.
    pub fn pop(&mut self) -> Option<Box<Job>> {
        let name = self.turns.front()?.clone();
        let client = self.all.get_mut(&name);
        let client = client.expect("a client that has its turn is there");
        assert!(
            client.left > 0,
            "a client has its turn and may begin nothing in it: {name}"
        );
        let job = client.waiting.pop();
        client.left -= 1;
        if client.waiting.len() == 0 {
            self.turns.pop_front();
        } else if client.left == 0 {
            client.left = client.weight;
            self.turns.rotate_left(1);
        }
        assert!(
            job.is_some(),
            "a client has its turn and no request that waits: {name}"
        );
        self.waiting -= 1;
        self.assert_turns();
        job
    }

    /// Take the newest request with the lowest priority of the longest queue, if that is longer than this client's
    /// queue would be with one more. Lengths are divided by the weights.
    pub fn displace(&mut self, for_name: &Name) -> Option<Box<Job>> {
        let own = self.client(for_name);
        let (own_next, own_weight) = (own.waiting.len() + 1, own.weight);
        let turns = self.turns.iter();
        let longest = turns
            .filter_map(|name| {
                let client = self.all.get(name)?;
                Some((name, client.waiting.len(), client.weight))
            })
            // a/b > c/d, without division.
            .max_by(|(_, a, b), (_, c, d)| (a * d).cmp(&(c * b)))?;
        let (name, length, weight) = longest;
        if length * own_weight <= own_next * weight {
            return None;
        }
        let name = name.clone();
        assert!(
            name != *for_name,
            "a client is to lose a request for another one of its own: {name}"
        );
        let job = self.client(&name).waiting.displace(PRIORITIES)?;
        self.left_one(&name);
        Some(job)
    }

    /// How many requests wait.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// The numbers, in the order of arrival, of the requests that wait.
    pub fn arrivals(&self) -> impl Iterator<Item = i64> {
        let all = self.all.values();
        all.flat_map(|client| client.waiting.iter().map(|job| job.arrival))
    }

    /// Take the request with this number in the order of arrival.
    pub fn take(&mut self, arrival: i64) -> Option<Box<Job>> {
        let mut all = self.all.iter_mut();
        let (name, job) = all.find_map(|(name, client)| {
            let job = client.waiting.take(arrival)?;
            Some((name.clone(), job))
        })?;
        self.left_one(&name);
        Some(job)
    }

    /// Take all that wait.
    pub fn drain(&mut self) -> impl Iterator<Item = Box<Job>> {
        self.turns.clear();
        self.waiting = 0;
        let all = self.all.values_mut();
        all.flat_map(|client| std::mem::take(&mut client.waiting).0.into_iter().flatten())
    }

    fn client(&mut self, name: &Name) -> &mut Client {
        if self.all.len() > IDLE_CLIENTS_MAX && !self.all.contains_key(name) {
            self.all.retain(|_, client| {
                client.waiting.len() > 0 || client.there.load(Ordering::Acquire) > 0
            });
        }
        let weight = self.weights.get(name).copied().unwrap_or(1);
        let client = || Client {
            weight,
            ..Client::default()
        };
        self.all.entry(name.clone()).or_insert_with(client)
    }
}
