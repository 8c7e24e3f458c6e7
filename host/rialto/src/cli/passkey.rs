//! `rialto passkey`: the passkeys by which people confirm what they approve. They are registered in a browser.

use super::At;
use super::inspect::path;
use crate::ops::ShownPasskey;
use crate::{out, words};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Passkey {
    /// List the passkeys of the operator's person; those of all with the role `checker` or `admin`
    ///
    /// A passkey is registered in a browser: the host's page `/passkeys`.
    List {
        /// Print one JSON object for each.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: At,
    },
    /// Approve the passkey of another person
    ///
    /// Compare the id with its owner first, by telephone or in person.
    Approve {
        /// Its id.
        id: String,
        /// Print the passkey as one JSON object.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: At,
    },
    /// End a passkey at once
    End {
        /// Its id.
        id: String,
        #[command(flatten)]
        at: At,
    },
}

impl Passkey {
    pub fn run(self) -> anyhow::Result<u8> {
        match self {
            Self::List { json, at } => {
                let all: Vec<ShownPasskey> = at.client()?.get("/passkeys")?;
                if all.is_empty() {
                    out::note("there is no passkey; register one in a browser: /passkeys");
                }
                for one in &all {
                    shown(one, json)?;
                }
            }
            Self::Approve { id, json, at } => {
                let path = format!("/passkeys/{}/approve", path(&id));
                let approved = at.client()?.post(&path, &serde_json::json!({}))?;
                shown(&approved, json)?;
            }
            Self::End { id, at } => {
                at.client()?.delete(&format!("/passkeys/{}", path(&id)))?;
                out::note(format_args!("{} has ended", words::plain(&id)));
            }
        }
        Ok(0)
    }
}

fn shown(one: &ShownPasskey, json: bool) -> anyhow::Result<()> {
    if json {
        out::json(one)?;
    } else {
        out::line(in_a_line(one))?;
    }
    Ok(())
}

fn in_a_line(one: &ShownPasskey) -> String {
    let (label, person) = (words::plain(&one.label), words::plain(&one.person));
    let state = match (&one.ended_by, &one.approved_by) {
        (Some(by), _) => format!("ended by {by}"),
        (None, Some(by)) => format!("approved by {by}"),
        (None, None) => "waits for approval".to_owned(),
    };
    let used = match one.used {
        Some(used) => format!(", used {}", words::instant(used)),
        None => String::new(),
    };
    format!("{} of {person}, {state}{used}: {label}", one.id)
}
