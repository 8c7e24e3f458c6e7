//! Two FSPs that settle, what two operators do with them, and the table of their accounts.

use std::collections::BTreeMap;
use std::time::Duration;

use rialto_simulator::PaymentRequest;
use rialto_tests::scenes::committed;
use rialto_tests::waiting::until;
use rialto_tests::world::{PAYEE, PAYER};
use rialto_tests::{Office, Said, TestScheme, World, WorldOptions};
use serde_json::{Value, json};

/// Longer than anything here takes.
pub const SOON: Duration = Duration::from_secs(30);
const PEOPLE: [(&str, &str); 2] = [
    ("anna", "\"reader\", \"maker\", \"checker\""),
    ("ben", "\"reader\", \"maker\", \"checker\""),
];
/// The demonstration's model, as its scheme.toml has it.
pub const MODELS: &str =
    r#"models = [{ name = "DEFERRED_NET", kind = "deferred-net", settles = "manual" }]"#;
pub const AUTOMATIC: &str =
    r#"models = [{ name = "DEFERRED_NET", kind = "deferred-net", settles = "automatic" }]"#;
pub const GROSS: &str = r#"models = [{ name = "DEFERRED_NET", kind = "immediate-gross" }]"#;
/// Large transfers are settled at once, the others in batches.
pub const MIXED: &str = r#"models = [
    { name = "DEFERRED_NET", kind = "deferred-net" },
    { name = "GROSS", kind = "immediate-gross", currencies = ["USD"] },
]
rules = [{ model = "GROSS", currencies = ["USD"], amountAtLeast = "200" }]"#;

/// L, P, C, S, SR and B of an FSP in whole dollars.
pub type Row = [i64; 6];

/// A (the payer of the demonstration) and B (its payee), with no funds to begin with.
pub struct Scene {
    pub world: World,
    pub office: Office,
}

impl Scene {
    pub async fn with(models: &str) -> Self {
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
    pub async fn ledger(&self) -> (BTreeMap<String, i64>, usize) {
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
    pub async fn table(&self) -> (Row, Row, i64, i64, usize) {
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
    pub async fn stands(&self, step: &str, a: Row, b: Row, hub: i64, entries: usize) {
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

    pub async fn funds(&self, fsp: &str, kind: &str, amount: &str, model: Option<&str>) -> Said {
        let mut body = json!({
            "type": kind, "accountId": "USD", "reason": "as the bank says",
            "amount": { "currency": "USD", "amount": amount },
        });
        if let Some(model) = model {
            body["settlementModel"] = json!(model);
        }
        self.asked_and_approved(fsp, body).await
    }

    /// Ask for funds to be moved, and have a second operator say yes.
    pub async fn asked_and_approved(&self, fsp: &str, body: Value) -> Said {
        let path = format!("/participants/{fsp}/funds");
        let asked = self.office.post("anna", &path, &body).await.unwrap();
        if asked.status != 201 {
            return asked;
        }
        let path = format!("{path}/{}/approval", asked.body["id"].as_str().unwrap());
        let decision = json!({ "decision": "APPROVE" });
        self.office.post("ben", &path, &decision).await.unwrap()
    }

    pub async fn deposits(&self) {
        for (fsp, amount) in [(PAYER, "1000"), (PAYEE, "500")] {
            let said = self.funds(fsp, "DEPOSIT", amount, None).await;
            assert_eq!(said.status, 200, "{said:?}");
        }
    }

    pub async fn pays(&self, from: &str, to: &str, amount: &str) {
        let request = PaymentRequest::new(self.world.party(to).clone(), amount, "USD");
        committed(&self.world.fsp(from).pay(&request).await).unwrap();
    }

    pub async fn batches(&self, query: &str) -> Vec<String> {
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

    pub async fn post(&self, who: &str, path: &str, mut body: Value) -> Said {
        body["reason"] = json!("end of day");
        self.office.post(who, path, &body).await.unwrap()
    }

    pub async fn settle(&self, batches: &[String]) -> Said {
        self.post("anna", "/settlements", json!({ "batches": batches }))
            .await
    }

    /// All items of a list, read in pages of this size.
    pub async fn list(&self, path: &str, limit: usize) -> Vec<Value> {
        let more = if path.contains('?') { '&' } else { '?' };
        let first = format!("{path}{more}limit={limit}");
        let (mut items, mut path) = (Vec::new(), first.clone());
        loop {
            let page = self.office.get("ben", &path).await.unwrap();
            let found = page["items"].as_array().unwrap();
            assert!(found.len() <= limit, "{path}: {page}");
            items.extend(found.iter().cloned());
            let Some(cursor) = page["nextCursor"].as_str() else {
                return items;
            };
            path = format!("{first}&cursor={cursor}");
        }
    }

    /// The amounts of the entries of the payer's settled funds.
    pub async fn settled_funds(&self, query: &str) -> Vec<String> {
        let path = format!("/participants/{PAYER}/liquidity-cover/history");
        let path = format!("{path}?accountId=USD&ledgerAccount=SETTLEMENT{query}");
        let page = self.office.get("ben", &path).await.unwrap();
        let amount = |entry: &Value| entry["amount"]["amount"].as_str().unwrap().to_owned();
        let entries = page["items"].as_array().unwrap();
        entries.iter().map(amount).collect()
    }

    /// Ben completes or aborts a settlement. Returns its state.
    pub async fn end(&self, settlement: &Said, verb: &str) -> Value {
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

    /// Ben approves.
    pub async fn post_decision(&self, path: &str) -> Said {
        let decision = json!({ "decision": "APPROVE" });
        self.office.post("ben", path, &decision).await.unwrap()
    }
}
