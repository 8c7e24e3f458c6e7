//! `rialto init`: makes a scheme with its components, which `rialto check` accepts unchanged.
//!
//! The two documents are those of `schemes/`, built into the binary. Components are copied from the folder of
//! `--components`. Without it, they are copied from beside the binary: see [`beside`].

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use rialto_manifest::Scheme;
use rialto_manifest::values::Name;

use super::show;
use crate::out;

/// The demonstration's documents.
const DEMO_OPERATOR: &str = include_str!("../../../../schemes/demo/rialto.toml");
const DEMO_SCHEME: &str = include_str!("../../../../schemes/demo/scheme.toml");
/// The operator's document of an empty scheme: it names two operators.
const EMPTY_OPERATOR: &str = include_str!("../../../../schemes/empty/rialto.toml");

/// The line with the demonstration's name.
const DEMO_NAME: &str = "name = \"demo\"\n";
/// The first line of the demonstration's document.
const DEMO_HEAD: &str =
    "# The demonstration scheme: two FSPs, two currencies, everything on one machine.\n";
/// The first line of an empty scheme's document.
const EMPTY_HEAD: &str = "# A scheme: its currencies, its components with what each is granted, its rules. \
Participants are let in by operators, with `rialto participant`.\n";
/// An empty scheme leaves out the lines from the first of these up to the second.
const PARTICIPANTS: [&str; 2] = [
    "# Participants that exist from the beginning.\n",
    "# The error codes that participants may be given",
];
/// Keeps the store out of version control: it has tokens in it.
const IGNORED: &str = "/state/\n";

/// Make a scheme of your own, with its components, in a new or empty folder
#[derive(Debug, clap::Args)]
pub(super) struct Init {
    /// The folder to make.
    scheme: PathBuf,
    /// What the scheme begins with.
    #[arg(long, value_enum, default_value = "demo")]
    from: Beginning,
    /// The scheme's name, in kebab-case. Without it, the folder's name.
    #[arg(long)]
    name: Option<Name>,
    /// The folder with the components, as NAME.wasm. Without it, the folder that came with this binary.
    #[arg(long, value_name = "DIR")]
    components: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Beginning {
    /// The demonstration: two FSPs, two currencies, one operator, everything on one machine
    Demo,
    /// All contexts and rules, two operators, no participants
    Empty,
}

impl Init {
    pub fn run(self) -> anyhow::Result<u8> {
        is_free(&self.scheme)?;
        let name = match &self.name {
            Some(name) => name.to_string(),
            None => name_of(&self.scheme)?,
        };
        let (operator, scheme) = documents(self.from, &name)?;
        let parsed = Scheme::parse(&scheme).map_err(|problems| {
            anyhow::anyhow!(
                "the documents in this binary are wrong: {}",
                problems.plain()
            )
        })?;
        let source = match &self.components {
            Some(folder) => folder.clone(),
            None => found(&parsed)?,
        };
        let components = read(&parsed, &source)?;
        let files = [
            ("rialto.toml", operator.as_str()),
            ("scheme.toml", &scheme),
            (".gitignore", IGNORED),
        ];
        if !make(&self.scheme, &files, &components)? {
            return Ok(2);
        }
        self.tell(components.len(), &source)
    }

    /// Prints what was made, and the next commands.
    fn tell(&self, components: usize, source: &Path) -> anyhow::Result<u8> {
        let folder = self.scheme.display();
        out::line(format_args!(
            "{folder}/rialto.toml   yours: listeners, operators, grants"
        ))?;
        out::line(format_args!("{folder}/scheme.toml   the scheme"))?;
        out::line(format_args!(
            "{folder}/components    {components} components from {}, pinned in scheme.lock",
            source.display()
        ))?;
        out::line("")?;
        out::line("next:")?;
        out::line(format_args!("  rialto check {folder}"))?;
        out::line(format_args!("  rialto serve {folder}"))?;
        if self.from == Beginning::Demo {
            out::line(format_args!("  rialto simulate {folder}"))?;
        }
        Ok(0)
    }
}

/// Returns an error if the folder has something in it: nothing is overwritten.
fn is_free(folder: &Path) -> anyhow::Result<()> {
    let listed = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        listed => listed.with_context(|| format!("reading {}", folder.display()))?,
    };
    ensure!(
        listed.count() == 0,
        "{} is not empty: name a new or empty folder",
        folder.display()
    );
    Ok(())
}

