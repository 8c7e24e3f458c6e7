//! Copies what comes with groups: documents, pending work, history, receipts, the audit log and events for the outside.

use std::sync::Arc;

use rialto_engine::history::Record;
use rialto_engine::store::{AuditEntry, DocumentWrite, Receipt, Recovered, StoreError};
use rialto_store::{NextNumbers, Order, Redelivered, StoreDump, StoreLoad};

use crate::writing::Writing;
use crate::{CopyError, PAGE, Source, Tell, kept};

/// Roughly the bytes of a record: its steps are short texts.
const RECORD_BYTES: usize = 1_024;

/// See the crate's function of this name.
pub(crate) fn copy(
    source: &mut Source<'_>,
    target: &dyn StoreLoad,
    tell: &mut Tell<'_>,
) -> Result<(), CopyError> {
    let next_id = source.dump.next_id()?;
    let recovered = target.recover()?;
    refuse_filled(&recovered, target)?;
    let state = source.dump.publications_state()?;
    target.begin_load(state.store)?;
    let mut numbers = NextNumbers {
        audit: 0,
        publication: state.first.unwrap_or(state.last + 1),
    };
    target.continue_from(numbers)?;
    let mut writing = Writing::new(target, source.dump.lsn(), next_id);
    documents(&mut *source.dump, &mut writing, tell)?;
    let counts = pending(source, &mut writing, tell)?;
    history(&mut *source.dump, &mut writing, tell)?;
    receipts(&mut *source.dump, &mut writing, tell)?;
    let mut numbered = Numbered {
        target,
        numbers: &mut numbers,
    };
    audit(&mut *source.dump, &mut writing, &mut numbered, tell)?;
    publications(&mut *source.dump, &mut writing, &mut numbered, tell)?;
    numbered.go_on(NextNumbers {
        publication: state.last + 1,
        ..*numbered.numbers
    })?;
    // A database keeps in its last group which numbers were given.
    writing.write_any()?;
    kept::copy(source, target, tell)?;
    target.load_redelivered(&counts)?;
    target.set_audit_sent(source.store.audit_sent()?)?;
    if state.published > 0 {
        target.set_published(state.published)?;
    }
    if let Some(candidate) = source.store.poison_candidate()? {
        target.note_poison_candidate(Some(&candidate))?;
    }
    Ok(target.flush()?)
}

/// Refuse a target that was ever used.
fn refuse_filled(recovered: &Recovered, target: &dyn StoreLoad) -> Result<(), CopyError> {
    let is_new = recovered.lsn.0 == 0
        && recovered.collections.is_empty()
        && target.releases()?.is_empty()
        && target.last_operation()? == 0
        && target.audit_size()? == 0;
    if is_new {
        return Ok(());
    }
    Err(CopyError::Filled)
}

/// The numbers of the target's audit log and events.
struct Numbered<'n> {
    target: &'n dyn StoreLoad,
    numbers: &'n mut NextNumbers,
}

impl Numbered<'_> {
    /// Have the target go on with these numbers, if it does not already. The groups before are written.
    fn go_on(&mut self, next: NextNumbers) -> Result<(), StoreError> {
        if *self.numbers == next {
            return Ok(());
        }
        *self.numbers = next;
        self.target.continue_from(next)
    }
}

fn documents(
    dump: &mut dyn StoreDump,
    writing: &mut Writing<'_>,
    tell: &mut Tell<'_>,
) -> Result<(), StoreError> {
    let collections = dump.collections().to_vec();
    for collection in &collections {
        writing.add(0, |group| group.collections.push(collection.clone()))?;
    }
    let mut done = 0;
    for collection in &collections {
        let mut outcome = Ok(());
        dump.visit_while(
            &[collection.id],
            Order::ById,
            &mut |collection, document| {
                done += 1;
                tell("documents", done);
                let bytes = document.id.len() + document.body.len();
                let write = DocumentWrite {
                    collection,
                    id: document.id,
                    version: document.version,
                    body: Some(document.body),
                };
                outcome = writing.add(bytes, |group| group.documents.push(write));
                outcome.is_ok()
            },
        )?;
        outcome?;
    }
    writing.write()
}

