//! Places in registries, and credentials for them.

use rialto_bundles::registry::{BadCredentials, Credentials, Place};

const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

#[test]
fn places_are_read_as_they_are_written() {
    for good in [
        "localhost/a:1",
        "localhost:5000/a:1",
        "127.0.0.1:5000/rules/fee-ceiling:v1.0_x",
        "registry.example/a/b.c/d__e:latest",
        "[::1]:5000/a:1",
    ] {
        assert_eq!(good.parse::<Place>().unwrap().to_string(), good);
    }
    let pinned = format!("registry.example/a@{DIGEST}");
    assert_eq!(pinned.parse::<Place>().unwrap().to_string(), pinned);
    for bad in [
        "",
        "a",
        "a:1",
        "rules/a:1",
        "https://registry.example/a:1",
        "registry.example/a",
        "registry.example/A:1",
        "registry.example/../a:1",
        "registry.example/a/:1",
        "registry.example/a:-1",
        "registry.example/a:",
        "registry.example/a@sha256:00",
        "registry.example/a:1@sha256:00",
        "user@registry.example/a:1",
        "registry.example/a?b:1",
    ] {
        assert!(bad.parse::<Place>().is_err(), "{bad}");
    }
}

#[test]
fn this_machine_is_known() {
    let is_here = |text: &str| text.parse::<Place>().unwrap().is_loopback();
    assert!(is_here("localhost/a:1") && is_here("localhost:1/a:1"));
    assert!(is_here("127.0.0.1:1/a:1") && is_here("127.9.9.9/a:1") && is_here("[::1]:1/a:1"));
    assert!(!is_here("10.0.0.1:1/a:1") && !is_here("localhost.example/a:1"));
    assert!(!is_here("127.0.0.1.example/a:1"));
}

#[test]
fn credentials_are_read_from_a_file_and_never_shown() {
    // "anna:secret:word"
    let file = r#"{ "auths": { "registry.example": { "auth": "YW5uYTpzZWNyZXQ6d29yZA==" } } }"#;
    let read = Credentials::of_file(file, "registry.example").unwrap();
    assert!(read == Credentials::password("anna", "secret:word"));
    assert_eq!(format!("{read:?}"), "some");
    let other = Credentials::of_file(file, "other.example").unwrap_err();
    assert!(matches!(other, BadCredentials::Other(_)), "{other}");
    for bad in [
        "",
        "secret",
        r#"{ "auths": { "a.b": { "auth": "secret!" } } }"#,
    ] {
        let error = Credentials::of_file(bad, "a.b").unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}");
    }
}
