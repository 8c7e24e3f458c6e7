//! Documents to which a newer release has added members, after a rollback to this one.

use crate::agreement_use::AgreementUse;
use crate::endings::{ENDINGS, Ending};
use crate::index::{BY_TIME, Slice};
use crate::transfer::Transfer;
use rialto_sdk::documents::Collection;
use rialto_sdk::testing::survives_a_rollback;

#[test]
fn transfers_documents_keep_unknown_members_of_a_newer_release() {
    let delivery = r#"{"kind":"transfer-prepare","destination":"payeefsp","method":"POST","path":"/transfers",
        "delivered":false,"status":503,"attempts":2,"reason":"r","reportedAt":1}"#;
    for settlement in [
        r#""DEFERRED""#,
        r#"{"IMMEDIATE":{"settlement":"s","reserved":"r"}}"#,
    ] {
        let transfer: Transfer = serde_json::from_str(&format!(
            r#"{{"transferId":"t","payerFsp":"payerfsp","payeeFsp":"payeefsp",
                "amount":{{"currency":"USD","scale":2,"minorUnits":"7"}},"condition":"c","expiration":9,
                "requestHash":"h","settlementModel":"net","settlement":{settlement},
                "payerAccounts":{{"debit":"a","credit":"b"}},"payeeAccounts":{{"debit":"c","credit":"d"}},
                "state":"REJECTED","history":[{{"state":"RECEIVED","at":1}},{{"state":"REJECTED","at":2}}],
                "mode":"COMMITTED","fulfilHash":"f","fulfilment":"u","completedTimestamp":3,
                "rejection":"TIMED_OUT","reason":{{"code":"3303","description":"late"}},"postCommitTimeout":4,
                "endedBy":{{"maker":"anna","checker":"ben","reason":"r"}},
                "deliveries":[{delivery},{delivery}],"archived":"a"}}"#
        ))
        .unwrap();
        survives_a_rollback(&Collection::new("transfers"), &transfer, &["settlement"]);
    }
    let agreement_use: AgreementUse =
        serde_json::from_str(r#"{"quoteId":"q","transferId":"t"}"#).unwrap();
    survives_a_rollback(&Collection::new("agreement-uses"), &agreement_use, &[]);
    let ending: Ending = serde_json::from_str(
        r#"{"transferId":"t","state":"REJECTED","maker":"anna","reason":"r","askedAt":1,"checker":"ben",
            "decidedAt":2,"note":"n"}"#,
    )
    .unwrap();
    survives_a_rollback(&ENDINGS, &ending, &[]);
    let entry = r#"{"transferId":"t","at":1,"payee":"payeefsp","expires":9}"#;
    let slice: Slice = serde_json::from_str(&format!(
        r#"{{"payer":"payerfsp","payee":"","expires":0,"transfers":[{entry}]}}"#
    ))
    .unwrap();
    survives_a_rollback(&BY_TIME, &slice, &[]);
}
