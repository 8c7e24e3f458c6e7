//! Bringing the participants of the manifest in, when a release becomes current.
//!
//! Pure over its surroundings. A release runs it once, but every step is harmless when it is run
//! again: accounts that exist stay as they are, and the deposit of an opening liquidity carries an
//! instruction id that is the same each time. What the manifest says wrongly traps: a release that
//! cannot be brought in does not become current.

use crate::bindings::rialto::accounts_and_balances::create_participant_accounts_with_limits as create_accounts;
use crate::bindings::rialto::accounts_and_balances::manage_funds_credit_debit_pair_instruction as manage_funds;
use crate::bindings::rialto::accounts_and_balances::types::{LedgerError, ParticipantAccountIds};
use crate::bindings::rialto::participant_lifecycle_management::participant_created;
use crate::participants::{Account, Participant, State};
use rialto_sdk::bindings::rialto::common::types::Money;
use rialto_sdk::money::{minor_units, parse_configured_amount};
use rialto_sdk::scheme::{self, Scheme};

/// What bringing participants in reads, writes, asks and publishes.
pub trait Surroundings {
    /// A participant's document, which may be written after.
    fn participant(&mut self, id: &str) -> Option<Participant>;
    /// Write a participant's document.
    fn put_participant(&mut self, participant: &Participant);
    /// Have the ledger open accounts.
    ///
    /// # Errors
    /// When the ledger refuses.
    fn create_accounts(
        &mut self,
        request: &create_accounts::Request,
    ) -> Result<Vec<ParticipantAccountIds>, LedgerError>;
    /// Have the ledger post a deposit.
    ///
    /// # Errors
    /// When the ledger refuses.
    fn manage_funds(&mut self, request: &manage_funds::Request) -> Result<(), LedgerError>;
    /// Tell the other contexts.
    fn publish_created(&mut self, event: &participant_created::Event);
}

/// Bring every participant of the scheme in. Answers what has changed, a sentence each.
///
/// # Panics
/// When the manifest's amounts or currencies cannot be used, or the ledger refuses.
pub fn bring_in(world: &mut impl Surroundings, scheme: &Scheme, now: u64) -> Vec<String> {
    let mut changes = Vec::new();
    for configured in &scheme.participants {
        let stored = world.participant(&configured.id);
        let is_new = stored.is_none();
        let mut participant = stored.unwrap_or_else(|| Participant {
            participant: configured.id.clone(),
            name: String::new(),
            state: State::Approved,
            callback_base_url: String::new(),
            accounts: Vec::new(),
            created_at: now,
            updated_at: now,
        });
        let opened = open_missing_accounts(world, &mut participant, configured, scheme);
        let base_url = configured.callback_base_url.trim_end_matches('/');
        let details_changed =
            participant.name != configured.name || participant.callback_base_url != base_url;
        if !is_new && opened.is_empty() && !details_changed {
            continue;
        }
        configured.name.clone_into(&mut participant.name);
        base_url.clone_into(&mut participant.callback_base_url);
        participant.updated_at = now;
        world.put_participant(&participant);
        // Contexts that keep the accounts learn of new ones by the same event: it lists them all.
        if is_new || !opened.is_empty() {
            world.publish_created(&participant_created::Event {
                participant: participant.participant.clone(),
                accounts: participant.account_ids(),
                created_at: participant.created_at,
            });
        }
        changes.push(in_words(
            &participant.participant,
            is_new,
            &opened,
            details_changed,
        ));
    }
    changes
}

fn in_words(id: &str, is_new: bool, opened: &[String], details_changed: bool) -> String {
    let currencies = opened.join(", ");
    match (is_new, opened.is_empty(), details_changed) {
        (true, true, _) => format!("participant {id} created, without accounts"),
        (true, false, _) => format!("participant {id} created, accounts in {currencies}"),
        (false, true, _) => format!("participant {id}: name or endpoint updated"),
        (false, false, false) => format!("participant {id}: accounts opened in {currencies}"),
        (false, false, true) => {
            format!("participant {id}: name or endpoint updated, accounts opened in {currencies}")
        }
    }
}

/// Open the accounts that the manifest has and the participant has not, and deposit their opening
/// liquidity. Answers their currencies.
fn open_missing_accounts(
    world: &mut impl Surroundings,
    participant: &mut Participant,
    configured: &scheme::Participant,
    scheme: &Scheme,
) -> Vec<String> {
    let id = &configured.id;
    let has = |currency: &str| participant.accounts.iter().any(|a| a.currency == currency);
    let missing: Vec<Opening> = configured
        .accounts
        .iter()
        .filter(|account| !has(&account.currency))
        .map(|account| Opening::of(id, account, scheme))
        .collect();
    if missing.is_empty() {
        return Vec::new();
    }
    let request = create_accounts::Request {
        participant: id.clone(),
        accounts: missing.iter().map(Opening::account_with_limit).collect(),
    };
    let ids = world
        .create_accounts(&request)
        .unwrap_or_else(|error| panic!("the ledger opens no accounts for {id:?}: {error:?}"));
    assert_eq!(ids.len(), missing.len(), "the ledger answers each account");
    let mut opened = Vec::new();
    for (opening, ids) in missing.into_iter().zip(ids) {
        if minor_units(&opening.liquidity) > 0 {
            deposit(world, id, &opening.liquidity);
        }
        opened.push(ids.currency.clone());
        participant.accounts.push(Account {
            currency: ids.currency,
            scale: opening.liquidity.scale,
            enabled: true,
            net_debit_cap: opening.net_debit_cap,
            liquidity_threshold: opening.liquidity_threshold,
            liquidity_account: ids.liquidity,
            position_account: ids.position,
            liquidity_cover_account: ids.liquidity_cover,
            settlement_account: ids.settlement,
        });
    }
    opened
}

