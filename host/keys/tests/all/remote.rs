//! Calls of remote providers from turns: on threads of the provider, within bounds, and never by the turn itself.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rialto_keys::{
    Algorithm, Attributes, HOST, Key, KeyError, Keys, Made, MasterKeys, Provider, Software,
    Unwrapping,
};

use crate::support::{NOW, OWNER, attributes};

const AWAY: &str = "away";

/// The provider in software as if it were elsewhere. It makes a key when the test says so.
struct Remote {
    timeout: Duration,
    may_make: Mutex<Receiver<()>>,
}

impl Provider for Remote {
    fn kind(&self) -> &'static str {
        "remote"
    }

    fn algorithms(&self) -> Vec<Algorithm> {
        Vec::new()
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn calls_at_once(&self) -> usize {
        1
    }

    fn timeout(&self) -> Duration {
        self.timeout
    }

    fn generate(&self, attributes: &Attributes) -> Result<Made, KeyError> {
        let _no_more_tests = self.may_make.lock().recv();
        Software.generate(attributes)
    }

    fn load(
        &self,
        attributes: &Attributes,
        unwraps: Unwrapping<'_>,
        wrapped: &[u8],
    ) -> Result<Made, KeyError> {
        Software.load(attributes, unwraps, wrapped)
    }

    fn open(&self, attributes: &Attributes, material: &[u8]) -> Result<Box<dyn Key>, KeyError> {
        Software.open(attributes, material)
    }
}

/// Keys with a remote provider, and what lets it make one.
fn remote(timeout: Duration) -> (Keys, std::sync::mpsc::Sender<()>) {
    let (make, may_make) = channel();
    let provider: Arc<dyn Provider> = Arc::new(Remote {
        timeout,
        may_make: Mutex::new(may_make),
    });
    let masters = MasterKeys::of_bytes(&[9; 32]).unwrap();
    let providers = BTreeMap::from([(AWAY.to_owned(), provider)]);
    (Keys::new(masters, providers), make)
}

/// Ask for a key, and get its reference when it is there.
fn asked(keys: &Keys) -> Receiver<Result<String, KeyError>> {
    let (told, answer) = channel();
    keys.call_outside(
        AWAY,
        |keys| keys.generate(OWNER, AWAY, &attributes(Algorithm::Es256)),
        move |made| {
            let _gone = told.send(made.map(|made| made.reference));
        },
    );
    answer
}

