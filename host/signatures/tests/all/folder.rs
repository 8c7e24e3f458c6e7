//! A folder of keys that an operator changes.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::fs;
use std::path::Path;

use rialto_signatures::KeyFolder;
use tempfile::TempDir;

fn vector(name: &str) -> String {
    fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/vectors")
            .join(name),
    )
    .unwrap()
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("payerfsp.pem"), vector("rsa2048.pub")).unwrap();
    fs::write(folder.path().join("README"), "no key").unwrap();
    fs::write(folder.path().join(".payerfsp.pem.swp"), "no key").unwrap();
    fs::write(folder.path().join(".hidden.pem"), "no key").unwrap();
    folder
}

/// What another look tells.
fn told(keys: &mut KeyFolder, place: &Path) -> Vec<String> {
    let changes = keys.look().into_iter();
    changes
        .map(|change| {
            change
                .to_string()
                .replace(&place.display().to_string(), "DIR")
        })
        .collect()
}

#[test]
fn changes_take_effect_at_the_next_look() {
    let place = folder();
    let path = |name: &str| place.path().join(name);
    let mut keys = KeyFolder::open(place.path()).unwrap();
    let counts = |keys: &KeyFolder| {
        let keys = keys.keys();
        (keys.of("payerfsp").len(), keys.of("payeefsp").len())
    };
    assert_eq!(counts(&keys), (1, 0));
    let look = |keys: &mut KeyFolder| told(keys, place.path());
    assert_eq!(look(&mut keys), [""; 0]);

    // A second key, while both are valid; and another signer.
    let both = vector("rsa2048.pub") + &vector("p256.pub");
    fs::write(path("payerfsp.pem"), both).unwrap();
    fs::write(path("payeefsp.pem"), vector("rsa3072.pub")).unwrap();
    assert_eq!(
        look(&mut keys),
        ["payeefsp has one key", "payerfsp has 2 keys"]
    );
    assert_eq!(counts(&keys), (2, 1));
    assert_eq!(look(&mut keys), [""; 0]);

    // A slip: the keys from before stay, and it is told once.
    fs::write(path("payerfsp.pem"), "-----BEGIN PUBLIC KEY-----\nAA").unwrap();
    assert_eq!(
        look(&mut keys),
        ["DIR/payerfsp.pem: the block `PUBLIC KEY` that begins on line 1 does not end"]
    );
    assert_eq!(counts(&keys), (2, 1));
    assert_eq!(look(&mut keys), [""; 0]);
    fs::write(path("payerfsp.pem"), "").unwrap();
    assert_eq!(
        look(&mut keys),
        ["DIR/payerfsp.pem: it has no PEM block (`-----BEGIN PUBLIC KEY-----`)"]
    );
    fs::write(path("payerfsp.pem"), vector("p256.pub")).unwrap();
    assert_eq!(look(&mut keys), ["payerfsp has one key"]);
    assert_eq!(counts(&keys), (1, 1));

    // Gone.
    fs::remove_file(path("payeefsp.pem")).unwrap();
    assert_eq!(
        look(&mut keys),
        ["payeefsp has no key in the folder any more"]
    );
    assert_eq!(counts(&keys), (1, 0));

    // The folder itself: nobody loses a key.
    let moved = place.path().with_extension("moved");
    fs::rename(place.path(), &moved).unwrap();
    assert_eq!(look(&mut keys).len(), 1);
    assert_eq!(look(&mut keys), [""; 0]);
    assert_eq!(counts(&keys), (1, 0));
    fs::rename(&moved, place.path()).unwrap();
    assert_eq!(look(&mut keys), [""; 0]);
}

#[test]
fn at_first_nothing_may_be_broken() {
    let place = folder();
    fs::write(place.path().join("payeefsp.pem"), vector("rsa1024.pub")).unwrap();
    fs::create_dir(place.path().join("otherfsp.pem")).unwrap();
    let refused = KeyFolder::open(place.path()).unwrap_err().to_string();
    let lines: Vec<_> = refused.lines().collect();
    assert_eq!(lines.len(), 2, "{refused}");
    assert!(
        lines[1].ends_with("payeefsp.pem: an RSA key of 1024 bits; 2048 to 8192 are taken"),
        "{refused}"
    );
    assert!(KeyFolder::open(&place.path().join("none")).is_err());
}
