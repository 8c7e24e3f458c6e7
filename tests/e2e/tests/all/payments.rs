//! Payments through a running host: what moves, what is refused with which code, and where the
//! money is afterwards. In every test the FSPs judge every message against the API definition.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::time::Duration;

use http::Method;
use rialto_simulator::fsp::Step;
use rialto_tests::scenes::{committed, refused};
use rialto_tests::{TestScheme, World, WorldOptions};

/// Longer than any message takes.
const SOON: Duration = Duration::from_secs(10);

/// The balances of the payer and the payee in a currency, in minor units.
fn liquidity(world: &World, currency: &str) -> (i128, i128) {
    let books = world.books().unwrap();
    let of = |id: &str| {
        books
            .balance(&format!("{id}:{currency}:LIQUIDITY"))
            .unwrap()
    };
    (of("payerfsp"), of("payeefsp"))
}

/// Wait for the end of everything, and accept only books that add up and sound messages.
async fn settle(world: &World) {
    let books = world.settled_books().await.unwrap();
    assert_eq!(books.problems().unwrap(), Vec::<String>::new());
    world.no_complaints().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_moves_its_amount_in_each_currency() {
    let world = World::demo().await.unwrap();
    for (amount, currency, minor_units) in [("12.5", "USD", 1250), ("1500", "RWF", 1500)] {
        let (payer, payee) = liquidity(&world, currency);
        for _ in 0..2 {
            committed(&world.pay(amount, currency).await).unwrap();
        }
        let moved = 2 * minor_units;
        assert_eq!(
            liquidity(&world, currency),
            (payer - moved, payee + moved),
            "{currency}"
        );
    }
    settle(&world).await;
    assert_eq!(world.books().unwrap().transfers().len(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_payee_refuses_reaches_the_payer_and_moves_nothing() {
    let world = World::demo().await.unwrap();
    let before = liquidity(&world, "USD");
    world
        .payee_behaves(r#"{"quote":{"refuse":"100%"}}"#)
        .unwrap();
    let outcome = world.pay("7", "USD").await;
    refused(&outcome, Step::Quote, "5103").unwrap();

    world
        .payee_behaves(r#"{"transfer":{"refuse":"100%:5104"}}"#)
        .unwrap();
    let outcome = world.pay("7", "USD").await;
    refused(&outcome, Step::Transfer, "5104").unwrap();
    settle(&world).await;
    assert_eq!(liquidity(&world, "USD"), before);
    assert_eq!(
        world.books().unwrap().state(&outcome.transfer_id),
        "REJECTED"
    );

    world.payee_behaves("{}").unwrap();
    committed(&world.pay("7", "USD").await).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn amount_outside_limits_is_refused_before_asking_the_payee() {
    let world = World::demo().await.unwrap();
    refused(&world.pay("10000.01", "USD").await, Step::Quote, "4200").unwrap();
    refused(&world.pay("10000001", "RWF").await, Step::Quote, "4200").unwrap();
    assert_eq!(world.payee().received().quotes, 0);
    committed(&world.pay("10000", "USD").await).unwrap();
    settle(&world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transfer_on_other_terms_than_its_quote_is_refused() {
    let world = World::demo().await.unwrap();
    let before = liquidity(&world, "USD");
    let (found, _) = world.payer().lookup(world.party("payeefsp")).await.unwrap();
    let order = world
        .payer()
        .quote_order(&world.request("10", "USD"), &found)
        .unwrap();
    let (quote, _) = world.payer().quote(&order).await.unwrap();
    let mut order = world.payer().transfer_order(&quote);
    order.amount = "11".to_owned();
    let failure = world.payer().transfer(&order).await.unwrap_err();
    assert_eq!(failure.error_code.as_deref(), Some("3100"), "{failure:?}");
    settle(&world).await;
    assert_eq!(world.payee().received().transfers, 0);
    assert_eq!(liquidity(&world, "USD"), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payer_without_liquidity_is_refused_to_the_cent() {
    let scheme = TestScheme::demo().unwrap();
    scheme
        .edit(
            "opening-liquidity = \"1000000.00\"",
            "opening-liquidity = \"20.00\"",
        )
        .unwrap();
    scheme.edit("net-debit-cap = \"500000.00\"\n", "").unwrap();
    let world = World::of(scheme, &WorldOptions::default()).await.unwrap();
    refused(&world.pay("20.01", "USD").await, Step::Transfer, "4001").unwrap();
    committed(&world.pay("20", "USD").await).unwrap();
    refused(&world.pay("0.01", "USD").await, Step::Transfer, "4001").unwrap();
    settle(&world).await;
    assert_eq!(liquidity(&world, "USD"), (0, 4000));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unanswered_transfer_expires_and_returns_the_money() {
    let options = WorldOptions {
        expires_in: Duration::from_secs(2),
        ..WorldOptions::default()
    };
    let world = World::of(TestScheme::demo().unwrap(), &options)
        .await
        .unwrap();
    let before = liquidity(&world, "USD");
    world
        .payee_behaves(r#"{"transfer":{"silent":"100%"}}"#)
        .unwrap();
    let outcome = world.pay("9.99", "USD").await;
    refused(&outcome, Step::Transfer, "3303").unwrap();

    let path = format!("/transfers/{}/error", outcome.transfer_id);
    let told = world
        .payee()
        .expect_callback(Method::PUT, &path, SOON)
        .await
        .unwrap();
    assert_eq!(told.json()["errorInformation"]["errorCode"], "3303");
    settle(&world).await;
    assert_eq!(liquidity(&world, "USD"), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_fulfilment_ends_the_transfer_and_returns_the_money() {
    let world = World::demo().await.unwrap();
    let before = liquidity(&world, "USD");
    world
        .payee_behaves(r#"{"wrongFulfilment":"100%"}"#)
        .unwrap();
    let outcome = world.pay("3", "USD").await;
    refused(&outcome, Step::Transfer, "3100").unwrap();
    settle(&world).await;
    assert_eq!(
        world.books().unwrap().state(&outcome.transfer_id),
        "REJECTED"
    );
    assert_eq!(liquidity(&world, "USD"), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reserving_payee_is_told_of_the_commit() {
    let world = World::demo().await.unwrap();
    world.payee_behaves(r#"{"reserve":true}"#).unwrap();
    let outcome = world.pay("4", "USD").await;
    committed(&outcome).unwrap();
    let path = format!("/transfers/{}", outcome.transfer_id);
    let told = world
        .payee()
        .expect_callback(Method::PATCH, &path, SOON)
        .await
        .unwrap();
    assert_eq!(told.json()["transferState"], "COMMITTED");
    settle(&world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_its_fsps_are_told_of_a_transfer_or_quote() {
    let mut scheme = TestScheme::demo().unwrap();
    scheme.add_participant("strangerfsp", "10").unwrap();
    let world = World::of(scheme, &WorldOptions::default()).await.unwrap();
    let outcome = world.pay("5", "USD").await;
    committed(&outcome).unwrap();
    let (transfer, quote) = (&outcome.transfer_id, &outcome.quote_id);
    for party in [world.payer(), world.payee()] {
        let (result, _) = party.query_transfer(transfer).await.unwrap();
        assert_eq!(result.state, "COMMITTED");
        assert!(result.fulfilment.is_some(), "{result:?}");
        let (callback, _) = party.query_quote(quote).await.unwrap();
        let terms: serde_json::Value = serde_json::from_slice(&callback.body).unwrap();
        assert_eq!(terms["transferAmount"]["amount"], "5");
    }
    let stranger = world.fsp("strangerfsp");
    let of_transfer = stranger.query_transfer(transfer).await.unwrap_err();
    assert_eq!(
        of_transfer.error_code.as_deref(),
        Some("3208"),
        "{of_transfer:?}"
    );
    let of_quote = stranger.query_quote(quote).await.unwrap_err();
    assert_eq!(of_quote.error_code.as_deref(), Some("3205"), "{of_quote:?}");
    // What exists and is not theirs looks like what does not exist.
    let unknown = stranger
        .query_transfer(&stranger.new_id())
        .await
        .unwrap_err();
    assert_eq!(unknown.description, of_transfer.description);
    settle(&world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_lookups_of_one_party_are_all_answered() {
    let options = WorldOptions {
        callback_timeout: Duration::from_secs(3),
        ..WorldOptions::default()
    };
    let world = World::of(TestScheme::demo().unwrap(), &options)
        .await
        .unwrap();
    // The payee takes its time, so that the lookups are under way together.
    world
        .payee_behaves(r#"{"lookup":{"delay":"300ms"}}"#)
        .unwrap();
    let lookups: Vec<_> = (0..4)
        .map(|_| {
            let (payer, party) = (world.payer().clone(), world.party("payeefsp").clone());
            tokio::spawn(async move { payer.lookup(&party).await })
        })
        .collect();
    for lookup in lookups {
        let (found, _) = lookup.await.unwrap().unwrap();
        assert_eq!(found.fsp.as_str(), "payeefsp");
    }
    world.no_complaints().unwrap();
}
