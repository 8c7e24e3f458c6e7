//! A store with something of everything.

use std::sync::Arc;

use rialto_engine::history::{Ended, Kind, Record, Step};
use rialto_engine::publications::Publication;
use rialto_engine::store::{AuditEntry, Group, Receipt, Store};
use rialto_engine::{Timestamp, TurnId};
use rialto_store::{
    Act, Credential, CredentialKind, HeldBack, HostStore, NextNumbers, Operation, Outcome, Passkey,
    PeopleKeys, PlanSignature, ScheduledRelease, StoreLoad, StoredActivation, StoredCheckpoint,
    StoredPlan, StoredRelease, StoredSuspension, StoredTile,
};
use rialto_store_suite::model::Model;
use rialto_store_suite::samples::{
    AWKWARD, IDS, collection, dead_letter, delivery, group, outbound, put, reminder, remove,
};

/// Groups of a filled store.
pub const GROUPS: u64 = 400;

/// The group at a position: documents that many groups change, documents of its own, and work that comes and goes.
pub fn at(lsn: u64) -> Group {
    let mut next = group(lsn);
    if lsn == 1 {
        // The last one never gets a document.
        next.collections = (1..=4).map(collection).collect();
    }
    next.documents = (0..5)
        .map(|n| put(1, &format!("shared-{n}"), lsn, &lsn.to_string()))
        .collect();
    let id = IDS[usize::try_from(lsn).unwrap() % IDS.len()];
    next.documents
        .push(put(2, &format!("{id}-{lsn}"), 1, "{\"text\":\"é\"}"));
    next.documents.push(put(3, id, lsn, "null"));
    if lsn > 3 {
        let before = lsn - 3;
        let id = IDS[usize::try_from(before).unwrap() % IDS.len()];
        if before.is_multiple_of(2) {
            next.documents.push(remove(2, &format!("{id}-{before}"), 2));
        }
        if !before.is_multiple_of(50) {
            next.deliveries_removed = vec![before];
            next.outbound_removed = vec![before];
        }
    }
    next.deliveries_added = vec![delivery(lsn)];
    next.outbound_added = vec![outbound(lsn)];
    next.reminders_set = vec![reminder("one", id, lsn), reminder("two", "x", lsn)];
    if lsn.is_multiple_of(90) {
        next.dead_letters_added = vec![dead_letter(10_000 + lsn)];
    }
    next.receipts = (0..lsn % 3).map(|n| receipt(lsn, n)).collect();
    next.audit = (0..lsn % 4).map(|n| entry(lsn, n)).collect();
    next.publications = (0..lsn % 2).map(|_| event(lsn)).collect();
    next.history = (0..1 + lsn % 2).map(|n| Arc::new(record(lsn, n))).collect();
    next
}

fn receipt(lsn: u64, n: u64) -> Receipt {
    Receipt {
        id: lsn * 10 + n,
        subject: format!("thing:{}", lsn % 7).into(),
        at: Timestamp(1_700_000_000_000 + lsn),
        body: format!("{{\"position\":{lsn}}}").into(),
    }
}

fn entry(lsn: u64, n: u64) -> AuditEntry {
    AuditEntry {
        at: Timestamp(1_700_000_000_000 + lsn),
        body: format!("{{\"position\":{lsn},\"n\":{n},\"who\":\"é\"}}").into(),
    }
}

fn event(lsn: u64) -> Publication {
    Publication {
        event: "things/happened".into(),
        component: "things".into(),
        at: Timestamp(1_700_000_000_000 + lsn),
        turn: TurnId(lsn),
        release: 1,
        traceparent: String::new(),
        subjects: vec![format!("thing:{lsn}").into()],
        data: format!("{{\"position\":{lsn}}}").into(),
        may_name_people: false,
    }
}

