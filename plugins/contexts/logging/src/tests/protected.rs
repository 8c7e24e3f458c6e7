//! Entries that are signed and encrypted.

use super::*;

fn protecting(signed: bool, encrypted: bool) -> Fake {
    let mut fake = Fake::default();
    fake.settings.signed = signed;
    fake.settings.encrypted = encrypted;
    fake
}

/// The items of all entries.
fn items(fake: &mut Fake) -> Vec<Value> {
    let (status, body) = fake.asks("rita", "searchLog", &json!({ "since": 0 }));
    assert_eq!(status, 200, "{body}");
    body["items"].as_array().unwrap().clone()
}

/// All documents of entries.
fn stored(fake: &mut Fake) -> Vec<(String, Entry)> {
    ENTRIES
        .within(fake)
        .scan(&Range::All, None, 1_000)
        .documents
}

#[test]
fn entries_are_read_as_they_were_written() {
    for (signed, encrypted) in [(false, true), (true, false), (true, true)] {
        let mut fake = protecting(signed, encrypted);
        fake.says("the vault is open");
        fake.says("it is closed");
        let in_the_clear = stored(&mut fake)
            .iter()
            .filter(|(_, entry)| entry.message.contains("vault"))
            .count();
        assert_eq!(in_the_clear == 0, encrypted);
        let all = items(&mut fake);
        assert_eq!(all[1]["message"], "the vault is open", "{all:?}");
        for item in &all {
            let expected = if signed { json!(true) } else { Value::Null };
            assert_eq!(item["verified"], expected, "{item}");
            assert!(item.get("sealed").is_none() && item.get("signature").is_none());
            assert!(item.get("problem").is_none(), "{item}");
        }
        let text = json!({ "since": 0, "text": "vault" });
        assert_eq!(fake.found(&text), ["the vault is open"]);
        // One key for each use.
        assert_eq!(fake.keys, u32::from(signed) + u32::from(encrypted));
    }
}

#[test]
fn changed_entry_is_told_as_such() {
    let change = |fake: &mut Fake, change: &dyn Fn(&mut Entry)| {
        let (id, mut entry) = stored(fake).remove(0);
        change(&mut entry);
        ENTRIES.within(fake).put(&id, &entry);
        items(fake).remove(0)
    };
    let changes: [&dyn Fn(&mut Entry); 4] = [
        &|entry| entry.level = crate::entries::Level::Debug,
        &|entry| entry.writer = "somebody".to_owned(),
        &|entry| entry.at += 1,
        &|entry| entry.signature = None,
    ];
    for (encrypted, forged) in [false, true]
        .into_iter()
        .flat_map(|e| changes.map(|c| (e, c)))
    {
        let mut fake = protecting(true, encrypted);
        fake.says("m");
        let item = change(&mut fake, forged);
        assert_eq!(item["verified"], false, "{item}");
        assert!(item["problem"].is_string(), "{item}");
    }
    let mut fake = protecting(true, false);
    fake.says("m");
    let item = change(&mut fake, &|entry| entry.message = "other".to_owned());
    assert_eq!(item["verified"], false, "{item}");
    // The message of one entry is none of another.
    let mut fake = protecting(false, true);
    fake.says("one");
    fake.says("two");
    let other = stored(&mut fake).remove(1).1.sealed;
    let item = change(&mut fake, &|entry| entry.sealed.clone_from(&other));
    let problem = item["problem"].as_str().unwrap();
    assert_eq!(
        (&item["message"], &item["verified"]),
        (&"".into(), &false.into())
    );
    assert!(problem.contains("was changed"), "{item}");
    // A whole entry that was moved to another id.
    let mut fake = protecting(true, false);
    fake.says("one");
    let (_, entry) = stored(&mut fake).remove(0);
    let moved = entry.id.replace("-f", "-0");
    ENTRIES.within(&mut fake).put(&moved, &entry);
    let verified: Vec<Value> = items(&mut fake)
        .iter()
        .map(|item| item["verified"].clone())
        .collect();
    assert_eq!(verified, [json!(false), json!(true)]);
}

#[test]
fn entries_from_before_the_settings_are_told_apart() {
    let mut fake = Fake::default();
    fake.says("early");
    assert!(items(&mut fake)[0].get("verified").is_none());
    fake.settings.signed = true;
    let early = items(&mut fake).remove(0);
    assert_eq!(early["verified"], false);
    assert_eq!(early["problem"], "it has no signature");
    // What was signed is verified, also when new entries are not signed.
    fake.now += 1;
    fake.says("signed");
    fake.settings.signed = false;
    let all = items(&mut fake);
    assert_eq!(
        (all[0].get("verified"), &all[1]["verified"]),
        (None, &json!(true))
    );
}

#[test]
fn new_key_takes_the_place_of_one_that_is_gone() {
    let mut fake = protecting(true, true);
    fake.says("one");
    fake.lost = vec!["Sign-1".to_owned(), "Encrypt-2".to_owned()];
    fake.now += 1;
    fake.says("two");
    let all = items(&mut fake);
    assert_eq!(
        (&all[0]["verified"], &all[0]["message"]),
        (&json!(false), &"".into())
    );
    assert_eq!(
        (&all[1]["verified"], &all[1]["message"]),
        (&json!(true), &"two".into())
    );
}

#[test]
fn without_a_key_nothing_is_written_in_the_clear() {
    let mut fake = protecting(false, true);
    fake.is_away = true;
    let said = json!({ "level": "INFO", "message": "m" });
    let (status, body) = fake.asks("switch", "writeLogEntry", &said);
    assert_eq!(
        (status, &body["type"]),
        (503, &"urn:rialto:problem:provider-away".into())
    );
    let line = LogLine {
        time: 7,
        level: LineLevel::Info,
        component: "host".to_owned(),
        message: "m".to_owned(),
        trace: String::new(),
        target: "rialto".to_owned(),
    };
    told::of_lines(&mut fake, vec![line]);
    assert_eq!((fake.count(), fake.alerts.len()), (0, 1));
    // What is read meanwhile says why it cannot be.
    fake.is_away = false;
    fake.says("later");
    fake.is_away = true;
    let item = items(&mut fake).remove(0);
    assert_eq!(
        item["problem"],
        "the provider of its key does not answer now"
    );
}
