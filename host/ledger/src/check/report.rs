//! The report of a check: for each invariant, how many items were checked, and the breaches.

use serde::Serialize;

use super::archives::InArchives;

/// The most breaches that a report lists.
const TOLD: usize = 100;

/// The checked invariants. The first eight are those of the account model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// Debits equal credits in each book, and each entry is within one book.
    DebitsAreCredits,
    /// The hub's reconciliation account equals all settled funds.
    Reconciliation,
    /// The hub's liquidity control account equals all liquidity.
    LiquidityControl,
    /// The amounts owed in a batch equal those due in it.
    Batches,
    /// A participant's two books differ by the amounts owed and in transit.
    Books,
    /// Position accounts hold the reserved amounts.
    Reserved,
    /// No account is beyond its limit.
    Limits,
    /// Balances are the sums of entries, from the opening balance on.
    Entries,
    /// Pages and tails list each entry once, with the sums before it. Missing entries are archived ones.
    Histories,
    /// Reservations have the entries that their state requires.
    Reservations,
    /// The unsettled amounts are the sums of their transfers, from the opening balance on.
    Unsettled,
    /// Histories of participants are chains.
    Chains,
    /// Documents can be read.
    Readable,
    /// Opening balances are the sums of entries in archives.
    Archives,
}

/// All invariants, with the sentence for each.
const CHECKS: [(Check, &str); 14] = [
    (
        Check::DebitsAreCredits,
        "debits are credits in each currency and book",
    ),
    (
        Check::Reconciliation,
        "the hub's reconciliation is what participants have in settlement",
    ),
    (
        Check::LiquidityControl,
        "the hub's liquidity control is all liquidity, positions and cover",
    ),
    (Check::Batches, "each batch's positions sum to zero"),
    (
        Check::Books,
        "each participant's two books agree, but for transfers in transit",
    ),
    (Check::Reserved, "positions hold what is reserved"),
    (Check::Limits, "no account is beyond its limit"),
    (
        Check::Entries,
        "balances are opening balances and entries, which are as they say",
    ),
    (
        Check::Histories,
        "pages list each entry once, with the balance before",
    ),
    (
        Check::Reservations,
        "reservations have the entries that their state says",
    ),
    (
        Check::Unsettled,
        "what waits for settlement is explained by transfers and settlements",
    ),
    (
        Check::Chains,
        "histories of participants are unbroken chains",
    ),
    (Check::Readable, "documents can be read"),
    (
        Check::Archives,
        "opening balances are the sums of entries in archives",
    ),
];

/// The result for one invariant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Checked {
    /// The invariant.
    pub check: Check,
    /// In words.
    pub says: &'static str,
    /// How many items were checked.
    pub looked_at: u64,
    /// How many items break it.
    pub breaches: u64,
}

/// A breach of an invariant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Breach {
    /// The invariant that does not hold.
    pub check: Check,
    /// Where and how, with ids.
    pub text: String,
}

/// See the module's documentation.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The last turn that is included.
    pub lsn: u64,
    /// One for each invariant.
    pub checks: Vec<Checked>,
    /// The first hundred.
    pub breaches: Vec<Breach>,
    /// The archives that were added up; none if archives were not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archives: Option<InArchives>,
}

impl Report {
    pub(super) fn new(lsn: u64) -> Self {
        let checked = |(check, says)| Checked {
            check,
            says,
            looked_at: 0,
            breaches: 0,
        };
        Self {
            lsn,
            checks: CHECKS.into_iter().map(checked).collect(),
            breaches: Vec::new(),
            archives: None,
        }
    }

    /// How many breaches there are in all.
    pub fn total(&self) -> u64 {
        self.checks.iter().map(|checked| checked.breaches).sum()
    }

    /// Whether this holds everywhere.
    pub fn holds(&self, check: Check) -> bool {
        self.checks
            .iter()
            .all(|checked| checked.check != check || checked.breaches == 0)
    }

    pub(super) fn looked_at(&mut self, check: Check) {
        self.checks[check as usize].looked_at += 1;
    }

    pub(super) fn breach(&mut self, check: Check, text: String) {
        self.checks[check as usize].breaches += 1;
        if self.breaches.len() < TOLD {
            self.breaches.push(Breach { check, text });
        }
    }

    /// A breach where the two are not the same.
    pub(super) fn same<T: PartialEq>(
        &mut self,
        check: Check,
        one: &T,
        other: &T,
        text: impl FnOnce() -> String,
    ) {
        self.looked_at(check);
        if one != other {
            self.breach(check, text());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_in_order_and_breaches_are_counted() {
        for (index, (check, _)) in CHECKS.into_iter().enumerate() {
            assert_eq!(check as usize, index);
        }
        let mut report = Report::new(1);
        for n in 0..250 {
            report.breach(Check::Limits, n.to_string());
        }
        assert_eq!((report.total(), report.breaches.len()), (250, TOLD));
        assert!(!report.holds(Check::Limits) && report.holds(Check::Books));
    }
}
