//! Operators' operations on a participant's accounts: cover, limits, thresholds, status, and views.

use super::{Book, HUB, funded};
use crate::accounts::{AccountType, account_id};
use crate::bindings::exports::rialto::accounts_and_balances::{
    create_participant_account_with_limits as create_account,
    create_participant_accounts_with_limits as create_accounts,
    enabled_disabled_participant_account as status, get_current_liquidity_position as liquidity,
    manage_funds_credit_debit_pair_instruction as manage_funds,
    record_liquidity_reservation_entries as cover, request_accounts_positions as positions,
    update_participant_account_limit as limit, update_participant_account_threshold as threshold,
};
use crate::bindings::rialto::accounts_and_balances::types::{
    AccountState, AccountWithLimit, LedgerAccountType, LedgerError,
};
use manage_funds::Direction;
use rialto_sdk::money::{minor_units, money};

impl Book {
    fn cover(&mut self, id: &str, participant: &str, total: u128) -> Result<u128, LedgerError> {
        let request = cover::Request {
            instruction_id: id.to_owned(),
            participant: participant.to_owned(),
            total: money("USD", 2, total),
        };
        let response = self.ledger().reserve_cover(&request)?;
        Ok(minor_units(&response.liquidity_cover.available))
    }

    fn limit(&mut self, participant: &str, cap: Option<u128>) -> Result<(), LedgerError> {
        let request = limit::Request {
            participant: participant.to_owned(),
            currency: "USD".to_owned(),
            net_debit_cap: cap.map(|cap| money("USD", 2, cap)),
        };
        self.ledger().set_limit(&request).map(drop)
    }

    fn status(&mut self, participant: &str, status: status::Status) -> Result<(), LedgerError> {
        let request = status::Request {
            participant: participant.to_owned(),
            currency: "USD".to_owned(),
            status,
        };
        let accounts = self.ledger().set_status(&request)?;
        assert_eq!(accounts.len(), 4);
        Ok(())
    }
}

#[test]
fn cover_is_set_to_a_total_up_or_down() {
    let mut book = funded();
    assert_eq!(book.cover("r1", "A", 200), Ok(200));
    assert_eq!(book.usd("A"), [800, 0, 1000]);
    assert_eq!(book.balance("A", "USD", AccountType::LiquidityCover), 200);
    let refused = book.prepare("t1", "A", "USD", 801);
    assert!(
        matches!(refused, Err(LedgerError::ExceedsLimits(_))),
        "cover is no liquidity"
    );
    assert_eq!(book.cover("r2", "A", 50), Ok(50));
    assert_eq!(book.usd("A"), [950, 0, 1000]);
    let before = book.store.clone();
    assert_eq!(book.cover("r2", "A", 70), Ok(50), "a repeat posts nothing");
    assert_eq!(book.cover("r3", "A", 50), Ok(50), "as it is already");
    let refused = book.cover("r4", "A", 1001);
    assert!(
        matches!(&refused, Err(LedgerError::ExceedsLimits(position)) if minor_units(&position.available) == 950),
        "{refused:?}"
    );
    let refused = book.cover("r2", "B", 50);
    assert!(matches!(refused, Err(LedgerError::PostedOtherwise(_))));
    let refused = book.cover("with space", "A", 60);
    assert!(matches!(refused, Err(LedgerError::Malformed(_))));
    assert_eq!(book.store, before);
    assert_eq!(book.cover("r5", "A", 0), Ok(0));
    assert_eq!(book.usd("A"), [1000, 0, 1000]);
    assert_eq!(book.hub(), [1500, 1500]);
}

#[test]
fn a_limit_is_never_below_what_is_in_use() {
    let mut book = funded();
    book.prepare("t1", "A", "USD", 300).unwrap();
    book.fulfil("t1", "B", "USD").unwrap();
    book.prepare("t2", "A", "USD", 100).unwrap();
    book.prepare("t3", "B", "USD", 50).unwrap();
    book.fulfil("t3", "A", "USD").unwrap();
    let before = book.store.clone();
    let refused = book.limit("A", Some(349));
    assert_eq!(
        refused,
        Err(LedgerError::LimitBelowUse(money("USD", 2, 350)))
    );
    assert_eq!(book.store, before);
    book.limit("A", Some(350)).unwrap();
    let refused = book.prepare("t4", "A", "USD", 1);
    assert!(matches!(refused, Err(LedgerError::ExceedsNetDebitCap(_))));
    book.limit("A", None).unwrap();
    book.prepare("t4", "A", "USD", 1).unwrap();
    book.limit("B", Some(0)).unwrap();
    let mismatch = limit::Request {
        participant: "A".to_owned(),
        currency: "USD".to_owned(),
        net_debit_cap: Some(money("USD", 3, 1_000_000)),
    };
    let refused = book.ledger().set_limit(&mismatch);
    assert_eq!(refused, Err(LedgerError::CurrencyMismatch));
}

