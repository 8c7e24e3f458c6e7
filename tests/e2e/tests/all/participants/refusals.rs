//! Refusals, each compared with the whole store before and after.

use super::*;

/// A refused request: operator, request, and problem.
struct Refusal {
    what: &'static str,
    who: &'static str,
    path: String,
    body: Value,
    problem: &'static str,
}

fn refusal(
    what: &'static str,
    who: &'static str,
    path: String,
    body: Value,
    problem: &'static str,
) -> Refusal {
    Refusal {
        what,
        who,
        path,
        body,
        problem,
    }
}

/// Requests that are not even taken.
fn refused_at_once() -> Vec<Refusal> {
    let payer = format!("/participants/{PAYER}");
    let funds = |account: &str, amount: &str, kind: &str| {
        let amount = json!({ "currency": account, "amount": amount });
        json!({ "type": kind, "accountId": account, "amount": amount, "reason": "r" })
    };
    let to_funds = || format!("{payer}/funds");
    let limit = |units: &str| {
        let value = json!({ "type": "NET_DEBIT_CAP", "value": amount(units) });
        json!({ "limit": value, "reason": "r" })
    };
    let withdrawal = |units: &str| funds("USD", units, "WITHDRAWAL");
    let deposit = |units: &str| funds("USD", units, "DEPOSIT");
    vec![
        refusal("no maker", "rita", to_funds(), deposit("1"), "role-missing"),
        refusal(
            "beyond available",
            "anna",
            to_funds(),
            withdrawal("99000000"),
            "insufficient-funds",
        ),
        refusal(
            "unknown account",
            "anna",
            to_funds(),
            funds("EUR", "1", "DEPOSIT"),
            "account-unknown",
        ),
        refusal("negative", "anna", to_funds(), deposit("-1"), "malformed"),
        refusal(
            "an exponent",
            "anna",
            to_funds(),
            deposit("1e3"),
            "malformed",
        ),
        refusal(
            "a number",
            "anna",
            to_funds(),
            json!({ "type": "DEPOSIT", "accountId": "USD", "amount": 1, "reason": "r" }),
            "malformed",
        ),
        refusal(
            "over-precise",
            "anna",
            to_funds(),
            deposit("1.001"),
            "amount-too-precise",
        ),
        refusal(
            "over-precise francs",
            "anna",
            format!("/participants/{PAYEE}/funds"),
            funds("RWF", "1.5", "DEPOSIT"),
            "amount-too-precise",
        ),
        refusal(
            "nothing",
            "anna",
            to_funds(),
            deposit("0.00"),
            "amount-zero",
        ),
        refusal(
            "no reason",
            "anna",
            to_funds(),
            json!({ "type": "DEPOSIT", "accountId": "USD", "amount": amount("1") }),
            "malformed",
        ),
        refusal(
            "an unknown member",
            "anna",
            to_funds(),
            json!({ "type": "DEPOSIT", "accountId": "USD", "amount": amount("1"), "reason": "r", "maker": "ben" }),
            "malformed",
        ),
        refusal(
            "unknown participant",
            "anna",
            "/participants/nobody/funds".to_owned(),
            deposit("1"),
            "participant-unknown",
        ),
        refusal(
            "below use",
            "anna",
            format!("{payer}/accounts/USD/limit-updates"),
            limit("59.99"),
            "limit-below-use",
        ),
        refusal(
            "the same limit",
            "anna",
            format!("{payer}/accounts/USD/limit-updates"),
            limit("500000"),
            "nothing-changes",
        ),
        refusal(
            "too much cover",
            "anna",
            format!("{payer}/liquidity-cover-reservations"),
            json!({ "accountId": "USD", "value": amount("99000000"), "reason": "r" }),
            "insufficient-cover",
        ),
        refusal(
            "more than all",
            "anna",
            format!("{payer}/liquidity-cover-reservations"),
            json!({ "accountId": "USD", "percentage": "100.1", "reason": "r" }),
            "percentage-out-of-range",
        ),
        refusal(
            "it exists",
            "anna",
            "/participants".to_owned(),
            {
                let mut body = application(1);
                body["id"] = json!(PAYEE);
                body["reason"] = json!("r");
                body
            },
            "participant-exists",
        ),
        refusal(
            "unused currency",
            "anna",
            format!("{payer}/accounts"),
            json!({ "currency": "EUR", "reason": "r" }),
            "currency-unused",
        ),
        refusal(
            "a second account",
            "anna",
            format!("{payer}/accounts"),
            json!({ "currency": "USD", "reason": "r" }),
            "account-exists",
        ),
        refusal(
            "no URL",
            "anna",
            format!("{payer}/endpoint-updates"),
            json!({ "endpoints": [{ "type": "FSPIOP", "value": "ftp://x" }], "reason": "r" }),
            "endpoint-invalid",
        ),
        refusal(
            "unknown request",
            "ben",
            format!("{payer}/funds/00000000-0000-4000-8000-000000000000/approval"),
            json!({ "decision": "APPROVE" }),
            "request-unknown",
        ),
    ]
}

