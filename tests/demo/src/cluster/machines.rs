//! The hosts of the demonstration with several hosts: each has a folder and a process of its own.

use std::fs::{self, DirBuilder, File};
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, ensure};
use rialto::client::Client;
use rialto_manifest::Manifest;
use rialto_simulator::ports;
use serde_json::{Value, json};

/// The folder of keys. All hosts have the same.
const SECRETS: &str = "secrets";
/// Listeners, and the address for other hosts.
const ADDRESSES: [&str; 3] = ["fsps", "operators", "cluster"];

/// What all hosts share.
pub struct Shared {
    /// The database's URL.
    pub database: String,
    /// The URL of NATS, if there is one.
    pub nats: Option<String>,
}

/// A host.
pub struct Machine {
    name: String,
    folder: PathBuf,
    addresses: [SocketAddr; 3],
    child: Option<Child>,
}

impl Machine {
    /// The folder of the first host, made from a scheme.
    pub fn prepare(
        manifest: &Manifest,
        folder: &Path,
        number: usize,
        shared: &Shared,
    ) -> anyhow::Result<Self> {
        let from = fs::canonicalize(manifest.folder())?;
        let machine = Self::new(folder, number)?;
        for name in ["scheme.toml", "scheme.lock", "components"] {
            symlink(from.join(name), machine.folder.join(name))?;
        }
        let text = fs::read_to_string(from.join("rialto.toml"))?;
        machine.write_document(&text, shared)?;
        Ok(machine)
    }

    /// The folder of another host: the same documents, and the keys that the first one has made.
    pub fn beside(
        first: &Self,
        folder: &Path,
        number: usize,
        shared: &Shared,
    ) -> anyhow::Result<Self> {
        let machine = Self::new(folder, number)?;
        for name in ["scheme.toml", "scheme.lock", "components"] {
            symlink(first.folder.join(name), machine.folder.join(name))?;
        }
        let secrets = machine.folder.join(SECRETS);
        DirBuilder::new().mode(0o700).create(&secrets)?;
        for entry in fs::read_dir(first.folder.join(SECRETS))? {
            let entry = entry?;
            fs::copy(entry.path(), secrets.join(entry.file_name()))?;
        }
        // The same machine code, so that it need not be compiled again.
        let compiled = Path::new("state").join("compiled");
        let to = machine.folder.join(&compiled);
        DirBuilder::new().mode(0o700).recursive(true).create(&to)?;
        for entry in fs::read_dir(first.folder.join(&compiled))? {
            let entry = entry?;
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
        let text = fs::read_to_string(first.folder.join("original.toml"))?;
        machine.write_document(&text, shared)?;
        Ok(machine)
    }

    fn new(folder: &Path, number: usize) -> anyhow::Result<Self> {
        let name = format!("host-{number}");
        let folder = folder.join(&name);
        DirBuilder::new()
            .mode(0o700)
            .create(&folder)
            .with_context(|| format!("making {}", folder.display()))?;
        let address = || anyhow::Ok(SocketAddr::from(([127, 0, 0, 1], ports::free()?)));
        let addresses = [address()?, address()?, address()?];
        Ok(Self {
            name,
            folder,
            addresses,
            child: None,
        })
    }

    /// Write rialto.toml: the scheme's own, with this host's addresses and what all hosts share.
    fn write_document(&self, original: &str, shared: &Shared) -> anyhow::Result<()> {
        fs::write(self.folder.join("original.toml"), original)?;
        let mut text = String::new();
        let mut listeners = self.addresses.iter();
        for line in original.lines() {
            if line.starts_with("address = ") {
                let address = listeners.next().context("two listeners")?;
                text.push_str(&format!("address = \"{address}\"\n"));
                continue;
            }
            text.push_str(line);
            text.push('\n');
            if line == "path = \"state\"" {
                text.push_str(&format!("url = \"{}\"\n", shared.database));
            }
        }
        text.push_str(&format!(
            "\n[cluster]\nlisten = \"{}\"\n",
            self.addresses[2]
        ));
        if let Some(nats) = &shared.nats {
            text.push_str(&format!(
                "\n[events.publish]\nnats = \"{nats}\"\nstream = \"DEMO\"\nevents = {{ \"transfers/*\" = [\"transfer-id\"] }}\n"
            ));
        }
        fs::write(self.folder.join("rialto.toml"), text)?;
        Ok(())
    }

    /// Start its process. It ends with this value.
    pub fn start(&mut self, program: &Path) -> anyhow::Result<()> {
        let log = File::create(self.folder.join("log"))?;
        let child = Command::new(program)
            .arg("serve")
            .arg(&self.folder)
            .env_remove("RIALTO_STATE")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        let child = child.with_context(|| format!("starting {}", program.display()))?;
        self.child = Some(child);
        Ok(())
    }

    /// Kill its process, as a power cut would.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        if let Some(mut child) = self.child.take() {
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }

    /// Whether it serves.
    ///
    /// # Errors
    /// When its process has ended, with the end of its log.
    pub fn serves(&self) -> anyhow::Result<bool> {
        let log = || fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        if let Some(child) = &self.child {
            let is_there = Path::new("/proc").join(child.id().to_string()).join("exe");
            ensure!(is_there.exists(), "{} has ended:\n{}", self.name, log());
        }
        // It has a client's token and its listeners' addresses when it has started.
        let Ok(client) = Client::of(&self.folder.join("state"), "operator") else {
            return Ok(false);
        };
        let hosts: Result<Value, _> = client.get("/cluster");
        Ok(hosts.is_ok_and(|cluster| {
            let hosts = cluster["hosts"].as_array();
            let mut hosts = hosts.into_iter().flatten();
            hosts.any(|host| host["isThis"] == true && host["state"] == "SERVING")
        }))
    }

    /// What a command says of this host.
    ///
    /// # Errors
    /// When it fails, with what it says.
    pub fn rialto(&self, program: &Path, words: &[&str]) -> anyhow::Result<String> {
        let mut command = Command::new(program);
        command.args(words).arg("--at").arg(&self.folder);
        let output = command.env_remove("RIALTO_STATE").output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "`rialto {}`: {said}",
            words.join(" ")
        );
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// What this host answers at a path of the operators' API.
    ///
    /// # Errors
    /// When it does not answer well.
    pub fn asked(&self, path: &str) -> anyhow::Result<Value> {
        Client::of(&self.folder.join("state"), "operator")?.get(path)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The URL of its listener for FSPs.
    pub fn fsps(&self) -> String {
        format!("http://{}", self.addresses[0])
    }

    /// The URL of its operators' listener.
    pub fn operators(&self) -> String {
        format!("http://{}", self.addresses[1])
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        let addresses: serde_json::Map<_, _> = ADDRESSES
            .iter()
            .zip(&self.addresses)
            .map(|(name, address)| ((*name).to_owned(), json!(address.to_string())))
            .collect();
        json!({ "name": self.name, "addresses": addresses, "folder": self.folder })
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // A process that has ended needs no kill.
        let _ = self.kill();
    }
}
