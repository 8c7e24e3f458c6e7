//! The model's transfer and an FSP's money, and the text of a transfer's state.

use serde_json::Value;

use crate::saying::Prepare;
use crate::told::Told;

/// A transfer's state, with what must be remembered of how it came there.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// The payer's funds are reserved.
    Prepared,
    /// The funds are the payee's.
    Committed {
        /// The payee FSP's fulfilment.
        fulfilment: String,
        /// When it was completed.
        completed: u64,
    },
    /// It ended after it had been taken up: by the clock, the payee FSP, or the scheme.
    Rejected {
        /// Why.
        why: Rejection,
        /// FSPIOP's code.
        code: String,
        /// When.
        at: u64,
    },
    /// A check refused it.
    Failed {
        /// FSPIOP's code.
        code: String,
        /// When.
        at: u64,
    },
}

/// What ended a rejected transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// It expired.
    TimedOut,
    /// The payee FSP declined.
    Declined,
    /// The fulfilment does not fit.
    FulfilmentRefused,
}

/// A transfer as the model knows it.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// The request that made it.
    pub prepare: Prepare,
    /// Where it is.
    pub state: State,
    /// Whether its funds were ever reserved.
    pub was_reserved: bool,
    /// The body of the request.
    pub body: Value,
    /// The body of the payee FSP's answer, if it was a commitment that ended the transfer.
    pub answer: Option<Value>,
}

/// The ledger balances of one FSP, in cents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Book {
    /// The available amount.
    pub liquidity: u64,
    /// Held for transfers that have not ended.
    pub reserved: u64,
    /// Paid, and not settled.
    pub paid: u64,
    /// Received, and not settled.
    pub received: u64,
    /// The net debit cap.
    pub cap: Option<u64>,
}

/// PUT …/error.
pub fn error(code: &str) -> Told {
    Told::Error {
        code: code.to_owned(),
    }
}

/// That a transfer which the payee FSP wanted to commit is aborted since an instant.
pub fn aborted(reserved: bool, code: &str, at: u64) -> Told {
    if reserved {
        Told::Aborted {
            method: "PATCH",
            code: code.to_owned(),
            at,
        }
    } else {
        error(code)
    }
}

/// PUT with a state that is final.
pub fn status(state: &State) -> Option<Told> {
    let told = match state {
        State::Prepared => return None,
        State::Committed {
            fulfilment,
            completed,
        } => Told::State {
            method: "PUT",
            state: "COMMITTED",
            fulfilment: Some(fulfilment.clone()),
            completed: Some(*completed),
        },
        State::Rejected { code, at, .. } | State::Failed { code, at } => Told::Aborted {
            method: "PUT",
            code: code.clone(),
            at: *at,
        },
    };
    Some(told)
}

/// PATCH that a transfer is committed.
pub fn done(state: &State) -> Told {
    let completed = match state {
        State::Committed { completed, .. } => Some(*completed),
        _ => None,
    };
    Told::State {
        method: "PATCH",
        state: "COMMITTED",
        fulfilment: None,
        completed,
    }
}
