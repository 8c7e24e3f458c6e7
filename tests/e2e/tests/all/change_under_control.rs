//! The story of a change: a new rule from the kit is backtested against 100,000 inputs, planned, signed by two officers,
//! carried as a bundle, and tried as a canary under load. It has a hidden fault, is held back, and no payment is refused. The
//! corrected one is shadowed, then takes over at an instant. Receipts are verified without the host at the end.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod rule;

use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rialto_engine::Lsn;
use rialto_engine::store::{Group, Receipt, Store as _};
use rialto_simulator::fsp::Step;
use rialto_store_sqlite::HistoryStore as _;
use rialto_tests::scenes::{committed, refused};
use rialto_tests::waiting::until;
use rialto_tests::{CliOutput, TestScheme, binaries, kept};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::plans::{Scene, text};
use rule::{FATAL_AMOUNT, NAME, NewRule, carried};

/// Longer than a host takes.
const SOON: Duration = Duration::from_secs(90);
/// Payments at a time when it is measured what the machine can do.
const AT_A_TIME: usize = 16;
/// Payments by which it is measured, and while the canary decides.
const PAYMENTS: usize = 96;
/// How much later than the next change takes a release begins.
const AHEAD: Duration = Duration::from_secs(15);
/// The stored inputs of the backtests.
const INPUTS: u64 = 100_000;
/// The groups in which they are stored.
const GROUPS: u64 = 100;
/// Receipts are proven by the audit log.
const AUDIT: &str = "\n[audit]\norigin = \"hub.example/audit\"\nprovider = \"software\"\nreference = \"secrets/audit.reference\"\n";
const QUOTES: &str = "[[steps.quote-request-check]]\nrule = \"amount-limits\"\n";
const BEHIND_QUOTES: &str = "[[steps.transfer-prepare-check]]\nrule = \"transfer-matches-quote\"";

impl Scene {
    /// Backtest a candidate, plan it, have two officers sign it, carry it as a bundle, and apply it.
    fn change(&self, candidate: &TestScheme, name: &str, cases: Option<&Path>, as_of: &[&str]) {
        let report = self.path(&format!("{name}.report"));
        let folder = text(candidate.path());
        let mut backtest = vec!["release", "backtest", folder, "--out", text(&report)];
        backtest.extend(as_of);
        self.world.host.cli(&backtest).unwrap().success().unwrap();
        let with = ["--backtest", text(&report)];
        let planned = self.plan(candidate, name, &with).success().unwrap();
        assert!(planned.contains(" requests from "), "{planned}");
        let report = std::fs::read_to_string(&report).unwrap();
        let report: Value = serde_json::from_str(&report).unwrap();
        assert!(report["requests"].as_u64().unwrap() >= INPUTS, "{report:#}");
        let officers = ["ada", "ben"];
        for officer in officers {
            self.sign(name, officer, officer).success().unwrap();
        }
        let signatures = officers.map(|officer| self.path(&format!("{name}.{officer}.sig")));
        let plan = self.path(name);
        let operator = self.world.scheme.path();
        let unpacked = carried((candidate, cases), (&plan, &signatures), operator);
        let signature = |officer| unpacked.join(format!("signatures/{officer}.sig"));
        let (plan, signatures) = (unpacked.join("plan.json"), officers.map(signature));
        let mut apply = vec!["release", "apply", "--plan", text(&plan)];
        for signature in &signatures {
            apply.extend(["--signature", text(signature)]);
        }
        self.by("hal", &apply).success().unwrap();
    }

    /// Pays as fast as the machine can. Returns the pause between payments at half of that.
    async fn pause_at_half_load(&self) -> Duration {
        let started = Instant::now();
        for _ in 0..PAYMENTS / AT_A_TIME {
            self.pay_many(AT_A_TIME, Duration::ZERO, "20").await;
        }
        started.elapsed() * 2 / u32::try_from(PAYMENTS).unwrap()
    }

