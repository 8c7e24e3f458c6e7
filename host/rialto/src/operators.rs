//! The operators, their tokens and their roles.
//!
//! | Role | What it may do |
//! | --- | --- |
//! | `reader` | GET: the host's own API, and what components serve to operators; gRPC reflection |
//! | `maker` | ask components for changes that somebody else approves |
//! | `checker` | approve or reject what others asked for |
//! | `context` | call interfaces of contexts by gRPC, as another context does |
//! | `admin` | change by the host's own API: releases, components, dead letters |
//!
//! A token belongs to an operator, and an operator to a person. An operator with a `subject` has no token in a file: the
//! person signs in ([`crate::access`]). A person may have several operators and has one name. Makers and checkers are compared by the person's name. The audit log has the actions of persons in the
//! host's own API ([`crate::audit`]).
//!
//! The host checks roles for its own API ([`role_for`]). A component checks them for what it serves; the host
//! passes it the caller's roles. No role includes another one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail, ensure};
use http::Method;
use rialto_components::http as wit;
use rialto_engine::{Entropy, Timestamp};
use rialto_files::Owner;
use rialto_manifest::Operator;
use rialto_manifest::operator::{FIRST_OPERATOR, Role};
use rialto_signatures::secrets::same_secret;

/// The shortest token, in characters. A shorter one was cut or made up.
const TOKEN_CHARACTERS_MIN: usize = 32;
/// The random bytes of a new token.
const TOKEN_BYTES: usize = 32;

/// The operator of a request, by what it showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The operator's name.
    pub name: Arc<str>,
    /// The person's name. It is the same for all of the person's operators.
    pub person: Arc<str>,
    /// What the operator may do.
    pub roles: BTreeSet<Role>,
    /// What the request showed.
    pub shown: Shown,
}

/// What a request showed to prove who its operator is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// The operator's token in the store's folder.
    File,
    /// A personal token.
    Token(Expiring),
    /// The session of a browser.
    Session(Expiring),
}

/// A credential that ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expiring {
    /// Its public name.
    pub id: Arc<str>,
    /// When it ends.
    pub expires: Timestamp,
    /// Whether it is a personal token, or a session that was given for one. Such a caller makes nothing that outlives it.
    pub is_of_token: bool,
}

impl Shown {
    /// In a few words.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Token(_) => "token",
            Self::Session(_) => "session",
        }
    }

    /// The credential that ends; none for a token in a file.
    #[must_use]
    pub const fn expiring(&self) -> Option<&Expiring> {
        match self {
            Self::File => None,
            Self::Token(expiring) | Self::Session(expiring) => Some(expiring),
        }
    }
}

impl Caller {
    /// Whether the caller has this role.
    #[must_use]
    pub fn has(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }

    /// Whether a personal token was shown, or a session that was given for one.
    #[must_use]
    pub fn is_of_token(&self) -> bool {
        self.shown.expiring().is_some_and(|one| one.is_of_token)
    }

    /// The public name of the personal token or the session that was shown; empty for a token in a file.
    #[must_use]
    pub fn credential(&self) -> String {
        let expiring = self.shown.expiring();
        expiring.map_or_else(String::new, |one| {
            format!("{} {}", self.shown.kind(), one.id)
        })
    }

    /// Whether the operator's document names the caller. The holder of `operator.token` has no name there.
    #[must_use]
    pub fn is_named(&self) -> bool {
        &*self.name != FIRST_OPERATOR
    }

    /// The caller as components see it: the person, who may not check what they made.
    #[must_use]
    pub fn to_component(&self) -> wit::Caller {
        let roles = self.roles.iter().map(|role| role.name().to_owned());
        wit::Caller {
            name: self.person.to_string(),
            roles: roles.collect(),
        }
    }
}

/// The first segments of paths that are about the operator who asks, whatever the roles.
const ABOUT_ONESELF: [&str; 5] = ["confirmations", "passkeys", "session", "sign-out", "tokens"];

/// Asking what rules would say, what their failures would come to, and whether the audit log holds, changes nothing.
const CHANGE_NOTHING: [&str; 3] = ["audit-log", "drill", "what-if"];

