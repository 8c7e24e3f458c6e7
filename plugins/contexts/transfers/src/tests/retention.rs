//! An archived transfer still answers queries, and protects its id.

use super::fake::{
    EXPIRATION, Fake, PAYEE, PAYER, commitment, question, refusal, reminder, request,
};
use crate::bindings::exports::rialto::host::retention_handler::{
    Archive, ArchivedBundle, ArchivedDocument,
};
use crate::bindings::rialto::transfers::types::FulfilMode;
use crate::endings::{ENDINGS, Ending};
use crate::fulfil::fulfil;
use crate::index::{BY_TIME, Entry, Slice, note};
use crate::prepare::prepare;
use crate::query::query;
use crate::reject::reject;
use crate::retention::{TRANSFERS, archived, judge, kept};
use crate::surroundings::Publication;
use crate::timeout::reminder_elapsed;
use crate::transfer::Transfer;
use rialto_sdk::documents::{Collection, Memory, Store as _};
use rialto_sdk::retention::digest;

const OF: Collection<Transfer> = Collection::new(TRANSFERS);
/// When everything here is over for long.
const LATER: u64 = 10 * EXPIRATION;

/// Transfers that ended in each way, one that did not, and one that ended later.
fn world() -> Fake {
    let mut world = Fake {
        now: 5,
        ..Fake::default()
    };
    for id in ["committed", "rejected", "expired", "open", "young"] {
        prepare(&mut world, request(id));
    }
    world.rules_refuse = Some(Vec::new());
    prepare(&mut world, request("failed"));
    world.rules_refuse = None;
    fulfil(&mut world, commitment("committed", FulfilMode::Reserved));
    reject(&mut world, refusal("rejected"));
    world.now = EXPIRATION;
    reminder_elapsed(&mut world, &reminder("expired"));
    world.now = LATER;
    reminder_elapsed(&mut world, &reminder("young"));
    world.published.clear();
    world
}

fn documents(world: &Fake) -> Memory {
    let mut memory = Memory::default();
    for (id, transfer) in &world.transfers {
        OF.within(&mut memory).put(id, transfer);
    }
    memory
}

fn ids(world: &Fake) -> Vec<String> {
    world.transfers.keys().cloned().collect()
}

/// What an archive has of the transfers that are over before this instant.
fn bundles(memory: &mut Memory, world: &Fake, before: u64) -> Vec<ArchivedBundle> {
    bundles_of(memory, (TRANSFERS, &ids(world)), before)
}

/// What an archive has of these documents of a collection that are over before this instant.
fn bundles_of(
    memory: &mut Memory,
    (collection, ids): (&str, &[String]),
    before: u64,
) -> Vec<ArchivedBundle> {
    let judged = judge(memory, collection, ids, before);
    let bundle = |bundle: &crate::bindings::exports::rialto::host::retention_handler::Bundle| {
        let documents = bundle.documents.iter().map(|key| ArchivedDocument {
            collection: key.collection.clone(),
            id: key.id.clone(),
            sha256: digest(&memory.get(&key.collection, &key.id).unwrap()),
        });
        ArchivedBundle {
            subject: bundle.subject.clone(),
            documents: documents.collect(),
        }
    };
    judged.over.iter().map(bundle).collect()
}

fn file() -> Archive {
    Archive {
        file: "the-archive".to_owned(),
        sha256: "00".to_owned(),
    }
}

/// What becomes of messages about a transfer.
fn said(world: &mut Fake, id: &str) -> Vec<Publication> {
    prepare(world, request(id));
    let mut other = request(id);
    other.request_hash = "hash-2".to_owned();
    prepare(world, other);
    let mut strange = request(id);
    strange.requester_fsp = "thirdfsp".to_owned();
    prepare(world, strange);
    for requester in [PAYER, PAYEE, "thirdfsp"] {
        query(world, question(id, requester));
    }
    fulfil(world, commitment(id, FulfilMode::Reserved));
    let mut otherwise = commitment(id, FulfilMode::Committed);
    otherwise.request_hash = "another".to_owned();
    fulfil(world, otherwise);
    reject(world, refusal(id));
    std::mem::take(&mut world.published)
}

