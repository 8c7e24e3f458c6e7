//! `rialto plan sign` and `rialto plan key`: what officers do on their own machines. No host is asked.

use std::fs;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, ensure};
use data_encoding::BASE64URL_NOPAD;
use rialto_keys::OFFICER;
use rialto_manifest::values::Name;
use rialto_signatures::PersonSigner;

use super::read;
use crate::cli::operator_of;
use crate::keys;
use crate::out;
use crate::plans::{Plan, PlanStatement, SIGNATURE_FORM, SignatureFile};
use crate::words;

/// Prints what the plan changes, and signs it. Exits before that if the plan is too old.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("private").required(true)))]
pub(in crate::cli) struct Sign {
    /// The plan's file.
    plan: PathBuf,
    /// The name that rialto.toml of the host gives to the officer.
    #[arg(long, value_name = "NAME")]
    officer: Name,
    /// The private key: Ed25519 or P-256, PEM (PKCS #8).
    #[arg(long, value_name = "FILE", group = "private")]
    key: Option<PathBuf>,
    /// The reference that `rialto plan key` has made.
    #[arg(long, value_name = "FILE", group = "private", requires = "keys")]
    reference: Option<PathBuf>,
    /// The folder whose rialto.toml names the provider of the key (`[keys]`).
    #[arg(long, value_name = "DIR")]
    keys: Option<PathBuf>,
    /// The file of the signature, which must not exist. Without it, the plan's with the officer's name and `.sig`
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Sign {
    pub fn run(self) -> anyhow::Result<u8> {
        let (text, digest) = read(&self.plan)?;
        let (plan, _) = Plan::read(&text)?;
        out::text(words::plan(&plan, digest))?;
        let now = now()?;
        ensure!(
            now < plan.expires,
            "the plan could be applied until {}: have it made again",
            words::instant(plan.expires)
        );
        ensure!(
            plan.maker != self.officer.as_str(),
            "{} made the plan: other officers must sign it",
            plan.maker
        );
        let officer = self.officer.as_str();
        let statement = PlanStatement {
            plan: digest,
            officer,
        }
        .bytes();
        let (algorithm, signature) = self.signature(&statement, now)?;
        let file = SignatureFile {
            form: SIGNATURE_FORM.to_owned(),
            plan: digest,
            officer: officer.to_owned(),
            algorithm: algorithm.to_owned(),
            signature: BASE64URL_NOPAD.encode(&signature),
        };
        let path = self.out.clone().unwrap_or_else(|| {
            let mut name = self.plan.clone().into_os_string();
            name.push(format!(".{officer}.sig"));
            name.into()
        });
        let mut text = serde_json::to_string_pretty(&file)?;
        text.push('\n');
        let is_new = rialto_files::make_once(&path, &[text.as_bytes()])?;
        ensure!(is_new, "{} exists: name a new file", path.display());
        out::note(format_args!(
            "{} has the signature of {officer}",
            path.display()
        ));
        Ok(0)
    }

    fn signature(&self, statement: &[u8], now: u64) -> anyhow::Result<(&'static str, Vec<u8>)> {
        if let Some(file) = &self.key {
            let about = || format!("the private key in {}", file.display());
            let text = fs::read_to_string(file).with_context(about)?;
            let signer = PersonSigner::of_pem(&text).with_context(about)?;
            return Ok((signer.scheme().name(), signer.sign(statement)?));
        }
        let (reference, folder) = (self.reference.as_ref(), self.keys.as_ref());
        let (reference, folder) = reference
            .zip(folder)
            .context("name --key, or --reference and --keys")?;
        let keys = keys::open_outside_turns(&operator_of(folder)?, folder)?;
        let text = fs::read_to_string(reference)
            .with_context(|| format!("reading {}", reference.display()))?;
        let signed = keys.sign(OFFICER, text.trim(), now, statement);
        let signed =
            signed.with_context(|| format!("signing with the key of {}", reference.display()))?;
        Ok(("ES256", signed))
    }
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct MakeKey {
    /// The folder whose rialto.toml names the provider (`[keys]`).
    #[arg(long, value_name = "DIR", default_value = ".")]
    keys: PathBuf,
    /// The provider's name there.
    #[arg(long, value_name = "NAME")]
    provider: Name,
    /// The name that rialto.toml of the host gives to the officer.
    #[arg(long, value_name = "NAME")]
    officer: Name,
    /// The file of the key's reference, which must not exist.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

impl MakeKey {
    pub fn run(self) -> anyhow::Result<u8> {
        let exists = || format!("{} exists: name a new file", self.out.display());
        ensure!(!self.out.exists(), exists());
        let keys = keys::open_outside_turns(&operator_of(&self.keys)?, &self.keys)?;
        let provider = self.provider.as_str();
        let made = keys.make_officer(provider, self.officer.as_str());
        let made = made.with_context(|| format!("the provider `{provider}` makes no key"))?;
        let is_new = rialto_files::make_once(&self.out, &[made.reference.as_bytes(), b"\n"])?;
        ensure!(is_new, exists());
        out::text(made.public_key.unwrap_or_default())?;
        out::note(format_args!(
            "{} has the key's reference; the host needs the public key above, as `public-key` of [releases.officers.{}]",
            self.out.display(),
            self.officer
        ));
        Ok(0)
    }
}

/// Milliseconds since 1970.
fn now() -> anyhow::Result<u64> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = since.context("the clock is before 1970")?;
    Ok(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