fn record(lsn: u64, n: u64) -> Record {
    Record {
        turn: TurnId(lsn * 10 + n),
        cause: (n > 0).then_some(TurnId(lsn * 10)),
        at: Timestamp(1_700_000_000_000 + lsn),
        took_us: 7,
        release: 1,
        kind: Kind::Event,
        component: "one".into(),
        function: AWKWARD.into(),
        trace: u128::MAX - u128::from(lsn),
        // In no order of their texts.
        subjects: vec![
            format!("thing:{}", (lsn * 31) % 97).into(),
            "shared:1".into(),
        ],
        steps: vec![Step::Answered { status: 202 }],
        ended: Ended::Failed(AWKWARD.to_owned()),
    }
}

fn act(by: &str, at: u64) -> Act {
    Act {
        by: by.to_owned(),
        at: Timestamp(at),
    }
}

/// Fill a new store, which is not recovered yet. Returns what its groups say.
pub fn fill<S: Store + StoreLoad>(store: &S) -> Model {
    store.recover().unwrap();
    // As after old entries went to archives, and old events were removed.
    store
        .continue_from(NextNumbers {
            audit: 512,
            publication: 40,
        })
        .unwrap();
    let mut model = Model::default();
    for lsn in 1..=GROUPS {
        let next = at(lsn);
        store.write(&next).unwrap();
        model.apply(&next);
        if lsn == GROUPS / 2 {
            // As after a backup was restored.
            let publication = 1 << 33;
            let audit = 512 + (1..=lsn).map(|lsn| lsn % 4).sum::<u64>();
            store
                .continue_from(NextNumbers { audit, publication })
                .unwrap();
        }
    }
    releases(store);
    decisions(store);
    operators(store);
    proofs(store);
    model
}

fn releases(store: &dyn HostStore) {
    for digest in ["sha256:one", "sha256:two"] {
        store.add_component(digest, digest.as_bytes()).unwrap();
    }
    for number in 1..=5_u64 {
        let release = StoredRelease {
            number,
            digest: format!("sha256:{number}"),
            document: format!("{{\"number\":{number}}}"),
            created_at: Timestamp(number),
            note: AWKWARD.to_owned(),
            maker: "maya".to_owned(),
            approver: (number == 2).then(|| "chris".to_owned()),
            waits_on: (number == 5).then_some(2),
        };
        store.add_release(&release).unwrap();
    }
    // The first, a second one, a refused one, a return to the first, and one that is under way.
    for (release, is_done) in [(1, true), (2, true), (3, false), (1, true), (4, false)] {
        let begun = StoredActivation {
            release,
            before: 0,
            at: Timestamp(release),
            person: "maya".to_owned(),
            operator: "switch".to_owned(),
            note: AWKWARD.to_owned(),
            done: false,
        };
        store.begin_activation(&begun).unwrap();
        if is_done {
            store.set_current_release(release).unwrap();
        }
    }
    let scheduled = |release, from| ScheduledRelease {
        release,
        from: Timestamp(from),
        at: Timestamp(1),
        person: "maya".to_owned(),
        operator: String::new(),
        note: AWKWARD.to_owned(),
        withdrawn: None,
    };
    store
        .schedule_releases(&[scheduled(2, 10), scheduled(3, 40), scheduled(4, 20)])
        .unwrap();
    store.withdraw_scheduled(4, &act("chris", 5)).unwrap();
    store.withdraw_scheduled(3, &act("anna", 6)).unwrap();
    store.schedule_releases(&[scheduled(5, 30)]).unwrap();
}

