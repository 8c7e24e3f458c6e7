//! The reference deployment of docs/deployment: its documents are what the programs take that read them.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::fs;

use rialto_manifest::Operator;
use rialto_tests::handbook::root;
use rialto_tests::{CliOutput, binaries};
use serde_json::Value;

fn read(name: &str) -> String {
    fs::read_to_string(root().join("docs/deployment").join(name)).unwrap()
}

#[test]
fn the_operators_document_of_three_hosts_is_accepted() {
    let operator = Operator::parse(&read("rialto.toml"));
    let operator = operator.unwrap_or_else(|problems| panic!("{}", problems.plain()));
    let cluster = operator.cluster.as_ref().unwrap();
    assert!(cluster.files().is_some(), "its hosts prove who they are");
    assert!(operator.store.synchronous_standby);
}

#[test]
fn the_services_are_described_as_compose_wants_it_and_start_what_exists() {
    let compose: Value = serde_saphyr::from_str(&read("compose.yaml")).unwrap();
    let services = compose["services"].as_object().unwrap();
    let named = |of: &str| compose[of].as_object().unwrap();
    let mut addresses = Vec::new();
    for (name, service) in services {
        assert!(service["image"].is_string(), "{name}: {service}");
        for volume in service["volumes"].as_array().into_iter().flatten() {
            let source = volume.as_str().unwrap().split(':').next().unwrap();
            assert!(
                source.starts_with("./") || named("volumes").contains_key(source),
                "{name}: {source}"
            );
        }
        for secret in service["secrets"].as_array().into_iter().flatten() {
            assert!(
                named("secrets").contains_key(secret.as_str().unwrap()),
                "{name}"
            );
        }
        for after in service["depends_on"].as_object().into_iter().flatten() {
            assert!(
                services[after.0]["healthcheck"].is_object(),
                "{name}: {after:?}"
            );
        }
        if name.starts_with("host-") {
            let words: Vec<&str> = service["command"]
                .as_array()
                .unwrap()
                .iter()
                .map(|w| w.as_str().unwrap())
                .collect();
            // The program knows the words; the folder is another machine's.
            let said = CliOutput::of(binaries::rialto().unwrap(), |c| {
                c.args(&words[..1]).arg("/nowhere");
            })
            .unwrap();
            assert!(said.said().contains("/nowhere"), "{said}");
            addresses.push(service["networks"]["hub"]["ipv4_address"].as_str().unwrap());
        }
    }
    addresses.dedup();
    assert_eq!(addresses.len(), 3, "each host has an address of its own");
}
