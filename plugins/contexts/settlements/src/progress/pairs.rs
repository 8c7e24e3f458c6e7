//! Pairs of payers and payees. Both are read in the order of their ids, and each pair moves the smaller of the
//! two remaining amounts. The accounts show what has moved, so a step only needs the cursor of the step before.

use super::holds::{accounts, line};
use super::{STEP, page, post};
use crate::batches::MEMBERS;
use crate::settings::Settings;
use crate::settlement::{LineType, Part, Phase, ROWS, Row, Settlement, row_id};
use crate::units::{Net, Units};
use crate::world::World;
use std::collections::VecDeque;

/// The pages that a step reads on each side to find remaining amounts.
const PAGES: usize = 4;

/// A participant with a remaining amount to pay or receive.
struct Left {
    id: String,
    participant: String,
    account: String,
    amount: Units,
}

/// The remaining amounts of one side.
struct Side {
    left: VecDeque<Left>,
    /// Once `left` is empty, nobody up to this id has a remaining amount on this side.
    until: String,
    is_over: bool,
    looked_at: usize,
}

impl Side {
    /// Whether the side has no remaining amounts at all.
    fn is_done(&self) -> bool {
        self.left.is_empty() && self.is_over
    }
}

/// A pair: who pays, who is paid, how much.
struct Pair {
    payer: (String, String),
    payee: (String, String),
    amount: Units,
}

/// Moves the obligations of the next batch to the settlement.
pub(super) fn consolidate(world: &mut impl World, settlement: &mut Settlement) -> usize {
    let batches: Vec<(Part, String)> = (settlement.parts.iter())
        .filter(|part| part.is_of_several())
        .flat_map(|part| {
            part.batches
                .iter()
                .map(|batch| (part.clone(), batch.clone()))
        })
        .collect();
    let Some((part, batch)) = batches.get(settlement.cursor.part) else {
        settlement.enter(Phase::Settling);
        return 0;
    };
    let prefix = format!("{batch}/");
    let mut source = |world: &mut _, after: &str| {
        let members = page(&prefix, after, |range| {
            MEMBERS
                .within(world)
                .scan(range, None, STEP as u32)
                .documents
        });
        let left = |(id, member): (String, crate::batches::Member)| {
            (id, member.participant, member.account)
        };
        members.into_iter().map(left).collect()
    };
    let (pairs, looked_at) = next_pairs(world, settlement, &mut source);
    let mut lines = Vec::new();
    for pair in pairs {
        let mut row = |participant: &str| row_of(world, settlement, &part.currency, participant);
        let (payer, payee) = (row(&pair.payer.0), row(&pair.payee.0));
        let (from, to) = (&pair.payer.1, &pair.payee.1);
        lines.push(line(
            LineType::Consolidate,
            &payer.account,
            from,
            pair.amount,
            &payer,
        ));
        lines.push(line(
            LineType::Consolidate,
            to,
            &payee.account,
            pair.amount,
            &payee,
        ));
    }
    post(world, settlement, lines, Vec::new(), true);
    looked_at
}

/// Has net payers pay net payees, in the next currency.
pub(super) fn settle(
    world: &mut impl World,
    settings: &Settings,
    settlement: &mut Settlement,
) -> usize {
    let Some(part) = settlement.parts.get(settlement.cursor.part).cloned() else {
        settlement.enter(Phase::Closing);
        return 0;
    };
    let prefix = format!("{}/{}/", settlement.id, part.currency);
    let mut source = |world: &mut _, after: &str| {
        let rows = page(&prefix, after, |range| {
            ROWS.within(world).scan(range, None, STEP as u32).documents
        });
        let left = |(id, row): (String, Row)| (id, row.participant, row.account);
        rows.into_iter().map(left).collect()
    };
    let (pairs, looked_at) = next_pairs(world, settlement, &mut source);
    let mut lines = Vec::new();
    for pair in pairs {
        let payer = row_of(world, settlement, &part.currency, &pair.payer.0);
        let payee = row_of(world, settlement, &part.currency, &pair.payee.0);
        let from = accounts(world, settings, settlement, &payer);
        let to = accounts(world, settings, settlement, &payee);
        let (owes, owed, amount) = (&pair.payer.1, &pair.payee.1, pair.amount);
        lines.push(line(
            LineType::HoldRelease,
            &from.reserved,
            &from.settlement,
            amount,
            &payer,
        ));
        lines.push(line(LineType::Pay, &from.settlement, owes, amount, &payer));
        let mut receive = line(LineType::Receive, owed, &to.settlement, amount, &payee);
        receive.reserved = Some(to.reserved);
        lines.push(receive);
    }
    post(world, settlement, lines, Vec::new(), true);
    looked_at
}

