//! A participant's whole life, by two operators over HTTP: every operation with its effect, while it trades.
//! Then refusals, each compared with the whole store before and after.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod refusals;
mod webhook;

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rialto_simulator::{Fsp, FspSettings, PartyId, PaymentOutcome, PaymentRequest, ports};
use rialto_tests::catalogue::{self, Row};
use rialto_tests::kept::{self, Kept};
use rialto_tests::metrics::idle;
use rialto_tests::scenes::committed;
use rialto_tests::waiting::until;
use rialto_tests::witness::{self, Told};
use rialto_tests::world::{PAYEE, PAYER};
use rialto_tests::{Office, Said, TestScheme, World, WorldOptions};
use serde_json::{Value, json};

/// Longer than anything here takes.
const SOON: Duration = Duration::from_secs(30);
/// The participant whose life it is.
const GREEN: &str = "greenfsp";
/// Both may ask and decide, but not their own requests.
const PEOPLE: [(&str, &str); 3] = [
    ("anna", "\"reader\", \"maker\", \"checker\""),
    ("ben", "\"reader\", \"maker\", \"checker\""),
    ("rita", "\"reader\""),
];
const NAMES: [&str; 3] = ["anna", "ben", "rita"];

/// A world, its operators, and what they have done.
struct Life {
    world: World,
    office: Office,
    /// Milliseconds since 1970.
    began: u64,
    /// Names of operations, in the order of their first use, with their results.
    outcomes: Vec<(&'static str, String)>,
    /// How many keys were used for what is sent twice.
    keys: AtomicU32,
}

impl Life {
    async fn begin() -> Self {
        let scheme = TestScheme::demo().unwrap();
        scheme.add_operators(&PEOPLE).unwrap();
        witness::add(&scheme).unwrap();
        let world = World::of(scheme, &WorldOptions::default()).await.unwrap();
        let office = Office::of(&world.scheme, &world.host, &NAMES).unwrap();
        Self {
            world,
            office,
            began: witness::now().unwrap(),
            outcomes: Vec::new(),
            keys: AtomicU32::new(0),
        }
    }

    fn note(&mut self, operation: &'static str, outcome: impl Into<String>) {
        self.outcomes.push((operation, outcome.into()));
    }

    /// Anna asks for something. Returns the request's id.
    async fn ask(&mut self, operation: &'static str, path: &str, mut body: Value) -> String {
        body["reason"] = json!("as agreed by telephone");
        let said = self.twice("anna", path, &body).await;
        assert_eq!(
            (said.status, &said.body["state"]),
            (201, &json!("PENDING")),
            "{said:?}"
        );
        let id = said.body["id"].as_str().unwrap().to_owned();
        assert_eq!(said.headers["location"], format!("/requests/{id}"));
        let outcome = format!("201 PENDING {}", said.body["kind"].as_str().unwrap());
        self.note(operation, outcome);
        id
    }

    /// The request waits in its list.
    async fn waits(&mut self, operation: &'static str, path: &str, id: &str) {
        let listed = self.office.get("rita", path).await.unwrap();
        let items = listed["items"].as_array().unwrap();
        let found = items.iter().find(|item| item["id"] == json!(id));
        let found = found.unwrap_or_else(|| panic!("{path} has no {id}: {listed}"));
        assert_eq!(found["maker"], "anna");
        self.note(operation, format!("200 {} waiting", items.len()));
    }

    /// Ben approves it, which Anna may not.
    async fn approve(&mut self, operation: &'static str, path: &str, state: &str) -> Said {
        let decision = json!({ "decision": "APPROVE", "note": "the same here" });
        let own = self.office.post("anna", path, &decision).await.unwrap();
        assert_eq!(own.problem(), "maker-is-checker", "{own:?}");
        let said = self.twice("ben", path, &decision).await;
        assert_eq!(
            (said.status, &said.body["state"]),
            (200, &json!(state)),
            "{said:?}"
        );
        assert_eq!(said.body["checker"], "ben");
        self.note(operation, format!("200 {state}"));
        said
    }

