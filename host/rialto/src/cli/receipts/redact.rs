//! `rialto receipts redact`: the same receipts without some of their fields.

use std::path::PathBuf;

use anyhow::bail;

use rialto_receipts::fields::{DECIDED, WHAT_IF};

use super::{read, write};
use crate::out;

#[derive(Debug, clap::Args)]
pub(super) struct Redact {
    /// The file that `rialto receipts ID --out` has written.
    file: PathBuf,
    /// A field to take away, such as `input.payer` or `input`. Several for several
    #[arg(long = "field", value_name = "NAME", required = true)]
    fields: Vec<String>,
    /// The new file.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

impl Redact {
    pub fn run(self) -> anyhow::Result<u8> {
        if self.out.exists() {
            bail!(
                "{} exists: name a new file, or remove this one",
                self.out.display()
            );
        }
        let mut file = read(&self.file)?;
        let stays = |name: &&String| [DECIDED, WHAT_IF].contains(&name.as_str());
        if let Some(name) = self.fields.iter().find(stays) {
            bail!(
                "the field `{name}` cannot be taken away: it says whether the verdict decided about the request"
            );
        }
        for name in &self.fields {
            // Whoever misspells a name is not to hand over what he wanted to hide.
            let proven = file.receipts.iter().flat_map(|one| one.names());
            let mut all = proven.chain(file.what_ifs.iter().flat_map(|one| one.names()));
            let part = format!("{name}.");
            if !all.any(|field| field == *name || field.starts_with(&part)) {
                let what_if = || file.what_ifs.first().map(|one| one.names());
                let names = file.receipts.first().map(|one| one.names());
                let names = names.or_else(what_if);
                bail!(
                    "no receipt has the field `{name}`; these are there: {}",
                    names.unwrap_or_default().join(", ")
                );
            }
        }
        let taken = file.redact(&self.fields);
        write(&self.out, &file)?;
        out::line(format_args!(
            "{taken} fields were taken away; the rest is in {}",
            self.out.display()
        ))?;
        Ok(0)
    }
}
