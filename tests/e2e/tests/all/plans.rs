//! Plans: a release becomes current when enough officers have signed what it changes, and not otherwise.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rialto_simulator::fsp::Step;
use rialto_tests::scenes::{committed, refused};
use rialto_tests::waiting::until;
use rialto_tests::{CliOutput, TestScheme, World, WorldOptions, binaries, offers};
use serde_json::{Value, json};

/// Longer than a host takes.
const SOON: Duration = Duration::from_secs(60);
const LIMIT: &str = "maximum = \"10000\"";

/// The officers, each with the private and the public key (RFC 8032, 7.1), in base64.
const OFFICERS: [(&str, &str, &str); 3] = [
    (
        "ada",
        "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g",
        "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
    ),
    (
        "ben",
        "MC4CAQAwBQYDK2VwBCIEIEzNCJso/5banbbDRuwRTg9bijGfNaumJNqM9u1PuKb7",
        "MCowBQYDK2VwAyEAPUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=",
    ),
    (
        "grace",
        "MC4CAQAwBQYDK2VwBCIEIMWqjfQ/n4N77bdELzHct7Fm04U1B28JS4XOOi4LRFj3",
        "MCowBQYDK2VwAyEA/FHNjmIYoaONpH7QAjDwWAgW7RO6MwOsXeuRFUiQgCU=",
    ),
];

/// The demonstration with two signatures of three officers, of whom grace also makes plans.
fn scheme(releases: &str) -> TestScheme {
    let scheme = TestScheme::demo().unwrap();
    let mut text = format!(
        "[operators.grace]\nroles = [\"reader\", \"admin\"]\n\n[operators.hal]\nroles = [\"reader\", \"admin\", \"checker\"]\n\n[releases]\nsignatures = 2\n{releases}\n"
    );
    for (officer, _, public) in OFFICERS {
        text += &format!(
            "[releases.officers.{officer}]\npublic-key = \"\"\"\n-----BEGIN PUBLIC KEY-----\n{public}\n-----END PUBLIC KEY-----\n\"\"\"\n\n"
        );
    }
    let with = format!("{text}[store]");
    scheme.replace("rialto.toml", "[store]", &with).unwrap();
    scheme
}

/// A running host with officers, and a folder for plans and signatures.
pub struct Scene {
    pub world: World,
    folder: tempfile::TempDir,
}

impl Scene {
    pub async fn of(releases: &str) -> Self {
        Self::with(releases, "").await
    }

