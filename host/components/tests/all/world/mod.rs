//! The environment of tests and benchmarks: releases of a few real components, an engine with real threads, and a
//! store in memory.

#![allow(dead_code, reason = "each test file uses a part of the world")]

mod memory;

use std::collections::HashMap;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::time::{Duration, Instant};

use rialto_components::cache::Cache;
use rialto_components::config::PoolSize;
use rialto_components::http::{Request, Response};
use rialto_components::rules::{Judgement, Outcome, Receipt};
use rialto_components::runtime::{Argument, ReleaseChanged};
use rialto_components::wiring::Problem;
use rialto_components::{
    Activation, ComponentSpec, Digest, Effective, Failing, Grants, Isolation, Limits, Release,
    ReleaseSpec, Role, Runtime, StepSpec,
};
use rialto_engine::threads::Threads;
use rialto_engine::time::{SystemClock, SystemEntropy};
use rialto_engine::{Clock, Engine, Entropy as _, Environment, Failure, Timestamp, Trace};
use rialto_keys::Keys;

pub use memory::MemoryStore;

/// The step at which transfers are judged.
pub const PREPARE: &str = "transfer-prepare-check";
/// The step at which requests for quotes are judged.
pub const QUOTE: &str = "quote-request-check";
/// The error code that a failed rule gives in these releases: FSPIOP's "Internal server error".
pub const FAILURE_CODE: &str = "2001";
/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A component that `cargo xtask build` made.
pub fn built(name: &str) -> Arc<[u8]> {
    static READ: OnceLock<Mutex<HashMap<String, Arc<[u8]>>>> = OnceLock::new();
    let mut read = READ.get_or_init(Mutex::default).lock().unwrap();
    let bytes = read.entry(name.to_owned()).or_insert_with(|| {
        let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../target/plugins")
            .join(format!("{name}.wasm"));
        let bytes = std::fs::read(&path);
        let bytes = bytes.unwrap_or_else(|e| panic!("{name}.wasm: {e}: run `cargo xtask build`"));
        bytes.into()
    });
    bytes.clone()
}

/// Bounds that no well-behaved component of these tests reaches.
pub fn wide() -> Limits {
    Limits {
        memory_bytes: 32 << 20,
        deadline_ms: 2_000,
        fuel: Some(100_000_000),
        instances: 16,
    }
}

/// A rule from bytes.
pub fn rule_of(name: &str, bytes: Arc<[u8]>, limits: Limits) -> ComponentSpec {
    ComponentSpec {
        name: name.into(),
        role: Role::Rule,
        digest: Digest::of(&bytes),
        bytes,
        grants: Grants {
            host: ["configuration", "logging", "trace"].map(Into::into).into(),
            ..Grants::default()
        },
        limits,
        isolation: Isolation::Fresh,
        settings: "{}".into(),
        listener: None,
    }
}

/// A rule that was built, under its own name.
pub fn rule(name: &str) -> ComponentSpec {
    rule_of(name, built(name), wide())
}

/// The context that obeys orders, granted what it imports.
pub fn asker() -> ComponentSpec {
    let texts = |items: &[&str]| items.iter().map(|&item| item.to_owned()).collect();
    let bytes = built("hostile-context");
    ComponentSpec {
        name: "asker".into(),
        role: Role::Context,
        digest: Digest::of(&bytes),
        bytes,
        grants: Grants {
            host: texts(&["storage", "judging", "logging"]),
            calls: texts(&["hostile-context/echo"]),
            publishes: texts(&["hostile-context/happened"]),
            rules: texts(&[PREPARE, QUOTE]),
            outbound: Vec::new(),
        },
        limits: Limits {
            fuel: None,
            ..wide()
        },
        isolation: Isolation::Pooled {
            turns_per_instance: 1_000,
        },
        settings: "{}".into(),
        listener: Some("orders".into()),
    }
}