#[test]
fn thresholds_are_set_for_all_accounts_or_none() {
    let mut book = funded();
    book.open("A", "EUR", None);
    let of = |currency: &str, units: Option<u128>, own: &str| threshold::AccountThreshold {
        currency: currency.to_owned(),
        threshold: units.map(|units| money(own, 2, units)),
    };
    let mut set = |accounts| {
        book.ledger().set_thresholds(&threshold::Request {
            participant: "A".to_owned(),
            accounts,
        })
    };
    let positions = set(vec![of("USD", Some(100), "USD"), of("EUR", Some(5), "EUR")]).unwrap();
    let thresholds: Vec<_> = positions
        .iter()
        .map(|position| {
            (
                &*position.account_id,
                position.threshold.as_ref().map(minor_units),
            )
        })
        .collect();
    assert_eq!(
        thresholds,
        [("A:USD:LIQUIDITY", Some(100)), ("A:EUR:LIQUIDITY", Some(5))]
    );
    let refused = set(vec![of("USD", None, "USD"), of("EUR", Some(5), "USD")]);
    assert_eq!(refused, Err(LedgerError::CurrencyMismatch));
    let refused = set(vec![of("USD", None, "USD"), of("TZS", None, "TZS")]);
    let unknown = "A:TZS:LIQUIDITY".to_owned();
    assert_eq!(refused, Err(LedgerError::UnknownAccount(unknown)));
    let positions = set(vec![of("USD", Some(100), "USD")]).unwrap();
    assert!(
        positions[0].threshold.is_some(),
        "a refusal changed nothing"
    );
}

#[test]
fn a_disabled_account_takes_nothing_new_until_it_is_enabled() {
    let mut book = funded();
    book.prepare("t1", "A", "USD", 100).unwrap();
    book.status("A", status::Status::Disabled).unwrap();
    book.status("A", status::Status::Disabled).unwrap();
    let disabled = Err(LedgerError::AccountDisabled("A:USD:LIQUIDITY".to_owned()));
    assert_eq!(book.prepare("t2", "A", "USD", 1).map(drop), disabled);
    assert_eq!(book.cover("r1", "A", 1).map(drop), disabled);
    let refused = book.funds("w", "A", "USD", Direction::Withdrawal, 1);
    assert_eq!(refused.map(drop), disabled);
    book.fulfil("t1", "B", "USD").unwrap();
    book.status("A", status::Status::Enabled).unwrap();
    book.prepare("t2", "A", "USD", 1).unwrap();
    let refused = book.status("C", status::Status::Enabled);
    assert!(matches!(refused, Err(LedgerError::UnknownAccount(_))));
}

#[test]
fn what_operators_are_shown_is_what_is_posted() {
    let mut book = funded();
    book.open("A", "EUR", Some(7));
    book.cover("r1", "A", 200).unwrap();
    book.prepare("t1", "A", "USD", 300).unwrap();
    book.prepare("t2", "B", "USD", 10).unwrap();
    book.fulfil("t2", "A", "USD").unwrap();
    let position = book
        .ledger()
        .liquidity_position(&liquidity::Request {
            participant: "A".to_owned(),
            currency: "USD".to_owned(),
        })
        .unwrap();
    let units = [
        &position.liquidity.available,
        &position.reserved,
        &position.cover,
        &position.settled[0].available,
        &position.net_debit,
        &position.net_credit,
    ]
    .map(minor_units);
    assert_eq!(units, [510, 300, 200, 700, 290, 0]);
    assert_eq!(position.net_debit_cap, None);
    let mut positions = |currency: Option<&str>| {
        book.ledger().positions(&positions::Request {
            participant: "A".to_owned(),
            currency: currency.map(str::to_owned),
        })
    };
    let all = positions(None).unwrap();
    let ids: Vec<&str> = all.iter().map(|a| &*a.position.account_id).collect();
    assert_eq!(
        ids,
        [
            "A:EUR:LIQUIDITY",
            "A:EUR:LIQUIDITY_COVER",
            "A:EUR:POSITION",
            "A:EUR:SETTLEMENT",
            "A:USD:LIQUIDITY",
            "A:USD:LIQUIDITY_COVER",
            "A:USD:POSITION",
            "A:USD:SETTLEMENT",
        ]
    );
    assert_eq!(all[0].net_debit_cap, Some(money("EUR", 2, 7)));
    assert_eq!(all[4].account_type, LedgerAccountType::Liquidity);
    assert_eq!(all[4].state, AccountState::Enabled);
    assert_eq!(minor_units(&all[4].unsettled), 10);
    assert_eq!(positions(Some("USD")).unwrap().len(), 4);
    assert!(positions(Some("TZS")).is_err());
    let reserved = book.ledger().reservation_accounts("A").unwrap();
    let usd = &reserved[1];
    assert_eq!((&*reserved[0].currency, &*usd.currency), ("EUR", "USD"));
    assert_eq!(minor_units(&usd.liquidity_cover.available), 200);
    assert_eq!(minor_units(&usd.position.available), 300);
    assert!(book.ledger().reservation_accounts("nobody").is_err());
}

#[test]
fn accounts_need_valid_names_and_currencies() {
    let mut book = Book::default();
    let account = |currency: &str| AccountWithLimit {
        currency: currency.to_owned(),
        scale: 2,
        net_debit_cap: None,
        liquidity_threshold: None,
    };
    let opened = book
        .ledger()
        .create_account(create_account::Request {
            participant: "A".to_owned(),
            account: account("USD"),
        })
        .unwrap();
    assert_eq!(
        opened.liquidity,
        account_id("A", "USD", AccountType::Liquidity)
    );
    assert_eq!(book.store.accounts.len(), 4);
    for (participant, currency) in [("A:USD", "EUR"), ("", "EUR"), ("A", "eur"), ("A", "EU:R")] {
        let request = create_accounts::Request {
            participant: participant.to_owned(),
            accounts: vec![account("USD"), account(currency)],
        };
        let refused = book.ledger().create_accounts(&request);
        assert!(matches!(refused, Err(LedgerError::Malformed(_))));
    }
    assert_eq!(book.store.accounts.len(), 4, "all or none");
    assert_eq!(book.balance(HUB, "USD", AccountType::HubReconciliation), 0);
}
