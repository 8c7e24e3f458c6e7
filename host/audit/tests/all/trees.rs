//! The tree and its files, judged by another implementation of the public formats.

use std::cell::RefCell;
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use rialto_audit::folder::Writer;
use rialto_audit::proof::{Hashes, is_included};
use rialto_audit::tile::entries_of;
use rialto_audit::tree::{Tiles, bytes_of};
use rialto_audit::{Hash, TileId, Tree};
use tlog_tiles::{
    Error, HashReader, TileHashReader, TileReader, check_record, prove_record, record_hash,
    stored_hashes, tree_hash,
};

use crate::support::entry;

/// The other implementation's storage of hashes.
#[derive(Default)]
struct Others(Vec<tlog_tiles::Hash>);

impl HashReader for Others {
    fn read_hashes(&self, indexes: &[u64]) -> Result<Vec<tlog_tiles::Hash>, Error> {
        let read = |index: &u64| self.0[usize::try_from(*index).unwrap()];
        Ok(indexes.iter().map(read).collect())
    }
}

/// The root by the other implementation.
fn others_root(size: u64) -> Hash {
    let mut others = Others::default();
    for at in 0..size {
        let hashes = stored_hashes(at, &entry(at), &others).unwrap();
        others.0.extend(hashes);
    }
    Hash(tree_hash(size, &others).unwrap().0)
}

fn tree(size: u64) -> Tree {
    let mut tree = Tree::default();
    for at in 0..size {
        tree.append(Hash::of_entry(&entry(at)));
    }
    tree
}

#[test]
fn roots_are_those_of_the_standard() {
    // RFC 6962, 2.1: the hash of the empty tree is that of an empty text.
    let empty = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
    assert_eq!(Tree::default().root().to_string(), empty);
    for size in (1..=20).chain([255, 256, 257, 511, 512, 513, 70_000]) {
        assert_eq!(tree(size).root(), others_root(size), "{size}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn roots_of_any_size_are_those_of_the_standard(size in 0_u64..3_000) {
        prop_assert_eq!(tree(size).root().0.len(), 32);
        if size > 0 {
            prop_assert_eq!(tree(size).root(), others_root(size));
        }
    }

    #[test]
    fn another_program_believes_each_proof(size in 1_u64..3_000, index in 0_u64..3_000, other in 0_u64..3_000) {
        let (index, other) = (index % size, other % size);
        let mut whole = Tree::default();
        let mut tiles = Tiles::new();
        for at in 0..size {
            let hash = Hash::of_entry(&entry(at));
            whole.append_with(hash, |id, hashes| drop(tiles.insert(id, hashes.to_vec())));
        }
        tiles.extend(whole.partial().map(|(id, hashes)| (id, hashes.to_vec())));
        let mut tile = |id| tiles.get(&id).cloned();
        let mut hashes = Hashes::new(size, &mut tile);
        let proof = hashes.inclusion(index).unwrap().unwrap();
        prop_assert_eq!(hashes.inclusion(size), Ok(None));
        let others: Vec<_> = proof.iter().map(|hash| tlog_tiles::Hash(hash.0)).collect();
        let root = tlog_tiles::Hash(whole.root().0);
        prop_assert!(check_record(&others, size, root, index, record_hash(&entry(index))).is_ok());
        let head = (size, whole.root());
        let hash = Hash::of_entry(&entry(index));
        prop_assert!(is_included(hash, index, head, &proof));
        prop_assert!(!is_included(Hash::of_entry(b"another"), index, head, &proof));
        prop_assert!(!is_included(hash, index, (size, hash), &proof) || size == 1);
        prop_assert_eq!(is_included(hash, other, head, &proof), other == index);
        if let Some((_, shorter)) = proof.split_last() {
            prop_assert!(!is_included(hash, index, head, shorter));
        }
        let longer = [&proof[..], &[hash]].concat();
        prop_assert!(!is_included(hash, index, head, &longer));
    }

    #[test]
    fn tree_goes_on_from_its_tiles(size in 0_u64..70_000, more in 0_u64..600) {
        let mut whole = Tree::default();
        let mut tiles = Tiles::new();
        for at in 0..size {
            let hash = Hash::of_entry(&entry(at));
            whole.append_with(hash, |id, hashes| drop(tiles.insert(id, hashes.to_vec())));
        }
        tiles.extend(whole.partial().map(|(id, hashes)| (id, hashes.to_vec())));
        let mut read = Tree::of_tiles(size, |id| tiles.get(&id).cloned()).unwrap();
        prop_assert_eq!(&read, &whole);
        for at in size..size + more {
            read.append(Hash::of_entry(&entry(at)));
            whole.append(Hash::of_entry(&entry(at)));
        }
        prop_assert_eq!(read.root(), whole.root());
        // A tile of the edge that is missing is found.
        if let Some((id, _)) = TileId::edge(size).find(|(_, width)| *width > 0) {
            let outcome = Tree::of_tiles(size, |tile| tiles.get(&tile).filter(|_| tile != id).cloned());
            prop_assert!(outcome.is_err());
        }
    }
}

/// The other implementation's reader of a folder.
struct Served<'f> {
    folder: &'f Path,
    read: RefCell<Vec<String>>,
}

