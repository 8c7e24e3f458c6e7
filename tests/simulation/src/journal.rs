//! The durable state, observed between the engine and the store: reads each group on its way to the disk, and
//! checks the invariants at each.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rialto_engine::history::{Kind, Record};
use rialto_engine::network::OutboundRequest;
use rialto_engine::store::Group;
use serde_json::Value;

use crate::audit::{self, Books};
use crate::problem::{ACKNOWLEDGED, AUTHORITY, FENCED, Problem};

/// The documents of one collection by their ids.
pub type Documents = BTreeMap<String, Value>;

/// See the module's documentation. It outlives the hosts.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    collections: BTreeMap<u32, (String, String)>,
    documents: BTreeMap<(String, String), Documents>,
    /// The ledger among them, as it is looked at after each group.
    books: Books,
    /// All turns, in the order of the log.
    pub history: Vec<Arc<Record>>,
    /// All requests to the outside that ever were to be sent, by their ids.
    pub outbound: BTreeMap<u64, Arc<OutboundRequest>>,
    /// Those whose report has been handled.
    reported: BTreeSet<u64>,
    /// Those that have left the host that runs.
    left: BTreeSet<u64>,
    /// Traces whose first turn is on disk.
    asked: BTreeSet<u128>,
    /// How many groups there were.
    pub groups: u64,
    /// What did not hold.
    pub problems: Vec<Problem>,
}

impl Journal {
    /// Take a group that is on disk.
    pub fn take(&mut self, group: &Group) {
        self.groups += 1;
        for collection in &group.collections {
            let name = (
                collection.component.to_string(),
                collection.name.to_string(),
            );
            self.collections.insert(collection.id.0, name);
        }
        for write in &group.documents {
            self.write(write.collection.0, &write.id, write.body.as_deref());
        }
        for request in &group.outbound_added {
            self.outbound.insert(request.id, request.clone());
        }
        self.reported.extend(&group.outbound_removed);
        for record in &group.history {
            if record.kind == Kind::Request {
                self.asked.insert(record.trace);
            }
            self.history.push(record.clone());
        }
        self.problems.extend(self.books.problems());
    }

    fn write(&mut self, collection: u32, id: &str, body: Option<&str>) {
        let Some(name) = self.collections.get(&collection).cloned() else {
            let what = format!("a document {id} of the unknown collection {collection}");
            return self.problems.push(Problem::new(AUTHORITY, what));
        };
        let value: Option<Value> = body.and_then(|body| serde_json::from_str(body).ok());
        match (name.0.as_str(), name.1.as_str()) {
            ("accounts-and-balances", "accounts") => self.books.account(id, value.as_ref()),
            ("accounts-and-balances", "reservations") => self.books.reservation(id, value.as_ref()),
            _ => {}
        }
        let documents = self.documents.entry(name.clone()).or_default();
        let before = match &value {
            Some(value) => documents.insert(id.to_owned(), value.clone()),
            None => documents.remove(id),
        };
        let name = (name.0.as_str(), name.1.as_str());
        let change = audit::change(name, id, before.as_ref(), value.as_ref());
        self.problems.extend(change);
    }

    /// Another host begins: what has no report leaves once more.
    pub fn begins(&mut self) {
        self.left.clear();
    }

    /// A request that leaves for the outside.
    pub fn leaves(&mut self, request: &OutboundRequest) {
        if self.outbound.get(&request.id).map(|known| &**known) != Some(request) {
            let what = format!(
                "request {} ({} {}) leaves otherwise than it is on disk, or before it is",
                request.id, request.method, request.url
            );
            self.problems.push(Problem::new(ACKNOWLEDGED, what));
        }
        if self.reported.contains(&request.id) || !self.left.insert(request.id) {
            let what = format!(
                "request {} leaves again: after its report, or twice from one host",
                request.id
            );
            self.problems.push(Problem::new(ACKNOWLEDGED, what));
        }
    }

    /// A request leaves a host that another one has replaced.
    pub fn leaves_a_former_host(&mut self, request: &OutboundRequest) {
        let what = format!(
            "request {} ({} {}) leaves a host that has lost its lease",
            request.id, request.method, request.url
        );
        self.problems.push(Problem::new(FENCED, what));
    }

    /// A host that another one has replaced has written a group, or answered a message.
    pub fn a_former_host_acts(&mut self, what: String) {
        self.problems.push(Problem::new(FENCED, what));
    }

    /// An answer to the request of this trace leaves.
    pub fn answers(&mut self, trace: u128) {
        if !self.asked.contains(&trace) {
            let what = format!("message {trace} is answered before its turn is on disk");
            self.problems.push(Problem::new(ACKNOWLEDGED, what));
        }
    }

    /// The documents of a collection that a store returns after a start.
    pub fn reads(&mut self, component: &str, collection: &str, read: &Documents) {
        let known = self.collection(component, collection);
        let mut ids = known.keys().chain(read.keys());
        let lost = ids.find(|id| known.get(*id) != read.get(*id));
        if let Some(id) = lost {
            let (known, read) = (known.get(id), read.get(id));
            let what = format!("{collection} {id} is {read:?} after a start, was {known:?}");
            self.problems.push(Problem::new(ACKNOWLEDGED, what));
        }
    }

    /// A collection's documents.
    pub fn collection(&self, component: &str, collection: &str) -> &Documents {
        static NONE: Documents = Documents::new();
        let name = (component.to_owned(), collection.to_owned());
        self.documents.get(&name).unwrap_or(&NONE)
    }

    /// For a test of the tests: to change what is there.
    pub fn collection_mut(&mut self, component: &str, collection: &str) -> &mut Documents {
        let name = (component.to_owned(), collection.to_owned());
        self.documents.entry(name).or_default()
    }

    /// The ledger's accounts.
    pub fn accounts(&self) -> &Documents {
        self.collection("accounts-and-balances", "accounts")
    }

    /// An account's credits less its debits, and what of it is not settled.
    pub fn balance(&self, account: &str) -> Option<(i128, i128)> {
        let account = self.accounts().get(account)?;
        let number = |name: &str| account[name].as_str()?.parse::<i128>().ok();
        let balance = number("creditBalance")? - number("debitBalance")?;
        Some((balance, number("unsettled")?))
    }

    /// The reports of messages that did not go through at once.
    pub fn reports(&self) -> &Documents {
        self.collection("notifications-and-alerts", "reports")
    }

    /// The ledger's entries.
    pub fn entries(&self) -> &Documents {
        self.collection("accounts-and-balances", "entries")
    }

    /// The ledger's reservations.
    pub fn reservations(&self) -> &Documents {
        self.collection("accounts-and-balances", "reservations")
    }

    /// The transfers.
    pub fn transfers(&self) -> &Documents {
        self.collection("transfers", "transfers")
    }
}
