//! What the tests need of the machine: SoftHSM, and a module in front of it that fails on request.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where distributions put SoftHSM.
const MODULES: [&str; 4] = [
    "/usr/lib/softhsm/libsofthsm2.so",
    "/usr/lib64/softhsm/libsofthsm2.so",
    "/usr/lib64/pkcs11/libsofthsm2.so",
    "/usr/local/lib/softhsm/libsofthsm2.so",
];
/// The label of each test's token.
pub const LABEL: &str = "rialto";
/// Its user's PIN.
pub const PIN: &str = "4711-user";

pub struct Setup {
    module: PathBuf,
    shim: PathBuf,
    _folder: tempfile::TempDir,
}

impl Setup {
    pub fn new() -> Self {
        let module = MODULES.iter().map(PathBuf::from).find(|path| path.exists());
        let module = module.expect(
            "SoftHSM is not installed: `cargo xtask test` installs it, or install Debian's package softhsm2",
        );
        let folder = tempfile::tempdir().unwrap();
        let shim = folder.path().join("shim.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/token/shim.c");
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let status = Command::new(compiler)
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([&shim, &source])
            .arg("-ldl")
            .status();
        assert!(status.expect("a C compiler, as `cc` or in CC").success());
        Self {
            module,
            shim,
            _folder: folder,
        }
    }

    /// Give a process a token of its own in this folder.
    pub fn surround(&self, folder: &Path, process: &mut Command) {
        for name in ["tokens", "control"] {
            std::fs::create_dir(folder.join(name)).unwrap();
        }
        let configuration = folder.join("softhsm2.conf");
        let tokens = folder.join("tokens");
        let text = format!(
            "directories.tokendir = {}\nobjectstore.backend = file\nlog.level = ERROR\n",
            tokens.display()
        );
        std::fs::write(&configuration, text).unwrap();
        process
            .env("SOFTHSM2_CONF", configuration)
            .env("RIALTO_TEST_FOLDER", folder)
            .env("RIALTO_TEST_CONTROL", folder.join("control"))
            .env("RIALTO_TEST_MODULE", &self.module)
            .env("RIALTO_TEST_SHIM", &self.shim);
    }
}

/// Make another token in this process's SoftHSM. Only before the process loads the module.
pub fn init_token(label: &str) {
    let output = Command::new("softhsm2-util")
        .args(["--init-token", "--free", "--label", label])
        .args(["--so-pin", "12345678", "--pin", PIN])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}