/// A world where one of each kind of trouble is prepared, and the refusals of approvals that it leads to.
async fn refused_at_approval(life: &Life) -> Vec<Refusal> {
    let payer = format!("/participants/{PAYER}");
    let office = &life.office;
    let ask = async |path: String, body: Value| {
        let said = office.post("anna", &path, &body).await.unwrap();
        assert_eq!(said.status, 201, "{said:?}");
        let id = said.body["id"].as_str().unwrap();
        format!("{path}/{id}/approval")
    };
    let approve = || json!({ "decision": "APPROVE" });
    let status = |status: &str| json!({ "status": status, "reason": "r" });
    let withdrawal = |units: &str| json!({ "type": "WITHDRAWAL", "accountId": "USD", "amount": amount(units), "reason": "r" });
    let funds = format!("{payer}/funds");
    // One that is approved, and so decided.
    let decided = ask(funds.clone(), withdrawal("10")).await;
    let said = office.post("ben", &decided, &approve()).await.unwrap();
    assert_eq!(said.status, 200, "{said:?}");
    // Two that were covered one by one, and are not together.
    let own = ask(funds.clone(), withdrawal("600000")).await;
    let second = ask(funds.clone(), withdrawal("600001")).await;
    let said = office.post("ben", &own, &approve()).await.unwrap();
    assert_eq!(said.status, 200, "{said:?}");
    // A request that waits.
    let threshold = ask(
        format!("{payer}/accounts/RWF/threshold-updates"),
        json!({ "threshold": { "currency": "RWF", "amount": "5" }, "reason": "r" }),
    )
    .await;
    // An account that was disabled while a deposit waited.
    let late = json!({ "type": "DEPOSIT", "accountId": "RWF", "amount": { "currency": "RWF", "amount": "5" }, "reason": "r" });
    let late = ask(funds.clone(), late).await;
    let disabled = ask(
        format!("{payer}/accounts/RWF/status-updates"),
        status("DISABLED"),
    )
    .await;
    let said = office.post("ben", &disabled, &approve()).await.unwrap();
    assert_eq!(said.status, 200, "{said:?}");
    // An endpoint that a release changes while a request about it waits.
    let moves = format!("/participants/{PAYEE}/endpoint-updates");
    let endpoint = json!({ "type": "FSPIOP", "value": "http://127.0.0.1:2/" });
    let moves = ask(moves, json!({ "endpoints": [endpoint], "reason": "r" })).await;
    let twin = life.world.scheme.twin().unwrap();
    twin.edit_with(|text| moved(&text)).unwrap();
    let apply = ["release", "apply", twin.path().to_str().unwrap()];
    life.world.host.cli(&apply).unwrap().success().unwrap();
    vec![
        refusal(
            "changed meanwhile",
            "ben",
            moves,
            approve(),
            "target-changed",
        ),
        refusal(
            "approval twice",
            "ben",
            decided.clone(),
            approve(),
            "already-decided",
        ),
        refusal(
            "rejection after approval",
            "ben",
            decided,
            json!({ "decision": "REJECT" }),
            "already-decided",
        ),
        refusal(
            "spent meanwhile",
            "ben",
            second.clone(),
            approve(),
            "insufficient-funds",
        ),
        refusal(
            "maker as checker",
            "anna",
            second.clone(),
            approve(),
            "maker-is-checker",
        ),
        refusal(
            "maker rejects",
            "anna",
            second.clone(),
            json!({ "decision": "REJECT" }),
            "maker-is-checker",
        ),
        refusal("no checker", "rita", second, approve(), "role-missing"),
        refusal(
            "disabled meanwhile",
            "ben",
            late,
            approve(),
            "account-disabled",
        ),
        refusal(
            "of another kind",
            "ben",
            threshold.replace("threshold", "limit"),
            approve(),
            "request-unknown",
        ),
        refusal(
            "the same again",
            "ben",
            format!("{payer}/accounts/RWF/threshold-updates"),
            json!({ "threshold": { "currency": "RWF", "amount": "6" }, "reason": "r" }),
            "duplicate-request",
        ),
        refusal(
            "a disabled account",
            "anna",
            funds,
            json!({ "type": "DEPOSIT", "accountId": "RWF", "amount": { "currency": "RWF", "amount": "9" }, "reason": "r" }),
            "account-disabled",
        ),
    ]
}

