//! Accounts while they are filled: sums, histories and their pages in memory, written at the end.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use rand::RngExt as _;
use rand::rngs::StdRng;
use rialto_engine::CollectionId;
use serde_json::{Value, json};

use crate::template::{BATCH, Template};
use crate::{Sink, kept};

/// The component that keeps accounts.
pub const KEEPER: &str = "accounts-and-balances";
/// Entries of a page.
const PAGE: u64 = 16;
/// Accounts of one document that says what was settled.
const SETTLED_TOGETHER: usize = 400;

/// One account.
struct Account {
    body: Value,
    version: u64,
    debits: u128,
    credits: u128,
    count: u64,
    tail: Tail,
}

#[derive(Default)]
struct Tail {
    entries: String,
    debit_before: u128,
    credit_before: u128,
    earliest: u64,
    latest: u64,
}

/// A participant's three accounts.
struct Three {
    name: String,
    liquidity: Account,
    position: Account,
    batch: Account,
    /// How often it paid, which is as often as it was paid.
    paid: u128,
}

/// See the module's documentation.
pub struct Accounts {
    all: Vec<Three>,
    amount: u128,
    at: [u64; 3],
    pages: CollectionId,
    accounts: CollectionId,
    unsettled: CollectionId,
}

fn units(value: &Value) -> anyhow::Result<u128> {
    let text = value
        .as_str()
        .with_context(|| format!("an amount: {value}"))?;
    text.parse().with_context(|| format!("an amount: {text}"))
}

impl Account {
    fn read(body: &str, version: u64) -> anyhow::Result<Self> {
        let body: Value = serde_json::from_str(body)?;
        let tail = &body["tail"];
        let sum = |value: &Value| match value {
            Value::Null => Ok(0),
            value => units(value),
        };
        Ok(Self {
            debits: units(&body["debitBalance"])?,
            credits: units(&body["creditBalance"])?,
            count: tail["count"].as_u64().unwrap_or(0),
            tail: Tail {
                entries: tail["entries"].as_str().unwrap_or_default().to_owned(),
                debit_before: sum(&tail["debitBefore"])?,
                credit_before: sum(&tail["creditBefore"])?,
                earliest: tail["earliest"].as_u64().unwrap_or(0),
                latest: tail["latest"].as_u64().unwrap_or(0),
            },
            version,
            body,
        })
    }

    fn id(&self) -> &str {
        self.body["id"].as_str().unwrap_or_default()
    }

    /// Posts an entry: `(debit, credit)`. Returns the page that it fills.
    fn post(
        &mut self,
        entry: &str,
        (debit, credit): (u128, u128),
        at: u64,
    ) -> Option<(String, String)> {
        let tail = &mut self.tail;
        if tail.entries.is_empty() {
            (tail.debit_before, tail.credit_before) = (self.debits, self.credits);
            (tail.earliest, tail.latest) = (at, at);
        } else {
            tail.entries.push(' ');
            tail.earliest = tail.earliest.min(at);
            tail.latest = tail.latest.max(at);
        }
        tail.entries.push_str(entry);
        self.debits += debit;
        self.credits += credit;
        self.count += 1;
        if !self.count.is_multiple_of(PAGE) {
            return None;
        }
        let id = format!("{}/{:010}", self.id(), self.count / PAGE - 1);
        let page = json!({
            "entries": std::mem::take(&mut self.tail.entries),
            "debitBefore": self.tail.debit_before.to_string(),
            "creditBefore": self.tail.credit_before.to_string(),
            "earliest": self.tail.earliest,
            "latest": self.tail.latest,
        });
        Some((id, page.to_string()))
    }

    fn write(&self, sink: &mut Sink<'_>, accounts: CollectionId) -> anyhow::Result<()> {
        let mut body = self.body.clone();
        body["debitBalance"] = self.debits.to_string().into();
        body["creditBalance"] = self.credits.to_string().into();
        if self.count > 0 {
            body["tail"] = json!({
                "count": self.count,
                "entries": self.tail.entries,
                "debitBefore": self.tail.debit_before.to_string(),
                "creditBefore": self.tail.credit_before.to_string(),
                "earliest": self.tail.earliest,
                "latest": self.tail.latest,
            });
        }
        sink.put(accounts, self.id(), self.version + 1, &body.to_string())
    }
}

