//! `rialto serve`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use rialto_manifest::operator::{Log, LogFormat};
use rialto_manifest::{Diagnostics, Manifest, Operator};
use rialto_telemetry::LogTap;
use rialto_telemetry::logs::{self, Format};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::{operator_of, show};
use crate::host::Host;
use crate::out;
use crate::starting::Start;
use crate::{dumps, swap};

/// How many cores have one thread that serves HTTP. It does a quarter of the host's work.
const CORES_PER_HTTP_THREAD: usize = 2;
/// The interval at which the host checks whether the store has failed.
const LOOK: Duration = Duration::from_millis(50);
/// The exit code for a scheme with problems.
const UNFIT: u8 = 2;
/// The exit code of a host whose lease another one has taken.
const TAKEN_OVER: u8 = 3;

#[derive(Debug, clap::Args)]
pub(super) struct Serve {
    /// The scheme's folder.
    scheme: PathBuf,
    /// The folder of the store. Without it, the folder that rialto.toml names.
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Refuse to start if the folder has problems, even if the store has a release that can serve
    #[arg(long)]
    strict: bool,
    /// Let the system write core dumps of the host, and debuggers attach to it. A core dump has keys and messages
    #[arg(long, env = "RIALTO_CORE_DUMPS")]
    core_dumps: bool,
}

/// The name of the signal that stops the host; none before it.
type Told = watch::Receiver<Option<&'static str>>;

/// With more threads than have work, they wake one another for nothing.
fn http_threads() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    cores.div_ceil(CORES_PER_HTTP_THREAD)
}

impl Serve {
    pub fn run(self) -> anyhow::Result<u8> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(http_threads())
            .thread_name("http")
            .enable_all()
            .build()?;
        let stopping = Arc::new(AtomicBool::new(false));
        let told = runtime.block_on(listen_for_signals(stopping.clone()))?;
        let loaded = Manifest::load(&self.scheme);
        let operator = match &loaded {
            Ok(manifest) => manifest.operator().clone(),
            Err(problems) => match self.without_the_folder() {
                Some(operator) => operator,
                None => return Ok(refuse(problems)),
            },
        };
        let log = start_logs(&operator.log)?;
        // Before any secret is read.
        if self.core_dumps {
            tracing::warn!("the system may write core dumps of this host, which have its keys");
        } else {
            dumps::forbid().context("forbidding core dumps, which would have keys")?;
        }
        if swap::is_possible() {
            tracing::warn!(
                "the system may write this host's memory, which has keys, to its swap space: have none, encrypt it, or keep the host out of it (MemorySwapMax=0 in systemd)"
            );
        }
        rialto_engine::fatal::end_process_on_panic();
        let store = self.store(&operator);
        let start = Start {
            scheme: &self.scheme,
            operator: &operator,
            manifest: loaded.as_ref(),
            store: &store,
            stopping: stopping.clone(),
            log,
        };
        let mut host = match Host::start_from(&start, runtime.handle()) {
            Ok(host) => host,
            Err(error) if stopping.load(Ordering::Relaxed) => {
                tracing::info!("the host stopped before it was ready: {error:#}");
                return Ok(0);
            }
            Err(error) => match error.downcast_ref::<Diagnostics>() {
                Some(problems) => return Ok(refuse(problems)),
                None => return Err(error),
            },
        };
        tell_addresses(&host, &operator);
        let mut ends = runtime.block_on(until_ends(&host, told.clone()));
        if ends == Ends::HandsOver {
            host.hand_over();
            ends = runtime.block_on(until_told(told));
        } else if host.is_taken_over() {
            tracing::error!(
                "the host ends at once: another host has taken over the store, and serves"
            );
            // Without `stop`: what is under way is the other host's now.
            std::process::exit(i32::from(TAKEN_OVER));
        }
        host.stop();
        Ok(u8::from(ends == Ends::Failed))
    }

    fn store(&self, operator: &Operator) -> PathBuf {
        let named = self.state.clone();
        named.unwrap_or_else(|| operator.store_path(&self.scheme))
    }

    /// Reads the operator's document of a folder with problems, if the folder's store exists. Whether that store has a
    /// release is known once it is open.
    fn without_the_folder(&self) -> Option<Operator> {
        if self.strict {
            return None;
        }
        let operator = operator_of(&self.scheme).ok()?;
        let has_store = operator.store.url.is_some() || has_store(&self.store(&operator));
        has_store.then_some(operator)
    }
}

fn has_store(folder: &Path) -> bool {
    folder.join("rialto.db").exists()
}

fn refuse(problems: &Diagnostics) -> u8 {
    show(problems);
    UNFIT
}

fn start_logs(log: &Log) -> anyhow::Result<LogTap> {
    let format = match log.format {
        LogFormat::Text => Format::Text,
        LogFormat::Json => Format::Json,
        LogFormat::Auto => Format::Auto,
    };
    Ok(logs::start(&log.filter, format)?)
}

/// Prints the listeners' addresses, and `ready`. The host serves even if nobody reads them.
fn tell_addresses(host: &Host, operator: &Operator) {
    for (name, address) in host.addresses() {
        let listener = operator.listeners.get(name.as_str());
        let scheme = match listener.and_then(|listener| listener.tls.as_ref()) {
            Some(_) => "https",
            None => "http",
        };
        let _ = out::line(format_args!("{name} {scheme}://{address}"));
    }
    let _ = out::line("ready");
}

/// Sets the mark on SIGTERM and SIGINT from now on, also while the host starts, and logs the signal.
async fn listen_for_signals(stopping: Arc<AtomicBool>) -> anyhow::Result<Told> {
    let mut terminate = signal(SignalKind::terminate()).context("waiting for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("waiting for SIGINT")?;
    let (sender, told) = watch::channel(None);
    tokio::spawn(async move {
        let name = tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        };
        tracing::info!(signal = name, "the host is told to stop");
        stopping.store(true, Ordering::Relaxed);
        sender.send_replace(Some(name));
    });
    Ok(told)
}

/// Why a host serves no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    /// It was told to stop.
    Told,
    /// Its store has failed.
    Failed,
    /// An operator has asked it to hand over.
    HandsOver,
}

/// Waits for a signal, for an operator's word, or for the store to fail.
async fn until_ends(host: &Host, mut told: Told) -> Ends {
    let mut look = tokio::time::interval(LOOK);
    loop {
        tokio::select! {
            _ = told.wait_for(Option::is_some) => return Ends::Told,
            _ = look.tick() => {
                if host.is_taken_over() {
                    return Ends::Failed;
                }
                if let Some(failure) = host.shared.engine.failure() {
                    tracing::error!(%failure, "the host stops because its store failed");
                    return Ends::Failed;
                }
                if host.is_to_hand_over() {
                    return Ends::HandsOver;
                }
            }
        }
    }
}

/// Waits for a signal.
async fn until_told(mut told: Told) -> Ends {
    // The sender lives as long as the process.
    let _ = told.wait_for(Option::is_some).await;
    Ends::Told
}
