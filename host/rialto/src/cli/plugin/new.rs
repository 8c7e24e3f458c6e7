//! `rialto plugin new` and `rialto plugin build`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use rialto_manifest::values::Name;

use crate::kit::build;
use crate::kit::new::{self, Language, context};
use crate::out;

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct New {
    /// The plugin's name, in kebab-case. It is also the folder's that is made, unless --path names another one.
    name: Name,
    #[command(flatten)]
    kind: Kind,
    /// The language in which a rule is written. A context is written in Rust.
    #[arg(long, value_enum, default_value_t)]
    language: Language,
    /// Make a rule that declares counters of what was before, in Rust. The step must be transfer-prepare-check.
    #[arg(long, requires = "step")]
    counted: bool,
    /// The folder to make.
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,
}

/// What kind of plugin is made.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Kind {
    /// Make a rule. The step that it judges: quote-request-check, quote-response-check, transfer-prepare-check or transfer-fulfil-check.
    #[arg(long)]
    step: Option<String>,
    /// Make a bounded context, which consumes an event, keeps documents and serves operators.
    #[arg(long)]
    context: bool,
}

impl New {
    pub fn run(self) -> anyhow::Result<u8> {
        if self.kind.context && self.language != Language::Rust {
            bail!(
                "--context makes repositories in Rust alone: leave out --language, or make a rule with --step"
            );
        }
        if self.counted && self.language != Language::Rust {
            bail!("--counted makes repositories in Rust alone: leave out --language, or --counted");
        }
        if self.counted && self.kind.step.as_deref() != Some(new::COUNTED_STEP) {
            bail!(
                "rules with counters judge at {}: name it as --step",
                new::COUNTED_STEP
            );
        }
        let folder = self.path.clone();
        let folder = folder.unwrap_or_else(|| PathBuf::from(self.name.as_str()));
        if folder.exists() {
            bail!("{} exists: name a new folder with --path", folder.display());
        }
        match &self.kind.step {
            Some(step) => self.rule(&folder, step)?,
            None => self.context(&folder)?,
        }
        Ok(0)
    }

    fn rule(&self, folder: &Path, step: &str) -> anyhow::Result<()> {
        let name = &self.name;
        if self.counted {
            new::counted(folder, name)?;
        } else {
            new::rule(folder, name, step, self.language)?;
        }
        let judgement = self.language.judgement();
        out::line(format_args!(
            "{} has the rule {name}: {judgement} judges, cases/ says what it must say",
            folder.display()
        ))?;
        next(folder, &self.language.commands(name))
    }

    fn context(&self, folder: &Path) -> anyhow::Result<()> {
        new::context(folder, &self.name)?;
        let name = &self.name;
        out::line(format_args!(
            "{} has the context {name}: world.wit says what it uses and serves, src/lib.rs which module does what",
            folder.display()
        ))?;
        next(folder, &context::commands(name))?;
        out::line("")?;
        out::line("to bind it in a scheme, where SCHEME is the scheme's folder:")?;
        for command in context::binding_commands(name) {
            out::line(format_args!("  {command}"))?;
        }
        out::line("")?;
        out::line("binding.toml:")?;
        out::line("")?;
        Ok(out::line(context::binding(name)?.trim())?)
    }
}

/// Tells the commands that come next, in the new folder.
fn next(folder: &Path, commands: &[String]) -> anyhow::Result<()> {
    out::line("")?;
    out::line("next:")?;
    out::line(format_args!("  cd {}", folder.display()))?;
    for command in commands {
        out::line(format_args!("  {command}"))?;
    }
    Ok(())
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
