//! `rialto receipts verify`: whether receipts in a file are those that a host has made, and whether their rules say the same
//! again on this machine.

use std::path::PathBuf;

use anyhow::bail;
use rialto_audit::PublicKey;
use rialto_components::rules::Outcome;
use rialto_receipts::fields::DECIDED;
use rialto_receipts::{Disclosed, NotProven, ReceiptProof, Verified, WhatIfReceipt};
use serde::Serialize;
use serde_json::json;

use super::again::{Again, Components};
use super::read;
use crate::{audit_key, out, words};

/// Reads the file alone: no host, no store, no network.
#[derive(Debug, clap::Args)]
pub(super) struct Verify {
    /// The file that `rialto receipts ID --out` has written.
    file: PathBuf,
    /// The public key of the host's audit log, PEM, from somebody whom you believe. Several for several
    /// A file that has only receipts of what-ifs needs none, because nobody has signed them.
    #[arg(long = "key", value_name = "FILE")]
    keys: Vec<PathBuf>,
    /// A rule's component: receipts of these bytes are asked again, with the same input and settings. Several for several
    #[arg(long = "component", value_name = "FILE")]
    components: Vec<PathBuf>,
    /// Print one JSON object per receipt.
    #[arg(long)]
    json: bool,
}

/// What was found about one receipt.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Finding {
    /// Its number in the store; none for a what-if, which is in no store.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    /// The hash of a what-if, which decided nothing and is proven by nobody.
    #[serde(skip_serializing_if = "Option::is_none")]
    what_if: Option<String>,
    /// Why it is not proven.
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fields: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    again: Option<Again>,
}

impl Verify {
    pub fn run(self) -> anyhow::Result<u8> {
        let keys = self.keys.iter().map(|file| audit_key::public_key(file));
        let keys: Vec<PublicKey> = keys.collect::<Result<_, _>>()?;
        let file = read(&self.file)?;
        if file.receipts.is_empty() && file.what_ifs.is_empty() {
            bail!("{} has no receipt", self.file.display());
        }
        if keys.is_empty() && !file.receipts.is_empty() {
            bail!(
                "name the public key of the host's audit log with --key: the receipts are proven by it"
            );
        }
        let mut components = Components::open(&self.components)?;
        let mut is_good = true;
        for proof in &file.receipts {
            let verified = rialto_receipts::verify::verify(proof, &keys);
            let again = match &verified {
                Ok(verified) if !self.components.is_empty() => {
                    Some(components.ask(&verified.receipt, &file)?)
                }
                _ => None,
            };
            is_good &= verified.is_ok() && again.as_ref().is_none_or(Again::is_good);
            if self.json {
                out::json(&found(proof, &verified, again))?;
                continue;
            }
            match &verified {
                Ok(verified) => tell(proof, verified, again.as_ref())?,
                Err(error) => out::line(words::plain(&format!(
                    "receipt {} is not proven: {error}",
                    proof.id
                )))?,
            }
        }
        for draft in &file.what_ifs {
            let found = rialto_receipts::verify::examine(draft);
            let again = match &found {
                Ok(receipt) if !self.components.is_empty() => Some(components.ask(receipt, &file)?),
                _ => None,
            };
            is_good &= found.is_ok() && again.as_ref().is_none_or(Again::is_good);
            if self.json {
                out::json(&drafted(draft, &found, again))?;
                continue;
            }
            match &found {
                Ok(receipt) => tell_draft(draft, receipt, again.as_ref())?,
                Err(error) => out::line(words::plain(&format!(
                    "what-if {} does not hold: {error}",
                    draft.hash
                )))?,
            }
        }
        for unused in components.unused() {
            is_good = false;
            out::note(format_args!(
                "no receipt in the file is of {}",
                unused.display()
            ));
        }
        for unproven in &file.unproven {
            let why = unproven.why.words();
            out::note(format_args!(
                "receipt {} is not in the file: {why}",
                unproven.id
            ));
        }
        Ok(u8::from(!is_good))
    }
}

