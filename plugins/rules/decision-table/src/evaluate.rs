//! Evaluates a checked condition.

use crate::decimal::Decimal;
use crate::failure::Failure;
use crate::input::{Record, Value};
use crate::node::{Comparison, Node, Operation, Test};
use std::cmp::Ordering;

type Evaluated<'a, T> = Result<T, Failure<'a>>;

/// Whether a condition holds for an input.
///
/// # Errors
/// Why the condition has no result.
pub fn holds<'a>(node: &'a Node, input: Record<'a>) -> Evaluated<'a, bool> {
    match value(node, input)? {
        Value::Bool(bool) => Ok(bool),
        _ => Err(Failure::WrongType),
    }
}

fn value<'a>(node: &'a Node, input: Record<'a>) -> Evaluated<'a, Value<'a>> {
    Ok(match node {
        Node::Input => Value::Record(input),
        Node::Bool(bool) => Value::Bool(*bool),
        Node::Int(int) => Value::Int(*int),
        Node::Text(text) => Value::Text(text),
        Node::Decimal(decimal) => Value::Decimal(*decimal),
        Node::Member(of, member) => {
            let value = (member.read)(record(of, input)?)?;
            value.ok_or(Failure::Absent(member.name))?
        }
        Node::Has(of, member) => Value::Bool((member.read)(record(of, input)?)?.is_some()),
        Node::Not(operand) => Value::Bool(!holds(operand, input)?),
        Node::And(left, right) => Value::Bool(both(left, right, true, input)?),
        Node::Or(left, right) => Value::Bool(both(left, right, false, input)?),
        Node::Choose(parts) => {
            let [condition, first, second] = &**parts;
            let chosen = if holds(condition, input)? {
                first
            } else {
                second
            };
            value(chosen, input)?
        }
        Node::Compare(left, comparison, right) => {
            let (left, right) = (value(left, input)?, value(right, input)?);
            Value::Bool(comparison.is_true(order(&left, &right)?))
        }
        Node::In(needle, elements) => {
            let needle = value(needle, input)?;
            let mut is_found = false;
            // An element without a value fails the list, as in every CEL.
            for element in elements {
                is_found |= order(&needle, &value(element, input)?)? == Ordering::Equal;
            }
            Value::Bool(is_found)
        }
        Node::Negate(operand) => match value(operand, input)? {
            Value::Int(int) => Value::Int(int.checked_neg().ok_or(Failure::TooLarge)?),
            Value::Decimal(decimal) => Value::Decimal(decimal.negate()?),
            _ => return Err(Failure::WrongType),
        },
        Node::Arithmetic(left, operation, right) => {
            match (value(left, input)?, value(right, input)?) {
                (Value::Int(left), Value::Int(right)) => {
                    Value::Int(operation.of_ints(left, right)?)
                }
                (Value::Decimal(left), Value::Decimal(right)) => {
                    Value::Decimal(operation.of_decimals(&left, &right)?)
                }
                _ => return Err(Failure::WrongType),
            }
        }
        Node::Amount(money) => match value(money, input)? {
            Value::Record(Record::Money(money)) => Value::Decimal(Decimal::of_money(money)?),
            _ => return Err(Failure::WrongType),
        },
        Node::ToDecimal(int) => match value(int, input)? {
            Value::Int(int) => Value::Decimal(Decimal::of_int(int)),
            _ => return Err(Failure::WrongType),
        },
        Node::Size(of) => {
            let characters = text(of, input)?.chars().count();
            Value::Int(i64::try_from(characters).map_err(|_| Failure::TooLarge)?)
        }
        Node::Test(of, test, with) => {
            let (of, with) = (text(of, input)?, text(with, input)?);
            Value::Bool(match test {
                Test::StartsWith => of.starts_with(with),
                Test::EndsWith => of.ends_with(with),
                Test::Contains => of.contains(with),
            })
        }
    })
}

/// `&&` if `goes_on` is true, else `||`. As in every CEL, a failure of one side does not count if the other side decides.
fn both<'a>(
    left: &'a Node,
    right: &'a Node,
    goes_on: bool,
    input: Record<'a>,
) -> Evaluated<'a, bool> {
    let left = holds(left, input);
    if left == Ok(!goes_on) {
        return left;
    }
    let right = holds(right, input);
    if right == Ok(!goes_on) {
        return right;
    }
    left.and(right)
}

fn record<'a>(node: &'a Node, input: Record<'a>) -> Evaluated<'a, Record<'a>> {
    match value(node, input)? {
        Value::Record(record) => Ok(record),
        _ => Err(Failure::WrongType),
    }
}

fn text<'a>(node: &'a Node, input: Record<'a>) -> Evaluated<'a, &'a str> {
    match value(node, input)? {
        Value::Text(text) => Ok(text),
        _ => Err(Failure::WrongType),
    }
}

fn order<'a>(left: &Value<'a>, right: &Value<'a>) -> Evaluated<'a, Ordering> {
    match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => Ok(left.cmp(right)),
        (Value::Int(left), Value::Int(right)) => Ok(left.cmp(right)),
        (Value::Text(left), Value::Text(right)) => Ok(left.cmp(right)),
        (Value::Decimal(left), Value::Decimal(right)) => left.compare(right),
        _ => Err(Failure::WrongType),
    }
}

impl Comparison {
    fn is_true(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }
}

impl Operation {
    fn of_ints<'a>(self, left: i64, right: i64) -> Evaluated<'a, i64> {
        if right == 0 && matches!(self, Self::Divide | Self::Remainder) {
            return Err(Failure::DivisionByZero);
        }
        let result = match self {
            Self::Add => left.checked_add(right),
            Self::Subtract => left.checked_sub(right),
            Self::Multiply => left.checked_mul(right),
            Self::Divide => left.checked_div(right),
            Self::Remainder => left.checked_rem(right),
        };
        result.ok_or(Failure::TooLarge)
    }

    fn of_decimals<'a>(
        self,
        left: &Decimal<'a>,
        right: &Decimal<'a>,
    ) -> Evaluated<'a, Decimal<'a>> {
        match self {
            Self::Add => left.add(right),
            Self::Subtract => left.subtract(right),
            Self::Multiply => left.multiply(right),
            Self::Divide | Self::Remainder => Err(Failure::WrongType),
        }
    }
}
