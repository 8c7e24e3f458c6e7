//! Documents to which a newer release has added members, after a rollback to this one.

use crate::activation::{ACTIVATIONS, PISPS, facts};
use crate::certificates::{CERTIFICATES, REVOKED};
use crate::history::{CHANGES, broken};
use crate::kinds::funds;
use crate::participants::PARTICIPANTS;
use crate::requests::{OPEN, PENDING, REQUESTS, State};
use crate::warnings::WARNINGS;
use rialto_sdk::canonical::request_hash;
use rialto_sdk::documents::{Collection, Memory, Store as _};
use rialto_sdk::testing::{added_in, of_a_newer_release, survives_a_rollback};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

const MONEY: &str = r#"{"currency":"USD","scale":2,"minorUnits":"7"}"#;

fn survives<T: Serialize + DeserializeOwned>(collection: &Collection<T>, text: &str) {
    let document: T = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    survives_a_rollback(collection, &document, &[]);
}

fn account(currency: &str) -> String {
    format!(
        r#"{{"currency":"{currency}","name":"n","scale":2,"enabled":true,"netDebitCap":{MONEY},
            "liquidityThreshold":{MONEY},"cover":{{"amount":{MONEY},"request":"r","since":1}},
            "liquidityAccount":"l","positionAccount":"p","liquidityCoverAccount":"c","settlementAccount":"s"}}"#
    )
}

fn participant() -> String {
    let accounts = ["USD", "TZS", "EUR"].map(account).join(",");
    format!(
        r#"{{"participant":"payerfsp","name":"n","participantType":"DFSP","state":"APPROVED",
            "callbackBaseUrl":"http://a","sourceAddresses":["192.0.2.0/24"],"lastCertificate":"01","accounts":[{accounts}],"createdAt":1,"updatedAt":2,"version":3,
            "changes":0,"lastChangeHash":"","brought":{{"name":"n","callbackBaseUrl":"http://a"}},"createdBy":1}}"#
    )
}