fn deposit(world: &mut impl Surroundings, participant: &str, amount: &Money) {
    let request = manage_funds::Request {
        instruction_id: format!("opening-liquidity:{participant}:{}", amount.currency),
        participant: participant.to_owned(),
        direction: manage_funds::Direction::Deposit,
        amount: amount.clone(),
    };
    if let Err(error) = world.manage_funds(&request) {
        panic!("the ledger takes no opening liquidity for {participant:?}: {error:?}");
    }
}

/// An account of the manifest with its amounts read.
struct Opening {
    liquidity: Money,
    net_debit_cap: Option<Money>,
    liquidity_threshold: Option<Money>,
}

impl Opening {
    fn of(participant: &str, account: &scheme::Account, scheme: &Scheme) -> Self {
        let currency = &account.currency;
        let scale = scheme.scale_of(currency).unwrap_or_else(|| {
            panic!("participant {participant:?} has an account in {currency}, which the scheme does not use")
        });
        let read = |what: &str, text: &str| {
            parse_configured_amount(text, currency, scale).unwrap_or_else(|error| {
                panic!("the {what} {text:?} {currency} of participant {participant:?}: {error}")
            })
        };
        let cap = account.net_debit_cap.as_deref();
        let threshold = account.liquidity_threshold.as_deref();
        Self {
            liquidity: read("opening liquidity", &account.opening_liquidity),
            net_debit_cap: cap.map(|cap| read("net debit cap", cap)),
            liquidity_threshold: threshold.map(|text| read("liquidity threshold", text)),
        }
    }

    fn account_with_limit(&self) -> create_accounts::AccountWithLimit {
        create_accounts::AccountWithLimit {
            currency: self.liquidity.currency.clone(),
            scale: self.liquidity.scale,
            net_debit_cap: self.net_debit_cap.clone(),
            liquidity_threshold: self.liquidity_threshold.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[derive(Default)]
    struct Fake {
        participants: BTreeMap<String, Participant>,
        opened: Vec<create_accounts::Request>,
        deposits: Vec<(String, String, u128)>,
        published: Vec<participant_created::Event>,
    }

    impl Surroundings for Fake {
        fn participant(&mut self, id: &str) -> Option<Participant> {
            self.participants.get(id).cloned()
        }

        fn put_participant(&mut self, participant: &Participant) {
            self.participants
                .insert(participant.participant.clone(), participant.clone());
        }

        fn create_accounts(
            &mut self,
            request: &create_accounts::Request,
        ) -> Result<Vec<ParticipantAccountIds>, LedgerError> {
            self.opened.push(request.clone());
            let ids = |account: &create_accounts::AccountWithLimit| ParticipantAccountIds {
                participant: request.participant.clone(),
                currency: account.currency.clone(),
                liquidity: format!("{}-{}-L", request.participant, account.currency),
                position: "P".to_owned(),
                liquidity_cover: "C".to_owned(),
                settlement: "S".to_owned(),
            };
            Ok(request.accounts.iter().map(ids).collect())
        }

        fn manage_funds(&mut self, request: &manage_funds::Request) -> Result<(), LedgerError> {
            self.deposits.push((
                request.instruction_id.clone(),
                request.amount.currency.clone(),
                minor_units(&request.amount),
            ));
            Ok(())
        }

        fn publish_created(&mut self, event: &participant_created::Event) {
            self.published.push(event.clone());
        }
    }

    fn scheme(accounts: &str, url: &str) -> Scheme {
        serde_json::from_str(&format!(
            r#"{{"name":"demo","hub":"Hub",
                "currencies":[{{"code":"USD","scale":2}},{{"code":"TZS","scale":0}}],
                "participants":[{{"id":"payerfsp","name":"Payer","callbackBaseUrl":"{url}","accounts":[{accounts}]}}]}}"#
        ))
        .unwrap()
    }

    const USD: &str = r#"{"currency":"USD","openingLiquidity":"1000.00","netDebitCap":"500"}"#;
    const TZS: &str = r#"{"currency":"TZS","openingLiquidity":"0","netDebitCap":null}"#;

