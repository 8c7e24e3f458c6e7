//! One payment with its messages. Each has an agreement, an amount and a fulfilment of its own.

use std::time::Duration;

use anyhow::Result;
use http::Method;
use rialto_simulator::Recorded;
use rialto_simulator::ilp::{Secret, condition, text32};
use rialto_simulator::time::datetime_in;
use rialto_tests::messages;
use rialto_tests::world::{PAYEE, PAYER};
use serde_json::{Value, json};

use crate::stage::Stage;
use crate::tally::Entry;

/// The events of each part of a transfer.
pub mod events {
    /// A request for a transfer arrives.
    pub const ASKED: [&str; 2] = [
        "transfer-prepare-requested",
        "transfer-prepare-accounts-allocated",
    ];

    /// A message leaves, is delivered, and its report goes to its cause; `""` if the brief names no report.
    pub fn told(report: &'static str) -> Vec<&'static str> {
        let mut events = vec!["notify-requested", "notify-report"];
        events.extend(Some(report).filter(|report| !report.is_empty()));
        events
    }

    /// A transfer is prepared, and the payee FSP asked.
    pub fn prepared() -> Vec<&'static str> {
        let told = told("transfer-prepare-callback-report");
        [&ASKED[..], &["transfer-prepared"], &told].concat()
    }

    /// A transfer is committed, and the payer FSP told.
    pub fn committed() -> Vec<&'static str> {
        let events = [
            "transfer-fulfil-committed-requested",
            "transfer-committed-fulfiled",
        ];
        let told = told("transfer-fulfil-committed-callback-report");
        [&events[..], &told].concat()
    }

    /// A message that does not fit is answered to its sender.
    pub fn answered(asked: &'static str) -> Vec<&'static str> {
        let told = told("transfer-query-response-callback-report");
        [&[asked, "transfer-query-response"][..], &told].concat()
    }

    /// The payee FSP declines a transfer, and the payer FSP is told.
    pub fn declined() -> Vec<&'static str> {
        let events = [
            "transfer-reject-requested",
            "transfer-reject-request-processed",
        ];
        let told = told("transfer-reject-request-processed-callback-report");
        [&events[..], &told].concat()
    }

    /// A transfer expires while its payee FSP is awaited, and both FSPs are told.
    pub fn timed_out() -> Vec<&'static str> {
        let told = told("transfer-fulfil-commit-request-timedout-callback-report");
        [
            &["transfer-fulfil-comit-request-timedout"][..],
            &told,
            &told,
        ]
        .concat()
    }

    /// A request for a transfer is refused, and its sender told.
    pub fn refused(event: &'static str, report: &'static str) -> Vec<&'static str> {
        [&ASKED[..], &[event], &told(report)].concat()
    }

    /// A request for a transfer is refused by a rule.
    pub fn against_rules() -> Vec<&'static str> {
        let report = "transfer-prepare-rule-check-failed-callback-report";
        refused("transfer-prepare-rule-check-failed", report)
    }

    /// A request for a transfer is refused because its payer has not the money for it.
    pub fn short_of_liquidity() -> Vec<&'static str> {
        let report = "transfer-prepare-liquidity-check-failed-callback-report";
        refused("transfer-prepare-liquidity-check-failed", report)
    }

    /// A request for a quote goes to the payee FSP.
    pub fn quote_asked() -> Vec<&'static str> {
        let events = ["quote-request-received", "quote-request-accepted"];
        [&events[..], &told("quote-received-callback-report")].concat()
    }

    /// A quote is asked for and agreed.
    pub fn agreed() -> Vec<&'static str> {
        let answered = ["quote-response-received", "quote-response-accepted"];
        let told = told("quote-accepted-callback-report");
        [&quote_asked()[..], &answered, &told].concat()
    }

    /// A message about a quote is answered to its sender.
    pub fn quote_answered(asked: &'static str) -> Vec<&'static str> {
        [&[asked, "quote-query-response"][..], &told("")].concat()
    }

    /// A request for a quote is refused, and its sender told.
    pub fn quote_refused(event: &'static str, report: &'static str) -> Vec<&'static str> {
        [&["quote-request-received", event][..], &told(report)].concat()
    }
}

/// The ledger entries of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leg {
    /// The payer's funds are reserved.
    Prepare,
    /// They are the payee's.
    Fulfil,
    /// They are the payer's again.
    Release,
}

/// See the module's documentation.
#[derive(Clone, Debug)]
pub struct Payment {
    /// The FSP that pays.
    pub payer: &'static str,
    /// The FSP that is paid.
    pub payee: &'static str,
    /// The quote's id.
    pub quote_id: String,
    /// The transfer's id.
    pub transfer_id: String,
    /// In cents of US dollars.
    pub cents: u64,
    /// The one that fits the condition.
    pub fulfilment: String,
    /// The agreement's.
    pub condition: String,
    /// How long the transfer lasts from when it is asked for.
    pub expires_in: Duration,
}

