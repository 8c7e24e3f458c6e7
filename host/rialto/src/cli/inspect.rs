//! `rialto events` and `documents`: looking at a running host.

use super::At;
use super::events_publish::{Publish, Status};
use crate::client::Client;
use crate::ops::{Collections, ShownArchive, ShownDocument, Story};
use crate::out;
use crate::words;
use rialto_edge::Refused;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(super) struct Events {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    list: List,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Send events to NATS JetStream again, from the store of a running or a stopped host
    Publish(Publish),
    /// Show how far events are sent to NATS JetStream
    Status(Status),
}

#[derive(Debug, clap::Args)]
struct List {
    /// The id of a transfer or a quote, or a subject such as `party:MSISDN/123`.
    #[arg(required_unless_present = "refused", conflicts_with = "refused")]
    id: Option<String>,
    /// Show the last requests that were refused at once, each with its reason
    #[arg(long)]
    refused: bool,
    /// Print one JSON object per turn.
    #[arg(long)]
    json: bool,
    /// The number of turns to show of each subject: the latest
    #[arg(long, value_name = "TURNS", default_value_t = 500)]
    last: u32,
    #[command(flatten)]
    at: At,
}

#[derive(Debug, clap::Args)]
pub(super) struct Documents {
    /// The component. Without it, all components and collections are listed.
    component: Option<String>,
    /// The collection. Without it, the component's collections are listed.
    collection: Option<String>,
    /// Show only documents whose id begins with this.
    #[arg(long, default_value = "")]
    prefix: String,
    /// The highest number to show.
    #[arg(long, default_value_t = 100)]
    limit: u32,
    /// Print one JSON object per document.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: At,
}

impl Events {
    pub fn run(self) -> anyhow::Result<u8> {
        match self.verb {
            Some(Verb::Publish(publish)) => publish.run(),
            Some(Verb::Status(status)) => status.run(),
            None => self.list.run(),
        }
    }
}

impl List {
    fn run(self) -> anyhow::Result<u8> {
        let Some(id) = &self.id else {
            return self.refused();
        };
        let path = format!("/events/{}?last={}", path(id), self.last);
        let client = self.at.client()?;
        let stories: Vec<Story> = client.get(&path)?;
        note_missing(&client, "history")?;
        if stories.is_empty() {
            out::note(format_args!("there is no turn about {id}"));
            return Ok(1);
        }
        for story in &stories {
            if self.json {
                for turn in &story.turns {
                    out::json(turn)?;
                }
            } else {
                out::line(words::story(story, words::colours()))?;
            }
            if story.earlier > 0 {
                out::note(format_args!(
                    "{}: the last {} turns; {} are earlier: a higher --last shows them",
                    story.subject,
                    story.turns.len(),
                    story.earlier
                ));
            }
        }
        Ok(0)
    }

    /// Prints requests that were refused, the oldest first.
    fn refused(&self) -> anyhow::Result<u8> {
        let path = format!("/refusals?last={}", self.last);
        let refused: Vec<Refused> = self.at.client()?.get(&path)?;
        if refused.is_empty() {
            out::note("no request was refused since the host started");
        }
        for one in &refused {
            if self.json {
                out::json(one)?;
            } else {
                out::line(refusal_in_a_line(one))?;
            }
        }
        Ok(0)
    }
}

/// `2026-01-31T09:00:00.000Z address 192.0.2.1 POST /transfers 400 missing at header Date: …`
fn refusal_in_a_line(refused: &Refused) -> String {
    let at = match refused.location.as_str() {
        "" => String::new(),
        location => format!(" at {location}"),
    };
    format!(
        "{} {} {} {} {} {}{at}: {}",
        words::instant(refused.at),
        refused.client,
        refused.method,
        refused.path,
        refused.status,
        refused.kind,
        refused.detail
    )
}

impl Documents {
    pub fn run(self) -> anyhow::Result<u8> {
        match (&self.component, &self.collection) {
            (Some(component), Some(collection)) => self.documents(component, collection),
            (component, _) => self.collections(component.as_deref()),
        }
    }

    /// Prints the collections of a component, or of all components.
    fn collections(&self, component: Option<&str>) -> anyhow::Result<u8> {
        let mut all: Vec<Collections> = self.at.client()?.get("/documents")?;
        all.retain(|of| component.is_none_or(|component| component == of.component));
        if self.json {
            all.iter().try_for_each(out::json)?;
        }
        for of in all.iter().filter(|_| !self.json) {
            for collection in &of.collections {
                out::line(format_args!("{} {collection}", of.component))?;
            }
        }
        let nobody = match component {
            _ if !all.is_empty() => return Ok(0),
            Some(component) => format!(
                "the component `{component}` has no documents; `rialto documents` lists the components that have some"
            ),
            None => "no component has documents".to_owned(),
        };
        out::note(nobody);
        Ok(u8::from(component.is_some()))
    }

    fn documents(&self, component: &str, collection: &str) -> anyhow::Result<u8> {
        let path = format!(
            "/documents/{}/{}?prefix={}&limit={}",
            path(component),
            path(collection),
            path(&self.prefix),
            self.limit
        );
        let shown: Vec<ShownDocument> = self.at.client()?.get(&path)?;
        if shown.is_empty() && !self.json {
            let whose = match self.prefix.as_str() {
                "" => String::new(),
                prefix => format!(" whose id begins with `{prefix}`"),
            };
            out::note(format_args!(
                "`{component}` has no document in `{collection}`{whose}; `rialto documents` lists all collections"
            ));
            return Ok(1);
        }
        for document in &shown {
            if self.json {
                out::json(document)?;
            } else {
                let ShownDocument { id, version, body } = document;
                out::line(format_args!("{id} v{version} {body}"))?;
            }
        }
        Ok(0)
    }
}

/// Names the archives of a class that are missing from their folder: their items are not shown.
pub(super) fn note_missing(client: &Client, class: &str) -> anyhow::Result<()> {
    let archives: Vec<ShownArchive> = client.get("/archives")?;
    let missing = archives.iter().filter(|a| a.class == class && !a.is_there);
    for archive in missing {
        out::note(format_args!(
            "the archive {} is missing: its items from {} to {} are not shown",
            archive.file,
            words::instant(archive.from),
            words::instant(archive.to)
        ));
    }
    Ok(())
}

/// Escapes a text as one segment of a path or one value of a query.
pub(super) fn path(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}
