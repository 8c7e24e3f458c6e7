//! Reads and checks a scheme's folder. The host starts from it.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::check;
use crate::diagnostics::{Code, Diagnostics, Problem};
use crate::document::{DOCUMENT_BYTES_MAX, Document};
use crate::lock::{self, Digests, LockFile};
use crate::operator::{self, Operator};
use crate::schema;
use crate::scheme::{self, Scheme, SchemeDocument};
use crate::source::Source;
use crate::values::{ComponentPath, Digest, Name};

/// The longest component that is read, in bytes.
pub const COMPONENT_BYTES_MAX: u64 = 64 << 20;

/// What a component is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ComponentKind {
    /// A bounded context.
    Context,
    /// A rule.
    Rule,
}

impl fmt::Display for ComponentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Context => "context",
            Self::Rule => "rule",
        })
    }
}

/// A component of a scheme, read from its file.
#[derive(Clone, Debug)]
pub struct Component {
    /// What it is for.
    pub kind: ComponentKind,
    /// Its name in the scheme.
    pub name: Name,
    /// Its file.
    pub path: PathBuf,
    /// Its digest, which is the pinned one.
    pub digest: Digest,
    /// Its bytes: those that the digest was computed from.
    pub bytes: Arc<[u8]>,
}

/// A scheme's folder without a problem in it.
#[derive(Debug)]
pub struct Manifest {
    folder: PathBuf,
    operator: Operator,
    scheme: Arc<Scheme>,
    document: SchemeDocument,
    components: Vec<Component>,
}

impl Manifest {
    /// Read and check a scheme's folder: both documents, the lock and the components' digests.
    ///
    /// # Errors
    /// With every problem that was found.
    pub fn load(folder: impl AsRef<Path>) -> Result<Self, Diagnostics> {
        let folder = folder.as_ref();
        let mut problems = Diagnostics::default();
        is_folder(folder)?;
        let operator = read_text(folder, operator::FILE_NAME, &mut problems)
            .and_then(|text| Operator::read(&text, &mut problems));
        let scheme = read_text(folder, scheme::FILE_NAME, &mut problems)
            .and_then(|text| Scheme::read(&text, &mut problems));
        if let (Some(operator), Some(scheme)) = (&operator, &scheme) {
            check::admission(operator, scheme, &mut problems);
        }
        if let Some(scheme) = &scheme {
            check::bound_twice(scheme, &mut problems);
        }
        let components = scheme
            .as_ref()
            .map(|scheme| components(folder, scheme, &mut problems));
        let manifest = operator.zip(scheme).zip(components);
        let ((operator, scheme), components) = problems.or(manifest)?;
        let mut digests = Digests::default();
        for component in &components {
            digests.insert(component.kind, component.name.clone(), component.digest);
        }
        let scheme = Arc::new(scheme);
        Ok(Self {
            folder: folder.to_owned(),
            operator,
            document: SchemeDocument::of(scheme.clone(), digests),
            scheme,
            components,
        })
    }

    /// The folder it was read from.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The operator's document.
    #[must_use]
    pub const fn operator(&self) -> &Operator {
        &self.operator
    }

    /// The scheme's document.
    #[must_use]
    pub fn scheme(&self) -> &Scheme {
        &self.scheme
    }

    /// The scheme in the form in which a release is stored.
    #[must_use]
    pub const fn document(&self) -> &SchemeDocument {
        &self.document
    }

    /// What names the scheme by content; see [`SchemeDocument::digest`].
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.document.digest()
    }

    /// The components, contexts first, by name.
    #[must_use]
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// The components' files, in the same order.
    pub fn component_paths(&self) -> impl Iterator<Item = &Path> {
        self.components.iter().map(|c| c.path.as_path())
    }

    /// The folder of the store.
    #[must_use]
    pub fn store_path(&self) -> PathBuf {
        self.operator.store_path(&self.folder)
    }

    /// The JSON text for `configuration.scheme`.
    #[must_use]
    pub fn scheme_json(&self) -> String {
        self.scheme.scheme_json()
    }

    /// The settings of a context as a JSON object; none if there is no such context.
    #[must_use]
    pub fn settings_json(&self, context: &str) -> Option<String> {
        self.scheme.settings_json(context)
    }
}

