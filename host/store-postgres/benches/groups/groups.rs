//! Groups of the size of four payments under full load, as in the SQLite store's benchmark.

use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use rialto_engine::history::{Ended, Kind, Record, Step};
use rialto_engine::network::{DeliveryPolicy, OutboundRequest, WhileAway};
use rialto_engine::store::{Collection, DocumentWrite, Group, Receipt};
use rialto_engine::{CollectionId, Lsn, Name, Timestamp, TurnId};

/// Payments of a group.
const TOGETHER: u64 = 4;
/// New documents of a payment.
const DOCUMENTS: u64 = 12;
/// Documents that all payments change, such as accounts.
const SHARED: u64 = 3;
/// Requests of a payment.
const REQUESTS: u64 = 6;
/// Verdicts of a payment.
const VERDICTS: u64 = 3;
/// Turns of a payment.
const TURNS: u64 = 43;
/// Bytes of a document, of a request's body and of a receipt.
const BYTES: usize = 900;

/// Documents that a group writes.
pub const DOCUMENTS_OF_A_GROUP: u64 = TOGETHER * DOCUMENTS + SHARED;

/// Makes groups.
pub struct Groups {
    chance: StdRng,
    next_id: u64,
    lsn: u64,
    unanswered: Vec<u64>,
}

impl Groups {
    /// The same groups each time.
    pub fn new() -> Self {
        Self {
            chance: StdRng::seed_from_u64(1),
            next_id: 1,
            lsn: 0,
            unanswered: Vec::new(),
        }
    }

    fn fresh_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    fn digits(&mut self) -> String {
        format!("{:032x}", self.chance.random::<u128>())
    }

    fn body(&mut self) -> String {
        let mut body = String::from("{");
        while body.len() < BYTES {
            let digits = self.digits();
            body +=
                &format!("\"id\":\"{digits}\",\"amount\":{{\"scale\":2,\"minorUnits\":\"100\"}},");
        }
        body + "\"state\":\"COMMITTED\"}"
    }

    /// The next one.
    pub fn next(&mut self) -> Group {
        let mut group = Group {
            outbound_removed: std::mem::take(&mut self.unanswered),
            ..Group::default()
        };
        if self.lsn == 0 {
            let collection = |id: u64| Collection {
                id: CollectionId(id as u32),
                component: "component".into(),
                name: format!("things-{id}").into(),
            };
            group.collections = (1..=DOCUMENTS + 1).map(collection).collect();
        }
        for _ in 0..TOGETHER {
            self.payment(&mut group);
        }
        self.lsn += TURNS * TOGETHER;
        for n in 0..SHARED {
            let body = self.body();
            let id = format!("shared-{n}").into();
            let version = self.lsn;
            group
                .documents
                .push(document(DOCUMENTS + 1, id, version, body));
        }
        group.lsn = Lsn(self.lsn);
        group.turns = (TURNS * TOGETHER) as usize;
        group.next_id = self.next_id + 1;
        group
    }

    fn payment(&mut self, group: &mut Group) {
        let subject: Name = format!("transfer:{}", self.digits()).into();
        for n in 1..=DOCUMENTS {
            let (id, body) = (self.digits().into(), self.body());
            group.documents.push(document(n, id, 1, body));
        }
        for _ in 0..REQUESTS {
            let (id, body) = (self.fresh_id(), self.body());
            group
                .outbound_added
                .push(Arc::new(request(id, body, &subject)));
            self.unanswered.push(id);
        }
        for _ in 0..VERDICTS {
            let receipt = Receipt {
                id: self.fresh_id(),
                subject: subject.clone(),
                at: Timestamp(1_700_000_000_000),
                body: self.body().into(),
            };
            group.receipts.push(receipt);
        }
        for _ in 0..TURNS {
            let record = record(self.fresh_id(), &subject);
            group.history.push(Arc::new(record));
        }
    }
}

fn document(collection: u64, id: Name, version: u64, body: String) -> DocumentWrite {
    DocumentWrite {
        collection: CollectionId(collection as u32),
        id,
        version,
        body: Some(body.into()),
    }
}

fn request(id: u64, body: String, subject: &Name) -> OutboundRequest {
    OutboundRequest {
        id,
        component: "sender".into(),
        method: "PUT".into(),
        url: "http://127.0.0.1:4000/things/1".to_owned(),
        headers: vec![("date".into(), "Thu, 01 Jan 1970 00:00:00 GMT".into())],
        body: Some(body),
        signature: None,
        policy: DeliveryPolicy {
            attempts_max: 8,
            attempt_timeout_ms: 5_000,
            deadline: Timestamp(1_700_000_000_000),
            backoff_initial_ms: 50,
            backoff_max_ms: 1_000,
            while_away: WhileAway::Wait,
        },
        correlation: String::new(),
        traceparent: String::new(),
        subjects: vec![subject.clone()],
    }
}

fn record(turn: u64, subject: &Name) -> Record {
    Record {
        turn: TurnId(turn),
        cause: Some(TurnId(turn - 1)),
        at: Timestamp(1_700_000_000_000),
        took_us: 200,
        release: 1,
        kind: Kind::Event,
        component: "component".into(),
        function: "rialto:things/events.happened".into(),
        trace: u128::from(turn),
        subjects: vec![subject.clone()],
        steps: vec![Step::Published {
            event: "rialto:things/events.happened".into(),
            to: vec!["receiver".into()],
        }],
        ended: Ended::Executed,
    }
}
