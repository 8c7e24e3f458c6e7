//! Events for programs outside: which events the store keeps for them, and how they are sent to NATS JetStream.
//!
//! The engine has each event that goes out kept with the group of its turn (`selecting`), with a number that has no gap. A thread
//! (`sending`) reads them from the store after their commit and sends them in order. It remembers in the store which were
//! acknowledged, so each is sent at least once. No payment waits for it: while NATS is away, events wait in the store, not in
//! memory. The oldest are removed when they are too old or too many (`[events.publish]`), and what is missing is told to
//! consumers as a gap. `rialto events publish` sends a range again (`again`).

pub mod again;
mod metrics;
mod selecting;
mod sending;

use std::path::Path;

use anyhow::{anyhow, bail};
use rialto_components::{Release, Runtime};
use rialto_engine::Timestamp;
use rialto_engine::publications::{Outbox, StoredPublication};
use rialto_events_nats::{Connection, Content, Event, Failure, Log, Settings, SignIn};
use rialto_manifest::Operator;
use rialto_manifest::events::{EVERY_MEMBER, Publish};
use tokio::runtime::Handle;

pub use selecting::Selection;
pub use sending::start;

/// The partition whose events are sent: a scheme has one.
const PARTITION: u32 = 0;

/// What the operator says about events for the outside.
#[must_use]
pub fn wanted(operator: &Operator) -> Option<&Publish> {
    operator.events.as_ref()?.publish.as_ref()
}

/// Where events go, for a document in this folder.
///
/// # Errors
/// When a server's name is none.
pub fn settings(publish: &Publish, folder: &Path) -> anyhow::Result<Settings> {
    let servers = publish.servers();
    let servers = servers.map_err(|(what, help)| anyhow!("{what}. {help}"))?;
    let sign_in = match (&publish.credentials, &publish.nkey, &publish.password) {
        (Some(file), _, _) => SignIn::Credentials(file.from_folder(folder)),
        (_, Some(file), _) => SignIn::Nkey(file.from_folder(folder)),
        (_, _, Some(file)) => SignIn::Password(file.from_folder(folder)),
        (None, None, None) => SignIn::Nobody,
    };
    let certificate = publish.certificate.as_ref().zip(publish.key.as_ref());
    Ok(Settings {
        requires_tls: publish.ca.is_some() || servers.iter().any(|server| server.requires_tls),
        servers: servers.into_iter().map(|server| server.address).collect(),
        stream: publish.stream.clone(),
        replicas: publish.replicas,
        prefix: publish.prefix.clone(),
        sign_in,
        ca: publish.ca.as_ref().map(|ca| ca.from_folder(folder)),
        certificate: certificate
            .map(|(certificate, key)| (certificate.from_folder(folder), key.from_folder(folder))),
    })
}

/// The log whose events are sent.
fn log(publish: &Publish, store: u64) -> Log {
    Log {
        prefix: publish.prefix.clone(),
        partition: PARTITION,
        store,
    }
}

/// An event as it is sent.
fn event(stored: &StoredPublication) -> Event {
    let publication = &stored.publication;
    Event {
        number: stored.number,
        time: time(publication.at.0),
        content: Content::Published {
            name: publication.event.to_string(),
            subject: publication.subjects.first().map(ToString::to_string),
            traceparent: publication.traceparent.clone(),
            turn: publication.turn.0,
            release: publication.release,
            data: publication.data.clone(),
        },
    }
}

/// An event that says that others are missing.
fn gap((from, to): (u64, u64), at: u64, reason: &str) -> Event {
    Event {
        number: to,
        time: time(at),
        content: Content::Gap {
            from,
            reason: reason.to_owned(),
        },
    }
}

/// An instant as CloudEvents write it.
fn time(milliseconds: u64) -> String {
    let instant = i64::try_from(milliseconds).ok();
    let instant = instant.and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    let instant = instant.unwrap_or_default();
    instant.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// Connect once at the first start of a host, so that settings that cannot work are found before it serves. The event goes out
/// with which the log begins. Who cannot be reached is no reason to stop. If events of this store went out before, nobody
/// waits for NATS here, because payments do not depend on it.
///
/// # Errors
/// When an operator must do something.
pub fn look(
    operator: &Operator,
    folder: &Path,
    (store, now): (&dyn Outbox, Timestamp),
    handle: &Handle,
) -> anyhow::Result<()> {
    let Some(publish) = wanted(operator) else {
        return Ok(());
    };
    let settings = settings(publish, folder)?;
    let state = store.publications_state()?;
    if state.published > 0 {
        return Ok(());
    }
    let begins = Event {
        number: 0,
        time: time(now.0),
        content: Content::Begins,
    };
    let log = log(publish, state.store);
    let looked = handle.block_on(async {
        let connection = Connection::open(&settings).await?;
        let sent = connection.send(&log, &[begins]).await;
        sent.map_err(|stopped| stopped.failure)
    });
    let Err(failure) = looked else {
        return Ok(());
    };
    match failure {
        Failure::Refused(refusal) => {
            bail!("events cannot be sent ([events.publish] in rialto.toml): {refusal}")
        }
        failure => {
            tracing::warn!("ALERT: events are not sent to NATS, and wait in the store: {failure}");
            Ok(())
        }
    }
}

/// Warn about what of `[events.publish]` names nothing of the release that serves. It may be of the next one.
pub fn warn_of_vain(operator: &Operator, runtime: &Runtime) {
    let (Some(publish), Some(release)) = (wanted(operator), runtime.current()) else {
        return;
    };
    for problem in in_vain(publish, &release) {
        tracing::warn!("[events.publish] in rialto.toml: {problem}");
    }
}

/// What of `[events.publish]` names nothing that a release publishes; empty if all fits.
#[must_use]
pub fn in_vain(publish: &Publish, release: &Release) -> Vec<String> {
    let known = release.events();
    let mut found = Vec::new();
    for (wanted, members) in &publish.events {
        let fitting = known.iter().filter(|event| wanted.names(&event.name));
        let fitting: Vec<_> = fitting.collect();
        if fitting.is_empty() {
            found.push(format!(
                "`{wanted}` is no event of the scheme: the lines `publishes` of `rialto check` have their names"
            ));
        }
        for member in members.iter().filter(|member| *member != EVERY_MEMBER) {
            let has_it = |members: &[String]| members.iter().any(|known| known == member);
            if !fitting.is_empty() && !fitting.iter().any(|event| has_it(&event.members)) {
                let members = fitting.first().map(|event| event.members.join("`, `"));
                let members = members.unwrap_or_default();
                found.push(format!(
                    "`{wanted}` has no member `{member}`: it has `{members}`"
                ));
            }
        }
    }
    found
}