/// The scheme's name, from its folder's name.
fn name_of(folder: &Path) -> anyhow::Result<String> {
    // The folder may be given as `.`.
    let whole = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let last = whole.file_name().unwrap_or_default().to_string_lossy();
    let name: Result<Name, _> = last.parse();
    match name {
        Ok(name) => Ok(name.to_string()),
        Err(_) => bail!("`{last}` is not a scheme's name: give one in kebab-case with --name"),
    }
}

/// rialto.toml and scheme.toml.
fn documents(from: Beginning, name: &str) -> anyhow::Result<(String, String)> {
    let named = |text: &str| text.replacen(DEMO_NAME, &format!("name = \"{name}\"\n"), 1);
    if from == Beginning::Demo {
        return Ok((DEMO_OPERATOR.to_owned(), named(DEMO_SCHEME)));
    }
    let [begin, end] = PARTICIPANTS;
    let cut = DEMO_SCHEME
        .split_once(begin)
        .and_then(|(before, rest)| Some((before, rest.find(end).map(|at| &rest[at..])?)));
    let (before, after) = cut.context("the demonstration's document has other headings now")?;
    let text = format!("{before}{after}").replacen(DEMO_HEAD, EMPTY_HEAD, 1);
    Ok((EMPTY_OPERATOR.to_owned(), named(&text)))
}

/// The files of components that a scheme names, without folders.
fn named(scheme: &Scheme) -> anyhow::Result<Vec<PathBuf>> {
    let contexts = scheme.contexts.values().map(|context| &context.component);
    let rules = scheme.rules.values().map(|rule| &rule.component);
    contexts
        .chain(rules)
        .map(|component| {
            let path = component.within(Path::new(""));
            let file = path.file_name().map(PathBuf::from);
            file.context("a component's path ends in a name")
        })
        .collect()
}

/// The folders where the components of a binary may be: `components/` beside `bin/` in an archive, `components/`
/// beside the binary, or `target/plugins/` of a source tree.
fn beside(binary: &Path) -> Vec<PathBuf> {
    let Some(folder) = binary.parent() else {
        return Vec::new();
    };
    let above = folder.parent().unwrap_or(folder);
    vec![
        folder.join("components"),
        above.join("components"),
        above.join("plugins"),
    ]
}

/// The folder of components that came with this binary.
fn found(scheme: &Scheme) -> anyhow::Result<PathBuf> {
    let binary = std::env::current_exe().context("finding this binary's own file")?;
    let folders = beside(&binary);
    let files = named(scheme)?;
    let has_one = |folder: &&PathBuf| files.iter().any(|file| folder.join(file).is_file());
    if let Some(folder) = folders.iter().find(has_one) {
        return Ok(folder.clone());
    }
    let looked: Vec<String> = folders.iter().map(|f| f.display().to_string()).collect();
    bail!(
        "no components came with this binary (looked in {}): name their folder with --components DIR; \
         in a source tree `cargo xtask build` makes them",
        looked.join(", ")
    )
}

/// Reads all components, before anything is written. The error names all that are missing.
fn read(scheme: &Scheme, folder: &Path) -> anyhow::Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut components = BTreeMap::new();
    let mut missing = Vec::new();
    for file in named(scheme)? {
        let path = folder.join(&file);
        match std::fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                missing.push(file.display().to_string());
            }
            bytes => {
                let bytes = bytes.with_context(|| format!("reading {}", path.display()))?;
                components.insert(file, bytes);
            }
        }
    }
    ensure!(
        missing.is_empty(),
        "{} has no {}",
        folder.display(),
        missing.join(", ")
    );
    Ok(components)
}

