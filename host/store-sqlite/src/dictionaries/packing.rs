//! Compresses the bodies that a flush writes, and has dictionaries made.
//!
//! A collection's documents are collected until they are enough for a dictionary, each once, with its last body. Components
//! change, and with them their documents. So it is looked from time to time whether more remains of documents than should. If
//! so, newer ones are collected, and a better dictionary takes over.

use std::collections::{BTreeMap, HashMap};

use rialto_engine::Name;
use rialto_engine::store::StoreError;
use zstd::zstd_safe::CCtx;

use super::training::{Trained, by_dictionary, frame, remains, train};
use super::{BODY_MAX, StoredDictionary, Unpacking};
use crate::journal::Document;
use crate::slices::Slices;

/// Documents of which a dictionary is made.
const SAMPLES: usize = 256;
/// Bytes of them: fewer documents are enough if they are long …
const SAMPLE_BYTES: usize = 256 << 10;
/// … but so many are needed.
const SAMPLES_MIN: usize = 32;
/// Dictionaries of a collection in all. Whoever can change the form of its documents again and again makes no more of them.
const DICTIONARIES_MAX: u32 = 16;
/// Shorter documents stay as they are: the header of a frame would be a large part of them.
const BODY_MIN: usize = 64;
/// Documents of a collection after which it is looked whether its dictionary still fits.
const LOOK_AFTER: u64 = 8_192;
/// A dictionary of which more remains, in thousandths, is not worth its time.
const REMAINS_MAX: u32 = 850;

/// A body as it is stored.
pub(crate) enum Body {
    /// JSON.
    Text(Name),
    /// A frame.
    Frame(Vec<u8>),
}

/// The dictionaries in use. One flush has it at a time.
pub(crate) struct Packing {
    last_id: u32,
    collections: HashMap<u32, OfCollection>,
    /// Those that are not in the table yet.
    unstored: Vec<StoredDictionary>,
}

#[derive(Default)]
struct OfCollection {
    current: Option<Current>,
    /// Dictionaries that were made for it.
    made: u32,
    /// Documents until it is tried again to make one, after it was in vain.
    rests: u64,
    samples: BTreeMap<Name, Name>,
    sample_bytes: usize,
}

/// A dictionary in use.
struct Current {
    /// It compresses by the dictionary.
    context: CCtx<'static>,
    /// What should remain of a document, in thousandths.
    expected: u32,
    /// Since the last look: documents, their bytes, and the bytes that remained.
    documents: u64,
    plain: u64,
    packed: u64,
    /// Whether more remains than should.
    is_outdated: bool,
}

impl Current {
    /// None if the dictionary is damaged.
    fn new(content: &[u8], expected: u32) -> Option<Self> {
        Some(Self {
            context: by_dictionary(content)?,
            expected,
            documents: 0,
            plain: 0,
            packed: 0,
            is_outdated: false,
        })
    }

    fn count(&mut self, plain: usize, packed: usize) {
        self.documents += 1;
        self.plain += plain as u64;
        self.packed += packed as u64;
        if self.documents >= LOOK_AFTER {
            // A third more than expected.
            self.is_outdated = 3000 * self.packed > 4 * u64::from(self.expected) * self.plain;
            (self.documents, self.plain, self.packed) = (0, 0, 0);
        }
    }
}

impl OfCollection {
    /// Whether documents are collected for a dictionary.
    fn collects(&self) -> bool {
        self.rests == 0
            && self.made < DICTIONARIES_MAX
            && self.current.as_ref().is_none_or(|one| one.is_outdated)
    }

    fn collect(&mut self, id: &Name, body: &Name) {
        self.sample_bytes += body.len();
        if let Some(before) = self.samples.insert(id.clone(), body.clone()) {
            self.sample_bytes -= before.len();
        }
    }

    fn has_enough(&self) -> bool {
        self.samples.len() >= SAMPLES
            || (self.samples.len() >= SAMPLES_MIN && self.sample_bytes >= SAMPLE_BYTES)
    }

    /// Make the dictionary with this id of what was collected, and use it if it is better than none and than the one before.
    fn learn(&mut self, id: u32) -> Option<Trained> {
        let samples = std::mem::take(&mut self.samples);
        self.sample_bytes = 0;
        let samples: Vec<&str> = samples.values().map(|body| &**body).collect();
        let trained = train(id, &samples).filter(|made| made.remains <= REMAINS_MAX);
        if let Some(current) = &mut self.current {
            let now = remains(&mut current.context, &samples);
            if trained
                .as_ref()
                .is_none_or(|made| made.remains > now - now / 8)
            {
                // It is the documents that have less in common.
                current.expected = now;
                current.is_outdated = false;
                return None;
            }
        }
        let Some(trained) = trained else {
            self.rests = LOOK_AFTER;
            return None;
        };
        self.current = Some(Current::new(&trained.content, trained.remains)?);
        self.made += 1;
        Some(trained)
    }
}

