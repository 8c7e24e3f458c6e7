//! Conditions that are refused, with the places of their mistakes.

use crate::check;
use crate::settings::Step;
use rialto_sdk::testing::Dice;

fn mistake(text: &str, step: Step) -> Option<(usize, String)> {
    let mistake = check::condition(text, step.input()).err()?;
    Some((mistake.character, mistake.message))
}

#[test]
fn mistakes_have_place_and_advice() {
    for (text, character, words) in [
        (
            "1 == 1 && transfer.amount == 1",
            11,
            "no variable `transfer`: start with `input`",
        ),
        (
            "input.now > 0 && input.transfer.amont.scale > 1",
            33,
            "use transferId, payerFsp",
        ),
        ("input.request.amount", 7, "use now, transfer, agreement"),
        ("input.now.seconds > 1", 11, "before it is a whole number"),
        (
            "input.transfer.amount.units > 1",
            23,
            "use currency, scale, minorUnits",
        ),
        ("has(input.agreements)", 11, "There is no `agreements`"),
        ("input.transfer.amount > 5", 1, "write amount(…) around it"),
        ("5 < input.transfer.amount", 5, "write amount(…) around it"),
        ("amount(input.transfer) > 5", 8, "`amount` needs money"),
        (
            "amount(input.transfer.amount) > 100.5",
            33,
            "write decimal(\"100.00\")",
        ),
        (
            "amount(input.transfer.amount) > decimal(100)",
            41,
            "in quotation marks",
        ),
        (
            "amount(input.transfer.amount) > decimal(\"1,5\")",
            41,
            "in quotation marks",
        ),
        ("amount(input.transfer.amount) > \"100\"", 33, "not a text"),
        (
            "amount(input.transfer.amount) / 2 > 1",
            1,
            "multiply the other side",
        ),
        ("amount() > 1", 1, "`amount` needs one value"),
        ("input.now", 1, "The condition is a whole number"),
        ("input", 1, "a record"),
        ("input.now && true", 1, "This must be true or false"),
        (
            "true || \"no\"",
            9,
            "This must be true or false, not a text",
        ),
        ("true < false", 1, "no order"),
        ("!input.now", 2, "This must be true or false"),
        ("-input.transfer.payerFsp == 1", 2, "`-` needs a number"),
        (
            "input.transfer == input.transfer",
            1,
            "name one of its members",
        ),
        ("\"a\" + \"b\" == \"ab\"", 1, "A calculation needs numbers"),
        ("input.agreement == null", 20, "write has(input.…)"),
        ("input.now > 5u", 13, "no `u`"),
        ("input.transfer.payerFsp == b\"a\"", 28, "no bytes"),
        ("[1, 2].exists(x, x > 1)", 2, "`exists`"),
        ("[\"a\"].map(x, x) == [\"a\"]", 2, "`map`"),
        (
            "input.transfer.payerFsp in input.now",
            28,
            "`in` needs a list",
        ),
        (
            "input.now in [1, decimal(\"2\")]",
            1,
            "cannot be in a list of decimal numbers",
        ),
        (
            "input.transfer.payerFsp in [\"a\", 1]",
            34,
            "not a whole number",
        ),
        ("[1] == [1]", 2, "only after `in`"),
        ("{\"a\": 1}.a == 1", 2, "cannot be written"),
        ("input.transfer.payerFsp[0] == \"p\"", 1, "name a member"),
        (
            "input.transfer.payerFsp.matches(\"a*\")",
            25,
            "no function `.matches`",
        ),
        (
            "matches(input.transfer.payerFsp, \"a\")",
            1,
            "no function `matches`",
        ),
        (
            "input.transfer.payerFsp.startsWith(1)",
            36,
            "This must be a text",
        ),
        ("input.transfer.payerFsp.startsWith()", 25, "needs one text"),
        ("input.now.startsWith(\"1\")", 1, "This must be a text"),
        (
            "timestamp(\"2026-01-01T00:00:00Z\") < 1",
            1,
            "no function `timestamp`",
        ),
        ("true ? 1 : \"a\"", 12, "not a text"),
        (
            "input.agreement.request.amountType == \"SEND\"",
            39,
            "\"SEND\" never occurs here: use send, receive",
        ),
        (
            "\"SEND\" == input.agreement.request.amountType",
            1,
            "use send, receive",
        ),
        (
            "input.agreement.request.transactionType.scenario in [\"refund\", \"Deposit\"]",
            64,
            "use deposit, withdrawal",
        ),
        ("input.now == 1 input", 16, "'input'"),
        ("", 1, "no expression"),
    ] {
        let (place, message) = mistake(text, Step::TransferPrepare).expect(text);
        assert!(message.contains(words), "{text}: {message}");
        assert_eq!(place, character, "{text}: {message}");
    }
}

#[test]
fn members_of_other_steps_are_mistakes() {
    for (text, step) in [
        ("amount(input.request.amount) > 1", Step::QuoteRequest),
        (
            "amount(input.agreement.request.amount) > 1",
            Step::QuoteResponse,
        ),
        (
            "amount(input.transfer.amount) > 1 && has(input.agreement)",
            Step::TransferPrepare,
        ),
        ("has(input.completedTimestamp)", Step::TransferFulfil),
    ] {
        for other in [
            Step::QuoteRequest,
            Step::QuoteResponse,
            Step::TransferPrepare,
            Step::TransferFulfil,
        ] {
            let is_shared = step == Step::QuoteResponse && other == Step::TransferPrepare;
            let is_valid = mistake(text, other).is_none();
            assert_eq!(is_valid, other == step || is_shared, "{text} at {other}");
        }
    }
}

#[test]
fn levels_of_operators_are_bounded() {
    let sum = |terms: usize| format!("input.now > {}", vec!["1"; terms].join(" + "));
    assert_eq!(mistake(&sum(31), Step::QuoteRequest), None);
    let (_, message) = mistake(&sum(40), Step::QuoteRequest).unwrap();
    assert!(message.contains("more than 32 levels"), "{message}");
    // Chains of `&&` and `||` are balanced.
    let chain = vec!["true"; 128].join(" && ");
    assert_eq!(mistake(&chain, Step::QuoteRequest), None);
}

#[test]
fn any_words_are_a_condition_or_have_a_place() {
    let words = [
        "input",
        ".transfer",
        ".amount",
        ".agreement",
        ".request",
        ".payerFsp",
        ".now",
        "has(",
        "amount(",
        "decimal(",
        "\"1.5\"",
        "\"é\"",
        "(",
        ")",
        "[",
        "]",
        ",",
        " && ",
        " || ",
        "!",
        " == ",
        " < ",
        " + ",
        " / ",
        " in ",
        " ? ",
        " : ",
        "-",
        "1",
        "true",
        "null",
        "1.5",
        ".exists(x, ",
        ".size()",
        ".startsWith(",
        "{",
        "}",
        "x",
    ];
    let mut dice = Dice::new(23);
    for _ in 0..100_000 {
        let length = dice.below(20);
        let text: String = (0..length).map(|_| *dice.pick(&words)).collect();
        if let Some((place, message)) = mistake(&text, Step::TransferPrepare) {
            assert!(
                (1..=text.chars().count() + 1).contains(&place),
                "{text}: {message}"
            );
            assert!(
                !message.is_empty() && !message.contains('\n'),
                "{text}: {message}"
            );
        }
    }
}
