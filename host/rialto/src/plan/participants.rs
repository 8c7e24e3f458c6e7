//! The plan's part about participants and their accounts. It says which changes have no effect: activation opens
//! participants and accounts and never closes them. It uses liquidity and cap only when it opens an account.

use std::collections::BTreeMap;
use std::fmt;

use rialto_manifest::values::Amount;
use serde_json::{Map, Value};

use super::text;
use super::values::{Compared, Words, compared};

/// Members of an account that are used only when it is opened.
const TAKEN_AT_OPENING: [&str; 3] = ["opening-liquidity", "net-debit-cap", "liquidity-threshold"];

/// How many new or removed participants have a line each.
const TOLD: usize = 20;

/// The member with a participant's public keys.
const KEYS: &str = "jws-public-keys";

pub(super) fn tell(words: &mut Words, old: &Value, new: &Value) {
    let Some(entries) = compared(old, new, |participant| text(participant, "id")) else {
        return words.differences("participants", "", old, new);
    };
    let (mut came, mut went) = (ParticipantSummary::default(), ParticipantSummary::default());
    for (id, compared) in &entries.both {
        match compared {
            Compared::Came(participant) => {
                if came.add(participant) {
                    words.came(in_full(id, participant));
                }
            }
            Compared::Went => {
                if !went.add(found(old, id)) {
                    continue;
                }
                words.went(format!(
                    "participant {id}: no effect on a participant that exists; it and its accounts stay open"
                ));
                if found(old, id).get(KEYS).is_some() {
                    words.went(format!(
                        "participant {id}: {KEYS}: what it must sign is refused, unless the operator has a key of it"
                    ));
                }
            }
            Compared::Stayed(old, new) => one(words, id, old, new),
        }
    }
    if let Some(more) = came.more() {
        let amounts = came.amounts();
        words.came(format!(
            "and {more}: {amounts}; {} with {KEYS}",
            came.with_keys
        ));
    }
    if let Some(more) = went.more() {
        words.went(format!(
            "and {more}: no effect on participants that exist; they and their accounts stay open"
        ));
        if went.with_keys > 0 {
            words.went(format!(
                "{} of these {more}: {KEYS}: what they must sign is refused, unless the operator has keys of them",
                went.with_keys
            ));
        }
    }
    if let Some(order) = entries.reordered {
        words.changed("participants", &format!("in another order: {order}"));
    }
}

/// A participant of a document.
fn found<'p>(participants: &'p Value, id: &str) -> &'p Value {
    let mut all = participants.as_array().into_iter().flatten();
    let found = all.find(|participant| participant["id"] == id);
    found.unwrap_or(&Value::Null)
}

/// New or removed participants. The first ones have a line each; the others are summed up.
#[derive(Default)]
struct ParticipantSummary {
    count: usize,
    with_keys: usize,
    accounts: BTreeMap<String, usize>,
    /// By the account's member and currency.
    sums: BTreeMap<(&'static str, String), ExactSum>,
}

impl ParticipantSummary {
    /// Count a participant. Returns whether it has a line of its own.
    fn add(&mut self, participant: &Value) -> bool {
        self.count += 1;
        if self.count <= TOLD {
            return true;
        }
        self.with_keys += usize::from(participant.get(KEYS).is_some());
        for account in participant["accounts"].as_array().into_iter().flatten() {
            let currency = text(account, "currency").unwrap_or_default();
            *self.accounts.entry(currency.clone()).or_default() += 1;
            for member in TAKEN_AT_OPENING {
                if let Some(amount) = text(account, member) {
                    let sum = self.sums.entry((member, currency.clone())).or_default();
                    sum.add(&amount);
                }
            }
        }
        false
    }

    /// `5 more participants`, if there are any without a line.
    fn more(&self) -> Option<String> {
        let more = self.count.checked_sub(TOLD).filter(|more| *more > 0)?;
        Some(format!("{more} more participants"))
    }

