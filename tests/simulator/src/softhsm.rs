//! A PKCS #11 token in software, in a folder of its own: SoftHSM, as distributions have it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where distributions put the module.
const MODULES: [&str; 4] = [
    "/usr/lib/softhsm/libsofthsm2.so",
    "/usr/lib64/softhsm/libsofthsm2.so",
    "/usr/lib64/pkcs11/libsofthsm2.so",
    "/usr/local/lib/softhsm/libsofthsm2.so",
];
/// The variable by which a process that loads the module finds its tokens.
pub const VARIABLE: &str = "SOFTHSM2_CONF";
/// The label of the token.
pub const LABEL: &str = "rialto";
/// The PIN of the token's user.
pub const PIN: &str = "4711-user";

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The module is nowhere.
    #[error("SoftHSM is not installed: install Debian's package softhsm2")]
    Missing,
    /// A file cannot be written, or the program not be run.
    #[error("{0}: {1}")]
    File(PathBuf, #[source] io::Error),
    /// The program says no.
    #[error("softhsm2-util cannot make a token: {0}")]
    Refused(String),
}

/// A token.
#[derive(Clone, Debug)]
pub struct Token {
    folder: PathBuf,
    module: PathBuf,
}

impl Token {
    /// Make a token in an empty folder, which it needs as long as it is used.
    ///
    /// # Errors
    /// When SoftHSM is not installed, or the folder cannot be written.
    pub fn make(folder: &Path) -> Result<Self, TokenError> {
        let token = Self::at(folder)?;
        let tokens = token.tokens();
        fs::create_dir(&tokens).map_err(|error| TokenError::File(tokens.clone(), error))?;
        let text = format!(
            "directories.tokendir = {}\nobjectstore.backend = file\nlog.level = ERROR\n",
            tokens.display()
        );
        let configuration = token.configuration();
        fs::write(&configuration, text)
            .map_err(|error| TokenError::File(configuration.clone(), error))?;
        let program = "softhsm2-util";
        let output = Command::new(program)
            .env(VARIABLE, configuration)
            .args(["--init-token", "--free", "--label", LABEL])
            .args(["--so-pin", "12345678", "--pin", PIN])
            .output()
            .map_err(|error| TokenError::File(program.into(), error))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(TokenError::Refused(said));
        }
        Ok(token)
    }

    /// The token that was made in this folder.
    ///
    /// # Errors
    /// When SoftHSM is not installed.
    pub fn at(folder: &Path) -> Result<Self, TokenError> {
        let module = MODULES.iter().map(PathBuf::from).find(|path| path.exists());
        Ok(Self {
            folder: folder.to_owned(),
            module: module.ok_or(TokenError::Missing)?,
        })
    }

    /// The value of [`VARIABLE`].
    #[must_use]
    pub fn configuration(&self) -> PathBuf {
        self.folder.join("softhsm2.conf")
    }

    /// The library that a host loads.
    #[must_use]
    pub fn module(&self) -> &Path {
        &self.module
    }

    /// The settings of a provider in rialto.toml, without its name. The PIN is in this file.
    #[must_use]
    pub fn settings(&self, pin: &str) -> String {
        format!(
            "kind = \"pkcs11\"\nmodule = \"{}\"\ntoken = \"{LABEL}\"\npin = {{ file = \"{pin}\" }}\n",
            self.module.display()
        )
    }

    /// How many objects are on the token. A key pair is two.
    ///
    /// # Errors
    /// When its files cannot be read.
    pub fn objects(&self) -> io::Result<usize> {
        let mut count = 0;
        for token in fs::read_dir(self.tokens())? {
            for file in fs::read_dir(token?.path())? {
                let name = file?.file_name();
                let name = name.to_string_lossy();
                count += usize::from(name.ends_with(".object") && name != "token.object");
            }
        }
        Ok(count)
    }

    fn tokens(&self) -> PathBuf {
        self.folder.join("tokens")
    }
}
