//! Bodies that are refused at once, each with its code. The runner checks that no message was sent, and the
//! ledger that nothing moved.

use anyhow::Result;
use http::Method;
use rialto_tests::messages;
use rialto_tests::world::{PAYEE, PAYER};
use serde_json::{Value, json};

use crate::ask::Ask;
use crate::case;
use crate::case::Case;
use crate::stage::{STRANGER, Stage, fsp_error};

pub(super) const CASES: [Case; 8] = [
    case!(
        "bodies/not-json",
        "1.5 step 13: what is no JSON object, 3101",
        not_json
    ),
    case!(
        "bodies/too-large",
        "1.5 step 1: body or headers over the limit, 3104",
        too_large
    ),
    case!(
        "bodies/missing-members",
        "1.6: required member missing, 3102",
        missing_members
    ),
    case!(
        "bodies/malformed-members",
        "1.6: type, pattern, enumeration, length, 3101",
        malformed_members
    ),
    case!(
        "bodies/money",
        "2.1, decisions 30, 47: amounts and currencies",
        money
    ),
    case!(
        "bodies/extensions",
        "1.6: too many or no elements, 3103, 3102",
        extensions
    ),
    case!(
        "bodies/error-codes",
        "3.3: an FSP's error names a code that there is, or may be: else 3100, 3101",
        error_codes
    ),
    case!(
        "bodies/not-the-source",
        "3.4: the source header is not payerFsp, 3100",
        not_the_source
    ),
];

/// The longest body and the longest header section of the API definition, in bytes.
const BODY_MAX: usize = 5_242_880;
const HEADERS_MAX: usize = 65_536;

fn transfer(stage: &Stage, change: impl FnOnce(&mut Value)) -> Ask<'_> {
    let body = messages::transfer(&stage.id(), change);
    stage
        .sends(PAYER, Method::POST, "/transfers")
        .to(PAYEE)
        .json(&body)
}

fn quote(stage: &Stage, change: impl FnOnce(&mut Value)) -> Ask<'_> {
    let body = messages::quote(&stage.id(), change);
    stage
        .sends(PAYER, Method::POST, "/quotes")
        .to(PAYEE)
        .json(&body)
}

fn remove(body: &mut Value, member: &str) {
    if let Some(body) = body.as_object_mut() {
        body.remove(member);
    }
}

async fn not_json(stage: &Stage) -> Result<()> {
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let id = stage.id();
    let whole = messages::transfer(&id, |_| ()).to_string();
    let twice = whole.replacen('{', &format!("{{\"transferId\":\"{id}\","), 1);
    for (body, code) in [
        (&b""[..], "3102"),
        (b"{}", "3102"),
        (b"{\"transferId\":", "3101"),
        (b"hello", "3101"),
        (b"[]", "3101"),
        (b"null", "3101"),
        (b"{} {}", "3101"),
        (b"{\"transferId\":\"\xff\xfe\"}", "3101"),
        (deep.as_bytes(), "3101"),
        (twice.as_bytes(), "3101"),
    ] {
        let ask = stage.sends(PAYER, Method::POST, "/transfers").to(PAYEE);
        ask.body(body.to_vec()).refused(400, code).await?;
    }
    Ok(())
}

async fn too_large(stage: &Stage) -> Result<()> {
    let ask = || stage.sends(PAYER, Method::POST, "/transfers").to(PAYEE);
    ask()
        .body(vec![b' '; BODY_MAX + 1])
        .refused(400, "3104")
        .await?;
    // The largest there may be is read.
    let mut full = messages::transfer("not-an-id", |_| ())
        .to_string()
        .into_bytes();
    full.resize(BODY_MAX, b' ');
    ask().body(full).refused(400, "3101").await?;
    let headers = transfer(stage, |_| ()).header("x-much", &"x".repeat(HEADERS_MAX));
    headers.refused(400, "3104").await?;
    Ok(())
}

async fn missing_members(stage: &Stage) -> Result<()> {
    for member in [
        "transferId",
        "payerFsp",
        "payeeFsp",
        "amount",
        "ilpPacket",
        "condition",
        "expiration",
    ] {
        transfer(stage, |body| remove(body, member))
            .refused(400, "3102")
            .await?;
    }
    for member in [
        "quoteId",
        "transactionId",
        "payer",
        "payee",
        "amountType",
        "amount",
        "transactionType",
    ] {
        quote(stage, |body| remove(body, member))
            .refused(400, "3102")
            .await?;
    }
    let terms = json!({
        "transferAmount": { "currency": "USD", "amount": "5" },
        "expiration": "2030-01-01T00:00:00.000Z",
        "ilpPacket": messages::ILP_PACKET,
        "condition": "A".repeat(43),
    });
    for member in ["transferAmount", "expiration", "ilpPacket", "condition"] {
        let mut body = terms.clone();
        remove(&mut body, member);
        let path = format!("/quotes/{}", stage.id());
        let answer = stage.sends(PAYEE, Method::PUT, &path).to(PAYER);
        answer.json(&body).refused(400, "3102").await?;
    }
    for path in ["/participants/MSISDN/27991", "/parties/MSISDN/27991"] {
        let method = if path.starts_with("/participants") {
            Method::POST
        } else {
            Method::PUT
        };
        let ask = stage.sends(PAYEE, method, path).to(PAYER);
        ask.json(&json!({})).refused(400, "3102").await?;
    }
    Ok(())
}

