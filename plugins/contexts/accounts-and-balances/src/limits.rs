//! The use of a participant's net debit cap (decision 8): N = reserved + unsettled debits - unsettled credits.

use crate::accounts::{Account, Units};

/// N of a participant in one currency. One of the two is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetPosition {
    /// N, if it is not negative.
    pub debit: Units,
    /// -N, if N is negative.
    pub credit: Units,
}

/// N of the participant that has these two accounts.
#[must_use]
pub fn net_position(liquidity: &Account, position: &Account) -> NetPosition {
    let debits = position.balance().saturating_add(position.unsettled.0);
    let credits = liquidity.unsettled.0;
    NetPosition {
        debit: Units(debits.saturating_sub(credits)),
        credit: Units(credits.saturating_sub(debits)),
    }
}

/// Whether the net debit cap covers a further reservation: with N = reserved + unsettled debits -
/// unsettled credits, `N + amount <= cap`. The terms are moved so that none is negative.
#[must_use]
pub fn is_within_net_debit_cap(liquidity: &Account, position: &Account, amount: Units) -> bool {
    let Some(cap) = liquidity.net_debit_cap else {
        return true;
    };
    let used = position
        .balance()
        .checked_add(position.unsettled.0)
        .and_then(|used| used.checked_add(amount.0));
    used.is_some_and(|used| used <= cap.0.saturating_add(liquidity.unsettled.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::AccountType;

    #[test]
    fn the_net_debit_cap_counts_reserved_paid_and_received() {
        let mut liquidity = Account::new("a", AccountType::Liquidity, "USD", 2, 0);
        let mut position = Account::new("a", AccountType::Position, "USD", 2, 0);
        position.credit(Units(30), "e", 0).unwrap();
        position.add_unsettled(Units(50)).unwrap();
        liquidity.add_unsettled(Units(20)).unwrap();
        assert!(is_within_net_debit_cap(
            &liquidity,
            &position,
            Units(u128::MAX)
        ));
        let used = net_position(&liquidity, &position);
        assert_eq!((used.debit, used.credit), (Units(60), Units(0)));
        liquidity.net_debit_cap = Some(Units(100));
        assert!(is_within_net_debit_cap(&liquidity, &position, Units(40)));
        assert!(!is_within_net_debit_cap(&liquidity, &position, Units(41)));
        assert!(!is_within_net_debit_cap(
            &liquidity,
            &position,
            Units(u128::MAX)
        ));
    }

    #[test]
    fn net_receiver_has_a_net_credit() {
        let mut liquidity = Account::new("a", AccountType::Liquidity, "USD", 2, 0);
        let position = Account::new("a", AccountType::Position, "USD", 2, 0);
        liquidity.add_unsettled(Units(20)).unwrap();
        let used = net_position(&liquidity, &position);
        assert_eq!((used.debit, used.credit), (Units(0), Units(20)));
    }
}
