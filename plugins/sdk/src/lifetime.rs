//! The bounds of a transfer's or a quote's expiration, set by the scheme.

/// The shortest and the longest time to the expiration of an arriving message, in milliseconds.
///
/// Without the upper bound, an FSP could have money reserved and reminders stored for thousands of years.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime {
    /// The shortest.
    pub shortest_ms: u64,
    /// The longest.
    pub longest_ms: u64,
}

impl Lifetime {
    /// Checks an expiration in the future. The error is for the FSP.
    ///
    /// # Errors
    /// If it is outside the bounds.
    pub fn check(&self, now: u64, expiration: u64) -> Result<(), String> {
        let left = expiration.saturating_sub(now);
        if left > self.longest_ms {
            return Err(format!(
                "the expiration is more than {} ms ahead",
                self.longest_ms
            ));
        }
        if left < self.shortest_ms {
            return Err(format!(
                "the expiration is less than {} ms ahead",
                self.shortest_ms
            ));
        }
        Ok(())
    }

    /// Checks that the bounds allow some expiration. The error is for the operator.
    ///
    /// # Errors
    /// If they allow none.
    pub fn validate(&self) -> Result<(), String> {
        if self.longest_ms == 0 {
            return Err("longestLifetimeMs is 0: it must be more than 0".to_owned());
        }
        if self.shortest_ms > self.longest_ms {
            return Err(format!(
                "shortestLifetimeMs is {}, more than longestLifetimeMs, which is {}",
                self.shortest_ms, self.longest_ms
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Lifetime = Lifetime {
        shortest_ms: 10,
        longest_ms: 100,
    };

    #[test]
    fn both_bounds_belong_to_what_is_allowed() {
        for (expiration, fits) in [
            (1009, false),
            (1010, true),
            (1100, true),
            (1101, false),
            (u64::MAX, false),
        ] {
            let found = BOUNDS.check(1000, expiration);
            assert_eq!(found.is_ok(), fits, "{expiration}: {found:?}");
        }
        assert_eq!(
            BOUNDS.check(1000, u64::MAX).unwrap_err(),
            "the expiration is more than 100 ms ahead"
        );
    }

    #[test]
    fn bounds_that_nothing_fits_are_refused() {
        assert_eq!(BOUNDS.validate(), Ok(()));
        for (shortest_ms, longest_ms) in [(0, 0), (101, 100)] {
            let bounds = Lifetime {
                shortest_ms,
                longest_ms,
            };
            assert!(bounds.validate().is_err(), "{bounds:?}");
        }
    }
}
