//! The rows of the catalogue of interfaces that this suite is about, and which of them have been
//! seen to work.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use http::Method;
use rialto_tests::catalogue;
use serde::Deserialize;

/// The whole catalogue, if it exists beside the repository.
const CATALOGUE: &str = "../shared/spec/interfaces.json";
/// This suite's rows of it.
const OWN: &str = include_str!("../interfaces.json");
/// The publishers of the events in the copy of the catalogue.
const PROVIDERS: [&str; 7] = [
    "FSP Interop API BC",
    "Agreements/Quotes BC",
    "Settlements BC",
    "Transfers BC",
    "Notifications & Alerts BC",
    "Participant Lifecycle Management BC",
    PLATFORM_CONFIGURATION,
];
const PLATFORM_CONFIGURATION: &str = "Platform Configuration";

/// A row.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Row {
    /// Its id, such as `A-POST-transfers` or `EV-TransferPrepared`.
    pub id: String,
    /// The section: `A` to `E` or `Events`.
    pub section: String,
    /// The name as the brief has it.
    pub name: String,
    /// Its provider.
    pub provider: String,
}

/// The providers of section C's rows about the log and the audit log, as the catalogue spells them.
const RECORD: [&str; 3] = ["Auditing BC", "Logging BC", "logging"];

impl Row {
    fn is_ours(&self) -> bool {
        let provider = self.provider.as_str();
        // Of section C, the contexts of Security and what registers applications.
        let is_security = provider.starts_with("Security BC") || self.name.starts_with("/app-");
        let is_record = RECORD.contains(&provider);
        matches!(self.section.as_str(), "A" | "B" | "D" | "E")
            || (self.section == "C" && (is_security || is_record))
            || (self.section == "Events" && PROVIDERS.contains(&provider))
    }

    /// Whether a case of this suite must see it. What operators do, and what other contexts call from
    /// outside, the end-to-end tests see (`participants.rs`, `grpc/`, `cryptography.rs`, `platform_configuration.rs`).
    fn is_judged_here(&self) -> bool {
        let elsewhere = [
            "Participant Lifecycle Management BC",
            PLATFORM_CONFIGURATION,
        ];
        self.section == "A"
            || (self.section == "Events" && !elsewhere.contains(&self.provider.as_str()))
    }

    /// Whether this is the row of an event of the contracts, such as `transfer-prepared`. A call that
    /// stands among the events says so in its name.
    fn is_event(&self, event: &str) -> bool {
        let name = self.name.trim_end_matches(" (gRPC)").to_lowercase();
        self.section == "Events" && name == event.replace('-', "")
    }
}

/// The rows that this suite is about.
///
/// # Errors
/// When the catalogue cannot be read, or says something else than this suite's copy.
pub fn rows() -> Result<Vec<Row>> {
    let own: Vec<Row> = serde_json::from_str(OWN).context("interfaces.json of this suite")?;
    let path = root().join(CATALOGUE);
    if !path.is_file() {
        return Ok(own);
    }
    let text = fs::read_to_string(&path)?;
    let all: Vec<Row> = serde_json::from_str(&text).context(CATALOGUE)?;
    let ours: Vec<Row> = all.into_iter().filter(Row::is_ours).collect();
    ensure!(
        ours == own,
        "{CATALOGUE} has other rows than tests/conformance/interfaces.json: copy them again"
    );
    Ok(ours)
}

/// The row of an event, if it has one: the brief names none for lookups.
pub fn row_of_event<'a>(rows: &'a [Row], event: &str) -> Option<&'a str> {
    let row = rows.iter().find(|row| row.is_event(event))?;
    Some(&row.id)
}

/// The row of a message of the API, if it has one. The brief names no error twins for lookups.
pub fn row_of_message(method: &Method, path: &str) -> Option<String> {
    let path = path.split('?').next().unwrap_or_default();
    let segments: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let (resource, rest) = segments.split_first()?;
    let is_error = rest.last() == Some(&"error");
    let place = match (*resource, rest.len(), is_error) {
        ("participants" | "parties", 2 | 3, false) => "-Type-ID",
        ("quotes" | "transfers", 0, false) => "",
        ("quotes" | "transfers", 1, false) => "-ID",
        ("quotes" | "transfers", 2, true) => "-ID-error",
        _ => return None,
    };
    Some(format!("A-{method}-{resource}{place}"))
}

/// Rows by their ids, with the cases that saw them work.
#[derive(Clone, Debug, Default)]
pub struct Seen(BTreeMap<String, BTreeSet<String>>);

impl Seen {
    /// A case has seen these rows.
    pub fn note(&mut self, case: &str, rows: &BTreeSet<String>) {
        for row in rows {
            self.0
                .entry(row.clone())
                .or_default()
                .insert(case.to_owned());
        }
    }

