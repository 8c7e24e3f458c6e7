//! Operators move funds and change the release while the host is killed again and again. Each effect has its entry in the
//! audit log, and each entry its effect.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rand::RngExt as _;
use rialto_tests::metrics::idle;
use rialto_tests::waiting::until;
use rialto_tests::{Office, RunningHost, TestScheme, audited, binaries, books};
use serde_json::{Value, json};

use crate::torment;

/// How often the host is killed, at least and at most: a slow machine needs more lives for some releases.
const KILLS: std::ops::Range<u32> = 12..60;
/// How long the host lives between its start and its end, in milliseconds: time for some requests.
const LIFE_MS: std::ops::Range<u64> = 300..1_500;
/// How long entries may take until they are found.
const SOON: Duration = Duration::from_secs(30);
const PEOPLE: [(&str, &str); 2] = [
    ("anna", "\"reader\", \"maker\""),
    ("ben", "\"reader\", \"checker\""),
];
const FUNDS: &str = "/participants/payerfsp/funds";

/// Anna asks for deposits and Ben approves them, until the host is gone.
async fn move_funds(office: Office) {
    loop {
        let deposit = json!({
            "type": "DEPOSIT", "accountId": "USD", "reason": "a deposit",
            "amount": { "currency": "USD", "amount": "1" },
        });
        let Ok(asked) = office.post("anna", FUNDS, &deposit).await else {
            return;
        };
        // One that waits since the last kill is decided first.
        let id = match asked.status {
            201 => &asked.body["id"],
            409 => &asked.body["pendingRequest"],
            503 | 504 => continue,
            _ => panic!("{asked:?}"),
        };
        let id = id.as_str().unwrap();
        let approval = format!("{FUNDS}/{id}/approval");
        let decision = json!({ "decision": "APPROVE" });
        let Ok(decided) = office.post("ben", &approval, &decision).await else {
            return;
        };
        // A busy host says so.
        assert!([200, 503, 504].contains(&decided.status), "{decided:?}");
    }
}

/// Apply releases that differ in a setting, each with its number as the note, until the host is gone.
fn change_release(twin: &TestScheme, folder: &Path, last: &AtomicU64) {
    loop {
        let number = last.fetch_add(1, Ordering::Relaxed) + 1;
        let maximum = |n| format!("maximum = \"{}\"", 10_000 + n);
        twin.edit(&maximum(number - 1), &maximum(number)).unwrap();
        let applied = Command::new(binaries::rialto().unwrap())
            .args(["release", "apply"])
            .arg(twin.path())
            .args(["--note", &number.to_string(), "--at"])
            .arg(folder)
            .env("RIALTO_OPERATOR", "office")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if !applied.unwrap().success() {
            return;
        }
    }
}

/// The entries of an action, by what `key` finds in them, with their outcomes.
async fn entries(
    office: &Office,
    query: Value,
    key: impl Fn(&Value) -> Option<String>,
) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in audited::entries(office, query).await.unwrap() {
        if let Some(key) = key(&entry) {
            let outcome = entry["outcome"].as_str().unwrap().to_owned();
            found.entry(key).or_default().push(outcome);
        }
    }
    found
}

/// What has this outcome once, and nothing more often.
fn once(entries: &BTreeMap<String, Vec<String>>, outcome: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (key, outcomes) in entries {
        match outcomes.iter().filter(|one| *one == outcome).count() {
            0 => {}
            1 => drop(found.insert(key.clone())),
            more => panic!("{key} is {outcome} {more} times"),
        }
    }
    found
}

/// The requests for funds that were approved.
fn approved(host: &RunningHost) -> BTreeSet<String> {
    let requests: BTreeMap<String, Value> =
        books::documents(host, "participant-lifecycle-management", "requests").unwrap();
    let approved = requests.into_iter().filter(|(_, request)| {
        assert_eq!(request["maker"], "anna", "{request}");
        request["state"] == "APPROVED"
    });
    approved.map(|(id, _)| id).collect()
}

