//! Who may ask about what, and what the answer tells.

use super::*;
use crate::bindings::exports::rialto::host::http_handler::Caller;
use crate::bindings::rialto::host::judging::WhatIfViolation;
use crate::inbound::Taken;
use crate::jws::fake::NoKeys;
use crate::jws::memory::Documents;
use crate::settings::Settings;
use rialto_sdk::bindings::rialto::common::types::PartyId;
use rialto_sdk::bindings::rialto::rules::types::{
    AmountType, Initiator, InitiatorType, QuoteRequest, QuoteResponse, Scenario, TransactionType,
};
use rialto_sdk::counters::{Counter, Dimension, Sum, Window};
use rialto_sdk::documents::Memory;
use rialto_sdk::money::money;
use rialto_sdk::scheme::Scheme;
use std::cell::RefCell;

const CONDITION: &str = "fH9pAYDQbmoZLPbvv3CSW2RfjU4jvM4ApG_fqGnR7Xs";
const ID: &str = "b51ec534-ee48-4575-b6a9-ead2955b8069";

/// Nobody has committed to anything.
#[derive(Debug)]
struct Nothing;

impl Taken for Nothing {
    fn hash(&self, _: &str, _: &str) -> Option<String> {
        None
    }
}

/// Rules that say this, and note what they are asked.
#[derive(Default)]
struct Fake {
    asked: RefCell<Vec<String>>,
    says: Option<Vec<WhatIfViolation>>,
    agreed: Option<Agreed>,
    is_full: bool,
}

impl Fake {
    fn saying(says: Vec<WhatIfViolation>) -> Self {
        Self {
            says: Some(says),
            ..Self::default()
        }
    }
}

impl Rules for Fake {
    fn begin(&self, participant: &str, per_minute: u32) -> Result<(), u32> {
        let asked = format!("{participant} {per_minute}");
        self.asked.borrow_mut().push(asked);
        if self.is_full { Err(17) } else { Ok(()) }
    }

    fn quote(&self, input: &quote_request_check::Input) {
        let request = &input.request;
        let asked = format!("quote {} to {}", request.payer_fsp, request.payee_fsp);
        self.asked.borrow_mut().push(asked);
    }

    fn transfer(&self, input: &transfer_prepare_check::Input) {
        let has = input.agreement.is_some();
        let counts = input.counts.len();
        let to = &input.transfer.payee_fsp;
        let asked = format!("transfer to {to}, agreed {has}, counts {counts}");
        self.asked.borrow_mut().push(asked);
    }

    fn verdicts(&self) -> Vec<WhatIfVerdict> {
        vec![WhatIfVerdict {
            rule: "limits".to_owned(),
            version: "1.0.0".to_owned(),
            summary: "Amounts have limits.".to_owned(),
            settings: r#"{"maximum":"10"}"#.to_owned(),
            violations: self.says.clone(),
        }]
    }

    fn receipts(&self) -> String {
        r#"{"format":"rialto-receipts","version":1,"receipts":[],"whatIfs":[]}"#.to_owned()
    }

    fn agreement(&self, condition: &str) -> Option<Agreed> {
        assert_eq!(condition, CONDITION);
        self.agreed.clone()
    }

    fn as_agreed(&self, release: u64, at: u64) {
        let asked = format!("by release {release} at {at}");
        self.asked.borrow_mut().push(asked);
    }

    fn counts(&self, _: &Transfer, agreement: Option<&Agreement>) -> Vec<Counted> {
        let sum = agreement.map(|agreement| Sum {
            transfers: 3,
            amount: agreement.response.transfer_amount.clone(),
        });
        vec![Counted {
            counter: Counter {
                by: vec![Dimension::PayerFsp],
                window: Window::Day(0),
            },
            sum,
        }]
    }
}