#[test]
fn those_that_are_over_go_and_their_ids_stay() {
    let mut world = world();
    let mut memory = documents(&world);
    assert_eq!(kept()[0].collections, [TRANSFERS, "endings", "by-time"]);
    let judged = judge(&mut memory, TRANSFERS, &ids(&world), EXPIRATION);
    assert_eq!((judged.young, judged.open), (1, 1));
    let bundles = bundles(&mut memory, &world, EXPIRATION);
    archived(&mut memory, &file(), &bundles);
    let mut after = Fake {
        now: world.now,
        legs: world.legs.clone(),
        ..Fake::default()
    };
    for id in ids(&world) {
        let transfer = OF.within(&mut memory).get(&id).unwrap();
        after.transfers.insert(id, transfer);
    }
    for id in ["committed", "rejected", "expired", "failed"] {
        let (long, short) = (&world.transfers[id], &after.transfers[id]);
        assert_eq!(short.archived.as_deref(), Some("the-archive"));
        let size = |transfer| serde_json::to_string(transfer).unwrap().len();
        assert!(size(short) * 4 < size(long) * 3, "{short:?}");
        let (before, now) = (said(&mut world, id), said(&mut after, id));
        assert_eq!(before, now, "{id}");
        assert!(before.len() >= 6, "{before:?}");
    }
    for id in ["open", "young"] {
        assert_eq!(world.transfers[id], after.transfers[id]);
    }
    assert_eq!(world.legs, after.legs, "no money moved");
    // They are not requested again, and a repeated removal does nothing.
    let judged = judge(&mut memory, TRANSFERS, &ids(&world), EXPIRATION);
    assert_eq!((judged.over.len(), judged.young, judged.open), (0, 1, 1));
    let unchanged = memory.clone();
    archived(&mut memory, &file(), &bundles);
    assert_eq!(memory, unchanged);
}

#[test]
fn one_that_has_changed_since_stays_whole() {
    let world = world();
    let mut memory = documents(&world);
    let bundles = bundles(&mut memory, &world, EXPIRATION);
    let mut changed = world.transfers["committed"].clone();
    changed.post_commit_timeout = Some(LATER);
    OF.within(&mut memory).put("committed", &changed);
    archived(&mut memory, &file(), &bundles);
    assert_eq!(OF.within(&mut memory).get("committed"), Some(changed));
    let rejected = OF.within(&mut memory).get("rejected").unwrap();
    assert_eq!(rejected.archived.as_deref(), Some("the-archive"));
}

fn keys(memory: &Memory, collection: &str) -> Vec<String> {
    let of = memory.0.keys().filter(|(of, _)| of == collection);
    of.map(|(_, id)| id.clone()).collect()
}

#[test]
fn what_was_kept_for_operators_goes_with_the_transfers() {
    let world = world();
    let mut memory = documents(&world);
    // Two slices of time: one with what is over, one with others too.
    let slices = [
        (10, ["committed", "rejected", "expired"]),
        (20, ["failed", "young", "open"]),
    ];
    for (at, ids) in slices {
        for id in ids {
            note(&mut memory, &world.transfers[id], at);
        }
    }
    for id in ["rejected", "open"] {
        let ending: Ending = serde_json::from_str(&format!(
            r#"{{"transferId":"{id}","state":"REJECTED","maker":"anna","reason":"r","askedAt":1}}"#
        ))
        .unwrap();
        ENDINGS.within(&mut memory).put(id, &ending);
    }
    let collections = kept().remove(0).collections;
    let mut bundles = Vec::new();
    for collection in &collections {
        let ids = keys(&memory, collection);
        bundles.push(bundles_of(&mut memory, (collection, &ids), EXPIRATION));
    }
    let subjects = |bundles: &[ArchivedBundle]| -> Vec<String> {
        bundles
            .iter()
            .map(|bundle| bundle.subject.clone())
            .collect()
    };
    assert_eq!(subjects(&bundles[1]), ["transfer:rejected"]);
    let first = "transfers-by-time:0000000000010/payerfsp";
    assert_eq!(subjects(&bundles[2]), [first]);
    // The others are over in any order of removal.
    archived(&mut memory, &file(), &bundles[0]);
    for place in [1, 2] {
        let ids = keys(&memory, &collections[place]);
        let of = (collections[place].as_str(), ids.as_slice());
        let again = bundles_of(&mut memory, of, EXPIRATION);
        assert_eq!(subjects(&again), subjects(&bundles[place]));
        archived(&mut memory, &file(), &again);
        archived(&mut memory, &file(), &again);
    }
    assert_eq!(keys(&memory, "endings"), ["open"]);
    assert_eq!(keys(&memory, "by-time"), ["0000000000020/payerfsp"]);
    let ids = keys(&memory, "by-time");
    let judged = judge(&mut memory, "by-time", &ids, LATER);
    assert_eq!((judged.over.len(), judged.young, judged.open), (0, 0, 1));
    let slice = BY_TIME.within(&mut memory).get("0000000000020/payerfsp");
    assert_eq!(
        slice.unwrap().transfers.len(),
        3,
        "an entry goes with the others"
    );
}

