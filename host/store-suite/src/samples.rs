//! Sample values with all fields set.

use std::any::Any;
use std::sync::Arc;

use rialto_engine::network::{DeliveryPolicy, OutboundRequest, OwnSignature, WhileAway};
use rialto_engine::stimulus::LivePayload;
use rialto_engine::store::{Collection, DeadLetter, DocumentWrite, Group, StoredReminder};
use rialto_engine::{
    Cause, CollectionId, Delivery, Lsn, Name, Origin, Payload, Timestamp, Trace, TurnId,
};

/// A text that breaks what is careless about texts: quotes, a comment, scripts, planes.
pub const AWKWARD: &str = "it's \"50 %\"; -- drop\\ \u{0} é e\u{301} 漢 \u{1f600} \u{10ffff}";

/// Ids in no order, among them neighbours of which one begins another, and some that other orders
/// than that of UTF-8's bytes would put elsewhere.
pub const IDS: [&str; 16] = [
    "b",
    "a",
    "ab",
    "a/b",
    "A",
    "abc",
    "é",
    "e\u{301}",
    "ß",
    "%",
    "_",
    "'",
    "\u{fffd}",
    "\u{10000}",
    "\u{10ffff}",
    "10",
];

/// The group at this position of the log, with nothing in it yet.
pub fn group(lsn: u64) -> Group {
    Group {
        lsn: Lsn(lsn),
        next_id: 1_000 + lsn,
        turns: 1,
        ..Group::default()
    }
}

/// A collection.
pub fn collection(id: u32) -> Collection {
    Collection {
        id: CollectionId(id),
        component: format!("component-{}", id / 2).into(),
        name: format!("things-{id}").into(),
    }
}

/// A document as it is written.
pub fn put(collection: u32, id: &str, version: u64, body: &str) -> DocumentWrite {
    DocumentWrite {
        collection: CollectionId(collection),
        id: id.into(),
        version,
        body: Some(body.into()),
    }
}

/// A document as it is removed.
pub fn remove(collection: u32, id: &str, version: u64) -> DocumentWrite {
    DocumentWrite {
        collection: CollectionId(collection),
        id: id.into(),
        version,
        body: None,
    }
}

struct Bytes(Vec<u8>);

impl LivePayload for Bytes {
    fn encode(&self) -> Vec<u8> {
        self.0.clone()
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A delivery. Its cause, its payload and whether it has a causing turn go by its id.
pub fn delivery(id: u64) -> Arc<Delivery> {
    let cause = match id % 3 {
        0 => Cause::Event,
        1 => Cause::Reminder {
            id: AWKWARD.into(),
            generation: id,
        },
        _ => Cause::Report { id: id + 7 },
    };
    // Bytes that are no UTF-8, and sometimes none at all.
    let bytes: Vec<u8> = (0..id % 5).flat_map(|n| [0, 0xff, n as u8]).collect();
    let payload = match id % 2 {
        0 => Payload::Live(Arc::new(Bytes(bytes))),
        _ => Payload::Stored(bytes.into()),
    };
    Arc::new(Delivery {
        id,
        cause,
        component: "receiver".into(),
        interface: "rialto:things/events".into(),
        function: format!("happened-{id}").into(),
        payload,
        by: (!id.is_multiple_of(4)).then_some(TurnId(id)),
        trace: trace(id),
        subjects: subjects(id),
        hops: u32::MAX - id as u32,
        redeliveries: 0,
        origin: Origin::default(),
    })
}

fn subjects(id: u64) -> Vec<Name> {
    (0..id % 3)
        .map(|n| format!("thing:{id}-{n}").into())
        .collect()
}

/// A reminder.
pub fn reminder(component: &str, id: &str, generation: u64) -> StoredReminder {
    StoredReminder {
        component: component.into(),
        id: id.into(),
        due: Timestamp(4_000_000_000_000 + generation),
        generation,
        payload: format!("{AWKWARD} {generation}"),
        subjects: subjects(generation),
        trace: trace(generation),
    }
}

fn trace(id: u64) -> Trace {
    Trace {
        id: u128::MAX - u128::from(id),
        parent: u64::MAX - id,
        sampled: id.is_multiple_of(2),
    }
}

/// An outbound request.
pub fn outbound(id: u64) -> Arc<OutboundRequest> {
    Arc::new(OutboundRequest {
        id,
        component: "sender".into(),
        method: "PUT".into(),
        url: format!("http://127.0.0.1/{id}?q=%20"),
        headers: vec![
            ("date".into(), "Thu, 01 Jan 1970 00:00:00 GMT".into()),
            ("x-twice".into(), AWKWARD.into()),
            ("x-twice".into(), id.to_string()),
        ],
        body: (!id.is_multiple_of(3)).then(|| format!("{{\"text\":\"{id} 漢\"}}")),
        signature: id.is_multiple_of(2).then(|| OwnSignature {
            header: "x-signature".into(),
            members: format!("{{\"id\":{id}}}"),
        }),
        policy: DeliveryPolicy {
            attempts_max: 8,
            attempt_timeout_ms: u32::MAX,
            deadline: Timestamp(u64::MAX),
            backoff_initial_ms: 1,
            backoff_max_ms: 2,
            while_away: WhileAway::Wait,
        },
        correlation: AWKWARD.into(),
        traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".into(),
        subjects: subjects(id),
    })
}

/// A delivery that was given up.
pub fn dead_letter(id: u64) -> DeadLetter {
    DeadLetter {
        delivery: delivery(id),
        attempts: 8,
        error: format!("{AWKWARD} {id}"),
        at: Timestamp(1_700_000_000_000 + id),
    }
}