    /// Payments that begin one after another with a pause, whether earlier ones have ended or not. Each goes through.
    async fn pay_many(&self, count: usize, pause: Duration, amount: &str) {
        let mut payments = JoinSet::new();
        let mut beat = tokio::time::interval(pause.max(Duration::from_micros(1)));
        for _ in 0..count {
            beat.tick().await;
            let payer = self.world.payer().clone();
            let request = self.world.request(amount, "USD");
            payments.spawn(async move { payer.pay(&request).await });
        }
        for outcome in payments.join_all().await {
            committed(&outcome).unwrap();
        }
    }

    /// Adds stored inputs to the host's, as many as a day's work, by its store: copies of those of a quote.
    async fn store_inputs(&mut self, quote: &str) {
        tokio::task::block_in_place(|| self.world.host.kill()).unwrap();
        let subject = format!("quote:{quote}");
        let quote = quote.to_owned();
        let stored = kept::with_store(&self.world, move |store| {
            let recovered = store.recover()?;
            let known = store.receipts(&subject)?;
            let mut ids = recovered.next_id..;
            for group in 0..GROUPS {
                let copies = known
                    .iter()
                    .cycle()
                    .zip(&mut ids)
                    .take((INPUTS / GROUPS) as usize);
                // Each is about a quote of its own.
                let copies: Vec<Receipt> = copies
                    .map(|(receipt, id)| {
                        let own = format!("{id:08}{}", &quote[8..]);
                        Receipt {
                            id,
                            subject: receipt.subject.replace(&quote, &own).into(),
                            at: receipt.at,
                            body: receipt.body.replace(&quote, &own).into(),
                        }
                    })
                    .collect();
                store.write(&Group {
                    lsn: Lsn(recovered.lsn.0 + 1 + group),
                    next_id: ids.start,
                    receipts: copies,
                    turns: 1,
                    ..Group::default()
                })?;
            }
            Ok(known.len())
        });
        assert!(stored.await.unwrap() > 0);
        tokio::task::block_in_place(|| self.world.host.restart()).unwrap();
    }

    /// Has a payment's receipts leave the host, and verifies them and asks their rules again without it.
    fn verify_offline(&self, transfer: &str) {
        let file = self.path("receipts.json");
        let export = ["receipts", transfer, "--out", text(&file)];
        self.by("hal", &export).success().unwrap();
        let verified = CliOutput::of(binaries::rialto().unwrap(), |of| {
            of.args(["receipts", "verify"]).arg(&file).arg("--key");
            of.arg(self.world.scheme.path().join("secrets/audit.reference.pem"));
            for rule in ["amount-limits", "transfer-matches-quote"] {
                of.arg("--component").arg(self.world.scheme.component(rule));
            }
        });
        let said = verified.unwrap().success().unwrap();
        assert_eq!(
            said.matches("the same verdict, the same").count(),
            2,
            "{said}"
        );
    }

