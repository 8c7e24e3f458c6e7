//! The counters that rules need: what was transferred before, by what transfers have in common.
//!
//! | When | What happens |
//! |---|---|
//! | a transfer is judged | each counter's document is held, and its sum goes into the rules' input |
//! | a draft is judged | the sums go into the rules' input; nothing is held |
//! | its funds are reserved | it is added to the documents, and remembers where |
//! | it ends without money moved | it is taken out again, unless its slot is gone |
//! | a counter's last slot has left its window | retention may remove the document |
//!
//! A counter begins at zero, with the release whose rules first need it. Documents are held before the ledger's: see
//! [`crate::prepare`]. All transfers of a counter hold one document, so they are prepared one after the other.
//!
//! A document's id is a digest, so that it has no party's identifier in the clear. Whoever reads the store can try
//! identifiers that they know or guess.

use crate::surroundings::Surroundings;
use crate::transfer::Transfer;
use crate::window::{SLOTS_MAX, Span, words};
use rialto_sdk::bindings::rialto::common::types::{Money, PartyId};
use rialto_sdk::bindings::rialto::rules::types::{
    Agreement, Initiator, InitiatorType, QuoteRequest, Scenario, Transfer as Judged,
};
use rialto_sdk::canonical::sha256_hex;
use rialto_sdk::counters::{Counted, Counter, Dimension, Sum, problem};
use rialto_sdk::documents::Collection;
use rialto_sdk::logging::{Level, party_subject};
use rialto_sdk::money::{format_amount, minor_units, money, units_text};
use serde::{Deserialize, Serialize};

/// The documents of counters.
pub const COUNTERS: Collection<Document> =
    Collection::new("counters").with_elements_named_by(&["begins"]);

/// A document of the collection `counters`: the transfers of one counter with the same values of its dimensions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Document {
    /// The names of its dimensions.
    pub by: Vec<String>,
    /// Its window: `rolling` with seconds; `day`, `week` or `month` with the offset from UTC in minutes.
    pub window: String,
    /// The currency of its transfers.
    pub currency: String,
    /// The decimal places of its amounts.
    pub scale: u8,
    /// From this instant on, nothing is in its window: UTC, milliseconds since 1970.
    pub until: u64,
    /// What was transferred, by time, at most 60. The latest is last.
    pub slots: Vec<Slot>,
}

/// The transfers of a part of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Slot {
    /// Its beginning: UTC, milliseconds since 1970.
    pub begins: u64,
    /// How many.
    pub transfers: u64,
    /// The sum of their amounts.
    #[serde(with = "units_text")]
    pub minor_units: u128,
}

/// Where a transfer was counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Place {
    /// The id of the counter's document.
    pub counter: String,
    /// The beginning of the slot.
    pub begins: u64,
}

/// A counter for one transfer, with its document as this turn holds it.
#[derive(Debug)]
struct Held {
    id: String,
    span: Span,
    document: Document,
}

/// The counters of a transfer that is judged.
#[derive(Debug, Default)]
pub struct Counters(Vec<Held>);

impl Counters {
    /// Holds the documents of the counters that rules need, and gives their values.
    pub fn hold(
        world: &mut impl Surroundings,
        counters: Vec<Counter>,
        (transfer, agreement): (&Judged, Option<&Agreement>),
        now: u64,
    ) -> (Self, Vec<Counted>) {
        let mut held: Vec<Held> = Vec::new();
        let mut counts = Vec::new();
        for counter in counters {
            let sum = id(world, &counter, transfer, agreement).map(|id| {
                let document = world.counter(&id);
                let (document, span, sum) = counted(document, &counter, transfer, now);
                held.push(Held { id, span, document });
                sum
            });
            counts.push(Counted { counter, sum });
        }
        (Self(held), counts)
    }

    /// Adds a transfer whose funds are reserved. It remembers where.
    pub fn add(self, world: &mut impl Surroundings, transfer: &mut Transfer) {
        for Held {
            id,
            span,
            mut document,
        } in self.0
        {
            document.add(span, &transfer.amount);
            world.put_counter(&id, &document);
            transfer.counted.push(Place {
                counter: id,
                begins: span.slot,
            });
        }
    }
}

