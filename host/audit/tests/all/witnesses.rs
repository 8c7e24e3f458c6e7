//! Witnesses: keys, cosignatures, and proofs that a log goes on, judged by another implementation.

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use data_encoding::BASE64;
use proptest::prelude::*;
use rialto_audit::proof::{Hashes, is_consistent};
use rialto_audit::tree::Tiles;
use rialto_audit::witness::{BadWitnessKey, message, request};
use rialto_audit::{Cosignature, Hash, Tree, WitnessKey};
use tlog_tiles::check_tree;

use crate::support::{Key, entry};

/// A tree, and its tiles.
fn grown(size: u64) -> (Tree, Tiles) {
    let mut tree = Tree::default();
    let mut tiles = Tiles::new();
    for at in 0..size {
        tree.append_with(Hash::of_entry(&entry(at)), |id, hashes| {
            tiles.insert(id, hashes.to_vec());
        });
    }
    let partial: Vec<_> = tree
        .partial()
        .map(|(id, hashes)| (id, hashes.to_vec()))
        .collect();
    tiles.extend(partial);
    (tree, tiles)
}

fn proof(old: u64, new: u64, tiles: &Tiles) -> Vec<Hash> {
    let mut tile = |id| tiles.get(&id).cloned();
    let mut hashes = Hashes::new(new, &mut tile);
    hashes.consistency(old).unwrap().unwrap()
}

fn is_good_to_others(old: (u64, Hash), new: (u64, Hash), proof: &[Hash]) -> bool {
    let hash = |hash: Hash| tlog_tiles::Hash(hash.0);
    let proof = proof.iter().map(|one| hash(*one)).collect();
    check_tree(&proof, new.0, hash(new.1), old.0, hash(old.1)).is_ok()
}

#[test]
fn each_log_goes_on_from_each_earlier_one() {
    let roots: Vec<_> = (0..=40).map(|size| (size, grown(size).0.root())).collect();
    // The tiles of a later log serve an earlier one.
    let (_, tiles) = grown(40);
    for new in &roots[1..] {
        for old in &roots[1..=usize::try_from(new.0).unwrap()] {
            let proof = proof(old.0, new.0, &tiles);
            assert!(is_consistent(*old, *new, &proof), "{old:?} {new:?}");
            assert!(is_good_to_others(*old, *new, &proof), "{old:?} {new:?}");
            let other = (old.0, Hash::of_entry(b"another"));
            assert!(!is_consistent(other, *new, &proof));
            let other = (new.0, Hash::of_entry(b"another"));
            assert!(!is_consistent(*old, other, &proof));
        }
    }
    let mut tile = |id| tiles.get(&id).cloned();
    assert_eq!(Hashes::new(20, &mut tile).consistency(21), Ok(None));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn large_logs_go_on_too(new in 1_u64..1_500, part in 0.0..1.0_f64) {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a part of a small number")]
        let old = ((new as f64 * part) as u64).max(1);
        let (tree, tiles) = grown(new);
        let earlier = (old, grown(old).0.root());
        let later = (new, tree.root());
        let mut proof = proof(old, new, &tiles);
        prop_assert!(is_consistent(earlier, later, &proof));
        prop_assert!(is_good_to_others(earlier, later, &proof));
        proof.push(tree.root());
        prop_assert!(!is_consistent(earlier, later, &proof));
    }
}

/// A witness's line for a checkpoint.
fn line(pair: &Ed25519KeyPair, key: &WitnessKey, note: &str, time: u64) -> String {
    let text = &note[..note.rfind("\n\n").unwrap() + 1];
    let signature = pair.sign(&message(text, time));
    let bytes = [&key.id(), &time.to_be_bytes()[..], signature.as_ref()].concat();
    format!("\u{2014} {} {}\n", key.name(), BASE64.encode(&bytes))
}

#[test]
fn cosignature_of_the_witness_alone_is_added() {
    let pair = Ed25519KeyPair::generate().unwrap();
    let public = pair.public_key().as_ref().try_into().unwrap();
    let key = WitnessKey::new("witness.example/w1", public).unwrap();
    assert_eq!(key.to_string().parse(), Ok(key.clone()));
    let note = Key::new().sign(&grown(3).0);
    assert_eq!(key.cosignature(&note), Cosignature::None);
    let good = line(&pair, &key, &note, 7);
    let added = key.added(&note, &format!("noise\n{good}")).unwrap();
    assert_eq!(added, format!("{note}{good}"));
    assert_eq!(key.cosignature(&added), Cosignature::At(7));
    // Of another checkpoint, of another key in this one's name, and nothing.
    let other = line(&pair, &key, &Key::new().sign(&grown(4).0), 7);
    let stranger = line(&Ed25519KeyPair::generate().unwrap(), &key, &note, 7);
    for bad in [&other, &stranger, ""] {
        assert_eq!(key.added(&note, bad), None);
    }
    let forged = format!("{note}{stranger}");
    assert_eq!(key.cosignature(&forged), Cosignature::Bad);
}

#[test]
fn keys_that_were_copied_badly_are_named() {
    let key = WitnessKey::new("w.example", [7; 32]).unwrap().to_string();
    let bad = |text: &str| text.parse::<WitnessKey>().unwrap_err();
    assert_eq!(bad("w.example"), BadWitnessKey::Malformed);
    assert_eq!(bad(&key.replacen("w.", "v.", 1)), BadWitnessKey::Id);
    let typed = |kind: u8| BASE64.encode(&[&[kind], &[7; 32][..]].concat());
    assert_eq!(
        bad(&format!("w.example+00000000+{}", typed(1))),
        BadWitnessKey::Type
    );
    let short = BASE64.encode(&[4, 7, 7]);
    assert_eq!(
        bad(&format!("w.example+00000000+{short}")),
        BadWitnessKey::Malformed
    );
}

#[test]
fn request_has_the_lines_of_the_protocol() {
    let hashes = [Hash([1; 32]), Hash([2; 32])];
    let expected = "old 5\nAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\nAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=\n\nthe note\n";
    assert_eq!(request(5, &hashes, "the note\n"), expected);
}
