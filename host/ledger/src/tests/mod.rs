//! A ledger of documents that the test writes, archives, damages and reads.

mod archived;
mod checks;
mod pages;
mod statements;

use std::collections::BTreeMap;

use rialto_engine::store::{Collection, DocumentWrite, Group, Store as _};
use rialto_engine::{CollectionId, Lsn};
use rialto_store_sqlite::SqliteStore;
use serde_json::{Value, json};

use crate::Ledger;
use crate::documents::{PAGE, page_id};
use crate::source::{ACCOUNTS, ENTRIES, PAGES, RESERVATIONS, UNSETTLED};

const PAYER: &str = "a:USD:LIQUIDITY";
const POSITION: &str = "a:USD:POSITION";
const PAYEE: &str = "b:USD:LIQUIDITY";
const OWES: &str = "a:USD:SETTLEMENT_POSITION:B1";
const IS_OWED: &str = "b:USD:SETTLEMENT_POSITION:B1";
const HUB: &str = "Hub:USD:HUB_LIQUIDITY_CONTROL";

/// A ledger's documents, by collection and id.
struct Scene {
    documents: BTreeMap<(&'static str, String), Value>,
    /// Whether accounts keep a history of their entries.
    keeps_history: bool,
    /// The instant of the last entry.
    at: u64,
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn units(value: &Value) -> i128 {
    text(value).parse().unwrap()
}

fn add(value: &mut Value, amount: i128) {
    *value = (units(value) + amount).to_string().into();
}

fn increase(value: &mut Value) {
    *value = (value.as_u64().unwrap() + 1).into();
}

/// The id of a transfer.
fn transfer(n: i128) -> String {
    format!("t{n:02}")
}

impl Scene {
    /// Two participants and the hub, with accounts that have no entries.
    fn new() -> Self {
        let mut scene = Self {
            documents: BTreeMap::new(),
            keeps_history: true,
            at: 1_000,
        };
        for owner in ["a", "b"] {
            for kind in ["LIQUIDITY", "POSITION", "SETTLEMENT"] {
                scene.open(owner, kind, None);
            }
            scene.open(owner, "SETTLEMENT_POSITION", Some("B1"));
        }
        scene.open("Hub", "HUB_LIQUIDITY_CONTROL", None);
        scene.open("Hub", "HUB_RECONCILIATION", None);
        scene
    }

    /// Forty settled transfers from a to b, one that was released, one that is open, and deposits before
    /// and behind them. With its first page, the payer's account has the pages of sixteen deposits, of
    /// t00 to t15, of t16 to t31, of t32 to t39 with others, and of sixteen deposits again.
    fn busy() -> Self {
        let mut scene = Self::new();
        for n in 0..16 {
            scene.deposit("a", &format!("early{n}"), 1_000);
        }
        scene.deposit("b", "first", 500);
        for n in 0..40 {
            scene.pay(&transfer(n), 10 + n);
        }
        scene.settle("B1:settle-0");
        scene.prepare("released", 7);
        scene.release("released", 7);
        for n in 0..30 {
            scene.deposit("a", &format!("late{n}"), 3);
        }
        scene.prepare("open", 5);
        scene
    }

    /// That ledger without the transfers t00 to t35 and the released one, which are in an archive.
    fn archived() -> Self {
        let mut scene = Self::busy();
        scene.archive((0..36).map(transfer));
        scene.archive(["released".to_owned()]);
        scene
    }

    fn open(&mut self, owner: &str, kind: &str, batch: Option<&str>) {
        let suffix = batch.map_or(String::new(), |batch| format!(":{batch}"));
        let id = format!("{owner}:USD:{kind}{suffix}");
        let account = json!({
            "id": id,
            "participant": owner,
            "accountType": kind,
            "currency": "USD",
            "scale": 2,
            "state": "ENABLED",
            "debitBalance": "0",
            "creditBalance": "0",
            "debitLimit": "0",
            "unsettled": "0",
            "batch": batch,
            "tail": {
                "count": 0, "entries": "", "debitBefore": "0", "creditBefore": "0", "earliest": 0, "latest": 0,
            },
            "createdAt": 1,
        });
        self.documents.insert((ACCOUNTS, id), account);
    }

    fn document(&mut self, collection: &'static str, id: &str) -> &mut Value {
        let key = (collection, id.to_owned());
        self.documents.get_mut(&key).unwrap()
    }

    fn account(&mut self, id: &str) -> &mut Value {
        self.document(ACCOUNTS, id)
    }

    fn remove(&mut self, collection: &'static str, id: &str) -> Value {
        let key = (collection, id.to_owned());
        self.documents.remove(&key).unwrap()
    }

    /// Post an entry: its cause, step and type, its accounts, its amount.
    fn post(&mut self, (cause, step, kind): (&str, &str, &str), sides: [&str; 2], amount: i128) {
        self.at += 1;
        let id = format!("{cause}:{step}");
        let [debit, credit] = sides;
        for (account, side) in [(debit, "debitBalance"), (credit, "creditBalance")] {
            if self.keeps_history {
                self.note(account, &id);
            }
            add(&mut self.account(account)[side], amount);
        }
        let entry = json!({
            "id": id,
            "debitAccount": debit,
            "creditAccount": credit,
            "amount": amount.to_string(),
            "currency": "USD",
            "scale": 2,
            "entryType": kind,
            "correlationId": cause,
            "postedAt": self.at,
        });
        self.documents.insert((ENTRIES, id), entry);
    }

    /// Note an entry in an account's history, before it changes the account's sums.
    fn note(&mut self, account: &str, entry: &str) {
        let at = self.at;
        let of = self.account(account);
        let (debits, credits) = (of["debitBalance"].clone(), of["creditBalance"].clone());
        let tail = &mut of["tail"];
        let listed = text(&tail["entries"]).to_owned();
        if listed.is_empty() {
            tail["debitBefore"] = debits;
            tail["creditBefore"] = credits;
            tail["earliest"] = at.into();
            tail["entries"] = entry.into();
        } else {
            tail["entries"] = format!("{listed} {entry}").into();
        }
        tail["latest"] = at.into();
        increase(&mut tail["count"]);
        let count = tail["count"].as_u64().unwrap();
        if count.is_multiple_of(PAGE) {
            let page = tail.clone();
            tail["entries"] = "".into();
            let id = page_id(account, count / PAGE - 1);
            self.documents.insert((PAGES, id), page);
        }
    }

    fn deposit(&mut self, owner: &str, id: &str, amount: i128) {
        let (liquidity, settlement) = (
            format!("{owner}:USD:LIQUIDITY"),
            format!("{owner}:USD:SETTLEMENT"),
        );
        self.post(
            (id, "funds-liquidity", "DEPOSIT_LIQUIDITY"),
            [HUB, &liquidity],
            amount,
        );
        self.post(
            (id, "funds-settlement", "DEPOSIT_SETTLEMENT"),
            ["Hub:USD:HUB_RECONCILIATION", &settlement],
            amount,
        );
    }

    fn prepare(&mut self, id: &str, amount: i128) {
        self.post(
            (id, "prepare", "TRANSFER_PREPARE"),
            [PAYER, POSITION],
            amount,
        );
        let reservation = json!({
            "transferId": id,
            "payer": "a",
            "amount": amount.to_string(),
            "currency": "USD",
            "scale": 2,
            "accounts": { "payerLiquidity": PAYER, "payerPosition": POSITION },
            "state": "open",
            "openedAt": self.at,
        });
        self.documents
            .insert((RESERVATIONS, id.to_owned()), reservation);
    }

    fn release(&mut self, id: &str, amount: i128) {
        self.post(
            (id, "release", "TRANSFER_RELEASE"),
            [POSITION, PAYER],
            amount,
        );
        self.document(RESERVATIONS, id)["state"] = "released".into();
    }

    /// A transfer that is fulfilled, and recorded in its batch.
    fn pay(&mut self, id: &str, amount: i128) {
        self.prepare(id, amount);
        self.post((id, "fulfil", "TRANSFER_FULFIL"), [POSITION, PAYEE], amount);
        for account in [POSITION, PAYEE] {
            add(&mut self.account(account)["unsettled"], amount);
        }
        let reservation = self.document(RESERVATIONS, id);
        reservation["state"] = "fulfilled".into();
        reservation["accounts"]["payeeLiquidity"] = PAYEE.into();
        self.post(
            (id, "settlement", "SETTLEMENT_RECORD"),
            [OWES, IS_OWED],
            amount,
        );
    }

    /// What waits for settlement is settled.
    fn settle(&mut self, id: &str) {
        let mut accounts = Vec::new();
        for name in [POSITION, PAYEE] {
            let of = self.account(name);
            let amount = of["unsettled"].clone();
            of["unsettled"] = "0".into();
            accounts.push(json!({ "account": name, "amount": amount, "settled": true }));
        }
        let change = json!({ "id": id, "accounts": accounts, "postedAt": self.at });
        self.documents.insert((UNSETTLED, id.to_owned()), change);
    }

    /// The opening balance of an account.
    fn opening(&mut self, account: &str) -> &mut Value {
        let of = &mut self.account(account)["archived"];
        if of.is_null() {
            *of = json!({
                "entries": 0,
                "pages": 0,
                "debits": "0",
                "credits": "0",
                "unsettled": "0",
                "until": 0,
                "file": "documents-1.jsonl.gz",
                "sha256": "ab01",
            });
        }
        of
    }

    /// Take transfers out of the ledger as if they were in an archive, and pages that have no entry left.
    fn archive(&mut self, ids: impl IntoIterator<Item = String>) {
        self.take_out(ids);
        self.take_pages_out();
    }

    fn take_out(&mut self, ids: impl IntoIterator<Item = String>) {
        for id in ids {
            let reservation = self.remove(RESERVATIONS, &id);
            if reservation["state"] == "fulfilled" {
                for account in [POSITION, PAYEE] {
                    let amount = units(&reservation["amount"]);
                    add(&mut self.opening(account)["unsettled"], amount);
                }
            }
            for step in ["prepare", "fulfil", "release", "settlement"] {
                let key = (ENTRIES, format!("{id}:{step}"));
                if let Some(entry) = self.documents.remove(&key) {
                    self.count(&entry, "debitAccount", "debits");
                    self.count(&entry, "creditAccount", "credits");
                }
            }
        }
    }

    fn take_pages_out(&mut self) {
        let has_entry = |page: &Value| {
            let mut ids = text(&page["entries"]).split(' ');
            ids.any(|id| self.documents.contains_key(&(ENTRIES, id.to_owned())))
        };
        let mut gone = Vec::new();
        for ((collection, id), document) in &self.documents {
            if *collection == PAGES && !has_entry(document) {
                gone.push(id.clone());
            }
        }
        for id in gone {
            self.remove(PAGES, &id);
            let (account, _) = id.rsplit_once('/').unwrap();
            increase(&mut self.opening(account)["pages"]);
        }
    }

    /// Count an entry that is in an archive for one of its accounts.
    fn count(&mut self, entry: &Value, side: &str, sum: &str) {
        let of = self.opening(text(&entry[side]));
        add(&mut of[sum], units(&entry["amount"]));
        increase(&mut of["entries"]);
        let until = of["until"].as_u64().max(entry["postedAt"].as_u64());
        of["until"] = until.into();
    }

    /// The ledger, in a store.
    fn ledger(&self) -> (tempfile::TempDir, Ledger) {
        let folder = rialto_files::temporary_folder().unwrap();
        let mut group = Group {
            lsn: Lsn(1),
            next_id: 2,
            ..Group::default()
        };
        let mut numbers = BTreeMap::new();
        let collections = [ACCOUNTS, ENTRIES, PAGES, RESERVATIONS, UNSETTLED];
        for (n, collection) in (1_u32..).zip(collections) {
            numbers.insert(collection, CollectionId(n));
            group.collections.push(Collection {
                id: CollectionId(n),
                component: "accounts-and-balances".into(),
                name: collection.into(),
            });
        }
        for ((collection, id), body) in &self.documents {
            group.documents.push(DocumentWrite {
                collection: numbers[collection],
                id: id.as_str().into(),
                version: 1,
                body: Some(body.to_string().into()),
            });
        }
        let store = SqliteStore::open(folder.path()).unwrap();
        store.recover().unwrap();
        store.write(&group).unwrap();
        drop(store);
        let ledger = Ledger::open(folder.path()).unwrap();
        (folder, ledger)
    }
}
