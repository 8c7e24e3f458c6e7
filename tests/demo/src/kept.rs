//! What runs on after the demonstration, and how to reach it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rialto::host::Host;
use rialto::out;
use serde_json::{Value, json};

use crate::payment::Scene;

/// See the module's documentation.
pub struct Kept {
    listeners: BTreeMap<String, String>,
    fsps: Vec<(String, String)>,
    store: PathBuf,
}

impl Kept {
    /// A host on this store and its FSPs.
    pub fn of(host: &Host, scene: &Scene, store: &Path) -> Self {
        let listeners = host.addresses().iter();
        let scheme = |name: &str| {
            if host.has_tls(name) { "https" } else { "http" }
        };
        let listeners =
            listeners.map(|(name, at)| (name.clone(), format!("{}://{at}", scheme(name))));
        Self {
            listeners: listeners.collect(),
            fsps: scene.urls(),
            store: store.to_owned(),
        }
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        let fsps: BTreeMap<_, _> = self.fsps.iter().cloned().collect();
        json!({"kept": {"listeners": self.listeners, "fsps": fsps, "store": self.store}})
    }

    /// For a person.
    pub fn print(&self) -> Result<(), out::Unwritten> {
        out::line("")?;
        let fsps = self.fsps.iter().map(|(name, url)| (name, url));
        for (name, url) in self.listeners.iter().chain(fsps) {
            out::line(format_args!("{name:<12} {url}"))?;
        }
        if let Some(operators) = self.listeners.get("operators") {
            out::line(format_args!("console      {operators}/console"))?;
        }
        out::line(format_args!("store        {}", self.store.display()))?;
        out::line("stop with Ctrl-C")
    }
}
