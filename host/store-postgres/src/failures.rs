//! Failures of the database: which of them may pass, and how they are told.

use std::fmt::Display;

use rialto_engine::store::StoreError;

/// Classes and codes of PostgreSQL after which the same statement may succeed: connection failures, conflicts between
/// transactions, too few resources, a server that stops or starts, and a server that has become a replica.
const PASSING: [&str; 10] = [
    "08", "40", "53300", "53400", "57P01", "57P02", "57P03", "57P05", "25006", "55P03",
];

/// Whether the same statement may succeed later, perhaps on another server.
pub(crate) fn may_pass(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed => true,
        sqlx::Error::Database(error) => {
            let code = error.code().unwrap_or_default();
            PASSING.iter().any(|passing| code.starts_with(passing))
        }
        _ => false,
    }
}

/// What the database said.
pub(crate) fn failed(error: sqlx::Error) -> StoreError {
    StoreError::Failed(format!("the database refused: {error}"))
}

/// A row that cannot be read.
pub(crate) fn unreadable(what: &str, error: impl Display) -> StoreError {
    StoreError::Failed(format!(
        "{what} in the database cannot be read: {error}; restore a backup if the row was changed by hand"
    ))
}
