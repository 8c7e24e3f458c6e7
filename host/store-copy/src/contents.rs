//! Counts and digests of everything in a store, part by part.

use rialto_engine::Delivery;
use rialto_engine::store::StoreError;
use rialto_store::{DeliveryHead, Order};

use crate::digests::{Digest, Part, plain};
use crate::{PAGE, Source, Tell, kept};

/// The parts of a store. Two stores that are copies of each other have the same ones.
///
/// # Errors
/// When the store cannot be read.
pub fn contents(source: &mut Source<'_>, tell: &mut Tell<'_>) -> Result<Vec<Part>, StoreError> {
    let mut parts = documents(source, tell)?;
    pending(source, &mut parts)?;
    parts.push(history(source, tell)?);
    parts.push(receipts(source, tell)?);
    audit(source, &mut parts, tell)?;
    parts.push(publications(source, tell)?);
    beside(source, &mut parts)?;
    parts.push(operations(source)?);
    parts.push(counters(source)?);
    Ok(parts)
}

/// The collections, and the documents of each in the order of their ids.
fn documents(source: &mut Source<'_>, tell: &mut Tell<'_>) -> Result<Vec<Part>, StoreError> {
    let mut collections = source.dump.collections().to_vec();
    collections.sort_by_key(|collection| collection.id);
    let mut parts = vec![plain("collections", &collections)];
    for collection in &collections {
        let (component, name) = (&collection.component, &collection.name);
        let mut digest = Digest::of(format!("documents of {component}/{name}"));
        source
            .dump
            .visit_while(&[collection.id], Order::ById, &mut |_, document| {
                digest.item(&[
                    component.as_bytes(),
                    name.as_bytes(),
                    document.id.as_bytes(),
                    &document.version.to_le_bytes(),
                    document.body.as_bytes(),
                ]);
                tell("digests of documents", digest.items());
                true
            })?;
        parts.push(digest.end());
    }
    Ok(parts)
}

fn delivery(digest: &mut Digest, delivery: &Delivery, rest: &str) -> Result<(), StoreError> {
    let head = serde_json::to_vec(&DeliveryHead::of(delivery));
    let head = head.map_err(|e| StoreError::Failed(format!("it cannot be hashed: {e}")))?;
    digest.item(&[
        &delivery.id.to_le_bytes(),
        &head,
        &delivery.payload.encode(),
        &delivery.redeliveries.to_le_bytes(),
        rest.as_bytes(),
    ]);
    Ok(())
}

fn pending(source: &mut Source<'_>, parts: &mut Vec<Part>) -> Result<(), StoreError> {
    let pending = source.dump.pending()?;
    let mut deliveries = Digest::of("pending deliveries");
    for one in &pending.deliveries {
        delivery(&mut deliveries, one, "")?;
    }
    parts.push(deliveries.end());
    let mut reminders = Digest::of("reminders");
    for one in &pending.reminders {
        reminders.json(one)?;
    }
    parts.push(reminders.end());
    let mut requests = Digest::of("outbound requests");
    for one in &pending.outbound {
        requests.json(one)?;
    }
    parts.push(requests.end());
    let mut letters = Digest::of("dead letters");
    for one in source.store.dead_letters()? {
        let rest = format!("{} {} {}", one.attempts, one.at, one.error);
        delivery(&mut letters, &one.delivery, &rest)?;
    }
    parts.push(letters.end());
    Ok(())
}

fn history(source: &mut Source<'_>, tell: &mut Tell<'_>) -> Result<Part, StoreError> {
    let mut digest = Digest::of("history");
    let mut outcome = Ok(());
    source.dump.visit_history(&mut |record| {
        outcome = digest.json(&record);
        tell("digest of the history", digest.items());
        outcome.is_ok()
    })?;
    outcome?;
    Ok(digest.end())
}

fn receipts(source: &mut Source<'_>, tell: &mut Tell<'_>) -> Result<Part, StoreError> {
    let mut digest = Digest::of("receipts");
    let mut after = None;
    loop {
        let page = source.dump.receipts_after(after, PAGE)?;
        let Some(last) = page.last() else {
            return Ok(digest.end());
        };
        after = Some(last.id);
        for receipt in &page {
            digest.item(&[
                &receipt.id.to_le_bytes(),
                receipt.subject.as_bytes(),
                &receipt.at.0.to_le_bytes(),
                receipt.body.as_bytes(),
            ]);
        }
        tell("digest of receipts", digest.items());
    }
}