/// The context that the asker calls.
pub fn friend() -> ComponentSpec {
    let bytes = built("hostile-friend");
    ComponentSpec {
        name: "friend".into(),
        digest: Digest::of(&bytes),
        bytes,
        grants: Grants {
            host: ["storage", "keys", "caller", "logging"]
                .map(Into::into)
                .into(),
            ..Grants::default()
        },
        listener: None,
        ..asker()
    }
}

/// A rule at a step.
pub fn at(step: &str, rule: &str, settings: &str, failing: Failing) -> StepSpec {
    StepSpec {
        step: step.into(),
        rule: rule.into(),
        settings: settings.into(),
        failing: failing.into(),
        failure_code: FAILURE_CODE.into(),
        quarantine: None,
        always_newest: false,
        confidential: false,
        effective: Effective::default(),
        shadow: None,
        canary: None,
    }
}

/// The hostile rule at the step for transfers.
pub fn hostile(behaviour: &str, failing: Failing) -> StepSpec {
    let settings = format!(r#"{{"do":"{behaviour}"}}"#);
    at(PREPARE, "hostile-rule", &settings, failing)
}

/// A release of these components, and of the friend of those that call it.
pub fn release(mut components: Vec<ComponentSpec>, steps: Vec<StepSpec>) -> ReleaseSpec {
    let friendless = components.iter().all(|c| &*c.name != "friend");
    if friendless && components.iter().any(|c| c.digest == asker().digest) {
        components.push(friend());
    }
    let things = ["{\"n\":0}", "1", "\"two\""];
    ReleaseSpec {
        number: 1,
        digest: Digest::of("a release of the tests"),
        components,
        steps,
        scheme: "{}".into(),
        lists: Arc::new([("things".to_owned(), things.map(str::to_owned).to_vec())].into()),
        signers: Vec::new(),
        codes: ["2001", "3100", "4200"].map(str::to_owned).to_vec(),
        has_rules_alone: false,
    }
}

/// A runtime with room for this many instances.
pub fn runtime(instances: u32) -> Runtime {
    static FOLDER: Mutex<Option<tempfile::TempDir>> = Mutex::new(None);
    // One at a time: the first one draws the cache's key, and a host opens its cache once.
    let mut folder = FOLDER.lock().unwrap();
    let folder = folder.get_or_insert_with(|| rialto_files::temporary_folder().unwrap());
    let cache = Cache::open(folder.path(), |key| SystemEntropy.fill(key)).unwrap();
    let pool = PoolSize {
        instances,
        ..PoolSize::default()
    };
    Runtime::new(cache, pool).unwrap()
}

/// What keeps a release from going live.
pub fn problems(spec: &ReleaseSpec) -> Vec<Problem> {
    match runtime(16).prepare(spec) {
        Ok(_) => panic!("the release should be refused"),
        Err(problems) => problems,
    }
}

/// A release that was made ready, outside of any engine: for asking rules without a turn.
pub struct Ready {
    /// It must outlive the release: it moves the epoch on.
    runtime: Runtime,
    release: Release,
}

impl Deref for Ready {
    type Target = Release;

    fn deref(&self) -> &Release {
        &self.release
    }
}

impl Ready {
    /// Make a release ready.
    pub fn new(spec: &ReleaseSpec) -> Self {
        Self::with_room(spec, 16)
    }

    /// Make a release ready, with room for this many instances.
    pub fn with_room(spec: &ReleaseSpec, instances: u32) -> Self {
        let runtime = runtime(instances);
        let prepared = runtime.prepare(spec);
        let release = prepared.unwrap_or_else(|problems| panic!("{problems:?}"));
        Self { runtime, release }
    }

    /// Ask the nth rule of the step for transfers, in the order of the
    /// release.
    pub fn ask(&self, nth: usize) -> Judgement {
        self.ask_about(nth, 100)
    }

    /// As `ask`, about an amount.
    pub fn ask_about(&self, nth: usize, units: u64) -> Judgement {
        let bound = &self.steps[PREPARE][nth];
        let asked = self.members[bound.member].judge_stored(bound, "T1", &transfer(units));
        asked.unwrap()
    }

    /// As `ask`, the verdict or the reason why there is none.
    pub fn verdict(&self, nth: usize) -> Result<Outcome, String> {
        self.ask(nth).outcome.map_err(|reason| reason.to_string())
    }
}

/// A failure's reason without the line of the plugin's code at its end.
pub fn without_location(reason: &str) -> &str {
    let at = reason
        .rfind(" (")
        .filter(|&at| reason[at..].contains(".rs:"));
    at.map_or(reason, |at| &reason[..at])
}

/// The input of the step for transfers: an amount of USD in minor units.
pub fn transfer(units: u64) -> String {
    serde_json::json!({
        "now": 1_767_225_600_000_u64,
        "transfer": {
            "transfer-id": "7c23e80c-d078-4077-8263-2c047876fcf6",
            "payer-fsp": "payer",
            "payee-fsp": "payee",
            "amount": {
                "currency": "USD",
                "scale": 2,
                "minor-units": { "high": 0, "low": units },
            },
            "condition": "A".repeat(43),
            "expiration": 1_767_225_630_000_u64,
        },
        "agreement": null,
    })
    .to_string()
}

/// A clock whose instant the test says, in milliseconds since 1970.
#[derive(Default)]
pub struct ManualClock {
    /// The instant.
    pub now: AtomicU64,
    system: SystemClock,
}

impl ManualClock {
    /// Move it on.
    pub fn pass(&self, milliseconds: u64) {
        self.now.fetch_add(milliseconds, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.now.load(Ordering::SeqCst))
    }

    fn monotonic_us(&self) -> u64 {
        self.system.monotonic_us()
    }
}

/// A running engine on a release.
pub struct World {
    /// The engine.
    pub engine: Engine,
    /// What it wrote.
    pub store: Arc<MemoryStore>,
    runtime: Arc<Runtime>,
    threads: Option<Threads>,
}

impl World {
    /// Run a release, with room for this many instances.
    pub fn new(spec: &ReleaseSpec, instances: u32) -> Self {
        Self::with(spec, instances, Self::limits())
    }

    /// Limits under which what fails is soon tried again, and soon given up.
    pub fn limits() -> rialto_engine::Limits {
        rialto_engine::Limits {
            attempts_max: 2,
            retry_initial_ms: 1,
            retry_max_ms: 1,
            commit_linger_us: 0,
            ..rialto_engine::Limits::default()
        }
    }

    /// Run a release under these limits.
    pub fn with(spec: &ReleaseSpec, instances: u32, limits: rialto_engine::Limits) -> Self {
        Self::on(runtime(instances), spec, limits)
    }

    /// Run a release whose components have keys at these providers.
    pub fn with_keys(spec: &ReleaseSpec, keys: Keys) -> Self {
        Self::on(runtime(16).with_keys(Arc::new(keys)), spec, Self::limits())
    }

    /// Run a release with room for this many instances, on a clock that the test moves.
    pub fn at(spec: &ReleaseSpec, instances: u32, clock: &Arc<ManualClock>) -> Self {
        let clock: Arc<dyn Clock> = clock.clone();
        Self::on_clock(runtime(instances), spec, Self::limits(), clock)
    }

    /// The runtime.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    fn on(runtime: Runtime, spec: &ReleaseSpec, limits: rialto_engine::Limits) -> Self {
        Self::on_clock(runtime, spec, limits, Arc::new(SystemClock::default()))
    }

    fn on_clock(
        runtime: Runtime,
        spec: &ReleaseSpec,
        limits: rialto_engine::Limits,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let runtime = Arc::new(runtime);
        let prepared = runtime.prepare(spec);
        let release = prepared.unwrap_or_else(|problems| panic!("{problems:?}"));
        runtime.make_current(Arc::new(release));
        let store = Arc::new(MemoryStore::default());
        let environment = Environment {
            store: store.clone(),
            network: Arc::new(memory::NoNetwork),
            clock,
            entropy: Arc::new(SystemEntropy),
            spans: None,
            personal_data: None,
            receipt_log: None,
            publications: None,
        };
        let (engine, _) = Engine::open(environment, runtime.clone(), limits).unwrap();
        let threads = Threads::start(&engine, 4).unwrap();
        Self {
            engine,
            store,
            runtime,
            threads: Some(threads),
        }
    }

    /// Make another release current.
    pub fn make_current(&self, spec: &ReleaseSpec) {
        let prepared = self.runtime.prepare(spec);
        let release = prepared.unwrap_or_else(|problems| panic!("{problems:?}"));
        self.runtime.make_current(Arc::new(release));
    }

    /// Give the context an order and wait for what comes of it.
    pub fn order(&self, text: &str) -> Result<String, Failure> {
        let answer = self.order_judged_by(None, text)?;
        Ok(answer.expect("nobody judged it"))
    }

    /// The same, judged by the document of a release. None when another one is current.
    pub fn order_judged_by(
        &self,
        judged_by: Option<u64>,
        text: &str,
    ) -> Result<Option<String>, Failure> {
        let request = Request {
            operation_id: "obey".into(),
            method: "POST".into(),
            path: "/orders".into(),
            path_parameters: Vec::new(),
            query_parameters: Vec::new(),
            headers: Vec::new(),
            body: Some(text.to_owned()),
            caller: None,
        };
        let (told, wait) = mpsc::channel();
        let waiter = Box::new(move |answer| {
            let _ = told.send(answer);
        });
        let argument = Arc::new(Argument::Http {
            request: Arc::new(request),
            judged_by,
            is_audited: true,
            may_keep: true,
            credential: None,
        });
        let submitted = self.engine.submit(
            "asker".into(),
            "POST /orders".into(),
            argument,
            Trace::default(),
            waiter,
        );
        submitted.unwrap();
        let answer = wait.recv_timeout(PATIENCE).expect("an answer in time")?;
        if answer.is::<ReleaseChanged>() {
            return Ok(None);
        }
        let response = answer.downcast::<Response>().expect("a response");
        Ok(Some(response.body.unwrap_or_default()))
    }

    /// Run the activation of the release that is current. Returns how many turns that took.
    pub fn activate(&self) -> Result<u32, Failure> {
        let mut next = Activation::first(self.runtime.current().unwrap(), Vec::new());
        let mut turns = 0;
        while let Some(activation) = next {
            let (told, wait) = mpsc::channel();
            self.engine.submit_activation(
                "release".into(),
                Arc::new(Argument::Activation(activation.clone())),
                Box::new(move |answer| {
                    let _ = told.send(answer);
                }),
            );
            let answer = wait.recv_timeout(PATIENCE).expect("an answer in time")?;
            turns += 1;
            next = activation.next(&*answer);
        }
        Ok(turns)
    }

    /// The component and reason of an order's failure.
    pub fn failure(&self, text: &str) -> (String, String) {
        match self.order(text) {
            Err(Failure::Handler { component, reason }) => (component.to_string(), reason),
            other => panic!("`{text}` should fail, and gave {other:?}"),
        }
    }

    /// All receipts so far, in order.
    pub fn receipts(&self) -> Vec<Receipt> {
        let bodies = self.store.receipts.lock().unwrap();
        let read = bodies.iter().map(|body| serde_json::from_str(body));
        read.collect::<Result<_, _>>().unwrap()
    }

    /// Wait until something is so.
    pub fn wait_until(&self, what: &str, condition: impl Fn(&Self) -> bool) {
        let started = Instant::now();
        while !condition(self) {
            assert!(started.elapsed() < PATIENCE, "{what} did not happen");
            std::thread::yield_now();
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(threads) = self.threads.take() {
            threads.stop();
        }
    }
}
