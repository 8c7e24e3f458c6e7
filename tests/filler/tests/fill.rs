//! A store that was filled is whole, and a host goes on with it.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use rialto_filler::{Fill, fill};
use rialto_tests::scenes::committed;
use rialto_tests::world::WorldOptions;
use rialto_tests::{TestScheme, World};

/// Participants beside the two that pay.
const OTHERS: usize = 12;
const TRANSFERS: u64 = 1_000;

#[tokio::test(flavor = "multi_thread")]
async fn filled_store_is_valid_and_a_host_serves_it() {
    let mut scheme = TestScheme::demo().unwrap();
    for n in 0..OTHERS {
        scheme
            .add_participant(&format!("fsp{n:02}"), "1000")
            .unwrap();
    }
    let mut world = World::of(scheme, &WorldOptions::default()).await.unwrap();
    let state = world.scheme.path().join("state");
    committed(&world.pay("1", "USD").await).unwrap();
    // Until it is recorded in its batch it is no template.
    rialto_tests::waiting::until(
        "the payment is recorded",
        std::time::Duration::from_secs(30),
        async || {
            let entries = world
                .host
                .cli(&["ledger", "export", "--what", "entries"])?
                .success()?;
            Ok(if entries.contains("SETTLEMENT_RECORD") {
                Ok(())
            } else {
                Err(entries)
            })
        },
    )
    .await
    .unwrap();
    world.host.kill().unwrap();

    let filling = state.clone();
    let filled = tokio::task::spawn_blocking(move || {
        let uneven = Fill {
            transfers: 3,
            seed: 1,
        };
        assert!(fill(&filling, uneven, &mut |_| ()).is_err());
        let all = Fill {
            transfers: TRANSFERS,
            seed: 1,
        };
        fill(&filling, all, &mut |_| ()).unwrap()
    });
    let filled = filled.await.unwrap();
    assert!(filled.documents > 5 * TRANSFERS, "{filled:?}");

    world.host.restart().unwrap();
    let check = world.host.cli(&["ledger", "check"]).unwrap();
    assert_eq!(check.code, 0, "{check}");
    let reservations = world
        .host
        .cli(&["ledger", "export", "--what", "reservations"])
        .unwrap();
    assert_eq!(reservations.stdout.lines().count() as u64, TRANSFERS + 2);
    committed(&world.pay("1", "USD").await).unwrap();
    // One of the filled participants pays and is paid too.
    let request = world.request("2", "USD");
    committed(&world.fsp("fsp03").pay(&request).await).unwrap();
    let check = world.host.cli(&["ledger", "check"]).unwrap();
    assert_eq!(check.code, 0, "{check}");
}
