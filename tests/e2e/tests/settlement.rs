//! Settlement over HTTP, by two operators: the worked example of the account model (choreography 18.10) to
//! the unit, both models, and what is refused.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::BTreeMap;
use std::time::Duration;

use rialto_simulator::PaymentRequest;
use rialto_tests::scenes::committed;
use rialto_tests::waiting::until;
use rialto_tests::world::{PAYEE, PAYER};
use rialto_tests::{Office, Said, TestScheme, World, WorldOptions};
use serde_json::{Value, json};

/// Longer than anything here takes.
const SOON: Duration = Duration::from_secs(30);
const PEOPLE: [(&str, &str); 2] = [
    ("anna", "\"reader\", \"maker\", \"checker\""),
    ("ben", "\"reader\", \"maker\", \"checker\""),
];
/// The demonstration's model, as its scheme.toml has it.
const MODELS: &str =
    r#"models = [{ name = "DEFERRED_NET", kind = "deferred-net", settles = "manual" }]"#;
const AUTOMATIC: &str =
    r#"models = [{ name = "DEFERRED_NET", kind = "deferred-net", settles = "automatic" }]"#;
const GROSS: &str = r#"models = [{ name = "DEFERRED_NET", kind = "immediate-gross" }]"#;
/// Large transfers are settled at once, the others in batches.
const MIXED: &str = r#"models = [
    { name = "DEFERRED_NET", kind = "deferred-net" },
    { name = "GROSS", kind = "immediate-gross", currencies = ["USD"] },
]
rules = [{ model = "GROSS", currencies = ["USD"], amountAtLeast = "200" }]"#;

/// L, P, C, S, SR and B of an FSP in whole dollars.
type Row = [i64; 6];

/// A (the payer of the demonstration) and B (its payee), with no funds to begin with.
struct Scene {
    world: World,
    office: Office,
}

impl Scene {
    async fn with(models: &str) -> Self {
        let scheme = TestScheme::demo().unwrap();
        scheme.add_operators(&PEOPLE).unwrap();
        scheme.edit(MODELS, models).unwrap();
        scheme
            .edit(
                "opening-liquidity = \"1000000.00\"",
                "opening-liquidity = \"0\"",
            )
            .unwrap();
        let world = World::of(scheme, &WorldOptions::default()).await.unwrap();
        let office = Office::of(&world.scheme, &world.host, &["anna", "ben"]).unwrap();
        Self { world, office }
    }

    /// The ledger's accounts, and how many entries it has in dollars.
    async fn ledger(&self) -> (BTreeMap<String, i64>, usize) {
        let of = |collection: &str| ("accounts-and-balances".to_owned(), collection.to_owned());
        let accounts = self.office.everything(&[of("accounts")]).await.unwrap();
        let entries = self.office.everything(&[of("entries")]).await.unwrap();
        let balance = |document: &Value| {
            let units = |name: &str| {
                document["body"][name]
                    .as_str()
                    .unwrap()
                    .parse::<i64>()
                    .unwrap()
            };
            let balance = units("creditBalance") - units("debitBalance");
            assert_eq!(balance % 100, 0, "the example has whole dollars");
            balance / 100
        };
        let named = accounts.values().map(|document| {
            let id = document["id"].as_str().unwrap().to_owned();
            (id, balance(document))
        });
        // The francs have their opening liquidity.
        let of_example = |entry: &&Value| entry["body"]["currency"] == "USD";
        (named.collect(), entries.values().filter(of_example).count())
    }

    /// A's row, B's row, R and G, and the number of entries.
    async fn table(&self) -> (Row, Row, i64, i64, usize) {
        let (accounts, entries) = self.ledger().await;
        let sum = |prefix: String| -> i64 {
            let of = accounts
                .iter()
                .filter(|(id, _)| **id == prefix || id.starts_with(&format!("{prefix}:")));
            of.map(|(_, balance)| balance).sum()
        };
        let row = |fsp: &str| {
            [
                "LIQUIDITY",
                "POSITION",
                "LIQUIDITY_COVER",
                "SETTLEMENT",
                "SETTLEMENT_RESERVED",
                "SETTLEMENT_POSITION",
            ]
            .map(|kind| sum(format!("{fsp}:USD:{kind}")))
        };
        let hub = |kind: &str| -sum(format!("Hub:USD:{kind}"));
        let (r, g) = (hub("HUB_RECONCILIATION"), hub("HUB_LIQUIDITY_CONTROL"));
        (row(PAYER), row(PAYEE), r, g, entries)
    }

