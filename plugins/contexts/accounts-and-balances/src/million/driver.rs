//! Random operations on the ledger and on the model, which must agree on each.

use super::model::{
    Account, CURRENCIES, GROSS, Kind, Model, NET, OWNERS, Refusal, State, Timing, Transfer,
};
use super::store::Memory;
use crate::bindings::exports::rialto::accounts_and_balances::{
    create_participant_accounts_with_limits as create,
    enabled_disabled_participant_account as status,
    manage_funds_credit_debit_pair_instruction as funds, move_settled_funds as between_models,
    process_transfer_fulfil as fulfil, process_transfer_prepare as prepare,
    process_transfer_release as release, record_liquidity_reservation_entries as cover,
    update_participant_account_limit as limit,
};
use crate::bindings::rialto::accounts_and_balances::types::{
    AccountWithLimit, LedgerError, SettlementHold, SettlementTiming,
};
use crate::ledger::Ledger;
use rialto_sdk::bindings::rialto::common::types::Money;
use rialto_sdk::money::money;
use rialto_sdk::testing::Dice;
use std::collections::BTreeMap;

const HUB: &str = "Hub";
const CODES: [&str; CURRENCIES] = ["USD", "RWF"];
const SCALES: [u8; CURRENCIES] = [2, 0];
/// Requests that were granted and may be repeated.
const REMEMBERED: usize = 64;

