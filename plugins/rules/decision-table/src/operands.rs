//! Checks the types of single operands: literals, members, and pairs of values.

use crate::input::{Kind, Member, Type};
use crate::node::{Node, Operation};
use cel::common::ast::LiteralValue;

/// A checked part.
pub struct Found {
    /// The checked part itself.
    pub node: Node,
    /// The type of its value.
    pub of: Type,
    /// The number of its first name or literal.
    pub word: usize,
}

/// A mistake at a name or literal.
pub struct Wrong {
    /// The number of the name or literal.
    pub word: usize,
    /// A sentence.
    pub message: String,
}

/// Something checked, or the mistake in it.
pub type Checked<T> = Result<T, Wrong>;

/// A mistake.
///
/// # Errors
/// Always.
pub fn wrong<T>(word: usize, message: impl Into<String>) -> Checked<T> {
    Err(Wrong {
        word,
        message: message.into(),
    })
}

/// The value of a literal.
///
/// # Errors
/// When it is null, bytes, or a number that is not exact.
pub fn literal_of(literal: &LiteralValue, word: usize) -> Checked<(Node, Type)> {
    match literal {
        LiteralValue::Boolean(bool) => Ok((Node::Bool(*bool.inner()), Type::Bool)),
        LiteralValue::Int(int) => Ok((Node::Int(*int.inner()), Type::Int)),
        LiteralValue::String(text) => Ok((Node::Text(text.inner().to_owned()), Type::Text)),
        LiteralValue::Double(_) => wrong(
            word,
            "A number with a point is not exact: write decimal(\"100.00\").",
        ),
        LiteralValue::UInt(_) => wrong(word, "A whole number has no `u` at its end here."),
        LiteralValue::Bytes(_) => wrong(
            word,
            "There are no bytes in an input: write a text without `b`.",
        ),
        LiteralValue::Null => wrong(word, "An absent member is not null: write has(input.…)."),
    }
}

/// A member of a record.
///
/// # Errors
/// When the value has no such member.
pub fn member(operand: &Found, name: &str, word: usize) -> Checked<&'static Member> {
    let members = match operand.of {
        Type::Record(kind) => kind.members(),
        Type::Money => Kind::Money.members(),
        of => {
            return wrong(
                word,
                format!(
                    "There is no `{name}` here: what is before it is {}.",
                    of.words()
                ),
            );
        }
    };
    if let Some(member) = members.iter().find(|member| member.name == name) {
        return Ok(member);
    }
    let names: Vec<_> = members.iter().map(|member| member.name).collect();
    wrong(
        word,
        format!("There is no `{name}` here: use {}.", names.join(", ")),
    )
}

/// A part of the type that is needed. A word is a text.
///
/// # Errors
/// When it has another type.
pub fn expect(found: Found, of: Type) -> Checked<Box<Node>> {
    let is_word = of == Type::Text && matches!(found.of, Type::Word(_));
    if found.of == of || is_word {
        return Ok(Box::new(found.node));
    }
    wrong(
        found.word,
        format!("This must be {}, not {}.", of.words(), found.of.words()),
    )
}

/// The size of a text.
///
/// # Errors
/// When it is no text.
pub fn size(text: Found) -> Checked<(Node, Type)> {
    Ok((Node::Size(expect(text, Type::Text)?), Type::Int))
}

/// Two values as values of one type that compares.
///
/// # Errors
/// When they have none, or one is a text that the other one cannot be.
pub fn of_one_type(left: Found, right: Found) -> Checked<(Node, Node, Type)> {
    let decimal = |node: Node| Node::ToDecimal(Box::new(node));
    match (left.of, right.of) {
        (Type::Bool, Type::Bool) | (Type::Int, Type::Int) | (Type::Decimal, Type::Decimal) => {
            Ok((left.node, right.node, left.of))
        }
        (Type::Int, Type::Decimal) => Ok((decimal(left.node), right.node, Type::Decimal)),
        (Type::Decimal, Type::Int) => Ok((left.node, decimal(right.node), Type::Decimal)),
        (Type::Text | Type::Word(_), Type::Text | Type::Word(_)) => {
            is_word(&left, &right)?;
            is_word(&right, &left)?;
            Ok((left.node, right.node, Type::Text))
        }
        (Type::Money | Type::Record(_), _) => {
            wrong(left.word, format!("This cannot be {}.", left.of.words()))
        }
        (_, of) => wrong(
            right.word,
            format!(
                "This must be {}, as the value before it, not {}.",
                left.of.words(),
                of.words()
            ),
        ),
    }
}

/// Checks that a literal is one of the words of the other value.
fn is_word(value: &Found, literal: &Found) -> Checked<()> {
    match (value.of, &literal.node) {
        (Type::Word(words), Node::Text(text)) if !words.contains(&text.as_str()) => wrong(
            literal.word,
            format!("{text:?} never occurs here: use {}.", words.join(", ")),
        ),
        _ => Ok(()),
    }
}

/// An operation on two numbers.
///
/// # Errors
/// When a side is no number, or the operation would round.
pub fn arithmetic(left: Found, operation: Operation, right: Found) -> Checked<(Node, Type)> {
    for side in [&left, &right] {
        if !matches!(side.of, Type::Int | Type::Decimal) {
            return wrong(
                side.word,
                format!("A calculation needs numbers, not {}.", side.of.words()),
            );
        }
    }
    let word = left.word;
    let (left, right, of) = of_one_type(left, right)?;
    if of == Type::Decimal && matches!(operation, Operation::Divide | Operation::Remainder) {
        return wrong(
            word,
            "Amounts and decimal numbers are not divided, because that rounds: multiply the other side.",
        );
    }
    Ok((
        Node::Arithmetic(Box::new(left), operation, Box::new(right)),
        of,
    ))
}
