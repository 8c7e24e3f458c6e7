//! Adding the participants of the manifest when a release becomes current.
//!
//! It is pure over its surroundings. A release runs it once, but each step may run again without effect:
//! existing accounts do not change, and the deposit of an opening liquidity always has the same instruction id.
//! A wrong manifest traps, and then the release does not become current.

pub mod facts;

use crate::bindings::rialto::accounts_and_balances::create_participant_accounts_with_limits as create_accounts;
use crate::bindings::rialto::accounts_and_balances::manage_funds_credit_debit_pair_instruction as manage_funds;
use crate::bindings::rialto::accounts_and_balances::types::AccountWithLimit;
use crate::bindings::rialto::participant_lifecycle_management::{
    participant_account_added, participant_created, participant_endpoints_updated,
};
use crate::history::{self, By, Note};
use crate::kinds::endpoints;
use crate::participants::{self, Account, Brought, Moved, PARTICIPANTS, Participant, State, Type};
use crate::world::{Event, World};
use rialto_sdk::bindings::rialto::common::types::Money;
use rialto_sdk::documents::{Collection, Range, Store};
use rialto_sdk::money::{minor_units, parse_configured_amount};
use rialto_sdk::scheme::{self, Scheme};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The number of participants that one step adds: few enough for any turn.
pub const STEP: u32 = 100;
/// The number of participants that are checked at a time.
const JUDGED: u32 = 1_000;

/// A document of the collection `activations`: a release whose participants are all added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Activation {
    /// UTC, milliseconds since 1970.
    pub at: u64,
}

pub(crate) const ACTIVATIONS: Collection<Activation> = Collection::new("activations");

/// Reads participants of the manifest: from an index on, at most a number of them.
pub type Listed<'a> = &'a dyn Fn(u32, u32) -> Vec<scheme::Participant>;

/// Does a step of adding the participants of the manifest. Step 0 first checks them all, so that a bad release
/// leaves nothing behind. Returns the changes, a sentence each, and whether there is more to do.
///
/// # Panics
/// If the manifest's amounts or currencies are not valid, or the ledger refuses.
pub fn step(
    world: &mut dyn World,
    (scheme, listed): (&Scheme, Listed<'_>),
    release: u64,
    step: u32,
) -> (Vec<String>, bool) {
    if step == 0 {
        facts::judge(world, scheme);
        judge(world, scheme, listed);
    }
    let first = step.saturating_mul(STEP);
    let changes = bring_in(world, scheme, &listed(first, STEP), release);
    let more = !listed(first.saturating_add(STEP), 1).is_empty();
    let done = Activation { at: world.now() };
    if !more {
        // A repeated step keeps the first document.
        let _ = ACTIVATIONS
            .within(world)
            .insert_if_absent(&release.to_string(), &done);
    }
    (changes, more)
}

/// Reads all amounts, and finds all currencies.
fn judge(world: &mut dyn World, scheme: &Scheme, listed: Listed<'_>) {
    let pisps = pisps(world);
    let mut first = 0;
    loop {
        let participants = listed(first, JUDGED);
        for participant in &participants {
            if pisps.contains(&participant.id) {
                has_no_accounts(participant);
            }
            for account in &participant.accounts {
                let _ = Opening::of(&participant.id, account, scheme);
            }
        }
        if participants.len() < JUDGED as usize {
            return;
        }
        first += JUDGED;
    }
}

/// The approved participants of type PISP. A turn cannot read all participants, of which there may be ten
/// thousand; PISPs are few.
pub const PISPS: Collection<Pisp> = Collection::new("pisps");

/// A document of the collection `pisps`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pisp {
    /// The document's id.
    pub participant: String,
}

fn pisps(world: &mut dyn World) -> BTreeSet<String> {
    let (mut all, mut cursor) = (BTreeSet::new(), None);
    loop {
        let page = PISPS
            .within(world)
            .scan(&Range::All, cursor.as_deref(), JUDGED);
        all.extend(page.documents.into_iter().map(|(id, _)| id));
        cursor = page.cursor;
        if cursor.is_none() {
            return all;
        }
    }
}

/// Checks that a release gives a PISP no accounts.
fn has_no_accounts(configured: &scheme::Participant) {
    assert!(
        configured.accounts.is_empty(),
        "participant {:?} is of type PISP and cannot have accounts; remove its accounts from the release",
        configured.id
    );
}

/// A participant for other contexts. One of a release that is not completely added may not trade.
pub fn known(store: &mut (impl Store + ?Sized), id: &str) -> Option<Participant> {
    let mut participant = PARTICIPANTS.within(store).get(id)?;
    participant.waits = waits(store, &participant);
    Some(participant)
}

/// A participant for senders and receivers: none if it was not approved.
pub fn trader(store: &mut (impl Store + ?Sized), id: &str) -> Option<Participant> {
    known(store, id).filter(Participant::is_in)
}

fn waits(store: &mut (impl Store + ?Sized), participant: &Participant) -> bool {
    waits_for(store, participant).is_some()
}

/// The release that added a participant, while that release is not completely added.
pub fn waits_for(store: &mut (impl Store + ?Sized), participant: &Participant) -> Option<u64> {
    participant.created_by.filter(|release| {
        let done = ACTIVATIONS.within(store).get(&release.to_string());
        done.is_none()
    })
}

/// Adds participants of the scheme. Returns the changes, a sentence each.
///
/// # Panics
/// If the manifest's amounts or currencies are not valid, or the ledger refuses.
pub fn bring_in(
    world: &mut dyn World,
    scheme: &Scheme,
    participants: &[scheme::Participant],
    release: u64,
) -> Vec<String> {
    let brought = participants.iter();
    let brought = brought.filter_map(|configured| bring(world, scheme, configured, release));
    brought.collect()
}