/// A scheme's document with another callback URL for the payee.
fn moved(text: &str) -> String {
    let (before, payee) = text.split_once("id = \"payeefsp\"").unwrap();
    let (name, rest) = payee.split_once("callback-base-url = ").unwrap();
    let (_, rest) = rest.split_once('\n').unwrap();
    format!("{before}id = \"payeefsp\"{name}callback-base-url = \"http://127.0.0.1:1\"\n{rest}")
}

/// All but the log of the scheme, which has the host's own lines: of its start, and of refusals.
fn without_log(mut kept: Kept) -> Kept {
    kept.documents
        .retain(|[component, ..], _| component != "logging");
    kept.reminders
        .retain(|reminder| &*reminder.component != "logging");
    kept
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_changes_nothing_at_all() {
    let mut life = Life::begin().await;
    // 60 USD are in use of the payer's cap.
    committed(&life.world.pay("60", "USD").await).unwrap();
    let approvals = refused_at_approval(&life).await;
    // Which collections there are is seen in the store itself, once.
    let kept = without_log(kept::at_rest(&mut life.world).await.unwrap());
    let collections: BTreeSet<(String, String)> = kept
        .documents
        .keys()
        .map(|[component, collection, _]| (component.clone(), collection.clone()))
        .collect();
    let collections: Vec<_> = collections.into_iter().collect();
    assert!(collections.len() >= 15, "{collections:?}");
    life.world.host.restart().unwrap();
    let office = Office::of(&life.world.scheme, &life.world.host, &NAMES).unwrap();
    let before = office.everything(&collections).await.unwrap();
    for refusal in approvals.iter().chain(&refused_at_once()) {
        let key = [("idempotency-key", "refused")];
        let said = office
            .send(refusal.who, "POST", &refusal.path, &key, &refusal.body)
            .await
            .unwrap();
        assert_eq!(
            said.problem(),
            refusal.problem,
            "{}: {said:?}",
            refusal.what
        );
        assert_eq!(said.headers["content-type"], "application/problem+json");
        let after = office.everything(&collections).await.unwrap();
        assert_eq!(after, before, "{}", refusal.what);
        println!("{:<26} {} {}", refusal.what, said.status, refusal.problem);
    }
    let last = without_log(kept::at_rest(&mut life.world).await.unwrap());
    assert_eq!(last, kept, "also in the store itself");
}
