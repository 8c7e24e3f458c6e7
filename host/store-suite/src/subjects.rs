//! Tests of what a host keeps beside groups: plans, suspensions, canaries, credentials, passkeys, operations, people's keys,
//! and the proofs of the audit log. What was changed is read as it was changed last, also when the store is opened again.

use rialto_engine::Timestamp;
use rialto_engine::store::AuditEntry;
use rialto_store::{
    Act, Credential, CredentialKind, EntryFilter, HeldBack, HostStore, Operation, Outcome, Passkey,
    PeopleKeys, PlanSignature, ScheduledRelease, StoredCheckpoint, StoredPlan, StoredSuspension,
    StoredTile,
};

use crate::Backend;
use crate::releases::release;
use crate::samples::{AWKWARD, group};
use crate::session::Session;

fn act(by: &str, at: u64) -> Act {
    Act {
        by: by.to_owned(),
        at: Timestamp(at),
    }
}

/// A session with a store of this backend. What is read twice is the same before and after it is opened again.
fn twice<B: Backend<Store: HostStore>>(session: &mut Session<B>, judge: impl Fn(&dyn HostStore)) {
    judge(session.store());
    session.reopen();
    judge(session.store());
}

/// Releases that come into force, and who has withdrawn them; and a release that waits for its approval.
pub fn scheduled_and_waiting_releases_are_kept<B: Backend<Store: HostStore>>() {
    let mut session = Session::<B>::default();
    let scheduled = |release, from| ScheduledRelease {
        release,
        from: Timestamp(from),
        at: Timestamp(1),
        person: AWKWARD.to_owned(),
        operator: String::new(),
        note: "a note".to_owned(),
        withdrawn: None,
    };
    let store: &dyn HostStore = session.store();
    for number in 1..=3 {
        store.add_release(&release(number)).expect("a release");
    }
    let waits = rialto_store::StoredRelease {
        waits_on: Some(1),
        note: AWKWARD.to_owned(),
        ..release(4)
    };
    store.add_release(&waits).expect("a release that waits");
    store.set_current_release(1).expect("a current release");
    let all = [scheduled(1, 10), scheduled(2, 30), scheduled(3, 20)];
    store.schedule_releases(&all).expect("a schedule");
    assert_eq!(store.releases().expect("releases")[3], waits);
    assert_eq!(store.release(4).expect("a release"), Some(waits));
    assert_eq!(store.release(5).expect("no release"), None);
    store.approve_release(4, "chris").expect("an approval");
    store
        .withdraw_scheduled(1, &act("maya", 5))
        .expect("a withdrawal");
    twice(&mut session, |store| {
        let found = store.scheduled_releases().expect("the schedule");
        let withdrawn = Some(act("maya", 5));
        // The first is current, so nobody can withdraw it.
        let expected = [
            scheduled(1, 10),
            ScheduledRelease {
                withdrawn: withdrawn.clone(),
                ..scheduled(3, 20)
            },
            ScheduledRelease {
                withdrawn: withdrawn.clone(),
                ..scheduled(2, 30)
            },
        ];
        assert_eq!(found, expected);
        let approved = &store.releases().expect("releases")[3];
        let is = (approved.approver.as_deref(), approved.waits_on);
        assert_eq!(is, (Some("chris"), None));
    });
}