    fn report(&self, command: &[&str]) -> Value {
        let said = self.by("hal", command).success().unwrap();
        serde_json::from_str(said.lines().next().unwrap()).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn change_is_proven_before_watched_while_and_taken_back() {
    let mut scene = Scene::with("backtest-required = true", AUDIT).await;
    let mut quote = String::new();
    for amount in ["5", "50", "70"] {
        let outcome = scene.world.pay(amount, "USD").await;
        committed(&outcome).unwrap();
        quote = outcome.quote_id;
    }
    scene.store_inputs(&quote).await;
    let world = &scene.world;

    let half_load = scene.pause_at_half_load().await;

    // A canary with a hidden fault, which the cases of its author do not find. Payments find it, under load.
    let new_rule = NewRule::with_a_fault();
    let faulty = world.scheme.twin().unwrap();
    new_rule.add_to(&faulty);
    let canary = format!(
        "[steps.quote-request-check.canary]\nrule = \"{NAME}\"\nsettings = {{ currency = \"USD\", maximum = 6000 }}\n\
         to = {{ hash = \"50 %\" }}\nhold-back = {{ failures = 3 }}\n\n{BEHIND_QUOTES}"
    );
    faulty.edit(BEHIND_QUOTES, &canary).unwrap();
    faulty.lock().unwrap();
    let cases = new_rule.cases();
    scene.change(&faulty, "faulty", Some(&cases), &[]);
    scene.pay_many(PAYMENTS, half_load, FATAL_AMOUNT).await;
    let canary = scene.report(&["canary", "report", "--json"]);
    let held = canary["heldBack"]["why"].as_str();
    assert!(
        held.is_some_and(|why| why.starts_with("it failed 3 times")),
        "{canary:#}"
    );
    let failed = canary["failed"].as_u64().unwrap();
    // Turns that ran side by side had begun before it was held back; no later one asks it.
    scene.pay_many(AT_A_TIME, half_load, FATAL_AMOUNT).await;
    assert_eq!(
        scene.report(&["canary", "report", "--json"])["failed"],
        failed
    );

    // The corrected one in the shadow of the rule: it would refuse more.
    new_rule.correct();
    let shadowed = world.scheme.twin().unwrap();
    new_rule.add_to(&shadowed);
    let corrected =
        format!("rule = \"{NAME}\"\nsettings = {{ currency = \"USD\", maximum = 6000 }}\n");
    let shadow = format!(
        "[steps.quote-request-check.shadow]\n{corrected}cpu = \"100 %\"\n\n{BEHIND_QUOTES}"
    );
    shadowed.edit(BEHIND_QUOTES, &shadow).unwrap();
    shadowed.lock().unwrap();
    let began = Instant::now();
    scene.change(&shadowed, "shadowed", Some(&cases), &[]);
    let needed = began.elapsed();
    committed(&world.pay("70", "USD").await).unwrap();
    until("the candidate has judged", SOON, async || {
        let found = scene.report(&["shadow", "report", "--json"]);
        Ok(if found["report"]["different"] == 1 {
            Ok(())
        } else {
            Err(found.to_string())
        })
    })
    .await
    .unwrap();

    // It takes over at an instant.
    let promoted = world.scheme.twin().unwrap();
    new_rule.add_to(&promoted);
    // Late enough for the next change, on a busy machine too.
    let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + 3 * needed + AHEAD;
    let at = jiff::Timestamp::from_second(i64::try_from(at.as_secs()).unwrap()).unwrap();
    promoted
        .edit(QUOTES, &format!("{QUOTES}effective-until = \"{at}\"\n"))
        .unwrap();
    let next = format!(
        "[[steps.quote-request-check]]\n{corrected}effective-from = \"{at}\"\n\n{BEHIND_QUOTES}"
    );
    promoted.edit(BEHIND_QUOTES, &next).unwrap();
    promoted.lock().unwrap();
    let as_of = ["--as-of", &at.to_string()];
    scene.change(&promoted, "promoted", Some(&cases), &as_of);
    let last = world.pay("70", "USD").await;
    committed(&last).unwrap();
    until(
        "the corrected rule is in force",
        3 * needed + SOON,
        async || {
            let outcome = world.pay("70", "USD").await;
            let refused = refused(&outcome, Step::Quote, "4200");
            Ok(refused.map_err(|error| error.to_string()))
        },
    )
    .await
    .unwrap();

    scene.verify_offline(&last.transfer_id);

    // What was done, by whom, and which rules decided.
    let releases = scene.by("hal", &["release", "list"]).success().unwrap();
    assert_eq!(
        releases.matches("by grace, approved by ada, ben").count(),
        3,
        "{releases}"
    );
    let audit = scene.by("hal", &["audit"]).success().unwrap();
    for action in ["plan-make", "plan-sign", "plan-apply", "canary-hold-back"] {
        assert!(audit.contains(action), "{action}: {audit}");
    }
    let coverage = scene.path("coverage.json");
    let (folder, state) = (text(promoted.path()), world.scheme.state());
    let command = [
        "coverage",
        folder,
        "--state",
        text(&state),
        "--out",
        text(&coverage),
    ];
    let covered = rialto_tests::CliOutput::of(rialto_tests::binaries::rialto().unwrap(), |of| {
        of.args(command);
    })
    .unwrap();
    covered.success().unwrap();
    let text = std::fs::read_to_string(&coverage).unwrap();
    assert!(
        text.contains(NAME) && text.contains("\"above-maximum\""),
        "{text}"
    );
}
