//! The fuzz targets judge their seeds: what fuzzing once found is found again if it comes back. The targets
//! run for long by `cargo xtask fuzz`.

use std::fs;
use std::path::{Path, PathBuf};

/// Judges an input: panics when something does not hold.
type Judge = fn(&[u8]);

/// The fuzz targets, as `fuzz/fuzz_targets` names them.
const TARGETS: [(&str, Judge); 10] = [
    ("amounts", rialto_fuzz::amounts::judge),
    ("authenticators", rialto_fuzz::authenticators::judge),
    ("calls", rialto_fuzz::calls::judge),
    ("dates", rialto_fuzz::dates::judge),
    ("headers", rialto_fuzz::headers::judge),
    ("json", rialto_fuzz::json::judge),
    ("keys", rialto_fuzz::keys::judge),
    ("messages", rialto_fuzz::messages::judge),
    ("signatures", rialto_fuzz::signatures::judge),
    ("versions", rialto_fuzz::versions::judge),
];

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn each_fuzz_target_holds_for_its_seeds() {
    for (target, judge) in TARGETS {
        let folder = fuzz().join("seeds").join(target);
        let seeds = names(&folder);
        assert!(!seeds.is_empty(), "{target} has no seeds");
        for seed in seeds {
            // A panic says what did not hold; this line, which is shown then, says for which input.
            println!("{target}: {seed}");
            judge(&fs::read(folder.join(seed)).unwrap());
        }
    }
}

#[test]
fn no_fuzz_target_is_left_out() {
    let here: Vec<String> = TARGETS.map(|(name, _)| name.to_owned()).to_vec();
    let targets = names(&fuzz().join("fuzz_targets"));
    let targets: Vec<_> = targets
        .iter()
        .filter_map(|name| name.strip_suffix(".rs"))
        .collect();
    assert_eq!(targets, here);
    assert_eq!(names(&fuzz().join("seeds")), here);
}