    /// Sent again with its key, as by a client that heard nothing, it is answered as before and done once.
    async fn twice(&self, who: &str, path: &str, body: &Value) -> Said {
        let key = format!("{who}-{}", self.keys.fetch_add(1, Ordering::Relaxed));
        let key = [("idempotency-key", key.as_str())];
        let first = self.office.send(who, "POST", path, &key, body).await;
        let first = first.unwrap();
        let again = self.office.send(who, "POST", path, &key, body).await;
        let again = again.unwrap();
        assert_eq!(
            again.headers.get("idempotent-replayed").map(String::as_str),
            Some("true"),
            "{path}: {again:?}"
        );
        assert_eq!((again.status, &again.body), (first.status, &first.body));
        first
    }

    /// Ben rejects what Anna asked for: it has no effect, and stays to be read.
    async fn is_rejected(&self) {
        let path = format!("/participants/{GREEN}/funds");
        let deposit = json!({
            "type": "DEPOSIT", "accountId": "USD", "amount": amount("77"), "reason": "a mistake",
        });
        let asked = self.twice("anna", &path, &deposit).await;
        let id = asked.body["id"].as_str().unwrap();
        let before = self.available("USD").await;
        let approval = format!("{path}/{id}/approval");
        let decision = json!({ "decision": "REJECT", "note": "the bank knows nothing of it" });
        let said = self.twice("ben", &approval, &decision).await;
        assert_eq!(
            (said.status, &said.body["state"]),
            (200, &json!("REJECTED"))
        );
        assert_eq!(self.available("USD").await, before);
        let waiting = self.office.get("rita", "/funds/pending").await.unwrap();
        assert_eq!(waiting["items"], json!([]));
        let kept = self.office.get("rita", &format!("/requests/{id}")).await;
        let kept = kept.unwrap();
        assert_eq!(kept["state"], "REJECTED");
        assert_eq!(
            (&kept["maker"], &kept["checker"]),
            (&json!("anna"), &json!("ben"))
        );
        let path = format!("/participants/{GREEN}/changes");
        let changes = self.office.get("rita", &path).await.unwrap();
        assert!(changes.to_string().contains(id), "{changes}");
        let late = self
            .office
            .post("ben", &approval, &json!({ "decision": "APPROVE" }))
            .await;
        assert_eq!(late.unwrap().problem(), "already-decided");
    }

