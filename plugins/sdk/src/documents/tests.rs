//! Documents that a newer release has written, read and written again by this one.

use super::*;
use crate::testing::{added_in, of_a_newer_release, survives_a_rollback};
use serde::Deserialize;
use serde_json::json;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Book {
    title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    binding: Option<Binding>,
    chapters: Vec<Chapter>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    shelves: BTreeMap<String, Shelf>,
    state: State,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Binding {
    colour: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Chapter {
    name: String,
    pages: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<Note>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Note(#[serde(with = "crate::money::units_text")] u128);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Shelf {
    height: i8,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum State {
    Free,
    Lent { to: String },
    Kept(Option<Shelf>),
    Sold(Shelf, u8),
}

const BOOKS: Collection<Book> = Collection::new("books").with_elements_named_by(&["name"]);
const UNNAMED: Collection<Book> = Collection::new("books");
/// Members of [`Book`] whose objects are no records.
const BESIDE: [&str; 2] = ["shelves", "state"];

fn chapter(name: &str, pages: u64) -> Chapter {
    Chapter {
        name: name.to_owned(),
        pages,
        notes: vec![Note(u128::MAX)],
    }
}

fn book() -> Book {
    Book {
        title: "Money".to_owned(),
        binding: Some(Binding {
            colour: "red".to_owned(),
        }),
        chapters: vec![chapter("a", 1), chapter("b", 2), chapter("c", 3)],
        shelves: BTreeMap::from([("low".to_owned(), Shelf { height: -1 })]),
        state: State::Kept(Some(Shelf { height: 7 })),
    }
}

/// A store with the book as a newer release has it, and that.
fn newer() -> (Memory, Value) {
    let newer = of_a_newer_release(&serde_json::to_value(book()).unwrap(), &BESIDE);
    // The book, its binding, three chapters, a shelf of its own and one that it is kept on.
    assert_eq!(added_in(&newer), 7);
    let mut store = Memory::default();
    store.put("books", "it", &newer.to_string());
    (store, newer)
}

/// The book as it is stored when this has been done to it.
fn done(collection: &Collection<Book>, what: impl FnOnce(&mut Book)) -> (Value, Value) {
    let (mut store, newer) = newer();
    let mut it = collection.within(&mut store).get("it").unwrap();
    assert_eq!(it, book());
    what(&mut it);
    collection.within(&mut store).put("it", &it);
    assert_eq!(collection.within(&mut store).get("it").unwrap(), it);
    let stored = store.get("books", "it").unwrap();
    (newer, serde_json::from_str(&stored).unwrap())
}

#[test]
fn what_a_newer_release_has_added_stays_at_every_level() {
    for state in [
        State::Free,
        State::Lent {
            to: "anna".to_owned(),
        },
        State::Kept(None),
        State::Kept(Some(Shelf { height: 1 })),
        State::Sold(Shelf { height: 2 }, 9),
    ] {
        survives_a_rollback(&BOOKS, &Book { state, ..book() }, &BESIDE);
    }
    let bare = Book {
        binding: None,
        chapters: Vec::new(),
        shelves: BTreeMap::new(),
        ..book()
    };
    survives_a_rollback(&UNNAMED, &bare, &BESIDE);
}

#[test]
fn what_changes_beside_it_takes_nothing_away() {
    let (newer, stored) = done(&UNNAMED, |book| {
        book.title = "More".to_owned();
        book.binding.as_mut().unwrap().colour = "blue".to_owned();
        book.shelves.get_mut("low").unwrap().height = 3;
        book.shelves.insert("high".to_owned(), Shelf { height: 9 });
    });
    let mut expected = newer;
    expected["title"] = json!("More");
    expected["binding"]["colour"] = json!("blue");
    expected["shelves"]["low"]["height"] = json!(3);
    expected["shelves"]["high"] = json!({ "height": 9 });
    assert_eq!(stored, expected);
}

#[test]
fn named_elements_keep_unknown_members_when_moved_or_changed() {
    let (newer, stored) = done(&BOOKS, |book| {
        book.chapters.rotate_left(1);
        book.chapters.insert(1, chapter("new", 4));
        book.chapters[2].pages = 30;
    });
    let mut expected = newer.clone();
    let old = |index: usize| newer["chapters"][index].clone();
    let mut changed = old(2);
    changed["pages"] = json!(30);
    let new = serde_json::to_value(chapter("new", 4)).unwrap();
    expected["chapters"] = json!([old(1), new, changed, old(0)]);
    assert_eq!(stored, expected);
}

#[test]
fn element_is_named_by_its_present_names() {
    const BY_TWO: Collection<Book> =
        Collection::new("books").with_elements_named_by(&["name", "part"]);
    let (newer, stored) = done(&BY_TWO, |book| book.chapters[1].pages = 20);
    let mut expected = newer;
    expected["chapters"][1]["pages"] = json!(20);
    assert_eq!(stored, expected);
}

#[test]
fn what_says_nothing_and_is_left_out_keeps_what_was_added_in_it() {
    let stored = json!({ "shelf": { "height": 0, "added": 1 } });
    let mut written = json!({ "shelf": { "height": 5 } });
    super::keep::keep(&stored, &json!({}), &mut written, &[]);
    assert_eq!(written, json!({ "shelf": { "height": 5, "added": 1 } }));
}

#[test]
fn nothing_goes_to_an_element_that_is_another_one() {
    // All are removed, and others come in their places.
    let others = |book: &mut Book| {
        for chapter in &mut book.chapters {
            chapter.name.push('2');
        }
    };
    for collection in [&BOOKS, &UNNAMED] {
        let (_, stored) = done(collection, others);
        assert_eq!(added_in(&stored["chapters"]), 0, "{stored}");
    }
    // Without names, an element that has changed may be another one.
    let (newer, stored) = done(&UNNAMED, |book| book.chapters[1].pages = 20);
    assert_eq!(added_in(&stored["chapters"]), 2, "{stored}");
    assert_eq!(stored["chapters"][2], newer["chapters"][2]);
    // Of two that are alike, each keeps its own.
    let twins = Book {
        chapters: vec![chapter("a", 1), chapter("a", 1)],
        ..book()
    };
    survives_a_rollback(&UNNAMED, &twins, &BESIDE);
}

#[test]
fn what_goes_takes_along_what_is_in_it() {
    let (newer, stored) = done(&BOOKS, |book| {
        book.binding = None;
        book.chapters.remove(0);
        book.shelves.clear();
        book.state = State::Lent {
            to: "anna".to_owned(),
        };
    });
    let expected = json!({
        "title": "Money",
        "chapters": [newer["chapters"][1], newer["chapters"][2]],
        "state": { "lent": { "to": "anna" } },
        "addedLater": newer["addedLater"],
    });
    assert_eq!(stored, expected);
}

#[test]
fn removed_document_leaves_no_unknown_members() {
    let (mut store, _) = newer();
    BOOKS.within(&mut store).delete("it");
    assert!(BOOKS.within(&mut store).insert_if_absent("it", &book()));
    let stored: Value = serde_json::from_str(&store.get("books", "it").unwrap()).unwrap();
    assert_eq!(stored, serde_json::to_value(book()).unwrap());
}

#[test]
fn a_scan_reads_what_a_newer_release_has_written() {
    let (mut store, _) = newer();
    let page = BOOKS.within(&mut store).scan(&Range::All, None, 10);
    assert_eq!(page.documents, [("it".to_owned(), book())]);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Order {
    number: u64,
    #[serde(flatten, deserialize_with = "known")]
    of: Of,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "payload", rename_all = "kebab-case")]
enum Of {
    Book(Binding),
}

#[test]
fn a_type_that_cannot_refuse_members_is_compared() {
    const ORDERS: Collection<Order> = Collection::new("orders").of_lenient_documents();
    let order = Order {
        number: 1,
        of: Of::Book(Binding {
            colour: "red".to_owned(),
        }),
    };
    survives_a_rollback(&ORDERS, &order, &[]);
}

#[test]
#[should_panic(expected = "document \"it\" of collection \"books\" cannot be read")]
fn value_of_an_unknown_kind_is_refused() {
    let mut newer = serde_json::to_value(book()).unwrap();
    newer["state"] = json!("burnt");
    let mut store = Memory::default();
    store.put("books", "it", &newer.to_string());
    let _ = BOOKS.within(&mut store).get("it");
}

#[test]
fn read_document_is_fetched_once() {
    /// A store that counts what it is asked for, and notes as the host's does.
    #[derive(Default)]
    struct Counting(Memory, u32);

    impl Store for Counting {
        fn get(&mut self, collection: &str, id: &str) -> Option<String> {
            self.1 += 1;
            self.0.get(collection, id)
        }
        fn get_for_update(&mut self, collection: &str, id: &str) -> Option<String> {
            self.get(collection, id)
        }
        fn put(&mut self, collection: &str, id: &str, body: &str) {
            self.0.put(collection, id, body);
        }
        fn insert_if_absent(&mut self, collection: &str, id: &str, body: &str) -> bool {
            self.0.insert_if_absent(collection, id, body)
        }
        fn delete(&mut self, collection: &str, id: &str) -> bool {
            self.0.delete(collection, id)
        }
        fn scan(
            &mut self,
            collection: &str,
            range: &Range,
            cursor: Option<&str>,
            limit: u32,
        ) -> StoredPage {
            self.0.scan(collection, range, cursor, limit)
        }
        fn note_known(&mut self, collection: &'static str, id: &str, is_known: bool) {
            HostStore.note_known(collection, id, is_known);
        }
        fn is_known(&self, collection: &'static str, id: &str) -> bool {
            HostStore.is_known(collection, id)
        }
    }

    let mut store = Counting::default();
    // A new document, and one that is there.
    for asked in [1, 2] {
        let _ = BOOKS.within(&mut store).get_for_update("it");
        BOOKS.within(&mut store).put("it", &book());
        assert_eq!(store.1, asked);
    }
    // Another release writes it; a turn that reads it knows.
    let (of_another, newer) = newer();
    store.0 = of_another;
    let it = BOOKS.within(&mut store).get_for_update("it").unwrap();
    BOOKS.within(&mut store).put("it", &it);
    let stored: Value = serde_json::from_str(&store.0.get("books", "it").unwrap()).unwrap();
    assert_eq!(stored, newer);
    // What is forgotten is looked at again.
    store.0 = Memory::default();
    let _ = BOOKS.within(&mut store).get_for_update("it");
    for other in 0..NOTED_MAX {
        let _ = BOOKS.within(&mut store).get(&other.to_string());
    }
    assert!(!HostStore.is_known("books", "it"));
    assert!(HostStore.is_known("books", "0"));
}
