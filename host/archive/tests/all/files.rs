//! Archives are read back, by subject and as a whole, and all damage is found.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use rialto_archive::{ArchiveError, Head, LAYOUT, Reader, Writer, Written, lines, verify};
use serde_json::{Value, json};
use tempfile::TempDir;

fn head() -> Head {
    Head {
        component: None,
        kept: None,
        rialto_archive: LAYOUT,
        store: "00000000000000ff".to_owned(),
        class: "history".to_owned(),
        segment: 3,
    }
}

/// An item's number, its time and its subjects; the number of bytes that it has besides.
type Item = (u64, u64, Vec<String>, usize);

fn value((n, at, about, bytes): &Item) -> Value {
    // Text that does not shrink.
    let text: String = (0..*bytes as u64)
        .map(|b| char::from(b'a' + u8::try_from((b * b * 31 + n * 7 + b / 3) % 26).unwrap()))
        .collect();
    json!({ "about": about, "at": at, "n": n, "text": text })
}

fn write(folder: &TempDir, items: &[Item]) -> (PathBuf, Written) {
    let path = folder.path().join("one.jsonl.gz");
    let mut writer = Writer::new(std::fs::File::create(&path).unwrap(), &head()).unwrap();
    for item in items {
        let about: Vec<&str> = item.2.iter().map(String::as_str).collect();
        writer.item(&value(item), &about, item.1).unwrap();
    }
    let (_, written) = writer.finish().unwrap();
    (path, written)
}

fn many() -> Vec<Item> {
    let subjects = |n: u64| {
        let about = [
            format!("invoice:{}", n % 40),
            format!("\u{e9}:{}", n / 7),
            "all:1".into(),
        ];
        about[..(n % 4).min(3) as usize].to_vec()
    };
    (0..3_000)
        .map(|n| (n, 1_000 + (n * 37) % 500, subjects(n), 300))
        .collect()
}

#[test]
fn items_are_found_by_subject_in_file_order() {
    let folder = tempfile::tempdir().unwrap();
    let items = many();
    let (path, written) = write(&folder, &items);
    let verified = verify(&path).unwrap();
    assert_eq!(verified.written, written);
    assert_eq!(verified.head, head());
    assert_eq!(
        (written.items, written.from, written.to),
        (3_000, 1_000, 1_499)
    );
    let mut reader = Reader::open(&path).unwrap();
    assert!(reader.tail().blocks.len() > 3, "more than one block");
    for subject in [
        "invoice:1",
        "invoice:39",
        "all:1",
        "\u{e9}:0",
        "\u{e9}:428",
        "invoice:2",
    ] {
        let expected: Vec<Value> = items
            .iter()
            .filter(|item| item.2.iter().any(|about| about == subject))
            .map(value)
            .collect();
        assert_eq!(reader.count(subject).unwrap(), expected.len() as u64);
        assert_eq!(reader.items::<Value>(subject).unwrap(), expected);
    }
    for unknown in ["", "invoice:", "invoice:40", "zzz", "\u{10ffff}"] {
        assert_eq!(reader.count(unknown).unwrap(), 0, "{unknown:?}");
    }
}

#[test]
fn gzip_reads_an_archive_and_its_checksum_is_the_files() {
    use sha2::Digest as _;
    let folder = tempfile::tempdir().unwrap();
    let (path, written) = write(&folder, &many());
    let bytes = std::fs::read(&path).unwrap();
    let digest = sha2::Sha256::digest(&bytes);
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        (digest, bytes.len() as u64),
        (written.sha256, written.bytes)
    );
    let mut text = String::new();
    MultiGzDecoder::new(&*bytes)
        .read_to_string(&mut text)
        .unwrap();
    let all: Vec<Value> = text
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let items: Vec<Value> = many().iter().map(value).collect();
    assert_eq!(all[1..=3_000], items);
    assert_eq!(all[0]["class"], "history");
    let mut seen = Vec::new();
    lines::<ArchiveError>(&path, &mut |line| {
        seen.push(line.to_owned());
        Ok(())
    })
    .unwrap();
    assert_eq!(seen, text.lines().collect::<Vec<_>>());
}

#[test]
fn an_archive_without_items_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let (path, written) = write(&folder, &[]);
    assert_eq!(verify(&path).unwrap().written, written);
    assert_eq!((written.items, written.from, written.to), (0, 0, 0));
    assert_eq!(Reader::open(&path).unwrap().count("a").unwrap(), 0);
}

/// Whether the file is refused as damaged, by somebody who does not know its checksum.
fn is_refused(path: &Path) -> bool {
    match verify(path) {
        Err(ArchiveError::Damaged { .. }) => true,
        Err(other) => panic!("{other:?}"),
        Ok(_) => false,
    }
}

#[test]
fn every_cut_and_every_changed_bit_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let items: Vec<Item> = many().into_iter().take(60).collect();
    let (path, written) = write(&folder, &items);
    let whole = std::fs::read(&path).unwrap();
    for length in 0..whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        assert!(is_refused(&path), "cut at {length}");
    }
    for byte in 0..whole.len() {
        let mut changed = whole.clone();
        changed[byte] ^= 1 << (byte % 8);
        std::fs::write(&path, &changed).unwrap();
        // What gzip does not check is a member's time and the like: the file's own checksum does.
        match verify(&path) {
            Ok(verified) => assert_ne!(verified.written.sha256, written.sha256, "byte {byte}"),
            Err(ArchiveError::Damaged { .. }) => {}
            Err(other) => panic!("{other:?}"),
        }
    }
    std::fs::write(&path, [&*whole, &[0]].concat()).unwrap();
    assert!(is_refused(&path), "a byte more");
    std::fs::write(&path, [&*whole, &*whole].concat()).unwrap();
    assert!(is_refused(&path), "twice");
}

