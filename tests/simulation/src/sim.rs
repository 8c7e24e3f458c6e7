//! A run: FSPs, their messages, the host's turns, groups and requests, the clock and restarts, one at a
//! time, in an order that the seed draws.

mod former;
mod fsps;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use parking_lot::Mutex;
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use rialto_engine::store::ScanRange;
use tempfile::TempDir;

use former::Former;

use crate::evidence::Evidence;
use crate::host::{Host, Stage, World};
use crate::saying::{Answer, Draft, Message, Saying};
use crate::script::{self, Agreement, Plan};
use crate::store::Fault;
use crate::time::{SimClock, SimEntropy};
use crate::wire::{Arrival, Fates};

/// Transfers in a run.
pub const TRANSFERS: usize = 200;
/// Milliseconds in which they are asked for.
const SPAN: u64 = 15_000;
/// Problems that are shown with a run that fails by itself.
const PROBLEMS_SHOWN: usize = 5;
/// How many steps a host lives.
const LIFE: std::ops::Range<u64> = 100..5_000;
/// More than any run needs: a run that reaches it does not end.
const STEPS_MAX: usize = 100_000;
/// How often a step is one of a host that was replaced, if there is any.
const FORMER: f64 = 0.2;
/// How often a host is replaced while it runs, of all its ends.
const REPLACED: f64 = 0.4;
/// How many steps the tempo stays as it is.
const TEMPO_STEPS: u64 = 400;
/// How fast time goes by, compared with the host's work: from a host that has nothing to do between
/// two messages to one that is far behind.
const TEMPI: [u64; 5] = [1, 1, 2, 6, 16];
/// Collections that a start must give back as they were.
const COMPARED: [(&str, &str); 4] = [
    ("transfers", "transfers"),
    ("accounts-and-balances", "accounts"),
    ("accounts-and-balances", "entries"),
    ("accounts-and-balances", "reservations"),
];
/// More documents than a collection has.
const READ_MAX: u32 = 1_000;
/// How far the terms of a quote reach, in milliseconds.
const QUOTED_FOR: u64 = 24 * 60 * 60 * 1_000;

/// Where a system keeps files in memory.
const IN_MEMORY: &str = "/dev/shm";

/// A folder for a run's store, in memory if possible. The run decides what is durable, so a disk would only be
/// slower.
fn folder() -> std::io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.permissions(Permissions::from_mode(0o700));
    if Path::new(IN_MEMORY).is_dir() {
        builder.tempdir_in(IN_MEMORY)
    } else {
        builder.tempdir()
    }
}

/// Something that an FSP is about to do.
#[derive(Clone, Debug)]
enum Action {
    /// Say something.
    Say(Box<Draft>),
    /// Say again what got no answer, byte for byte.
    Again(u64),
}

/// See the module's documentation.
pub struct Sim<'a> {
    stage: &'a Stage,
    rng: SmallRng,
    world: World,
    host: Option<Host>,
    /// Whether hosts are replaced while they run.
    replaces: bool,
    /// Hosts that were replaced while they ran.
    former: Vec<Former>,
    /// Messages to hosts that had been replaced.
    said_in_vain: BTreeSet<u64>,
    fates: Fates,
    agreements: Vec<Agreement>,
    plans: BTreeMap<String, Plan>,
    messages: Vec<Message>,
    /// The first message of this host's life.
    life_began: usize,
    answers: Arc<Mutex<BTreeMap<u64, u16>>>,
    agenda: BTreeMap<(u64, u64), Action>,
    arrivals: Vec<Arrival>,
    asked_payees: BTreeSet<String>,
    crashes: usize,
    takeovers: usize,
    /// Groups of hosts that had been replaced.
    refused: usize,
    next: u64,
    steps: u64,
    dies_at: u64,
    tempo: u64,
    ready_max: usize,
}

impl<'a> Sim<'a> {
    /// Runs a seed to its end. Returns all observations.
    ///
    /// # Errors
    /// When the host does not start, or comes to no end.
    pub fn run(stage: &'a Stage, seed: u64) -> Result<Evidence> {
        Self::run_with(stage, seed, true)
    }

    /// The same without hosts that are replaced while they run.
    ///
    /// # Errors
    /// As `run`.
    pub fn run_one_by_one(stage: &'a Stage, seed: u64) -> Result<Evidence> {
        Self::run_with(stage, seed, false)
    }

    fn run_with(stage: &'a Stage, seed: u64, replaces: bool) -> Result<Evidence> {
        let mut sim = Self::new(stage, seed)?;
        sim.replaces = replaces;
        sim.quotes()?;
        sim.transfers()?;
        sim.evidence()
    }

