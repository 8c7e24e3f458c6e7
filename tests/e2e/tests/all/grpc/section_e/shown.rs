//! Effects of calls, read over HTTP: documents, ledger entries, histories and participants.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rialto_grpc_client::tonic::Status;
use rialto_tests::metrics::{Metrics, idle};
use rialto_tests::waiting::until;
use rialto_tests::{Office, RunningHost, TestScheme};
use serde_json::Value;

/// Longer than any reminder waits that is due.
const SOON: Duration = Duration::from_secs(30);
/// An operator with the role `reader`.
const READER: &str = "switch";
/// The ledger's component.
const LEDGER: &str = "accounts-and-balances";

/// See the module's documentation.
pub struct Shown<'a> {
    host: &'a RunningHost,
    office: Office,
    callbacks: &'a BTreeMap<String, u16>,
}

/// What does not fit, as a call's failure.
pub fn wrong(what: impl Into<String>) -> Status {
    Status::internal(what)
}

/// Two views of the same that must agree.
///
/// # Errors
/// With both when they do not.
pub fn agree<T: PartialEq + std::fmt::Debug>(
    what: &str,
    called: T,
    shown: T,
) -> Result<(), Status> {
    if called == shown {
        return Ok(());
    }
    Err(wrong(format!(
        "{what}: the call says {called:?}, the host shows {shown:?}"
    )))
}

fn status(error: anyhow::Error) -> Status {
    wrong(format!("{error:#}"))
}

impl<'a> Shown<'a> {
    /// Look at this host.
    pub fn of(host: &'a RunningHost, scheme: &'a TestScheme) -> Result<Self> {
        Ok(Self {
            host,
            office: Office::of(scheme, host, &[READER])?,
            callbacks: scheme.callbacks(),
        })
    }

    /// GET of the operators' API.
    pub async fn get(&self, path: &str) -> Result<Value, Status> {
        self.office.get(READER, path).await.map_err(status)
    }

    /// A collection's documents by their ids.
    pub async fn documents(
        &self,
        component: &str,
        collection: &str,
    ) -> Result<BTreeMap<String, Value>, Status> {
        let read = async {
            let path = format!("/documents/{component}/{collection}?limit=1000");
            let all = self.office.get(READER, &path).await?;
            let all = all.as_array().context("a list of documents")?;
            ensure!(all.len() < 1000, "{path}: there are more");
            let all = all.iter().map(|shown| {
                let id = shown["id"].as_str().unwrap_or_default();
                (id.to_owned(), shown["body"].clone())
            });
            Ok(all.collect())
        };
        read.await.map_err(status)
    }

    /// An account as the ledger keeps it; null if there is none.
    pub async fn account(&self, id: &str) -> Result<Value, Status> {
        let mut all = self.documents(LEDGER, "accounts").await?;
        Ok(all.remove(id).unwrap_or_default())
    }

    /// An account's credits less its debits, in cents.
    pub async fn balance(&self, id: &str) -> Result<i64, Status> {
        let account = self.account(id).await?;
        let number = |name: &str| {
            account[name]
                .as_str()
                .and_then(|text| text.parse::<i64>().ok())
        };
        let balance = number("creditBalance").zip(number("debitBalance"));
        let (credits, debits) = balance.ok_or_else(|| wrong(format!("{id} is {account}")))?;
        Ok(credits - debits)
    }

    /// The entries of one cause, each in a line: type, from, to, amount.
    pub async fn entries(&self, cause: &str) -> Result<Vec<String>, Status> {
        let all = self.documents(LEDGER, "entries").await?;
        let of_cause = all.values().filter(|entry| entry["correlationId"] == cause);
        let mut lines: Vec<String> = of_cause
            .map(|entry| {
                let text = |name: &str| entry[name].as_str().unwrap_or_default();
                let (debit, credit) = (text("debitAccount"), text("creditAccount"));
                format!("{} {debit} {credit} {}", text("entryType"), text("amount"))
            })
            .collect();
        lines.sort();
        Ok(lines)
    }

    /// The state of a reservation.
    pub async fn reservation(&self, id: &str) -> Result<String, Status> {
        let all = self.documents(LEDGER, "reservations").await?;
        let state = all.get(id).and_then(|found| found["state"].as_str());
        Ok(state.unwrap_or_default().to_owned())
    }

    /// A participant as operators see it.
    pub async fn participant(&self, id: &str) -> Result<Value, Status> {
        self.get(&format!("/participants/{id}")).await
    }

    /// The currencies in which operators see an enabled account of a participant.
    pub async fn currencies(&self, id: &str) -> Result<Vec<String>, Status> {
        let participant = self.participant(id).await?;
        let accounts = participant["accounts"].as_array().into_iter().flatten();
        let enabled = accounts.filter(|account| account["status"] == "ENABLED");
        let currency =
            |account: &Value| account["currency"].as_str().unwrap_or_default().to_owned();
        let mut currencies: Vec<String> = enabled.map(currency).collect();
        currencies.sort();
        Ok(currencies)
    }

    /// Where the scheme says that a participant is called back.
    pub fn callback(&self, id: &str) -> String {
        format!("http://127.0.0.1:{}", self.callbacks[id])
    }

    /// The events that turns about a subject published, when the host has nothing left to do: their names
    /// without their interfaces.
    pub async fn events(&self, subject: &str) -> Result<Vec<String>, Status> {
        self.idle().await?;
        let path = format!("/events/{}", subject.replace('/', "%2F"));
        let stories = self.get(&path).await?;
        let turns = stories.as_array().into_iter().flatten();
        let turns = turns.flat_map(|story| story["turns"].as_array().cloned().unwrap_or_default());
        let steps = turns.flat_map(|turn| turn["steps"].as_array().cloned().unwrap_or_default());
        let events = steps.filter_map(|step| {
            let event = step["Published"]["event"].as_str()?;
            Some(event.rsplit('/').next().unwrap_or(event).to_owned())
        });
        Ok(events.collect())
    }

    /// Wait until a turn about a subject has published something.
    pub async fn until_event(&self, subject: &str) -> Result<(), Status> {
        let waiting = until(subject, SOON, async || {
            let events = self.events(subject).await?;
            Ok(if events.is_empty() {
                Err("no event".to_owned())
            } else {
                Ok(())
            })
        });
        waiting.await.map_err(status)
    }

    /// The idle host's metrics.
    pub async fn idle(&self) -> Result<Metrics, Status> {
        idle(self.host).await.map_err(status)
    }

    /// How many reminders wait.
    pub async fn reminders(&self) -> Result<u64, Status> {
        let metrics = self.idle().await?;
        metrics.get("rialto_reminders_waiting").map_err(status)
    }
}
