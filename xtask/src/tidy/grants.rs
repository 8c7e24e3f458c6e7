//! The demonstration scheme grants each component what its world imports, and nothing else.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, anyhow};
use rialto_manifest::Scheme;
use rialto_manifest::values::InterfacePattern;

use super::Finding;
use super::files::TextFile;
use crate::repository;

/// What a world imports, by package and interface.
type Imports<'a> = Vec<(&'a str, &'a str)>;

/// Grants without imports, and imports without grants.
pub fn findings(files: &[TextFile]) -> Result<Vec<Finding>> {
    let path = Path::new(repository::DEMO).join("scheme.toml");
    let text = text(files, &path).unwrap_or_default();
    let scheme =
        Scheme::parse(text).map_err(|problems| anyhow!("{}\n{problems}", path.display()))?;
    let mut findings = Vec::new();
    for (name, context) in &scheme.contexts {
        let world = Path::new("plugins/contexts")
            .join(name.as_str())
            .join("world.wit");
        let imports = text_of_world(files, &world);
        let grants = &context.grants;
        let own = |pair: &&(&str, &str)| pair.0 == name.as_str();
        let elsewhere = |pair: &&(&str, &str)| !own(pair) && !matches!(pair.0, "host" | "rules");
        let host = grants.host.iter().map(|surface| surface.name());
        let mut wrong = differences("host", &of_package(&imports, "host"), host.collect());
        let steps = grants.rules.iter().map(|step| step.as_str());
        wrong.extend(differences("rules", &steps_of(&imports), steps.collect()));
        // Events are of the context's own package, but for those that everybody publishes, such as those of Auditing.
        // Whether such an import is an event at all, the host says when it wires the scheme.
        let published = |pair: &&(&str, &str)| {
            let mut patterns = grants.publishes.iter();
            elsewhere(pair) && patterns.any(|pattern| covers(pattern, **pair))
        };
        let calls = imports.iter().filter(elsewhere);
        let calls = calls.filter(|pair| !published(pair)).copied().collect();
        wrong.extend(uncovered("calls", &calls, &grants.calls));
        let events = imports.iter().filter(|pair| own(pair) || published(pair));
        let events = events.copied().collect();
        wrong.extend(uncovered("publishes", &events, &grants.publishes));
        findings.extend(wrong.into_iter().map(|message| Finding {
            file: path.clone(),
            line: 0,
            message: format!("context `{name}`: {message}"),
        }));
    }
    Ok(findings)
}

fn text<'f>(files: &'f [TextFile], path: &Path) -> Option<&'f str> {
    let file = files.iter().find(|file| file.path == path)?;
    Some(&file.text)
}

fn text_of_world<'f>(files: &'f [TextFile], path: &Path) -> Imports<'f> {
    imports(text(files, path).unwrap_or_default())
}

/// `import rialto:host/storage@0.1.0;`: host, storage.
fn imports(world: &str) -> Imports<'_> {
    let names = world
        .lines()
        .filter_map(|line| line.trim().strip_prefix("import rialto:"));
    names
        .filter_map(|name| name.split('@').next()?.split_once('/'))
        .collect()
}

fn of_package<'a>(imports: &Imports<'a>, package: &str) -> BTreeSet<&'a str> {
    let of_it = imports.iter().filter(|(name, _)| *name == package);
    of_it.map(|(_, interface)| *interface).collect()
}

/// The steps that a world asks. Who is granted a step may ask for its counters too.
fn steps_of<'a>(imports: &Imports<'a>) -> BTreeSet<&'a str> {
    let mut steps = of_package(imports, "rules");
    steps.retain(|name| !name.ends_with("-counters"));
    steps
}

fn differences(key: &str, imported: &BTreeSet<&str>, granted: BTreeSet<&str>) -> Vec<String> {
    let missing = imported
        .difference(&granted)
        .map(|name| format!("imports `{name}`, which `grants.{key}` lacks"));
    let idle = granted
        .difference(imported)
        .map(|name| format!("is granted `{name}` in `grants.{key}`, but does not import it"));
    missing.chain(idle).collect()
}

/// Whether a grant covers an import.
fn covers(pattern: &InterfacePattern, (package, interface): (&str, &str)) -> bool {
    let wanted = pattern.interface.as_ref();
    pattern.package.as_str() == package && wanted.is_none_or(|name| name.as_str() == interface)
}

fn uncovered(key: &str, imported: &Imports<'_>, granted: &[InterfacePattern]) -> Vec<String> {
    let missing = imported
        .iter()
        .filter(|import| !granted.iter().any(|pattern| covers(pattern, **import)))
        .map(|(package, name)| format!("imports `{package}/{name}`, which `grants.{key}` lacks"));
    let idle = granted
        .iter()
        .filter(|pattern| !imported.iter().any(|import| covers(pattern, *import)))
        .map(|pattern| format!("is granted `{pattern}` in `grants.{key}`, but imports no such"));
    missing.chain(idle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extra_and_missing_grants_are_found() {
        let world = "world a {\n    import rialto:host/clock@0.1.0;\n    import rialto:b/x@0.1.0;\n    export rialto:b/y@0.1.0;\n}\n";
        let imports = imports(world);
        assert_eq!(imports, [("host", "clock"), ("b", "x")]);
        let host = of_package(&imports, "host");
        assert_eq!(differences("host", &host, ["clock"].into()), [""; 0]);
        assert_eq!(differences("host", &host, ["random"].into()).len(), 2);
        let pattern = |text: &str| text.parse::<InterfacePattern>().unwrap();
        let calls = vec![("b", "x")];
        assert_eq!(uncovered("calls", &calls, &[pattern("b/*")]), [""; 0]);
        assert_eq!(uncovered("calls", &calls, &[pattern("b/z")]).len(), 2);
    }
}