/// A plan never changes, and an officer's last approval stands.
pub fn plans_are_kept<B: Backend<Store: HostStore>>() {
    let mut session = Session::<B>::default();
    let plan = |digest: &str, made| StoredPlan {
        digest: digest.to_owned(),
        content: AWKWARD.to_owned(),
        maker: "maya".to_owned(),
        made: Timestamp(made),
        release: None,
    };
    let signature = |officer: &str, at| PlanSignature {
        plan: "b".to_owned(),
        officer: officer.to_owned(),
        kind: "Ed25519".to_owned(),
        signature: "c2lnbmF0dXJl".to_owned(),
        at: Timestamp(at),
    };
    let store: &dyn HostStore = session.store();
    for one in [plan("a", 1), plan("b", 2), plan("c", 2)] {
        store.add_plan(&one).expect("a plan");
    }
    let other = StoredPlan {
        content: "other".to_owned(),
        ..plan("b", 9)
    };
    store.add_plan(&other).expect("the plan is there");
    for one in [
        signature("otto", 1),
        signature("anna", 2),
        signature("otto", 3),
    ] {
        store.sign_plan(&one).expect("an approval");
    }
    store
        .plan_applied("b", Some(7))
        .expect("it became a release");
    twice(&mut session, |store| {
        let applied = StoredPlan {
            release: Some(7),
            ..plan("b", 2)
        };
        assert_eq!(store.plan("b").expect("the plan"), Some(applied));
        assert_eq!(store.plan("d").expect("no plan"), None);
        assert_eq!(store.plan_digests(2).expect("digests"), ["b", "c"]);
        let signatures = store.plan_signatures("b").expect("approvals");
        assert_eq!(signatures, [signature("anna", 2), signature("otto", 3)]);
    });
}

/// Those in force come first, whatever the limit is.
pub fn suspensions_are_kept<B: Backend<Store: HostStore>>() {
    let mut session = Session::<B>::default();
    let suspension = |rule: &str, until| StoredSuspension {
        id: 0,
        rule: rule.to_owned(),
        person: "maya".to_owned(),
        note: AWKWARD.to_owned(),
        at: Timestamp(1),
        until: Timestamp(until),
        confirmed: None,
        ended: None,
    };
    let store: &dyn HostStore = session.store();
    for (rule, until) in [("over", 5), ("confirmed", 5), ("ended", 50), ("open", 50)] {
        store
            .add_suspension(&suspension(rule, until))
            .expect("a suspension");
    }
    let all = store.suspensions(Timestamp(2), 9).expect("suspensions");
    let id = |rule: &str| all.iter().find(|one| one.rule == rule).expect("a rule").id;
    store
        .confirm_suspension(id("confirmed"), &act("chris", 3))
        .expect("a confirmation");
    store
        .end_suspension(id("ended"), &act("chris", 4))
        .expect("an end");
    twice(&mut session, |store| {
        let rules = |most| {
            let found = store.suspensions(Timestamp(10), most).expect("suspensions");
            found.into_iter().map(|one| one.rule).collect::<Vec<_>>()
        };
        assert_eq!(rules(9), ["open", "confirmed", "ended", "over"]);
        assert_eq!(rules(1), ["open", "confirmed", "ended"]);
        let found = store.suspensions(Timestamp(10), 9).expect("suspensions");
        assert_eq!(found[1].confirmed, Some(act("chris", 3)));
        assert_eq!(found[2].ended, Some(act("chris", 4)));
        assert_eq!(found[0].note, AWKWARD);
    });
}

/// The first reason and the first secret stay.
pub fn canaries_are_kept<B: Backend<Store: HostStore>>() {
    let mut session = Session::<B>::default();
    let held = |component: &str, at, why: &str| HeldBack {
        component: component.to_owned(),
        settings: "sha256:settings".to_owned(),
        at: Timestamp(at),
        why: why.to_owned(),
    };
    let store: &dyn HostStore = session.store();
    for one in [
        held("b", 2, "first"),
        held("a", 1, AWKWARD),
        held("b", 3, "second"),
    ] {
        store.hold_back(&one).expect("a canary");
    }
    assert_eq!(store.canary_secret([1; 32]).expect("a secret"), [1; 32]);
    twice(&mut session, |store| {
        let found = store.held_back().expect("canaries");
        assert_eq!(found, [held("a", 1, AWKWARD), held("b", 2, "first")]);
        assert_eq!(store.canary_secret([2; 32]).expect("a secret"), [1; 32]);
    });
}

