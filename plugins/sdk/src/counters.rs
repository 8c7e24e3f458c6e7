//! Counters: what a rule needs to know of earlier transfers. A rule declares them, and its input has their values.
//!
//! ```text
//! fn counters(settings: &Settings) -> Vec<Counter> {
//!     vec![counter(vec![Dimension::PayerFsp], Window::Day(0))]
//! }
//!
//! fn judge(settings: &Settings, input: &transfer_prepare_counted::Input) -> Verdict {
//!     match value(&input.counts, &counters(settings)[0]) { … }
//! }
//! ```
//!
//! A counter begins at zero with the release that first declares it. It counts transfers that were prepared and have not
//! failed since.

pub use crate::counting_bindings::rialto::rules0_2_0::types::{
    Counted, Counter, Dimension, Sum, Window,
};
use crate::settings::Problems;

/// The most counters of a rule: the host refuses more.
pub const COUNTERS_MAX: usize = 16;
/// The longest rolling window, in seconds: 397 days.
pub const ROLLING_SECONDS_MAX: u64 = 397 * 24 * 60 * 60;
/// The largest offset from UTC, in minutes.
pub const OFFSET_MINUTES_MAX: i16 = 14 * 60;
/// All dimensions, in their order.
pub const DIMENSIONS: [Dimension; 8] = [
    Dimension::PayerFsp,
    Dimension::PayeeFsp,
    Dimension::Payer,
    Dimension::Payee,
    Dimension::Amount,
    Dimension::Scenario,
    Dimension::Initiator,
    Dimension::InitiatorType,
];

/// A counter of these dimensions, which are put in order.
#[must_use]
pub fn counter(by: impl IntoIterator<Item = Dimension>, window: Window) -> Counter {
    let wanted: Vec<Dimension> = by.into_iter().collect();
    let by = DIMENSIONS.into_iter().filter(|one| wanted.contains(one));
    Counter {
        by: by.collect(),
        window,
    }
}

/// The value of a counter in a rule's input. None if the counter has none for this transfer, because one of its dimensions
/// is not known.
///
/// # Panics
/// If the rule has not declared the counter. The rule fails then, and the step's `on-failure` decides.
#[must_use]
pub fn value<'a>(counts: &'a [Counted], counter: &Counter) -> Option<&'a Sum> {
    let found = counts.iter().find(|one| one.counter == *counter);
    let Some(found) = found else {
        panic!("the input does not have the counter {counter:?}");
    };
    found.sum.as_ref()
}

/// Why a counter cannot be kept; none if it can.
#[must_use]
pub fn problem(counter: &Counter) -> Option<String> {
    if counter.by.is_empty() {
        return Some("the counter has no dimension".to_owned());
    }
    let is_in_order = counter.by.windows(2).all(|pair| pair[0] < pair[1]);
    if !is_in_order {
        return Some(
            "the counter's dimensions are not in their order, or one is there twice".to_owned(),
        );
    }
    match counter.window {
        Window::Rolling(seconds) if !(1..=ROLLING_SECONDS_MAX).contains(&seconds) => Some(format!(
            "a rolling window has 1 to {ROLLING_SECONDS_MAX} seconds, not {seconds}"
        )),
        Window::Day(offset) | Window::Week(offset) | Window::Month(offset)
            if offset.unsigned_abs() > OFFSET_MINUTES_MAX.unsigned_abs() =>
        {
            Some(format!(
                "an offset from UTC is at most {OFFSET_MINUTES_MAX} minutes, not {offset}"
            ))
        }
        _ => None,
    }
}

/// Counters without repeats, in the order of their first mention.
#[must_use]
pub fn distinct(counters: Vec<Counter>) -> Vec<Counter> {
    let mut distinct: Vec<Counter> = Vec::new();
    for counter in counters {
        if !distinct.contains(&counter) {
            distinct.push(counter);
        }
    }
    distinct
}

/// Notes why counters cannot be kept. A rule whose settings need such counters does not accept them.
pub fn validate(counters: &[Counter], problems: &mut Problems) {
    for problem in counters.iter().filter_map(problem) {
        problems.note("", problem);
    }
    let count = distinct(counters.to_vec()).len();
    if count > COUNTERS_MAX {
        problems.note(
            "",
            format!("the settings need {count} counters, and a rule may have {COUNTERS_MAX}"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::money;

    #[test]
    fn counter_puts_dimensions_in_order() {
        let one = counter(
            [Dimension::Payee, Dimension::PayerFsp, Dimension::Payee],
            Window::Rolling(60),
        );
        assert_eq!(one.by, [Dimension::PayerFsp, Dimension::Payee]);
        assert_eq!(problem(&one), None);
    }

    #[test]
    fn counters_that_cannot_be_kept_are_told() {
        let by = [Dimension::Payer];
        for (counter, words) in [
            (counter([], Window::Day(0)), "no dimension"),
            (counter(by, Window::Rolling(0)), "1 to 34300800"),
            (counter(by, Window::Rolling(34_300_801)), "34300801"),
            (counter(by, Window::Week(841)), "840 minutes"),
            (counter(by, Window::Month(i16::MIN)), "840 minutes"),
            (
                Counter {
                    by: vec![Dimension::Payee, Dimension::Payer],
                    window: Window::Day(0),
                },
                "order",
            ),
        ] {
            let told = problem(&counter).unwrap_or_default();
            assert!(told.contains(words), "{counter:?}: {told}");
            let mut problems = Problems::default();
            validate(std::slice::from_ref(&counter), &mut problems);
            assert_eq!(problems.0.len(), 1);
        }
        let many = (0..17).map(|n| counter(by, Window::Day(n)));
        let mut problems = Problems::default();
        validate(&many.collect::<Vec<_>>(), &mut problems);
        assert!(problems.0[0].message.contains("17 counters"));
        // The same one again needs no room.
        let mut problems = Problems::default();
        validate(&vec![counter(by, Window::Day(0)); 20], &mut problems);
        assert_eq!(problems.0.len(), 0);
    }

    #[test]
    fn value_is_found_by_its_counter() {
        let of = |offset| counter([Dimension::Payer], Window::Day(offset));
        let sum = Sum {
            transfers: 2,
            amount: money("USD", 2, 700),
        };
        let counts = [
            Counted {
                counter: of(0),
                sum: None,
            },
            Counted {
                counter: of(60),
                sum: Some(sum.clone()),
            },
        ];
        assert_eq!(value(&counts, &of(0)), None);
        assert_eq!(value(&counts, &of(60)), Some(&sum));
    }
}
