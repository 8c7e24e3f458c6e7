//! Reserve, fulfil and release: the ledger's operations of a transfer.
//!
//! | Step | Debit | Credit |
//! |---|---|---|
//! | prepare | payer's liquidity | payer's position |
//! | fulfil | payer's position | payee's liquidity |
//! | release | payer's position | payer's liquidity |
//!
//! An immediate transfer holds settled funds meanwhile, because they may be short although the liquidity
//! suffices (choreography 18.8):
//!
//! | Step | Debit | Credit |
//! |---|---|---|
//! | prepare | payer's settlement | payer's settlement reserved |
//! | release | payer's settlement reserved | payer's settlement |
//!
//! The amount that batches of the same model need is not held (`obligations.rs`): the model may have been a
//! deferred one before. After a fulfilment, Settlements uses the held funds.
//!
//! Each transfer has a reservation document that says which of them happened. So a repeat has no effect, and
//! reserved funds cannot be both fulfilled and released.

use super::posting::Posting;
use super::{Ledger, check_cause};
use crate::accounts::{Account, AccountType, Units};
use crate::bindings::exports::rialto::accounts_and_balances::{
    process_transfer_fulfil as fulfil, process_transfer_prepare as prepare,
    process_transfer_release as release,
};
use crate::bindings::rialto::accounts_and_balances::types::LedgerError;
use crate::limits::is_within_net_debit_cap;
use crate::records::{
    Entry, EntryType, Reservation, ReservationAccounts, ReservationState, SettlementHold, Timing,
    steps,
};
use crate::store::Store;

/// The error about an archived transfer.
const IN_AN_ARCHIVE: &str = "is in an archive";
/// The error about a released transfer.
const RELEASED: &str = "is released";