fn quote(change: impl FnOnce(&mut Value)) -> Value {
    let mut body = json!({
        "quoteId": ID, "transactionId": ID, "amountType": "SEND",
        "payer": {"partyIdInfo": {"partyIdType": "MSISDN", "partyIdentifier": "1"}},
        "payee": {"partyIdInfo": {"partyIdType": "MSISDN", "partyIdentifier": "2", "fspId": "payeefsp"}},
        "amount": {"currency": "USD", "amount": "100"},
        "transactionType": {"scenario": "TRANSFER", "initiator": "PAYER", "initiatorType": "CONSUMER"}
    });
    change(&mut body);
    body
}

fn transfer() -> Value {
    json!({
        "transferId": ID, "payerFsp": "payerfsp", "payeeFsp": "payeefsp",
        "amount": {"currency": "USD", "amount": "10.5"}, "ilpPacket": "AQ",
        "condition": CONDITION, "expiration": "2016-05-24T08:38:08.699-04:00"
    })
}

fn ask(rules: &Fake, operation: usize, caller: &str, body: &Value) -> Result<Response, String> {
    let scheme: Scheme = serde_json::from_value(json!({
        "name": "test", "hub": "Hub", "currencies": [{"code": "USD", "scale": 2}]
    }))
    .unwrap();
    let request = Request {
        operation_id: OPERATIONS[operation].to_owned(),
        method: "POST".to_owned(),
        path: "/what-if/x".to_owned(),
        path_parameters: Vec::new(),
        query_parameters: Vec::new(),
        headers: Vec::new(),
        body: Some(body.to_string()),
        caller: Some(Caller {
            name: caller.to_owned(),
            roles: vec!["client".to_owned()],
        }),
    };
    let measure = Measure {
        scheme: &scheme,
        settings: &Settings::default(),
        keys: &NoKeys,
        memory: &Documents::<Memory>::default(),
        taken: &Nothing,
        now: 7,
    };
    let headers = "fspiop-source: payerfsp\n";
    answer(request, headers, measure, |fsp| fsp == "payerfsp", rules).map_err(|error| error.code)
}

fn body(response: &Response) -> Value {
    serde_json::from_str(response.body.as_deref().unwrap()).unwrap()
}

#[test]
fn participant_is_told_the_verdict_with_the_rules_limits() {
    let rules = Fake::saying(Vec::new());
    let answered = ask(&rules, 0, "payerfsp", &quote(|_| ())).unwrap();
    assert_eq!(answered.status, 200);
    assert_eq!(
        body(&answered),
        json!({
            "whatIf": true, "step": "quote-request-check", "allows": true,
            "verdicts": [{
                "rule": "limits", "version": "1.0.0", "summary": "Amounts have limits.",
                "verdict": "allow", "settings": {"maximum": "10"},
            }],
            "receipts": {"format": "rialto-receipts", "version": 1, "receipts": [], "whatIfs": []},
        })
    );
    let refused = Fake::saying(vec![WhatIfViolation {
        code: "4200".to_owned(),
        message: "too much".to_owned(),
    }]);
    let answered = ask(&refused, 1, "payerfsp", &transfer()).unwrap();
    let told = body(&answered);
    assert_eq!(
        (&told["allows"], &told["verdicts"][0]["verdict"]),
        (&json!(false), &json!("refuse"))
    );
    assert_eq!(
        told["verdicts"][0]["violations"],
        json!([{ "errorCode": "4200", "errorDescription": "too much" }])
    );
    let asked = [
        "payerfsp 60",
        "transfer to payeefsp, agreed false, counts 1",
    ];
    assert_eq!(*refused.asked.borrow(), asked);
}

#[test]
fn draft_in_anothers_name_is_refused_before_a_rule_is_asked() {
    let rules = Fake::saying(Vec::new());
    let refused =
        |caller: &str, body: &Value, operation| ask(&rules, operation, caller, body).unwrap_err();
    assert_eq!(refused("payeefsp", &quote(|_| ()), 0), "3100");
    let other = quote(|body| body["payer"]["partyIdInfo"]["fspId"] = json!("otherfsp"));
    assert_eq!(refused("payerfsp", &other, 0), "3100");
    let mut other = transfer();
    other["payerFsp"] = json!("otherfsp");
    assert_eq!(refused("payerfsp", &other, 1), "3100");
    // Without a payee FSP the host would have to look it up.
    let nobody = quote(|body| {
        let payee = body["payee"]["partyIdInfo"].as_object_mut().unwrap();
        payee.remove("fspId");
    });
    assert_eq!(refused("payerfsp", &nobody, 0), "3102");
    assert!(rules.asked.borrow().is_empty());
}

