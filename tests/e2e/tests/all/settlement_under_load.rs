//! Batches that are settled while payments flow into them: each payment is settled once, by the settlement
//! of the batch that it came into.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rialto_simulator::PaymentRequest;
use rialto_tests::scenes::committed;
use rialto_tests::waiting::until;
use rialto_tests::world::{PAYEE, PAYER};
use rialto_tests::{Office, TestScheme, World, WorldOptions};
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// Longer than anything here takes.
const SOON: Duration = Duration::from_secs(60);
/// Settlements while payments flow.
const SETTLEMENTS: usize = 20;
/// Payments under way at a time, half of them in each direction.
const AT_ONCE: usize = 16;
/// The demonstration's settlement model.
const MANUAL: &str = r#"settles = "manual""#;
const AUTOMATIC: &str = r#"settles = "automatic""#;
const PEOPLE: [(&str, &str); 1] = [("anna", "\"reader\", \"maker\", \"checker\"")];

struct Scene {
    world: World,
    office: Office,
}

impl Scene {
    /// The batches that are not settled.
    async fn unsettled(&self) -> Vec<Value> {
        let batches = self.office.get("anna", "/settlement-batches?currency=USD");
        let batches = batches.await.unwrap();
        let items = batches["items"].as_array().unwrap().iter();
        items
            .filter(|batch| batch["state"] != "SETTLED")
            .cloned()
            .collect()
    }

    /// Settle all there is; nothing is refused, and both sides have enough.
    async fn settle(&self) -> bool {
        let batches: Vec<_> = self.unsettled().await;
        let ids: Vec<_> = batches.iter().map(|batch| batch["id"].clone()).collect();
        if ids.is_empty() {
            return false;
        }
        let body = json!({ "batches": ids, "reason": "it is time" });
        let said = self.office.post("anna", "/settlements", &body);
        let said = said.await.unwrap();
        assert_eq!(said.status, 201, "{said:?}");
        assert_eq!(said.body["state"], "COMPLETED", "{said:?}");
        true
    }

    /// In cents.
    async fn settled_funds(&self, fsp: &str) -> i128 {
        let accounts = ("accounts-and-balances".to_owned(), "accounts".to_owned());
        let accounts = self.office.everything(&[accounts]).await.unwrap();
        let id = format!("{fsp}:USD:SETTLEMENT");
        let account = accounts.values().find(|account| account["id"] == id);
        let body = &account.unwrap()["body"];
        let units = |name: &str| body[name].as_str().unwrap().parse::<i128>().unwrap();
        units("creditBalance") - units("debitBalance")
    }

    async fn both(&self) -> [i128; 2] {
        [
            self.settled_funds(PAYER).await,
            self.settled_funds(PAYEE).await,
        ]
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn transfers_during_a_settlement_are_settled_once() {
    let scheme = TestScheme::demo().unwrap();
    scheme.add_operators(&PEOPLE).unwrap();
    scheme.edit(MANUAL, AUTOMATIC).unwrap();
    let workers = "[engine]\nworkers = 8\n\n[store]";
    scheme.replace("rialto.toml", "[store]", workers).unwrap();
    let world = World::of(scheme, &WorldOptions::default()).await.unwrap();
    let office = Office::of(&world.scheme, &world.host, &["anna"]).unwrap();
    let scene = Scene { world, office };
    let opening = scene.both().await;

    let stop = Arc::new(AtomicBool::new(false));
    let paid = [Arc::<AtomicUsize>::default(), Arc::default()];
    let mut payers = JoinSet::new();
    for lane in 0..AT_ONCE {
        let (from, to) = if lane % 2 == 0 {
            (PAYER, PAYEE)
        } else {
            (PAYEE, PAYER)
        };
        // One direction pays twice as much, so that there is something to settle.
        let amount = if lane % 2 == 0 { "0.02" } else { "0.01" };
        let request = PaymentRequest::new(scene.world.party(to).clone(), amount, "USD");
        let (fsp, stop) = (scene.world.fsp(from).clone(), Arc::clone(&stop));
        let paid = Arc::clone(&paid[lane % 2]);
        payers.spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                committed(&fsp.pay(&request).await).unwrap();
                paid.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    let mut settled = 0;
    while settled < SETTLEMENTS {
        settled += usize::from(scene.settle().await);
    }
    stop.store(true, Ordering::Relaxed);
    while let Some(lane) = payers.join_next().await {
        lane.unwrap();
    }

    let [forth, back] = paid.map(|paid| paid.load(Ordering::Relaxed) as i128);
    let net = 2 * forth - back;
    until("the last payments are settled", SOON, async || {
        scene.settle().await;
        let now = scene.both().await;
        let moved = [opening[0] - now[0], now[1] - opening[1]];
        Ok(if moved == [net, net] {
            Ok(())
        } else {
            Err(format!("{moved:?} of {net}"))
        })
    })
    .await
    .unwrap();
    assert!(
        forth > 0 && back > 0,
        "{forth} forth and {back} back are no load"
    );
    assert!(scene.unsettled().await.is_empty());
    let checked = scene.world.host.cli(&["ledger", "check"]).unwrap();
    assert_eq!(checked.code, 0, "{checked}");
    scene.world.no_complaints().unwrap();
}
