//! Passkeys and confirmations, with an authenticator in software.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rialto_edge::confirmation::{Approval, Confirmations as _};
use rialto_engine::store::Store as _;
use rialto_engine::time::SystemEntropy;
use rialto_engine::{Clock, Timestamp};
use rialto_manifest::Operator;
use rialto_store_sqlite::SqliteStore;
use rialto_webauthn::authenticator::{Authenticator, PRESENT};
use serde_json::Value;
use tempfile::TempDir;

use super::confirmations::Request;
use super::open::{LIFETIME_MS, OPEN_MAX};
use super::verifying::relying_party;
use super::{PASSKEYS_MAX, Passkeys, Refused};
use crate::operators::{Caller, Operators};

const PARTY: &str = "hub.example";
const ORIGIN: &str = "https://hub.example:8443";
const TARGET: &str = "/releases/2/approve?a=b";
const BODY: &str = r#"{"expected":1}"#;

#[derive(Default)]
struct TestClock(AtomicU64);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }

    fn monotonic_us(&self) -> u64 {
        self.now().0 * 1_000
    }
}

fn document(address: &str, passkeys: &str) -> Operator {
    let text = format!(
        "[listeners.operators]\naddress = \"127.0.0.1:0\"\n\
         [sign-in]\nissuer = \"https://id.example\"\nclient-id = \"rialto\"\naddress = \"{address}\"\n\
         [passkeys]\n{passkeys}\n\
         [operators.anna]\nroles = [\"maker\"]\n[operators.ben]\nroles = [\"checker\"]\n\
         [operators.chris]\nroles = [\"checker\", \"admin\"]\n"
    );
    Operator::parse(&text).unwrap()
}

struct Scene {
    folder: TempDir,
    clock: Arc<TestClock>,
    operators: Operators,
    passkeys: Passkeys,
}

fn opened(folder: &TempDir, clock: &Arc<TestClock>, required: bool) -> Passkeys {
    let store = SqliteStore::open(folder.path()).unwrap();
    store.recover().unwrap();
    let operator = document(ORIGIN, &format!("required = {required}"));
    let entropy = Arc::new(SystemEntropy);
    let opened = Passkeys::open(&operator, Arc::new(store), clock.clone(), entropy);
    opened.unwrap().unwrap()
}

impl Scene {
    fn new() -> Self {
        Self::with(true)
    }

    fn with(required: bool) -> Self {
        let folder = rialto_files::temporary_folder().unwrap();
        let clock = Arc::new(TestClock(AtomicU64::new(1_770_000_000_000)));
        let operator = document(ORIGIN, "required = true");
        Self {
            operators: Operators::open(&operator, folder.path(), &SystemEntropy).unwrap(),
            passkeys: opened(&folder, &clock, required),
            folder,
            clock,
        }
    }

    fn restarted(self) -> Self {
        drop(self.passkeys);
        let passkeys = opened(&self.folder, &self.clock, true);
        Self { passkeys, ..self }
    }

    fn later(&self, milliseconds: u64) {
        self.clock.0.fetch_add(milliseconds, Ordering::Relaxed);
    }

    fn caller(&self, name: &str) -> Caller {
        self.operators.named(name).unwrap().0.clone()
    }

    fn register(&self, name: &str, device: &mut Authenticator) -> Result<String, Refused> {
        let caller = self.caller(name);
        let begun = self.passkeys.begin_registration(&caller)?;
        let response = device.create(&begun.public_key).to_string();
        let made = self
            .passkeys
            .register(&caller, &begun.id, "a key", &response);
        self.later(1);
        made.map(|passkey| passkey.id.clone())
    }

    /// A person with an approved passkey, and the passkey's id.
    fn with_passkey(&self, name: &str, number: u8) -> (Authenticator, String) {
        let mut device = device(number);
        let id = self.register(name, &mut device).unwrap();
        let by = if name == "chris" { "ben" } else { "chris" };
        self.passkeys.approve(&self.caller(by), &id).unwrap();
        (device, id)
    }

    fn begin(&self, name: &str) -> Result<(String, Value), Refused> {
        let request = Request {
            method: "POST".to_owned(),
            target: TARGET.to_owned(),
            body: BODY.to_owned(),
        };
        let begun = self
            .passkeys
            .begin_confirmation(&self.caller(name), request)?;
        Ok((begun.id, begun.public_key))
    }

    fn confirm(&self, name: &str, device: &mut Authenticator) -> Result<String, Refused> {
        let (id, options) = self.begin(name)?;
        self.later(1);
        let response = device.get(&options).to_string();
        self.passkeys.confirm(&self.caller(name), &id, &response)?;
        self.later(1);
        Ok(id)
    }

    /// Whether the request passes with this confirmation.
    fn passes(&self, person: &str, id: &str) -> bool {
        self.takes(Approval {
            person,
            confirmation: Some(id),
            ..approval()
        })
    }

    fn takes(&self, approval: Approval<'_>) -> bool {
        self.passkeys.take(approval).is_ok()
    }
}

fn device(number: u8) -> Authenticator {
    Authenticator::new(number, PARTY, ORIGIN)
}

