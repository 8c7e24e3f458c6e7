//! Who may use the operators' listener, and what each of them may do.
//!
//! | Role | What it may do |
//! | --- | --- |
//! | `reader` | GET: the host's own API, and what components serve to operators; gRPC reflection |
//! | `maker` | ask components for changes that somebody else approves |
//! | `checker` | approve or reject what others asked for |
//! | `context` | call interfaces of contexts by gRPC, as another context does |
//! | `admin` | change by the host's own API: releases, components, dead letters |
//!
//! The host judges its own API by [`role_for`]; a component judges what it serves, by the roles that the
//! host tells it. No role includes another one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail, ensure};
use http::Method;
use rialto_components::http as wit;
use rialto_engine::Entropy;
use rialto_manifest::Operator;
use rialto_manifest::operator::{FIRST_OPERATOR, Role};

/// The least that a token must have, in characters: what is shorter was cut or made up.
const TOKEN_CHARACTERS_MIN: usize = 32;
/// Random bytes of a token that is drawn.
const TOKEN_BYTES: usize = 32;

/// Somebody who has shown a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The operator's name.
    pub name: Arc<str>,
    /// What the operator may do.
    pub roles: BTreeSet<Role>,
}

impl Caller {
    /// Whether the caller may do what needs this role.
    #[must_use]
    pub fn has(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }

    /// The caller as components see it.
    #[must_use]
    pub fn to_component(&self) -> wit::Caller {
        let roles = self.roles.iter().map(|role| role.name().to_owned());
        wit::Caller {
            name: self.name.to_string(),
            roles: roles.collect(),
        }
    }
}

/// The role that a request to the host's own API needs.
#[must_use]
pub fn role_for(method: &Method) -> Role {
    if method == Method::GET || method == Method::HEAD {
        Role::Reader
    } else {
        Role::Admin
    }
}

/// All operators, with what each has to show.
pub struct Operators(Vec<(String, Caller)>);

impl Operators {
    /// Those of `rialto.toml`, and the one who holds `operator.token`. Tokens that are not in the
    /// store's folder are drawn.
    ///
    /// # Errors
    /// When a token cannot be read or written, is none, or belongs to two operators.
    pub fn open(operator: &Operator, store: &Path, entropy: &dyn Entropy) -> anyhow::Result<Self> {
        // What the contexts are asked from outside is asked by nobody who may also do all else.
        let all_but_context = Role::ALL.into_iter().filter(|role| *role != Role::Context);
        let mut people = vec![(FIRST_OPERATOR, all_but_context.collect())];
        let named = operator.operators.iter();
        people.extend(named.map(|(name, person)| (name.as_str(), person.roles.clone())));
        let mut all: Vec<(String, Caller)> = Vec::with_capacity(people.len());
        for (name, roles) in people {
            let path = token_path(store, name);
            let token = token(&path, entropy)?;
            if let Some((_, other)) = all.iter().find(|(taken, _)| *taken == token) {
                bail!(
                    "{} holds the token of the operator `{}`; delete it to have another one drawn",
                    path.display(),
                    other.name
                );
            }
            let name = name.into();
            all.push((token, Caller { name, roles }));
        }
        Ok(Self(all))
    }

    /// Who shows this (`Bearer …`, the value of `Authorization`); none when it is nobody's token. How
    /// long it takes does not tell how much of a token was right, nor whose it was.
    #[must_use]
    pub fn caller_of(&self, authorization: Option<&str>) -> Option<Caller> {
        let given = authorization.and_then(|value| value.strip_prefix("Bearer "));
        let given = given.unwrap_or_default().as_bytes();
        let mut found = None;
        for (place, (token, _)) in self.0.iter().enumerate() {
            if same(given, token.as_bytes()) {
                found = Some(place);
            }
        }
        found.map(|place| self.0[place].1.clone())
    }
}

/// Whether both are the same, in a time that does not tell where they differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |diff, (x, y)| diff | (x ^ y)) == 0
}

/// The file with what this operator must show.
#[must_use]
pub fn token_path(store: &Path, name: &str) -> PathBuf {
    if name == FIRST_OPERATOR {
        store.join("operator.token")
    } else {
        store.join("operators").join(format!("{name}.token"))
    }
}

