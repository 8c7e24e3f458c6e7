//! Settlement over HTTP, by two operators: the worked example of the account model (choreography 18.10) to
//! the unit, both models, and what is refused.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod scene;

use rialto_tests::scenes::committed;
use rialto_tests::world::{PAYEE, PAYER};
use scene::{AUTOMATIC, GROSS, MIXED, MODELS, Scene};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn the_worked_example_comes_out_to_the_unit() {
    let scene = Scene::with(MODELS).await;
    scene.deposits().await;
    let b = [500, 0, 0, 500, 0, 0];
    scene
        .stands("1", [1000, 0, 0, 1000, 0, 0], b, 1500, 4)
        .await;

    let path = format!("/participants/{PAYER}/liquidity-cover-reservations");
    let cover = json!({ "accountId": "USD", "value": { "currency": "USD", "amount": "200" } });
    let asked = scene.post("anna", &path, cover).await;
    let approval = format!("{path}/{}/approval", asked.body["id"].as_str().unwrap());
    let said = scene.post_decision(&approval).await;
    assert_eq!(said.status, 200, "{said:?}");
    scene
        .stands("2", [800, 0, 200, 1000, 0, 0], b, 1500, 5)
        .await;

    scene
        .world
        .payee_behaves(r#"{"transfer":{"delay":"2s"}}"#)
        .unwrap();
    let payment = tokio::spawn({
        let (payer, request) = (
            scene.world.payer().clone(),
            scene.world.request("300", "USD"),
        );
        async move { payer.pay(&request).await }
    });
    scene
        .stands("3", [500, 300, 200, 1000, 0, 0], b, 1500, 6)
        .await;
    committed(&payment.await.unwrap()).unwrap();
    scene.world.payee_behaves("{}").unwrap();
    scene
        .stands(
            "4",
            [500, 0, 200, 1000, 0, -300],
            [800, 0, 0, 500, 0, 300],
            1500,
            8,
        )
        .await;

    scene.pays(PAYEE, PAYER, "120").await;
    let (a5, b5) = ([620, 0, 200, 1000, 0, -180], [680, 0, 0, 500, 0, 180]);
    scene.stands("5", a5, b5, 1500, 11).await;

    scene
        .world
        .payee_behaves(r#"{"transfer":{"refuse":"100%:5104"}}"#)
        .unwrap();
    assert!(!scene.world.pay("50", "USD").await.is_committed());
    scene.world.payee_behaves("{}").unwrap();
    scene.stands("6", a5, b5, 1500, 13).await;

    let refused = scene.funds(PAYEE, "WITHDRAWAL", "600", None).await;
    assert_eq!(
        refused.problem(),
        "insufficient-settled-funds",
        "{refused:?}"
    );
    scene.stands("7", a5, b5, 1500, 13).await;

    // Given up once: what was set aside comes back, and the batch can be settled again.
    let batches = scene.batches("&state=OPEN").await;
    let held = [620, 0, 200, 820, 180, -180];
    let settlement = scene.settle(&batches).await;
    assert_eq!(
        (settlement.status, &settlement.body["state"]),
        (201, &json!("PENDING")),
        "{settlement:?}"
    );
    scene.stands("8a", held, b5, 1500, 14).await;
    assert_eq!(scene.end(&settlement, "abort").await, "ABORTED");
    scene.stands("aborted", a5, b5, 1500, 15).await;

    let settlement = scene.settle(&batches).await;
    let rows = settlement.body["matrix"]["items"].as_array().unwrap();
    let nets: Vec<(&Value, &Value, &Value)> = rows
        .iter()
        .map(|row| {
            (
                &row["participant"],
                &row["net"]["direction"],
                &row["net"]["amount"],
            )
        })
        .collect();
    assert_eq!(
        nets,
        [
            (&json!(PAYEE), &json!("RECEIVES"), &json!("180")),
            (&json!(PAYER), &json!("PAYS"), &json!("180")),
        ]
    );
    scene.stands("8a", held, b5, 1500, 16).await;
    assert_eq!(scene.end(&settlement, "complete").await, "COMPLETED");
    let (a8, b8) = ([620, 0, 200, 820, 0, 0], [680, 0, 0, 680, 0, 0]);
    scene.stands("8b", a8, b8, 1500, 19).await;
    assert_eq!(scene.batches("&state=SETTLED").await, batches);

    let said = scene.funds(PAYEE, "WITHDRAWAL", "600", None).await;
    assert_eq!(said.status, 200, "{said:?}");
    scene.stands("9", a8, [80, 0, 0, 80, 0, 0], 900, 21).await;
    scene.world.no_complaints().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_automatic_model_settles_at_once_and_can_be_undone() {
    let scene = Scene::with(AUTOMATIC).await;
    scene.deposits().await;
    scene.pays(PAYER, PAYEE, "300").await;
    let before = ([700, 0, 0, 1000, 0, -300], [800, 0, 0, 500, 0, 300]);
    scene.stands("recorded", before.0, before.1, 1500, 7).await;
    let batches = scene.batches("").await;
    let settlement = scene.settle(&batches).await;
    assert_eq!(settlement.body["state"], "COMPLETED", "{settlement:?}");
    let after = ([700, 0, 0, 700, 0, 0], [800, 0, 0, 800, 0, 0]);
    scene.stands("settled", after.0, after.1, 1500, 11).await;
    assert_eq!(scene.end(&settlement, "abort").await, "ABORTED");
    scene.stands("undone", before.0, before.1, 1500, 15).await;
    // Settled again; what the payee has withdrawn meanwhile cannot be taken back.
    let settlement = scene.settle(&batches).await;
    scene.stands("settled", after.0, after.1, 1500, 19).await;
    let said = scene.funds(PAYEE, "WITHDRAWAL", "600", None).await;
    assert_eq!(said.status, 200, "{said:?}");
    assert_eq!(scene.end(&settlement, "abort").await, "COMPLETED");
    let id = settlement.body["id"].as_str().unwrap();
    let told = scene
        .office
        .get("ben", &format!("/settlements/{id}"))
        .await
        .unwrap();
    assert_eq!(told["short"][0]["participant"], PAYEE, "{told}");
    scene
        .stands("as it was", after.0, [200, 0, 0, 200, 0, 0], 900, 21)
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_immediate_model_settles_each_transfer() {
    let scene = Scene::with(GROSS).await;
    scene.deposits().await;
    scene.pays(PAYER, PAYEE, "300").await;
    scene
        .stands(
            "settled",
            [700, 0, 0, 700, 0, 0],
            [800, 0, 0, 800, 0, 0],
            1500,
            10,
        )
        .await;
    scene.pays(PAYEE, PAYER, "120").await;
    scene
        .stands(
            "settled",
            [820, 0, 0, 820, 0, 0],
            [680, 0, 0, 680, 0, 0],
            1500,
            16,
        )
        .await;
    assert!(scene.batches("").await.is_empty());
    let said = scene.funds(PAYEE, "WITHDRAWAL", "680", None).await;
    assert_eq!(said.status, 200, "it is settled: {said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn immediate_transfers_hold_settled_funds_beside_deferred_ones() {
    let scene = Scene::with(MIXED).await;
    scene.deposits().await;
    // Its funds are of the first model: none are there to settle at once.
    let refused = scene.world.pay("300", "USD").await;
    let code = refused
        .failure
        .as_ref()
        .and_then(|failure| failure.error_code.as_deref());
    assert_eq!(code, Some("4001"), "{refused:?}");
    let said = scene.funds(PAYER, "DEPOSIT", "400", Some("GROSS")).await;
    assert_eq!(said.status, 200, "{said:?}");
    scene
        .stands(
            "held",
            [1400, 0, 0, 1400, 0, 0],
            [500, 0, 0, 500, 0, 0],
            1900,
            6,
        )
        .await;
    scene.pays(PAYER, PAYEE, "300").await;
    scene
        .stands(
            "at once",
            [1100, 0, 0, 1100, 0, 0],
            [800, 0, 0, 800, 0, 0],
            1900,
            12,
        )
        .await;
    scene.pays(PAYER, PAYEE, "199").await;
    scene
        .stands(
            "in a batch",
            [901, 0, 0, 1100, 0, -199],
            [999, 0, 0, 800, 0, 199],
            1900,
            15,
        )
        .await;
    let (accounts, _) = scene.ledger().await;
    assert_eq!(accounts[&format!("{PAYER}:USD:SETTLEMENT:GROSS")], 100);
    assert_eq!(accounts[&format!("{PAYEE}:USD:SETTLEMENT:GROSS")], 300);
    assert_eq!(
        accounts[&format!("{PAYER}:USD:SETTLEMENT_RESERVED:GROSS")],
        0
    );
    assert_eq!(scene.settled_funds("").await, ["1000"]);
    let gross = scene.settled_funds("&settlementModel=GROSS").await;
    assert_eq!(gross, ["300", "400"], "the newest first");
    // The batch's obligation stays, although liquidity and the other model's funds would cover it.
    let refused = scene.funds(PAYER, "WITHDRAWAL", "802", None).await;
    assert_eq!(
        (refused.problem(), &refused.body["available"]["amount"]),
        ("insufficient-settled-funds", &json!("801")),
        "{refused:?}"
    );
    // So it does when funds move to the other model, whose own funds are free.
    let moved = |amount: &'static str, from: &'static str, to: &'static str| {
        let mut body = json!({
            "type": "MOVE", "accountId": "USD", "reason": "they are needed there",
            "amount": { "currency": "USD", "amount": amount },
        });
        (body["settlementModel"], body["toSettlementModel"]) = (json!(from), json!(to));
        scene.asked_and_approved(PAYER, body)
    };
    let refused = moved("802", "DEFERRED_NET", "GROSS").await;
    assert_eq!(refused.problem(), "insufficient-settled-funds");
    let said = moved("100", "GROSS", "DEFERRED_NET").await;
    assert_eq!(said.status, 200, "{said:?}");
    let (accounts, _) = scene.ledger().await;
    assert_eq!(accounts[&format!("{PAYER}:USD:SETTLEMENT")], 1100);
    assert_eq!(accounts[&format!("{PAYER}:USD:SETTLEMENT:GROSS")], 0);
    let said = scene.funds(PAYER, "WITHDRAWAL", "901", None).await;
    assert_eq!(said.status, 200, "{said:?}");
    let batches = scene.batches("&state=OPEN").await;
    let settlement = scene.settle(&batches).await;
    assert!(
        matches!(settlement.status, 200..=202),
        "it is not short: {settlement:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_that_cannot_be_settled_alone_are_settled_together() {
    let scene = Scene::with(MODELS).await;
    scene.deposits().await;
    scene.pays(PAYER, PAYEE, "400").await;
    scene
        .stands(
            "first",
            [600, 0, 0, 1000, 0, -400],
            [900, 0, 0, 500, 0, 400],
            1500,
            7,
        )
        .await;
    let first = scene.batches("").await.pop().unwrap();
    let closed = scene
        .post(
            "anna",
            &format!("/settlement-batches/{first}/close"),
            json!({}),
        )
        .await;
    assert_eq!(closed.body["state"], "CLOSED", "{closed:?}");
    scene.pays(PAYEE, PAYER, "700").await;
    scene
        .stands(
            "second",
            [1300, 0, 0, 1000, 0, 300],
            [200, 0, 0, 500, 0, -300],
            1500,
            10,
        )
        .await;
    let second = scene.batches("&state=OPEN").await.pop().unwrap();
    assert_ne!(first, second);
    let shown = scene
        .office
        .get("ben", &format!("/settlement-batches/{second}"))
        .await
        .unwrap();
    assert_eq!(shown["positions"][0]["net"]["amount"], "700", "{shown}");
    let short = scene.settle(std::slice::from_ref(&second)).await;
    assert_eq!(short.problem(), "settlement-short", "{short:?}");
    assert_eq!(short.body["short"][0]["needs"]["amount"], "700");
    let both = [first.clone(), second];
    let given_up = scene.settle(&both).await;
    assert_eq!(scene.end(&given_up, "abort").await, "ABORTED");
    let together = scene.settle(&both).await;
    assert_eq!(scene.end(&together, "complete").await, "COMPLETED");
    let (a, b) = ([1300, 0, 0, 1300, 0, 0], [200, 0, 0, 200, 0, 0]);
    // A hold that was given back, a hold, four of consolidation for each batch's pair, and three that pay.
    scene.stands("together", a, b, 1500, 20).await;
    let again = scene.settle(std::slice::from_ref(&first)).await;
    assert_eq!((again.status, again.problem()), (409, "batch-state"));

    // All are found again, page by page, and by each filter.
    let settlement = together.body["id"].as_str().unwrap();
    let matrix = format!("/settlements/{settlement}/matrix");
    for (list, count) in [
        ("/settlement-batches?currency=USD", 2),
        ("/settlements", 2),
        (matrix.as_str(), 2),
    ] {
        let (whole, pages) = (scene.list(list, 100).await, scene.list(list, 1).await);
        assert_eq!(whole.len(), count, "{list}: {whole:?}");
        assert_eq!(pages, whole, "{list}");
    }
    let path = format!("/settlement-batches/{first}");
    let at = scene.office.get("ben", &path).await.unwrap()["openedAt"].clone();
    for (filter, count) in [
        ("model=DEFERRED_NET".to_owned(), 2),
        ("model=GROSS".to_owned(), 0),
        ("state=SETTLED".to_owned(), 2),
        ("state=OPEN".to_owned(), 0),
        (format!("participant={PAYER}"), 2),
        ("participant=nobody".to_owned(), 0),
        (format!("from={at}"), 2),
        (format!("to={at}"), 0),
    ] {
        let path = format!("/settlement-batches?currency=USD&{filter}");
        assert_eq!(scene.list(&path, 100).await.len(), count, "{filter}");
    }
    for (filter, count) in [
        ("state=COMPLETED", 1),
        ("state=ABORTED", 1),
        ("state=PENDING", 0),
        ("model=DEFERRED_NET", 2),
        ("model=GROSS", 0),
    ] {
        let path = format!("/settlements?{filter}");
        assert_eq!(scene.list(&path, 100).await.len(), count, "{filter}");
    }
    let typo = scene
        .office
        .send("ben", "GET", "/settlements?state=DONE", &[], &Value::Null);
    assert_eq!(typo.await.unwrap().status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_changes_nothing() {
    let scene = Scene::with(MODELS).await;
    scene.deposits().await;
    scene.pays(PAYER, PAYEE, "300").await;
    scene
        .stands(
            "recorded",
            [700, 0, 0, 1000, 0, -300],
            [800, 0, 0, 500, 0, 300],
            1500,
            7,
        )
        .await;
    let batch = scene.batches("").await.pop().unwrap();
    let collections = [
        "settlements/batches",
        "settlements/settlements",
        "accounts-and-balances/accounts",
    ]
    .map(|name| name.split_once('/').unwrap())
    .map(|(component, collection)| (component.to_owned(), collection.to_owned()));
    let before = scene.office.everything(&collections).await.unwrap();
    let close = format!("/settlement-batches/{batch}/close");
    for (method, path, body, status, problem) in [
        (
            "POST",
            "/settlements",
            json!({ "batches": ["nothing"], "reason": "r" }),
            404,
            "batch-unknown",
        ),
        (
            "POST",
            "/settlements",
            json!({ "batches": [batch, batch], "reason": "r" }),
            400,
            "malformed",
        ),
        (
            "POST",
            "/settlements",
            json!({ "batches": [], "reason": "r" }),
            400,
            "malformed",
        ),
        (
            "POST",
            "/settlements",
            json!({ "batches": [batch] }),
            400,
            "malformed",
        ),
        (
            "POST",
            "/settlements/x/complete",
            json!({ "reason": "r" }),
            404,
            "settlement-unknown",
        ),
        (
            "POST",
            "/settlement-batches/x/close",
            json!({ "reason": "r" }),
            404,
            "batch-unknown",
        ),
        (
            "GET",
            "/settlements/x/matrix",
            Value::Null,
            404,
            "settlement-unknown",
        ),
        ("GET", "/settlements/a%0Ab", Value::Null, 400, "malformed"),
        (
            "GET",
            "/settlement-batches?participant=%00",
            Value::Null,
            400,
            "malformed",
        ),
        (
            "GET",
            "/settlement-batches?state=ANY",
            Value::Null,
            400,
            "malformed",
        ),
        (
            "DELETE",
            "/settlements",
            Value::Null,
            405,
            "method-not-allowed",
        ),
    ] {
        let said = scene
            .office
            .send("anna", method, path, &[], &body)
            .await
            .unwrap();
        assert_eq!(
            (said.status, said.problem()),
            (status, problem),
            "{method} {path} {said:?}"
        );
    }
    let stale = [("if-match", "\"77\"")];
    let reason = json!({ "reason": "r" });
    let said = scene
        .office
        .send("anna", "POST", &close, &stale, &reason)
        .await
        .unwrap();
    assert_eq!(said.problem(), "precondition-failed");
    assert_eq!(scene.office.everything(&collections).await.unwrap(), before);
    // A repeat with its key is done once.
    let key = [("idempotency-key", "close-1")];
    for (replayed, state) in [(None, "CLOSED"), (Some("true"), "CLOSED")] {
        let said = scene
            .office
            .send("anna", "POST", &close, &key, &reason)
            .await
            .unwrap();
        assert_eq!(
            (said.status, &said.body["state"]),
            (200, &json!(state)),
            "{said:?}"
        );
        assert_eq!(
            said.headers.get("idempotent-replayed").map(String::as_str),
            replayed
        );
    }
    let said = scene
        .office
        .send("anna", "POST", &close, &[], &reason)
        .await
        .unwrap();
    assert_eq!(
        (said.problem(), &said.body["state"]),
        ("batch-state", &json!("CLOSED"))
    );
    let models = scene.office.get("ben", "/settlement-models").await.unwrap();
    assert_eq!(models["models"][0]["name"], "DEFERRED_NET");
}