const fn approval() -> Approval<'static> {
    Approval {
        person: "ben",
        confirmation: None,
        method: "POST",
        target: TARGET,
        body: BODY.as_bytes(),
    }
}

#[test]
fn passkey_is_of_use_once_another_person_has_approved_it() {
    let scene = Scene::new();
    assert!(!scene.passkeys.let_somebody_approve(&scene.operators));
    let mut device = device(1);
    let id = scene.register("ben", &mut device).unwrap();
    let none = scene.begin("ben").unwrap_err();
    assert!(matches!(none, Refused::None(_)), "{none}");
    let own = scene.passkeys.approve(&scene.caller("ben"), &id);
    assert!(matches!(own, Err(Refused::Own(_))));
    scene.passkeys.approve(&scene.caller("chris"), &id).unwrap();
    let again = scene.passkeys.approve(&scene.caller("chris"), &id);
    assert!(matches!(again, Err(Refused::NotWaiting(_))));
    assert!(scene.passkeys.let_somebody_approve(&scene.operators));
    let scene = scene.restarted();
    assert!(scene.passkeys.let_somebody_approve(&scene.operators));
    let confirmation = scene.confirm("ben", &mut device).unwrap();
    assert!(scene.passes("ben", &confirmation));
    assert!(!scene.passes("ben", &confirmation), "it was used");
    assert!(!scene.takes(approval()));
}

#[test]
fn confirmation_is_of_one_request_of_one_person() {
    let scene = Scene::new();
    let (mut device, _) = scene.with_passkey("ben", 1);
    let id = scene.confirm("ben", &mut device).unwrap();
    let right = Approval {
        confirmation: Some(&id),
        ..approval()
    };
    for wrong in [
        Approval {
            person: "chris",
            ..right
        },
        Approval {
            method: "DELETE",
            ..right
        },
        Approval {
            target: "/releases/2/approve",
            ..right
        },
        Approval {
            body: br#"{"expected":2}"#,
            ..right
        },
        Approval { body: b"", ..right },
        Approval {
            confirmation: Some("0"),
            ..right
        },
    ] {
        assert!(!scene.takes(wrong), "{wrong:?}");
    }
    assert!(scene.takes(right), "what does not fit uses nothing up");
    // Begun is not confirmed.
    let (id, _) = scene.begin("ben").unwrap();
    assert!(!scene.passes("ben", &id));
    let caller = scene.caller("chris");
    let foreign = scene.passkeys.confirmation(&caller, &id);
    assert!(matches!(foreign, Err(Refused::NothingWaits)));
    let id = scene.confirm("ben", &mut device).unwrap();
    scene.later(LIFETIME_MS);
    assert!(!scene.passes("ben", &id), "its time is over");
}

#[test]
fn response_that_does_not_hold_ends_the_confirmation() {
    let scene = Scene::new();
    let (mut device, _) = scene.with_passkey("ben", 1);
    let ben = scene.caller("ben");
    let mut tried = |change: fn(&mut Authenticator), options: Option<&Value>| {
        let (id, own) = scene.begin("ben").unwrap();
        let before = (device.flags, device.origin.clone(), device.party.clone());
        change(&mut device);
        let response = device.get(options.unwrap_or(&own)).to_string();
        (device.flags, device.origin, device.party) = before;
        let refused = scene.passkeys.confirm(&ben, &id, &response).unwrap_err();
        assert!(matches!(refused, Refused::Unproven(_)), "{refused}");
        let right = device.get(&own).to_string();
        let refused = scene.passkeys.confirm(&ben, &id, &right).unwrap_err();
        assert!(matches!(refused, Refused::NothingWaits), "{refused}");
    };
    let (_, other) = scene.begin("ben").unwrap();
    tried(|_| (), Some(&other));
    tried(|device| device.flags = PRESENT, None);
    tried(
        |device| device.origin = "https://hub.example".to_owned(),
        None,
    );
    tried(|device| device.party = "example".to_owned(), None);
    // What cannot be read changes nothing.
    let (id, own) = scene.begin("ben").unwrap();
    let malformed = scene.passkeys.confirm(&ben, &id, "{}").unwrap_err();
    assert!(matches!(malformed, Refused::Malformed(_)), "{malformed}");
    let right = device.get(&own).to_string();
    scene.passkeys.confirm(&ben, &id, &right).unwrap();
    // Once confirmed, no other response is taken.
    let again = scene.passkeys.confirm(&ben, &id, &right).unwrap_err();
    assert!(matches!(again, Refused::NothingWaits), "{again}");
    assert!(scene.passes("ben", &id));
}

#[test]
fn passkey_of_another_person_confirms_nothing() {
    let scene = Scene::new();
    let (_, _) = scene.with_passkey("ben", 1);
    let (mut of_chris, _) = scene.with_passkey("chris", 2);
    let refused = scene.confirm("ben", &mut of_chris).unwrap_err();
    assert!(matches!(refused, Refused::Unproven(_)), "{refused}");
    let mut known = device(2);
    let refused = scene.register("ben", &mut known).unwrap_err();
    assert!(matches!(refused, Refused::Known), "{refused}");
}