/// A member of an archive.
fn member(lines: &[String]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    for line in lines {
        writeln!(packed, "{line}").unwrap();
    }
    packed.finish().unwrap()
}

/// Write an archive again with other items and another index. Its tail says the same of the items, and where
/// its members are now.
fn write_again(path: &Path, whole: &[u8], change: impl Fn(&mut Vec<String>, &mut Vec<String>)) {
    let mut text = String::new();
    MultiGzDecoder::new(whole)
        .read_to_string(&mut text)
        .unwrap();
    let (mut head, mut items): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let (mut index, mut tail) = (Vec::new(), Value::Null);
    for line in text.lines() {
        if head.is_empty() {
            head.push(line.to_owned());
        } else if line.starts_with('[') {
            index.push(line.to_owned());
        } else if line.starts_with(r#"{"about":"#) {
            items.push(line.to_owned());
        } else {
            tail = serde_json::from_str(line).unwrap();
        }
    }
    change(&mut items, &mut index);
    let mut file = member(&head);
    let mut blocks = vec![file.len()];
    file.extend(member(&items));
    blocks.push(file.len());
    let first: Value = serde_json::from_str(&index[0]).unwrap();
    tail["blocks"] = json!(blocks);
    tail["index"] = json!([[first[0], file.len()]]);
    file.extend(member(&index));
    let tail_at = file.len() as u64;
    file.extend(member(&[tail.to_string()]));
    let mut end = whole[whole.len() - 34..].to_vec();
    end[16..24].copy_from_slice(&tail_at.to_le_bytes());
    file.extend(end);
    std::fs::write(path, file).unwrap();
}

/// A small archive: its file and its bytes.
fn small(folder: &TempDir) -> (PathBuf, Vec<u8>) {
    let (path, _) = write(folder, &many()[..60]);
    let whole = std::fs::read(&path).unwrap();
    write_again(&path, &whole, |_, _| ());
    verify(&path).expect("an archive that is written again unchanged is whole");
    (path, whole)
}

#[test]
fn a_missing_item_is_found_although_each_member_is_intact() {
    let folder = tempfile::tempdir().unwrap();
    let (path, whole) = small(&folder);
    for n in 0..60 {
        write_again(&path, &whole, |items, _| {
            // Every fourth is about nothing: the index does not miss it.
            items.remove(n);
        });
        assert!(is_refused(&path), "without item {n}");
        write_again(&path, &whole, |items, _| {
            items[n] = items[n].replacen(r#""text""#, r#""test""#, 1);
        });
        assert!(is_refused(&path), "another item {n}");
    }
}

#[test]
fn an_index_that_says_what_items_do_not_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let (path, whole) = small(&folder);
    let all = |count: u32| format!(r#"["all:1",[[0,{count}]]]"#);
    let at = |index: &[String]| index.iter().position(|line| *line == all(15)).unwrap();
    for count in [14, 16] {
        write_again(&path, &whole, |_, index| {
            let at = at(index);
            index[at] = all(count);
        });
        assert!(is_refused(&path), "{count} items of 15");
    }
    write_again(&path, &whole, |_, index| {
        let at = at(index);
        index[at] = r#"["all:1",[[1,15]]]"#.to_owned();
    });
    assert!(is_refused(&path), "another block");
    write_again(&path, &whole, |_, index| {
        let at = at(index);
        index.remove(at);
    });
    assert!(is_refused(&path), "without a subject");
    write_again(&path, &whole, |_, index| {
        index.push(r#"["zzz",[[0,1]]]"#.to_owned())
    });
    assert!(is_refused(&path), "a subject more");
}

#[test]
fn foreign_files_are_refused_and_missing_ones_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other");
    for bytes in [&b""[..], b"hello", &[0x1f, 0x8b], &[7; 500]] {
        std::fs::write(&path, bytes).unwrap();
        assert!(is_refused(&path));
    }
    let missing = verify(&folder.path().join("none")).unwrap_err();
    assert!(matches!(missing, ArchiveError::Io { .. }), "{missing}");
}

proptest! {
    #[test]
    fn whatever_is_written_is_found_again(
        items in prop::collection::vec(
            (0_u64..9, any::<u64>(), prop::collection::vec("[a-c\u{e9}\"]{0,2}", 0..4), 0_usize..90_000),
            0..12,
        ),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (path, written) = write(&folder, &items);
        prop_assert_eq!(verify(&path).unwrap().written, written);
        let mut reader = Reader::open(&path).unwrap();
        let subjects: std::collections::BTreeSet<&String> = items.iter().flat_map(|i| &i.2).collect();
        for subject in subjects {
            let expected: Vec<Value> =
                items.iter().filter(|i| i.2.contains(subject)).map(value).collect();
            prop_assert_eq!(reader.items::<Value>(subject).unwrap(), expected);
        }
    }
}
