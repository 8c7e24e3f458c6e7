//! Events for the outside: what a turn publishes and the operator wants to have outside is kept by the store, in the order of
//! the log. Each such publication has a number, and the numbers have no gap. They are sent after the commit, by somebody
//! who reads the store.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::budget::check_count;
use crate::engine::Shared;
use crate::history::Record;
use crate::ids::{Name, TurnId};
use crate::limits;
use crate::store::StoreError;
use crate::time::Timestamp;
use crate::turn::{Interrupt, Turn};

/// An event as it is kept for the outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Publication {
    /// The event's name, with that of its context.
    pub event: Name,
    /// The component that has published it.
    pub component: Name,
    /// When its turn began.
    pub at: Timestamp,
    /// Its turn.
    pub turn: TurnId,
    /// The release on which the turn ran.
    pub release: u64,
    /// The trace, as a `traceparent` with the turn as the parent.
    pub traceparent: String,
    /// What its turn was about: those of its subjects that go out.
    pub subjects: Vec<Name>,
    /// Those of the event's members that go out: JSON.
    pub data: Arc<str>,
    /// Whether the operator lets it name people.
    #[serde(skip)]
    pub may_name_people: bool,
}

/// What goes out of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected {
    /// JSON.
    pub data: String,
    /// Whether it may name people.
    pub may_name_people: bool,
}

/// An event for the outside, with its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPublication {
    /// Counts up from 1 without a gap.
    pub number: u64,
    /// The event.
    pub publication: Publication,
}

/// How far events for the outside are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PublicationsState {
    /// The number of the oldest event that is kept; none if none is kept.
    pub first: Option<u64>,
    /// The last number that was given; 0 before the first. Events of the last second may have later ones.
    pub last: u64,
    /// The last number up to which all events are acknowledged, or given up.
    pub published: u64,
    /// Which store it is: each has numbers of its own.
    pub store: u64,
}

impl PublicationsState {
    /// How many events wait.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.last.saturating_sub(self.published)
    }
}

/// The events for the outside that a store keeps. Every call blocks.
pub trait Outbox: Send + Sync + 'static {
    /// Events from this number on, in order: at most `limit` of them, and one page of bytes.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn publications(&self, first: u64, limit: u32) -> Result<Vec<StoredPublication>, StoreError>;
    /// How far they are sent.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn publications_state(&self) -> Result<PublicationsState, StoreError>;
    /// Note that all events through this number are acknowledged, or given up.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    fn set_published(&self, number: u64) -> Result<(), StoreError>;
    /// Remove some of the oldest events: those from before an instant, and those by which there are more than `most`. Returns
    /// the number of the last one that was removed; none if there was none.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    fn remove_publications(&self, before: Timestamp, most: u64) -> Result<Option<u64>, StoreError>;
}

/// Says which events go to the outside.
pub trait Publications: Send + Sync + 'static {
    /// Whether a subject goes out with events.
    fn shows(&self, subject: &str) -> bool;
    /// What goes out of the event of this name; none if it does not go out. `arguments` gives the event's members as JSON.
    fn selected(&self, event: &str, arguments: &dyn Fn() -> String) -> Option<Selected>;
}

impl Turn {
    /// Keep an event for the outside, if the operator wants that.
    ///
    /// # Errors
    /// When the turn stages more than it may.
    pub fn publish(
        &mut self,
        event: &str,
        component: &Name,
        arguments: &dyn Fn() -> String,
    ) -> Result<(), Interrupt> {
        let publications = self.shared.environment.publications.as_ref();
        let selected = publications.and_then(|wanted| wanted.selected(event, arguments));
        let Some(selected) = selected else {
            return Ok(());
        };
        let count = self.staged.publications.len();
        check_count("events for the outside", count, limits::STAGED_PER_TURN_MAX)?;
        self.charge_publication(event, &selected.data)?;
        let publication = Publication {
            event: event.into(),
            component: component.clone(),
            at: self.now,
            turn: self.id,
            release: self.staged.release,
            traceparent: self.trace().to_string(),
            subjects: Vec::new(),
            data: selected.data.into(),
            may_name_people: selected.may_name_people,
        };
        self.staged.publications.push(publication);
        Ok(())
    }
}

impl Shared {
    /// Give publications the subjects of their turn's record, as far as they go out.
    pub(crate) fn with_subjects(&self, publications: &mut [Publication], record: &Record) {
        let Some(wanted) = &self.environment.publications else {
            return;
        };
        for publication in publications {
            let subjects = record.subjects.iter();
            let shown = subjects.filter(|subject| wanted.shows(subject)).cloned();
            publication.subjects = shown.collect();
            publication.release = record.release;
        }
    }
}