/// The values of counters for a transfer that is not there. No document is held.
pub fn look(
    world: &mut impl Surroundings,
    counters: Vec<Counter>,
    (transfer, agreement): (&Judged, Option<&Agreement>),
    now: u64,
) -> Vec<Counted> {
    let count = |counter: Counter| {
        let id = id(world, &counter, transfer, agreement);
        let sum = id.map(|id| {
            let document = world.read_counter(&id);
            counted(document, &counter, transfer, now).2
        });
        Counted { counter, sum }
    };
    counters.into_iter().map(count).collect()
}

/// The document of a counter, a new one if it has none; the slots of its window now, and their sum.
fn counted(
    document: Option<Document>,
    counter: &Counter,
    transfer: &Judged,
    now: u64,
) -> (Document, Span, Sum) {
    let fresh = || Document::new(counter, &transfer.amount);
    let document = document.unwrap_or_else(fresh);
    // A clock that went back does not bring back slots that have left.
    let now = now.max(document.slots.last().map_or(0, |slot| slot.begins));
    let span = Span::of(counter.window, now);
    let sum = document.sum(span.from, &transfer.amount);
    (document, span, sum)
}

/// Takes a transfer that moves no money out of its counters.
pub fn take_out(world: &mut impl Surroundings, transfer: &mut Transfer) {
    for Place { counter, begins } in std::mem::take(&mut transfer.counted) {
        // Gone with its window.
        let Some(mut document) = world.counter(&counter) else {
            continue;
        };
        if document.take_out(begins, &transfer.amount) {
            world.put_counter(&counter, &document);
        }
    }
}

impl Document {
    fn new(counter: &Counter, amount: &Money) -> Self {
        let by = counter.by.iter().map(|one| name(*one).to_owned());
        Self {
            by: by.collect(),
            window: words(counter.window),
            currency: amount.currency.clone(),
            scale: amount.scale,
            until: 0,
            slots: Vec::new(),
        }
    }

    /// The sum of the slots that begin at an instant or later, in the scale of an amount.
    fn sum(&self, from: u64, of: &Money) -> Sum {
        assert!(
            self.currency == of.currency,
            "a counter of {} is read for {}",
            self.currency,
            of.currency
        );
        let slots = self.slots.iter().filter(|slot| slot.begins >= from);
        let (transfers, units) = slots.fold((0_u64, 0_u128), |(transfers, units), slot| {
            (
                transfers.saturating_add(slot.transfers),
                units.saturating_add(slot.minor_units),
            )
        });
        let units = rescaled(units, self.scale, of.scale);
        Sum {
            transfers,
            amount: money(&of.currency, of.scale, units),
        }
    }

    /// Adds a transfer, and removes the slots that have left the window.
    fn add(&mut self, span: Span, amount: &Money) {
        self.slots.retain(|slot| slot.begins >= span.from);
        if amount.scale > self.scale {
            // A later release writes the currency with more decimal places.
            for slot in &mut self.slots {
                slot.minor_units = rescaled(slot.minor_units, self.scale, amount.scale);
            }
            self.scale = amount.scale;
        }
        let units = rescaled(minor_units(amount), amount.scale, self.scale);
        match self.slots.last_mut() {
            Some(last) if last.begins == span.slot => {
                last.transfers = last.transfers.saturating_add(1);
                last.minor_units = last.minor_units.saturating_add(units);
            }
            _ => self.slots.push(Slot {
                begins: span.slot,
                transfers: 1,
                minor_units: units,
            }),
        }
        self.until = self.until.max(span.until);
        assert!(
            self.slots.len() <= SLOTS_MAX && self.slots.is_sorted_by_key(|slot| slot.begins),
            "a counter by {:?} has the slots {:?}",
            self.by,
            self.slots
        );
    }

