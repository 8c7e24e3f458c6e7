//! All the ways in which an FSP can be made to misbehave, and what its partner makes of it.

use std::time::Duration;

use http::Method;
use rialto_simulator::behaviour::Delay;
use rialto_simulator::fsp::{FailureKind, Step};
use rialto_simulator::{Behaviour, Fsp, PaymentRequest, ilp};

use crate::world::{behaviour, failure, party, pay_to, payee, payer, ten_dollars, world};

#[tokio::test]
async fn payee_refuses_at_each_step_by_chance_or_amount() {
    use FailureKind::ErrorCallback;
    let outcome = pay_to(r#"{"lookup":{"refuse":"100%"}}"#).await;
    assert_eq!(failure(&outcome), (Step::Lookup, ErrorCallback, "3204"));
    let outcome = pay_to(r#"{"quote":{"refuse":"amount=10"}}"#).await;
    assert_eq!(failure(&outcome), (Step::Quote, ErrorCallback, "5103"));
    let outcome = pay_to(r#"{"quote":{"refuse":"amount=10.01"}}"#).await;
    assert!(outcome.is_committed());
    let outcome = pay_to(r#"{"transfer":{"refuse":"100%:5104"}}"#).await;
    assert_eq!(failure(&outcome), (Step::Transfer, ErrorCallback, "5104"));
}

#[tokio::test]
async fn an_unknown_party_is_not_found() {
    let (_switch, payer, _payee) = world(payer(), payee()).await;
    let request = PaymentRequest::new(party("MSISDN/1"), "10", "USD");
    let outcome = payer.pay(&request).await;
    assert_eq!(
        failure(&outcome),
        (Step::Lookup, FailureKind::ErrorCallback, "3204")
    );
}

#[tokio::test]
async fn silence_ends_in_a_timeout() {
    for (json, step) in [
        (r#"{"lookup":{"silent":"100%"}}"#, Step::Lookup),
        (r#"{"quote":{"silent":"100%"}}"#, Step::Quote),
        (r#"{"transfer":{"silent":"100%"}}"#, Step::Transfer),
        (r#"{"quote":{"answer":{"reset":"100%"}}}"#, Step::Quote),
        (r#"{"quote":{"answer":{"status":503}}}"#, Step::Quote),
    ] {
        let outcome = pay_to(json).await;
        assert_eq!(
            failure(&outcome),
            (step, FailureKind::NoCallback, ""),
            "{json}"
        );
    }
}

#[tokio::test]
async fn a_wrong_fulfilment_commits_nothing() {
    let outcome = pay_to(r#"{"wrongFulfilment":"100%"}"#).await;
    assert_eq!(
        failure(&outcome),
        (Step::Transfer, FailureKind::ErrorCallback, "3100")
    );
}

#[tokio::test]
async fn a_delay_delays_and_no_more() {
    let mut payee = payee();
    payee.behaviour.quote.delay = Delay::always(Duration::from_millis(120));
    payee.behaviour.transfer.answer.stall = Delay::always(Duration::from_millis(30));
    let (_switch, payer, _payee) = world(payer(), payee).await;
    let outcome = payer.pay(&ten_dollars()).await;
    assert!(outcome.is_committed(), "{outcome:?}");
    let quote = outcome
        .steps
        .iter()
        .find(|timing| timing.step == Step::Quote);
    assert!(quote.expect("a quote").callback_ms >= 120.0);
}

#[tokio::test]
async fn a_transfer_whose_callback_is_lost_is_asked_for() {
    let mut payer = payer();
    payer.callback_timeout_ms = 500;
    payer.behaviour.seed = 3;
    let (_switch, payer, payee) = world(payer, payee()).await;
    let found = payer
        .lookup(&party("MSISDN/27713803912"))
        .await
        .expect("found")
        .0;
    let order = payer.quote_order(&ten_dollars(), &found).expect("an order");
    let quote = payer.quote(&order).await.expect("a quote").0;
    let order = payer.transfer_order(&quote);
    // The payer is deaf to callbacks while the transfer goes through.
    payer.set_behaviour(behaviour(r#"{"callbacks":{"status":503}}"#));
    let lost = payer.transfer(&order).await.expect_err("no callback");
    assert_eq!(lost.kind, FailureKind::NoCallback);
    payer.set_behaviour(Behaviour::default());
    let (result, _) = payer
        .query_transfer(&order.transfer_id)
        .await
        .expect("known");
    assert_eq!(result.state, "COMMITTED");
    assert!(ilp::fulfils(
        &result.fulfilment.expect("fulfilled"),
        &order.condition
    ));
    let unknown = payer
        .query_transfer(&payer.new_id())
        .await
        .expect_err("unknown");
    assert_eq!(unknown.error_code.as_deref(), Some("3208"));
    assert_eq!(payee.received().transfers, 1);
}

#[tokio::test]
async fn payment_with_a_lost_result_asks_for_it() {
    let mut asking = payer();
    asking.callback_timeout_ms = 300;
    let (switch, asking, _payee) = world(asking, payee()).await;
    switch.lose_results();
    let outcome = asking.pay(&ten_dollars()).await;
    assert!(outcome.is_committed(), "{outcome:?}");
    let last = asking.recorder().messages().pop().expect("a message");
    assert_eq!(last.path, format!("/transfers/{}", outcome.transfer_id));

    let mut resigned = payer();
    resigned.callback_timeout_ms = 300;
    resigned.query_on_timeout = false;
    let (switch, resigned, _payee) = world(resigned, payee()).await;
    switch.lose_results();
    let outcome = resigned.pay(&ten_dollars()).await;
    assert_eq!(
        failure(&outcome),
        (Step::Transfer, FailureKind::NoCallback, "")
    );
}

#[tokio::test]
async fn a_stranger_condition_is_not_fulfilled() {
    let (_switch, payer, _payee) = world(payer(), payee()).await;
    let found = payer
        .lookup(&party("MSISDN/27713803912"))
        .await
        .expect("found")
        .0;
    let order = payer.quote_order(&ten_dollars(), &found).expect("an order");
    let quote = payer.quote(&order).await.expect("a quote").0;
    let mut order = payer.transfer_order(&quote);
    order.condition = "fH9pAYDQbmoZLPbvv3CSW2RfjU4jvM4ApG_fqGnR7Xs".to_owned();
    let refused = payer.transfer(&order).await.expect_err("refused");
    assert_eq!(refused.error_code.as_deref(), Some("5105"));
}

#[tokio::test]
async fn fsps_refuse_what_is_not_for_them() {
    let (_switch, payer, payee) = world(payer(), payee()).await;
    payer.set_hub(&payee.url()).expect("an address");
    let status = async |method: Method, path: &str, body: &'static str| {
        let answer = payer
            .raw(method, path)
            .body(body)
            .send()
            .await
            .expect("an answer");
        let information = rialto_simulator::message::ErrorInformation::of_body(&answer.body);
        (
            answer.status.as_u16(),
            information.map(|i| i.code).unwrap_or_default(),
        )
    };
    assert_eq!(
        status(Method::GET, "/nowhere", "").await,
        (404, "3002".to_owned())
    );
    assert_eq!(
        status(Method::DELETE, "/transfers/1", "").await,
        (405, "3000".to_owned())
    );
    assert_eq!(
        status(Method::POST, "/quotes", "{").await,
        (400, "3101".to_owned())
    );
    assert_eq!(
        status(Method::POST, "/transfers", "{}").await,
        (400, "3102".to_owned())
    );
    assert_eq!(
        status(Method::PUT, "/quotes/1", "{}").await,
        (200, String::new())
    );
    assert_eq!(payee.received().unclaimed, 1);
}

#[tokio::test]
async fn reset_breaks_a_connection_and_retry_succeeds() {
    let (_switch, payer, payee) = world(payer(), payee()).await;
    payee.set_behaviour(behaviour(r#"{"callbacks":{"reset":"100%"}}"#));
    payer.set_hub(&payee.url()).expect("an address");
    let error = payer
        .raw(Method::PUT, "/quotes/1")
        .send()
        .await
        .expect_err("reset");
    assert!(error.to_string().contains("no answer from"), "{error}");
    payee.set_behaviour(Behaviour::default());
    let answer = payer
        .raw(Method::PUT, "/quotes/1")
        .send()
        .await
        .expect("an answer");
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn stopped_fsp_frees_its_address_for_a_restart() {
    let (_switch, payer, payee) = world(payer(), payee()).await;
    let address = payee.address();
    assert!(payer.pay(&ten_dollars()).await.is_committed());
    payee.stop().await;
    let mut again = crate::world::payee();
    again.listen = address;
    let payee = _switch.fsp(again).await;
    assert_eq!(payee.address(), address);
    let outcome = payer.pay(&ten_dollars()).await;
    assert!(outcome.is_committed(), "{outcome:?}");
}

#[tokio::test]
async fn no_switch_is_a_failure_and_not_a_hang() {
    let lonely = Fsp::start(payer()).await.expect("it starts");
    let outcome = lonely.pay(&ten_dollars()).await;
    assert_eq!(failure(&outcome), (Step::Lookup, FailureKind::Request, ""));
    lonely.set_hub("http://127.0.0.1:1").expect("an address");
    let outcome = lonely.pay(&ten_dollars()).await;
    assert_eq!(
        failure(&outcome),
        (Step::Lookup, FailureKind::Unreachable, "")
    );
}

#[tokio::test]
async fn answers_kept_back_end_the_payment_in_time() {
    let mut payer = payer();
    payer.callback_timeout_ms = 200;
    let (switch, payer, _payee) = world(payer, payee()).await;
    switch.keep_answers_back();
    let outcome = payer.pay(&ten_dollars()).await;
    assert_eq!(
        failure(&outcome),
        (Step::Lookup, FailureKind::NoCallback, "")
    );
}
