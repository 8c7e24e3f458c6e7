//! The caller and their roles.

use super::{Kind, Problem};

/// An operator's role; see docs/operators.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Read.
    Reader,
    /// Ask for changes.
    Maker,
    /// Approve or reject requests of others.
    Checker,
    /// A program that uses what the scheme's contexts offer.
    Context,
    /// Change what others rest on, such as keys.
    Admin,
}

impl Role {
    /// The host's name of the role.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Maker => "maker",
            Self::Checker => "checker",
            Self::Context => "context",
            Self::Admin => "admin",
        }
    }
}

/// The caller. Only the host sets it. A caller without a name has no role.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    /// The operator's name.
    pub name: String,
    /// Names of roles.
    pub roles: Vec<String>,
}

impl Caller {
    /// The caller from the host; without a name on a listener without authentication.
    #[must_use]
    pub fn of(caller: Option<(&str, &[String])>) -> Self {
        caller.map_or_else(Self::default, |(name, roles)| Self {
            name: name.to_owned(),
            roles: roles.to_vec(),
        })
    }

    /// Checks a role.
    ///
    /// # Errors
    /// If the caller does not have it.
    pub fn needs(&self, role: Role) -> Result<(), Problem> {
        let wanted = role.name();
        if self.roles.iter().any(|has| has == wanted) {
            return Ok(());
        }
        let who = if self.name.is_empty() {
            "the caller is not an operator, and this".to_owned()
        } else {
            format!("the operator `{}` lacks the role, and this", self.name)
        };
        let detail = format!("{who} needs `{wanted}`");
        Err(Problem::new(Kind::RoleMissing, detail).with("role", wanted))
    }

    /// Checks that the caller has one of some roles.
    ///
    /// # Errors
    /// If the caller has none of them. The error names the first.
    pub fn needs_one_of(&self, roles: &[Role]) -> Result<(), Problem> {
        if roles.iter().any(|role| self.needs(*role).is_ok()) {
            return Ok(());
        }
        let detail = "this is of no role";
        let nobody = || Err(Problem::new(Kind::RoleMissing, detail));
        roles
            .first()
            .map_or_else(nobody, |first| self.needs(*first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_role_includes_another_and_nobody_has_none() {
        let roles = ["reader".to_owned(), "checker".to_owned()];
        let caller = Caller::of(Some(("anna", &roles)));
        assert_eq!(caller.needs(Role::Reader), Ok(()));
        assert_eq!(caller.needs(Role::Checker), Ok(()));
        let refused = caller.needs(Role::Maker).unwrap_err();
        assert_eq!(refused.kind, Kind::RoleMissing);
        assert!(refused.detail.contains("`anna`"), "{refused:?}");
        let either = [Role::Maker, Role::Checker];
        assert_eq!(caller.needs_one_of(&either), Ok(()));
        let neither = caller.needs_one_of(&[Role::Maker, Role::Admin]);
        assert_eq!(neither.unwrap_err().members["role"], "maker");
        assert!(caller.needs_one_of(&[]).is_err());
        for role in [Role::Reader, Role::Maker, Role::Checker] {
            assert!(Caller::of(None).needs(role).is_err());
        }
    }
}