/// Writes the scheme beside its place, then moves it there, so that a failure leaves nothing behind. Returns whether
/// the components could be pinned; if not, the problems were printed.
fn make(
    folder: &Path,
    files: &[(&str, &str)],
    components: &BTreeMap<PathBuf, Vec<u8>>,
) -> anyhow::Result<bool> {
    let parent = match folder.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(parent).with_context(|| format!("making {}", parent.display()))?;
    // The umask decides the mode: the folder holds no secrets until a host makes its store in it.
    let new = tempfile::Builder::new()
        .prefix(".rialto-init-")
        .permissions(Permissions::from_mode(0o777))
        .tempdir_in(parent)
        .with_context(|| format!("making a folder in {}", parent.display()))?;
    let write = |path: PathBuf, bytes: &[u8]| {
        std::fs::write(&path, bytes).with_context(|| format!("writing {}", path.display()))
    };
    for (name, text) in files {
        write(new.path().join(name), text.as_bytes())?;
    }
    let inside = new.path().join("components");
    std::fs::create_dir(&inside).with_context(|| format!("making {}", inside.display()))?;
    for (file, bytes) in components {
        write(inside.join(file), bytes)?;
    }
    if let Err(problems) = rialto_manifest::lock(new.path()) {
        show(&problems);
        return Ok(false);
    }
    take_place(new.path(), folder)?;
    Ok(true)
}

/// Moves the scheme to its place. An existing folder is kept, since it may be some shell's working directory.
fn take_place(new: &Path, folder: &Path) -> anyhow::Result<()> {
    let making = || format!("making {}", folder.display());
    if !folder.exists() {
        return std::fs::rename(new, folder).with_context(making);
    }
    for entry in std::fs::read_dir(new).with_context(making)? {
        let name = entry.with_context(making)?.file_name();
        std::fs::rename(new.join(&name), folder.join(&name)).with_context(making)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rialto_manifest::scheme::SchemeFile;

    use super::*;

    #[test]
    fn an_empty_scheme_is_the_demonstration_without_anybody_in_it() {
        let (operator, scheme) = documents(Beginning::Empty, "mine").unwrap();
        let operator = rialto_manifest::Operator::parse(&operator).unwrap();
        assert_eq!(operator.operators.len(), 2);
        let scheme = Scheme::parse(&scheme).unwrap();
        let (_, demo) = documents(Beginning::Demo, "mine").unwrap();
        let demo = Scheme::parse(&demo).unwrap();
        assert_eq!(scheme.name.as_str(), "mine");
        assert!(scheme.participants.is_empty() && !demo.participants.is_empty());
        let mut without = SchemeFile::clone(&demo);
        without.participants.clear();
        assert_eq!(*scheme, without);
    }

    #[test]
    fn an_empty_scheme_does_not_call_itself_the_demonstration() {
        let (_, scheme) = documents(Beginning::Empty, "mine").unwrap();
        assert!(scheme.starts_with(EMPTY_HEAD), "{scheme}");
    }

    #[test]
    fn components_are_found_in_archives_and_source_trees() {
        let folders = |binary: &str| beside(Path::new(binary));
        let archive = folders("/opt/rialto/bin/rialto");
        assert!(archive.contains(&PathBuf::from("/opt/rialto/components")));
        let together = folders("/opt/rialto/rialto");
        assert!(together.contains(&PathBuf::from("/opt/rialto/components")));
        let tree = folders("/src/target/release/rialto");
        assert!(tree.contains(&PathBuf::from("/src/target/plugins")));
    }

    #[test]
    fn all_components_that_are_missing_are_named() {
        let (_, scheme) = documents(Beginning::Empty, "mine").unwrap();
        let scheme = Scheme::parse(&scheme).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("quoting.wasm"), "x").unwrap();
        let error = read(&scheme, folder.path()).unwrap_err().to_string();
        assert!(!error.contains("quoting.wasm"), "{error}");
        for file in ["transfers.wasm", "amount-limits.wasm"] {
            assert!(error.contains(file), "{error}");
        }
    }

    #[test]
    fn a_folder_with_something_in_it_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        assert!(is_free(folder.path()).is_ok());
        assert!(is_free(&folder.path().join("new")).is_ok());
        std::fs::write(folder.path().join("x"), "mine").unwrap();
        assert!(is_free(folder.path()).is_err());
    }

    #[test]
    fn an_unfit_folder_name_needs_a_scheme_name() {
        assert_eq!(name_of(Path::new("/srv/hub")).unwrap(), "hub");
        let error = name_of(Path::new("/srv/My Hub")).unwrap_err();
        assert!(error.to_string().contains("--name"), "{error}");
    }
}
