//! A model of transfers: states, ledger, and messages to FSPs. Its only input is which message was handled
//! when. It shares no code with the components.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::host::{CAP, LIQUIDITY, OTHER, OTHER_LIQUIDITY, PAYEE, PAYER, POOR, POOR_LIQUIDITY};
use crate::known::{Book, Rejection, State, Transfer, aborted, done, error, status};
use crate::saying::{Message, Prepare, Saying};
use crate::script::Agreement;
use crate::told::{Notice, Told};

/// See the module's documentation.
pub struct Model {
    agreements: BTreeMap<String, Agreement>,
    /// By condition: the quote and the transfer that was prepared last with it.
    uses: BTreeMap<String, (String, String)>,
    /// By their ids.
    pub transfers: BTreeMap<String, Transfer>,
    /// By FSP.
    pub books: BTreeMap<&'static str, Book>,
    /// The expected messages to FSPs, each with its cause.
    pub notices: Vec<Notice>,
    /// By the numbers of queries that have found nothing, how often they are still asked again.
    questions: BTreeMap<u64, u32>,
}

/// How often a query is asked again that finds nothing: what it asks for may be on its way.
const ASKED_AGAIN: u32 = 2;

impl Model {
    /// Before anything was said, but for the quotes.
    pub fn new(agreements: &[Agreement]) -> Self {
        let by_condition = agreements.iter().map(|a| (a.condition.clone(), a.clone()));
        let book = |liquidity, cap| Book {
            liquidity,
            cap,
            ..Book::default()
        };
        Self {
            agreements: by_condition.collect(),
            uses: BTreeMap::new(),
            transfers: BTreeMap::new(),
            books: BTreeMap::from([
                (PAYER, book(LIQUIDITY, Some(CAP))),
                (PAYEE, book(LIQUIDITY, Some(CAP))),
                (POOR, book(POOR_LIQUIDITY, None)),
                (OTHER, book(OTHER_LIQUIDITY, None)),
            ]),
            notices: Vec::new(),
            questions: BTreeMap::new(),
        }
    }

    fn tell(&mut self, cause: u64, about: &str, to: &str, told: Told) {
        if !self.books.contains_key(to) {
            return; // nobody knows where to call it back
        }
        self.notices.push(Notice {
            cause,
            about: about.to_owned(),
            to: to.to_owned(),
            told,
            instead: None,
            is_unrecorded: !self.transfers.contains_key(about),
        });
    }

    fn forward(&mut self, message: &Message, to: &str, instead: Option<Told>) {
        self.notices.push(Notice {
            cause: message.number,
            about: message.draft.subject.clone(),
            to: to.to_owned(),
            told: Told::Forward(message.number),
            instead,
            is_unrecorded: false,
        });
    }

    /// A message that the hub took at one instant is handled at another one.
    pub fn hears(&mut self, message: &Message, taken_at: u64, at: u64) {
        match &message.draft.saying {
            Saying::Prepare(prepare) => self.prepare(message, prepare, at),
            Saying::Fulfil { .. } => self.answer(message, taken_at.min(at), at),
            Saying::Reject { code } => self.reject(message, code, at),
            Saying::Query => {
                self.questions.insert(message.number, ASKED_AGAIN);
                self.query(message);
            }
            Saying::AskQuote(_) | Saying::AnswerQuote(_) => {}
        }
    }

    /// A transfer's reminder is handled at this instant; `cause` is the message that set it.
    pub fn reminded(&mut self, id: &str, cause: u64, at: u64) {
        let Some(transfer) = self.transfers.get(id) else {
            return;
        };
        if transfer.state == State::Prepared && at >= transfer.prepare.expiration {
            self.time_out(id, cause, at, false);
        }
    }

    fn prepare(&mut self, message: &Message, prepare: &Prepare, at: u64) {
        let (id, sender) = (prepare.transfer_id.as_str(), message.fsp());
        let body = prepare.body();
        if let Some(known) = self.transfers.get(id) {
            if known.prepare.payer != sender || known.body != body {
                self.tell(message.number, id, sender, error("3106"));
            } else if let Some(told) = status(&known.state) {
                self.tell(message.number, id, sender, told);
            }
            return;
        }
        if !self.books.contains_key(prepare.payer.as_str()) {
            return; // nobody is told, and nothing is kept
        }
        let state = match self.examine(prepare, at) {
            Ok(()) => State::Prepared,
            Err("3303") => State::Rejected {
                why: Rejection::TimedOut,
                code: "3303".into(),
                at,
            },
            Err(code) => State::Failed {
                code: code.into(),
                at,
            },
        };
        let refused = match &state {
            State::Rejected { code, .. } | State::Failed { code, .. } => Some(code.clone()),
            State::Prepared | State::Committed { .. } => None,
        };
        let transfer = Transfer {
            prepare: prepare.clone(),
            was_reserved: refused.is_none(),
            state,
            body,
            answer: None,
        };
        self.transfers.insert(id.to_owned(), transfer);
        match refused {
            Some(code) => self.tell(message.number, id, sender, error(&code)),
            None => {
                self.reserve(prepare);
                self.forward(message, &prepare.payee, None);
            }
        }
    }