impl Accounts {
    /// The accounts of all participants that can pay what the template pays, but for its own two.
    ///
    /// # Errors
    /// When there are not two of them.
    pub(crate) fn read(sink: &mut Sink<'_>, template: &Template) -> anyhow::Result<Self> {
        let documents = kept(sink.store, &sink.collections, "accounts")?;
        let own = |owner: &str, kind: &str| format!("{owner}:{}:{kind}", template.currency);
        let account = |id: &str| {
            let found = documents
                .get(id)
                .with_context(|| format!("no account {id}"))?;
            Account::read(&found.body, found.version)
        };
        let mut all = Vec::new();
        let suffix = own("", "LIQUIDITY");
        for id in documents.keys().filter(|id| id.ends_with(&suffix)) {
            let owner = id.strip_suffix(&suffix).unwrap_or_default();
            let liquidity = account(id)?;
            let available = liquidity.credits.saturating_sub(liquidity.debits);
            if template.is_of(owner) || available < template.amount {
                continue;
            }
            let settled = account(&own(owner, "SETTLEMENT"))?;
            let batch = json!({
                "id": format!("{}:{BATCH}", own(owner, "SETTLEMENT_POSITION")),
                "participant": owner,
                "accountType": "SETTLEMENT_POSITION",
                "currency": template.currency,
                "scale": settled.body["scale"],
                "state": "CLOSED",
                "debitBalance": "0",
                "creditBalance": "0",
                "debitLimit": "0",
                "unsettled": "0",
                "settlementModel": settled.body["settlementModel"],
                "batch": BATCH,
                "createdAt": template.at[2],
            });
            let id = batch["id"].as_str().unwrap_or_default();
            ensure!(!documents.contains_key(id), "this store was filled before");
            all.push(Three {
                name: owner.to_owned(),
                position: account(&own(owner, "POSITION"))?,
                batch: Account::read(&batch.to_string(), 0)?,
                liquidity,
                paid: 0,
            });
        }
        let count = all.len();
        ensure!(
            count > 1,
            "{count} participants have funds, two are needed beside those who paid"
        );
        Ok(Self {
            all,
            amount: template.amount,
            at: template.at,
            pages: sink.collection(KEEPER, "entry-pages"),
            accounts: sink.collection(KEEPER, "accounts"),
            unsettled: sink.collection(KEEPER, "unsettled-changes"),
        })
    }

    /// Two participants.
    pub fn two(&self, chance: &mut StdRng) -> (usize, usize) {
        let one = chance.random_range(0..self.all.len());
        let other = chance.random_range(0..self.all.len() - 1);
        (one, if other < one { other } else { other + 1 })
    }

    /// A participant's name.
    pub fn name(&self, of: usize) -> &str {
        &self.all[of].name
    }

    /// Post the three entries of a transfer.
    pub(crate) fn transfer(
        &mut self,
        sink: &mut Sink<'_>,
        id: &str,
        payer: usize,
        payee: usize,
    ) -> anyhow::Result<()> {
        let amount = self.amount;
        let [prepared, fulfilled, recorded] = self.at;
        let (debit, credit) = ((amount, 0), (0, amount));
        let [prepare, fulfil, record] =
            ["prepare", "fulfil", "settlement"].map(|step| format!("{id}:{step}"));
        let mut pages = Vec::new();
        let from = &mut self.all[payer];
        from.paid += 1;
        pages.extend(from.liquidity.post(&prepare, debit, prepared));
        pages.extend(from.position.post(&prepare, credit, prepared));
        pages.extend(from.position.post(&fulfil, debit, fulfilled));
        pages.extend(from.batch.post(&record, debit, recorded));
        let to = &mut self.all[payee];
        pages.extend(to.liquidity.post(&fulfil, credit, fulfilled));
        pages.extend(to.batch.post(&record, credit, recorded));
        for (id, page) in pages {
            sink.put(self.pages, &id, 1, &page)?;
        }
        Ok(())
    }

    /// Write the accounts, and that all of it was settled.
    pub(crate) fn write(&self, sink: &mut Sink<'_>) -> anyhow::Result<()> {
        let mut settled: BTreeMap<&str, u128> = BTreeMap::new();
        for three in &self.all {
            for account in [&three.liquidity, &three.position, &three.batch] {
                account.write(sink, self.accounts)?;
            }
            let amount = three.paid * self.amount;
            settled.insert(three.liquidity.id(), amount);
            settled.insert(three.position.id(), amount);
        }
        let settled: Vec<_> = settled
            .into_iter()
            .filter(|(_, amount)| *amount > 0)
            .collect();
        for (n, together) in settled.chunks(SETTLED_TOGETHER).enumerate() {
            let of = |(account, amount): &(&str, u128)| json!({ "account": account, "amount": amount.to_string(), "settled": true });
            let id = format!("{BATCH}:settle-{n}");
            let accounts: Vec<Value> = together.iter().map(of).collect();
            let body = json!({ "id": id, "accounts": accounts, "postedAt": self.at[2] });
            sink.put(self.unsettled, &id, 1, &body.to_string())?;
        }
        Ok(())
    }
}
