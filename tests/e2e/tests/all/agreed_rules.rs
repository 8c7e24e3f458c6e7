//! A transfer is judged by the rules under which its quote was agreed, also after a release that has other ones, and a
//! restart; not after that release was rolled back.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use rialto_simulator::fsp::{Quote, TransferOrder};
use rialto_tests::{TestScheme, World, WorldOptions};
use serde_json::{Value, json};

/// The limit of transfers in USD in the scheme; that of quotes is before it, and the same.
const LIMIT: &str = r#"{ currency = "USD", scenario = "*", minimum = "0.01", maximum = "10000" }"#;

/// Makes a scheme current in which transfers have another limit.
fn apply(world: &World, scheme: &TestScheme, maximum: &str) {
    let other = LIMIT.replace("10000", maximum);
    scheme
        .edit_with(|text| {
            let at = text.rfind(LIMIT).unwrap();
            format!("{}{other}{}", &text[..at], &text[at + LIMIT.len()..])
        })
        .unwrap();
    let folder = scheme.path().to_str().unwrap();
    let applied = world.host.cli(&["release", "apply", folder]).unwrap();
    applied.success().unwrap();
}

async fn quote(world: &World) -> Quote {
    let (payer, request) = (world.payer(), world.request("50", "USD"));
    let (found, _) = payer.lookup(&request.to).await.unwrap();
    let order = payer.quote_order(&request, &found).unwrap();
    payer.quote(&order).await.unwrap().0
}

/// Sends the transfer of a quote. Returns its id, and whether it was committed; otherwise a rule has refused it.
async fn transfer(world: &World, quote: &Quote) -> (String, bool) {
    let order: TransferOrder = world.payer().transfer_order(quote);
    let id = order.transfer_id.clone();
    match world.payer().transfer(&order).await {
        Ok((result, _)) => (id, result.state == "COMMITTED"),
        Err(failure) => {
            let text = format!("{failure:?}");
            assert!(text.contains("4200"), "{text}");
            (id, false)
        }
    }
}