/// The role that a request to the host's own API needs; none if every operator may send it.
#[must_use]
pub fn role_for(method: &Method, path: &str) -> Option<Role> {
    let first = path.split('/').nth(1).unwrap_or_default();
    let is_read = method == Method::GET || method == Method::HEAD;
    let approves = ["passkeys", "plans", "releases", "suspensions"].contains(&first)
        && path.ends_with("/approve");
    if approves && !is_read {
        Some(Role::Checker)
    } else if ABOUT_ONESELF.contains(&first) {
        None
    } else if is_read || CHANGE_NOTHING.contains(&first) {
        Some(Role::Reader)
    } else {
        Some(Role::Admin)
    }
}

/// All operators, with their tokens and subjects.
pub struct Operators {
    all: Vec<Listed>,
    changes: Vec<TokenChange>,
}

/// An operator.
struct Listed {
    /// The token in a file; none for an operator who signs in.
    token: Option<String>,
    /// The subject of the person who signs in as this operator.
    subject: Option<Arc<str>>,
    caller: Caller,
}

/// A change of a token at the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenChange {
    /// Made for this operator, who had none.
    Drawn(Arc<str>),
    /// Removed, because the operator's document no longer has this operator, or the operator signs in.
    Removed(Arc<str>),
}

impl Operators {
    /// The operators of `rialto.toml`. If it names none, there is one operator, with the token `operator.token`;
    /// otherwise that token is removed. Tokens that are missing in the store's folder are made, and those of operators who
    /// sign in are removed.
    ///
    /// # Errors
    /// When a token cannot be read or written, is none, or belongs to two operators; when its file belongs
    /// to somebody else than the host's user, or others can read it.
    pub fn open(operator: &Operator, store: &Path, entropy: &dyn Entropy) -> anyhow::Result<Self> {
        // The unnamed operator has all roles except `context`: external calls need an operator of their own.
        let all_but_context = Role::ALL.into_iter().filter(|role| *role != Role::Context);
        let named = operator.operators.iter().map(|(name, table)| {
            let person = table.person.as_ref().unwrap_or(name);
            let caller = Caller {
                name: name.as_str().into(),
                person: person.as_str().into(),
                roles: table.roles.clone(),
                shown: Shown::File,
            };
            (caller, table.subject.as_deref())
        });
        let mut people: Vec<(Caller, Option<&str>)> = named.collect();
        let mut changes = Vec::new();
        if people.is_empty() {
            let first = Caller {
                name: FIRST_OPERATOR.into(),
                person: FIRST_OPERATOR.into(),
                roles: all_but_context.collect(),
                shown: Shown::File,
            };
            people.push((first, None));
        } else if remove(&token_path(store, FIRST_OPERATOR))? {
            changes.push(TokenChange::Removed(FIRST_OPERATOR.into()));
        }
        let owner = rialto_files::folder(store)?;
        let mut all: Vec<Listed> = Vec::with_capacity(people.len());
        for (caller, subject) in people {
            let path = token_path(store, &caller.name);
            if let Some(subject) = subject {
                if remove(&path)? {
                    changes.push(TokenChange::Removed(caller.name.clone()));
                }
                all.push(Listed {
                    token: None,
                    subject: Some(subject.into()),
                    caller,
                });
                continue;
            }
            if let Some(folder) = path.parent().filter(|folder| *folder != store) {
                rialto_files::folder(folder)?;
            }
            let (token, drawn) = token(&path, owner, entropy)?;
            if drawn {
                changes.push(TokenChange::Drawn(caller.name.clone()));
            }
            let has_it = |other: &&Listed| other.token.as_ref() == Some(&token);
            if let Some(other) = all.iter().find(has_it) {
                bail!(
                    "{} holds the token of the operator `{}`; delete it to have another one drawn",
                    path.display(),
                    other.caller.name
                );
            }
            all.push(Listed {
                token: Some(token),
                subject: None,
                caller,
            });
        }
        Ok(Self { all, changes })
    }

    /// The changes of tokens at the start.
    #[must_use]
    pub fn changes(&self) -> &[TokenChange] {
        &self.changes
    }

    /// All operators.
    pub fn all(&self) -> impl Iterator<Item = &Caller> {
        self.all.iter().map(|listed| &listed.caller)
    }