/// The entries of the audit log, its tree and its checkpoints.
fn audit(
    source: &mut Source<'_>,
    parts: &mut Vec<Part>,
    tell: &mut Tell<'_>,
) -> Result<(), StoreError> {
    let (mut digest, mut next) = (Digest::of("audit entries"), 0);
    loop {
        let page = source.dump.audit_entries(next, PAGE)?;
        let Some(last) = page.last() else { break };
        next = last.index + 1;
        for entry in &page {
            digest.item(&[
                &entry.index.to_le_bytes(),
                &entry.at.0.to_le_bytes(),
                entry.body.as_bytes(),
            ]);
        }
        tell("digest of the audit log", digest.items());
    }
    parts.push(digest.end());
    let (mut digest, mut after) = (Digest::of("audit tiles"), None);
    loop {
        let page = source.dump.audit_tiles_after(after, PAGE)?;
        let Some(last) = page.last() else { break };
        after = Some((last.level, last.index));
        for tile in &page {
            digest.plain(tile);
        }
    }
    parts.push(digest.end());
    let (mut digest, mut after) = (Digest::of("audit checkpoints"), 0);
    loop {
        let page = source.dump.audit_checkpoints_after(after, PAGE)?;
        let Some(last) = page.last() else { break };
        after = last.size;
        for checkpoint in &page {
            digest.plain(checkpoint);
        }
    }
    parts.push(digest.end());
    Ok(())
}

fn publications(source: &mut Source<'_>, tell: &mut Tell<'_>) -> Result<Part, StoreError> {
    let mut digest = Digest::of("events for the outside");
    let mut next = source.dump.publications_state()?.first.unwrap_or(1);
    loop {
        let page = source.dump.publications(next, PAGE)?;
        let Some(last) = page.last() else {
            return Ok(digest.end());
        };
        next = last.number + 1;
        for stored in &page {
            digest.json(&(stored.number, &stored.publication))?;
        }
        tell("digest of events", digest.items());
    }
}

/// What a store keeps beside groups, each in an order that all stores have.
fn beside(source: &mut Source<'_>, parts: &mut Vec<Part>) -> Result<(), StoreError> {
    let store = source.store;
    let mut components = Digest::of("components");
    for digest in source.dump.component_digests()? {
        let bytes = store.component(&digest)?.unwrap_or_default();
        components.item(&[digest.as_bytes(), &bytes]);
    }
    parts.push(components.end());
    parts.push(plain("releases", store.releases()?));
    let once_current = store.releases_once_current()?;
    parts.push(plain("releases that were current", once_current));
    parts.push(plain("activations", store.activations()?));
    parts.push(plain("scheduled releases", kept::scheduled(store)?));
    let (mut plans, mut signatures) = (Vec::new(), Vec::new());
    for digest in store.plan_digests(u32::MAX)? {
        plans.extend(store.plan(&digest)?);
        signatures.extend(store.plan_signatures(&digest)?);
    }
    plans.sort_by(|a, b| a.digest.cmp(&b.digest));
    signatures.sort_by(|a, b| (&a.plan, &a.officer).cmp(&(&b.plan, &b.officer)));
    parts.push(plain("plans", plans));
    parts.push(plain("signatures of plans", signatures));
    parts.push(plain("suspensions", kept::suspensions(store)?));
    let mut held = store.held_back()?;
    held.sort_by(|a, b| (&a.component, &a.settings).cmp(&(&b.component, &b.settings)));
    parts.push(plain("canaries held back", held));
    let mut credentials = store.credentials()?;
    credentials.sort_by(|a, b| a.id.cmp(&b.id));
    parts.push(plain("credentials", credentials));
    let mut passkeys = store.passkeys()?;
    passkeys.sort_by(|a, b| a.id.cmp(&b.id));
    parts.push(plain("passkeys", passkeys));
    Ok(())
}

fn operations(source: &mut Source<'_>) -> Result<Part, StoreError> {
    let (mut digest, mut after) = (Digest::of("operators' log"), 0);
    loop {
        let page = source.dump.operations_after(after, PAGE)?;
        let Some(last) = page.last() else {
            return Ok(digest.end());
        };
        after = last.id;
        for operation in &page {
            digest.plain(operation);
        }
    }
}

/// Single values: each is an item, so that the count does not change.
fn counters(source: &mut Source<'_>) -> Result<Part, StoreError> {
    let state = source.dump.publications_state()?;
    let (lsn, next_id) = (source.dump.lsn(), source.dump.next_id()?);
    let audit = source.dump.audit_size()?;
    let secret = source.dump.canary_secret()?;
    let store = source.store;
    let mut digest = Digest::of("counters");
    for (name, value) in [
        ("the last turn", lsn),
        ("the next id", next_id),
        ("the current release", store.current_release()?),
        ("the activating release", store.activating_release()?),
        ("the audit log's size", audit),
        ("the audit log's entries sent", store.audit_sent()?),
        ("the last event", state.last),
        ("the last event that was sent", state.published),
        ("the store's number", state.store),
    ] {
        digest.item(&[name.as_bytes(), &value.to_le_bytes()]);
    }
    digest.plain(&secret);
    digest.plain(&store.poison_candidate()?);
    digest.plain(&store.people_keys()?);
    Ok(digest.end())
}