    fn has(&self, row: &Row) -> bool {
        self.0.contains_key(&row.id)
    }

    /// The rows of this suite that no case has seen.
    pub fn unseen<'a>(&self, rows: &'a [Row]) -> Vec<&'a Row> {
        let judged = rows.iter().filter(|row| row.is_judged_here());
        judged.filter(|row| !self.has(row)).collect()
    }

    /// How many rows have been seen, in one line for each section.
    pub fn counts(&self, rows: &[Row]) -> Vec<String> {
        let judged: Vec<&Row> = rows.iter().filter(|row| row.is_judged_here()).collect();
        let sections: BTreeSet<&str> = judged.iter().map(|row| row.section.as_str()).collect();
        let count = |section: &&str| {
            let of = judged.iter().filter(|row| row.section == **section);
            let of: Vec<&&Row> = of.collect();
            let seen = of.iter().filter(|row| self.has(row)).count();
            format!(
                "interfaces: section {section}: {seen} of {} rows seen",
                of.len()
            )
        };
        sections.iter().map(count).collect()
    }

    /// Write for each row the cases that saw it work to `target/interfaces.json`. What other suites have
    /// written of rows that are theirs to see stays.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, rows: &[Row]) -> Result<()> {
        catalogue::change(|cases| {
            for row in rows {
                let own = self.0.get(&row.id).cloned().unwrap_or_default();
                let all = cases.entry(row.id.clone()).or_default();
                if row.is_judged_here() {
                    *all = own;
                } else {
                    all.extend(own);
                }
            }
        })
    }
}

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_of_section_a_has_a_message() {
        let messages = [
            (Method::POST, "/participants/MSISDN/1"),
            (Method::DELETE, "/participants/MSISDN/1?currency=USD"),
            (Method::GET, "/participants/MSISDN/1"),
            (Method::PUT, "/participants/BUSINESS/1/2"),
            (Method::GET, "/parties/MSISDN/1"),
            (Method::PUT, "/parties/MSISDN/1"),
            (Method::POST, "/quotes"),
            (Method::PUT, "/quotes/1"),
            (Method::GET, "/quotes/1"),
            (Method::PUT, "/quotes/1/error"),
            (Method::POST, "/transfers"),
            (Method::PUT, "/transfers/1"),
            (Method::PATCH, "/transfers/1"),
            (Method::GET, "/transfers/1"),
            (Method::PUT, "/transfers/1/error"),
        ];
        let of_messages: BTreeSet<String> = messages
            .iter()
            .filter_map(|(method, path)| row_of_message(method, path))
            .collect();
        let rows: Vec<Row> = serde_json::from_str(OWN).unwrap();
        let of_section: BTreeSet<String> = rows
            .iter()
            .filter(|row| row.section == "A")
            .map(|row| row.id.clone())
            .collect();
        assert_eq!(of_messages, of_section);
        assert_eq!(
            row_of_message(&Method::PUT, "/parties/MSISDN/1/error"),
            None
        );
        assert_eq!(row_of_message(&Method::PUT, "/nothing"), None);
    }

    #[test]
    fn an_event_has_its_row_however_it_is_spelt() {
        let rows: Vec<Row> = serde_json::from_str(OWN).unwrap();
        for (event, row) in [
            ("transfer-prepared", "EV-TransferPrepared"),
            (
                "invalid-fsp-in-quote-request",
                "EV-InvalidFSPInQuoteRequest",
            ),
            (
                "transfer-fulfil-comit-request-timedout",
                "EV-TransferFulfilComitRequestTimedout",
            ),
        ] {
            assert_eq!(row_of_event(&rows, event), Some(row), "{event}");
        }
        assert_eq!(row_of_event(&rows, "party-query-received"), None);
        // A call, which stands among the events under a second name.
        assert_eq!(
            row_of_event(&rows, "liquidity-threshold-exceeded"),
            Some("EV-LiquidityThresholdExceeded-gRPC")
        );
    }

    #[test]
    fn rows_are_counted_by_section() {
        let rows: Vec<Row> = serde_json::from_str(OWN).unwrap();
        let mut seen = Seen::default();
        seen.note("a", &BTreeSet::from(["A-POST-transfers".to_owned()]));
        seen.note("b", &BTreeSet::from(["A-POST-transfers".to_owned()]));
        assert_eq!(
            seen.counts(&rows)[0],
            "interfaces: section A: 1 of 15 rows seen"
        );
        let judged = rows.iter().filter(|row| row.is_judged_here()).count();
        assert_eq!(seen.unseen(&rows).len(), judged - 1);
    }
}