/// A component as `scheme.toml` declares it.
pub(crate) struct Declared {
    pub kind: ComponentKind,
    pub name: Name,
    pub file: ComponentPath,
    pub digest: Option<Digest>,
}

impl Declared {
    /// The path of one of its keys in `scheme.toml`.
    fn key(&self, key: &str) -> String {
        format!("{}s/{}/{key}", self.kind, self.name)
    }
}

pub(crate) fn declared(scheme: &Scheme) -> Vec<Declared> {
    let contexts = scheme.contexts.iter().map(|(name, context)| Declared {
        kind: ComponentKind::Context,
        name: name.clone(),
        file: context.component.clone(),
        digest: context.digest,
    });
    let rules = scheme.rules.iter().map(|(name, rule)| Declared {
        kind: ComponentKind::Rule,
        name: name.clone(),
        file: rule.component.clone(),
        digest: rule.digest,
    });
    contexts.chain(rules).collect()
}

/// Read the components and compare them with what pins them.
fn components(folder: &Path, scheme: &Scheme, problems: &mut Diagnostics) -> Vec<Component> {
    let declared = declared(scheme);
    let lock = read_lock(folder, &declared, problems);
    let command = format!("rialto lock {}", folder.display());
    let mut components = Vec::new();
    for declared in declared {
        let Some(bytes) = read_component(folder, scheme, &declared, problems) else {
            continue;
        };
        let digest = Digest::of(&bytes);
        if let Some(lock) = &lock {
            pinned(scheme, lock, &declared, digest, &command, problems);
        }
        components.push(Component {
            kind: declared.kind,
            path: declared.file.within(folder),
            name: declared.name,
            digest,
            bytes: bytes.into(),
        });
    }
    components
}

/// Whether a component is the one that was pinned.
fn pinned(
    scheme: &Scheme,
    lock: &Document<LockFile>,
    declared: &Declared,
    digest: Digest,
    command: &str,
    problems: &mut Diagnostics,
) {
    let what = format!("{} `{}`", declared.kind, declared.name);
    let file = &declared.file;
    let path = format!("digests/{}s/{}", declared.kind, declared.name);
    let locked = lock
        .value
        .digests
        .get(declared.kind, declared.name.as_str());
    match (declared.digest, locked) {
        (Some(own), _) if own != digest => scheme.document().problem(
            problems,
            &declared.key("digest"),
            Code::DigestMismatch,
            format!("`{own}` is not the digest of `{file}`"),
            format!(
                "The file's digest is {digest}. If the new file is meant, write that digest, or leave `digest` out and run `{command}`."
            ),
        ),
        (Some(_), Some(_)) => lock.problem(
            problems,
            &path,
            Code::StaleLock,
            format!("{what} is pinned in scheme.toml already"),
            format!("Run `{command}`."),
        ),
        (None, Some(pin)) if pin != digest => lock.problem(
            problems,
            &path,
            Code::DigestMismatch,
            format!("`{pin}` is not the digest of `{file}`"),
            format!("The file's digest is {digest}. If the new file is meant, run `{command}`."),
        ),
        (None, None) => scheme.document().problem(
            problems,
            &declared.key("component"),
            Code::Unpinned,
            format!("{what} has no digest, neither here nor in scheme.lock"),
            format!("Run `{command}` to pin it."),
        ),
        _ => {}
    }
}

