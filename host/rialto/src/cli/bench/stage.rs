//! What a measurement needs around the host: the host itself, the FSPs, who pays whom, and the load. How long it is
//! measured, and beside what, is said elsewhere.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use http::{HeaderMap, Method};
use rialto_manifest::Manifest;
use rialto_simulator::bench::{BenchSettings, Payments};
use rialto_simulator::client::HttpClient;
use rialto_simulator::{PartyId, PaymentRequest};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::super::load;
use super::figures::{Sampler, figures, run};
use super::{Bench, Secrets, neighbour, place, tls};
use crate::host::COMPILED;

/// A host, its FSPs and a load that they are ready for. All end with this value.
pub(super) struct Stage {
    pub scene: Scene,
    pub runtime: Runtime,
    pub settings: BenchSettings,
    payments: Arc<Payments>,
    sampler: Sampler,
    /// Whether the payments of a run are shown while they go on.
    shows: bool,
    // FSPs end before the hosts that they call.
    fsps: Running,
    _host: Running,
}

/// What the processes of the FSPs are called.
const FSPS: &str = "fsps";

impl Stage {
    /// Starts all of it on a store in this folder.
    pub fn set(
        bench: &Bench,
        manifest: &Manifest,
        state: &Path,
        secrets: &Secrets,
    ) -> anyhow::Result<Self> {
        rialto_files::folder(state)?;
        let fsps_file = state.join("fsps.json");
        let host = serve(manifest, state)?;
        let mut applications = tls::Applications::new();
        if let Some(pki) = &secrets.tls {
            tls::approve(state)?;
            applications = tls::register(state, pki)?;
        }
        let parties = bench.fsps(manifest, &fsps_file, secrets, &applications)?;
        let fsps = start_fsps(manifest.folder(), state)?;
        let scene = scene(manifest, &parties)?;
        let mut settings = bench.settings();
        let payers = [scene.payer.clone()];
        let client = match &secrets.tls {
            None => HttpClient::new(settings.timeout),
            Some(pki) => tls::client(pki, settings.timeout)?,
        };
        let payments = Payments::with_client(client.clone(), &payers, &scene.payments)?;
        settings.processes = vec![
            ("host".into(), host.id()),
            (FSPS.into(), fsps.id()),
            ("generator".into(), std::process::id()),
        ];
        let runtime = runtime()?;
        let sampler = Sampler::new(manifest, host.id())?;
        scene.associate(&runtime, &client)?;
        Ok(Self {
            scene,
            runtime,
            settings,
            payments: Arc::new(payments),
            sampler,
            shows: !bench.json,
            fsps,
            _host: host,
        })
    }

    /// Has FSPs call the host of this scheme's folder. Others take their place.
    pub fn lead_fsps_to(&mut self, scheme: &Path, state: &Path) -> anyhow::Result<()> {
        self.fsps.end()?;
        self.fsps = start_fsps(scheme, state)?;
        let processes = self.settings.processes.iter_mut();
        for (_, process) in processes.filter(|(name, _)| name == FSPS) {
            *process = self.fsps.id();
        }
        // They own no parties yet.
        let client = HttpClient::new(self.settings.timeout);
        self.scene.associate(&self.runtime, &client)
    }

    /// Runs the load once: the warm-up and what is measured.
    pub fn run(&self) -> anyhow::Result<Value> {
        let payments = self.payments.clone();
        let running = run(&self.settings, payments, self.shows, &self.sampler);
        figures(&self.runtime.block_on(running)?)
    }
}

/// Starts the FSPs of a scheme's folder, by the settings in the folder of a store.
fn start_fsps(scheme: &Path, state: &Path) -> anyhow::Result<Running> {
    start(
        Command::new(std::env::current_exe()?)
            .arg("simulate")
            .arg(scheme)
            .arg("--no-record")
            .arg("--settings")
            .arg(state.join("fsps.json")),
    )
}

/// A host that does not serve.
pub(super) struct Passing {
    pub scheme: PathBuf,
    pub host: Running,
}

