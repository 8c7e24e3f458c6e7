//! A scheme adds ten thousand participants: in steps, also if the host is killed between two.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rialto_engine::store::StoreError;
use rialto_store_sqlite::{Order, Snapshot};
use rialto_tests::scenes::committed;
use rialto_tests::waiting::until;
use rialto_tests::world::WorldOptions;
use rialto_tests::{TestScheme, World, binaries};

const PARTICIPANTS: usize = 10_000;
/// How long a start with all of them may take; a machine that does much else included.
const STARTS_WITHIN: Duration = Duration::from_secs(60);

fn with_many() -> TestScheme {
    let scheme = TestScheme::demo().unwrap();
    let mut more = String::new();
    for n in scheme.callbacks().len()..PARTICIPANTS {
        write!(
            more,
            "[[participants]]\nid = \"fsp{n:05}\"\nname = \"FSP {n}\"\n\
             callback-base-url = \"http://127.0.0.1:9/fsp{n:05}\"\n\n\
             [[participants.accounts]]\ncurrency = \"USD\"\nopening-liquidity = \"100\"\n\n"
        )
        .unwrap();
    }
    let change = |text: String| text.replacen("[[errors]]", &format!("{more}[[errors]]"), 1);
    scheme.edit_with(change).unwrap();
    scheme
}

/// How many documents the component that keeps participants has.
async fn count(state: &Path, name: &'static str) -> usize {
    let state = state.to_owned();
    let counted = tokio::task::spawn_blocking(move || {
        // While the host makes the store there is nothing to read yet.
        let Ok(mut snapshot) = Snapshot::open(&state) else {
            return 0;
        };
        let component = "participant-lifecycle-management";
        let Some(collection) = snapshot.collection(component, name) else {
            return 0;
        };
        let mut count = 0;
        let counted = snapshot.visit::<StoreError>(&[collection], Order::ById, &mut |_, _| {
            count += 1;
            Ok(())
        });
        counted.map_or(0, |()| count)
    });
    counted.await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_participants_are_added_despite_a_kill() {
    let scheme = with_many();
    let state = scheme.path().join("state");
    let mut host = Command::new(binaries::rialto().unwrap())
        .arg("serve")
        .arg(scheme.path())
        .env_remove("RIALTO_STATE")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let some = until("some are in", STARTS_WITHIN, async || {
        let count = count(&state, "participants").await;
        Ok(if count >= 300 {
            Ok(count)
        } else {
            Err(format!("{count} are in"))
        })
    })
    .await;
    host.kill().unwrap();
    host.wait().unwrap();
    let some = some.unwrap();
    assert!(some < PARTICIPANTS, "all were in before the kill");
    assert_eq!(
        count(&state, "activations").await,
        0,
        "no release is wholly in"
    );

    let mut world = World::of(scheme, &WorldOptions::default()).await.unwrap();
    assert_eq!(count(&state, "participants").await, PARTICIPANTS);
    assert_eq!(
        count(&state, "changes").await,
        PARTICIPANTS,
        "each came once"
    );
    assert_eq!(count(&state, "activations").await, 1);
    committed(&world.pay("1", "USD").await).unwrap();
    let check = world.host.cli(&["ledger", "check"]).unwrap();
    assert_eq!(check.code, 0, "{check}");
    let balance = world
        .host
        .cli(&["ledger", "account", "fsp09999:USD:LIQUIDITY"])
        .unwrap();
    assert!(
        balance.stdout.contains("balance        100.00"),
        "{balance}"
    );

    // Another release with the same ones changes none of them.
    let twin = world.scheme.twin().unwrap();
    twin.edit("maximum = \"10000\"", "maximum = \"500\"")
        .unwrap();
    let applied = world
        .host
        .cli(&["release", "apply", twin.path().to_str().unwrap()])
        .unwrap();
    assert_eq!(applied.code, 0, "{applied}");
    assert_eq!(count(&state, "changes").await, PARTICIPANTS);
    world.host.kill().unwrap();
}
