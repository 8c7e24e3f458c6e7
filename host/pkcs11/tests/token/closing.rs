//! The end of a host: calls end, and modules are finalized when nobody is inside them.

use std::time::{Duration, Instant};

use rialto_keys::{Algorithm, KeyError};

use crate::world::{HSM, NOW, OWNER, World, attributes, keys, made, open};

fn at_once() -> Instant {
    Instant::now()
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(600)
}

pub fn module_is_finalized_when_nobody_is_inside(world: &World) {
    let token = open(world.failing());
    let keys = keys(&token);
    let key = made(&keys, HSM, Algorithm::Rs256).reference;
    world.control("hold-sign", "");
    let signer = std::thread::spawn({
        let (keys, key) = (keys.clone(), key.clone());
        move || keys.sign(OWNER, &key, NOW, b"m")
    });
    while world.counted("signs") == 0 {
        std::thread::yield_now();
    }
    keys.close(at_once());
    assert_eq!(world.counted("finalized"), 0, "a call is inside the module");
    for refused in [
        keys.sign(OWNER, &key, NOW, b"m").map(drop),
        (keys.generate(OWNER, HSM, &attributes(Algorithm::Es256))).map(drop),
        token.check().map(drop),
    ] {
        let Err(KeyError::ProviderAway(why)) = refused else {
            panic!("{refused:?}");
        };
        assert!(why.contains("the host stops"), "{why}");
    }
    world.release("hold-sign");
    let signature = signer.join().unwrap();
    signature.expect("a call that was under way ends as ever");
    keys.close(soon());
    keys.close(soon());
    assert_eq!(world.counted("finalized"), 1);
    assert_eq!(world.counted("inside"), 0);
}

pub fn module_of_two_tokens_is_finalized_with_the_last(world: &World) {
    let first = keys(&open(world.failing()));
    let second = keys(&open(world.failing()));
    let key = made(&first, HSM, Algorithm::Es256).reference;
    first.close(soon());
    second.sign(OWNER, &key, NOW, b"m").unwrap();
    assert_eq!(world.counted("finalized"), 0);
    second.close(soon());
    assert_eq!(world.counted("finalized"), 1);
    // A module that was finalized is initialized again.
    let third = keys(&open(world.failing()));
    third.sign(OWNER, &key, NOW, b"m").unwrap();
}

pub fn module_that_does_not_end_is_given_up(world: &World) {
    let keys = keys(&open(world.failing()));
    made(&keys, HSM, Algorithm::Es256);
    world.control("hold-finalize", "");
    // Enough for the sessions to be closed: how long it takes is up to the machine.
    while world.counted("finalized") == 0 {
        keys.close(Instant::now() + Duration::from_millis(50));
    }
    world.release("hold-finalize");
}
