//! Parses TOML to a tree of nodes with their positions.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use crate::diagnostics::{Code, Diagnostics, Problem};
use crate::source::Source;

/// A value and its position.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its position in bytes; for a table that of its header.
    pub span: Range<usize>,
    /// The value itself.
    pub value: Value,
}

/// A value.
#[derive(Clone, Debug)]
pub enum Value {
    /// A text.
    String(String),
    /// A whole number.
    Integer(i64),
    /// A number with a fraction.
    Float(f64),
    /// True or false.
    Boolean(bool),
    /// A date, a time or both, as written.
    Datetime(String),
    /// An array, or an array of tables.
    Array(Vec<Node>),
    /// A table, its members in the order of their positions.
    Table(Vec<Member>),
    /// A number that cannot be represented. It was reported already.
    Unusable,
}

/// A key and its value.
#[derive(Clone, Debug)]
pub struct Member {
    /// The key.
    pub key: String,
    /// The key's position.
    pub key_span: Range<usize>,
    /// The value.
    pub node: Node,
}

impl Value {
    /// The name of its kind, with the article.
    #[must_use]
    pub const fn what(&self) -> &'static str {
        match self {
            Self::String(_) => "a text",
            Self::Integer(_) => "a whole number",
            Self::Float(_) => "a number with a fraction",
            Self::Boolean(_) => "true or false",
            Self::Datetime(_) => "a date or time",
            Self::Array(_) => "an array",
            Self::Table(_) => "a table",
            Self::Unusable => "a number",
        }
    }
}

/// Parses a document. Returns `None` if it is not TOML, and then adds the problems.
pub fn parse(source: &Source, problems: &mut Diagnostics) -> Option<Node> {
    let (table, errors) = DeTable::parse_recoverable(source.text());
    let broken = !errors.is_empty();
    for error in errors {
        let span = error.span().unwrap_or(0..0);
        problems.push(Problem {
            source_text: source.clone(),
            code: Code::Syntax,
            message: format!(
                "{} in `{}`",
                one_line(error.message()),
                source.line(span.start).trim()
            ),
            span: Some(span),
            help: "The document must be TOML; nothing else in it was checked.".to_owned(),
        });
    }
    if broken {
        return None;
    }
    let mut reader = Reader { source, problems };
    let members = reader.members(table.get_ref());
    Some(Node {
        span: 0..0,
        value: Value::Table(members),
    })
}

fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

struct Reader<'a> {
    source: &'a Source,
    problems: &'a mut Diagnostics,
}

impl Reader<'_> {
    fn members(&mut self, table: &DeTable<'_>) -> Vec<Member> {
        let mut members: Vec<_> = table
            .iter()
            .map(|(key, value): (&Spanned<DeString<'_>>, _)| Member {
                key: key.get_ref().to_string(),
                key_span: key.span(),
                node: self.node(value),
            })
            .collect();
        members.sort_by_key(|member| member.key_span.start);
        members
    }

    fn node(&mut self, value: &Spanned<DeValue<'_>>) -> Node {
        let span = value.span();
        let value = match value.get_ref() {
            DeValue::String(text) => Value::String(text.to_string()),
            DeValue::Boolean(yes) => Value::Boolean(*yes),
            DeValue::Datetime(time) => Value::Datetime(time.to_string()),
            DeValue::Integer(digits) => i64::from_str_radix(digits.as_str(), digits.radix())
                .map_or_else(|_| self.unusable(&span), Value::Integer),
            DeValue::Float(digits) => digits
                .as_str()
                .parse()
                .ok()
                .filter(|float: &f64| float.is_finite())
                .map_or_else(|| self.unusable(&span), Value::Float),
            DeValue::Array(values) => {
                Value::Array(values.iter().map(|value| self.node(value)).collect())
            }
            DeValue::Table(table) => Value::Table(self.members(table)),
        };
        Node { span, value }
    }

    /// Report a number that does not fit.
    fn unusable(&mut self, span: &Range<usize>) -> Value {
        self.problems.push(Problem {
            source_text: self.source.clone(),
            span: Some(span.clone()),
            code: Code::BadValue,
            message: format!(
                "the number `{}` cannot be represented",
                self.source.slice(span)
            ),
            help: "Numbers are finite and whole ones fit in 64 bits.".to_owned(),
        });
        Value::Unusable
    }
}
