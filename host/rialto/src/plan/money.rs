//! The changes of a scheme's document that bring in money, or let one person bring in money. A second person should
//! approve them.

use rialto_manifest::scheme::SchemeDocument;
use serde_json::Value;

use super::facts;

/// The setting of a context that says who approves the operators' requests to it.
const APPROVAL: &str = "approval";
/// Its value when no person approves.
const AUTOMATIC: &str = "automatic";

/// The changes of the second document against the first that bring in money, in words. Without a first one,
/// everything is new. A document that cannot be read counts as such a change.
pub fn brought_in(before: Option<&SchemeDocument>, after: &SchemeDocument) -> Vec<String> {
    let Some(new) = facts(after) else {
        return vec![
            "scheme.toml cannot be read by this host: what it brings in is not known".into(),
        ];
    };
    let old = before.and_then(facts).unwrap_or_default();
    let mut found = liquidity(&old, &new);
    found.extend(approvals(&old, &new));
    found
}

type Facts = serde_json::Map<String, Value>;

/// Accounts with opening liquidity: participant, currency and amount.
fn accounts(facts: &Facts) -> Vec<(&str, &str, &str)> {
    let participants = facts.get("participants").and_then(Value::as_array);
    let participants = participants.into_iter().flatten();
    let accounts = participants.flat_map(|participant| {
        let id = participant["id"].as_str().unwrap_or_default();
        let accounts = participant["accounts"].as_array().into_iter().flatten();
        accounts.map(move |account| {
            let currency = account["currency"].as_str().unwrap_or_default();
            let amount = account["opening-liquidity"].as_str().unwrap_or_default();
            (id, currency, amount)
        })
    });
    let is_some = |amount: &str| amount.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
    accounts.filter(|(_, _, amount)| is_some(amount)).collect()
}

fn liquidity(old: &Facts, new: &Facts) -> Vec<String> {
    let before: std::collections::HashSet<_> = accounts(old).into_iter().collect();
    let new = accounts(new).into_iter();
    let brought = new.filter(|account| !before.contains(account));
    brought
        .map(|(id, currency, amount)| {
            format!("participant {id}: opening-liquidity {amount} {currency}")
        })
        .collect()
}

/// Contexts that approve automatically now, and needed a second person before.
fn approvals(old: &Facts, new: &Facts) -> Vec<String> {
    let contexts = new.get("contexts").and_then(Value::as_object);
    let contexts = contexts.into_iter().flatten();
    let alone = contexts.filter_map(|(name, context)| {
        let approval = context.get("settings")?.get(APPROVAL)?;
        let before = old
            .get("contexts")
            .and_then(|contexts| contexts.get(name)?.get("settings")?.get(APPROVAL));
        (has_automatic(approval) && before != Some(approval))
            .then(|| format!("context {name}: {APPROVAL} = {approval}: one person is enough"))
    });
    alone.collect()
}

fn has_automatic(value: &Value) -> bool {
    match value {
        Value::String(text) => text == AUTOMATIC,
        Value::Array(items) => items.iter().any(has_automatic),
        Value::Object(members) => members.values().any(has_automatic),
        _ => false,
    }
}
