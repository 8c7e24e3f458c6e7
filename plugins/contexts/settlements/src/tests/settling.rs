//! Batches closed and settled, given up and undone, small and large.

use super::ledger::Book;
use super::{join, operator, settings, transfer};
use crate::batches::{self, BATCHES, State};
use crate::operations::{self, Asked};
use crate::progress::step_due;
use crate::settings::Settings;
use crate::settlement::{Phase, SETTLEMENTS, Settlement};
use rialto_sdk::documents::Range;
use rialto_sdk::operators::{Kind, Problem};
use rialto_sdk::testing::Dice;

impl Book {
    pub(super) fn batches(&mut self) -> Vec<(String, State)> {
        let page = BATCHES.within(self).scan(&Range::All, None, 1000);
        page.documents
            .into_iter()
            .map(|(id, batch)| (id, batch.state))
            .collect()
    }

    fn open_batch(&mut self) -> String {
        let open = self
            .batches()
            .into_iter()
            .find(|(_, state)| *state == State::Open);
        open.unwrap().0
    }

    pub(super) fn close(&mut self, id: &str) -> Result<(), Kind> {
        let caller = operator("anna");
        let asked = Asked {
            caller: &caller,
            headers: &[],
            reason: "r",
        };
        operations::close_batch(self, id, &asked)
            .map(drop)
            .map_err(|problem| problem.kind)
    }

    pub(super) fn settle(
        &mut self,
        settings: &Settings,
        batches: &[String],
    ) -> Result<Settlement, Problem> {
        let caller = operator("anna");
        let asked = Asked {
            caller: &caller,
            headers: &[],
            reason: "r",
        };
        let settlement = operations::settle(self, settings, batches, &asked)?;
        Ok(self.finish(settings, &settlement.id))
    }

    fn finish(&mut self, settings: &Settings, id: &str) -> Settlement {
        self.run(|world, settlement, step| step_due(world, settings, settlement, step));
        SETTLEMENTS.within(self).get(id).unwrap()
    }

    pub(super) fn end(
        &mut self,
        settings: &Settings,
        id: &str,
        who: &str,
        complete: bool,
    ) -> Result<Phase, Kind> {
        let caller = operator(who);
        let asked = Asked {
            caller: &caller,
            headers: &[],
            reason: "r",
        };
        let done = if complete {
            operations::complete(self, settings, id, &asked)
        } else {
            operations::abort(self, settings, id, &asked)
        };
        done.map_err(|problem| problem.kind)?;
        Ok(self.finish(settings, id).state)
    }

    /// All sums: settled funds, and of each batch.
    pub(super) fn check(&self, funds: i128) {
        let sum = |kind: &str| -> i128 {
            let of = self.accounts.keys().filter(|id| id.contains(kind));
            of.map(|id| self.net(id)).sum()
        };
        assert_eq!(sum(":S:") + sum(":SR:"), funds);
        assert_eq!(sum(":B:"), 0);
    }

    /// Whether a settlement has accounts of its own, and they are closed.
    fn has_closed_its_own_accounts(&self, settlement: &Settlement) -> bool {
        let batch = format!(":B:{}", settlement.id);
        let own: Vec<_> = (self.accounts.iter())
            .filter(|(id, _)| id.ends_with(&batch))
            .collect();
        !own.is_empty() && own.iter().all(|(_, account)| account.closed)
    }
}

/// a, b and c with 1000 each, and transfers after which a owes 300, b is owed 200, c 100.
fn recorded(settings: &Settings) -> Book {
    let mut world = Book::default();
    for participant in ["a", "b", "c"] {
        join(&mut world, settings, participant, "USD");
        let first = format!("{participant}:USD:S:{}", settings.settlement_model);
        world.fund(&first, 1000);
    }
    transfer(&mut world, settings, "t1", "a", "b", 500);
    transfer(&mut world, settings, "t2", "b", "a", 300);
    transfer(&mut world, settings, "t3", "a", "c", 100);
    world
}