    /// The checks in the order in which they are made; the code of the first that refuses.
    fn examine(&self, prepare: &Prepare, at: u64) -> Result<(), &'static str> {
        if !self.books.contains_key(prepare.payee.as_str()) {
            return Err("3203");
        }
        if at >= prepare.expiration {
            return Err("3303");
        }
        let agreement = self.agreements.get(&prepare.condition).ok_or("3205")?;
        let agreed = (&agreement.payer, &agreement.payee, agreement.cents);
        if agreed != (&prepare.payer, &prepare.payee, prepare.cents) {
            return Err("3100");
        }
        if let Some((_, other)) = self.uses.get(&prepare.condition) {
            let other = self.transfers.get(other).map(|other| &other.state);
            if matches!(other, Some(State::Prepared | State::Committed { .. })) {
                return Err("3100");
            }
        }
        let book = &self.books[prepare.payer.as_str()];
        if prepare.cents > book.liquidity {
            return Err("4001");
        }
        let used = book.reserved + book.paid + prepare.cents;
        match book.cap {
            Some(cap) if used > cap + book.received => Err("4200"),
            _ => Ok(()),
        }
    }

    fn reserve(&mut self, prepare: &Prepare) {
        let quote = self.agreements[&prepare.condition].quote_id.clone();
        let used = (quote, prepare.transfer_id.clone());
        self.uses.insert(prepare.condition.clone(), used);
        if let Some(book) = self.books.get_mut(prepare.payer.as_str()) {
            book.liquidity -= prepare.cents;
            book.reserved += prepare.cents;
        }
    }

    fn release(&mut self, prepare: &Prepare) {
        if let Some(book) = self.books.get_mut(prepare.payer.as_str()) {
            book.liquidity += prepare.cents;
            book.reserved -= prepare.cents;
        }
    }

    /// The error code for a payee FSP's message from another sender.
    fn stranger(&self, message: &Message) -> Option<&'static str> {
        let Some(transfer) = self.transfers.get(&message.draft.subject) else {
            return Some("3208");
        };
        (message.fsp() != transfer.prepare.payee).then_some("3100")
    }

    /// The payee FSP commits, or another sender in its place.
    fn answer(&mut self, message: &Message, arrived_at: u64, at: u64) {
        let (id, sender, number) = (&message.draft.subject, message.fsp(), message.number);
        if let Some(code) = self.stranger(message) {
            return self.tell(number, id, sender, error(code));
        }
        let Saying::Fulfil { reserved, .. } = message.draft.saying else {
            return;
        };
        let body: Value = serde_json::from_str(&message.body).unwrap_or_default();
        let Some(known) = self.transfers.get(id).cloned() else {
            return;
        };
        match (&known.state, &known.answer) {
            (State::Prepared, _) => self.conclude(message, body, arrived_at, at),
            (
                State::Rejected {
                    why: Rejection::TimedOut,
                    at,
                    ..
                },
                _,
            ) => self.tell(number, id, sender, aborted(reserved, "3303", *at)),
            (_, Some(first)) if *first != body => {
                self.tell(number, id, sender, error("3106"));
            }
            (_, None) => self.tell(number, id, sender, error("3100")),
            (State::Committed { .. }, Some(_)) if reserved => {
                self.tell(number, id, sender, done(&known.state));
            }
            (State::Rejected { code, at, .. }, Some(_)) => {
                self.tell(number, id, sender, aborted(reserved, code, *at));
            }
            (state, Some(_)) => {
                if let Some(told) = status(state) {
                    self.tell(number, id, sender, told);
                }
            }
        }
    }

    /// The payee FSP's commitment to a transfer that waits for it.
    fn conclude(&mut self, message: &Message, body: Value, arrived_at: u64, at: u64) {
        let Saying::Fulfil {
            reserved,
            fulfilment,
            completed,
        } = &message.draft.saying
        else {
            return;
        };
        let (id, number, reserved) = (&message.draft.subject, message.number, *reserved);
        let Some(transfer) = self.transfers.get_mut(id) else {
            return;
        };
        transfer.answer = Some(body);
        let prepare = transfer.prepare.clone();
        if arrived_at >= prepare.expiration {
            return self.time_out(id, number, at, reserved);
        }
        let agreement = self.agreements.get(&prepare.condition);
        let fits = agreement.is_some_and(|agreement| agreement.fulfilment == *fulfilment);
        if !fits || is_misdirected(message, &prepare) {
            transfer.state = State::Rejected {
                why: Rejection::FulfilmentRefused,
                code: "3100".into(),
                at,
            };
            self.release(&prepare);
            self.tell(number, id, &prepare.payer, error("3100"));
            return self.tell(number, id, &prepare.payee, aborted(reserved, "3100", at));
        }
        let state = State::Committed {
            fulfilment: fulfilment.clone(),
            completed: completed.unwrap_or(at),
        };
        transfer.state = state.clone();
        if let Some(book) = self.books.get_mut(prepare.payer.as_str()) {
            book.reserved -= prepare.cents;
            book.paid += prepare.cents;
        }
        if let Some(book) = self.books.get_mut(prepare.payee.as_str()) {
            book.liquidity += prepare.cents;
            book.received += prepare.cents;
        }
        let Some(put) = status(&state) else {
            return;
        };
        if reserved {
            self.tell(number, id, &prepare.payer, put);
            self.tell(number, id, &prepare.payee, done(&state));
        } else {
            self.forward(message, &prepare.payer, Some(put));
        }
    }

    fn time_out(&mut self, id: &str, cause: u64, at: u64, reserved: bool) {
        let Some(transfer) = self.transfers.get_mut(id) else {
            return;
        };
        transfer.state = State::Rejected {
            why: Rejection::TimedOut,
            code: "3303".into(),
            at,
        };
        let prepare = transfer.prepare.clone();
        self.release(&prepare);
        self.tell(cause, id, &prepare.payer, error("3303"));
        self.tell(cause, id, &prepare.payee, aborted(reserved, "3303", at));
    }

    /// The payee FSP declines, or another sender in its place.
    fn reject(&mut self, message: &Message, its_code: &str, at: u64) {
        let (id, sender, number) = (&message.draft.subject, message.fsp(), message.number);
        if let Some(code) = self.stranger(message) {
            return self.tell(number, id, sender, error(code));
        }
        let Some(transfer) = self.transfers.get_mut(id) else {
            return;
        };
        match &transfer.state {
            State::Prepared => {
                transfer.state = State::Rejected {
                    why: Rejection::Declined,
                    code: its_code.to_owned(),
                    at,
                };
                let prepare = transfer.prepare.clone();
                self.release(&prepare);
                if is_misdirected(message, &prepare) {
                    self.tell(number, id, &prepare.payer, error(its_code));
                    return self.tell(number, id, &prepare.payee, error(its_code));
                }
                self.forward(message, &prepare.payer, Some(error(its_code)));
            }
            State::Rejected { why, code, .. } => {
                let told = match why {
                    Rejection::TimedOut => Some(error("3303")),
                    Rejection::Declined if code == its_code => None,
                    Rejection::Declined => Some(error("3106")),
                    Rejection::FulfilmentRefused => Some(error("3100")),
                };
                if let Some(told) = told {
                    self.tell(number, id, sender, told);
                }
            }
            State::Committed { .. } | State::Failed { .. } => {
                self.tell(number, id, sender, error("3100"));
            }
        }
    }

    /// A query that has found nothing is asked again.
    pub fn asked_again(&mut self, message: &Message) {
        if let Some(again) = self.questions.get_mut(&message.number) {
            *again = again.saturating_sub(1);
            self.query(message);
        }
    }

    fn query(&mut self, message: &Message) {
        let (id, sender) = (&message.draft.subject, message.fsp());
        let transfer = self.transfers.get(id);
        let transfer = transfer.filter(|t| sender == t.prepare.payer || sender == t.prepare.payee);
        let told = match transfer {
            Some(transfer) => status(&transfer.state).unwrap_or(Told::State {
                method: "PUT",
                state: "RESERVED",
                fulfilment: None,
                completed: None,
            }),
            None if self.questions.get(&message.number) != Some(&0) => return,
            None => error("3208"),
        };
        self.questions.remove(&message.number);
        self.tell(message.number, id, sender, told);
    }
}

/// Whether a payee FSP's message is for another FSP than the payer FSP.
fn is_misdirected(message: &Message, prepare: &Prepare) -> bool {
    let destination = message.draft.destination.as_ref();
    destination.is_some_and(|fsp| *fsp != prepare.payer)
}