    fn new(stage: &'a Stage, seed: u64) -> Result<Self> {
        let mut rng = SmallRng::seed_from_u64(seed);
        let world = World {
            clock: Arc::new(SimClock::default()),
            entropy: Arc::new(SimEntropy::new(rng.random())),
            journal: Arc::default(),
            store: Arc::default(),
            folder: folder().context("a folder for the store")?,
        };
        let host = Host::start(stage, &world)?;
        let agreements = script::agreements(&mut rng, TRANSFERS);
        Ok(Self {
            stage,
            fates: Fates::new(SmallRng::seed_from_u64(rng.random())),
            rng,
            world,
            host: Some(host),
            replaces: false,
            former: Vec::new(),
            said_in_vain: BTreeSet::new(),
            agreements,
            plans: BTreeMap::new(),
            messages: Vec::new(),
            life_began: 0,
            answers: Arc::default(),
            agenda: BTreeMap::new(),
            arrivals: Vec::new(),
            asked_payees: BTreeSet::new(),
            crashes: 0,
            takeovers: 0,
            refused: 0,
            next: 0,
            steps: 0,
            dies_at: LIFE.start,
            tempo: 1,
            ready_max: 0,
        })
    }

    fn host(&self) -> &Host {
        self.host.as_ref().expect("between two hosts nothing runs")
    }

    fn now(&self) -> u64 {
        self.world.clock.millis()
    }

    fn plan_to(&mut self, at: u64, action: Action) {
        self.next += 1;
        self.agenda.insert((at, self.next), action);
    }

    /// First the quotes, without any trouble: the transfers are what is tried.
    fn quotes(&mut self) -> Result<()> {
        self.run_until_idle()?;
        for agreement in self.agreements.clone() {
            self.say(Draft {
                fsp: agreement.payer.clone(),
                subject: agreement.quote_id.clone(),
                saying: Saying::AskQuote(agreement.request()),
                destination: Some(agreement.payee.clone()),
                spacious: false,
            })?;
        }
        self.run_until_idle()?;
        self.deliver_all()?;
        let until = self.now() + QUOTED_FOR;
        for agreement in self.agreements.clone() {
            self.say(Draft {
                fsp: agreement.payee.clone(),
                subject: agreement.quote_id.clone(),
                saying: Saying::AnswerQuote(agreement.response(until)),
                destination: Some(agreement.payer.clone()),
                spacious: false,
            })?;
        }
        self.run_until_idle()?;
        self.deliver_all()?;
        self.run_until_idle()
    }

    /// Run and commit until there is nothing left but to wait.
    fn run_until_idle(&mut self) -> Result<()> {
        for _ in 0..STEPS_MAX {
            if !self.host().engine.run(0) && self.host().engine.commit()? == 0 {
                return Ok(());
            }
        }
        bail!("turns cause turns without end")
    }

    fn deliver_all(&mut self) -> Result<()> {
        while let Some(&place) = self.host().wire.due(self.now()).first() {
            self.deliver(place);
            self.run_until_idle()?;
        }
        Ok(())
    }

    fn transfers(&mut self) -> Result<()> {
        self.world.clock.advance(1_000);
        let began = self.now();
        let plans = script::plans(&mut self.rng, &self.agreements, began, SPAN);
        for plan in plans {
            let asked = Draft {
                fsp: plan.asker.clone(),
                subject: plan.prepare.transfer_id.clone(),
                saying: Saying::Prepare(plan.prepare.clone()),
                destination: None,
                spacious: false,
            };
            self.plan_to(began + plan.starts, Action::Say(Box::new(asked)));
            for (at, draft) in plan.around.clone() {
                self.plan_to(began + at, Action::Say(Box::new(draft)));
            }
            self.plans.insert(plan.prepare.transfer_id.clone(), plan);
        }
        self.fates.harsh = true;
        for _ in 0..STEPS_MAX {
            self.step()?;
            if self.is_quiet() {
                return self.run_until_idle();
            }
        }
        bail!("the run comes to no end: {}", self.pending())
    }

    /// Whether nothing is left to happen.
    fn is_quiet(&self) -> bool {
        let host = self.host();
        let load = host.engine.load();
        self.agenda.is_empty()
            && load.turns_alive == 0
            && load.turns_uncommitted == 0
            && host.wire.next_due().is_none()
            && host.engine.next_due().is_none()
    }

    /// The pending events and problems so far, for a run that fails.
    fn pending(&self) -> String {
        let host = self.host();
        let journal = self.world.journal.lock();
        let problems = journal.problems.iter().take(PROBLEMS_SHOWN);
        let problems: String = problems.map(|problem| format!("\n{problem}")).collect();
        format!(
            "{} plans of FSPs, {:?}, a request due at {:?}, a reminder at {:?}{problems}",
            self.agenda.len(),
            host.engine.load(),
            host.wire.next_due(),
            host.engine.next_due(),
        )
    }

    fn step(&mut self) -> Result<()> {
        if self.steps.is_multiple_of(TEMPO_STEPS) {
            self.tempo = TEMPI[self.rng.random_range(0..TEMPI.len())];
        }
        self.steps += 1;
        if self.steps >= self.dies_at {
            self.dies_at = self.steps + self.rng.random_range(LIFE);
            return self.crash();
        }
        self.ready_max = self.ready_max.max(self.host().engine.ready());
        if !self.former.is_empty() && self.rng.random_bool(FORMER) {
            return self.step_former();
        }
        match self.rng.random_range(0..1_000) {
            0..520 => self.run_one(),
            520..600 => {
                self.host().engine.commit()?;
            }
            600..740 => self.deliver_one(),
            740..900 => self.act()?,
            900..930 => {
                let millis = self.rng.random_range(1..25);
                self.world.clock.advance(millis * self.tempo);
            }
            930..990 => self.host().engine.fire_due(),
            _ => self.idle(),
        }
        Ok(())
    }