#[test]
fn bound_of_a_minute_and_a_rule_without_verdict_say_when_to_ask_again() {
    let full = Fake {
        is_full: true,
        ..Fake::saying(Vec::new())
    };
    let answered = ask(&full, 0, "payerfsp", &quote(|_| ())).unwrap();
    let again = |answered: &Response| {
        let mut all = answered.headers.iter();
        let found = all.find(|(name, _)| name == "retry-after");
        found.map(|(_, value)| value.clone())
    };
    assert_eq!(
        (answered.status, again(&answered)),
        (429, Some("17".to_owned()))
    );
    assert_eq!(body(&answered)["errorInformation"]["errorCode"], "3000");
    assert_eq!(*full.asked.borrow(), ["payerfsp 60"]);
    let answered = ask(&Fake::default(), 0, "payerfsp", &quote(|_| ())).unwrap();
    assert_eq!(
        (answered.status, again(&answered)),
        (503, Some("1".to_owned()))
    );
}

/// What the payer FSP has agreed on under release 3.
fn agreed(payer_fsp: &str, minor_units: u128) -> Agreed {
    let party = |identifier: &str| PartyId {
        id_type: "MSISDN".to_owned(),
        identifier: identifier.to_owned(),
        sub_id_or_type: None,
    };
    let amount = money("USD", 2, minor_units);
    Agreed {
        agreement: Agreement {
            request: QuoteRequest {
                quote_id: ID.to_owned(),
                transaction_id: ID.to_owned(),
                payer_fsp: payer_fsp.to_owned(),
                payee_fsp: "payeefsp".to_owned(),
                payer: party("1"),
                payee: party("2"),
                amount_type: AmountType::Send,
                amount: amount.clone(),
                fees: None,
                transaction_type: TransactionType {
                    scenario: Scenario::Transfer,
                    sub_scenario: None,
                    initiator: Initiator::Payer,
                    initiator_type: InitiatorType::Consumer,
                },
                expiration: None,
            },
            response: QuoteResponse {
                transfer_amount: amount,
                payee_receive_amount: None,
                payee_fsp_fee: None,
                payee_fsp_commission: None,
                condition: CONDITION.to_owned(),
                expiration: 8,
            },
        },
        release: 3,
        agreed_at: 5,
    }
}

/// What is asked about a transfer of 10.50 with this agreement.
fn asked_with(agreed: Agreed) -> Vec<String> {
    let rules = Fake {
        agreed: Some(agreed),
        ..Fake::saying(Vec::new())
    };
    ask(&rules, 1, "payerfsp", &transfer()).unwrap();
    let asked = rules.asked.borrow();
    asked[1..].to_vec()
}

#[test]
fn rules_of_the_quote_judge_a_draft_of_what_was_agreed() {
    assert_eq!(
        asked_with(agreed("payerfsp", 1050)),
        [
            "by release 3 at 5",
            "transfer to payeefsp, agreed true, counts 1"
        ]
    );
    // Another amount was not agreed on: the rules in force judge, and see the quote.
    assert_eq!(
        asked_with(agreed("payerfsp", 1051)),
        ["transfer to payeefsp, agreed true, counts 1"]
    );
    // It is over.
    let mut late = agreed("payerfsp", 1050);
    late.agreement.response.expiration = 7;
    assert_eq!(
        asked_with(late),
        ["transfer to payeefsp, agreed true, counts 1"]
    );
    // Another's agreement is none.
    assert_eq!(
        asked_with(agreed("otherfsp", 1050)),
        ["transfer to payeefsp, agreed false, counts 1"]
    );
}