    /// `5 accounts in USD with opening-liquidity 500 in all, net-debit-cap 10 in all`.
    fn amounts(&self) -> String {
        let by_currency = self.accounts.iter().map(|(currency, count)| {
            let sums = self.sums.iter().filter(|((_, of), _)| of == currency);
            let sums: Vec<String> = sums
                .map(|((member, _), sum)| format!("{member} {sum} in all"))
                .collect();
            let with = if sums.is_empty() { "" } else { " with " };
            format!("{count} accounts in {currency}{with}{}", sums.join(", "))
        });
        let all: Vec<String> = by_currency.collect();
        if all.is_empty() {
            "no accounts".to_owned()
        } else {
            all.join("; ")
        }
    }
}

/// The most decimal places of an amount.
const DECIMALS: u8 = 18;

/// An exact sum of amounts.
#[derive(Default)]
struct ExactSum {
    whole: u128,
    /// In units of the smallest decimal place.
    parts: u128,
}

impl ExactSum {
    fn add(&mut self, amount: &str) {
        let units = amount.parse::<Amount>().ok();
        // The document was checked, so its amounts are valid.
        let units = units.and_then(|amount| amount.minor_units(DECIMALS).ok());
        let one = 10_u128.pow(DECIMALS.into());
        self.whole += units.unwrap_or_default() / one;
        self.parts += units.unwrap_or_default() % one;
    }
}

impl fmt::Display for ExactSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = 10_u128.pow(DECIMALS.into());
        write!(f, "{}", self.whole + self.parts / one)?;
        let parts = format!(
            "{:0width$}",
            self.parts % one,
            width = usize::from(DECIMALS)
        );
        match parts.trim_end_matches('0') {
            "" => Ok(()),
            parts => write!(f, ".{parts}"),
        }
    }
}

/// A new participant in one line.
fn in_full(id: &str, participant: &Value) -> String {
    let members = participant.as_object().into_iter().flatten();
    let said = members.filter(|(name, _)| !matches!(name.as_str(), "id" | "accounts"));
    let mut said: Vec<String> = said
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    let accounts = participant["accounts"].as_array();
    let accounts: Vec<String> = accounts.into_iter().flatten().map(account).collect();
    said.push(if accounts.is_empty() {
        "no accounts".into()
    } else {
        format!("accounts in {}", accounts.join("; "))
    });
    format!("participant {id}: {}", said.join(", "))
}

/// `USD with opening-liquidity "1", net-debit-cap "2"`.
fn account(account: &Value) -> String {
    let currency = text(account, "currency").unwrap_or_default();
    let with = super::without(account, "currency");
    if with.is_empty() {
        currency
    } else {
        format!("{currency} with {with}")
    }
}

fn one(words: &mut Words, id: &str, old: &Value, new: &Value) {
    let whose = format!("participant {id}");
    let (details, accounts) = apart(old);
    let (new_details, new_accounts) = apart(new);
    words.differences(&whose, "", &details, &new_details);
    let Some(entries) = compared(&accounts, &new_accounts, |account| {
        text(account, "currency")
    }) else {
        return words.differences(&whose, "accounts", &accounts, &new_accounts);
    };
    for (currency, compared) in &entries.both {
        match compared {
            Compared::Came(value) => {
                words.came(format!("{whose}: account in {}", account(value)));
            }
            Compared::Went => words.went(format!(
                "{whose}: account in {currency}: no effect on an account that exists; it stays open"
            )),
            Compared::Stayed(old, new) => {
                of_account(words, &format!("{whose}: account in {currency}"), old, new);
            }
        }
    }
    if let Some(order) = entries.reordered {
        words.changed(&whose, &format!("accounts in another order: {order}"));
    }
}

/// The changes of an account. Changes of values that are used only at its opening are marked as without effect.
fn of_account(words: &mut Words, whose: &str, old: &Value, new: &Value) {
    let shown = |value: &Value| match value {
        Value::Null => "none".to_owned(),
        value => value.to_string(),
    };
    for member in TAKEN_AT_OPENING {
        if old[member] != new[member] {
            let (was, is) = (shown(&old[member]), shown(&new[member]));
            words.changed(
                whose,
                &format!("{member} {was} → {is}: no effect on an account that exists; it is taken when one is opened"),
            );
        }
    }
    let rest = |account: &Value| {
        let members = account.as_object().into_iter().flatten();
        let rest = members.filter(|(name, _)| !TAKEN_AT_OPENING.contains(&name.as_str()));
        Value::Object(
            rest.map(|(k, v)| (k.clone(), v.clone()))
                .collect::<Map<_, _>>(),
        )
    };
    words.differences(whose, "", &rest(old), &rest(new));
}

/// Split a participant into its own members and its accounts.
fn apart(participant: &Value) -> (Value, Value) {
    let mut details = participant.clone();
    let accounts = details
        .as_object_mut()
        .and_then(|d| d.shift_remove("accounts"));
    (details, accounts.unwrap_or(Value::Null))
}
