//! Bundles: the same bytes from every folder, verified without a host, and carried by files and registries.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod registry;

use std::fs;
use std::path::{Path, PathBuf};

use rialto_tests::handbook::root;
use rialto_tests::{CliOutput, binaries};
use serde_json::{Value, json};

use crate::plans::{Scene, text};
use registry::{Registry, liar};

/// `rialto bundle` with these words.
fn bundle(words: &[&str]) -> CliOutput {
    CliOutput::of(binaries::rialto().unwrap(), |command| {
        command.arg("bundle").args(words);
        for variable in ["USER", "PASSWORD", "TOKEN", "CA", "CREDENTIALS"] {
            command.env_remove(format!("RIALTO_REGISTRY_{variable}"));
        }
    })
    .unwrap()
}

/// What `rialto bundle` says of a bundle, as JSON.
fn told(words: &[&str]) -> Value {
    let said = bundle(&[words, &["--json"]].concat()).success().unwrap();
    serde_json::from_str(&said).unwrap()
}

/// A copy of a bundle with one changed byte.
fn damaged(file: &Path, at: usize) -> PathBuf {
    let mut bytes = fs::read(file).unwrap();
    bytes[at] ^= 1;
    let copy = file.with_extension("damaged");
    fs::write(&copy, bytes).unwrap();
    copy
}

/// A folder with a ready rule and its cases, as their author has them.
fn ready_rule(name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let component = binaries::plugin(name).unwrap();
    fs::copy(component, folder.path().join(format!("{name}.wasm"))).unwrap();
    let cases = folder.path().join("cases");
    fs::create_dir(&cases).unwrap();
    let source = root().join("plugins/rules").join(name).join("cases");
    for entry in fs::read_dir(source).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), cases.join(entry.file_name())).unwrap();
    }
    let lines = format!(
        "\n[rules.{name}]\ncomponent = \"components/{name}.wasm\"\ngrants = {{ host = [\"configuration\", \"logging\"] }}\nlimits = {{ deadline = \"1 s\" }}\n\n[[steps.transfer-prepare-check]]\nrule = \"{name}\"\nsettings = {{ }}\n"
    );
    fs::write(folder.path().join("binding.toml"), lines).unwrap();
    folder
}

#[test]
fn ready_rule_is_packed_with_its_cases_and_found_whole() {
    let (one, two) = (ready_rule("corridors"), ready_rule("corridors"));
    let (first, second) = (one.path().join("a.tar"), two.path().join("b.tar"));
    let rule = one.path().join("corridors.wasm");
    let packed = told(&["pack", text(&rule), "--out", text(&first)]);
    assert_eq!(packed["kind"], "rule");
    assert_eq!(packed["name"], "corridors");
    let other = two.path().join("corridors.wasm");
    assert_eq!(
        packed,
        told(&["pack", text(&other), "--out", text(&second)])
    );
    assert_eq!(fs::read(&first).unwrap(), fs::read(&second).unwrap());
    let again = bundle(&["pack", text(&rule), "--out", text(&first)]);
    assert!(
        again.code != 0 && again.said().contains("name a new file"),
        "{again}"
    );

    let said = bundle(&["verify", text(&first)]).success().unwrap();
    assert!(said.contains("cases of corridors as expected"), "{said}");
    assert!(said.contains("a host takes the rule corridors"), "{said}");
    assert!(said.contains("the bundle holds"), "{said}");

    // A byte of a header, of the manifest's place, of the component, and of the padding at the end.
    let length = fs::read(&first).unwrap().len();
    for at in [3, 1_600, length / 2, length - 1] {
        let said = bundle(&["verify", text(&damaged(&first, at))]);
        assert_eq!(said.code, 1, "byte {at}: {said}");
        assert!(
            said.said().contains("is no bundle that can be used"),
            "{said}"
        );
    }

    let unpacked = one.path().join("unpacked");
    bundle(&["unpack", text(&first), text(&unpacked)])
        .success()
        .unwrap();
    let told_files = ["corridors.wasm", "binding.toml", "worlds/corridors.wit"];
    for name in told_files {
        assert!(unpacked.join(name).is_file(), "{name}");
    }
    let tested = CliOutput::of(binaries::rialto().unwrap(), |command| {
        let file = unpacked.join("corridors.wasm");
        command.args(["plugin", "test"]).arg(file);
    });
    tested.unwrap().success().unwrap();
    let repacked = one.path().join("again.tar");
    let file = unpacked.join("corridors.wasm");
    assert_eq!(
        packed,
        told(&["pack", text(&file), "--out", text(&repacked)])
    );
    let said = bundle(&["unpack", text(&first), text(&unpacked)]);
    assert!(
        said.code != 0 && said.said().contains("is not empty"),
        "{said}"
    );
}

