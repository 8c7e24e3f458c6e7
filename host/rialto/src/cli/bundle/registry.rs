//! `rialto bundle push` and `rialto bundle pull`.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use rialto_bundles::registry::{self, Access, Credentials, Place};

use super::{about, open, told, write};
use crate::out;

/// The variables with credentials. They are no arguments, because everybody on a machine sees those.
const USER: &str = "RIALTO_REGISTRY_USER";
const PASSWORD: &str = "RIALTO_REGISTRY_PASSWORD";
const TOKEN: &str = "RIALTO_REGISTRY_TOKEN";
/// Permissions of the group and of all others.
const OTHERS: u32 = 0o077;

/// How the registry is asked.
#[derive(Debug, clap::Args)]
struct Asked {
    /// Ask a registry on another machine by plain HTTP, without credentials. One on this machine is asked so anyway, unless --ca names who certified it.
    #[arg(long, conflicts_with = "ca")]
    plain_http: bool,
    /// The certificates of the authority that must have certified the registry, PEM. Without it, the system's.
    #[arg(long, value_name = "FILE", env = "RIALTO_REGISTRY_CA")]
    ca: Option<PathBuf>,
    /// A file with credentials of registries as container tools keep them (`auths`). Without it, those in the variables RIALTO_REGISTRY_USER and RIALTO_REGISTRY_PASSWORD, or RIALTO_REGISTRY_TOKEN
    #[arg(long, value_name = "FILE", env = "RIALTO_REGISTRY_CREDENTIALS")]
    credentials: Option<PathBuf>,
}

impl Asked {
    fn access(&self, place: &Place) -> anyhow::Result<Access> {
        let authorities = self
            .ca
            .as_deref()
            .map(|file| std::fs::read(file).with_context(|| format!("reading {}", file.display())));
        Ok(Access {
            plain_http: self.plain_http,
            authorities: authorities.transpose()?,
            credentials: match &self.credentials {
                Some(file) => of_file(file, place)?,
                None => of_variables()?,
            },
        })
    }
}

/// Credentials of a file that only its owner can read.
fn of_file(file: &Path, place: &Place) -> anyhow::Result<Credentials> {
    let reading = || format!("reading {}", file.display());
    let about = std::fs::metadata(file).with_context(reading)?;
    ensure!(
        about.permissions().mode() & OTHERS == 0,
        "{0} is open to others: `chmod 600 {0}`, and think of who may have read it",
        file.display()
    );
    let text = std::fs::read_to_string(file).with_context(reading)?;
    Credentials::of_file(&text, place.registry()).with_context(|| format!("{}", file.display()))
}

fn of_variables() -> anyhow::Result<Credentials> {
    let variable = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
    match (variable(TOKEN), variable(USER), variable(PASSWORD)) {
        (None, None, None) => Ok(Credentials::default()),
        (Some(token), None, None) => Ok(Credentials::token(&token)),
        (None, Some(user), Some(password)) => Ok(Credentials::password(&user, &password)),
        _ => bail!("set {USER} and {PASSWORD}, or {TOKEN} alone"),
    }
}

/// Put a bundle into an OCI registry.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Push {
    /// The bundle.
    file: PathBuf,
    /// Where: REGISTRY/NAME:TAG
    #[arg(value_name = "REGISTRY/NAME:TAG")]
    to: Place,
    #[command(flatten)]
    asked: Asked,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl Push {
    pub fn run(self) -> anyhow::Result<u8> {
        let (bundle, digest) = open(&self.file)?;
        let access = self.asked.access(&self.to)?;
        let pushed = runtime()?.block_on(registry::push(&bundle, &self.to, &access));
        let artifact = pushed.with_context(|| format!("pushing to {}", self.to))?;
        if self.json {
            out::json(&about(&bundle, digest))?;
        } else {
            out::text(told(&bundle, digest))?;
        }
        let pinned = self.to.pinned(artifact);
        out::note(format_args!("{} is {pinned}", self.to));
        Ok(0)
    }
}

/// Get a bundle from an OCI registry, as the file that was packed. Its bytes are verified; `rialto bundle verify` does the rest.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Pull {
    /// Where: REGISTRY/NAME:TAG, or REGISTRY/NAME@sha256:… for one that cannot be exchanged
    #[arg(value_name = "REGISTRY/NAME:TAG|@DIGEST")]
    from: Place,
    /// The bundle, which must not exist.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    asked: Asked,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl Pull {
    pub fn run(self) -> anyhow::Result<u8> {
        ensure!(
            !self.out.exists(),
            "{} exists: name a new file",
            self.out.display()
        );
        let access = self.asked.access(&self.from)?;
        let pulled = runtime()?.block_on(registry::pull(&self.from, &access));
        let bundle = pulled.with_context(|| format!("pulling {}", self.from))?;
        write(&bundle, &self.out, self.json)?;
        Ok(0)
    }
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().context("starting the client")
}
