//! Keys are made once, destroyed for good, and not from within a turn.

use std::time::Duration;

use cryptoki::object::{Attribute, AttributeType};
use rialto_keys::{Algorithm, KeyError};
use rialto_pkcs11::Configuration;

use crate::world::{
    HSM, LOCAL, NOW, OWNER, Onlooker, World, attributes, keys, made, open, within_turns,
};

/// Codes after which it is not known whether the token did it: CKR_DEVICE_ERROR, CKR_DEVICE_REMOVED,
/// CKR_GENERAL_ERROR, CKR_SESSION_HANDLE_INVALID, CKR_USER_NOT_LOGGED_IN.
const AMBIGUOUS: [&str; 5] = ["48", "50", "5", "179", "257"];

pub fn key_of_one_id_is_made_once(world: &World) {
    let keys = keys(&open(world.failing()));
    let mut generated = 0;
    for algorithm in [Algorithm::Es256, Algorithm::Hs256] {
        for code in AMBIGUOUS {
            world.control("fail-after", code);
            let key = made(&keys, HSM, algorithm).reference;
            generated += 1;
            keys.sign(OWNER, &key, NOW, b"m").unwrap();
            assert_eq!(world.counted("generated"), generated, "code {code}");
        }
    }
    assert_eq!(Onlooker::new(&world.failing()).keys().len(), generated);
}

pub fn key_has_a_name_for_people(world: &World) {
    let configuration = world.softhsm();
    let keys = keys(&open(configuration.clone()));
    let key = made(&keys, HSM, Algorithm::Hs256).reference;
    let name = keys.name_at_provider(OWNER, &key).unwrap();
    let onlooker = Onlooker::new(&configuration);
    let session = onlooker.session();
    let wanted = [AttributeType::Id];
    let told = session.get_attributes(onlooker.keys()[0], &wanted).unwrap();
    let [Attribute::Id(id)] = told.as_slice() else {
        panic!("{told:?}");
    };
    let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(
        name.starts_with(&format!("CKA_ID {id} in the token ")),
        "{name}"
    );
    assert_eq!(keys.name_at_provider("another", &key), None);
    let local = made(&keys, LOCAL, Algorithm::Hs256).reference;
    assert_eq!(keys.name_at_provider(OWNER, &local), None);
}

pub fn failed_generation_is_done_once_more(world: &World) {
    let keys = keys(&open(world.failing()));
    for code in AMBIGUOUS {
        world.control("fail-before", code);
        made(&keys, HSM, Algorithm::Es256);
    }
    assert_eq!(world.counted("generated"), AMBIGUOUS.len());
    // CKR_TEMPLATE_INCONSISTENT leaves nothing open.
    world.control("fail-before", "209");
    let refused = keys.generate(OWNER, HSM, &attributes(Algorithm::Es256));
    assert!(matches!(refused, Err(KeyError::ProviderAway(_))));
    assert_eq!(world.counted("generated"), AMBIGUOUS.len());
    let onlooker = Onlooker::new(&world.failing());
    assert_eq!(onlooker.keys().len(), AMBIGUOUS.len());
}

pub fn late_key_is_destroyed(world: &World) {
    let token = open(Configuration {
        timeout: Duration::from_millis(50),
        sessions: 1,
        ..world.failing()
    });
    let keys = keys(&token);
    while token.check().is_err() {
        std::thread::yield_now();
    }
    world.control("hold-generate", "");
    // On a busy machine the only session may not have begun in time, and then makes nothing.
    loop {
        let late = keys.generate(OWNER, HSM, &attributes(Algorithm::Es256));
        let Err(KeyError::ProviderAway(why)) = late else {
            panic!("{late:?}");
        };
        if why.contains("has not answered") {
            break;
        }
    }
    let onlooker = Onlooker::new(&world.failing());
    while onlooker.keys().is_empty() {
        std::thread::yield_now();
    }
    world.release("hold-generate");
    while !onlooker.keys().is_empty() {
        std::thread::yield_now();
    }
    while token.check().is_err() {
        std::thread::yield_now();
    }
}

pub fn destroyed_key_is_gone(world: &World) {
    let configuration = world.softhsm();
    let keys = keys(&open(configuration.clone()));
    let (key, other) = (
        made(&keys, HSM, Algorithm::Es256).reference,
        made(&keys, HSM, Algorithm::Hs256).reference,
    );
    // Every thread knows its handle.
    for _ in 0..4 {
        keys.sign(OWNER, &key, NOW, b"m").unwrap();
    }
    let anothers = Err(KeyError::NoKey("it is another component's"));
    assert_eq!(keys.destroy("another", &key), anothers);
    for _ in 0..3 {
        assert_eq!(keys.destroy(OWNER, &key), Ok(()));
        for _ in 0..4 {
            let gone = Err(KeyError::NoKey("the token no longer has it"));
            assert_eq!(keys.sign(OWNER, &key, NOW, b"m"), gone);
        }
    }
    keys.sign(OWNER, &other, NOW, b"m").unwrap();
    let session = Onlooker::new(&configuration).session();
    assert_eq!(session.find_objects(&[]).unwrap().len(), 1);
    // A key in software is in its reference.
    let local = made(&keys, LOCAL, Algorithm::Es256).reference;
    assert_eq!(keys.destroy(OWNER, &local), Ok(()));
}

pub fn turns_do_not_call_a_token(world: &World) {
    let token = open(world.failing());
    let key = made(&keys(&token), HSM, Algorithm::Hs256).reference;
    let before = world.counted("generated");
    let keys = within_turns(&token);
    let refused = |outcome: Result<(), KeyError>| {
        let Err(KeyError::Unsupported(why)) = outcome else {
            panic!("{outcome:?}");
        };
        assert!(why.contains("within a turn"), "{why}");
    };
    refused(keys.sign(OWNER, &key, NOW, b"m").map(drop));
    refused(keys.verify(OWNER, &key, b"m", b"s").map(drop));
    refused(keys.encrypt(OWNER, &key, NOW, b"m", b"").map(drop));
    refused(keys.decrypt(OWNER, &key, &[0; 40], b"").map(drop));
    refused(keys.destroy(OWNER, &key));
    refused(
        keys.generate(OWNER, HSM, &attributes(Algorithm::Es256))
            .map(drop),
    );
    assert_eq!(world.counted("generated"), before);
    made(&keys, LOCAL, Algorithm::Es256);
}
