//! Facts that accounts depend on do not change.

use super::*;

fn other(hub: &str, usd: u8, tzs: u8) -> Scheme {
    let text = format!(
        r#"{{"name":"demo","hub":"{hub}",
            "currencies":[{{"code":"USD","scale":{usd}}},{{"code":"TZS","scale":{tzs}}}]}}"#
    );
    serde_json::from_str(&text).unwrap()
}

/// With an account in USD.
fn world() -> Fake {
    let mut world = Fake::new();
    bring_in(&mut world, &scheme(USD, "http://h"), 1);
    world
}

#[test]
#[should_panic(expected = "the release has USD with 3 decimal places, but its accounts have 2")]
fn another_scale_of_a_currency_in_use_stops_the_release() {
    bring_in_with(&mut world(), &other("Hub", 3, 0), &[], 2);
}

#[test]
#[should_panic(expected = "the release names the hub \"Switch\"")]
fn another_name_of_the_hub_stops_the_release() {
    bring_in_with(&mut world(), &other("Switch", 2, 0), &[], 2);
}

#[test]
#[should_panic(expected = "but its accounts have 2")]
fn older_store_without_facts_has_its_accounts_examined() {
    let mut world = world();
    world.store.0.retain(|(of, _), _| of != "kept-currencies");
    bring_in_with(&mut world, &other("Hub", 3, 0), &scheme("", "http://h"), 2);
}

#[test]
#[should_panic(expected = "but its accounts have 2")]
fn removed_currency_returns_unchanged() {
    let mut world = world();
    let without: Scheme =
        serde_json::from_str(r#"{"name":"demo","hub":"Hub","currencies":[]}"#).unwrap();
    bring_in_with(&mut world, &without, &scheme("", "http://h"), 2);
    bring_in_with(&mut world, &other("Hub", 2, 0), &[], 3);
    bring_in_with(&mut world, &without, &[], 4);
    bring_in_with(&mut world, &other("Hub", 1, 0), &[], 5);
}

#[test]
fn what_no_account_uses_may_change() {
    let mut world = world();
    bring_in_with(&mut world, &other("Hub", 2, 2), &[], 2);
    let changes = bring_in_with(&mut world, &other("Hub", 2, 2), &scheme(TZS, "http://h"), 3);
    assert_eq!(changes, ["participant payerfsp: accounts opened in TZS"]);
    assert_eq!(world.book("payerfsp", "TZS").scale, 2);
    let mut nobody = Fake::new();
    bring_in_with(&mut nobody, &other("Hub", 2, 0), &[], 1);
    bring_in_with(&mut nobody, &other("Switch", 3, 2), &[], 2);
}

#[test]
fn older_store_keeps_facts_from_the_next_release_on() {
    let mut world = world();
    world.store.0.retain(|(of, _), _| of != "kept-currencies");
    bring_in(&mut world, &scheme(USD, "http://h"), 2);
    let kept = &world.documents("kept-currencies")["USD"];
    assert_eq!(*kept, serde_json::json!({ "hub": "Hub", "scale": 2 }));
}

#[test]
#[should_panic(expected = "the release has TZS with 2 decimal places")]
fn currency_used_between_steps_stops_the_release() {
    let mut world = world();
    let mut all = numbered(STEP as usize + 1);
    all[STEP as usize].accounts = scheme(TZS, "http://h").remove(0).accounts;
    let facts = other("Hub", 2, 2);
    let manifest = (&facts, &listed(&all) as &dyn Fn(u32, u32) -> _);
    let (_, more) = activation::step(&mut world, manifest, 2, 0);
    assert!(more);
    activation::facts::keep(&mut world, "Hub", "TZS", 0);
    activation::step(&mut world, manifest, 2, 1);
}
