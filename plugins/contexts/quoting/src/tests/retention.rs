//! An archived quote names nobody, still answers, and protects its id and its condition.

use super::fake::{CONDITION, EXPIRATION, Fake, PAYEE, PAYER, asked, question, refusal, terms};
use crate::bindings::exports::rialto::host::retention_handler::{
    Archive, ArchivedBundle, ArchivedDocument, Bundle, DocumentKey, Judged,
};
use crate::query::query;
use crate::quote::State;
use crate::reject::reject;
use crate::request::request;
use crate::response::response;
use crate::retention::{AGREEMENTS, QUOTES, archived, judge, kept};
use crate::settings::Settings;
use crate::surroundings::Publication;
use rialto_sdk::documents::{Memory, Store as _};
use rialto_sdk::retention::digest;

/// When everything here is over for long.
const LATER: u64 = 10 * EXPIRATION;
/// A condition for the quote that is young.
const OTHER: &str = "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU";

/// Quotes that ended in each way, one that nobody answers, and one that ended later.
fn world() -> Fake {
    let mut world = Fake {
        now: 5,
        ..Fake::default()
    };
    for id in ["accepted", "declined", "late", "silent"] {
        request(&mut world, asked(id));
    }
    world.barred = vec![PAYEE];
    request(&mut world, asked("refused"));
    world.barred.clear();
    response(&mut world, terms("accepted"));
    let mut declined = refusal("declined");
    declined.error.description = "Jane Doe said no".to_owned();
    reject(&mut world, declined);
    world.now = EXPIRATION;
    response(&mut world, terms("late"));
    let mut young = asked("young");
    young.request.expiration = Some(LATER);
    request(&mut world, young);
    world.now = LATER - 1;
    let mut young = terms("young");
    young.response.condition = OTHER.to_owned();
    young.response.expiration = 2 * LATER;
    response(&mut world, young);
    world.now = LATER;
    world.published.clear();
    world
}

fn documents(world: &Fake) -> Memory {
    let mut memory = Memory::default();
    for (id, quote) in &world.quotes {
        QUOTES.within(&mut memory).put(id, quote);
    }
    for (condition, agreement) in &world.agreements {
        AGREEMENTS.within(&mut memory).put(condition, agreement);
    }
    memory
}

/// Takes the documents over into the surroundings.
fn taken_over(world: &mut Fake, memory: &mut Memory) {
    for (id, quote) in &mut world.quotes {
        *quote = QUOTES.within(memory).get(id).unwrap();
    }
    for (condition, agreement) in &mut world.agreements {
        *agreement = AGREEMENTS.within(memory).get(condition).unwrap();
    }
}

fn judged(memory: &mut Memory, world: &Fake, before: u64) -> Judged {
    let ids: Vec<String> = world.quotes.keys().cloned().collect();
    judge(memory, &ids, before, &Settings::default())
}

/// The digest of a document in an archive, which has it only as it was judged.
fn judged_as(memory: &mut Memory, key: &DocumentKey) -> String {
    let now = digest(&memory.get(&key.collection, &key.id).unwrap());
    assert_eq!(key.sha256.as_ref(), Some(&now));
    now
}

fn in_archive(memory: &mut Memory, over: &[Bundle]) -> Vec<ArchivedBundle> {
    let bundle = |bundle: &Bundle| ArchivedBundle {
        subject: bundle.subject.clone(),
        documents: bundle
            .documents
            .iter()
            .map(|key| ArchivedDocument {
                collection: key.collection.clone(),
                id: key.id.clone(),
                sha256: judged_as(memory, key),
            })
            .collect(),
    };
    over.iter().map(bundle).collect()
}

fn remove(memory: &mut Memory, bundles: &[ArchivedBundle]) {
    let file = Archive {
        file: "the-archive".to_owned(),
        sha256: "00".to_owned(),
    };
    archived(memory, &file, bundles, &Settings::default());
}

/// Surroundings after all that is over was archived.
fn afterwards() -> (Fake, Memory) {
    let mut world = world();
    let mut memory = documents(&world);
    let over = judged(&mut memory, &world, LATER).over;
    let bundles = in_archive(&mut memory, &over);
    remove(&mut memory, &bundles);
    taken_over(&mut world, &mut memory);
    (world, memory)
}

#[test]
fn quotes_go_with_their_agreements_when_their_terms_have_expired() {
    let world = world();
    let mut memory = documents(&world);
    assert_eq!(kept()[0].collections, ["quotes"]);
    let found = judged(&mut memory, &world, EXPIRATION);
    let ids = |judged: &Judged| {
        let subjects = judged.over.iter().map(|bundle| bundle.subject.clone());
        subjects.collect::<Vec<_>>()
    };
    // The accepted terms have not expired, and the young one's neither.
    assert_eq!(
        ids(&found),
        [
            "quote:declined",
            "quote:late",
            "quote:refused",
            "quote:silent"
        ]
    );
    assert_eq!((found.young, found.open), (2, 0));
    let found = judged(&mut memory, &world, 2 * EXPIRATION);
    assert_eq!(found.young, 1);
    let accepted = &found.over[0];
    assert_eq!(accepted.at, 2 * EXPIRATION);
    let keys: Vec<(&str, &str)> = accepted
        .documents
        .iter()
        .map(|key| (&*key.collection, &*key.id))
        .collect();
    assert_eq!(keys, [("quotes", "accepted"), ("agreements", CONDITION)]);
    assert_eq!(accepted.people, ["party:MSISDN/1", "party:MSISDN/2"]);
    let refused = found.over.iter().find(|one| one.subject == "quote:refused");
    assert_eq!(refused.unwrap().people, accepted.people);
    let silent = found.over.iter().find(|one| one.subject == "quote:silent");
    assert_eq!(silent.unwrap().at, EXPIRATION);
    // Unanswered, without an expiration: the scheme's answer time.
    let mut world = Fake::default();
    let mut open = asked("open");
    open.request.expiration = None;
    request(&mut world, open);
    let mut memory = documents(&world);
    let answer_within = Settings::default().answer_within_ms;
    assert_eq!(judged(&mut memory, &world, answer_within - 1).young, 1);
    assert_eq!(judged(&mut memory, &world, answer_within).over.len(), 1);
}

