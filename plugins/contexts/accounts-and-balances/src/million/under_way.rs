//! A settlement whose payments are posted: step by step, with other operations between its steps, it counts its
//! transfers as settled; or it is undone then, and counts them as waiting again.

use super::driver::World;
use super::settling::Line;
use crate::bindings::exports::rialto::accounts_and_balances::insert_journal_entries::{
    SettlementEntryType as Of, UnsettledChange,
};

/// The last operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Paid,
    Counted,
    Undone,
}

/// A settlement that has paid.
#[derive(Debug)]
pub struct UnderWay {
    cause: String,
    batches: Vec<usize>,
    /// The batch whose accounts were paid: one of these, or the settlement's own.
    target: usize,
    /// The posted entries.
    lines: Vec<Line>,
    step: Step,
}

impl UnderWay {
    /// One that has posted these lines just now.
    pub fn paid(cause: String, batches: Vec<usize>, target: usize, lines: Vec<Line>) -> Self {
        Self {
            cause,
            batches,
            target,
            lines,
            step: Step::Paid,
        }
    }
}

impl World {
    /// Does the next step of a settlement. Returns the settlement if it is not over.
    pub fn go_on(&mut self, currency: usize, mut of: UnderWay) -> Option<UnderWay> {
        match of.step {
            Step::Paid => {
                let settled = self.unsettled(currency, &of.batches, UnsettledChange::Settled);
                assert!(self.list("count", &of.cause, "count", &[], settled));
                self.count_unsettled(currency, &of.batches, -1);
                of.step = Step::Counted;
            }
            Step::Counted => {
                if !self.undo(&of) {
                    self.retire_all(&of);
                    return None;
                }
                of.step = Step::Undone;
            }
            Step::Undone => {
                let waiting = self.unsettled(currency, &of.batches, UnsettledChange::Reopened);
                assert!(self.list("reopen", &of.cause, "reopen", &[], waiting));
                self.count_unsettled(currency, &of.batches, 1);
                return None;
            }
        }
        Some(of)
    }

    /// Sometimes reverses everything, unless a participant cannot give back what it has received.
    fn undo(&mut self, of: &UnderWay) -> bool {
        let turned_round = |(kind, debit, credit, units): &Line| match kind {
            Of::HoldRelease => None,
            _ => Some((Of::Reversal, *credit, *debit, *units)),
        };
        let lines: Vec<Line> = of.lines.iter().rev().filter_map(turned_round).collect();
        self.dice.chance(40) && self.list("undo", &of.cause, "undo", &lines, Vec::new())
    }

    fn retire_all(&mut self, of: &UnderWay) {
        for batch in &of.batches {
            self.retire(*batch);
        }
        if !of.batches.contains(&of.target) {
            self.retire(of.target);
        }
    }
}
