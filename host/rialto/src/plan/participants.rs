//! Participants and their accounts, with what has no effect on those that exist: activation opens
//! participants and accounts, it never closes them, and takes liquidity and cap when it opens one.

use serde_json::{Map, Value};

use super::text;
use super::values::{Compared, Words, compared};

/// Members of an account that are taken when it is opened.
const TAKEN_AT_OPENING: [&str; 3] = ["opening-liquidity", "net-debit-cap", "liquidity-threshold"];

/// What a participant signs with.
const KEYS: &str = "jws-public-keys";

pub(super) fn tell(words: &mut Words, old: &Value, new: &Value) {
    let Some(entries) = compared(old, new, |participant| text(participant, "id")) else {
        return words.differences("participants", "", old, new);
    };
    for (id, compared) in &entries.both {
        match compared {
            Compared::Came(participant) => words.came(in_full(id, participant)),
            Compared::Went => {
                words.went(format!(
                    "participant {id}: no effect on a participant that exists; it and its accounts stay open"
                ));
                if has_keys(old, id) {
                    words.went(format!(
                        "participant {id}: {KEYS}: its messages are taken unsigned, unless the operator has a key of it"
                    ));
                }
            }
            Compared::Stayed(old, new) => one(words, id, old, new),
        }
    }
    if let Some(order) = entries.reordered {
        words.changed("participants", &format!("in another order: {order}"));
    }
}

/// Whether the document brings keys for a participant.
fn has_keys(participants: &Value, id: &str) -> bool {
    let mut all = participants.as_array().into_iter().flatten();
    let found = all.find(|participant| participant["id"] == id);
    found.is_some_and(|participant| participant.get(KEYS).is_some())
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

/// What an account was opened with stays; anything else is told as it is.
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

/// A participant without its accounts, and these.
fn apart(participant: &Value) -> (Value, Value) {
    let mut details = participant.clone();
    let accounts = details
        .as_object_mut()
        .and_then(|d| d.shift_remove("accounts"));
    (details, accounts.unwrap_or(Value::Null))
}
