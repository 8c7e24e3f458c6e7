//! Timeouts of transfers. A reminder only triggers the check: the transfer's state and expiry decide.

use crate::audited;
use crate::bindings::exports::rialto::scheduling::schedule_reminder_elapsed as elapsed;
use crate::bindings::rialto::transfers::transfer_fulfil_comit_request_timedout as timedout;
use crate::bindings::rialto::transfers::types::FulfilMode;
use crate::surroundings::{Publication, Surroundings, keep, release};
use crate::transfer::{RejectionKind, State, Transfer};
use rialto_sdk::bindings::rialto::common::types::{ErrorInformation, Role};
use rialto_sdk::errors::error;
use rialto_sdk::logging::Level;

/// The name of this context at Scheduling.
pub const CLIENT: &str = "transfers";

/// Handles a reminder of this context.
pub fn reminder_elapsed(world: &mut impl Surroundings, event: &elapsed::Event) {
    let Some(mut transfer) = world.transfer(&event.id) else {
        let line = format!("a reminder of unknown transfer {} is ignored", event.id);
        return world.log(Level::Warn, &line);
    };
    let now = world.now();
    match transfer.state {
        State::Prepared if transfer.is_expired(now) => {
            time_out(world, &mut transfer, (None, None), now);
        }
        // Early, by another clock: set the reminder again.
        State::Prepared => world.create_reminder(&transfer.transfer_id, transfer.expiration),
        State::Committed if transfer.post_commit_timeout.is_none() => {
            // A commit is final: the timeout is rejected instead.
            transfer.post_commit_timeout = Some(now);
            keep(world, &transfer);
            let line = format!("transfer {}: post-commit timeout rejected", event.id);
            world.log(Level::Warn, &line);
            world.audit(&audited::post_commit_timeout(&event.id));
        }
        State::Committed | State::Rejected | State::Failed | State::Received | State::Reserved => {
            world.log(Level::Debug, "a reminder of a finished transfer is ignored");
        }
    }
}

/// Ends a prepared transfer as expired, releases the funds and tells both FSPs. If a late commitment triggers
/// it, `late_mode` is its mode and `payee_version` the version for the answer.
pub(crate) fn time_out(
    world: &mut impl Surroundings,
    transfer: &mut Transfer,
    (late_mode, payee_version): (Option<FulfilMode>, Option<String>),
    now: u64,
) {
    assert!(
        transfer.is_expired(now),
        "transfer {} is ended as expired at {now} and expires at {}",
        transfer.transfer_id,
        transfer.expiration
    );
    release(world, transfer);
    conclude_timeout(world, transfer, (late_mode, payee_version), now);
}

/// The rest of [`time_out`], after the release of the funds.
pub(crate) fn conclude_timeout(
    world: &mut impl Surroundings,
    transfer: &mut Transfer,
    (late_mode, payee_version): (Option<FulfilMode>, Option<String>),
    now: u64,
) {
    transfer.reject(RejectionKind::TimedOut, &expired(), now);
    keep(world, transfer);
    let both = vec![Role::Payer, Role::Payee];
    tell(world, transfer, both, (late_mode, payee_version));
}

/// Tells the payee FSP again that the transfer has expired.
pub(crate) fn tell_late_payee(
    world: &mut impl Surroundings,
    transfer: &Transfer,
    late_mode: Option<FulfilMode>,
    payee_version: Option<String>,
) {
    tell(
        world,
        transfer,
        vec![Role::Payee],
        (late_mode, payee_version),
    );
}

fn tell(
    world: &mut impl Surroundings,
    transfer: &Transfer,
    destinations: Vec<Role>,
    (late_mode, payee_version): (Option<FulfilMode>, Option<String>),
) {
    let tells_payer = destinations.contains(&Role::Payer);
    world.publish(Publication::FulfilComitRequestTimedout(timedout::Event {
        transfer_id: transfer.transfer_id.clone(),
        payer_fsp: transfer.payer_fsp.clone(),
        payee_fsp: transfer.payee_fsp.clone(),
        error: expired(),
        destinations,
        late_mode,
        completed_timestamp: transfer.ended_at(),
        payer_version: transfer.payer_version.clone().filter(|_| tells_payer),
        payee_version,
    }));
}

fn expired() -> ErrorInformation {
    error("3303", "")
}
