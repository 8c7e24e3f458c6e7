//! Delivery over real sockets: the circuit to a dead destination opens and closes again, waiting requests are told,
//! and requests to one destination never wait for another.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rialto_edge::{BreakerPolicy, DestinationStatus, MaySend, Outbound, OutboundLimits};
use rialto_engine::network::{
    DeliveryPolicy, FailureKind, Network as _, OutboundRequest, Outcome, OwnSignature, Report,
    WhileAway,
};
use rialto_engine::{Clock, Timestamp};
use rialto_telemetry::Metrics;
use rialto_tls::{OriginFiles, OutboundTls};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::signing::ScriptedSigner;

/// Longer than anything here takes, unless it hangs.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// An FSP that answers 200, or resets connections while it is told to.
pub struct Fsp {
    pub address: SocketAddr,
    well: Arc<AtomicBool>,
    pub met: Arc<AtomicUsize>,
    /// The requests as they came.
    pub heard: Arc<Mutex<Vec<String>>>,
}

/// How an FSP that is not well behaves.
#[derive(Clone, Copy, PartialEq)]
pub enum Illness {
    Resets,
    Silent,
}

pub fn fsp(runtime: &Runtime, well: bool, illness: Illness) -> Fsp {
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let fsp = Fsp {
        address: listener.local_addr().unwrap(),
        well: Arc::new(AtomicBool::new(well)),
        met: Arc::default(),
        heard: Arc::default(),
    };
    let (well, met, heard) = (fsp.well.clone(), fsp.met.clone(), fsp.heard.clone());
    runtime.spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let (well, met, heard) = (well.clone(), met.clone(), heard.clone());
            tokio::spawn(async move {
                let mut buffer = [0; 4096];
                while let Ok(length @ 1..) = stream.read(&mut buffer).await {
                    let text = String::from_utf8_lossy(&buffer[..length]);
                    heard.lock().push(text.into_owned());
                    met.fetch_add(1, Ordering::SeqCst);
                    if well.load(Ordering::SeqCst) {
                        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
                        if stream.write_all(answer).await.is_err() {
                            return;
                        }
                    } else if illness == Illness::Resets {
                        return;
                    }
                }
            });
        }
    });
    fsp
}

/// The time since the test began.
struct Now(Instant);

impl Clock for Now {
    fn now(&self) -> Timestamp {
        Timestamp(self.monotonic_us() / 1_000)
    }
    fn monotonic_us(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_micros()).unwrap()
    }
}

pub struct World {
    pub runtime: Runtime,
    outbound: Outbound,
    clock: Arc<Now>,
    pub signer: Arc<ScriptedSigner>,
}

pub fn world() -> World {
    world_with(OutboundTls::read(OriginFiles::default(), Vec::new()).unwrap())
}

fn world_with(tls: OutboundTls) -> World {
    world_that_may(tls, None)
}

fn world_that_may(tls: OutboundTls, may_send: Option<MaySend>) -> World {
    let runtime = Runtime::new().unwrap();
    let clock = Arc::new(Now(Instant::now()));
    let signer = Arc::new(ScriptedSigner::default());
    let limits = OutboundLimits {
        connections_per_destination: 2,
        connect_timeout: Duration::from_secs(1),
        breaker: BreakerPolicy {
            failures: 3,
            pause: Duration::from_millis(200),
            pause_max: Duration::from_millis(400),
        },
        private_ranges: Vec::new(),
    };
    let outbound = Outbound::new(
        runtime.handle().clone(),
        limits,
        Arc::new(tls),
        signer.clone(),
        clock.clone(),
        Arc::new(Metrics::default()),
        None,
    );
    let outbound = match may_send {
        Some(may_send) => outbound.while_it_may(may_send),
        None => outbound,
    };
    World {
        runtime,
        outbound,
        clock,
        signer,
    }
}

impl World {
    /// Send a request; its report comes by the channel.
    fn send(&self, to: SocketAddr, while_away: WhileAway, lives_ms: u64) -> mpsc::Receiver<Report> {
        self.send_to(format!("http://{to}/transfers/t"), while_away, lives_ms)
    }

