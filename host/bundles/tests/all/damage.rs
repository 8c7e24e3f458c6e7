//! Every change of a bundle's file is found, and said.

use proptest::prelude::*;
use rialto_bundles::{Bundle, BundleError, Digest};
use serde_json::{Value, json};

use crate::bundle;

/// An entry of an archive: its name, its kind and its bytes.
type Entry = (String, u8, Vec<u8>);

const BLOCK: usize = 512;

/// An archive as a stranger would write it.
fn archive(entries: &[Entry]) -> Vec<u8> {
    let mut file = Vec::new();
    for (name, kind, bytes) in entries {
        let mut header = [0_u8; BLOCK];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[100..108].copy_from_slice(b"0000644\0");
        header[108..116].copy_from_slice(b"0000000\0");
        header[116..124].copy_from_slice(b"0000000\0");
        header[124..136].copy_from_slice(format!("{:011o}\0", bytes.len()).as_bytes());
        header[136..148].copy_from_slice(b"00000000000\0");
        header[148..156].copy_from_slice(b"        ");
        header[156] = *kind;
        header[257..265].copy_from_slice(b"ustar\x0000");
        header[329..337].copy_from_slice(b"0000000\0");
        header[337..345].copy_from_slice(b"0000000\0");
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        file.extend(header);
        file.extend(bytes);
        file.resize(file.len().next_multiple_of(BLOCK), 0);
    }
    file.resize(file.len() + 2 * BLOCK, 0);
    file
}

/// The entries of the good bundle.
fn entries() -> Vec<Entry> {
    let packed = bundle().packed();
    let mut entries = Vec::new();
    let mut at = 0;
    while packed[at] != 0 {
        let text = |from: usize, to: usize| {
            let field = &packed[at + from..at + to];
            String::from_utf8(field.split(|byte| *byte == 0).next().unwrap().to_vec()).unwrap()
        };
        let size = usize::from_str_radix(&text(124, 136), 8).unwrap();
        let begin = at + BLOCK;
        let bytes = packed[begin..begin + size].to_vec();
        entries.push((text(0, 100), packed[at + 156], bytes));
        at = begin + size.next_multiple_of(BLOCK);
    }
    entries
}

/// A bundle whose manifest and configuration were changed by someone who can compute digests.
fn forged(change: impl Fn(&mut Value, &mut Value)) -> Vec<u8> {
    let mut entries = entries();
    let blob = |digest: &Value| format!("blobs/{}", digest.as_str().unwrap().replace(':', "/"));
    let take = |entries: &mut Vec<Entry>, name: &str| -> Value {
        let at = entries.iter().position(|entry| entry.0 == name).unwrap();
        serde_json::from_slice(&entries.remove(at).2).unwrap()
    };
    let mut index = take(&mut entries, "index.json");
    let mut manifest = take(&mut entries, &blob(&index["manifests"][0]["digest"]));
    let mut config = take(&mut entries, &blob(&manifest["config"]["digest"]));
    let before = config.clone();
    change(&mut manifest, &mut config);
    let mut add = |value: &Value, entry: &mut Value| {
        let bytes = value.to_string().into_bytes();
        let digest = Digest::of(&bytes);
        entry["digest"] = json!(digest.to_string());
        entry["size"] = json!(bytes.len());
        entries.push((format!("blobs/sha256/{}", digest.hex()), b'0', bytes));
    };
    if config != before {
        add(&config, &mut manifest["config"]);
    } else {
        let mut same = manifest["config"].clone();
        add(&config, &mut same);
    }
    add(&manifest, &mut index["manifests"][0]);
    entries.push((
        "index.json".to_owned(),
        b'0',
        index.to_string().into_bytes(),
    ));
    entries.sort_by_key(|entry| {
        (
            entry.0.starts_with("blobs"),
            entry.0 == "index.json",
            entry.0.clone(),
        )
    });
    archive(&entries)
}

fn refused(file: &[u8]) -> String {
    Bundle::read(file).unwrap_err().to_string()
}

#[test]
fn what_the_tests_write_is_the_one_form() {
    assert_eq!(archive(&entries()), bundle().packed());
    // Nothing is changed, and the members of JSON stay in their order.
    assert_eq!(forged(|_, _| {}), bundle().packed());
}

#[test]
fn entries_that_do_not_belong_are_named() {
    let with = |name: &str, kind: u8| {
        let mut entries = entries();
        entries.push((name.to_owned(), kind, Vec::new()));
        refused(&archive(&entries))
    };
    for name in ["../../etc/passwd", "/etc/passwd", "blobs/sha256/../a", "a"] {
        let why = with(name, b'0');
        assert!(
            why.contains("does not belong") && why.contains(name),
            "{why}"
        );
    }
    for kind in [b'2', b'1', b'5', b'L', b'x'] {
        let why = with("oci", kind);
        assert!(why.contains("no plain file"), "{why}");
    }
    let why = with("oci-layout", b'0');
    assert!(why.contains("twice"), "{why}");
    let unlisted = format!("blobs/sha256/{}", Digest::of(b"").hex());
    let why = with(&unlisted, b'0');
    assert!(why.contains("does not list"), "{why}");
}

