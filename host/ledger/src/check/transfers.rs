//! Checks reservations: their entries exist, open ones are reserved, and fulfilled ones wait for settlement. Also finds
//! transfers in no settlement batch.

use std::collections::BTreeMap;

use crate::decimal;
use crate::documents::{Entry, Reservation, ReservationState};

use super::accounts::Accounts;
use super::report::{Check, Report};

/// An entry of a transfer: debit, credit, amount.
type Posted = (String, String, i128);

#[derive(Default)]
struct Transfer {
    reservation: Option<Reservation>,
    prepare: Option<Posted>,
    fulfil: Option<Posted>,
    release: Option<Posted>,
    /// The amount recorded in a batch.
    record: Option<i128>,
}

/// See the module's documentation.
#[derive(Default)]
pub(super) struct Transfers {
    waiting: BTreeMap<String, Transfer>,
}

impl Transfers {
    pub fn reservation(
        &mut self,
        reservation: Reservation,
        accounts: &mut Accounts,
        report: &mut Report,
    ) {
        report.looked_at(Check::Reservations);
        if reservation.state == ReservationState::Archived {
            // Its id stays, and no entry of it: one would be told at the end.
            return;
        }
        let of = &reservation.accounts;
        let (amount, id) = (reservation.amount.0, &reservation.transfer_id);
        let position = accounts.index(&of.payer_position);
        let payee = of.payee_liquidity.as_deref();
        let liquidity = payee.and_then(|payee| accounts.index(payee));
        match (reservation.state, position, liquidity) {
            (ReservationState::Open, Some(position), _) => {
                accounts.explain_reserved(position, amount);
            }
            (ReservationState::Fulfilled, Some(position), Some(liquidity)) => {
                if reservation.is_deferred() {
                    accounts.explain_unsettled(position, amount);
                    accounts.explain_unsettled(liquidity, amount);
                }
            }
            (ReservationState::Released, Some(_), _) => {}
            _ => {
                let text = format!("the reservation {id} names accounts that are not there");
                report.breach(Check::Reservations, text);
            }
        }
        let transfer = self.waiting.entry(id.clone()).or_default();
        let id = id.clone();
        transfer.reservation = Some(reservation);
        self.settle(&id, report);
    }

    pub fn entry(&mut self, entry: &Entry, report: &mut Report) {
        let posted = || {
            (
                entry.debit_account.clone(),
                entry.credit_account.clone(),
                entry.amount.0,
            )
        };
        let id = &entry.correlation_id;
        match (entry.entry_type.as_str(), entry.step()) {
            ("TRANSFER_PREPARE", Some("prepare")) => {
                self.waiting.entry(id.clone()).or_default().prepare = Some(posted());
            }
            ("TRANSFER_FULFIL", Some("fulfil")) => {
                self.waiting.entry(id.clone()).or_default().fulfil = Some(posted());
            }
            ("TRANSFER_RELEASE", Some("release")) => {
                self.waiting.entry(id.clone()).or_default().release = Some(posted());
            }
            ("SETTLEMENT_RECORD", _) => {
                self.waiting.entry(id.clone()).or_default().record = Some(entry.amount.0);
            }
            (kind, step) => {
                if kind.starts_with("TRANSFER_") {
                    let (id, step) = (&entry.id, step.unwrap_or_default());
                    let text = format!("the entry {id} is a {kind} and of the step `{step}`");
                    report.breach(Check::Reservations, text);
                }
                return;
            }
        }
        self.settle(id, report);
    }

    /// Forgets a transfer that is complete and correct.
    fn settle(&mut self, id: &str, report: &mut Report) {
        let Some(transfer) = self.waiting.get(id) else {
            return;
        };
        let Some(reservation) = &transfer.reservation else {
            return;
        };
        let is_done = match reservation.state {
            ReservationState::Open | ReservationState::Archived => false,
            ReservationState::Released => transfer.release.is_some() && transfer.prepare.is_some(),
            ReservationState::Fulfilled => {
                transfer.fulfil.is_some() && transfer.prepare.is_some() && transfer.record.is_some()
            }
        };
        if is_done && let Some(transfer) = self.waiting.remove(id) {
            judge(id, &transfer, report);
        }
    }

    /// The checks after everything was read.
    pub fn end(&mut self, accounts: &mut Accounts, report: &mut Report) {
        for (id, transfer) in std::mem::take(&mut self.waiting) {
            judge(&id, &transfer, report);
            let Some(reservation) = &transfer.reservation else {
                continue;
            };
            let of = &reservation.accounts;
            let payee = of.payee_liquidity.as_deref();
            let (from, to) = (
                accounts.index(&of.payer_position),
                payee.and_then(|payee| accounts.index(payee)),
            );
            let is_fulfilled = reservation.state == ReservationState::Fulfilled;
            if let (true, None, Some(from), Some(to)) = (is_fulfilled, transfer.record, from, to) {
                accounts.in_transit(from, to, reservation.amount.0);
            }
        }
    }
}

/// Checks that a reservation has exactly the entries that its state requires.
fn judge(id: &str, transfer: &Transfer, report: &mut Report) {
    let Some(reservation) = &transfer.reservation else {
        let text = format!("there are entries of the transfer {id}, and no reservation");
        report.breach(Check::Reservations, text);
        return;
    };
    let of = &reservation.accounts;
    let amount = reservation.amount.0;
    let posting = |from: &str, to: &str| Some((from.to_owned(), to.to_owned(), amount));
    let payee = of.payee_liquidity.as_deref();
    let fulfil = payee.and_then(|payee| posting(&of.payer_position, payee));
    let release = posting(&of.payer_position, &of.payer_liquidity);
    let (fulfil, release, may_be_recorded) = match reservation.state {
        ReservationState::Open | ReservationState::Archived => (None, None, false),
        ReservationState::Fulfilled => (fulfil, None, true),
        ReservationState::Released => (None, release, false),
    };
    let wanted = [
        ("prepare", posting(&of.payer_liquidity, &of.payer_position)),
        ("fulfil", fulfil),
        ("release", release),
    ];
    let found = [&transfer.prepare, &transfer.fulfil, &transfer.release];
    for ((step, wanted), found) in wanted.iter().zip(found) {
        if wanted != found {
            let text = |posted: &Option<Posted>| match posted {
                None => "nothing".to_owned(),
                Some((from, to, amount)) => {
                    let amount = decimal(*amount, reservation.scale);
                    format!("{amount} from {from} to {to}")
                }
            };
            let (posted, should) = (text(found), text(wanted));
            let state = reservation.state;
            report.breach(
                Check::Reservations,
                format!(
                    "the transfer {id} is {state:?}: its entry `{step}` should post {should}, it posts {posted}"
                ),
            );
        }
    }
    let recorded = transfer.record;
    if recorded.is_some_and(|recorded| recorded != amount || !may_be_recorded) {
        let text = format!("the transfer {id} is recorded in a batch, not as it is in the ledger");
        report.breach(Check::Reservations, text);
    }
}