    fn send_to(&self, url: String, while_away: WhileAway, lives_ms: u64) -> mpsc::Receiver<Report> {
        self.send_signed(url, while_away, lives_ms, None)
    }

    /// The same for a request that the host is to sign.
    pub fn send_signed(
        &self,
        url: String,
        while_away: WhileAway,
        lives_ms: u64,
        signature: Option<OwnSignature>,
    ) -> mpsc::Receiver<Report> {
        let (sender, receiver) = mpsc::channel();
        let request = OutboundRequest {
            id: 1,
            component: "notifications".into(),
            method: "PUT".into(),
            url,
            headers: Vec::new(),
            body: Some("{}".into()),
            signature,
            policy: DeliveryPolicy {
                attempts_max: 100,
                attempt_timeout_ms: 100,
                deadline: Timestamp(self.clock.now().0 + lives_ms),
                backoff_initial_ms: 1,
                backoff_max_ms: 10,
                while_away,
            },
            correlation: String::new(),
            traceparent: String::new(),
            subjects: Vec::new(),
        };
        self.outbound.send(
            Arc::new(request),
            Box::new(move |report| {
                let _ = sender.send(report);
            }),
        );
        receiver
    }

    fn find(&self, of: SocketAddr) -> Option<DestinationStatus> {
        let all = self.outbound.destinations();
        all.into_iter().find(|d| d.destination == of.to_string())
    }

    fn status(&self, of: SocketAddr) -> DestinationStatus {
        self.find(of).unwrap()
    }

    /// Wait until so many attempts in a row have met nobody at a destination.
    fn wait_for_failures(&self, of: SocketAddr, failures: u32) {
        let until = Instant::now() + PATIENCE;
        while self.find(of).is_none_or(|d| d.failures < failures) {
            assert!(Instant::now() < until, "{:?}", self.find(of));
            std::thread::yield_now();
        }
    }
}

pub fn failed(report: &Report) -> (FailureKind, &str) {
    match &report.outcome {
        Outcome::Failed { kind, reason, .. } => (*kind, reason),
        Outcome::Delivered(response) => panic!("it was delivered: {}", response.status),
    }
}

#[test]
fn a_host_that_may_not_send_waits_and_sends_nothing() {
    let lease = Arc::new(AtomicBool::new(false));
    let looked = Arc::new(AtomicUsize::new(0));
    let (held, counted) = (lease.clone(), looked.clone());
    let may_send: MaySend = Arc::new(move || {
        counted.fetch_add(1, Ordering::SeqCst);
        held.load(Ordering::SeqCst)
    });
    let tls = OutboundTls::read(OriginFiles::default(), Vec::new()).unwrap();
    let world = world_that_may(tls, Some(may_send));
    let fsp = fsp(&world.runtime, true, Illness::Silent);
    let waiting = world.send(fsp.address, WhileAway::Wait, 60_000);
    let late = world.send(fsp.address, WhileAway::Wait, 50);
    let report = late.recv_timeout(PATIENCE).unwrap();
    assert_eq!(
        (failed(&report).0, report.attempts),
        (FailureKind::TimedOut, 0)
    );
    let before = looked.load(Ordering::SeqCst);
    let until = Instant::now() + PATIENCE;
    while looked.load(Ordering::SeqCst) < before + 3 {
        assert!(Instant::now() < until, "the host does not look again");
        std::thread::yield_now();
    }
    assert_eq!(fsp.met.load(Ordering::SeqCst), 0);
    lease.store(true, Ordering::SeqCst);
    let report = waiting.recv_timeout(PATIENCE).unwrap();
    assert!(
        matches!(report.outcome, Outcome::Delivered(_)),
        "{report:?}"
    );
    assert_eq!(fsp.met.load(Ordering::SeqCst), 1);
}

