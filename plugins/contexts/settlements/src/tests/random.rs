//! Random transfers, settlements and aborts: settled funds move exactly by completed settlements, and unsettled
//! obligations stay.

use super::ledger::Book;
use super::{join, requested, settings, transfer};
use crate::allocation;
use crate::batches::State;
use crate::bindings::rialto::accounts_and_balances::types::{LedgerError, SettlementTiming};
use crate::settings::Settings;
use crate::settlement::Phase;
use rialto_sdk::operators::Kind;
use rialto_sdk::testing::Dice;
use std::collections::BTreeMap;

const FSPS: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];
/// The initial settled funds of each: little, so that some settlements fail.
const FUNDS: [(&str, i128); 3] = [("NET", 2500), ("AUTO", 1000), ("GROSS", 2500)];
/// Large transfers are settled at once, small ones in batches that are completed by themselves.
const MODELS: &str = r#"{
    "settlementModel": "NET",
    "models": [
        {"name": "NET", "kind": "deferred-net"},
        {"name": "AUTO", "kind": "deferred-net", "settles": "automatic"},
        {"name": "GROSS", "kind": "immediate-gross"}
    ],
    "rules": [
        {"model": "GROSS", "currencies": ["USD"], "amountAtLeast": "9.00"},
        {"model": "AUTO", "currencies": ["USD"], "amountBelow": "3.00"}
    ]
}"#;

/// The net amount of each; negative to pay.
type Nets = [i128; FSPS.len()];

/// A settlement that may still end otherwise.
struct Settled {
    id: String,
    model: &'static str,
    batches: Vec<String>,
    nets: Nets,
}

/// What must be so, kept by itself beside what is.
struct Scene {
    world: Book,
    settings: Settings,
    dice: Dice,
    /// By model: settled funds, set aside or not.
    funds: BTreeMap<&'static str, Nets>,
    /// The obligations in batches that are not settled.
    owed: BTreeMap<String, Nets>,
    pending: Vec<Settled>,
    automatic: Vec<Settled>,
    /// Sum of all that is settled in batches.
    done: Nets,
    /// What has happened, and how often.
    seen: BTreeMap<&'static str, usize>,
}

impl Scene {
    fn new(seed: u64) -> Self {
        let mut scene = Self {
            world: Book::default(),
            settings: settings(MODELS),
            dice: Dice::new(seed),
            funds: BTreeMap::new(),
            owed: BTreeMap::new(),
            pending: Vec::new(),
            automatic: Vec::new(),
            done: Nets::default(),
            seen: BTreeMap::new(),
        };
        for (model, funds) in FUNDS {
            scene.funds.insert(model, [funds; FSPS.len()]);
        }
        for fsp in FSPS {
            join(&mut scene.world, &scene.settings, fsp, "USD");
            for (model, funds) in FUNDS {
                let account = format!("{fsp}:USD:S:{model}");
                scene.world.fund(&account, funds.unsigned_abs());
            }
        }
        scene
    }

