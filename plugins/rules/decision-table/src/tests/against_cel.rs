//! Compares this rule with the interpreter of the crate `cel`, which has another parser too, on conditions without
//! amounts.

use super::to_prepare;
use crate::input::{Kind, Record, Value as Own};
use crate::settings::Step;
use crate::{check, evaluate};
use cel::{Context, Program, Value};
use rialto_sdk::testing::Dice;
use std::collections::HashMap;

/// A record as a map of CEL. Absent members are absent there too.
fn map_of(kind: Kind, record: Record<'_>) -> Value {
    let mut map = HashMap::new();
    for member in kind.members() {
        let value = match (member.read)(record).unwrap() {
            None => continue,
            Some(Own::Bool(bool)) => Value::from(bool),
            Some(Own::Int(int)) => Value::from(int),
            Some(Own::Text(text)) => Value::from(text),
            Some(Own::Record(record)) => map_of(kind_of(record), record),
            Some(Own::Decimal(decimal)) => panic!("{decimal:?}"),
        };
        map.insert(member.name.to_owned(), value);
    }
    Value::from(map)
}

fn kind_of(record: Record<'_>) -> Kind {
    match record {
        Record::Request(_) => Kind::Request,
        Record::Response(_) => Kind::Response,
        Record::Agreement(_) => Kind::Agreement,
        Record::Transfer(_) => Kind::Transfer,
        Record::Party(_) => Kind::Party,
        Record::TransactionType(_) => Kind::TransactionType,
        Record::Money(_) => Kind::Money,
        input => input.step().unwrap().input(),
    }
}

/// Random conditions. Parentheses are often missing, so that the order of operators counts.
struct Texts {
    dice: Dice,
}

impl Texts {
    fn pick(&mut self, choices: &[&str]) -> String {
        (*self.dice.pick(choices)).to_owned()
    }

    fn around(&mut self, text: String) -> String {
        if self.dice.chance(40) {
            format!("({text})")
        } else {
            text
        }
    }

    fn bool(&mut self, depth: u64) -> String {
        if depth == 0 {
            return self.pick(&[
                "true",
                "false",
                "has(input.agreement)",
                "has(input.agreement.request.fees)",
                "has(input.transfer.payerFsp)",
            ]);
        }
        let text = match self.dice.below(9) {
            0 => format!("{} && {}", self.bool(depth - 1), self.bool(depth - 1)),
            1 => format!("{} || {}", self.bool(depth - 1), self.bool(depth - 1)),
            2 => format!("!{}", self.bool(depth - 1)),
            3 => {
                let operator = self.pick(&["==", "!=", "<", "<=", ">", ">="]);
                format!("{} {operator} {}", self.int(depth - 1), self.int(depth - 1))
            }
            4 => {
                let operator = self.pick(&["==", "!=", "<", "<=", ">", ">="]);
                format!(
                    "{} {operator} {}",
                    self.text(depth - 1),
                    self.text(depth - 1)
                )
            }
            5 => {
                let test = self.pick(&["startsWith", "endsWith", "contains"]);
                format!("{}.{test}({})", self.text(depth - 1), self.text(depth - 1))
            }
            6 => format!(
                "{} in [{}, {}]",
                self.int(depth - 1),
                self.int(depth - 1),
                self.int(0)
            ),
            7 => format!(
                "{} in [{}, {}]",
                self.text(depth - 1),
                self.text(0),
                self.text(depth - 1)
            ),
            _ => format!(
                "{} ? {} : {}",
                self.bool(depth - 1),
                self.bool(depth - 1),
                self.bool(0)
            ),
        };
        self.around(text)
    }

    fn int(&mut self, depth: u64) -> String {
        if depth == 0 {
            return self.pick(&[
                "0",
                "1",
                "-7",
                "10050",
                "0x1F",
                "9223372036854775807",
                "-9223372036854775808",
                "input.now",
                "input.transfer.amount.minorUnits",
                "input.transfer.amount.scale",
                "input.agreement.request.fees.scale",
                "input.agreement.response.expiration",
            ]);
        }
        let text = match self.dice.below(8) {
            0 => format!("size({})", self.text(depth - 1)),
            1 => format!("{}.size()", self.text(depth - 1)),
            2 => format!("-{}", self.int(depth - 1)),
            3 => format!(
                "{} ? {} : {}",
                self.bool(depth - 1),
                self.int(0),
                self.int(depth - 1)
            ),
            _ => {
                let operator = self.pick(&["+", "-", "*", "/", "%"]);
                format!("{} {operator} {}", self.int(depth - 1), self.int(depth - 1))
            }
        };
        self.around(text)
    }

    fn text(&mut self, depth: u64) -> String {
        if depth == 0 || self.dice.chance(60) {
            return self.pick(&[
                r#""""#,
                r#""a""#,
                r#"'payer'"#,
                r#""caf\u00e9""#,
                r#"r"a\b""#,
                "'''fsp'''",
                r#""\"\t\x41\101""#,
                "input.transfer.payerFsp",
                "input.transfer.amount.currency",
                "input.agreement.request.payee.subIdOrType",
                "input.agreement.request.payer.subIdOrType",
            ]);
        }
        let text = format!(
            "{} ? {} : {}",
            self.bool(depth - 1),
            self.text(0),
            self.text(depth - 1)
        );
        format!("({text})")
    }
}

#[test]
fn conditions_have_the_values_of_another_cel() {
    let mut texts = Texts {
        dice: Dice::new(41),
    };
    let (mut true_ones, mut false_ones, mut failures) = (0, 0, 0);
    for has_agreement in [true, false] {
        let input = to_prepare(has_agreement);
        let input = Record::TransferPrepareInput(&input);
        let mut context = Context::default();
        context.add_variable_from_value("input", map_of(Step::TransferPrepare.input(), input));
        for _ in 0..1500 {
            let depth = 1 + texts.dice.below(4);
            let text = texts.bool(depth);
            // Without parentheses many texts have wrong types, and some are too long.
            let Ok(node) = check::condition(&text, Step::TransferPrepare.input()) else {
                continue;
            };
            let own = evaluate::holds(&node, input);
            let other = Program::compile(&text).unwrap().execute(&context);
            match (&own, &other) {
                (Ok(own), Ok(Value::Bool(other))) if own == other => {
                    *(if *own {
                        &mut true_ones
                    } else {
                        &mut false_ones
                    }) += 1;
                }
                (Err(_), Err(_)) => failures += 1,
                _ => panic!("{text}: {own:?}, but {other:?}"),
            }
        }
    }
    let least = true_ones.min(false_ones).min(failures);
    assert!(least > 200, "{true_ones} {false_ones} {failures}");
}
