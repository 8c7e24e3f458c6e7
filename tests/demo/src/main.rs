//! The demonstration: a host on an embedded store, two simulated FSPs, one payment, and its story:
//! every HTTP message, every turn with the component that ran it, the ledger before and after, and what to
//! try next.

mod audited;
mod cluster;
mod diagram;
mod kept;
mod ledger;
mod next;
mod payment;
mod secure;
mod story;
mod token;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use clap::Parser;
use rialto::host::Host;
use rialto::ops::Story;
use rialto::{out, words};
use rialto_manifest::Manifest;
use rialto_simulator::PaymentOutcome;
use rialto_simulator::transcript::Transcript;
use rialto_telemetry::logs::{self, Format};

use audited::Audited;
use kept::Kept;
use ledger::Ledger;
use next::Running;
use payment::{Order, Scene};
use secure::Secured;
use story::Told;
use token::DemoToken;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How long the host may take to finish what a payment leaves to do after its answer.
const QUIET_WITHIN: Duration = Duration::from_secs(10);

/// Run a host with two simulated FSPs, make one payment, and print its story.
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
    /// Have everybody use TLS, FSPs prove who they are by certificates and access tokens, all messages be signed, and
    /// keys be in a PKCS #11 token.
    #[arg(long)]
    secure: bool,
    /// Run three hosts on a PostgreSQL database, with events to NATS; send the payment to a host that does not serve, kill the
    /// one that does, and pay again.
    #[arg(long, conflicts_with_all = ["secure", "state", "mermaid", "again"])]
    cluster: bool,
    /// Print the payment as a Mermaid sequence diagram.
    #[arg(long, conflicts_with_all = ["json", "keep"])]
    mermaid: bool,
    /// The folder of the store; the default is a temporary one.
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// How much is paid.
    #[arg(long, default_value = "12.5")]
    amount: String,
    /// How many columns the story may have, 60 to 120; the terminal's unless said.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(60..=120))]
    columns: Option<u16>,
    /// Tell a story again that `--json` has written, and run nothing.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["keep", "state", "secure"])]
    again: Option<PathBuf>,
}

impl Arguments {
    fn columns(&self) -> usize {
        self.columns.map_or_else(words::width, usize::from)
    }
}

fn main() -> anyhow::Result<ExitCode> {
    Ok(out::quietly(run(&Arguments::parse()))?.into())
}

