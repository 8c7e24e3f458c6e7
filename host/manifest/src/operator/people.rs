//! Who may use the operators' listener.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::Name;

/// An operator: a person or program that may use the operators' listener.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Person {
    /// The operator's roles, one or several. Nobody approves their own changes, whatever their roles.
    pub roles: BTreeSet<Role>,
    /// The name of the person who holds this token. A person with several tokens has the same name in each, and so cannot approve their own changes. By default the name of the table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<Name>,
    /// The claim `sub` of the person who signs in as this operator, as the issuer of [sign-in] writes it. An operator with a subject has no token in a file.
    #[schemars(length(min = 1, max = 255))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
}

/// A role of an operator.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Reads everything and changes nothing.
    Reader,
    /// Asks for changes, which somebody else approves.
    Maker,
    /// Approves or rejects changes that others asked for.
    Checker,
    /// Calls interfaces of contexts, as another context does. No second person checks these calls.
    Context,
    /// Changes what the host runs: releases, components, dead letters.
    Admin,
}

impl Role {
    /// Every role, in the order of the contract.
    pub const ALL: [Self; 5] = [
        Self::Reader,
        Self::Maker,
        Self::Checker,
        Self::Context,
        Self::Admin,
    ];

    /// The role as documents and components have it.
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

/// The operator who holds `operator.token`, who is there when nobody is named: no table may have this name.
pub const FIRST_OPERATOR: &str = "operator";
/// What stands for a checker where the scheme approves by itself: no operator may have this name.
pub const NOBODY: &str = "automatic";
