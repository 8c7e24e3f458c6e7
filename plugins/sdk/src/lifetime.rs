//! How far ahead the expiration of a transfer or a quote may be: bounds that a scheme sets.

/// The least and the most time that may be left when a message arrives, in milliseconds.
///
/// Without the upper one an FSP could have money reserved, and reminders kept, for thousands of
/// years.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime {
    /// The least.
    pub shortest_ms: u64,
    /// The most.
    pub longest_ms: u64,
}

impl Lifetime {
    /// What is wrong with an expiration that is still to come, in words for the FSP that chose it.
    ///
    /// # Errors
    /// When it is nearer or further ahead than the scheme allows.
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

    /// Whether the bounds leave anything between them, in words for the operator that set them.
    ///
    /// # Errors
    /// When no expiration could fit.
    pub fn validate(&self) -> Result<(), String> {
        if self.longest_ms == 0 {
            return Err("longestLifetimeMs is 0: everything would expire on arrival".to_owned());
        }
        if self.shortest_ms > self.longest_ms {
            return Err(format!(
                "shortestLifetimeMs is {} and longestLifetimeMs {}: no expiration can be between",
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
