//! Changing what a running host runs: rules swapped under load, plans, settings, rollbacks.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rialto_simulator::fsp::Step;
use rialto_simulator::{Fsp, PaymentOutcome, PaymentRequest};
use rialto_tests::offers::{Broken, another_build, digest, other_code};
use rialto_tests::scenes::{committed, refused};
use rialto_tests::text::without_digests;
use rialto_tests::waiting::until;
use rialto_tests::world::PAYEE;
use rialto_tests::{CliOutput, RunningHost, TestScheme, World, WorldOptions};
use serde_json::Value;
use tokio::task::JoinHandle;

/// The rule that is swapped.
const RULE: &str = "amount-limits";
/// The rule that is asked before it about transfers.
const OTHER_RULE: &str = "transfer-matches-quote";
/// How often a component is offered in its place: twenty that are taken, five that are broken.
const OFFERS: usize = 25;
/// How often a release is rolled back to.
const ROLLBACKS: usize = 8;
/// How often an offer is a broken one.
const BROKEN_EVERY: usize = 5;
/// Payments in flight meanwhile.
const IN_FLIGHT: usize = 3;
/// Payments that each release must see.
const PAYMENTS_EACH: usize = 2;
/// Quotes and transfers of each release whose rules are asked again.
const ASKED_AGAIN_EACH: usize = 4;
/// Longer than a few payments take.
const SOON: Duration = Duration::from_secs(30);

/// Sequential payments to all but one of the payee's parties, until stopped.
struct Load {
    stop: Arc<AtomicBool>,
    done: Arc<AtomicUsize>,
    payers: Vec<JoinHandle<Vec<PaymentOutcome>>>,
}

