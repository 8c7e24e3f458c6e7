//! Changes that nobody decides, that their makers take back, and that are over.

use serde_json::{Value, json};

use super::fake::{Fake, NOW};

const DAY: u64 = 86_400_000;
const APPROVE: &str = r#"{"decision":"APPROVE"}"#;
const MAKER: [&str; 1] = ["maker"];

fn kind(said: &Value) -> &str {
    let kind = said["type"].as_str().unwrap_or("none");
    kind.strip_prefix("urn:rialto:problem:").unwrap_or(kind)
}

/// Maya asks for a role for somebody.
fn asked(fake: &mut Fake, who: &str) -> (u16, Value) {
    let subject = format!("operator/{who}");
    let change = json!({ "roleAssignment": { "subject": subject, "add": ["maker"] } });
    let body = json!({ "change": change, "reason": "r" }).to_string();
    fake.ask("maya", &MAKER, "askAuthorizationChange", &body)
}

fn ask(fake: &mut Fake, who: &str) -> String {
    let (status, said) = asked(fake, who);
    assert_eq!(status, 202, "{said}");
    said["id"].as_str().unwrap().to_owned()
}

fn decide(fake: &mut Fake, id: &str) -> (u16, Value) {
    let operation = format!("decideAuthorizationChange {id}");
    fake.ask("chris", &["checker"], &operation, APPROVE)
}

fn withdraw(fake: &mut Fake, who: &str, id: &str) -> (u16, Value) {
    let operation = format!("withdrawAuthorizationChange {id}");
    fake.ask(who, &MAKER, &operation, "{}")
}

/// Ids and states of all changes.
fn states(fake: &mut Fake) -> Vec<(String, String)> {
    let (status, page) = fake.ask("anna", &["reader"], "listAuthorizationChanges", "");
    assert_eq!(status, 200, "{page}");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let items = page["items"].as_array().unwrap().iter();
    items
        .map(|item| (text(&item["id"]), text(&item["state"])))
        .collect()
}

fn kept(fake: &Fake, collection: &str) -> usize {
    let keys = fake.store.0.keys();
    keys.filter(|(of, _)| of == collection).count()
}

#[test]
fn change_lapses_after_seven_days() {
    let mut fake = Fake::new();
    let id = ask(&mut fake, "anna");
    fake.later = 7 * DAY - 1;
    let expected = vec![(id.clone(), "PENDING".to_owned())];
    assert_eq!(states(&mut fake), expected);
    fake.later = 7 * DAY;
    let before = fake.store.clone();
    let expected = vec![(id.clone(), "LAPSED".to_owned())];
    assert_eq!(states(&mut fake), expected);
    for (status, said) in [decide(&mut fake, &id), withdraw(&mut fake, "maya", &id)] {
        assert_eq!((status, kind(&said)), (409, "already-decided"));
        assert_eq!(said["state"], "LAPSED");
    }
    assert_eq!(fake.store, before);
    assert!(fake.events.is_empty());
    assert!(fake.may("anna", &[], "settle").is_err());
    // Another one about the same can be asked for, and approved.
    let again = ask(&mut fake, "anna");
    assert_eq!(decide(&mut fake, &again).0, 200);
    let expected = vec![(id, "LAPSED".to_owned()), (again, "APPROVED".to_owned())];
    assert_eq!(states(&mut fake), expected);
    assert!(fake.may("anna", &[], "settle").is_ok());
}

#[test]
fn maker_alone_withdraws_a_change() {
    let mut fake = Fake::new();
    let id = ask(&mut fake, "anna");
    let (status, said) = withdraw(&mut fake, "lena", &id);
    assert_eq!((status, kind(&said)), (403, "request-foreign"));
    let (status, said) = withdraw(&mut fake, "maya", "unknown");
    assert_eq!((status, kind(&said)), (404, "request-unknown"));
    fake.later = 5;
    let (status, said) = withdraw(&mut fake, "maya", &id);
    assert_eq!(status, 200, "{said}");
    assert_eq!(
        (&said["state"], &said["withdrawnAt"], &said["lapsesAt"]),
        (&json!("WITHDRAWN"), &json!(NOW + 5), &json!(NOW + 7 * DAY))
    );
    for (status, said) in [decide(&mut fake, &id), withdraw(&mut fake, "maya", &id)] {
        assert_eq!((status, kind(&said)), (409, "already-decided"));
        assert_eq!(said["state"], "WITHDRAWN");
    }
    assert!(fake.may("anna", &[], "settle").is_err());
    // It keeps nobody from asking again, and does not lapse later.
    let again = ask(&mut fake, "anna");
    fake.later = 8 * DAY;
    ask(&mut fake, "ben");
    let states = states(&mut fake);
    assert_eq!(states[0], (id, "WITHDRAWN".to_owned()));
    assert_eq!(states[1], (again, "LAPSED".to_owned()));
}

#[test]
fn finished_changes_are_removed_after_their_time() {
    let mut fake = Fake::new();
    let approved = ask(&mut fake, "anna");
    assert_eq!(decide(&mut fake, &approved).0, 200);
    let withdrawn = ask(&mut fake, "ben");
    assert_eq!(withdraw(&mut fake, "maya", &withdrawn).0, 200);
    let lapsed = ask(&mut fake, "carl");
    fake.later = 8 * DAY;
    ask(&mut fake, "dora");
    fake.later = 400 * DAY - 1;
    ask(&mut fake, "emil");
    let ids: Vec<String> = states(&mut fake).into_iter().map(|(id, _)| id).collect();
    assert!(ids.contains(&approved) && ids.contains(&withdrawn));
    fake.later = 400 * DAY;
    ask(&mut fake, "finn");
    let ids: Vec<String> = states(&mut fake).into_iter().map(|(id, _)| id).collect();
    assert!(!ids.contains(&approved) && !ids.contains(&withdrawn));
    // It lapsed on the seventh day.
    assert!(ids.contains(&lapsed));
    fake.later = 407 * DAY;
    ask(&mut fake, "gina");
    let ids: Vec<String> = states(&mut fake).into_iter().map(|(id, _)| id).collect();
    assert!(!ids.contains(&lapsed));
    // What was approved holds, though its change is gone.
    assert!(fake.may("anna", &[], "settle").is_ok());
    assert_eq!(kept(&fake, "changes-due"), ids.len());
}

#[test]
fn changes_that_nobody_decides_do_not_add_up() {
    let mut fake = Fake::new();
    for week in 0..100 {
        fake.later = week * 10 * DAY;
        for n in 0..5 {
            ask(&mut fake, &format!("w{week}n{n}"));
        }
    }
    let most = 5 * 42;
    assert!(kept(&fake, "changes") <= most, "{}", kept(&fake, "changes"));
    assert!(kept(&fake, "changes-due") <= most);
    assert!(kept(&fake, "pending-changes") <= 10);
}