fn found(
    proof: &ReceiptProof,
    verified: &Result<Verified, NotProven>,
    again: Option<Again>,
) -> Finding {
    let good = verified.as_ref().ok();
    Finding {
        id: Some(proof.id),
        what_if: None,
        fault: verified.as_ref().err().map(ToString::to_string),
        proof: good.map(|verified| {
            let checkpoint = &verified.checkpoint;
            json!({
                "log": checkpoint.origin, "entry": proof.index, "entries": checkpoint.size,
                "root": checkpoint.root.to_string(), "fields": proof.digests.len(), "redacted": verified.receipt.redacted,
            })
        }),
        fields: good.map(|verified| json!(verified.receipt.fields)),
        again,
    }
}

fn drafted(
    draft: &WhatIfReceipt,
    found: &Result<Disclosed, NotProven>,
    again: Option<Again>,
) -> Finding {
    Finding {
        id: None,
        what_if: Some(draft.hash.clone()),
        fault: found.as_ref().err().map(ToString::to_string),
        proof: None,
        fields: found.as_ref().ok().map(|receipt| json!(receipt.fields)),
        again,
    }
}

/// Prints what a receipt says.
fn tell_fields(name: &str, receipt: &Disclosed) -> anyhow::Result<()> {
    let text = |name: &str| {
        let text: Option<String> = receipt.field(name);
        text.unwrap_or_else(|| "(taken away)".to_owned())
    };
    let at: Option<u64> = receipt.field("at");
    let at = at.map_or_else(|| "(taken away)".to_owned(), words::instant);
    let verdict: Option<Outcome> = receipt.field("verdict");
    let verdict = verdict.map_or_else(|| "(taken away)".to_owned(), |one| words::verdict(&one));
    let marks = ["shadow", "canary", "quarantined", "lastGoodFor", "agreed"].into_iter();
    let marks = marks.filter(|mark| receipt.fields.contains_key(*mark));
    let marks: String = marks.map(|mark| format!(", {mark}")).collect();
    out::line(words::plain(&format!(
        "{name} of {at}: {} at {} about {}{marks}: {verdict}",
        text("rule"),
        text("step"),
        text("subject"),
    )))?;
    Ok(())
}

/// Prints how much of a receipt is there, and what its rule says now.
fn tell_rest(receipt: &Disclosed, digests: usize, again: Option<&Again>) -> anyhow::Result<()> {
    if receipt.redacted > 0 {
        out::line(format_args!(
            "  {} of {digests} fields were taken away",
            receipt.redacted
        ))?;
    }
    if let Some(again) = again {
        out::line(words::plain(&format!("  {}", again.words())))?;
    }
    Ok(())
}

/// Prints what holds of a receipt of a what-if.
fn tell_draft(
    draft: &WhatIfReceipt,
    receipt: &Disclosed,
    again: Option<&Again>,
) -> anyhow::Result<()> {
    tell_fields(&format!("what-if {}", draft.hash), receipt)?;
    out::line("  WHAT-IF: IT IS ABOUT A DRAFT AND DECIDED NOTHING")?;
    out::line(
        "  nobody has signed it, and no audit log has it; only its rule can prove what it says",
    )?;
    tell_rest(receipt, draft.digests.len(), again)
}

/// Prints what holds of a receipt.
fn tell(proof: &ReceiptProof, verified: &Verified, again: Option<&Again>) -> anyhow::Result<()> {
    let receipt = &verified.receipt;
    tell_fields(&format!("receipt {}", proof.id), receipt)?;
    match receipt.field(DECIDED) {
        Some(true) => {}
        Some(false) => out::line("  IT DECIDED NOTHING: another verdict did")?,
        None => out::line("  it is not proven that it decided about the request")?,
    }
    let checkpoint = &verified.checkpoint;
    out::line(words::plain(&format!(
        "  proven by entry {} of the audit log {}, in its signed checkpoint of {} entries",
        proof.index, checkpoint.origin, checkpoint.size
    )))?;
    tell_rest(receipt, proof.digests.len(), again)
}
