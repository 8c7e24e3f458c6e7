//! Events for the outside. They are not encrypted, because others are to read them: what names a person is taken away, unless
//! the operator lets the event name people.

use rialto_engine::Publication;
use serde_json::Value;

use super::{HostPeople, Named};

impl HostPeople {
    pub(super) fn strip_publication(&self, named: &Named, publication: &mut Publication) {
        if publication.may_name_people {
            return;
        }
        publication
            .subjects
            .retain(|subject| !self.people.is_person(subject));
        let ids: Vec<&str> = named.names.iter().flat_map(|name| ids(name)).collect();
        let Ok(mut data) = serde_json::from_str::<Value>(&publication.data) else {
            return;
        };
        if strip(&mut data, &ids) {
            publication.data = data.to_string().into();
        }
    }
}

/// The texts that are a person's id: the whole name, and what is behind its kind or behind a slash.
fn ids(name: &str) -> impl Iterator<Item = &str> {
    let behind = name
        .char_indices()
        .filter(|(_, c)| *c == ':' || *c == '/')
        .map(|(at, _)| &name[at + 1..]);
    std::iter::once(name).chain(behind.filter(|id| !id.is_empty()))
}

/// Put null in place of each text that is one of these ids, and of each member with such a name. Returns whether there was one.
fn strip(value: &mut Value, ids: &[&str]) -> bool {
    match value {
        Value::String(text) if ids.contains(&text.as_str()) => {
            *value = Value::Null;
            true
        }
        Value::Array(items) => {
            let stripped = items.iter_mut().map(|item| strip(item, ids));
            stripped.fold(false, |any, one| any | one)
        }
        Value::Object(members) => {
            let before = members.len();
            members.retain(|name, _| !ids.contains(&name.as_str()));
            let is_shorter = members.len() < before;
            let stripped = members.values_mut().map(|member| strip(member, ids));
            stripped.fold(is_shorter, |any, one| any | one)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_persons_id_is_taken_away_wherever_it_stands() {
        let mut data = serde_json::json!({
            "payee": { "id-type": "MSISDN", "id-value": "123" },
            "parties": ["MSISDN/123", "party:MSISDN/123", "1234"],
            "123": 1,
            "amount": "123.00",
        });
        let ids: Vec<&str> = ids("party:MSISDN/123").collect();
        assert_eq!(ids, ["party:MSISDN/123", "MSISDN/123", "123"]);
        assert!(strip(&mut data, &ids));
        let expected = serde_json::json!({
            "payee": { "id-type": "MSISDN", "id-value": null },
            "parties": [null, null, "1234"],
            "amount": "123.00",
        });
        assert_eq!(data, expected);
        assert!(!strip(&mut data, &ids));
    }
}