impl TileReader for Served<'_> {
    fn height(&self) -> u8 {
        8
    }

    fn read_tiles(&self, tiles: &[tlog_tiles::Tile]) -> Result<Vec<Vec<u8>>, Error> {
        let read = |tile: &tlog_tiles::Tile| {
            // Its paths name the height, as the format's predecessor did.
            let path = tile.path().replacen("tile/8/", "tile/", 1);
            let bytes = fs::read(self.folder.join(&path));
            self.read.borrow_mut().push(path);
            bytes.unwrap()
        };
        Ok(tiles.iter().map(read).collect())
    }

    fn save_tiles(&self, _: &[tlog_tiles::Tile], _: &[Vec<u8>]) {}
}

#[test]
fn another_program_proves_each_entry_by_the_files() {
    let size = 70_000;
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::new(folder.path()).unwrap();
    for at in 0..size {
        writer.entry(&entry(at)).unwrap();
    }
    writer.finish().unwrap();
    let root = tlog_tiles::Hash(tree(size).root().0);
    let served = Served {
        folder: folder.path(),
        read: RefCell::default(),
    };
    let reader = TileHashReader::new(size, root, &served);
    for at in [0, 1, 255, 256, 65_535, 65_536, size - 1] {
        let proof = prove_record(size, at, &reader).unwrap();
        check_record(&proof, size, root, at, record_hash(&entry(at))).unwrap();
        assert!(check_record(&proof, size, root, at, record_hash(b"another")).is_err());
    }
    // The names that the format gives for a log of this size.
    for path in [
        "tile/0/272",
        "tile/0/273.p/112",
        "tile/1/000",
        "tile/1/001.p/17",
        "tile/2/000.p/1",
    ] {
        let is_there = folder.path().join(path).is_file();
        assert!(is_there, "{path}");
    }
    assert!(!served.read.borrow().is_empty());
    let bundle = fs::read(folder.path().join("tile/entries/273.p/112")).unwrap();
    let entries = entries_of(&bundle).unwrap();
    assert_eq!(entries.len(), 112);
    assert_eq!(entries[111], entry(size - 1));
}

#[test]
fn large_indexes_have_the_names_of_the_format() {
    let id = TileId {
        level: 0,
        index: 1_234_067,
    };
    assert_eq!(id.path(256), "tile/0/x001/x234/067");
    assert_eq!(id.path(17), "tile/0/x001/x234/067.p/17");
    assert_eq!(bytes_of(&[Hash([7; 32])]), [7; 32]);
}