fn row_of(
    world: &mut impl World,
    settlement: &Settlement,
    currency: &str,
    participant: &str,
) -> Row {
    let id = row_id(&settlement.id, currency, participant);
    let row = ROWS.within(world).get(&id);
    row.unwrap_or_else(|| panic!("row {id:?} does not exist"))
}

/// The next pairs, at most [`STEP`], and the number of candidates read. Moves the cursor to the next part if
/// none are left.
fn next_pairs<W: World>(
    world: &mut W,
    settlement: &mut Settlement,
    source: &mut impl FnMut(&mut W, &str) -> Vec<(String, String, String)>,
) -> (Vec<Pair>, usize) {
    let pays = |net| match net {
        Net::Pays(amount) => Some(amount),
        _ => None,
    };
    let receives = |net| match net {
        Net::Receives(amount) => Some(amount),
        _ => None,
    };
    let mut payers = next_side(world, &settlement.cursor.after, source, pays);
    let mut payees = next_side(world, &settlement.cursor.payees_after, source, receives);
    let looked_at = payers.looked_at + payees.looked_at;
    let mut pairs = Vec::new();
    while pairs.len() < STEP
        && let (Some(payer), Some(payee)) = (payers.left.front_mut(), payees.left.front_mut())
    {
        let amount = payer.amount.min(payee.amount);
        payer.amount.0 -= amount.0;
        payee.amount.0 -= amount.0;
        pairs.push(Pair {
            payer: (payer.participant.clone(), payer.account.clone()),
            payee: (payee.participant.clone(), payee.account.clone()),
            amount,
        });
        for (side, cursor) in [
            (&mut payers, &mut settlement.cursor.after),
            (&mut payees, &mut settlement.cursor.payees_after),
        ] {
            if let Some(done) = side.left.pop_front_if(|left| left.amount == Units(0)) {
                *cursor = done.id;
            }
        }
    }
    // Both sides have the same sum, so they end together.
    for (done, other) in [(&payers, &payees), (&payees, &payers)] {
        assert!(
            !done.is_done() || other.left.is_empty(),
            "one side of settlement {} has no participants left, but the other side has {}",
            settlement.id,
            other.left.len()
        );
    }
    let mut is_over = true;
    for (side, cursor) in [
        (payers, &mut settlement.cursor.after),
        (payees, &mut settlement.cursor.payees_after),
    ] {
        is_over &= side.is_done();
        if side.left.is_empty() {
            *cursor = side.until;
        }
    }
    if is_over {
        settlement.cursor.part += 1;
        settlement.cursor.after.clear();
        settlement.cursor.payees_after.clear();
    }
    (pairs, looked_at)
}

fn next_side<W: World>(
    world: &mut W,
    after: &str,
    source: &mut impl FnMut(&mut W, &str) -> Vec<(String, String, String)>,
    left_of: impl Fn(Net) -> Option<Units>,
) -> Side {
    let mut side = Side {
        left: VecDeque::new(),
        until: after.to_owned(),
        is_over: false,
        looked_at: 0,
    };
    for _ in 0..PAGES {
        let candidates = source(world, &side.until);
        let Some((last, ..)) = candidates.last() else {
            side.is_over = true;
            return side;
        };
        side.until.clone_from(last);
        side.looked_at += candidates.len();
        let ids: Vec<String> = candidates
            .iter()
            .map(|(.., account)| account.clone())
            .collect();
        let accounts = world.accounts(&ids);
        assert_eq!(accounts.len(), ids.len(), "the ledger answers each account");
        for ((id, participant, account), status) in candidates.into_iter().zip(accounts) {
            let Some(status) = status else {
                panic!("account {account:?} does not exist");
            };
            if let Some(amount) = left_of(Net::on(&status)) {
                side.left.push_back(Left {
                    id,
                    participant,
                    account,
                    amount,
                });
            }
        }
        if side.left.len() >= STEP {
            return side;
        }
    }
    side
}
