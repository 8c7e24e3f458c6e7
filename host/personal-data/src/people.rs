//! The keys of people: seal what names them, open it again, and destroy a person's key.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};

use aws_lc_rs::hmac::{HMAC_SHA256, Key};
use parking_lot::{Mutex, RwLock};

use crate::file::{FileId, Keys, KeysError, remove_unfinished};
use crate::pseudonym::{Leaf, leaf_of, parts};
use crate::sealed::{self, Parts, record_key};
use crate::tree::Seed;

/// How many keys of people are remembered. One costs about 100 HMACs to derive.
const REMEMBERED_MAX: usize = 4_096;
/// Bytes of a subject that count.
const SUBJECT_BYTES_MAX: usize = 256;

/// What is left of something that was encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opened {
    /// Its content.
    Plain(Vec<u8>),
    /// Nothing: the keys of these people were destroyed.
    Shredded(Vec<Leaf>),
    /// Nothing: it was changed, or encrypted with the keys of another file.
    Damaged,
}

/// A person whose key was destroyed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shredded {
    /// The name in records from before.
    pub pseudonym: String,
}

/// The keys of people.
pub struct People {
    /// The kinds of subjects that are people, for example `party`.
    kinds: BTreeSet<String>,
    path: PathBuf,
    keys: RwLock<Keys>,
    /// Keys that were derived. Only who holds the lock of `keys` adds one, so that none is added after it was destroyed.
    remembered: Mutex<HashMap<Leaf, Seed>>,
    /// Places of people's keys, as the ones above.
    places: Mutex<HashMap<Box<str>, Leaf>>,
    /// One person's key is destroyed after another's.
    shredding: Mutex<()>,
}

