//! Tells components which signers have a key, so that they remember it. A participant whose key file is lost must
//! not count as one that never had a key.
//!
//! The components answer which signers they do not know. Then a key file probably has a wrong name, and the
//! participant's messages are not verified. These signers are asked for again each minute, because they may be
//! known by then.
//!
//! All signers are told after a start and when another release becomes current; new signers when they appear.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use rialto_components::external_calls::{Call, CallOutcome};
use rialto_components::release::{Member, Release};
use rialto_components::runtime::{Argument, Runtime};
use rialto_engine::{Engine, Trace};
use tokio::sync::watch;

use crate::one_metric::gauge;

/// The interface of components that remember signers.
const HANDLER: &str = "rialto:host/signers-handler@0.1.0";
/// Its function.
const FUNCTION: &str = "signers-found";
/// Signers in one call, the limit of the contract.
const TOLD_AT_ONCE: usize = 100;
/// The time between two looks for new signers.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The time until unknown signers are asked for again.
const ASK_AGAIN: Duration = Duration::from_secs(60);
/// How long a component may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// Tells the components of a host.
pub struct SignerNotifier {
    engine: Engine,
    runtime: Arc<Runtime>,
    told: Mutex<NotifiedSigners>,
    /// How many signers are unknown, for the metric, which must not wait for a turn.
    unknown: AtomicUsize,
}

/// What was told, and the answers.
#[derive(Default)]
struct NotifiedSigners {
    /// The release whose components were told.
    release: Option<u64>,
    signers: BTreeSet<String>,
    /// The unknown signers.
    unknown: BTreeSet<String>,
    asked: Option<Instant>,
    /// The last failure, which is logged once.
    failed: Option<String>,
}

impl SignerNotifier {
    /// Nothing is told yet.
    #[must_use]
    pub fn new(engine: Engine, runtime: Arc<Runtime>) -> Self {
        Self {
            engine,
            runtime,
            told: Mutex::default(),
            unknown: AtomicUsize::new(0),
        }
    }

    /// Tell the components of new signers, and wait until that is on disk. A failure is logged and retried at the next
    /// look.
    pub fn look(&self) {
        let mut told = self.told.lock();
        let failed = self.tell(&mut told).err();
        let failed = failed.map(|error| format!("{error:#}"));
        if let Some(why) = failed
            .as_ref()
            .filter(|why| told.failed.as_ref() != Some(*why))
        {
            tracing::error!(
                "keys: components could not be told who has a key; the host tries again: {why}"
            );
        }
        told.failed = failed;
        self.unknown.store(told.unknown.len(), Ordering::Relaxed);
    }

    /// Look regularly until told to stop.
    pub async fn follow(self: Arc<Self>, mut stop: watch::Receiver<bool>) {
        let mut due = tokio::time::interval(LOOK_EVERY);
        due.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = due.tick() => {}
                _ = stop.wait_for(|stop| *stop) => return,
            }
            let telling = self.clone();
            let looked = tokio::task::spawn_blocking(move || telling.look()).await;
            if looked.is_err() {
                tracing::error!(
                    "keys: components are no longer told who has a key, because telling them failed; restart the host"
                );
                return;
            }
        }
    }

    fn tell(&self, told: &mut NotifiedSigners) -> anyhow::Result<()> {
        let Some(release) = self.runtime.current() else {
            return Ok(());
        };
        let members: Vec<&Member> = rememberers(&release).collect();
        let Some(first) = members.first() else {
            return Ok(());
        };
        // All components of a release have the same signers.
        let signers = first.identity.signers.names();
        let is_due = told.asked.is_none_or(|asked| asked.elapsed() >= ASK_AGAIN);
        let is_new = |signer: &&String| {
            told.release != Some(release.number)
                || !told.signers.contains(*signer)
                || (is_due && told.unknown.contains(*signer))
        };
        let news: Vec<String> = signers.iter().filter(is_new).cloned().collect();
        let mut unknown: BTreeSet<String> = told.unknown.intersection(&signers).cloned().collect();
        if !news.is_empty() {
            let strangers = self.ask(&release, &members, &news)?;
            for signer in &news {
                unknown.remove(signer);
            }
            for stranger in strangers.difference(&told.unknown) {
                tracing::warn!(
                    "keys: there is a key for {stranger:?}, but no component knows that name; if the name of its file is wrong, the messages of the intended signer cannot be verified"
                );
            }
            unknown.extend(strangers);
            told.asked = Some(Instant::now());
        }
        told.unknown = unknown;
        told.signers = signers;
        told.release = Some(release.number);
        Ok(())
    }

    /// Ask all components about signers. Returns those that no component knows.
    fn ask(
        &self,
        release: &Release,
        members: &[&Member],
        signers: &[String],
    ) -> anyhow::Result<BTreeSet<String>> {
        let mut strangers: BTreeSet<String> = signers.iter().cloned().collect();
        for member in members {
            let mut of_member = BTreeSet::new();
            for some in signers.chunks(TOLD_AT_ONCE) {
                of_member.extend(self.ask_one(release, member, some)?);
            }
            strangers.retain(|signer| of_member.contains(signer));
        }
        Ok(strangers)
    }

    /// Call a component in a turn, and wait for it.
    fn ask_one(
        &self,
        release: &Release,
        member: &Member,
        signers: &[String],
    ) -> anyhow::Result<Vec<String>> {
        let component = &member.identity.name;
        let (sender, answered) = mpsc::sync_channel(1);
        let call = Call {
            interface: HANDLER.into(),
            function: FUNCTION.into(),
            arguments: vec![serde_json::json!(signers)],
            release: release.number,
            client: None,
        };
        let submitted = self.engine.submit(
            component.clone(),
            FUNCTION.into(),
            Arc::new(Argument::Call(call)),
            Trace::default(),
            Box::new(move |outcome| {
                let _ = sender.send(outcome);
            }),
        );
        submitted.map_err(|_| anyhow!("the host has more work than it can take"))?;
        let outcome = answered.recv_timeout(ANSWER_WITHIN);
        let outcome = outcome.with_context(|| format!("`{component}` gave no answer in time"))?;
        let reply = outcome.with_context(|| format!("telling `{component}`"))?;
        match reply.downcast::<CallOutcome>().map(|called| *called) {
            Ok(CallOutcome::Returned(value)) => serde_json::from_value(value)
                .with_context(|| format!("reading what `{component}` answers")),
            Ok(CallOutcome::ReleaseChanged) => {
                Err(anyhow!("another release has become current meanwhile"))
            }
            Err(_) => Err(anyhow!("`{component}` gave no answer")),
        }
    }
}

/// The components that remember signers.
fn rememberers(release: &Release) -> impl Iterator<Item = &Member> {
    let members = release.members.iter();
    members.filter(|member| member.export(HANDLER, FUNCTION).is_some())
}

/// The metric of unknown signers.
pub struct SignersCollector(pub Arc<SignerNotifier>);

impl std::fmt::Debug for SignersCollector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SignersCollector")
    }
}

impl Collector for SignersCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let unknown = self.0.unknown.load(Ordering::Relaxed);
        let help = "Keys whose name no component knows";
        gauge(&mut encoder, "keys_unknown", help, unknown)
    }
}
