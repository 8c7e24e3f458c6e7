//! Payments that succeed between two simulated FSPs with a tiny switch between them.

use http::Method;
use rialto_simulator::fsp::Step;
use rialto_simulator::ilp::{self, Layout};
use rialto_simulator::transcript::{Style, Transcript};
use rialto_simulator::{Fsp, PaymentRequest};

use crate::world::{SOON, behaviour, party, payee, payer, ten_dollars, world};

#[tokio::test]
async fn a_payment_goes_from_lookup_to_committed() {
    let (_switch, payer, payee) = world(payer(), payee()).await;
    let outcome = payer.pay(&ten_dollars()).await;
    assert!(outcome.is_committed(), "{outcome:?}");
    assert_eq!(outcome.payee_fsp.as_ref(), Some(payee.id()));
    assert_eq!(outcome.transfer_amount.as_deref(), Some("10"));
    let steps: Vec<Step> = outcome.steps.iter().map(|timing| timing.step).collect();
    assert_eq!(steps, [Step::Lookup, Step::Quote, Step::Transfer]);
    assert!(
        outcome
            .steps
            .iter()
            .all(|timing| timing.callback_ms <= outcome.total_ms)
    );
    assert_eq!(payee.recorder().complaints(), Vec::<String>::new());
    assert_eq!(payer.recorder().complaints(), Vec::<String>::new());
    let received = payee.received();
    assert_eq!(
        (received.lookups, received.quotes, received.transfers),
        (1, 1, 1)
    );
    assert_eq!(
        (payer.received().callbacks, payer.received().unclaimed),
        (3, 0)
    );
}

#[tokio::test]
async fn each_ilp_layout_is_payable_and_has_the_amount() {
    for layout in [Layout::Specification, Layout::Deployed, Layout::Version4] {
        let mut payee = payee();
        payee.ilp_layout = layout;
        payee.payee_fee = Some("0.25".to_owned());
        let (_switch, payer, payee) = world(payer(), payee).await;
        let request = PaymentRequest {
            note: Some("for \"tea\"".to_owned()),
            ..ten_dollars()
        };
        let outcome = payer.pay(&request).await;
        assert!(outcome.is_committed(), "{layout:?}: {outcome:?}");

        let messages = payee.recorder().messages();
        let transfer = messages
            .iter()
            .find(|m| m.path == "/transfers")
            .expect("a transfer");
        let packet = ilp::from_base64url(transfer.json()["ilpPacket"].as_str().expect("text"));
        let packet = ilp::decode(&packet.expect("base64url")).expect("a packet");
        assert_eq!((packet.layout, packet.amount), (layout, 1000));
        assert_eq!(packet.account, "g.payeefsp.msisdn.27713803912");
        let data = match layout {
            Layout::Specification => packet.data,
            _ => ilp::from_base64url(std::str::from_utf8(&packet.data).expect("text"))
                .expect("base64url"),
        };
        let transaction: serde_json::Value = serde_json::from_slice(&data).expect("JSON");
        assert_eq!(transaction["note"], "for \"tea\"");
        assert_eq!(transaction["quoteId"], outcome.quote_id);
        let put = messages
            .iter()
            .find(|m| m.path.starts_with("/quotes/"))
            .expect("a quote");
        assert_eq!(put.json()["payeeFspFee"]["amount"], "0.25");
        assert_eq!(put.json()["payeeReceiveAmount"]["amount"], "9.75");
    }
}

