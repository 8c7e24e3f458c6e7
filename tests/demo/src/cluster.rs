//! `--cluster`: three hosts on one PostgreSQL database, with events to NATS JetStream. A payment goes through a host that does
//! not serve. Then the host that serves is killed, and another payment goes through the same host.

mod machines;
mod nats;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use rialto::out;
use rialto_manifest::Manifest;
use rialto_postgres_server::Server;
use rialto_simulator::PaymentOutcome;
use serde_json::{Value, json};

use crate::payment::{Order, Scene};
use machines::{Machine, Shared};
use nats::Nats;

/// How many hosts there are.
const HOSTS: usize = 3;
/// How long a host may take to start: it compiles the scheme's components.
const START_MAX: Duration = Duration::from_secs(300);
/// How long another host may take to serve after a kill.
const TAKEOVER_MAX: Duration = Duration::from_secs(60);
/// The time between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// Run it. `folder` is for everything that it makes, and `program` is the host's.
pub fn run(
    (manifest, order): (&Manifest, &Order),
    (folder, program): (&Path, &Path),
    is_json: bool,
    until_stopped: impl FnOnce(&tokio::runtime::Runtime) -> anyhow::Result<()>,
) -> anyhow::Result<u8> {
    ensure!(
        rialto_postgres_server::is_installed(),
        "this machine has no PostgreSQL: `cargo xtask demo --cluster` installs it on Debian"
    );
    out::note("starting PostgreSQL and NATS");
    let database = Server::new();
    let name = database.make_database();
    let nats = Nats::start(&folder.join("nats"))?;
    let shared = Shared {
        database: database.url(&name),
        nats: nats.as_ref().map(|nats| nats.url().to_owned()),
    };
    let tell = Telling { is_json };
    out::note(
        "starting the first host: it compiles the scheme's components, which takes some seconds",
    );
    let mut machines = vec![Machine::prepare(manifest, folder, 1, &shared)?];
    machines[0].start(program)?;
    wait("the first host serves", START_MAX, || {
        Ok(serving(&machines)?.is_some())
    })?;
    for number in 2..=HOSTS {
        let mut machine = Machine::beside(&machines[0], folder, number, &shared)?;
        machine.start(program)?;
        machines.push(machine);
    }
    out::note("starting two more hosts");
    wait("two standbys are ready", START_MAX, || {
        standbys(&machines[0])
    })?;
    tell.hosts(&machines, nats.as_ref())?;

    let runtime = tokio::runtime::Runtime::new()?;
    let scene = runtime.block_on(Scene::open(manifest, &machines[1].fsps(), None))?;
    let first = pay(&runtime, &scene, order, &tell, (&machines[1], &machines[0]))?;
    let killed = Instant::now();
    machines[0].kill()?;
    wait("another host serves", TAKEOVER_MAX, || {
        Ok(serving(&machines[1..])?.is_some())
    })?;
    let serves = serving(&machines[1..])?.context("a host serves")?;
    let serves = &machines[1..][serves];
    tell.takeover(&machines[0], serves, killed.elapsed())?;
    let second = pay(&runtime, &scene, order, &tell, (&machines[1], serves))?;

    let books = serves.rialto(program, &["ledger", "check"])?;
    ensure!(!books.contains("WRONG"), "the books do not hold:\n{books}");
    let events = match &nats {
        Some(nats) => Some(nats.settled()?),
        None => None,
    };
    tell.end(&books, events, [&first, &second])?;
    until_stopped(&runtime)?;
    runtime.block_on(scene.close());
    Ok(0)
}