fn away(answer: &Receiver<Result<String, KeyError>>) -> String {
    match answer.recv().unwrap() {
        Err(KeyError::ProviderAway(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn turn_does_not_call_a_remote_provider_itself() {
    let (keys, make) = remote(Duration::MAX);
    let within = keys.generate(OWNER, AWAY, &attributes(Algorithm::Es256));
    assert!(matches!(within, Err(KeyError::Unsupported(_))));
    let answer = asked(&keys);
    assert!(answer.try_recv().is_err(), "it waits elsewhere");
    make.send(()).unwrap();
    let reference = answer.recv().unwrap().unwrap();
    assert_eq!(keys.remote_provider(&reference).as_deref(), Some(AWAY));
    assert_eq!(keys.remote_provider("nothing"), None);
    assert!(matches!(
        keys.sign(OWNER, &reference, NOW, b"m"),
        Err(KeyError::Unsupported(_))
    ));
    let (told, signed) = channel();
    keys.call_outside(
        AWAY,
        move |keys| keys.sign(OWNER, &reference, NOW, b"m"),
        move |outcome| told.send(outcome).unwrap(),
    );
    assert_eq!(signed.recv().unwrap().unwrap().len(), 64);
}

#[test]
fn key_is_destroyed_by_its_owner_and_outside_turns() {
    let (keys, make) = remote(Duration::MAX);
    make.send(()).unwrap();
    let key = asked(&keys).recv().unwrap().unwrap();
    let within = keys.destroy(OWNER, &key);
    assert!(
        matches!(within, Err(KeyError::Unsupported(_))),
        "{within:?}"
    );
    let outside = |owner: &'static str| {
        let (told, destroyed) = channel();
        let key = key.clone();
        let work = move |keys: &Keys| keys.destroy(owner, &key);
        keys.call_outside(AWAY, work, move |outcome| told.send(outcome).unwrap());
        destroyed.recv().unwrap()
    };
    for other in ["another", HOST] {
        assert!(matches!(outside(other), Err(KeyError::NoKey(_))));
    }
    assert_eq!((outside(OWNER), outside(OWNER)), (Ok(()), Ok(())));
}

#[test]
fn calls_beyond_the_queue_are_refused_at_once() {
    let (keys, make) = remote(Duration::MAX);
    // One runs or is about to, and 32 wait.
    let mut answers: Vec<_> = (0..34).map(|_| asked(&keys)).collect();
    let refused = answers.iter().filter_map(|answer| answer.try_recv().ok());
    let refused: Vec<_> = refused.collect();
    assert!((1..=2).contains(&refused.len()), "{refused:?}");
    for outcome in refused {
        let Err(KeyError::ProviderAway(why)) = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(why, "the provider `away` has 32 calls that wait");
    }
    for _ in 0..34 {
        make.send(()).unwrap();
    }
    // The refused ones have told already.
    let made = answers.drain(..).filter_map(|answer| answer.recv().ok());
    assert!(made.filter(Result::is_ok).count() >= 32);
}

#[test]
fn call_that_waited_too_long_does_not_reach_the_provider() {
    let (keys, make) = remote(Duration::ZERO);
    // A call that reached the provider would end too.
    drop(make);
    let late = asked(&keys);
    assert!(away(&late).contains("no free session for 0 ms"));
}

/// A provider whose first key is none: it panics, with a secret in the message.
struct Panicking(AtomicBool);

const SECRET: &str = "a part of a key";
/// The name of the test that a child process runs.
const CHILD: &str = "remote::child_whose_provider_panics";

impl Provider for Panicking {
    fn kind(&self) -> &'static str {
        "panicking"
    }

    fn algorithms(&self) -> Vec<Algorithm> {
        Vec::new()
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn calls_at_once(&self) -> usize {
        1
    }

    fn generate(&self, attributes: &Attributes) -> Result<Made, KeyError> {
        assert!(self.0.swap(true, Ordering::Relaxed), "{SECRET}");
        Software.generate(attributes)
    }

    fn load(&self, _: &Attributes, _: Unwrapping<'_>, _: &[u8]) -> Result<Made, KeyError> {
        Err(KeyError::NoProvider)
    }

    fn destroy(&self, _: &[u8]) -> Result<(), KeyError> {
        Err(KeyError::ProviderAway("it is in a drawer".to_owned()))
    }

    fn name_of(&self, _: &[u8]) -> Option<String> {
        Some("CKA_ID 0815".to_owned())
    }

    fn open(&self, attributes: &Attributes, material: &[u8]) -> Result<Box<dyn Key>, KeyError> {
        Software.open(attributes, material)
    }
}

#[test]
fn panic_of_a_provider_fails_its_call_alone() {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", CHILD, "--ignored", "--nocapture"]);
    let ended = child.output().unwrap();
    let said = String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned();
    assert!(ended.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
    assert!(!said.contains(SECRET), "{said}");
    let place = format!("{}:", file!());
    assert!(said.contains(&place), "the log has the place: {said}");
    let stays = "key=\"CKA_ID 0815\"";
    assert!(
        said.contains(stays),
        "the log has the key that stays: {said}"
    );
}

/// In a process that a panic ends, as a host's: only for the test before it.
#[test]
#[ignore = "it ends its process if it fails"]
fn child_whose_provider_panics() {
    tracing::subscriber::set_global_default(Printed).unwrap();
    rialto_fatal::end_process_on_panic();
    let provider: Arc<dyn Provider> = Arc::new(Panicking(AtomicBool::new(false)));
    let masters = MasterKeys::of_bytes(&[9; 32]).unwrap();
    let keys = Keys::new(masters, BTreeMap::from([(AWAY.to_owned(), provider)]));
    let why = away(&asked(&keys));
    assert!(why.contains("the host failed"), "{why}");
    // The only thread serves on, also after a panic of who gets the answer.
    keys.call_outside(
        AWAY,
        |_| Ok(()),
        |_| std::panic::panic_any("nobody gets it"),
    );
    let key = asked(&keys).recv().unwrap().unwrap();
    let (told, stays) = channel();
    keys.destroy_outside((OWNER.to_owned(), AWAY, key), move |outcome| {
        told.send(outcome).unwrap();
    });
    assert!(stays.recv().unwrap().is_err());
}

/// Prints what is logged.
struct Printed;

impl tracing::field::Visit for Printed {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        println!("{field}={value:?}");
    }
}

impl tracing::Subscriber for Printed {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut Self);
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

#[test]
fn closed_keys_end_calls_under_way_and_refuse_others() {
    let (keys, make) = remote(Duration::MAX);
    let (under_way, waits) = (asked(&keys), asked(&keys));
    keys.close(Instant::now());
    assert!(away(&asked(&keys)).contains("the host stops"));
    make.send(()).unwrap();
    let made = under_way.recv().unwrap().unwrap();
    make.send(()).unwrap();
    keys.close(Instant::now() + Duration::from_secs(600));
    assert!(waits.try_recv().unwrap().is_ok(), "it ended before");
    let (told, destroyed) = channel();
    keys.destroy_outside((OWNER.to_owned(), AWAY, made), move |outcome| {
        told.send(outcome).unwrap();
    });
    assert!(matches!(
        destroyed.recv().unwrap(),
        Err(KeyError::ProviderAway(_))
    ));
}

#[test]
fn key_of_an_ended_call_is_destroyed_while_the_keys_close() {
    let (keys, make) = remote(Duration::MAX);
    let (told, destroyed) = channel();
    let destroys = keys.clone();
    keys.call_outside(
        AWAY,
        |keys| keys.generate(OWNER, AWAY, &attributes(Algorithm::Es256)),
        move |made| {
            let reference = made.unwrap().reference;
            destroys.destroy_outside((OWNER.to_owned(), AWAY, reference), move |outcome| {
                told.send(outcome).unwrap();
            });
        },
    );
    make.send(()).unwrap();
    keys.close(Instant::now() + Duration::from_secs(600));
    assert_eq!(destroyed.try_recv(), Ok(Ok(())));
}

#[test]
fn call_under_way_ends_although_nobody_has_the_keys_any_more() {
    let (keys, make) = remote(Duration::MAX);
    let answer = asked(&keys);
    drop(keys);
    make.send(()).unwrap();
    assert!(answer.recv().unwrap().is_ok());
}

#[test]
fn key_of_the_host_is_no_component_s() {
    let (keys, make) = remote(Duration::MAX);
    make.send(()).unwrap();
    let own = keys.make_own(AWAY, Algorithm::Rs256).unwrap();
    let theirs = keys.outside_turns().sign(OWNER, &own.reference, NOW, b"m");
    assert!(matches!(theirs, Err(KeyError::NoKey(_))));
    make.send(()).unwrap();
    let component = asked(&keys).recv().unwrap().unwrap();
    assert!(keys.clone().with_own(&component).is_err());
    let keys = keys.with_own(&own.reference).unwrap();
    assert_eq!(keys.own().unwrap().algorithm, Algorithm::Rs256);
    let signed = keys.outside_turns().sign(HOST, &own.reference, NOW, b"m");
    assert_eq!(signed.unwrap().len(), 384);
    make.send(()).unwrap();
    let curve = keys.make_own(AWAY, Algorithm::Es384).unwrap();
    assert!(matches!(
        keys.with_own(&curve.reference),
        Err(KeyError::Unsupported(_))
    ));
}
