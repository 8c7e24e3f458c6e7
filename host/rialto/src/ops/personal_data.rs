//! The keys of people, over HTTP: which file has them, and the destruction of a person's key.

use axum::Json;
use axum::extract::State;
use rialto_store::Outcome;
use rialto_store_sqlite::retention::ReadArchives as _;
use serde::{Deserialize, Serialize};

use super::extractors::{Body, By};
use super::problem::Kind;
use super::{Host, Problem, blocking};
use crate::audit::{Actor, AuditedAction};
use crate::host::Shared;
use crate::personal_data::{HostPeople, ShredError};

/// The most people of one request. The entry of the audit log has all their pseudonyms.
pub const SUBJECTS_MAX: usize = 20;
/// The longest name of a person, in bytes. The first 256 count.
const SUBJECT_BYTES_MAX: usize = 2 << 10;
/// The audit log's name for the destruction of keys.
const SHRED: &str = "personal-data-shred";

/// The keys of people.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownKeys {
    /// The kinds of subjects that are people.
    pub subjects: Vec<String>,
    /// The id of the file of keys.
    pub id: String,
    /// How often keys in it were destroyed.
    pub shreddings: u64,
}

/// Whose keys are destroyed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shred {
    /// The people.
    pub subjects: Vec<String>,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// Whose keys were destroyed.
#[derive(Debug, Serialize, Deserialize)]
pub struct ShreddedPeople {
    /// The pseudonyms that they have in records from before, in the order of the request.
    pub pseudonyms: Vec<String>,
    /// How many turns of the history have each pseudonym. None of them: perhaps the person is written in another way there.
    pub turns: Vec<u64>,
}

impl From<ShredError> for Problem {
    fn from(error: ShredError) -> Self {
        match error {
            ShredError::Keys(_) => Self::new(Kind::PeopleKeys, error.to_string()),
            ShredError::Store(_) => Self::new(Kind::Store, error.to_string()),
        }
    }
}

fn people(shared: &Shared) -> Result<&HostPeople, Problem> {
    shared.people.as_deref().ok_or_else(|| {
        let detail =
            "records are not encrypted for people: rialto.toml has no table `[personal-data]`";
        Problem::new(Kind::PersonalDataNotSet, detail)
    })
}

pub(super) async fn show(State(shared): Host) -> Result<Json<ShownKeys>, Problem> {
    let people = people(&shared)?;
    let (id, shreddings) = people.file();
    Ok(Json(ShownKeys {
        subjects: people.kinds().into_iter().map(str::to_owned).collect(),
        id: id.to_string(),
        shreddings,
    }))
}

pub(super) async fn shred(
    State(shared): Host,
    By(caller): By,
    Body(Shred { subjects, note }): Body<Shred>,
) -> Result<Json<ShreddedPeople>, Problem> {
    blocking(&shared.clone().changes, move || {
        let people = people(&shared)?;
        let subjects: Vec<&str> = subjects.iter().map(String::as_str).collect();
        check(people, &subjects)?;
        // The log outlives the person's key, so it has the pseudonym.
        let about: Vec<String> = subjects.iter().map(|name| people.kept_name(name)).collect();
        // Before anything is destroyed, so that an archive that cannot be read refuses it all.
        let turns = about.iter().map(|one| turns_of(&shared, one));
        let turns = turns.collect::<Result<_, _>>()?;
        let about = about.join(" ");
        let audited = AuditedAction::new(SHRED, &about).because(&note);
        let done = |outcome: &Result<_, Problem>| match outcome {
            Ok(_) => Outcome::Done(String::new()),
            Err(problem) => problem.outcome(),
        };
        let who = Actor::from(&caller);
        let pseudonyms = shared.audit.keep(&who, &audited, done, || {
            people.shred(&subjects).map_err(Problem::from)
        })?;
        Ok(Json(ShreddedPeople { pseudonyms, turns }))
    })
    .await
}

/// How many turns of the history, in archives too, have a pseudonym among their subjects.
fn turns_of(shared: &Shared, pseudonym: &str) -> Result<u64, Problem> {
    let (_, in_store) = shared.store.last_of_history(pseudonym, 0)?;
    let folder = &shared.archiver.folder;
    let in_archives = shared.store.archived_history(folder, pseudonym, 0)?.earlier;
    Ok((in_store + in_archives) as u64)
}

fn check(people: &HostPeople, subjects: &[&str]) -> Result<(), Problem> {
    if !(1..=SUBJECTS_MAX).contains(&subjects.len()) {
        let detail = format!("name 1 to {SUBJECTS_MAX} people in a request");
        return Err(Problem::new(Kind::Malformed, detail));
    }
    for subject in subjects {
        let fits = subject.len() <= SUBJECT_BYTES_MAX && !subject.contains(char::is_control);
        if !fits || !people.is_person(subject) {
            let kinds = people.kinds().join("`, `");
            let detail = format!(
                "{subject:?} is no person: a person is written as the kind, a colon and the id, and the kinds are `{kinds}`"
            );
            return Err(Problem::new(Kind::Malformed, detail));
        }
    }
    Ok(())
}
