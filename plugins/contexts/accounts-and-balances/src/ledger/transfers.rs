//! Reserve, fulfil and release: what a transfer does to the ledger.
//!
//! | Step | Debit | Credit |
//! |---|---|---|
//! | prepare | payer's liquidity | payer's position |
//! | fulfil | payer's position | payee's liquidity |
//! | release | payer's position | payer's liquidity |
//!
//! A reservation record of each transfer says which of them happened. It makes a repeat harmless,
//! and keeps fulfil and release from both spending what was reserved once.

use super::Ledger;
use crate::accounts::{AccountType, Units, is_within_net_debit_cap};
use crate::bindings::exports::rialto::accounts_and_balances::{
    process_transfer_fulfil as fulfil, process_transfer_prepare as prepare,
    process_transfer_release as release,
};
use crate::bindings::rialto::accounts_and_balances::types::LedgerError;
use crate::records::{EntryType, Reservation, ReservationAccounts, ReservationState};
use crate::store::Store;

impl<S: Store> Ledger<'_, S> {
    /// Reserve a transfer's amount. A repeat posts nothing and answers the accounts as they are.
    ///
    /// # Errors
    /// When an account is unknown, disabled or of another currency, when liquidity or the net
    /// debit cap cannot cover the amount, or when the transfer has a reservation on other terms.
    pub fn prepare(&mut self, request: prepare::Request) -> Result<prepare::Response, LedgerError> {
        if let Some(reservation) = self.store.reservation(&request.transfer_id) {
            return self.repeat_prepare(&reservation, &request);
        }
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
        let entry = self.entry(
            EntryType::TransferPrepare,
            &request.transfer_id,
            &mut liquidity,
            &mut position,
            amount,
        )?;
        self.store.put_account(&liquidity);
        self.store.put_account(&position);
        self.store.append_entry(&entry);
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
        let accounts = &reservation.accounts;
        let is_the_same = reservation.payer == request.payer_fsp
            && accounts.payer_liquidity == request.debit_account
            && accounts.payer_position == request.credit_account
            && reservation.amount == Units::of(&request.amount)
            && reservation.currency == request.amount.currency
            && reservation.scale == request.amount.scale;
        if !is_the_same {
            return Err(wrong_state(
                &request.transfer_id,
                "is reserved on other terms",
            ));
        }
        let (liquidity, position) =
            self.pair(&accounts.payer_liquidity, &accounts.payer_position)?;
        Ok(prepare::Response {
            liquidity: liquidity.position(),
            position: position.position(),
        })
    }

    /// Give a transfer's reserved amount to the payee. A repeat posts nothing and answers the
    /// accounts as they are. A disabled account does not matter: the reservation was made before.
    ///
    /// # Errors
    /// When the account is unknown, no liquidity account or of another currency, or when the
    /// transfer has no reservation, a released one, or one that was fulfilled to another account.
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
                    "is fulfilled to another account",
                ));
            }
            ReservationState::Released => {
                return Err(wrong_state(&request.transfer_id, "is released"));
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
        let entry = self.entry(
            EntryType::TransferFulfil,
            &request.transfer_id,
            &mut position,
            &mut liquidity,
            amount,
        )?;
        position.add_unsettled(amount)?;
        liquidity.add_unsettled(amount)?;
        self.store.put_account(&position);
        self.store.put_account(&liquidity);
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

    /// Give a transfer's reserved amount back to the payer. A repeat posts nothing and answers the
    /// accounts as they are.
    ///
    /// # Errors
    /// When the transfer has no reservation, or a fulfilled one.
    pub fn release(
        &mut self,
        request: &release::Request,
    ) -> Result<release::Response, LedgerError> {
        let mut reservation = self.reservation_of(&request.transfer_id)?;
        if reservation.state == ReservationState::Fulfilled {
            return Err(wrong_state(&request.transfer_id, "is fulfilled"));
        }
        let accounts = &reservation.accounts;
        let (mut position, mut liquidity) =
            self.pair(&accounts.payer_position, &accounts.payer_liquidity)?;
        if reservation.state == ReservationState::Open {
            let entry = self.entry(
                EntryType::TransferRelease,
                &request.transfer_id,
                &mut position,
                &mut liquidity,
                reservation.amount,
            )?;
            self.store.put_account(&position);
            self.store.put_account(&liquidity);
            self.store.append_entry(&entry);
            reservation.state = ReservationState::Released;
            reservation.closed_at = Some(self.now);
            self.store.put_reservation(&reservation);
        }
        Ok(release::Response {
            liquidity: liquidity.position(),
            position: position.position(),
        })
    }

    fn reservation_of(&mut self, transfer_id: &str) -> Result<Reservation, LedgerError> {
        self.store
            .reservation(transfer_id)
            .ok_or_else(|| wrong_state(transfer_id, "does not exist"))
    }
}

fn wrong_state(transfer_id: &str, what: &str) -> LedgerError {
    LedgerError::WrongState(format!("the reservation of transfer {transfer_id} {what}"))
}