    /// Takes a transfer out of its slot. Returns whether the slot is still there.
    fn take_out(&mut self, begins: u64, amount: &Money) -> bool {
        let scale = self.scale;
        let mut slots = self.slots.iter_mut();
        let Some(slot) = slots.find(|slot| slot.begins == begins) else {
            return false;
        };
        let units = rescaled(minor_units(amount), amount.scale, scale);
        slot.transfers = slot.transfers.saturating_sub(1);
        slot.minor_units = slot.minor_units.saturating_sub(units);
        self.slots.retain(|slot| slot.transfers > 0);
        true
    }
}

/// Minor units in another scale, rounded up. Beyond 128 bits there is the largest number: then every limit is reached.
fn rescaled(units: u128, from: u8, to: u8) -> u128 {
    let factor = 10_u128.saturating_pow(u32::from(from.abs_diff(to)));
    if to >= from {
        units.saturating_mul(factor)
    } else {
        units.div_ceil(factor)
    }
}

/// The id of a counter's document for a transfer; none if a dimension is not known, or the counter cannot be kept.
fn id(
    world: &mut impl Surroundings,
    counter: &Counter,
    transfer: &Judged,
    agreement: Option<&Agreement>,
) -> Option<String> {
    if let Some(problem) = problem(counter) {
        // The SDK's rules are refused before with such counters.
        world.log(
            Level::Warn,
            &format!("a rule needs a counter that is not kept: {problem}"),
        );
        return None;
    }
    // An agreement of others says nothing of this transfer's parties.
    let request = agreement
        .map(|agreement| &agreement.request)
        .filter(|request| {
            (&request.payer_fsp, &request.payee_fsp) == (&transfer.payer_fsp, &transfer.payee_fsp)
        });
    let mut parts = vec![
        "counter".to_owned(),
        words(counter.window),
        transfer.amount.currency.clone(),
    ];
    for dimension in &counter.by {
        parts.push(name(*dimension).to_owned());
        parts.push(value(*dimension, transfer, request)?);
    }
    // Texts in JSON cannot run into each other.
    let text = serde_json::to_string(&parts).expect("texts always have a JSON text");
    Some(sha256_hex(text.as_bytes()))
}

/// The value of a dimension; none if it is not known.
fn value(
    dimension: Dimension,
    transfer: &Judged,
    request: Option<&QuoteRequest>,
) -> Option<String> {
    let party = |of: fn(&QuoteRequest) -> &PartyId| request.map(|one| party_subject(of(one)));
    let kind = request.map(|request| &request.transaction_type);
    match dimension {
        Dimension::PayerFsp => Some(transfer.payer_fsp.clone()),
        Dimension::PayeeFsp => Some(transfer.payee_fsp.clone()),
        Dimension::Payer => party(|request| &request.payer),
        Dimension::Payee => party(|request| &request.payee),
        Dimension::Amount => Some(format_amount(&transfer.amount)),
        Dimension::Scenario => kind.map(|kind| scenario(kind.scenario).to_owned()),
        Dimension::Initiator => kind.map(|kind| initiator(kind.initiator).to_owned()),
        Dimension::InitiatorType => kind.map(|kind| initiator_type(kind.initiator_type).to_owned()),
    }
}

const fn name(dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::PayerFsp => "payer-fsp",
        Dimension::PayeeFsp => "payee-fsp",
        Dimension::Payer => "payer",
        Dimension::Payee => "payee",
        Dimension::Amount => "amount",
        Dimension::Scenario => "scenario",
        Dimension::Initiator => "initiator",
        Dimension::InitiatorType => "initiator-type",
    }
}

const fn scenario(scenario: Scenario) -> &'static str {
    match scenario {
        Scenario::Deposit => "deposit",
        Scenario::Withdrawal => "withdrawal",
        Scenario::Transfer => "transfer",
        Scenario::Payment => "payment",
        Scenario::Refund => "refund",
    }
}

const fn initiator(initiator: Initiator) -> &'static str {
    match initiator {
        Initiator::Payer => "payer",
        Initiator::Payee => "payee",
    }
}

const fn initiator_type(kind: InitiatorType) -> &'static str {
    match kind {
        InitiatorType::Consumer => "consumer",
        InitiatorType::Agent => "agent",
        InitiatorType::Business => "business",
        InitiatorType::Device => "device",
    }
}
