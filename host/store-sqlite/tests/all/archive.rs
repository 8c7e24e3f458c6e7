//! History, receipts, releases and components, from the journal and from the tables.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::sync::Arc;

use rialto_engine::history::{Ended, Kind, Record, Step};
use rialto_engine::store::{Group, Receipt, Store};
use rialto_engine::{Name, Timestamp, TurnId};
use rialto_store_sqlite::{
    Act, Credential, CredentialKind, Operation, Outcome, Passkey, SqliteStore, StoredActivation,
    StoredRelease,
};
use rialto_store_sqlite::{
    ActivationStore as _, CredentialStore as _, HistoryStore as _, OperationStore as _,
    PasskeyStore as _, ReleaseStore as _,
};
use rialto_store_suite::samples::{AWKWARD, group};
use tempfile::TempDir;

fn opened() -> (TempDir, SqliteStore) {
    let folder = rialto_files::temporary_folder().unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    store.recover().unwrap();
    (folder, store)
}

fn reopened(folder: &TempDir, store: SqliteStore) -> SqliteStore {
    drop(store);
    let store = SqliteStore::open(folder.path()).unwrap();
    store.recover().unwrap();
    store
}

fn names(names: &[&str]) -> Vec<Name> {
    names.iter().map(|&name| name.into()).collect()
}

/// A turn with every step and an end by its number.
fn record(turn: u64, subjects: &[&str]) -> Record {
    Record {
        turn: TurnId(turn),
        cause: (turn > 1).then(|| TurnId(turn - 1)),
        at: Timestamp(1_700_000_000_000 + turn),
        took_us: u32::MAX,
        release: turn,
        kind: [
            Kind::Request,
            Kind::Event,
            Kind::Reminder,
            Kind::Report,
            Kind::Activation,
        ][turn as usize % 5],
        component: "transfers".into(),
        function: AWKWARD.into(),
        trace: u128::MAX - u128::from(turn),
        subjects: names(subjects),
        steps: vec![
            Step::Called {
                component: "ledger".into(),
                function: "reserve".into(),
                took_us: 7,
            },
            Step::Published {
                event: "happened".into(),
                to: names(&["one", "two"]),
            },
            Step::Judged {
                step: "check".into(),
                rule: "limits".into(),
                verdict: "refuse 4200".into(),
                took_us: 0,
            },
            Step::Sent {
                id: u64::MAX,
                request: "PUT http://127.0.0.1/x".into(),
            },
            Step::Reminded {
                id: AWKWARD.into(),
                due: Timestamp(u64::MAX),
            },
            Step::Wrote {
                document: "transfers/transfers/1".into(),
            },
            Step::Answered { status: 202 },
            Step::Reported {
                id: 0,
                outcome: "200 after 1 attempt".into(),
            },
        ],
        ended: match turn % 3 {
            0 => Ended::Executed,
            1 => Ended::Failed("it broke".into()),
            _ => Ended::Parked("it broke too often".into()),
        },
    }
}

fn with_history(lsn: u64, records: Vec<Record>) -> Group {
    Group {
        turns: records.len(),
        history: records.into_iter().map(Arc::new).collect(),
        ..group(lsn)
    }
}

fn turns(records: &[Record]) -> Vec<u64> {
    records.iter().map(|record| record.turn.0).collect()
}

#[test]
fn history_is_found_by_subject_in_log_order() {
    let (folder, store) = opened();
    let all = [
        record(1, &["transfer:a"]),
        record(2, &["transfer:b", "quote:a"]),
        record(3, &[]),
        record(4, &["transfer:a", "transfer:b", "transfer:a"]),
        record(5, &["transfer:a"]),
        record(6, &[AWKWARD, "transfer:aa"]),
    ];
    // The third one is about nothing; the first two and the last ones share their groups.
    store.write(&with_history(2, all[..2].to_vec())).unwrap();
    store.write(&with_history(3, all[2..3].to_vec())).unwrap();
    store.write(&group(4)).unwrap();
    store.write(&with_history(7, all[3..].to_vec())).unwrap();
    let check = |history: &dyn Fn(&str) -> Vec<Record>| {
        let about_a = [&all[0], &all[3], &all[4]].map(Clone::clone);
        assert_eq!(history("transfer:a"), about_a);
        assert_eq!(turns(&history("transfer:b")), [2, 4]);
        assert_eq!(turns(&history("quote:a")), [2]);
        assert_eq!(turns(&history("transfer:aa")), [6]);
        assert_eq!(history(AWKWARD), [all[5].clone()]);
        for unknown in ["", "a", "transfer:", "transfer:A", "quote:b"] {
            assert_eq!(history(unknown), [], "{unknown:?}");
        }
    };
    let check_last = |store: &SqliteStore| {
        for (most, expected) in [
            (0, &[][..]),
            (1, &[5]),
            (2, &[4, 5]),
            (3, &[1, 4, 5]),
            (9, &[1, 4, 5]),
        ] {
            let (last, earlier) = store.last_of_history("transfer:a", most).unwrap();
            assert_eq!(turns(&last), expected);
            assert_eq!(earlier, 3 - expected.len());
        }
    };
    check(&|subject| store.history(subject).unwrap());
    check_last(&store);
    let store = reopened(&folder, store);
    check(&|subject| store.history(subject).unwrap());
    check_last(&store);
}