/// Two credentials never have one id or one secret.
pub fn credentials_are_kept<B: Backend<Store: HostStore>>() {
    let mut session = Session::<B>::default();
    let credential = |id: &str, hash, roles: Option<&[&str]>| Credential {
        id: id.to_owned(),
        hash: [hash; 32],
        kind: if roles.is_some() {
            CredentialKind::Token
        } else {
            CredentialKind::Session
        },
        operator: "switch".to_owned(),
        person: AWKWARD.to_owned(),
        subject: roles.map(|_| "subject".to_owned()),
        label: "a label".to_owned(),
        roles: roles.map(|roles| roles.iter().map(|role| (*role).to_owned()).collect()),
        made: Timestamp(1),
        expires: Timestamp(2),
    };
    let all = [
        credential("a", 1, None),
        credential("b", 2, Some(&["reader", "maker"])),
        credential("c", 3, Some(&[])),
    ];
    let store: &dyn HostStore = session.store();
    for one in all.iter().rev() {
        store.add_credential(one).expect("a credential");
    }
    for taken in [credential("a", 9, None), credential("z", 1, None)] {
        store
            .add_credential(&taken)
            .expect_err("its id or its secret is taken");
    }
    store.remove_credential("b").expect("it is removed");
    store.remove_credential("b").expect("it is gone already");
    twice(&mut session, |store| {
        let found = store.credentials().expect("credentials");
        assert_eq!(found, [all[0].clone(), all[2].clone()]);
    });
}

/// What an operator registers never changes; the rest does.
pub fn passkeys_are_kept<B: Backend<Store: HostStore>>() {
    let mut session = Session::<B>::default();
    let passkey = |id: &str| Passkey {
        id: id.to_owned(),
        credential: format!("credential-{id}"),
        public_key: "PEM".to_owned(),
        person: "maya".to_owned(),
        handle: "handle".to_owned(),
        label: AWKWARD.to_owned(),
        transports: vec!["usb".to_owned(), "nfc".to_owned()],
        is_backup_eligible: true,
        registered: Timestamp(1),
        approved: None,
        ended: None,
        sign_count: 0,
        used: None,
    };
    let changed = Passkey {
        approved: Some(act("chris", 2)),
        ended: Some(act("anna", 3)),
        sign_count: u32::MAX,
        used: Some(Timestamp(4)),
        ..passkey("b")
    };
    let store: &dyn HostStore = session.store();
    for id in ["b", "a", "c"] {
        store.add_passkey(&passkey(id)).expect("a passkey");
    }
    store
        .add_passkey(&passkey("a"))
        .expect_err("its id is taken");
    store.change_passkey(&changed).expect("its state");
    store.remove_passkey("c").expect("it is removed");
    twice(&mut session, |store| {
        let found = store.passkeys().expect("passkeys");
        assert_eq!(found, [passkey("a"), changed.clone()]);
    });
}

/// An operation ends once.
pub fn operations_are_kept<B: Backend<Store: HostStore>>() {
    let mut session = Session::<B>::default();
    let operation = |id, about: &str, outcome| Operation {
        id,
        at: Timestamp(id),
        person: "maya".to_owned(),
        operator: "maya".to_owned(),
        action: "release-apply".to_owned(),
        about: about.to_owned(),
        note: AWKWARD.to_owned(),
        outcome,
    };
    let store: &dyn HostStore = session.store();
    assert_eq!(store.last_operation().expect("none"), 0);
    let refused = Some(Outcome::Refused(AWKWARD.to_owned()));
    for one in [
        operation(1, "release 1", None),
        operation(2, "rule %_\\", refused.clone()),
        operation(3, "release 2", None),
    ] {
        store.add_operation(&one).expect("an operation");
    }
    store
        .add_operation(&operation(3, "again", None))
        .expect_err("its number is taken");
    let done = Outcome::Done("release 1".to_owned());
    store.end_operation(1, &done).expect("its end");
    store
        .end_operation(1, &Outcome::Failed(String::new()))
        .expect("it has ended already");
    twice(&mut session, |store| {
        let all = [
            operation(1, "release 1", Some(done.clone())),
            operation(2, "rule %_\\", refused.clone()),
            operation(3, "release 2", None),
        ];
        assert_eq!(store.operations("", 9).expect("all"), all);
        assert_eq!(store.operations("", 2).expect("the newest"), all[1..]);
        assert_eq!(store.operations("%_", 9).expect("those about"), all[1..2]);
        assert_eq!(store.last_operation().expect("the last"), 3);
    });
}