impl Payment {
    /// Five dollars from the payer to the payee.
    pub fn new(stage: &Stage) -> Self {
        Self::between(stage, PAYER, PAYEE)
    }

    /// Five dollars from one FSP to another.
    pub fn between(stage: &Stage, payer: &'static str, payee: &'static str) -> Self {
        let transfer_id = stage.id();
        let fulfilment = Secret::from_name(payee).fulfilment(transfer_id.as_bytes());
        Self {
            payer,
            payee,
            quote_id: stage.id(),
            transfer_id,
            cents: 500,
            fulfilment: text32(&fulfilment),
            condition: text32(&condition(&fulfilment)),
            expires_in: Duration::from_secs(60),
        }
    }

    /// The same of another amount.
    #[must_use]
    pub fn of(self, cents: u64) -> Self {
        Self { cents, ..self }
    }

    /// The same that expires soon.
    #[must_use]
    pub fn expiring_in(self, expires_in: Duration) -> Self {
        Self { expires_in, ..self }
    }

    fn money(&self) -> Value {
        let (dollars, cents) = (self.cents / 100, self.cents % 100);
        let text = match cents {
            0 => dollars.to_string(),
            cents if cents % 10 == 0 => format!("{dollars}.{}", cents / 10),
            cents => format!("{dollars}.{cents:02}"),
        };
        json!({ "currency": "USD", "amount": text })
    }

    /// The path of its quote.
    pub fn quote_path(&self) -> String {
        format!("/quotes/{}", self.quote_id)
    }

    /// The path of its transfer.
    pub fn path(&self) -> String {
        format!("/transfers/{}", self.transfer_id)
    }

    /// The path on which its transfer is declined.
    pub fn error_path(&self) -> String {
        format!("{}/error", self.path())
    }

    /// Its transfer as the history knows it.
    pub fn subject(&self) -> String {
        format!("transfer:{}", self.transfer_id)
    }

    /// Its quote as the history knows it.
    pub fn quote_subject(&self) -> String {
        format!("quote:{}", self.quote_id)
    }

    /// The body of its POST /quotes.
    pub fn quote(&self) -> Value {
        messages::quote(&self.quote_id, |quote| {
            quote["payer"]["partyIdInfo"]["fspId"] = self.payer.into();
            quote["payee"]["partyIdInfo"]["fspId"] = self.payee.into();
            quote["amount"] = self.money();
            quote["note"] = "ein Gruß".into();
        })
    }

    /// The body of its PUT /quotes/{ID}.
    pub fn terms(&self) -> Value {
        json!({
            "transferAmount": self.money(),
            "expiration": datetime_in(Duration::from_secs(3_600)),
            "ilpPacket": messages::ILP_PACKET,
            "condition": self.condition,
        })
    }

    /// The body of its POST /transfers, asked for now.
    pub fn transfer(&self) -> Value {
        messages::transfer(&self.transfer_id, |transfer| {
            transfer["payerFsp"] = self.payer.into();
            transfer["payeeFsp"] = self.payee.into();
            transfer["amount"] = self.money();
            transfer["condition"] = self.condition.as_str().into();
            transfer["expiration"] = datetime_in(self.expires_in).into();
        })
    }

    /// The body of the payee FSP's PUT /transfers/{ID}.
    pub fn fulfil(&self, state: &str) -> Value {
        json!({ "fulfilment": self.fulfilment, "transferState": state })
    }

    /// Ask for the quote. Gives the message as sent.
    ///
    /// # Errors
    /// When the host does not take it.
    pub async fn ask(&self, stage: &Stage) -> Result<Recorded> {
        let ask = stage
            .sends(self.payer, Method::POST, "/quotes")
            .to(self.payee);
        ask.json(&self.quote()).accepted().await
    }

    /// Has both FSPs agree on a quote.
    ///
    /// # Errors
    /// When a message does not come, or differs.
    pub async fn agree(&self, stage: &Stage) -> Result<()> {
        let sent = self.ask(stage).await?;
        stage.forwarded(&sent, self.payee).await?;
        let answer = stage.sends(self.payee, Method::PUT, &self.quote_path());
        let sent = answer.to(self.payer).json(&self.terms()).accepted().await?;
        stage.forwarded(&sent, self.payer).await?;
        stage.expects(&self.quote_subject(), &events::agreed());
        Ok(())
    }