#[test]
fn an_id_means_its_subjects_of_every_kind() {
    let (folder, store) = opened();
    let id = "7c23e80c-d078-4077-8263-2c047876fcf6";
    assert_eq!(store.subjects_of(id).unwrap(), Vec::<String>::new());
    let transfer = format!("transfer:{id}");
    let quote = format!("quote:{id}");
    // Kinds that sort beside one another, and many of one kind.
    let many: Vec<_> = (0..50).map(|n| format!("party:{n}")).collect();
    let mut records = vec![
        record(1, &[&transfer]),
        record(2, &[&quote, "quotes:1", "quote-x:1"]),
        record(3, &["ß:1", "z:1"]),
    ];
    records.extend(many.iter().map(|party| record(4, &[party])));
    store.write(&with_history(60, records)).unwrap();
    let check = |store: &SqliteStore| {
        // A kind without this id may be among them: it has no history.
        let subjects = store.subjects_of(id).unwrap();
        for subject in [&transfer, &quote] {
            assert!(subjects.contains(subject), "{subject} in {subjects:?}");
        }
        let found: Vec<_> = subjects
            .iter()
            .filter(|subject| !store.history(subject).unwrap().is_empty())
            .collect();
        assert_eq!(found.len(), 2, "{found:?}");
        for kind in ["party", "quotes", "quote-x", "ß", "z"] {
            let one = format!("{kind}:1");
            let subjects = store.subjects_of("1").unwrap();
            assert!(subjects.contains(&one), "{one} in {subjects:?}");
        }
        assert_eq!(
            store.subjects_of(&quote).unwrap(),
            std::slice::from_ref(&quote)
        );
    };
    check(&store);
    let store = reopened(&folder, store);
    check(&store);
}

#[test]
fn operators_actions_are_kept_with_their_outcomes() {
    let (folder, store) = opened();
    let operation = |id: u64, outcome| Operation {
        id,
        at: Timestamp(1_700_000_000_000 + id),
        person: "anna".into(),
        operator: "anna-as-maker".into(),
        action: "release-apply".into(),
        about: format!("dead letter {id}: {AWKWARD}"),
        note: AWKWARD.into(),
        outcome,
    };
    assert_eq!(store.last_operation().unwrap(), 0);
    assert_eq!(store.operations("", 10).unwrap(), []);
    let refused = Outcome::Refused(AWKWARD.into());
    store.add_operation(&operation(1, None)).unwrap();
    store.add_operation(&operation(2, None)).unwrap();
    store
        .add_operation(&operation(3, Some(refused.clone())))
        .unwrap();
    store
        .add_operation(&operation(3, None))
        .expect_err("the number is taken");
    let done = Outcome::Done("release 2".into());
    store.end_operation(2, &done).unwrap();
    // What has an outcome keeps it.
    store.end_operation(3, &done).unwrap();
    let kept = [
        operation(1, None),
        operation(2, Some(done)),
        operation(3, Some(refused)),
    ];
    assert_eq!(store.operations("", 10).unwrap(), kept);
    assert_eq!(store.operations("", 2).unwrap(), kept[1..]);
    assert_eq!(store.operations("letter 2: ", 9).unwrap(), kept[1..2]);
    assert_eq!(store.operations("letter 4", 9).unwrap(), []);
    let store = reopened(&folder, store);
    assert_eq!(store.operations("", 10).unwrap(), kept);
    assert_eq!(store.last_operation().unwrap(), 3);
}

