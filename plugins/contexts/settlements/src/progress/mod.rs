//! The steps of a settlement. Each step fits into a turn and keeps the ledger's invariants: it pays and
//! receives the same amount.
//!
//! | Module | Holds |
//! |---|---|
//! | `matrix` | CALCULATING: the rows |
//! | `holds` | settled funds set aside, and given back |
//! | `pairs` | CONSOLIDATING and SETTLING: who pays whom |
//! | `ends` | CLOSING, UNDOING and REOPENING, and how each phase ends |

mod ends;
mod holds;
mod matrix;
mod pairs;

pub use holds::short_of;

use crate::bindings::rialto::accounts_and_balances::insert_journal_entries::{Request, Unsettled};
use crate::settings::Settings;
use crate::settlement::{Line, Phase, Posted, ROWS, Row, SETTLEMENTS, Settlement};
use crate::world::World;
use rialto_sdk::documents::Range;

/// Participants or pairs of one step.
pub const STEP: usize = 200;

/// Continues a settlement in this turn, and in a later one if there is more to do. Returns its new state.
///
/// # Panics
/// If there is no such settlement, or the ledger refuses an entry that must be possible. Then the turn becomes
/// a dead letter, and has no effect.
pub fn advance(world: &mut impl World, settings: &Settings, id: &str) -> Settlement {
    let Some(mut settlement) = SETTLEMENTS.within(world).get_for_update(id) else {
        panic!("settlement {id:?} does not exist");
    };
    assert!(
        settlement.id == id,
        "settlement {id:?} is kept as {:?}",
        settlement.id
    );
    let mut done = 0;
    while settlement.state.is_working() && done < STEP {
        done += step(world, settings, &mut settlement).max(1);
        settlement.step += 1;
    }
    settlement.version += 1;
    SETTLEMENTS.within(world).put(id, &settlement);
    if settlement.state.is_working() {
        world.step_is_due(id, settlement.step);
    }
    settlement
}

/// Does a due step, unless it is done already.
pub fn step_due(world: &mut impl World, settings: &Settings, id: &str, step: u64) {
    let known = SETTLEMENTS.within(world).get_for_update(id);
    if known.is_some_and(|settlement| settlement.step == step) {
        advance(world, settings, id);
    }
}

/// Does one step. Returns the number of documents it read.
fn step(world: &mut impl World, settings: &Settings, settlement: &mut Settlement) -> usize {
    match settlement.state {
        Phase::Calculating => matrix::calculate(world, settlement),
        Phase::Holding | Phase::UndoHolding => holds::hold(world, settings, settlement),
        Phase::Releasing | Phase::Aborting | Phase::UndoReleasing => {
            holds::release(world, settings, settlement)
        }
        Phase::Consolidating => pairs::consolidate(world, settlement),
        Phase::Settling => pairs::settle(world, settings, settlement),
        Phase::Closing | Phase::Reopening => ends::count(world, settlement),
        Phase::Undoing => ends::undo(world, settlement),
        Phase::Refused | Phase::Pending | Phase::Completed | Phase::Aborted => 0,
    }
}

/// The next [`STEP`] rows of the matrix, in the order of their ids.
fn next_rows(world: &mut impl World, settlement: &Settlement) -> Vec<(String, Row)> {
    let prefix = format!("{}/", settlement.id);
    page(&prefix, &settlement.cursor.after, |range| {
        ROWS.within(world).scan(range, None, STEP as u32).documents
    })
}

/// Ids that begin with `prefix` and follow `after`, read by `scan`.
fn page<T>(
    prefix: &str,
    after: &str,
    scan: impl FnOnce(&Range) -> Vec<(String, T)>,
) -> Vec<(String, T)> {
    assert!(
        after.is_empty() || after.starts_with(prefix),
        "what begins with {prefix:?} cannot follow {after:?}"
    );
    // `0` follows the slash at the prefix's end, and ids hold no character before `!`.
    let end = format!("{}0", prefix.trim_end_matches('/'));
    let from = if after.is_empty() {
        prefix.to_owned()
    } else {
        format!("{after}!")
    };
    scan(&Range::Between((from, end)))
}

/// Posts a list for a settlement, and stores it if an undoing has to reverse it.
fn post(
    world: &mut impl World,
    settlement: &mut Settlement,
    lines: Vec<Line>,
    unsettled: Vec<Unsettled>,
    keep: bool,
) {
    if lines.is_empty() && unsettled.is_empty() {
        return;
    }
    let request = Request {
        cause: settlement.id.clone(),
        step: step_name(settlement),
        entries: lines.iter().map(Line::entry).collect(),
        unsettled,
    };
    if let Err(error) = world.insert_entries(&request) {
        panic!(
            "the ledger refuses step {} of settlement {}: {error:?}",
            request.step, request.cause
        );
    }
    if keep {
        let id = posted_id(&settlement.id, settlement.posted);
        crate::settlement::POSTED
            .within(world)
            .put(&id, &Posted { lines });
        settlement.posted += 1;
    }
}

/// The ledger's name of the step. It tells the ledger that funds set aside by an undoing cover no obligation.
fn step_name(settlement: &Settlement) -> String {
    let phase = match settlement.state {
        Phase::UndoHolding | Phase::UndoReleasing | Phase::Undoing | Phase::Reopening => "undo",
        _ => "step",
    };
    format!("{phase}-{:06}", settlement.step)
}

fn posted_id(settlement: &str, number: u64) -> String {
    format!("{settlement}/{number:06}")
}
