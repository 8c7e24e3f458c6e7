//! Hosts that were replaced while they still ran: frozen, or cut off from the database. They come back and go on with what
//! they had begun, and nothing of it may be seen by anybody.

use anyhow::{Result, bail};
use rand::RngExt as _;
use rand::rngs::SmallRng;
use rialto_engine::store::StoreError;

use super::{Action, Sim};
use crate::host::Host;

/// The longest time between a host's last step and the start of the one that replaces it, in milliseconds: its lease, and the
/// start.
const LEASE: u64 = 2_500;
/// How many steps a former host makes before it ends in any case. It mostly ends before that: its store refuses a group.
const STEPS: std::ops::Range<u32> = 1..200;

/// A host that was replaced. It does not know it yet.
pub struct Former {
    host: Host,
    steps: u32,
}

impl Sim<'_> {
    /// Another host takes over, and the one that served until now will come back.
    pub(super) fn take_over(&mut self) -> Result<()> {
        self.takeovers += 1;
        let steps = self.rng.random_range(STEPS);
        let former = self.host.take().map(|host| Former { host, steps });
        self.former.extend(former);
        let lease = self.rng.random_range(0..LEASE);
        self.world.clock.advance(lease);
        self.unsure();
        self.start()
    }

    /// One step of one of the hosts that were replaced.
    pub(super) fn step_former(&mut self) -> Result<()> {
        let place = self.rng.random_range(0..self.former.len());
        let mut former = self.former.swap_remove(place);
        former.steps -= 1;
        let goes_on = match self.rng.random_range(0..100) {
            0..60 => {
                run_any(&former.host, &mut self.rng);
                true
            }
            60..75 => {
                former.host.engine.fire_due();
                true
            }
            75..85 => {
                self.arrives_late(&former.host);
                true
            }
            85..95 => {
                self.says_to(&former.host)?;
                true
            }
            // A group that is empty is not refused.
            _ => match former.host.engine.commit() {
                Ok(0) => true,
                Ok(turns) => {
                    let what = format!("{turns} turns of a host that was replaced are committed");
                    self.world.journal.lock().a_former_host_acts(what);
                    false
                }
                Err(StoreError::Fenced) => {
                    self.refused += 1;
                    false
                }
                Err(error) => bail!("a host that was replaced is told: {error}"),
            },
        };
        if goes_on && former.steps > 0 {
            self.former.push(former);
        }
        Ok(())
    }

    /// A request that the host had sent before it was replaced arrives only now, and the report of it comes to a host that can
    /// do nothing with it.
    fn arrives_late(&mut self, host: &Host) {
        let under_way = host.wire.due(self.now());
        let Some(&place) = under_way.first() else {
            return;
        };
        let one = host.wire.take(place);
        // A second attempt would need the lease.
        let (arrival, _) = self.fates.play(one, self.now());
        if let Some(arrival) = arrival {
            self.react(&arrival);
            self.arrivals.push(arrival);
        }
    }

    /// An FSP whose connection still leads to the former host says there what it has to say. Nobody answers, so it says the
    /// same to the host that serves.
    fn says_to(&mut self, host: &Host) -> Result<()> {
        let now = self.now();
        let Some(first) = self.agenda.first_entry().filter(|e| e.key().0 <= now) else {
            return Ok(());
        };
        let draft = match first.remove() {
            Action::Say(draft) => *draft,
            Action::Again(number) => match self.said(number) {
                Some(draft) => draft,
                None => return Ok(()),
            },
        };
        self.say_at(host, draft)?;
        let number = self.messages.len() as u64;
        self.said_in_vain.insert(number);
        let at = now + self.rng.random_range(0..1_000);
        self.plan_to(at, Action::Again(number));
        Ok(())
    }

    /// Note what was answered by a host that had been replaced.
    pub(super) fn answered_in_vain(&self) {
        let answers = self.answers.lock();
        let mut journal = self.world.journal.lock();
        for number in &self.said_in_vain {
            if answers.contains_key(number) {
                let what = format!("message {number} is answered by a host that was replaced");
                journal.a_former_host_acts(what);
            }
        }
    }
}

/// Run one of the turns that are ready.
fn run_any(host: &Host, rng: &mut SmallRng) {
    let ready = host.engine.ready();
    if ready > 0 {
        host.engine.run(rng.random_range(0..ready));
    }
}
