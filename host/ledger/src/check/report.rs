//! The report of a check: for each invariant, how many items were checked, and the breaches.

use serde::Serialize;

use super::archives::InArchives;

/// Breaches that are told one by one.
const TOLD: usize = 100;

/// What must hold. The first eight are the account model's invariants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// In each book, and each entry in one book.
    DebitsAreCredits,
    /// The hub's reconciliation is all settled funds.
    Reconciliation,
    /// The hub's liquidity control is all liquidity.
    LiquidityControl,
    /// What is owed in a batch is due in it.
    Batches,
    /// A participant's two books differ by what is owed and in transit.
    Books,
    /// Position accounts hold what is reserved.
    Reserved,
    /// No account is beyond its limit.
    Limits,
    /// Balances are the sums of entries, from the opening balance on.
    Entries,
    /// Pages and tails list each entry once, with the sums before; what is not there is in archives.
    Histories,
    /// Reservations have the entries that their state says.
    Reservations,
    /// What waits for settlement is explained, from the opening balance on.
    Unsettled,
    /// Histories of participants are chains.
    Chains,
    /// Documents can be read.
    Readable,
    /// Opening balances are the sums of entries in archives.
    Archives,
}

/// All of them, with what is said of each.
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

/// What was found of one of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Checked {
    /// Which.
    pub check: Check,
    /// In words.
    pub says: &'static str,
    /// At how many places it was looked for.
    pub looked_at: u64,
    /// At how many it does not hold.
    pub breaches: u64,
}

/// Something that does not hold, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Breach {
    /// What does not hold.
    pub check: Check,
    /// Where and how, with ids.
    pub text: String,
}

/// See the module's documentation.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The last turn that was seen.
    pub lsn: u64,
    /// One for each thing that must hold.
    pub checks: Vec<Checked>,
    /// The first hundred.
    pub breaches: Vec<Breach>,
    /// Which archives were added up; none when none were looked for.
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
