//! Documents to which a newer release has added members, after a rollback to this one.

use crate::quote::Quote;
use crate::terms::AgreementDocument;
use rialto_sdk::documents::Collection;
use rialto_sdk::testing::survives_a_rollback;

const REQUEST: &str = r#"{"quoteId":"q","transactionId":"x","payerFsp":"payerfsp","payeeFsp":"payeefsp",
    "payer":{"idType":"BUSINESS","identifier":"acme","subIdOrType":"shop"},
    "payee":{"idType":"MSISDN","identifier":"1"},"amountType":"SEND",
    "amount":{"currency":"USD","scale":2,"minorUnits":"7"},
    "fees":{"currency":"USD","scale":2,"minorUnits":"1"},
    "transactionType":{"scenario":"TRANSFER","subScenario":"s","initiator":"PAYER","initiatorType":"CONSUMER"},
    "expiration":1}"#;

#[test]
fn quoting_documents_keep_unknown_members_of_a_newer_release() {
    let quote: Quote = serde_json::from_str(&format!(
        r#"{{"quoteId":"q","payerFsp":"payerfsp","payeeFsp":"payeefsp","state":"REJECTED","requestHash":"h",
            "request":{REQUEST},"parties":[{{"idType":"MSISDN","identifier":"1","subIdOrType":"s"}}],"responseHash":"h2","responseBody":"{{}}","condition":"c",
            "reason":{{"code":"3100","description":"d"}},"requestedAt":1,"finishedAt":2,
            "deliveries":[{{"kind":"quote-received","destination":"payeefsp","method":"POST","path":"/quotes",
                "delivered":true,"status":202,"attempts":1,"reason":"r","reportedAt":1}}],"archived":"f"}}"#
    ))
    .unwrap();
    survives_a_rollback(&Collection::new("quotes"), &quote, &[]);
    let money = r#"{"currency":"USD","scale":2,"minorUnits":"7"}"#;
    let agreement: AgreementDocument = serde_json::from_str(&format!(
        r#"{{"request":{REQUEST},"response":{{"transferAmount":{money},"payeeReceiveAmount":{money},
            "payeeFspFee":{money},"payeeFspCommission":{money},"condition":"c","expiration":9}},
            "archived":{{"payerFsp":"payerfsp","payeeFsp":"payeefsp","file":"f"}}}}"#
    ))
    .unwrap();
    survives_a_rollback(&Collection::new("agreements"), &agreement, &[]);
}
