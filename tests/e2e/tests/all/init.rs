//! `rialto init`: a scheme of one's own, from nothing to a payment.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::fs;

use rialto_simulator::PaymentRequest;
use rialto_tests::scenes::committed;
use rialto_tests::terminal::components;
use rialto_tests::world::PAYEE;
use rialto_tests::{CliOutput, RunningHost, TestScheme, World, WorldOptions, binaries};
use serde_json::Value;

fn init(arguments: &[&str]) -> CliOutput {
    let program = binaries::rialto().unwrap();
    CliOutput::of(program, |command| {
        command.arg("init").args(arguments);
    })
    .unwrap()
}

#[test]
fn a_scheme_that_init_makes_passes_check_as_it_stands() {
    for from in ["demo", "empty"] {
        let folder = tempfile::tempdir().unwrap();
        let scheme = folder.path().join("hub");
        let scheme = scheme.to_str().unwrap();
        let source = components();
        let source = source.to_str().unwrap();
        let made = init(&[scheme, "--from", from, "--components", source]);
        assert_eq!(made.code, 0, "{made}");
        assert!(
            made.stdout.contains(&format!("rialto check {scheme}")),
            "{made}"
        );

        let checked = CliOutput::of(binaries::rialto().unwrap(), |command| {
            command.args(["check", scheme, "--json"]);
        });
        let checked: Value = serde_json::from_str(&checked.unwrap().success().unwrap()).unwrap();
        assert_eq!(
            (&checked["fits"], &checked["scheme"]),
            (&true.into(), &"hub".into())
        );

        // Existing files do not change.
        let before = fs::read(folder.path().join("hub/scheme.toml")).unwrap();
        let again = init(&[scheme, "--from", from, "--components", source]);
        assert_eq!(again.code, 1, "{again}");
        assert!(again.stderr.contains("is not empty"), "{again}");
        assert_eq!(
            fs::read(folder.path().join("hub/scheme.toml")).unwrap(),
            before
        );
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            1,
            "nothing is left beside it"
        );
    }
}

#[test]
fn init_without_components_says_so_and_makes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let nothing = folder.path().join("nothing");
    fs::create_dir(&nothing).unwrap();
    let scheme = folder.path().join("hub");
    let scheme = scheme.to_str().unwrap();
    let refused = init(&[scheme, "--components", nothing.to_str().unwrap()]);
    assert_eq!(
        (refused.code, refused.stdout.as_str()),
        (1, ""),
        "{refused}"
    );
    for file in ["transfers.wasm", "amount-limits.wasm"] {
        assert!(refused.stderr.contains(file), "{refused}");
    }
    assert!(!folder.path().join("hub").exists());

    // A binary by itself has none beside it.
    let alone = folder.path().join("alone");
    fs::create_dir(&alone).unwrap();
    let binary = alone.join("rialto");
    fs::copy(binaries::rialto().unwrap(), &binary).unwrap();
    let refused = CliOutput::of(&binary, |command| {
        command.args(["init", scheme]);
    });
    let refused = refused.unwrap();
    assert_eq!(refused.code, 1, "{refused}");
    for words in ["no components", "--components", "cargo xtask build"] {
        assert!(refused.stderr.contains(words), "{refused}");
    }

    // In an archive it has them.
    let beside = alone.join("components");
    std::os::unix::fs::symlink(components(), &beside).unwrap();
    let made = CliOutput::of(&binary, |command| {
        command.args(["init", scheme]);
    });
    made.unwrap().success().unwrap();
    assert!(
        folder
            .path()
            .join("hub/components/transfers.wasm")
            .is_file()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_is_made_in_a_scheme_of_ones_own() {
    let scheme = TestScheme::made("demo").unwrap();
    let world = World::of(scheme, &WorldOptions::default()).await.unwrap();
    let request = PaymentRequest::new(world.party(PAYEE).clone(), "12.5", "USD");
    let outcome = world.payer().pay(&request).await;
    committed(&outcome).unwrap();
    let books = world.settled_books().await.unwrap();
    assert_eq!(books.open(), Vec::<String>::new());
    world.host.nothing_failed().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_scheme_has_two_operators_and_nobody_else() {
    let scheme = TestScheme::made("empty").unwrap();
    let host = RunningHost::start(&scheme).unwrap();
    let listed = host.cli(&["participant", "list", "--as", "ben"]).unwrap();
    assert_eq!((listed.code, listed.stdout.as_str()), (0, ""), "{listed}");
    assert!(
        listed.stderr.contains("there are no participants"),
        "{listed}"
    );
    let waiting = host.cli(&["approve", "--as", "ben"]).unwrap();
    assert!(waiting.stderr.contains("no request waits"), "{waiting}");
    let state = scheme.store().unwrap();
    let tokens = fs::read_dir(state.join("operators")).unwrap();
    let mut tokens: Vec<_> = tokens.map(|entry| entry.unwrap().file_name()).collect();
    tokens.sort();
    assert_eq!(tokens, ["anna.token", "ben.token"], "there is no third one");
    assert!(!state.join("operator.token").exists());
}