/// The notes of all releases but the first.
fn releases(host: &RunningHost) -> BTreeSet<String> {
    let listed = host.cli(&["release", "list", "--json"]).unwrap();
    let all: Vec<Value> = serde_json::from_str(&listed.success().unwrap()).unwrap();
    let notes = all[1..].iter().map(|release| release["note"].as_str());
    notes.map(|note| note.unwrap().to_owned()).collect()
}

fn text(entry: &Value, pointer: &str) -> Option<String> {
    Some(entry.pointer(pointer)?.as_str()?.to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn funds_and_releases_have_their_entries_after_kills() {
    let mut moments = torment::moments();
    let scheme = TestScheme::demo().unwrap();
    scheme.add_operators(&PEOPLE).unwrap();
    let mut host = RunningHost::start(&scheme).unwrap();
    let liquidity = |host: &RunningHost| {
        let books = rialto_tests::Books::read(host).unwrap();
        books.balance(torment::LIQUIDITY).unwrap()
    };
    let before = liquidity(&host);
    let twin = Arc::new(scheme.twin().unwrap());
    let last = Arc::new(AtomicU64::new(0));
    let mut kills = 0;
    while kills < KILLS.start || (kills < KILLS.end && releases(&host).is_empty()) {
        kills += 1;
        let office = Office::of(&scheme, &host, &["anna", "ben"]).unwrap();
        let funds = tokio::spawn(move_funds(office));
        let (twin, last, folder) = (twin.clone(), last.clone(), scheme.path().to_owned());
        let changes = tokio::task::spawn_blocking(move || change_release(&twin, &folder, &last));
        // The moment is the point here: there is no condition to wait for.
        tokio::time::sleep(Duration::from_millis(moments.random_range(LIFE_MS))).await;
        host.kill().unwrap();
        funds.await.unwrap();
        changes.await.unwrap();
        host.restart().unwrap();
    }
    idle(&host).await.unwrap();
    let office = Office::of(&scheme, &host, &["anna", "ben"]).unwrap();
    let (approved, releases) = (approved(&host), releases(&host));
    assert!(
        approved.len() > 1 && !releases.is_empty(),
        "{} deposits and {} releases are too few to show anything",
        approved.len(),
        releases.len()
    );
    // Entries are found a second after they were written.
    until("the entries of the last effects", SOON, async || {
        let moved = json!({ "action": "funds.deposited", "about": "participant:payerfsp" });
        let moved = entries(&office, moved, |e| text(e, "/details/instruction")).await;
        let mut moved = once(&moved, "done");
        moved.retain(|instruction| !instruction.starts_with("opening-liquidity:"));
        let decided = entries(&office, json!({ "actor": "ben" }), |entry| {
            let path = text(entry, "/about")?;
            let path = path.strip_prefix("POST ")?.strip_prefix(FUNDS)?;
            Some(path.trim_matches('/').strip_suffix("/approval")?.to_owned())
        });
        let decided = once(&decided.await, "done");
        let applied = json!({ "action": "release-apply" });
        let of_ours = |entry: &Value| text(entry, "/note").filter(|note| note.parse::<u64>().is_ok());
        let applied = entries(&office, applied, of_ours).await;
        let (begun, done) = (once(&applied, "begun"), once(&applied, "done"));
        // An entry without its effect never gets one.
        assert!(moved.is_subset(&approved), "{moved:?} {approved:?}");
        assert!(decided.is_subset(&approved), "{decided:?} {approved:?}");
        assert!(done.is_subset(&releases), "{done:?} {releases:?}");
        let all = moved == approved && decided == approved && releases.is_subset(&begun);
        Ok(all.then_some(()).ok_or_else(|| {
            format!("moved {moved:?}, decided {decided:?}, approved {approved:?}; begun {begun:?}, releases {releases:?}")
        }))
    })
    .await
    .unwrap();
    let cents = i128::try_from(approved.len()).unwrap() * 100;
    assert_eq!(liquidity(&host), before + cents);
    println!(
        "{kills} kills: {} deposits and {} releases, each with its entries",
        approved.len(),
        releases.len()
    );
    let checked = host.cli(&["ledger", "check"]).unwrap();
    assert_eq!(checked.code, 0, "{checked}");
}