#[test]
fn participants_documents_keep_unknown_members_of_a_newer_release() {
    survives(&PARTICIPANTS, &participant());
    survives(
        &CHANGES,
        r#"{"n":0,"at":1,"kind":"funds","state":"APPROVED","by":{"maker":"anna","checker":"ben","release":1},
            "request":"r","asked":{"payload":{}},"before":{"a":1},"after":null,"previous":"","hash":"h"}"#,
    );
    survives(
        &PENDING,
        r#"{"participant":"payerfsp","maker":"anna","madeAt":1,"request":"r"}"#,
    );
    survives(
        &CERTIFICATES,
        r#"{"serial":"01","certificate":"PEM","notAfter":1,"key":"P-256","fingerprint":"f","issuedAt":1,
            "request":"r","revocation":{"by":"anna","at":1,"reason":"w"}}"#,
    );
    survives(
        &REVOKED,
        r#"{"certificates":[{"serial":"01","notAfter":1},{"serial":"02","notAfter":2}]}"#,
    );
    survives(&OPEN, r#"{"request":"r"}"#);
    survives(&WARNINGS, r#"{"warnedAt":1}"#);
    survives(&funds::REFERENCES, r#"{"request":"r"}"#);
    survives(&facts::KEPT, r#"{"hub":"Hub","scale":2}"#);
    survives(&ACTIVATIONS, r#"{"at":1}"#);
    survives(&PISPS, r#"{"participant":"pisp"}"#);
}

#[test]
fn requests_keep_unknown_members_of_a_newer_release() {
    let amount = r#"{"amount":"1","currency":"USD"}"#;
    let limit = format!(r#"{{"type":"NET_DEBIT_CAP","value":{amount}}}"#);
    let terms = format!(r#"{{"currency":"USD","name":"n","limit":{limit},"threshold":{amount}}}"#);
    let endpoints = r#"[{"type":"CALLBACK_BASE_URL","value":"http://a"}]"#;
    for (kind, payload) in [
        (
            "participant",
            format!(
                r#"{{"id":"p","name":"n","type":"DFSP","endpoints":{endpoints},"accounts":[{terms}]}}"#
            ),
        ),
        (
            "funds",
            format!(
                r#"{{"type":"DEPOSIT","accountId":"USD","amount":{amount},"settlementModel":"m","externalReference":"e"}}"#
            ),
        ),
        (
            "liquidity-cover",
            format!(r#"{{"accountId":"USD","value":{amount}}}"#),
        ),
        ("state", r#"{"state":"DISABLED"}"#.to_owned()),
        ("account", terms.clone()),
        (
            "account-status",
            r#"{"accountId":"USD","status":"DISABLED"}"#.to_owned(),
        ),
        (
            "account-limit",
            format!(r#"{{"accountId":"USD","limit":{limit}}}"#),
        ),
        (
            "account-threshold",
            format!(r#"{{"accountId":"USD","threshold":{amount}}}"#),
        ),
        ("endpoints", format!(r#"{{"endpoints":{endpoints}}}"#)),
        (
            "source-addresses",
            r#"{"sourceAddresses":["192.0.2.0/24"]}"#.to_owned(),
        ),
        ("certificate", r#"{"certificateRequest":"PEM"}"#.to_owned()),
    ] {
        survives(
            &REQUESTS,
            &format!(
                r#"{{"id":"r","kind":"{kind}","payload":{payload},"participant":"p","target":"t",
                    "basedOn":{{"a":1}},"state":"PENDING","reason":"w","maker":"anna","madeAt":1,
                    "checker":"ben","decidedAt":2,"note":"n","failure":"f","version":1}}"#
            ),
        );
    }
}

#[test]
fn history_has_unknown_members_of_requests() {
    let request = json!({
        "id": "r", "kind": "funds", "participant": "p", "target": "t", "basedOn": null,
        "payload": { "type": "DEPOSIT", "accountId": "USD", "amount": { "amount": "1", "currency": "USD" } },
        "state": "PENDING", "reason": "w", "maker": "anna", "madeAt": 1, "version": 1,
    });
    let newer = of_a_newer_release(&request, &[]);
    let mut store = Memory::default();
    store.put("requests", "r", &newer.to_string());
    let mut read = REQUESTS.within(&mut store).get_for_update("r").unwrap();
    let told = read.told(&mut store);
    assert_eq!(told["payload"], newer["payload"]);
    assert_eq!(added_in(&told), 2);
    read.stand(&mut store, State::Approved);
    let stored: Value = serde_json::from_str(&store.get("requests", "r").unwrap()).unwrap();
    assert_eq!(
        stored["payload"], told["payload"],
        "the ledger's check compares them"
    );
    assert_eq!(stored["state"], "APPROVED");
    // A request that is not stored yet has its contents.
    let known = read.told(&mut Memory::default());
    assert_eq!(known["payload"], request["payload"]);
}

#[test]
fn account_change_keeps_unknown_members_of_all_accounts() {
    let of_this: Value = serde_json::from_str(&participant()).unwrap();
    let newer = of_a_newer_release(&of_this, &[]);
    let mut store = Memory::default();
    store.put("participants", "payerfsp", &newer.to_string());
    let mut read = PARTICIPANTS
        .within(&mut store)
        .get_for_update("payerfsp")
        .unwrap();
    read.accounts[1].enabled = false;
    read.accounts[1].cover.as_mut().unwrap().since = 2;
    read.version += 1;
    PARTICIPANTS.within(&mut store).put("payerfsp", &read);
    let stored = store.get("participants", "payerfsp").unwrap();
    let stored: Value = serde_json::from_str(&stored).unwrap();
    let mut expected = newer;
    expected["accounts"][1]["enabled"] = json!(false);
    expected["accounts"][1]["cover"]["since"] = json!(2);
    expected["version"] = json!(4);
    assert_eq!(stored, expected);
}

#[test]
fn history_of_a_newer_release_is_valid_after_rollback() {
    let change = |n: u64, previous: &str| {
        let mut change = json!({
            "n": n, "at": 1, "kind": "release", "state": "RELEASE", "by": { "release": 1 },
            "before": null, "after": { "a": n }, "previous": previous,
        });
        if n == 1 {
            change = of_a_newer_release(&change, &[]);
            assert_eq!(added_in(&change), 3);
        }
        let hash = request_hash(&change);
        change["hash"] = json!(hash);
        (change, hash)
    };
    let (first, hash) = change(0, "");
    let (second, last) = change(1, &hash);
    let mut store = Memory::default();
    for (n, change) in [first, second.clone()].into_iter().enumerate() {
        let id = crate::history::id("payerfsp", n as u64);
        store.put("changes", &id, &change.to_string());
    }
    let mut of: Value = serde_json::from_str(&participant()).unwrap();
    of["changes"] = json!(2);
    of["lastChangeHash"] = json!(last);
    let participant = serde_json::from_value(of).unwrap();
    assert_eq!(broken(&mut store, &participant), None);
    let mut forged = second;
    forged["addedLater"] = json!("forged");
    let id = crate::history::id("payerfsp", 1);
    store.put("changes", &id, &forged.to_string());
    assert_eq!(broken(&mut store, &participant), Some(1));
}
