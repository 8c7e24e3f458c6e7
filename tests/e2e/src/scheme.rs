//! A scheme's folder of a test's own: a copy of a scheme of this repository, with free ports.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use flate2::read::GzDecoder;
use rialto_simulator::ports;
use tempfile::TempDir;

use crate::binaries::{self, BUILD_FIRST};
use crate::compiled;
use crate::host::CliOutput;
use crate::terminal;

/// The addresses of the demonstration scheme's participants, in its scheme.toml.
const DEMO_PARTICIPANTS: [(&str, &str); 2] = [
    ("payerfsp", "http://127.0.0.1:4101"),
    ("payeefsp", "http://127.0.0.1:4102"),
];
/// The addresses of the demonstration scheme's listeners, in its rialto.toml.
const DEMO_LISTENERS: [&str; 2] = ["127.0.0.1:4001", "127.0.0.1:4002"];

/// The demonstration scheme's entry of each rule, and the same with a long deadline: only fuel bounds a rule.
const RULE_GRANTS: &str = "grants = { host = [\"configuration\", \"logging\"] }\n";
const RULE_GRANTS_AND_TIME: &str =
    "grants = { host = [\"configuration\", \"logging\"] }\nlimits = { deadline = \"1 s\" }\n";

/// The variable that says which store the demonstration scheme is on: `postgres`, or the embedded one.
const STORE_VARIABLE: &str = "RIALTO_TEST_STORE";
/// See [`STORE_VARIABLE`].
const POSTGRES: &str = "postgres";

/// What stands before the address at which a host takes requests from other hosts.
const CLUSTER: &str = "[cluster]\nlisten = \"";
/// What stands before the address at which it takes calls.
const CALLS: &str = "[listeners.grpc]\naddress = \"";

/// A scheme's folder. It goes away with this value, unless the test fails: then it stays, for its
/// store and its log, and the failure says where.
pub struct TestScheme {
    folder: TempDir,
    callbacks: BTreeMap<String, u16>,
}

impl TestScheme {
    /// A copy of the demonstration scheme. Its listeners and FSPs have ports of their own, which
    /// stay the same when the host starts again.
    ///
    /// # Errors
    /// When its components have not been built, or the copy cannot be made.
    pub fn demo() -> anyhow::Result<Self> {
        Self::demo_of(&demo_folder())
    }

    /// The same of this folder, which may be that of an earlier version.
    ///
    /// # Errors
    /// As `demo`.
    pub fn demo_of(source: &Path) -> anyhow::Result<Self> {
        let mut scheme = Self::empty()?;
        for name in ["rialto.toml", "scheme.toml"] {
            copy(&source.join(name), &scheme.path().join(name))?;
        }
        let components = source.join("components");
        for from in files(&components).context(BUILD_FIRST)? {
            let name = from.file_name().context("a component's file name")?;
            copy(&from, &scheme.path().join("components").join(name))?;
        }
        for listener in DEMO_LISTENERS {
            scheme.replace(
                "rialto.toml",
                listener,
                &format!("127.0.0.1:{}", ports::free()?),
            )?;
        }
        for (id, _) in DEMO_PARTICIPANTS {
            scheme.callbacks.insert(id.to_owned(), ports::free()?);
        }
        scheme.finish()?;
        compiled::take(&scheme.state())?;
        if std::env::var_os(STORE_VARIABLE).is_some_and(|store| store == POSTGRES) {
            scheme.on_postgres()?;
        }
        Ok(scheme)
    }

    /// Puts the scheme on a PostgreSQL database of its own. Returns the database's name.
    ///
    /// # Errors
    /// When rialto.toml cannot be written, or names a database already.
    pub fn on_postgres(&self) -> anyhow::Result<String> {
        let server = rialto_postgres_server::shared();
        let database = server.make_database();
        self.on_database(&server.url(&database))?;
        Ok(database)
    }

    /// Puts the scheme on this database.
    ///
    /// # Errors
    /// When rialto.toml cannot be written, or names a database already.
    pub fn on_database(&self, url: &str) -> anyhow::Result<()> {
        let text = fs::read_to_string(self.path().join("rialto.toml"))?;
        ensure!(
            !text.contains("url = \"postgres"),
            "it is on PostgreSQL already"
        );
        let path = "[store]\npath = \"state\"";
        self.replace("rialto.toml", path, &format!("{path}\nurl = \"{url}\""))
    }

