//! The bank: a handler whose every effect is counted in documents.

use std::any::Any;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use rialto_engine::engine::{Handled, Handler};
use rialto_engine::network::{DeliveryPolicy, Report, WhileAway};
use rialto_engine::stimulus::LivePayload;
use rialto_engine::store::StoredReminder;
use rialto_engine::turn::Send as SendRequest;
use rialto_engine::{
    Delivery, Failure, Interrupt, Name, Payload, Reply, Stimulus, Timestamp, Turn,
};

/// A payment from one account to another.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Pay {
    pub id: String,
    pub from: String,
    pub to: String,
    pub amount: i64,
}

impl LivePayload for Pay {
    fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap()
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// What the bank is asked.
pub enum Ask {
    Open {
        account: String,
        balance: i64,
    },
    Pay(Pay),
    /// Fails in the middle, with everything staged.
    Break,
    /// Panics in the middle, with everything staged.
    Panic,
    Cancel(String),
    /// Holds a document of its own for a while.
    Slow(std::time::Duration),
    /// Whatever a test wants of a turn.
    Do(Doing),
}

/// What a test does in a turn.
pub type Doing = Box<dyn Fn(&mut Turn) -> Result<bool, Interrupt> + Send + Sync>;

/// As a request: whatever a test wants of a turn.
pub fn doing(what: impl Fn(&mut Turn) -> Result<bool, Interrupt> + Send + Sync + 'static) -> Ask {
    Ask::Do(Box::new(what))
}

/// Publish an event whose handler publishes it again, without end.
pub fn spin(turn: &mut Turn) -> Result<bool, Interrupt> {
    let payload = Payload::Stored(b"{}".to_vec().into());
    turn.deliver(&BANK.into(), &"events".into(), &"spin".into(), payload)?;
    Ok(true)
}

/// See the module's documentation.
#[derive(Default)]
pub struct Bank {
    /// The delivery of `held` fails so often before it goes well.
    pub failures: AtomicU64,
    /// Runs once, in the middle of the next reminder's turn.
    #[allow(clippy::type_complexity, reason = "what a test wants to happen")]
    pub amid_reminder: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    /// Runs at the begin of each turn of a note.
    #[allow(clippy::type_complexity, reason = "what a test wants to happen")]
    pub amid_note: Mutex<Option<Box<dyn Fn(&mut Turn) -> Result<(), Interrupt> + Send>>>,
    /// Components whose deliveries all fail.
    pub broken: Mutex<HashSet<String>>,
    /// What was told in events `noted`, and to which component, in this order.
    pub noted: Mutex<Vec<(String, String)>>,
    /// What reminders that came due had as payload, in this order beside what was noted before.
    pub reminded: Mutex<Vec<(String, usize)>>,
}

pub const BANK: &str = "bank";

/// The bank's documents, by collection and id.
pub trait BankDocuments {
    fn get(&mut self, collection: &str, id: &str) -> Result<Option<Name>, Interrupt>;
    fn get_for_update(&mut self, collection: &str, id: &str) -> Result<Option<Name>, Interrupt>;
    fn put(&mut self, collection: &str, id: &str, body: &str) -> Result<(), Interrupt>;
    fn insert(&mut self, collection: &str, id: &str, body: &str) -> Result<bool, Interrupt>;
    fn remove(&mut self, collection: &str, id: &str) -> Result<bool, Interrupt>;
}

impl BankDocuments for Turn {
    fn get(&mut self, collection: &str, id: &str) -> Result<Option<Name>, Interrupt> {
        self.read(self.key(BANK, collection, id)?)
    }

    fn get_for_update(&mut self, collection: &str, id: &str) -> Result<Option<Name>, Interrupt> {
        self.read_for_update(self.key(BANK, collection, id)?)
    }

    fn put(&mut self, collection: &str, id: &str, body: &str) -> Result<(), Interrupt> {
        self.write(self.key(BANK, collection, id)?, body.into())
    }

