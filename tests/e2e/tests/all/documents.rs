//! Documents are true: their commands run as they stand, and a host takes their settings.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rialto_simulator::pki::Authority;
use rialto_tests::handbook::{Use, blocks, read};
use rialto_tests::terminal::Terminal;
use rialto_tests::{TestScheme, offers};
use toml::{Table, Value};

/// The documents with commands or settings.
const DOCUMENTS: [&str; 10] = [
    "README.md",
    "docs/development.md",
    "docs/grpc.md",
    "docs/install.md",
    "docs/operators.md",
    "docs/plugin-authors.md",
    "docs/write-a-rule.md",
    "plugins/rules/amount-limits/README.md",
    "plugins/rules/transfer-matches-quote/README.md",
    "schemes/demo/README.md",
];
/// Those whose commands are run.
const RUN: [&str; 4] = [
    "README.md",
    "docs/operators.md",
    "docs/plugin-authors.md",
    "docs/write-a-rule.md",
];

#[test]
fn every_block_of_a_document_says_whether_it_is_run() {
    for document in DOCUMENTS {
        let found = blocks(&read(document).unwrap());
        let found = found.unwrap_or_else(|error| panic!("{document}: {error:#}"));
        assert!(!found.is_empty(), "{document} has no block");
        for block in found {
            match block.used {
                Use::Run(_) | Use::Background => {
                    assert!(RUN.contains(&document), "{document} is not run: {block:?}");
                }
                Use::Json => {
                    let value: serde_json::Value = serde_json::from_str(&block.text).unwrap();
                    assert!(value.is_object(), "{document}: {block:?}");
                }
                Use::NotRun(_) | Use::Toml(_) | Use::Shown => {}
            }
        }
    }
}

/// A terminal beside a copy of the demonstration, as in a clone of this repository that was built.
fn in_a_clone() -> (Terminal, TestScheme) {
    let scheme = TestScheme::demo().unwrap();
    let mut terminal = Terminal::open().unwrap();
    for (id, address) in [
        ("payerfsp", "127.0.0.1:4101"),
        ("payeefsp", "127.0.0.1:4102"),
    ] {
        let port = scheme.callbacks()[id];
        terminal.place(address, &format!("127.0.0.1:{port}"));
    }
    fs::create_dir(terminal.path().join("schemes")).unwrap();
    symlink(scheme.path(), terminal.path().join("schemes/demo")).unwrap();
    // As if the rule was changed and built.
    let built = terminal.path().join("target/plugins");
    fs::create_dir_all(&built).unwrap();
    let changed = offers::another_build(&scheme, "amount-limits", "changed").unwrap();
    fs::copy(changed, built.join("amount-limits.wasm")).unwrap();
    (terminal, scheme)
}

#[test]
fn readme_commands_run_as_they_stand() {
    let (terminal, _scheme) = in_a_clone();
    let said = terminal.run("README.md").unwrap();
    for words in [
        "COMMITTED",
        "release 2 would change",
        "release 3 is current",
    ] {
        assert!(said.stdout.contains(words), "{words}: {said}");
    }
}

#[test]
fn operators_page_commands_run_as_they_stand() {
    let terminal = Terminal::open().unwrap();
    let said = terminal.run("docs/operators.md").unwrap();
    // A third participant is in, limits are set, a settlement is completed.
    for words in ["redfsp", "net debit cap 8000", "threshold 500", "pays 12.5"] {
        assert!(said.stdout.contains(words), "{words}: {said}");
    }
    assert!(said.stderr.contains("its state is COMPLETED"), "{said}");
}

#[test]
fn plugin_authors_page_commands_run_as_they_stand() {
    let (terminal, _scheme) = in_a_clone();
    let said = terminal.run("docs/plugin-authors.md").unwrap();
    assert!(said.stdout.contains("components fit together"), "{said}");
}

#[test]
fn first_rules_page_commands_run_as_they_stand() {
    let terminal = Terminal::open().unwrap();
    let said = terminal.run("docs/write-a-rule.md").unwrap();
    for words in [
        "2 of 2 cases as expected",
        "release 2 is current",
        "COMMITTED",
        "amounts in USD above 10000 minor units are refused",
        "refused 4200 by spending-cap",
    ] {
        assert!(said.stdout.contains(words), "{words}: {said}");
    }
}

/// Merges `more` into `all`, table by table.
fn merge(all: &mut Table, more: Table) {
    for (name, value) in more {
        match (all.get_mut(&name), value) {
            (Some(Value::Table(inner)), Value::Table(more)) => merge(inner, more),
            (_, value) => {
                all.insert(name, value);
            }
        }
    }
}

/// The files that settings in documents name.
fn put_files(folder: &Path) {
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    };
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["hub.example".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &authority).unwrap();
    write("tls/hub.pem", &certificate.pem());
    write("tls/hub.key", &key.serialize_pem());
    write("secrets/host.pem", &certificate.pem());
    write("secrets/host.key", &key.serialize_pem());
    write("secrets/hosts-ca.pem", &authority.pem());
    for name in ["clients", "payeefsp-ca", "fsps", "fsp-example"] {
        write(&format!("tls/{name}.pem"), &authority.pem());
    }
    let revoking = Authority::new("revokes nothing").unwrap();
    write("tls/revoked.pem", &revoking.revoke(&[]).unwrap());
    write("hub.pem", &key.serialize_pem());
    fs::create_dir(folder.join("keys")).unwrap();
}

#[test]
fn settings_in_documents_are_taken_by_check() {
    let mut checked = 0;
    for document in DOCUMENTS {
        for block in blocks(&read(document).unwrap()).unwrap() {
            let Use::Toml(file) = &block.used else {
                continue;
            };
            let place = format!("{document}:{}", block.line);
            let scheme = TestScheme::demo().unwrap();
            put_files(scheme.path());
            let path = scheme.path().join(file);
            let mut all: Table = fs::read_to_string(&path).unwrap().parse().unwrap();
            let more: Table = block
                .text
                .parse()
                .unwrap_or_else(|e| panic!("{place}: {e}"));
            merge(&mut all, more);
            fs::write(&path, toml::to_string(&all).unwrap()).unwrap();
            let output = scheme.rialto(&["check"]).unwrap();
            assert_eq!(output.code, 0, "{place}: {output}");
            checked += 1;
        }
    }
    assert!(checked >= 8, "{checked} tables");
}

#[test]
fn unknown_setting_is_refused_in_the_same_way() {
    let scheme = TestScheme::demo().unwrap();
    let path = scheme.path().join("rialto.toml");
    let mut all: Table = fs::read_to_string(&path).unwrap().parse().unwrap();
    merge(&mut all, "[store]\nkept = 1".parse().unwrap());
    fs::write(&path, toml::to_string(&all).unwrap()).unwrap();
    let output = scheme.rialto(&["check"]).unwrap();
    assert_eq!(output.code, 2, "{output}");
}