/// The receipt of the rule of limits about a transfer.
fn receipt(world: &World, id: &str) -> Value {
    let said = world.host.cli(&["receipts", id, "--again", "--json"]);
    let said = said.unwrap().success().unwrap();
    let mut receipts = said
        .lines()
        .map(|line| -> Value { serde_json::from_str(line).unwrap() });
    let found = receipts
        .find(|one| one["receipt"]["rule"] == "amount-limits")
        .unwrap();
    assert_eq!(found["again"]["same"], true, "{found:#}");
    found["receipt"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transfer_is_judged_by_the_rules_of_its_quote() {
    let mut world = World::of(TestScheme::demo().unwrap(), &WorldOptions::default())
        .await
        .unwrap();
    let first = [
        quote(&world).await,
        quote(&world).await,
        quote(&world).await,
    ];
    let stricter = world.scheme.twin().unwrap();
    apply(&world, &stricter, "20");

    // The quotes were agreed before, so their transfers go through; one that is agreed now does not.
    let (id, committed) = transfer(&world, &first[0]).await;
    assert!(committed);
    let judged = receipt(&world, &id);
    assert_eq!(
        (&judged["release"], &judged["agreed"]["judged"]),
        (&json!(1), &json!("agreed"))
    );
    let (id, committed) = transfer(&world, &quote(&world).await).await;
    assert!(!committed);
    let judged = receipt(&world, &id);
    assert_eq!(
        (&judged["release"], &judged["agreed"]),
        (&json!(2), &json!(null))
    );

    // Also after a restart.
    tokio::task::block_in_place(|| {
        world.host.kill()?;
        world.host.restart()
    })
    .unwrap();
    let (id, committed) = transfer(&world, &first[1]).await;
    assert!(committed);
    assert_eq!(receipt(&world, &id)["release"], 1);

    // What was agreed under a release that is rolled back is judged by the one in force.
    let laxer = world.scheme.twin().unwrap();
    apply(&world, &laxer, "10001");
    let agreed = quote(&world).await;
    let back = world.host.cli(&["release", "rollback", "2"]).unwrap();
    back.success().unwrap();
    let (id, committed) = transfer(&world, &agreed).await;
    assert!(!committed);
    let judged = receipt(&world, &id);
    assert_eq!(
        (&judged["release"], &judged["agreed"]["judged"]),
        (&json!(2), &json!("rolled-back"))
    );
    // The first one never was rolled back.
    assert!(transfer(&world, &first[2]).await.1);
    world.no_complaints().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rule_that_is_always_the_newest_judges_what_was_agreed_before() {
    let scheme = TestScheme::demo().unwrap();
    let rule = "[rules.amount-limits]\n";
    scheme
        .edit(rule, &format!("{rule}always-newest = true\n"))
        .unwrap();
    let world = World::of(scheme, &WorldOptions::default()).await.unwrap();
    let agreed = quote(&world).await;
    let stricter = world.scheme.twin().unwrap();
    apply(&world, &stricter, "20");
    let (id, committed) = transfer(&world, &agreed).await;
    assert!(!committed);
    let judged = receipt(&world, &id);
    assert_eq!(
        (&judged["release"], &judged["agreed"]["judged"]),
        (&json!(2), &json!("always-newest"))
    );
}

/// What was in force, and what stood, at an instant in milliseconds since 1970.
fn as_of(world: &World, id: &str, at: u64) -> Value {
    let instant = jiff::Timestamp::from_millisecond(i64::try_from(at).unwrap()).unwrap();
    let instant = instant.to_string();
    let command = ["verdict", id, "--as-of", &instant, "--json"];
    let said = world.host.cli(&command).unwrap().success().unwrap();
    serde_json::from_str(&said).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verdict_says_what_was_in_force_and_what_stood() {
    let world = World::of(TestScheme::demo().unwrap(), &WorldOptions::default())
        .await
        .unwrap();
    let (id, committed) = transfer(&world, &quote(&world).await).await;
    assert!(committed);
    let stricter = world.scheme.twin().unwrap();
    apply(&world, &stricter, "20");
    let said = world.host.cli(&["receipts", &id, "--json"]).unwrap();
    let said = said.success().unwrap();
    let receipts = said
        .lines()
        .map(|line| -> Value { serde_json::from_str(line).unwrap() });
    let judged = receipts
        .filter(|one| one["receipt"]["rule"] == "amount-limits")
        .map(|one| one["at"].as_u64().unwrap());
    let judged = judged.min().unwrap();
    let said = world.host.cli(&["release", "list", "--json"]).unwrap();
    let releases: Vec<Value> = serde_json::from_str(&said.success().unwrap()).unwrap();
    let second = releases.iter().find(|one| one["number"] == 2).unwrap();
    let applied = second["activations"][0]["at"].as_u64().unwrap();

    let of_prepare = |found: &Value| {
        let steps = found["steps"].as_array().unwrap();
        let mut steps = steps.iter();
        let found = steps.find(|one| one["step"] == "transfer-prepare-check");
        found.unwrap().clone()
    };
    let maximum = |step: &Value| {
        let mut rules = step["inForce"].as_array().unwrap().iter();
        let limits = rules.find(|one| one["rule"] == "amount-limits").unwrap();
        limits["settings"]["limits"][0]["maximum"].clone()
    };
    // Before it was judged, the first release was in force, and nothing stood.
    let found = as_of(&world, &id, judged - 1);
    let step = of_prepare(&found);
    assert_eq!(
        (&found["release"], &maximum(&step), &step["stood"]),
        (&json!(1), &json!("10000"), &Value::Null),
        "{found:#}"
    );
    let found = as_of(&world, &id, judged);
    let stood = &of_prepare(&found)["stood"];
    assert_eq!(
        (&stood["at"], &stood["allows"]),
        (&json!(judged), &json!(true)),
        "{found:#}"
    );
    // With the second release its rules are in force, and what the first one has decided stands.
    let found = as_of(&world, &id, applied);
    let step = of_prepare(&found);
    assert_eq!(
        (&found["release"], &maximum(&step), &step["stood"]["allows"]),
        (&json!(2), &json!("20"), &json!(true)),
        "{found:#}"
    );
    assert_eq!(step["stood"]["verdicts"][0]["release"], 1, "{found:#}");
    let said = world.host.cli(&["verdict", &id]).unwrap();
    let said = said.success().unwrap();
    assert!(
        said.contains("release 2 was current") && said.contains("(of release 1): allow"),
        "{said}"
    );
    let said = world.host.cli(&["verdict", "unknown"]).unwrap();
    assert_eq!(said.code, 1, "{said}");
}
