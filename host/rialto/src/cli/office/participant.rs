//! `rialto participant`.

use std::path::PathBuf;
use std::str::FromStr;

use serde_json::{Value, json};

use super::certificates;
use super::{Asking, Bound, Looking, Segment, amount, cap, items, print, rows, shown, text};
use crate::out;
use crate::words;

#[derive(Debug, clap::Subcommand)]
pub(in crate::cli) enum Participant {
    /// List participants with their states and currencies
    List {
        /// List only this state: PEND-APPROVAL, APPROVED, DISABLED or REJECTED.
        #[arg(id = "only", long = "only", value_name = "STATE")]
        state: Option<String>,
        #[command(flatten)]
        looking: Looking,
    },
    /// Show a participant with its endpoints, accounts and open requests
    Show {
        /// The participant's id.
        id: Segment,
        #[command(flatten)]
        looking: Looking,
    },
    /// Show the changes of a participant and who made them, the oldest first
    Changes {
        /// The participant's id.
        id: Segment,
        #[command(flatten)]
        looking: Looking,
    },
    /// Ask for a new participant
    Add(Add),
    /// Ask to enable a participant
    Enable {
        /// The participant's id.
        id: Segment,
        #[command(flatten)]
        asking: Asking,
    },
    /// Ask to disable a participant. Transfers under way still end
    Disable {
        /// The participant's id.
        id: Segment,
        #[command(flatten)]
        asking: Asking,
    },
    /// Ask for an account in one more currency
    Account {
        /// The participant's id.
        id: Segment,
        /// The currency with its bounds: USD,cap=5000,threshold=100.
        account: Terms,
        #[command(flatten)]
        asking: Asking,
    },
    /// Ask to enable or disable an account
    AccountStatus {
        /// The participant's id.
        id: Segment,
        /// The account's currency.
        currency: Segment,
        /// The new status.
        status: Status,
        #[command(flatten)]
        asking: Asking,
    },
    /// Ask to change the net debit cap of an account
    Limit {
        /// The participant's id.
        id: Segment,
        /// The account's currency.
        currency: Segment,
        /// The cap, such as 5000.00. With `none`, only liquidity bounds transfers.
        amount: Bound,
        #[command(flatten)]
        asking: Asking,
    },
    /// Ask to change the threshold below which operators are warned
    Threshold {
        /// The participant's id.
        id: Segment,
        /// The account's currency.
        currency: Segment,
        /// The threshold, such as 100.00. With `none`, nobody is warned.
        amount: Bound,
        #[command(flatten)]
        asking: Asking,
    },
    /// Ask to change a participant's endpoint. The host tries the new one first
    Endpoint {
        /// The participant's id.
        id: Segment,
        /// The base URL of its FSPIOP endpoint.
        url: String,
        #[command(flatten)]
        asking: Asking,
    },
    /// Ask to limit the addresses from which a participant may send
    Sources {
        /// The participant's id.
        id: Segment,
        /// Ranges of IP addresses, such as 192.0.2.0/24 or 2001:db8::/32: all of them. With `any`, there is no limit.
        #[arg(required = true)]
        ranges: Vec<String>,
        #[command(flatten)]
        asking: Asking,
    },
    /// Show the certificates of a participant that the host's authority has issued, the oldest first
    Certificates {
        /// The participant's id.
        id: Segment,
        #[command(flatten)]
        looking: Looking,
    },
    /// Ask for a certificate for a participant, from the host's authority
    OrderCertificate {
        /// The participant's id, which becomes the certificate's name.
        id: Segment,
        /// The file with the participant's certificate request (PKCS #10), PEM.
        request: PathBuf,
        #[command(flatten)]
        asking: Asking,
    },
    /// Revoke a certificate of a participant within a second. There is no way back
    RevokeCertificate {
        /// The participant's id.
        id: Segment,
        /// The certificate's serial number, as `participant certificates` shows it.
        serial: Segment,
        #[command(flatten)]
        asking: Asking,
    },
}