#[test]
fn a_batch_is_settled_when_another_operator_says_so() {
    let settings = settings(r#"{"settlementModel":"NET"}"#);
    let mut world = recorded(&settings);
    let batch = world.open_batch();
    assert_eq!(batch, "NET.USD.1970.01.01.00.00.000001");
    let settlement = world
        .settle(&settings, std::slice::from_ref(&batch))
        .unwrap();
    assert_eq!(settlement.state, Phase::Pending);
    assert_eq!(world.net("a:USD:SR:NET"), 300);
    assert_eq!(world.batches()[0].1, State::AwaitingSettlement);
    transfer(&mut world, &settings, "t4", "a", "b", 1);
    assert_ne!(
        world.open_batch(),
        batch,
        "a late transfer opens another one"
    );
    assert_eq!(
        world.end(&settings, &settlement.id, "anna", true),
        Err(Kind::MakerIsChecker)
    );
    assert_eq!(
        world.end(&settings, &settlement.id, "ben", true),
        Ok(Phase::Completed)
    );
    let funds = ["a", "b", "c"].map(|of| world.net(&format!("{of}:USD:S:NET")));
    assert_eq!(funds, [700, 1200, 1100]);
    assert_eq!(world.settled["a"], [600, 300]);
    assert_eq!(world.settled["b"], [300, 500]);
    assert_eq!(world.batches()[0].1, State::Settled);
    world.check(3000);
    assert_eq!(
        world.end(&settings, &settlement.id, "ben", true),
        Err(Kind::SettlementState)
    );
    assert_eq!(
        world.end(&settings, &settlement.id, "ben", false),
        Err(Kind::SettlementState)
    );
    let again = world.settle(&settings, &[batch]).unwrap_err();
    assert_eq!(again.kind, Kind::BatchState);
}

#[test]
fn short_member_prevents_settlement_and_nothing_changes() {
    let settings = settings(r#"{"settlementModel":"NET"}"#);
    let mut world = recorded(&settings);
    transfer(&mut world, &settings, "t4", "a", "b", 701);
    let (store, accounts) = (world.store.clone(), format!("{:?}", world.accounts));
    let batch = world.open_batch();
    let refused = world.settle(&settings, &[batch]).unwrap_err();
    assert_eq!(refused.kind, Kind::SettlementShort);
    let short = &refused.members["short"][0];
    assert_eq!(
        (&short["participant"], &short["needs"]["amount"]),
        (&"a".into(), &"10.01".into())
    );
    assert_eq!(world.store, store);
    assert_eq!(format!("{:?}", world.accounts), accounts);
}

#[test]
fn an_aborted_settlement_gives_back_what_it_set_aside() {
    let settings = settings(r#"{"settlementModel":"NET"}"#);
    let mut world = recorded(&settings);
    let batch = world.open_batch();
    let settlement = world
        .settle(&settings, std::slice::from_ref(&batch))
        .unwrap();
    assert_eq!(
        world.end(&settings, &settlement.id, "ben", false),
        Ok(Phase::Aborted)
    );
    assert_eq!(world.net("a:USD:S:NET"), 1000);
    assert_eq!(world.net("a:USD:SR:NET"), 0);
    assert_eq!(world.batches()[0].1, State::Closed);
    let again = world.settle(&settings, &[batch]).unwrap();
    assert_eq!(
        world.end(&settings, &again.id, "ben", true),
        Ok(Phase::Completed)
    );
    world.check(3000);
}

#[test]
fn automatic_settlement_completes_at_once_and_can_be_undone() {
    let settings = settings(
        r#"{"settlementModel":"NET","models":[{"name":"NET","kind":"deferred-net","settles":"automatic"}]}"#,
    );
    let mut world = recorded(&settings);
    let first = world.open_batch();
    world.close(&first).unwrap();
    assert_eq!(world.close(&first), Err(Kind::BatchState));
    transfer(&mut world, &settings, "t4", "c", "a", 250);
    let second = world.open_batch();
    let both = [first, second];
    let settlement = world.settle(&settings, &both).unwrap();
    assert_eq!(settlement.state, Phase::Completed);
    let funds = |world: &Book| ["a", "b", "c"].map(|of| world.net(&format!("{of}:USD:S:NET")));
    assert_eq!(funds(&world), [950, 1200, 850]);
    world.check(3000);
    // The ledger recognises funds set aside by an undoing by the steps' names.
    let named = |world: &Book, name: &str| {
        let of = world.steps.keys();
        of.filter(|(_, step)| step.starts_with(name)).count()
    };
    let before = (named(&world, "step-"), named(&world, "undo-"));
    assert!(before.0 > 0 && before.1 == 0, "{before:?}");
    assert_eq!(
        world.end(&settings, &settlement.id, "ben", false),
        Ok(Phase::Aborted)
    );
    let after = (named(&world, "step-"), named(&world, "undo-"));
    assert!(after.0 == before.0 && after.1 > 0, "{after:?}");
    assert_eq!(funds(&world), [1000, 1000, 1000]);
    assert_eq!(world.settled["a"], [0, 0]);
    world.check(3000);
    let again = world.settle(&settings, &both).unwrap();
    assert_eq!(again.state, Phase::Completed, "and settled once more");
    assert_eq!(funds(&world), [950, 1200, 850]);
    // Paid and received amounts are those of transfers, without later entries of settlements.
    assert_eq!(world.settled["a"], [600, 550]);
    assert_eq!(world.settled["c"], [250, 100]);
    // b spends its received funds.
    let own = world.accounts.get_mut("b:USD:S:NET").unwrap();
    own.debits += 1100;
    assert_eq!(
        world.end(&settings, &again.id, "ben", false),
        Ok(Phase::Completed)
    );
    let stays = SETTLEMENTS.within(&mut world).get(&again.id).unwrap();
    assert_eq!(
        (stays.short_count, stays.short[0].participant.as_str()),
        (1, "b")
    );
    assert_eq!(stays.aborted, None, "it is not aborted");
    assert_eq!(world.net("c:USD:SR:NET") + world.net("b:USD:SR:NET"), 0);
    world.check(1900);
}

#[test]
fn settlement_of_several_batches_always_closes_its_accounts() {
    let settings = settings(r#"{"settlementModel":"NET"}"#);
    let mut world = recorded(&settings);
    let first = world.open_batch();
    world.close(&first).unwrap();
    transfer(&mut world, &settings, "t4", "c", "a", 250);
    let both = [first, world.open_batch()];
    for (complete, end) in [(false, Phase::Aborted), (true, Phase::Completed)] {
        let settlement = world.settle(&settings, &both).unwrap();
        assert!(!world.has_closed_its_own_accounts(&settlement));
        let ended = world.end(&settings, &settlement.id, "ben", complete);
        assert_eq!(ended, Ok(end));
        assert!(world.has_closed_its_own_accounts(&settlement), "{end:?}");
    }
    world.check(3000);
}

#[test]
fn batches_that_cannot_be_settled_alone_can_be_together() {
    let settings = settings(r#"{"settlementModel":"NET"}"#);
    let mut world = recorded(&settings);
    let first = world.open_batch();
    world.close(&first).unwrap();
    // b spends what it got, and more than its settled funds.
    transfer(&mut world, &settings, "t4", "b", "c", 1150);
    let second = world.open_batch();
    let alone = world
        .settle(&settings, std::slice::from_ref(&second))
        .unwrap_err();
    assert_eq!(alone.kind, Kind::SettlementShort);
    let together = world.settle(&settings, &[second, first]).unwrap();
    assert_eq!(
        world.end(&settings, &together.id, "ben", true),
        Ok(Phase::Completed)
    );
    assert_eq!(world.net("b:USD:S:NET"), 50);
    assert!(world.has_closed_its_own_accounts(&together));
    world.check(3000);
    for (id, account) in &world.accounts {
        assert!(
            !id.contains(":B:") || account.debits == account.credits,
            "{id} is not at zero"
        );
    }
}

#[test]
#[should_panic(expected = "what was paid in it is not what was received")]
fn a_batch_that_does_not_add_up_is_not_settled() {
    let settings = settings(r#"{"settlementModel":"NET"}"#);
    let mut world = recorded(&settings);
    let batch = world.open_batch();
    world.fund(&format!("b:USD:B:{batch}"), 1);
    drop(world.settle(&settings, &[batch]));
}

#[test]
fn batches_end_with_their_time() {
    let settings = settings(
        r#"{"settlementModel":"NET","models":[{"name":"NET","kind":"deferred-net","batchIntervalMs":60000}]}"#,
    );
    let mut world = recorded(&settings);
    assert_eq!(world.batches().len(), 1);
    world.now = 60_002;
    transfer(&mut world, &settings, "t4", "a", "b", 1);
    let states: Vec<State> = world
        .batches()
        .into_iter()
        .map(|(_, state)| state)
        .collect();
    assert_eq!(states, [State::Closed, State::Open]);
}

#[test]
fn many_small_batches_settle_in_small_turns() {
    let settings = settings(r#"{"settlementModel":"NET"}"#);
    let mut world = Book::default();
    let members: Vec<String> = (0..82).map(|n| format!("fsp{n:02}")).collect();
    for member in &members {
        join(&mut world, &settings, member, "USD");
        world.fund(&format!("{member}:USD:S:NET"), 1000);
    }
    let mut ids = Vec::new();
    for batch in 0..100 {
        let own = &members[batch % 2 * 41..][..41];
        transfer(
            &mut world,
            &settings,
            &format!("t{batch}"),
            &own[0],
            &own[1],
            1,
        );
        let open = world.open_batch();
        for member in own {
            batches::account_of(&mut world, (&open, "NET"), member, ("USD", 2)).unwrap();
        }
        world.close(&open).unwrap();
        ids.push(open);
    }
    let caller = operator("anna");
    let asked = Asked {
        caller: &caller,
        headers: &[],
        reason: "r",
    };
    world.touched.clear();
    let settlement = operations::settle(&mut world, &settings, &ids, &asked).unwrap();
    assert_eq!(settlement.state, Phase::Calculating);
    assert!(world.touched.len() < 4000, "{}", world.touched.len());
    let turns = world.run(|world, id, step| {
        world.touched.clear();
        step_due(world, &settings, id, step);
        assert!(world.touched.len() < 4000, "{}", world.touched.len());
    });
    assert!(turns > 10, "{turns}");
    let settlement = SETTLEMENTS.within(&mut world).get(&settlement.id).unwrap();
    assert_eq!(settlement.state, Phase::Pending);
}

#[test]
fn thousand_members_settle_exactly_in_several_turns() {
    for (seed, batches) in [(1, 1), (2, 3)] {
        let settings = settings(r#"{"settlementModel":"NET"}"#);
        let mut world = Book::default();
        let mut dice = Dice::new(seed);
        let members: Vec<String> = (0..1000).map(|n| format!("fsp{n:04}")).collect();
        for member in &members {
            join(&mut world, &settings, member, "USD");
            world.fund(&format!("{member}:USD:S:NET"), 100_000);
        }
        let mut net = vec![0_i128; members.len()];
        let mut ids = Vec::new();
        for batch in 0..batches {
            for n in 0..3000 {
                let (payer, payee) = (dice.below(1000) as usize, dice.below(1000) as usize);
                if payer == payee {
                    continue;
                }
                let units = 1 + dice.below(500);
                net[payer] -= i128::from(units);
                net[payee] += i128::from(units);
                let id = format!("t{batch}-{n}");
                transfer(
                    &mut world,
                    &settings,
                    &id,
                    &members[payer],
                    &members[payee],
                    u128::from(units),
                );
            }
            let open = world.open_batch();
            world.close(&open).unwrap();
            ids.push(open);
        }
        let caller = operator("anna");
        let asked = Asked {
            caller: &caller,
            headers: &[],
            reason: "r",
        };
        let settlement = operations::settle(&mut world, &settings, &ids, &asked).unwrap();
        assert_eq!(settlement.state, Phase::Calculating);
        let mut turns = world.run(|world, id, step| {
            step_due(world, &settings, id, step);
            world.check(100_000_000);
            // The same step again does nothing.
            let before = world.store.clone();
            step_due(world, &settings, id, step);
            assert_eq!(world.store, before);
        });
        let asked = Asked {
            caller: &operator("ben"),
            headers: &[],
            reason: "r",
        };
        operations::complete(&mut world, &settings, &settlement.id, &asked).unwrap();
        turns += world.run(|world, id, step| {
            step_due(world, &settings, id, step);
            world.check(100_000_000);
        });
        assert!(turns > 10, "{turns}");
        assert!(world.steps.values().all(|entries| *entries <= 600));
        for (member, net) in members.iter().zip(net) {
            assert_eq!(
                world.net(&format!("{member}:USD:S:NET")),
                100_000 + net,
                "{member}"
            );
        }
        for (id, account) in &world.accounts {
            assert!(
                !id.contains(":B:") || account.debits == account.credits,
                "{id} is not at zero"
            );
        }
        assert!(
            world
                .batches()
                .iter()
                .all(|(_, state)| *state == State::Settled)
        );
    }
}
