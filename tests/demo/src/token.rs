//! The PKCS #11 token of `--secure`, in which the components' keys are: SoftHSM, in a folder of its own.
//!
//! SoftHSM finds its tokens by an environment variable, which a process with threads cannot set for itself. So the
//! program runs itself again with the variable.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use rialto_simulator::pki::write_private;
use rialto_simulator::softhsm::{PIN, Token, VARIABLE};

/// The variable with the token's folder, in the second run.
const FOLDER: &str = "RIALTO_DEMO_TOKEN";
/// The provider of the scheme as it is, which the token replaces.
const SOFTWARE: &str = "[keys.providers.software]\nkind = \"software\"\n";
/// The name of the provider in the copy.
pub const PROVIDER: &str = "token";
/// The file of the PIN, in the scheme's folder.
const PIN_FILE: &str = "token.pin";

/// The token of this process. Its folder is removed with this value.
pub struct DemoToken {
    folder: PathBuf,
    token: Token,
}

impl DemoToken {
    /// The token of the first run. The first run makes it, and becomes the second.
    ///
    /// # Errors
    /// When SoftHSM is not installed, or the program cannot be run again.
    pub fn of_process() -> anyhow::Result<Self> {
        if let Some(folder) = std::env::var_os(FOLDER) {
            let folder = PathBuf::from(folder);
            let token = Token::at(&folder)?;
            return Ok(Self { folder, token });
        }
        let folder = tempfile::Builder::new()
            .prefix("rialto-demo-token-")
            .tempdir()?;
        let token = Token::make(folder.path()).context(
            "with --secure, keys are in a PKCS #11 token; `cargo xtask demo` installs one",
        )?;
        let program = std::env::current_exe().context("finding this program")?;
        // From here on the second run removes the folder.
        let folder = folder.keep();
        let error = Command::new(program)
            .args(std::env::args_os().skip(1))
            .env(VARIABLE, token.configuration())
            .env(FOLDER, &folder)
            .exec();
        let _ = fs::remove_dir_all(&folder);
        Err(error).context("running this program again")
    }

    /// Have the copy of a scheme in this folder keep its keys in the token.
    ///
    /// # Errors
    /// When rialto.toml has another provider than it should, or a file cannot be written.
    pub fn serve(&self, scheme: &Path) -> anyhow::Result<()> {
        let path = scheme.join("rialto.toml");
        let text = fs::read_to_string(&path)?;
        anyhow::ensure!(
            text.contains(SOFTWARE),
            "{} does not have `{SOFTWARE}`, which would be replaced",
            path.display()
        );
        let provider = format!(
            "[keys.providers.{PROVIDER}]\n{}",
            self.token.settings(PIN_FILE)
        );
        fs::write(&path, text.replacen(SOFTWARE, &provider, 1))?;
        write_private(&scheme.join(PIN_FILE), &format!("{PIN}\n"))?;
        Ok(())
    }

    /// How many objects the token has. A key pair is two.
    ///
    /// # Errors
    /// When its files cannot be read.
    pub fn objects(&self) -> anyhow::Result<usize> {
        Ok(self.token.objects()?)
    }
}

impl Drop for DemoToken {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
