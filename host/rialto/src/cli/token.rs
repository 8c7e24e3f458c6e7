//! `rialto token`: personal tokens for scripts, and sessions.

use std::collections::BTreeSet;

use rialto_manifest::operator::Role;
use rialto_manifest::values::Period;

use super::At;
use super::inspect::path;
use crate::ops::{MadeToken, NewToken, ShownCredential};
use crate::{out, words};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Token {
    /// Make a personal token, and print it. It is shown only now
    New {
        /// What it is for.
        #[arg(long)]
        label: String,
        /// A role of the operator that the token has too; several times for several. Without it, all of them
        #[arg(long = "role", value_name = "ROLE", value_parser = role)]
        roles: Vec<Role>,
        /// How long it holds, such as `30 days`; at most 366 days. Without it, 90 days
        #[arg(long, value_name = "PERIOD")]
        expires: Option<Period>,
        /// Print the host's answer as one JSON object.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: At,
    },
    /// List the operator's tokens and sessions; those of all operators with the role `admin`
    List {
        /// Print one JSON object for each.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: At,
    },
    /// End a token or a session at once
    End {
        /// Its id.
        id: String,
        #[command(flatten)]
        at: At,
    },
}

impl Token {
    pub fn run(self) -> anyhow::Result<u8> {
        match self {
            Self::New {
                label,
                roles,
                expires,
                json,
                at,
            } => {
                let wanted = NewToken {
                    label,
                    roles: (!roles.is_empty()).then(|| BTreeSet::from_iter(roles)),
                    expires: expires.map(|period| now().saturating_add(period.millis())),
                };
                let made: MadeToken = at.client()?.post("/tokens", &wanted)?;
                if json {
                    out::json(&made)?;
                } else {
                    out::line(&made.token)?;
                    out::note(in_a_line(&made.shown));
                }
            }
            Self::List { json, at } => {
                let all: Vec<ShownCredential> = at.client()?.get("/tokens")?;
                if all.is_empty() {
                    out::note("there is no personal token and no session");
                }
                for one in &all {
                    if json {
                        out::json(one)?;
                    } else {
                        out::line(in_a_line(one))?;
                    }
                }
            }
            Self::End { id, at } => {
                at.client()?.delete(&format!("/tokens/{}", path(&id)))?;
                out::note(format_args!("{} has ended", words::plain(&id)));
            }
        }
        Ok(0)
    }
}

fn in_a_line(one: &ShownCredential) -> String {
    let roles = if one.roles.is_empty() {
        "no roles".to_owned()
    } else {
        one.roles.join(", ")
    };
    let label = words::plain(&one.label);
    let colon = if label.is_empty() { "" } else { ": " };
    format!(
        "{} {} of {} ({roles}) until {}{colon}{label}",
        one.id,
        one.kind,
        one.operator,
        words::instant(one.expires)
    )
}

fn role(text: &str) -> Result<Role, String> {
    let known = Role::ALL.into_iter().find(|role| role.name() == text);
    known.ok_or_else(|| {
        let names: Vec<&str> = Role::ALL.iter().map(|role| role.name()).collect();
        format!("the roles are {}", names.join(", "))
    })
}

/// Now; milliseconds since 1970.
fn now() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or_default()
}