#[test]
fn what_stays_names_nobody() {
    let (world, mut memory) = afterwards();
    assert_eq!(world.quotes["young"].archived, None);
    for (id, quote) in world.quotes.iter().filter(|(id, _)| *id != "young") {
        let text = memory.get("quotes", id).unwrap();
        for word in [
            "MSISDN",
            "Jane",
            "hash-1",
            "terms-1",
            "as received",
            CONDITION,
        ] {
            assert!(!text.contains(word), "{id}: {text}");
        }
        assert_eq!(quote.archived.as_deref(), Some("the-archive"));
        assert!(quote.state.is_final());
    }
    let agreement = memory.get("agreements", CONDITION).unwrap();
    assert_eq!(
        agreement,
        r#"{"archived":{"payerFsp":"payerfsp","payeeFsp":"payeefsp","file":"the-archive"}}"#
    );
    let agreement = world.agreements[CONDITION].clone();
    assert_eq!(agreement.whole(), None);
    // Nothing is archived twice.
    assert!(judged(&mut memory, &world, LATER).over.is_empty());
}

#[test]
fn archived_quotes_answer_and_protect_their_ids() {
    for (id, state, code) in [
        ("accepted", State::Accepted, "3302"),
        ("declined", State::Rejected, "5103"),
        ("late", State::Expired, "3302"),
        ("refused", State::Rejected, "3201"),
        ("silent", State::Expired, "3302"),
    ] {
        let (mut world, _) = afterwards();
        let before = world.quotes.clone();
        assert_eq!(before[id].state, state, "{id}");
        request(&mut world, asked(id));
        assert_eq!(world.refused(), (PAYER.to_owned(), code.to_owned()), "{id}");
        query(&mut world, question(id, PAYER));
        assert_eq!(world.refused(), (PAYER.to_owned(), code.to_owned()), "{id}");
        query(&mut world, question(id, "otherfsp"));
        assert_eq!(world.refused().1, "3205", "{id}");
        response(&mut world, terms(id));
        assert_eq!(world.refused(), (PAYEE.to_owned(), code.to_owned()), "{id}");
        reject(&mut world, refusal(id));
        assert_eq!(
            world.refused(),
            (PAYEE.to_owned(), "3100".to_owned()),
            "{id}"
        );
        let mut strange = asked(id);
        strange.requester_fsp = "otherfsp".to_owned();
        request(&mut world, strange);
        let Publication::InvalidRequest(refused) = world.only() else {
            panic!("{id}: not refused");
        };
        assert_eq!(refused.error.code, "3106", "{id}");
        assert_eq!(world.quotes, before, "{id}");
    }
}

#[test]
fn a_condition_stays_with_its_fsps() {
    let (mut world, _) = afterwards();
    let mut event = asked("other");
    event.requester_fsp = "otherfsp".to_owned();
    event.request.payer_fsp = None;
    event.request.expiration = None;
    request(&mut world, event);
    world.published.clear();
    let mut event = terms("other");
    event.destination_fsp = None;
    event.response.expiration = LATER + 1;
    response(&mut world, event);
    assert_eq!(world.state("other"), Some(State::Rejected));
    assert!(world.agreements[CONDITION].archived.is_some());
}

#[test]
fn what_has_changed_since_stays_whole() {
    let mut world = world();
    let mut memory = documents(&world);
    let over = judged(&mut memory, &world, LATER).over;
    let bundles = in_archive(&mut memory, &over);
    // Its condition is used again meanwhile.
    let mut again = asked("again");
    again.request.expiration = None;
    request(&mut world, again);
    let mut event = terms("again");
    event.response.expiration = 2 * LATER;
    response(&mut world, event);
    let mut memory = documents(&world);
    remove(&mut memory, &bundles);
    taken_over(&mut world, &mut memory);
    assert_eq!(world.quotes["accepted"].archived, None);
    let agreed = world.agreements[CONDITION].clone().whole().unwrap();
    assert_eq!(agreed.request.quote_id, "again");
    // Next time it goes alone: the agreement is another quote's.
    let over = judged(&mut memory, &world, LATER).over;
    let [alone] = &*over else {
        panic!("{over:?}");
    };
    assert_eq!(alone.subject, "quote:accepted");
    assert_eq!(alone.documents.len(), 1);
    let bundles = in_archive(&mut memory, &over);
    remove(&mut memory, &bundles);
    // A repeat after a crash changes nothing.
    let before = memory.get("quotes", "accepted");
    remove(&mut memory, &bundles);
    assert_eq!(memory.get("quotes", "accepted"), before);
    let agreement = AGREEMENTS.within(&mut memory).get(CONDITION).unwrap();
    assert!(agreement.whole().is_some());
}
