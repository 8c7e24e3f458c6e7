//! Paths and methods: existing, missing, and forbidden for FSPs.

use anyhow::{Result, ensure};
use http::Method;
use rialto_tests::world::PAYER;
use serde_json::json;

use crate::case;
use crate::case::Case;
use crate::stage::Stage;

pub(super) const CASES: [Case; 4] = [
    case!(
        "paths/unknown",
        "1.5 step 2: path unknown, 404 3002; 1.3: service not offered, 501 2002",
        unknown
    ),
    case!(
        "paths/methods",
        "1.8: method not allowed, 405 3000 with Allow",
        methods
    ),
    case!("paths/patch", "1.8: PATCH from an FSP, 501 2002", patch),
    case!(
        "paths/parameters",
        "1.7, 2.1: types, ids and identifiers, 3101",
        parameters
    ),
];

async fn unknown(stage: &Stage) -> Result<()> {
    for path in [
        "/",
        "/nothing",
        "/Transfers",
        "/transfers/a/b/c",
        "/participants/MSISDN/1/2/3",
        "/bulkquotes",
    ] {
        stage
            .sends(PAYER, Method::POST, path)
            .refused(404, "3002")
            .await?;
    }
    // The API definition has these services: the path is right, and the switch does not offer them.
    let id = stage.id();
    for (method, path) in [
        (Method::POST, "/bulkQuotes".to_owned()),
        (Method::POST, "/bulkTransfers".to_owned()),
        (Method::GET, format!("/bulkTransfers/{id}")),
        (Method::POST, "/transactionRequests".to_owned()),
        (Method::PUT, format!("/transactionRequests/{id}/error")),
        (Method::GET, format!("/authorizations/{id}")),
        (Method::GET, format!("/transactions/{id}")),
        (Method::POST, "/fxQuotes".to_owned()),
        (Method::POST, "/fxTransfers".to_owned()),
        (Method::GET, "/services/FXP".to_owned()),
    ] {
        stage
            .sends(PAYER, method, &path)
            .refused(501, "2002")
            .await?;
    }
    Ok(())
}

async fn methods(stage: &Stage) -> Result<()> {
    let id = stage.id();
    let party = "MSISDN/27991";
    let wrong = [
        (Method::GET, "/transfers".to_owned(), "POST"),
        (
            Method::DELETE,
            format!("/transfers/{id}"),
            "GET, PATCH, PUT",
        ),
        (Method::GET, format!("/transfers/{id}/error"), "PUT"),
        (Method::PUT, "/quotes".to_owned(), "POST"),
        (Method::POST, format!("/quotes/{id}"), "GET, PUT"),
        (Method::PATCH, format!("/quotes/{id}/error"), "PUT"),
        // What only the switch sends.
        (
            Method::PUT,
            format!("/participants/{party}"),
            "DELETE, GET, POST",
        ),
        (Method::PUT, format!("/participants/{party}/error"), ""),
        (Method::PUT, format!("/participants/{party}/x/error"), ""),
        (Method::POST, format!("/parties/{party}"), "GET, PUT"),
        (Method::DELETE, format!("/parties/{party}/error"), "PUT"),
        (Method::DELETE, format!("/parties/{party}/x/error"), "PUT"),
    ];
    for (method, path, allowed) in wrong {
        let answer = stage
            .sends(PAYER, method.clone(), &path)
            .refused(405, "3000")
            .await?;
        let allow = answer
            .headers
            .get("allow")
            .and_then(|value| value.to_str().ok());
        let mut found: Vec<&str> = allow.unwrap_or_default().split(", ").collect();
        found.sort_unstable();
        let found = found.join(", ");
        ensure!(
            found == allowed,
            "{method} {path} allows {found:?}, not {allowed:?}"
        );
    }
    Ok(())
}

async fn patch(stage: &Stage) -> Result<()> {
    let path = format!("/transfers/{}", stage.id());
    let body = json!({ "transferState": "COMMITTED" });
    stage
        .sends(PAYER, Method::PATCH, &path)
        .json(&body)
        .refused(501, "2002")
        .await?;
    Ok(())
}

async fn parameters(stage: &Stage) -> Result<()> {
    for path in [
        "/transfers/not-an-id".to_owned(),
        "/transfers/B51EC534-EE48-4575-B6A9-EAD2955B8069".to_owned(),
        "/transfers/%00".to_owned(),
        "/quotes/%ff".to_owned(),
        "/parties/SHOE_SIZE/44".to_owned(),
        "/parties/msisdn/44".to_owned(),
        "/parties/MSISDN/4a".to_owned(),
        "/parties/EMAIL/nobody".to_owned(),
        format!("/parties/ALIAS/{}", "x".repeat(129)),
        format!("/parties/BUSINESS/shop/{}", "x".repeat(129)),
    ] {
        stage
            .sends(PAYER, Method::GET, &path)
            .refused(400, "3101")
            .await?;
    }
    Ok(())
}
