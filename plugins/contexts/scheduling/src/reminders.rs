//! Stored reminders: those of programs outside, and those that recur or remind by HTTP.
//!
//! A reminder waits at the host under one name. When it has ended, the host's reminder of the same name removes it after
//! `keepHours`. Until then its id is not free, so that no id comes due twice.

use rialto_sdk::documents::Collection;
use serde::{Deserialize, Serialize};

use crate::cron::Cron;
use crate::names::{Client, PAYLOAD_MAX, name, stored};
use crate::world::World;

/// Reminders, by client and id.
pub const REMINDERS: Collection<Reminder> = Collection::new("reminders");
/// How many reminders a client has.
pub const COUNTS: Collection<Count> = Collection::new("counts");
/// The longest id, in bytes.
const ID_BYTES_MAX: usize = 128;
/// The longest client, in bytes. With the longest id it fits into a name of the host.
const CLIENT_BYTES_MAX: usize = 120;
/// The longest URL, in bytes.
const URL_BYTES_MAX: usize = 2_048;
/// The latest instant: thirteen digits, in the year 2286.
const INSTANT_MAX: u64 = 9_999_999_999_999;
const ATTEMPTS: std::ops::RangeInclusive<u32> = 1..=100;
const PAUSE_MS: std::ops::RangeInclusive<u32> = 100..=3_600_000;

/// How a reminder reminds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Transport {
    /// By the event `schedule-reminder-elapsed`.
    #[default]
    Event,
    /// By a POST.
    HttpPost,
}

/// What becomes of a recurring reminder when a callback was given up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Otherwise {
    /// It does not come due any more.
    Abort,
    /// It comes due at its next time.
    #[default]
    Reschedule,
}

/// What to do about a callback that fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Recovery {
    /// Attempts in all.
    pub attempts: u32,
    /// The longest pause between them, in milliseconds.
    pub pause_ms: u32,
    /// What becomes of a recurring reminder after the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<Otherwise>,
}

impl Default for Recovery {
    fn default() -> Self {
        Self {
            attempts: 5,
            pause_ms: 10_000,
            otherwise: None,
        }
    }
}

/// What a client asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Wanted {
    /// The id; a random one if it is missing.
    #[serde(default)]
    pub id: Option<String>,
    /// When it comes due, if once.
    #[serde(default)]
    pub at: Option<u64>,
    /// When it comes due, if again and again.
    #[serde(default)]
    pub cron: Option<String>,
    /// How it reminds.
    #[serde(default)]
    pub transport: Transport,
    /// Where to.
    #[serde(default)]
    pub url: Option<String>,
    /// Opaque.
    #[serde(default)]
    pub payload: String,
    /// About callbacks that fail.
    #[serde(default)]
    pub recovery: Option<Recovery>,
    /// Whether operators get a notice when a callback was given up.
    #[serde(default)]
    pub alert: bool,
}

/// Where a reminder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum State {
    /// It will come due.
    Waiting,
    /// It has come due, and its callback is under way.
    Delivering,
    /// It has come due for the last time.
    Elapsed,
    /// Its callback was given up, and it comes due no more.
    GivenUp,
}

impl State {
    /// Whether the reminder will not come due any more.
    #[must_use]
    pub const fn is_ended(self) -> bool {
        matches!(self, Self::Elapsed | Self::GivenUp)
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Outcome {
    /// The event was published.
    Published,
    /// The callback was answered with 2xx.
    Delivered,
    /// The callback was given up.
    Failed,
}

/// The last run of a reminder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Run {
    /// When it was due.
    pub due: u64,
    /// When it ended.
    pub at: u64,
    /// How.
    pub outcome: Outcome,
    /// Attempts of the callback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A callback that is under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Delivery {
    /// When it was due.
    pub due: u64,
    /// The host's id of the request.
    pub request: u64,
}

/// A reminder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Reminder {
    /// Whose it is: a component, or `program:` and a program's name.
    pub client: String,
    /// Unique for its client.
    pub id: String,
    /// Where it is.
    pub state: State,
    /// When it comes due, or came due last.
    pub due: u64,
    /// The expression of a recurring one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    /// How it reminds.
    pub transport: Transport,
    /// Where to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Opaque.
    pub payload: String,
    /// About callbacks that fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
    /// Whether operators get a notice when a callback was given up.
    pub alert: bool,
    /// When it was created.
    pub created_at: u64,
    /// How often it has come due.
    pub runs: u64,
    /// The last run that has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run: Option<Run>,
    /// The callback that is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Delivery>,
}

impl Reminder {
    /// Its key.
    #[must_use]
    pub fn key(&self) -> String {
        name(&self.client, &self.id)
    }
}

/// How many reminders a client has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Count {
    /// Those that have ended and are kept included.
    pub reminders: u64,
}

/// Why there is no reminder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// The instruction is malformed: a sentence.
    Malformed(String),
    /// There is one of this id, in this state.
    Exists(State),
    /// There are as many as there may be.
    TooMany(u64),
}