#[test]
fn credentials_stay_until_they_are_removed() {
    let (folder, store) = opened();
    let session = Credential {
        id: "a1".into(),
        hash: [7; 32],
        kind: CredentialKind::Session,
        operator: "anna".into(),
        person: "anna".into(),
        subject: Some(AWKWARD.into()),
        label: String::new(),
        roles: None,
        made: Timestamp(1_700_000_000_000),
        expires: Timestamp(1_700_000_000_001),
    };
    let token = Credential {
        id: "b2".into(),
        hash: [8; 32],
        kind: CredentialKind::Token,
        subject: None,
        label: AWKWARD.into(),
        roles: Some(vec!["maker".into(), "reader".into()]),
        ..session.clone()
    };
    assert_eq!(store.credentials().unwrap(), []);
    store.add_credential(&session).unwrap();
    store.add_credential(&token).unwrap();
    let same_hash = Credential {
        id: "c3".into(),
        ..token.clone()
    };
    store
        .add_credential(&same_hash)
        .expect_err("the hash is taken");
    let store = reopened(&folder, store);
    assert_eq!(store.credentials().unwrap(), [session, token.clone()]);
    store.remove_credential("a1").unwrap();
    store.remove_credential("a1").unwrap();
    let store = reopened(&folder, store);
    assert_eq!(store.credentials().unwrap(), [token]);
}

#[test]
fn passkeys_stay_with_their_state() {
    let (folder, store) = opened();
    let waits = Passkey {
        id: "a1".into(),
        credential: "AAAA".into(),
        public_key: "a key".into(),
        person: "anna".into(),
        handle: "BBBB".into(),
        label: AWKWARD.into(),
        transports: vec!["usb".into(), "nfc".into()],
        is_backup_eligible: true,
        registered: Timestamp(1_700_000_000_000),
        approved: None,
        ended: None,
        sign_count: u32::MAX,
        used: None,
    };
    store.add_passkey(&waits).unwrap();
    let same = Passkey {
        id: "b2".into(),
        ..waits.clone()
    };
    store
        .add_passkey(&same)
        .expect_err("the credential is taken");
    let other = Passkey {
        credential: "CCCC".into(),
        transports: Vec::new(),
        ..same
    };
    store.add_passkey(&other).unwrap();
    let act = |by: &str, at| {
        Some(Act {
            by: by.into(),
            at: Timestamp(at),
        })
    };
    let used = Passkey {
        approved: act("ben", 1_700_000_000_001),
        ended: act(AWKWARD, 1_700_000_000_003),
        sign_count: 7,
        used: Some(Timestamp(1_700_000_000_002)),
        ..waits
    };
    store.change_passkey(&used).unwrap();
    let store = reopened(&folder, store);
    assert_eq!(store.passkeys().unwrap(), [used.clone(), other]);
    store.remove_passkey("b2").unwrap();
    assert_eq!(store.passkeys().unwrap(), [used]);
}

#[test]
fn each_activation_is_kept_with_person_and_outcome() {
    let (folder, store) = opened();
    let begun = |release: u64, before: u64, done: bool| StoredActivation {
        release,
        before,
        at: Timestamp(1_700_000_000_000 + release),
        person: "anna".into(),
        operator: "anna-releases".into(),
        note: AWKWARD.into(),
        done,
    };
    assert_eq!(store.activations().unwrap(), []);
    store.begin_activation(&begun(1, 0, false)).unwrap();
    assert_eq!(store.activating_release().unwrap(), 1);
    assert_eq!(store.activations().unwrap(), [begun(1, 0, false)]);
    store.set_current_release(1).unwrap();
    // It is given up: nothing is done, and nothing is said to be done by what comes later.
    store.begin_activation(&begun(2, 1, false)).unwrap();
    store.set_activating_release(0).unwrap();
    store.set_current_release(2).unwrap();
    assert_eq!(
        store.activations().unwrap(),
        [begun(1, 0, true), begun(2, 1, false)]
    );
    // A host ends in the middle, and the next one goes on.
    store.begin_activation(&begun(1, 2, false)).unwrap();
    let store = reopened(&folder, store);
    assert_eq!(store.activating_release().unwrap(), 1);
    store.set_current_release(1).unwrap();
    let kept = [begun(1, 0, true), begun(2, 1, false), begun(1, 2, true)];
    assert_eq!(store.activations().unwrap(), kept);
    assert_eq!(reopened(&folder, store).activations().unwrap(), kept);
}

