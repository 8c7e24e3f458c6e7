//! Conditions and their values.

use super::{NOW, to_fulfil, to_prepare, to_request, to_respond};
use crate::failure::Failure;
use crate::input::{Kind, Record, Type, Value};
use crate::settings::Step;
use crate::{check, evaluate};
use rialto_sdk::money::money;

/// The value of a condition; a failure as text.
fn decided(text: &str, input: Record<'_>) -> Result<bool, String> {
    let kind = input.step().unwrap().input();
    let node = check::condition(text, kind).unwrap_or_else(|mistake| panic!("{text}: {mistake:?}"));
    evaluate::holds(&node, input).map_err(|failure| failure.to_string())
}

fn prepare(text: &str) -> Result<bool, String> {
    decided(text, Record::TransferPrepareInput(&to_prepare(true)))
}

#[test]
fn amounts_compare_exactly() {
    for (text, expected) in [
        (
            r#"amount(input.transfer.amount) == decimal("100.50")"#,
            true,
        ),
        (
            r#"amount(input.transfer.amount) > decimal("100.50")"#,
            false,
        ),
        (
            r#"amount(input.transfer.amount) > decimal("100.499999999999999999")"#,
            true,
        ),
        (
            r#"amount(input.transfer.amount) < decimal("100.500000000000000001")"#,
            true,
        ),
        ("amount(input.transfer.amount) > 100", true),
        ("101 > amount(input.transfer.amount)", true),
        ("amount(input.transfer.amount) != 100", true),
        (
            r#"amount(input.transfer.amount) in [decimal("1"), 100, decimal("100.5")]"#,
            true,
        ),
        (
            r#"amount(input.transfer.amount) in [decimal("1"), 100]"#,
            false,
        ),
        (
            r#"amount(input.transfer.amount) * decimal("0.015") == decimal("1.5075")"#,
            true,
        ),
        (
            r#"amount(input.agreement.response.payeeFspFee) > amount(input.agreement.response.transferAmount) * decimal("0.015")"#,
            false,
        ),
        (
            r#"amount(input.agreement.response.payeeFspFee) >= amount(input.agreement.response.transferAmount) * decimal("0.015")"#,
            true,
        ),
        (
            "amount(input.transfer.amount) - amount(input.agreement.response.transferAmount) == decimal(\"0.5\")",
            true,
        ),
        ("-amount(input.transfer.amount) < 0", true),
        (
            "amount(input.transfer.amount) + 1 <= decimal(\"101.5\")",
            true,
        ),
        (
            "input.transfer.amount.minorUnits == 10050 && input.transfer.amount.scale == 2",
            true,
        ),
        (
            "decimal(\"0.1\") + decimal(\"0.2\") == decimal(\"0.3\")",
            true,
        ),
        ("(true ? decimal(\"1.5\") : 2) < 2", true),
    ] {
        assert_eq!(prepare(text), Ok(expected), "{text}");
    }
}

#[test]
fn amounts_that_do_not_go_together_fail() {
    for (text, words) in [
        (
            "amount(input.agreement.response.payeeReceiveAmount) < amount(input.transfer.amount)",
            "EUR does not compare with USD",
        ),
        (
            "amount(input.transfer.amount) * amount(input.transfer.amount) > 0",
            "an amount times an amount",
        ),
        ("amount(input.agreement.request.fees) > 0", "fees is absent"),
        (
            "input.now / (input.transfer.amount.scale - 2) > 0",
            "division by zero",
        ),
        ("input.now % 0 > 0", "division by zero"),
        (
            "9223372036854775807 + input.transfer.amount.scale > 0",
            "too large",
        ),
    ] {
        assert!(prepare(text).unwrap_err().contains(words), "{text}");
    }
}

#[test]
fn numbers_of_inputs_that_do_not_fit_fail() {
    let mut input = to_prepare(false);
    input.transfer.amount = money("USD", 2, u128::from(u64::MAX));
    input.now = u64::MAX;
    let decided = |text: &str| decided(text, Record::TransferPrepareInput(&input));
    assert!(decided("input.transfer.amount.minorUnits > 0").is_err());
    assert!(decided("input.now > 0").is_err());
    let exact = r#"amount(input.transfer.amount) == decimal("184467440737095516.15")"#;
    assert_eq!(decided(exact), Ok(true));
}