/// Creates a reminder.
///
/// # Errors
/// When it is refused. Then nothing has changed.
pub fn create(
    world: &mut impl World,
    client: &Client,
    wanted: Wanted,
) -> Result<Reminder, Refused> {
    let now = world.now();
    let due = checked(world, client, &wanted, now).map_err(Refused::Malformed)?;
    let reminder = Reminder {
        client: client.name(),
        id: wanted.id.unwrap_or_else(|| world.uuid()),
        state: State::Waiting,
        due,
        cron: wanted.cron,
        transport: wanted.transport,
        url: wanted.url,
        payload: wanted.payload,
        recovery: wanted.recovery,
        alert: wanted.alert,
        created_at: now,
        runs: 0,
        last_run: None,
        delivery: None,
    };
    let key = reminder.key();
    if let Some(other) = REMINDERS.within(world).get_for_update(&key) {
        return Err(Refused::Exists(other.state));
    }
    let count = COUNTS.within(world).get_for_update(&reminder.client);
    let reminders = count.unwrap_or_default().reminders + 1;
    let most = world.settings().reminders_max;
    if reminders > most {
        return Err(Refused::TooMany(most));
    }
    let client = &reminder.client;
    COUNTS.within(world).put(client, &Count { reminders });
    REMINDERS.within(world).put(&key, &reminder);
    world.set_reminder(&stored(&key), due, "");
    world.subject(&key);
    Ok(reminder)
}

/// Checks what a client wants. Returns when it comes due first; an error is a sentence.
fn checked(
    world: &mut impl World,
    client: &Client,
    wanted: &Wanted,
    now: u64,
) -> Result<u64, String> {
    let is_plain = |text: &str| !text.contains('/') && !text.chars().any(char::is_control);
    let own = client.own_name();
    if own.is_empty() || own.len() > CLIENT_BYTES_MAX || !is_plain(own) {
        return Err(format!("the client {own:?} can have no reminders"));
    }
    if let Some(id) = &wanted.id {
        let is_id = |b: u8| b.is_ascii_alphanumeric() || b"._:-".contains(&b);
        if !(1..=ID_BYTES_MAX).contains(&id.len()) || !id.bytes().all(is_id) {
            return Err(format!(
                "`id` has 1 to {ID_BYTES_MAX} letters, digits and `._:-`"
            ));
        }
    }
    if wanted.payload.len() > PAYLOAD_MAX {
        return Err(format!("`payload` has more than {PAYLOAD_MAX} bytes"));
    }
    let is_http = wanted.transport == Transport::HttpPost;
    match &wanted.url {
        Some(url) if is_http => url_checked(world, url)?,
        None if is_http => return Err("`HTTP_POST` needs a `url`".to_owned()),
        Some(_) => return Err("`url` belongs to the transport `HTTP_POST`".to_owned()),
        None => {}
    }
    if let Some(recovery) = &wanted.recovery {
        if !is_http {
            return Err("`recovery` belongs to the transport `HTTP_POST`".to_owned());
        }
        if !ATTEMPTS.contains(&recovery.attempts) || !PAUSE_MS.contains(&recovery.pause_ms) {
            return Err(
                "`attempts` is 1 to 100, and `pauseMs` is 100 to 3600000 (an hour)".to_owned(),
            );
        }
        let is_once = wanted.cron.is_none();
        if is_once && recovery.otherwise == Some(Otherwise::Reschedule) {
            return Err(
                "a reminder that comes due once has no next time: `otherwise` can only be `ABORT`"
                    .to_owned(),
            );
        }
    }
    match (wanted.at, &wanted.cron) {
        (Some(at), None) if at <= now => Err(format!("`at` is past: it is {now} now")),
        (Some(at), None) if at > INSTANT_MAX => Err(format!("`at` is at most {INSTANT_MAX}")),
        (Some(at), None) => Ok(at),
        (None, Some(cron)) => {
            let next = Cron::parse(cron)?.next_after(now);
            next.ok_or_else(|| format!("{cron:?} never comes due"))
        }
        _ => Err("a reminder has either `at` or `cron`".to_owned()),
    }
}

fn url_checked(world: &mut impl World, url: &str) -> Result<(), String> {
    if url.len() > URL_BYTES_MAX || !url.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(format!(
            "`url` has at most {URL_BYTES_MAX} printable characters of ASCII"
        ));
    }
    if world.is_granted(url) {
        return Ok(());
    }
    Err(
        "`url` is not an absolute URL of an origin to which reminders may go: the scheme lists these origins in `outbound` of the grants of this context"
            .to_owned(),
    )
}

/// What came of a deletion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deleted {
    /// The reminder will not come due any more.
    Done,
    /// It has come due, and does not again.
    Elapsed(State),
    /// The client has none of this id.
    Unknown,
}

/// Deletes a client's reminder. A callback that is under way is not called back.
pub fn delete(world: &mut impl World, client: &Client, id: &str) -> Deleted {
    let key = name(&client.name(), id);
    let Some(reminder) = REMINDERS.within(world).get_for_update(&key) else {
        return Deleted::Unknown;
    };
    let is_last = reminder.state == State::Delivering && reminder.cron.is_none();
    if reminder.state.is_ended() || is_last {
        return Deleted::Elapsed(reminder.state);
    }
    world.cancel_reminder(&stored(&key));
    world.subject(&key);
    forget(world, &reminder);
    Deleted::Done
}

/// Removes a reminder.
pub fn forget(world: &mut impl World, reminder: &Reminder) {
    REMINDERS.within(world).delete(&reminder.key());
    let count = COUNTS.within(world).get_for_update(&reminder.client);
    match count.unwrap_or_default().reminders.saturating_sub(1) {
        0 => {
            COUNTS.within(world).delete(&reminder.client);
        }
        reminders => COUNTS
            .within(world)
            .put(&reminder.client, &Count { reminders }),
    }
}
