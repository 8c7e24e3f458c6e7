//! `scheme.lock`: the digests of the components that `scheme.toml` does not pin itself.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::diagnostics::{Code, Diagnostics, Problem};
use crate::manifest::{self, ComponentKind};
use crate::scheme::Scheme;
use crate::source::Source;
use crate::values::{Digest, Name};

/// The lock's file.
pub const FILE_NAME: &str = "scheme.lock";

/// The contents of `scheme.lock`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LockFile {
    /// Digests by component.
    #[serde(default)]
    pub digests: Digests,
}

/// Digests of components, by kind and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Digests {
    /// Contexts.
    pub contexts: BTreeMap<Name, Digest>,
    /// Rules.
    pub rules: BTreeMap<Name, Digest>,
}

impl Digests {
    /// The digest of a component.
    #[must_use]
    pub fn get(&self, kind: ComponentKind, name: &str) -> Option<Digest> {
        self.of(kind).get(name).copied()
    }

    /// All of them, contexts first, by name.
    pub fn iter(&self) -> impl Iterator<Item = (ComponentKind, &Name, Digest)> {
        [ComponentKind::Context, ComponentKind::Rule]
            .into_iter()
            .flat_map(|kind| {
                self.of(kind)
                    .iter()
                    .map(move |(name, digest)| (kind, name, *digest))
            })
    }

    /// Pins a component and replaces its earlier pin.
    pub fn insert(&mut self, kind: ComponentKind, name: Name, digest: Digest) {
        match kind {
            ComponentKind::Context => self.contexts.insert(name, digest),
            ComponentKind::Rule => self.rules.insert(name, digest),
        };
    }

    const fn of(&self, kind: ComponentKind) -> &BTreeMap<Name, Digest> {
        match kind {
            ComponentKind::Context => &self.contexts,
            ComponentKind::Rule => &self.rules,
        }
    }
}

/// The result of [`lock`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// The pinned digests.
    pub digests: Digests,
    /// Whether the file has changed.
    pub changed: bool,
}

/// Compute the digests of a scheme's components and write `scheme.lock` in its folder, if that
/// changes it. Components that `scheme.toml` pins itself are left out.
///
/// # Errors
/// When `scheme.toml` is wrong, a component cannot be read, or the lock cannot be written.
pub fn lock(folder: impl AsRef<Path>) -> Result<Lock, Diagnostics> {
    let folder = folder.as_ref();
    manifest::is_folder(folder)?;
    let mut problems = Diagnostics::default();
    let scheme = manifest::read_text(folder, crate::scheme::FILE_NAME, &mut problems)
        .and_then(|text| Scheme::read(&text, &mut problems));
    let scheme = problems.or(scheme)?;
    let mut problems = Diagnostics::default();
    let mut digests = Digests::default();
    for declared in manifest::declared(&scheme) {
        if declared.digest.is_none()
            && let Some(bytes) = manifest::read_component(folder, &scheme, &declared, &mut problems)
        {
            digests.insert(declared.kind, declared.name.clone(), Digest::of(&bytes));
        }
    }
    let digests = problems.or(Some(digests))?;
    let text = text(&digests);
    let path = folder.join(FILE_NAME);
    let changed = std::fs::read_to_string(&path).ok().as_ref() != Some(&text);
    if changed {
        std::fs::write(&path, text).map_err(|error| unwritable(&error))?;
    }
    Ok(Lock { digests, changed })
}

fn unwritable(error: &std::io::Error) -> Diagnostics {
    let mut problems = Diagnostics::default();
    problems.push(Problem {
        source_text: Source::new(FILE_NAME, ""),
        span: None,
        code: Code::Unreadable,
        message: format!("the lock cannot be written: {error}"),
        help: "The scheme's folder must be writable for `rialto lock`.".to_owned(),
    });
    problems
}

/// The text of a lock that pins these.
#[must_use]
pub fn text(digests: &Digests) -> String {
    let mut text = String::from(
        "# Written by `rialto lock`: the components that scheme.toml does not pin itself.\n\n[digests]\n",
    );
    for (kind, name, digest) in digests.iter() {
        let _ = writeln!(text, "{kind}s.{name} = \"{digest}\"");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;
    use crate::schema;

    #[test]
    fn a_lock_is_read_as_it_was_written() {
        let mut digests = Digests::default();
        digests.insert(
            ComponentKind::Rule,
            "a-b".parse().unwrap(),
            Digest::of(b"1"),
        );
        digests.insert(
            ComponentKind::Context,
            "c".parse().unwrap(),
            Digest::of(b"2"),
        );
        let mut problems = Diagnostics::default();
        let source = Source::new(FILE_NAME, &text(&digests));
        let document: Document<LockFile> =
            Document::read(source, &schema::LOCK, &mut problems).unwrap();
        assert_eq!(problems.plain(), "");
        assert_eq!(document.value.digests, digests);
    }
}
