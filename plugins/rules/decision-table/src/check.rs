//! Checks the types of a parsed condition.
//!
//! After the check an evaluation fails only because of an absent member, a number that does not fit, a division by zero,
//! or amounts that do not go together.

use crate::decimal::Decimal;
use crate::input::{Kind, Type};
use crate::node::{Comparison, Node, Operation, Test};
use crate::operands::{
    Checked, Found, arithmetic, expect, literal_of, member, of_one_type, size, wrong,
};
use crate::parse::{DEPTH_MAX, Mistake, parse, place};
use cel::IdedExpr;
use cel::common::ast::{CallExpr, Expr, SelectExpr, operators};

/// Parses and checks a condition over an input.
///
/// # Errors
/// The first mistake.
pub fn condition(text: &str, input: Kind) -> Result<Node, Mistake> {
    let parsed = parse(text)?;
    let mut check = Check {
        input,
        words: 0,
        depth: 0,
    };
    let checked = check.node(&parsed).and_then(|found| match found.of {
        Type::Bool => Ok(found.node),
        of => wrong(
            found.word,
            format!("The condition is {}: it must be true or false.", of.words()),
        ),
    });
    checked.map_err(|wrong| Mistake {
        character: place(text, wrong.word),
        message: wrong.message,
    })
}

struct Check {
    /// The kind of the input.
    input: Kind,
    /// The names and literals so far, in the order of the text.
    words: usize,
    depth: u16,
}

impl Check {
    /// Counts a name or literal, and returns its number.
    fn word(&mut self) -> usize {
        self.words += 1;
        self.words - 1
    }

    fn node(&mut self, expression: &IdedExpr) -> Checked<Found> {
        if self.depth > DEPTH_MAX {
            return wrong(
                self.words,
                format!("The condition has more than {DEPTH_MAX} levels: make several rows of it."),
            );
        }
        self.depth += 1;
        let found = self.part(expression)?;
        self.depth -= 1;
        Ok(found)
    }

    fn part(&mut self, expression: &IdedExpr) -> Checked<Found> {
        let start = self.words;
        let (node, of) = match &expression.expr {
            Expr::Literal(literal) => literal_of(literal, self.word())?,
            Expr::Ident(name) if name == "input" => {
                self.word();
                (Node::Input, Type::Record(self.input))
            }
            Expr::Ident(name) => {
                return wrong(
                    start,
                    format!("There is no variable `{name}`: start with `input`."),
                );
            }
            Expr::Select(select) => self.select(select)?,
            Expr::Call(call) => match &call.target {
                Some(target) => self.method(target, call)?,
                None => self.call(call)?,
            },
            Expr::List(_) => return wrong(start, "A list stands only after `in`."),
            Expr::Comprehension(_) => {
                return wrong(
                    start,
                    "Lists have no `all`, `exists`, `map` and `filter` here: use `in`, `&&` and `||`.",
                );
            }
            Expr::Map(_) | Expr::Struct(_) | Expr::Unspecified => {
                return wrong(
                    start,
                    "Maps and records cannot be written here: compare single members.",
                );
            }
        };
        Ok(Found {
            node,
            of,
            word: start,
        })
    }

    /// `operand.field`, or `has(operand.field)`.
    fn select(&mut self, select: &SelectExpr) -> Checked<(Node, Type)> {
        if select.test {
            self.word();
        }
        let operand = self.node(&select.operand)?;
        let word = self.word();
        let member = member(&operand, &select.field, word)?;
        let node = Box::new(operand.node);
        Ok(if select.test {
            (Node::Has(node, member), Type::Bool)
        } else {
            (Node::Member(node, member), member.of)
        })
    }

    /// `target.function(arguments)`.
    fn method(&mut self, target: &IdedExpr, call: &CallExpr) -> Checked<(Node, Type)> {
        let target = self.node(target)?;
        let word = self.word();
        let test = match call.func_name.as_str() {
            "startsWith" => Test::StartsWith,
            "endsWith" => Test::EndsWith,
            "contains" => Test::Contains,
            "size" if call.args.is_empty() => return size(target),
            name => {
                return wrong(
                    word,
                    format!(
                        "There is no function `.{name}` here: use startsWith, endsWith, contains or size of texts."
                    ),
                );
            }
        };
        let [argument] = call.args.as_slice() else {
            return wrong(word, format!("`{}` needs one text.", call.func_name));
        };
        let target = expect(target, Type::Text)?;
        let argument = self.node(argument)?;
        let argument = expect(argument, Type::Text)?;
        Ok((Node::Test(target, test, argument), Type::Bool))
    }

