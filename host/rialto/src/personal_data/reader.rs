//! Reads items of archives with the keys alone, without a store and without a host.

use std::path::Path;

use anyhow::Context as _;
use rialto_engine::Timestamp;
use rialto_engine::history::Record;
use rialto_engine::store::Receipt;
use rialto_manifest::Operator;
use rialto_personal_data::People;
use serde_json::Value;

use super::{OpenedReceipt, documents, entries, opened_text, receipts, turns};

/// The keys of people, for reading.
#[derive(Debug)]
pub struct Reader(People);

impl Reader {
    /// The keys that the operator's document of the scheme in this folder names; none if it names none, or there is no file
    /// yet.
    ///
    /// # Errors
    /// When the file cannot be read, or is damaged.
    pub fn open(operator: &Operator, scheme: &Path) -> anyhow::Result<Option<Self>> {
        let Some(wanted) = &operator.personal_data else {
            return Ok(None);
        };
        let path = wanted.keys.from_folder(scheme);
        let kinds = wanted.subjects.iter().map(ToString::to_string).collect();
        let people = People::open(&path, kinds);
        Ok(people.context("reading the keys of people")?.map(Self))
    }

    /// The subjects under which archives have items about this one: a person's are under the pseudonym, and older ones
    /// under the name.
    #[must_use]
    pub fn subjects(&self, subject: &str) -> Vec<String> {
        let mut subjects = vec![subject.to_owned()];
        subjects.extend(self.0.pseudonym(subject));
        subjects
    }

    /// A receipt, with its body decrypted if its keys are there.
    #[must_use]
    pub fn receipt(&self, receipt: Receipt) -> OpenedReceipt {
        receipts::open(&self.0, receipt)
    }

    /// A line of an archive with what is encrypted in it; as it is if nothing is, or its keys are not there. An entry of
    /// the audit log stays, because its bytes are what is hashed, and has its clear form beside it, as `opened`.
    #[must_use]
    pub fn shown(&self, line: String) -> String {
        self.opened(&line).unwrap_or(line)
    }

    fn opened(&self, line: &str) -> Option<String> {
        let mut item: Value = serde_json::from_str(line).ok()?;
        let members = item.as_object_mut()?;
        if let Some(turn) = members.get_mut("turn") {
            let record: Record = serde_json::from_value(turn.take()).ok()?;
            *turn = serde_json::to_value(turns::open(&self.0, record)).ok()?;
        } else if let Some(receipt) = members.get_mut("receipt") {
            let stored = Receipt {
                id: 0,
                subject: "".into(),
                at: Timestamp(0),
                body: receipt.to_string().into(),
            };
            let body = receipts::open(&self.0, stored).receipt.body;
            *receipt = serde_json::from_str(&body).ok()?;
        } else if let Some(entry) = members.get("entry") {
            let opened = entries::open(&self.0, &entry.to_string())?;
            let opened = serde_json::from_str(&opened).ok()?;
            members.insert("opened".to_owned(), opened);
        } else if members.get("sealed")? == true {
            let opened = opened_text(&self.0, documents::KIND, members.get("document")?.as_str()?)?;
            members.insert("document".to_owned(), serde_json::from_str(&opened).ok()?);
            members.remove("sealed");
        }
        serde_json::to_string(&item).ok()
    }
}
