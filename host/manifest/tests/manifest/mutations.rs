//! Reading any document ends with a scheme, or with problems that have a position.

use std::fs;

use proptest::prelude::*;
use rialto_manifest::{Diagnostics, Operator, Scheme};

use crate::support;

fn document(name: &str) -> String {
    fs::read_to_string(support::data().join("good/maximal").join(name)).expect("the document")
}

/// Leave out some lines, and put other text where some of them were.
fn mutated(text: &str, edits: &[(usize, String)]) -> String {
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    for (at, replacement) in edits {
        let at = at % lines.len();
        lines[at].clone_from(replacement);
    }
    lines.join("\n")
}

fn fragment() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        "[ -~ü\t]{0,30}",
        "[a-z-]{1,12} = (-?[0-9]{1,25}|\"[ -~&&[^\"\\\\]]{0,12}\"|true|1e999|nan|\\[\\]|\\{\\})",
        "\\[\\[?(contexts|rules|steps|participants|grants|listeners|x)(\\.[a-zA-Z-]{1,8})?\\]?\\]",
    ]
}

fn judge(text: &str, problems: &Diagnostics) -> Result<(), TestCaseError> {
    prop_assert!(!problems.problems().is_empty());
    for problem in problems.problems() {
        // Would say that schema and types have come apart.
        prop_assert!(!problem.message.starts_with("the document cannot be read"));
        let span = problem.span.clone().unwrap_or(0..0);
        prop_assert!(span.start <= span.end && span.end <= text.len());
        prop_assert!(!problem.message.is_empty() && problem.help.ends_with('.'));
    }
    // What to do is said once for several in a row.
    prop_assert!(problems.plain().lines().count() > problems.problems().len());
    prop_assert!(!problems.render(true, 60).is_empty());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_scheme_is_read_or_refused_with_a_place(
        edits in prop::collection::vec((any::<usize>(), fragment()), 1..5)
    ) {
        let text = mutated(&document("scheme.toml"), &edits);
        match Scheme::parse(&text) {
            Ok(scheme) => prop_assert!(scheme.scheme_json().contains("name")),
            Err(problems) => judge(&text, &problems)?,
        }
    }

    #[test]
    fn any_operators_document_is_read_or_refused_with_a_place(
        edits in prop::collection::vec((any::<usize>(), fragment()), 1..5)
    ) {
        let text = mutated(&document("rialto.toml"), &edits);
        if let Err(problems) = Operator::parse(&text) {
            judge(&text, &problems)?;
        }
    }
}
