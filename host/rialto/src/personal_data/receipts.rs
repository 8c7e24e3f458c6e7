//! Receipts: what a rule was asked names the payer and the payee, so a receipt's body is encrypted as a whole.

use data_encoding::BASE64;
use rialto_engine::store::Receipt;
use rialto_personal_data::People;
use serde::{Deserialize, Serialize};

use super::{HostPeople, Named, TAKEN_AWAY, opened_text};

/// What is encrypted is a receipt.
const KIND: &str = "receipt";

/// The body of an encrypted receipt.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SealedBody {
    /// Base64.
    sealed: String,
}

/// A receipt as far as it can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenedReceipt {
    /// The receipt. If its body cannot be read, it is what the store has.
    pub receipt: Receipt,
    /// Whether the body can be read.
    pub is_readable: bool,
}

impl OpenedReceipt {
    /// A receipt of a host without keys of people.
    #[must_use]
    pub fn plain(receipt: Receipt) -> Self {
        let is_readable = sealed_body(&receipt.body).is_none();
        Self {
            receipt,
            is_readable,
        }
    }
}

impl HostPeople {
    pub(super) fn seal_receipt(&self, named: &Named, receipt: &mut Receipt) {
        let sealed = self.sealed(named, KIND, receipt.body.as_bytes());
        let sealed = sealed.map_or_else(|| TAKEN_AWAY.to_owned(), |bytes| BASE64.encode(&bytes));
        receipt.body = serde_json::json!({ "sealed": sealed }).to_string().into();
        if let Some(pseudonym) = self.people.pseudonym(&receipt.subject) {
            receipt.subject = pseudonym.into();
        }
    }
}

/// A receipt, with its body decrypted if its keys are there.
pub(super) fn open(people: &People, receipt: Receipt) -> OpenedReceipt {
    let Some(SealedBody { sealed }) = sealed_body(&receipt.body) else {
        return OpenedReceipt {
            receipt,
            is_readable: true,
        };
    };
    match opened_text(people, KIND, &sealed) {
        Some(body) => OpenedReceipt {
            receipt: Receipt {
                body: body.into(),
                ..receipt
            },
            is_readable: true,
        },
        None => OpenedReceipt {
            receipt,
            is_readable: false,
        },
    }
}

/// The body of an encrypted receipt; none for a plain one.
fn sealed_body(body: &str) -> Option<SealedBody> {
    // A plain one has thousands of bytes and begins otherwise.
    let is_sealed = body.starts_with("{\"sealed\":");
    is_sealed.then(|| serde_json::from_str(body).ok()).flatten()
}