impl<S: Store> Ledger<'_, S> {
    /// Reserves a transfer's amount. A repeat posts nothing and returns the current accounts.
    ///
    /// # Errors
    /// If an account is unknown, disabled or of another currency; if liquidity, the net debit cap or the
    /// settled funds to hold do not cover the amount; or if the transfer has a reservation on other terms or a
    /// released one.
    pub fn prepare(&mut self, request: prepare::Request) -> Result<prepare::Response, LedgerError> {
        if let Some(reservation) = self.store.reservation(&request.transfer_id) {
            return self.repeat_prepare(&reservation, &request);
        }
        check_cause("the transfer id", &request.transfer_id)?;
        let amount = Units::of(&request.amount);
        let (mut liquidity, mut position) =
            self.pair(&request.debit_account, &request.credit_account)?;
        for (account, expected) in [
            (&liquidity, AccountType::Liquidity),
            (&position, AccountType::Position),
        ] {
            if account.account_type != expected || account.participant != request.payer_fsp {
                return Err(LedgerError::UnknownAccount(account.id.clone()));
            }
            account.holds(&request.amount)?;
            account.takes_entries()?;
        }
        if amount.0 > liquidity.available() {
            return Err(LedgerError::ExceedsLimits(liquidity.position()));
        }
        if !is_within_net_debit_cap(&liquidity, &position, amount) {
            return Err(LedgerError::ExceedsNetDebitCap(liquidity.position()));
        }
        let settlement = Timing::from(request.settlement);
        let held = match settlement.hold() {
            Some(hold) => Some(self.hold(hold, &liquidity, &request.transfer_id, amount)?),
            None => None,
        };
        let posting = Posting {
            entry_type: EntryType::TransferPrepare,
            cause: &request.transfer_id,
            step: steps::PREPARE,
            amount,
        };
        let apart = position.apart();
        let entry = self.post(posting, &mut liquidity, &mut position)?;
        let more = if held.is_some() { amount.0 } else { 0 };
        position.set_apart(apart.saturating_add(more));
        self.write(&liquidity);
        self.write(&position);
        self.store.append_entry(&entry);
        if let Some(held) = held {
            self.write_held(&held);
        }
        self.store.put_reservation(&Reservation {
            transfer_id: request.transfer_id,
            payer: request.payer_fsp,
            amount,
            currency: request.amount.currency,
            scale: request.amount.scale,
            accounts: ReservationAccounts {
                payer_liquidity: request.debit_account,
                payer_position: request.credit_account,
                payee_liquidity: None,
            },
            settlement,
            state: ReservationState::Open,
            opened_at: self.now,
            closed_at: None,
        });
        Ok(prepare::Response {
            liquidity: liquidity.position(),
            position: position.position(),
        })
    }

    fn repeat_prepare(
        &mut self,
        reservation: &Reservation,
        request: &prepare::Request,
    ) -> Result<prepare::Response, LedgerError> {
        match reservation.state {
            // The amount is reserved, or the payee has it.
            ReservationState::Open | ReservationState::Fulfilled => {}
            // The payer has the amount again, so the repeat must be refused.
            ReservationState::Released => return Err(wrong_state(&request.transfer_id, RELEASED)),
            ReservationState::Archived => {
                return Err(wrong_state(&request.transfer_id, IN_AN_ARCHIVE));
            }
        }
        let accounts = &reservation.accounts;
        let is_the_same = reservation.payer == request.payer_fsp
            && accounts.payer_liquidity == request.debit_account
            && accounts.payer_position == request.credit_account
            && reservation.amount == Units::of(&request.amount)
            && reservation.currency == request.amount.currency
            && reservation.scale == request.amount.scale
            && reservation.settlement == Timing::from(request.settlement.clone());
        if !is_the_same {
            return Err(wrong_state(
                &request.transfer_id,
                "is already reserved with other terms",
            ));
        }
        let (liquidity, position) =
            self.pair(&accounts.payer_liquidity, &accounts.payer_position)?;
        Ok(prepare::Response {
            liquidity: liquidity.position(),
            position: position.position(),
        })
    }

    /// Gives a transfer's reserved amount to the payee. A repeat posts nothing and returns the current
    /// accounts. A disabled account does not matter: the reservation was made before.
    ///
    /// # Errors
    /// If the account is unknown, no liquidity account or of another currency; or if the transfer has no
    /// reservation, a released one, or one that was fulfilled to another account.
    pub fn fulfil(&mut self, request: &fulfil::Request) -> Result<fulfil::Response, LedgerError> {
        let mut reservation = self.reservation_of(&request.transfer_id)?;
        let payee_account = Some(&request.credit_account);
        match reservation.state {
            ReservationState::Open => {}
            ReservationState::Fulfilled
                if reservation.accounts.payee_liquidity.as_ref() == payee_account =>
            {
                let (position, liquidity) = self.pair(
                    &reservation.accounts.payer_position,
                    &request.credit_account,
                )?;
                return Ok(fulfil::Response {
                    payer_position: position.position(),
                    payee_liquidity: liquidity.position(),
                });
            }
            ReservationState::Fulfilled => {
                return Err(wrong_state(
                    &request.transfer_id,
                    "is already fulfilled to another account",
                ));
            }
            ReservationState::Released => {
                return Err(wrong_state(&request.transfer_id, RELEASED));
            }
            ReservationState::Archived => {
                return Err(wrong_state(&request.transfer_id, IN_AN_ARCHIVE));
            }
        }
        let amount = reservation.amount;
        let (mut position, mut liquidity) = self.pair(
            &reservation.accounts.payer_position,
            &request.credit_account,
        )?;
        if liquidity.account_type != AccountType::Liquidity {
            return Err(LedgerError::UnknownAccount(liquidity.id));
        }
        if (&liquidity.currency, liquidity.scale) != (&reservation.currency, reservation.scale) {
            return Err(LedgerError::CurrencyMismatch);
        }
        let posting = Posting {
            entry_type: EntryType::TransferFulfil,
            cause: &request.transfer_id,
            step: steps::FULFIL,
            amount,
        };
        let apart = position.apart();
        let entry = self.post(posting, &mut position, &mut liquidity)?;
        position.set_apart(apart.saturating_sub(of_hold(&reservation)));
        if reservation.settlement.is_deferred() {
            position.add_unsettled(amount)?;
            liquidity.add_unsettled(amount)?;
        }
        self.write(&position);
        self.write(&liquidity);
        self.store.append_entry(&entry);
        reservation.state = ReservationState::Fulfilled;
        reservation.accounts.payee_liquidity = Some(request.credit_account.clone());
        reservation.closed_at = Some(self.now);
        self.store.put_reservation(&reservation);
        Ok(fulfil::Response {
            payer_position: position.position(),
            payee_liquidity: liquidity.position(),
        })
    }

    /// Gives a transfer's reserved amount back to the payer. A repeat posts nothing and returns the current
    /// accounts.
    ///
    /// # Errors
    /// When the transfer has no reservation, or a fulfilled one.
    pub fn release(
        &mut self,
        request: &release::Request,
    ) -> Result<release::Response, LedgerError> {
        let mut reservation = self.reservation_of(&request.transfer_id)?;
        match reservation.state {
            ReservationState::Open | ReservationState::Released => {}
            ReservationState::Fulfilled => {
                return Err(wrong_state(&request.transfer_id, "is fulfilled"));
            }
            ReservationState::Archived => {
                return Err(wrong_state(&request.transfer_id, IN_AN_ARCHIVE));
            }
        }
        let accounts = &reservation.accounts;
        let (mut position, mut liquidity) =
            self.pair(&accounts.payer_position, &accounts.payer_liquidity)?;
        if reservation.state == ReservationState::Open {
            let (id, amount) = (&request.transfer_id, reservation.amount);
            let posting = Posting {
                entry_type: EntryType::TransferRelease,
                cause: id,
                step: steps::RELEASE,
                amount,
            };
            let apart = position.apart();
            let entry = self.post(posting, &mut position, &mut liquidity)?;
            position.set_apart(apart.saturating_sub(of_hold(&reservation)));
            let given_back = match reservation.settlement.hold() {
                Some(hold) => Some(self.give_back(hold, id, amount)?),
                None => None,
            };
            self.write(&position);
            self.write(&liquidity);
            self.store.append_entry(&entry);
            if let Some(given_back) = given_back {
                self.write_held(&given_back);
            }
            reservation.state = ReservationState::Released;
            reservation.closed_at = Some(self.now);
            self.store.put_reservation(&reservation);
        }
        Ok(release::Response {
            liquidity: liquidity.position(),
            position: position.position(),
        })
    }

    /// Holds settled funds that batches of their model do not need, in memory.
    fn hold(
        &mut self,
        hold: &SettlementHold,
        liquidity: &Account,
        transfer_id: &str,
        amount: Units,
    ) -> Result<Held, LedgerError> {
        let (mut settlement, mut reserved) = self.pair(&hold.settlement, &hold.reserved)?;
        for (account, expected) in [
            (&settlement, AccountType::Settlement),
            (&reserved, AccountType::SettlementReserved),
        ] {
            if account.account_type != expected
                || account.participant != liquidity.participant
                || account.settlement_model != settlement.settlement_model
            {
                return Err(LedgerError::UnknownAccount(account.id.clone()));
            }
            if (&account.currency, account.scale) != (&liquidity.currency, liquidity.scale) {
                return Err(LedgerError::CurrencyMismatch);
            }
        }
        // As in every refusal of a prepare, the error has the liquidity.
        let short = || Err(LedgerError::ExceedsSettledFunds(liquidity.position()));
        // First what needs no other document.
        if amount.0 > settlement.available() {
            return short();
        }
        let kept = self.kept_from_holds(&mut settlement);
        if amount.0 > settlement.available().saturating_sub(kept) {
            return short();
        }
        let posting = Posting {
            entry_type: EntryType::SettlementHold,
            cause: transfer_id,
            step: steps::PREPARE_HOLD,
            amount,
        };
        let apart = reserved.apart();
        let entry = self.post(posting, &mut settlement, &mut reserved)?;
        reserved.set_apart(apart);
        Ok(Held {
            settlement,
            reserved,
            entry,
        })
    }

    /// Gives held settled funds back, in memory.
    fn give_back(
        &mut self,
        hold: &SettlementHold,
        transfer_id: &str,
        amount: Units,
    ) -> Result<Held, LedgerError> {
        let (mut settlement, mut reserved) = self.pair(&hold.settlement, &hold.reserved)?;
        let posting = Posting {
            entry_type: EntryType::SettlementHoldRelease,
            cause: transfer_id,
            step: steps::RELEASE_HOLD,
            amount,
        };
        let apart = reserved.apart();
        let entry = self.post(posting, &mut reserved, &mut settlement)?;
        reserved.set_apart(apart);
        Ok(Held {
            settlement,
            reserved,
            entry,
        })
    }

    fn write_held(&mut self, held: &Held) {
        self.write(&held.settlement);
        self.write(&held.reserved);
        self.store.append_entry(&held.entry);
    }

    fn reservation_of(&mut self, transfer_id: &str) -> Result<Reservation, LedgerError> {
        self.store
            .reservation(transfer_id)
            .ok_or_else(|| wrong_state(transfer_id, "does not exist"))
    }
}

/// Moves settled funds into or out of the hold, in memory.
struct Held {
    settlement: Account,
    reserved: Account,
    entry: Entry,
}

/// The part of a reservation that counts as held on the payer's position account.
fn of_hold(reservation: &Reservation) -> u128 {
    let hold = reservation.settlement.hold();
    hold.map_or(0, |_| reservation.amount.0)
}

fn wrong_state(transfer_id: &str, what: &str) -> LedgerError {
    LedgerError::WrongState(format!("the reservation of transfer {transfer_id} {what}"))
}