impl fmt::Debug for People {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("People")
            .field("kinds", &self.kinds)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl People {
    /// Open the file of keys; none if it does not exist. `kinds` are the kinds of subjects that are people.
    ///
    /// # Errors
    /// When it cannot be read, or is damaged.
    pub fn open(path: &Path, kinds: BTreeSet<String>) -> Result<Option<Self>, KeysError> {
        let keys = Keys::read(path)?;
        Ok(keys.map(|keys| Self::with(path, kinds, keys)))
    }

    /// Create the file of keys, with new ones.
    ///
    /// # Errors
    /// When it exists, or cannot be written.
    pub fn create(path: &Path, kinds: BTreeSet<String>) -> Result<Self, KeysError> {
        let keys = Keys::draw()?;
        if !keys.create(path)? {
            return Err(KeysError::Exists(path.to_owned()));
        }
        Ok(Self::with(path, kinds, keys))
    }

    fn with(path: &Path, kinds: BTreeSet<String>, keys: Keys) -> Self {
        Self {
            kinds,
            path: path.to_owned(),
            keys: RwLock::new(keys),
            remembered: Mutex::default(),
            places: Mutex::default(),
            shredding: Mutex::default(),
        }
    }

    /// The id of the file, and how often keys in it were destroyed.
    #[must_use]
    pub fn state(&self) -> (FileId, u64) {
        let keys = self.keys.read();
        (keys.id, keys.shreddings)
    }

    /// The kinds of subjects that are people.
    pub fn kinds(&self) -> impl Iterator<Item = &str> {
        self.kinds.iter().map(String::as_str)
    }

    /// Whether a subject is a person. A pseudonym is none.
    #[must_use]
    pub fn is_person(&self, subject: &str) -> bool {
        parts(subject).is_some_and(|(kind, id)| self.kinds.contains(kind) && leaf_of(id).is_none())
    }

    /// The pseudonym of a person in records that are written now; none if the subject is no person.
    #[must_use]
    pub fn pseudonym(&self, subject: &str) -> Option<String> {
        let (kind, _) = parts(subject)?;
        self.leaf(subject).map(|leaf| leaf.pseudonym(kind))
    }

    /// The place of a person's key; none if the subject is no person.
    #[must_use]
    pub fn leaf(&self, subject: &str) -> Option<Leaf> {
        if !self.is_person(subject) {
            return None;
        }
        let keys = self.keys.read();
        if let Some(known) = self.places.lock().get(subject) {
            return Some(*known);
        }
        let leaf = current(&keys, subject);
        let mut places = self.places.lock();
        if places.len() >= REMEMBERED_MAX {
            places.clear();
        }
        places.insert(subject.into(), leaf);
        Some(leaf)
    }

    /// Encrypt what names these people. `record` says what it is; only the same word opens it. None if it cannot be
    /// encrypted: if there are more than 65,535 people, a key is destroyed meanwhile, or the system gives no
    /// randomness.
    #[must_use]
    pub fn seal(&self, people: &[Leaf], record: &str, plain: &[u8]) -> Option<Vec<u8>> {
        let mut people = people.to_vec();
        people.sort_unstable();
        people.dedup();
        let keys = self.keys_of(&people);
        let keys: Option<Vec<Seed>> = keys.into_iter().collect();
        let key = record_key(keys?.iter());
        sealed::seal(&people, &key, record, plain)
    }

    /// Decrypt.
    #[must_use]
    pub fn unseal(&self, record: &str, sealed: &[u8]) -> Opened {
        let Some(parts) = Parts::of(sealed) else {
            return Opened::Damaged;
        };
        let found = self.keys_of(&parts.people);
        let missing = parts.people.iter().zip(&found);
        let missing: Vec<Leaf> = missing
            .filter(|(_, key)| key.is_none())
            .map(|(leaf, _)| *leaf)
            .collect();
        if !missing.is_empty() {
            return Opened::Shredded(missing);
        }
        let key = record_key(found.iter().flatten());
        parts
            .open(&key, record)
            .map_or(Opened::Damaged, Opened::Plain)
    }

    /// Destroy the keys of these people. When this returns, the file is on the disk without them. A person who is named
    /// again later has a new key. Subjects that are no people are ignored.
    ///
    /// # Errors
    /// When the file cannot be written. No key is destroyed then, unless the error is [`KeysError::NotSynced`].
    pub fn shred(&self, subjects: &[&str]) -> Result<Vec<Shredded>, KeysError> {
        let _one = self.shredding.lock();
        let mut keys = self.keys.read().clone();
        let mut shredded = Vec::new();
        for subject in subjects {
            let Some((kind, _)) = parts(subject).filter(|_| self.is_person(subject)) else {
                continue;
            };
            let leaf = current(&keys, subject);
            keys.tree.forget(leaf);
            shredded.push(Shredded {
                pseudonym: leaf.pseudonym(kind),
            });
        }
        if shredded.is_empty() {
            return Ok(shredded);
        }
        keys.shreddings += 1;
        let written = keys.write(&self.path);
        if !matches!(written, Ok(()) | Err(KeysError::NotSynced(_))) {
            return written.map(|()| shredded);
        }
        // Memory is as the file is.
        let mut current = self.keys.write();
        *current = keys;
        self.remembered.lock().clear();
        self.places.lock().clear();
        written.map(|()| shredded)
    }

    /// Overwrite and remove what a killed process has left beside the file. Only the process that writes the file calls it.
    pub fn remove_unfinished(&self) {
        remove_unfinished(&self.path);
    }

    /// The keys of leaves; none for those that were destroyed.
    fn keys_of(&self, leaves: &[Leaf]) -> Vec<Option<Seed>> {
        let keys = self.keys.read();
        let key = |leaf: &Leaf| {
            if let Some(known) = self.remembered.lock().get(leaf) {
                return Some(known.clone());
            }
            let key = keys.tree.key(*leaf)?;
            let mut remembered = self.remembered.lock();
            if remembered.len() >= REMEMBERED_MAX {
                remembered.clear();
            }
            remembered.insert(*leaf, key.clone());
            Some(key)
        };
        leaves.iter().map(key).collect()
    }
}

/// The place of a person's key: the first that was not destroyed.
fn current(keys: &Keys, subject: &str) -> Leaf {
    // As the host cuts the subjects of turns, so that a person has one key.
    let subject = &subject[..subject.floor_char_boundary(SUBJECT_BYTES_MAX)];
    let key = Key::new(HMAC_SHA256, &*keys.pseudonyms);
    let mut generation = 0;
    loop {
        let leaf = Leaf::of(&key, subject, generation);
        if keys.tree.has(leaf) {
            return leaf;
        }
        generation += 1;
    }
}
