//! The keys of people, from outside: what was sealed can be read as long as each person's key is there, and not after.
#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use rialto_personal_data::{KeysError, Opened, People};
use tempfile::TempDir;

const ANNA: &str = "party:MSISDN/1";
const BERT: &str = "party:MSISDN/2";

fn kinds() -> BTreeSet<String> {
    BTreeSet::from(["party".to_owned()])
}

struct Scene {
    _folder: TempDir,
    path: PathBuf,
    people: People,
}

fn scene() -> Scene {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("people.keys");
    let people = People::create(&path, kinds()).unwrap();
    Scene {
        _folder: folder,
        path,
        people,
    }
}

fn open(path: &Path) -> People {
    People::open(path, kinds()).unwrap().unwrap()
}

fn seal(people: &People, names: &[&str], plain: &[u8]) -> Vec<u8> {
    let leaves: Vec<_> = names.iter().filter_map(|name| people.leaf(name)).collect();
    people.seal(&leaves, "test", plain).unwrap()
}

#[test]
fn what_is_sealed_is_read_until_a_persons_key_is_destroyed() {
    let Scene {
        people,
        path,
        _folder,
    } = scene();
    let both = seal(&people, &[BERT, ANNA], b"anna and bert");
    let bert = seal(&people, &[BERT], b"bert");
    assert_eq!(
        people.unseal("test", &both),
        Opened::Plain(b"anna and bert".into())
    );
    let names = people.shred(&[ANNA]).unwrap();
    let gone = people.leaf(ANNA).unwrap();
    assert_ne!(names[0].pseudonym, gone.pseudonym("party"), "a new key");
    for people in [&people, &open(&path)] {
        let Opened::Shredded(missing) = people.unseal("test", &both) else {
            panic!("it can be read")
        };
        assert_eq!(missing.len(), 1);
        assert_eq!(missing[0].pseudonym("party"), names[0].pseudonym);
        assert_eq!(people.unseal("test", &bert), Opened::Plain(b"bert".into()));
        assert_eq!(people.leaf(ANNA), Some(gone));
        assert_eq!(people.state().1, 1);
    }
}

#[test]
fn a_person_who_comes_back_has_a_new_key_each_time() {
    let Scene { path, .. } = &scene();
    let mut before = BTreeSet::new();
    for round in 0..4 {
        let people = open(path);
        let sealed = seal(&people, &[ANNA], b"again");
        let opened = people.unseal("test", &sealed);
        assert_eq!(opened, Opened::Plain(b"again".into()));
        assert!(before.insert(people.pseudonym(ANNA)), "round {round}");
        people.shred(&[ANNA]).unwrap();
        assert!(matches!(
            people.unseal("test", &sealed),
            Opened::Shredded(_)
        ));
        assert_eq!(people.state().1, round + 1);
    }
}

#[test]
fn only_configured_kinds_are_people_and_pseudonyms_are_not() {
    let Scene { people, .. } = scene();
    for no in ["transfer:1", "party", "", "parties:MSISDN/1", "Party:1"] {
        assert!(!people.is_person(no), "{no}");
        assert_eq!(people.pseudonym(no), None);
    }
    assert!(people.shred(&["transfer:1"]).unwrap().is_empty());
    assert_eq!(people.state().1, 0);
    let pseudonym = people.pseudonym(ANNA).unwrap();
    assert!(!people.is_person(&pseudonym), "{pseudonym}");
    assert_eq!(pseudonym.len(), "party:pseudonym-".len() + 24);
    assert!(people.is_person("party:pseudonym-1"));
    assert!(people.is_person(&pseudonym.to_uppercase().replace("PARTY", "party")));
}

#[test]
fn each_bit_of_what_is_sealed_counts_and_so_does_what_it_is() {
    let Scene { people, .. } = scene();
    let another = scene();
    let long = br#"{"name":"value"}"#.repeat(100);
    for plain in [b"plain".as_slice(), &long] {
        let sealed = seal(&people, &[ANNA, BERT], plain);
        assert_eq!(
            people.unseal("test", &sealed),
            Opened::Plain(plain.to_vec())
        );
        assert_eq!(people.unseal("another", &sealed), Opened::Damaged);
        for bit in 0..8 * sealed.len() {
            let mut changed = sealed.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(people.unseal("test", &changed), Opened::Damaged, "{bit}");
            let cut = &sealed[..bit / 8];
            assert_eq!(people.unseal("test", cut), Opened::Damaged, "{bit} bits");
        }
        // The other form, of which only two bits differ.
        let mut changed = sealed.clone();
        changed[0] ^= 3;
        assert_eq!(people.unseal("test", &changed), Opened::Damaged);
        assert_eq!(another.people.unseal("test", &sealed), Opened::Damaged);
    }
}

