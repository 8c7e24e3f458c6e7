//! Schemes without problems, and their values.

use std::fs;
use std::sync::Arc;

use rialto_manifest::operator::Audience;
use rialto_manifest::scheme::FailureWord;
use rialto_manifest::values::Digest;
use rialto_manifest::{ComponentKind, Manifest, SchemeDocument, lock};

use crate::support;

fn good(case: &str) -> (tempfile::TempDir, Manifest) {
    let folder = support::staged(&support::data().join("good").join(case));
    match Manifest::load(folder.path()) {
        Ok(manifest) => (folder, manifest),
        Err(problems) => panic!("{problems}"),
    }
}

#[test]
fn what_is_left_out_has_its_documented_default() {
    let (folder, manifest) = good("minimal");
    assert_eq!(manifest.store_path(), folder.path().join("state"));
    let operator = manifest.operator();
    let archives = operator.archives_path(folder.path(), &manifest.store_path());
    assert_eq!(archives, folder.path().join("state/archives"));
    assert!(operator.store.keep.is_everything());
    assert_eq!(manifest.operator().http.body_max.bytes(), 5 << 20);
    assert_eq!(manifest.operator().engine.workers, None);
    assert_eq!(manifest.operator().grants.outbound, []);
    assert_eq!(manifest.operator().telemetry, None);
    assert_eq!(manifest.operator().events, None);
    assert_eq!(
        manifest.scheme_json(),
        r#"{"name":"test","hub":"Hub","currencies":[],"errors":[],"authentication":"none"}"#
    );
    assert!(manifest.components().is_empty());
}

