//! The account of a run: each payment to its end, those of the warm-up and of the end too.

use std::collections::BTreeMap;

use serde::Serialize;

/// Payments that did not end COMMITTED and are kept by name; more are only counted.
pub const NAMED_MAX: usize = 100_000;

/// A payment that did not end COMMITTED.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Unpaid {
    /// Why, in words that all failures alike share.
    pub reason: String,
    /// What went wrong with this one, for people.
    pub description: String,
    /// The W3C trace id of its messages; empty where it is not known.
    pub trace_id: String,
    /// The lookup's path, without the leading `/`; empty where it is not known.
    pub lookup_path: String,
    /// The quote's id; empty if it came to none.
    pub quote_id: String,
    /// The transfer's id; empty if it came to none.
    pub transfer_id: String,
    /// When it began: microseconds since 1970, UTC; 0 where it is not known.
    pub began_us: u64,
}

impl Unpaid {
    /// One of which only the reason is known.
    pub fn because(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            ..Self::default()
        }
    }
}

/// The outcomes of all payments of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    /// Payments that were begun.
    pub begun: u64,
    /// Those that ended COMMITTED.
    pub committed: u64,
    /// Those that did not, by the reason.
    pub failed: BTreeMap<String, u64>,
    /// Those that had no end when the run was given up.
    pub unended: u64,
    /// Those that failed, by name: the first [`NAMED_MAX`].
    pub unpaid: Vec<Unpaid>,
}

impl Account {
    pub(super) fn begin(&mut self) {
        self.begun += 1;
        self.unended += 1;
    }

    pub(super) fn end<T>(&mut self, result: &Result<T, Unpaid>) {
        self.unended -= 1;
        match result {
            Ok(_) => self.committed += 1,
            Err(unpaid) => {
                *self.failed.entry(unpaid.reason.clone()).or_default() += 1;
                if self.unpaid.len() < NAMED_MAX {
                    self.unpaid.push(unpaid.clone());
                }
            }
        }
        let failed: u64 = self.failed.values().sum();
        assert_eq!(
            self.begun,
            self.committed + failed + self.unended,
            "an account that does not add up"
        );
    }
}