    /// The URL of the scheme's database; none if its store is in its folder.
    ///
    /// # Errors
    /// When rialto.toml cannot be read.
    pub fn database_url(&self) -> anyhow::Result<Option<String>> {
        let text = fs::read_to_string(self.path().join("rialto.toml"))?;
        let named = text
            .lines()
            .find_map(|line| line.strip_prefix("url = \"postgres"));
        let rest = named.and_then(|rest| rest.split('"').next());
        Ok(rest.map(|rest| format!("postgres{rest}")))
    }

    /// Has hosts of this scheme take requests from each other. `more` is the rest of the table.
    ///
    /// # Errors
    /// When no port is free, or rialto.toml cannot be written.
    pub fn in_cluster(&self, more: &str) -> anyhow::Result<()> {
        let address = format!("127.0.0.1:{}", ports::free()?);
        self.add_host_settings(&format!("\n{CLUSTER}{address}\"\n{more}"))
    }

    /// A folder for another host of this scheme, on the same database: its listeners have ports of their own.
    ///
    /// # Errors
    /// When the copy cannot be made.
    pub fn for_another_host(&self) -> anyhow::Result<Self> {
        let mut other = Self::empty()?;
        other.callbacks.clone_from(&self.callbacks);
        for name in ["rialto.toml", "scheme.toml", "scheme.lock"] {
            copy(&self.path().join(name), &other.path().join(name))?;
        }
        for from in files(&self.path().join("components"))? {
            let name = from.file_name().context("a component's file name")?;
            copy(&from, &other.path().join("components").join(name))?;
        }
        // Components' references of keys are sealed with it.
        let (secrets, master_key) = ("secrets", "master.key");
        DirBuilder::new()
            .mode(0o700)
            .create(other.path().join(secrets))?;
        let key = |scheme: &Self| scheme.path().join(secrets).join(master_key);
        fs::copy(key(self), key(&other)).context("the master key, which the first host makes")?;
        let text = fs::read_to_string(other.path().join("rialto.toml"))?;
        for before in [
            "[listeners.fsps]\naddress = \"",
            "[listeners.operators]\naddress = \"",
            CALLS,
            CLUSTER,
        ] {
            let Some((_, rest)) = text.split_once(before) else {
                let is_always = ![CALLS, CLUSTER].contains(&before);
                ensure!(!is_always, "no listener follows {before:?}");
                continue;
            };
            let address = rest.split('"').next().context("its address")?;
            let free = format!("127.0.0.1:{}", ports::free()?);
            other.replace("rialto.toml", address, &free)?;
        }
        compiled::take(&other.state())?;
        other.copy_tokens(self)?;
        Ok(other)
    }

    /// Gives operators the tokens that they have at another host.
    fn copy_tokens(&self, from: &Self) -> anyhow::Result<()> {
        const FOLDER: &str = "operators";
        let first = "operator.token";
        if from.state().join(first).exists() {
            fs::copy(from.state().join(first), self.state().join(first))?;
        }
        if !from.state().join(FOLDER).exists() {
            return Ok(());
        }
        DirBuilder::new()
            .mode(0o700)
            .create(self.state().join(FOLDER))?;
        for token in files(&from.state().join(FOLDER))? {
            let name = token.file_name().context("a token's file name")?;
            fs::copy(&token, self.state().join(FOLDER).join(name))?;
        }
        Ok(())
    }

