//! `rialto serve`.

use std::path::PathBuf;

use anyhow::Context as _;
use rialto_manifest::operator::LogFormat;
use rialto_telemetry::logs::{self, Format};

use super::load;
use crate::host::Host;
use crate::out;

/// Threads that serve HTTP.
const HTTP_THREADS: usize = 2;

#[derive(Debug, clap::Args)]
pub(super) struct Serve {
    /// The scheme's folder.
    scheme: PathBuf,
    /// The folder of the store, instead of the one that rialto.toml names.
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
}

impl Serve {
    pub fn run(self) -> anyhow::Result<u8> {
        let Some(manifest) = load(&self.scheme)? else {
            return Ok(2);
        };
        let log = &manifest.operator().log;
        let format = match log.format {
            LogFormat::Text => Format::Text,
            LogFormat::Json => Format::Json,
            LogFormat::Auto => Format::Auto,
        };
        logs::start(&log.filter, format)?;
        rialto_engine::fatal::end_process_on_panic();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(HTTP_THREADS)
            .thread_name("http")
            .enable_all()
            .build()?;
        let folder = self.state.unwrap_or_else(|| manifest.store_path());
        let host = Host::start(&manifest, &folder, runtime.handle())?;
        for (name, address) in host.addresses() {
            let listener = manifest.operator().listeners.get(name.as_str());
            let scheme = match listener.and_then(|listener| listener.tls.as_ref()) {
                Some(_) => "https",
                None => "http",
            };
            // A host whose starter does not listen serves all the same.
            let _ = out::line(format_args!("{name} {scheme}://{address}"));
        }
        let _ = out::line("ready");
        let failed = runtime.block_on(until_stopped(&host))?;
        host.stop();
        Ok(u8::from(failed))
    }
}

/// Wait for a signal, or for the store to fail. Answers whether it failed.
async fn until_stopped(host: &Host) -> anyhow::Result<bool> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate()).context("waiting for SIGTERM")?;
    let mut look = tokio::time::interval(std::time::Duration::from_millis(50));
    loop {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => return Ok(false),
            _ = terminate.recv() => return Ok(false),
            _ = look.tick() => {
                if let Some(failure) = host.shared.engine.failure() {
                    tracing::error!(%failure, "the host stops because its store failed");
                    return Ok(true);
                }
            }
        }
    }
}