#[tokio::test]
async fn in_reserved_mode_the_payee_is_told_by_patch() {
    let mut payee = payee();
    payee.behaviour = behaviour(r#"{"reserve":true}"#);
    let (_switch, payer, payee) = world(payer(), payee).await;
    let outcome = payer.pay(&ten_dollars()).await;
    assert!(outcome.is_committed(), "{outcome:?}");
    let path = format!("/transfers/{}", outcome.transfer_id);
    let patch = payee
        .expect_callback(Method::PATCH, &path, SOON)
        .await
        .expect("a PATCH");
    assert_eq!(patch.json()["transferState"], "COMMITTED");
    assert_eq!(payee.received().notifications, 1);
}

#[tokio::test]
async fn a_repeated_transfer_is_answered_with_the_very_same_words() {
    let (_switch, payer, payee) = world(payer(), payee()).await;
    let outcome = payer.pay(&ten_dollars()).await;
    assert!(outcome.is_committed());
    let transfers = |fsp: &Fsp, path: &str, method: Method| -> Vec<_> {
        let messages = fsp.recorder().messages();
        messages
            .into_iter()
            .filter(|m| m.path == path && m.method == method)
            .collect()
    };
    let sent = transfers(&payer, "/transfers", Method::POST).remove(0);
    let answer = payer
        .raw(Method::POST, "/transfers")
        .to("payeefsp")
        .body(sent.body)
        .send()
        .await;
    assert_eq!(answer.expect("an answer").status, 202);
    let put = format!("/transfers/{}", outcome.transfer_id);
    for _ in 0..2 {
        payer
            .expect_callback(Method::PUT, &put, SOON)
            .await
            .expect("a PUT");
    }
    assert!(payee.recorder().settled(SOON).await);
    let puts = transfers(&payee, &put, Method::PUT);
    assert_eq!(puts.len(), 2);
    assert_eq!(puts[0].body, puts[1].body);
}

#[tokio::test]
async fn raw_requests_carry_what_the_test_wants() {
    let (_switch, payer, payee) = world(payer(), payee()).await;
    let answer = payer
        .raw(Method::GET, "/parties/MSISDN/27713803912")
        .header("x-extra", "1")
        .without("date")
        .send()
        .await
        .expect("an answer");
    assert_eq!(answer.status, 202);
    let path = "/parties/MSISDN/27713803912";
    let get = payee
        .expect_callback(Method::GET, path, SOON)
        .await
        .expect("a GET");
    assert_eq!(get.header("x-extra"), "1");
    assert_eq!(get.complaints, ["Date is missing"]);
    payer
        .expect_callback(Method::PUT, path, SOON)
        .await
        .expect("a PUT");
    assert!(
        payer
            .raw(Method::GET, "/")
            .header("a b", "c")
            .send()
            .await
            .is_err()
    );
}

#[tokio::test]
async fn a_party_that_is_announced_can_be_paid() {
    let (_switch, payer, payee) = world(payer(), payee()).await;
    let new = party("MSISDN/27999999999");
    payee
        .associate(&new, Some("USD"))
        .await
        .expect("associated");
    let outcome = payer.pay(&PaymentRequest::new(new, "5", "USD")).await;
    assert!(outcome.is_committed(), "{outcome:?}");
}

#[tokio::test]
async fn payment_story_is_the_same_in_each_run() {
    let tell = async || {
        let (_switch, payer, payee) = world(payer(), payee()).await;
        let outcome = payer.pay(&ten_dollars()).await;
        assert!(outcome.is_committed(), "{outcome:?}");
        for fsp in [&payer, &payee] {
            assert!(fsp.recorder().settled(SOON).await);
        }
        let recordings = [payer.recorder().messages(), payee.recorder().messages()];
        let transcript = Transcript::new(recordings).of_payment(&outcome);
        let mut out = Vec::new();
        let style = Style {
            bodies: false,
            ..Style::for_snapshots()
        };
        transcript.write(&mut out, style).expect("memory takes all");
        String::from_utf8(out).expect("UTF-8")
    };
    let expected = "
  1  payerfsp → hub  GET /parties/MSISDN/27713803912  202
  2  hub → payeefsp  GET /parties/MSISDN/27713803912  202
  3  payeefsp → hub  PUT /parties/MSISDN/27713803912  200
  4  hub → payerfsp  PUT /parties/MSISDN/27713803912  200
  5  payerfsp → hub  POST /quotes                     202
  6  hub → payeefsp  POST /quotes                     202
  7  payeefsp → hub  PUT /quotes/<id 1>               200
  8  hub → payerfsp  PUT /quotes/<id 1>               200
  9  payerfsp → hub  POST /transfers                  202
 10  hub → payeefsp  POST /transfers                  202
 11  payeefsp → hub  PUT /transfers/<id 2>            200
 12  hub → payerfsp  PUT /transfers/<id 2>            200
";
    let ids = |text: String| text.replace("<id 3>", "<id 2>").replace("<id 4>", "<id 2>");
    assert_eq!(ids(tell().await), expected.trim_start_matches('\n'));
    assert_eq!(tell().await, tell().await);
}