    fn insert(&mut self, collection: &str, id: &str, body: &str) -> Result<bool, Interrupt> {
        self.insert_if_absent(self.key(BANK, collection, id)?, body.into())
    }

    fn remove(&mut self, collection: &str, id: &str) -> Result<bool, Interrupt> {
        self.delete(self.key(BANK, collection, id)?)
    }
}

fn number(body: Option<Name>) -> i64 {
    body.map_or(0, |b| b.parse().expect("a number"))
}

fn add(turn: &mut Turn, collection: &str, id: &str, amount: i64) -> Result<i64, Interrupt> {
    let now = number(turn.get_for_update(collection, id)?) + amount;
    turn.put(collection, id, &now.to_string())?;
    Ok(now)
}

impl Bank {
    fn ask(&self, ask: &Ask, turn: &mut Turn) -> Result<Reply, Interrupt> {
        match ask {
            Ask::Open { account, balance } => {
                add(turn, "accounts", account, *balance)?;
                Ok(Box::new(true))
            }
            Ask::Pay(pay) => {
                // A repeat of the same payment does nothing but tell how it stands.
                if !turn.insert("payments", &pay.id, "\"held\"")? {
                    let state = turn.get("payments", &pay.id)?;
                    return Ok(Box::new(state.as_deref() != Some("\"refused\"")));
                }
                let left = number(turn.get("accounts", &pay.from)?) - pay.amount;
                if left < 0 {
                    turn.put("payments", &pay.id, "\"refused\"")?;
                    return Ok(Box::new(false));
                }
                add(turn, "accounts", &pay.from, -pay.amount)?;
                add(turn, "holds", &pay.id, pay.amount)?;
                turn.deliver(
                    &BANK.into(),
                    &"events".into(),
                    &"held".into(),
                    Payload::Live(Arc::new(pay.clone())),
                )?;
                Ok(Box::new(true))
            }
            Ask::Break | Ask::Panic => {
                add(turn, "accounts", "a0", 1_000_000)?;
                turn.deliver(
                    &BANK.into(),
                    &"events".into(),
                    &"held".into(),
                    Payload::Stored(b"broken".to_vec().into()),
                )?;
                assert!(!matches!(ask, Ask::Panic), "asked to panic");
                Err(Interrupt::Misuse("asked to break".into()))
            }
            Ask::Cancel(id) => Ok(Box::new(turn.cancel_reminder(&BANK.into(), id)?)),
            Ask::Slow(pause) => {
                add(turn, "slow", "slow", 1)?;
                std::thread::sleep(*pause);
                Ok(Box::new(true))
            }
            Ask::Do(what) => Ok(Box::new(what(turn)?)),
        }
    }