/// The last file that was noted.
pub fn the_file_of_peoples_keys_is_kept<B: Backend<Store: HostStore>>() {
    let mut session = Session::<B>::default();
    let keys = |shreddings| PeopleKeys {
        id: [7; 16],
        shreddings,
    };
    let store: &dyn HostStore = session.store();
    assert_eq!(store.people_keys().expect("none"), None);
    for shreddings in [0, 0, 3] {
        store.set_people_keys(keys(shreddings)).expect("a file");
    }
    twice(&mut session, |store| {
        assert_eq!(store.people_keys().expect("a file"), Some(keys(3)));
    });
}

/// Entries come with groups. Tiles and checkpoints follow them.
pub fn the_audit_log_is_read_and_proven<B: Backend<Store: HostStore>>() {
    let mut session = Session::<B>::default();
    let body = |n: u64| format!("{{\"kind\":\"k{}\",\"n\":{n},\"who\":\"é\"}}", n % 2);
    let mut some = group(1);
    some.audit = (0..10)
        .map(|n| AuditEntry {
            at: Timestamp(100 + n),
            body: body(n).into(),
        })
        .collect();
    session.write(&some);
    session.reopen();
    let checkpoint = |size| StoredCheckpoint {
        size,
        at: Timestamp(size),
        note: AWKWARD.to_owned(),
    };
    let tile = |index, byte| StoredTile {
        level: 0,
        index,
        hashes: vec![byte; 64],
    };
    let store: &dyn HostStore = session.store();
    assert_eq!(store.last_audit_checkpoint().expect("none"), None);
    store
        .add_audit_checkpoint(&checkpoint(4), &[tile(0, 1)], None)
        .expect("a checkpoint");
    let both = [tile(0, 2), tile(1, 3)];
    store
        .add_audit_checkpoint(&checkpoint(9), &both, Some(4))
        .expect("a checkpoint");
    store.set_audit_sent(6).expect("what was sent");
    twice(&mut session, |store| {
        assert_eq!(store.audit_size().expect("the size"), 10);
        assert!(store.audit_is_flushed().expect("whether it is flushed"));
        assert_eq!(store.first_audit_entry().expect("the first"), Some(0));
        assert_eq!(store.audit_index_of(Timestamp(104)).expect("an index"), 4);
        assert_eq!(store.audit_index_of(Timestamp(999)).expect("the end"), 10);
        let entries = store.audit_entries(8, 9).expect("entries");
        let found: Vec<_> = entries
            .iter()
            .map(|e| (e.index, e.at.0, &*e.body))
            .collect();
        assert_eq!(found, [(8, 108, &*body(8)), (9, 109, &*body(9))]);
        let filter = EntryFilter {
            since: Some(102),
            until: Some(109),
            texts: vec![
                vec!["absent".to_owned(), "\"k1\"".to_owned()],
                vec!["é".to_owned()],
            ],
            without_head: None,
        };
        let indexes = |filter: &EntryFilter, limit| {
            let found = store.search_audit(filter, (0, 10), limit).expect("entries");
            found.iter().map(|entry| entry.index).collect::<Vec<_>>()
        };
        assert_eq!(indexes(&filter, 9), [3, 5, 7]);
        assert_eq!(indexes(&filter, 2), [3, 5]);
        let others = EntryFilter {
            texts: Vec::new(),
            without_head: Some("\"k1\""),
            ..filter
        };
        assert_eq!(indexes(&others, 9), [2, 4, 6, 8]);
        let tile = |index| store.audit_tile(0, index).expect("a tile");
        assert_eq!(
            [tile(0), tile(1), tile(2)],
            [Some(vec![2; 64]), Some(vec![3; 64]), None]
        );
        let last = store.last_audit_checkpoint().expect("the last");
        assert_eq!(last, Some(checkpoint(9)));
        assert_eq!(store.audit_sent().expect("what was sent"), 6);
    });
}