impl Load {
    fn start(world: &World) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let done = Arc::new(AtomicUsize::new(0));
        let payers = world.parties(PAYEE)[..IN_FLIGHT].iter().map(|party| {
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

    /// Waits until a number of further payments have ended.
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

/// The expected refusal of a broken offer.
fn reason(broken: Broken) -> &'static str {
    match broken {
        Broken::Truncated | Broken::CoreModule | Broken::PlainText => {
            "amount-limits: is no component that this host can run"
        }
        Broken::NoRule => "amount-limits: is no rule: it does not export rialto:rules/rule",
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

/// A build of the rule that was swapped in.
struct Build {
    /// The digest of its file, reckoned here.
    digest: String,
    /// The code with which it refuses what is above the limit.
    code: &'static str,
}

/// Swaps the rule for another build. Every second one refuses with another code, so that a verdict shows its
/// build.
fn swap(world: &World, turn: usize) -> Build {
    let (mark, code) = (turn.to_string(), ["4200", "4100"][turn % 2]);
    let file = match code {
        "4200" => another_build(&world.scheme, RULE, &mark),
        _ => other_code(&world.scheme, RULE, &mark, *b"4100"),
    };
    let file = file.unwrap();
    let said = world
        .host
        .cli(&["plugin", "swap", RULE, file.to_str().unwrap()])
        .unwrap();
    let said = said.success().unwrap();
    let change = "  ~ rule amount-limits: component ";
    let line = said.lines().find(|line| line.starts_with(change));
    let line = line.unwrap_or_else(|| panic!("the swap does not name its change: {said}"));
    let digest = digest(&file).unwrap();
    let named = line.rsplit(' ').next().unwrap();
    assert!(digest.starts_with(named), "{digest} is not {named}");
    Build { digest, code }
}

/// A payment above the limit, refused by the current build. Returns the quote's id.
async fn above_the_limit(world: &World, build: &Build) -> String {
    // A party of its own: the load looks up the others at the same time.
    let party = world.parties(PAYEE).last().unwrap().clone();
    let request = PaymentRequest::new(party, "10000.01", "USD");
    let outcome = world.payer().pay(&request).await;
    refused(&outcome, Step::Quote, build.code).unwrap();
    outcome.quote_id
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_is_swapped_under_load_and_no_payment_suffers() {
    let options = WorldOptions {
        parties_each: IN_FLIGHT + 1,
        ..WorldOptions::default()
    };
    let world = World::of(TestScheme::demo().unwrap(), &options)
        .await
        .unwrap();
    // Payments that take a while span releases, and leave no more receipts than can be asked again.
    world
        .payee_behaves(r#"{"transfer":{"delay":"250ms"}}"#)
        .unwrap();
    let first = Build {
        digest: digest(&world.scheme.component(RULE)).unwrap(),
        code: "4200",
    };
    let other_rule = digest(&world.scheme.component(OTHER_RULE)).unwrap();
    let mut refusals = vec![(1, above_the_limit(&world, &first).await)];
    let mut builds: BTreeMap<u64, Build> = BTreeMap::from([(1, first)]);
    let load = Load::start(&world);
    load.payments(PAYMENTS_EACH).await;
    let mut broken = Broken::ALL.into_iter();
    for turn in 1..=OFFERS {
        if turn % BROKEN_EVERY == 0 {
            offer_broken(&world, broken.next().unwrap());
        } else {
            let build = swap(&world, turn);
            let release = current(&world.host);
            refusals.push((release, above_the_limit(&world, &build).await));
            builds.insert(release, build);
        }
        load.payments(PAYMENTS_EACH).await;
    }
    assert_eq!(broken.next(), None, "every kind of broken offer was made");
    let outcomes = load.stop().await;
    for outcome in &outcomes {
        committed(outcome).unwrap();
    }
    assert_eq!(current(&world.host), 21);
    let books = world.settled_books().await.unwrap();
    assert_eq!(books.problems().unwrap(), Vec::<String>::new());
    world.host.nothing_failed().await.unwrap();
    world.no_complaints().unwrap();

    let mut seen: BTreeMap<u64, usize> = BTreeMap::new();
    let expected = |release: u64, rule: &str| match rule {
        RULE => builds[&release].digest.clone(),
        _ => other_rule.clone(),
    };
    // Asked again now, each build says what it said then, not what the current one would say.
    for (release, quote) in &refusals {
        let receipts = receipts(&world.host, quote, Ask::Again);
        assert_eq!(receipts.len(), 1, "{receipts:?}");
        assert_eq!(receipts[0]["receipt"]["release"], *release);
        let verdict = format!("refuse {}", builds[release].code);
        check_receipt(&receipts[0], RULE, &expected(*release, RULE), &verdict);
    }
    // Asking a release again prepares all of it: a sample of each is enough.
    let mut asked: BTreeMap<u64, usize> = BTreeMap::new();
    for outcome in &outcomes {
        for (id, rules) in [
            (&outcome.quote_id, &[RULE][..]),
            (&outcome.transfer_id, &[OTHER_RULE, RULE][..]),
        ] {
            let mut filed = receipts(&world.host, id, Ask::Not);
            assert_eq!(filed.len(), rules.len(), "{filed:?}");
            let release = filed[0]["receipt"]["release"].as_u64().unwrap();
            let again = asked.entry(release).or_default();
            if *again < ASKED_AGAIN_EACH {
                *again += 1;
                filed = receipts(&world.host, id, Ask::Again);
            }
            for (receipt, rule) in filed.iter().zip(rules) {
                let release = receipt["receipt"]["release"].as_u64().unwrap();
                *seen.entry(release).or_default() += 1;
                check_receipt(receipt, rule, &expected(release, rule), "allow");
            }
        }
    }
    assert_eq!(seen.len(), 21, "every release has judged: {seen:?}");
}

/// Releases 1 and 2 take turns being current while payments go on: none of them notices, and each
/// receipt names the build that its release had, however often that has been left and come back to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rollback_under_load_is_noticed_by_no_payment() {
    let options = WorldOptions {
        parties_each: IN_FLIGHT + 1,
        ..WorldOptions::default()
    };
    let world = World::of(TestScheme::demo().unwrap(), &options)
        .await
        .unwrap();
    // Payments that take a while span rollbacks.
    world
        .payee_behaves(r#"{"transfer":{"delay":"250ms"}}"#)
        .unwrap();
    let first = Build {
        digest: digest(&world.scheme.component(RULE)).unwrap(),
        code: "4200",
    };
    let builds = [first, swap(&world, 1)];
    assert_ne!(builds[0].code, builds[1].code, "a verdict tells the build");
    let load = Load::start(&world);
    load.payments(PAYMENTS_EACH).await;
    let mut refusals = Vec::new();
    for turn in 0..ROLLBACKS {
        let (number, build) = (1 + turn % 2, &builds[turn % 2]);
        let rollback = ["release", "rollback", &number.to_string()];
        world.host.cli(&rollback).unwrap().success().unwrap();
        assert_eq!(current(&world.host), number as u64);
        refusals.push((build, above_the_limit(&world, build).await));
        load.payments(PAYMENTS_EACH).await;
    }
    let outcomes = load.stop().await;
    for outcome in &outcomes {
        committed(outcome).unwrap();
    }
    assert_eq!(
        releases(&world.host).len(),
        2,
        "a rollback is no new release"
    );
    for (build, quote) in refusals {
        let receipts = receipts(&world.host, &quote, Ask::Again);
        assert_eq!(receipts.len(), 1, "{receipts:?}");
        let verdict = format!("refuse {}", build.code);
        check_receipt(&receipts[0], RULE, &build.digest, &verdict);
    }
    let mut seen = [0; 2];
    for outcome in &outcomes {
        for id in [&outcome.quote_id, &outcome.transfer_id] {
            for receipt in receipts(&world.host, id, Ask::Not) {
                if receipt["receipt"]["rule"] == RULE {
                    let release = receipt["receipt"]["release"].as_u64().unwrap();
                    let place = usize::try_from(release).unwrap() - 1;
                    check_receipt(&receipt, RULE, &builds[place].digest, "allow");
                    seen[place] += 1;
                }
            }
        }
    }
    assert_eq!(seen.iter().sum::<usize>(), 2 * outcomes.len(), "{seen:?}");
    assert!(seen.iter().all(|&count| count > 0), "both judged: {seen:?}");
    let books = world.settled_books().await.unwrap();
    assert_eq!(books.problems().unwrap(), Vec::<String>::new());
    world.host.nothing_failed().await.unwrap();
    world.no_complaints().unwrap();
}

/// Whether rules are asked again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ask {
    Not,
    Again,
}

/// The receipts about a quote or a transfer, perhaps each with what its rule says when it is asked
/// again.
fn receipts(host: &RunningHost, id: &str, ask: Ask) -> Vec<Value> {
    let mut command = vec!["receipts", id, "--json"];
    if ask == Ask::Again {
        command.push("--again");
    }
    let text = host.cli(&command).unwrap().success().unwrap();
    let filed: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(ask == Ask::Not || filed.iter().all(|f| !f["again"].is_null()));
    filed
}

/// A receipt names the bytes that were current and what they said, and they say the same again at the
/// same cost.
fn check_receipt(filed: &Value, rule: &str, digest: &str, verdict: &str) {
    let (receipt, again) = (&filed["receipt"], &filed["again"]);
    assert_eq!(receipt["rule"], rule, "{filed}");
    assert_eq!(receipt["digest"], digest, "{filed}");
    let said = &receipt["verdict"];
    let code = said["violations"][0]["code"].as_str();
    let said = match said["outcome"].as_str().unwrap() {
        "refuse" => format!("refuse {}", code.unwrap()),
        other => other.to_owned(),
    };
    assert_eq!(said, verdict, "{filed}");
    if !again.is_null() {
        assert_eq!(again["same"], true, "{filed}");
        assert_eq!(again["verdict"], verdict, "{filed}");
        assert_eq!(again["fuel"], receipt["fuel"], "{filed}");
    }
    assert!(
        receipt["fuel"].as_u64().is_some_and(|fuel| fuel > 0),
        "{filed}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn setting_change_is_planned_applied_and_rolled_back() {
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
    assert_eq!(again.code, 0, "{again}");
    assert!(
        again
            .stdout
            .contains("nothing changed: release 2 is already current"),
        "{again}"
    );
    assert_eq!(releases(&world.host).len(), 2, "no release was made");

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

    // The current release stays current after a restart.
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
async fn unfit_folder_is_refused_and_the_release_serves_on() {
    let world = World::demo().await.unwrap();
    let twin = world.scheme.twin().unwrap();
    let grants = "host = [\"storage\", \"configuration\", \"clock\", \"random\", \"crypto\", \"auditing\", \"judging\", \"logging\"]";
    let fewer = "host = [\"storage\", \"configuration\", \"clock\", \"auditing\", \"logging\"]";
    twin.edit(grants, fewer).unwrap();
    let folder = twin.path().to_str().unwrap();
    for verb in ["plan", "apply"] {
        let output = world.host.cli(&["release", verb, folder]).unwrap();
        assert_eq!(output.code, 1, "{output}");
        let what = "fsp-interop-api: imports rialto:host/random";
        let line = output.stderr.lines().find(|line| line.contains(what));
        let line = line.unwrap_or_else(|| panic!("{output}"));
        // The line of scheme.toml in which the grant is missing.
        let place = line.split("scheme.toml:").nth(1).unwrap_or_default();
        let number: usize = place.split(':').next().unwrap().parse().unwrap();
        let text = std::fs::read_to_string(twin.path().join("scheme.toml")).unwrap();
        let found = text.lines().nth(number - 1).unwrap();
        assert_eq!(found, fewer);
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

/// Swaps a rule for another build, if a release is current. Returns the command's output.
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
async fn change_for_another_release_is_refused_with_both_numbers() {
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