#[test]
fn absent_members_fail_unless_has_guards_them() {
    let input = to_prepare(false);
    let decided = |text: &str| decided(text, Record::TransferPrepareInput(&input));
    let member = "input.agreement.request.payerFsp == \"payerfsp\"";
    let absent = Err("agreement is absent".to_owned());
    assert_eq!(decided(member), absent);
    assert_eq!(decided("has(input.agreement.request)"), absent);
    assert_eq!(decided(&format!("!({member})")), absent);
    assert_eq!(decided(&format!("{member} ? true : true")), absent);
    assert_eq!(decided("has(input.agreement)"), Ok(false));
    assert_eq!(
        decided(&format!("has(input.agreement) && {member}")),
        Ok(false)
    );
    // As in every CEL, a side that decides alone hides a failure of the other side.
    assert_eq!(decided(&format!("{member} && false")), Ok(false));
    assert_eq!(decided(&format!("{member} || true")), Ok(true));
    assert_eq!(decided(&format!("{member} || false")), absent);
    assert_eq!(decided(&format!("true && {member}")), absent);
}

#[test]
fn texts_are_tested() {
    let input = to_request();
    let decided = |text: &str| decided(text, Record::QuoteRequestInput(&input));
    for (text, expected) in [
        (r#"input.request.payee.subIdOrType == "café""#, true),
        ("input.request.payee.subIdOrType.size() == 4", true),
        ("size(input.request.payee.subIdOrType) == 4", true),
        (r#"input.request.payerFsp.startsWith("payer")"#, true),
        (r#"input.request.payerFsp.startsWith("Payer")"#, false),
        (r#"input.request.payerFsp.endsWith('fsp')"#, true),
        (r#"input.request.payee.idType.contains("SIS")"#, true),
        (r#"input.request.payerFsp < input.request.payeeFsp"#, false),
        (r#"input.request.amountType == "send""#, true),
        (
            r#"input.request.amountType != input.request.payerFsp"#,
            true,
        ),
        (
            r#"input.request.transactionType.scenario in ["deposit", "transfer"]"#,
            true,
        ),
        (
            r#"input.request.transactionType.initiatorType in []"#,
            false,
        ),
        (r#"has(input.request.transactionType.subScenario)"#, false),
        (r#"has(input.request.quoteId)"#, true),
        ("(input.now / 3600000) % 24 == 9", true),
        ("input.request.expiration - input.now == 60000", true),
        ("// a comment\n true", true),
    ] {
        assert_eq!(decided(text), Ok(expected), "{text}");
    }
}

#[test]
fn every_step_has_its_input() {
    let fulfil = to_fulfil(Some(NOW - 1));
    let fulfil = Record::TransferFulfilInput(&fulfil);
    assert_eq!(
        decided("input.completedTimestamp < input.now", fulfil),
        Ok(true)
    );
    let fulfil = to_fulfil(None);
    let fulfil = Record::TransferFulfilInput(&fulfil);
    assert_eq!(decided("has(input.completedTimestamp)", fulfil), Ok(false));
    let respond = to_respond();
    let respond = Record::QuoteResponseInput(&respond);
    let text = "amount(input.agreement.response.payeeFspFee) == decimal(\"1.5\")";
    assert_eq!(decided(text, respond), Ok(true));
}

/// Reads all members of a record and of the records in it. Checks that values have the types of the members.
fn walk(kind: Kind, record: Record<'_>, names: &mut Vec<String>, path: &str) {
    for member in kind.members() {
        let path = format!("{path}.{}", member.name);
        let value = (member.read)(record).unwrap();
        match (member.of, value) {
            (Type::Int, Some(Value::Int(_))) | (Type::Text, Some(Value::Text(_))) => (),
            (Type::Word(words), Some(Value::Text(text))) => assert!(words.contains(&text)),
            (Type::Money, Some(Value::Record(record))) => walk(Kind::Money, record, names, &path),
            (Type::Record(kind), Some(Value::Record(record))) => walk(kind, record, names, &path),
            (_, None) => assert!(member.is_optional, "{path}"),
            (of, value) => panic!("{path} is {value:?}, not {of:?}"),
        }
        names.push(path);
    }
}

#[test]
fn every_member_is_read_with_its_type() {
    let (request, respond) = (to_request(), to_respond());
    let (prepare, fulfil) = (to_prepare(true), to_fulfil(Some(1)));
    for (step, record, count) in [
        (Step::QuoteRequest, Record::QuoteRequestInput(&request), 26),
        (
            Step::QuoteResponse,
            Record::QuoteResponseInput(&respond),
            43,
        ),
        (
            Step::TransferPrepare,
            Record::TransferPrepareInput(&prepare),
            53,
        ),
        (
            Step::TransferFulfil,
            Record::TransferFulfilInput(&fulfil),
            12,
        ),
    ] {
        let mut names = Vec::new();
        walk(step.input(), record, &mut names, "input");
        assert_eq!(names.len(), count, "{names:#?}");
        assert_eq!(record.step(), Some(step));
        let money = money("USD", 2, 1);
        let other = Record::Money(&money);
        let member = &step.input().members()[0];
        assert_eq!((member.read)(other).err(), Some(Failure::WrongType));
    }
}
