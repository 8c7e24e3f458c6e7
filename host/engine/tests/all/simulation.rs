//! The engine in simulated time, from a seed: turns run in any order, groups are written late, the process crashes at
//! every kind of boundary, letters are answered late or twice after a restart, deliveries are parked and retried.
//!
//! In every run money is conserved, each payment happens once, and answered requests are not lost.
//!
//! `RIALTO_SEED=n` runs one seed; `RIALTO_SEEDS=n` runs that many.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::world::{Ask, Fault, Pay, World};
use parking_lot::Mutex;
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use rialto_engine::{Decision, Failure};

const ACCOUNTS: i64 = 4;
const OPENING: i64 = 1_000;
const STEPS: usize = 400;

type Answer = Arc<Mutex<Option<Result<bool, Failure>>>>;

struct Run {
    seed: u64,
    rng: SmallRng,
    world: World,
    /// What the outside was told of payments, each time that it asked.
    told: Vec<(String, Answer)>,
    payments: Vec<Pay>,
    crashes: usize,
    /// Dead letters at the end, before they were tried again.
    parked: usize,
}

impl Run {
    fn new(seed: u64) -> Self {
        let world = World::new();
        for n in 0..ACCOUNTS {
            let _ = world.ask(Ask::Open {
                account: format!("a{n}"),
                balance: OPENING,
            });
        }
        world.run_until_idle();
        Self {
            seed,
            rng: SmallRng::seed_from_u64(seed),
            world,
            told: Vec::new(),
            payments: Vec::new(),
            crashes: 0,
            parked: 0,
        }
    }

    fn step(&mut self) {
        match self.rng.random_range(0..100) {
            0..20 => self.pay(),
            20..60 => {
                let ready = self.world.engine.ready();
                if ready > 0 {
                    let at = self.rng.random_range(0..ready);
                    self.world.engine.run(at);
                }
            }
            60..72 => {
                self.world.engine.commit().unwrap();
            }
            72..84 => {
                let letters = self.world.wire.pending.lock().len();
                if letters > 0 {
                    let at = self.rng.random_range(0..letters);
                    self.world.wire.answer(at);
                }
            }
            84..94 => {
                let later = self.rng.random_range(1..40);
                self.world.clock.0.fetch_add(later, Ordering::Relaxed);
                self.world.engine.fire_due();
            }
            94..97 => {
                // Sometimes enough to give a delivery up.
                let most = if self.rng.random_bool(0.2) { 12 } else { 3 };
                let failures = self.rng.random_range(0..most);
                self.world.bank.failures.store(failures, Ordering::Relaxed);
            }
            97 => self.retry_dead_letters(),
            _ => self.crash(),
        }
    }

    /// A new payment, or an old one again, as an unsure client would.
    fn pay(&mut self) {
        let again = !self.payments.is_empty() && self.rng.random_bool(0.3);
        let pay = if again {
            let at = self.rng.random_range(0..self.payments.len());
            self.payments[at].clone()
        } else {
            let from = self.rng.random_range(0..ACCOUNTS);
            let pay = Pay {
                id: format!("p{}", self.payments.len()),
                from: format!("a{from}"),
                to: format!("a{}", (from + 1) % ACCOUNTS),
                amount: self.rng.random_range(1..400),
            };
            self.payments.push(pay.clone());
            pay
        };
        let answer = self.world.ask(Ask::Pay(pay.clone()));
        self.told.push((pay.id, answer));
    }

    /// As an operator in a hurry: each twice.
    fn retry_dead_letters(&self) {
        for letter in self.world.engine.dead_letters().unwrap() {
            for _ in 0..2 {
                let engine = &self.world.engine;
                engine.decide_dead_letter(letter.delivery.id, Decision::Retry, Box::new(|_| ()));
            }
        }
    }

    fn crash(&mut self) {
        self.crashes += 1;
        match self.rng.random_range(0..3) {
            // Between groups, with executed turns that are not written.
            0 => {}
            // In the middle of writing a group.
            fault => {
                let fault = if fault == 1 {
                    Fault::Before
                } else {
                    Fault::After
                };
                *self.world.store.fault.lock() = Some(fault);
                let _ = self.world.engine.commit();
            }
        }
        let before = self.world.store.disk.lock().lsn;
        let world = std::mem::replace(&mut self.world, World::new());
        self.world = world.crashed();
        assert_eq!(self.world.engine.committed().0, before);
        self.check_money();
        self.check_answers();
    }

    fn check_money(&self) {
        let (accounts, holds) = (self.world.sum("accounts"), self.world.sum("holds"));
        assert_eq!(accounts + holds, ACCOUNTS * OPENING, "seed {}", self.seed);
        for (account, balance) in self.world.all("accounts") {
            let balance: i64 = balance.parse().unwrap();
            assert!(balance >= 0, "{account} is overdrawn, seed {}", self.seed);
        }
    }

    /// What was answered is known, also after a crash.
    fn check_answers(&self) {
        let payments = self.world.all("payments");
        for (id, answer) in &self.told {
            if let Some(Ok(taken)) = &*answer.lock() {
                let Some(state) = payments.get(id) else {
                    panic!("{id} was answered and is lost, seed {}", self.seed)
                };
                let was_taken = state != "\"refused\"";
                assert_eq!(*taken, was_taken, "{id} is {state}, seed {}", self.seed);
            }
        }
    }

    fn finish(&mut self) {
        self.world.bank.failures.store(0, Ordering::Relaxed);
        self.world.finish();
        self.parked += self.world.engine.dead_letters().unwrap().len();
        self.retry_dead_letters();
        self.world.finish();
        self.check_money();
        self.check_answers();
        assert_eq!(self.world.sum("holds"), 0, "seed {}", self.seed);
        let payments = self.world.all("payments");
        for (what, all) in [
            ("executed", self.world.all("executions")),
            ("reported", self.world.all("reports")),
            ("reminded", self.world.all("reminded")),
        ] {
            for (id, state) in &payments {
                let times = all.get(id).map_or("0", String::as_str);
                let expected = if state == "\"paid\"" { "1" } else { "0" };
                assert_eq!(times, expected, "{id} {what}, {state}, seed {}", self.seed);
            }
        }
        let disk = self.world.store.disk.lock();
        assert!(disk.deliveries.is_empty() && disk.outbound.is_empty());
        assert!(disk.reminders.is_empty() && disk.dead_letters.is_empty());
    }
}

#[test]
fn crashes_neither_lose_nor_repeat_payments() {
    let seeds = match std::env::var("RIALTO_SEED") {
        Ok(seed) => {
            let seed: u64 = seed.parse().expect("RIALTO_SEED is a number");
            seed..seed + 1
        }
        Err(_) => {
            let count = std::env::var("RIALTO_SEEDS").map_or(200, |n| n.parse().expect("a number"));
            0..count
        }
    };
    let (mut crashes, mut parked) = (0, 0);
    for seed in seeds {
        let mut run = Run::new(seed);
        for _ in 0..STEPS {
            run.step();
        }
        run.finish();
        crashes += run.crashes;
        parked += run.parked;
    }
    println!("{crashes} crashes, {parked} dead letters at the end");
}
