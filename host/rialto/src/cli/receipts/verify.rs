//! `rialto receipts verify`: whether receipts in a file are those that a host has made, and whether their rules say the same
//! again on this machine.

use std::path::PathBuf;

use anyhow::bail;
use rialto_audit::PublicKey;
use rialto_components::rules::Outcome;
use rialto_receipts::fields::DECIDED;
use rialto_receipts::{ReceiptProof, Verified};
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
    #[arg(long = "key", value_name = "FILE", required = true)]
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
    id: u64,
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
        if file.receipts.is_empty() {
            bail!("{} has no receipt", self.file.display());
        }
        let mut components = Components::open(&self.components)?;
        let mut is_good = true;
        for proof in &file.receipts {
            let verified = rialto_receipts::verify::verify(proof, &keys);
            let again = match &verified {
                Ok(verified) if !self.components.is_empty() => {
                    Some(components.ask(verified, &file)?)
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
    verified: &Result<Verified, rialto_receipts::NotProven>,
    again: Option<Again>,
) -> Finding {
    let good = verified.as_ref().ok();
    Finding {
        id: proof.id,
        fault: verified.as_ref().err().map(ToString::to_string),
        proof: good.map(|verified| {
            let checkpoint = &verified.checkpoint;
            json!({
                "log": checkpoint.origin, "entry": proof.index, "entries": checkpoint.size,
                "root": checkpoint.root.to_string(), "fields": proof.digests.len(), "redacted": verified.redacted,
            })
        }),
        fields: good.map(|verified| json!(verified.fields)),
        again,
    }
}

/// Prints what holds of a receipt.
fn tell(proof: &ReceiptProof, verified: &Verified, again: Option<&Again>) -> anyhow::Result<()> {
    let text = |name: &str| {
        let text: Option<String> = verified.field(name);
        text.unwrap_or_else(|| "(taken away)".to_owned())
    };
    let at: Option<u64> = verified.field("at");
    let at = at.map_or_else(|| "(taken away)".to_owned(), words::instant);
    let verdict: Option<Outcome> = verified.field("verdict");
    let verdict = verdict.map_or_else(|| "(taken away)".to_owned(), |one| words::verdict(&one));
    let marks = ["shadow", "canary", "quarantined", "lastGoodFor", "agreed"].into_iter();
    let marks = marks.filter(|mark| verified.fields.contains_key(*mark));
    let marks: String = marks.map(|mark| format!(", {mark}")).collect();
    out::line(words::plain(&format!(
        "receipt {} of {at}: {} at {} about {}{marks}: {verdict}",
        proof.id,
        text("rule"),
        text("step"),
        text("subject"),
    )))?;
    match verified.field(DECIDED) {
        Some(true) => {}
        Some(false) => out::line("  IT DECIDED NOTHING: another verdict did")?,
        None => out::line("  it is not proven that it decided about the request")?,
    }
    let checkpoint = &verified.checkpoint;
    out::line(words::plain(&format!(
        "  proven by entry {} of the audit log {}, in its signed checkpoint of {} entries",
        proof.index, checkpoint.origin, checkpoint.size
    )))?;
    if verified.redacted > 0 {
        out::line(format_args!(
            "  {} of {} fields were taken away",
            verified.redacted,
            proof.digests.len()
        ))?;
    }
    if let Some(again) = again {
        out::line(words::plain(&format!("  {}", again.words())))?;
    }
    Ok(())
}
