//! Sessions that are lost, tokens that are away, slow, or refuse the PIN.

use std::time::Duration;

use rialto_keys::{Algorithm, KeyError, Keys};
use rialto_pkcs11::{Configuration, OpenError, PinSource, Pkcs11};

use crate::setup::{LABEL, PIN, init_token};
use crate::world::{HSM, NOW, OWNER, Onlooker, World, keys, made, open};

fn away<T: std::fmt::Debug>(outcome: Result<T, KeyError>) -> String {
    match outcome {
        Err(KeyError::ProviderAway(why)) => why,
        other => panic!("not away: {other:?}"),
    }
}

/// Sign until it works.
fn until_it_signs(keys: &Keys, key: &str) {
    while keys.sign(OWNER, key, NOW, b"m").is_err() {
        std::thread::yield_now();
    }
}

pub fn closed_sessions_are_opened_again(world: &World) {
    let keys = keys(&open(world.failing()));
    let key = made(&keys, HSM, Algorithm::Es256);
    let logins = world.counted("logins");
    for _ in 0..10 {
        world.control("close-all", "");
        // One after the other: each thread has lost its session.
        for _ in 0..4 {
            let signature = keys.sign(OWNER, &key.reference, NOW, b"m").unwrap();
            let verified = keys.verify(OWNER, &key.reference, b"m", &signature);
            assert_eq!(verified, Ok(true));
        }
        world.control("close-all", "");
        made(&keys, HSM, Algorithm::Hs256);
    }
    assert!(world.counted("logins") >= logins + 20);
}

pub fn removed_token_works_when_it_is_back(world: &World) {
    let token = open(world.failing());
    let keys = keys(&token);
    let key = made(&keys, HSM, Algorithm::Es256).reference;
    let code = made(&keys, HSM, Algorithm::Hs256).reference;
    for _ in 0..3 {
        let signature = keys.sign(OWNER, &key, NOW, b"m").unwrap();
        world.control("removed", "");
        for _ in 0..4 {
            away(keys.sign(OWNER, &key, NOW, b"m"));
        }
        away(keys.sign(OWNER, &code, NOW, b"m"));
        away(token.check());
        let why = away(keys.destroy(OWNER, &key));
        assert!(why.contains(LABEL), "{why}");
        away(keys.generate(OWNER, HSM, &crate::world::attributes(Algorithm::Es256)));
        // The public key is with the reference.
        assert_eq!(keys.verify(OWNER, &key, b"m", &signature), Ok(true));
        world.release("removed");
        keys.sign(OWNER, &key, NOW, b"m").unwrap();
        keys.sign(OWNER, &code, NOW, b"m").unwrap();
        token.check().unwrap();
    }
}

pub fn lost_token_folder_makes_the_provider_away(world: &World) {
    let configuration = world.softhsm();
    let keys = keys(&open(configuration.clone()));
    let key = made(&keys, HSM, Algorithm::Es256).reference;
    let (tokens, elsewhere) = (world.folder.join("tokens"), world.folder.join("elsewhere"));
    std::fs::rename(&tokens, &elsewhere).unwrap();
    away(keys.sign(OWNER, &key, NOW, b"m"));
    std::fs::rename(&elsewhere, &tokens).unwrap();
    // SoftHSM may need another call or two until it sees its files again.
    until_it_signs(&keys, &key);
}

pub fn slow_token_holds_no_more_than_its_sessions(world: &World) {
    let patient = keys(&open(world.failing()));
    let key = made(&patient, HSM, Algorithm::Es256).reference;
    let token = open(Configuration {
        timeout: Duration::from_millis(50),
        ..world.failing()
    });
    let keys = keys(&token);
    until_it_signs(&keys, &key);
    while token.stuck() > 0 {
        std::thread::yield_now();
    }
    world.control("hold-sign", "");
    // On a busy machine a call may have waited for its session all the time, and holds none then.
    while token.stuck() < 2 {
        let why = away(keys.sign(OWNER, &key, NOW, b"m"));
        assert!(why.contains("50 ms"), "{why}");
    }
    for _ in 0..1000 {
        let why = away(keys.sign(OWNER, &key, NOW, b"m"));
        assert!(why.contains("have not returned"), "{why}");
    }
    away(token.check());
    assert_eq!(token.stuck(), 2);
    world.release("hold-sign");
    while token.stuck() > 0 {
        std::thread::yield_now();
    }
    until_it_signs(&keys, &key);
}

pub fn rsa_key_pairs_are_awaited_longer(world: &World) {
    for (algorithm, waited) in [
        (Algorithm::Es256, "for 50 ms"),
        (Algorithm::Rs256, "for 500 ms"),
    ] {
        let keys = keys(&open(Configuration {
            timeout: Duration::from_millis(50),
            ..world.failing()
        }));
        world.control("hold-generate", "");
        let made = keys.generate(OWNER, HSM, &crate::world::attributes(algorithm));
        let why = away(made);
        world.release("hold-generate");
        assert!(why.contains(waited), "{why}");
    }
}