#[test]
fn a_missing_blob_is_named_and_so_is_a_changed_one() {
    let index = entries();
    for (at, (name, ..)) in index.iter().enumerate() {
        let mut fewer = index.clone();
        fewer.remove(at);
        let why = refused(&archive(&fewer));
        assert!(why.contains("is missing") && why.contains(name), "{why}");
    }
    let mut changed = index;
    let component = changed.iter_mut().find(|entry| entry.2.len() == 700);
    component.unwrap().2[699] ^= 1;
    let why = refused(&archive(&changed));
    assert!(why.contains("ceiling.wasm should have the digest"), "{why}");
}

#[test]
fn a_manifest_cannot_lead_outside_or_be_too_large() {
    for bad in ["../a.wasm", "/a.wasm", "a/../../b", ""] {
        let title = "org.opencontainers.image.title";
        let file = forged(|manifest, _| {
            manifest["layers"][0]["annotations"][title] = json!(bad);
        });
        let error = Bundle::read(&file).unwrap_err();
        assert!(matches!(error, BundleError::Path(_)), "{error}");
    }
    let file = forged(|manifest, _| manifest["layers"][0]["size"] = json!(200_u64 << 20));
    let why = refused(&file);
    assert!(why.contains("209715200 bytes, and 67108864"), "{why}");
    let file = forged(|manifest, _| {
        for layer in manifest["layers"].as_array_mut().unwrap() {
            layer["size"] = json!(64_u64 << 20);
        }
    });
    let error = Bundle::read(&file).unwrap_err();
    assert!(matches!(error, BundleError::AllTooLarge { .. }), "{error}");
}

#[test]
fn other_artifacts_and_newer_bundles_are_named() {
    let why = refused(&forged(|manifest, _| {
        manifest["artifactType"] = json!("image")
    }));
    assert!(why.contains("\"image\""), "{why}");
    let why = refused(&forged(|manifest, _| {
        manifest["mediaType"] = json!("application/vnd.docker.distribution.manifest.v2+json");
    }));
    assert!(why.contains("docker"), "{why}");
    let why = refused(&forged(|_, config| config["format"] = json!(2)));
    assert!(why.contains("the form 2"), "{why}");
    let why = refused(&forged(|manifest, _| {
        manifest["layers"][0]["mediaType"] = json!("text/plain");
    }));
    assert!(why.contains("text/plain"), "{why}");
}

#[test]
fn what_nobody_reads_cannot_be_added() {
    for forge in [
        |manifest: &mut Value, _: &mut Value| manifest["annotations"] = json!({ "a": "b" }),
        |_: &mut Value, config: &mut Value| config["a"] = json!("b"),
        |_: &mut Value, config: &mut Value| config["files"][0]["a"] = json!("b"),
        |manifest: &mut Value, config: &mut Value| {
            manifest["layers"].as_array_mut().unwrap().reverse();
            config["files"].as_array_mut().unwrap().reverse();
        },
    ] {
        let error = Bundle::read(&forged(forge)).unwrap_err();
        assert!(matches!(error, BundleError::NotOneForm { .. }), "{error}");
    }
    // Each of the two names another file.
    let error = Bundle::read(&forged(|_, config| {
        config["files"].as_array_mut().unwrap().pop();
    }));
    assert!(matches!(error, Err(BundleError::Disagree(_))), "{error:?}");
}

#[test]
fn a_file_that_is_cut_is_refused_at_every_length() {
    let packed = bundle().packed();
    for length in 0..packed.len() {
        assert!(Bundle::read(&packed[..length]).is_err(), "{length}");
    }
    let mut longer = packed;
    longer.push(0);
    assert!(Bundle::read(&longer).is_err());
}

#[test]
fn every_changed_byte_is_found() {
    let packed = bundle().packed();
    let mut file = packed.clone();
    for at in 0..packed.len() {
        file[at] ^= 0x01;
        assert!(Bundle::read(&file).is_err(), "byte {at}");
        file[at] = packed[at];
    }
}

proptest! {
    #[test]
    fn any_changed_byte_is_found(at in any::<proptest::sample::Index>(), to in any::<u8>()) {
        let mut file = bundle().packed();
        let at = at.index(file.len());
        prop_assume!(file[at] != to);
        file[at] = to;
        prop_assert!(Bundle::read(&file).is_err());
    }
}