async fn malformed_members(stage: &Stage) -> Result<()> {
    for (member, value) in [
        ("transferId", json!("B51EC534-EE48-4575-B6A9-EAD2955B8069")),
        ("transferId", json!(7)),
        ("amount", json!("12.5 USD")),
        ("payeeFsp", json!("f".repeat(33))),
        ("payeeFsp", json!("")),
        ("payeeFsp", json!("a\u{0}b")),
        ("condition", json!("A".repeat(42))),
        ("condition", json!("+".repeat(43))),
        ("expiration", json!("2099-01-01T00:00:00Z")),
        ("expiration", json!("2099-02-30T00:00:00.000Z")),
        ("expiration", json!(4_070_908_800_000_u64)),
        ("ilpPacket", json!("not base64url!")),
        ("ilpPacket", json!("A".repeat(32_769))),
    ] {
        transfer(stage, |body| body[member] = value)
            .refused(400, "3101")
            .await?;
    }
    for (pointer, value) in [
        ("/quoteId", json!("x")),
        ("/amountType", json!("send")),
        ("/transactionType/scenario", json!("GIFT")),
        ("/payer/partyIdInfo/partyIdType", json!("SHOE_SIZE")),
        ("/payee/partyIdInfo/partyIdentifier", json!("x".repeat(129))),
        ("/expiration", json!("soon")),
    ] {
        let change = |body: &mut Value| {
            if let Some(member) = body.pointer_mut(pointer) {
                *member = value;
            }
        };
        quote(stage, change).refused(400, "3101").await?;
    }
    Ok(())
}

async fn money(stage: &Stage) -> Result<()> {
    for amount in [
        "1.50",
        "-1",
        "+1",
        "01",
        "1.",
        ".5",
        "1e3",
        "1,5",
        "",
        " 1",
        "NaN",
        "1.23456",
        "1000000000000000000",
        "٥",
    ] {
        quote(stage, |body| body["amount"]["amount"] = amount.into())
            .refused(400, "3101")
            .await?;
        transfer(stage, |body| body["amount"]["amount"] = amount.into())
            .refused(400, "3101")
            .await?;
    }
    for (currency, amount, code) in [
        ("XYZ", "5", "3101"),
        ("usd", "5", "3101"),
        ("EUR", "5", "3100"),
        ("USD", "1.234", "3101"),
        ("RWF", "1.5", "3101"),
        ("USD", "0", "3100"),
    ] {
        let money = json!({ "currency": currency, "amount": amount });
        transfer(stage, |body| body["amount"] = money)
            .refused(400, code)
            .await?;
    }
    Ok(())
}

async fn extensions(stage: &Stage) -> Result<()> {
    for (count, code) in [(0, "3102"), (17, "3103")] {
        let list = json!({ "extension": vec![json!({ "key": "k", "value": "v" }); count] });
        transfer(stage, |body| body["extensionList"] = list.clone())
            .refused(400, code)
            .await?;
        quote(stage, |body| body["extensionList"] = list)
            .refused(400, code)
            .await?;
    }
    Ok(())
}

async fn error_codes(stage: &Stage) -> Result<()> {
    let paths = [
        format!("/transfers/{}/error", stage.id()),
        format!("/quotes/{}/error", stage.id()),
        format!("/parties/{}/error", stage.party()),
    ];
    for path in paths {
        let put = |body: &Value| stage.sends(PAYEE, Method::PUT, &path).to(PAYER).json(body);
        // No such category; or not four digits.
        for (given, code) in [
            ("6001", "3100"),
            ("8000", "3100"),
            ("9999", "3100"),
            ("3500", "3100"),
            ("1100", "3100"),
            ("0100", "3101"),
            ("510", "3101"),
            ("51000", "3101"),
            ("51a0", "3101"),
            ("", "3101"),
        ] {
            put(&fsp_error(given)).refused(400, code).await?;
        }
        let mut long = fsp_error("5100");
        long["errorInformation"]["errorDescription"] = "x".repeat(129).into();
        put(&long).refused(400, "3101").await?;
        long["errorInformation"]["errorDescription"] = "".into();
        put(&long).refused(400, "3101").await?;
        put(&json!({ "errorInformation": {} }))
            .refused(400, "3102")
            .await?;
    }
    Ok(())
}

async fn not_the_source(stage: &Stage) -> Result<()> {
    transfer(stage, |body| body["payerFsp"] = STRANGER.into())
        .refused(400, "3100")
        .await?;
    transfer(stage, |body| body["payeeFsp"] = STRANGER.into())
        .refused(400, "3100")
        .await?;
    Ok(())
}