    fn deliver(&self, delivery: &Delivery, turn: &mut Turn) -> Result<Reply, Interrupt> {
        if self.broken.lock().contains(&*delivery.component) {
            return Err(Interrupt::Misuse("it is broken".into()));
        }
        match &*delivery.function {
            "noted" => {
                if let Some(amid) = &*self.amid_note.lock() {
                    amid(turn)?;
                }
                let what = String::from_utf8(delivery.payload.encode()).unwrap();
                if what.starts_with("poison") {
                    return Err(Interrupt::Misuse("it is poison".into()));
                }
                if let Some(next) = what.strip_prefix("then ") {
                    let next = Payload::Stored(next.as_bytes().to_vec().into());
                    let (component, interface) = (&delivery.component, &delivery.interface);
                    turn.deliver(component, interface, &delivery.function, next)?;
                }
                add(turn, "noted", &format!("{}/{what}", delivery.component), 1)?;
                let noted = (delivery.component.to_string(), what);
                self.noted.lock().push(noted);
            }
            "held" => {
                let pay = payment(&delivery.payload)?;
                let amount = number(turn.get_for_update("holds", &pay.id)?);
                turn.remove("holds", &pay.id)?;
                add(turn, "accounts", &pay.to, amount)?;
                add(turn, "executions", &pay.id, 1)?;
                turn.put("payments", &pay.id, "\"paid\"")?;
                let due = turn.now() + 50;
                turn.set_reminder(&BANK.into(), &pay.id, due, pay.id.clone())?;
                turn.send(&BANK.into(), letter(&pay.id))?;
                let failing = self.failures.load(Ordering::Relaxed);
                if failing > 0 {
                    self.failures.store(failing - 1, Ordering::Relaxed);
                    return Err(Interrupt::Misuse("not yet".into()));
                }
            }
            "reported" => {
                let report: Report = match &delivery.payload {
                    Payload::Live(live) => {
                        let report = live.as_any().downcast_ref::<Report>();
                        report.expect("a report").clone()
                    }
                    Payload::Stored(bytes) => serde_json::from_slice(bytes).unwrap(),
                };
                add(turn, "reports", &report.correlation, 1)?;
            }
            "due" => {
                let reminder: StoredReminder = match &delivery.payload {
                    Payload::Live(live) => {
                        let reminder = live.as_any().downcast_ref::<StoredReminder>();
                        reminder.expect("a reminder").clone()
                    }
                    Payload::Stored(bytes) => serde_json::from_slice(bytes).unwrap(),
                };
                let amid = self.amid_reminder.lock().take();
                if let Some(amid) = amid {
                    amid();
                }
                add(turn, "reminded", &reminder.payload, 1)?;
                let noted = self.noted.lock().len();
                self.reminded.lock().push((reminder.payload, noted));
            }
            "spin" => {
                spin(turn)?;
            }
            other => panic!("{other} is nothing that the bank knows"),
        }
        Ok(Box::new(()))
    }
}

fn payment(payload: &Payload) -> Result<Pay, Interrupt> {
    match payload {
        Payload::Live(live) => Ok(live.as_any().downcast_ref::<Pay>().unwrap().clone()),
        Payload::Stored(bytes) => {
            serde_json::from_slice(bytes).map_err(|e| Interrupt::Misuse(e.to_string()))
        }
    }
}

/// As a part of a turn: tell a component something, in an event about a subject.
pub fn note(turn: &mut Turn, component: &str, subject: &str, what: &str) -> Result<(), Interrupt> {
    turn.subject(subject)?;
    let payload = Payload::Stored(what.as_bytes().to_vec().into());
    turn.deliver(
        &component.into(),
        &"events".into(),
        &"noted".into(),
        payload,
    )
}

/// A letter about a payment; those about payments named `dead…` have a destination of their own, and those
/// named `deadN-…` have each its own.
fn letter(id: &str) -> SendRequest {
    let destination = match id.split_once('-') {
        Some((destination, _)) if id.starts_with("dead") => destination,
        _ if id.starts_with("dead") => "dead",
        _ => "payee",
    };
    SendRequest {
        signature: None,
        method: "PUT".into(),
        url: format!("http://{destination}/payments"),
        headers: vec![],
        body: None,
        policy: DeliveryPolicy {
            attempts_max: 1,
            attempt_timeout_ms: 1,
            deadline: Timestamp(u64::MAX),
            backoff_initial_ms: 1,
            backoff_max_ms: 1,
            while_away: WhileAway::Wait,
        },
        correlation: id.to_owned(),
    }
}

impl Handler for Bank {
    fn handle(&self, stimulus: &Stimulus, mut turn: Turn) -> Handled {
        let outcome = match stimulus {
            Stimulus::Request { argument, .. } => {
                self.ask(argument.downcast_ref::<Ask>().unwrap(), &mut turn)
            }
            Stimulus::Delivery(delivery) => self.deliver(delivery, &mut turn),
        };
        Handled {
            turn: Some(turn),
            outcome: outcome.map_err(|interrupt| Failure::Handler {
                component: BANK.into(),
                reason: interrupt.to_string(),
            }),
        }
    }
    fn reminder_function(&self) -> (Name, Name) {
        ("reminders".into(), "due".into())
    }
    fn report_function(&self) -> (Name, Name) {
        ("reports".into(), "reported".into())
    }
}
