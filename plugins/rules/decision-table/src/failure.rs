//! Why a condition has no result for an input.

use std::fmt;

/// Why a condition has no result. Conditions have correct types, so nothing else can fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure<'a> {
    /// An optional member is absent; its name.
    Absent(&'a str),
    /// A number does not fit.
    TooLarge,
    /// A division by zero.
    DivisionByZero,
    /// Two amounts of these currencies do not compare.
    Currencies(&'a str, &'a str),
    /// A product of two amounts has no unit.
    ProductOfAmounts,
    /// A value of another type than the check found. It is a fault of this rule.
    WrongType,
}

impl fmt::Display for Failure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent(name) => write!(f, "{name} is absent"),
            Self::TooLarge => f.write_str("a number is too large"),
            Self::DivisionByZero => f.write_str("division by zero"),
            Self::Currencies(left, right) => write!(f, "{left} does not compare with {right}"),
            Self::ProductOfAmounts => f.write_str("an amount times an amount"),
            Self::WrongType => f.write_str("a value has a wrong type"),
        }
    }
}