#[test]
fn who_is_away_is_left_alone_and_found_again() {
    let world = world();
    let fsp = fsp(&world.runtime, false, Illness::Resets);
    let reports: Vec<_> = (0..50)
        .map(|_| world.send(fsp.address, WhileAway::Wait, 60_000))
        .collect();
    // Three open the circuit, one more may have been under way, and each pause lets one through:
    // without a circuit fifty requests would have been tried hundreds of times by then.
    world.wait_for_failures(fsp.address, 7);
    let met = fsp.met.load(Ordering::SeqCst);
    assert!(met <= 10, "it was met {met} times");
    let status = world.status(fsp.address);
    assert_ne!(status.circuit, "closed", "{status:?}");
    assert_eq!(status.requests, 50);
    fsp.well.store(true, Ordering::SeqCst);
    for report in reports {
        let report = report.recv_timeout(PATIENCE).unwrap();
        assert!(
            matches!(report.outcome, Outcome::Delivered(_)),
            "{report:?}"
        );
        // Waiting is no attempt.
        assert!(report.attempts <= 5, "{report:?}");
    }
    let status = world.status(fsp.address);
    assert_eq!((status.circuit.as_str(), status.failures), ("closed", 0));
    assert_eq!(status.requests, 0);
}

#[test]
fn who_would_rather_not_wait_is_told_at_once() {
    let world = world();
    let fsp = fsp(&world.runtime, false, Illness::Silent);
    let waiting = world.send(fsp.address, WhileAway::Wait, 1_000);
    world.wait_for_failures(fsp.address, 3);
    // Whoever comes when a pause is over is the probe, and meets nobody himself.
    let told = world.send(fsp.address, WhileAway::GiveUp, 60_000);
    let told = told.recv_timeout(Duration::from_secs(5)).unwrap();
    let (kind, reason) = failed(&told);
    if told.attempts == 0 {
        assert_eq!(kind, FailureKind::Unreachable);
        assert!(
            reason.contains("met nobody, the last one: no answer"),
            "{reason}"
        );
    } else {
        assert_eq!((told.attempts, kind), (1, FailureKind::TimedOut));
    }
    let report = waiting.recv_timeout(PATIENCE).unwrap();
    assert_eq!(
        failed(&report).0,
        FailureKind::TimedOut,
        "its deadline came"
    );
}

#[test]
fn a_silent_destination_does_not_hold_up_another_one() {
    let world = world();
    let silent = fsp(&world.runtime, false, Illness::Silent);
    let well = fsp(&world.runtime, true, Illness::Silent);
    let stuck: Vec<_> = (0..2_000)
        .map(|_| world.send(silent.address, WhileAway::Wait, 600_000))
        .collect();
    let reports: Vec<_> = (0..500)
        .map(|_| world.send(well.address, WhileAway::Wait, 600_000))
        .collect();
    for report in reports {
        let report = report.recv_timeout(PATIENCE).unwrap();
        assert_eq!(report.attempts, 1);
    }
    assert_eq!(world.status(well.address).circuit, "closed");
    let none_ended = stuck.iter().all(|report| report.try_recv().is_err());
    assert!(none_ended, "they wait for their destination");
}

/// An address where every request is answered with this status line.
fn answering(world: &World, status: &'static str) -> SocketAddr {
    let listener = world.runtime.block_on(TcpListener::bind("127.0.0.1:0"));
    let listener = listener.unwrap();
    let address = listener.local_addr().unwrap();
    world.runtime.spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut buffer = [0; 4096];
                let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
                while stream.read(&mut buffer).await.is_ok_and(|n| n > 0) {
                    stream.write_all(answer.as_bytes()).await.unwrap();
                }
            });
        }
    });
    address
}

#[test]
fn a_refusal_is_final_and_a_sign_of_life() {
    let world = world();
    for status in ["400 Bad Request", "501 Not Implemented"] {
        let address = answering(&world, status);
        for _ in 0..10 {
            let report = world.send(address, WhileAway::Wait, 60_000);
            let report = report.recv_timeout(PATIENCE).unwrap();
            assert_eq!(failed(&report).0, FailureKind::Refused);
            assert_eq!(report.attempts, 1, "{status}");
        }
        assert_eq!(world.status(address).circuit, "closed");
    }
}
