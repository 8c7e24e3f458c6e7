//! Documents to which a newer release has added members, after a rollback to this one.

use super::Book;
use crate::accounts::{Account, AccountType, account_id};
use crate::bindings::exports::rialto::accounts_and_balances::{
    manage_funds_credit_debit_pair_instruction::Direction, process_transfer_fulfil as fulfil,
};
use crate::history::Page;
use crate::ledger::Ledger;
use crate::records::{Entry, Reservation, UnsettledChange};
use crate::store::{ACCOUNTS, ENTRIES, PAGES, RESERVATIONS, Stored, UNSETTLED_CHANGES};
use rialto_sdk::documents::{Collection, Memory, Store as _};
use rialto_sdk::money::minor_units;
use rialto_sdk::testing::{added_in, of_a_newer_release, survives_a_rollback};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

fn survives<T: Serialize + DeserializeOwned>(collection: &Collection<T>, text: &str) {
    let document: T = serde_json::from_str(text).unwrap();
    survives_a_rollback(collection, &document, &["settlement"]);
}

#[test]
fn ledger_documents_keep_unknown_members_of_a_newer_release() {
    let tail = r#"{"count":17,"entries":"t:prepare","debitBefore":"1","creditBefore":"2","earliest":3,"latest":4}"#;
    let archived = r#"{"entries":1,"pages":1,"debits":"1","credits":"2","unsettled":"3","until":4,"file":"f","sha256":"00"}"#;
    let account: Account = serde_json::from_str(&format!(
        r#"{{"id":"a","participant":"payerfsp","accountType":"LIQUIDITY","currency":"USD","scale":2,
            "state":"ENABLED","debitBalance":"1","creditBalance":"340282366920938463463374607431768211455",
            "debitLimit":"0","netDebitCap":"7","liquidityThreshold":"5","unsettled":"0",
            "settlementModel":"net","batch":"b","positions":["p"],"recorded":{{"debits":"1","credits":"2"}},
            "apart":{{"amount":"3","entries":4}},"tail":{tail},"archived":{archived},"createdAt":1}}"#
    ))
    .unwrap();
    survives_a_rollback(&ACCOUNTS, &account, &[]);
    survives::<Entry>(
        &ENTRIES,
        r#"{"id":"t:prepare","debitAccount":"a","creditAccount":"b","amount":"7","currency":"USD",
            "scale":2,"entryType":"TRANSFER_PREPARE","correlationId":"t","postedAt":1}"#,
    );
    survives::<Page>(
        &PAGES,
        r#"{"entries":"t:prepare","debitBefore":"1","creditBefore":"2","earliest":3,"latest":4}"#,
    );
    for settlement in [
        r#""DEFERRED""#,
        r#"{"IMMEDIATE":null}"#,
        r#"{"IMMEDIATE":{"settlement":"s","reserved":"r"}}"#,
    ] {
        let text = format!(
            r#"{{"transferId":"t","payer":"payerfsp","amount":"7","currency":"USD","scale":2,
                "accounts":{{"payerLiquidity":"a","payerPosition":"b","payeeLiquidity":"c"}},
                "settlement":{settlement},"state":"fulfilled","openedAt":1,"closedAt":2}}"#
        );
        survives::<Reservation>(&RESERVATIONS, &text);
    }
    survives::<UnsettledChange>(
        &UNSETTLED_CHANGES,
        r#"{"id":"s:1","accounts":[{"account":"a","amount":"7","settled":true},
            {"account":"b","amount":"7","settled":false}],"postedAt":1}"#,
    );
}

#[test]
fn transfer_of_a_newer_release_is_fulfilled_after_rollback() {
    let mut memory = Memory::default();
    let mut book = Book::default();
    for fsp in ["payerfsp", "payeefsp"] {
        book.open(fsp, "USD", None);
    }
    book.funds("d", "payerfsp", "USD", Direction::Deposit, 100)
        .unwrap();
    for (id, account) in &book.store.accounts {
        ACCOUNTS.within(&mut memory).put(id, account);
    }
    let mut stored = Stored(&mut memory);
    let request = Book::to_prepare("t", "payerfsp", "USD", 40);
    Ledger::new(&mut stored, 10).prepare(request).unwrap();
    let mut expected = 0;
    for body in memory.0.values_mut() {
        let newer: Value = serde_json::from_str(body).unwrap();
        let newer = of_a_newer_release(&newer, &["settlement"]);
        expected += added_in(&newer);
        *body = newer.to_string();
    }
    let request = fulfil::Request {
        transfer_id: "t".to_owned(),
        credit_account: account_id("payeefsp", "USD", AccountType::Liquidity),
    };
    let mut stored = Stored(&mut memory);
    let done = Ledger::new(&mut stored, 11).fulfil(&request).unwrap();
    assert_eq!(minor_units(&done.payee_liquidity.available), 40);
    let again = Ledger::new(&mut stored, 12).fulfil(&request).unwrap();
    assert_eq!(again, done, "a repeat is one still");
    let here = |body: &String| added_in(&serde_json::from_str(body).unwrap());
    assert_eq!(memory.0.values().map(here).sum::<usize>(), expected);
    let of = memory.get("reservations", "t").unwrap();
    assert!(of.contains("fulfilled"), "{of}");
}