/// The token in a file, drawn when there is none: once, readable by the host's user.
fn token(path: &Path, entropy: &dyn Entropy) -> anyhow::Result<String> {
    use std::io::Write as _;
    use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
    match std::fs::read_to_string(path) {
        Ok(token) => {
            let token = token.trim().to_owned();
            ensure!(
                token.len() >= TOKEN_CHARACTERS_MIN,
                "{} holds no token; delete it to have a new one drawn",
                path.display()
            );
            return Ok(token);
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => {
            return Err(error).with_context(|| format!("reading {}", path.display()));
        }
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.exists()) {
        let made = std::fs::DirBuilder::new().mode(0o700).create(folder);
        made.with_context(|| format!("making {}", folder.display()))?;
    }
    let mut bytes = [0; TOKEN_BYTES];
    entropy.fill(&mut bytes);
    let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    let mut file = file.with_context(|| format!("making {}", path.display()))?;
    writeln!(file, "{token}").with_context(|| format!("writing {}", path.display()))?;
    Ok(token)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use std::os::unix::fs::PermissionsExt as _;

    use rialto_engine::time::SystemEntropy;

    use super::*;

    const TWO: &str = "[listeners.operators]\naddress = \"127.0.0.1:0\"\n\
                       [operators.anna]\nroles = [\"maker\", \"reader\"]\n\
                       [operators.ben]\nroles = [\"context\"]\n";

    fn open(store: &Path) -> anyhow::Result<Operators> {
        Operators::open(&Operator::parse(TWO).unwrap(), store, &SystemEntropy)
    }

    fn shown(store: &Path, name: &str) -> String {
        let token = std::fs::read_to_string(token_path(store, name)).unwrap();
        format!("Bearer {}", token.trim())
    }

    #[test]
    fn each_operator_has_a_token_of_its_own_which_only_the_hosts_user_reads_and_which_stays() {
        let store = tempfile::tempdir().unwrap();
        let operators = open(store.path()).unwrap();
        let again = open(store.path()).unwrap();
        for (name, roles) in [
            ("anna", &[Role::Reader, Role::Maker][..]),
            ("ben", &[Role::Context]),
            (
                "operator",
                &[Role::Reader, Role::Maker, Role::Checker, Role::Admin],
            ),
        ] {
            let shown = shown(store.path(), name);
            assert_eq!(shown.len(), "Bearer ".len() + 2 * TOKEN_BYTES);
            for operators in [&operators, &again] {
                let caller = operators.caller_of(Some(&shown)).unwrap();
                assert_eq!(&*caller.name, name);
                assert!(caller.roles.iter().eq(roles), "{caller:?}");
            }
            let file = std::fs::metadata(token_path(store.path(), name)).unwrap();
            assert_eq!(file.permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn what_is_no_token_is_nobody() {
        let store = tempfile::tempdir().unwrap();
        let operators = open(store.path()).unwrap();
        let right = shown(store.path(), "anna");
        let token = right.trim_start_matches("Bearer ");
        let shorter = &right[..right.len() - 1];
        for wrong in ["", "Bearer ", "Bearer", token, shorter, "Basic x", "anna"] {
            assert_eq!(operators.caller_of(Some(wrong)), None, "{wrong}");
        }
        assert_eq!(operators.caller_of(Some(&format!("{right}0"))), None);
        assert_eq!(operators.caller_of(Some(&format!("Basic {token}"))), None);
        assert_eq!(operators.caller_of(None), None);
    }

    #[test]
    fn a_file_that_holds_no_token_or_that_of_another_operator_is_refused() {
        let store = tempfile::tempdir().unwrap();
        open(store.path()).unwrap();
        let (anna, ben) = ("anna", "ben");
        let path = |name| token_path(store.path(), name);
        std::fs::copy(path(anna), path(ben)).unwrap();
        let refused = open(store.path()).err().unwrap().to_string();
        assert!(
            refused.contains("the token of the operator `anna`"),
            "{refused}"
        );
        std::fs::write(path(ben), "short\n").unwrap();
        let refused = open(store.path()).err().unwrap().to_string();
        assert!(refused.contains("ben.token holds no token"), "{refused}");
    }

    #[test]
    fn only_who_is_admin_changes_what_the_host_runs() {
        assert_eq!(role_for(&Method::GET), Role::Reader);
        for method in [Method::POST, Method::PUT, Method::DELETE, Method::PATCH] {
            assert_eq!(role_for(&method), Role::Admin);
        }
    }
}
