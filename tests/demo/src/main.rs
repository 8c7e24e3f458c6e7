//! The demonstration: a host on an embedded store, two simulated FSPs, one payment, and its story:
//! every HTTP message, every turn with the component that ran it, the ledger before and after.

mod ledger;
mod payment;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use clap::Parser;
use rialto::host::Host;
use rialto::ops::Story;
use rialto::words;
use rialto_manifest::Manifest;
use rialto_simulator::PaymentOutcome;
use rialto_simulator::transcript::{Style, Transcript};
use rialto_telemetry::logs::{self, Format};
use serde_json::json;

use ledger::Ledger;
use payment::{Order, Scene};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How long the host may take to finish what a payment leaves to do after its answer.
const QUIET_WITHIN: Duration = Duration::from_secs(10);

/// Run a host with two simulated FSPs, make one payment, tell its story.
#[derive(Debug, Parser)]
struct Arguments {
    /// The scheme's folder.
    scheme: PathBuf,
    /// Leave everything running afterwards, and print the addresses.
    #[arg(long)]
    keep: bool,
    /// Print one JSON object a line; the last has the transfer's state.
    #[arg(long)]
    json: bool,
    /// The folder of the store; the default is a temporary one.
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// How much is paid.
    #[arg(long, default_value = "12.5")]
    amount: String,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let manifest = match Manifest::load(&arguments.scheme) {
        Ok(manifest) => manifest,
        Err(problems) => {
            eprint!("{}", problems.render_for(&std::io::stderr(), 100));
            bail!("the scheme in {} cannot be run", arguments.scheme.display());
        }
    };
    logs::start("warn,rialto=error", Format::Text)?;
    // Of a name that nobody can foresee, open to this user alone; it goes away with this value.
    let temporary = tempfile::Builder::new().prefix("rialto-demo-").tempdir()?;
    let state = match &arguments.state {
        Some(state) => state.clone(),
        None => temporary.path().to_owned(),
    };
    let runtime = tokio::runtime::Runtime::new()?;
    let host = Host::start(&manifest, &state, runtime.handle())?;
    let told = tell(&arguments, &manifest, &host, &runtime);
    if arguments.keep && told.is_ok() {
        for (name, address) in host.addresses() {
            println!("{name:<12} http://{address}");
        }
        println!("store        {}", state.display());
        println!(
            "look with    rialto events <id> --at {} --state {}",
            arguments.scheme.display(),
            state.display()
        );
        println!("stop with Ctrl-C");
        runtime.block_on(tokio::signal::ctrl_c())?;
    }
    host.stop();
    drop(runtime);
    told
}

fn tell(
    arguments: &Arguments,
    manifest: &Manifest,
    host: &Host,
    runtime: &tokio::runtime::Runtime,
) -> anyhow::Result<()> {
    let order = Order {
        amount: arguments.amount.clone(),
    };
    let scene = runtime.block_on(Scene::open(manifest, host, &order))?;
    quiet(host)?;
    let before = Ledger::read(host)?;
    let outcome = runtime.block_on(scene.pay(&order));
    quiet(host)?;
    let after = Ledger::read(host)?;
    let stories = stories(host, &scene, &outcome)?;
    let messages = Transcript::new(scene.recordings()).of_payment(&outcome);
    if arguments.json {
        print_json(&messages, &stories, &before, &after, &outcome)?;
    } else {
        print_story(&messages, &stories, &before, &after, &outcome)?;
    }
    if !arguments.keep {
        runtime.block_on(scene.close());
    }
    if outcome.is_committed() {
        Ok(())
    } else {
        let reason = outcome.failure.as_ref().map(|f| f.reason());
        bail!("the payment failed: {}", reason.unwrap_or_default());
    }
}

/// Wait until the host has nothing left to do.
fn quiet(host: &Host) -> anyhow::Result<()> {
    let started = Instant::now();
    loop {
        let load = host.shared.engine.load();
        if load.turns_active + load.turns_delayed + load.turns_uncommitted + load.outbound == 0 {
            return Ok(());
        }
        if started.elapsed() > QUIET_WITHIN {
            bail!("the host does not come to rest: {load:?}");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn stories(host: &Host, scene: &Scene, outcome: &PaymentOutcome) -> anyhow::Result<Vec<Story>> {
    let subjects = [
        format!("party:{}", scene.payee_party()),
        format!("quote:{}", outcome.quote_id),
        format!("transfer:{}", outcome.transfer_id),
    ];
    let mut stories = Vec::new();
    for subject in subjects {
        let turns = host
            .shared
            .store
            .history(&subject)
            .context("reading the history")?;
        if !turns.is_empty() {
            stories.push(Story { subject, turns });
        }
    }
    Ok(stories)
}

fn print_story(
    messages: &Transcript,
    stories: &[Story],
    before: &Ledger,
    after: &Ledger,
    outcome: &PaymentOutcome,
) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    println!("\nWhat the FSPs saw: every HTTP message\n");
    messages.write(&mut out, Style::for_people(&std::io::stdout()))?;
    println!("\nWhat the host did: every turn, and the component that ran it\n");
    for story in stories {
        println!("{}", words::story(story, words::colours()));
    }
    println!("The ledger, before and after\n");
    print!("{}", before.beside(after));
    println!(
        "\ntransfer {} is {} after {:.1} ms",
        outcome.transfer_id,
        outcome.transfer_state.as_deref().unwrap_or("not there"),
        outcome.total_ms
    );
    Ok(())
}

fn print_json(
    messages: &Transcript,
    stories: &[Story],
    before: &Ledger,
    after: &Ledger,
    outcome: &PaymentOutcome,
) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    messages.write_json_lines(&mut out)?;
    drop(out);
    for story in stories {
        for turn in &story.turns {
            println!("{}", json!({"subject": story.subject, "turn": turn}));
        }
    }
    println!("{}", json!({"ledgerBefore": before.json()}));
    println!("{}", json!({"ledgerAfter": after.json()}));
    println!("{}", serde_json::to_string(outcome)?);
    Ok(())
}
