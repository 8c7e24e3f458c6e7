//! A bundle is one sequence of bytes, and is read back whole.

use std::fs;

use proptest::prelude::*;
use rialto_bundles::{
    ALL_BYTES_MAX, Bundle, BundleError, Content, Digest, FILE_BYTES_MAX, FILES_MAX,
};

use crate::{about, bundle, path};

#[test]
fn a_bundle_is_read_as_it_was_packed() {
    let packed = bundle().packed();
    assert_eq!(Bundle::read(&packed).unwrap(), bundle());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.tar");
    fs::write(&file, &packed).unwrap();
    let (read, digest) = Bundle::open(&file).unwrap();
    assert_eq!((read, digest), (bundle(), Digest::of(&packed)));
}

#[test]
fn the_form_of_bundles_stays() {
    // Another digest is another form: old bundles could not be read any more.
    let digest = bundle().manifest_digest().to_string();
    assert_eq!(digest, include_str!("form.txt").trim());
}

#[test]
fn the_order_of_adding_does_not_matter() {
    let mut backwards = Bundle::new(about());
    let all = bundle();
    let files: Vec<_> = all.files().collect();
    for (path, file) in files.into_iter().rev() {
        let (content, bytes) = (file.content.clone(), file.bytes.clone());
        backwards.add(path.clone(), content, bytes).unwrap();
    }
    assert_eq!(backwards.packed(), all.packed());
}

#[test]
fn tar_and_oci_tools_can_read_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.tar");
    fs::write(&file, bundle().packed()).unwrap();
    let mut tar = std::process::Command::new("tar");
    let done = tar
        .arg("-xf")
        .arg(&file)
        .arg("-C")
        .arg(folder.path())
        .status();
    assert!(done.unwrap().success());
    let index = fs::read_to_string(folder.path().join("index.json")).unwrap();
    let digest = bundle().manifest_digest();
    assert!(index.contains(&digest.to_string()), "{index}");
    let manifest = folder.path().join("blobs/sha256").join(digest.hex());
    let manifest = fs::read_to_string(manifest).unwrap();
    assert!(
        manifest.contains(r#""org.opencontainers.image.title":"cases/allow.json""#),
        "{manifest}"
    );
}

#[test]
fn a_bundle_is_unpacked_into_an_empty_folder_alone() {
    let folder = tempfile::tempdir().unwrap();
    let new = folder.path().join("a/b");
    bundle().unpack(&new).unwrap();
    let case = new.join("cases/allow.json");
    assert_eq!(fs::read(&case).unwrap(), b"{}");
    let error = bundle().unpack(&new).unwrap_err();
    assert!(matches!(error, BundleError::NotEmpty(_)), "{error}");
}

#[test]
fn paths_lie_inside_and_are_there_once() {
    for bad in [
        "", "/a", "../a", "a/../b", "./a", "a//b", "a/", "a\\b", "c:a", "a b", "a\0", "é",
    ] {
        assert!(
            bad.parse::<rialto_bundles::BundlePath>().is_err(),
            "{bad:?}"
        );
    }
    let mut twice = bundle();
    let error = twice.add(path("plan.json"), Content::Plan, Vec::new());
    assert!(matches!(error, Err(BundleError::Twice { .. })), "{error:?}");
    for clash in ["cases", "plan.json/a", "cases/allow.json/b/c"] {
        let error = twice.add(path(clash), Content::Plan, Vec::new());
        let error = error.unwrap_err();
        assert!(
            matches!(error, BundleError::FileAndFolder { .. }),
            "{error}"
        );
    }
}

#[test]
fn what_is_too_large_is_refused() {
    let mut bundle = Bundle::new(about());
    let large = vec![0; usize::try_from(FILE_BYTES_MAX).unwrap()];
    let mut over = large.clone();
    over.push(0);
    let error = bundle.add(path("a"), Content::Component, over).unwrap_err();
    assert!(matches!(error, BundleError::TooLarge { .. }), "{error}");
    for text in [Content::Scheme, Content::Binding, Content::Plan] {
        let error = bundle.add(path("a"), text, large.clone()).unwrap_err();
        assert!(matches!(error, BundleError::TooLarge { .. }), "{error}");
    }
    for n in 0..ALL_BYTES_MAX / FILE_BYTES_MAX {
        let name = path(&format!("{n}"));
        bundle.add(name, Content::Component, large.clone()).unwrap();
    }
    let error = bundle
        .add(path("a"), Content::Component, vec![0])
        .unwrap_err();
    assert!(matches!(error, BundleError::AllTooLarge { .. }), "{error}");
    let mut bundle = Bundle::new(about());
    for n in 0..FILES_MAX {
        let name = path(&format!("{n}"));
        bundle.add(name, Content::Component, Vec::new()).unwrap();
    }
    let error = bundle.add(path("a"), Content::Component, Vec::new());
    assert!(matches!(error, Err(BundleError::TooMany(_))), "{error:?}");
}

/// Paths and bytes of files.
fn files() -> impl Strategy<Value = Vec<(String, Vec<u8>)>> {
    let bytes = proptest::collection::vec(any::<u8>(), 0..1600);
    proptest::collection::btree_map("[a-z0-9._+-]{0,3}[a-z]/?[a-z]{1,4}", bytes, 0..8)
        .prop_map(|map| map.into_iter().collect())
}

proptest! {
    #[test]
    fn any_files_are_read_as_they_were_packed(files in files()) {
        let mut bundle = Bundle::new(about());
        for (name, bytes) in files {
            // A name may be a folder of another one.
            let _ = bundle.add(path(&name), Content::Component, bytes);
        }
        let packed = bundle.packed();
        prop_assert_eq!(packed.len() % 512, 0);
        prop_assert_eq!(&Bundle::read(&packed).unwrap(), &bundle);
        let folder = tempfile::tempdir().unwrap();
        bundle.unpack(folder.path()).unwrap();
        for (path, file) in bundle.files() {
            prop_assert_eq!(&fs::read(path.within(folder.path())).unwrap(), &file.bytes);
        }
    }

    #[test]
    fn any_bytes_are_refused_or_read(bytes in proptest::collection::vec(any::<u8>(), 0..4096)) {
        prop_assert!(Bundle::read(&bytes).is_err());
    }
}
