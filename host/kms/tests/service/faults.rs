//! A service that is away, slow, or has too much to do.

use std::time::Duration;

use rialto_keys::{Algorithm, Keys};
use rialto_kms::Configuration;

use crate::messages::error;
use crate::proxy::{Mode, Proxy};
use crate::world::{CLOUD, NOW, OWNER, World, away, keys, made, open, until};

/// Sign until it works.
fn until_it_signs(keys: &Keys, key: &str) {
    until(|| keys.sign(OWNER, key, NOW, b"m").is_ok());
}

#[test]
fn service_that_is_away_works_when_it_is_back() {
    let world = World::new();
    let patient = world.keys();
    let key = made(&patient, CLOUD, Algorithm::Es256).reference;
    let code = made(&patient, CLOUD, Algorithm::Hs256).reference;
    let signature = patient.sign(OWNER, &key, NOW, b"m").unwrap();
    // Nobody listens at this port, and nobody else can have it.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let port = socket.local_addr().unwrap().port();
    let kms = open(Configuration {
        endpoint: Some(format!("http://127.0.0.1:{port}")),
        ..world.configuration()
    });
    let keys = keys(&kms);
    for _ in 0..2 {
        let why = away(keys.sign(OWNER, &key, NOW, b"m"));
        assert!(why.contains("refused"), "{why}");
        away(keys.destroy(OWNER, &code));
        away(kms.check());
    }
    assert_eq!(keys.verify(OWNER, &key, b"m", &signature), Ok(true));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.unwrap();
    let listener = runtime.block_on(async { socket.listen(16).unwrap().into_std().unwrap() });
    listener.set_nonblocking(false).unwrap();
    let _back = Proxy::at(listener, world.server.port);
    keys.sign(OWNER, &key, NOW, b"m").unwrap();
    keys.sign(OWNER, &code, NOW, b"m").unwrap();
    kms.check().unwrap();
}

#[test]
fn lost_connections_are_made_again() {
    let world = World::new();
    let kms = world.open();
    let keys = keys(&kms);
    let key = made(&keys, CLOUD, Algorithm::Es256).reference;
    for _ in 0..2 {
        world.proxy.set(Mode::Close);
        away(keys.sign(OWNER, &key, NOW, b"m"));
        away(kms.check());
        world.proxy.set(Mode::Forward);
        keys.sign(OWNER, &key, NOW, b"m").unwrap();
        kms.check().unwrap();
    }
}

#[test]
fn passing_failures_are_tried_again() {
    let world = World::new();
    let keys = world.keys();
    let key = made(&keys, CLOUD, Algorithm::Es256).reference;
    for failure in [
        error(400, "ThrottlingException"),
        error(429, "SomethingElse"),
        error(500, "KMSInternalException"),
        error(503, "DependencyTimeoutException"),
    ] {
        let before = world.proxy.count("Sign");
        for _ in 0..3 {
            world.proxy.give("Sign", failure.clone());
        }
        keys.sign(OWNER, &key, NOW, b"m").unwrap();
        assert_eq!(world.proxy.count("Sign"), before + 4);
        for _ in 0..4 {
            world.proxy.give("Sign", failure.clone());
        }
        away(keys.sign(OWNER, &key, NOW, b"m"));
        assert_eq!(world.proxy.count("Sign"), before + 8);
    }
}

#[test]
fn lasting_failures_are_not_tried_again() {
    let world = World::new();
    let keys = world.keys();
    let key = made(&keys, CLOUD, Algorithm::Es256).reference;
    for (number, name) in [
        "AccessDeniedException",
        "ValidationException",
        "NotFoundException",
        "DisabledException",
        "LimitExceededException",
        "UnrecognizedClientException",
    ]
    .into_iter()
    .enumerate()
    {
        world.proxy.give("Sign", error(400, name));
        keys.sign(OWNER, &key, NOW, b"m").unwrap_err();
        assert_eq!(world.proxy.count("Sign"), number + 1, "{name}");
    }
}

#[test]
fn slow_service_holds_no_more_calls_than_allowed() {
    let world = World::new();
    let kms = open(Configuration {
        calls: 2,
        ..world.configuration()
    });
    let keys = keys(&kms);
    let key = made(&keys, CLOUD, Algorithm::Es256).reference;
    world.proxy.set(Mode::HoldRequests);
    std::thread::scope(|scope| {
        let held: Vec<_> = (0..2)
            .map(|_| scope.spawn(|| keys.sign(OWNER, &key, NOW, b"m")))
            .collect();
        until(|| kms.busy() == 2 || held.iter().any(|call| call.is_finished()));
        for _ in 0..1000 {
            let why = away(keys.sign(OWNER, &key, NOW, b"m"));
            assert!(why.contains("2 calls"), "{why}");
        }
        away(kms.check());
        world.proxy.set(Mode::Forward);
        for call in held {
            call.join().unwrap().unwrap();
        }
    });
    until(|| kms.busy() == 0);
    keys.sign(OWNER, &key, NOW, b"m").unwrap();
}

#[test]
fn next_call_finds_the_room_of_the_one_before() {
    let world = World::new();
    let keys = keys(&open(Configuration {
        calls: 1,
        ..world.configuration()
    }));
    let key = made(&keys, CLOUD, Algorithm::Es256).reference;
    for _ in 0..50 {
        keys.sign(OWNER, &key, NOW, b"m").unwrap();
    }
}

#[test]
fn caller_gives_up_when_the_service_is_slow() {
    let world = World::new();
    let key = made(&world.keys(), CLOUD, Algorithm::Es256).reference;
    let kms = open(Configuration {
        timeout: Duration::from_millis(50),
        ..world.configuration()
    });
    let keys = keys(&kms);
    world.proxy.set(Mode::HoldRequests);
    let why = away(keys.sign(OWNER, &key, NOW, b"m"));
    assert!(why.contains("50 ms"), "{why}");
    // The call has ended too, though the service has not answered.
    until(|| kms.busy() == 0);
    world.proxy.set(Mode::Forward);
    until_it_signs(&keys, &key);
}
