//! The story of a rule: an operator signs in, brings another build, changes a setting and sees the plan; another one approves,
//! and a payment that was allowed is refused.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use rialto_simulator::fsp::Step;
use rialto_tests::offers::{digest, other_code};
use rialto_tests::scenes::{committed, refused};
use serde_json::{Value, json};

use super::Scene;

/// The rule that is swapped.
const RULE: &str = "amount-limits";
/// Its place at a step of the draft.
pub(super) const BOUND: &str = "[data-step='quote-request-check'] [data-rule='amount-limits']";
/// Its limit of one currency in the form.
pub(super) const MAXIMUM: &str = "dialog input[name='limits.0.maximum']";

#[tokio::test(flavor = "multi_thread")]
async fn rule_is_swapped_in_the_console_by_two_persons() {
    let scene = Scene::of_two_persons().await;
    committed(&scene.world.pay("12.5", "USD").await).unwrap();
    // Another build, which refuses with another code.
    let file = other_code(&scene.world.scheme, RULE, "other", *b"4100").unwrap();

    let maker = scene.signed_in("anna").await;
    maker.open("releases").await;
    maker.shows("Make a release").await;
    maker.0.click("a[href='#/releases/new']").await;
    maker.has("input[name=file]").await;
    maker
        .0
        .write("input[name=file]", file.to_str().unwrap())
        .await;
    maker.has("form.brought").await;
    maker.press("form.brought", "Put it into the draft").await;
    maker
        .shows("amount-limits of the draft has the component.")
        .await;
    maker.press(BOUND, "Change").await;
    maker.has(MAXIMUM).await;
    maker.set(MAXIMUM, "input", "5").await;
    maker.press("dialog", "Keep in the draft").await;
    maker.has_not("dialog").await;
    maker.press("main", "Show what would change").await;
    maker
        .shows(r#"settings.limits[0].maximum = "10000" → "5""#)
        .await;
    maker.shows("component sha256:").await;
    maker.shows("A second person must approve it").await;

    // A plan changes nothing.
    committed(&scene.world.pay("12.5", "USD").await).unwrap();
    maker.press(".planned", "Propose").await;
    maker
        .0
        .write("dialog input[name=reason]", "less at a time")
        .await;
    maker.press("dialog", "Propose").await;
    maker.shows("waits for approval").await;
    let buttons = maker.buttons().await;
    assert!(!buttons.contains(&"Approve".to_owned()), "{buttons:?}");
    committed(&scene.world.pay("12.5", "USD").await).unwrap();

    let checker = scene.signed_in("ben").await;
    checker.open("releases/2").await;
    checker.shows("less at a time").await;
    checker.shows(r#""10000" → "5""#).await;
    checker.press("main", "Approve").await;
    checker.press("dialog", "Approve").await;
    checker.shows("New turns run on this release.").await;
    refused(&scene.world.pay("12.5", "USD").await, Step::Quote, "4100").unwrap();

    let release = scene.office.get("rita", "/releases/2").await.unwrap();
    let (maker, approver) = (&release["maker"], &release["approver"]);
    assert_eq!((maker, approver), (&json!("anna"), &json!("ben")));
    let component = &release["document"]["digests"]["rules"][RULE];
    assert_eq!(component, &Value::from(digest(&file).unwrap()));
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_of_a_draft_change_places_and_are_applied() {
    let scene = Scene::begin().await;
    let desk = scene.signed_in("anna").await;
    desk.open("releases/new").await;
    let step = "[data-step='transfer-prepare-check']";
    desk.has(step).await;
    let second = format!("{step} li:nth-child(2)");
    desk.press(&second, "↑").await;
    desk.has(&format!("{step} li:nth-child(1)[data-rule='{RULE}']"))
        .await;
    desk.set(&format!("{step} select"), "change", RULE).await;
    desk.press(step, "Bind").await;
    desk.has(&format!("{step} li:nth-child(3)[data-rule='{RULE}']"))
        .await;
    desk.press("main", "Undo").await;
    desk.has_not(&format!("{step} li:nth-child(3)")).await;
    desk.press("main", "Show what would change").await;
    desk.shows("It becomes current at once.").await;
    desk.press(".planned", "Apply").await;
    desk.0
        .write("dialog input[name=reason]", "the cheaper one first")
        .await;
    desk.press("dialog", "Apply").await;
    desk.shows("New turns run on this release.").await;
    let release = scene.office.get("rita", "/releases/2").await.unwrap();
    let text = release["document"]["text"].as_str().unwrap();
    let at = text.find("[[steps.transfer-prepare-check]]").unwrap();
    let first = text[at..].lines().nth(1).unwrap();
    assert_eq!(first, format!("rule = \"{RULE}\""), "{text}");
    committed(&scene.world.pay("12.5", "USD").await).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn draft_that_does_not_fit_changes_nothing() {
    let scene = Scene::begin().await;
    let desk = scene.signed_in("anna").await;
    desk.open("releases/new").await;
    desk.has(BOUND).await;
    desk.press(BOUND, "Change").await;
    desk.has(MAXIMUM).await;
    desk.set(MAXIMUM, "input", "<img src=x onerror=alert(1)>")
        .await;
    // The form knows the schema's pattern; the text does not.
    desk.press("dialog", "Edit as JSON").await;
    desk.press("dialog", "Keep in the draft").await;
    desk.has_not("dialog").await;
    desk.press("main", "Show what would change").await;
    desk.shows("Nothing was changed.").await;
    // What is no component is refused.
    let file = scene.world.scheme.path().join("nothing.wasm");
    std::fs::write(&file, b"\0asm and no more").unwrap();
    desk.0
        .write("input[name=file]", file.to_str().unwrap())
        .await;
    desk.has("main section:first-of-type [role=alert] .problem-title")
        .await;
    let releases = scene.office.get("rita", "/releases").await.unwrap();
    assert_eq!(releases.as_array().unwrap().len(), 1);
    // A reader is refused by hand.
    for path in ["/releases/draft", "/releases/plan"] {
        let draft = json!({ "release": 1 });
        let said = scene.office.post("rita", path, &draft).await.unwrap();
        assert_eq!(said.status, 403, "{path}: {said:?}");
    }
}