    /// The operator of this name, with the subject of the person who signs in.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<(&Caller, Option<&Arc<str>>)> {
        let listed = self
            .all
            .iter()
            .find(|listed| &*listed.caller.name == name)?;
        Some((&listed.caller, listed.subject.as_ref()))
    }

    /// The operator as whom the person with this subject signs in.
    #[must_use]
    pub fn of_subject(&self, subject: &str) -> Option<&Caller> {
        let of = |listed: &&Listed| listed.subject.as_deref() == Some(subject);
        self.all.iter().find(of).map(|listed| &listed.caller)
    }

    /// The operator of a value of `Authorization` (`Bearer …`); none for an unknown token. Its running time does not
    /// depend on how much of a token is right, nor on whose it is.
    #[must_use]
    pub fn caller_of(&self, authorization: Option<&str>) -> Option<Caller> {
        let given = authorization.and_then(|value| value.strip_prefix("Bearer "));
        let given = given.unwrap_or_default().as_bytes();
        let mut found = None;
        for listed in &self.all {
            let token = listed.token.as_ref();
            if token.is_some_and(|token| same_secret(given, token.as_bytes())) {
                found = Some(&listed.caller);
            }
        }
        found.cloned()
    }
}

/// The file with this operator's token.
#[must_use]
pub fn token_path(store: &Path, name: &str) -> PathBuf {
    if name == FIRST_OPERATOR {
        store.join("operator.token")
    } else {
        store.join("operators").join(format!("{name}.token"))
    }
}

/// Remove a file. Returns whether it was there.
fn remove(path: &Path) -> anyhow::Result<bool> {
    match std::fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).with_context(|| format!("removing {}", path.display())),
    }
}