    fn saw(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    fn pick(&mut self, of: usize) -> usize {
        usize::try_from(self.dice.below(of as u64)).unwrap()
    }

    /// Settled funds that are set aside.
    fn held(&self, model: &str) -> Nets {
        let mut held = Nets::default();
        for settlement in self.pending.iter().filter(|of| of.model == model) {
            for (held, net) in held.iter_mut().zip(settlement.nets) {
                *held += (-net).max(0);
            }
        }
        held
    }

    /// Whether all can pay these amounts.
    fn can_pay(&self, model: &str, wanted: impl Fn(usize) -> i128) -> bool {
        let held = self.held(model);
        (0..FSPS.len()).all(|n| wanted(n) <= self.funds[model][n] - held[n])
    }

    fn transfer(&mut self, number: usize) {
        let payer = self.pick(FSPS.len());
        let payee = (payer + 1 + self.pick(FSPS.len() - 1)) % FSPS.len();
        let units = 1 + i128::from(self.dice.below(1000));
        let (from, to, amount) = (FSPS[payer], FSPS[payee], units.unsigned_abs());
        let model = match units {
            900.. => "GROSS",
            ..300 => "AUTO",
            _ => "NET",
        };
        if model == "GROSS" && self.funds[model][payer] < units {
            let wanted = requested(from, to, "USD", amount);
            let after = allocation::allocate(&mut self.world, &self.settings, wanted);
            let SettlementTiming::Immediate(Some(hold)) = after.settlement else {
                panic!("nothing is held");
            };
            let refused = self.world.hold(&hold, amount);
            assert!(matches!(refused, Err(LedgerError::ExceedsSettledFunds(_))));
            return self.saw("a transfer refused");
        }
        let id = format!("t{number}");
        transfer(&mut self.world, &self.settings, &id, from, to, amount);
        let open = |(id, state): &(String, State)| *state == State::Open && id.starts_with(model);
        let nets = if model == "GROSS" {
            self.funds.get_mut(model).unwrap()
        } else {
            let batch = self.world.batches().into_iter().find(open).unwrap().0;
            self.owed.entry(batch).or_default()
        };
        nets[payer] -= units;
        nets[payee] += units;
    }

    /// A participant deposits, or withdraws settled funds that are not set aside.
    fn pay_in_or_out(&mut self) {
        let (model, _) = FUNDS[self.pick(FUNDS.len())];
        let n = self.pick(FSPS.len());
        let free = self.funds[model][n] - self.held(model)[n];
        let account = format!("{}:USD:S:{model}", FSPS[n]);
        let account = self.world.accounts.get_mut(&account).unwrap();
        let change = if self.dice.chance(50) {
            account.credits += 500;
            500
        } else {
            account.debits += free.unsigned_abs();
            -free
        };
        self.funds.get_mut(model).unwrap()[n] += change;
    }

    fn close(&mut self) {
        let mut open = self.world.batches();
        open.retain(|(_, state)| *state == State::Open);
        if !open.is_empty() {
            let (batch, _) = open.swap_remove(self.pick(open.len()));
            self.world.close(&batch).unwrap();
        }
    }

    fn settle(&mut self) {
        let model = ["NET", "AUTO"][self.pick(2)];
        let mut batches = self.world.batches();
        batches.retain(|(id, state)| {
            id.starts_with(model) && matches!(state, State::Open | State::Closed)
        });
        let wanted: Vec<String> = (batches.into_iter())
            .filter(|_| self.dice.below(3) > 0)
            .map(|(id, _)| id)
            .collect();
        if wanted.is_empty() {
            return;
        }
        let mut nets = Nets::default();
        for batch in &wanted {
            for (sum, net) in nets.iter_mut().zip(self.owed[batch]) {
                *sum += net;
            }
        }
        let can_pay = self.can_pay(model, |n| -nets[n]);
        let settlement = match self.world.settle(&self.settings, &wanted) {
            Ok(settlement) => settlement,
            Err(problem) => {
                assert_eq!((problem.kind, can_pay), (Kind::SettlementShort, false));
                return self.saw("a settlement refused");
            }
        };
        assert!(can_pay);
        let settled = Settled {
            id: settlement.id,
            model,
            batches: wanted,
            nets,
        };
        if model == "AUTO" {
            assert_eq!(settlement.state, Phase::Completed);
            self.move_funds(&settled, 1);
            self.automatic.push(settled);
        } else {
            assert_eq!(settlement.state, Phase::Pending);
            self.pending.push(settled);
        }
    }

    /// The funds of a settlement have moved, or moved back.
    fn move_funds(&mut self, settled: &Settled, sign: i128) {
        let funds = self.funds.get_mut(settled.model).unwrap();
        for (n, net) in settled.nets.into_iter().enumerate() {
            funds[n] += sign * net;
            self.done[n] += sign * net;
        }
    }

    fn end(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let chosen = self.pick(self.pending.len());
        let settled = self.pending.swap_remove(chosen);
        let completes = self.dice.below(2) == 0;
        let state = self
            .world
            .end(&self.settings, &settled.id, "ben", completes);
        if completes {
            assert_eq!(state, Ok(Phase::Completed));
            self.move_funds(&settled, 1);
            self.saw("a settlement completed");
        } else {
            assert_eq!(state, Ok(Phase::Aborted));
            self.saw("a settlement aborted");
        }
    }

    fn undo(&mut self) {
        if self.automatic.is_empty() {
            return;
        }
        let chosen = self.pick(self.automatic.len());
        let settled = &self.automatic[chosen];
        let can_pay = self.can_pay(settled.model, |n| settled.nets[n]);
        let state = self.world.end(&self.settings, &settled.id, "ben", false);
        if can_pay {
            assert_eq!(state, Ok(Phase::Aborted));
            let settled = self.automatic.swap_remove(chosen);
            self.move_funds(&settled, -1);
            self.saw("a settlement undone");
        } else {
            assert_eq!(state, Ok(Phase::Completed));
            self.saw("an undoing refused");
        }
    }

    fn net(&self, account: &str) -> i128 {
        let known = self.world.accounts.contains_key(account);
        if known { self.world.net(account) } else { 0 }
    }

    fn check(&mut self) {
        for (model, funds) in &self.funds {
            let held = self.held(model);
            for (n, fsp) in FSPS.iter().enumerate() {
                let own = |kind: &str| self.net(&format!("{fsp}:USD:{kind}:{model}"));
                assert_eq!((own("S"), own("SR")), (funds[n] - held[n], held[n]));
            }
        }
        let is_settled = |batch: &String, of: &Settled| of.batches.contains(batch);
        for (batch, state) in self.world.batches() {
            let is_pending = self.pending.iter().any(|of| is_settled(&batch, of));
            assert_eq!(state == State::AwaitingSettlement, is_pending, "{batch}");
            let is_settled = state == State::Settled;
            for (n, fsp) in FSPS.iter().enumerate() {
                let owed = if is_settled { 0 } else { self.owed[&batch][n] };
                let account = format!("{fsp}:USD:B:{batch}");
                assert_eq!(self.net(&account), owed, "{account}");
            }
        }
        for (n, fsp) in FSPS.iter().enumerate() {
            let [paid, received] = self.world.settled.get(*fsp).copied().unwrap_or_default();
            assert_eq!(received - paid, self.done[n], "{fsp}");
        }
        let all = self.funds.values().flatten().sum();
        self.world.check(all);
    }
}

#[test]
fn settled_funds_move_only_by_settlement() {
    let mut seen = BTreeMap::new();
    for seed in 1..=4 {
        let mut scene = Scene::new(seed);
        for number in 0..600 {
            match scene.dice.below(100) {
                0..70 => scene.transfer(number),
                70..78 => scene.close(),
                78..90 => scene.settle(),
                90..94 => scene.end(),
                94..97 => scene.pay_in_or_out(),
                _ => scene.undo(),
            }
            scene.check();
        }
        for (what, times) in scene.seen {
            *seen.entry(what).or_default() += times;
        }
    }
    for what in [
        "a transfer refused",
        "a settlement refused",
        "a settlement completed",
        "a settlement aborted",
        "a settlement undone",
        "an undoing refused",
    ] {
        let times: usize = seen.get(what).copied().unwrap_or_default();
        assert!(times > 3, "{what}: {times} of {seen:?}");
    }
}