/// The word for no limit of addresses.
const ANY: &str = "any";

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Add {
    /// The participant's id, as in FSPIOP-Source.
    id: Segment,
    /// Its name, for people.
    #[arg(long)]
    name: String,
    /// The base URL of its FSPIOP endpoint.
    #[arg(long, value_name = "URL")]
    callback: String,
    /// An account: the currency with its bounds, USD,cap=5000,threshold=100. May be given several times.
    #[arg(long = "account", value_name = "ACCOUNT")]
    accounts: Vec<Terms>,
    /// The type of participant. A PISP has no accounts.
    #[arg(long = "type", value_enum, default_value = "dfsp")]
    kind: Kind,
    #[command(flatten)]
    asking: Asking,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Kind {
    Dfsp,
    Pisp,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(in crate::cli) enum Status {
    Enabled,
    Disabled,
}

/// An account that is asked for: its currency, its net debit cap and its threshold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Terms {
    currency: Segment,
    cap: Option<String>,
    threshold: Option<String>,
}

impl FromStr for Terms {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',');
        let currency = parts.next().unwrap_or_default().parse()?;
        let (mut cap, mut threshold) = (None, None);
        for part in parts {
            let bound = match part.split_once('=') {
                Some(("cap", value)) => (&mut cap, value),
                Some(("threshold", value)) => (&mut threshold, value),
                _ => {
                    return Err(format!(
                        "`{part}` is neither cap=AMOUNT nor threshold=AMOUNT"
                    ));
                }
            };
            if bound.0.replace(bound.1.to_owned()).is_some() {
                return Err(format!("`{part}` is given twice"));
            }
        }
        Ok(Self {
            currency,
            cap,
            threshold,
        })
    }
}

impl Terms {
    fn body(&self) -> Value {
        let mut body = json!({ "currency": self.currency.0 });
        if let Some(most) = &self.cap {
            body["limit"] = cap(&self.currency, Some(most));
        }
        if let Some(least) = &self.threshold {
            body["threshold"] = amount(&self.currency, least);
        }
        body
    }
}

impl Participant {
    pub fn run(self) -> anyhow::Result<u8> {
        let state = |state: &str| json!({ "state": state });
        match self {
            Self::List { state, looking } => list(state.as_deref(), &looking),
            Self::Show { id, looking } => show(&id, &looking),
            Self::Changes { id, looking } => changes(&id, &looking),
            Self::Certificates { id, looking } => certificates::list(&id, &looking),
            Self::OrderCertificate {
                id,
                request,
                asking,
            } => certificates::order(&id, &request, &asking),
            Self::RevokeCertificate { id, serial, asking } => {
                certificates::revoke(&id, &serial, &asking)
            }
            Self::Add(add) => add.run(),
            Self::Enable { id, asking } => asking.ask(
                &format!("/participants/{id}/state-updates"),
                state("APPROVED"),
            ),
            Self::Disable { id, asking } => asking.ask(
                &format!("/participants/{id}/state-updates"),
                state("DISABLED"),
            ),
            Self::Account {
                id,
                account,
                asking,
            } => asking.ask(&format!("/participants/{id}/accounts"), account.body()),
            Self::AccountStatus {
                id,
                currency,
                status,
                asking,
            } => {
                let status = match status {
                    Status::Enabled => "ENABLED",
                    Status::Disabled => "DISABLED",
                };
                let path = format!("/participants/{id}/accounts/{currency}/status-updates");
                asking.ask(&path, json!({ "status": status }))
            }
            Self::Limit {
                id,
                currency,
                amount,
                asking,
            } => {
                let path = format!("/participants/{id}/accounts/{currency}/limit-updates");
                let limit = cap(&currency, amount.0.as_deref());
                asking.ask(&path, json!({ "limit": limit }))
            }
            Self::Threshold {
                id,
                currency,
                amount: least,
                asking,
            } => {
                let path = format!("/participants/{id}/accounts/{currency}/threshold-updates");
                let threshold = least.0.map(|least| amount(&currency, &least));
                asking.ask(&path, json!({ "threshold": threshold }))
            }
            Self::Endpoint { id, url, asking } => {
                let path = format!("/participants/{id}/endpoint-updates");
                asking.ask(&path, json!({ "endpoints": endpoints(&url) }))
            }
            Self::Sources { id, ranges, asking } => {
                let path = format!("/participants/{id}/source-address-updates");
                let ranges = (ranges != [ANY]).then_some(ranges);
                asking.ask(&path, json!({ "sourceAddresses": ranges }))
            }
        }
    }
}