#[test]
fn every_key_reaches_the_host() {
    let (folder, manifest) = good("maximal");
    let operator = manifest.operator();
    assert_eq!(operator.engine.workers, Some(2));
    assert_eq!(operator.engine.retry_max.millis(), 60_000);
    assert_eq!(operator.engine.per_client(), 100);
    assert_eq!(operator.engine.client_weights["operator anna"].0, 4);
    let keep = &operator.store.keep;
    assert_eq!(
        keep.history.map(|period| period.millis()),
        Some(7_776_000_000)
    );
    assert_eq!(
        keep.receipts.map(|p| p.to_string()).as_deref(),
        Some("7 years")
    );
    let archives = operator.archives_path(folder.path(), &operator.store_path(folder.path()));
    assert_eq!(archives, std::path::Path::new("/srv/archives"));
    assert_eq!(operator.store.free_min.bytes(), 2 << 30);
    let grpc = &operator.listeners["grpc"];
    assert_eq!(grpc.serve[0].to_string(), "quoting/*");
    assert_eq!(grpc.events.len(), 1);
    assert_eq!(grpc.reflection, Some(Audience::Open));
    let tls = grpc.tls.as_ref().expect("a table");
    let authority = tls.client_ca.as_ref().expect("a path");
    assert_eq!(authority.to_string(), "tls/clients.pem");
    let events = operator.events.as_ref().expect("a table");
    let publish = events.publish.as_ref().expect("a table");
    let servers = publish.servers().expect("servers");
    assert_eq!(servers.len(), 2);
    assert!(servers.iter().all(|server| server.requires_tls));
    let amount = ["transfer-id".to_owned(), "amount".to_owned()];
    let members = publish.members("transfers/transfer-prepared");
    assert_eq!(members, Some(&amount[..]));
    assert_eq!(publish.keep.millis(), 14 * 86_400_000);
    let telemetry = operator.telemetry.as_ref().expect("a table");
    assert_eq!(telemetry.endpoint.to_string(), "http://127.0.0.1:4318/otlp");
    assert!((telemetry.sampling_ratio - 0.25).abs() < f64::EPSILON);
    assert_eq!(telemetry.service_name, "hub");
    assert!(telemetry.logs);
    let quoting = &manifest.scheme().contexts["quoting"];
    assert_eq!(quoting.limits.fuel, Some(100_000_000));
    assert_eq!(
        quoting.listener.as_ref().map(|name| name.as_str()),
        Some("fsps")
    );
    let bindings = &manifest.scheme().steps["quote-request-check"];
    assert_eq!(bindings[0].failure_code.as_str(), "4200");
    assert_eq!(bindings[1].failure_code.as_str(), "2001");
    assert_eq!(bindings[1].settings_json(), r#"{"limits":[]}"#);
    let words = bindings[0].on_failure.words();
    assert_eq!(words.memory, FailureWord::AllowAndFlag);
    let words = bindings[1].on_failure.words();
    assert_eq!(words.trap, FailureWord::AllowAndFlag);
    assert_eq!(words.verdict, FailureWord::Refuse);
    assert_eq!(words.otherwise, FailureWord::Allow);
    let quarantine = bindings[1].quarantine.expect("a table");
    assert_eq!(
        (quarantine.failures, quarantine.longest.millis()),
        (3, 600_000)
    );
    assert_eq!(bindings[0].quarantine, None);
    let intervals = bindings[1].intervals();
    let settings = intervals.iter().map(|one| one.binding.settings_json());
    assert_eq!(
        settings.collect::<Vec<_>>(),
        [
            r#"{"limits":[]}"#,
            r#"{"limits":[{"currency":"USD","maximum":"200"}]}"#,
            r#"{"limits":[],"since":"2030-07-01T00:00:00Z"}"#
        ]
    );
    let paths: Vec<_> = manifest.component_paths().collect();
    assert_eq!(
        paths,
        [
            folder.path().join("components/a.wasm"),
            folder.path().join("components/b.wasm")
        ]
    );
    let rule = &manifest.components()[1];
    assert_eq!((rule.kind, &*rule.bytes), (ComponentKind::Rule, &b"b"[..]));
    assert_eq!(rule.digest, Digest::of(b"b"));
}

#[test]
fn components_see_facts_and_settings_as_json() {
    let (_folder, manifest) = good("maximal");
    let pretty = |text: &str| {
        let json: serde_json::Value = serde_json::from_str(text).expect("JSON");
        format!("{json:#}\n")
    };
    let facts = pretty(&manifest.scheme_json());
    let settings = pretty(&manifest.settings_json("quoting").expect("a context"));
    support::compare(&support::data().join("facts.json"), &facts);
    support::compare(&support::data().join("settings.json"), &settings);
    assert_eq!(manifest.settings_json("amount-limits"), None);
    let lists = manifest.scheme().scheme_lists();
    let [("participants", participants)] = lists.as_slice() else {
        panic!("{lists:?}");
    };
    assert_eq!(participants.len(), manifest.scheme().participants.len());
    let first = "{\"id\":\"payerfsp\",\"name\":\"Payer FSP\",\"callbackBaseUrl\":\"http://127.0.0.1:4101\",\
                 \"accounts\":[{\"currency\":\"USD\",\"openingLiquidity\":\"1000.00\",\"netDebitCap\":\"500\",";
    assert!(participants[0].starts_with(first), "{}", participants[0]);
}

#[test]
fn a_release_is_read_back_without_its_folder() {
    let (folder, manifest) = good("maximal");
    let known = manifest.document().scheme().expect("it was read");
    assert!(
        std::ptr::eq(&raw const *known, manifest.scheme()),
        "its text is not read again"
    );
    let stored = serde_json::to_string(manifest.document()).expect("JSON");
    drop(folder);
    let read: SchemeDocument = serde_json::from_str(&stored).expect("the same");
    assert_eq!(&read, manifest.document());
    assert_eq!(read.digest(), manifest.digest());
    let scheme = read.scheme().expect("the text is right");
    assert_eq!(scheme.scheme_json(), manifest.scheme_json());
    assert!(
        Arc::ptr_eq(&scheme, &read.clone().scheme().expect("the same")),
        "it is read once"
    );
    assert!(rialto_manifest::admit(manifest.operator(), &scheme).is_ok());
}

#[test]
fn a_digest_names_text_and_components() {
    let (_folder, manifest) = good("maximal");
    let (text, digests) = (manifest.document().text(), manifest.document().digests());
    let other_text = SchemeDocument::new(format!("{text}\n"), digests.clone());
    assert_ne!(other_text.digest(), manifest.digest());
    let mut others = digests.clone();
    for digest in others.rules.values_mut() {
        *digest = Digest::of(b"c");
    }
    let other_component = SchemeDocument::new(text, others);
    assert_ne!(other_component.digest(), manifest.digest());
}

#[test]
fn locking_pins_components_and_updates_changed_ones() {
    let (folder, _) = good("maximal");
    let pinned = lock(folder.path()).expect("a lock");
    assert_eq!(pinned.digests.contexts.len(), 0);
    assert_eq!(pinned.digests.rules["amount-limits"], Digest::of(b"b"));
    assert!(!lock(folder.path()).expect("a lock").changed);

    fs::write(folder.path().join("components/b.wasm"), "changed").expect("a component");
    assert!(Manifest::load(folder.path()).is_err());
    assert!(lock(folder.path()).expect("a lock").changed);
    assert!(Manifest::load(folder.path()).is_ok());
}

#[test]
fn a_broken_scheme_is_not_locked() {
    let case = support::data().join("broken/duplicates");
    let folder = support::staged(&case);
    assert!(lock(folder.path()).is_err());
    assert!(!folder.path().join("scheme.lock").exists());
}