/// The lock; an empty one if there is no such file, and none if it is wrong.
fn read_lock(
    folder: &Path,
    declared: &[Declared],
    problems: &mut Diagnostics,
) -> Option<Document<LockFile>> {
    let text = if folder.join(lock::FILE_NAME).exists() {
        read_text(folder, lock::FILE_NAME, problems)?
    } else {
        String::new()
    };
    let source = Source::new(lock::FILE_NAME, &text);
    let lock: Document<LockFile> = Document::read(source, &schema::LOCK, problems)?;
    for (kind, name, _) in lock.value.digests.iter() {
        if !declared.iter().any(|d| d.kind == kind && d.name == *name) {
            lock.problem(
                problems,
                &format!("digests/{kind}s/{name}"),
                Code::StaleLock,
                format!("scheme.toml has no {kind} `{name}`"),
                format!("Run `rialto lock {}`.", folder.display()),
            );
        }
    }
    Some(lock)
}

/// Say once that there is no folder, instead of missing each document in it.
pub(crate) fn is_folder(folder: &Path) -> Result<(), Diagnostics> {
    let message = match std::fs::metadata(folder) {
        Ok(found) if found.is_dir() => return Ok(()),
        Ok(_) => "it is a file, and a scheme is a folder".to_owned(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            "there is no such folder".to_owned()
        }
        Err(error) => format!("the folder cannot be read: {error}"),
    };
    Err(Diagnostics::of(vec![Problem {
        source_text: Source::new(&folder.display().to_string(), ""),
        span: None,
        code: Code::Unreadable,
        message,
        help: format!(
            "Name a scheme's folder: it holds {} and {}, as schemes/demo does.",
            operator::FILE_NAME,
            scheme::FILE_NAME
        ),
    }]))
}

/// Read a document's text.
pub(crate) fn read_text(folder: &Path, name: &str, problems: &mut Diagnostics) -> Option<String> {
    let bytes = read_bounded(&folder.join(name), DOCUMENT_BYTES_MAX);
    let read = bytes
        .map_err(|reason| reason.to_string())
        .and_then(|bytes| {
            String::from_utf8(bytes).map_err(|error| {
                let at = error.utf8_error().valid_up_to();
                format!("it is not UTF-8 from byte {at} on")
            })
        });
    read.map_err(|reason| {
        problems.push(Problem {
            source_text: Source::new(name, ""),
            span: None,
            code: Code::Unreadable,
            message: format!("the document cannot be read: {reason}"),
            help: format!(
                "A scheme's folder holds {} and {}; see schemes/demo.",
                operator::FILE_NAME,
                scheme::FILE_NAME
            ),
        });
    })
    .ok()
}

/// Read a component's file.
pub(crate) fn read_component(
    folder: &Path,
    scheme: &Scheme,
    declared: &Declared,
    problems: &mut Diagnostics,
) -> Option<Vec<u8>> {
    read_bounded(&declared.file.within(folder), COMPONENT_BYTES_MAX)
        .map_err(|unreadable| {
            let help = match unreadable {
                Unreadable::Missing => "Put the component there; for the schemes of this repository run `cargo xtask build`.",
                Unreadable::TooLong(_) => "Build it for release, without debug information (`strip`), and name the file that the build made.",
                Unreadable::Other(_) => "Have the user of `rialto` read it.",
            };
            scheme.document().problem(
                problems,
                &declared.key("component"),
                Code::MissingComponent,
                format!("the component `{}` cannot be read: {unreadable}", declared.file),
                help,
            );
        })
        .ok()
}

/// Why a file's bytes are not there.
#[derive(Debug, thiserror::Error)]
enum Unreadable {
    #[error("there is no such file")]
    Missing,
    #[error("it is longer than {} MiB", .0 >> 20)]
    TooLong(u64),
    #[error("{0}")]
    Other(std::io::Error),
}

/// A file's bytes, if there are not too many.
fn read_bounded(path: &Path, bytes_max: u64) -> Result<Vec<u8>, Unreadable> {
    let reason = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => Unreadable::Missing,
        _ => Unreadable::Other(error),
    };
    let file = File::open(path).map_err(reason)?;
    let mut bytes = Vec::new();
    file.take(bytes_max + 1)
        .read_to_end(&mut bytes)
        .map_err(reason)?;
    if bytes.len() as u64 > bytes_max {
        return Err(Unreadable::TooLong(bytes_max));
    }
    Ok(bytes)
}