/// The token in a file. Makes one if there is none: readable only for the host's user, and on the disk before it
/// can be used. Returns whether it was made.
fn token(path: &Path, owner: Owner, entropy: &dyn Entropy) -> anyhow::Result<(String, bool)> {
    let mut drawn = false;
    if !rialto_files::accept_if_there(path, owner)? {
        let mut bytes = [0; TOKEN_BYTES];
        entropy.fill(&mut bytes);
        let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        drawn = rialto_files::make_once(path, &[token.as_bytes(), b"\n"])?;
        rialto_files::accept(path, owner)?;
    }
    let token = std::fs::read_to_string(path);
    let token = token.with_context(|| format!("reading {}", path.display()))?;
    let token = token.trim().to_owned();
    ensure!(
        token.len() >= TOKEN_CHARACTERS_MIN,
        "{} holds no token; delete it to have a new one drawn",
        path.display()
    );
    Ok((token, drawn))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use std::os::unix::fs::PermissionsExt as _;

    use rialto_engine::time::SystemEntropy;

    use super::*;

    const TWO: &str = "[listeners.operators]\naddress = \"127.0.0.1:0\"\n\
                       [operators.anna]\nroles = [\"maker\", \"reader\"]\n\
                       [operators.ben]\nroles = [\"context\"]\nperson = \"anna\"\n";
    const NOBODY_NAMED: &str = "[listeners.operators]\naddress = \"127.0.0.1:0\"\n";

    fn open(store: &Path) -> anyhow::Result<Operators> {
        open_with(TWO, store)
    }

    fn open_with(document: &str, store: &Path) -> anyhow::Result<Operators> {
        Operators::open(&Operator::parse(document).unwrap(), store, &SystemEntropy)
    }

    fn shown(store: &Path, name: &str) -> String {
        let token = std::fs::read_to_string(token_path(store, name)).unwrap();
        format!("Bearer {}", token.trim())
    }

    #[test]
    fn each_operator_has_a_private_token_that_stays() {
        let store = rialto_files::temporary_folder().unwrap();
        let operators = open(store.path()).unwrap();
        let again = open(store.path()).unwrap();
        for (name, roles) in [
            ("anna", &[Role::Reader, Role::Maker][..]),
            ("ben", &[Role::Context]),
        ] {
            let shown = shown(store.path(), name);
            assert_eq!(shown.len(), "Bearer ".len() + 2 * TOKEN_BYTES);
            for operators in [&operators, &again] {
                let caller = operators.caller_of(Some(&shown)).unwrap();
                assert_eq!((&*caller.name, &*caller.person), (name, "anna"));
                assert_eq!(
                    caller.to_component().name,
                    "anna",
                    "one person, whatever the token"
                );
                assert!(caller.roles.iter().eq(roles), "{caller:?}");
            }
            let file = std::fs::metadata(token_path(store.path(), name)).unwrap();
            assert_eq!(file.permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn the_unnamed_operator_exists_only_without_named_ones() {
        let store = rialto_files::temporary_folder().unwrap();
        let path = token_path(store.path(), FIRST_OPERATOR);
        let alone = open_with(NOBODY_NAMED, store.path()).unwrap();
        assert_eq!(alone.changes(), [TokenChange::Drawn("operator".into())]);
        let shown = shown(store.path(), FIRST_OPERATOR);
        let caller = alone.caller_of(Some(&shown)).unwrap();
        let roles = [Role::Reader, Role::Maker, Role::Checker, Role::Admin];
        assert!(
            caller.roles.iter().eq(&roles) && !caller.is_named(),
            "{caller:?}"
        );
        let again = open_with(NOBODY_NAMED, store.path()).unwrap();
        assert_eq!(again.changes(), []);
        let named = open(store.path()).unwrap();
        let changes = [
            TokenChange::Removed("operator".into()),
            TokenChange::Drawn("anna".into()),
            TokenChange::Drawn("ben".into()),
        ];
        assert_eq!(named.changes(), changes);
        assert!(!path.exists());
        assert_eq!(named.caller_of(Some(&shown)), None);
        // It does not come back with its old token.
        let alone = open_with(NOBODY_NAMED, store.path()).unwrap();
        assert_eq!(alone.caller_of(Some(&shown)), None);
    }

    #[test]
    fn readable_or_linked_tokens_are_refused() {
        let store = rialto_files::temporary_folder().unwrap();
        open(store.path()).unwrap();
        let path = token_path(store.path(), "anna");
        for mode in [0o640, 0o604, 0o620, 0o602] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let refused = open(store.path()).err().unwrap().to_string();
            assert!(
                refused.contains("anna.token is open to others"),
                "{refused}"
            );
        }
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        open(store.path()).unwrap();
        let elsewhere = store.path().join("elsewhere");
        std::fs::rename(&path, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        let refused = open(store.path()).err().unwrap().to_string();
        assert!(refused.contains("anna.token is no plain file"), "{refused}");
    }

    #[test]
    fn what_is_no_token_is_nobody() {
        let store = rialto_files::temporary_folder().unwrap();
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
    fn a_malformed_or_shared_token_is_refused() {
        let store = rialto_files::temporary_folder().unwrap();
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
        let reader = Some(Role::Reader);
        assert_eq!(role_for(&Method::GET, "/releases"), reader);
        for method in [Method::POST, Method::PUT, Method::DELETE, Method::PATCH] {
            assert_eq!(role_for(&method, "/releases"), Some(Role::Admin));
        }
        let of_change = |path| role_for(&Method::POST, path);
        assert_eq!(of_change("/releases/2/rollback"), Some(Role::Admin));
        assert_eq!(of_change("/releases/2/approve"), Some(Role::Checker));
        assert_eq!(of_change("/plans/sha256:0/approve"), Some(Role::Checker));
        assert_eq!(of_change("/plans/sha256:0/apply"), Some(Role::Admin));
        assert_eq!(role_for(&Method::GET, "/releases/2/approve"), reader);
        assert_eq!(of_change("/what-if/a-check"), reader);
        assert_eq!(of_change("/drill/a-check"), reader);
        assert_eq!(of_change("/audit-log/verification"), reader);
        assert_eq!(of_change("/tokens"), None);
        assert_eq!(of_change("/tokens-of-others"), Some(Role::Admin));
    }

    #[test]
    fn operator_who_signs_in_has_no_token() {
        let store = rialto_files::temporary_folder().unwrap();
        open(store.path()).unwrap();
        let anna = shown(store.path(), "anna");
        let signs_in = TWO.replace("roles = [\"maker\"", "subject = \"7\"\nroles = [\"maker\"");
        let with = "[sign-in]\nissuer = \"https://id.example\"\nclient-id = \"a\"\n\
                    address = \"https://hub.example\"\n";
        let document = format!("{with}{signs_in}");
        let operators = open_with(&document, store.path()).unwrap();
        assert_eq!(operators.changes(), [TokenChange::Removed("anna".into())]);
        assert!(!token_path(store.path(), "anna").exists());
        assert_eq!(operators.caller_of(Some(&anna)), None);
        for empty in ["Bearer ", "Bearer", ""] {
            assert_eq!(operators.caller_of(Some(empty)), None);
        }
        let of_subject = |subject| operators.of_subject(subject).map(|c| &*c.name);
        assert_eq!(of_subject("7"), Some("anna"));
        assert_eq!(of_subject("8"), None);
        let again = open_with(&document, store.path()).unwrap();
        assert_eq!(again.changes(), []);
    }
}
