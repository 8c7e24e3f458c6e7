//! Parses names of WIT interfaces, and says which interfaces are the host's, the rules' or WASI's.

use std::fmt;

/// A parsed name, for example `rialto:transfers/transfer-prepared@0.1.0`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterfaceName {
    /// `rialto`.
    pub namespace: String,
    /// `transfers`.
    pub package: String,
    /// `transfer-prepared`.
    pub interface: String,
    /// `0.1.0`; empty if there is none.
    pub version: String,
}

/// The package of the host surfaces.
pub const HOST_PACKAGE: &str = "host";
/// The package of the rules' steps.
pub const RULES_PACKAGE: &str = "rules";
/// The interface that every rule exports beside its steps.
pub const RULE_INTERFACE: &str = "rule";
/// The function of a step.
pub const CHECK_FUNCTION: &str = "check";

/// The interface by which a rule says which counters it needs.
pub const COUNTING_INTERFACE: &str = "counting";
/// The function of that interface, and of the one by which a context asks for the counters of a step.
pub const COUNTERS_FUNCTION: &str = "counters";
/// The end of a step's name.
const CHECK_END: &str = "-check";
/// The end of the name of the interface by which a context asks for a step's counters.
const COUNTERS_END: &str = "-counters";

impl InterfaceName {
    /// Parse a name; none if it does not have this form.
    pub fn parse(name: &str) -> Option<Self> {
        let (namespace, rest) = name.split_once(':')?;
        let (package, rest) = rest.split_once('/')?;
        let (interface, version) = rest.split_once('@').unwrap_or((rest, ""));
        Some(Self {
            namespace: namespace.to_owned(),
            package: package.to_owned(),
            interface: interface.to_owned(),
            version: version.to_owned(),
        })
    }

    /// Whether the host itself provides it, or calls it.
    pub fn is_host(&self) -> bool {
        self.namespace == "rialto" && self.package == HOST_PACKAGE
    }

    /// Whether it belongs to the package of rules.
    pub fn is_rules(&self) -> bool {
        self.namespace == "rialto" && self.package == RULES_PACKAGE
    }

    /// The step for whose counters a context asks by this interface; none if it is another one.
    pub fn counters_of(&self) -> Option<String> {
        let stem = self.interface.strip_suffix(COUNTERS_END)?;
        self.is_rules().then(|| format!("{stem}{CHECK_END}"))
    }

    /// Whether it is one of WASI's.
    pub fn is_wasi(&self) -> bool {
        self.namespace == "wasi"
    }

    /// `transfers/transfer-prepared`: how grants and people name it.
    pub fn short(&self) -> String {
        format!("{}/{}", self.package, self.interface)
    }
}

impl fmt::Display for InterfaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}/{}", self.namespace, self.package, self.interface)?;
        if self.version.is_empty() {
            Ok(())
        } else {
            write!(f, "@{}", self.version)
        }
    }
}

/// Whether a grant such as `quoting/*` or `transfers/transfer-prepared` covers an interface.
pub fn grant_covers(grant: &str, short: &str) -> bool {
    match grant.strip_suffix("/*") {
        Some(package) => short.split_once('/').is_some_and(|(p, _)| p == package),
        None => grant == short,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_apart_and_together_again() {
        for name in ["rialto:transfers/transfer-prepared@0.1.0", "a:b/c"] {
            assert_eq!(InterfaceName::parse(name).unwrap().to_string(), name);
        }
        assert_eq!(InterfaceName::parse("plain-function"), None);
    }

    #[test]
    fn counters_are_named_after_their_step() {
        let step = |name: &str| InterfaceName::parse(name).unwrap().counters_of();
        let of_step = Some("a-check".to_owned());
        assert_eq!(step("rialto:rules/a-counters@0.2.0"), of_step);
        assert_eq!(step("rialto:rules/a-check@0.2.0"), None);
        assert_eq!(step("rialto:other/a-counters@0.2.0"), None);
    }

    #[test]
    fn a_grant_covers_only_its_interface_or_package() {
        assert!(grant_covers("quoting/*", "quoting/get-agreement"));
        assert!(grant_covers(
            "quoting/get-agreement",
            "quoting/get-agreement"
        ));
        assert!(!grant_covers("quoting/*", "quoting-2/get-agreement"));
        assert!(!grant_covers("quoting/get", "quoting/get-agreement"));
        assert!(!grant_covers("*", "quoting/get-agreement"));
    }
}