/// Copies pending work and dead letters. Returns the redelivery counts, which no group can say.
fn pending(
    source: &mut Source<'_>,
    writing: &mut Writing<'_>,
    tell: &mut Tell<'_>,
) -> Result<Redelivered, StoreError> {
    tell("pending work", 0);
    let pending = source.dump.pending()?;
    let mut counts = Redelivered::default();
    for delivery in pending.deliveries {
        if delivery.redeliveries > 0 {
            counts.deliveries.push((delivery.id, delivery.redeliveries));
        }
        let bytes = delivery.payload.bytes();
        writing.add(bytes, |group| {
            group.deliveries_added.push(Arc::new(delivery));
        })?;
    }
    for (reminder, starts) in pending.reminders {
        if starts > 0 {
            let (component, id) = (reminder.component.clone(), reminder.id.clone());
            counts.reminders.push((component, id, starts));
        }
        let bytes = reminder.payload.len();
        writing.add(bytes, |group| group.reminders_set.push(reminder))?;
    }
    for request in pending.outbound {
        let bytes = request.body.as_ref().map_or(0, |body| body.len());
        writing.add(bytes, |group| group.outbound_added.push(Arc::new(request)))?;
    }
    for letter in source.store.dead_letters()? {
        let bytes = letter.delivery.payload.bytes();
        writing.add(bytes, |group| group.dead_letters_added.push(letter))?;
    }
    writing.write()?;
    Ok(counts)
}

fn history(
    dump: &mut dyn StoreDump,
    writing: &mut Writing<'_>,
    tell: &mut Tell<'_>,
) -> Result<(), StoreError> {
    let (mut outcome, mut done) = (Ok(()), 0);
    dump.visit_history(&mut |record: Record| {
        done += 1;
        tell("history", done);
        outcome = writing.add(RECORD_BYTES, |group| group.history.push(Arc::new(record)));
        outcome.is_ok()
    })?;
    outcome?;
    writing.write()
}

fn receipts(
    dump: &mut dyn StoreDump,
    writing: &mut Writing<'_>,
    tell: &mut Tell<'_>,
) -> Result<(), StoreError> {
    let (mut after, mut done) = (None, 0);
    loop {
        let page: Vec<Receipt> = dump.receipts_after(after, PAGE)?;
        let Some(last) = page.last() else {
            return writing.write();
        };
        after = Some(last.id);
        done += page.len() as u64;
        tell("receipts", done);
        for receipt in page {
            let bytes = receipt.subject.len() + receipt.body.len();
            writing.add(bytes, |group| group.receipts.push(receipt))?;
        }
    }
}

/// Copies the entries of the audit log with their indexes. The oldest may be in archives, and one may be missing.
fn audit(
    dump: &mut dyn StoreDump,
    writing: &mut Writing<'_>,
    numbered: &mut Numbered<'_>,
    tell: &mut Tell<'_>,
) -> Result<(), StoreError> {
    let mut next = numbered.numbers.audit;
    loop {
        let page = dump.audit_entries(next, PAGE)?;
        if page.is_empty() {
            break;
        }
        for entry in page {
            if entry.index != next {
                writing.write()?;
                numbered.go_on(NextNumbers {
                    audit: entry.index,
                    ..*numbered.numbers
                })?;
            }
            next = entry.index + 1;
            let added = AuditEntry {
                at: entry.at,
                body: entry.body.into(),
            };
            writing.add(added.body.len(), |group| group.audit.push(added))?;
        }
        tell("audit log", next);
    }
    writing.write()?;
    // Where the writing has brought the target.
    numbered.numbers.audit = next;
    let audit = dump.audit_size()?.max(next);
    numbered.go_on(NextNumbers {
        audit,
        ..*numbered.numbers
    })
}

/// Copies events for the outside with their numbers. Old ones were removed, and a restored backup has left numbers out.
fn publications(
    dump: &mut dyn StoreDump,
    writing: &mut Writing<'_>,
    numbered: &mut Numbered<'_>,
    tell: &mut Tell<'_>,
) -> Result<(), StoreError> {
    let mut next = numbered.numbers.publication;
    loop {
        let page = dump.publications(next, PAGE)?;
        if page.is_empty() {
            break;
        }
        for stored in page {
            if stored.number != next {
                writing.write()?;
                numbered.go_on(NextNumbers {
                    publication: stored.number,
                    ..*numbered.numbers
                })?;
            }
            next = stored.number + 1;
            let bytes = stored.publication.data.len();
            writing.add(bytes, |group| group.publications.push(stored.publication))?;
        }
        tell("events for the outside", next - 1);
    }
    writing.write()?;
    numbered.numbers.publication = next;
    Ok(())
}
