//! `rialto personal-data`: the keys with which records that name people are encrypted.

use super::At;
use crate::ops::{ShownKeys, Shred, ShreddedPeople};
use crate::{out, words};

#[derive(Debug, clap::Subcommand)]
pub(super) enum PersonalData {
    /// Show which file has the keys of people, and how often keys in it were destroyed
    ///
    /// A copy of the file is the last one if both are the same there.
    Show {
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: At,
    },
    /// Destroy the keys of people, for ever
    ///
    /// What the history, receipts and the audit log say of them cannot be read any more, in no backup and no archive either.
    /// Copies of the file of keys still have these keys: replace each copy by the file as it is afterwards.
    Shred {
        /// The people, such as party:MSISDN/123456789
        #[arg(required = true, value_name = "SUBJECT")]
        subjects: Vec<String>,
        /// Why, for the audit log, which keeps it for ever. Do not name the person.
        #[arg(long, default_value = "")]
        note: String,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: At,
    },
}

impl PersonalData {
    pub fn run(self) -> anyhow::Result<u8> {
        match self {
            Self::Show { json, at } => {
                let keys: ShownKeys = at.client()?.get("/personal-data")?;
                if json {
                    out::json(&keys)?;
                } else {
                    let kinds = match keys.subjects.as_slice() {
                        [] => "nobody any more".to_owned(),
                        kinds => words::plain(&kinds.join(", ")),
                    };
                    out::line(format_args!("records are encrypted for: {kinds}"))?;
                    out::line(format_args!("file of keys: {}", words::plain(&keys.id)))?;
                    out::line(format_args!("destructions of keys: {}", keys.shreddings))?;
                }
            }
            Self::Shred {
                subjects,
                note,
                json,
                at,
            } => {
                let wanted = Shred { subjects, note };
                let client = at.client()?;
                let done: ShreddedPeople = client.post("/personal-data/shred", &wanted)?;
                if json {
                    out::json(&done)?;
                } else {
                    let people = wanted.subjects.iter().zip(&done.pseudonyms);
                    for ((subject, pseudonym), turns) in people.zip(&done.turns) {
                        let (subject, pseudonym) = (words::plain(subject), words::plain(pseudonym));
                        out::line(format_args!(
                            "{subject}: the key of {pseudonym} is destroyed; turns in the history: {turns}"
                        ))?;
                        if *turns == 0 {
                            out::note(format_args!(
                                "no turn names {subject}: look at how turns of this person write it (`rialto events`), and destroy that key"
                            ));
                        }
                    }
                    out::note("replace each copy of the file of keys by the file as it is now");
                }
            }
        }
        Ok(0)
    }
}