pub fn waiting_caller_gives_up_when_sessions_are_busy(world: &World) {
    let patient = keys(&open(Configuration {
        sessions: 1,
        ..world.failing()
    }));
    let key = made(&patient, HSM, Algorithm::Es256).reference;
    let quick = keys(&open(Configuration {
        sessions: 1,
        timeout: Duration::from_millis(50),
        ..world.failing()
    }));
    until_it_signs(&quick, &key);
    world.control("hold-sign", "");
    std::thread::scope(|scope| {
        // All at once at one thread: one call is in the module, the others wait for the session. Nobody stays.
        let callers: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| away(quick.sign(OWNER, &key, NOW, b"m"))))
            .collect();
        for caller in callers {
            caller.join().unwrap();
        }
        let held = scope.spawn(|| patient.sign(OWNER, &key, NOW, b"m"));
        world.release("hold-sign");
        held.join().unwrap().unwrap();
    });
    until_it_signs(&quick, &key);
}

pub fn panic_in_a_call_fails_it_alone(world: &World) {
    // As in a host, where a panic of any other thread ends the process.
    rialto_fatal::end_process_on_panic();
    let token = open(Configuration {
        sessions: 1,
        ..world.failing()
    });
    let keys = keys(&token);
    let key = made(&keys, HSM, Algorithm::Es256).reference;
    for _ in 0..3 {
        world.control("absurd-length", "1");
        let why = away(keys.sign(OWNER, &key, NOW, b"m"));
        assert!(
            why.contains("the host failed in a call of the token"),
            "{why}"
        );
        assert_eq!(token.stuck(), 0);
        keys.sign(OWNER, &key, NOW, b"m").unwrap();
    }
}

pub fn slow_module_is_given_up(world: &World) {
    let quick = || Configuration {
        load_timeout: Duration::from_millis(50),
        ..world.failing()
    };
    world.control("hold-load", "");
    // The second one waits for the thread of the first.
    for _ in 0..2 {
        let Err(error) = Pkcs11::open(quick()) else {
            panic!("it opened");
        };
        assert!(matches!(error, OpenError::SlowModule { .. }), "{error}");
        let module = quick().module.display().to_string();
        assert!(error.to_string().contains(&module), "{error}");
        assert!(error.to_string().contains("0.05 s"), "{error}");
    }
    world.release("hold-load");
    open(world.failing()).check().unwrap();
}

pub fn wrong_pin_is_tried_once(world: &World) {
    world.write_private("wrong", "0815-wrong");
    let token = open(Configuration {
        pin: PinSource::File(world.folder.join("wrong")),
        sessions: 4,
        ..world.failing()
    });
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let why = away(token.check());
                assert!(why.contains("refused the PIN"), "{why}");
                assert!(!why.contains("0815") && !why.contains(PIN), "{why}");
            });
        }
    });
    assert_eq!(world.counted("logins"), 1);
    // The configuration is loaded anew.
    open(world.failing()).check().unwrap();
    away(token.check());
    assert_eq!(world.counted("logins"), 2);
}

pub fn unusable_configurations_say_what_to_do(world: &World) {
    let of = |configuration| match Pkcs11::open(configuration) {
        Ok(_) => panic!("it opened"),
        Err(error) => error,
    };
    let error = of(Configuration {
        module: "/nowhere/module.so".into(),
        ..world.softhsm()
    });
    assert!(matches!(error, OpenError::Module { .. }), "{error}");
    assert!(error.to_string().contains("/nowhere/module.so"), "{error}");
    let error = of(Configuration {
        // A file that is no library.
        module: world.folder.join("pin"),
        ..world.softhsm()
    });
    assert!(matches!(error, OpenError::Module { .. }), "{error}");
    let error = of(Configuration {
        pin: PinSource::File(world.folder.join("absent")),
        ..world.softhsm()
    });
    assert!(matches!(error, OpenError::PinFile { .. }), "{error}");
    let error = of(Configuration {
        pin: PinSource::Variable("RIALTO_NO_SUCH_VARIABLE".to_owned()),
        ..world.softhsm()
    });
    assert!(matches!(error, OpenError::NoPinVariable(_)), "{error}");
    world.write_private("empty", " \n");
    let error = of(Configuration {
        pin: PinSource::File(world.folder.join("empty")),
        ..world.softhsm()
    });
    assert!(matches!(error, OpenError::NoPin(_)), "{error}");
    let token = open(Configuration {
        token: "another".to_owned(),
        ..world.softhsm()
    });
    let why = away(token.check());
    assert!(why.contains("`another`"), "{why}");
}

pub fn tokens_of_one_label_are_told_apart_by_serial_number(world: &World) {
    init_token(LABEL);
    let why = away(open(world.softhsm()).check());
    assert!(why.contains("name its serial number"), "{why}");
    let onlooker = Onlooker::new(&world.softhsm());
    let serials: Vec<String> = onlooker
        .module
        .get_slots_with_initialized_token()
        .unwrap()
        .into_iter()
        .map(|slot| {
            let info = onlooker.module.get_token_info(slot).unwrap();
            info.serial_number().to_owned()
        })
        .collect();
    assert_eq!(serials.len(), 2);
    let of = |serial: &String| {
        open(Configuration {
            token: serial.clone(),
            ..world.softhsm()
        })
    };
    let (first, second) = (of(&serials[0]), of(&serials[1]));
    assert_eq!(first.check().unwrap().serial, serials[0]);
    let key = made(&keys(&first), HSM, Algorithm::Es256).reference;
    let elsewhere = keys(&second).sign(OWNER, &key, NOW, b"m");
    assert_eq!(elsewhere, Err(KeyError::NoKey("it is in another token")));
}

pub fn debug_shows_no_pin(world: &World) {
    let token = open(world.softhsm());
    token.check().unwrap();
    let text = format!("{token:?} {:?}", keys(&token));
    assert!(text.contains(LABEL) && !text.contains(PIN), "{text}");
}
