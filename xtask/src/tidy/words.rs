//! The host has no payment words: only `plugins/`, `wit/` and `schemes/` are about payments. The rule checks
//! names and texts in the code of host crates; comments and tests may have examples.

use std::path::Path;

use super::Finding;
use super::files::TextFile;
use super::sources::begins_tests;

/// The payment words, as in code.
const PAYMENT: [&str; 27] = [
    "currencies",
    "currency",
    "fsp",
    "fspiop",
    "fsps",
    "ilp",
    "ledger",
    "ledgers",
    "liquidity",
    "msisdn",
    "participant",
    "participants",
    "parties",
    "party",
    "payee",
    "payees",
    "payer",
    "payers",
    "payment",
    "payments",
    "quote",
    "quotes",
    "quoting",
    "settlement",
    "settlements",
    "transfer",
    "transfers",
];

/// Names of standards that contain them: of HTTP, and of Web Authentication.
const NOT_MEANT: [&str; 8] = [
    "relying party",
    "relying-party",
    "relying_party",
    "relyingParty",
    "RelyingParty",
    "transfer-encoding",
    "Transfer-Encoding",
    "TRANSFER_ENCODING",
];

/// Files and folders that may have some of the words, each with the reason.
const EXCEPTIONS: [(&str, &[&str], &str); 18] = [
    (
        "host/manifest/src",
        &[
            "currencies",
            "currency",
            "fsp",
            "fspiop",
            "fsps",
            "liquidity",
            "participant",
            "participants",
            "quoting",
        ],
        "a scheme's document names its currencies and participants, and their opening liquidity; \
         messages and schemas give examples of names",
    ),
    (
        "host/rialto/src/plan",
        &[
            "currencies",
            "currency",
            "liquidity",
            "participant",
            "participants",
        ],
        "a plan says in words what differs between two of a scheme's documents",
    ),
    (
        "host/rialto/src/words/wiring.rs",
        &[
            "currencies",
            "currency",
            "liquidity",
            "participant",
            "participants",
        ],
        "shows what a scheme's document says",
    ),
    (
        "host/ledger/src",
        &PAYMENT,
        "reads the documents of the ledger for operators; nothing that moves money depends on it",
    ),
    (
        "host/rialto/src/books.rs",
        &["ledger"],
        "has the ledger checked for operators",
    ),
    (
        "host/rialto/src/stored.rs",
        &["ledger"],
        "opens the ledger for operators",
    ),
    (
        "host/rialto/src/ops/books.rs",
        &["ledger"],
        "shows the ledger to operators",
    ),
    (
        "host/rialto/src/cli/mod.rs",
        &["ledger", "participant", "settlement"],
        "names the verbs `rialto ledger`, `rialto participant` and `rialto settlement`",
    ),
    (
        "host/rialto/src/cli/ledger.rs",
        &PAYMENT,
        "shows what that says",
    ),
    (
        "host/rialto/src/cli/store.rs",
        &["ledger"],
        "tells operators to run `rialto ledger check` on a copy",
    ),
    (
        "host/rialto/src/cli/office",
        &PAYMENT,
        "is the command line of contexts for operators; nothing that serves depends on it",
    ),
    (
        "host/rialto/src/cli/init.rs",
        &["currencies", "fsps", "participant", "participants"],
        "copies the documents of schemes/, without those who take part",
    ),
    (
        "host/rialto/src/cli/simulate.rs",
        &PAYMENT,
        "brings up the simulated FSPs of tests/simulator",
    ),
    (
        "host/rialto/src/cli/bench",
        &PAYMENT,
        "measures payments between the simulated FSPs of tests/simulator",
    ),
    (
        "host/rialto/src/backtest",
        &[
            "currency",
            "fsp",
            "participant",
            "payee",
            "payer",
            "transfer",
        ],
        "reports by who pays whom, and how much; nothing that serves depends on it",
    ),
    (
        "host/rialto/src/cli/backtest.rs",
        &["currency", "participant", "payee", "payer"],
        "selects by them",
    ),
    (
        "host/rialto/src/kit/new.rs",
        &["quote", "transfer"],
        "names the steps for which it makes rules",
    ),
    (
        "host/rialto/src/words/backtest.rs",
        &["currency", "payee", "payer"],
        "shows that report",
    ),
];