fn run(arguments: &Arguments) -> anyhow::Result<u8> {
    if let Some(file) = &arguments.again {
        let told = Told::read(file)?;
        if arguments.mermaid {
            out::text(diagram::of(&told))?;
        } else if arguments.json {
            told.print_json(None)?;
        } else {
            told.print(arguments.columns())?;
            next::print(&arguments.scheme, None, arguments.columns())?;
        }
        return Ok(0);
    }
    if arguments.cluster {
        return of_cluster(arguments);
    }
    let token = arguments.secure.then(DemoToken::of_process).transpose()?;
    // Before anything is read or compiled, so that the screen is not empty.
    let (scheme, amount) = (arguments.scheme.display(), &arguments.amount);
    out::note(format_args!(
        "one payment of {amount} in the scheme {scheme}: a host, two simulated FSPs\n\
         starting the host: it compiles the scheme's components, which takes some seconds"
    ));
    let given = load(&arguments.scheme)?;
    logs::start("warn,rialto=error", Format::Text)?;
    // With a random name, for this user only. It is removed with this value.
    let temporary = tempfile::Builder::new()
        .prefix("rialto-demo-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir()?;
    let state = match &arguments.state {
        Some(state) => state.clone(),
        None => temporary.path().join("state"),
    };
    let copy = temporary.path().join("scheme");
    let secured = token.map(|token| Secured::copy(&given, &copy, token));
    let secured = secured.transpose()?;
    let manifest = match &secured {
        None => given,
        Some(secured) => load(&secured.folder)?,
    };
    let runtime = tokio::runtime::Runtime::new()?;
    let host = Host::start(&manifest, &state, runtime.handle())?;
    let told = tell(
        arguments,
        &manifest,
        &host,
        secured.as_ref(),
        &state,
        &runtime,
    );
    if arguments.keep && told.is_ok() {
        runtime.block_on(tokio::signal::ctrl_c())?;
    }
    host.stop();
    drop(runtime);
    told.map(|()| 0)
}

/// The demonstration with several hosts.
fn of_cluster(arguments: &Arguments) -> anyhow::Result<u8> {
    let manifest = load(&arguments.scheme)?;
    let temporary = tempfile::Builder::new()
        .prefix("rialto-demo-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir()?;
    let program = std::env::current_exe()?.with_file_name("rialto");
    let order = Order {
        amount: arguments.amount.clone(),
    };
    cluster::run(
        (&manifest, &order),
        (temporary.path(), &program),
        arguments.json,
        |runtime| {
            if arguments.keep {
                out::line("everything runs on: stop with Ctrl-C")?;
                runtime.block_on(tokio::signal::ctrl_c())?;
            }
            Ok(())
        },
    )
}

fn load(folder: &Path) -> anyhow::Result<Manifest> {
    Manifest::load(folder).map_err(|problems| {
        out::note(problems.render_for(&std::io::stderr(), 100).trim_end());
        anyhow::anyhow!("the scheme in {} cannot be run", folder.display())
    })
}

fn tell(
    arguments: &Arguments,
    manifest: &Manifest,
    host: &Host,
    secured: Option<&Secured>,
    state: &Path,
    runtime: &tokio::runtime::Runtime,
) -> anyhow::Result<()> {
    let order = Order {
        amount: arguments.amount.clone(),
    };
    if let Some(secured) = secured {
        secured.approve(host)?;
        secured.register(state)?;
    }
    let scene = runtime.block_on(Scene::open(manifest, &hub(host)?, secured))?;
    quiet(host)?;
    let before = Ledger::read(host)?;
    let outcome = runtime.block_on(scene.pay(&order));
    quiet(host)?;
    let told = Told {
        messages: Transcript::new(scene.recordings()).of_payment(&outcome),
        stories: stories(host, &scene, &outcome)?,
        before,
        after: Ledger::read(host)?,
        outcome,
    };
    let kept = arguments.keep.then(|| Kept::of(host, &scene, state));
    let audited = secured
        .filter(|_| !arguments.mermaid && told.outcome.is_committed())
        .map(|secured| {
            let transfer = &told.outcome.transfer_id;
            runtime.block_on(Audited::of(&secured.folder, state, transfer))
        });
    let audited = audited.transpose()?;
    if arguments.mermaid {
        out::text(diagram::of(&told))?;
    } else if arguments.json {
        if let Some(secured) = secured {
            secured.print_token(true)?;
        }
        if let Some(audited) = &audited {
            out::json(&audited.json())?;
        }
        told.print_json(kept.as_ref())?;
    } else {
        told.print(arguments.columns())?;
        if let Some(secured) = secured {
            secured.print_token(false)?;
        }
        if let Some(audited) = &audited {
            audited.print()?;
        }
        let columns = arguments.columns();
        let running = Running {
            store: state,
            transfer: &told.outcome.transfer_id,
            secured: secured.and_then(|secured| {
                let hub = host.addresses().get("fsps")?;
                secured.asking(*hub, &scene.payee_party())
            }),
        };
        let running = arguments.keep.then_some(&running);
        // The secured copy goes away with this process.
        let stays = if arguments.keep {
            manifest.folder()
        } else {
            &arguments.scheme
        };
        next::print(stays, running, columns)?;
        if let Some(kept) = kept {
            kept.print()?;
        }
    }
    if !arguments.keep {
        runtime.block_on(scene.close());
    }
    if told.outcome.is_committed() {
        Ok(())
    } else {
        let reason = told.outcome.failure.as_ref().map(|f| f.reason());
        bail!("the payment failed: {}", reason.unwrap_or_default());
    }
}

/// The URL at which FSPs reach the host.
fn hub(host: &Host) -> anyhow::Result<String> {
    let hub = host.addresses().get("fsps");
    let hub = hub.context("the scheme has no listener `fsps`")?;
    let scheme = if host.has_tls("fsps") {
        "https"
    } else {
        "http"
    };
    Ok(format!("{scheme}://{hub}"))
}

/// Wait until the host has nothing left to do.
fn quiet(host: &Host) -> anyhow::Result<()> {
    let started = Instant::now();
    loop {
        let load = host.shared.engine.load();
        if load.turns_alive + load.turns_uncommitted + load.outbound == 0 {
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
            stories.push(Story {
                subject,
                turns,
                earlier: 0,
            });
        }
    }
    Ok(stories)
}