fn decisions(store: &dyn HostStore) {
    for (digest, release) in [("a", None), ("b", Some(2))] {
        let plan = StoredPlan {
            digest: digest.to_owned(),
            content: AWKWARD.to_owned(),
            maker: "maya".to_owned(),
            made: Timestamp(3),
            release: None,
        };
        store.add_plan(&plan).unwrap();
        store.plan_applied(digest, release).unwrap();
        for officer in ["otto", "anna"] {
            let signature = PlanSignature {
                plan: digest.to_owned(),
                officer: officer.to_owned(),
                kind: "Ed25519".to_owned(),
                signature: "c2lnbmF0dXJl".to_owned(),
                at: Timestamp(4),
            };
            store.sign_plan(&signature).unwrap();
        }
    }
    for rule in ["over", "confirmed", "ended"] {
        let suspension = StoredSuspension {
            id: 0,
            rule: rule.to_owned(),
            person: "maya".to_owned(),
            note: AWKWARD.to_owned(),
            at: Timestamp(1),
            until: Timestamp(5),
            confirmed: None,
            ended: None,
        };
        store.add_suspension(&suspension).unwrap();
    }
    store.confirm_suspension(2, &act("chris", 3)).unwrap();
    store.end_suspension(3, &act("chris", 4)).unwrap();
    for component in ["b", "a"] {
        let held = HeldBack {
            component: component.to_owned(),
            settings: "sha256:settings".to_owned(),
            at: Timestamp(9),
            why: AWKWARD.to_owned(),
        };
        store.hold_back(&held).unwrap();
    }
    store.canary_secret([7; 32]).unwrap();
}

fn operators(store: &dyn HostStore) {
    let roles: [Option<&[&str]>; 3] = [None, Some(&["reader", "maker"]), Some(&[])];
    for (n, roles) in (1_u8..).zip(roles) {
        let credential = Credential {
            id: format!("credential-{n}"),
            hash: [n; 32],
            kind: CredentialKind::Token,
            operator: "switch".to_owned(),
            person: AWKWARD.to_owned(),
            subject: roles.map(|_| "subject".to_owned()),
            label: "a label".to_owned(),
            roles: roles.map(|roles| roles.iter().map(|role| (*role).to_owned()).collect()),
            made: Timestamp(1),
            expires: Timestamp(i64::MAX.unsigned_abs()),
        };
        store.add_credential(&credential).unwrap();
    }
    for id in ["b", "a"] {
        let passkey = Passkey {
            id: id.to_owned(),
            credential: format!("credential-{id}"),
            public_key: "PEM".to_owned(),
            person: "maya".to_owned(),
            handle: "handle".to_owned(),
            label: AWKWARD.to_owned(),
            transports: vec!["usb".to_owned(), "nfc".to_owned()],
            is_backup_eligible: true,
            registered: Timestamp(1),
            approved: Some(act("chris", 2)),
            ended: (id == "a").then(|| act("anna", 3)),
            sign_count: u32::MAX,
            used: (id == "b").then_some(Timestamp(4)),
        };
        store.add_passkey(&passkey).unwrap();
    }
    let outcomes = [
        None,
        Some(Outcome::Done(AWKWARD.to_owned())),
        Some(Outcome::Refused(String::new())),
    ];
    for (id, outcome) in (1..).zip(outcomes) {
        let operation = Operation {
            id,
            at: Timestamp(id),
            person: "maya".to_owned(),
            operator: "switch".to_owned(),
            action: "release-apply".to_owned(),
            about: "release 1".to_owned(),
            note: AWKWARD.to_owned(),
            outcome,
        };
        store.add_operation(&operation).unwrap();
    }
    let keys = PeopleKeys {
        id: [3; 16],
        shreddings: 2,
    };
    store.set_people_keys(keys).unwrap();
}

fn proofs(store: &dyn HostStore) {
    for size in [600_u64, 700, 800] {
        let tile = |level, index| StoredTile {
            level,
            index,
            hashes: vec![u8::try_from(size / 100).unwrap(); 64],
        };
        let checkpoint = StoredCheckpoint {
            size,
            at: Timestamp(size),
            note: AWKWARD.to_owned(),
        };
        let tiles = [tile(0, size / 256), tile(1, 0)];
        store
            .add_audit_checkpoint(&checkpoint, &tiles, None)
            .unwrap();
    }
    store.set_audit_sent(550).unwrap();
    store.set_published(41).unwrap();
    store.note_poison_candidate(Some("delivery 7")).unwrap();
}

/// Some starts that give back work, and a reminder that was due.
pub fn start_again(store: &dyn HostStore) {
    store.recover().unwrap();
    let due = reminder("two", "x", GROUPS).due;
    store.count_overdue(due).unwrap();
}