    #[test]
    fn a_new_participant_gets_accounts_liquidity_and_an_event() {
        let mut world = Fake::default();
        let changes = bring_in(&mut world, &scheme(USD, "http://127.0.0.1:4101/"), 7);
        assert_eq!(changes, ["participant payerfsp created, accounts in USD"]);
        assert_eq!(
            world.deposits,
            [(
                "opening-liquidity:payerfsp:USD".to_owned(),
                "USD".to_owned(),
                100_000
            )]
        );
        let account = &world.opened[0].accounts[0];
        assert_eq!((&*account.currency, account.scale), ("USD", 2));
        assert_eq!(
            account.net_debit_cap.as_ref().map(minor_units),
            Some(50_000)
        );
        assert_eq!(world.published.len(), 1);
        assert_eq!(world.published[0].accounts[0].liquidity, "payerfsp-USD-L");
        let participant = &world.participants["payerfsp"];
        assert_eq!(
            serde_json::to_string(participant).unwrap(),
            concat!(
                r#"{"participant":"payerfsp","name":"Payer","state":"APPROVED","callbackBaseUrl":"http://127.0.0.1:4101","#,
                r#""accounts":[{"currency":"USD","scale":2,"enabled":true,"netDebitCap":{"currency":"USD","scale":2,"minorUnits":"50000"},"#,
                r#""liquidityAccount":"payerfsp-USD-L","positionAccount":"P","liquidityCoverAccount":"C","settlementAccount":"S"}],"#,
                r#""createdAt":7,"updatedAt":7}"#
            )
        );
        let data = participant.clone().into_transfers_data();
        assert!(data.may_transact);
        assert_eq!(data.currencies, ["USD"]);
    }

    #[test]
    fn a_participant_that_is_stored_and_unchanged_is_left_alone() {
        let mut world = Fake::default();
        bring_in(&mut world, &scheme(USD, "http://127.0.0.1:4101"), 7);
        let before = world.participants.clone();
        let changes = bring_in(&mut world, &scheme(USD, "http://127.0.0.1:4101/"), 8);
        assert!(changes.is_empty());
        assert_eq!(world.participants, before);
        assert_eq!((world.opened.len(), world.published.len()), (1, 1));
    }

    #[test]
    fn a_changed_endpoint_is_taken_over_and_no_liquidity_is_deposited_again() {
        let mut world = Fake::default();
        bring_in(&mut world, &scheme(USD, "http://127.0.0.1:4101"), 7);
        let raised = USD.replace("1000.00", "2000");
        let changes = bring_in(&mut world, &scheme(&raised, "http://127.0.0.1:4102"), 8);
        assert_eq!(changes, ["participant payerfsp: name or endpoint updated"]);
        assert_eq!(world.deposits.len(), 1);
        assert_eq!(world.published.len(), 1);
        let participant = world.participants["payerfsp"].clone();
        assert_eq!((participant.created_at, participant.updated_at), (7, 8));
        let info = participant.into_callback_info().unwrap();
        assert_eq!(info.base_url, "http://127.0.0.1:4102");
    }

    #[test]
    fn a_new_currency_gets_accounts_and_the_event_lists_all() {
        let mut world = Fake::default();
        bring_in(&mut world, &scheme(USD, "http://h"), 7);
        let changes = bring_in(&mut world, &scheme(&format!("{TZS},{USD}"), "http://h"), 8);
        assert_eq!(changes, ["participant payerfsp: accounts opened in TZS"]);
        assert_eq!(
            world.deposits.len(),
            1,
            "an opening liquidity of 0 is no deposit"
        );
        let currencies: Vec<&str> = world.published[1]
            .accounts
            .iter()
            .map(|account| &*account.currency)
            .collect();
        assert_eq!(currencies, ["USD", "TZS"]);
        assert_eq!(world.opened[1].accounts[0].net_debit_cap, None);
    }

    #[test]
    fn a_participant_that_is_disabled_stays_disabled_and_may_not_transact() {
        let mut world = Fake::default();
        bring_in(&mut world, &scheme(USD, "http://h"), 7);
        if let Some(participant) = world.participants.get_mut("payerfsp") {
            participant.state = State::Disabled;
            participant.accounts[0].enabled = false;
        }
        bring_in(&mut world, &scheme(USD, "http://other"), 8);
        let data = world.participants["payerfsp"].clone().into_quote_data();
        assert!(!data.may_transact);
        assert!(data.currencies.is_empty());
    }

    #[test]
    #[should_panic(
        expected = "the opening liquidity \"1.234\" USD of participant \"payerfsp\": more than 2 decimal places"
    )]
    fn an_amount_that_cannot_be_used_stops_the_release() {
        let account = USD.replace("1000.00", "1.234");
        bring_in(&mut Fake::default(), &scheme(&account, "http://h"), 7);
    }

    #[test]
    #[should_panic(expected = "has an account in EUR, which the scheme does not use")]
    fn an_unknown_currency_stops_the_release() {
        let account = USD.replace("USD", "EUR");
        bring_in(&mut Fake::default(), &scheme(&account, "http://h"), 7);
    }
}
