//! `rialto plugin new` and `rialto plugin build`.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use rialto_manifest::values::Name;

use crate::kit::build;
use crate::kit::new::{self, Language};
use crate::out;

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct New {
    /// The rule's name, in kebab-case. It is also the folder's that is made, unless --path names another one.
    name: Name,
    /// The step that the rule judges: quote-request-check, quote-response-check, transfer-prepare-check or transfer-fulfil-check.
    #[arg(long)]
    step: String,
    /// The language in which it is written.
    #[arg(long, value_enum, default_value_t)]
    language: Language,
    /// The folder to make.
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,
}

impl New {
    pub fn run(self) -> anyhow::Result<u8> {
        let folder = self.path.clone();
        let folder = folder.unwrap_or_else(|| PathBuf::from(self.name.as_str()));
        if folder.exists() {
            bail!("{} exists: name a new folder with --path", folder.display());
        }
        new::rule(&folder, &self.name, &self.step, self.language)?;
        let (name, folder) = (&self.name, folder.display());
        let judgement = self.language.judgement();
        out::line(format_args!(
            "{folder} has the rule {name}: {judgement} judges, cases/ says what it must say"
        ))?;
        out::line("")?;
        out::line("next:")?;
        out::line(format_args!("  cd {folder}"))?;
        for command in self.language.commands(name) {
            out::line(format_args!("  {command}"))?;
        }
        Ok(0)
    }
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Build {
    /// The crate's folder.
    #[arg(default_value = ".")]
    folder: PathBuf,
}

impl Build {
    pub fn run(self) -> anyhow::Result<u8> {
        let file = build::build(&self.folder)?;
        let length = std::fs::metadata(&file)
            .context("looking at the component")?
            .len();
        let length = indicatif::BinaryBytes(length);
        out::line(format_args!("{} ({length})", file.display()))?;
        Ok(0)
    }
}