#[test]
fn long_records_are_compressed_before_they_are_encrypted() {
    let Scene { people, .. } = scene();
    let text = br#"{"name":"value"}"#.repeat(100);
    assert!(seal(&people, &[ANNA], &text).len() < text.len() / 10);
    // What cannot be compressed stays as it is.
    let mut noise = vec![0; 1000];
    aws_lc_rs::rand::fill(&mut noise).unwrap();
    let sealed = seal(&people, &[ANNA], &noise);
    assert!(sealed.len() < noise.len() + 50, "{}", sealed.len());
    assert_eq!(people.unseal("test", &sealed), Opened::Plain(noise));
}

#[test]
fn files_are_private_made_once_and_checked() {
    use std::os::unix::fs::PermissionsExt as _;
    let Scene {
        path,
        people,
        _folder,
    } = scene();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let again = People::create(&path, kinds());
    assert!(matches!(again, Err(KeysError::Exists(_))), "{again:?}");
    people.shred(&[ANNA, BERT]).unwrap();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let missing = path.with_extension("none");
    assert!(People::open(&missing, kinds()).unwrap().is_none());
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[80] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let damaged = People::open(&path, kinds());
    assert!(matches!(damaged, Err(KeysError::Damaged(_))), "{damaged:?}");
}

#[test]
fn copies_that_a_killed_process_has_left_are_overwritten_and_removed() {
    let Scene {
        path,
        people,
        _folder,
    } = scene();
    let name = |end: &str| path.with_file_name(format!("people.keys{end}"));
    let (left, again) = (name(".4242-0.new"), name(".4242-1.new"));
    // Others in the folder are somebody else's.
    let others = [name(".old"), name(".a-0.new"), name("s.4242-0.new")];
    std::fs::copy(&path, &left).unwrap();
    let held = std::fs::File::open(&left).unwrap();
    for other in &others {
        std::fs::copy(&path, other).unwrap();
    }
    people.remove_unfinished();
    assert!(!left.exists());
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut &held, &mut bytes).unwrap();
    assert!(bytes.len() > 50 && bytes.iter().all(|byte| *byte == 0));
    std::fs::copy(&path, &again).unwrap();
    people.shred(&[ANNA]).unwrap();
    assert!(!again.exists());
    assert!(others.iter().all(|other| other.exists()));
}

#[test]
fn a_long_name_has_one_key_with_its_beginning() {
    let Scene {
        people, _folder, ..
    } = scene();
    let long = format!("party:ALIAS/{}", "\u{e4}".repeat(200));
    let cut = &long[..long.floor_char_boundary(256)];
    assert_eq!(people.leaf(&long), people.leaf(cut));
    let sealed = seal(&people, &[cut], b"plain");
    people.shred(&[&long]).unwrap();
    assert!(matches!(
        people.unseal("test", &sealed),
        Opened::Shredded(_)
    ));
}

#[test]
fn nothing_is_destroyed_when_the_file_cannot_be_written() {
    let Scene {
        path,
        people,
        _folder,
    } = scene();
    let sealed = seal(&people, &[ANNA], b"plain");
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    people.shred(&[ANNA]).unwrap_err();
    assert_eq!(people.state().1, 0);
    assert_eq!(
        people.unseal("test", &sealed),
        Opened::Plain(b"plain".into())
    );
}

/// Threads seal while others shred. Whatever the order, what was sealed before its person's shredding had returned cannot
/// be read after it.
#[test]
fn no_key_is_remembered_over_its_destruction() {
    let Scene {
        people,
        path,
        _folder,
    } = scene();
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let people = &people;
            scope.spawn(move || {
                for round in 0..200 {
                    let name = format!("party:MSISDN/{thread}-{round}");
                    let leaf = people.leaf(&name).unwrap();
                    let sealed = people.seal(&[leaf], "test", b"x").unwrap();
                    if round % 20 == 0 {
                        people.shred(&[&name]).unwrap();
                        let opened = people.unseal("test", &sealed);
                        assert!(matches!(opened, Opened::Shredded(_)), "{opened:?}");
                        assert_eq!(people.seal(&[leaf], "test", b"x"), None);
                    }
                }
            });
        }
    });
    assert_eq!(people.state().1, 30);
    assert_eq!(open(&path).state(), people.state());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn contents_come_back(plain in proptest::collection::vec(any::<u8>(), 0..300), names in 1_usize..5) {
        let Scene { people, .. } = scene();
        let names: Vec<String> = (0..names).map(|n| format!("party:MSISDN/{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let sealed = seal(&people, &names, &plain);
        prop_assert_eq!(people.unseal("test", &sealed), Opened::Plain(plain));
    }
}