impl Packing {
    pub fn new(stored: &[StoredDictionary]) -> Self {
        let mut collections: HashMap<u32, OfCollection> = HashMap::new();
        for (n, one) in stored.iter().enumerate() {
            let of = collections.entry(one.collection).or_default();
            of.made += 1;
            // The last one of a collection is in use.
            let later = &stored[n + 1..];
            if one.is_whole() && !later.iter().any(|other| other.collection == one.collection) {
                of.current = Current::new(&one.content, one.remains);
            }
        }
        Self {
            last_id: stored.iter().map(|one| one.id).max().unwrap_or(0),
            collections,
            unstored: Vec::new(),
        }
    }

    /// Learn from documents that a flush writes: collect them, and make at most one dictionary. Readers know it at once, before
    /// anything that is compressed by it is stored.
    pub fn learn(&mut self, documents: &[&Document], readers: &Unpacking) {
        for document in documents {
            let body = document.body.as_ref();
            let Some(body) = body.filter(|body| is_packed(body)) else {
                continue;
            };
            let of = self.collections.entry(document.collection).or_default();
            of.rests = of.rests.saturating_sub(1);
            if of.collects() && !of.has_enough() {
                of.collect(&document.id, body);
            }
        }
        let ready = self.collections.iter_mut().find(|(_, of)| of.has_enough());
        let Some((collection, of)) = ready else {
            return;
        };
        let id = self.last_id + 1;
        if let Some(trained) = of.learn(id) {
            self.last_id = id;
            readers.know(id, &trained.content);
            tracing::info!(
                dictionary = id,
                collection,
                remains_permille = trained.remains,
                "documents of a collection are compressed by a new dictionary from now on"
            );
            self.unstored.push(StoredDictionary {
                id,
                collection: *collection,
                checksum: crc32fast::hash(&trained.content),
                content: trained.content,
                remains: trained.remains,
            });
        }
    }

    /// Store the dictionaries that are not in the table yet. Documents that refer to them follow in the same transaction or in
    /// later ones.
    pub fn store(&mut self, slices: &mut Slices<'_>) -> Result<(), StoreError> {
        if self.unstored.is_empty() {
            return Ok(());
        }
        let head = "INSERT OR REPLACE INTO dictionaries
                    (id, collection, content, remains, checksum) VALUES";
        slices.rows(head, "(?,?,?,?,?)", "", &self.unstored, |b, one| {
            b.add(one.id)?;
            b.add(one.collection)?;
            b.add(one.content.clone())?;
            b.add(one.remains)?;
            b.add(one.checksum)
        })?;
        slices.finish()?;
        self.unstored.clear();
        Ok(())
    }

    /// The body of a document as it is to be stored.
    pub fn body(&mut self, collection: u32, body: &Name) -> Body {
        let of = self.collections.get_mut(&collection);
        let current = of.and_then(|of| of.current.as_mut());
        let Some(current) = current.filter(|_| is_packed(body)) else {
            return Body::Text(body.clone());
        };
        let packed = frame(&mut current.context, body);
        current.count(body.len(), packed.as_ref().map_or(body.len(), Vec::len));
        packed.map_or_else(|| Body::Text(body.clone()), Body::Frame)
    }
}

/// Whether a body of this length is compressed.
fn is_packed(body: &str) -> bool {
    (BODY_MIN..=BODY_MAX).contains(&body.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLLECTION: u32 = 1;

    fn documents(form: u32, count: u32) -> Vec<Document> {
        let document = |n: u32| {
            let body: String = (0..5)
                .map(|k| format!("\"member-{form}-{k}-of-this-form\":\"{}\",", n * k))
                .collect();
            Document {
                collection: COLLECTION,
                id: format!("{form}-{n}").into(),
                version: 1,
                body: Some(body.into()),
            }
        };
        (0..count).map(document).collect()
    }

    fn flush(packing: &mut Packing, documents: &[Document]) -> usize {
        packing.learn(&documents.iter().collect::<Vec<_>>(), &Unpacking::default());
        let bodies = documents.iter().filter_map(|one| one.body.as_ref());
        let packed = bodies.map(|body| packing.body(COLLECTION, body));
        packed.filter(|body| matches!(body, Body::Frame(_))).count()
    }

    #[test]
    fn forms_that_change_again_and_again_make_few_dictionaries() {
        let mut packing = Packing::new(&[]);
        for form in 0..3 * DICTIONARIES_MAX {
            let all = documents(form, 8_500);
            flush(&mut packing, &all);
            flush(&mut packing, &all);
        }
        assert_eq!(packing.unstored.len(), DICTIONARIES_MAX as usize);
        let again = Packing::new(&packing.unstored);
        assert_eq!(again.last_id, DICTIONARIES_MAX);
        assert!(!again.collections[&COLLECTION].collects());
    }

    #[test]
    fn a_few_long_documents_do_not_keep_the_others_from_being_compressed() {
        let mut packing = Packing::new(&[]);
        let mut long = documents(0, 5);
        for one in &mut long {
            one.body = Some("x".repeat(BODY_MAX).into());
        }
        assert_eq!(flush(&mut packing, &long), 0);
        let all = documents(1, 300);
        assert_eq!(flush(&mut packing, &all), 300);
    }
}