impl Add {
    fn run(self) -> anyhow::Result<u8> {
        let accounts: Vec<Value> = self.accounts.iter().map(Terms::body).collect();
        let body = json!({
            "id": self.id.0,
            "name": self.name,
            "type": match self.kind {
                Kind::Dfsp => "DFSP",
                Kind::Pisp => "PISP",
            },
            "endpoints": endpoints(&self.callback),
            "accounts": accounts,
        });
        self.asking.ask("/participants", body)
    }
}

fn endpoints(url: &str) -> Value {
    json!([{ "type": "FSPIOP", "value": url }])
}

fn list(state: Option<&str>, looking: &Looking) -> anyhow::Result<u8> {
    let found = items(&looking.at.client()?, "/participants", &[("state", state)])?;
    let line = |of: &Value| {
        let accounts = of["accounts"].as_array().into_iter().flatten();
        let currencies: Vec<String> = accounts.map(|account| text(account, "currency")).collect();
        let (id, state, name) = (text(of, "id"), text(of, "state"), text(of, "name"));
        format!("{id:<32} {state:<13} {:<12} {name}", currencies.join(","))
    };
    Ok(print(
        &found,
        looking.json,
        "there are no participants",
        line,
    )?)
}

fn show(id: &Segment, looking: &Looking) -> anyhow::Result<u8> {
    let found: Value = looking.at.client()?.get(&format!("/participants/{id}"))?;
    if looking.json {
        out::json(&found)?;
        return Ok(0);
    }
    rows([
        (
            "participant",
            format!("{} ({})", text(&found, "id"), text(&found, "state")),
        ),
        ("name", text(&found, "name")),
        ("type", text(&found, "type")),
    ])?;
    let list = |member: &str| found[member].as_array().cloned().unwrap_or_default();
    rows(
        list("endpoints")
            .iter()
            .map(|of| ("endpoint", text(of, "value"))),
    )?;
    rows(
        list("sourceAddresses")
            .iter()
            .filter_map(Value::as_str)
            .map(|range| ("sends from", words::plain(range))),
    )?;
    rows(list("accounts").iter().map(|of| {
        let (cap, threshold) = (shown(&of["limit"]["value"]), shown(&of["threshold"]));
        let (currency, status) = (text(of, "currency"), text(of, "status"));
        let says = format!("{currency} {status}, net debit cap {cap}, threshold {threshold}");
        ("account", says)
    }))?;
    let open = list("openRequests");
    rows(
        open.iter()
            .filter_map(Value::as_str)
            .map(|id| ("waits", id.to_owned())),
    )?;
    Ok(0)
}

fn changes(id: &Segment, looking: &Looking) -> anyhow::Result<u8> {
    let path = format!("/participants/{id}/changes");
    let found = items(&looking.at.client()?, &path, &[])?;
    let line = |of: &Value| {
        let at = words::instant(of["at"].as_u64().unwrap_or_default());
        let by = &of["by"];
        let by = match by["maker"].as_str() {
            Some(_) if by["checker"].is_null() => text(by, "maker"),
            Some(_) => format!("{}, decided by {}", text(by, "maker"), text(by, "checker")),
            None => by.to_string().replace(char::is_control, " "),
        };
        let (kind, state, n) = (text(of, "kind"), text(of, "state"), text(of, "n"));
        let why = text(&of["asked"], "reason");
        format!("{n:>5}  {at}  {kind} {state}  by {by}  {why}")
    };
    Ok(print(&found, looking.json, "there are no changes", line)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_a_currency_with_what_bounds_it() {
        let terms: Terms = "USD,threshold=100,cap=5000.00".parse().unwrap();
        let expected = json!({
            "currency": "USD",
            "limit": { "type": "NET_DEBIT_CAP", "value": { "currency": "USD", "amount": "5000.00" } },
            "threshold": { "currency": "USD", "amount": "100" },
        });
        assert_eq!(terms.body(), expected);
        let plain: Terms = "RWF".parse().unwrap();
        assert_eq!(plain.body(), json!({ "currency": "RWF" }));
    }

    #[test]
    fn an_account_with_a_typing_mistake_is_refused() {
        for bad in ["", "USD,limit=5", "USD,cap", "USD,cap=1,cap=2", "a/b"] {
            assert!(bad.parse::<Terms>().is_err(), "{bad}");
        }
    }
}