    /// The same, with more settings of the host.
    pub async fn with(releases: &str, settings: &str) -> Self {
        let options = WorldOptions::default();
        let scheme = scheme(releases);
        scheme.add_host_settings(settings).unwrap();
        let world = World::of(scheme, &options).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        for (officer, private, _) in OFFICERS {
            let pem =
                format!("-----BEGIN PRIVATE KEY-----\n{private}\n-----END PRIVATE KEY-----\n");
            fs::write(folder.path().join(format!("{officer}.pem")), pem).unwrap();
        }
        Self { world, folder }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn by(&self, operator: &str, command: &[&str]) -> CliOutput {
        let all: Vec<&str> = command.iter().copied().chain(["--as", operator]).collect();
        self.world.host.cli(&all).unwrap()
    }

    /// The scheme's folder with another highest amount.
    pub fn with_limit(&self, maximum: &str) -> TestScheme {
        let twin = self.world.scheme.twin().unwrap();
        twin.edit_with(|text| text.replace(LIMIT, &format!("maximum = \"{maximum}\"")))
            .unwrap();
        twin
    }

    /// Have grace make a plan of a folder.
    pub fn plan(&self, candidate: &TestScheme, name: &str, more: &[&str]) -> CliOutput {
        let (folder, file) = (candidate.path(), self.path(name));
        let mut command = vec!["release", "plan", text(folder), "--out", text(&file)];
        command.extend(more);
        self.by("grace", &command)
    }

    /// Sign a plan with the key of an officer, in the name of the same or another one.
    pub fn sign(&self, plan: &str, key: &str, officer: &str) -> CliOutput {
        let (plan, key) = (self.path(plan), self.path(&format!("{key}.pem")));
        let command = [
            "plan",
            "sign",
            text(&plan),
            "--officer",
            officer,
            "--key",
            text(&key),
        ];
        CliOutput::of(binaries::rialto().unwrap(), |of| {
            of.args(command);
        })
        .unwrap()
    }

    pub fn apply(&self, plan: &str, officers: &[&str]) -> CliOutput {
        let file = self.path(plan);
        let signatures: Vec<PathBuf> = officers
            .iter()
            .map(|officer| self.path(&format!("{plan}.{officer}.sig")))
            .collect();
        let mut command = vec!["release", "apply", "--plan", text(&file)];
        for signature in &signatures {
            command.extend(["--signature", text(signature)]);
        }
        self.by("hal", &command)
    }

    pub fn json(&self, command: &[&str]) -> Value {
        let said = self.by("hal", command).success().unwrap();
        serde_json::from_str(&said).unwrap()
    }
}

pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A command was refused, with these words.
fn is_refused(said: &CliOutput, words: &str) {
    assert_ne!(said.code, 0, "{}", said.said());
    assert!(said.said().contains(words), "{words:?}: {}", said.said());
}

#[tokio::test]
async fn release_becomes_current_when_enough_officers_have_signed_its_plan() {
    let scene = Scene::of("").await;
    let lower = scene.with_limit("60");
    committed(&scene.world.pay("70", "USD").await).unwrap();

    // No other way leads there.
    let folder = text(lower.path());
    is_refused(
        &scene.by("grace", &["release", "apply", folder]),
        "needs a plan",
    );
    let rule = scene.world.scheme.component("amount-limits");
    let swap = ["plugin", "swap", "amount-limits", text(&rule)];
    let swapped = scene.by("grace", &swap).success().unwrap();
    assert!(swapped.contains("already current"), "{swapped}");

    let said = scene
        .plan(&lower, "p", &["--note", "the board's decision"])
        .success()
        .unwrap();
    assert!(said.contains("by grace"), "{said}");
    assert!(said.contains("maximum = \"10000\" → \"60\""), "{said}");
    is_refused(
        &scene.apply("p", &[]),
        "2 officers must sign the plan, other persons than its maker, and nobody has; the officers are ada, ben, grace",
    );

    // Its maker does not sign; neither does somebody with another's key, nor under another plan.
    is_refused(&scene.sign("p", "grace", "grace"), "grace made the plan");
    scene.sign("p", "ada", "ada").success().unwrap();
    is_refused(&scene.apply("p", &["ada"]), "only ada did");
    scene.sign("p", "ada", "ben").success().unwrap();
    is_refused(
        &scene.apply("p", &["ada", "ben"]),
        "none of the key that ben has",
    );
    fs::remove_file(scene.path("p.ben.sig")).unwrap();
    scene
        .plan(&scene.with_limit("50"), "q", &[])
        .success()
        .unwrap();
    scene.sign("q", "ben", "ben").success().unwrap();
    fs::copy(scene.path("q.ben.sig"), scene.path("p.ben.sig")).unwrap();
    is_refused(&scene.apply("p", &["ben"]), "is under the plan");
    fs::remove_file(scene.path("p.ben.sig")).unwrap();

    // A file that was changed is another plan, which this host has not made.
    let plan = fs::read_to_string(scene.path("p")).unwrap();
    fs::write(
        scene.path("changed"),
        plan.replace("the board's decision", "x"),
    )
    .unwrap();
    scene.sign("changed", "ada", "ada").success().unwrap();
    is_refused(&scene.apply("changed", &["ada"]), "at this host");
    fs::write(
        scene.path("broken"),
        plan.replace("\\\"60\\\"", "\\\"61\\\""),
    )
    .unwrap();
    is_refused(&scene.sign("broken", "ada", "ada"), "this is no plan");
    // A passkey is no way here, because none is required.
    let made = scene.path("p");
    let approve = ["plan", "approve", text(&made), "--as", "hal"];
    is_refused(
        &scene.world.host.cli(&approve).unwrap(),
        "sign the plan with a key instead",
    );
    committed(&scene.world.pay("70", "USD").await).unwrap();

    scene.sign("p", "ben", "ben").success().unwrap();
    let said = scene.apply("p", &["ada", "ben"]).success().unwrap();
    assert!(said.starts_with("release 2 is current"), "{said}");
    refused(&scene.world.pay("70", "USD").await, Step::Quote, "4200").unwrap();
    let listed = scene.by("hal", &["release", "list"]).success().unwrap();
    assert!(
        listed.contains("by grace, approved by ada, ben  the board's decision"),
        "{listed}"
    );

    // Once. The release before comes back without a plan; then the plan is still used up.
    is_refused(
        &scene.apply("p", &["ada", "ben"]),
        "was applied already: it became release 2",
    );
    is_refused(
        &scene.apply("q", &["ben"]),
        "is meant for release 1, and release 2 is current",
    );
    scene
        .by("hal", &["release", "rollback", "1"])
        .success()
        .unwrap();
    committed(&scene.world.pay("70", "USD").await).unwrap();
    is_refused(&scene.apply("p", &["ada", "ben"]), "was applied already");
    let states = |plans: &Value| -> Vec<String> {
        let plans = plans.as_array().unwrap().iter();
        let mut states: Vec<String> = plans
            .map(|plan| plan["state"].as_str().unwrap().to_owned())
            .collect();
        states.sort();
        states
    };
    // The other plan was made before all this, and what was taken back does not come back as it went.
    let plans = scene.json(&["plan", "list", "--json"]);
    assert_eq!(states(&plans), ["APPLIED", "OUTDATED"], "{plans:#}");
    scene.sign("q", "ada", "ada").success().unwrap();
    is_refused(
        &scene.apply("q", &["ada", "ben"]),
        "another release was current since the plan was made",
    );
    is_refused(
        &scene.by("hal", &["release", "rollback", "2"]),
        "needs a plan",
    );
    let back = scene.path("back");
    scene
        .by(
            "grace",
            &["release", "plan", "--release", "2", "--out", text(&back)],
        )
        .success()
        .unwrap();
    for officer in ["ada", "ben"] {
        scene.sign("back", officer, officer).success().unwrap();
    }
    scene.apply("back", &["ada", "ben"]).success().unwrap();
    committed(&scene.world.pay("60", "USD").await).unwrap();
    // A rule that is swapped needs a plan too.
    let other = offers::another_build(&scene.world.scheme, "amount-limits", "other").unwrap();
    let swap = ["plugin", "swap", "amount-limits", text(&other)];
    is_refused(&scene.by("grace", &swap), "needs a plan");

    // Each step has its entry, refused ones too.
    let audit = scene.by("hal", &["audit"]).success().unwrap();
    for action in [
        "plan-make",
        "plan-sign",
        "plan-approve",
        "plan-apply",
        "release-rollback",
    ] {
        assert!(audit.contains(action), "{action}: {audit}");
    }
}

/// An instant so many seconds from now, as commands take it.
fn from_now(seconds: i64) -> String {
    let now = jiff::Timestamp::now().as_second();
    jiff::Timestamp::from_second(now + seconds)
        .unwrap()
        .to_string()
}

#[tokio::test]
async fn dated_plan_that_officers_have_signed_is_in_force_from_its_instant() {
    let scene = Scene::of("").await;
    let lower = scene.with_limit("60");
    let from = from_now(25);
    let dates = ["--effective-from", &from];
    let said = scene.plan(&lower, "p", &dates).success().unwrap();
    assert!(said.contains("release 2 comes into force"), "{said}");
    // The date belongs to what is signed.
    let plan = fs::read_to_string(scene.path("p")).unwrap();
    assert!(plan.contains(&from), "{plan}");
    let other = plan.replace(&from, &from_now(3_600));
    fs::write(scene.path("later"), other).unwrap();
    for officer in ["ada", "ben"] {
        scene.sign("p", officer, officer).success().unwrap();
        scene.sign("later", officer, officer).success().unwrap();
    }
    is_refused(&scene.apply("later", &["ada", "ben"]), "at this host");
    is_refused(&scene.apply("p", &["ada"]), "only ada did");
    let said = scene.apply("p", &["ada", "ben"]).success().unwrap();
    assert!(said.starts_with("release 2 comes into force at"), "{said}");
    committed(&scene.world.pay("70", "USD").await).unwrap();
    let plans = scene.json(&["plan", "list", "--json"]);
    assert_eq!(plans[0]["state"], "SCHEDULED", "{plans:#}");
    until("the lower limit is in force", SOON, async || {
        let outcome = scene.world.pay("70", "USD").await;
        Ok(refused(&outcome, Step::Quote, "4200").map_err(|error| error.to_string()))
    })
    .await
    .unwrap();
    let plans = scene.json(&["plan", "list", "--json"]);
    assert_eq!(plans[0]["state"], "APPLIED", "{plans:#}");
}

#[tokio::test]
async fn plan_has_a_backtest_and_a_life() {
    let scene =
        Scene::of("backtest-required = true\nfuel-increase-max = \"100 %\"\nplan-life = \"1 s\"")
            .await;
    for amount in ["5", "50", "70"] {
        committed(&scene.world.pay(amount, "USD").await).unwrap();
    }
    let lower = scene.with_limit("60");
    is_refused(&scene.plan(&lower, "p", &[]), "needs a backtest here");
    let report = scene.path("report.json");
    let backtest = |candidate: &TestScheme, report: &Path| {
        let folder = text(candidate.path());
        let command = ["release", "backtest", folder, "--out", text(report)];
        scene.world.host.cli(&command).unwrap().success().unwrap()
    };
    backtest(&scene.with_limit("50"), &report);
    let of_other = ["--backtest", text(&report)];
    is_refused(&scene.plan(&lower, "p", &of_other), "the backtest is about");
    let report = scene.path("report-of-lower.json");
    backtest(&lower, &report);
    let said = scene
        .plan(&lower, "p", &["--backtest", text(&report)])
        .success()
        .unwrap();
    assert!(said.contains("6 requests"), "{said}");
    assert!(
        said.contains("2 would be decided otherwise, 0 failed"),
        "{said}"
    );
    assert!(
        said.contains("fuel of amount-limits at quote-request-check: p50"),
        "{said}"
    );

    until("the plan is too old", SOON, async || {
        let plans = scene.json(&["plan", "list", "--json"]);
        Ok(if plans[0]["state"] == "EXPIRED" {
            Ok(())
        } else {
            Err(plans.to_string())
        })
    })
    .await
    .unwrap();
    is_refused(&scene.sign("p", "ada", "ada"), "could be applied until");
    is_refused(&scene.apply("p", &[]), "could be applied until");
    let shown = scene.json(&["plan", "show", text(&scene.path("p")), "--json"]);
    assert_eq!(shown["maker"], json!("grace"));
}
