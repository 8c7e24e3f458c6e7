//! `rialto approve`: requests that wait for a second operator, and that operator's decision.

use anyhow::bail;
use http::StatusCode;
use serde_json::{Value, json};

use super::certificates;
use super::{Looking, Segment, items, print, shown, text};
use crate::client::{Client, HostRefused};
use crate::out;
use crate::words;

/// Where requests wait, except those for new participants.
const LISTS: [&str; 8] = [
    "/funds/pending",
    "/liquidity-cover-reservations/pending",
    "/state-updates/pending",
    "/accounts/pending",
    "/accounts/status-updates/pending",
    "/accounts/limit-updates/pending",
    "/accounts/threshold-updates/pending",
    "/endpoint-updates/pending",
];
/// The same for kinds of requests that contexts of earlier releases do not have.
const LATER_LISTS: [&str; 2] = ["/source-address-updates/pending", "/certificates/pending"];

/// List the requests that wait for approval, approve one or reject it
///
/// An operator cannot decide their own request. Use `rialto release approve` for a release and `rialto settlement
/// complete` for a settlement.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Approve {
    /// The request's id. Without it, all waiting requests are listed.
    id: Option<Segment>,
    /// Reject the request instead.
    #[arg(long, requires = "id")]
    reject: bool,
    /// A note for the operator who asked.
    #[arg(long, requires = "id")]
    note: Option<String>,
    #[command(flatten)]
    looking: Looking,
}

impl Approve {
    pub fn run(self) -> anyhow::Result<u8> {
        let client = self.looking.at.client()?;
        match &self.id {
            None => {
                let waiting = waiting(&client)?;
                let none = "no request waits for approval";
                Ok(print(&waiting, self.looking.json, none, line)?)
            }
            Some(id) => self.decide(&client, id),
        }
    }

    fn decide(&self, client: &Client, id: &Segment) -> anyhow::Result<u8> {
        let request: Value = client.get(&format!("/requests/{id}"))?;
        let path = approval(&request)?;
        let decision = if self.reject { "REJECT" } else { "APPROVE" };
        let mut body = json!({ "decision": decision, "request": id.0 });
        if let Some(note) = &self.note {
            body["note"] = json!(note);
        }
        let decided: Value = client.post(&path, &body)?;
        let state = text(&decided, "state");
        if self.looking.json {
            out::json(&decided)?;
        } else {
            out::line(format_args!("{state}: {}", asked(&request)))?;
            if state == "CHECKING" {
                out::note(
                    "the new endpoint is tried; `rialto participant show` says when it is in use",
                );
            }
        }
        Ok(u8::from(state == "FAILED"))
    }
}

/// All waiting requests, the oldest first.
fn waiting(client: &Client) -> anyhow::Result<Vec<Value>> {
    let applicants = items(client, "/participants", &[("state", Some("PEND-APPROVAL"))])?;
    let mut waiting: Vec<Value> = applicants
        .into_iter()
        .map(|mut applicant| applicant["request"].take())
        .filter(Value::is_object)
        .collect();
    for list in LISTS {
        waiting.extend(items(client, list, &[])?);
    }
    for list in LATER_LISTS {
        match items(client, list, &[]) {
            Ok(found) => waiting.extend(found),
            Err(error) if is_unknown(&error) => {}
            Err(error) => return Err(error),
        }
    }
    waiting.sort_by_key(|request| request["madeAt"].as_u64());
    Ok(waiting)
}

/// Whether the host has nothing at the path.
fn is_unknown(error: &anyhow::Error) -> bool {
    let refused = error.downcast_ref::<HostRefused>();
    refused.is_some_and(|refused| refused.status == StatusCode::NOT_FOUND)
}

/// The path of the operation that decides a request.
fn approval(request: &Value) -> anyhow::Result<String> {
    let segment = |value: &Value| {
        let parsed = value.as_str().unwrap_or_default().parse::<Segment>();
        parsed.map_err(|why| anyhow::anyhow!("the host's answer has {value}: {why}"))
    };
    let id = segment(&request["id"])?;
    let participant = segment(&request["participant"])?;
    let of_account = |what: &str| {
        let account = segment(&request["payload"]["accountId"])?;
        anyhow::Ok(format!("accounts/{account}/{what}/{id}"))
    };
    let rest = match request["kind"].as_str().unwrap_or_default() {
        "participant" => return Ok(format!("/participants/{participant}/approval")),
        "funds" => format!("funds/{id}"),
        "liquidity-cover" => format!("liquidity-cover-reservations/{id}"),
        "state" => format!("state-updates/{id}"),
        "account" => format!("accounts/{id}"),
        "account-status" => of_account("status-updates")?,
        "account-limit" => of_account("limit-updates")?,
        "account-threshold" => of_account("threshold-updates")?,
        "endpoints" => format!("endpoint-updates/{id}"),
        "source-addresses" => format!("source-address-updates/{id}"),
        "certificate" => format!("certificates/{id}"),
        other => bail!("this version of rialto does not know requests of the kind `{other}`"),
    };
    Ok(format!("/participants/{participant}/{rest}/approval"))
}