    /// Asked for, waiting, approved.
    async fn change(
        &mut self,
        names: [&'static str; 3],
        path: &str,
        list: &str,
        body: Value,
    ) -> Said {
        let id = self.ask(names[0], path, body).await;
        self.waits(names[1], list, &id).await;
        self.approve(names[2], &format!("{path}/{id}/approval"), "APPROVED")
            .await
    }

    async fn participant(&self) -> Value {
        let path = format!("/participants/{GREEN}");
        self.office.get("rita", &path).await.unwrap()
    }

    async fn green(&self, port: u16, party: &PartyId) -> Fsp {
        let mut settings = FspSettings::new(GREEN.parse().unwrap(), vec![party.clone()]);
        settings.listen = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        settings.hub = Some(self.world.host.url("fsps").unwrap().to_owned());
        Fsp::start(settings).await.unwrap()
    }

    async fn pays(&self, from: &Fsp, to: &PartyId, amount: &str, currency: &str) -> PaymentOutcome {
        from.pay(&PaymentRequest::new(to.clone(), amount, currency))
            .await
    }

    /// What may be spent of an account.
    async fn available(&self, currency: &str) -> String {
        let path = format!("/participants/{GREEN}/liquidity-cover");
        let cover = self.office.get("rita", &path).await.unwrap();
        let accounts = cover["accounts"].as_array().unwrap();
        let found = accounts
            .iter()
            .find(|account| account["accountId"] == currency);
        found.unwrap()["available"]["amount"]
            .as_str()
            .unwrap()
            .to_owned()
    }
}

fn amount(amount: &str) -> Value {
    json!({ "currency": "USD", "amount": amount })
}

fn application(port: u16) -> Value {
    json!({
        "id": GREEN, "name": "Green Bank", "type": "DFSP",
        "endpoints": [{ "type": "FSPIOP", "value": format!("http://127.0.0.1:{port}/") }],
        "accounts": [{
            "currency": "USD",
            "limit": { "type": "NET_DEBIT_CAP", "value": amount("500") },
            "threshold": amount("50.00"),
        }],
    })
}

/// The rows of the catalogue that a life shows: the operations whose effects were looked at, and the events
/// about participants, but the warning, that say what was done.
async fn shown(life: &Life) -> Vec<Row> {
    idle(&life.world.host).await.unwrap();
    let all = witness::since(&life.office, life.began).await.unwrap();
    let said: Vec<&Told> = all
        .iter()
        .filter(|told| told.content["participant"] == GREEN)
        .collect();
    let endpoints = life.participant().await["endpoints"].clone();
    let is_told = |row: &Row| {
        let told = said.iter().filter(|told| row.is_event(&told.event));
        let contents: Vec<&Value> = told.map(|told| &told.content).collect();
        says_what_was_done(&row.name, &contents, &endpoints)
    };
    let is_done = |row: &Row| {
        let mut outcomes = life.outcomes.iter();
        outcomes.any(|(operation, _)| *operation == row.plain_name())
    };
    let mut rows = catalogue::rows().unwrap();
    rows.retain(|row| match row.section.as_str() {
        "D" => is_done(row),
        "Events" => is_told(row),
        _ => false,
    });
    rows
}

/// Whether the events of one name, as a consumer got them, say what this life has done.
fn says_what_was_done(name: &str, contents: &[&Value], endpoints: &Value) -> bool {
    let Some(last) = contents.last() else {
        return false;
    };
    let says = match name {
        "ParticipantCreated" => last["name"] == "Green Bank" && last.to_string().contains("USD"),
        "ParticipantStateUpdated" => {
            last["before"] == "Approved"
                && last["after"] == "Disabled"
                && last["may_transact"] == false
        }
        "ParticipantAccountAdded" => last["account"].to_string().contains("RWF"),
        "ParticipantAccountEnabled" | "ParticipantAccountDisabled" => {
            last["ids"]["currency"] == "RWF"
        }
        "ParticipantAccountLimitUpdated" => {
            let before = last["before"].to_string().contains("50000");
            before && last["after"].to_string().contains("15050")
        }
        "ParticipantAccountThresholdUpdated" => {
            last["before"].to_string().contains("5000") && last["after"].is_null()
        }
        "ParticipantEndpointsUpdated" => last["endpoints"][0]["value"] == endpoints[0]["value"],
        _ => return false,
    };
    assert!(says, "{name} says {contents:?}");
    true
}

/// From application to the first payment.
async fn comes_in(life: &mut Life, port: u16, party: &PartyId) -> Fsp {
    life.ask("CreateParticipant", "/participants", application(port))
        .await;
    let listed = life
        .office
        .get("ben", "/participants?state=PEND-APPROVAL")
        .await
        .unwrap();
    assert_eq!(listed["items"][0]["id"], GREEN);
    assert_eq!(listed["items"][0]["request"]["maker"], "anna");
    life.note("GetPendingParticipants", "200 1 waiting");
    let green = life.green(port, party).await;
    let path = format!("/participants/{GREEN}/approval");
    life.approve("ApproveParticipant", &path, "APPROVED").await;
    assert_eq!(life.participant().await["state"], "APPROVED");
    green.associate(party, None).await.unwrap();
    // It is paid at once, and has the amount.
    let payer = life.world.payer().clone();
    // Settlements hears of the accounts after the approval.
    idle(&life.world.host).await.unwrap();
    committed(&life.pays(&payer, party, "30", "USD").await).unwrap();
    assert_eq!(life.available("USD").await, "30");
    green
}

/// Funds and cover.
async fn gets_money(life: &mut Life, green: &Fsp) {
    let payer = life.world.party(PAYER).clone();
    let names = ["ManageFunds", "GetPendingManageFunds", "ApproveManageFunds"];
    let deposit = json!({ "type": "DEPOSIT", "accountId": "USD", "amount": amount("1000.00"), "externalReference": "BANK-1" });
    let path = format!("/participants/{GREEN}/funds");
    life.change(names, &path, "/funds/pending", deposit).await;
    assert_eq!(life.available("USD").await, "1030");
    committed(&life.pays(green, &payer, "130", "USD").await).unwrap();
    assert_eq!(life.available("USD").await, "900");
    let names = [
        "ReserveLiquidityCover",
        "GetPendingLiquidityCoverReservations",
        "ApproveLiquidityCoverReservation",
    ];
    let cover = json!({ "accountId": "USD", "percentage": "10" });
    let path = format!("/participants/{GREEN}/liquidity-cover-reservations");
    life.change(names, &path, "/liquidity-cover-reservations/pending", cover)
        .await;
    assert_eq!(life.available("USD").await, "810");
}

/// What operators look at.
async fn is_looked_at(life: &mut Life) {
    let info = life.participant().await;
    assert_eq!(info["accounts"][0]["cover"]["amount"], amount("90"));
    assert_eq!(info["openRequests"], json!([]));
    let path = format!("/participants/{GREEN}");
    life.note(
        "GetParticipantInfo",
        format!("200 version {}", info["version"]),
    );
    let etag = format!("\"p{}\"", info["version"]);
    let known = [("if-none-match", etag.as_str())];
    let again = life
        .office
        .send("rita", "GET", &path, &known, &Value::Null)
        .await
        .unwrap();
    // The version does not cover open requests, so there is always a body.
    assert_eq!(
        (again.status, again.headers["etag"].as_str()),
        (200, etag.as_str())
    );
    let cover = life
        .office
        .get("rita", &format!("{path}/liquidity-cover"))
        .await
        .unwrap();
    let account = &cover["accounts"][0];
    assert_eq!(account["liquidityCover"], amount("90"));
    assert_eq!(account["settlement"][0]["available"], amount("1000"));
    // It has paid 130 and been paid 30.
    assert_eq!(
        (&account["netDebit"], &account["netCredit"]),
        (&amount("100"), &amount("0"))
    );
    life.note("GetLiquidityCoverCurrentState", "200 810 of 900 available");
    let path = format!("{path}/liquidity-cover/history?accountId=USD");
    let history = life.office.get("rita", &path).await.unwrap();
    let entries = history["items"].as_array().unwrap();
    let types: Vec<&str> = entries
        .iter()
        .map(|entry| entry["type"].as_str().unwrap())
        .collect();
    assert_eq!(types[0], "COVER_RESERVE", "{history}");
    assert!(types.contains(&"DEPOSIT_LIQUIDITY"), "{history}");
    life.note(
        "GetLiquidityCoverHistory",
        format!("200 {} entries", entries.len()),
    );
    let path = format!("/participants/{GREEN}/reservations");
    let reserved = life.office.get("rita", &path).await.unwrap();
    assert_eq!(reserved["items"][0]["liquidityCover"], amount("90"));
    assert!(reserved["items"][0]["request"].is_string(), "{reserved}");
    life.note("GetReservations", "200 90 USD set aside");
}

/// Another currency, and an account that is closed to new transfers.
async fn gets_an_account(life: &mut Life, party: &PartyId) {
    let names = [
        "AddParticipantAccount",
        "GetPendingParticipantsAccounts",
        "ApproveParticipantAccount",
    ];
    let path = format!("/participants/{GREEN}/accounts");
    let account = json!({ "currency": "RWF", "name": "Francs" });
    life.change(names, &path, "/accounts/pending", account)
        .await;
    let payer = life.world.payer().clone();
    idle(&life.world.host).await.unwrap();
    committed(&life.pays(&payer, party, "700", "RWF").await).unwrap();
    assert_eq!(life.available("RWF").await, "700");
    let names = [
        "UpdateAccountStatus",
        "GetPendingAccountsWithStatusUpdates",
        "ApproveAccountStatusUpdate",
    ];
    let path = format!("{path}/RWF/status-updates");
    let status = json!({ "status": "DISABLED" });
    life.change(names, &path, "/accounts/status-updates/pending", status)
        .await;
    // No event needs to arrive for it: the very next one is refused.
    let outcome = life.pays(&payer, party, "700", "RWF").await;
    assert!(!outcome.is_committed(), "{outcome:?}");
    assert_eq!(life.available("RWF").await, "700");
    let status = json!({ "status": "ENABLED" });
    life.change(names, &path, "/accounts/status-updates/pending", status)
        .await;
    committed(&life.pays(&payer, party, "1", "RWF").await).unwrap();
}

/// Limit and threshold.
async fn gets_terms(life: &mut Life) {
    let path = format!("/participants/{GREEN}/accounts/USD");
    let names = [
        "UpdateAccountLimit",
        "GetPendingAccountsWithLimitUpdates",
        "ApproveAccountLimitUpdate",
    ];
    let limit = json!({ "limit": { "type": "NET_DEBIT_CAP", "value": amount("150.5") } });
    life.change(
        names,
        &format!("{path}/limit-updates"),
        "/accounts/limit-updates/pending",
        limit,
    )
    .await;
    let names = [
        "UpdateAccountThreshold",
        "GetPendingAccountsWithThresholdUpdates",
        "ApproveAccountThresholdUpdate",
    ];
    let threshold = json!({ "threshold": null });
    life.change(
        names,
        &format!("{path}/threshold-updates"),
        "/accounts/threshold-updates/pending",
        threshold,
    )
    .await;
    let account = &life.participant().await["accounts"][0];
    assert_eq!(account["limit"]["value"], amount("150.5"));
    assert!(account.get("threshold").is_none(), "{account}");
}

/// Its new endpoint is tried, used and called. A dead one, or one without a grant, is refused.
async fn moves(life: &mut Life, party: &PartyId) {
    let dead = ports::free().unwrap();
    let path = format!("/participants/{GREEN}/endpoint-updates");
    let to = |url: &str| json!({ "endpoints": [{ "type": "FSPIOP", "value": url }] });
    let at = |port: u16| to(&format!("http://127.0.0.1:{port}"));
    let ended = async |life: &Life, id: &str| {
        until("the endpoint is tried", SOON, async || {
            let request = life.office.get("rita", &format!("/requests/{id}")).await?;
            Ok(match request["state"].as_str() {
                Some("CHECKING") => Err(request.to_string()),
                _ => Ok(request),
            })
        })
        .await
        .unwrap()
    };
    let before = life.participant().await["endpoints"].clone();
    let id = life.ask("UpdateEndpoints", &path, at(dead)).await;
    life.waits(
        "GetPendingEndpointUpdates",
        "/endpoint-updates/pending",
        &id,
    )
    .await;
    let approval = format!("{path}/{id}/approval");
    life.approve("ApproveEndpointsUpdate", &approval, "CHECKING")
        .await;
    let request = ended(life, &id).await;
    assert_eq!(request["state"], "FAILED", "{request}");
    let id = life
        .ask("UpdateEndpoints", &path, to("http://fsp.example"))
        .await;
    let approval = format!("{path}/{id}/approval");
    life.approve("ApproveEndpointsUpdate", &approval, "CHECKING")
        .await;
    let request = ended(life, &id).await;
    assert_eq!(request["state"], "FAILED", "{request}");
    let why = request["failure"].as_str().unwrap();
    assert!(why.contains("not granted requests to fsp.example"), "{why}");
    assert_eq!(life.participant().await["endpoints"], before);
    let port = ports::free().unwrap();
    let moved = life.green(port, party).await;
    let names = [
        "UpdateEndpoints",
        "GetPendingEndpointUpdates",
        "ApproveEndpointsUpdate",
    ];
    let id = life.ask(names[0], &path, at(port)).await;
    let approval = format!("{path}/{id}/approval");
    life.approve(names[2], &approval, "CHECKING").await;
    let request = ended(life, &id).await;
    assert_eq!(request["state"], "APPROVED", "{request}");
    let payer = life.world.payer().clone();
    committed(&life.pays(&payer, party, "1", "USD").await).unwrap();
    assert_ne!(moved.received().transfers, 0, "the new endpoint was called");
}

/// It may not transact any more.
async fn is_barred(life: &mut Life, party: &PartyId) {
    let names = [
        "UpdateParticipantState",
        "GetPendingStateUpdates",
        "ApproveParticipantStateUpdate",
    ];
    let path = format!("/participants/{GREEN}/state-updates");
    let state = json!({ "state": "DISABLED" });
    life.change(names, &path, "/state-updates/pending", state)
        .await;
    let payer = life.world.payer().clone();
    let outcome = life.pays(&payer, party, "1", "USD").await;
    assert!(!outcome.is_committed(), "{outcome:?}");
    until("operators are told", SOON, async || {
        let notices = life
            .office
            .get("rita", "/notices?audience=operators")
            .await?;
        let told = notices["items"]
            .as_array()
            .is_some_and(|items| !items.is_empty());
        Ok(if told {
            Ok(())
        } else {
            Err(notices.to_string())
        })
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_participant_lives_its_whole_life_by_two_operators() {
    let mut life = Life::begin().await;
    let party: PartyId = "MSISDN/27799000001".parse().unwrap();
    let green = comes_in(&mut life, ports::free().unwrap(), &party).await;
    gets_money(&mut life, &green).await;
    life.is_rejected().await;
    is_looked_at(&mut life).await;
    gets_an_account(&mut life, &party).await;
    gets_terms(&mut life).await;
    moves(&mut life, &party).await;
    is_barred(&mut life, &party).await;
    let waiting = life
        .office
        .get("ben", "/notices?audience=checkers")
        .await
        .unwrap();
    let decided = life
        .office
        .get("anna", "/notices?audience=anna")
        .await
        .unwrap();
    let count = |page: &Value| page["items"].as_array().unwrap().len();
    // Thirteen requests, each with a notice to the checkers, and to its maker at its end.
    assert_eq!((count(&waiting), count(&decided)), (13, 13), "{decided}");
    let books = life.world.settled_books().await.unwrap();
    assert_eq!(books.problems().unwrap(), Vec::<String>::new());
    let rows = shown(&life).await;
    let seen: BTreeSet<&str> = life
        .outcomes
        .iter()
        .map(|(operation, _)| *operation)
        .collect();
    println!("{:<42} outcome", "operation");
    let operations: Vec<&str> = rows
        .iter()
        .filter(|row| row.section == "D")
        .map(Row::plain_name)
        .collect();
    for operation in &operations {
        let outcomes = life.outcomes.iter().filter(|(name, _)| name == operation);
        let outcomes: Vec<&str> = outcomes.map(|(_, outcome)| outcome.as_str()).collect();
        println!("{operation:<42} {}", outcomes.join("; "));
    }
    assert_eq!(operations.len(), 31);
    assert!(
        operations.iter().all(|operation| seen.contains(operation)),
        "{seen:?}"
    );
    assert_eq!(seen.len(), operations.len());
    let events = rows.iter().filter(|row| row.section == "Events");
    let events: Vec<&str> = events.map(|row| row.name.as_str()).collect();
    println!("events: {}", events.join(", "));
    assert_eq!(
        events.len(),
        8,
        "all about participants but the warning: {events:?}"
    );
    let case = "participants/a-whole-life";
    catalogue::seen(case, rows.iter().map(|row| row.id.as_str())).unwrap();
}