/// Adds one participant. Returns the changes.
fn bring(
    world: &mut dyn World,
    scheme: &Scheme,
    configured: &scheme::Participant,
    release: u64,
) -> Option<String> {
    let id = &configured.id;
    let stored = PARTICIPANTS.within(world).get_for_update(id);
    if let Some(applicant) = &stored
        && !applicant.is_in()
    {
        let state = applicant.state.name();
        return Some(format!(
            "participant {id} is {state} by the operators' API; the release does not change it"
        ));
    }
    if let Some(stored) = &stored {
        // Also for participants approved since the first step, or before these facts were kept.
        facts::judge_accounts(world, scheme, stored);
        if stored.participant_type == Type::Pisp {
            has_no_accounts(configured);
        }
    }
    let is_new = stored.is_none();
    let before = stored.as_ref().map_or(Value::Null, in_short);
    let now = world.now();
    let mut participant = stored.unwrap_or_else(|| nobody_yet(id, now));
    let opened = open_missing_accounts(world, &mut participant, configured, scheme);
    let wanted = Brought {
        name: configured.name.clone(),
        callback_base_url: configured
            .callback_base_url
            .trim_end_matches('/')
            .to_owned(),
    };
    let moved = participant.take_over(&wanted);
    // A participant of a release that was refused during its activation is added by this one.
    let came_with = participant.created_by;
    if is_new || waits(world, &participant) {
        participant.created_by = Some(release);
    }
    if !is_new && opened.is_empty() && moved == Moved::default() {
        if participant.created_by != came_with {
            PARTICIPANTS.within(world).put(id, &participant);
        }
        return None;
    }
    let note = Note {
        kind: "release".to_owned(),
        state: "RELEASE".to_owned(),
        by: By {
            maker: None,
            checker: None,
            release: Some(release),
        },
        request: None,
        asked: None,
        before,
        after: in_short(&participant),
    };
    history::append(world, &mut participant, note, now);
    participant.updated_at = now;
    participant.version += 1;
    PARTICIPANTS.within(world).put(id, &participant);
    publish(world, &participant, is_new, &opened, moved);
    let details_changed = moved != Moved::default();
    Some(in_words(id, is_new, &opened, details_changed))
}

fn nobody_yet(id: &str, now: u64) -> Participant {
    Participant {
        participant: id.to_owned(),
        name: String::new(),
        participant_type: Type::Dfsp,
        state: State::Approved,
        callback_base_url: String::new(),
        source_addresses: None,
        last_certificate: None,
        accounts: Vec::new(),
        created_at: now,
        updated_at: now,
        version: 0,
        changes: 0,
        last_change_hash: String::new(),
        brought: None,
        created_by: None,
        waits: false,
    }
}

/// The members that a release may change.
fn in_short(participant: &Participant) -> Value {
    let currencies: Vec<_> = participant.accounts.iter().map(|a| &a.currency).collect();
    json!({
        "name": participant.name,
        "endpoints": endpoints::of(participant),
        "accounts": currencies,
    })
}

/// Contexts that keep accounts learn of new ones.
fn publish(
    world: &mut dyn World,
    participant: &Participant,
    is_new: bool,
    opened: &[String],
    moved: Moved,
) {
    let (id, now) = (&participant.participant, world.now());
    if is_new {
        world.publish(Event::Created(participant_created::Event {
            participant: id.clone(),
            name: participant.name.clone(),
            participant_type: participant.participant_type.into(),
            accounts: participant.accounts_with_terms(),
            created_at: participant.created_at,
        }));
        return;
    }
    for account in opened
        .iter()
        .filter_map(|currency| participant.account(currency))
    {
        world.publish(Event::AccountAdded(participant_account_added::Event {
            participant: id.clone(),
            account: account.with_terms(id),
            added_at: now,
        }));
    }
    if moved.endpoint {
        world.publish(Event::EndpointsUpdated(
            participant_endpoints_updated::Event {
                participant: id.clone(),
                endpoints: participants::endpoints(participant.callback_base_url.clone()),
                updated_at: now,
            },
        ));
    }
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

/// Opens the participant's missing accounts, and deposits their opening liquidity. Returns their currencies.
fn open_missing_accounts(
    world: &mut dyn World,
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
        .open(&request)
        .unwrap_or_else(|error| panic!("the ledger did not open accounts for {id:?}: {error:?}"));
    assert_eq!(ids.len(), missing.len(), "the ledger answers each account");
    let mut opened = Vec::new();
    for (opening, ids) in missing.into_iter().zip(ids) {
        if minor_units(&opening.liquidity) > 0 {
            deposit(world, id, &opening.liquidity);
        }
        facts::keep(world, &scheme.hub, &ids.currency, opening.liquidity.scale);
        opened.push(ids.currency.clone());
        participant.accounts.push(Account {
            currency: ids.currency,
            name: None,
            cover: None,
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

fn deposit(world: &mut dyn World, participant: &str, amount: &Money) {
    let request = manage_funds::Request {
        instruction_id: format!("opening-liquidity:{participant}:{}", amount.currency),
        participant: participant.to_owned(),
        direction: manage_funds::Direction::Deposit,
        amount: amount.clone(),
        settlement_model: None,
    };
    if let Err(error) = world.move_funds(&request) {
        panic!("the ledger did not accept the opening liquidity of {participant:?}: {error:?}");
    }
}

/// An account of the manifest, with parsed amounts.
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

    fn account_with_limit(&self) -> AccountWithLimit {
        AccountWithLimit {
            currency: self.liquidity.currency.clone(),
            scale: self.liquidity.scale,
            net_debit_cap: self.net_debit_cap.clone(),
            liquidity_threshold: self.liquidity_threshold.clone(),
        }
    }
}
