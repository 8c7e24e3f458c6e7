//! Settlement batches: which batch a transfer goes into, who its members are, and how it is closed.
//!
//! | State | Event | Next state | Set by |
//! |---|---|---|---|
//! | none | a transfer commits and no batch of its model and currency is open | OPEN | [`current`] |
//! | OPEN | the first transfer after the end of its time | CLOSED | [`current`] |
//! | OPEN | an operator closes it | CLOSED | `operations` |
//! | OPEN, CLOSED | an operator creates a settlement of it | AWAITING_SETTLEMENT | `operations` |
//! | AWAITING_SETTLEMENT | the settlement is completed | SETTLED | `progress` |
//! | AWAITING_SETTLEMENT | the settlement is refused or aborted | CLOSED | `progress` |
//! | SETTLED | the settlement is undone | CLOSED | `progress` |
//!
//! No event tells others of a batch: operators read it.
//!
//! A batch has no sums of its own. The ledger's accounts have them. A sum in the batch would be a lock that all
//! transfers wait for.

use crate::bindings::rialto::accounts_and_balances::create_accounts::NewAccount;
use crate::bindings::rialto::accounts_and_balances::types::{
    AccountStatus, LedgerAccountType, LedgerError,
};
use crate::settings::Model;
use crate::units::{Units, units};
use crate::world::World;
use rialto_sdk::documents::Collection;
use rialto_sdk::time::format_date_time;
use serde::{Deserialize, Serialize};

/// The open batch, by model and currency.
pub(crate) const OPEN: Collection<OpenBatch> = Collection::new("open-batches");
/// Batches by their ids.
pub const BATCHES: Collection<Batch> = Collection::new("batches");
/// The members of batches: `<batch>/<participant>`.
pub const MEMBERS: Collection<Member> = Collection::new("batch-members");

/// A document of the collection `open-batches`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct OpenBatch {
    /// The batch; none if the latest one is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    batch: Option<String>,
    /// When it stops taking transfers: UTC, milliseconds since 1970. None: when it is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<u64>,
    /// The number of batches so far.
    sequence: u64,
}

/// Where a batch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum State {
    /// It takes transfers.
    Open,
    /// It takes no more transfers.
    Closed,
    /// A settlement has it.
    AwaitingSettlement,
    /// It is settled.
    Settled,
}

impl State {
    /// Whether `next` may follow. See the module's table.
    #[must_use]
    pub const fn may_become(self, next: Self) -> bool {
        matches!(
            (self, next),
            (Self::Open, Self::Closed | Self::AwaitingSettlement)
                | (Self::Closed, Self::AwaitingSettlement)
                | (Self::AwaitingSettlement, Self::Settled | Self::Closed)
                | (Self::Settled, Self::Closed)
        )
    }
}

/// A document of the collection `batches`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Batch {
    /// `<model>.<currency>.<yyyy>.<MM>.<dd>.<HH>.<mm>.<sequence>`, in UTC.
    pub id: String,
    /// The settlement model.
    pub model: String,
    /// ISO 4217.
    pub currency: String,
    /// Decimal places of the currency in this scheme.
    pub scale: u8,
    /// Where it is.
    pub state: State,
    /// UTC, milliseconds since 1970.
    pub opened_at: u64,
    /// When it stopped taking transfers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<u64>,
    /// The operator who closed it. None if its time was over or a settlement took it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_by: Option<String>,
    /// Why an operator closed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The settlement that has it, or had it before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settlement: Option<String>,
    /// Incremented with each change.
    pub version: u64,
}

/// A document of the collection `batch-members`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Member {
    /// The participant.
    pub participant: String,
    /// The ledger's account of what it owes or is owed in the batch.
    pub account: String,
    /// What it paid and received with the batch's transfers, once the batch is closed. After that the account
    /// also has entries of settlements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfers: Option<Sums>,
}

/// Paid and received amounts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Sums {
    /// Paid.
    pub debits: Units,
    /// Received.
    pub credits: Units,
}

impl Sums {
    /// The amounts of an account that only has entries of transfers.
    #[must_use]
    pub fn on(account: &AccountStatus) -> Self {
        Self {
            debits: units(&account.position.debit_balance),
            credits: units(&account.position.credit_balance),
        }
    }
}

/// The id of a member.
#[must_use]
pub fn member_id(batch: &str, participant: &str) -> String {
    format!("{batch}/{participant}")
}