/// The host that says that it serves, by its place.
fn serving(machines: &[Machine]) -> anyhow::Result<Option<usize>> {
    for (at, machine) in machines.iter().enumerate() {
        if machine.serves()? {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// Whether the other hosts have prepared the release of the one that serves.
fn standbys(serving: &Machine) -> anyhow::Result<bool> {
    let status = serving.asked("/cluster")?;
    let hosts = status["hosts"].as_array().context("hosts")?;
    let ready = |host: &&Value| host["state"] == "STANDBY" && host["release"] == 1;
    Ok(hosts.iter().filter(ready).count() == HOSTS - 1)
}

/// Make one payment through a host, and say what became of it.
fn pay(
    runtime: &tokio::runtime::Runtime,
    scene: &Scene,
    order: &Order,
    tell: &Telling,
    (asked, serves): (&Machine, &Machine),
) -> anyhow::Result<PaymentOutcome> {
    let outcome = runtime.block_on(scene.pay(order));
    if !outcome.is_committed() {
        let reason = outcome.failure.as_ref().map(|failure| failure.reason());
        bail!("the payment failed: {}", reason.unwrap_or_default());
    }
    tell.payment(&outcome, asked, serves)?;
    Ok(outcome)
}

/// Look again and again until something holds.
fn wait(
    what: &str,
    within: Duration,
    mut holds: impl FnMut() -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let until = Instant::now() + within;
    while !holds()? {
        ensure!(
            Instant::now() < until,
            "{what}: not within {} s",
            within.as_secs()
        );
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// Says what happens, to a person or a program.
struct Telling {
    is_json: bool,
}

impl Telling {
    fn hosts(&self, machines: &[Machine], nats: Option<&Nats>) -> anyhow::Result<()> {
        if self.is_json {
            let hosts: Vec<Value> = machines.iter().map(Machine::json).collect();
            return Ok(out::json(
                &json!({ "hosts": hosts, "nats": nats.map(Nats::url) }),
            )?);
        }
        out::line("")?;
        out::line(format_args!("{HOSTS} hosts on one PostgreSQL database"))?;
        for (at, machine) in machines.iter().enumerate() {
            let state = if at == 0 { "serves" } else { "standby" };
            out::line(format_args!(
                "  {:<7} {state:<8} FSPs {}, operators {}",
                machine.name(),
                machine.fsps(),
                machine.operators()
            ))?;
        }
        match nats {
            Some(nats) => out::line(format_args!("  events to NATS JetStream at {}", nats.url()))?,
            None => out::line("  no events: there is no nats-server on this machine")?,
        }
        Ok(())
    }

    fn payment(
        &self,
        outcome: &PaymentOutcome,
        asked: &Machine,
        serves: &Machine,
    ) -> anyhow::Result<()> {
        let (asked, serves) = (asked.name(), serves.name());
        if self.is_json {
            return Ok(out::json(&json!({
                "payment": outcome.transfer_id,
                "sentTo": asked,
                "servedBy": serves,
                "tookMs": outcome.total_ms.round(),
            }))?);
        }
        out::line("")?;
        let state = outcome.transfer_state.as_deref().unwrap_or_default();
        let passed = if asked == serves {
            "which serves".to_owned()
        } else {
            format!("which passes it to {serves}")
        };
        out::line(format_args!(
            "a payment of {}, sent to {asked}, {passed}: {state} after {:.0} ms",
            outcome.transfer_amount.as_deref().unwrap_or_default(),
            outcome.total_ms
        ))?;
        Ok(out::line(format_args!(
            "  transfer {}",
            outcome.transfer_id
        ))?)
    }

    fn takeover(&self, killed: &Machine, serves: &Machine, took: Duration) -> anyhow::Result<()> {
        let (killed, serves) = (killed.name(), serves.name());
        if self.is_json {
            let took = took.as_millis();
            return Ok(out::json(
                &json!({ "killed": killed, "takenOverBy": serves, "tookMs": u64::try_from(took)? }),
            )?);
        }
        out::line("")?;
        Ok(out::line(format_args!(
            "{killed} is killed: {serves} serves after {:.1} s",
            took.as_secs_f64()
        ))?)
    }

    fn end(
        &self,
        books: &str,
        events: Option<u64>,
        [first, second]: [&PaymentOutcome; 2],
    ) -> anyhow::Result<()> {
        if self.is_json {
            return Ok(out::json(&json!({
                "transfers": [first.transfer_id, second.transfer_id],
                "eventsAtNats": events,
                "transferState": second.transfer_state,
            }))?);
        }
        out::line("")?;
        if let Some(events) = events {
            out::line(format_args!("{events} events are at NATS"))?;
        }
        out::line("rialto ledger check:")?;
        for line in books.lines() {
            out::line(format_args!("  {line}"))?;
        }
        Ok(())
    }
}
