//! Changing what a running host runs: rules swapped under load, plans, settings, rollbacks.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rialto_simulator::fsp::Step;
use rialto_simulator::{Fsp, PaymentOutcome, PaymentRequest};
use rialto_tests::offers::{Broken, another_build};
use rialto_tests::scenes::{committed, refused};
use rialto_tests::text::without_digests;
use rialto_tests::waiting::until;
use rialto_tests::world::PAYEE;
use rialto_tests::{CliOutput, RunningHost, TestScheme, World, WorldOptions};
use serde_json::Value;
use tokio::task::JoinHandle;

/// The rule that is swapped.
const RULE: &str = "amount-limits";
/// How often it is swapped.
const SWAPS: usize = 20;
/// Every so many swaps, the offer is a broken one.
const BROKEN_EVERY: usize = 4;
/// Payments in flight meanwhile.
const IN_FLIGHT: usize = 3;
/// Payments that each release must see.
const PAYMENTS_EACH: usize = 2;
/// Longer than a few payments take.
const SOON: Duration = Duration::from_secs(30);

/// Payments one after the other, to each of the payee's parties, until they are told to stop.
struct Load {
    stop: Arc<AtomicBool>,
    done: Arc<AtomicUsize>,
    payers: Vec<JoinHandle<Vec<PaymentOutcome>>>,
}

impl Load {
    fn start(world: &World) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let done = Arc::new(AtomicUsize::new(0));
        let payers = world.parties(PAYEE).iter().map(|party| {
            let request = PaymentRequest::new(party.clone(), "1", "USD");
            tokio::spawn(pay_on(
                world.payer().clone(),
                request,
                stop.clone(),
                done.clone(),
            ))
        });
        Self {
            payers: payers.collect(),
            stop,
            done,
        }
    }

    /// Wait until so many more payments have ended.
    async fn payments(&self, more: usize) {
        let wanted = self.done.load(Ordering::Relaxed) + more;
        until("payments under load", SOON, async || {
            let done = self.done.load(Ordering::Relaxed);
            Ok(if done >= wanted {
                Ok(())
            } else {
                Err(format!("{done} of {wanted}"))
            })
        })
        .await
        .unwrap();
    }

    async fn stop(self) -> Vec<PaymentOutcome> {
        self.stop.store(true, Ordering::Relaxed);
        let mut outcomes = Vec::new();
        for payer in self.payers {
            outcomes.extend(payer.await.unwrap());
        }
        outcomes
    }
}

async fn pay_on(
    payer: Fsp,
    request: PaymentRequest,
    stop: Arc<AtomicBool>,
    done: Arc<AtomicUsize>,
) -> Vec<PaymentOutcome> {
    let mut outcomes = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        outcomes.push(payer.pay(&request).await);
        done.fetch_add(1, Ordering::Relaxed);
    }
    outcomes
}

/// All releases, as JSON.
fn releases(host: &RunningHost) -> Vec<Value> {
    let text = host
        .cli(&["release", "list", "--json"])
        .unwrap()
        .success()
        .unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The number of the current release.
fn current(host: &RunningHost) -> u64 {
    let all = releases(host);
    let current: Vec<u64> = all
        .iter()
        .filter(|release| release["current"] == true)
        .map(|release| release["number"].as_u64().unwrap())
        .collect();
    assert_eq!(current.len(), 1, "exactly one release is current: {all:?}");
    current[0]
}

/// What the refusal of a broken offer says.
fn reason(broken: Broken) -> &'static str {
    match broken {
        Broken::Truncated | Broken::CoreModule | Broken::PlainText => {
            "amount-limits: is no component that this host can run"
        }
        Broken::NoRule => "amount-limits: ",
        Broken::OtherCodes => "4299",
    }
}

/// Offer a broken component: it is refused with a reason, and nothing changes.
fn offer_broken(world: &World, broken: Broken) {
    let before = releases(&world.host);
    let file = broken.file(&world.scheme, RULE).unwrap();
    let output = world
        .host
        .cli(&["plugin", "swap", RULE, file.to_str().unwrap()])
        .unwrap();
    assert_eq!(output.code, 1, "{broken:?}: {output}");
    assert!(
        output.stderr.contains(reason(broken)),
        "{broken:?}: {output}"
    );
    assert_eq!(releases(&world.host), before, "{broken:?}");
}

