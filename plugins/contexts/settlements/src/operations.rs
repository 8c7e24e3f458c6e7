//! Operators' operations: close a batch, settle batches, complete and abort a settlement. All checks come
//! before the first write to a batch or a settlement, so a refusal changes nothing. A settlement with too many
//! members for one turn is checked by its own steps, and ends as REFUSED.

use crate::batches::{self, BATCHES, Batch, State};
use crate::progress::{self, advance};
use crate::settings::{Settings, Settles};
use crate::settlement::{Act, Cursor, Part, Phase, SETTLEMENTS, Settlement, Short};
use crate::units::Amount;
use crate::world::World;
use rialto_sdk::operators::{Caller, Kind, Problem, version};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// An operator's request to change something.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// Who asks.
    pub caller: &'a Caller,
    /// All headers: `If-Match` may be among them.
    pub headers: &'a [(String, String)],
    /// Why, in the operator's words.
    pub reason: &'a str,
}

impl Asked<'_> {
    fn act(&self, now: u64) -> Act {
        Act {
            by: self.caller.name.clone(),
            at: now,
            reason: self.reason.to_owned(),
        }
    }
}

/// Closes an open batch. The next transfer opens another one.
///
/// # Errors
/// When there is no such batch, or it is not open.
pub fn close_batch(world: &mut impl World, id: &str, asked: &Asked<'_>) -> Result<Batch, Problem> {
    let batch = known_batch(world, id)?;
    version::insist(asked.headers, batch.version)?;
    if batch.state != State::Open {
        return Err(wrong_state(Kind::BatchState, "batch", id, &batch.state));
    }
    let now = world.now();
    batches::stop(world, &batch);
    batches::update(world, id, |batch| {
        batch.state = State::Closed;
        batch.closed_at = Some(now);
        batch.closed_by = Some(asked.caller.name.clone());
        batch.reason = Some(asked.reason.to_owned());
    });
    known_batch(world, id)
}

/// Settles batches together.
///
/// # Errors
/// If a batch is unknown, settled or being settled, if they belong to several models, or if a member has too
/// little funds.
pub fn settle(
    world: &mut impl World,
    settings: &Settings,
    ids: &[String],
    asked: &Asked<'_>,
) -> Result<Settlement, Problem> {
    let batches = takable(world, ids)?;
    let model = common_model(&batches)?;
    let parts = parts(&batches);
    // Checked before any batch is taken, so a refusal changes no batch and moves nothing. It may have opened
    // missing accounts of members.
    let short = progress::short_of(world, settings, &model, &parts).unwrap_or_default();
    if !short.is_empty() {
        let detail = "participants have too little settled funds to pay what they owe in these batches; nothing was changed";
        let told: Vec<Value> = short.iter().map(told_short).collect();
        return Err(Problem::new(Kind::SettlementShort, detail).with("short", told));
    }
    let automatic = settings.model(&model).settles == Settles::Automatic;
    let settlement = Settlement {
        id: world.uuid(),
        model,
        automatic,
        parts,
        state: Phase::Calculating,
        step: 0,
        cursor: Cursor::default(),
        posted: 0,
        short: Vec::new(),
        short_count: 0,
        created: asked.act(world.now()),
        completed: None,
        aborted: None,
        version: 0,
    };
    assert_eq!(
        settlement.batches().count(),
        ids.len(),
        "each batch that was named is in one part of settlement {}",
        settlement.id
    );
    for batch in settlement.batches() {
        batches::take(world, batch, &settlement.id);
    }
    SETTLEMENTS.within(world).put(&settlement.id, &settlement);
    Ok(advance(world, settings, &settlement.id))
}

/// Completes a settlement: an operator confirms that the bank has moved the funds.
///
/// # Errors
/// If there is no such settlement, it is not PENDING, or the operator is the one who asked for it.
pub fn complete(
    world: &mut impl World,
    settings: &Settings,
    id: &str,
    asked: &Asked<'_>,
) -> Result<Settlement, Problem> {
    let mut settlement = checked(world, id, asked)?;
    if settlement.state != Phase::Pending {
        return Err(wrong_state(
            Kind::SettlementState,
            "settlement",
            id,
            &settlement.state,
        ));
    }
    settlement.completed = Some(asked.act(world.now()));
    settlement.enter(Phase::Consolidating);
    SETTLEMENTS.within(world).put(id, &settlement);
    Ok(advance(world, settings, id))
}

