//! A checked condition.

use crate::decimal::Decimal;
use crate::input::Member;

/// A checked part of a condition. Its operands have the types that it needs.
pub enum Node {
    /// The input of the step.
    Input,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A text.
    Text(String),
    /// A decimal number.
    Decimal(Decimal<'static>),
    /// A member of a record.
    Member(Box<Node>, &'static Member),
    /// Whether a record has a member.
    Has(Box<Node>, &'static Member),
    /// `!`
    Not(Box<Node>),
    /// `&&`
    And(Box<Node>, Box<Node>),
    /// `||`
    Or(Box<Node>, Box<Node>),
    /// `condition ? first : second`
    Choose(Box<[Node; 3]>),
    /// A comparison of values of one type.
    Compare(Box<Node>, Comparison, Box<Node>),
    /// Whether a value is one of those in a list.
    In(Box<Node>, Vec<Node>),
    /// `-` of one number.
    Negate(Box<Node>),
    /// An operation on numbers of one type.
    Arithmetic(Box<Node>, Operation, Box<Node>),
    /// The amount of money.
    Amount(Box<Node>),
    /// A whole number as a decimal number.
    ToDecimal(Box<Node>),
    /// The characters of a text.
    Size(Box<Node>),
    /// A test of a text.
    Test(Box<Node>, Test, Box<Node>),
}

/// A comparison.
#[allow(missing_docs)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    /// Whether it needs equality only.
    #[must_use]
    pub fn is_of_equality(self) -> bool {
        matches!(self, Self::Equal | Self::NotEqual)
    }
}

/// An operation on two numbers.
#[allow(missing_docs)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// A test of a text with another one.
#[allow(missing_docs)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    StartsWith,
    EndsWith,
    Contains,
}