/// A granted request, done again.
type Again = Box<dyn Fn(&mut Ledger<'_, Memory>) -> Result<(), LedgerError>>;

/// The ledger and the model side by side.
pub struct World {
    pub store: Memory,
    pub model: Model,
    pub dice: Dice,
    pub transfers: Vec<Transfer>,
    /// Transfers that are fulfilled and not recorded.
    pub waiting: Vec<usize>,
    pub batches: Vec<super::settling::Batch>,
    /// Numbers of the batches of each currency that are not settled.
    pub alive: [Vec<usize>; CURRENCIES],
    /// The settlement of each currency that has paid and is not over.
    pub under_way: [Option<super::under_way::UnderWay>; CURRENCIES],
    /// How often each operation was granted and refused.
    pub tally: BTreeMap<&'static str, [u64; 2]>,
    pub count: u64,
    /// With the number of the transfer that was prepared.
    remembered: Vec<(Again, Option<usize>)>,
}

pub fn owner(owner: usize) -> String {
    format!("fsp{owner}")
}

pub fn amount(currency: usize, amount: i128) -> Money {
    let units = u128::try_from(amount).expect("amounts of requests have no sign");
    money(CODES[currency], SCALES[currency], units)
}

pub fn account_id((of, currency, kind): Account) -> String {
    let kind = match kind {
        Kind::L => "LIQUIDITY".to_owned(),
        Kind::P => "POSITION".to_owned(),
        Kind::C => "LIQUIDITY_COVER".to_owned(),
        Kind::S(NET) => "SETTLEMENT".to_owned(),
        Kind::S(_) => "SETTLEMENT:GROSS".to_owned(),
        Kind::Sr(NET) => "SETTLEMENT_RESERVED".to_owned(),
        Kind::Sr(_) => "SETTLEMENT_RESERVED:GROSS".to_owned(),
        Kind::B(0) => "SETTLEMENT_POSITION:GROSS".to_owned(),
        Kind::B(batch) => format!("SETTLEMENT_POSITION:b{batch}"),
    };
    format!("{}:{}:{kind}", owner(of), CODES[currency])
}

/// R and G.
pub fn hub_ids(currency: usize) -> [String; 2] {
    ["HUB_RECONCILIATION", "HUB_LIQUIDITY_CONTROL"]
        .map(|kind| format!("{HUB}:{}:{kind}", CODES[currency]))
}

pub fn code(currency: usize) -> (&'static str, u8) {
    (CODES[currency], SCALES[currency])
}

fn refusal(error: &LedgerError) -> Refusal {
    match error {
        LedgerError::AccountDisabled(_) => Refusal::Disabled,
        LedgerError::AccountClosed(_) => Refusal::Closed,
        LedgerError::ExceedsLimits(_) => Refusal::Liquidity,
        LedgerError::ExceedsNetDebitCap(_) => Refusal::Cap,
        LedgerError::ExceedsSettledFunds(_) => Refusal::Settled,
        LedgerError::WrongState(_) => Refusal::State,
        LedgerError::LimitBelowUse(_) => Refusal::BelowUse,
        other => panic!("the ledger finds a mistake in a right request: {other:?}"),
    }
}

impl World {
    pub fn new(seed: u64) -> Self {
        let mut world = Self {
            store: Memory::default(),
            model: Model::default(),
            dice: Dice::new(seed),
            transfers: Vec::new(),
            waiting: Vec::new(),
            batches: Vec::new(),
            alive: std::array::from_fn(|_| Vec::new()),
            under_way: std::array::from_fn(|_| None),
            tally: BTreeMap::new(),
            count: 0,
            remembered: Vec::new(),
        };
        for participant in 0..OWNERS {
            let accounts = (0..CURRENCIES).map(|currency| AccountWithLimit {
                currency: CODES[currency].to_owned(),
                scale: SCALES[currency],
                net_debit_cap: None,
                liquidity_threshold: None,
            });
            let request = create::Request {
                participant: owner(participant),
                accounts: accounts.collect(),
            };
            Ledger::new(&mut world.store, 0)
                .create_accounts(&request)
                .expect("accounts open");
        }
        world.open_standing_accounts();
        world
    }

    /// Runs an operation on the ledger, and compares the result with the model's. Returns whether it was
    /// granted.
    pub fn compare(
        &mut self,
        what: &'static str,
        expected: Result<(), Refusal>,
        act: impl Fn(&mut Ledger<'_, Memory>) -> Result<(), LedgerError> + 'static,
    ) -> bool {
        let before = self.store.writes;
        let outcome =
            act(&mut Ledger::new(&mut self.store, self.count)).map_err(|error| refusal(&error));
        assert_eq!(outcome, expected, "{what}, operation {}", self.count);
        if outcome.is_err() {
            assert_eq!(
                self.store.writes, before,
                "a refusal writes nothing: {what}"
            );
        }
        self.tally.entry(what).or_default()[usize::from(outcome.is_err())] += 1;
        let is_repeatable = !matches!(
            what,
            "prepare" | "cover" | "limit" | "status" | "fulfil" | "release" | "close"
        );
        if outcome.is_ok() && is_repeatable {
            self.remember(Box::new(act), None);
        }
        outcome.is_ok()
    }

    fn remember(&mut self, granted: Again, prepared: Option<usize>) {
        let granted = (granted, prepared);
        if self.remembered.len() < REMEMBERED {
            self.remembered.push(granted);
        } else {
            let forgotten = self.dice.below(REMEMBERED as u64) as usize;
            self.remembered[forgotten] = granted;
        }
    }

    /// The number of operations so far.
    pub fn operations(&self) -> u64 {
        self.tally.values().flatten().sum()
    }

    /// Runs one random operation, or none if nothing fits. Returns its currency.
    pub fn step(&mut self) -> usize {
        self.count += 1;
        let currency = self.dice.below(CURRENCIES as u64) as usize;
        let participant = self.dice.below(OWNERS as u64) as usize;
        match self.dice.below(100) {
            0..=29 => self.prepare(participant, currency),
            30..=54 => return self.end().unwrap_or(currency),
            55..=69 => self.record(currency),
            70..=77 => self.funds(participant, currency),
            78..=79 => self.move_funds(participant, currency),
            80..=84 => self.cover(participant, currency),
            85..=87 => self.limit(participant, currency),
            88..=89 => self.status(participant, currency),
            90..=93 => self.repeat(),
            _ => self.settlement(currency),
        }
        currency
    }

    fn prepare(&mut self, payer: usize, currency: usize) {
        let payee = (payer + 1 + self.dice.below(OWNERS as u64 - 1) as usize) % OWNERS;
        let timing = match self.dice.below(10) {
            0..=6 => Timing::InBatch,
            7 => Timing::AtOnce,
            _ => Timing::AtOnceHeld,
        };
        let transfer = Transfer {
            payer,
            payee,
            currency,
            amount: i128::from(self.dice.below(400)),
            timing,
            state: State::Open,
        };
        let request = prepare::Request {
            transfer_id: format!("t{}", self.transfers.len()),
            payer_fsp: owner(payer),
            debit_account: account_id((payer, currency, Kind::L)),
            credit_account: account_id((payer, currency, Kind::P)),
            amount: amount(currency, transfer.amount),
            settlement: match timing {
                Timing::InBatch => SettlementTiming::Deferred,
                Timing::AtOnce => SettlementTiming::Immediate(None),
                Timing::AtOnceHeld => SettlementTiming::Immediate(Some(SettlementHold {
                    settlement: account_id((payer, currency, Kind::S(GROSS))),
                    reserved: account_id((payer, currency, Kind::Sr(GROSS))),
                })),
            },
        };
        let expected = self.model.prepare(&transfer);
        let act = move |ledger: &mut Ledger<'_, Memory>| ledger.prepare(request.clone()).map(drop);
        if self.compare("prepare", expected, act.clone()) {
            self.remember(Box::new(act), Some(self.transfers.len()));
            self.transfers.push(transfer);
        }
    }

    /// Fulfils or releases one of the latest transfers, in any state. Returns its currency; none if there is no
    /// transfer.
    fn end(&mut self) -> Option<usize> {
        let latest = self.transfers.len().min(40);
        let back = 1 + self.dice.below(latest as u64) as usize;
        let number = self.transfers.len().checked_sub(back)?;
        let mut transfer = self.transfers[number];
        let was_open = transfer.state == State::Open;
        let transfer_id = format!("t{number}");
        if self.dice.chance(70) {
            let expected = self.model.fulfil(&mut transfer);
            let credit_account = account_id((transfer.payee, transfer.currency, Kind::L));
            let request = fulfil::Request {
                transfer_id,
                credit_account,
            };
            self.compare("fulfil", expected, move |ledger| {
                ledger.fulfil(&request).map(drop)
            });
            if was_open {
                self.waiting.push(number);
            }
        } else {
            let expected = self.model.release(&mut transfer);
            let request = release::Request { transfer_id };
            self.compare("release", expected, move |ledger| {
                ledger.release(&request).map(drop)
            });
        }
        self.transfers[number] = transfer;
        Some(transfer.currency)
    }

    fn funds(&mut self, participant: usize, currency: usize) {
        let model = self.dice.below(2) as usize;
        let units = i128::from(self.dice.below(900));
        let is_deposit = self.dice.chance(55);
        let expected = self.model.funds(
            participant,
            currency,
            model,
            if is_deposit { units } else { -units },
        );
        let request = funds::Request {
            instruction_id: format!("f{}", self.count),
            participant: owner(participant),
            direction: if is_deposit {
                funds::Direction::Deposit
            } else {
                funds::Direction::Withdrawal
            },
            amount: amount(currency, units),
            settlement_model: Some(["NET", "GROSS"][model].to_owned()),
        };
        let what = if is_deposit { "deposit" } else { "withdrawal" };
        self.compare(what, expected, move |ledger| {
            ledger.manage_funds(&request, HUB).map(drop)
        });
    }

    fn move_funds(&mut self, participant: usize, currency: usize) {
        let model = self.dice.below(2) as usize;
        let units = i128::from(self.dice.below(500));
        let expected = self.model.move_funds(participant, currency, model, units);
        let request = between_models::Request {
            instruction_id: format!("m{}", self.count),
            participant: owner(participant),
            source_model: ["NET", "GROSS"][model].to_owned(),
            target_model: ["GROSS", "NET"][model].to_owned(),
            amount: amount(currency, units),
        };
        self.compare("move", expected, move |ledger| {
            ledger.move_settled_funds(&request).map(drop)
        });
    }

    fn cover(&mut self, participant: usize, currency: usize) {
        let total = i128::from(self.dice.below(500));
        let expected = self.model.cover(participant, currency, total);
        let request = cover::Request {
            instruction_id: format!("c{}", self.count),
            participant: owner(participant),
            total: amount(currency, total),
        };
        let entries = self.store.entries.len();
        let granted = self.compare("cover", expected, {
            let request = request.clone();
            move |ledger| ledger.reserve_cover(&request).map(drop)
        });
        // A request for the current total posts nothing: repeated later, it would be a new request.
        if granted && self.store.entries.len() > entries {
            let again =
                move |ledger: &mut Ledger<'_, Memory>| ledger.reserve_cover(&request).map(drop);
            self.remember(Box::new(again), None);
        }
    }

    fn limit(&mut self, participant: usize, currency: usize) {
        let cap = self
            .dice
            .chance(80)
            .then(|| i128::from(self.dice.below(1500)));
        let expected = self.model.limit(participant, currency, cap);
        let request = limit::Request {
            participant: owner(participant),
            currency: CODES[currency].to_owned(),
            net_debit_cap: cap.map(|cap| amount(currency, cap)),
        };
        self.compare("limit", expected, move |ledger| {
            ledger.set_limit(&request).map(drop)
        });
    }

    fn status(&mut self, participant: usize, currency: usize) {
        let disable = self.dice.chance(30);
        if disable {
            self.model.disabled.insert((participant, currency));
        } else {
            self.model.disabled.remove(&(participant, currency));
        }
        let request = status::Request {
            participant: owner(participant),
            currency: CODES[currency].to_owned(),
            status: if disable {
                status::Status::Disabled
            } else {
                status::Status::Enabled
            },
        };
        self.compare("status", Ok(()), move |ledger| {
            ledger.set_status(&request).map(drop)
        });
    }

    /// Repeats a granted request: it is granted, unless its reservation was released, and writes nothing.
    fn repeat(&mut self) {
        if self.remembered.is_empty() {
            return;
        }
        let number = self.dice.below(self.remembered.len() as u64) as usize;
        let before = self.store.writes;
        let (again, prepared) = &self.remembered[number];
        let is_released = prepared.is_some_and(|n| self.transfers[n].state == State::Released);
        let outcome = again(&mut Ledger::new(&mut self.store, self.count));
        let expected = if is_released {
            Err(Refusal::State)
        } else {
            Ok(())
        };
        assert_eq!(
            outcome.map_err(|error| refusal(&error)),
            expected,
            "a repeat, operation {}",
            self.count
        );
        assert_eq!(
            self.store.writes, before,
            "a repeat writes nothing, operation {}",
            self.count
        );
        self.tally.entry("repeat").or_default()[0] += 1;
    }
}