/// Payment words in the code of a host crate.
pub fn findings(file: &TextFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !is_host_code(&file.path) {
        return findings;
    }
    let allowed = allowed(&file.path);
    for (n, line) in file.text.lines().enumerate() {
        if begins_tests(&file.text, n, line) {
            break;
        }
        for word in words(line) {
            if !allowed.contains(&word.as_str()) {
                findings.push(Finding {
                    file: file.path.clone(),
                    line: n + 1,
                    message: format!(
                        "`{word}` is a payment word: the host works for any; name what it is to the host, \
                         or put it where payments are, in plugins/, wit/ or schemes/"
                    ),
                });
            }
        }
    }
    findings
}

fn is_host_code(path: &Path) -> bool {
    let parts: Vec<_> = path.iter().filter_map(|part| part.to_str()).collect();
    matches!(parts.as_slice(), ["host", _, "src", ..])
        && path.extension().is_some_and(|extension| extension == "rs")
}

fn allowed(path: &Path) -> &'static [&'static str] {
    let text = path.to_str().unwrap_or_default();
    let named = |prefix: &str| {
        let rest = text.strip_prefix(prefix);
        rest.is_some_and(|rest| matches!(rest, "" | ".rs") || rest.starts_with('/'))
    };
    let exception = EXCEPTIONS.iter().find(|(prefix, ..)| named(prefix));
    exception.map_or(&[], |(_, words, _)| words)
}

/// The payment words of a line of code. A name is split into words: `FspId` has `fsp`, `payer_of` has `payer`,
/// and `concurrency` has none.
fn words(line: &str) -> Vec<String> {
    let mut code = line.split("//").next().unwrap_or(line).to_owned();
    for other in NOT_MEANT {
        code = code.replace(other, "");
    }
    let mut parts = vec![String::new()];
    let mut before = ' ';
    for c in code.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && before.is_lowercase()) {
            parts.push(String::new());
        }
        if c.is_alphanumeric() {
            parts
                .last_mut()
                .expect("there is one from the start")
                .extend(c.to_lowercase());
        }
        before = c;
    }
    parts.retain(|part| PAYMENT.contains(&part.as_str()));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        let file = TextFile {
            path: path.into(),
            text: text.to_owned(),
        };
        findings(&file).len()
    }

    #[test]
    fn names_and_texts_are_taken_apart() {
        assert_eq!(
            words("let payer_of = FspId::new(); // a ledger"),
            ["payer", "fsp"]
        );
        assert_eq!(
            words("\"rialto:transfers/x\", PARTY_MAX, FSPs"),
            ["transfers", "party", "fsps"]
        );
        assert_eq!(
            words("concurrency.transferred(); quoted; counterparty"),
            [""; 0]
        );
        assert_eq!(words("(TRANSFER_ENCODING, \"Transfer-Encoding\")"), [""; 0]);
    }

    #[test]
    fn only_the_code_of_host_crates_is_looked_at() {
        let line = "//! The ledger.\nlet ledger = 1;\n";
        assert_eq!(found("host/engine/src/a/b.rs", line), 1);
        assert_eq!(found("host/engine/tests/a.rs", line), 0);
        assert_eq!(found("plugins/sdk/src/lib.rs", line), 0);
        let tests = "//! A.\n#[cfg(test)]\nmod tests {\n    ledger();\n}\n";
        assert_eq!(found("host/engine/src/a.rs", tests), 0);
    }

    #[test]
    fn an_exception_is_for_its_own_files_and_words() {
        let (currency, ledger) = ("//! A.\ncurrency\n", "//! A.\nledger\n");
        assert_eq!(found("host/manifest/src/check/scheme.rs", currency), 0);
        assert_eq!(found("host/manifest/src/check/scheme.rs", ledger), 1);
        assert_eq!(found("host/ledger/src/check/mod.rs", ledger), 0);
        assert_eq!(found("host/rialto/src/cli/bench.rs", ledger), 0);
        assert_eq!(found("host/rialto/src/cli/bench/place.rs", ledger), 0);
        assert_eq!(found("host/rialto/src/cli/benches.rs", ledger), 1);
        assert_eq!(found("host/rialto/src/host.rs", currency), 1);
    }
}