    /// A new folder without documents.
    fn empty() -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("rialto-test-")
            .tempdir()
            .context("making a folder")?;
        fs::create_dir(folder.path().join("components"))?;
        Ok(Self {
            folder,
            callbacks: BTreeMap::new(),
        })
    }

    /// Gives the demonstration's participants their ports, gives its rules time, and pins its components.
    fn finish(&self) -> anyhow::Result<()> {
        for (id, address) in DEMO_PARTICIPANTS {
            let port = self.callbacks.get(id).context("a participant's port")?;
            self.edit(address, &format!("http://127.0.0.1:{port}"))?;
        }
        // A machine that is busy with other tests must not decide what a rule says.
        self.edit_with(|text| text.replace(RULE_GRANTS, RULE_GRANTS_AND_TIME))?;
        self.lock()
    }

    /// The demonstration scheme as it was in the release that is kept in `old-release/`: its scheme.toml and its
    /// components. Host settings, ports and participants are those of this scheme, so that the two can be applied
    /// one after the other.
    ///
    /// # Errors
    /// When the copy cannot be made.
    pub fn old_twin(&self) -> anyhow::Result<Self> {
        let mut old = Self::empty()?;
        old.callbacks.clone_from(&self.callbacks);
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("old-release");
        copy(
            &self.path().join("rialto.toml"),
            &old.path().join("rialto.toml"),
        )?;
        copy(&source.join("scheme.toml"), &old.path().join("scheme.toml"))?;
        for from in files(&source)? {
            if from.extension().is_some_and(|extension| extension == "gz") {
                let name = from.file_stem().context("a component's file name")?;
                unpack(&from, &old.path().join("components").join(name))?;
            }
        }
        old.finish()?;
        Ok(old)
    }

    /// A scheme that `rialto init` makes, with the components of this repository, on ports of its own. Participants are
    /// those of its scheme.toml.
    ///
    /// # Errors
    /// When the components have not been built, or `rialto init` refuses, with its words.
    pub fn made(from: &str) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("rialto-test-")
            .tempdir()
            .context("making a folder")?;
        let output = CliOutput::of(binaries::rialto()?, |c| {
            c.args(["init", "--name", "mine", "--from", from, "--components"])
                .arg(terminal::components())
                .arg(folder.path());
        })?;
        output.success()?;
        let mut scheme = Self {
            folder,
            callbacks: BTreeMap::new(),
        };
        for listener in DEMO_LISTENERS {
            let free = format!("127.0.0.1:{}", ports::free()?);
            scheme.replace("rialto.toml", listener, &free)?;
        }
        let text = fs::read_to_string(scheme.path().join("scheme.toml"))?;
        for (id, address) in DEMO_PARTICIPANTS {
            if text.contains(address) {
                let port = ports::free()?;
                scheme.replace("scheme.toml", address, &format!("http://127.0.0.1:{port}"))?;
                scheme.callbacks.insert(id.to_owned(), port);
            }
        }
        compiled::take(&scheme.state())?;
        Ok(scheme)
    }

    /// The folder of its store, as rialto.toml names it.
    ///
    /// # Errors
    /// When rialto.toml cannot be read, or names none.
    pub fn store(&self) -> anyhow::Result<PathBuf> {
        let text = fs::read_to_string(self.path().join("rialto.toml")).context("rialto.toml")?;
        let named = text.lines().find_map(|line| line.strip_prefix("path = \""));
        let named = named.and_then(|rest| rest.strip_suffix('"'));
        Ok(self
            .path()
            .join(named.context("rialto.toml names no store")?))
    }

    /// The default folder of its store.
    pub fn state(&self) -> PathBuf {
        self.path().join("state")
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// One of its components.
    pub fn component(&self, name: &str) -> PathBuf {
        self.path().join("components").join(format!("{name}.wasm"))
    }

    /// The ports at which the participants' FSPs are called back.
    pub fn callbacks(&self) -> &BTreeMap<String, u16> {
        &self.callbacks
    }

    /// Change scheme.toml: every `from` becomes `to`.
    ///
    /// # Errors
    /// When `from` does not occur, or the file cannot be written.
    pub fn edit(&self, from: &str, to: &str) -> anyhow::Result<()> {
        self.replace("scheme.toml", from, to)
    }

    /// Change scheme.toml by a function.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn edit_with(&self, change: impl FnOnce(String) -> String) -> anyhow::Result<()> {
        let path = self.path().join("scheme.toml");
        fs::write(&path, change(fs::read_to_string(&path)?))?;
        Ok(())
    }

    /// Change one of the documents: every `from` becomes `to`.
    ///
    /// # Errors
    /// When `from` does not occur, or the file cannot be written.
    pub fn replace(&self, document: &str, from: &str, to: &str) -> anyhow::Result<()> {
        let path = self.path().join(document);
        let text = fs::read_to_string(&path)?;
        ensure!(text.contains(from), "{document} has no `{from}` to replace");
        fs::write(&path, text.replace(from, to))?;
        Ok(())
    }

    /// Add a participant with an account in US dollars.
    ///
    /// # Errors
    /// When scheme.toml cannot be written.
    pub fn add_participant(&mut self, id: &str, liquidity: &str) -> anyhow::Result<()> {
        let port = ports::free()?;
        let text = format!(
            "[[participants]]\nid = \"{id}\"\nname = \"{id}\"\n\
             callback-base-url = \"http://127.0.0.1:{port}\"\n\n\
             [[participants.accounts]]\ncurrency = \"USD\"\nopening-liquidity = \"{liquidity}\"\n\n"
        );
        self.edit_with(|scheme| scheme.replacen("[[errors]]", &format!("{text}[[errors]]"), 1))?;
        self.callbacks.insert(id.to_owned(), port);
        Ok(())
    }

    /// Add a rule that was built beside the scheme's own. It is asked nowhere yet.
    ///
    /// # Errors
    /// When it has not been built, or scheme.toml cannot be written.
    pub fn add_rule(&self, name: &str) -> anyhow::Result<()> {
        copy(&binaries::plugin(name)?, &self.component(name))?;
        let text = format!(
            "[rules.{name}]\ncomponent = \"components/{name}.wasm\"\n\
             grants = {{ host = [\"configuration\", \"logging\", \"trace\"] }}\nlimits = {{ deadline = \"1 s\" }}\n"
        );
        self.edit_with(|scheme| {
            scheme.replacen("[[participants]]", &format!("{text}[[participants]]"), 1)
        })
    }

    /// Binds a rule to a step, after the others. `more` is the rest of its entry in TOML.
    ///
    /// # Errors
    /// When scheme.toml cannot be written.
    pub fn add_step(&self, step: &str, rule: &str, more: &str) -> anyhow::Result<()> {
        let text = format!("[[steps.{step}]]\nrule = \"{rule}\"\n{more}\n\n");
        self.edit_with(|scheme| {
            scheme.replacen("[[participants]]", &format!("{text}[[participants]]"), 1)
        })
    }

    /// Give a context settings, in TOML.
    ///
    /// # Errors
    /// When scheme.toml has no such context, or cannot be written.
    pub fn set(&self, context: &str, settings: &str) -> anyhow::Result<()> {
        let grants = format!("[contexts.{context}.grants]");
        let with_settings = format!("[contexts.{context}.settings]\n{settings}\n\n{grants}");
        self.edit(&grants, &with_settings)
    }

    /// Pin the components' digests again, after an edit.
    ///
    /// # Errors
    /// When `rialto lock` refuses the folder, with its words.
    pub fn lock(&self) -> anyhow::Result<()> {
        let output = self.rialto(&["lock"])?;
        if output.code != 0 {
            bail!("`rialto lock` refuses {}:\n{output}", self.path().display());
        }
        Ok(())
    }

    /// Run a command on the folder, which follows it: `rialto check <folder>`.
    ///
    /// # Errors
    /// If the program does not exist. The caller checks the command's output.
    pub fn rialto(&self, command: &[&str]) -> anyhow::Result<CliOutput> {
        CliOutput::of(binaries::rialto()?, |c| {
            c.args(command).arg(self.path());
        })
    }

    /// The same folder for a proposal: another copy, whose documents may be edited without
    /// touching what the host was started from.
    ///
    /// # Errors
    /// When the copy cannot be made.
    pub fn twin(&self) -> anyhow::Result<Self> {
        let mut twin = Self::empty()?;
        twin.callbacks.clone_from(&self.callbacks);
        for name in ["rialto.toml", "scheme.toml", "scheme.lock"] {
            copy(&self.path().join(name), &twin.path().join(name))?;
        }
        for from in files(&self.path().join("components"))? {
            let name = from.file_name().context("a component's file name")?;
            copy(&from, &twin.path().join("components").join(name))?;
        }
        compiled::take(&twin.state())?;
        Ok(twin)
    }
}

impl Drop for TestScheme {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.folder.disable_cleanup(true);
            eprintln!(
                "the scheme, its store and its log are left in {}",
                self.path().display()
            );
        }
    }
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::copy(from, to).with_context(|| format!("copying {}", from.display()))?;
    Ok(())
}

/// The files of a folder.
fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let listed = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    listed.map(|entry| Ok(entry?.path())).collect()
}

/// Writes what a gzip file holds.
fn unpack(from: &Path, to: &Path) -> anyhow::Result<()> {
    let packed = File::open(from).with_context(|| format!("opening {}", from.display()))?;
    let mut out = File::create(to).with_context(|| format!("writing {}", to.display()))?;
    io::copy(&mut GzDecoder::new(packed), &mut out)
        .with_context(|| format!("unpacking {}", from.display()))?;
    Ok(())
}

/// The demonstration scheme of this repository.
fn demo_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemes/demo")
}