#[test]
fn every_finding_of_a_bundle_is_named() {
    let folder = ready_rule("fee-ceiling");
    let rule = folder.path().join("fee-ceiling.wasm");
    let mut cases: Vec<_> = fs::read_dir(folder.path().join("cases")).unwrap().collect();
    cases.sort_by_key(|entry| entry.as_ref().unwrap().path());
    // Two cases expect what the rule does not say.
    for entry in cases.into_iter().take(2) {
        let file = entry.unwrap().path();
        let mut case: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        case["expect"] = json!({ "refuse": ["9999"] });
        fs::write(&file, case.to_string()).unwrap();
    }
    let file = folder.path().join("a.tar");
    bundle(&["pack", text(&rule), "--out", text(&file)])
        .success()
        .unwrap();
    let said = bundle(&["verify", text(&file), "--json"]);
    assert_eq!(said.code, 1, "{said}");
    let said: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(said["holds"], false);
    let findings = said["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 2, "{said}");
    for finding in findings {
        let finding = finding.as_str().unwrap();
        assert!(finding.contains("expected: refuse 9999"), "{finding}");
    }

    let large = folder.path().join("large.wasm");
    fs::File::create(&large)
        .unwrap()
        .set_len(200 << 20)
        .unwrap();
    let said = bundle(&[
        "pack",
        text(&large),
        "--out",
        text(&folder.path().join("b.tar")),
    ]);
    assert_ne!(said.code, 0);
    assert!(
        said.said().contains("209715200 bytes, and no host takes"),
        "{said}"
    );
    let context = binaries::plugin("quoting").unwrap();
    let said = bundle(&[
        "pack",
        text(&context),
        "--out",
        text(&folder.path().join("b.tar")),
    ]);
    assert!(
        said.code != 0 && said.said().contains("is no rule"),
        "{said}"
    );
    fs::write(folder.path().join("binding.toml"), "[rules.other]\n").unwrap();
    let said = bundle(&[
        "pack",
        text(&rule),
        "--out",
        text(&folder.path().join("b.tar")),
    ]);
    assert!(
        said.code != 0 && said.said().contains("[rules.other]"),
        "{said}"
    );
}

#[tokio::test]
async fn scheme_with_a_signed_plan_goes_through_a_registry_and_back() {
    let scene = Scene::of("").await;
    let lower = scene.with_limit("60");
    scene.plan(&lower, "p", &[]).success().unwrap();
    for officer in ["ada", "ben"] {
        scene.sign("p", officer, officer).success().unwrap();
    }
    let (plan, ada, ben) = (
        scene.path("p"),
        scene.path("p.ada.sig"),
        scene.path("p.ben.sig"),
    );
    let file = scene.path("a.tar");
    let pack = [
        "pack",
        text(lower.path()),
        "--out",
        text(&file),
        "--plan",
        text(&plan),
    ];
    let both = ["--signature", text(&ada), "--signature", text(&ben)];
    let packed = told(&[&pack[..], &both].concat());
    assert_eq!(packed["kind"], "scheme");

    // The same content in another folder. What rialto.toml says belongs to the operator.
    let twin = lower.twin().unwrap();
    twin.replace("rialto.toml", "[store]", "# Nobody else's.\n[store]")
        .unwrap();
    let other = scene.path("b.tar");
    let pack = [
        "pack",
        text(twin.path()),
        "--out",
        text(&other),
        "--plan",
        text(&plan),
    ];
    assert_eq!(packed, told(&[&pack[..], &both].concat()));
    let bytes = fs::read(&file).unwrap();
    assert_eq!(bytes, fs::read(&other).unwrap());
    let folders = [lower.path(), twin.path(), scene.world.scheme.path()];
    for secret in folders
        .map(text)
        .into_iter()
        .chain(["[listeners.", "[releases.officers."])
    {
        let found = bytes
            .windows(secret.len())
            .any(|part| part == secret.as_bytes());
        assert!(!found, "{secret} is in the bundle");
    }

    // Verified for the host that is to take it, which knows the officers' keys.
    let operator = text(scene.world.scheme.path());
    let verify = ["verify", text(&file), "--operator", operator];
    let said = bundle(&verify).success().unwrap();
    for words in [
        "rialto.toml admits the scheme",
        "the plan is signed by ada, ben",
        "fit together",
        "the bundle holds",
    ] {
        assert!(said.contains(words), "{words}\n{said}");
    }

    let registry = Registry::start();
    let place = format!("{}/schemes/demo:v1", registry.address());
    let missing = scene.path("missing.tar");
    let said = bundle(&["pull", &place, "--out", text(&missing)]);
    assert!(
        said.code != 0 && said.said().contains("there is no"),
        "{said}"
    );
    assert!(!missing.exists());
    let pushed = told(&["push", text(&file), &place]);
    assert_eq!(pushed, packed);
    let pinned = format!(
        "{}/schemes/demo@{}",
        registry.address(),
        packed["artifact"].as_str().unwrap()
    );
    for (n, place) in [place.as_str(), pinned.as_str()].into_iter().enumerate() {
        let pulled = scene.path(&format!("pulled-{n}.tar"));
        assert_eq!(told(&["pull", place, "--out", text(&pulled)]), packed);
        assert_eq!(fs::read(&pulled).unwrap(), bytes);
    }

    // A registry that gives other bytes, and one that is away.
    let liar = liar(registry.address());
    let out = scene.path("lie.tar");
    let said = bundle(&[
        "pull",
        &format!("{liar}/schemes/demo:v1"),
        "--out",
        text(&out),
    ]);
    assert_ne!(said.code, 0);
    assert!(
        said.said().contains("other bytes than it was asked for"),
        "{said}"
    );
    assert!(!out.exists());
    drop(registry);
    let said = bundle(&["pull", &place, "--out", text(&out)]);
    assert!(
        said.code != 0 && said.said().contains("cannot be reached"),
        "{said}"
    );

    // What is unpacked becomes the planned release.
    let unpacked = scene.path("unpacked");
    bundle(&["unpack", text(&file), text(&unpacked)])
        .success()
        .unwrap();
    for name in ["scheme.toml", "scheme.lock"] {
        let same =
            fs::read(unpacked.join(name)).unwrap() == fs::read(lower.path().join(name)).unwrap();
        assert!(same, "{name}");
    }
    let (plan, signatures) = (unpacked.join("plan.json"), unpacked.join("signatures"));
    let (ada, ben) = (signatures.join("ada.sig"), signatures.join("ben.sig"));
    let apply = ["release", "apply", "--plan", text(&plan)];
    let both = ["--signature", text(&ada), "--signature", text(&ben)];
    let said = scene
        .by("hal", &[&apply[..], &both].concat())
        .success()
        .unwrap();
    assert!(said.contains("is current"), "{said}");
}

#[tokio::test]
async fn plan_of_something_else_or_with_too_few_signatures_is_found() {
    let scene = Scene::of("").await;
    let lower = scene.with_limit("60");
    scene.plan(&lower, "p", &[]).success().unwrap();
    scene.sign("p", "ada", "ada").success().unwrap();
    // With ben's name and ada's key.
    scene.sign("p", "ada", "ben").success().unwrap();
    let (plan, ada, ben) = (
        scene.path("p"),
        scene.path("p.ada.sig"),
        scene.path("p.ben.sig"),
    );
    let other = scene.with_limit("50");
    let file = scene.path("a.tar");
    let pack = [
        "pack",
        text(other.path()),
        "--out",
        text(&file),
        "--plan",
        text(&plan),
    ];
    let said = bundle(&pack);
    assert!(
        said.code != 0 && said.said().contains("have a plan made of the folder"),
        "{said}"
    );
    let pack = [
        "pack",
        text(lower.path()),
        "--out",
        text(&file),
        "--plan",
        text(&plan),
    ];
    let both = ["--signature", text(&ada), "--signature", text(&ben)];
    bundle(&[&pack[..], &both].concat()).success().unwrap();
    let operator = text(scene.world.scheme.path());
    let said = bundle(&["verify", text(&file), "--operator", operator]);
    assert_eq!(said.code, 1, "{said}");
    for words in [
        "none of the key that ben has",
        "1 of 2 officers have signed the plan",
        "the bundle does not hold: 2 findings",
    ] {
        assert!(said.stdout.contains(words), "{words}\n{said}");
    }
}