/// Documents that a turn of the host may touch, and ids that it asks for in one.
const TOUCHED_MAX: usize = 4096;
const JUDGED_AT_ONCE: usize = 200;
/// After all arrivals of these tests.
const MUCH_LATER: u64 = 1_000_000;

/// So many transfers that are over, as the first of `world`.
fn many_over(memory: &mut Memory, world: &Fake, count: usize) -> Vec<Transfer> {
    let over = |number: usize| Transfer {
        transfer_id: format!("over-{number}"),
        ..world.transfers["committed"].clone()
    };
    let all: Vec<Transfer> = (0..count).map(over).collect();
    for transfer in &all {
        OF.within(memory).put(&transfer.transfer_id, transfer);
    }
    all
}

#[test]
fn the_order_of_time_goes_whole_at_any_rate() {
    let world = world();
    let mut memory = documents(&world);
    // 4000 transfers a second of one payer FSP.
    for (number, transfer) in many_over(&mut memory, &world, 8_000).iter().enumerate() {
        note(&mut memory, transfer, number as u64 / 4);
    }
    let ids = keys(&memory, "by-time");
    for ids in ids.chunks(JUDGED_AT_ONCE) {
        let judged = judge(&mut memory, "by-time", ids, MUCH_LATER);
        let found = (judged.over.len(), judged.young, judged.open);
        assert_eq!(found, (ids.len(), 0, 0), "nothing waits for another time");
    }
    let mut has = |id: &String| BY_TIME.within(&mut memory).get(id).unwrap().transfers.len();
    let most = ids.iter().map(&mut has).max().unwrap();
    assert!(JUDGED_AT_ONCE * (1 + most) < TOUCHED_MAX, "{most}");
}

#[test]
fn index_documents_of_an_earlier_release_are_removed_gradually() {
    let world = world();
    let mut memory = documents(&world);
    let all = many_over(&mut memory, &world, JUDGED_AT_ONCE * 64);
    for (number, some) in all.chunks(64).enumerate() {
        let entry = |transfer: &Transfer| Entry {
            transfer_id: transfer.transfer_id.clone(),
            at: 10 * number as u64,
            payee: PAYEE.to_owned(),
            expires: transfer.expiration,
        };
        let slice = Slice {
            payer: PAYER.to_owned(),
            payee: String::new(),
            expires: 0,
            transfers: some.iter().map(entry).collect(),
        };
        let id = format!("{:013}/{PAYER}", 10 * number);
        BY_TIME.within(&mut memory).put(&id, &slice);
    }
    let mut rounds = 0;
    loop {
        let ids = keys(&memory, "by-time");
        if ids.is_empty() {
            break;
        }
        rounds += 1;
        assert!(rounds <= 4, "{} stay", ids.len());
        let gone = bundles_of(&mut memory, ("by-time", &ids), MUCH_LATER);
        assert!(ids.len() + gone.len() * 64 < TOUCHED_MAX);
        archived(&mut memory, &file(), &gone);
    }
    assert_eq!(rounds, 4);
}

#[test]
fn unknown_archived_documents_of_another_release_stay() {
    let world = world();
    let mut memory = documents(&world);
    memory.put("statements", "committed", r#"{"of":"committed"}"#);
    let document = ArchivedDocument {
        collection: "statements".to_owned(),
        id: "committed".to_owned(),
        sha256: digest(r#"{"of":"committed"}"#),
    };
    let bundle = ArchivedBundle {
        subject: "transfer:committed".to_owned(),
        documents: vec![document],
    };
    let before = memory.clone();
    archived(&mut memory, &file(), &[bundle]);
    assert_eq!(memory, before);
    let judged = judge(&mut memory, "statements", &["committed".to_owned()], LATER);
    assert_eq!((judged.over.len(), judged.young, judged.open), (0, 0, 0));
}

#[test]
fn young_index_documents_are_judged_without_their_transfers() {
    let world = world();
    let mut memory = documents(&world);
    for (number, transfer) in many_over(&mut memory, &world, 20).iter().enumerate() {
        note(&mut memory, transfer, number as u64);
    }
    // Without the transfers the documents would be of none, and over.
    memory
        .0
        .retain(|(collection, _), _| collection == BY_TIME.name());
    let ids = keys(&memory, "by-time");
    let judged = judge(&mut memory, "by-time", &ids, 15);
    assert!(judged.young > 0 && judged.open == 0, "{}", judged.young);
    assert!(judged.over.iter().all(|bundle| bundle.at <= 15));
}
