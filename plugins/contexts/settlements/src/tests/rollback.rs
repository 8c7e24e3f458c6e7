//! Documents to which a newer release has added members, after a rollback to this one.

use crate::batches::{BATCHES, MEMBERS, OPEN};
use crate::participants::{ACCOUNTS, STATES};
use crate::settlement::{POSTED, ROWS, SETTLEMENTS};
use rialto_sdk::documents::Collection;
use rialto_sdk::testing::survives_a_rollback;
use serde::{Serialize, de::DeserializeOwned};

fn survives<T: Serialize + DeserializeOwned>(collection: &Collection<T>, text: &str) {
    let document: T = serde_json::from_str(text).unwrap();
    // Accounts by settlement model are a map.
    survives_a_rollback(collection, &document, &["settlements"]);
}

#[test]
fn settlements_documents_keep_unknown_members_of_a_newer_release() {
    survives(&OPEN, r#"{"batch":"b","until":1,"sequence":2}"#);
    survives(
        &BATCHES,
        r#"{"id":"b","model":"net","currency":"USD","scale":2,"state":"CLOSED","openedAt":1,"closedAt":2,
            "closedBy":"anna","reason":"r","settlement":"s","version":3}"#,
    );
    survives(
        &MEMBERS,
        r#"{"participant":"payerfsp","account":"a","transfers":{"debits":"1","credits":"2"}}"#,
    );
    let money = r#"{"currency":"USD","scale":2,"minorUnits":"7"}"#;
    survives(
        &ACCOUNTS,
        &format!(
            r#"{{"participant":"payerfsp","currency":"USD","scale":2,"liquidity":"l","position":"p",
                "liquidityCover":"c","settlement":"s","enabled":false,"netDebitCap":{money},
                "liquidityThreshold":{money},"updated":{{"enabled":1,"netDebitCap":2,"liquidityThreshold":3}},
                "settlements":{{"net":{{"settlement":"s","reserved":"r","standing":"t"}},
                    "gross":{{"settlement":"s2","reserved":"r2"}}}}}}"#
        ),
    );
    survives(&STATES, r#"{"state":"APPROVED","updatedAt":1}"#);
    let act = r#"{"by":"anna","at":1,"reason":"r"}"#;
    survives(
        &SETTLEMENTS,
        &format!(
            r#"{{"id":"s","model":"net","automatic":true,
                "parts":[{{"currency":"USD","scale":2,"batches":["b","c"]}},{{"currency":"TZS","scale":0,"batches":["d"]}}],
                "state":"COMPLETED","step":3,
                "cursor":{{"part":1,"after":"x","payeesAfter":"y","paid":"1","received":"2"}},
                "posted":4,"short":[{{"participant":"payerfsp","currency":"USD","scale":2,"needs":"2","has":"1"}}],
                "shortCount":1,"created":{act},"completed":{act},"aborted":{act},"version":5}}"#
        ),
    );
    survives(
        &ROWS,
        r#"{"participant":"payerfsp","currency":"USD","scale":2,"account":"a","debits":"1","credits":"2",
            "held":"3","settled":true}"#,
    );
    survives(
        &POSTED,
        r#"{"lines":[{"of":"pay","debit":"a","credit":"b","amount":"1","currency":"USD","scale":2,"reserved":"r"},
            {"of":"receive","debit":"b","credit":"a","amount":"1","currency":"USD","scale":2}]}"#,
    );
}
