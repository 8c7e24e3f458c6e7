//! A token of `rialto.toml`: checked, measured, and no obstacle to a start. The token is SoftHSM.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rialto_tests::{CliOutput, RunningHost, TestScheme, binaries};

const LABEL: &str = "rialto-e2e";
const PIN: &str = "4711-user";
/// Where distributions put SoftHSM.
const MODULES: [&str; 3] = [
    "/usr/lib/softhsm/libsofthsm2.so",
    "/usr/lib64/softhsm/libsofthsm2.so",
    "/usr/lib64/pkcs11/libsofthsm2.so",
];

/// A token in a folder of its own.
struct Token {
    folder: tempfile::TempDir,
    module: PathBuf,
}

impl Token {
    fn new() -> Self {
        let module = MODULES.iter().map(PathBuf::from).find(|path| path.exists());
        let module = module.expect("SoftHSM is not installed: `cargo xtask test` installs it");
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("tokens")).unwrap();
        let text = format!(
            "directories.tokendir = {}\nobjectstore.backend = file\nlog.level = ERROR\n",
            folder.path().join("tokens").display()
        );
        let token = Self { folder, module };
        std::fs::write(token.configuration(), text).unwrap();
        let output = Command::new("softhsm2-util")
            .env("SOFTHSM2_CONF", token.configuration())
            .args(["--init-token", "--free", "--label", LABEL])
            .args(["--so-pin", "12345678", "--pin", PIN])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        token
    }

    fn configuration(&self) -> PathBuf {
        self.folder.path().join("softhsm2.conf")
    }

    /// Files of objects on the token.
    fn objects(&self) -> usize {
        let tokens = self.folder.path().join("tokens");
        let token = std::fs::read_dir(tokens).unwrap().next().unwrap().unwrap();
        let files = std::fs::read_dir(token.path()).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        names
            .filter(|name| name.ends_with(".object") && name != "token.object")
            .count()
    }

    /// The demonstration with a token of this label as a provider of keys.
    fn scheme(&self, label: &str) -> TestScheme {
        let scheme = TestScheme::demo().unwrap();
        let path = scheme.path().join("rialto.toml");
        let document = std::fs::read_to_string(&path).unwrap();
        let provider = format!(
            "\n[keys.providers.hsm]\nkind = \"pkcs11\"\nmodule = \"{}\"\ntoken = \"{label}\"\npin = {{ file = \"token.pin\" }}\ntimeout = \"1 min\"\n",
            self.module.display()
        );
        std::fs::write(&path, document + &provider).unwrap();
        let pin = scheme.path().join("token.pin");
        std::fs::write(&pin, format!("{PIN}\n")).unwrap();
        std::fs::set_permissions(&pin, std::fs::Permissions::from_mode(0o600)).unwrap();
        scheme
    }

    fn rialto(&self, command: &[&str], folder: &Path) -> CliOutput {
        CliOutput::of(binaries::rialto().unwrap(), |c| {
            c.env("SOFTHSM2_CONF", self.configuration());
            c.args(command).arg(folder);
        })
        .unwrap()
    }
}

#[test]
fn check_says_whether_the_token_answers() {
    let token = Token::new();
    let good = token.rialto(&["check"], token.scheme(LABEL).path());
    assert_eq!(good.code, 0, "{good}");
    let absent = token.rialto(&["check"], token.scheme("another").path());
    assert_eq!(absent.code, 2, "{absent}");
    for part in ["[keys.providers.hsm]", "`another`"] {
        assert!(absent.stderr.contains(part), "{absent}");
    }
    let scheme = token.scheme(LABEL);
    std::fs::write(scheme.path().join("token.pin"), "0815-wrong").unwrap();
    let refused = token.rialto(&["check"], scheme.path());
    assert_eq!(refused.code, 2, "{refused}");
    assert!(refused.stderr.contains("refused the PIN"), "{refused}");
    assert!(!refused.stderr.contains("0815"), "{refused}");
    let module = token.module.display().to_string();
    scheme
        .replace("rialto.toml", &module, "/nowhere/module.so")
        .unwrap();
    let unloaded = token.rialto(&["check"], scheme.path());
    assert_eq!(unloaded.code, 2, "{unloaded}");
    assert!(unloaded.stderr.contains("/nowhere/module.so"), "{unloaded}");
}

#[test]
fn bench_measures_a_token_and_leaves_no_key() {
    let token = Token::new();
    let command = ["bench", "keys", "--json", "--scheme"];
    let output = token.rialto(&command, token.scheme(LABEL).path());
    assert_eq!(output.code, 0, "{output}");
    let rows: Vec<serde_json::Value> = output
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for algorithm in ["ES256", "ES384", "RS256", "HS256"] {
        let row = rows
            .iter()
            .find(|row| row["provider"] == "hsm" && row["algorithm"] == algorithm);
        let figure = row.map(|row| row["signatures_per_second"].as_f64().unwrap());
        assert!(figure.is_some_and(|figure| figure > 0.0), "{output}");
    }
    assert_eq!(token.objects(), 0);
}

#[test]
fn host_starts_without_its_token() {
    let token = Token::new();
    // The host's SoftHSM has no such token.
    let scheme = token.scheme(LABEL);
    let host = RunningHost::start(&scheme).unwrap();
    drop(host);
}