/// Swap the rule for another build. Answers the beginning of the new digest.
fn swap(world: &World, mark: &str) -> String {
    let file = another_build(&world.scheme, RULE, mark).unwrap();
    let said = world
        .host
        .cli(&["plugin", "swap", RULE, file.to_str().unwrap()])
        .unwrap();
    let said = said.success().unwrap();
    let change = "  ~ rule amount-limits: component ";
    let line = said.lines().find(|line| line.starts_with(change));
    let line = line.unwrap_or_else(|| panic!("the swap does not name its change: {said}"));
    line.rsplit(' ').next().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_is_swapped_under_load_and_no_payment_suffers() {
    let options = WorldOptions {
        parties_each: IN_FLIGHT,
        ..WorldOptions::default()
    };
    let world = World::of(TestScheme::demo().unwrap(), &options)
        .await
        .unwrap();
    // Payments that take a while span releases, and leave no more receipts than can be asked again.
    world
        .payee_behaves(r#"{"transfer":{"delay":"250ms"}}"#)
        .unwrap();
    let load = Load::start(&world);
    load.payments(PAYMENTS_EACH).await;
    // The digest of the rule in each release.
    let mut digests: BTreeMap<u64, String> = BTreeMap::new();
    let mut broken = Broken::ALL.into_iter();
    for turn in 1..=SWAPS {
        if turn % BROKEN_EVERY == 0 {
            offer_broken(&world, broken.next().unwrap());
        } else {
            let digest = swap(&world, &turn.to_string());
            digests.insert(current(&world.host), digest);
        }
        load.payments(PAYMENTS_EACH).await;
    }
    assert_eq!(broken.next(), None, "every kind of broken offer was made");
    let outcomes = load.stop().await;
    for outcome in &outcomes {
        committed(outcome).unwrap();
    }
    assert_eq!(current(&world.host), 16);
    let books = world.settled_books().await.unwrap();
    assert_eq!(books.problems().unwrap(), Vec::<String>::new());
    world.no_complaints().unwrap();

    let mut seen: BTreeMap<u64, usize> = BTreeMap::new();
    for outcome in &outcomes {
        for id in [&outcome.quote_id, &outcome.transfer_id] {
            for receipt in receipts(&world.host, id) {
                let release = receipt["receipt"]["release"].as_u64().unwrap();
                *seen.entry(release).or_default() += 1;
                check_receipt(&receipt, digests.get(&release).map(String::as_str));
            }
        }
    }
    println!(
        "{} payments; receipts of each release: {seen:?}",
        outcomes.len()
    );
    assert_eq!(seen.len(), 16, "every release has judged: {seen:?}");
}

/// The receipts about a quote or a transfer, each with what its rule says when it is asked again.
fn receipts(host: &RunningHost, id: &str) -> Vec<Value> {
    let text = host
        .cli(&["receipts", id, "--again", "--json"])
        .unwrap()
        .success()
        .unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// A receipt names the bytes that were current, and they say the same again at the same cost.
fn check_receipt(filed: &Value, digest: Option<&str>) {
    let (receipt, again) = (&filed["receipt"], &filed["again"]);
    if receipt["rule"] == RULE
        && let Some(digest) = digest
    {
        let named = receipt["digest"].as_str().unwrap();
        assert!(named.starts_with(digest), "not {digest}: {receipt}");
    }
    assert_eq!(again["same"], true, "{filed}");
    assert_eq!(again["verdict"], "allow", "{filed}");
    assert_eq!(again["fuel"], receipt["fuel"], "{filed}");
    assert!(
        receipt["fuel"].as_u64().is_some_and(|fuel| fuel > 0),
        "{filed}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_a_setting_is_planned_applied_and_rolled_back() {
    let mut world = World::demo().await.unwrap();
    let twin = world.scheme.twin().unwrap();
    twin.edit("maximum = \"10000\"", "maximum = \"50\"")
        .unwrap();
    let folder = twin.path().to_str().unwrap().to_owned();
    committed(&world.pay("60", "USD").await).unwrap();

    let plan = world
        .host
        .cli(&["release", "plan", &folder])
        .unwrap()
        .success()
        .unwrap();
    insta::assert_snapshot!("plan_of_a_setting", without_digests(&plan));
    assert_eq!(current(&world.host), 1, "a plan changes nothing");
    assert_eq!(releases(&world.host).len(), 1);

    let applied = ["release", "apply", &folder, "--note", "lower limits"];
    world.host.cli(&applied).unwrap().success().unwrap();
    assert_eq!(current(&world.host), 2);
    assert_eq!(releases(&world.host)[1]["note"], "lower limits");
    refused(&world.pay("60", "USD").await, Step::Quote, "4200").unwrap();
    committed(&world.pay("50", "USD").await).unwrap();
    let again = world.host.cli(&applied).unwrap();
    assert_eq!(again.code, 1, "{again}");
    assert!(
        again
            .stderr
            .contains("it is what release 2 is: nothing would change"),
        "{again}"
    );

    world
        .host
        .cli(&["release", "rollback", "1"])
        .unwrap()
        .success()
        .unwrap();
    assert_eq!(current(&world.host), 1);
    committed(&world.pay("60", "USD").await).unwrap();
    let unknown = world.host.cli(&["release", "rollback", "99"]).unwrap();
    assert_eq!(unknown.code, 1, "{unknown}");
    assert!(
        unknown.stderr.contains("there is no release 99"),
        "{unknown}"
    );

    // What is current stays current when the host starts again.
    world
        .host
        .cli(&["release", "rollback", "2"])
        .unwrap()
        .success()
        .unwrap();
    world.host.restart().unwrap();
    assert_eq!(current(&world.host), 2);
    refused(&world.pay("60", "USD").await, Step::Quote, "4200").unwrap();
    world.no_complaints().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_that_does_not_fit_is_refused_and_the_old_release_serves_on() {
    let world = World::demo().await.unwrap();
    let twin = world.scheme.twin().unwrap();
    let grants = "host = [\"configuration\", \"clock\", \"random\", \"logging\"]";
    twin.edit(grants, "host = [\"configuration\", \"clock\", \"logging\"]")
        .unwrap();
    let folder = twin.path().to_str().unwrap();
    for verb in ["plan", "apply"] {
        let output = world.host.cli(&["release", verb, folder]).unwrap();
        assert_eq!(output.code, 1, "{output}");
        assert!(
            output.stderr.contains("imports rialto:host/random"),
            "{output}"
        );
    }
    let no_rule = world.scheme.component("scheduling");
    let unknown = world
        .host
        .cli(&["plugin", "swap", "no-such-rule", no_rule.to_str().unwrap()]);
    let unknown = unknown.unwrap();
    assert_eq!(unknown.code, 1, "{unknown}");
    assert!(
        unknown.stderr.contains("has no rule `no-such-rule`"),
        "{unknown}"
    );
    assert_eq!(current(&world.host), 1);
    committed(&world.pay("1", "USD").await).unwrap();
    world.no_complaints().unwrap();
}

/// Swap a rule for another build, if a release is current. Answers what the command said.
fn swap_from(world: &World, rule: &str, mark: &str, expected: &str) -> CliOutput {
    let file = another_build(&world.scheme, rule, mark).unwrap();
    let file = file.to_str().unwrap();
    let command = ["plugin", "swap", rule, file, "--expect", expected];
    world.host.cli(&command).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn swaps_of_two_rules_at_once_are_both_there_afterwards() {
    const ROUNDS: u64 = 3;
    let other = "transfer-matches-quote";
    let world = World::demo().await.unwrap();
    for round in 0..ROUNDS {
        let offer = |rule| another_build(&world.scheme, rule, &round.to_string()).unwrap();
        let files = [RULE, other].map(|rule| (rule, offer(rule)));
        let said: Vec<String> = std::thread::scope(|scope| {
            let swaps = files.map(|(rule, file)| {
                let host = &world.host;
                scope.spawn(move || {
                    let swapped = host.cli(&["plugin", "swap", rule, file.to_str().unwrap()]);
                    swapped.unwrap().success().unwrap()
                })
            });
            swaps.map(|swap| swap.join().unwrap()).to_vec()
        });
        for text in said {
            let changes = text.lines().filter(|line| line.starts_with("  ~ rule "));
            assert_eq!(changes.count(), 1, "a swap changes its own rule: {text}");
        }
    }
    assert_eq!(current(&world.host), 1 + 2 * ROUNDS);
    committed(&world.pay("1", "USD").await).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_is_meant_for_another_release_is_refused_with_both_numbers() {
    let world = World::demo().await.unwrap();
    swap_from(&world, RULE, "a", "1").success().unwrap();
    let before = releases(&world.host);
    let twin = world.scheme.twin().unwrap();
    twin.edit("maximum = \"10000\"", "maximum = \"50\"")
        .unwrap();
    let folder = twin.path().to_str().unwrap();
    let late = [
        swap_from(&world, RULE, "b", "1"),
        world
            .host
            .cli(&["release", "apply", folder, "--expect", "1"])
            .unwrap(),
        world
            .host
            .cli(&["release", "rollback", "1", "--expect", "1"])
            .unwrap(),
    ];
    for output in late {
        assert_eq!(output.code, 1, "{output}");
        let both = "the change is meant for release 1, and release 2 is current";
        assert!(output.stderr.contains(both), "{output}");
    }
    assert_eq!(releases(&world.host), before);
    let back = ["release", "rollback", "1", "--expect", "2"];
    world.host.cli(&back).unwrap().success().unwrap();
    assert_eq!(current(&world.host), 1);
}
