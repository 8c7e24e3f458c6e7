//! Copies what a store keeps beside groups: releases, what people decided and did, and the proofs of the audit log.

use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;
use rialto_store::{HostStore, ScheduledRelease, StoreLoad, StoredSuspension, StoredTile};

use crate::{PAGE, Source, Tell};

/// Copy all of it.
pub(crate) fn copy(
    source: &mut Source<'_>,
    target: &dyn StoreLoad,
    tell: &mut Tell<'_>,
) -> Result<(), StoreError> {
    tell("releases", 0);
    for digest in source.dump.component_digests()? {
        if let Some(bytes) = source.store.component(&digest)? {
            target.add_component(&digest, &bytes)?;
        }
    }
    releases(source.store, target)?;
    plans(source.store, target)?;
    target.load_suspensions(&suspensions(source.store)?)?;
    for held in source.store.held_back()? {
        target.hold_back(&held)?;
    }
    if let Some(secret) = source.dump.canary_secret()? {
        target.canary_secret(secret)?;
    }
    operators(source, target, tell)?;
    proofs(source, target, tell)
}

fn releases(store: &dyn HostStore, target: &dyn StoreLoad) -> Result<(), StoreError> {
    // Before the releases, and each withdrawal before the next number: a withdrawal is of all later ones that were never
    // current.
    for one in scheduled(store)? {
        let open = ScheduledRelease {
            withdrawn: None,
            ..one.clone()
        };
        target.schedule_releases(&[open])?;
        if let Some(act) = &one.withdrawn {
            target.withdraw_scheduled(one.release, act)?;
        }
    }
    for release in store.releases()? {
        target.add_release(&release)?;
    }
    let current = store.current_release()?;
    let others = store.releases_once_current()?.into_iter();
    let others = others.filter(|number| *number != current);
    // The current one last.
    for number in others.chain((current > 0).then_some(current)) {
        target.set_current_release(number)?;
    }
    target.load_activations(&store.activations()?)?;
    let activating = store.activating_release()?;
    if activating > 0 {
        target.set_activating_release(activating)?;
    }
    Ok(())
}

fn plans(store: &dyn HostStore, target: &dyn StoreLoad) -> Result<(), StoreError> {
    for digest in store.plan_digests(u32::MAX)? {
        let Some(plan) = store.plan(&digest)? else {
            continue;
        };
        target.add_plan(&plan)?;
        if plan.release.is_some() {
            target.plan_applied(&digest, plan.release)?;
        }
        for signature in store.plan_signatures(&digest)? {
            target.sign_plan(&signature)?;
        }
    }
    Ok(())
}

/// The scheduled releases in the order of their numbers.
pub(crate) fn scheduled(store: &dyn HostStore) -> Result<Vec<ScheduledRelease>, StoreError> {
    let mut scheduled = store.scheduled_releases()?;
    scheduled.sort_by_key(|one| one.release);
    Ok(scheduled)
}

/// All suspensions in the order of their numbers.
pub(crate) fn suspensions(store: &dyn HostStore) -> Result<Vec<StoredSuspension>, StoreError> {
    let mut suspensions = store.suspensions(Timestamp(0), u32::MAX)?;
    suspensions.sort_by_key(|one| one.id);
    Ok(suspensions)
}

fn operators(
    source: &mut Source<'_>,
    target: &dyn StoreLoad,
    tell: &mut Tell<'_>,
) -> Result<(), StoreError> {
    for credential in source.store.credentials()? {
        target.add_credential(&credential)?;
    }
    for passkey in source.store.passkeys()? {
        target.add_passkey(&passkey)?;
    }
    if let Some(keys) = source.store.people_keys()? {
        target.set_people_keys(keys)?;
    }
    let mut after = 0;
    loop {
        let page = source.dump.operations_after(after, PAGE)?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        after = last.id;
        for operation in &page {
            target.add_operation(operation)?;
        }
        tell("operators' log", after);
    }
}

/// The tree of the audit log and its checkpoints.
fn proofs(
    source: &mut Source<'_>,
    target: &dyn StoreLoad,
    tell: &mut Tell<'_>,
) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let page: Vec<StoredTile> = source.dump.audit_tiles_after(after, PAGE)?;
        let Some(last) = page.last() else { break };
        after = Some((last.level, last.index));
        target.load_tiles(&page)?;
        tell("tiles of the audit log", last.index);
    }
    let mut after = 0;
    loop {
        let page = source.dump.audit_checkpoints_after(after, PAGE)?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        after = last.size;
        target.load_checkpoints(&page)?;
        tell("checkpoints of the audit log", after);
    }
}