fn line(request: &Value) -> String {
    let at = words::instant(request["madeAt"].as_u64().unwrap_or_default());
    let (id, maker, why) = (
        text(request, "id"),
        text(request, "maker"),
        text(request, "reason"),
    );
    format!("{id}  {at} by {maker}  {}  {why}", asked(request))
}

/// Describes a request in words.
fn asked(request: &Value) -> String {
    let payload = &request["payload"];
    let (of, account) = (text(request, "participant"), text(payload, "accountId"));
    let kind = request["kind"].as_str().unwrap_or_default();
    match kind {
        "participant" => format!("let {of} in"),
        "funds" => {
            let reference = text(payload, "externalReference");
            let what = text(payload, "type").to_lowercase();
            let amount = shown(&payload["amount"]);
            format!("{what} of {amount} for {of} {reference}")
                .trim_end()
                .to_owned()
        }
        "liquidity-cover" => match payload["percentage"].as_str() {
            Some(_) => format!(
                "set {} % of {account} aside for {of}",
                text(payload, "percentage")
            ),
            None => format!("set {} aside for {of}", shown(&payload["value"])),
        },
        "state" => format!("{of} becomes {}", text(payload, "state")),
        "account" => format!("account of {of} in {}", text(payload, "currency")),
        "account-status" => format!(
            "account of {of} in {account} becomes {}",
            text(payload, "status")
        ),
        "account-limit" => {
            let cap = shown(&payload["limit"]["value"]);
            format!("net debit cap of {of} in {account}: {cap}")
        }
        "account-threshold" => {
            let threshold = shown(&payload["threshold"]);
            format!("threshold of {of} in {account}: {threshold}")
        }
        "endpoints" => {
            let endpoints = payload["endpoints"].as_array().into_iter().flatten();
            let urls: Vec<String> = endpoints.map(|endpoint| text(endpoint, "value")).collect();
            format!("{of} is reached at {}", urls.join(", "))
        }
        "source-addresses" => match payload["sourceAddresses"].as_array() {
            Some(ranges) => {
                let ranges: Vec<String> = ranges
                    .iter()
                    .map(|range| words::plain(range.as_str().unwrap_or_default()))
                    .collect();
                format!("{of} sends from {} alone", ranges.join(", "))
            }
            None => format!("{of} sends from everywhere"),
        },
        "certificate" => certificates::asked(&of, payload),
        _ => format!("{} of {of}", text(request, "kind")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(kind: &str, payload: Value) -> Value {
        json!({ "id": "r1", "kind": kind, "participant": "greenfsp", "payload": payload })
    }

    #[test]
    fn each_kind_of_request_is_decided_at_its_own_path() {
        for (kind, path) in [
            ("participant", "/participants/greenfsp/approval"),
            ("funds", "/participants/greenfsp/funds/r1/approval"),
            (
                "liquidity-cover",
                "/participants/greenfsp/liquidity-cover-reservations/r1/approval",
            ),
            ("state", "/participants/greenfsp/state-updates/r1/approval"),
            ("account", "/participants/greenfsp/accounts/r1/approval"),
            (
                "account-status",
                "/participants/greenfsp/accounts/USD/status-updates/r1/approval",
            ),
            (
                "account-limit",
                "/participants/greenfsp/accounts/USD/limit-updates/r1/approval",
            ),
            (
                "account-threshold",
                "/participants/greenfsp/accounts/USD/threshold-updates/r1/approval",
            ),
            (
                "endpoints",
                "/participants/greenfsp/endpoint-updates/r1/approval",
            ),
            (
                "source-addresses",
                "/participants/greenfsp/source-address-updates/r1/approval",
            ),
            (
                "certificate",
                "/participants/greenfsp/certificates/r1/approval",
            ),
        ] {
            let request = request(kind, json!({ "accountId": "USD" }));
            assert_eq!(approval(&request).unwrap(), path, "{kind}");
        }
        assert!(approval(&request("other", json!({}))).is_err());
        assert!(approval(&request("account-limit", json!({}))).is_err());
    }

    #[test]
    fn what_is_asked_for_is_said_in_words() {
        let usd = json!({ "currency": "USD", "amount": "5" });
        let funds = json!({ "type": "DEPOSIT", "amount": usd, "externalReference": "BANK-1" });
        assert_eq!(
            asked(&request("funds", funds)),
            "deposit of 5 USD for greenfsp BANK-1"
        );
        let ranges = json!({ "sourceAddresses": ["192.0.2.7", "2001:db8::/32"] });
        assert_eq!(
            asked(&request("source-addresses", ranges)),
            "greenfsp sends from 192.0.2.7, 2001:db8::/32 alone"
        );
        let lifted = json!({ "sourceAddresses": null });
        assert_eq!(
            asked(&request("source-addresses", lifted)),
            "greenfsp sends from everywhere"
        );
        let none = json!({ "accountId": "USD", "limit": null });
        assert_eq!(
            asked(&request("account-limit", none)),
            "net debit cap of greenfsp in USD: -"
        );
    }
}