/// The batch for a transfer of a model. Opens one if none is open.
pub fn current(world: &mut impl World, model: &Model, (currency, scale): (&str, u8)) -> String {
    let id = format!("{}:{currency}", model.name);
    let now = world.now();
    let takes = |open: OpenBatch| {
        open.batch
            .filter(|_| open.until.is_none_or(|until| now < until))
    };
    // Read, not held, so that transfers do not wait for each other. If another turn changes the document, this
    // turn runs again, so no transfer gets into a closed batch.
    if let Some(batch) = OPEN.within(world).get(&id).and_then(takes) {
        return batch;
    }
    let mut open = OPEN.within(world).get_for_update(&id).unwrap_or_default();
    if let Some(batch) = takes(open.clone()) {
        return batch;
    }
    if let Some(over) = open.batch.take() {
        let closed_at = open.until.unwrap_or(now);
        update(world, &over, |batch| {
            batch.state = State::Closed;
            batch.closed_at = Some(closed_at);
        });
    }
    open.sequence += 1;
    let batch = Batch {
        id: batch_id(&model.name, currency, now, open.sequence),
        model: model.name.clone(),
        currency: currency.to_owned(),
        scale,
        state: State::Open,
        opened_at: now,
        closed_at: None,
        closed_by: None,
        reason: None,
        settlement: None,
        version: 1,
    };
    open.until = (model.batch_interval_ms > 0).then(|| now.saturating_add(model.batch_interval_ms));
    assert!(
        open.until.is_none_or(|until| now < until),
        "batch {:?} is opened at {now} and takes transfers until {:?}",
        batch.id,
        open.until
    );
    open.batch = Some(batch.id.clone());
    BATCHES.within(world).put(&batch.id, &batch);
    OPEN.within(world).put(&id, &open);
    batch.id
}

fn batch_id(model: &str, currency: &str, now: u64, sequence: u64) -> String {
    // yyyy-MM-ddTHH:mm
    let minute: String = format_date_time(now)
        .chars()
        .take(16)
        .map(|c| if c.is_ascii_digit() { c } else { '.' })
        .collect();
    format!("{model}.{currency}.{minute}.{sequence:06}")
}

/// Closes a batch for transfers. The caller has checked that it is open.
pub fn stop(world: &mut impl World, batch: &Batch) {
    let id = format!("{}:{}", batch.model, batch.currency);
    let Some(mut open) = OPEN.within(world).get_for_update(&id) else {
        return;
    };
    if open.batch.as_ref() == Some(&batch.id) {
        (open.batch, open.until) = (None, None);
        OPEN.within(world).put(&id, &open);
    }
}

/// Change a batch.
///
/// # Panics
/// If there is none with this id (ids come from this component's own documents), or if the state may not
/// follow.
pub fn update(world: &mut impl World, id: &str, change: impl FnOnce(&mut Batch)) {
    let Some(mut batch) = BATCHES.within(world).get_for_update(id) else {
        panic!("batch {id:?} does not exist");
    };
    let before = batch.state;
    change(&mut batch);
    assert!(
        before == batch.state || before.may_become(batch.state),
        "batch {id:?} cannot go from {before:?} to {:?}",
        batch.state
    );
    assert!(
        (batch.state == State::Open) == batch.closed_at.is_none(),
        "batch {id:?} is {:?} and took transfers until {:?}",
        batch.state,
        batch.closed_at
    );
    assert!(
        batch.settlement.is_some() || matches!(batch.state, State::Open | State::Closed),
        "batch {id:?} is {:?} and no settlement has it",
        batch.state
    );
    batch.version += 1;
    BATCHES.within(world).put(id, &batch);
}

/// The account of a participant in a batch. Opens it at the participant's first transfer.
///
/// # Errors
/// When the ledger refuses.
pub fn account_of(
    world: &mut impl World,
    (batch, model): (&str, &str),
    participant: &str,
    (currency, scale): (&str, u8),
) -> Result<String, LedgerError> {
    let id = member_id(batch, participant);
    if let Some(member) = MEMBERS.within(world).get(&id) {
        return Ok(member.account);
    }
    // Held, so that a settlement reads the members either before this turn, which then runs again, or after it.
    // A scan alone could miss a member that is being added.
    let held = BATCHES.within(world).get_for_update(batch);
    assert!(held.is_some(), "batch {batch:?} does not exist");
    let wanted = NewAccount {
        account_type: LedgerAccountType::SettlementPosition,
        owner: participant.to_owned(),
        currency: currency.to_owned(),
        scale,
        settlement_model: model.to_owned(),
        batch: Some(batch.to_owned()),
    };
    let mut opened = world.create_accounts(&[wanted])?;
    assert_eq!(opened.len(), 1, "the ledger answers the one account");
    let account = opened.swap_remove(0);
    let member = Member {
        participant: participant.to_owned(),
        account: account.clone(),
        transfers: None,
    };
    let added = MEMBERS.within(world).insert_if_absent(&id, &member);
    assert!(added, "{participant} is in batch {batch:?} already");
    Ok(account)
}

/// Assigns a batch to a settlement. The batch takes no more transfers.
pub fn take(world: &mut impl World, batch: &str, settlement: &str) {
    let now = world.now();
    if let Some(open) = BATCHES.within(world).get(batch) {
        stop(world, &open);
    }
    update(world, batch, |batch| {
        batch.state = State::AwaitingSettlement;
        batch.closed_at.get_or_insert(now);
        batch.settlement = Some(settlement.to_owned());
    });
}