/// Aborts a settlement before it is completed, or undoes one that completed by itself.
///
/// # Errors
/// If there is no such settlement, its phase does not allow it, or the operator is the one who asked for it.
pub fn abort(
    world: &mut impl World,
    settings: &Settings,
    id: &str,
    asked: &Asked<'_>,
) -> Result<Settlement, Problem> {
    let mut settlement = checked(world, id, asked)?;
    let next = match settlement.state {
        Phase::Pending => Phase::Aborting,
        Phase::Completed if settlement.automatic => Phase::UndoHolding,
        _ => {
            return Err(wrong_state(
                Kind::SettlementState,
                "settlement",
                id,
                &settlement.state,
            ));
        }
    };
    (settlement.short, settlement.short_count) = (Vec::new(), 0);
    settlement.aborted = Some(asked.act(world.now()));
    settlement.enter(next);
    SETTLEMENTS.within(world).put(id, &settlement);
    Ok(advance(world, settings, id))
}

/// A batch by its id.
///
/// # Errors
/// When there is none.
pub fn known_batch(world: &mut impl World, id: &str) -> Result<Batch, Problem> {
    let known = BATCHES.within(world).get(id);
    known.ok_or_else(|| Problem::new(Kind::BatchUnknown, format!("there is no batch {id:?}")))
}

/// A settlement by its id.
///
/// # Errors
/// When there is none.
pub fn known_settlement(world: &mut impl World, id: &str) -> Result<Settlement, Problem> {
    let known = SETTLEMENTS.within(world).get(id);
    let unknown = || {
        Problem::new(
            Kind::SettlementUnknown,
            format!("there is no settlement {id:?}"),
        )
    };
    known.ok_or_else(unknown)
}

/// Checks that another operator completes or aborts a settlement than asked for it. An automatic settlement
/// completes without a second operator.
fn checked(world: &mut impl World, id: &str, asked: &Asked<'_>) -> Result<Settlement, Problem> {
    known_settlement(world, id)?;
    let held = SETTLEMENTS.within(world).get_for_update(id);
    let settlement = held.map_or_else(|| known_settlement(world, id), Ok)?;
    version::insist(asked.headers, settlement.version)?;
    if settlement.created.by == asked.caller.name {
        let detail = format!(
            "{} made this settlement: another operator must complete or abort it",
            asked.caller.name
        );
        return Err(Problem::new(Kind::MakerIsChecker, detail));
    }
    Ok(settlement)
}

fn takable(world: &mut impl World, ids: &[String]) -> Result<Vec<Batch>, Problem> {
    let mut taken: BTreeMap<&String, Batch> = BTreeMap::new();
    for id in ids {
        let batch = known_batch(world, id)?;
        if !matches!(batch.state, State::Open | State::Closed) {
            return Err(wrong_state(Kind::BatchState, "batch", id, &batch.state));
        }
        if taken.insert(id, batch).is_some() {
            let detail = format!("batch {id:?} is named twice");
            return Err(Problem::new(Kind::Malformed, detail));
        }
    }
    Ok(taken.into_values().collect())
}

fn common_model(batches: &[Batch]) -> Result<String, Problem> {
    let mut models: Vec<&String> = batches.iter().map(|batch| &batch.model).collect();
    models.sort();
    models.dedup();
    match models.as_slice() {
        [model] => Ok((*model).clone()),
        _ => {
            let detail = "all batches of a settlement must have the same settlement model";
            Err(Problem::new(Kind::ModelUnknown, detail).with("models", json!(models)))
        }
    }
}

fn parts(batches: &[Batch]) -> Vec<Part> {
    let mut parts: BTreeMap<&str, Part> = BTreeMap::new();
    for batch in batches {
        let part = parts.entry(&batch.currency).or_insert_with(|| Part {
            currency: batch.currency.clone(),
            scale: batch.scale,
            batches: Vec::new(),
        });
        part.batches.push(batch.id.clone());
    }
    parts.into_values().collect()
}

fn wrong_state(kind: Kind, what: &str, id: &str, state: &impl serde::Serialize) -> Problem {
    let state = json!(state);
    let detail = format!("{what} {id:?} is {}", state.as_str().unwrap_or_default());
    Problem::new(kind, detail).with("state", state)
}

/// The participants with too little funds, for operators.
#[must_use]
pub fn told_short(short: &Short) -> Value {
    json!({
        "participant": short.participant,
        "needs": Amount::of(&short.currency, short.scale, short.needs),
        "has": Amount::of(&short.currency, short.scale, short.has),
    })
}
