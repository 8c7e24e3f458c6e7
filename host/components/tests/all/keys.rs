//! Destroying keys: by their owner alone, after the decision is on disk, for good.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rialto_keys::{
    Algorithm, Attributes, Key, KeyError, Keys, Made, MasterKeys, Provider, Purpose, Software,
    Unwrapping,
};

use crate::world::{World, asker, friend, release};

/// The component whose keys these are.
const FRIEND: &str = "friend";
const HERE: &str = "here";
const AWAY: &str = "away";
/// Longer than anything here takes.
const SOON: Duration = Duration::from_secs(60);

/// The provider in software as if it were elsewhere. It tells of each key that it destroys.
struct Remote {
    destroyed: Mutex<Sender<()>>,
    /// Why it destroys nothing now.
    fails: Arc<Mutex<Option<KeyError>>>,
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

    fn generate(&self, attributes: &Attributes) -> Result<Made, KeyError> {
        Software.generate(attributes)
    }

    fn load(&self, _: &Attributes, _: Unwrapping<'_>, _: &[u8]) -> Result<Made, KeyError> {
        Err(KeyError::NoProvider)
    }

    fn open(&self, attributes: &Attributes, material: &[u8]) -> Result<Box<dyn Key>, KeyError> {
        Software.open(attributes, material)
    }

    fn destroy(&self, _: &[u8]) -> Result<(), KeyError> {
        match self.fails.lock().unwrap().take() {
            Some(error) => Err(error),
            None => {
                let _no_more_tests = self.destroyed.lock().unwrap().send(());
                Ok(())
            }
        }
    }
}

/// A world whose friend has keys, here and away.
struct Scene {
    world: World,
    keys: Keys,
    destroyed: Receiver<()>,
    fails: Arc<Mutex<Option<KeyError>>>,
}

impl Scene {
    fn new() -> Self {
        let (told, destroyed) = channel();
        let fails = Arc::default();
        let remote: Arc<dyn Provider> = Arc::new(Remote {
            destroyed: Mutex::new(told),
            fails: Arc::clone(&fails),
        });
        let here: Arc<dyn Provider> = Arc::new(Software);
        let providers = BTreeMap::from([(HERE.to_owned(), here), (AWAY.to_owned(), remote)]);
        let keys = Keys::new(MasterKeys::of_bytes(&[9; 32]).unwrap(), providers);
        let spec = release(vec![asker(), friend()], Vec::new());
        Self {
            world: World::with_keys(&spec, keys.clone()),
            keys,
            destroyed,
            fails,
        }
    }

    /// The reference of a new key.
    fn key(&self, owner: &str, provider: &str) -> String {
        let attributes = Attributes {
            label: "a key".to_owned(),
            purpose: Purpose::Mac,
            algorithm: Algorithm::Hs256,
            not_after: None,
        };
        let keys = self.keys.outside_turns();
        keys.generate(owner, provider, &attributes)
            .unwrap()
            .reference
    }

    fn destroy(&self, reference: &str) -> String {
        let order = format!("call destroy {reference}");
        self.world.order(&order).unwrap()
    }

    fn nothing_is_destroyed(&self) -> bool {
        self.destroyed.try_recv().is_err()
    }
}

#[test]
fn owner_destroys_a_key_and_may_repeat_it() {
    let scene = Scene::new();
    let key = scene.key(FRIEND, AWAY);
    for _ in 0..2 {
        assert_eq!(scene.destroy(&key), "destroyed");
        assert_eq!(scene.destroyed.try_recv(), Ok(()));
    }
    assert!(scene.nothing_is_destroyed(), "once for each call");
}

#[test]
fn key_of_another_component_is_not_destroyed() {
    let scene = Scene::new();
    for provider in [AWAY, HERE] {
        for owner in ["asker", rialto_keys::HOST] {
            let said = scene.destroy(&scene.key(owner, provider));
            assert!(said.contains("another component"), "{said}");
        }
    }
    let said = scene.destroy("nothing");
    assert!(said.contains("NoKey"), "{said}");
    assert!(scene.nothing_is_destroyed());
}

#[test]
fn key_in_software_is_destroyed_by_forgetting_its_reference() {
    let scene = Scene::new();
    let key = scene.key(FRIEND, HERE);
    assert_eq!(scene.destroy(&key), "destroyed");
    assert!(scene.nothing_is_destroyed());
    let calls = &scene.world.engine.counters().outside_calls;
    assert_eq!(calls.load(Ordering::Relaxed), 0, "nobody is asked");
    // The key lies in the reference, which is its owner's to forget.
    assert!(scene.keys.sign(FRIEND, &key, 0, b"m").is_ok());
}

#[test]
fn failure_of_the_provider_is_told_and_another_try_succeeds() {
    let scene = Scene::new();
    let key = scene.key(FRIEND, AWAY);
    let away = KeyError::ProviderAway("it is in a drawer".to_owned());
    *scene.fails.lock().unwrap() = Some(away);
    let said = scene.destroy(&key);
    assert!(said.contains("it is in a drawer"), "{said}");
    assert!(scene.nothing_is_destroyed());
    assert_eq!(scene.destroy(&key), "destroyed");
    assert_eq!(scene.destroyed.try_recv(), Ok(()));
}

#[test]
fn key_stays_destroyed_when_its_turn_fails() {
    let scene = Scene::new();
    let key = scene.key(FRIEND, AWAY);
    let order = format!("write-then call destroy-then-trap {key}");
    let (_, reason) = scene.world.failure(&order);
    assert!(
        reason.contains("traps when the key is destroyed"),
        "{reason}"
    );
    assert_eq!(scene.destroyed.try_recv(), Ok(()));
    assert_eq!(scene.world.store.ids(), [""; 0]);
}

/// The event's turn follows the request's turn in memory, before anything is on disk.
#[test]
fn provider_is_called_when_the_decision_is_on_disk() {
    let scene = Scene::new();
    let key = scene.key(FRIEND, AWAY);
    let order = format!("write-then publish call destroy {key}");
    std::thread::scope(|scope| {
        let writes = scene.world.store.writes.lock().unwrap();
        scope.spawn(|| scene.world.order(&order).unwrap());
        scene.world.wait_until("the call", |world| {
            world
                .engine
                .counters()
                .outside_calls
                .load(Ordering::Relaxed)
                == 1
        });
        // A provider that was called too early has told by then.
        let early = scene.destroyed.recv_timeout(Duration::from_millis(200));
        assert_eq!(early, Err(RecvTimeoutError::Timeout));
        assert_eq!(scene.world.store.ids(), [""; 0]);
        drop(writes);
        scene.destroyed.recv_timeout(SOON).unwrap();
        assert_eq!(scene.world.store.ids(), ["written"]);
    });
}