#[test]
fn ended_passkey_confirms_nothing_and_is_never_registered_again() {
    let scene = Scene::new();
    let (mut device, id) = scene.with_passkey("ben", 1);
    let (mut other, _) = scene.with_passkey("ben", 2);
    let confirmed = scene.confirm("ben", &mut device).unwrap();
    let (open, options) = scene.begin("ben").unwrap();
    scene.passkeys.end(&scene.caller("ben"), &id).unwrap();
    assert!(!scene.passes("ben", &confirmed), "it was confirmed before");
    let response = device.get(&options).to_string();
    let late = scene
        .passkeys
        .confirm(&scene.caller("ben"), &open, &response);
    assert!(matches!(late, Err(Refused::NothingWaits)));
    let again = scene.passkeys.end(&scene.caller("ben"), &id);
    assert!(matches!(again, Err(Refused::Unknown(_))));
    let scene = scene.restarted();
    let refused = scene.confirm("ben", &mut device).unwrap_err();
    assert!(matches!(refused, Refused::Unproven(_)), "{refused}");
    let refused = scene.register("ben", &mut device).unwrap_err();
    assert!(matches!(refused, Refused::Known), "{refused}");
    let confirmed = scene.confirm("ben", &mut other).unwrap();
    assert!(scene.passes("ben", &confirmed));
    // One that was never approved is forgotten.
    let mut waits = self::device(3);
    let id = scene.register("anna", &mut waits).unwrap();
    scene.passkeys.end(&scene.caller("anna"), &id).unwrap();
    let scene = scene.restarted();
    scene.register("anna", &mut waits).unwrap();
}

#[test]
fn copy_of_an_authenticator_ends_the_passkey() {
    let scene = Scene::new();
    let (mut device, id) = scene.with_passkey("ben", 1);
    scene.confirm("ben", &mut device).unwrap();
    device.count -= 1;
    let refused = scene.confirm("ben", &mut device).unwrap_err();
    assert!(matches!(refused, Refused::Unproven(_)), "{refused}");
    let scene = scene.restarted();
    let none = scene.confirm("ben", &mut device).unwrap_err();
    assert!(matches!(none, Refused::None(_)), "{none}");
    let all = scene.passkeys.all();
    let ended = all.iter().find(|one| one.id == id).unwrap();
    assert_eq!(ended.ended.as_ref().unwrap().by, "the host");
}

#[test]
fn what_is_under_way_is_bounded_for_each_person() {
    let scene = Scene::new();
    let (_, _) = scene.with_passkey("ben", 1);
    let (_, _) = scene.with_passkey("chris", 2);
    let waits = |name: &str, id: &str| {
        let found = scene.passkeys.confirmation(&scene.caller(name), id);
        found.is_ok()
    };
    let (of_chris, _) = scene.begin("chris").unwrap();
    let begun: Vec<_> = (0..=OPEN_MAX)
        .map(|_| scene.begin("ben").unwrap().0)
        .collect();
    assert!(!waits("ben", &begun[0]), "the oldest is removed");
    assert!(begun[1..].iter().all(|id| waits("ben", id)));
    assert!(waits("chris", &of_chris));
    for number in 10..10 + u8::try_from(PASSKEYS_MAX).unwrap() {
        scene.register("anna", &mut device(number)).unwrap();
    }
    let refused = scene.register("anna", &mut device(99)).unwrap_err();
    assert!(matches!(refused, Refused::TooMany(_)), "{refused}");
}

#[test]
fn nothing_is_needed_while_passkeys_are_registered_at_first() {
    let scene = Scene::with(false);
    assert!(scene.takes(approval()));
    let (mut device, _) = scene.with_passkey("ben", 1);
    assert!(scene.takes(approval()));
    let scene = scene.restarted();
    assert!(!scene.takes(approval()));
    let id = scene.confirm("ben", &mut device).unwrap();
    assert!(scene.passes("ben", &id));
}

#[test]
fn relying_party_is_a_domain_of_the_address() {
    let party = |address: &str, more: &str| {
        let document = document(address, &format!("required = true\n{more}"));
        let party = relying_party(&document).map_err(|error| format!("{error:#}"))?;
        Ok::<_, String>(party.map(|party| (party.id, party.origins)))
    };
    let of = |id: &str, origin: &str| Ok(Some((id.to_owned(), vec![origin.to_owned()])));
    assert_eq!(party(ORIGIN, ""), of(PARTY, ORIGIN));
    let above = r#"relying-party = "bank.example""#;
    let address = "https://hub.bank.example";
    assert_eq!(party(address, above), of("bank.example", address));
    let local = "http://localhost:4002";
    assert_eq!(party(local, ""), of("localhost", local));
    for (address, more, why) in [
        ("http://127.0.0.1:4002", "", "`127.0.0.1` is none"),
        (
            ORIGIN,
            r#"relying-party = "other.example""#,
            "must be other.example",
        ),
        (ORIGIN, r#"relying-party = "example""#, "`example` is none"),
    ] {
        let refused = party(address, more).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
}