    fn run_one(&mut self) {
        let ready = self.host().engine.ready();
        if ready > 0 {
            let place = self.rng.random_range(0..ready);
            self.host().engine.run(place);
        } else if self.host().engine.load().turns_uncommitted == 0 {
            self.idle();
        }
    }

    /// Waits for the next event, and sometimes a little longer, so that a reminder may be overdue.
    fn idle(&mut self) {
        let host = self.host();
        if host.engine.ready() > 0 || !host.wire.due(self.now()).is_empty() {
            return;
        }
        let agenda = self.agenda.keys().next().map(|(at, _)| *at);
        let next = [
            agenda,
            host.wire.next_due(),
            host.engine.next_due().map(|at| at.0),
        ];
        if let Some(next) = next.into_iter().flatten().min() {
            self.world.clock.advance_to(next);
        }
        if self.rng.random_bool(0.2) {
            let millis = self.rng.random_range(0..50);
            self.world.clock.advance(millis);
        }
    }

    fn deliver_one(&mut self) {
        let due = self.host().wire.due(self.now());
        if !due.is_empty() {
            let place = due[self.rng.random_range(0..due.len())];
            self.deliver(place);
        }
    }

    fn deliver(&mut self, place: usize) {
        let one = self.host().wire.take(place);
        let (arrival, again) = self.fates.play(one, self.now());
        if let Some(one) = again {
            self.host().wire.put_back(one);
        }
        if let Some(arrival) = arrival {
            self.react(&arrival);
            self.arrivals.push(arrival);
        }
    }

    /// End the host at some instant, as a crash would, or have it stand still; and start another one on its store, which may
    /// come to the same end before it has caught up.
    fn crash(&mut self) -> Result<()> {
        loop {
            if self.replaces && self.rng.random_bool(REPLACED) {
                self.take_over()?;
            } else {
                self.end_and_start()?;
            }
            if self.catches_up()? {
                return Ok(());
            }
        }
    }

    fn end_and_start(&mut self) -> Result<()> {
        self.crashes += 1;
        let fault = [None, Some(Fault::Before), Some(Fault::After)][self.rng.random_range(0..3)];
        if let Some(fault) = fault {
            self.host().store.fail(fault);
            let _ = self.host().engine.commit();
        }
        self.host = None;
        self.unsure();
        self.start()
    }

    /// Start a host on what the last one left, which must be what the journal knows.
    fn start(&mut self) -> Result<()> {
        let host = Host::start(self.stage, &self.world)?;
        for (component, collection) in COMPARED {
            let all = ScanRange::all();
            let read = host.engine.inspect(component, collection, &all, READ_MAX)?;
            let read = read.into_iter().map(|document| {
                let body = serde_json::from_str(&document.body).unwrap_or_default();
                (document.id.to_string(), body)
            });
            let read = read.collect();
            self.world
                .journal
                .lock()
                .reads(component, collection, &read);
        }
        self.host = Some(host);
        Ok(())
    }

    /// Starts like the real host: pending work runs first, then the listeners open. Returns whether it got so
    /// far.
    fn catches_up(&mut self) -> Result<bool> {
        while self.host().engine.ready() > 0 {
            match self.rng.random_range(0..1_000) {
                0..700 => {
                    let place = self.rng.random_range(0..self.host().engine.ready());
                    self.host().engine.run(place);
                }
                700..800 => self.deliver_one(),
                800..998 => {
                    self.host().engine.commit()?;
                }
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    fn evidence(mut self) -> Result<Evidence> {
        self.answered_in_vain();
        let answers = self.answers.lock().clone();
        for message in &mut self.messages {
            if let Some(&status) = answers.get(&message.number) {
                message.answer = Answer::Status(status);
            }
        }
        // One more, which finds nothing to do.
        self.former.clear();
        self.host = None;
        self.start()?;
        ensure!(self.is_quiet(), "a start finds work: {}", self.pending());
        let dead_letters = self.host().engine.dead_letters()?.len();
        self.host = None;
        let callbacks = self.stage.participants().map(|id| {
            let id = id.to_owned();
            (self.stage.callback(&id), id)
        });
        let callbacks = callbacks.collect();
        let journal = self.world.journal.lock().clone();
        Ok(Evidence {
            callbacks,
            grants: self.stage.grants()?,
            agreements: self.agreements,
            plans: self.plans,
            messages: self.messages,
            arrivals: self.arrivals,
            journal,
            dead_letters,
            crashes: self.crashes,
            takeovers: self.takeovers,
            refused: self.refused,
            ready_max: self.ready_max,
            steps: self.steps,
        })
    }
}
