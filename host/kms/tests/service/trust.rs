//! Whom the service trusts, and whom the host: credentials, rights, certificates.

use std::process::Command;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rialto_keys::Algorithm;
use rialto_kms::{Configuration, CredentialsSource, Kms, OpenError};

use crate::server::{Access, Server};
use crate::world::{CLOUD, NOW, OWNER, REGION, World, away, keys, made, open};

/// The variable that makes this process the one with credentials in its environment.
const ENDPOINT: &str = "RIALTO_TEST_ENDPOINT";

#[test]
fn check_says_which_account_answers() {
    let world = World::new();
    let kms = world.open();
    made(&keys(&kms), CLOUD, Algorithm::Hs256);
    let view = kms.check().unwrap();
    assert_eq!(view.region, REGION);
    assert_eq!(view.account.as_deref(), Some("123456789012"));
    // A region without a key has no account to tell.
    let elsewhere = open(Configuration {
        region: "sa-east-1".to_owned(),
        ..world.configuration()
    });
    assert_eq!(elsewhere.check().unwrap().account, None);
}

#[test]
fn wrong_credentials_are_refused_without_their_text() {
    let world = World::new();
    let user = &world.server.user;
    for wrong in [
        Access {
            secret: "wrongwrongwrongwrongwrongwrongwrongwrong".to_owned(),
            ..user.clone()
        },
        Access {
            id: "AKIAWRONGWRONGWRONGX".to_owned(),
            ..user.clone()
        },
        Access {
            token: Some("wrongwrong".to_owned()),
            ..user.clone()
        },
    ] {
        world.write_credentials(&wrong);
        let kms = world.open();
        let why = away(kms.check());
        assert!(why.contains("look at the credentials"), "{why}");
        for part in ["wrong", "WRONG", user.id.as_str(), user.secret.as_str()] {
            assert!(!why.contains(part), "{why}");
        }
    }
}

#[test]
fn new_credentials_are_used_without_a_restart() {
    let world = World::new();
    let kms = world.open();
    let keys = keys(&kms);
    let key = made(&keys, CLOUD, Algorithm::Es256).reference;
    // Another program has renewed temporary credentials. The service refuses the old ones from now on.
    world.write_credentials(&world.server.session);
    let expired = crate::messages::error(400, "ExpiredTokenException");
    world.proxy.give("Sign", expired);
    keys.sign(OWNER, &key, NOW, b"m").unwrap();
    let seen = world.proxy.seen("Sign");
    let [old, new] = seen.as_slice() else {
        panic!("{} requests", seen.len());
    };
    assert!(old.head.contains(&world.server.user.id));
    assert!(new.head.contains(&world.server.session.id));
    let token = world.server.session.token.as_ref().unwrap();
    assert!(new.head.contains(token) && !old.head.contains(token));
    kms.check().unwrap();
}

#[test]
fn missing_right_is_named() {
    let world = World::new();
    let key = made(&world.keys(), CLOUD, Algorithm::Es256).reference;
    world.write_credentials(&world.server.onlooker);
    let kms = world.open();
    kms.check().unwrap();
    let why = away(keys(&kms).sign(OWNER, &key, NOW, b"m"));
    assert!(
        why.contains("kms:Sign") && !why.contains("onlooker"),
        "{why}"
    );
}

#[test]
fn unusable_configurations_say_what_to_do() {
    let world = World::new();
    let of = |configuration| match Kms::open(configuration) {
        Ok(_) => panic!("it opened"),
        Err(error) => error,
    };
    let error = of(Configuration {
        region: "Frankfurt".to_owned(),
        ..world.configuration()
    });
    assert!(matches!(error, OpenError::Region(_)), "{error}");
    let error = of(Configuration {
        endpoint: Some("http://kms.example".to_owned()),
        ..world.configuration()
    });
    assert!(matches!(error, OpenError::Endpoint { .. }), "{error}");
    let error = of(Configuration {
        credentials: CredentialsSource::File(world.folder.path().join("absent")),
        ..world.configuration()
    });
    assert!(
        matches!(error, OpenError::CredentialsFile { .. }),
        "{error}"
    );
    let error = of(Configuration {
        endpoint: Some("https://127.0.0.1:1".to_owned()),
        ca: Some(world.credentials()),
        ..world.configuration()
    });
    assert!(matches!(error, OpenError::Authority(_)), "{error}");
}

/// The second process has the credentials in its environment.
#[test]
fn credentials_of_variables_are_used() {
    let world = World::new();
    let configuration = |endpoint: String| Configuration {
        endpoint: Some(endpoint),
        credentials: CredentialsSource::Environment,
        ..world.configuration()
    };
    if let Ok(endpoint) = std::env::var(ENDPOINT) {
        open(configuration(endpoint)).check().unwrap();
        return;
    }
    let session = &world.server.session;
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "trust::credentials_of_variables_are_used"])
        .env(ENDPOINT, format!("http://127.0.0.1:{}", world.proxy.port))
        .env("AWS_ACCESS_KEY_ID", &session.id)
        .env("AWS_SECRET_ACCESS_KEY", &session.secret)
        .env("AWS_SESSION_TOKEN", session.token.as_ref().unwrap())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(world.proxy.count("ListKeys"), 1);
}

#[test]
fn only_the_named_authority_is_believed() {
    let world = World::new();
    let at = |name: &str| world.folder.path().join(name);
    let authority = |name: &str| {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(rcgen::DnType::CommonName, name);
        let certificate = params.self_signed(&key).unwrap();
        std::fs::write(at(name), certificate.pem()).unwrap();
        Issuer::new(params, key)
    };
    let (own, _other) = (authority("own"), authority("other"));
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &own).unwrap();
    std::fs::write(at("server.pem"), certificate.pem()).unwrap();
    std::fs::write(at("server.key"), key.serialize_pem()).unwrap();
    let server = Server::with_tls(&at("server.pem"), &at("server.key"));
    world.write_credentials(&server.user);
    let of = |authority: &str| {
        open(Configuration {
            endpoint: Some(format!("https://127.0.0.1:{}", server.port)),
            ca: Some(at(authority)),
            ..world.configuration()
        })
    };
    let kms = of("own");
    let keys = keys(&kms);
    let key = made(&keys, CLOUD, Algorithm::Es256).reference;
    keys.sign(OWNER, &key, NOW, b"m").unwrap();
    let why = away(of("other").check());
    assert!(why.contains("certificate"), "{why}");
}
