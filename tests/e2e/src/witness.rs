//! The witness: a context that consumes and stores every event of the contracts.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::office::OFFICE;
use crate::{Office, TestScheme, binaries};

/// The context.
const WITNESS: &str = "witness";
/// Its grants.
const CONTEXT: &str = "[contexts.witness]\ncomponent = \"components/witness.wasm\"\n\n\
                       [contexts.witness.grants]\nhost = [\"clock\", \"logging\", \"random\", \"storage\"]\n\n";
/// More events than arrive in a second.
const EACH_SECOND: usize = 1_000;

/// Put the witness into a scheme.
///
/// # Errors
/// When it has not been built, or the scheme cannot be written.
pub fn add(scheme: &TestScheme) -> Result<()> {
    fs::copy(binaries::plugin(WITNESS)?, scheme.component(WITNESS)).context("the witness")?;
    scheme.edit_with(|text| text.replacen("[rules.", &format!("{CONTEXT}[rules."), 1))?;
    scheme.lock()
}

/// Now, in milliseconds since 1970.
///
/// # Errors
/// When the clock is before that.
pub fn now() -> Result<u64> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    Ok(u64::try_from(now.as_millis())?)
}

/// An event as the witness got it.
#[derive(Clone, Debug)]
pub struct Told {
    /// Its name in the contracts, such as `transfer-prepared`.
    pub event: String,
    /// Its contents.
    pub content: Value,
}

/// The events that came since an instant, in milliseconds since 1970.
///
/// # Errors
/// When the host does not show them.
pub async fn since(office: &Office, from: u64) -> Result<Vec<Told>> {
    let mut events = Vec::new();
    for second in from / 1_000..=now()? / 1_000 {
        let path = format!("/documents/{WITNESS}/events?limit={EACH_SECOND}&prefix={second:010}");
        let all = office.get(OFFICE, &path).await?;
        let all = all.as_array().context("a list of documents")?;
        ensure!(all.len() < EACH_SECOND, "{path}: there are more");
        for shown in all {
            let at = shown["id"].as_str().and_then(|id| id.split('/').next());
            let at: u64 = at.context("an id")?.parse()?;
            if at >= from {
                let event = shown["body"]["event"].as_str().unwrap_or_default();
                events.push(Told {
                    event: event.to_owned(),
                    content: shown["body"]["content"].clone(),
                });
            }
        }
    }
    Ok(events)
}