#[test]
fn verdicts_are_found_by_subject_oldest_first() {
    let (folder, store) = opened();
    let receipt = |id: u64, subject: &str| Receipt {
        id,
        subject: subject.into(),
        at: Timestamp(1_700_000_000_000 + id),
        body: format!("{{\"id\":{id},\"text\":\"{AWKWARD}\"}}").into(),
    };
    let mut first = group(1);
    first.receipts = vec![receipt(3, "quote:a"), receipt(4, "transfer:b")];
    let mut second = group(2);
    second.receipts = vec![receipt(9, "quote:a"), receipt(7, "quote:a")];
    store.write(&first).unwrap();
    store.write(&second).unwrap();
    let check = |receipts: &dyn Fn(&str) -> Vec<Receipt>| {
        let about_a = [3, 7, 9].map(|id| receipt(id, "quote:a"));
        assert_eq!(receipts("quote:a"), about_a);
        assert_eq!(receipts("transfer:b"), [receipt(4, "transfer:b")]);
        assert_eq!(receipts("a"), []);
    };
    check(&|subject| store.receipts(subject).unwrap());
    let store = reopened(&folder, store);
    check(&|subject| store.receipts(subject).unwrap());
}

#[test]
fn releases_and_components_are_kept_and_one_release_is_current() {
    let (folder, store) = opened();
    let release = |number: u64| StoredRelease {
        number,
        digest: format!("digest of {number}"),
        document: format!("{{\"n\":{number},\"text\":\"{AWKWARD}\"}}"),
        created_at: Timestamp(1_700_000_000_000 + number),
        note: if number == 1 {
            String::new()
        } else {
            AWKWARD.into()
        },
        maker: "anna".into(),
        approver: None,
        waits_on: (number == 3).then_some(1),
    };
    assert_eq!(store.current_release().unwrap(), 0);
    assert_eq!(store.releases().unwrap(), []);
    assert_eq!(store.component("sha256:1").unwrap(), None);

    let bytes: Vec<u8> = (0..3_000_000u32).map(|n| (n % 251) as u8).collect();
    store.add_component("sha256:1", &bytes).unwrap();
    store.add_component("sha256:2", b"\0asm").unwrap();
    // What is there by its content stays: nothing can change it.
    store.add_component("sha256:1", &bytes).unwrap();
    store.add_release(&release(1)).unwrap();
    assert_eq!(store.current_release().unwrap(), 0, "kept, not yet current");
    store.set_current_release(1).unwrap();
    store.add_release(&release(2)).unwrap();
    store.set_current_release(2).unwrap();
    store.set_current_release(1).unwrap();
    store.add_release(&release(3)).unwrap();
    // A number is given once.
    let twice = StoredRelease {
        note: "another".into(),
        ..release(2)
    };
    assert!(store.add_release(&twice).is_err());

    let check = |store: &SqliteStore| {
        assert_eq!(store.current_release().unwrap(), 1);
        assert_eq!(store.releases().unwrap(), [1, 2, 3].map(release));
        // The third was kept and never made current, as one that is refused at its activation.
        assert_eq!(store.releases_once_current().unwrap(), [1, 2]);
        assert!(store.component("sha256:1").unwrap().unwrap() == bytes);
        assert_eq!(store.component("sha256:2").unwrap().unwrap(), b"\0asm");
        assert_eq!(store.component("sha256:3").unwrap(), None);
    };
    check(&store);
    // Groups and releases do not get in each other's way.
    store
        .write(&with_history(1, vec![record(1, &["x:1"])]))
        .unwrap();
    let store = reopened(&folder, store);
    check(&store);
    // Approved, it waits no more; one that does not wait is approved by nobody.
    store.approve_release(3, "ben").unwrap();
    store.approve_release(2, "ben").unwrap();
    let approved = StoredRelease {
        approver: Some("ben".into()),
        waits_on: None,
        ..release(3)
    };
    let kept = [release(1), release(2), approved];
    assert_eq!(store.releases().unwrap(), kept);
    assert_eq!(reopened(&folder, store).releases().unwrap(), kept);
}