    /// Ask for the transfer with this body. Gives the message as sent.
    ///
    /// # Errors
    /// When the host does not take it.
    pub async fn post(&self, stage: &Stage, body: &Value) -> Result<Recorded> {
        let ask = stage
            .sends(self.payer, Method::POST, "/transfers")
            .to(self.payee);
        ask.json(body).accepted().await
    }

    /// Agree, and ask for the transfer. Gives its body.
    ///
    /// # Errors
    /// When a message does not come, or differs.
    pub async fn request(&self, stage: &Stage) -> Result<Value> {
        self.agree(stage).await?;
        let body = self.transfer();
        self.post(stage, &body).await?;
        Ok(body)
    }

    /// Agree, ask for the transfer, and have the payee FSP asked. Gives its body.
    ///
    /// # Errors
    /// When a message does not come, or differs.
    pub async fn prepare(&self, stage: &Stage) -> Result<Value> {
        self.agree(stage).await?;
        let body = self.transfer();
        let sent = self.post(stage, &body).await?;
        stage.forwarded(&sent, self.payee).await?;
        self.expects(stage, &events::prepared(), Leg::Prepare);
        Ok(body)
    }

    /// Has an FSP send a PUT about the transfer. Returns it as sent.
    ///
    /// # Errors
    /// When the host does not take it.
    pub async fn put(
        &self,
        stage: &Stage,
        fsp: &str,
        to: &str,
        path: &str,
        body: &Value,
    ) -> Result<Recorded> {
        stage
            .sends(fsp, Method::PUT, path)
            .to(to)
            .json(body)
            .accepted()
            .await
    }

    /// Has the payee FSP commit a prepared transfer, and the payer FSP told.
    ///
    /// # Errors
    /// When a message does not come, or differs.
    pub async fn commit(&self, stage: &Stage) -> Result<()> {
        let body = self.fulfil("COMMITTED");
        let sent = self
            .put(stage, self.payee, self.payer, &self.path(), &body)
            .await?;
        stage.forwarded(&sent, self.payer).await?;
        self.expects(stage, &events::committed(), Leg::Fulfil);
        Ok(())
    }

    /// Has the payee FSP decline a prepared transfer, and the payer FSP told.
    ///
    /// # Errors
    /// When a message does not come, or differs.
    pub async fn decline(&self, stage: &Stage, body: &Value) -> Result<()> {
        let path = self.error_path();
        let sent = self.put(stage, self.payee, self.payer, &path, body).await?;
        stage.forwarded(&sent, self.payer).await?;
        self.expects(stage, &events::declined(), Leg::Release);
        Ok(())
    }

    /// The case expects this too of the transfer.
    pub fn expects(&self, stage: &Stage, events: &[&str], leg: Leg) {
        stage.expects(&self.subject(), events);
        for entry in self.entries(leg) {
            stage.tally().expects_entry(&self.transfer_id, entry);
        }
    }

    /// The ledger has these entries about the transfer, and no others.
    ///
    /// # Errors
    /// When it has others.
    pub async fn ledger(&self, stage: &Stage, legs: &[Leg]) -> Result<()> {
        let entries: Vec<Entry> = legs.iter().flat_map(|leg| self.entries(*leg)).collect();
        stage.ledger(&self.transfer_id, &entries).await
    }

    /// The entries of one leg.
    fn entries(&self, leg: Leg) -> Vec<Entry> {
        let account = |fsp: &str, kind: &str| format!("{fsp}:USD:{kind}");
        let liquidity = account(self.payer, "LIQUIDITY");
        let position = account(self.payer, "POSITION");
        let entry = |name: &str, debit: String, credit: String| {
            [name.to_owned(), debit, credit, self.cents.to_string()]
        };
        match leg {
            Leg::Prepare => vec![entry("TRANSFER_PREPARE", liquidity, position)],
            Leg::Release => vec![entry("TRANSFER_RELEASE", position, liquidity)],
            Leg::Fulfil => vec![
                entry(
                    "TRANSFER_FULFIL",
                    position,
                    account(self.payee, "LIQUIDITY"),
                ),
                // A committed transfer is recorded in a settlement batch, in its own turn.
                entry(
                    "SETTLEMENT_RECORD",
                    account(self.payer, "SETTLEMENT_POSITION"),
                    account(self.payee, "SETTLEMENT_POSITION"),
                ),
            ],
        }
    }

    /// The transfer is in this state, with these entries, and its events are these.
    ///
    /// # Errors
    /// When something is otherwise.
    pub async fn ends(
        &self,
        stage: &Stage,
        state: &str,
        legs: &[Leg],
        events: &[&[&str]],
    ) -> Result<()> {
        stage.events(&self.subject(), &events.concat()).await?;
        stage.transfer_is(&self.transfer_id, state)?;
        self.ledger(stage, legs).await
    }
}