    /// An operator or `function(arguments)`.
    fn call(&mut self, call: &CallExpr) -> Checked<(Node, Type)> {
        match (call.func_name.as_str(), call.args.as_slice()) {
            (operators::LOGICAL_NOT, [operand]) => {
                let operand = self.expected(operand, Type::Bool)?;
                Ok((Node::Not(operand), Type::Bool))
            }
            (operators::NEGATE, [operand]) => {
                let Found { node, of, word } = self.node(operand)?;
                match of {
                    Type::Int | Type::Decimal => Ok((Node::Negate(Box::new(node)), of)),
                    of => wrong(word, format!("`-` needs a number, not {}.", of.words())),
                }
            }
            (operators::LOGICAL_AND, [left, right]) => {
                let left = self.expected(left, Type::Bool)?;
                let right = self.expected(right, Type::Bool)?;
                Ok((Node::And(left, right), Type::Bool))
            }
            (operators::LOGICAL_OR, [left, right]) => {
                let left = self.expected(left, Type::Bool)?;
                let right = self.expected(right, Type::Bool)?;
                Ok((Node::Or(left, right), Type::Bool))
            }
            (operators::CONDITIONAL, [condition, first, second]) => {
                let condition = self.expected(condition, Type::Bool)?;
                let (first, second) = (self.node(first)?, self.node(second)?);
                let (first, second, of) = of_one_type(first, second)?;
                Ok((Node::Choose(Box::new([*condition, first, second])), of))
            }
            (operators::IN, [value, list]) => self.member_of(value, list),
            (name, [left, right]) if let Some(comparison) = comparison(name) => {
                let (left, right) = (self.node(left)?, self.node(right)?);
                let word = left.word;
                let (left, right, of) = of_one_type(left, right)?;
                if of == Type::Bool && !comparison.is_of_equality() {
                    return wrong(word, "True and false have no order: use `==` or `!=`.");
                }
                Ok((
                    Node::Compare(Box::new(left), comparison, Box::new(right)),
                    Type::Bool,
                ))
            }
            (name, [left, right]) if let Some(operation) = operation(name) => {
                let (left, right) = (self.node(left)?, self.node(right)?);
                arithmetic(left, operation, right)
            }
            (name, _) if name.starts_with(['_', '@']) => wrong(
                self.words,
                "`[` and `?` after a value are not available here: name a member with `.`.",
            ),
            (_, arguments) => {
                let word = self.word();
                self.function(&call.func_name, word, arguments)
            }
        }
    }

    /// `function(arguments)`.
    fn function(
        &mut self,
        name: &str,
        word: usize,
        arguments: &[IdedExpr],
    ) -> Checked<(Node, Type)> {
        match (name, arguments) {
            ("amount", [money]) => {
                let money = self.node(money)?;
                if money.of != Type::Money {
                    return wrong(
                        money.word,
                        format!(
                            "`amount` needs money, as in amount(input.transfer.amount), not {}.",
                            money.of.words()
                        ),
                    );
                }
                Ok((Node::Amount(Box::new(money.node)), Type::Decimal))
            }
            ("decimal", [text]) => {
                let text = self.node(text)?;
                let decimal = match &text.node {
                    Node::Text(text) => Decimal::parse(text),
                    _ => None,
                };
                match decimal {
                    Some(decimal) => Ok((Node::Decimal(decimal), Type::Decimal)),
                    None => wrong(
                        text.word,
                        "`decimal` needs a decimal number in quotation marks, as in decimal(\"100.00\").",
                    ),
                }
            }
            ("size", [text]) => {
                let text = self.node(text)?;
                size(text)
            }
            ("amount" | "decimal" | "size", _) => wrong(word, format!("`{name}` needs one value.")),
            _ => wrong(
                word,
                format!("There is no function `{name}` here: use amount, decimal, has or size."),
            ),
        }
    }

    /// `value in [elements]`.
    fn member_of(&mut self, value: &IdedExpr, list: &IdedExpr) -> Checked<(Node, Type)> {
        let value = self.node(value)?;
        let Expr::List(list) = &list.expr else {
            return wrong(self.words, "`in` needs a list, as in [\"USD\", \"EUR\"].");
        };
        let mut elements = Vec::with_capacity(list.elements.len());
        let mut of = value.of;
        for element in &list.elements {
            let element = self.node(element)?;
            // The value stays as it is: a whole number compares with decimal numbers.
            let alike = Found {
                node: Node::Input,
                of,
                word: value.word,
            };
            let (_, element, common) = of_one_type(alike, element)?;
            if of == Type::Int && common == Type::Decimal {
                return wrong(
                    value.word,
                    "A whole number cannot be in a list of decimal numbers.",
                );
            }
            of = if matches!(of, Type::Word(_)) {
                of
            } else {
                common
            };
            elements.push(element);
        }
        Ok((Node::In(Box::new(value.node), elements), Type::Bool))
    }

    fn expected(&mut self, expression: &IdedExpr, of: Type) -> Checked<Box<Node>> {
        let found = self.node(expression)?;
        expect(found, of)
    }
}

fn comparison(operator: &str) -> Option<Comparison> {
    Some(match operator {
        operators::EQUALS => Comparison::Equal,
        operators::NOT_EQUALS => Comparison::NotEqual,
        operators::LESS => Comparison::Less,
        operators::LESS_EQUALS => Comparison::LessOrEqual,
        operators::GREATER => Comparison::Greater,
        operators::GREATER_EQUALS => Comparison::GreaterOrEqual,
        _ => return None,
    })
}

fn operation(operator: &str) -> Option<Operation> {
    Some(match operator {
        operators::ADD => Operation::Add,
        operators::SUBSTRACT => Operation::Subtract,
        operators::MULTIPLY => Operation::Multiply,
        operators::DIVIDE => Operation::Divide,
        operators::MODULO => Operation::Remainder,
        _ => return None,
    })
}