    /// The table is this, at the latest when all events have been handled.
    async fn stands(&self, step: &str, a: Row, b: Row, hub: i64, entries: usize) {
        let expected = (a, b, hub, hub, entries);
        until(step, SOON, async || {
            let table = self.table().await;
            Ok(if table == expected {
                Ok(())
            } else {
                Err(format!("{table:?}, not {expected:?}"))
            })
        })
        .await
        .unwrap();
    }

    async fn funds(&self, fsp: &str, kind: &str, amount: &str, model: Option<&str>) -> Said {
        let path = format!("/participants/{fsp}/funds");
        let mut body = json!({
            "type": kind, "accountId": "USD", "reason": "as the bank says",
            "amount": { "currency": "USD", "amount": amount },
        });
        if let Some(model) = model {
            body["settlementModel"] = json!(model);
        }
        let asked = self.office.post("anna", &path, &body).await.unwrap();
        if asked.status != 201 {
            return asked;
        }
        let path = format!("{path}/{}/approval", asked.body["id"].as_str().unwrap());
        let decision = json!({ "decision": "APPROVE" });
        self.office.post("ben", &path, &decision).await.unwrap()
    }

    async fn deposits(&self) {
        for (fsp, amount) in [(PAYER, "1000"), (PAYEE, "500")] {
            let said = self.funds(fsp, "DEPOSIT", amount, None).await;
            assert_eq!(said.status, 200, "{said:?}");
        }
    }

    async fn pays(&self, from: &str, to: &str, amount: &str) {
        let request = PaymentRequest::new(self.world.party(to).clone(), amount, "USD");
        committed(&self.world.fsp(from).pay(&request).await).unwrap();
    }

    async fn batches(&self, query: &str) -> Vec<String> {
        let path = format!("/settlement-batches?currency=USD{query}");
        let batches = self.office.get("ben", &path).await.unwrap();
        let id = |batch: &Value| batch["id"].as_str().unwrap().to_owned();
        batches["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(id)
            .collect()
    }

    async fn post(&self, who: &str, path: &str, mut body: Value) -> Said {
        body["reason"] = json!("end of day");
        self.office.post(who, path, &body).await.unwrap()
    }

    async fn settle(&self, batches: &[String]) -> Said {
        self.post("anna", "/settlements", json!({ "batches": batches }))
            .await
    }

    /// Ben ends a settlement. Answers its state.
    async fn end(&self, settlement: &Said, verb: &str) -> Value {
        let path = format!(
            "/settlements/{}/{verb}",
            settlement.body["id"].as_str().unwrap()
        );
        let own = self.post("anna", &path, json!({})).await;
        assert_eq!(own.problem(), "maker-is-checker");
        let said = self.post("ben", &path, json!({})).await;
        assert_eq!(said.status, 200, "{said:?}");
        said.body["state"].clone()
    }
}

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

impl Scene {
    async fn post_decision(&self, path: &str) -> Said {
        let decision = json!({ "decision": "APPROVE" });
        self.office.post("ben", path, &decision).await.unwrap()
    }
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
async fn in_a_currency_of_both_kinds_settled_funds_are_held_for_what_is_settled_at_once() {
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
    let together = scene.settle(&[first.clone(), second]).await;
    assert_eq!(scene.end(&together, "complete").await, "COMPLETED");
    let (a, b) = ([1300, 0, 0, 1300, 0, 0], [200, 0, 0, 200, 0, 0]);
    // Hold, four of consolidation for each batch's pair, and three that pay.
    scene.stands("together", a, b, 1500, 18).await;
    let again = scene.settle(&[first]).await;
    assert_eq!((again.status, again.problem()), (409, "batch-state"));
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