impl Passing {
    /// Starts one of the same scheme and database, and waits until it passes requests.
    pub fn start(manifest: &Manifest, state: &Path) -> anyhow::Result<Self> {
        let scheme = state.with_file_name("passing");
        place::for_another_host(manifest, &scheme)?;
        let own = state.with_file_name("passing-state");
        rialto_files::folder(&own)?;
        place::copy_compiled(&state.join(COMPILED), &own.join(COMPILED))?;
        let mut serve = Command::new(std::env::current_exe()?);
        serve.arg("serve").arg(&scheme).arg("--state").arg(&own);
        let child = serve.stdout(Stdio::null()).spawn();
        let host = Running(child.with_context(|| format!("starting {serve:?}"))?);
        let Some(loaded) = load(&scheme)? else {
            bail!("the copy of the scheme for another host cannot be loaded");
        };
        let ready = Sampler::url(&loaded, "/health/ready")?;
        let until = Instant::now() + PASSES_WITHIN;
        while runtime()?.block_on(crate::client::fetch(&ready)).is_err() {
            ensure!(
                Instant::now() < until,
                "the other host does not pass requests"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(Self { scheme, host })
    }
}

/// A child process that ends with this one.
pub(super) struct Running(Child);

/// How long a host may take until it passes requests.
const PASSES_WITHIN: Duration = Duration::from_secs(60);
/// How long a child may take to end when it is told to.
const ENDS_WITHIN: Duration = Duration::from_secs(20);

impl Running {
    /// The process's id.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Tell it to end, and wait until it has.
    pub fn end(&mut self) -> std::io::Result<()> {
        if self.0.try_wait()?.is_some() {
            return Ok(());
        }
        if let Some(pid) = rustix::process::Pid::from_raw(self.0.id().cast_signed()) {
            rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        }
        let latest = Instant::now() + ENDS_WITHIN;
        while self.0.try_wait()?.is_none() {
            if Instant::now() > latest {
                return Err(std::io::ErrorKind::TimedOut.into());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// End it at once: it cannot write anything more.
    pub fn kill(mut self) -> std::io::Result<()> {
        self.0.kill()?;
        self.0.wait().map(drop)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A host that counts for a profile writes it when it ends.
        if self.end().is_err() {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

/// Who pays whom.
pub(super) struct Scene {
    /// The address of the payer's FSP.
    pub payer: String,
    /// The address of the payees' FSP.
    pub payee: String,
    pub currency: String,
    pub payments: Vec<PaymentRequest>,
}

impl Scene {
    /// Has the payees' FSP announce all parties of its settings.
    pub fn associate(
        &self,
        runtime: &tokio::runtime::Runtime,
        client: &HttpClient,
    ) -> anyhow::Result<()> {
        let order = format!("{}/_control/associate", self.payee).parse()?;
        let body = json!({}).to_string().into();
        let associating = client.send(Method::POST, order, HeaderMap::new(), body);
        let answer = runtime.block_on(associating);
        let answer = answer.context("associating the payees")?;
        ensure!(
            answer.status.is_success(),
            "associating the payees: {}: {}",
            answer.status,
            String::from_utf8_lossy(&answer.body)
        );
        Ok(())
    }
}

/// Payments of 1 from the first participant that is no neighbour to these parties of the second.
pub(super) fn scene(manifest: &Manifest, parties: &[PartyId]) -> anyhow::Result<Scene> {
    let participants = manifest.scheme().participants.iter();
    let mut participants = participants.filter(|p| !neighbour::is(p.id.as_str()));
    let (Some(payer), Some(payee)) = (participants.next(), participants.next()) else {
        bail!("a benchmark needs two participants in the scheme");
    };
    let account = payer.accounts.first().context("the payer has no account")?;
    let currency = account.currency.to_string();
    let payments = parties.iter();
    let payments = payments.map(|party| PaymentRequest::new(party.clone(), "1", &currency));
    Ok(Scene {
        payer: payer.callback_base_url.to_string(),
        payee: payee.callback_base_url.to_string(),
        payments: payments.collect(),
        currency,
    })
}

/// What the generator runs on.
pub(super) fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
}

/// Starts a host for this scheme on a store. An existing store has a release whose FSPs listen elsewhere, so the scheme
/// is applied first.
pub(super) fn serve(manifest: &Manifest, state: &Path) -> anyhow::Result<Running> {
    rialto_files::folder(state)?;
    let has_release = state.join("rialto.db").is_file();
    let rialto = std::env::current_exe()?;
    let (scheme, store) = (manifest.folder(), ["--state".as_ref(), state.as_os_str()]);
    // Without the option the system hides how much the host writes.
    let serve = ["serve", "--core-dumps"];
    let host = start(Command::new(&rialto).args(serve).arg(scheme).args(store))?;
    if has_release {
        apply(manifest.folder(), state)?;
    }
    Ok(host)
}

/// Has the host of a scheme and a store take this folder's scheme as its next release.
pub(super) fn apply(scheme: &Path, state: &Path) -> anyhow::Result<()> {
    let mut apply = Command::new(std::env::current_exe()?);
    apply.args(["release", "apply"]).arg(scheme);
    apply.arg("--at").arg(scheme).arg("--state").arg(state);
    apply.args(["--note", "for a benchmark"]);
    let applied = apply
        .output()
        .with_context(|| format!("starting {apply:?}"))?;
    ensure!(
        applied.status.success(),
        "the store refuses the benchmark's copy of the scheme: {}",
        String::from_utf8_lossy(&applied.stderr)
    );
    Ok(())
}

/// Start a process and wait until it says that it is ready.
pub(super) fn start(command: &mut Command) -> anyhow::Result<Running> {
    let child = command.stdout(Stdio::piped()).spawn();
    let mut running = Running(child.with_context(|| format!("starting {command:?}"))?);
    let out = running.0.stdout.take().context("its output")?;
    for line in BufReader::new(out).lines() {
        if line? == "ready" {
            return Ok(running);
        }
    }
    bail!("{command:?} ended before it was ready");
}
